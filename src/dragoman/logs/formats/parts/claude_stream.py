"""What `claude -p --output-format stream-json` prints: the records of a log under other names, tokens at its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.model import Usage
from dragoman.model.json_text import converted
from dragoman.model.json_values import as_integer, as_object

NOTES = frozenset(
    {
        "auth_status",
        "control_cancel_request",
        "control_request",
        "control_response",
        "keep_alive",
        "prompt_suggestion",
        "rate_limit_event",
        "stream_event",
        "tool_progress",
        "tool_use_summary",
    }
)
"""Kinds of records that are the client's own book-keeping."""

_AS_LOGGED = {
    "session_id": "sessionId",
    "request_id": "requestId",
    "tool_use_result": "toolUseResult",
    "claude_code_version": "version",
    "is_api_error_message": "isApiErrorMessage",
    "api_error_status": "apiErrorStatus",
    "agent_id": "agentId",
    "isSynthetic": "isMeta",
}
"""Names of what is printed → those it has in a log."""
_OF_RESULTS = {"permission_decision": "permissionDecision", "non_execution_kind": "toolDenialKind"}
"""The same of what is printed beside a result."""
_SPENT = {
    "inputTokens": "input_tokens",
    "cacheReadInputTokens": "cached_read_tokens",
    "cacheCreationInputTokens": "cached_write_tokens",
    "outputTokens": "output_tokens",
}


def is_printed(value: dict[str, Any]) -> bool:
    """Whether a record is one that was printed, and not logged."""
    return "session_id" in value and "sessionId" not in value


def as_logged(value: dict[str, Any]) -> dict[str, Any]:
    """A record that was printed, as a log has it."""
    logged = {_AS_LOGGED.get(name, name): one for name, one in value.items()}
    message = value.get("message")
    if isinstance(message, dict) and message.get("stop_reason") is None:
        logged["message"] = {name: one for name, one in message.items() if name != "usage"}
    beside = beside_result(value.get("tool_result_meta"))
    logged.update({_OF_RESULTS[name]: one for name, one in beside.items() if name in _OF_RESULTS})
    return logged


def beside_result(beside: Any) -> dict[str, Any]:
    """What was printed beside the result of a line that has one."""
    return as_object(beside[0]) if isinstance(beside, list) and len(beside) == 1 else {}


class Printed(msgspec.Struct):
    """What was printed so far, of a run that was not logged but printed."""

    session: str | None = None
    """Most records do not say it as a log does."""
    spawned_by: dict[str, str] = {}
    """Call → the agent it spawned."""
    is_counted: bool = False
    """Whether each reply has its tokens."""
    used: dict[str, dict[str, int]] = {}
    """Model → what it had used in all when that was last told."""

    def spent(self, said: dict[str, Any]) -> Iterator[tuple[str, Usage]]:
        """The tokens of a run, by its models, unless each reply has its own.

        Up to 2.1.252 the client counts on from one run to the next, 2.1.325 tells them apart; less than before is a new
        beginning.
        """
        alone = said.get("model_usage_since_last_result")
        told = as_object(said.get("modelUsage") if alone is None else alone)
        for model, given in told.items() if not self.is_counted else ():
            now = {ours: as_integer(as_object(given).get(name)) or 0 for name, ours in _SPENT.items()}
            before = self.used.get(model, {}) if alone is None else {}
            if any(now[ours] < count for ours, count in before.items()):
                before = {}
            self.used[model] = now
            spent = {ours: count - before.get(ours, 0) for ours, count in now.items()}
            if any(spent.values()):
                yield model, converted(spent, Usage)
