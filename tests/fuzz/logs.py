"""Log readers: every format, fed with damaged logs in any pieces."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import LogError
from dragoman.logs import FORMATS, numbered, read, sessions_of
from dragoman.logs.base import confidences
from dragoman.logs.base.format import is_of_lines
from dragoman.model import AnyEvent, Event
from tests.logs.samples import SAMPLES

from .drawing import Draw, pieces
from .target import Target

FILES = [
    (format, name, data)
    for format in sorted(SAMPLES)
    for name, data in SAMPLES[format]
    if not data.startswith(b"SQLite")
]
DATABASES = [
    (format, name, data) for format in sorted(SAMPLES) for name, data in SAMPLES[format] if data.startswith(b"SQLite")
]


@cache
def folder() -> Path:
    """Where the samples are: some readers look at the files beside theirs."""
    made = tempfile.TemporaryDirectory(prefix="dragoman-fuzz-")
    _KEPT.append(made)
    for format, name, data in [*FILES, *DATABASES]:
        path = Path(made.name, format, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Path(made.name)


_KEPT: list[Any] = []


@cache
def records(data: bytes) -> list[bytes]:
    """The records of a sample: its lines, or the document as a whole."""
    try:
        json.loads(data)
        return [data]
    except ValueError:
        return data.splitlines()


@cache
def holds_json(data: bytes) -> bool:
    """Whether every record is JSON; a text or an archive has none."""
    try:
        return bool([msgspec.json.decode(one) for one in records(data) if one])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


WORDS = (
    *(b"\n", b"\r\n", b"\n\n", b"null\n", b"{}\n", b"[]\n", b'{"type":', b"}{", b"\xff", b"\0\0\0", b"\xef\xbb\xbf"),
    *(b"\\ud800", b"\\u0000", b"1e999", b"-1", b"9" * 30, b'"2026-13-99T99:99:99Z"', b"[" * 3000, b'{"a":' * 3000),
)


def draw_log(draw: Draw) -> tuple[str, str, list[bytes]]:
    format, name, data = draw.choice(FILES)
    if draw.one_in(3) or not holds_json(data):
        data = draw.damaged_bytes(data, WORDS)
    else:  # records that are JSON and hold what nobody expects
        lines = records(data)
        kept = [one for one in lines if not draw.one_in(10)]
        for _ in range(draw.few(3) + 1):
            damaged = msgspec.json.encode(draw.damaged_json(lines))
            place = draw.randrange(len(kept) + 1)
            kept[place : place + draw.few(1)] = [damaged]
        if draw.one_in(8):
            draw.shuffle(kept)
        data = b"\n".join([*kept, b""])
    return format, name, pieces(data, draw.cuts(len(data)))


def check_log(given: tuple[str, str, list[bytes]]) -> None:
    format, name, parts = given
    data = b"".join(parts)
    path = folder() / format / name
    events = fed(format, path, parts)
    assert events == fed(format, path, [data]), "fed in other pieces it gives other events"
    assert all(isinstance(event, Event) for event in events)
    for event in events:
        source = event.source
        assert source is not None
        assert 0 <= source.offset <= source.offset + source.length, "an event points nowhere"
    if is_of_lines(FORMATS[format].reader(path)):
        check_covered(data, events)
    reader = FORMATS[format].usage_reader(path)
    assert all(isinstance(event, Event) for event in [*reader.feed(data), *reader.close()])
    sessions_of(numbered(events))


def fed(format: str, path: Path, parts: list[bytes]) -> list[AnyEvent]:
    reader = FORMATS[format].reader(path)
    events = [event for part in parts for event in reader.feed(part)]
    return events + reader.close()


def check_covered(data: bytes, events: list[AnyEvent]) -> None:
    """No event points beyond the file, and every line that is no JSON is told of."""
    told = {event.source.offset for event in events if event.source is not None}
    assert all(one.source is None or one.source.offset + one.source.length <= len(data) for one in events)
    offset = 0
    for line in data.split(b"\n"):
        assert offset in told or not line.strip() or is_json(line), "a line that is no JSON is not told of"
        offset += len(line) + 1


def is_json(line: bytes) -> bool:
    """Whether a line begins with a JSON value, however it is read."""
    try:
        json.JSONDecoder(strict=False).raw_decode(line.strip(b"\0 \t\r").decode("utf-8-sig", "replace"))
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


# ── whole files ──────────────────────────────────────────────────────────────


def draw_file(draw: Draw) -> tuple[str, bytes]:
    _, name, data = draw.choice([*FILES, *DATABASES])
    return name, draw.damaged_bytes(data, WORDS, most=20 if data.startswith(b"SQLite") else 5)


def check_file(given: tuple[str, bytes]) -> None:
    """A file of any content is recognised and read, or refused with a `LogError`."""
    name, data = given
    with tempfile.TemporaryDirectory(prefix="dragoman-fuzz-", dir=folder()) as made:
        path = Path(made, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        try:
            assert all(0 <= sure <= 1 for sure in confidences(path).values())
            sessions_of(numbered(read(path)))
        except LogError:
            return


_LARGE = b"9" * 5000
_AIDER = b"# aider chat started at 2026-01-01 00:00:00\n\n"
_EDIT = b"a.txt\n```\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n\n> Applied edit to a.txt  \n"
_FOUND = [
    # a cost with two points
    ("aider", ".aider.chat.history.md", _AIDER + b"> Tokens: 1 received. Cost: $0.0.7 message\n"),
    # numbers that Python does not convert
    ("aider", ".aider.chat.history.md", _AIDER + b"> Aider v%s  \n\n#### change it  \n\n" % _LARGE + _EDIT),
    ("aider", ".aider.chat.history.md", _AIDER + b"#### hi  \n\n> Tokens: %s sent, 3 received.  \n" % _LARGE),
]

TARGETS = [
    Target("logs", draw_log, check_log, examples=[(format, name, [data]) for format, name, data in [*_FOUND, *FILES]]),
    Target(
        "log_files",
        draw_file,
        check_file,
        examples=[(name, data) for _, name, data in [*_FOUND, *FILES, *DATABASES]],
    ),
]
