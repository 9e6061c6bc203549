"""Events from bytes: the same however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dragoman.apis.base.sse import Event, EventSplitter, EventTooLong


def split(raw: bytes, cuts: list[int]) -> list[Event]:
    splitter, events, begin = EventSplitter(), [], 0
    for cut in [*sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]:
        events += splitter.feed(raw[begin:cut])
        begin = cut
    return events + splitter.close()


def test_line_ends_comments_marks_and_several_data_lines_are_understood() -> None:
    raw = b'\xef\xbb\xbfdata: {"a":1}\r\n\r\n: hi\n\nevent: x\rdata:b\rdata: c\r\r'
    raw += b"id: 1\nretry: 5\nevent: y\n\ndata\ndata:  d\n\n"
    assert split(raw, []) == [(None, b'{"a":1}'), ("x", b"b\nc"), (None, b"\n d")]


def test_an_event_never_ended_is_given_at_the_close() -> None:
    assert split(b"event: a\ndata: half", []) == [("a", b"half")]


def test_a_stream_shorter_than_a_mark_is_kept() -> None:
    assert split(b"\xef", []) == []
    assert split(b"dat", []) == []
    assert split(b"data:a", []) == [(None, b"a")]


def test_an_event_without_data_is_none() -> None:
    assert split(b"event: ping\ndata:\n\nid: 1\n\ndata\n\ndata: a\n\n", []) == [(None, b"a")]


def test_an_event_longer_than_is_accepted_is_refused_before_it_ends() -> None:
    splitter = EventSplitter()
    splitter.longest = 100
    assert splitter.feed(b"data: " + b"x" * 90 + b"\n\ndata: " + b"x" * 90) == [(None, b"x" * 90)]
    assert splitter.feed(b"\n\n") == [(None, b"x" * 90)]
    splitter.feed(b"data: " + b"x" * 90)
    with pytest.raises(EventTooLong):
        splitter.feed(b"x" * 5)


def test_a_long_line_costs_its_length() -> None:
    splitter = EventSplitter()
    for _ in range(20_000):
        assert splitter.feed(b"x" * 10) == []
    assert len(splitter.rest) == 200_000  # one buffer that grows, however many pieces came


lines = st.sampled_from([b"data: a", b"data:b", b"event: e", b": c", b"", b"", b"id: 1", b"data", b"\xc3\xa9"])
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(lines, ends)), st.lists(st.integers(min_value=0, max_value=200)), st.booleans())
def test_any_cut_gives_the_same_events(content: list[tuple[bytes, bytes]], cuts: list[int], mark: bool) -> None:
    raw = (b"\xef\xbb\xbf" if mark else b"") + b"".join(line + end for line, end in content)
    whole = split(raw, [])
    assert split(raw, cuts) == whole
    assert split(raw, list(range(len(raw)))) == whole
