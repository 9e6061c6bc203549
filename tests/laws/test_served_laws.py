"""Laws of the server's side of every wire API: whatever a model of another API said, a client reads the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.apis import APIS, written
from dragoman.errors import EngineError
from dragoman.model import (
    CallPart,
    FinishReason,
    FunctionDefinition,
    NativeCall,
    Provenance,
    Reply,
    Request,
    TextPart,
    ThinkingPart,
    Usage,
    results_message,
    system,
    user,
)
from dragoman.model.calls import NativeResult
from tests.examples import examples
from tests.strategies import JSON_OBJECT

ALL = sorted(APIS.built_in)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
COUNT = st.integers(0, 10**6)
USAGES = st.builds(Usage, COUNT, COUNT, st.none(), COUNT)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """A reply of no API that is listed: a thought, words and calls, in the order models give them."""
    thought, said = draw(st.none() | WORDS), draw(WORDS)
    arguments = draw(st.lists(JSON_OBJECT, max_size=3))
    calls = [CallPart(NativeCall(f"call_{place}", f"tool_{place}", given)) for place, given in enumerate(arguments)]
    thoughts = () if thought is None else (ThinkingPart(thought),)
    finish = FinishReason.CALLS if calls else draw(st.sampled_from([FinishReason.STOP, FinishReason.LENGTH]))
    made_by = Provenance(api="another", model="m")
    return Reply((*thoughts, TextPart(said), *calls), finish, usage=draw(USAGES), id="id_1", provenance=made_by)


def told(reply: Reply) -> tuple[Any, ...]:
    calls = [(call.id, call.name, call.arguments) for call in reply.calls]
    counts = (reply.usage.input_tokens, reply.usage.cached_read_tokens, reply.usage.output_tokens)
    return (reply.thinking, reply.text, calls, reply.finish, reply.id, counts)


@pytest.mark.parametrize("api", ALL)
@examples(30)
@given(reply=replies(), pieces=st.none() | st.integers(1, 9), cuts=st.lists(st.integers(0, 10**6), max_size=6))
def test_a_client_reads_what_another_model_said_whole_and_streamed(
    api: str, reply: Reply, pieces: int | None, cuts: list[int]
) -> None:
    server = APIS[api].server()
    whole = APIS[api].decode(msgspec.json.decode(msgspec.json.encode(server.reply(reply, model="m"))))
    assert told(whole) == told(reply)
    data = b"".join(written(server.stream(model="m", id="id_1"), reply, pieces=pieces))
    decoder, begin = APIS[api].stream(), 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        decoder.feed(data[begin:cut])
        begin = cut
    assert told(decoder.close()) == told(reply)


@pytest.mark.parametrize("api", ALL)
@examples(30)
@given(reply=replies(), kept=st.integers(0, 10**6))
def test_a_stream_that_fails_anywhere_is_read_as_an_error(api: str, reply: Reply, kept: int) -> None:
    writer = APIS[api].server().stream(model="m", id="id_1")
    pieces = [*written(writer, reply, pieces=3)][:-1]
    decoder = APIS[api].stream()
    for data in pieces[: kept % (len(pieces) + 1)]:
        decoder.feed(data)
    decoder.feed(writer.fail(EngineError("the upstream hung up", status=529, retryable=True)))
    with pytest.raises(EngineError, match="the upstream hung up"):
        decoder.close()


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 503, 529])
def test_an_error_is_read_as_the_error_it_was(api: str, status: int) -> None:
    error = EngineError("it did not work", status=status, code="some_code", retryable=status in (429, 500, 503, 529))
    sent, body = APIS[api].server().error(error)
    again = APIS[api].error(sent, {}, msgspec.json.encode(body))
    assert again.message == "it did not work"
    assert again.retryable == error.retryable
    assert sent == {529: 529 if api == "anthropic_messages" else 503}.get(status, status)


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize(
    "code, retryable, expected", [("some_code", False, 400), ("some_code", True, 502), (None, False, 502)]
)
def test_an_error_without_a_status_says_whether_to_try_again(
    api: str, code: str | None, retryable: bool, expected: int
) -> None:
    """An error in a stream has a code and no status; one without either is a provider that could not be reached."""
    error = EngineError("it did not work", code=code, retryable=retryable)
    sent, body = APIS[api].server().error(error)
    again = APIS[api].error(sent, {}, msgspec.json.encode(body))
    assert (sent, again.message, again.retryable) == (expected, "it did not work", expected == 502)


@pytest.mark.parametrize("api", ALL)
def test_a_request_that_is_too_long_is_refused_in_words_that_a_client_knows(api: str) -> None:
    from dragoman.apis import is_too_long

    refused = EngineError("Your input exceeds the maximum number of tokens", status=400)
    sent, body = APIS[api].server().error(refused)
    assert is_too_long(APIS[api].error(sent, {}, msgspec.json.encode(body)))


@pytest.mark.parametrize("api", ALL)
@examples(30)
@given(words=st.lists(WORDS.filter(str.strip), min_size=4, max_size=4), arguments=JSON_OBJECT)
def test_a_request_that_is_written_is_read_as_the_same_by_a_server(
    api: str, words: list[str], arguments: dict[str, Any]
) -> None:
    tool = FunctionDefinition("tool_1", words[0], {"type": "object", "properties": {"a": {"type": "string"}}})
    call = NativeCall("call_1", "tool_1", arguments)
    conversation = (
        system(words[0]),
        user(words[1]),
        Reply((TextPart(words[2]), CallPart(call)), FinishReason.CALLS),
        results_message(NativeResult("call_1", words[3], name="tool_1")),
    )
    body = APIS[api].encode(Request("m", conversation, (tool,))).body
    read = APIS[api].read_request(msgspec.json.decode(msgspec.json.encode(body)), model="m")
    assert [one.name for one in read.definitions] == ["tool_1"]
    assert [(item.role, "".join(p.text for p in item.parts if isinstance(p, TextPart))) for item in read.conversation][
        :3
    ] == [("system", words[0]), ("user", words[1]), ("assistant", words[2])]
    called = [part.call for item in read.conversation for part in item.parts if isinstance(part, CallPart)]
    assert [(one.name, one.arguments) for one in called] == [("tool_1", arguments)]
