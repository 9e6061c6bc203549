"""A session that is too long for memory: its windows are what the whole of it says, also while it grows."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import Chosen, Query
from dragoman.logs.export import Conversation, LongTranscript, Said, anchor, conversations_of
from dragoman.logs.export.long_transcript import _others
from dragoman.logs.history import spooled
from dragoman.logs.history.spooled import Spool
from dragoman.model import AnyEvent, UserSaid
from tests.logs.samples import CLAUDE, SAMPLES


def entries(conversation: Conversation) -> list[tuple[int | None, Said]]:
    return [(part.number, said) for part in conversation.parts for said in part.said]


def windows(transcript: LongTranscript, whole: Conversation, size: int) -> Iterator[Conversation]:
    key = (whole.id, whole.stream)
    for begin in range(0, max(1, transcript.count(key)), size):
        yield transcript.window(key, whole.title, begin, size)


def check(events: list[AnyEvent], transcript: LongTranscript) -> None:
    assert list(transcript) == events
    for whole in conversations_of(Chosen(lambda: events, "clean"))[:1]:
        key = (whole.id, whole.stream)
        assert transcript.count(key) == len(entries(whole))
        for size in (1, 3, 1_000):
            shown = list(windows(transcript, whole, size))
            assert [entry for one in shown for entry in entries(one)] == entries(whole)
            assert [one.agents for one in shown] == [*([[]] * (len(shown) - 1)), whole.agents]
            assert shown[-1].turn_lines() == whole.turn_lines()
        flat = [said for _, said in entries(whole)]
        for said in flat:
            assert flat[transcript.entry_at(key, anchor(said.event)) or 0].event == said.event
    for begin in range(transcript.records):
        together = list(transcript.events_of_records(begin, begin + 1))
        assert {event.source for event in together} == {together[0].source}
        for event in together:
            at = transcript.record_at(anchor(event.id)) or 0
            assert event.id in {one.id for one in transcript.events_of_records(at, at + 1)}


@pytest.mark.parametrize("format", SAMPLES)
def test_windows_of_a_long_session_are_what_the_whole_says(format: str, tmp_path: Path) -> None:
    for name, data in SAMPLES[format]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    query = Query(paths=[tmp_path])
    rows = query.sessions()
    assert rows
    for row in rows:
        transcript = LongTranscript(query.spooled(row.session))
        transcript.read()
        check(list(query.events_of(row.session)), transcript)
    query.close()


def test_a_log_that_grows_is_read_on_and_one_that_is_written_anew_is_not(tmp_path: Path) -> None:
    log = tmp_path / "s-1.jsonl"
    lines = CLAUDE.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:2]) + lines[2][:20])  # a client is writing the third
    query = Query(paths=[log])
    transcript = LongTranscript(query.spooled("s-1"))
    transcript.read()
    seen = 0
    for end in range(3, len(lines) + 1):
        log.write_bytes(b"".join(lines[:end]))
        assert transcript.read_on()
        fresh = Query(paths=[log])
        events = list(fresh.events_of("s-1"))
        fresh.close()
        check(events, transcript)
        assert len(events) >= seen
        seen = len(events)
    log.write_bytes(CLAUDE.replace(b"s-1", b"s-2"))
    assert not transcript.read_on()
    log.unlink()
    assert not transcript.read_on()
    query.close()


def test_all_events_are_gone_through_with_each_block_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled, "_BLOCK", 2)
    blocks: list[int] = []
    fetched = Spool._block

    def block(self: Spool, number: int) -> list[AnyEvent]:
        blocks.append(number)
        return fetched(self, number)

    monkeypatch.setattr(Spool, "_block", block)
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    query = Query(paths=[tmp_path / "s-1.jsonl"])
    transcript = LongTranscript(query.spooled("s-1"), ("s-1", "main"))
    transcript.read()
    blocks.clear()
    assert list(transcript) == list(query.events_of("s-1"))
    assert blocks == list(range(len(blocks)))
    query.close()


def test_the_events_of_agents_are_those_that_are_not_the_sessions() -> None:
    assert list(_others(array("L", [1, 2, 5]), 8)) == [0, 3, 4, 6, 7]
    assert list(_others(array("L"), 3)) == [0, 1, 2]
    assert list(_others(array("L", [0, 1]), 2)) == []


def test_calls_with_one_id_have_each_their_own_result(tmp_path: Path) -> None:
    head = {"sessionId": "s", "version": "2.1.0", "timestamp": "2026-01-05T12:00:00Z"}

    def line(number: int, kind: str, content: Any) -> str:
        message = {"role": kind, "content": content, **({"model": "m", "id": f"m{number}"} if kind != "user" else {})}
        return json.dumps({**head, "type": kind, "uuid": f"u{number}", "message": message})

    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "date"}}
    result = {"type": "tool_result", "tool_use_id": "c"}
    said = [
        line(0, "user", [{**result, "content": "early"}]),
        line(1, "user", "go"),
        line(2, "assistant", [call]),
        line(3, "assistant", [call]),
        line(4, "user", [{**result, "content": "second"}]),
        line(5, "user", [{**result, "content": "nobody asked"}]),
    ]
    log = tmp_path / "s.jsonl"
    log.write_text("\n".join(said) + "\n")
    query = Query(paths=[log])
    transcript = LongTranscript(query.spooled("s"))
    transcript.read()
    check(list(query.events_of("s")), transcript)
    (whole,) = conversations_of(Chosen(lambda: query.events_of("s"), "clean"))
    told = [(one.kind, [block.text for block in one.blocks][-1:]) for _, one in entries(whole)]
    assert told == [("user", ["go"]), ("call", ["early"]), ("call", ["second"]), ("note", ["nobody asked"])]
    query.close()


def test_events_come_back_as_they_were_whatever_they_hold() -> None:
    spool = Spool()
    texts = ["plain", "half a surrogate \ud83d", "a zero \0", *(f"text {number}" for number in range(700))]
    events: list[AnyEvent] = [UserSaid(id=f"e{place}", text=text) for place, text in enumerate(texts)]
    for event in events:
        spool.append(event)
    assert (len(spool), list(spool)) == (len(events), events)
    assert list(spool.between(250, 600)) == events[250:600]
    assert list(spool.some([0, 1, 255, 256, 700])) == [events[at] for at in (0, 1, 255, 256, 700)]
    for count in (600, 512, 300, 0):
        spool.cut(count)
        assert list(spool) == events[:count]
        spool.append(events[-1])
        assert list(spool) == [*events[:count], events[-1]]
