"""A guarded run is held to its task by what was really done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import Orchestrator, RunResult, ScriptedEngine, ToolPolicy
from dragoman.engine.task_guard import MOST_REPEATS, Ran, TaskReport
from dragoman.model import AnyEvent, CallPart, FinishReason, Message, NativeCall, Reply, ResultPart, UserSaid
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, MemoryWorkspace, Toolset, tool

OFFERED = ("read_file", "write_file", "edit_file", "list_directory", "search_text", "run_command")


def call(name: str, **arguments: Any) -> Reply:
    return Reply((CallPart(NativeCall("c", name, arguments)),), FinishReason.CALLS)


def read(path: str) -> Reply:
    return call("read_file", file_path=path)


def write(path: str, content: str) -> Reply:
    return call("write_file", file_path=path, content=content)


def run(command: str) -> Reply:
    return call("run_shell_command", command=command)


class Guarded:
    """A folder, a script, and how the run of it went."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[AnyEvent] = []

    async def __call__(self, task: str, *script: Reply | str, **options: Any) -> RunResult:
        turns = [
            Reply((CallPart(NativeCall(f"c{number}", part.call.name, part.call.arguments)),), turn.finish)
            if isinstance(turn, Reply) and isinstance(part := turn.parts[0], CallPart)
            else turn
            for number, turn in enumerate(script)
        ]
        with ScriptedEngine(turns) as engine:
            runs = Orchestrator(
                engine,
                Toolset([TOOLS[name] for name in OFFERED]),
                options.pop("policy", ToolPolicy()),
                model_name="gemini-2.5-pro",
                dialect="gemini_cli",  # a file may be written without having been read
                workspace=options.pop("workspace", DiskWorkspace(self.folder)),
                emit=self.events.append,
                **{"guard": True, **options},
            )
            return await runs.run(task)

    def reminders(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, UserSaid) and event.by == "client"]


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("two\n")
    return Guarded(tmp_path)


def results(result: RunResult) -> list[str]:
    return [
        str(part.result.content)
        for item in result.conversation
        if isinstance(item, Message)
        for part in item.parts
        if isinstance(part, ResultPart)
    ]


# ── done, and said to be ─────────────────────────────────────────────────────


async def test_a_change_that_was_made_completes_the_task_and_is_reported(guarded: Guarded) -> None:
    result = await guarded("Change one to ten in a.txt.", write("a.txt", "ten\n"), "a.txt has been changed.")

    assert (result.status, result.report) == ("completed", TaskReport({"a.txt": "modified"}))
    assert result.report is not None
    assert result.report.summary == "Changed: a.txt (modified)."
    assert guarded.reminders() == []


async def test_a_claimed_change_without_one_is_reminded_of_once_and_then_fails(guarded: Guarded) -> None:
    result = await guarded("Change one to ten in a.txt.", read("a.txt"), "a.txt has been changed.", "It has been done.")

    assert guarded.reminders() == [
        "The task is not done yet. No file has been changed, and the task asks for a change. Make it now; if that is "
        "not possible, say why.\nThe task: Change one to ten in a.txt."
    ]
    problem = "the task asks for a change, but nothing was changed"
    assert result.status == "failed"
    assert result.report == TaskReport({}, (), (problem,))
    assert getattr(result.error, "message", None) == problem


async def test_a_model_that_makes_the_change_after_the_reminder_has_done_its_task(guarded: Guarded) -> None:
    result = await guarded("Change one to ten in a.txt.", "Done.", write("a.txt", "ten\n"), "Now it is done.")

    assert (result.status, len(guarded.reminders())) == ("completed", 1)
    assert result.report == TaskReport({"a.txt": "modified"})


async def test_a_file_rewritten_with_the_same_content_did_not_change(guarded: Guarded) -> None:
    script = (run("sed -i s/absent/ten/ a.txt"), "a.txt has been changed.", "a.txt has been changed.")

    result = await guarded("Change one to ten in a.txt.", *script)

    assert result.status == "failed"
    assert result.report == TaskReport(
        {}, (Ran("sed -i s/absent/ten/ a.txt", 0),), ("the task asks for a change, but nothing was changed",)
    )


