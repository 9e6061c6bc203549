"""What Cline's models say for each operation."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), cline=("read_files", {"files": [{"path": "a.py"}]}))
    says(op.ReadFile("a.py", 5, 9), cline=("read_files", {"files": [{"path": "a.py", "start_line": 5, "end_line": 9}]}))


def test_one_call_reads_several_files() -> None:
    reads(
        op.ReadFile("a.py"),
        op.ReadFile("b.py", first_line=2),
        cline=("read_files", {"files": [{"path": "a.py", "end_line": None}, {"path": "b.py", "start_line": 2}]}),
    )


def test_write_a_file_that_is_not_there() -> None:
    says(op.WriteFile("a.py", "x\n", overwrite=False), cline=("editor", {"path": "a.py", "new_text": "x\n"}))


def test_a_file_that_may_be_there_is_written_with_a_stated_loss() -> None:
    (loss,) = DIALECTS["cline"].loss(op.WriteFile("a.py", "x\n"))
    assert (loss.field, loss.reason) == ("overwrite", "a file that is there is never replaced")


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x", "y"), op.Edit("z", ""))),
        cline=[
            ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"}),
            ("editor", {"path": "a.py", "old_text": "z", "new_text": ""}),
        ],
    )


@pytest.mark.parametrize(
    "edit", [op.Edit("x", "y", everywhere=True), op.Edit(None, "y"), op.Edit("x", "y", expected=2)]
)
def test_an_edit_in_more_places_than_one_is_not_said_as_something_else(edit: op.Edit) -> None:
    with pytest.raises(Unspeakable):
        DIALECTS["cline"].write_call("1", op.EditFile("a.py", (edit,)))


def test_insert_lines() -> None:
    says(op.InsertText("a.py", 0, "x"), cline=("editor", {"path": "a.py", "new_text": "x", "insert_line": 1}))
    says(op.InsertText("a.py", 2, "x\n\n"), cline=("editor", {"path": "a.py", "new_text": "x\n", "insert_line": 3}))


def test_run_a_command() -> None:
    says(op.RunCommand("ls -l"), cline=("run_commands", {"commands": ["ls -l"]}))
    reads(op.RunCommand("ls"), op.RunCommand("pwd"), cline=("run_commands", {"commands": ["ls", "pwd"]}))


def test_search_text() -> None:
    says(op.SearchText("total"), cline=("search_codebase", {"queries": ["total"]}))
    reads(op.SearchText("a"), op.SearchText("b"), cline=("search_codebase", {"queries": ["a", "b"]}))


def test_fetch_a_page() -> None:
    url = "https://example.com/"
    says(
        op.FetchPage(url, "the limit"), cline=("fetch_web_content", {"requests": [{"url": url, "prompt": "the limit"}]})
    )
    says(
        op.FetchPage(url),
        cline=("fetch_web_content", {"requests": [{"url": url, "prompt": "Give the whole page."}]}),
    )


def test_ask_the_user() -> None:
    says(
        op.AskUser((op.Question("Which?", (op.Option("a"), op.Option("b"))),)),
        cline=("ask_question", {"question": "Which?", "options": ["a", "b"]}),
    )


def test_spawn_an_agent() -> None:
    says(
        op.SpawnAgent("Count", system_prompt="You help."),
        cline=("spawn_agent", {"systemPrompt": "You help.", "task": "Count"}),
    )
    says(op.SpawnAgent("Count"), cline=("spawn_agent", {"systemPrompt": "", "task": "Count"}))


def test_give_a_teammate_a_task() -> None:
    says(
        op.SpawnAgent("Count", continues="anna", background=True),
        cline=("team_run_task", {"agentId": "anna", "task": "Count", "runMode": "async"}),
    )


def test_stop_an_agent() -> None:
    says(op.StopAgent("anna"), cline=("team_shutdown_teammate", {"agentId": "anna"}))


def test_list_agents() -> None:
    says(op.ListAgents(), cline=("team_status", {}))


def test_wait_for_agents() -> None:
    says(op.WaitForAgent(), cline=("team_await_runs", {}))
    says(op.WaitForAgent(("run-1",)), cline=("team_await_runs", {"runId": "run-1"}))


def test_message_an_agent() -> None:
    says(
        op.MessageAgent("anna", "Look again.", "the count"),
        cline=("team_send_message", {"toAgentId": "anna", "subject": "the count", "body": "Look again."}),
    )
    says(
        op.MessageAgent("anna", "Look again."),
        cline=("team_send_message", {"toAgentId": "anna", "subject": "(no subject)", "body": "Look again."}),
    )


def test_the_list_of_tasks() -> None:
    says(
        op.AddPlanItem(op.PlanItem("Fix", description="the total", owner="anna", blocked_by=("1",))),
        cline=(
            "team_task",
            {"action": "create", "title": "Fix", "description": "the total", "dependsOn": ["1"], "assignee": "anna"},
        ),
    )
    says(op.ReadPlan(), cline=("team_task", {"action": "list"}))
    says(op.ChangePlanItem("2", status="in_progress"), cline=("team_task", {"action": "claim", "taskId": "2"}))
    says(op.ChangePlanItem("2", status="completed"), cline=("team_task", {"action": "complete", "taskId": "2"}))
    says(op.ChangePlanItem("2", status="blocked"), cline=("team_task", {"action": "block", "taskId": "2"}))


def test_what_the_client_does_for_the_team() -> None:
    says(
        op.SteerClient("team_broadcast", {"subject": "a", "body": "b"}),
        cline=("team_broadcast", {"subject": "a", "body": "b"}),
    )


def test_a_tool_of_a_server() -> None:
    dialect = DIALECTS["cline"].knowing(servers=("toy",))
    operation = op.CallMcpTool("toy", "echo", {"text": "hi"})
    native = NativeCall("1", "toy__echo", {"text": "hi"})
    assert dialect.write_call("1", operation) == (native,)
    assert dialect.read_call(native).operations == (operation,)
