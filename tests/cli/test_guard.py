"""`dragoman run --guard`: a run is called done only when it is."""

from __future__ import annotations

import json

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.engine.loopback import Turn, loopback

from .conftest import User
from .test_run import EDIT, READ, no_keys, runs

__all__ = ["no_keys"]

CLAIM = Turn("notes.txt has been changed.")
TASK = "Replace tea with milk in notes.txt."


async def test_a_claimed_change_without_one_ends_with_1_and_a_warning(user: User) -> None:
    async with loopback(READ, CLAIM, CLAIM) as server:
        answer = await runs(user, server, "--guard", "--yes", TASK)

    assert answer.code == ExitCode.NO == 1
    assert "Nothing was changed." in answer.err.splitlines()
    assert "warning: the task asks for a change, but nothing was changed" in answer.err.splitlines()


async def test_the_closing_line_says_which_files_changed(user: User) -> None:
    async with loopback(READ, EDIT, CLAIM) as server:
        answer = await runs(user, server, "--guard", "--yes", TASK)

    assert (answer.code, (user.here / "notes.txt").read_text()) == (0, "milk\nbread\n")
    assert answer.err.splitlines()[-2] == "Changed: notes.txt (modified)."


@pytest.mark.parametrize("options", [(), ("--no-guard",)])
async def test_without_the_guard_the_answer_stands_as_it_is(user: User, options: tuple[str, ...]) -> None:
    async with loopback(READ, CLAIM) as server:
        answer = await runs(user, server, *options, "--yes", TASK)

    assert (answer.code, "Nothing was changed." in answer.err) == (0, False)


async def test_in_json_the_last_event_says_it(user: User) -> None:
    async with loopback(READ, CLAIM, CLAIM) as server:
        answer = await runs(user, server, "--guard", "--json", "--yes", TASK)

    last = json.loads(answer.out.splitlines()[-1])
    problem = "the task asks for a change, but nothing was changed"
    assert (last["reason"], last["message"]) == ("failed", problem)
