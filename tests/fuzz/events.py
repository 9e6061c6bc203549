"""Server-sent events, and JSON that is still arriving."""

from __future__ import annotations

import json
import re
from typing import Any

from dragoman.apis.base.partial import PartialJson
from dragoman.apis.base.sse import Event, EventSplitter

from .drawing import Draw, pieces
from .target import Target

# ── server-sent events ───────────────────────────────────────────────────────

LINES = (
    *(b"data: {}", b"data:{}", b"data", b"data: ", b"data:", b"event: a", b"event:b", b"event", b": ping", b"id: 1"),
    *(b"retry: 3", b"", b"", b"", b"x: y", b" data: x", b"data : x", b"Data: x", b"event: ", b"\xef\xbb\xbfdata: x"),
)
ENDS = (b"\n", b"\n", b"\r\n", b"\r")


def draw_events(draw: Draw) -> list[bytes]:
    lines = [draw.choice(LINES) + draw.choice(ENDS) for _ in range(draw.randrange(12))]
    data = b"".join([b"\xef\xbb\xbf" * draw.one_in(5), *lines])
    if draw.one_in(3):
        data = draw.damaged_bytes(data, LINES)
    return pieces(data, draw.cuts(len(data)))


def check_events(parts: list[bytes]) -> None:
    data = b"".join(parts)
    found = split(parts)
    assert found == split([data]), "cut in pieces it gives other events"
    assert found == read_plainly(data), "another reading of the rules gives other events"


def split(parts: list[bytes]) -> list[Event]:
    splitter = EventSplitter()
    return [event for part in parts for event in splitter.feed(part)] + splitter.close()


def read_plainly(data: bytes) -> list[Event]:
    """The rules as the standard states them: an event without data is none. One that nothing ends is an event here."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[Event] = []
    name: str | None = None
    held: list[bytes] = []
    for line in [*text.split(b"\n"), b""]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            events += [(name, b"\n".join(held))] if any(held) else []
            name, held = None, []
        elif field == b"data":
            held.append(value)
        elif field == b"event" and line.startswith(b"event:"):
            name = value.strip().decode("utf-8", "replace")
    return events


# ── JSON that is still arriving ──────────────────────────────────────────────

DOCUMENTS = (
    '{"path": "src/a.py", "edits": [{"old": "x\\n", "new": "\\u00e9\\ud83d\\ude00"}], "n": -1.5e3, "ok": true}',
    '[1, "two", null, {"three": [false, {}], "four": []}, 0.5, -0, "", "\\"\\\\"]',
    '{"command": "ls -l | wc", "timeout": 120000, "nested": {"a": {"b": {"c": [[[]]]}}}}',
    '  "text"  ',
    "12",
)
JSON_WORDS = ("{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "\\ud83d", "\\ude00", "true", "nul", "-", "1e", "0", " ")


def draw_partial(draw: Draw) -> list[str]:
    text = json.dumps(draw.json(4), ensure_ascii=draw.one_in(2)) if draw.one_in(3) else draw.choice(DOCUMENTS)
    if draw.one_in(2):
        text = draw.damaged_text(text, JSON_WORDS)
    if draw.one_in(200):
        text = draw.choice("[{") * draw.choice((100, 3000)) + text
    return pieces(text, draw.cuts(len(text)))


def check_partial(parts: list[str]) -> None:
    text = "".join(parts)
    view = PartialJson()
    for part in parts:
        view.feed(part)
    whole = PartialJson()
    whole.feed(text)
    assert (view.complete, view.broken) == (whole.complete, whole.broken), "cut in pieces it is judged otherwise"
    assert same(view.value, whole.value), "cut in pieces it gives another value"
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict | list | str) and not _LONG_NUMBER.search(text):
        assert whole.complete, "whole JSON is not complete"
        assert same(whole.value, value), "whole JSON is read otherwise than by json"


_LONG_NUMBER = re.compile(r"[0-9.]{4000}")


def _refuse(word: str) -> Any:
    raise ValueError(word)


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types; values may be nested deeply."""
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict):
            if list(left) != list(right):
                return False
            waiting += [(left[key], right[key]) for key in left]
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


TARGETS = [
    Target(
        "sse",
        draw_events,
        check_events,
        examples=(  # an event without data is none, however it arrives
            [b"data: \n\n"],
            [b": ping\n\n", b"data: \n\n"],
            [b"event: a\ndata: 1\n\n", b"event: a\ndata: \n\n"],
            [b"data: 1\n\ndata: \n\n"],
        ),
    ),
    Target(
        "partial_json",
        draw_partial,
        check_partial,
        examples=(
            ['{"a":"\\\\ud800', '"}'],  # an escaped backslash, and no half of a surrogate pair
            ['{"a":"x', "\\9"],
            ['{"', '"\u2028:5]'],
            ["[1\u0662", ",2]"],
            ["[1.\n", "5]"],
            ["[0." + "9" * 3000, "9" * 2000 + ",1]"],
        ),
    ),
]
