"""Whether the calls in a conversation are of tools that the same request offers, with arguments that fit.

No provider refuses a request for this, but its model learns from the history to call tools that are not there. It is
checked when somebody asks (`Api.validate`), not before each request: comparing arguments with schemas takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dragoman.model import request as req
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.conversation import CallPart, ResultPart
from dragoman.schema import checker

Checker = Callable[[Any], list[str]]
_Offered = dict[tuple[str | None, str], req.Definition]


class CallProblem(NamedTuple):
    """What is wrong with one call of a history."""

    call: NativeCall
    message: str


def call_problems(request: req.Request) -> Iterator[CallProblem]:
    """Calls of the history that do not fit the tools of the request. What a provider ran is not looked at."""
    parts = [part for item in request.conversation for part in item.parts]
    offered = {_key(one): one for one in request.definitions}
    for part in parts:
        if isinstance(part, ResultPart):
            offered.update({_key(one): one for one in found_tools(part.result)})
    checkers: dict[int, Checker] = {}
    for part in parts:
        if isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT:
            for message in _problems(part.call, offered, checkers):
                yield CallProblem(part.call, message)


def _key(definition: req.Definition) -> tuple[str | None, str]:
    if isinstance(definition, req.ProviderDefinition):
        return None, definition.name or definition.wire_type
    return definition.namespace, definition.name


def found_tools(result: NativeResult) -> Iterator[req.FunctionDefinition]:
    """Tools that were found by a search: the Responses API offers them in its result, not among the others."""
    item: Any = result.item
    found = item.get("tools") if isinstance(item, dict) and item.get("type") == "tool_search_output" else None
    for tool in found if isinstance(found, list) else ():
        match tool:
            case {"type": "function"}:
                yield from _function(tool, None)
            case {"type": "namespace", "name": str(space), "tools": list(members)}:
                for member in members:
                    yield from _function(member, space)


def _function(tool: Any, namespace: str | None) -> Iterator[req.FunctionDefinition]:
    match tool:
        case {"name": str(name)}:
            text, schema = tool.get("description"), tool.get("parameters")
            yield req.FunctionDefinition(
                name,
                text if isinstance(text, str) else "",
                schema if isinstance(schema, dict) else {},
                namespace=namespace,
            )


def _problems(call: NativeCall, offered: _Offered, checkers: dict[int, Checker]) -> list[str]:
    definition = offered.get((call.namespace, call.name))
    if definition is None and call.namespace == call.name:  # how the Responses API returns a call of a deferred tool
        definition = offered.get((None, call.name))
    match definition:
        case None:
            return ["this request does not offer the tool"]
        case req.FreeformDefinition() if not isinstance(call.arguments, str):
            return ["the tool takes text, and its arguments are JSON"]
        case req.FunctionDefinition() if isinstance(call.arguments, str):
            return ["its arguments are not a JSON object"]
        case req.FunctionDefinition(parameters=schema):
            check = checkers.get(id(definition))
            if check is None:
                check = checkers[id(definition)] = checker(schema)
            return [f"in its arguments, {one}" for one in check(call.arguments)]
    return []
