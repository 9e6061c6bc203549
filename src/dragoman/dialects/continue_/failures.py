"""Results of MCP servers, and failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import FailuresInWords, tell_all, text_of, understand
from dragoman.dialects.base.spelling import Content
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import json_text, read_json

from .commands import ENDED
from .search import NO_MATCHES


class ContinueUnspelled:
    """Results of servers: the list of content pieces as JSON. Whether it failed is not told."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """Texts as pieces; media beside them."""
        told = tell_all(operations, outcomes)
        if not isinstance(told, str) or not any(isinstance(one, op.CallMcpTool) for one in operations):
            return told
        return json_text([{"type": "text", "text": told}])

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The pieces of the list."""
        if not isinstance(operation, op.CallMcpTool) or not isinstance(native.content, str):
            return understand(operation, native)
        try:
            pieces = read_json(native.content, type=list[dict[str, Any]])
            content = tuple(_piece(piece) for piece in pieces)
        except (msgspec.DecodeError, KeyError):
            return understand(operation, native)
        if len(content) == 1 and isinstance(content[0], str):
            return understand(operation, NativeResult(native.call_id, content[0]))
        return out.ContentOutcome(content)


def _piece(piece: dict[str, Any]) -> str | out.Media:
    if piece["type"] == "text":
        return str(piece["text"])
    if piece["type"] in ("image", "audio"):
        return out.Media(str(piece["mimeType"]), str(piece["data"]))
    return json_text(piece)


class ContinueFailures(FailuresInWords):
    """Failures by their words, for the wire has no flag; a command that ended badly is none."""

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """As for all, so introduced that it is known for a failure without the flag."""
        told = text_of(super().tell(call, failure)[0])
        known = _introduced(call, told)
        return (told if known else f"{_introduction(call)}{told}"), True

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result that the log flags, or that is introduced as a failure."""
        text = text_of(native.content)
        if not native.is_error and (native.is_error is False or not _introduced(call, text)):
            return None
        for operation in call.operations:
            if isinstance(operation, op.RunCommand) and ENDED.fullmatch(text):
                return None
            if isinstance(operation, op.SearchText) and NO_MATCHES.fullmatch(text):
                return None
        kind = self.kind(text.removeprefix(_introduction(call)))
        stopped = isinstance(native.item, dict) and native.item.get("status") == "canceled"
        return out.Failure("cancelled" if stopped and kind == "failed" else kind, text)

    def kind(self, message: str) -> out.FailureKind:
        """As for all; the introduction says nothing of the kind."""
        return super().kind(re.sub(r"\AError executing tool [^\n:]*: ", "", message))


def _introduction(call: Call) -> str:
    return f"Error executing tool {call.native.name}: "


def _introduced(call: Call, text: str) -> bool:
    return text.startswith((_introduction(call), f"Tool {call.native.name} not found"))


FAILURES = ContinueFailures(
    (
        (r"Tool .* not found", "unknown_tool"),
        (r"Required (?:argument|parameter)|Invalid arguments|Failed to parse arguments", "invalid_arguments"),
        (r"Permission denied by|The user declined|Command blocked by security policy", "denied"),
        (r"Cancell?ed by", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool {tool} not found. {message}",
        "invalid_arguments": "Invalid arguments: {message}",
        "denied": "Permission denied by user: {message}",
        "cancelled": "Cancelled by user: {message}",
        "timed_out": "It timed out: {message}",
    },
)
