"""`dragoman replay`: what a session did is done again, and differences are shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.terminal.console import ExitCode
from dragoman.logs import Index, Places, Query
from dragoman.serve.page import Library
from dragoman.serve.page.compare_screen import compare_screen

from .conftest import User
from .test_from_session import ID, session


def workspace(user: User, text: str) -> Path:
    folder = user.here / "copy"
    folder.mkdir()
    (folder / "notes.txt").write_text(text)
    return folder


def test_a_session_that_comes_out_as_it_was_is_told_so(user: User) -> None:
    session(user)
    said = user.types("replay", ID[:8], "--workspace", str(workspace(user, "tea")))
    assert said.code == ExitCode.OK, said.err
    assert said.out.splitlines() == ["✓ Read  read notes.txt", "", "1 the same"]


def test_other_lines_are_shown_and_exit_with_1(user: User) -> None:
    session(user)
    folder = workspace(user, "milk")
    said = user.types("replay", ID, "--workspace", str(folder))
    assert said.code == ExitCode.NO
    assert "lines: tea  here: milk" in said.out
    assert "1 otherwise" in said.out
    as_json = user.types("replay", ID, "--workspace", str(folder), "--json")
    assert as_json.code == ExitCode.NO
    assert [json.loads(line) for line in as_json.out.splitlines()] == [
        {
            "call": {"id": "toolu_1", "name": "Read", "arguments": {"file_path": "notes.txt"}},
            "differences": [
                {"what": "lines", "theirs": "tea", "ours": "milk"},
                {"what": "text", "theirs": "1\ttea", "ours": "1\tmilk"},
            ],
        }
    ]


@pytest.mark.parametrize("text, kind", [("tea", "same"), ("milk", "other result")])
def test_a_replay_that_is_recorded_is_compared_with_its_original(user: User, text: str, kind: str) -> None:
    session(user)
    said = user.types("replay", ID, "--workspace", str(workspace(user, text)), "--record")
    found = re.search(r"replay-\w+", said.err)
    assert found is not None
    assert [row["id"] for row in user.types("sessions", "--json", "--client", "dragoman").json] == [found[0]]
    query = Query(Index(user.here / "index.sqlite"), places=Places(user.home, user.environ))
    (row,) = compare_screen(Library(query), {"a": ID, "b": found[0]}).data["rows"]
    query.close()
    assert (row["kind"], row["a"]["operation"], row["b"]["operation"]) == (kind, "read_file", "read_file")


def test_other_words_alone_are_no_failure_and_can_be_left_out(user: User) -> None:
    session(user)
    folder = workspace(user, "tea\n")
    said = user.types("replay", ID, "--workspace", str(folder))
    assert said.code == ExitCode.OK
    assert "1 in other words" in said.out
    assert "+2" in said.out
    quiet = user.types("replay", ID, "--workspace", str(folder), "--no-texts")
    assert quiet.out.splitlines() == ["≈ Read  read notes.txt", "", "1 in other words"]


def test_a_folder_is_needed_and_must_be_there(user: User) -> None:
    session(user)
    assert user.types("replay", ID).code == ExitCode.USAGE
    assert user.types("replay", ID, "--workspace", "nowhere").code == ExitCode.USAGE


def test_nobody_who_stops_reading_hears_of_generators(user: User) -> None:
    path, folder = session(user), workspace(user, "milk")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "dragoman", "replay", str(path), "--workspace", str(folder), "--json"],
            cwd=user.here,
            env=user.environ,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert ended.stderr == ""
