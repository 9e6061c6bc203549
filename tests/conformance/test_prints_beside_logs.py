"""A log beside what its client printed is one session, in every captured session."""

from __future__ import annotations

from pathlib import Path

from dragoman.logs import Found, Index, Places, Query
from dragoman.logs.history import find_logs, read_log, without_prints
from dragoman.model import ToolCalled
from tests.conformance.conftest import SHARED


def calls_in(files: list[Found]) -> int:
    return sum(isinstance(event, ToolCalled) for found in files for event in read_log(found))


def is_read(folder: Path) -> bool:
    passed: list[Path] = []
    return bool(find_logs(str(folder), passed=passed))


def test_a_log_counts_the_same_with_and_without_what_its_client_printed() -> None:
    sessions = sorted(
        stream.parent
        for traces in ("traces", "traces-2")
        for stream in (SHARED / traces).glob("*/*/stream0.jsonl")
        if (stream.parent / "home").is_dir() and is_read(stream.parent / "home")
    )
    counts = {
        str(session): (calls_in(find_logs(str(session / "home"))), calls_in(without_prints(find_logs(str(session)))))
        for session in sessions
    }
    assert {session: both for session, both in counts.items() if both[0] != both[1]} == {}
    assert len(counts) > 100


def test_folders_that_are_always_looked_in_count_as_those_that_are_named(tmp_path: Path) -> None:
    folders = [SHARED / "traces", SHARED / "traces-2"]
    always = Query(Index(tmp_path / "index.sqlite"), folders=folders, places=Places(tmp_path / "home"))
    named = Query(paths=folders)
    counts = [
        {row.session: (row.client, row.calls, row.agents) for row in query.sessions()} for query in (always, named)
    ]
    other = {id: row for id, row in counts[0].items() if row != counts[1].get(id)}
    # A print without an id, or with another one than the log (Cline 3.0.57), is known by its calls alone, and an index
    # does not compare those: it counts beside the log, and Cline's sub-agents are its own.
    assert [id for id, (client, _, _) in other.items() if client != "cline" and not id.startswith("stream")] == []
    assert len(counts[1]) > 200
    assert len(other) <= 8
    always.close()
    named.close()
