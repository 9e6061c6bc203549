"""Recorded requests of this protocol, read back.

Rule: a setting becomes a typed field only where writing it gives the same again; everything else is `provider_options`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from dragoman.apis.base.message_reader import MessageReader
from dragoman.errors import EngineError
from dragoman.model import request as req
from dragoman.model.conversation import AnyPart, CallPart, Message, Metadata, Provenance, ResultPart, Role, TextPart

from .blocks import read_blocks
from .families import NAME, Family
from .settings import read_choice, write_thinking_setting


def read_request(
    body: Any, model: str, family_of: Callable[[str], Family], read: MessageReader | None = None
) -> req.Request:
    """A request body, whose messages `read` may have."""
    if not isinstance(body, dict):
        raise EngineError(f"a {type(body).__name__} is no request of this API: an object was expected")
    options = dict(body)
    said = options.get("model")
    if isinstance(said, str):
        model = options.pop("model")
    conversation = _conversation(options, read)
    definitions = _definitions(options)
    choice, parallel = _choice(options, definitions)
    most = _pop(options, "max_tokens", int)
    return req.Request(
        model,
        conversation,
        definitions,
        choice,
        parallel,
        thinking=read_thinking(options, most, family_of(model)),
        max_output_tokens=most,
        temperature=_number(options, "temperature"),
        top_p=_number(options, "top_p"),
        stop=_stop(options),
        response_schema=_schema(options),
        stream=_pop(options, "stream", bool) or False,
        provider_options=options,
    )


def _pop(options: dict[str, Any], key: str, kind: type) -> Any:
    """A setting of the right type, taken out; one of another type stays where it is."""
    value = options.get(key)
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return options.pop(key)
    return None


def _number(options: dict[str, Any], key: str) -> float | None:
    value = _pop(options, key, int)
    value = _pop(options, key, float) if value is None else value
    return None if value is None else float(value)


def _stop(options: dict[str, Any]) -> tuple[str, ...]:
    stop = options.get("stop_sequences")
    if isinstance(stop, list) and all(isinstance(one, str) for one in stop):
        return tuple(options.pop("stop_sequences"))
    return ()


def _schema(options: dict[str, Any]) -> dict[str, Any] | None:
    config = options.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    if not is_form(form):
        return None
    _take_from(options, "output_config", "format")
    schema: dict[str, Any] = form["schema"]
    return schema


def is_form(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON Schema that holds the answer, as this API words it."""
    return (
        isinstance(value, dict)
        and value.keys() == {"type", "schema"}
        and value["type"] == "json_schema"
        and isinstance(value["schema"], dict)
    )


def _take_from(options: dict[str, Any], key: str, name: str) -> None:
    rest = {one: value for one, value in options[key].items() if one != name}
    if rest:
        options[key] = rest
    else:
        del options[key]


# ── conversation ─────────────────────────────────────────────────────────────


def _conversation(options: dict[str, Any], read: MessageReader | None) -> tuple[Message, ...]:
    conversation: list[Message] = []
    system = options.get("system")
    if isinstance(system, str) and system:
        conversation.append(Message("system", (TextPart(options.pop("system")),)))
    elif isinstance(system, list) and system and all(map(_is_text, system)):
        conversation.append(Message("system", read_blocks(options.pop("system"))))
    elif system in ("", []):
        del options["system"]
    messages = options.get("messages")
    if read is None and isinstance(messages, list):
        read = Reader()
        if all(map(read.take, messages)):
            del options["messages"]
        else:
            read = None
    return (*conversation, *(() if read is None else read.ended()))


class Reader(MessageReader):
    """Reads messages; several of the model's in a row, after a call, are one."""

    def take(self, message: Any) -> bool:
        if not _is_message(message):
            return False
        read = _message(message)
        if self.messages and _is_one_turn(self.messages[-1], read):
            both = self.messages.pop()
            read = Message("assistant", both.parts + read.parts, read.provenance)
        self.messages.append(read)
        return True


def _is_one_turn(before: Message, message: Message) -> bool:
    """Whether two messages are one turn of the model's, as the API reads them, whose results come after both."""
    calls = any(isinstance(part, CallPart) for part in before.parts)
    return calls and before.role == message.role == "assistant" and not before.metadata and not message.metadata


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant", "system"):
        return False
    content = message.get("content")
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(one, dict) for one in content))


