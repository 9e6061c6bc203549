"""`dragoman sessions`: filters, order, and that a second call on an unchanged home opens no log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.logs.stores import store_for
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX, SAMPLES
from tests.logs.store_laws import said


@pytest.fixture
def reader(user: User) -> User:
    """Somebody with two sessions of Claude Code, one of Codex and one of Gemini CLI that has a sub-agent."""
    later = (
        CLAUDE.replace(b'"s-1"', b'"s-2"').replace(b"2026-01-01", b"2026-01-02").replace(b'"/p"', b'"/projects/lamp"')
    )
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".claude/projects/-p/s-2.jsonl", later.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    for name, data in SAMPLES["gemini_cli"][:2]:
        user.write(user.home / ".gemini/tmp" / name, data.decode())
    return user


def ids(reader: User, *options: str) -> list[str]:
    return [one["id"] for one in reader.types("sessions", "--json", *options).json]


def test_a_list_that_is_cut_says_of_how_many(reader: User) -> None:
    assert "2 of 4 sessions are shown; --all shows all of them." in reader.types("sessions", "--limit", "2").err
    assert "are shown" not in reader.types("sessions").err


def test_an_id_is_shown_so_far_as_it_means_one_session(reader: User) -> None:
    for id in (
        "project-2026-01-01T10:00:00-a-long-name",
        "project-2026-01-01T11:00:00-a-long-name",
        "0123456789abcdef-1",
    ):
        data = CLAUDE.replace(b'"s-1"', f'"{id}"'.encode())
        reader.write(reader.home / f".claude/projects/-p/{id}.jsonl", data.decode())
    for command in (("sessions",), ("usage", "session")):
        shown = [line.split()[0] for line in reader.types(*command).out.splitlines()]
        assert {"project-2026-01-01T10", "project-2026-01-01T11", "0123456789ab", "s-1", "s-2"} <= set(shown)
    for id in ("project-2026-01-01T10", "project-2026-01-01T11", "0123456789ab"):
        assert reader.types("show", id).code == 0


def test_records_in_a_database_are_sessions_like_those_in_files(reader: User) -> None:
    reader.settings('[store]\nurl = "sqlite:runs.db"\n')
    store = store_for("sqlite:runs.db", folder=Path(reader.environ["DRAGOMAN_DATA_DIR"]))
    record = store.open("r")
    record(said(1, "paint the fence"))
    assert "r" in ids(reader)
    assert "paint the fence 1" in reader.types("show", "r").out
    record(said(2, "twice"))
    record.close()
    assert "twice 2" in reader.types("show", "r").out
    assert reader.types("events", "r").out.count("user_said") == 2


def test_a_database_that_cannot_be_reached_costs_no_other_session(reader: User) -> None:
    reader.settings('[store]\nurl = "postgresql://me:secret@127.0.0.1:1/none"\n')
    listed = reader.types("sessions", "--json")
    assert len(listed.json) == 4
    assert "as they were last seen" in listed.err
    assert "secret" not in listed.err


@pytest.mark.slow
def test_a_table_tears_no_id_name_or_number_at_any_width(reader: User) -> None:
    long = CLAUDE.replace(b'"s-1"', b'"0b6f9d1e-4a77"').replace(b"claude-x", b"claude-sonnet-4-5-20250929")
    reader.write(reader.home / ".claude/projects/-p/0b6f9d1e-4a77.jsonl", long.decode())
    widths = (60, 80, 100, 140, 200)
    for words in (("sessions",), ("stats", "--by", "model"), ("projects",)):
        for width, seen in zip(widths, reader.sees_each(*((width, {}, words) for width in widths)), strict=True):
            lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).split("\r")[-1] for line in seen.out.splitlines()]
            assert [line for line in lines if len(line) > width] == [], (words, width)
            for whole in {"sessions": ["0b6f9d1e-4a7"], "stats": ["claude-sonnet-4-5-20250929"]}.get(words[0], []):
                assert whole in seen.out, (words, width)


def test_sessions_are_listed_newest_first_and_chosen_by_filters(reader: User) -> None:
    assert ids(reader) == ["s-2", "c-1", "s-1", "g-1"]
    assert ids(reader, "--client", "codex") == ["c-1"]
    assert ids(reader, "--since", "2026-01-02T00:00Z") == ["s-2"]
    assert ids(reader, "--until", "2026-01-02T00:00Z") == ["c-1", "s-1", "g-1"]
    assert ids(reader, "--project", "lamp") == ["s-2"]
    assert ids(reader, "--model", "claude-x") == ["s-2", "s-1"]
    assert ids(reader, "--limit", "1") == ["s-2"]
    assert ids(reader, "--limit", "1", "--all") == ["s-2", "c-1", "s-1", "g-1"]
    assert ids(reader, "--since", "2d") == []
    assert ids(reader, "--agents") == ["s-2", "c-1", "s-1", "g-1", "g-1"]
    assert ids(reader, str(reader.home / ".codex")) == ["c-1"]


def test_without_an_update_the_index_alone_is_asked(reader: User) -> None:
    assert ids(reader, "--no-update") == []
    reader.types("index", "update", "--client", "codex")
    assert ids(reader, "--no-update") == ["c-1"]


def test_a_table_for_people_and_json_for_machines(reader: User) -> None:
    shown = reader.types("sessions", "--client", "claude_code").out.splitlines()
    assert shown[0].split() == ["session", "client", "began", "turns", "calls", "tokens", "title"]
    assert shown[1].split() == ["s-2", "claude_code", "2026-01-02", "00:00", "1", "2", "40", "Fix", "it."]
    (facts,) = reader.types("sessions", "--json", "--project", "lamp").json
    assert facts == {
        "id": "s-2",
        "stream": "main",
        "client": "claude_code",
        "version": "2.1.300",
        "project": "/projects/lamp",
        "repository": "/projects/lamp",
        "branch": "main",
        "models": ["claude-x"],
        "turns": 1,
        "steps": 2,
        "calls": 2,
        "failures": 1,
        "started": "2026-01-02T00:00:00+00:00",
        "ended": "2026-01-02T00:00:07+00:00",
        "doubtful": 0,
        "tokens": 40,
        "title": "Fix it.",
        "agents": 0,
        "parent_session": None,
        "parent_call": None,
        "unreadable": 0,
        "unknown": 1,
        "file": str(reader.home / ".claude/projects/-p/s-2.jsonl"),
    }


def test_what_cannot_be_asked_is_said_with_what_can(reader: User) -> None:
    wrong = reader.types("sessions", "--since", "yesterday")
    assert (wrong.code, "neither a date" in wrong.err) == (2, True)
    wrong = reader.types("sessions", "--client", "codexx")
    assert (wrong.code, "codex" in wrong.err) == (2, True)
    nothing = reader.types("sessions", "--project", "nowhere")
    assert (nothing.code, "dragoman sources" in nothing.err) == (1, True)


OPENED = """
import sys
opened = []
def hook(event, arguments):
    if event in ("open", "sqlite3.connect"):
        opened.append(str(arguments[0]))
