"""The records of Claude Code's logs: what is read of a line, also of an unusual one."""

from __future__ import annotations

import datetime
import json
from typing import Annotated, Any, Literal

import msgspec

from dragoman.logs.base.format import fitted
from dragoman.logs.base.normalise import moment
from dragoman.model import (
    Media,
    NativeCall,
    Source,
)
from dragoman.model.json_values import as_object, as_text

from .claude_stream import as_logged, beside_result, is_printed

UNSET = msgspec.UNSET


_UNSAID = msgspec.Raw(b"null")
KEY, NAME = "{place.uuid}@{place.source.offset}", "{place.uuid}"
"""What tells a record from others of its session, and a message."""


class Noted(msgspec.Struct, gc=False):
    """What the client noted, as far as its name goes; or a prompt that was given while the model was at work."""

    type: Any = None
    prompt: Any = None
    commandMode: Any = None  # noqa: N815 - the native name
    origin: Any = None


class Block(msgspec.Struct, gc=False, omit_defaults=True):
    """A part of a message, of any kind that is usual here; `whole` is one of another kind."""

    tool_use_id: str | None = None
    type: Literal["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"] | None = None
    content: Any = None
    is_error: bool | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    text: str | None = None
    thinking: str | None = None
    source: Any = None
    whole: dict[str, Any] | None = None


class Message(msgspec.Struct, gc=False):
    """A message as the API has it."""

    model: str | None = None
    id: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = _UNSAID
    """As it is written: every line of a message has it, and it is read once."""


def _named(wire: str) -> Any:
    """A fact of a record that all events of it have, by the name the client gives it."""
    return msgspec.field(default=None, name=wire)


_Nothing = Literal["\0"]
"""What no line of a log says: where one says it, it is printed, and is read as any JSON."""


def _ours(name: str, default: Any) -> Any:
    """What no line says: the client has no key that begins like this, and in one that has, it is of a wrong type."""
    return msgspec.field(default=default, name=f" {name}")


_Stream = Annotated[str, msgspec.Meta(min_length=1, max_length=0)]


_Number = Annotated[int, msgspec.Meta(gt=0, lt=0)]


class Record(msgspec.Struct, gc=False, rename="camel"):
    """What is read of a line; the rest of it is not even decoded. In the order the client writes it.

    It is the place of its own events, so that none has to be made.
    """

    parent: str | None = _named("parentUuid")
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session: str | None = _named("sessionId")
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    type: str | None = None
    message: Message | None = None
    provider_id: str | None = _named("requestId")
    uuid: str | None = None
    time: Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None = _named("timestamp")
    tool_use_result: Any = msgspec.UNSET
    permission_decision: Any = msgspec.UNSET
    tool_denial_kind: Any = msgspec.UNSET
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    origin: Any = None
    content: Any = None
    forked_from: Any = None
    is_api_error_message: bool | None = None
    api_error_status: Any = None
    error: Any = None
    subtype: Any = None
    compact_metadata: Any = None
    attachment: Noted | None = None
    data: Noted | None = None
    printed: _Nothing = _named("session_id")
    source: Source = _ours("source", None)
    stream: _Stream = _ours("stream", "main")
    number: _Number = _ours("number", 0)


decode_record = msgspec.json.Decoder(Record).decode


class PrintedRecord(Record, gc=False, rename="camel"):
    """What is read of a line that was printed: the same under other names (`as_logged` has them for any line).

    Only of what is told most; what is of another kind or has a name of a log beside these is read as any JSON.
    """

    type: Literal["assistant", "system", "user"] | None = None
    session: str | None = _named("session_id")
    printed: _Nothing = _named("sessionId")
    provider_id: str | None = _named("request_id")
    logged_request: _Nothing = _named("requestId")
    tool_use_result: Any = msgspec.field(default=msgspec.UNSET, name="tool_use_result")
    logged_result: _Nothing = _named("toolUseResult")
    version: str | None = _named("claude_code_version")
    logged_version: _Nothing = _named("version")
    is_api_error_message: bool | None = _named("is_api_error_message")
    logged_error: _Nothing = _named("isApiErrorMessage")
    api_error_status: Any = _named("api_error_status")
    logged_status: _Nothing = _named("apiErrorStatus")
    agent_id: str | None = _named("agent_id")
    logged_agent: _Nothing = _named("agentId")
    is_meta: bool | None = _named("isSynthetic")
    logged_meta: _Nothing = _named("isMeta")
    parent_tool_use_id: Any = _named("parent_tool_use_id")
    beside: Any = _named("tool_result_meta")


_decode_printed = msgspec.json.Decoder(PrintedRecord).decode
_decode = msgspec.json.Decoder().decode
_SAID = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


