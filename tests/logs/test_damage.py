"""Files that are damaged, or are something else: each format gives events and `Unreadable`, or one clear error."""

from __future__ import annotations

import bz2
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import LogError
from dragoman.logs import FORMATS, Places, Recorder, numbered, read, recognise, sessions_of
from dragoman.logs.base.database import SQLITE
from dragoman.logs.history import all_logs, check_drift, described, find_logs
from dragoman.model import AnyEvent, ModelSaid, ToolCalled, Unreadable, UserSaid
from tests.logs.samples import SAMPLES

ALL = sorted(FORMATS.built_in)
NOT_UTF_8 = b"\xff\xfe\x00\x80"


def texts(format: str) -> list[tuple[str, bytes]]:
    """The samples that are text."""
    return [(name, data) for name, data in SAMPLES[format] if not name.endswith((".db", ".vscdb", ".eval"))]


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def events_of(path: Path, format: str) -> list[AnyEvent]:
    """The events, each of which points into the file; putting them together raises nothing either."""
    events = list(numbered(read(path, format)))
    size = path.stat().st_size
    for event in events:
        assert event.source is not None
        assert 0 <= event.source.offset <= event.source.offset + event.source.length <= size
    ids = [event.id for event in events]
    assert len(set(ids)) == len(ids)
    sessions_of(events)
    return events


def calls_in(events: list[AnyEvent]) -> list[str]:
    return [event.call.native.name for event in events if isinstance(event, ToolCalled)]


# ── other encodings, other things ────────────────────────────────────────────

