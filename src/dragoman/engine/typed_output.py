"""A typed answer: what the model says at the end, read into the type that was asked for.

Rule: `RunResult.output` is a value of that type, or the run has failed and says what did not fit. Providers that take a
schema for the answer get it; where one does not, or not beside tools, the model gives its answer by calling a tool.
Whoever iterates a run sees the answer grow (`PartialOutput`), and at its end the value (`FinalOutput`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic

import msgspec

from dragoman.apis import PartialJson
from dragoman.errors import DefinitionError, ToolError
from dragoman.model import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    Failure,
    FinishReason,
    RefusalPart,
    Reply,
    Restarted,
    TextChunk,
)
from dragoman.schema import Reader
from dragoman.tools import Tool

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=Any)
    AnswerT = TypeVar("AnswerT", default=Any)
    """The type of one run's answer; a JSON Schema says none."""
else:
    from typing import TypeVar

    AnswerT = TypeVar("AnswerT")
    OutputT = TypeVar("OutputT")  # a default is known to type checkers, and to Python from 3.13 on

FINAL_TOOL: Final = "final_answer"
ASK_FINAL: Final = f"Give your final answer now by calling {FINAL_TOOL}."
ASK_AGAIN: Final = (
    "Your answer could not be used: {problem}\nAnswer again with one JSON value that fits the schema, and nothing else."
)
CUT_OFF: Final = "it was cut off at the limit on its length (max_output_tokens)"
_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class PartialOutput(msgspec.Struct, frozen=True):
    """The part of the typed answer received so far, as plain JSON values.

    It is one value that grows in place: copy what you want to keep. It is not validated yet, and an answer that does
    not match the type is followed by another one.
    """

    value: Any


class FinalOutput(msgspec.Struct, Generic[OutputT], frozen=True):
    """The typed answer of a run: the same value as `RunResult.output`."""

    value: OutputT


class Output:
    """What is asked for: a Python type (msgspec, dataclass, TypedDict, pydantic, `list[str]`, …) or a JSON Schema.

    APIs take only objects as answers, so any other type is asked for as an object with the one field `value`.
    """

    def __init__(self, wanted: Any) -> None:
        self._reads_wrapped = isinstance(wanted, Mapping) and wanted.get("type") != "object"
        self._reader: Reader[Any]
        if self._reads_wrapped:
            try:
                self._reader = Reader.of_schema("the answer", _wrapped(wanted))
            except DefinitionError as error:
                own = [problem.replace("#/properties/value", "#", 1) for problem in error.problems]
                raise DefinitionError(error.subject, own) from None
        elif isinstance(wanted, Mapping):
            self._reader = Reader.of_schema("the answer", wanted)
        else:
            self._reader = Reader.of_type(wanted, "the answer")
        self.schema: dict[str, Any] = self._reader.schema
        self._is_wrapped = self._reads_wrapped or self.schema.get("type") != "object"
        if self._is_wrapped and not self._reads_wrapped:
            self.schema = _wrapped(self.schema)

    def read(self, text: str) -> Any:
        """The value of an answer; `ToolError` with every problem when it does not fit."""
        fenced = _FENCE.match(text)
        try:
            given = json.loads(fenced[1] if fenced else text)
        except (ValueError, RecursionError) as error:
            if self._is_wrapped:  # a text, a word of an enum, a date: what is not JSON may be the value itself
                with suppress(ToolError):
                    return self._bare(text.strip())
            raise ToolError(f"it is not JSON ({error})", kind="invalid_arguments") from error
        return self._value(given)

    def _value(self, given: Any) -> Any:
        if self._is_wrapped and not (isinstance(given, dict) and set(given) == {"value"}):
            return self._bare(given)
        return self._read(given)[0]

    def _bare(self, given: Any) -> Any:
        """A value outside of the field `value`, taken as it is: prose must not become a list of one."""
        value, coercions = self._read({"value": given})
        if coercions:
            raise ToolError('the answer is an object with the one field "value"', kind="invalid_arguments")
        return value

    def _read(self, given: Any) -> tuple[Any, Sequence[Any]]:
        try:
            if self._reads_wrapped:
                value, coercions = self._reader.read(json.dumps(given))
                return value["value"], coercions
            return self._reader.read(json.dumps(given["value"] if self._is_wrapped else given))
        except ToolError as error:
            raise ToolError(misfits(error), kind=error.kind, details=error.details) from error

    def partial(self, value: Any) -> PartialOutput | None:
        """What is known of the value, given what is known of the answer; `None` where that is nothing yet."""
        if self._is_wrapped:
            value = value.get("value") if isinstance(value, dict) else None
        return None if value is None else PartialOutput(value)

    def tool(self, take: Callable[[Any], None]) -> Tool:
        """A tool by which the model gives its answer."""

        def answer(arguments: dict[str, Any]) -> str:
            take(self._value(arguments))
            return "The answer was taken."

        description = "Give the final answer. Call it once, when the task is done."
        return Tool(FINAL_TOOL, description, self.schema, answer, approval="never", kind="plan")