sys.addaudithook(hook)
from dragoman.cli import main
code = main(["sessions", "--json"])
print("\\n".join([str(code), *opened]), file=sys.stderr)
"""


def opened(reader: User) -> list[str]:
    """The files below the home that a new process opened to list the sessions."""
    environment = {**reader.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", OPENED], env=environment, cwd=reader.here, capture_output=True, text=True, check=True
    )
    code, *files = done.stderr.splitlines()
    assert code == "0"
    assert len(done.stdout.split('"id"')) == 5
    return [file for file in files if Path(file).is_relative_to(reader.home)]


def test_a_second_call_on_an_unchanged_home_opens_no_log(reader: User) -> None:
    assert len(set(opened(reader))) == 5
    assert opened(reader) == []
    grown = reader.home / ".claude/projects/-p/s-1.jsonl"
    with grown.open("ab") as file:
        file.write(b"\\n")
    assert set(opened(reader)) == {str(grown)}


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("show", "--steps"),
        ("events",),
        ("analyse",),
        ("export", "--to", "markdown"),
        ("stats",),
        ("sessions",),
        ("usage", "daily"),
        ("port", "--to", "codex", "--dry-run"),
    ],
)
def test_last_and_the_beginning_of_an_id_name_a_session_everywhere(user: User, words: tuple[str, ...]) -> None:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    command, options = (words[:2], ()) if words[0] == "usage" else (words[:1], words[1:])
    newest, by_id = (user.types(*command, name, *options) for name in ("last", "s-"))
    assert newest.code == by_id.code == 0
    if "port" not in words:  # which makes a new id each time
        assert newest.out == by_id.out
