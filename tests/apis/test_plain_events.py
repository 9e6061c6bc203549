"""Plain events of a stream are read by a shorter way: what comes of it is the same as by the long one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.apis import APIS
from dragoman.apis.base.api import StreamDecoder
from dragoman.errors import EngineError
from tests.engine.loopback import Turn, played

NAMES = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_generate")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
TURNS = st.builds(
    lambda text, thinking, said, pieces: Turn(
        text,
        thinking,
        tuple((f"call_{number}", "write", {"text": one}) for number, one in enumerate(said)),
        pieces=pieces,
    ),
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=2),
    st.integers(1, 12),
)


def decoded(decoder: StreamDecoder, body: bytes, size: int) -> tuple[list[Any], Any]:
    chunks = [chunk for begin in range(0, len(body), size) for chunk in decoder.feed(body[begin : begin + size])]
    return [*chunks, *decoder.end()], decoder.close()


def without_plain(api: str) -> StreamDecoder:
    decoder = APIS[api].stream()

    class Never(dict[str | None, Any]):
        def get(self, *_: Any) -> None:
            return None

    decoder._plain_readers = Never()
    return decoder


@pytest.mark.parametrize("api", NAMES)
@given(turn=TURNS, size=st.integers(1, 400))
def test_a_plain_event_says_what_it_says_when_it_is_read_in_full(api: str, turn: Turn, size: int) -> None:
    body = played(api, turn, stream=True).body
    assert decoded(APIS[api].stream(), body, size) == decoded(without_plain(api), body, size)


INDEX = re.compile(rb'index": \d')


@pytest.mark.parametrize("api", NAMES)
def test_what_is_left_of_a_stream_is_read_the_same_in_full(api: str) -> None:
    """The shorter way relies on events before, any of which may be lost, late, or about another item."""
    turn = Turn("Some words.", "A thought.", tuple((f"c{number}", "f", {"text": "abc"}) for number in (0, 1)), pieces=2)
    events = [event + b"\n\n" for event in played(api, turn, stream=True).body.split(b"\n\n")[:-1]]
    for place, event in enumerate(events):
        before, after = events[:place], events[place + 1 :]
        index = (INDEX.search(event) or [b""])[0]
        ways = [[], *([event, INDEX.sub(index, other)] for other in events)]
        for changed in ([*before, *after, event], *([*before, *way, *after] for way in ways)):
            body = b"".join(changed)
            assert outcome(APIS[api].stream(), body) == outcome(without_plain(api), body), (place, changed)


def outcome(decoder: StreamDecoder, body: bytes) -> tuple[list[Any], Any]:
    chunks = [*decoder.feed(body), *decoder.end()]
    try:
        return chunks, decoder.close()
    except EngineError as error:
        return chunks, str(error)


@pytest.mark.parametrize("api", NAMES)
def test_most_events_of_a_long_text_are_plain(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = APIS[api].stream()
    in_full: list[Any] = []
    event = type(decoder)._event
    monkeypatch.setattr(type(decoder), "_event", lambda self, *said: (in_full.append(said), event(self, *said))[1])
    body = played(api, Turn("word " * 200, pieces=100), stream=True).body
    assert decoded(decoder, body, 300)[1].text == "word " * 200
    assert len(in_full) <= 10


def test_an_event_with_more_in_it_is_read_in_full() -> None:
    decoder = APIS["anthropic_messages"].stream()
    start = b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":%s}\n\n'
    decoder.feed(start % b'{"type":"thinking","thinking":""}')
    delta = b'{"type":"thinking_delta","thinking":"Hm.","estimated_tokens":3}'
    decoder.feed(b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":%s}\n\n' % delta)
    assert decoder._reply().thinking == "Hm."
    assert "estimated_tokens" in str(decoder._reply())


def test_a_stream_that_is_never_plain_is_soon_not_tried_any_more() -> None:
    decoder = APIS["gemini_generate"].stream()
    event = b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"index":0,"strange":1}]}\n\n'
    for _ in range(40):
        decoder.feed(event)
    assert decoder._plain_readers == {}
    assert decoder._reply().text == "a" * 40


def test_counts_that_were_not_looked_at_are_those_of_the_last_event() -> None:
    decoder = APIS["gemini_generate"].stream()
    for total in (3, 5, 9):
        usage = b'{"promptTokenCount":2,"candidatesTokenCount":%d,"totalTokenCount":%d}' % (total - 2, total)
        candidate = b'{"content":{"role":"model","parts":[{"text":"a"}]},"index":0}'
        decoder.feed(b'data: {"candidates":[%s],"usageMetadata":%s}\n\n' % (candidate, usage))
    counted = decoder._reply().usage
    assert (counted.input_tokens, counted.output_tokens, counted.total) == (2, 7, 9)
