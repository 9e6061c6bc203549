"""Requests: a `Request` as a body, and a recorded body as a `Request`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import msgspec

from dragoman.apis.base.api import Encoded, Problem, Tools, hosted_of
from dragoman.apis.base.conversation_order import History, Remark, conversation_key
from dragoman.apis.base.message_reader import MessageReader
from dragoman.apis.base.options import with_options
from dragoman.apis.lowering import Lowering
from dragoman.errors import EngineError
from dragoman.model.calls import NativeResult
from dragoman.model.conversation import AnyPart, CallPart, Message, Provenance, ResultPart
from dragoman.model.json_values import as_list, as_name
from dragoman.model.request import Features, Request, ToolChoice

from . import settings
from .families import ways
from .messages import read_result_content, write_messages
from .replies import read_content, read_message
from .tools import is_legacy, read_tools, written_beside
from .values import NAME, beside, of_this_api, write_json

# ── out ──────────────────────────────────────────────────────────────────────


def write_request(request: Request, history: History, tools: Tools | None, features: Features) -> Encoded:
    """The body of a request, and what of it was changed."""
    messages, remarks = write_messages(request, history, freeform=features.freeform_tools)
    body: dict[str, Any] = {"model": request.model} if request.model else {}
    body["messages"] = messages
    if tools is not None:
        _write_tools(request, tools, body, freeform=features.freeform_tools)
    if request.thinking is not None:
        said, lost = settings.write_thinking(request.thinking, request.model)
        body |= said
        if lost is not None:
            remarks.append(Remark("thinking", lost))
    if request.response_schema is not None:
        body["response_format"], rewritten = settings.write_response_format(request, strict=features.strict_tools)
        remarks += rewritten
    body |= settings.write_numbers(request)
    if request.cache and features.cache_key:
        body["prompt_cache_key"] = conversation_key(request.conversation)
    body = with_options(body, request.provider_options, remarks)
    lowering = Lowering() if tools is None else tools.lowering
    return Encoded(body, "/chat/completions", lowering=lowering, report=tuple(remarks), tools=tools)


def _write_tools(request: Request, tools: Tools, body: dict[str, Any], *, freeform: bool) -> None:
    choice = settings.write_choice(request.choice, request.definitions, freeform=freeform)
    body |= written_beside(request.definitions)
    if is_legacy(request.definitions):
        body["functions"] = [tool["function"] for tool in tools.wire]
        if choice is not None:
            body["function_call"] = choice["function"] if isinstance(choice, dict) else choice
        return
    if not tools.wire:
        return
    body["tools"] = tools.wire
    if choice is not None:
        body["tool_choice"] = choice
    if request.parallel is not None:
        body["parallel_tool_calls"] = request.parallel


def problems_of(request: Request) -> Iterable[Problem]:
    """What this protocol alone minds in a request."""
    if request.thinking is not None and ways(request.model).thinking_form is None and request.thinking.level != "off":
        yield Problem("thinking", f"{request.model} does not think", "leave `thinking` out, or ask a model that does")
    if is_legacy(request.definitions) and request.choice.mode in ("required", "subset"):
        yield Problem("choice", f'the older `functions` have no choice "{request.choice.mode}"', "choose auto or one")
    for definition in hosted_of(request.definitions):
        if not {definition.id, definition.name}.isdisjoint(request.choice.names):
            message = f"the provider's tool {definition.id!r} cannot be chosen by name on this API"
            yield Problem("choice", message, "choose auto, or a tool of your own")


# ── in ───────────────────────────────────────────────────────────────────────


_TYPED = frozenset(
    {
        *("model", "tools", "functions", "tool_choice", "function_call", "parallel_tool_calls", "response_format"),
        *("temperature", "top_p", "stop", "seed", "max_tokens", "max_completion_tokens", "stream", "reasoning_effort"),
    }
)
"""Keys with a field of their own, for which null is another word for absent."""


def model_of(body: dict[str, Any], model: str | None) -> str:
    """The model of a request, or else the one that is named beside it."""
    return as_name(body.get("model")) or model or ""


def read_request(body: Any, model: str | None, read: MessageReader | None = None) -> Request:
    """A recorded body. What has no field of its own is in `provider_options`, as it stood; `read` has the messages."""
    if not isinstance(body, dict):
        raise EngineError(f"a JSON value of type {type(body).__name__} is no request of Chat Completions")
    rest = {key: value for key, value in body.items() if value is not None or key not in _TYPED}
    name = model_of(rest, model)
    if as_name(rest.get("model")) is not None:
        del rest["model"]
    conversation = _read_messages(rest, name) if read is None else tuple(read.ended())
    definitions = read_tools(rest)
    fields: dict[str, Any] = settings.read_numbers(rest, name)
    fields["choice"] = _read_choice(rest, offered=bool(definitions))
    if definitions and isinstance(rest.get("parallel_tool_calls"), bool):
        fields["parallel"] = rest.pop("parallel_tool_calls")
    thinking = settings.read_thinking(rest, name)
    schema = settings.read_response_format(rest)
    return Request(
        name,
        conversation,
        definitions,
        thinking=thinking,
        response_schema=schema,
        provider_options=rest,
        **fields,
    )


def _read_choice(rest: dict[str, Any], *, offered: bool) -> ToolChoice:
    for key in ("tool_choice", "function_call"):
        given = rest.get(key)
        if key == "function_call" and isinstance(given, dict) and len(given) == 1:
            given = {"type": "function", "function": given}
        choice = settings.read_choice(given) if offered else None
        if choice is not None:
            del rest[key]
            return choice
    return ToolChoice()


def _read_messages(rest: dict[str, Any], model: str) -> tuple[Message, ...]:
    messages = rest.get("messages")
    reader = Reader(model)
    if not isinstance(messages, list) or not all(map(reader.take, messages)):
        return ()
    del rest["messages"]
    return tuple(reader.ended())


_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def _readable(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in _ROLES


class Reader(MessageReader):
    """Reads messages in order; a result of the older kind belongs to the call of that name before it."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._made_by = Provenance(api=NAME, model=model or None)
        self._called: dict[str, str] = {}

    def take(self, message: Any) -> bool:
        if not _readable(message):
            return False
        self.messages.append(self._message(len(self.messages), message))
        return True

    def fork(self) -> Self:
        new = super().fork()
        new._called = {**self._called}
        return new

    def _message(self, place: int, message: dict[str, Any]) -> Message:
        role = message["role"]
        if role == "assistant":
            parts, rest = read_message(message, seed=f"request\0{place}")
            for part in parts:
                if isinstance(part, CallPart) and of_this_api(part.metadata).get("legacy"):
                    self._called[part.call.name] = part.call.id
            parts = _with_indexes(parts, message.get("tool_calls"))
            return Message("assistant", tuple(parts), self._made_by, beside(rest))
        rest = {key: value for key, value in message.items() if key != "role"}
        if role in ("tool", "function"):
            return self._result(role, rest)
        if role == "developer":
            rest["developer"] = True
        return Message(role, tuple(read_content(rest)), metadata=beside(rest))

    def _result(self, role: str, rest: dict[str, Any]) -> Message:
        content = rest.pop("content", None)
        name = as_name(rest.get("name"))
        if role == "function":
            rest.pop("name", None)
            id = self._called.get(name or "", "")
        else:
            id = as_name(rest.pop("tool_call_id", None)) or ""
        kept: dict[str, Any] = {}
        said: Any = content
        if isinstance(content, list):
            kept["content"] = content
            said = read_result_content(content)
        elif not isinstance(content, str):
            said = "" if content is None else write_json(content)
        part = ResultPart(NativeResult(id, said, name=name), metadata=beside(kept))
        return Message("tool", (part,), metadata=beside(rest))


def _with_indexes(parts: list[AnyPart], calls: Any) -> list[AnyPart]:
    """Calls with their index, which is written back in a request that had it."""
    given = [call for call in as_list(calls) if isinstance(call, dict)]
    for place, call in enumerate(given):
        at = len(parts) - len(given) + place
        part = parts[at]
        if "index" in call and isinstance(part, CallPart):
            kept = of_this_api(part.metadata)
            extra = {**kept.get("extra", {}), "index": call["index"]}
            parts[at] = msgspec.structs.replace(part, metadata={NAME: {**kept, "extra": extra}})
    return parts