def _message(message: dict[str, Any]) -> Message:
    content = message["content"]
    parts: tuple[AnyPart, ...] = (TextPart(content),) if isinstance(content, str) else read_blocks(content)
    role: Role = message["role"]
    if role == "user" and parts and all(isinstance(part, ResultPart) for part in parts):
        role = "tool"
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    metadata: Metadata = {NAME: rest} if rest else {}
    return Message(role, parts, Provenance(api=NAME) if role == "assistant" else None, metadata)


# ── tools ────────────────────────────────────────────────────────────────────


def _definitions(options: dict[str, Any]) -> tuple[req.Definition, ...]:
    tools = options.get("tools")
    if not isinstance(tools, list):
        return ()
    read = [_definition(tool) for tool in tools]
    definitions = tuple(one for one in read if one is not None)
    if len(definitions) < len(read):
        return ()
    del options["tools"]
    return definitions


def _definition(tool: Any) -> req.Definition | None:
    if not isinstance(tool, dict):
        return None
    kind, name = tool.get("type"), tool.get("name")
    if isinstance(kind, str) and kind != "custom":
        if name is not None and not isinstance(name, str):
            return None
        settings = {key: value for key, value in tool.items() if key not in ("type", "name")}
        return req.ProviderDefinition(f"anthropic.{kind}", kind, name, settings)
    description, schema = tool.get("description", ""), tool.get("input_schema")
    if not isinstance(name, str) or not isinstance(description, str) or not isinstance(schema, dict):
        return None
    rest = {key: value for key, value in tool.items() if key not in ("name", "description", "input_schema")}
    strict = rest.pop("strict", False) if isinstance(rest.get("strict", False), bool) else False
    deferred = rest.pop("defer_loading", False) if isinstance(rest.get("defer_loading", False), bool) else False
    shown = rest.get("input_examples")
    examples: tuple[req.ToolExample, ...] = ()
    if isinstance(shown, list) and all(isinstance(one, dict) for one in shown):
        examples = tuple(req.ToolExample(one) for one in rest.pop("input_examples"))
    metadata: Metadata = {NAME: rest} if rest else {}
    return req.FunctionDefinition(
        name, description, schema, strict=strict, examples=examples, deferred=deferred, metadata=metadata
    )


def _choice(options: dict[str, Any], definitions: tuple[req.Definition, ...]) -> tuple[req.ToolChoice, bool | None]:
    raw = options.get("tool_choice")
    choice = read_choice(raw)
    if choice is None or not definitions:
        return req.ToolChoice(), None
    assert isinstance(raw, dict)
    alone = raw.get("disable_parallel_tool_use")
    if not isinstance(alone, bool | None) or (choice.mode == "none" and alone):
        return req.ToolChoice(), None
    del options["tool_choice"]
    return choice, None if alone is None else not alone


def read_thinking(options: dict[str, Any], most: int | None, family: Family) -> req.Thinking | None:
    """Thinking that would be written the same; its further settings stay where they are."""
    raw = options.get("thinking")
    if not isinstance(raw, dict):
        return None
    config = options.get("output_config")
    effort = config.get("effort") if isinstance(config, dict) else None
    kind, budget = raw.get("type"), raw.get("budget_tokens")
    thinking: req.Thinking | None = None
    if kind == "enabled" and isinstance(budget, int) and budget > 0:
        thinking = req.Thinking(tokens=budget)
    elif kind == "disabled":
        thinking = req.Thinking("off")
    elif kind == "adaptive":
        thinking = req.Thinking(effort if effort in ("low", "medium") else "high")
    if thinking is None:
        return None
    written, _ = write_thinking_setting(req.Request("", (), thinking=thinking, max_output_tokens=most), family)
    setting = written.get("thinking", {})
    if not setting or not setting.items() <= raw.items():
        return None
    _drop_all(options, "thinking", setting)
    told = written.get("output_config", {}).get("effort")
    if told is not None and effort == told:
        _take_from(options, "output_config", "effort")
    return thinking


def _drop_all(options: dict[str, Any], key: str, written: dict[str, Any]) -> None:
    rest = {name: value for name, value in options[key].items() if name not in written}
    if rest:
        options[key] = rest
    else:
        del options[key]
