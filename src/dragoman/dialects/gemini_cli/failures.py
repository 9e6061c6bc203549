"""Failures, by their words or the state of their record."""

from __future__ import annotations

import re

from dragoman.dialects.base.default_words import text_of
from dragoman.dialects.base.spelling import Content
from dragoman.model import outcomes as out
from dragoman.model.calls import Call, NativeResult

_REFUSED = re.compile(r"\[Operation Cancelled\] Reason: User (?:denied|did not allow)")
"""What a call is told to be that the user did not approve (sessions of October 2025 to April 2026); its state is that
of one that was stopped."""


class GeminiFailures:
    """A failure is a result under `error`; what kind it is, only its words tell, or the state of its record."""

    _KINDS: tuple[tuple[re.Pattern[str], out.FailureKind], ...] = (
        (re.compile(r'Tool "[^"]*" not found'), "unknown_tool"),
        (
            re.compile(r"Tool execution denied by policy|Path not in workspace|.*\[Blocked Host\]|.*\bdenied\b"),
            "denied",
        ),
        (
            re.compile(
                r"params\b.* must |Invalid parameters|`new_string` contains an omission|"
                r"The '\w+' (?:parameter )?(?:cannot|must)"
            ),
            "invalid_arguments",
        ),
        (_REFUSED, "denied"),
        (re.compile(r"\[Operation Cancelled\]|.*cancelled by the user", re.IGNORECASE), "cancelled"),
        (re.compile(r".*\btimed out\b", re.IGNORECASE), "timed_out"),
    )

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """The message, so worded that its kind is understood again."""
        message = failure.message
        if self._kind(message) == failure.kind:
            return message, True
        words = {
            "unknown_tool": f'Tool "{call.native.name}" not found. {message}',
            "denied": f"Tool execution denied by policy. {message}",
            "invalid_arguments": f"Invalid parameters: {message}",
            "cancelled": f"[Operation Cancelled] Reason: {message}",
            "timed_out": f"The tool timed out: {message}",
            "failed": message,
        }
        return words[failure.kind], True

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result flagged as an error, with its kind by its words; a call that was cancelled has no result."""
        text = text_of(native.content)
        if isinstance(native.item, dict) and native.item.get("status") == "cancelled":
            return out.Failure("denied" if _REFUSED.match(text) else "cancelled", text)
        return out.Failure(self._kind(text), text) if native.is_error else None

    def _kind(self, message: str) -> out.FailureKind:
        return next((kind for pattern, kind in self._KINDS if pattern.match(message)), "failed")
