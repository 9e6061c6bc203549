"""The server's side of every API against recorded traffic: what was answered is written again and read as the same."""

from __future__ import annotations

import random
from functools import cache

import msgspec
import pytest

from dragoman.apis import APIS, written
from dragoman.errors import EngineError
from dragoman.model import CallPart, FinishReason, Reply, TextPart, ThinkingPart, Usage
from dragoman.serve.gateway.reading import Reading
from tests.conformance.cassettes import NAMES, cassettes

BROKEN_OFF = {
    # Recorded streams that end without the provider's word for why: no server may end a response so.
    "gemini_generate": {"gemini-generate-2be14b291190", "gemini-generate-8eee1aa9eda6"},
}
NO_REASON = {
    # Whole responses without a reason for their end. A stream without one was interrupted.
    "gemini_generate": {
        "gemini-generate-0806e96fc137",
        "gemini-generate-395fc3063672",
        "gemini-generate-961bf69cd123",
    },
}
ONE_TEXT_WHEN_STREAMED = {
    # Gemini's streams have no mark between two texts without signatures, and none for an empty one. Two of these came
    # whole (two thoughts; an empty text), and the third states an end after every piece, which a server does once.
    "gemini_generate": {
        "gemini-generate-2b913320adae",
        "gemini-generate-7714e3e18b96",
        "gemini-generate-cdd432ec6620",
    },
}
NO_COUNTS = {
    # Two answers that were recorded without their usage. Every stream of Messages states it, in the first event and in
    # the last: Anthropic's SDK fails without.
    "anthropic_messages": {"anthropic-messages-4a4939617bb9", "anthropic-messages-8ede90656e66"},
}


@cache
def exchanges(api: str) -> tuple[dict[str, Reply], dict[str, EngineError]]:
    """What every recorded exchange answered, by its id: a reply or an error."""
    found: dict[str, Reply] = {}
    errors: dict[str, EngineError] = {}
    for one in cassettes(api):
        try:
            if one.status != 200:
                raise APIS[api].error(one.status, one.response_headers or {}, one.response)
            if one.streaming or one.raw_sse is not None or one.events:
                decoder = APIS[api].stream()
                decoder.feed(one.stream)
                found[one.id] = decoder.close()
            else:
                found[one.id] = APIS[api].decode(one.response)
        except EngineError as error:
            errors[one.id] = error
    assert len(found) > 1000
    return found, errors


def replies(api: str) -> list[tuple[str, Reply]]:
    """Every recorded reply that a server may give."""
    return [(name, reply) for name, reply in exchanges(api)[0].items() if name not in BROKEN_OFF.get(api, ())]


def as_stated(one: Reply, reply: Reply) -> Reply:
    """One without what a server always states, and this reply does not: an id, of which ids of calls without one are
    made, and the model."""
    if reply.id is None:
        one = msgspec.structs.replace(without_ids(one), id=None)
    made_by = msgspec.structs.replace(one.provenance, model=reply.provenance.model)
    return without_metadata(msgspec.structs.replace(one, provenance=made_by))


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


def without_ids(reply: Reply) -> Reply:
    """A reply whose calls without ids have none (`functionCall` of Gemini states it)."""
    parts = [
        msgspec.structs.replace(part, call=msgspec.structs.replace(part.call, id=""))
        if isinstance(part, CallPart)
        and part.metadata.get("gemini_generate", {}).get("functionCall", {}).get("id", "") is None
        else part
        for part in reply.parts
    ]
    return msgspec.structs.replace(reply, parts=tuple(parts))


def run_together(reply: Reply) -> tuple[object, ...]:
    """What a reply says, without where one text ends and the next begins."""
    texts = [part for part in reply.parts if isinstance(part, TextPart)]
    thoughts = "".join(part.text for part in reply.parts if isinstance(part, ThinkingPart))
    cited = [(one.url, one.title) for text in texts for one in text.citations]
    rest = [part for part in without_metadata(reply).parts if not isinstance(part, TextPart | ThinkingPart)]
    return reply.text, thoughts, cited, rest, reply.finish, reply.usage


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_answer_is_a_reply_or_an_error_but_for_streams_that_broke_off(api: str) -> None:
    found, errors = exchanges(api)
    assert len(found) + len(errors) == sum(1 for _ in cassettes(api))
    broken = {name for name, reply in found.items() if reply.finish is FinishReason.INTERRUPTED}
    assert broken == BROKEN_OFF.get(api, set())
    assert [one.id for one in cassettes(api) if one.id in broken and b"finishReason" in one.stream] == []


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_reply_is_written_whole_and_read_as_the_same(api: str) -> None:
    server = APIS[api].server()
    for name, reply in replies(api):
        body = msgspec.json.encode(server.reply(reply, model=reply.provenance.model or ""))
        again = APIS[api].decode(msgspec.json.decode(body))
        assert as_stated(again, reply) == as_stated(reply, reply), name
        missing = reply.metadata.get(api, {}).keys() - again.metadata.get(api, {}).keys()
        assert not missing, name


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_reply_is_streamed_and_read_as_the_same_however_it_is_cut(api: str) -> None:
    server, chance = APIS[api].server(), random.Random(7)
    for name, reply in replies(api):
        data = b"".join(written(server.stream(model=reply.provenance.model or "", id=reply.id), reply))
        decoder, begin = APIS[api].stream(), 0
        for cut in [*sorted(chance.randrange(len(data) + 1) for _ in range(4)), len(data)]:
            decoder.feed(data[begin:cut])
            begin = cut
        again, want = as_stated(decoder.close(), reply), as_stated(reply, reply)
        if name in NO_REASON.get(api, ()):
            assert (want.finish_raw, again.finish) == (None, FinishReason.INTERRUPTED), name
            again = msgspec.structs.replace(again, finish=want.finish)
        if name in NO_COUNTS.get(api, ()):
            assert (want.usage, again.usage) == (Usage(), Usage(input_tokens=0, output_tokens=0)), name
            again = msgspec.structs.replace(again, usage=want.usage)
        if name in ONE_TEXT_WHEN_STREAMED.get(api, ()):
            assert again != want, "it needs no exception any more"
            assert run_together(again) == run_together(want), name
        else:
            assert again == want, name


@pytest.mark.parametrize("api", sorted(NAMES))
def test_every_recorded_error_is_written_and_read_as_the_same(api: str) -> None:
    server = APIS[api].server()
    for name, error in exchanges(api)[1].items():
        status, body = server.error(error)
        again = APIS[api].error(status, {}, msgspec.json.decode(msgspec.json.encode(body)))
        assert error.message in again.message, name
        if error.code is not None or error.status is not None:  # else it is no answer of this API
            assert again.retryable == error.retryable, name
        decoder = APIS[api].stream()
        for data in (writer := server.stream(model="m", id="id")).start(), writer.fail(error):
            decoder.feed(data)
        with pytest.raises(EngineError) as raised:
            decoder.close()
        assert error.message in raised.value.message, name


@pytest.mark.parametrize("api", sorted(NAMES))
def test_words_that_are_streamed_in_pieces_are_those_of_the_reply(api: str) -> None:
    server = APIS[api].server()
    for name, reply in replies(api):
        decoder = APIS[api].stream()
        for data in written(server.stream(model="m", id="id"), reply, pieces=7):
            decoder.feed(data)
        again = decoder.close()
        assert again.text == reply.text, name
        if name not in NO_COUNTS.get(api, ()) and name not in NO_REASON.get(api, ()):
            assert (again.usage, again.finish) == (reply.usage, reply.finish), name
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
