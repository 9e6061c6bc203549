"""`dragoman index`: what it tells, what it reads, and that it fixes itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def place(reader: User) -> Path:
    return Path(reader.environ["DRAGOMAN_CACHE_DIR"]) / "history.sqlite"


def test_an_update_reads_what_is_new_and_nothing_else(reader: User) -> None:
    size = len(CLAUDE) + len(CODEX)
    nothing = {"unchanged": 0, "read_on": 0, "read_anew": 0, "removed": 0, "failed": 0, "bytes": 0}
    assert reader.types("index", "update", "--json").json == {**nothing, "files": 2, "read_anew": 2, "bytes": size}
    assert reader.types("index", "update", "--json").json == {**nothing, "files": 2, "unchanged": 2}
    (reader.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl").unlink()
    with (reader.home / ".claude/projects/-p/s-1.jsonl").open("ab") as file:
        file.write(CLAUDE)
    grown = reader.types("index", "update", "--json").json
    assert grown == {**nothing, "files": 1, "read_on": 1, "removed": 1, "bytes": len(CLAUDE)}
    assert reader.types("index", "update").out == (
        "1 files: 1 unchanged, 0 read on, 0 read anew, 0 gone; 0 bytes read\n"
    )


def test_info_tells_where_it_is_and_what_is_in_it(reader: User) -> None:
    reader.types("index", "update")
    info = reader.types("index", "info", "--json").json
    assert (info["path"], info["files"], info["log_bytes"]) == (str(place(reader)), 2, len(CLAUDE) + len(CODEX))
    assert (info["rows"]["sessions"], info["rows"]["calls"]) == (2, 3)
    shown = reader.types("index", "info").out
    assert str(place(reader)) in shown
    assert "see `dragoman doctor`" in shown


def test_rebuild_reads_everything_anew_and_vacuum_gives_back_space(reader: User) -> None:
    reader.types("index", "update")
    assert reader.types("index", "rebuild", "--json").json["read_anew"] == 2
    assert reader.types("index", "rebuild", "--client", "codex", "--json").json["read_anew"] == 1
    assert reader.types("index", "vacuum", "--json").json["freed"] >= 0
    assert reader.types("index", "update", "--json").json["unchanged"] == 2


def test_a_damaged_index_is_put_aside_with_a_note_and_the_answer_is_right(reader: User) -> None:
    before = reader.types("sessions", "--json").json
    place(reader).write_bytes(b"not a database at all " * 300)
    again = reader.types("sessions", "--json")
    assert again.json == before
    assert "put aside" in again.err
    assert place(reader).with_name("history.sqlite.damaged").exists()
    assert reader.types("sessions", "--json").err == ""