async def test_changes_made_by_a_command_count(guarded: Guarded) -> None:
    result = await guarded("Rename a.txt to c.txt.", run("mv a.txt c.txt"), "a.txt has been renamed.")

    assert result.status == "completed"
    assert result.report == TaskReport({"a.txt": "deleted", "c.txt": "created"}, (Ran("mv a.txt c.txt", 0),))
    assert result.report.summary == ("Changed: a.txt (deleted), c.txt (created). Ran: mv a.txt c.txt (exit code 0).")


async def test_a_change_that_was_taken_back_is_none(guarded: Guarded) -> None:
    script = (write("a.txt", "ten\n"), write("a.txt", "one\n"), "Done.", "Done.")

    result = await guarded("Change one to ten in a.txt.", *script)

    assert (result.status, result.report and result.report.changed) == ("failed", {})


async def test_an_answer_that_names_another_file_as_changed_fails(guarded: Guarded) -> None:
    said = "a.txt and b.txt have been updated."

    result = await guarded("Change the first line in a.txt and in b.txt.", write("a.txt", "ten\n"), said)

    assert result.report == TaskReport(
        {"a.txt": "modified"}, (), ("the answer says that b.txt was changed, but it was not",)
    )
    assert result.status == "failed"


async def test_a_question_answered_by_reading_is_done_without_a_change(guarded: Guarded) -> None:
    result = await guarded("What is in a.txt?", read("a.txt"), "It says one.")

    assert (result.status, result.report) == ("completed", TaskReport())
    assert result.report is not None
    assert result.report.summary == "Nothing was changed."


async def test_a_change_nobody_asked_for_and_nobody_made_is_not_claimed(guarded: Guarded) -> None:
    result = await guarded("What is in a.txt?", "I have updated a.txt.")

    assert result.status == "failed"
    assert result.report == TaskReport({}, (), ("the answer says that something was changed, but nothing was",))


async def test_in_a_workspace_without_a_folder_the_tools_say_what_changed() -> None:
    workspace = MemoryWorkspace({"a.txt": "one\n"})

    result = await Guarded(Path())("Change a.txt.", write("a.txt", "ten\n"), "Done.", workspace=workspace)

    assert (result.status, result.report) == ("completed", TaskReport({"a.txt": "modified"}))


async def test_what_a_tool_of_the_users_own_did_cannot_be_seen_so_nothing_is_said_against_it(tmp_path: Path) -> None:
    @tool
    def add_ticket(title: str) -> str:
        """Add a ticket."""
        return "added"

    with ScriptedEngine([call("add_ticket", title="x"), "The ticket has been created."]) as engine:
        runs = Orchestrator(engine, [add_ticket], model_name="m", workspace=DiskWorkspace(tmp_path), guard=True)
        result = await runs.run("Add an entry for x.")

    assert result.status == "completed"


# ── commands the task names ──────────────────────────────────────────────────


async def test_a_command_the_task_names_is_run_before_it_is_done(guarded: Guarded) -> None:
    script = (write("a.txt", "ten\n"), "Done.", run("cat a.txt"), "It says ten.")

    result = await guarded("Write ten to a.txt, then run cat a.txt.", *script)

    reminder = "The task is not done yet. Run this now: cat a.txt\nThe task: Write ten to a.txt, then run cat a.txt."
    assert guarded.reminders() == [reminder]
    assert (result.status, result.report and result.report.ran) == ("completed", (Ran("cat a.txt", 0),))


async def test_a_command_that_was_named_and_never_run_fails_the_task(guarded: Guarded) -> None:
    result = await guarded("Run cat a.txt.", "It says one.", "It says one.")

    assert result.report == TaskReport({}, (), ("the task asks to run cat a.txt, but it was not run",))
    assert result.status == "failed"


async def test_a_command_that_failed_is_run_again_after_a_change(guarded: Guarded) -> None:
    task = "Run ./check and fix c.txt so that it passes."
    (guarded.folder / "check").write_text("test -e c.txt\n")
    (guarded.folder / "check").chmod(0o755)
    script = (run("sh ./check"), write("c.txt", "x"), "Fixed.", run("sh ./check"), "It passes.")

    result = await guarded(task, *script)

    assert guarded.reminders() == [
        "The task is not done yet. This failed, and files were changed since. Run it again: sh ./check\n"
        f"The task: {task}"
    ]
    assert (result.status, result.report and result.report.ran) == (
        "completed",
        (Ran("sh ./check", 1), Ran("sh ./check", 0)),
    )


