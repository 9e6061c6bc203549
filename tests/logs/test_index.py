"""The index: what is read again and what is not, and that nothing that happens to it leaves it wrong."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import StorageError
from dragoman.logs import FORMATS, Found, Index, Query, read, statistics
from dragoman.logs.history import Counts
from dragoman.logs.history.index import current_rows
from dragoman.logs.history.indexed_file import column_of, path_of
from dragoman.logs.history.rows import TABLES
from dragoman.logs.history.tables import TableBuilder
from dragoman.logs.history.whole_sessions import as_struct
from tests.logs.samples import CLAUDE, CODEX, SAMPLES, _claude, lines

ALL = sorted(FORMATS.built_in)
GROWING = {
    *("claude_code", "codex", "copilot", "dragoman", "gemini_cli", "pi", "qwen_code"),
}
"""Formats whose files are lines that are only ever added to."""


def rows(index: Index) -> dict[str, list[tuple[Any, ...]]]:
    return {name: sorted(index.rows(name), key=repr) for name in TABLES}


def fresh(found: list[Found]) -> dict[str, list[tuple[Any, ...]]]:
    """What an index says that was never anything but whole."""
    with Index.in_memory() as index:
        index.update(found)
        return rows(index)


@pytest.fixture
def log(tmp_path: Path) -> Found:
    path = tmp_path / "logs" / "s-1.jsonl"
    path.parent.mkdir()
    path.write_bytes(CLAUDE)
    return Found(path, "claude_code")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "history.sqlite"


# ── what is read again ───────────────────────────────────────────────────────


def test_a_file_that_did_not_change_is_not_read(log: Found, place: Path) -> None:
    with Index(place) as index:
        assert index.update([log]) == Counts(files=1, read_anew=1, bytes=len(CLAUDE))
    log.path.chmod(0)  # opening it would fail, for anybody but root
    with Index(place) as index:
        assert index.update([log]) == Counts(files=1, unchanged=1)


@pytest.mark.parametrize("format", sorted(GROWING))
def test_a_file_that_grew_is_read_on_from_where_it_ended(format: str, tmp_path: Path, place: Path) -> None:
    name, data = SAMPLES[format][0]
    path = tmp_path / "logs" / name
    path.parent.mkdir(parents=True)
    found = [Found(path, format)]
    half = data.index(b"\n", len(data) // 2) + 1
    path.write_bytes(data[:half])
    with Index(place) as index:
        index.update(found)
    with path.open("ab") as file:
        file.write(data[half:])
    with Index(place) as index:
        assert index.update(found) == Counts(files=1, read_on=1, bytes=len(data) - half)
        assert rows(index) == fresh(found)


def test_no_state_is_stored_for_a_file_that_nobody_wrote_to_lately(log: Found, place: Path) -> None:
    old = time.time() - 30 * 86_400
    log.path.write_bytes(CLAUDE[: CLAUDE.index(b"\n") + 1])
    os.utime(log.path, (old, old))
    with Index(place) as index:
        index.update([log])
        assert index._database.execute("SELECT state FROM files").fetchall() == [(None,)]
        with log.path.open("ab") as file:
            file.write(CLAUDE[CLAUDE.index(b"\n") + 1 :])
        assert index.update([log]) == Counts(files=1, read_anew=1, bytes=len(CLAUDE))
        assert index._database.execute("SELECT count(state) FROM files").fetchall() == [(1,)]
        assert rows(index) == fresh([log])


def test_a_file_that_grew_but_begins_otherwise_is_read_anew(log: Found, place: Path) -> None:
    with Index(place) as index:
        index.update([log])
        changed = CLAUDE.replace(b"Done.", b"Gone.") + CLAUDE
        with log.path.open("r+b") as file:
            file.write(changed)
        assert index.update([log]) == Counts(files=1, read_anew=1, bytes=len(changed))
        assert rows(index) == fresh([log])


def test_a_file_that_became_shorter_or_another_one_is_read_anew(log: Found, place: Path) -> None:
    with Index(place) as index:
        index.update([log])
        with log.path.open("r+b") as file:
            file.truncate(CLAUDE.index(b"\n") + 1)
        assert index.update([log]).read_anew == 1
        assert rows(index) == fresh([log])
        another = log.path.with_suffix(".new")
        another.write_bytes(CLAUDE)
        os.replace(another, log.path)
        assert index.update([log]).read_anew == 1
        assert rows(index) == fresh([log])


def test_a_file_written_anew_with_the_same_size_is_read_anew(log: Found, place: Path) -> None:
    with Index(place) as index:
        index.update([log])
        status = log.path.stat()
        with log.path.open("r+b") as file:
            file.write(CLAUDE.replace(b"Fix it.", b"Leave it"))
        os.utime(log.path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        index.update([log])
        assert {row[-1] for row in index.rows("sessions")} == {row[-1] for row in fresh([log])["sessions"]}
        assert "Leave it" in repr(rows(index)["turns"])


def test_what_the_end_of_a_file_alone_told_is_taken_back_when_it_grows(log: Found, place: Path) -> None:
    half = CLAUDE[: CLAUDE.index(b"\n", CLAUDE.index(b'"u5"')) - 10]  # in the middle of a line
    log.path.write_bytes(half)
    with Index(place) as index:
        index.update([log])
        assert index.files()[0].unreadable == 1
        with log.path.open("ab") as file:
            file.write(CLAUDE[len(half) :])
        assert index.update([log]).read_on == 1
        assert index.files()[0].unreadable == 0
        assert rows(index) == fresh([log])


def test_files_that_are_gone_are_forgotten(log: Found, place: Path, tmp_path: Path) -> None:
    other = Found(tmp_path / "logs" / "rollout-c-1.jsonl", "codex")
    other.path.write_bytes(CODEX)
    with Index(place) as index:
        index.update([log, other])
        log.path.unlink()
        assert index.update([other], is_everything=True) == Counts(files=1, unchanged=1, removed=1)
        assert rows(index) == fresh([other])


def test_files_that_are_read_with_another_count_as_its_own(tmp_path: Path, place: Path) -> None:
    root = tmp_path / "storage"
    session = root / "session" / "p" / "ses_1.json"
    message = root / "message" / "ses_1" / "msg_1.json"
    part = root / "part" / "msg_1" / "prt_1.json"
    for path, text in (
        (
            session,
            '{"id": "ses_1", "version": "1", "projectID": "p", "directory": "/p", "time": {"created": 1767225600000}}',
        ),
        (message, '{"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1767225600000}}'),
        (part, '{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Fix it."}'),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    found = [Found(session, "opencode")]
    with Index(place) as index:
        index.update(found)
        assert index.update(found).unchanged == 1
        part.write_text(part.read_text().replace("Fix it.", "Leave it as it is."))
        assert index.update(found).read_anew == 1
        assert "Leave it as it is." in repr(rows(index)["turns"])


def test_a_file_that_cannot_be_read_is_told_and_costs_nothing_else(log: Found, place: Path) -> None:
    folder = Found(log.path.parent, "claude_code")  # a folder opens as no file does
    with Index(place) as index:
        assert index.update([folder, log]) == Counts(files=2, read_anew=2, failed=1, bytes=len(CLAUDE))
        assert index.info()["failed"] == [{"path": str(folder.path), "error": "Is a directory"}]
        assert rows(index) == fresh([log])


# ── the file itself ──────────────────────────────────────────────────────────


def test_deleting_it_loses_nothing(log: Found, place: Path) -> None:
    with Index(place) as index:
        index.update([log])
        before = rows(index)
    for path in place.parent.iterdir():
        path.unlink()
    with Index(place) as index:
        index.update([log])
        assert rows(index) == before


@pytest.mark.parametrize("damage", ["no database", "cut", "overwritten", "empty"])
def test_one_that_is_damaged_is_put_aside_and_made_again(damage: str, log: Found, place: Path) -> None:
    with Index(place) as index:
        index.update([log])
    data = place.read_bytes()
    page = 4096
    broken = {
        "no database": b"these are not the bytes of a database " * 500,
        "cut": data[: page + 100],
        "overwritten": data[:page] + os.urandom(len(data) - page),
        "empty": b"",
    }[damage]
    place.write_bytes(broken)
    with Index(place) as index:
        index.update([log])
        assert rows(index) == fresh([log])
        if damage != "empty":
            assert "put aside" in (index.note or "")
            assert place.with_name("history.sqlite.damaged").read_bytes() == broken


def test_one_of_another_version_is_made_again(log: Found, place: Path) -> None:
    place.parent.mkdir()
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT)")
        other.execute("CREATE TABLE sessions(something_else)")
        other.execute("INSERT INTO about VALUES ('version', '0.0.1/0/x')")
    other.close()
    with Index(place) as index:
        assert index.note == "the index was made by another version (0.0.1/0/x) and is made anew"
        index.update([log])
        assert rows(index) == fresh([log])


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError) as raised:
        Index(tmp_path / "folder")
    assert str(raised.value) == (
        f"cannot write {tmp_path}/folder: unable to open database file; DRAGOMAN_CACHE_DIR can name another folder"
    )


@pytest.mark.parametrize("seconds", [-(10**9), 0, 10**10, (1 << 34) - (1 << 31) - 1])
def test_a_log_may_be_dated_to_any_day(log: Found, place: Path, seconds: int) -> None:
    os.utime(log.path, (seconds, seconds))
    with Index(place) as index:
        assert index.update([log]).read_anew == 1
        assert index.update([log]).unchanged == 1


def test_numbers_of_the_system_fit_into_the_tables_and_stay_apart() -> None:
    numbers = [0, 1, -1, (1 << 63) - 1, 1 << 63, (1 << 64) - 2]
    stored = [column_of(number) for number in numbers]
    assert len(set(stored)) == len(numbers)
    assert all(-(1 << 63) <= number < 1 << 63 for number in stored)


def test_it_is_for_its_owner_alone(log: Found, place: Path) -> None:
    with Index(place) as index:
        index.update([log])
        assert {path.stat().st_mode & 0o077 for path in place.parent.iterdir()} == {0}


def test_a_state_that_is_not_ours_is_never_brought_to_life(log: Found, place: Path, tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    with Index(place) as index:
        index.update([log])
    with sqlite3.connect(place) as database:
        database.execute("UPDATE files SET state = ?", (zlib.compress(pickle.dumps(Harm())),))
    database.close()
    with log.path.open("ab") as file:
        file.write(CLAUDE)
    with Index(place) as index:
        assert index.update([log]).read_anew == 1
        assert rows(index) == fresh([log])
    assert not (tmp_path / "harm").exists()


def test_vacuum_gives_back_space_and_loses_nothing(log: Found, place: Path, tmp_path: Path) -> None:
    big = Found(tmp_path / "logs" / "big.jsonl", "claude_code")
    big.path.write_bytes(CLAUDE * 300)
    with Index(place) as index:
        index.update([log, big])
        big.path.unlink()
        index.update([log], is_everything=True)
        before = index.info()["bytes"]
        freed = index.vacuum()
        assert freed > 0
        assert index.info()["bytes"] == before - freed
        assert rows(index) == fresh([log])


# ── several processes, and processes that are killed ─────────────────────────

KILLED = """
import os, random, signal, sys
from pathlib import Path
from dragoman.logs import Found, Index
from dragoman.logs.history.tables import TABLES

