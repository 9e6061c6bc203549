"""What Qwen Code's models say for each operation, and every older way of saying it."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says

DIALECT: Dialect = DIALECTS["qwen_code"]

# ── files ────────────────────────────────────────────────────────────────────


def test_read_a_file() -> None:
    says(op.ReadFile("/a.py"), qwen_code=("read_file", {"file_path": "/a.py"}))
    says(op.ReadFile("/a.pdf", pages="1-5"), qwen_code=("read_file", {"file_path": "/a.pdf", "pages": "1-5"}))


def test_part_of_a_file_is_read_by_an_offset_from_0() -> None:
    part = op.ReadFile("/a.py", first_line=5, last_line=9)
    says(part, qwen_code=("read_file", {"file_path": "/a.py", "offset": 4, "limit": 5}))
    reads(part, qwen_code=("read_file", {"file_path": "/a.py", "offset": 4.0, "limit": 5.0}))
    reads(part, qwen_code=("read_file", {"absolute_path": "/a.py", "offset": 4, "limit": 5}))
    reads(op.ReadFile("/a.py"), qwen_code=("read_file", {"file_path": "/a.py", "offset": None, "limit": None}))


def test_read_many_files_as_they_were_read_once() -> None:
    says(
        op.ReadFiles(("**/*.py",), ("build/**",), respect_ignore=False),
        qwen_code=(
            "read_many_files",
            {
                "paths": ["**/*.py"],
                "exclude": ["build/**"],
                "file_filtering_options": {"respect_git_ignore": False},
            },
        ),
    )
    reads(op.ReadFiles(("a.py", "b.py")), qwen_code=("read_many_files", {"paths": ["a.py"], "include": ["b.py"]}))


def test_list_a_folder_as_it_was_listed_once() -> None:
    says(
        op.ListDirectory("/src", ("*.pyc",), respect_ignore=False),
        qwen_code=(
            "list_directory",
            {"path": "/src", "ignore": ["*.pyc"], "file_filtering_options": {"respect_git_ignore": False}},
        ),
    )


def test_look_at_a_part_of_an_image() -> None:
    says(
        op.ViewImage("/a.png", region=(10, 20, 300, 400)),
        qwen_code=("zoom_image", {"file_path": "/a.png", "x1": 10, "y1": 20, "x2": 300, "y2": 400}),
    )
    says(
        op.ViewImage("/a.png"),
        qwen_code=("zoom_image", {"file_path": "/a.png", "x1": 0, "y1": 0, "x2": 1000, "y2": 1000}),
    )
    with pytest.raises(Unspeakable):
        DIALECT.write_call("1", op.ViewImage("/a.png", region=(0, 0, 2000, 10)))


def test_write_a_file() -> None:
    says(op.WriteFile("/a.py", "x = 1\n"), qwen_code=("write_file", {"file_path": "/a.py", "content": "x = 1\n"}))


def test_edit_a_file() -> None:
    said = {"file_path": "/a.py", "old_string": "x", "new_string": "y"}
    says(op.EditFile("/a.py", (op.Edit("x", "y"),)), qwen_code=("edit", said))
    says(
        op.EditFile("/a.py", (op.Edit("x", "y", everywhere=True),)),
        qwen_code=("edit", {**said, "replace_all": True}),
    )
    reads(
        op.EditFile("/a.py", (op.Edit("x", "y", everywhere=True, expected=3),)),
        qwen_code=("edit", {**said, "expected_replacements": 3}),
    )


def test_an_edit_of_nothing_creates_a_file() -> None:
    new = {"file_path": "/a.py", "old_string": "", "new_string": "x = 1\n"}
    reads(op.WriteFile("/a.py", "x = 1\n", overwrite=False), qwen_code=("edit", new))


def test_edit_a_notebook() -> None:
    says(
        op.EditNotebook("/a.ipynb", "1 + 1", "c1", "code", "insert"),
        qwen_code=(
            "notebook_edit",
            {
                "notebook_path": "/a.ipynb",
                "cell_id": "c1",
                "new_source": "1 + 1",
                "cell_type": "code",
                "edit_mode": "insert",
            },
        ),
    )


# ── search ───────────────────────────────────────────────────────────────────


def test_find_files() -> None:
    says(op.FindFiles("**/*.py", "/src"), qwen_code=("glob", {"pattern": "**/*.py", "path": "/src"}))
    reads(
        op.FindFiles("*.py", case_sensitive=True, respect_ignore=False),
        qwen_code=("glob", {"pattern": "*.py", "case_sensitive": True, "respect_git_ignore": False}),
    )


def test_search_text() -> None:
    says(
        op.SearchText("total", "/src", include="*.py", limit=9),
        qwen_code=("grep_search", {"pattern": "total", "glob": "*.py", "path": "/src", "limit": 9}),
    )
    reads(op.SearchText("total", limit=9), qwen_code=("grep_search", {"pattern": "total", "limit": 9.0}))


def test_look_for_tools() -> None:
    says(
        op.SearchTools("select:cron_create", 3),
        qwen_code=("tool_search", {"query": "select:cron_create", "max_results": 3}),
    )


# ── commands ─────────────────────────────────────────────────────────────────


def test_run_a_command() -> None:
    says(
        op.RunCommand("ls -l", "/src", 1500, "List", background=True),
        qwen_code=(
            "run_shell_command",
            {
                "command": "ls -l",
                "is_background": True,
                "timeout": 1500,
                "description": "List",
                "directory": "/src",
            },
        ),
    )
    reads(op.RunCommand("ls"), qwen_code=("run_shell_command", {"command": "ls", "is_background": False}))


def test_watch_a_command() -> None:
    says(
        op.WatchCommand("tail -f log", purpose="Errors", cwd="/src", idle_timeout_ms=1000, limit=2),
        qwen_code=(
            "monitor",
            {
                "command": "tail -f log",
                "description": "Errors",
                "max_events": 2,
                "idle_timeout_ms": 1000,
                "directory": "/src",
            },
        ),
    )
    reads(op.WatchCommand("tail", limit=2), qwen_code=("monitor", {"command": "tail", "max_events": 2.0}))


def test_stop_a_command() -> None:
    says(op.StopCommand("bg_1"), qwen_code=("task_stop", {"task_id": "bg_1"}))


# ── web, plan, agents ────────────────────────────────────────────────────────


def test_fetch_a_page() -> None:
    said = {"url": "https://example.com/", "prompt": "Sum it up"}
    says(op.FetchPage("https://example.com/", "Sum it up", "text"), qwen_code=("web_fetch", {**said, "format": "text"}))
    reads(op.FetchPage("https://example.com/", "Sum it up"), qwen_code=("web_fetch", {**said, "format": "auto"}))
    says(op.FetchPage("https://example.com/", "Sum it up"), qwen_code=("web_fetch", said))


def test_search_the_web_where_it_is_set_up() -> None:
    reads(op.SearchWeb("cats"), qwen_code=("web_search", {"query": "cats"}))


def test_write_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("Look", "completed", "1"), op.PlanItem("Fix", "in_progress"))),
        qwen_code=(
            "todo_write",
            {
                "todos": [
                    {"id": "1", "content": "Look", "status": "completed"},
                    {"id": "", "content": "Fix", "status": "in_progress"},
                ]
            },
        ),
    )


def test_spawn_an_agent() -> None:
    says(
        op.SpawnAgent(
            "Count",
            "Explore",
            description="Look",
            background=False,
            isolation="worktree",
            cwd="/src",
            history="3",
            tools=("read_file",),
        ),
        qwen_code=(
            "agent",
            {
                "description": "Look",
                "prompt": "Count",
                "subagent_type": "Explore",
                "fork_turns": "3",
                "fork_tools": ["read_file"],
                "run_in_background": False,
                "isolation": "worktree",
                "working_dir": "/src",
            },
        ),
    )
    said = {"description": "Look", "prompt": "Count", "subagent_type": "general-purpose"}
    reads(op.SpawnAgent("Count", "general-purpose", description="Look"), qwen_code=("task", said))


def test_send_a_message_to_an_agent() -> None:
    says(
        op.MessageAgent("Explore-1", "Go on", "on"),
        qwen_code=("send_message", {"task_id": "Explore-1", "message": "Go on", "summary": "on"}),
    )
    reads(op.MessageAgent("ann", "Go on"), qwen_code=("send_message", {"to": "ann", "message": "Go on"}))


def test_list_agents() -> None:
    says(op.ListAgents(), qwen_code=("list_agents", {}))


# ── people, memory, extensions ───────────────────────────────────────────────


def test_ask_the_user_as_it_was_asked_once() -> None:
    says(
        op.AskUser((op.Question("Which?", (op.Option("A", "the first"),), "Pick", multiple=True),)),
        qwen_code=(
            "ask_user_question",
            {
                "questions": [
                    {
                        "question": "Which?",
                        "header": "Pick",
                        "options": [{"label": "A", "description": "the first"}],
                        "multiSelect": True,
                    }
                ]
            },
        ),
    )


def test_save_a_memory_as_it_was_saved_once() -> None:
    says(op.SaveMemory("likes tea"), qwen_code=("save_memory", {"fact": "likes tea"}))


def test_use_a_skill() -> None:
    says(op.UseSkill("drawing", "a cat"), qwen_code=("skill", {"skill": "drawing", "args": "a cat"}))


def test_read_a_resource() -> None:
    says(
        op.ReadMcpResource("toy://note", "toy"),
        qwen_code=("read_mcp_resource", {"server_name": "toy", "uri": "toy://note"}),
    )


def test_tools_of_servers() -> None:
    says(op.CallMcpTool("toy", "echo", {"text": "hi"}), qwen_code=("mcp__toy__echo", {"text": "hi"}))


def test_steer_the_client() -> None:
    says(op.SteerClient("update_goal", {"status": "complete"}), qwen_code=("update_goal", {"status": "complete"}))
    says(op.SteerClient("cron_list"), qwen_code=("cron_list", {}))


# ── calls that carry others ──────────────────────────────────────────────────


def test_a_call_that_carries_another_means_the_other() -> None:
    carried = {"url": "https://example.com/", "prompt": "Sum it up"}
    reads(
        op.FetchPage("https://example.com/", "Sum it up"),
        qwen_code=("tool_call", {"name": "web_fetch", "arguments": carried}),
    )
    reads(
        op.CallMcpTool("toy", "echo", {"text": "hi"}),
        qwen_code=("tool_call", {"name": "mcp__toy__echo", "arguments": {"text": "hi"}}),
    )
    reads(op.SteerClient("cron_list"), qwen_code=("tool_call", {"name": "cron_list", "arguments": {}}))


def test_what_stands_beside_the_carried_call_is_kept() -> None:
    native = NativeCall("1", "tool_call", {"name": "cron_list", "arguments": {}, "why": "to see"})
    call = DIALECT.read_call(native)
    assert call.native is native
    assert call.unmapped == {"why": "to see"}


def test_a_carried_call_that_cannot_be_read_failed() -> None:
    unreadable = DIALECT.read_call(NativeCall("1", "tool_call", {"name": "zoom_image", "arguments": {"path": "a"}}))
    empty = DIALECT.read_call(NativeCall("1", "tool_call", {"name": "zoom_image"}))
    assert unreadable.failure is not None
    assert empty.failure is not None
    assert empty.failure.kind == unreadable.failure.kind == "invalid_arguments"
    unknown = DIALECT.read_call(NativeCall("1", "tool_call", {"name": "no_such", "arguments": {"x": 1}}))
    assert unknown.operations == (op.Unrecognised("no_such", {"x": 1}),)
