"""How results that are no single tool's are told and understood: failures, and what servers gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import PlainFailures, tell_all, text_of, understand
from dragoman.dialects.base.responses_items import is_item, unfinished_item
from dragoman.dialects.base.spelling import Content, NativeContent
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.json_text import read_json

from .commands import Shell, failed_output, shell_outputs, shell_result


class OpenAiFailures(PlainFailures):
    """Failures in words, but for commands: those have an output for each, whatever became of them."""

    def tell(self, call: Call, failure: out.Failure) -> NativeContent:  # type: ignore[override]
        if call.native.name != Shell.native_name:
            return super().tell(call, failure)
        return shell_result([failed_output(failure)] * max(1, len(call.operations)))

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        if call.native.name == Shell.native_name and call.operations and shell_outputs(native) is not None:
            return None  # the tool itself knows which of its commands failed
        return super().understand(call, native)


class ServerResults:
    """What a server's tool gave, and how it stands with one that was not called yet."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        return tell_all(operations, outcomes)

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if is_item(native.item, "mcp_approval_request"):
            return out.UnknownOutcome("the provider waits for it to be approved")
        if not is_item(native.item, "mcp_call"):
            return understand(operation, native)
        if native.item.get("error") is not None:
            return out.Failure("failed", text_of(native.content) or str(native.item["error"]))
        outcome = unfinished_item(native.item) or _given(native.item.get("output"))
        if outcome is None and not native.content:
            return out.UnknownOutcome("what the server answered is not in the item")
        return understand(operation, native) if outcome is None else outcome


def _given(output: Any) -> out.Outcome | None:
    if not isinstance(output, str):
        return None
    try:
        return out.JsonOutcome(read_json(output)) if output[:1] in ("{", "[") else out.TextOutcome(output)
    except msgspec.DecodeError:
        return out.TextOutcome(output)


FAILURES = OpenAiFailures()
