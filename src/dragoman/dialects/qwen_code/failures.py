"""Failures, by the log's type of error or by their words."""

from __future__ import annotations

from dragoman.dialects.base.default_words import FailuresInWords, text_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult

from .commands import RAN

_ERROR_TYPES: dict[str, out.FailureKind] = {
    "execution_denied": "denied",
    "invalid_tool_params": "invalid_arguments",
    "tool_not_registered": "unknown_tool",
    "execution_timeout": "timed_out",
}

_REFUSED = "User did not allow tool call"
"""What a call is told that the user did not approve (published sessions, read in November 2026); its state is that of
one that was stopped."""


class QwenFailures(FailuresInWords):
    """The log names the type of an error; a command that ended badly is flagged as one from 0.21.2 on, and is none."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A cancelled call by its state, any other by the type of its error, or by its words."""
        text = text_of(native.content)
        record = native.item if isinstance(native.item, dict) else {}
        if record.get("status") == "cancelled":
            return out.Failure("denied" if _REFUSED in text else "cancelled", text)
        ran = any(isinstance(operation, op.RunCommand) for operation in call.operations)
        if ran and text.startswith(RAN):
            return None
        known = _ERROR_TYPES.get(str(record.get("errorType")))
        return out.Failure(known, text) if known is not None and native.is_error else super().understand(call, native)


FAILURES = QwenFailures(
    (
        (r'Tool "[^"]*" (?:not found|is a built-in tool that is disabled)', "unknown_tool"),
        (r'\[tool_call bridge refused\] Deferred tool "', "unknown_tool"),
        (r"params\b.* must |Invalid parameters|The '\w+' (?:parameter )?(?:cannot|must)", "invalid_arguments"),
        (rf".*\bpermission was declined\b|.*\bdenied\b|.*{_REFUSED}", "denied"),
        (r"\[Operation Cancelled\]", "cancelled"),
        # Of a reply that was asked for anew (0.23.3), in what is printed; the log has no result of it.
        (r"Skipped because the provider attempt was retried before execution", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": 'Tool "{tool}" not found in registry. {message}',
        "invalid_arguments": "Invalid parameters: {message}",
        "denied": 'Qwen Code requires permission to use "{tool}", but that permission was declined. {message}',
        "cancelled": "[Operation Cancelled] Reason: {message}",
        "timed_out": "The tool timed out: {message}",
    },
)