def misfits(refusal: ToolError | Failure) -> str:
    """What does not fit in a value, as its reader lists it."""
    rows = refusal.details.get("problems") or ()
    return (
        "; ".join(f"{row['path'] or 'the value'} {row['message'].removesuffix('.')}" for row in rows) or refusal.message
    )


_OF_THE_WHOLE: Final = ("$defs", "definitions", "$schema")
"""Words of a schema that stay at its top: references lead there."""


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object whose one field `value` has this schema."""
    return {
        "type": "object",
        "properties": {"value": {word: value for word, value in schema.items() if word not in _OF_THE_WHOLE}},
        "required": ["value"],
        "additionalProperties": False,
        **{word: schema[word] for word in _OF_THE_WHOLE if word in schema},
    }


def refusal_in(reply: Reply | None) -> str | None:
    """Why a reply is no answer, and asking again is of no use: the model or its provider refused. Otherwise `None`."""
    if reply is None or reply.finish not in (FinishReason.REFUSED, FinishReason.FILTERED):
        return None
    said = "".join(part.text for part in reply.parts if isinstance(part, RefusalPart)) or reply.text
    is_refusal = reply.finish is FinishReason.REFUSED
    who = "the model refused to answer" if is_refusal else "the provider's filter ended the answer"
    return f"{who}: {said}" if said else who


def unreadable(reply: Reply | None, problem: str) -> str:
    """What is wrong with an answer that cannot be read: the limit on its length comes before what it made invalid."""
    return CUT_OFF if reply is not None and reply.finish is FinishReason.LENGTH else problem


class GrowingAnswer:
    """Reads one reply as it streams. `by_tool`: the answer is what `final_answer` is called with, not the text."""

    def __init__(self, output: Output, *, by_tool: bool) -> None:
        self._output, self._by_tool = output, by_tool
        self._view: PartialJson | None = None
        self._call: str | None = None

    def feed(self, chunk: AnyChunk) -> PartialOutput | None:
        """What a chunk adds to the answer; `None` if nothing."""
        if isinstance(chunk, Restarted):
            self._view = self._call = None
        elif not self._by_tool:
            return self._fed(chunk.text) if isinstance(chunk, TextChunk) else None
        elif isinstance(chunk, CallStarted) and chunk.name == FINAL_TOOL:
            self._view, self._call = PartialJson(), chunk.call_id
        elif isinstance(chunk, ArgumentsChunk) and chunk.call_id == self._call and chunk.path is None:
            return self._fed(chunk.text)
        elif isinstance(chunk, CallFinished) and chunk.call.name == FINAL_TOOL and not self._began:
            return self._output.partial(chunk.call.arguments)  # some APIs send the arguments only as a whole
        return None

    @property
    def _began(self) -> bool:
        return self._view is not None and self._view.value is not None

    def _fed(self, text: str) -> PartialOutput | None:
        if self._view is None:  # the answer is an object; a fence or words may stand before it
            start = text.find("{")
            if start < 0:
                return None
            self._view, text = PartialJson(), text[start:]
        self._view.feed(text)
        return self._output.partial(self._view.value)
