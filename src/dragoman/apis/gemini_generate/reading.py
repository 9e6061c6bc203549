"""A recorded request as a `Request`: what has a typed place goes there, everything else into `provider_options`.

Rule: a setting is typed only where writing it gives back what was recorded.
"""

from __future__ import annotations

from typing import Any, Self, cast

from msgspec.structs import replace

from dragoman.apis.base.message_reader import MessageReader
from dragoman.apis.lowering import GEMINI_JSON, lower
from dragoman.errors import EngineError
from dragoman.model.conversation import Message, Provenance, ResultPart, Role
from dragoman.model.request import Definition, ProviderDefinition, Request, Thinking, ToolChoice

from .families import takes_json_schema, thinks_by_level
from .fields import NAME, camel, metadata_of
from .parts import Pairing, PartReader
from .requests import SERVER_SIDE, thinking_config, tool_config
from .tools import are_mixed, read_declaration


def model_of(body: dict[str, Any], model: str | None) -> str:
    """The model that the URL named, or else the request itself."""
    stated = body.get("model")
    return model or (stated.removeprefix("models/") if isinstance(stated, str) else "")


def read_request(body: Any, model: str | None, read: MessageReader | None = None) -> Request:
    """The request; `model` where the URL named it. `read` may have its contents."""
    if not isinstance(body, dict):
        raise EngineError(f"a JSON value of type {type(body).__name__} is no request of this API")
    rest = {key: value for key, value in camel(body).items() if value is not None}
    model = model_of(rest, model)
    conversation: list[Message] = []
    system = _read_system(rest.get("systemInstruction"))
    if system is not None:
        del rest["systemInstruction"]
        conversation.append(system)
    contents = rest.pop("contents", None)
    if read is None:
        read = Reader(model)
        for content in contents if isinstance(contents, list) else [] if contents is None else [contents]:
            read.take(content)
    conversation.extend(read.ended())
    if isinstance(read, Reader) and read.unread:
        rest["unreadContents"] = [*read.unread]
    definitions = _read_tools(rest.get("tools"))
    if definitions is not None:
        rest.pop("tools", None)
    config = dict(camel(rest.pop("generationConfig", None)))
    typed = read_generation(config, model)
    left = {key: value for key, value in config.items() if value is not None}
    if left:
        rest["generationConfig"] = left
    request = Request(model, tuple(conversation), definitions or (), provider_options=rest, **typed)
    return _with_choice(request)


# ── contents ─────────────────────────────────────────────────────────────────


def _read_system(instruction: Any) -> Message | None:
    if isinstance(instruction, str):
        instruction = {"parts": [{"text": instruction}]}
    said = camel(instruction)
    parts = said.get("parts")
    parts = [parts] if isinstance(parts, dict) else parts
    if not isinstance(parts, list) or not set(said) <= {"parts", "role"}:
        return None
    reader = PartReader(Pairing("system"))
    for part in parts:
        reader.read(part)
    if reader.odd or any(type(part).__name__ != "TextPart" for part in reader.parts):
        return None
    role = {} if said.get("role") is None else {"role": said["role"]}
    return Message("system", tuple(reader.parts), metadata=metadata_of(role))


