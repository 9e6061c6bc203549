"""The server's side of every API against recorded traffic: what was answered is written again and read as the same."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

import msgspec
import pytest

from dragoman.apis import APIS, written
from dragoman.errors import EngineError
from dragoman.model import CallPart, FinishReason, Reply, TextPart, ThinkingPart
from dragoman.serve.gateway.reading import Reading
from tests.conformance.cassettes import NAMES, Cassette, cassettes


@cache
def replies(api: str) -> list[tuple[str, Reply]]:
    """What every recorded exchange answered that had an id: the ids of calls without one are made of it."""
    exchanges = [one for one in cassettes(api) if one.status == 200]
    found = [(one.id, reply) for one in exchanges if (reply := read(api, one)) is not None]
    assert len(found) > 1000
    return found


def read(api: str, one: Cassette) -> Reply | None:
    try:
        if one.streaming or one.raw_sse is not None or one.events:
            decoder = APIS[api].stream()
            decoder.feed(one.stream)
            reply = decoder.close()
        else:
            reply = APIS[api].decode(one.response)
    except EngineError:
        return None
    return reply if reply.id and reply.provenance.model and reply.finish is not FinishReason.INTERRUPTED else None


def without_metadata(reply: Reply) -> Reply:
    """A reply without what its response says beside it: when it was made, by which build of a server.

    Two things no server of ours says: that a call had no id (it is given one), and a message that was given up in the
    middle of a stream, before the one that counts.
    """
    others = (one for one in reply.alternatives if one.finish is not FinishReason.INTERRUPTED)
    parts = tuple(with_its_id(part) if isinstance(part, CallPart) else part for part in reply.parts)
    return msgspec.structs.replace(
        reply, parts=parts, metadata={}, alternatives=tuple(without_metadata(other) for other in others)
    )


def with_its_id(part: CallPart) -> CallPart:
    said = {
        api: {name: one for name, one in told.items() if (name, one) != ("id", None)}
        for api, told in part.metadata.items()
    }
    return msgspec.structs.replace(part, metadata={api: told for api, told in said.items() if told})


def runs_together(reply: Reply) -> bool:
    """Whether two words parts of one kind stand side by side, or one is empty: no stream of Gemini tells them apart."""
    kinds = [type(part) if isinstance(part, TextPart | ThinkingPart) else None for part in reply.parts]
    empty = any(isinstance(part, TextPart) and not part.text for part in reply.parts)
    return empty or any(one is other is not None for one, other in pairwise(kinds))


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_reply_is_written_whole_and_read_as_the_same(api: str) -> None:
    server = APIS[api].server()
    for name, reply in replies(api):
        body = msgspec.json.encode(server.reply(reply, model=reply.provenance.model or ""))
        again = APIS[api].decode(msgspec.json.decode(body))
        assert without_metadata(again) == without_metadata(reply), name
        missing = reply.metadata.get(api, {}).keys() - again.metadata.get(api, {}).keys()
        assert not missing, name


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_reply_is_streamed_and_read_as_the_same_however_it_is_cut(api: str) -> None:
    server, chance = APIS[api].server(), random.Random(7)
    for name, reply in replies(api):
        if api == "gemini_generate" and runs_together(reply):
            continue
        data = b"".join(written(server.stream(model=reply.provenance.model or "", id=reply.id), reply))
        decoder, begin = APIS[api].stream(), 0
        for cut in [*sorted(chance.randrange(len(data) + 1) for _ in range(4)), len(data)]:
            decoder.feed(data[begin:cut])
            begin = cut
        assert without_metadata(decoder.close()) == without_metadata(reply), name


@pytest.mark.parametrize("api", sorted(NAMES))
def test_words_that_are_streamed_in_pieces_are_those_of_the_reply(api: str) -> None:
    server = APIS[api].server()
    for name, reply in replies(api):
        decoder = APIS[api].stream()
        for data in written(server.stream(model="m", id="id"), reply, pieces=7):
            decoder.feed(data)
        again = decoder.close()
        assert (again.text, again.usage, again.finish) == (reply.text, reply.usage, reply.finish), name
        assert [(call.name, call.arguments) for call in again.calls] == [
            (call.name, call.arguments) for call in reply.calls
        ], name


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_request_is_read_as_if_it_were_alone(api: str) -> None:
    """One after the other through one gateway, and each once more with its last message left out before."""
    reading, field, count = Reading(), APIS[api].conversation_fields[-1], 0
    for one in cassettes(api):
        if not isinstance(one.request, dict):
            continue
        try:
            alone = APIS[api].read_request(one.request, model=one.model)
        except EngineError:
            continue
        sent = one.request.get(field)
        shorter = [{**one.request, field: sent[:-1]}] if isinstance(sent, list) and len(sent) > 1 else []
        for body in (*shorter, one.request):
            request, _ = reading.read(APIS[api], msgspec.json.encode(body), one.model)
        assert request == alone, one.id
        count += 1
    assert count > 1000
