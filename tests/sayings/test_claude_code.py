"""What Claude Code's models say for each operation, and every older way of saying it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says

# ── files ────────────────────────────────────────────────────────────────────


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), claude_code=("Read", {"file_path": "a.py"}))


def test_read_part_of_a_file() -> None:
    says(
        op.ReadFile("a.py", first_line=5, last_line=9),
        claude_code=("Read", {"file_path": "a.py", "offset": 5, "limit": 5}),
    )


def test_read_the_first_lines_of_a_file() -> None:
    says(op.ReadFile("a.py", last_line=3), claude_code=("Read", {"file_path": "a.py", "limit": 3}))


def test_read_pages_of_a_document() -> None:
    says(op.ReadFile("a.pdf", pages="1-3"), claude_code=("Read", {"file_path": "a.pdf", "pages": "1-3"}))


def test_a_file_is_read_from_its_start_by_offset_0_and_from_a_line_by_a_number() -> None:
    reads(op.ReadFile("a.py", first_line=1), claude_code=("Read", {"file_path": "a.py", "offset": 0}))
    reads(
        op.ReadFile("a.py", first_line=5, last_line=6),
        claude_code=("Read", {"file_path": "a.py", "offset": 5.0, "limit": 2.0}),
    )


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x = 1\n"), claude_code=("Write", {"file_path": "a.py", "content": "x = 1\n"}))


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x = 1", "x = 2"),)),
        claude_code=("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}),
    )


def test_edit_a_file_everywhere() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True),)),
        claude_code=("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": True}),
    )


def test_two_edits_of_a_file_are_two_calls() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x", "y"), op.Edit("1", "2"))),
        claude_code=[
            ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
            ("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}),
        ],
    )


def test_several_edits_were_one_call_once() -> None:
    edits = [{"old_string": "x", "new_string": "y", "replace_all": True}, {"old_string": "1", "new_string": "2"}]
    reads(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True), op.Edit("1", "2"))),
        claude_code=("MultiEdit", {"file_path": "a.py", "edits": edits}),
    )


def test_an_edit_of_nothing_creates_a_file() -> None:
    created = op.WriteFile("a.py", "x = 1\n", overwrite=False)
    reads(created, claude_code=("Edit", {"file_path": "a.py", "old_string": "", "new_string": "x = 1\n"}))
    edits = [{"old_string": "", "new_string": "x = 1\n"}, {"old_string": "1", "new_string": "2"}]
    reads(
        created,
        op.EditFile("a.py", (op.Edit("1", "2"),)),
        claude_code=("MultiEdit", {"file_path": "a.py", "edits": edits}),
    )


def test_change_a_cell_of_a_notebook() -> None:
    says(
        op.EditNotebook("a.ipynb", "1 + 1", "c1"),
        claude_code=("NotebookEdit", {"notebook_path": "a.ipynb", "cell_id": "c1", "new_source": "1 + 1"}),
    )


def test_insert_and_delete_a_cell_of_a_notebook() -> None:
    says(
        op.EditNotebook("a.ipynb", "# After", "c1", "markdown", "insert"),
        claude_code=(
            "NotebookEdit",
            {
                "notebook_path": "a.ipynb",
                "cell_id": "c1",
                "new_source": "# After",
                "cell_type": "markdown",
                "edit_mode": "insert",
            },
        ),
    )
    says(
        op.EditNotebook("a.ipynb", cell_id="c1", mode="delete"),
        claude_code=(
            "NotebookEdit",
            {"notebook_path": "a.ipynb", "cell_id": "c1", "new_source": "", "edit_mode": "delete"},
        ),
    )


def test_read_a_notebook_as_it_was_read_once() -> None:
    says(op.ReadNotebook("a.ipynb", "c1"), claude_code=("NotebookRead", {"notebook_path": "a.ipynb", "cell_id": "c1"}))


def test_list_a_folder_as_it_was_listed_once() -> None:
    says(op.ListDirectory("/src", ("*.pyc",)), claude_code=("LS", {"path": "/src", "ignore": ["*.pyc"]}))


# ── search ───────────────────────────────────────────────────────────────────


def test_find_files() -> None:
    says(op.FindFiles("**/*.py", "src"), claude_code=("Glob", {"pattern": "**/*.py", "path": "src"}))


def test_search_for_lines() -> None:
    says(op.SearchText("total"), claude_code=("Grep", {"pattern": "total", "output_mode": "content"}))


def test_files_are_searched_for_when_nothing_else_is_said() -> None:
    says(op.SearchText("total", mode="files"), claude_code=("Grep", {"pattern": "total"}))
    reads(
        op.SearchText("total", mode="files"),
        claude_code=("Grep", {"pattern": "total", "output_mode": "files_with_matches"}),
    )


def test_search_with_everything_that_can_be_said() -> None:
    says(
        op.SearchText(
            "total",
            "src",
            include="*.py",
            file_type="py",
            case_sensitive=False,
            multiline=True,
            only_matching=True,
            before=1,
            after=2,
            line_numbers=True,
            limit=10,
            offset=5,
        ),
        claude_code=(
            "Grep",
            {
                "pattern": "total",
                "path": "src",
                "glob": "*.py",
                "output_mode": "content",
                "-B": 1,
                "-A": 2,
                "-n": True,
                "-i": True,
                "-o": True,
                "type": "py",
                "head_limit": 10,
                "offset": 5,
                "multiline": True,
            },
        ),
    )


def test_lines_around_a_match_are_said_in_one() -> None:
    says(
        op.SearchText("total", before=2, after=2),
        claude_code=("Grep", {"pattern": "total", "output_mode": "content", "-C": 2}),
    )
    reads(
        op.SearchText("total", before=1, after=2),
        claude_code=("Grep", {"pattern": "total", "output_mode": "content", "context": 2, "-B": 1}),
    )


def test_files_to_search_were_chosen_under_another_name() -> None:
    reads(
        op.SearchText("total", include="*.css", mode="files"),
        claude_code=("Grep", {"pattern": "total", "include": "*.css"}),
    )


# ── commands ─────────────────────────────────────────────────────────────────


def test_run_a_command() -> None:
    says(
        op.RunCommand("ls -l", timeout_ms=5000, purpose="List files"),
        claude_code=("Bash", {"command": "ls -l", "timeout": 5000, "description": "List files"}),
    )


def test_run_a_command_in_the_background_or_outside_the_sandbox() -> None:
    says(
        op.RunCommand("make", background=True),
        claude_code=("Bash", {"command": "make", "run_in_background": True}),
    )
    says(
        op.RunCommand("make", unsandboxed=True),
        claude_code=("Bash", {"command": "make", "dangerouslyDisableSandbox": True}),
    )


def test_run_a_command_on_windows() -> None:
    reads(op.RunCommand("ls", shell="powershell"), claude_code=("PowerShell", {"command": "ls"}))


def test_read_the_output_of_a_job_as_it_was_read_once() -> None:
    says(op.ReadOutput("b1"), claude_code=("TaskOutput", {"task_id": "b1"}))
    says(
        op.ReadOutput("b1", wait_ms=1000, block=False),
        claude_code=("TaskOutput", {"task_id": "b1", "block": False, "timeout": 1000}),
    )
    says(op.ReadOutput("b1", pattern="x"), claude_code=("BashOutput", {"bash_id": "b1", "filter": "x"}))


def test_the_output_of_a_job_is_read_under_both_names() -> None:
    reads(
        op.ReadOutput("b1", wait_ms=1000, block=True),
        claude_code=("BashOutput", {"task_id": "b1", "block": True, "timeout": 1000}),
    )
    reads(op.ReadOutput("b1"), claude_code=("BashOutput", {"bash_id": "b1"}))


def test_stop_a_job() -> None:
    says(op.StopCommand("b1"), claude_code=("TaskStop", {"task_id": "b1"}))


@pytest.mark.parametrize("name", ["TaskStop", "KillShell", "KillBash"])
def test_a_job_is_stopped_under_its_older_names(name: str) -> None:
    reads(op.StopCommand("b1"), claude_code=(name, {"shell_id": "b1"}))


def test_watch_a_command() -> None:
    says(
        op.WatchCommand("tail -f log", purpose="the log", timeout_ms=1000),
        claude_code=("Monitor", {"description": "the log", "timeout_ms": 1000, "command": "tail -f log"}),
    )


def test_watch_a_socket() -> None:
    says(
        op.WatchCommand(url="wss://example.com", purpose="events", timeout_ms=1000),
        claude_code=("Monitor", {"description": "events", "timeout_ms": 1000, "ws": {"url": "wss://example.com"}}),
    )


def test_run_a_script() -> None:
    says(op.RunCode("return 1", "javascript"), claude_code=("Workflow", {"script": "return 1"}))


def test_a_script_kept_by_the_client_steers_it() -> None:
    says(op.SteerClient("Workflow", {"name": "review"}), claude_code=("Workflow", {"name": "review"}))


# ── web ──────────────────────────────────────────────────────────────────────


def test_fetch_a_page() -> None:
    says(
        op.FetchPage("https://example.com", "What is it?", offset=100),
        claude_code=("WebFetch", {"url": "https://example.com", "prompt": "What is it?", "offset": 100}),
    )


def test_fetch_a_page_without_a_word_about_it() -> None:
    says(op.FetchPage("https://example.com"), claude_code=("WebFetch", {"url": "https://example.com", "prompt": ""}))


def test_search_the_web() -> None:
    says(
        op.SearchWeb("counting", ("example.com",)),
        claude_code=("WebSearch", {"query": "counting", "allowed_domains": ["example.com"]}),
    )
    reads(op.SearchWeb("counting"), claude_code=("web_search", {"query": "counting"}))


# ── plans ────────────────────────────────────────────────────────────────────


def test_write_the_whole_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("Look", "completed", doing="Looking"), op.PlanItem("Act"))),
        claude_code=(
            "TodoWrite",
            {
                "todos": [
                    {"content": "Look", "status": "completed", "activeForm": "Looking"},
                    {"content": "Act", "status": "pending", "activeForm": "Act"},
                ]
            },
        ),
    )


def test_the_whole_plan_in_its_older_shapes_and_in_all_at_once() -> None:
    reads(
        op.UpdatePlan((op.PlanItem("Look", "completed"),)),
        claude_code=("TodoWrite", {"todos": [{"content": "Look", "status": "completed"}]}),
    )
    reads(
        op.UpdatePlan((op.PlanItem("Look", "completed", "1", priority="high"),)),
        claude_code=(
            "TodoWrite",
            {"todos": [{"content": "Look", "status": "completed", "priority": "high", "id": "1"}]},
        ),
    )
    everything = {"content": "Look", "status": "completed", "activeForm": "Looking", "priority": "high", "id": "1"}
    reads(
        op.UpdatePlan((op.PlanItem("Look", "completed", "1", doing="Looking", priority="high"),)),
        claude_code=("TodoWrite", {"todos": [everything]}),
    )


def test_what_was_cancelled_leaves_the_plan_and_what_is_blocked_waits() -> None:
    plan = op.UpdatePlan((op.PlanItem("a", "cancelled"), op.PlanItem("b", "blocked")))
    written = DIALECTS["claude_code"].write_call("1", plan)
    todos = [{"content": "b", "status": "pending", "activeForm": "b"}]
    assert written == (NativeCall("1", "TodoWrite", {"todos": todos}),)
    assert [loss.field for loss in DIALECTS["claude_code"].loss(plan)] == ["items"]


def test_add_to_the_plan() -> None:
    says(
        op.AddPlanItem(op.PlanItem("Look", description="Look around", doing="Looking", metadata={"a": 1})),
        claude_code=(
            "TaskCreate",
            {"subject": "Look", "description": "Look around", "activeForm": "Looking", "metadata": {"a": 1}},
        ),
    )


def test_change_the_plan() -> None:
    says(
        op.ChangePlanItem("2", status="completed", owner="bob", add_blocked_by=("1",)),
        claude_code=("TaskUpdate", {"taskId": "2", "status": "completed", "addBlockedBy": ["1"], "owner": "bob"}),
    )
    says(op.ChangePlanItem("2", deleted=True), claude_code=("TaskUpdate", {"taskId": "2", "status": "deleted"}))


def test_read_the_plan_or_one_item_of_it() -> None:
    says(op.ReadPlan(), claude_code=("TaskList", {}))
    says(op.ReadPlan("2"), claude_code=("TaskGet", {"taskId": "2"}))


# ── agents ───────────────────────────────────────────────────────────────────


def test_start_an_agent() -> None:
    says(
        op.SpawnAgent(
            "Count them",
            agent="Explore",
            description="Count",
            model="haiku",
            effort="low",
            background=True,
            isolation="worktree",
        ),
        claude_code=(
            "Agent",
            {
                "description": "Count",
                "prompt": "Count them",
                "subagent_type": "Explore",
                "model": "haiku",
                "effort": "low",
                "run_in_background": True,
                "isolation": "worktree",
            },
        ),
    )


def test_an_agent_was_a_task() -> None:
    count = {"description": "Count", "prompt": "Count them"}
    reads(op.SpawnAgent("Count them", description="Count"), claude_code=("Task", count))
    reads(
        op.SpawnAgent("Count them", "Explore", "alice", "Count", max_turns=3, continues="a1"),
        claude_code=("Task", {**count, "subagent_type": "Explore", "name": "alice", "max_turns": 3, "resume": "a1"}),
    )


def test_a_model_of_another_house_is_not_said() -> None:
    spawn = op.SpawnAgent("Count them", model="gpt-5.5")
    written = DIALECTS["claude_code"].write_call("1", spawn)
    assert written == (NativeCall("1", "Agent", {"description": "", "prompt": "Count them"}),)
    assert [loss.field for loss in DIALECTS["claude_code"].loss(spawn)] == ["model"]


def test_send_a_message_to_an_agent() -> None:
    says(
        op.MessageAgent("a1", "Go on", "More", notify_when_idle=True),
        claude_code=("SendMessage", {"to": "a1", "summary": "More", "message": "Go on", "notify_when_idle": True}),
    )


def test_what_the_client_adds_to_a_message_is_kept_apart() -> None:
    added: dict[str, Any] = {"type": "message", "recipient": "a1", "recipient_kind": "agent", "content": "Go on"}
    call = DIALECTS["claude_code"].read_call(NativeCall("1", "SendMessage", {"to": "a1", "message": "Go on", **added}))
    assert (call.operations, call.unmapped) == ((op.MessageAgent("a1", "Go on"),), added)


def test_a_message_to_a_team() -> None:
    reads(
        op.MessageAgent("alice", "Thanks"),
        claude_code=("SendMessage", {"type": "message", "recipient": "alice", "content": "Thanks"}),
    )


def test_list_agents() -> None:
    says(op.ListAgents("in", "all"), claude_code=("ListAgents", {"channel": "all", "q": "in"}))


# ── people and extensions ────────────────────────────────────────────────────


def test_ask_the_user() -> None:
    options = (op.Option("North", "up"), op.Option("South", preview="v"))
    says(
        op.AskUser((op.Question("Which?", options, "Pick", multiple=True),)),
        claude_code=(
            "AskUserQuestion",
            {
                "questions": [
                    {
                        "question": "Which?",
                        "header": "Pick",
                        "options": [
                            {"label": "North", "description": "up"},
                            {"label": "South", "description": "", "preview": "v"},
                        ],
                        "multiSelect": True,
                    }
                ]
            },
        ),
    )


def test_an_answer_was_shown_as_markdown() -> None:
    shown = [{"label": "A", "description": "a", "markdown": "m"}, {"label": "B", "description": "b"}]
    asked = {"question": "Which?", "header": "Pick", "options": shown, "multiSelect": False}
    reads(
        op.AskUser((op.Question("Which?", (op.Option("A", "a", "m"), op.Option("B", "b")), "Pick"),)),
        claude_code=("AskUserQuestion", {"questions": [asked], "answers": {"Which?": "A"}}),
    )


def test_an_open_question_cannot_be_asked() -> None:
    with pytest.raises(Unspeakable):
        DIALECTS["claude_code"].write_call("1", op.AskUser((op.Question("Why?"),)))


def test_use_a_skill() -> None:
    says(op.UseSkill("review", "all"), claude_code=("Skill", {"skill": "review", "args": "all"}))


def test_search_for_tools() -> None:
    says(op.SearchTools("plans", 3), claude_code=("ToolSearch", {"query": "plans", "max_results": 3}))


def test_resources_of_servers() -> None:
    says(op.ListMcpResources("toy"), claude_code=("ListMcpResourcesTool", {"server": "toy"}))
    says(
        op.ListMcpResources("toy", "toy://"),
        claude_code=("ReadMcpResourceDirTool", {"server": "toy", "uri": "toy://"}),
    )
    says(
        op.ReadMcpResource("toy://note", "toy"),
        claude_code=("ReadMcpResourceTool", {"server": "toy", "uri": "toy://note"}),
    )


def test_call_a_tool_of_a_server() -> None:
    says(op.CallMcpTool("toy", "echo", {"text": "hi"}), claude_code=("mcp__toy__echo", {"text": "hi"}))
    reads(
        op.CallMcpTool("plugin_a_docs", "query-docs", {}),
        claude_code=("mcp__plugin_a_docs__query-docs", {}),
    )


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("EnterPlanMode", {}),
        ("ExitPlanMode", {"plan": "1. go"}),
        ("EnterWorktree", {"name": "one"}),
        ("ExitWorktree", {"action": "keep"}),
        ("CronCreate", {"cron": "* * * * *", "prompt": "check"}),
        ("CronDelete", {"id": "1"}),
        ("CronList", {}),
        ("ScheduleWakeup", {"delaySeconds": 60}),
        ("ReportFindings", {"findings": []}),
        ("LSP", {"operation": "hover", "filePath": "a.py", "line": 1, "character": 1}),
        ("DeferredToolPlaceholder", {}),
        ("TeamCreate", {"team_name": "one"}),
        ("TeamDelete", {}),
    ],
)
def test_what_steers_the_client(name: str, arguments: dict[str, Any]) -> None:
    says(op.SteerClient(name, arguments), claude_code=(name, arguments))
