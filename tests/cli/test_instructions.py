"""Instruction files in `run` and `chat`: what is shown of them, and when those of folders below are given."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from tests.engine.loopback import Loopback, Turn, loopback

from .conftest import Answer, User

MODEL = ("--model", "openai-chat:some-model", "--dialect", "plain")
NESTED = "src/api/AGENTS.md"


@pytest.fixture(autouse=True)
def project(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    user.write(user.here / "AGENTS.md", "Use tabs.")
    user.write(user.here / NESTED, "Use spaces here.")
    user.write(user.here / "src" / "api" / "a.py", "x = 1\n")


async def runs(user: User, server: Loopback, *words: str) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "sk-0123456789")
        return await asyncio.to_thread(user.types, "run", *words)


def read(id: str) -> Turn:
    return Turn(calls=((id, "vfs_read", {"path": "src/api/a.py"}),))


def messages(server: Loopback, request: int) -> list[tuple[str, Any]]:
    return [(one["role"], one.get("content")) for one in server.requests[request].body["messages"]]


async def test_instructions_of_a_folder_below_come_once_and_stay_when_the_run_is_resumed(user: User) -> None:
    async with loopback(read("c1"), read("c2"), Turn("Done."), read("c3"), Turn("Again.")) as server:
        answer = await runs(user, server, *MODEL, "Go")
        assert (answer.code, answer.out) == (0, "Done.\n"), answer.err
        again = await runs(user, server, "--resume", "last", "once more")
    assert (again.code, again.out) == (0, "Again.\n"), again.err
    assert f"instructions: AGENTS.md, {NESTED} (when a file below src/api is used)\n" in answer.err
    assert answer.err.count(f"instructions: {NESTED}\n") == 1
    assert "instructions:" not in again.err
    assert f"- {NESTED}" in messages(server, 0)[0][1]
    assert [role for role, _ in messages(server, 1)] == ["system", "user", "assistant", "tool", "user"]
    assert "Use spaces here." in messages(server, 1)[-1][1]
    assert str(messages(server, 4)).count("Use spaces here.") == 1


def test_a_dry_run_shows_the_text_and_names_what_would_be_read(user: User) -> None:
    answer = user.types("run", "--dry-run", *MODEL, "Go")
    assert answer.code == 0
    assert f"instructions: AGENTS.md, {NESTED} (when a file below src/api is used)\n" in answer.err
    assert "Use tabs." in answer.out
    assert "Use spaces here." not in answer.out
    without = user.types("run", "--dry-run", "--no-instructions", *MODEL, "Go")
    assert "instructions" not in without.err


@pytest.mark.parametrize("more, given", [("", True), ("project_instructions: false\n", False)])
async def test_an_agent_gets_those_of_folders_below_unless_its_file_turns_them_off(
    user: User, more: str, given: bool
) -> None:
    head = f"name: one\ndescription: One.\nmodel: openai-chat:m\ndialect: plain\ntools: [read_file]\n{more}"
    user.write(user.here / "one.md", f"---\n{head}---\nYou are one.\n")
    async with loopback(read("c1"), Turn("Done.")) as server:
        answer = await runs(user, server, "--agent", "one.md", "Go")
    assert answer.code == 0, answer.err
    assert ("Use spaces here." in str(messages(server, 1))) is given