OTHERS: dict[str, Callable[[bytes], bytes]] = {
    "UTF-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "UTF-32": lambda data: data.decode("utf-8", "replace").encode("utf-32"),
    "bzip2": bz2.compress,
    "binary": lambda data: bytes(range(256)) * 20,
    "NUL bytes alone": lambda data: b"\x00" * 5000,
    "nothing": lambda data: b"",
    "blank lines": lambda data: b"\n \r\n\n",
    "no object": lambda data: b"[1, 2, 3]\n",
    "a deep nest": lambda data: b"[" * 100_000,
    "a deep nest of objects": lambda data: b'{"type":' * 100_000,
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("format", ALL)
def test_what_is_no_log_is_recognised_by_nobody_and_read_as_unreadable(format: str, other: str, tmp_path: Path) -> None:
    for name, data in SAMPLES[format][:1]:
        path = written(tmp_path, name, OTHERS[other](data))
        with pytest.raises(LogError, match="in no format"):
            recognise(path)
        events = events_of(path, format)
        assert calls_in(events) == []
        assert bool(events) == bool(path.read_bytes().strip())


def strange(data: bytes, said: bytes, events: list[AnyEvent]) -> bytes:
    """With these bytes at the beginning of what was said, whatever the format calls it."""
    found = data
    for key in (b'"text":', b'"content":'):
        found = found.replace(key + b' "', key + b' "' + said).replace(key + b'"', key + b'"' + said)
    if found == data:
        for text in {event.text for event in events if isinstance(event, UserSaid | ModelSaid) and event.text}:
            as_json = msgspec.json.encode(text)
            found = found.replace(as_json, as_json[:1] + said + as_json[1:])
    return found


def unreadable_in(events: list[AnyEvent]) -> list[str]:
    return [event.reason for event in events if isinstance(event, Unreadable)]


@pytest.mark.parametrize("said", [b"\xe4\xf6", b"\\ud800\\u0000", b"\\udfff", b"\xed\xa0\x80"], ids=repr)
@pytest.mark.parametrize("format", ALL)
def test_words_that_are_no_utf_8_and_half_surrogates_and_nul_cost_nothing(
    format: str, said: bytes, tmp_path: Path
) -> None:
    in_json = []
    for name, data in texts(format):
        whole = events_of(written(tmp_path, name, data), format)
        changed = strange(data, said, whole)
        events = events_of(written(tmp_path, name, changed), format)
        assert calls_in(events) == calls_in(whole)
        assert unreadable_in(events) == unreadable_in(whole)
        if not name.endswith(".md"):
            in_json.append(changed != data)
    assert not in_json or any(in_json)


def test_a_recording_of_ours_holds_what_has_no_utf_8(tmp_path: Path) -> None:
    said = ModelSaid(id="1", session="s", text="half \ud800 and \x00")
    with Recorder(tmp_path / "r.jsonl") as record:
        record(said)
    (read_back,) = read(tmp_path / "r.jsonl")
    assert msgspec.structs.replace(read_back, source=None) == said


@pytest.mark.parametrize("format", ALL)
def test_a_byte_order_mark_costs_nothing(format: str, tmp_path: Path) -> None:
    for name, data in texts(format):
        whole = events_of(written(tmp_path, name, data), format)
        path = written(tmp_path, name, b"\xef\xbb\xbf" + data)
        assert recognise(path)[0].name == format
        assert [type(event) for event in events_of(path, format)] == [type(event) for event in whole]
        path.write_bytes(path.read_bytes() + b" \n" * 40_000)  # longer than what is looked at
        assert recognise(path)[0].name == format


def test_a_document_some_of_whose_lines_are_objects_is_a_document(tmp_path: Path) -> None:
    said = b'{"type": "user", "content": "Hi."}'
    data = b'{\n"sessionId": "g-1",\n"startTime": "x",\n"messages": [\n' + said + b"\n,\n" + said + b"\n]\n}\n"
    assert recognise(written(tmp_path, "session.json", data))[0].name == "gemini_cli"


# ── lines ────────────────────────────────────────────────────────────────────

LINES = [(format, name, data) for format in ALL for name, data in texts(format) if name.endswith(".jsonl")]


@pytest.mark.parametrize("format, name, data", LINES, ids=[f"{one[0]}-{one[1]}" for one in LINES])
def test_bad_lines_cost_nothing_else(format: str, name: str, data: bytes, tmp_path: Path) -> None:
    clean = events_of(written(tmp_path, name, data), format)
    bad = [NOT_UTF_8 + b"\n", b"\x00" * 40 + b"\n", b'{"type":\n', b"words\n"]
    lines = data.splitlines(keepends=True)
    mixed = b"".join(line + bad[index % len(bad)] for index, line in enumerate(lines))
    events = events_of(written(tmp_path, name, mixed), format)
    known = [event.reason for event in clean if isinstance(event, Unreadable)]
    assert len([event for event in events if isinstance(event, Unreadable)]) == len(known) + len(lines)
    assert calls_in(events) == calls_in(clean)
    assert len([event for event in events if not isinstance(event, Unreadable)]) == len(clean) - len(known)


@pytest.mark.parametrize("format, name, data", LINES, ids=[f"{one[0]}-{one[1]}" for one in LINES])
def test_lines_whose_end_was_not_written_are_read_one_by_one(
    format: str, name: str, data: bytes, tmp_path: Path
) -> None:
    lines = data.splitlines(keepends=True)
    joined = b"".join([*lines[:-2], lines[-2].rstrip(b"\n"), lines[-1]])
    whole = events_of(written(tmp_path / "whole", name, data), format)
    found = events_of(written(tmp_path / "joined", name, joined), format)
    assert [type(event) for event in found] == [type(event) for event in whole]
    broken = b"".join([*lines[:-1], lines[-1].rstrip(b"\n"), b'{"type": \n'])
    assert [type(event) for event in events_of(written(tmp_path / "broken", name, broken), format)].count(
        Unreadable
    ) == 1 + [type(event) for event in whole].count(Unreadable)


@pytest.mark.parametrize("format, name, data", LINES, ids=[f"{one[0]}-{one[1]}" for one in LINES])
def test_zeros_a_crash_left_before_a_line_cost_nothing(format: str, name: str, data: bytes, tmp_path: Path) -> None:
    clean = events_of(written(tmp_path, name, data), format)
    first, *rest = data.splitlines(keepends=True)
    events = events_of(written(tmp_path, name, b"".join((first, b"\x00" * 300, *rest))), format)
    assert [type(event) for event in events] == [type(event) for event in clean]


@pytest.mark.parametrize("format, name, data", LINES, ids=[f"{one[0]}-{one[1]}" for one in LINES])
def test_a_half_written_last_line_is_kept_as_unreadable(format: str, name: str, data: bytes, tmp_path: Path) -> None:
    lines = data.splitlines(keepends=True)
    half = b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2]
    events = events_of(written(tmp_path, name, half), format)
    last = [event for event in events if isinstance(event, Unreadable)][-1]
    assert last.source is not None
    assert half[last.source.offset :] == lines[-1][: len(lines[-1]) // 2]


@pytest.mark.parametrize("format", ALL)
def test_a_very_long_line_is_read_in_time_that_grows_with_it_alone(format: str, tmp_path: Path) -> None:
    """Many small pieces of one line: whoever joins them again and again would not come to an end."""
    for name, data in texts(format)[:1]:
        reader, piece = FORMATS[format].reader(tmp_path / name), b"x" * 1024
        events = [*reader.feed(data.rstrip(b"\n") + b"\n"), *reader.feed(b'{"text":"')]
        for _ in range(20_000):
            events += reader.feed(piece)
        events += [*reader.feed(b'"}\n'), *reader.close()]
        assert events


# ── what cannot be opened ────────────────────────────────────────────────────


@contextmanager
def as_a_stranger() -> Iterator[None]:
    """Without the rights of the administrator, whom nothing is forbidden."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("format", ALL)
def test_what_cannot_be_opened_is_one_clear_error(format: str, tmp_path: Path) -> None:
    name, data = SAMPLES[format][0]
    path = written(tmp_path, name, data)
    path.chmod(0)
    for wrong, reason in (
        (tmp_path, "Is a directory"),
        (tmp_path / "none.jsonl", "No such file"),
        (path, "Permission"),
    ):
        with as_a_stranger() if wrong == path else closing(_Nothing()):
            with pytest.raises(LogError, match=reason):
                recognise(wrong)
            with pytest.raises(LogError, match=reason):
                list(read(wrong, format))


class _Nothing:
    def close(self) -> None:
        pass


def test_a_folder_that_may_not_be_looked_into_costs_the_others_nothing(tmp_path: Path) -> None:
    for name, data in SAMPLES["codex"]:
        written(tmp_path, f".codex/sessions/2026/01/01/{name}", data)
    hidden = tmp_path / ".claude"
    written(hidden, "projects/-p/s-1.jsonl", SAMPLES["claude_code"][0][1])
    hidden.chmod(0)
    assert all(FORMATS[name] for name in FORMATS)  # and which there are is known: a stranger may not read our settings
    for folder in (tmp_path, *tmp_path.parents):
        if folder.name.startswith(("pytest", "popen", "test_")):
            folder.chmod(0o755)
    try:
        with as_a_stranger():
            assert [found.format for found in all_logs(Places(tmp_path))] == ["codex"]
            with pytest.raises(LogError, match="Permission"):
                find_logs(str(hidden / "projects/-p/s-1.jsonl"))
    finally:
        hidden.chmod(0o755)


def test_what_is_passed_over_in_a_folder_is_named_whatever_it_is(tmp_path: Path) -> None:
    """Whoever opened a pipe would wait; a folder that is closed may hold logs."""
    os.mkfifo(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "page.md")
    os.symlink(os.devnull, tmp_path / "b.jsonl")
    os.symlink("c.jsonl", tmp_path / "c.jsonl")
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(os.path.relpath(tmp_path / "d.jsonl"))
    (tmp_path / "e.db").write_bytes(SQLITE + b"nothing more")
    (tmp_path / "f.json").write_text("null")
    written(tmp_path, "closed/g.jsonl", b"{}")
    (tmp_path / "closed").chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.name.startswith(("pytest", "popen", "test_")):
            folder.chmod(0o755)
    passed: list[Path] = []
    assert all(FORMATS[name] for name in FORMATS)
    try:
        with as_a_stranger():
            assert find_logs(str(tmp_path), passed=passed) == []
            told = {path.name: described(path) for path in passed}
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert check_drift([], passed=passed[:1]).drifts == []  # as `schema check` looks at what it was given alone
    assert told == {
        "a.jsonl": "a pipe",
        "b.jsonl": "a device",
        "c.jsonl": "a link to 'c.jsonl', which leads back to itself",
        "d.jsonl": "a socket",
        "e.db": "a SQLite database that cannot be read",
        "f.json": "JSON that is no object: null",
        "closed": "a folder that cannot be opened: Permission denied",
    }


@pytest.mark.parametrize("wanted", ["a\x00b", "x" * 5000, "a/" * 3000], ids=["NUL", "long", "deep"])
def test_a_name_no_file_can_have_is_one_clear_error(wanted: str, tmp_path: Path) -> None:
    with pytest.raises(LogError):
        find_logs(wanted, Places(tmp_path))


# ── databases ────────────────────────────────────────────────────────────────


def database(folder: Path) -> Path:
    name, data = next((name, data) for name, data in SAMPLES["opencode"] if name.endswith(".db"))
    return written(folder, name, data)


def test_a_database_that_is_being_written_is_read_with_what_was_committed(tmp_path: Path) -> None:
    path = database(tmp_path)
    whole = calls_in(events_of(path, "opencode"))
    assert whole
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("UPDATE session SET title = 'half written'")
        assert calls_in(events_of(path, "opencode")) == whole
        writer.execute("COMMIT")
        assert calls_in(events_of(path, "opencode")) == whole
        assert "half written" in str(next(iter(read(path, "opencode"))))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE")
        writer.execute("BEGIN EXCLUSIVE")
        assert calls_in(events_of(path, "opencode")) == whole
        writer.execute("ROLLBACK")


def test_a_corrupt_database_is_told_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    path = database(tmp_path)
    data = path.read_bytes()
    for damaged in (
        data[: len(data) // 2],
        data[:100],
        data[:16],
        data[:4096] + b"\x00" * (len(data) - 4096),
        data[:4096] + bytes(index * 7 % 256 for index in range(len(data) - 4096)),
        b"SQLite format 3\x00" + b"nonsense" * 600,
    ):
        path.write_bytes(damaged)
        events = events_of(path, "opencode")
        assert any(isinstance(event, Unreadable) for event in events)
    path.write_bytes(data)
    path.with_name(path.name + "-wal").write_bytes(b"no log of anybody's" * 100)
    assert calls_in(events_of(path, "opencode"))


def test_a_log_whose_first_line_is_very_long_is_recognised(tmp_path: Path) -> None:
    first, *rest = SAMPLES["claude_code"][0][1].splitlines(keepends=True)
    long = b'{"padding": "' + b"x" * 200_000 + b'", ' + first[1:]
    assert len(long) > 200_000
    path = written(tmp_path, "s-1.jsonl", b"".join((long, *rest)))
    assert recognise(path)[0].name == "claude_code"