def decode_printed(line: bytes | memoryview) -> Any:
    """A line that was printed, or any JSON where it is not of the usual kind."""
    value = _decode_printed(line)
    message = value.message
    if value.type is None or value.session is None:
        return _decode(line)
    if value.type == "system" and message is None:
        return value
    if message is None or message.content is None or value.type == "system":
        return _decode(line)
    if type(message.content) is list and value.type == "assistant":
        for block in message.content:
            if block.type not in _SAID or (block.type == "tool_use" and block.name is None):
                return _decode(line)  # the API's reader knows it, by all that it holds
    if message.stop_reason is None:
        message.usage = _UNSAID
    if value.beside is not None:
        beside = beside_result(value.beside)
        value.permission_decision = beside.get("permission_decision", value.permission_decision)
        value.tool_denial_kind = beside.get("non_execution_kind", value.tool_denial_kind)
    return value


def inside_tag(tag: str, text: str) -> str | None:
    _, opened, rest = text.partition(f"<{tag}>")
    inside, closed, _ = rest.partition(f"</{tag}>")
    return inside if opened and closed else None


def note_name(value: Record) -> str:
    noted = value.attachment or value.data
    subtype = value.subtype or (noted and noted.type)
    return f"{value.type}/{subtype}" if isinstance(subtype, str) else str(value.type)


def unusual_call(block: Block, name: str, value: Record) -> NativeCall:
    """A call without an id, or whose arguments are no object."""
    arguments = block.input
    if not isinstance(arguments, dict | str):
        arguments = {} if arguments is None else str(arguments)
    return NativeCall(block.id or f"{key_of(value)}.{value.number}", name, arguments)


def error_text(error: Any) -> str | None:
    """What an error says, or the one within it: the provider's own answer is wrapped, up to 2.1 several times."""
    while isinstance(error, dict):
        message = as_text(error.get("message")) or as_text(error.get("formatted"))
        if message is not None:
            return message
        error = error.get("error") or error.get("cause") or error.get("code")
    return as_text(error)


def key_of(value: Record | UsageRecord) -> str:
    """What tells a record from others of its session, as the ids of its events have it."""
    return KEY.format(place=value)


def made_up_id(value: Record | UsageRecord) -> str:
    """What stands for the id of a message that has none: its request's, else its line's."""
    return value.provider_id or f"{key_of(value)}/message"


def item_of(value: Record, given: Any) -> dict[str, Any] | None:
    """What a line says of a result beside its content, under the names it has there."""
    decision, denial = value.permission_decision, value.tool_denial_kind
    said = {"toolUseResult": given, "permissionDecision": decision, "toolDenialKind": denial}
    return {name: one for name, one in said.items() if one is not UNSET} or None


def unusual_record(value: dict[str, Any]) -> Record:
    """A record that is not quite in its shape, or has parts of other kinds than usual."""
    if is_printed(value):
        value = as_logged(value)
    if isinstance(value.get("message"), str):
        value = {**value, "message": {"content": value["message"]}}
    record = fitted(value, Record)
    record.time = moment(value.get("timestamp"))
    if record.message is not None:
        record.message.content = unusual_parts(value["message"].get("content"))
        record.message.usage = msgspec.Raw(json.dumps(value["message"].get("usage")))  # it may hold half a surrogate
    return record


def unusual_parts(content: Any) -> str | list[Block] | None:
    if isinstance(content, str):
        return content
    parts: list[Block] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            parts.append(Block(type="text", text=part))
        elif isinstance(part, dict):
            parts.append(fitted({**part, "whole": part}, Block))
    return parts


def media_of(source: Any) -> Media | None:
    source = as_object(source)
    media_type = as_text(source.get("media_type")) or "application/octet-stream"
    data, url = as_text(source.get("data")), as_text(source.get("url"))
    return None if data is None and url is None else Media(media_type, data=data, url=url)


def content_of(content: Any) -> str | tuple[str | Media, ...]:
    """What a result says: its text, or texts and pictures in their order."""
    if isinstance(content, str):
        return content
    pieces: list[str | Media] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            pieces.append(block)
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        media = media_of(block.get("source")) if kind in ("image", "document") else None
        if media is not None:
            pieces.append(media)
        elif kind == "tool_reference":
            pieces.append(as_text(block.get("tool_name")) or "")
        elif (text := as_text(block.get("text")) or as_text(as_object(block.get("resource")).get("text"))) is not None:
            pieces.append(text)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces)


class _UsageMessage(msgspec.Struct, gc=False):
    """A message without what it says."""

    model: str | None = None
    id: str | None = None
    usage: msgspec.Raw = _UNSAID
    stop_reason: str | None = None


class UsageRecord(msgspec.Struct, gc=False, rename="camel"):
    """What a record says of where it stands, and its message's tokens."""

    parent: str | None = _named("parentUuid")
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    session: str | None = _named("sessionId")
    version: str | None = None
    agent_id: str | None = None
    type: str | None = None
    message: _UsageMessage | None = None
    provider_id: str | None = _named("requestId")
    uuid: str | None = None
    time: Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None = _named("timestamp")
    is_api_error_message: bool | None = None
    source: Source = _ours("source", None)
    stream: _Stream = _ours("stream", "main")
    number: _Number = _ours("number", 0)
