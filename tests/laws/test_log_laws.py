"""Laws of every log format that is listed: a new format is held to them the moment it has its row."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.logs import FORMATS, check_format, numbered, read, recognise, sessions_of
from dragoman.model import AnyEvent, Event, ToolCalled, ToolReturned
from tests.examples import examples
from tests.logs.samples import SAMPLES

ALL = sorted(FORMATS.built_in)
few = examples(40)


def test_every_format_has_a_sample() -> None:
    assert sorted(SAMPLES) == ALL


def fed(format: str, path: Path, data: bytes, cuts: list[int]) -> list[AnyEvent]:
    reader, events, begin = FORMATS[format].reader(path), [], 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        events += reader.feed(data[begin:cut])
        begin = cut
    return events + reader.close()


def written(format: str, folder: Path) -> list[tuple[Path, bytes]]:
    found = []
    for name, data in SAMPLES[format]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        found.append((path, data))
    return found


@pytest.mark.parametrize("format", ALL)
def test_a_sample_is_recognised_as_what_it_is_and_by_nobody_else_as_surely(format: str, tmp_path: Path) -> None:
    for path, _ in written(format, tmp_path):
        chosen, confidence = recognise(path)
        assert chosen.name == format
        assert confidence > 0.5


@pytest.mark.parametrize("format", ALL)
@few
@given(cuts=st.lists(st.integers(0, 10**6), max_size=12))
@pytest.mark.slow
def test_a_log_cut_at_any_byte_gives_the_same_events(format: str, cuts: list[int], tmp_path: Path) -> None:
    for path, data in written(format, tmp_path):
        assert fed(format, path, data, cuts) == fed(format, path, data, [])


@pytest.mark.parametrize("format", ALL)
def test_reading_twice_gives_the_same_ids_and_no_id_twice(format: str, tmp_path: Path) -> None:
    for path, _ in written(format, tmp_path):
        first, second = list(read(path)), list(read(path))
        assert first == second
        ids = [event.id for event in first]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("format", ALL)
def test_every_result_has_an_outcome(format: str, tmp_path: Path) -> None:
    for path, _ in written(format, tmp_path):
        assert [event for event in read(path) if isinstance(event, ToolReturned) and not event.result.outcomes] == []


@pytest.mark.parametrize("format", ALL)
def test_every_event_points_at_bytes_of_its_file(format: str, tmp_path: Path) -> None:
    for path, data in written(format, tmp_path):
        for event in read(path):
            assert event.source is not None
            assert event.source.file == str(path)
            assert event.source.offset >= 0
            assert event.source.offset + event.source.length <= len(data)
            assert msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) == event


@pytest.mark.parametrize("format", ALL)
@examples(60)
@given(data=st.data())
@pytest.mark.slow
def test_any_bytes_are_read_without_an_exception(format: str, data: st.DataObject, tmp_path: Path) -> None:
    path, whole = written(format, tmp_path)[0]
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, min(len(whole), begin + 40)))
    damaged = whole[:begin] + data.draw(st.binary(max_size=12)) + whole[end:]
    events = fed(format, path, damaged, data.draw(st.lists(st.integers(0, 10**6), max_size=4)))
    assert all(isinstance(event, Event) for event in events)
    sessions_of(numbered(events))


@pytest.mark.parametrize(
    "number", [b"1" + b"0" * 400, b"-1", b"1e308", b"true"], ids=["huge", "negative", "1e308", "true"]
)
@pytest.mark.parametrize("format", ALL)
def test_a_number_of_any_size_is_read_without_an_exception(format: str, number: bytes, tmp_path: Path) -> None:
    """A cost, duration or count that no client means is left out, and costs nothing of what stands beside it."""
    for path, whole in written(format, tmp_path):
        changed = re.sub(rb"(?<=[:\[,] )-?\d[\d.]*(?=[,}\]\s])|(?<=[:\[,])-?\d[\d.]*(?=[,}\]])", number, whole)
        events = fed(format, path, changed, [])
        assert all(msgspec.json.decode(msgspec.json.encode(event), type=AnyEvent) == event for event in events)
        sessions_of(numbered(events))


@pytest.mark.parametrize("format", ALL)
def test_sessions_hold_every_call_once(format: str, tmp_path: Path) -> None:
    for path, _ in written(format, tmp_path):
        events = list(numbered(read(path)))
        called = [event.call.id for event in events if isinstance(event, ToolCalled)]
        held: list[str] = []
        waiting = list(sessions_of(events))
        while waiting:
            session = waiting.pop()
            waiting += session.children
            held += [use.called.call.id for turn in session.turns for step in turn.steps for use in step.tools]
        assert sorted(held) == sorted(called)


@pytest.mark.parametrize("format", ALL)
@pytest.mark.slow
def test_what_a_plugin_is_held_to_holds_for_our_own(format: str, tmp_path: Path) -> None:
    for path, _ in written(format, tmp_path):
        assert check_format(FORMATS[format], path) == []
