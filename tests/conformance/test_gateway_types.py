"""What the gateway writes, held to the types of the providers' own SDKs: every field that they promise is there.

The SDKs themselves read what comes without checking it, so a field that is missing shows only in the program that reads
it (`thought.signature`, `usage.server_tool_use.web_fetch_requests`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

from dragoman.apis import APIS, written
from dragoman.model import (
    CallPart,
    ExecutedBy,
    MediaPart,
    NativeCall,
    RefusalPart,
    Reply,
    TextPart,
    ThinkingPart,
    Usage,
)
from tests.conformance.test_served import replies

ALL = sorted(APIS.built_in)


def whole_type(api: str) -> Any:
    """The type of a whole answer."""
    if api == "anthropic_messages":
        from anthropic.types import Message

        return Message
    if api == "openai_responses":
        from openai.types.responses import Response

        return Response
    if api == "openai_chat":
        from openai.types.chat import ChatCompletion

        return ChatCompletion
    from google.genai.types import GenerateContentResponse

    return GenerateContentResponse


def event_types(api: str) -> dict[str, Any]:
    """The types of the events of a stream by their names; one without a name where all are alike."""
    events: Any
    if api == "anthropic_messages":
        from anthropic.types import RawMessageStreamEvent

        events = RawMessageStreamEvent
    elif api == "openai_responses":
        from openai.types.responses import ResponseStreamEvent

        events = ResponseStreamEvent
    elif api == "openai_chat":
        from openai.types.chat import ChatCompletionChunk

        return {"": ChatCompletionChunk}
    else:
        return {"": whole_type(api)}
    members: tuple[Any, ...] = get_args(get_args(events)[0])
    return {name: one for one in members for name in get_args(one.model_fields["type"].annotation)}


def for_a_client(reply: Reply, signature: str | None) -> Reply:
    """A reply as the gateway tells it: words, thoughts, pictures and the calls that the client runs."""
    parts: list[Any] = []
    for place, part in enumerate(reply.parts):
        match part:
            case TextPart(text) if text:
                parts.append(TextPart(text))
            case ThinkingPart(text) if text:
                parts.append(ThinkingPart(text, signature=signature))
            case RefusalPart(text):
                parts.append(RefusalPart(text))
            case MediaPart(media):
                parts.append(MediaPart(media))
            case CallPart(call) if call.executed_by is ExecutedBy.CLIENT:
                parts.append(CallPart(NativeCall(f"call_{place}", call.name, call.arguments)))
    usage = msgspec.structs.replace(reply.usage, metadata={})
    return Reply(tuple(parts), reply.finish, usage=usage)


def said(data: bytes) -> Iterator[Any]:
    lines = (line.removeprefix("data: ") for line in data.decode().splitlines() if line.startswith("data: "))
    return (json.loads(line) for line in lines if line != "[DONE]")


@pytest.mark.parametrize("client", ALL)
@pytest.mark.parametrize("upstream", ALL)
def test_every_answer_has_the_fields_that_the_sdk_of_the_client_promises(upstream: str, client: str) -> None:
    server, whole, events = APIS[client].server(), whole_type(client), event_types(client)
    kinds = set()
    for name, recorded in replies(upstream):
        reply = for_a_client(recorded, server.thought_signature)
        kind = (*(type(part).__name__ for part in reply.parts), reply.finish, *sorted(stated(reply.usage)))
        if kind in kinds:
            continue  # answers of one kind have the same fields
        kinds.add(kind)
        try:
            whole.model_validate_json(msgspec.json.encode(server.reply(reply, model="m")))
            for event in said(b"".join(written(server.stream(model="m"), reply, pieces=9))):
                (events.get("") or events[event["type"]]).model_validate(event)
        except ValueError as error:
            pytest.fail(f"{name} for a client of {client}: {error}")
    assert len(kinds) > 20


def stated(usage: Usage) -> list[str]:
    """The counts that are known, and the tools that were counted."""
    return [name for name in usage.__struct_fields__ if getattr(usage, name) is not None] + [*usage.requests]
