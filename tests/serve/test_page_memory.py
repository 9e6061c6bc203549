"""Memory of the page: nothing is held of each session, however many there are."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dragoman import config
from dragoman.errors import LogError
from dragoman.logs import Index, Places, Query
from dragoman.logs.history import index
from dragoman.serve.page import Library, growing, words
from dragoman.serve.page.growing import Growing
from dragoman.serve.page.list_screen import sessions_screen
from dragoman.serve.page.search_screen import search_screen
from dragoman.serve.page.session_screen import session_screen
from dragoman.serve.page.usage_screen import usage_screen

FEW, MANY = 150, 900
MOST = 250
"""Bytes for each session more: which files were seen is remembered, as numbers, while all are looked at."""


def made(home: Path, count: int) -> None:
    """A history of so many sessions in a few projects, each with an exchange and a call."""
    for number in range(count):
        folder = home / ".claude" / "projects" / f"-work-{number % 30:02}"
        if number < 30:
            folder.mkdir(parents=True)
        head = {"sessionId": f"s{number:04}", "cwd": f"/work/{number % 30:02}", "timestamp": "2026-01-05T12:00:00Z"}
        call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "make test"}}
        answer = {"role": "assistant", "id": f"m{number}", "model": "claude-sonnet-4-5", "content": [call]}
        lines = [
            {**head, "type": "user", "uuid": "u1", "message": {"role": "user", "content": f"Fix {number}"}},
            {**head, "type": "assistant", "uuid": "u2", "message": answer | {"usage": {"output_tokens": 5}}},
        ]
        (folder / f"s{number:04}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))


@contextmanager
def opened(folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Library, Growing, Path]]:
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("DRAGOMAN_DATA_DIR", str(folder / "data"))
    config.use(None)  # the last history's is kept
    made(folder / "home", count)
    library = Library(Query(Index(), places=Places(folder / "home")))
    library.prepare()
    growth = Growing(library)
    yield library, growth, folder / "home"
    growth.close()
    library.close()
    library.query.close()


def searched(library: Library, asked: dict[str, str]) -> None:
    screen = search_screen(library, asked)
    assert screen.data["unread"] == 0


def missing(library: Library) -> None:
    with suppress(LogError):
        session_screen(library, "s-none", {})


def looked(library: Library, growth: Growing, home: Path) -> None:
    """A log grows and all are looked at; then the list and the costs are asked for."""
    with next(home.rglob("s0007.jsonl")).open("a") as log:
        record = {"type": "user", "sessionId": "s0007", "uuid": f"u{time.time_ns()}", "message": {"content": "More"}}
        log.write(json.dumps(record) + "\n")
    growth._next = 0.0
    assert growth.look()
    sessions_screen(library, {})


def peaks(folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Screen → the most memory that it took beyond what was held before, the second time that it is shown."""
    found: dict[str, int] = {}
    with opened(folder, count, monkeypatch) as (library, growth, home):
        screens: dict[str, Callable[[], object]] = {
            "list": lambda: sessions_screen(library, {"page": "2"}),
            "list of a project": lambda: sessions_screen(library, {"project": "07", "q": "fix"}),
            "session": lambda: session_screen(library, "s0042", {}),
            "no session": lambda: missing(library),
            "usage": lambda: (library._counted.clear(), usage_screen(library, {"by": "tool"})),
            "usage by project": lambda: (library._counted.clear(), usage_screen(library, {"by": "project"})),
            "a log that grows": lambda: looked(library, growth, home),
            "search": lambda: (library._words_changed(), searched(library, {"q": "fix"})),
            "search in a project": lambda: (library._words_changed(), searched(library, {"q": "fix", "project": "07"})),
        }
        for name, show in screens.items():
            show()
            gc.collect()
            tracemalloc.start()
            try:
                show()
                found[name] = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    return found


def test_no_screen_and_no_look_at_the_logs_holds_anything_of_each_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_LOOKED_UP_AT_ONCE", 20)
    monkeypatch.setattr(growing, "FOLLOWED", 20)
    monkeypatch.setattr(words, "_PATIENCE", 600.0)
    few = peaks(tmp_path / "few", FEW, monkeypatch)
    many = peaks(tmp_path / "many", MANY, monkeypatch)
    more = {name: (many[name] - few[name]) // (MANY - FEW) for name in few}
    assert {name: bytes for name, bytes in more.items() if bytes > MOST} == {}


def test_what_a_session_cost_is_found_without_going_through_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    with opened(tmp_path, 30, monkeypatch) as (library, _, _):
        database = library.query.index._database
        session_screen(library, "s0007", {})
        database.set_trace_callback(asked.append)
        session_screen(library, "s0008", {})
        database.set_trace_callback(None)
        steps = [
            (statement, step)
            for statement in asked
            if statement.startswith("SELECT") and statement != "SELECT count(*) FROM files"
            for *_, step in database.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    whole = {"files", "scopes", "sessions", "session_list", "usage", "calls", "usage_sums", "call_sums"}
    gone_through = [
        (step, statement) for statement, step in steps if step.split()[0] == "SCAN" and step.split()[1] in whole
    ]
    # Copies are few, and have an index of their own.
    assert [one for one in gone_through if not one[0].endswith("INDEX files_copy")] == []
    assert any("usage" in step for _, step in steps)
