"""What the log keeps of a result beside its text, the results of MCP servers, and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.dialects.base.default_words import FailuresInWords, tell_all, understand
from dragoman.dialects.base.spelling import Content
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult


def record_of(native: NativeResult) -> Mapping[str, Any]:
    """What the log keeps of a result beside its text."""
    found = native.item.get("result") if isinstance(native.item, dict) else None
    return found if isinstance(found, dict) else {}


def media_of(native: NativeResult) -> tuple[out.Media, ...]:
    """Pictures beside the text: in the content, or named by the log, which keeps them elsewhere."""
    if not isinstance(native.content, str):
        return tuple(piece for piece in native.content if isinstance(piece, out.Media))
    record = record_of(native)
    kept = record.get("binaryResultsForLlm", record.get("contents"))  # 1.0.102, and 1.0.92 of a server's pictures
    named = [one for one in kept if isinstance(one, dict)] if isinstance(kept, list) else []
    return tuple(
        out.Media(
            str(one.get("mimeType")),
            one["data"] if isinstance(one.get("data"), str) else None,
            file_id=one["assetId"] if isinstance(one.get("assetId"), str) else None,
            size=one["byteLength"] if isinstance(one.get("byteLength"), int) else None,
        )
        for one in named
        if "mimeType" in one
    )


class CopilotUnspelled:
    """Results of servers: their text, pictures beside it, and the same as data where the log has it."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """As everywhere."""
        return tell_all(operations, outcomes)

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """The text with what stands beside it."""
        media, structured = media_of(native), record_of(native).get("structuredContent")
        if not isinstance(native.content, str) or (not media and structured is None):
            return understand(operation, native)
        return out.ContentOutcome((native.content, *media), structured)


class CopilotFailures(FailuresInWords):
    """Failures by the log's code for them, and by their words."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A result that is flagged; that a rule denied it, or the user did, has a code of its own."""
        failure = super().understand(call, native)
        error = native.item.get("error") if isinstance(native.item, dict) else None
        denied = isinstance(error, dict) and error.get("code") in ("denied", "rejected")
        return out.Failure("denied", failure.message) if failure is not None and denied else failure


FAILURES = CopilotFailures(
    (
        (r"Tool '.*' does not exist", "unknown_tool"),
        (r'"[^"\n]*": |Multiple validation errors:|Failed to parse patch: ', "invalid_arguments"),
        # 0.0.390 passes on what its JSON parser said of arguments that break off.
        (r"[^\n]* in JSON at position \d", "invalid_arguments"),
        (r"Permission denied because", "denied"),
        (r"Operation cancelled", "cancelled"),
        (r"(?s:.*)\btimed out\b", "timed_out"),
    ),
    {
        "unknown_tool": "Tool '{tool}' does not exist. {message}",
        "invalid_arguments": '"{tool}": {message}',
        "denied": "Permission denied because {message}",
        "cancelled": "Operation cancelled: {message}",
        "timed_out": "It timed out: {message}",
    },
)