async def test_tests_the_task_mentions_are_run(guarded: Guarded) -> None:
    result = await guarded("Fix a.txt and run the tests.", write("a.txt", "x"), "Fixed.", "The tests pass.")

    assert result.report == TaskReport({"a.txt": "modified"}, (), ("the task asks to run a test, but it was not run",))


# ── the same call again ──────────────────────────────────────────────────────


async def test_a_call_made_again_is_answered_with_what_it_gave_and_not_run(guarded: Guarded) -> None:
    counting = run("echo x >> ../count-$(basename $PWD); wc -l < ../count-$(basename $PWD)")

    result = await guarded("What does it print?", counting, counting, "It prints 1.")

    first, second = results(result)
    assert "Output: 1" in first
    assert second == (
        "You made this call before, and nothing has changed since. It was not made again. It gave:\n" + first
    )


async def test_a_call_made_again_after_a_change_is_run(guarded: Guarded) -> None:
    script = (read("a.txt"), write("a.txt", "ten\n"), read("a.txt"), "It says ten.")

    result = await guarded("Write ten to a.txt.", *script)

    assert "ten" in results(result)[2]


async def test_a_command_that_changed_something_is_run_again(guarded: Guarded) -> None:
    append = run("echo x >> a.txt")

    result = await guarded("Add two lines to a.txt.", append, append, "Done.")

    assert (guarded.folder / "a.txt").read_text() == "one\nx\nx\n"
    assert result.status == "completed"


async def test_a_model_that_only_repeats_itself_is_stopped(guarded: Guarded) -> None:
    result = await guarded("What is in a.txt?", *[read("a.txt")] * (1 + MOST_REPEATS))

    assert (result.status, result.rounds) == ("limited", 1 + MOST_REPEATS)
    assert str(result.error) == (
        "the limit on repeated calls (3) was reached; divide the task into smaller steps, or use a larger model"
    )


# ── an edit that is thrown away ──────────────────────────────────────────────


def edit(path: str, old: str, new: str) -> Reply:
    return call("replace", file_path=path, instruction="Replace it.", old_string=old, new_string=new)


async def test_a_file_that_was_edited_is_not_written_over_with_something_else(guarded: Guarded) -> None:
    over = write("a.txt", "The file a.txt has been updated.")
    script = (read("a.txt"), edit("a.txt", "one", "ten"), over, "Done.")

    result = await guarded("Replace one with ten in a.txt.", *script)

    assert (guarded.folder / "a.txt").read_text() == "ten\n"
    assert results(result)[2] == "a.txt was changed by your edit already and was not written over. It holds:\nten\n"
    assert (result.status, result.report) == ("completed", TaskReport({"a.txt": "modified"}))


async def test_a_model_that_insists_may_write_over_what_it_edited(guarded: Guarded) -> None:
    over = write("a.txt", "all new\n")

    await guarded("Replace all of a.txt.", read("a.txt"), edit("a.txt", "one", "ten"), over, over, "Done.")

    assert (guarded.folder / "a.txt").read_text() == "all new\n"


async def test_an_edited_file_may_be_written_with_its_own_lines(guarded: Guarded) -> None:
    script = (read("a.txt"), edit("a.txt", "one", "ten"), write("a.txt", "ten\neleven\n"), "Done.")

    await guarded("Replace one with ten in a.txt.", *script)

    assert (guarded.folder / "a.txt").read_text() == "ten\neleven\n"


# ── where it is used ─────────────────────────────────────────────────────────


async def test_a_run_is_not_guarded_unless_somebody_wants_it(guarded: Guarded) -> None:
    result = await guarded("Change a.txt.", "a.txt has been changed.", guard=None)

    assert (result.status, result.report) == ("completed", None)


async def test_an_engine_for_small_models_is_guarded_unless_told_otherwise(tmp_path: Path) -> None:
    from dragoman.engine.models import LocalEngine

    engine = LocalEngine(tmp_path / "none.gguf")

    assert Orchestrator(engine, model_name="m").guard
    assert not Orchestrator(engine, model_name="m", guard=False).guard
