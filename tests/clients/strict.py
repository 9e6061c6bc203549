"""A provider that takes only the words of its own model: what it refuses, and why.

The vocabularies are those that the real clients were seen to send (`vocab` of the shared facts), and requests are read
here by hand, so that nothing of what is tried decides whether it was right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HOSTED = {
    # API → the tools that its provider runs itself.
    "anthropic_messages": re.compile(r"(web_search|web_fetch|code_execution)_\d{8}"),
    "openai_responses": re.compile(r"web_search(_\d{4}_\d\d_\d\d)?|code_interpreter|tool_search"),
    "openai_chat": re.compile("(?!)"),
    "gemini_generate": re.compile("googleSearch|urlContext|codeExecution"),
}
FREEFORM = frozenset(("apply_patch",))
"""Tools whose input is a text. The Chat API's providers of other makers take functions only."""


class Vocabulary:
    """The tools of one model, and the client's own (`kept`) for what the model has no word for."""

    def __init__(self, client: str, shared: Path, kept: Iterable[re.Pattern[str]] = ()) -> None:
        captured = json.loads((shared / "vocab" / f"{client}.json").read_text())
        newest = captured["versions"][-1]
        self.parameters: dict[str, set[str]] = {}
        for tools in (one["tools"] for one in captured["tool_sets"] if one["version"] == newest):
            for tool in (tool for tool in tools if tool["name"]):
                name = f"{tool['namespace']}.{tool['name']}" if tool.get("namespace") else tool["name"]
                own = self.parameters.setdefault(name, set())
                own |= set(tool.get("schema", {}).get("properties", {}))
        self.kept = tuple(kept)

    def refusals(self, api: str, body: Mapping[str, Any]) -> Iterator[str]:
        """What a request has that its provider does not know, in its tools and in its history."""
        offered: dict[str, set[str]] = {}
        for name, parameters in _tools(api, body):
            if parameters is None:
                if not HOSTED[api].fullmatch(name):
                    yield f"no tool of this provider: {name}"
                continue
            offered[name] = parameters
            if name in self.parameters:
                yield from self._unknown(name, parameters)
            elif not any(one.fullmatch(name.removeprefix("client_")) for one in self.kept):
                yield f"no tool of this model: {name}"
        for name, arguments in _calls(api, body):
            if offered and name not in offered:
                yield f"a call of {name}, which is not offered"
            elif name in self.parameters:
                yield from self._unknown(name, arguments)
            elif unknown := arguments - offered.get(name, arguments):
                yield f"{name} has no parameter {', '.join(sorted(unknown))}"

    def _unknown(self, name: str, given: set[str]) -> Iterator[str]:
        if unknown := given - self.parameters[name] - ({"input"} if name in FREEFORM else set()):
            yield f"{name} has no parameter {', '.join(sorted(unknown))}"


def refused(api: str, message: str) -> bytes:
    """An error with status 400 as the provider of an API writes it."""
    if api == "anthropic_messages":
        error: dict[str, Any] = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    elif api == "gemini_generate":
        error = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    else:
        error = {"error": {"message": message, "type": "invalid_request_error", "param": "tools", "code": None}}
    return json.dumps(error).encode()


def _tools(api: str, body: Mapping[str, Any]) -> Iterator[tuple[str, set[str] | None]]:
    """The names and parameters of the offered tools; `None` for a tool that the provider runs."""
    for tool in body.get("tools") or ():
        match api:
            case "gemini_generate":
                yield from ((key, None) for key in tool if key != "functionDeclarations")
                for one in tool.get("functionDeclarations", ()):
                    yield one["name"], _properties(one.get("parametersJsonSchema") or one.get("parameters"))
            case "anthropic_messages":
                hosted = tool.get("type", "custom") != "custom"
                yield (tool["type"], None) if hosted else (tool["name"], _properties(tool["input_schema"]))
            case "openai_chat":
                one = tool.get("function") or tool["custom"]
                yield one["name"], _properties(one.get("parameters"))
            case _:
                if tool["type"] in ("function", "custom"):
                    yield tool["name"], _properties(tool.get("parameters"))
                elif tool["type"] == "namespace":
                    for one in tool["tools"]:
                        yield f"{tool['name']}.{one['name']}", _properties(one.get("parameters"))
                else:
                    yield tool["type"], None


def _properties(schema: Mapping[str, Any] | None) -> set[str]:
    return set((schema or {}).get("properties", {}))


def _calls(api: str, body: Mapping[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """The names of the calls in the history with those of their arguments."""
    match api:
        case "gemini_generate":
            for part in (part for one in body["contents"] for part in one["parts"]):
                if "functionCall" in part:
                    yield part["functionCall"]["name"], set(part["functionCall"].get("args") or ())
                elif "functionResponse" in part:
                    yield part["functionResponse"]["name"], set()
        case "anthropic_messages":
            for one in body["messages"]:
                for block in one["content"] if isinstance(one["content"], list) else ():
                    if block["type"] == "tool_use":
                        yield block["name"], set(block["input"])
        case "openai_chat":
            for call in (call for one in body["messages"] for call in one.get("tool_calls") or ()):
                inner = call.get("function") or call["custom"]
                yield inner["name"], _arguments(inner)
        case _:
            for item in body["input"] if isinstance(body["input"], list) else ():
                if item.get("type") in ("function_call", "custom_tool_call"):
                    space = f"{item['namespace']}." if item.get("namespace") else ""
                    yield f"{space}{item['name']}", _arguments(item)


def _arguments(call: Mapping[str, Any]) -> set[str]:
    return set(json.loads(call["arguments"])) if "arguments" in call else set()


def offered_names(api: str, body: Mapping[str, Any]) -> set[str]:
    """The names of the tools that are offered."""
    return {name for name, parameters in _tools(api, body) if parameters is not None}