class Reader(MessageReader):
    """Reads contents: a result without an id belongs to the first call of its name that waits for one."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.unread: list[Any] = []
        """What is no content, or no part of one."""
        self._pairing = Pairing("request")

    def take(self, content: Any) -> bool:
        if isinstance(content, str):
            content = {"role": "user", "parts": [{"text": content}]}
        said = camel(content)
        parts = said.get("parts")
        reader = PartReader(self._pairing)
        for part in parts if isinstance(parts, list) else [] if parts is None else [parts]:
            reader.read({"text": part} if isinstance(part, str) else part)
        self.unread += reader.odd
        if isinstance(content, dict):
            self.messages.append(_message(said, reader, self.model))
        else:
            self.unread.append(content)
        return True

    def fork(self) -> Self:
        new = super().fork()
        new.unread, new._pairing = [*self.unread], self._pairing.fork()
        return new


def _message(said: dict[str, Any], reader: PartReader, model: str) -> Message:
    stated = said.get("role")
    if stated == "model":
        return Message("assistant", tuple(reader.parts), provenance=Provenance(api=NAME, model=model or None))
    answers = any(isinstance(part, ResultPart) for part in reader.parts)
    role: Role = "tool" if answers else "user"
    return Message(role, tuple(reader.parts), metadata={} if stated == "user" else metadata_of({"role": stated}))


# ── tools ────────────────────────────────────────────────────────────────────


def _read_tools(tools: Any) -> tuple[Definition, ...] | None:
    """The definitions, or `None` when there is one that cannot be read."""
    definitions: list[Definition] = []
    for entry in tools if isinstance(tools, list) else [] if tools is None else [tools]:
        if not isinstance(entry, dict):
            return None
        for key, value in camel(entry).items():
            if key == "functionDeclarations" and isinstance(value, list):
                read = [read_declaration(one) for one in value]
                if None in read:
                    return None
                definitions.extend(one for one in read if one is not None)
            elif isinstance(value, dict):
                definitions.append(ProviderDefinition(f"google.{_snake(key)}", key, settings=value))
            elif isinstance(value, list) and key != "functionDeclarations":
                definitions.append(ProviderDefinition(f"google.{_snake(key)}", key, settings={key: value}))
            elif value is not None:
                return None
    return tuple(definitions)


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)


def _with_choice(request: Request) -> Request:
    """The request with its choice of tools typed, where that says the same."""
    options = dict(request.provider_options)
    config = {key: value for key, value in camel(options.pop("toolConfig", None)).items() if value is not None}
    calling = camel(config.get("functionCallingConfig"))
    choice = _choice(calling)
    known = {getattr(one, "name", None) for one in request.definitions}
    if choice is not None and ((calling and not request.definitions) or not set(choice.names) <= known):
        choice = None
    if choice is not None:
        config.pop("functionCallingConfig", None)
        request = replace(request, choice=choice)
    mixed = are_mixed(request.definitions)
    written = tool_config(request, strict=False, mixed=mixed)
    if SERVER_SIDE in written and config.get(SERVER_SIDE) is True:
        del config[SERVER_SIDE]
    elif mixed and SERVER_SIDE not in config:
        config[SERVER_SIDE] = None  # it was not asked for, and is not to be
    if config:
        options["toolConfig"] = config
    return replace(request, provider_options=options)


def _choice(calling: dict[str, Any]) -> ToolChoice | None:
    names = calling.get("allowedFunctionNames") or []
    mode = str(calling.get("mode", "AUTO")).upper()
    if not set(calling) <= {"mode", "allowedFunctionNames"} or not isinstance(names, list):
        return None
    if any(not isinstance(name, str) for name in names):
        return None
    if not names:
        plain = {"AUTO": ToolChoice(), "NONE": ToolChoice("none"), "ANY": ToolChoice("required")}
        return plain.get(mode)
    if mode == "ANY":
        return ToolChoice("one", tuple(names)) if len(names) == 1 else ToolChoice("subset", tuple(names), required=True)
    return ToolChoice("subset", tuple(names)) if mode == "VALIDATED" else None


# ── settings ─────────────────────────────────────────────────────────────────


def read_generation(config: dict[str, Any], model: str) -> dict[str, Any]:
    """The typed settings, taken out of `config`."""
    typed: dict[str, Any] = {}
    for key, field, kinds in (
        ("maxOutputTokens", "max_output_tokens", int),
        ("temperature", "temperature", (int, float)),
        ("topP", "top_p", (int, float)),
        ("seed", "seed", int),
    ):
        if isinstance(config.get(key), kinds) and not isinstance(config[key], bool):
            typed[field] = config[key]
    stops = config.get("stopSequences")
    if isinstance(stops, list) and stops and all(isinstance(one, str) for one in stops):
        typed["stop"] = tuple(stops)
    schema = config.get("responseJsonSchema")
    accepted = isinstance(schema, dict) and lower(schema, GEMINI_JSON).schema == schema and takes_json_schema(model)
    if accepted and config.get("responseMimeType") == "application/json":
        typed["response_schema"] = schema
    for key, field in _SETTINGS:
        if field in typed:
            config.pop(key)
    left = camel(config.get("thinkingConfig"))
    thinking = _thinking(left, model)
    if thinking is not None:
        typed["thinking"] = thinking
        written = thinking_config(thinking, model) or {}
        rest = {key: value for key, value in left.items() if not _same(written.get(key), value)}
        if written.get("includeThoughts") and not left.get("includeThoughts"):
            rest["includeThoughts"] = False
        config["thinkingConfig"] = rest or None
    return typed


_SETTINGS = (
    ("maxOutputTokens", "max_output_tokens"),
    ("temperature", "temperature"),
    ("topP", "top_p"),
    ("seed", "seed"),
    ("stopSequences", "stop"),
    ("responseJsonSchema", "response_schema"),
    ("responseMimeType", "response_schema"),
)


def _same(written: Any, recorded: Any) -> bool:
    if isinstance(written, str) and isinstance(recorded, str):
        return written.lower() == recorded.lower()
    return bool(written == recorded)


def _thinking(config: dict[str, Any], model: str) -> Thinking | None:
    budget, level = config.get("thinkingBudget"), config.get("thinkingLevel")
    if level is None and isinstance(budget, int) and not isinstance(budget, bool):
        if budget > 0:
            return Thinking(tokens=budget)
        if budget == 0 and not thinks_by_level(model):
            return Thinking("off")
    if budget is None and isinstance(level, str) and thinks_by_level(model):
        named = level.lower()
        if named in ("low", "medium", "high"):
            return Thinking(cast(Any, named))
    return None
