"""One session is counted once, by however many paths its log is named and whatever lies beside it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from dragoman.logs import FORMATS, Found, Index, Places, Query, read, statistics
from dragoman.logs.history import find_logs, without_prints
from dragoman.logs.history.stats import Stats
from dragoman.model import TokensUsed, Unreadable
from tests.logs.samples import CLAUDE, SAMPLES

PRINTED = b"".join(
    json.dumps(record).encode() + b"\n"
    for record in (
        {"type": "system", "subtype": "init", "cwd": "/p", "session_id": "s-1", "tools": [], "model": "m", "uuid": "1"},
        {
            "type": "assistant",
            "message": {"role": "assistant", "id": "m1", "content": [{"type": "text", "text": "Hi."}]},
            "parent_tool_use_id": None,
            "session_id": "s-1",
            "uuid": "2",
        },
        {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "session_id": "s-1", "uuid": "3"},
    )
)


@pytest.mark.parametrize("format", ["claude_code", "opencode"])
def test_relative_absolute_and_linked_paths_are_one_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    folder = tmp_path / "logs"
    for name, data in SAMPLES[format]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    os.symlink(folder, tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    count = len(find_logs(str(folder)))
    assert len(find_logs("logs")) == count
    for paths in (["logs", str(folder)], [str(tmp_path / "link"), "logs"], ["link", "./logs/../logs"]):
        query = Query(paths=paths)
        assert len(query.files()) == count
        query.close()


def test_a_link_to_a_log_below_the_same_folder_is_that_log(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(CLAUDE)
    os.symlink(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [one.path.name for one in find_logs(str(tmp_path))] == ["a.jsonl"]


def test_what_was_printed_of_a_log_beside_it_is_not_counted_and_a_print_alone_is(tmp_path: Path) -> None:
    stored, printed, other = (tmp_path / name for name in ("s-1.jsonl", "stream0.jsonl", "stream1.jsonl"))
    stored.write_bytes(CLAUDE)
    printed.write_bytes(PRINTED)
    other.write_bytes(PRINTED.replace(b'"s-1"', b'"s-2"'))
    logs = [Found(path, "claude_code") for path in (stored, printed, other)]
    assert without_prints(logs) == [logs[0], logs[2]]
    assert without_prints([logs[1]]) == [logs[1]]
    query = Query(paths=[str(tmp_path)])
    assert [one.path for one in query.files()] == [stored, other]
    query.close()


COPIES = {
    "cut off": lambda data: data[: 2 * len(data) // 3],
    "cut in its first record": lambda data: data[:100],
    "with zeros at its end": lambda data: data + bytes(5000),
    "cut off, with zeros instead": lambda data: data[: len(data) // 2] + bytes(5000),
    "the same": lambda data: data,
}


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
}


def counted(query: Query) -> tuple[list[tuple[str, int, int, int | None]], Stats]:
    rows = [(row.session, row.calls, row.turns, row.tokens) for row in query.sessions()]
    total = statistics(query)
    query.close()
    return rows, total


@pytest.mark.parametrize("which", COPIES)
@pytest.mark.parametrize("format", ["claude_code", "codex", "gemini_cli", "continue", "pi", "goose"])
def test_a_damaged_copy_beside_a_log_is_not_counted(tmp_path: Path, format: str, which: str) -> None:
    name, data = SAMPLES[format][0]
    name = Path(name).name
    alone, both, home = tmp_path / "alone", tmp_path / "both", tmp_path / ".claude/projects/-p"
    for folder in (alone, both, home):
        folder.mkdir(parents=True)
        (folder / name).write_bytes(data)
        if folder != alone:
            (folder / f"{Path(name).stem}.old{Path(name).suffix}").write_bytes(COPIES[which](data))

    once = counted(Query(paths=[str(alone)]))
    assert counted(Query(paths=[str(both)])) == once
    if format == "claude_code":
        index = Index(tmp_path / "index.db")
        assert counted(Query(index, places=Places(tmp_path))) == once


@pytest.mark.parametrize("format", SAMPLES)
def test_what_is_left_of_a_log_of_any_client_is_no_session_of_its_own(tmp_path: Path, format: str) -> None:
    name, data = SAMPLES[format][0]
    log = tmp_path / name
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(data)
    once = counted(Query(paths=[tmp_path]))
    left = log.with_name(f"{log.stem}-left{log.suffix}")
    for length in (20, len(data) // 3, len(data) // 2, len(data) - 30):
        left.write_bytes(data[:length])
        assert counted(Query(paths=[tmp_path])) == once, length


@pytest.mark.parametrize("which", [name for name in COPIES if name != "cut in its first record"])
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", ["claude_code", "codex"])
def test_a_copy_of_another_name_is_not_counted_wherever_it_is(
    tmp_path: Path, format: str, ending: str, which: str
) -> None:
    name, data = SAMPLES[format][0]
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / Path(name).name).write_bytes(data)
    once = counted(Query(paths=[str(folder)]))
    for number, place in enumerate((folder, tmp_path / "backup")):
        place.mkdir(exist_ok=True)
        (place / f"saved-{number}.jsonl{ending}").write_bytes(PACKED[ending](COPIES[which](data)))
    assert counted(Query(paths=[str(tmp_path)])) == once
    index = Index(tmp_path / "index.db")
    assert counted(Query(index, paths=[str(tmp_path)])) == once


def test_equal_logs_of_two_sessions_are_no_copies_of_each_other(tmp_path: Path) -> None:
    """What names no session goes by the name of its file."""
    paths = [tmp_path / "a" / "one.jsonl", tmp_path / "b" / "two.jsonl"]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(b"".join(line.replace(b'"sessionId": "s-1"', b'"x": 1') for line in CLAUDE.splitlines(True)))
    logs = [Found(path, "claude_code") for path in paths]
    assert without_prints(logs) == logs


def test_a_session_that_goes_on_in_another_file_and_one_that_began_alike_are_no_copies(tmp_path: Path) -> None:
    first, *rest = CLAUDE.splitlines(keepends=True)
    half = len(rest) // 2
    (tmp_path / "a.jsonl").write_bytes(first + b"".join(rest[:half]))
    (tmp_path / "b.jsonl").write_bytes(b"".join(rest[half:]))
    (tmp_path / "c.jsonl").write_bytes(first + b"".join(rest[half:]))
    assert [one.path.name for one in without_prints(find_logs(str(tmp_path)))] == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_what_cannot_be_read_belongs_to_the_session_before_it(tmp_path: Path) -> None:
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(CLAUDE + b'{"type": "user", "mess')
    events = list(read(path, "claude_code"))
    assert any(isinstance(event, Unreadable) for event in events)
    assert {event.session for event in events} == {"s-1"}


@pytest.mark.parametrize("after", range(len(CLAUDE.splitlines()) + 1))
def test_notes_that_name_no_session_belong_to_the_one_around_them(tmp_path: Path, after: int) -> None:
    note = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": True}
    lines = CLAUDE.splitlines(keepends=True)
    lines.insert(after, json.dumps(note).encode() + b"\n")
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(b"".join(lines))
    assert {event.session for event in read(path, "claude_code")} == {"s-1"}


@pytest.mark.parametrize("bare", range(len(CLAUDE.splitlines())))
def test_tokens_that_name_no_session_belong_to_the_one_around_them(tmp_path: Path, bare: int) -> None:
    records = [json.loads(line) for line in CLAUDE.splitlines()]
    records[bare].pop("sessionId", None)
    path = tmp_path / "renamed.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    reader = FORMATS["claude_code"].usage_reader(path)
    quick = [*reader.feed(path.read_bytes()), *reader.rest()]
    assert [event for event in quick if isinstance(event, TokensUsed)] == [
        event for event in read(path, "claude_code") if isinstance(event, TokensUsed)
    ]


def test_records_before_the_one_that_names_the_session_belong_to_it(tmp_path: Path) -> None:
    first = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False}
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(json.dumps(first).encode() + b"\n" + CLAUDE)
    events = list(read(path, "claude_code"))
    assert {event.session for event in events} == {"s-1"}
    assert next(event.source.offset for event in events if event.source) == 0
