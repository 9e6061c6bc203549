"""A typed answer: what the model says at the end, read into the type that was asked for.

Rule: `RunResult.output` is a value of that type, or the run has failed and says what did not fit. Providers that take a
schema for the answer get it; where one does not, or not beside tools, the model gives its answer by calling a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dragoman.errors import ToolError
from dragoman.schema import Reader
from dragoman.tools import Tool

FINAL_TOOL: Final = "final_answer"
ASK_FINAL: Final = f"Give your final answer now by calling {FINAL_TOOL}."
ASK_AGAIN: Final = (
    "Your answer could not be used: {problem}\nAnswer again with one JSON value that fits the schema, and nothing else."
)
_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class Output:
    """What is asked for: a Python type (msgspec, dataclass, TypedDict, pydantic, `list[str]`, …) or a JSON Schema.

    APIs take only objects as answers, so any other type is asked for as an object with the one field `value`.
    """

    def __init__(self, wanted: Any) -> None:
        self._reader: Reader[Any]
        if isinstance(wanted, Mapping):
            self._reader = Reader.of_schema("the answer", wanted)
        else:
            self._reader = Reader.of_type(wanted, "the answer")
        whole = self._reader.schema
        self._is_wrapped = whole.get("type") != "object"
        self.schema: dict[str, Any] = whole
        if self._is_wrapped:
            inner = {key: value for key, value in whole.items() if key != "$defs"}
            self.schema = {
                "type": "object",
                "properties": {"value": inner},
                "required": ["value"],
                "additionalProperties": False,
                **({"$defs": whole["$defs"]} if "$defs" in whole else {}),
            }

    def read(self, text: str) -> Any:
        """The value of an answer in JSON; `ToolError` with every problem when it does not fit."""
        fenced = _FENCE.match(text)
        try:
            return self._value(json.loads(fenced[1] if fenced else text))
        except (ValueError, RecursionError) as error:
            raise ToolError(f"it is not JSON ({error})", kind="invalid_arguments") from error

    def _value(self, given: Any) -> Any:
        if self._is_wrapped:
            if not isinstance(given, dict) or set(given) != {"value"}:
                raise ToolError('the answer is an object with the one field "value"', kind="invalid_arguments")
            given = given["value"]
        return self._reader.read(json.dumps(given))[0]

    def tool(self, take: Callable[[Any], None]) -> Tool:
        """A tool by which the model gives its answer."""

        def answer(arguments: dict[str, Any]) -> str:
            take(self._value(arguments))
            return "The answer was taken."

        description = "Give the final answer. Call it once, when the task is done."
        return Tool(FINAL_TOOL, description, self.schema, answer, approval="never", kind="plan")
