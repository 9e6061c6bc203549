"""How failures are told to and by Anthropic's API: a flag and words for what we run, a code for what it runs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.dialects.base.default_words import FailuresInWords
from dragoman.dialects.base.spelling import NativeContent
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import converted

from .commands import RESTARTED, STANDING
from .editing import Memory
from .hosted import content_of, told_text

KINDS: Mapping[str, out.FailureKind] = {
    "invalid_tool_input": "invalid_arguments",
    "query_too_long": "invalid_arguments",
    "request_too_large": "invalid_arguments",
    "prompt_too_long": "invalid_arguments",
    "url_too_long": "invalid_arguments",
    "url_not_allowed": "denied",
    "url_not_in_prior_context": "denied",
    "max_uses_exceeded": "denied",
    "execution_time_exceeded": "timed_out",
}
"""What codes mean (the types of anthropic 2.8.0); any other says that it failed."""


def _memory(call: Call) -> Memory | None:
    """The call as one of the memory."""
    if call.native.name != Memory.native_name or not isinstance(call.native.arguments, dict):
        return None
    try:
        return converted(call.native.arguments, Memory)
    except msgspec.ValidationError:
        return None


class AnthropicFailures:
    """Failures by the flag and by the codes of the API."""

    def __init__(self) -> None:
        self._words = FailuresInWords(
            (
                (r"Error: Permission denied", "denied"),
                (r"Error: Cancelled", "cancelled"),
                (r"Error: Timed out", "timed_out"),
                (r"Error: Invalid input", "invalid_arguments"),
                (r"Error: Unknown tool", "unknown_tool"),
            ),
            {
                "denied": "Error: Permission denied: {message}",
                "cancelled": "Error: Cancelled: {message}",
                "timed_out": "Error: Timed out: {message}",
                "invalid_arguments": "Error: Invalid input: {message}",
                "unknown_tool": "Error: Unknown tool: {message}",
                "failed": "Error: {message}",
            },
        )

    def tell(self, call: Call, failure: out.Failure) -> NativeContent:
        """Words that show the kind, flagged as an error."""
        if call.operations == (op.StopCommand(STANDING),) and "jobs" in failure.details:
            return RESTARTED, None  # no shell is open yet, so the next command has a new one
        memory = _memory(call)
        if memory is None:
            return self._words.tell(call, failure)
        if failure.details.get("reason") == "not_found":
            return memory.missing()
        return self._words.tell(call, msgspec.structs.replace(failure, message=memory.in_its_words(failure.message)))

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A code in the block of a result, or the flag."""
        content = content_of(native)
        if isinstance(content, dict) and isinstance(content.get("error_code"), str):
            code = content["error_code"]
            words = content.get("error_message") or code.replace("_", " ")
            return out.Failure(KINDS.get(code, "failed"), str(words), {"error_code": code})
        if not native.is_error:
            return None
        text = told_text(native)
        return out.Failure(self._words.kind(text), text)
