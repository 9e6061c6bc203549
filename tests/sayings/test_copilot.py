"""What Copilot CLI's models say for each operation."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says

PATCHING = DIALECTS["copilot"].at(family="gpt-5.4")


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), copilot=("view", {"path": "a.py"}))
    says(op.ReadFile("a.py", 5, 9), copilot=("view", {"path": "a.py", "view_range": [5, 9]}))
    says(op.ReadFile("a.py", 5), copilot=("view", {"path": "a.py", "view_range": [5, -1]}))


def test_list_a_folder() -> None:
    says(op.ListDirectory("src"), copilot=("view", {"path": "src/"}))
    says(op.ListDirectory(), copilot=("view", {"path": "."}))


def test_a_folder_without_a_slash_cannot_be_told_from_a_file() -> None:
    reads(op.ReadFile("src"), copilot=("view", {"path": "src"}))


def test_write_a_file_that_is_not_there() -> None:
    says(op.WriteFile("a.py", "x", overwrite=False), copilot=("create", {"path": "a.py", "file_text": "x"}))


def test_a_file_that_may_be_there_is_written_with_a_stated_loss() -> None:
    (loss,) = DIALECTS["copilot"].loss(op.WriteFile("a.py", "x"))
    assert (loss.field, loss.reason) == ("overwrite", "a file that is there is never replaced")


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x", "y"), op.Edit("z", ""))),
        copilot=[
            ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"}),
            ("edit", {"path": "a.py", "old_str": "z", "new_str": ""}),
        ],
    )
    reads(op.EditFile("a.py", (op.Edit("x", ""),)), copilot=("edit", {"path": "a.py", "old_str": "x"}))


@pytest.mark.parametrize("edit", [op.Edit("x", "y", everywhere=True), op.Edit("x", "y", expected=2)])
def test_an_edit_in_more_places_than_one_is_not_said_as_something_else(edit: op.Edit) -> None:
    with pytest.raises(Unspeakable):
        DIALECTS["copilot"].at(family="claude-sonnet-4.5").but(without=("apply_patch",)).write_call(
            "1", op.EditFile("a.py", (edit,))
        )


def test_models_that_know_patches_change_files_with_them() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"
    (native,) = PATCHING.write_call("1", op.WriteFile("a.py", "x\n"))
    assert (native.name, native.arguments) == ("apply_patch", patch)
    # Copilot CLI 1.0.102 refuses to add a file that is there.
    reads(op.WriteFile("a.py", "x\n", overwrite=False), copilot=("apply_patch", patch))
    says(op.DeleteFile("a.py"), copilot=("apply_patch", "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"))
    says(
        op.MoveFile("a.py", "b.py"),
        copilot=("apply_patch", "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch"),
    )


def test_run_a_command() -> None:
    says(op.RunCommand("ls", purpose="look"), copilot=("bash", {"command": "ls", "description": "look"}))
    says(
        op.RunCommand("make", purpose="build", background=True, job="b", wait_ms=2000),
        copilot=(
            "bash",
            {"command": "make", "description": "build", "shellId": "b", "mode": "async", "initial_wait": 2},
        ),
    )
    reads(op.RunCommand("ls"), copilot=("bash", {"command": "ls", "description": "", "mode": "sync"}))


def test_shells() -> None:
    says(op.ReadOutput("b", wait_ms=2000), copilot=("read_bash", {"shellId": "b", "delay": 2}))
    says(op.StopCommand("b"), copilot=("stop_bash", {"shellId": "b"}))
    says(op.ListCommands(), copilot=("list_bash", {}))


def test_search_text() -> None:
    says(op.SearchText("total", mode="files"), copilot=("grep", {"pattern": "total"}))
    says(
        op.SearchText(
            "total",
            "src",
            include="*.py",
            file_type="py",
            case_sensitive=False,
            multiline=True,
            before=1,
            after=1,
            line_numbers=True,
            limit=9,
        ),
        copilot=(
            "grep",
            {
                "pattern": "total",
                "paths": "src",
                "output_mode": "content",
                "glob": "*.py",
                "type": "py",
                "-i": True,
                "-C": 1,
                "-n": True,
                "head_limit": 9,
                "multiline": True,
            },
        ),
    )
    assert PATCHING.write_call("1", op.SearchText("total", mode="count")) == (
        NativeCall("1", "rg", {"pattern": "total", "output_mode": "count"}),
    )


def test_a_search_in_several_places_is_several() -> None:
    reads(
        op.SearchText("x", "src", mode="files"),
        op.SearchText("x", "docs", mode="files"),
        copilot=("rg", {"pattern": "x", "paths": ["src", "docs"]}),
    )


def test_find_files() -> None:
    says(op.FindFiles("*.py"), copilot=("glob", {"pattern": "*.py"}))
    says(op.FindFiles("*.py", "src"), copilot=("glob", {"pattern": "*.py", "paths": "src"}))


def test_search_for_tools() -> None:
    says(op.SearchTools("web", limit=3), copilot=("tool_search_tool", {"pattern": "web", "limit": 3}))


def test_use_a_skill() -> None:
    says(op.UseSkill("pdf"), copilot=("skill", {"skill": "pdf"}))


def test_a_plan_is_rows_of_a_table() -> None:
    says(
        op.AddPlanItem(op.PlanItem("It's on", "completed", "t1", "d")),
        copilot=(
            "sql",
            {
                "description": "Add to the plan",
                "query": "INSERT INTO todos (id, title, description, status) VALUES ('t1', 'It''s on', 'd', 'done')",
            },
        ),
    )
    says(
        op.ChangePlanItem("t1", status="in_progress"),
        copilot=(
            "sql",
            {"description": "Change the plan", "query": "UPDATE todos SET status = 'in_progress' WHERE id = 't1'"},
        ),
    )
    says(
        op.ChangePlanItem("t1", add_blocked_by=("t2", "t3")),
        copilot=(
            "sql",
            {
                "description": "Change the plan",
                "query": "INSERT INTO todo_deps (todo_id, depends_on) VALUES ('t1', 't2'), ('t1', 't3')",
            },
        ),
    )
    says(op.ReadPlan(), copilot=("sql", {"description": "Read the plan", "query": "SELECT * FROM todos"}))


@pytest.mark.parametrize(
    "query, operations",
    [
        (
            "insert into todos (id, title) values ('a', 'A'), ('b', 'B;');"
            "\nupdate todos set status='done' where id = 'a'",
            (
                op.AddPlanItem(op.PlanItem("A", id="a")),
                op.AddPlanItem(op.PlanItem("B;", id="b")),
                op.ChangePlanItem("a", status="completed"),
            ),
        ),
        (
            "UPDATE todos SET status = 'blocked', updated_at = CURRENT_TIMESTAMP WHERE id IN ('a', 'b')",
            (op.ChangePlanItem("a", status="blocked"), op.ChangePlanItem("b", status="blocked")),
        ),
        ("DELETE FROM todos WHERE id = 'a';", (op.ChangePlanItem("a", deleted=True),)),
        ("SELECT * FROM todos WHERE id = 'a'", (op.ReadPlan("a"),)),
    ],
)
def test_plain_statements_are_read(query: str, operations: tuple[op.Operation, ...]) -> None:
    reads(*operations, copilot=("sql", {"description": "x", "query": query}))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM sqlite_master",
        "UPDATE todos SET status = 'done'",
        "UPDATE todos SET status = 'done' WHERE id = lower('A')",
        "UPDATE todos SET status = 'done' WHERE id = 'a' OR 1",
        "INSERT INTO notes (id) VALUES ('a')",
        "INSERT INTO todos (id, title) VALUES ('a')",
        "INSERT INTO todos (title, status) VALUES ('a', 'strange')",
        "SELECT * FROM todos ORDER BY id",
        "SELEC x",
        "",
    ],
)
def test_other_statements_are_the_clients_own(query: str) -> None:
    arguments = {"description": "x", "query": query}
    reads(op.SteerClient("sql", arguments), copilot=("sql", arguments))


def test_spawn_an_agent() -> None:
    says(
        op.SpawnAgent("Count", "explore", "look", "Look", model="m", effort="high", background=True),
        copilot=(
            "task",
            {
                "description": "Look",
                "prompt": "Count",
                "agent_type": "explore",
                "name": "look",
                "model": "m",
                "reasoning_effort": "high",
                "mode": "background",
            },
        ),
    )


def test_talk_to_agents() -> None:
    says(
        op.WaitForAgent(("a",), timeout_ms=15000, block=True, since_turn=1),
        copilot=("read_agent", {"agent_id": "a", "wait": True, "timeout": 15, "since_turn": 1}),
    )
    says(op.ListAgents(scope="all"), copilot=("list_agents", {"scope": "all"}))
    says(op.MessageAgent("a", "More"), copilot=("write_agent", {"agent_id": "a", "message": "More"}))
    reads(
        op.MessageAgent("a", "More"),
        op.MessageAgent("b", "More"),
        copilot=("write_agent", {"agent_ids": ["a", "b"], "message": "More"}),
    )
    reads(
        op.SteerClient("write_agent", {"scope": "children", "message": "More"}),
        copilot=("write_agent", {"scope": "children", "message": "More"}),
    )


def test_tools_that_are_not_always_offered() -> None:
    reads(op.FetchPage("https://example.com/"), copilot=("web_fetch", {"url": "https://example.com/"}))
    reads(
        op.AskUser((op.Question("Which?", (op.Option("a"),)),)),
        copilot=("ask_user", {"question": "Which?", "choices": ["a"]}),
    )
    reads(op.SaveMemory("y", "x"), copilot=("store_memory", {"subject": "x", "fact": "y"}))
    reads(
        op.UpdatePlan((op.PlanItem("a"), op.PlanItem("b", "completed"))),
        copilot=("update_todo", {"todos": "- [ ] a\n- [x] b"}),
    )


def test_what_the_client_does_for_itself() -> None:
    says(
        op.SteerClient("session_store_sql", {"description": "x", "query": "SELECT 1"}),
        copilot=("session_store_sql", {"description": "x", "query": "SELECT 1"}),
    )


def test_a_tool_of_a_server() -> None:
    dialect = DIALECTS["copilot"].knowing(servers=("toy",))
    operation = op.CallMcpTool("toy", "echo", {"text": "hi"})
    native = NativeCall("1", "toy-echo", {"text": "hi"})
    assert dialect.write_call("1", operation) == (native,)
    assert dialect.read_call(native).operations == (operation,)
