"""Failures, by the log's code for them and by their words."""

from __future__ import annotations

from dragoman.dialects.base.default_words import FailuresInWords
from dragoman.model import outcomes as out
from dragoman.model.calls import Call, NativeResult


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
        (r'"[^"\n]*": |Failed to parse patch: ', "invalid_arguments"),
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
