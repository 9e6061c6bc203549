"""What a session did, done again here, and where it comes out otherwise."""

from __future__ import annotations

import datetime
import os
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.engine.history import Replayed, replay
from dragoman.engine.history.replaying import Difference
from dragoman.model import AnyEvent, NativeCall, NativeResult, SessionStarted, ToolCalled, ToolReturned
from dragoman.tools import DiskWorkspace

THERE = "/their/project"
CLAUDE: Dialect = DIALECTS["claude_code"].at("2.1.123")


class Log:
    """Calls and their results, as a client would have logged them."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = [SessionStarted(id="0", session="s", cwd=THERE)]

    def called(
        self, name: str, result: str, *, failed: bool = False, minute: int | None = None, **arguments: Any
    ) -> Log:
        id = f"c{len(self.events)}"
        time = None if minute is None else datetime.datetime(2026, 1, 1, 0, minute, tzinfo=datetime.UTC)
        call = CLAUDE.read_call(NativeCall(id, name, arguments))
        told = CLAUDE.read_result(call, NativeResult(id, result, failed))
        self.events += [
            ToolCalled(id=f"{id}a", session="s", time=time, call_id=id, call=call),
            ToolReturned(id=f"{id}b", session="s", time=time, call_id=id, result=told),
        ]
        return self


async def replayed(log: Log, folder: Path, **options: Any) -> list[Replayed]:
    async with aclosing(replay(log.events, CLAUDE, DiskWorkspace(folder), **options)) as again:
        return [done async for done in again]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("tea\nbread\n")
    return tmp_path


async def test_what_comes_out_as_it_was_logged_has_no_differences(project: Path) -> None:
    log = Log()
    log.called("Read", "1\ttea\n2\tbread\n3\t", file_path=f"{THERE}/a.txt")
    log.called("Read", "1\ttea", file_path=f"{THERE}/a.txt", limit=1)
    log.called(
        "Edit",
        f"The file {THERE}/a.txt has been updated successfully.",
        file_path=f"{THERE}/a.txt",
        old_string="tea",
        new_string="milk",
    )
    log.called("Bash", f"{THERE}\nmilk\nbread", command=f"pwd; cat {THERE}/a.txt")
    done = await replayed(log, project)
    assert [(one.skipped, one.differences) for one in done] == [(None, ())] * 4
    assert (project / "a.txt").read_text() == "milk\nbread\n"


async def test_other_words_and_other_outcomes_are_told_apart(project: Path) -> None:
    log = Log()
    log.called("Read", "1\tcoffee", file_path=f"{THERE}/a.txt", limit=1)
    log.called("Write", "File created successfully at: b.txt", file_path=f"{THERE}/b.txt", content="x\n")
    one, other = await replayed(log, project)
    assert one.differences == (
        Difference("lines", "coffee", "tea"),
        Difference("text", "1\tcoffee", "1\ttea"),
    )
    assert other.differences == (
        Difference("text", "File created successfully at: b.txt", f"File created successfully at: {THERE}/b.txt"),
    )
    assert (one.outcome_differs, other.outcome_differs, other.text_differs) == (True, False, True)


async def test_a_change_that_was_refused_there_is_refused_or_taken_back_here(project: Path) -> None:
    refused = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
    log = Log()
    log.called("Write", refused, failed=True, file_path=f"{THERE}/a.txt", content="all new\n")
    log.called("Write", refused, failed=True, file_path=f"{THERE}/new.txt", content="new\n")
    log.called("Read", "1\ttea\n2\tbread\n3\t", file_path=f"{THERE}/a.txt")
    first, second, third = await replayed(log, project)
    assert first.differences == ()
    assert second.outcome_differs
    assert third.differences == ()
    assert not (project / "new.txt").exists()


async def test_calls_are_made_in_the_order_they_happened_and_once(project: Path) -> None:
    log = Log()
    log.called("Bash", "late", minute=2, command="cat made.txt")
    log.called("Bash", "", minute=1, command="echo late > made.txt")
    log.events += log.events[1:3]  # a session that was resumed tells its calls again
    done = await replayed(log, project)
    assert [one.call.native.arguments for one in done] == [
        {"command": "echo late > made.txt"},
        {"command": "cat made.txt"},
    ]
    assert not done[1].outcome_differs


async def test_what_cannot_be_done_again_is_passed_over_with_the_reason(project: Path) -> None:
    log = Log()
    log.called("Nothing", "<tool_use_error>Error: No such tool available: Nothing</tool_use_error>", failed=True)
    log.called("WebFetch", "A page.", url="http://x.test", prompt="What is it?")
    log.called("Workflow", "Workflow launched in background. Task ID: w1", script="return 1")
    log.called("Read", "x", file_path=7)
    log.called("Grep", "<tool_use_error>Error: No such tool available: Grep</tool_use_error>", failed=True, pattern="a")
    log.called("Bash", "x", command="echo x")
    log.events.pop()
    assert [one.skipped for one in await replayed(log, project)] == [
        "it is not about files, searches or commands",
        "it is not about files, searches or commands",
        "its program is written for the interpreter that ran it there",
        "its arguments could not be read",
        "the client did not offer it",
        "it has no result in the log",
    ]


async def test_leaving_off_in_the_middle_ends_what_was_begun(project: Path) -> None:
    log = Log().called("Bash", "1", command="echo 1").called("Bash", "2", command="echo 2 > two.txt")
    async with aclosing(replay(log.events, CLAUDE, DiskWorkspace(project))) as again:
        async for _ in again:
            break
    assert not (project / "two.txt").exists()


async def test_a_folder_whose_name_begins_like_the_sessions_is_another_one(project: Path) -> None:
    inside = project / "here"
    inside.mkdir()
    log = Log()
    log.called("Write", f"File created successfully at: {THERE}/a.txt", file_path=f"{THERE}/a.txt", content=f"{THERE}s")
    log.called("Bash", "", command=f"touch {THERE}-old {THERE}.old; true", description="d")
    await replayed(log, inside)
    assert (inside / "a.txt").read_text() == f"{THERE}s"
    assert sorted(os.listdir(project)) == ["a.txt", "here"]


async def test_a_session_of_the_root_of_all_files_has_no_folder_to_turn(project: Path) -> None:
    log = Log().called("Bash", "a/b", command="echo a/b > said.txt; cat said.txt", description="d")
    log.events[0] = SessionStarted(id="0", session="s", cwd="/")
    await replayed(log, project)
    assert (project / "said.txt").read_text() == "a/b\n"