place, logs, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
found = [Found(path, "claude_code") for path in sorted(logs.glob("*.jsonl"))]
draw = random.Random(seed)

def child(kill_at):
    "Updates the index in a process of its own, which kills itself at its so manieth call of any function."
    pid = os.fork()
    if pid:
        return pid
    calls = 0
    def count(frame, event, argument):
        nonlocal calls
        calls += 1
        if calls == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)
    with Index(place) as index:
        index.update(found)
    sys.setprofile(None)
    (place.parent / "calls").write_text(str(calls))
    os._exit(0)

def ended(pid):
    status = os.waitpid(pid, 0)[1]
    return os.WIFSIGNALED(status)

def rows(index):
    return {name: sorted(index.rows(name), key=repr) for name in TABLES}

def grow():
    "Every log gets some of its own lines once more, and half a line at its end."
    for path in sorted(logs.glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        with path.open("ab") as file:
            file.write(b"".join(lines[: len(lines) // 2]) + lines[0][:20])

with Index.in_memory() as warm:
    warm.update(found)
assert not ended(child(0))
whole = int((place.parent / "calls").read_text())
killed = 0
for round in range(10):
    if round % 2:
        grow()
    else:
        for ending in ("", "-wal", "-shm"):
            Path(f"{place}{ending}").unlink(missing_ok=True)
    both = [child(draw.randrange(1, whole // (1 + round % 2))) for _ in range(2)]
    killed += sum([ended(pid) for pid in both])
    assert not ended(child(0)), "the next run did not end well"
    with Index(place) as index, Index.in_memory() as new:
        assert index.note is None, index.note
        assert [row.error for row in index.files()] == [None] * len(found)
        new.update(found)
        assert rows(index) == rows(new), f"round {round}"
        assert index._database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
print(killed)
"""


OPENERS = """
import multiprocessing, sys
from dragoman.logs import Index

def opened(path):
    Index(path).close()

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(6) as pool:
        for number in range(20):
            pool.map(opened, [f"{sys.argv[1]}/{number}.sqlite"] * 6, 1)
"""


def test_many_processes_may_open_a_new_one_at_once(tmp_path: Path) -> None:
    """SQLite does not wait by itself while another process makes the file one with a write-ahead log."""
    subprocess.run([sys.executable, "-c", OPENERS, str(tmp_path)], check=True, timeout=120)
    assert len(list(tmp_path.glob("*.sqlite"))) == 20


@pytest.mark.parametrize("seed", [1])
@pytest.mark.slow
def test_killed_at_ten_random_points_with_two_updates_at_once_the_next_run_is_right(
    seed: int, tmp_path: Path, place: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(8):
        text = CLAUDE.replace(b'"s-1"', b'"s-%d"' % number)
        (logs / f"s-{number}.jsonl").write_bytes(text * (1 + number % 3))
    place.parent.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(place), str(logs), str(seed)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 10  # of twenty; the others were done before their point came


def test_two_processes_at_once_do_all_of_the_work_once_between_them(tmp_path: Path, place: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(12):
        (logs / f"s-{number}.jsonl").write_bytes(CLAUDE.replace(b'"s-1"', b'"s-%d"' % number))
    program = (
        "import sys; from pathlib import Path; from dragoman.logs import Found, Index\n"
        "sys.stdin.read(1)\n"
        "found = [Found(path, 'claude_code') for path in sorted(Path(sys.argv[2]).glob('*.jsonl'))]\n"
        "with Index(Path(sys.argv[1])) as index: counts = index.update(found)\n"
        "print(counts.read_anew + counts.unchanged)"
    )
    command = [sys.executable, "-c", program, str(place), str(logs)]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    assert [process.communicate()[0].strip() for process in both] == ["12"] * 3
    found = [Found(path, "claude_code") for path in sorted(logs.glob("*.jsonl"))]
    with Index(place) as index:
        assert rows(index) == fresh(found)
        assert {row.generation for row in index.files()} == {1}


def test_a_name_without_utf_8_costs_nothing(tmp_path: Path, place: Path) -> None:
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl"))
    strange.write_bytes(CLAUDE)
    found = Found(strange, "claude_code")
    with Index(place) as index:
        assert index.update([found]).read_anew == 1
        assert index.update([found]).unchanged == 1
        (row,) = index.files()
        assert (row.path, path_of(row.path)) == (f"{tmp_path}/caf\\udce9.jsonl", str(strange))
    query = Query(paths=[strange])
    assert [row.session for row in query.sessions()] == ["s-1"]
    assert len(list(query.events())) == len(list(read(strange)))
    assert query.sql("SELECT count(*) FROM calls").rows == [(2,)]
    assert statistics(Query(paths=[strange]), tokens_only=True).total.tokens == statistics(query).total.tokens
    strange.unlink()
    with Index(place) as index:
        assert index.update([], is_everything=True).removed == 1


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_beyond_all_days_is_not_known_and_costs_nothing(tmp_path: Path, time: str) -> None:
    path = tmp_path / "s-1.jsonl"
    late = _claude("user", "u99", None, message={"role": "user", "content": "late"})
    path.write_bytes(CLAUDE + lines(late | {"timestamp": time}))
    query = Query(paths=[path])
    (row,) = query.sessions()
    assert None in (row.started, row.ended)
    assert query.sql("SELECT count(*) FROM turns WHERE text = 'late'").rows == [(1,)]


def test_whoever_asks_while_it_is_rebuilt_misses_nothing(log: Found, place: Path, tmp_path: Path) -> None:
    other = Found(tmp_path / "other.jsonl", "claude_code")
    other.path.write_bytes(CLAUDE)
    with Index(place) as index:
        index.update([log, other])
        before, seen = rows(index), []

        def look(_: int) -> None:
            with Index(place) as reader:
                seen.append(rows(reader))

        counts = index.rebuild([log, other], look, is_everything=True)
        assert (counts.read_anew, seen, rows(index)) == (2, [before, before], before)
        assert index.rebuild([log], is_everything=True).removed == 1


# ── how rows are stored ──────────────────────────────────────────────────────


@pytest.mark.parametrize("format", ALL)
def test_rows_come_out_of_the_index_as_they_were_made(format: str, tmp_path: Path) -> None:
    name, data = SAMPLES[format][0]
    path = tmp_path / "logs" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    os.utime(path, (0, 0))
    builder = TableBuilder(str(path))
    for event in read(path, format):
        builder.take(event)
    made = builder.rows().tables
    with Index.in_memory() as index:
        index.update([Found(path, format)])
        for name, kind in TABLES.items():
            found = [as_struct(kind, row) for row in index.rows(name)]
            for row in made[name]:
                row.file = str(path)
            assert sorted(found, key=repr) == sorted(made[name], key=repr)


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_a_stream_are_looked_up_and_no_table_is_gone_through_for_each(table: str) -> None:
    with Index.in_memory() as index:
        index.update([])
        plan = index.ask(
            f"EXPLAIN QUERY PLAN SELECT * FROM scopes CROSS JOIN {table} ON {table}.scope = scopes.id"
            f" WHERE scopes.session = 's' AND {current_rows(table)}"
        )
        assert [step for *_, step in plan if step.startswith(f"SCAN {table}")] == []
