"""How Claude Code words what went wrong: one channel for errors, refusals and interrupts, told apart by their texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from dragoman.dialects.base.spelling import Content
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult

from .agents import answer
from .commands import EXIT_CODE, TIMED_OUT
from .results import fields, plain_text, text_in

_WRAPPED = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.DOTALL)
_ABORTED = "<error>Command was aborted before completion</error>"
"""What stands after the output of a command that the user stopped (published sessions, read in November 2026)."""

_UNDERSTOOD: tuple[tuple[str, out.FailureKind], ...] = (
    (r"(?:Error: )?No such tool available", "unknown_tool"),
    (r"InputValidationError", "invalid_arguments"),
    # A rejection with the user's words (2.1.12 to 2.1.37); one without them stops the turn, as an interrupt does.
    (r"The user doesn't want to proceed[^\n]*To tell you how to proceed, the user said", "denied"),
    (r"The user doesn't want to (?:proceed|take this action)|\[?Request interrupted by user", "cancelled"),
    (r"Interrupted by user|User rejected tool use|Streaming fallback - tool execution discarded", "cancelled"),
    (r"Sibling tool call errored|Cancelled: parallel tool call|Permission prompt was aborted", "cancelled"),
    (r"Permission to use .* has been denied", "denied"),
    (r"Permission for this (?:action|tool use) (?:has been|was) denied", "denied"),
    (r"This (?:\w+ )?command (?:requires approval|contains [^\n]* requires? approval)", "denied"),
    (r"cd to '[^\n]*' was blocked\. For security", "denied"),
    # The answer to a call in a request that only asks what the user may type next (users' reports; no session has it).
    (r"No tools needed for suggestion", "denied"),
    (r"The agent proposed a plan that was rejected by the user", "denied"),
    (r"[^\n]*\b(?:requested permissions to|haven't granted|denied by your permission settings)\b", "denied"),
    (r"PreToolUse:\S+ hook error|(?:Hook|Execution stopped by) PreToolUse\b", "denied"),
    (r"Domain \S+ is not allowed to be fetched", "denied"),
    # The question that a client without a terminal could not ask the user (2.0.76, 2.1.54, 2.1.123).
    (r"(?:Answer questions\?|Exit plan mode\?)\Z", "denied"),
    (r"[^\n]*\b(?:timed out|timeout of \d+ms exceeded)\b", "timed_out"),
)


class ClaudeFailures:
    """A result flagged as an error, mostly in a tag; some refusals of a task or a message without the flag."""

    _KINDS: ClassVar = tuple((re.compile(pattern), kind) for pattern, kind in _UNDERSTOOD)
    _WORDS: ClassVar[dict[out.FailureKind, Callable[[str, str], str]]] = {
        "unknown_tool": lambda name, message: f"Error: No such tool available: {name}. {message}",
        "invalid_arguments": lambda name, message: f"InputValidationError: {message}",
        "denied": lambda name, message: f"Permission to use {name} has been denied. {message}",
        "cancelled": lambda name, message: f"[Request interrupted by user for tool use] {message}",
        "timed_out": lambda name, message: f"{name} timed out. {message}",
        "failed": lambda name, message: message,
    }

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """The message, so worded that its kind is understood again."""
        message = failure.message
        if self._kind(message) != failure.kind:
            message = self._WORDS[failure.kind](call.native.name, message).rstrip()
        plain = failure.kind in ("denied", "cancelled")
        return message if plain else f"<tool_use_error>{message}</tool_use_error>", True

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A failure by its flag, with its kind by its words or by what the log says of the decision."""
        if not native.is_error:
            operations = call.operations
            return _unflagged(call, native) if operations and type(operations[0]) in _UNFLAGGED else None
        text = plain_text(native)
        if _is_run(call) and ((code := EXIT_CODE.match(text)) or TIMED_OUT.match(text)):
            if code is not None and text.startswith("[Request interrupted by user", code.end()):
                return out.Failure("cancelled", text)
            return None  # the command ran: its own words tell how it ended
        wrapped = _WRAPPED.fullmatch(text)
        message = text if wrapped is None else wrapped[1]
        kind = self._kind(message)
        if kind == "failed" and (refused := _refused(native)) is not None:
            kind = refused
        elif kind == "failed" and message.rstrip().endswith(_ABORTED):
            kind = "cancelled"
        if kind == "failed" and wrapped is None and _is_run(call):
            return None  # 1.0.56 to 1.0.108: the command ran and failed, and its exit code is not given
        return out.Failure(kind, message)

    def _kind(self, message: str) -> out.FailureKind:
        return next((kind for pattern, kind in self._KINDS if pattern.match(message)), "failed")


def _is_run(call: Call) -> bool:
    return any(isinstance(operation, op.RunCommand) for operation in call.operations)


def _refused(native: NativeResult) -> out.FailureKind | None:
    """What a user says to a refusal is the whole result; that it was one stands beside it in the log."""
    beside: Any = native.item if isinstance(native.item, dict) else {}
    denial = text_in(beside, "toolDenialKind")
    if denial in ("interrupted", "cancelled"):
        return "cancelled"
    rejected = text_in(beside.get("permissionDecision"), "decision") == "reject"
    return "denied" if rejected or denial is not None else None


_UNFLAGGED = frozenset({op.ChangePlanItem, op.ReadPlan, op.MessageAgent, op.ListMcpResources})
"""Operations whose failures may come without the flag (2.1.325)."""


def _unflagged(call: Call, native: NativeResult) -> out.Failure | None:
    text = plain_text(native)
    match call.operations[0]:
        case op.ChangePlanItem() | op.ReadPlan() if text == "Task not found":
            return out.Failure("failed", text)
        case op.MessageAgent() if answer(native).get("success") is False:
            return out.Failure("failed", text_in(answer(native), "message") or text)
        case op.ListMcpResources() if text_in(fields(native), "error"):
            return out.Failure("failed", text)
    return None
