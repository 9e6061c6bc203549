"""What opencode's models say for each operation, and every older way of saying it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import Failure, NativeCall, operations as op
from tests.sayings import reads, says

DIALECT: Dialect = DIALECTS["opencode"]

# ── files ────────────────────────────────────────────────────────────────────


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), opencode=("read", {"filePath": "a.py"}))


def test_read_part_of_a_file() -> None:
    says(
        op.ReadFile("a.py", first_line=5, last_line=9),
        opencode=("read", {"filePath": "a.py", "offset": 5, "limit": 5}),
    )


def test_an_offset_was_counted_from_0_once() -> None:
    native = NativeCall("1", "read", {"filePath": "a.py", "offset": 4, "limit": 5})
    part = op.ReadFile("a.py", first_line=5, last_line=9)
    assert DIALECT.at("1.1.53").read_call(native).operations == (part,)
    assert DIALECT.at("1.1.53").write_call("1", part) == (native,)


def test_a_folder_is_read_by_the_slash_at_its_end() -> None:
    says(op.ListDirectory("src"), opencode=("read", {"filePath": "src/"}))
    says(op.ListDirectory("src", limit=9), opencode=("read", {"filePath": "src/", "limit": 9}))
    says(op.ListDirectory("/"), opencode=("read", {"filePath": "/"}))
    reads(op.ListDirectory("src", ("*.pyc",)), opencode=("list", {"path": "src", "ignore": ["*.pyc"]}))


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x = 1\n"), opencode=("write", {"content": "x = 1\n", "filePath": "a.py"}))


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x = 1", "x = 2"),)),
        opencode=("edit", {"filePath": "a.py", "oldString": "x = 1", "newString": "x = 2"}),
    )
    says(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True), op.Edit("a", "b"))),
        opencode=[
            ("edit", {"filePath": "a.py", "oldString": "x", "newString": "y", "replaceAll": True}),
            ("edit", {"filePath": "a.py", "oldString": "a", "newString": "b"}),
        ],
    )


def test_an_edit_of_nothing_writes_a_file() -> None:
    said = {"filePath": "a.py", "oldString": "", "newString": "x = 1\n"}
    reads(op.WriteFile("a.py", "x = 1\n"), opencode=("edit", said))


def test_several_edits_at_once_as_models_try_them() -> None:
    edits = [{"filePath": "a.py", "oldString": "x", "newString": "y", "replaceAll": True}]
    reads(
        op.EditFile("a.py", (op.Edit("x", "y", everywhere=True),)),
        opencode=("multiedit", {"filePath": "a.py", "edits": edits}),
    )


def test_gpt_models_patch_files() -> None:
    patching = DIALECT.at(family="gpt-5.5")
    operation = op.EditFile("a.py", (op.Edit("x = 1\n", "x = 2\n", whole_lines=True),))
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    assert patching.write_call("1", operation) == (NativeCall("1", "apply_patch", {"patchText": patch}),)
    reads(operation, opencode=("apply_patch", {"patchText": patch}))


def test_delete_and_move_files_with_a_patch() -> None:
    head, tail = "*** Begin Patch\n", "\n*** End Patch"
    says(op.DeleteFile("a.py"), opencode=("apply_patch", {"patchText": f"{head}*** Delete File: a.py{tail}"}))
    moved = f"{head}*** Update File: a.py\n*** Move to: b.py{tail}"
    says(op.MoveFile("a.py", "b.py"), opencode=("apply_patch", {"patchText": moved}))


# ── search ───────────────────────────────────────────────────────────────────


def test_find_files() -> None:
    says(op.FindFiles("**/*.py", "src"), opencode=("glob", {"pattern": "**/*.py", "path": "src"}))


def test_search_text() -> None:
    says(
        op.SearchText("total", "src", include="*.py"),
        opencode=("grep", {"pattern": "total", "path": "src", "include": "*.py"}),
    )


# ── commands ─────────────────────────────────────────────────────────────────


def test_run_a_command() -> None:
    says(
        op.RunCommand("ls -l", "src", 1500),
        opencode=("bash", {"command": "ls -l", "timeout": 1500, "workdir": "src"}),
    )


def test_commands_were_described_once() -> None:
    reads(op.RunCommand("ls", purpose="List"), opencode=("bash", {"command": "ls", "description": "List"}))


# ── web, plan, agents ────────────────────────────────────────────────────────


def test_fetch_a_page() -> None:
    says(
        op.FetchPage("https://example.com/", format="text", timeout_ms=1500),
        opencode=("webfetch", {"url": "https://example.com/", "format": "text", "timeout": 1.5}),
    )


def test_search_the_web_as_models_try_it() -> None:
    reads(op.SearchWeb("cats", limit=3), opencode=("websearch", {"query": "cats", "numResults": 3}))


def test_write_the_plan() -> None:
    says(
        op.UpdatePlan((op.PlanItem("Look", "completed", priority="high"), op.PlanItem("Fix", "in_progress"))),
        opencode=(
            "todowrite",
            {
                "todos": [
                    {"content": "Look", "status": "completed", "priority": "high"},
                    {"content": "Fix", "status": "in_progress", "priority": ""},
                ]
            },
        ),
    )


def test_items_of_the_plan_had_ids() -> None:
    reads(
        op.UpdatePlan((op.PlanItem("Look", "pending", "1", priority="low"),)),
        opencode=(
            "todowrite",
            {"todos": [{"content": "Look", "status": "pending", "priority": "low", "id": "1"}]},
        ),
    )


def test_read_the_plan_as_it_was_read_once() -> None:
    says(op.ReadPlan(), opencode=("todoread", {}))


def test_spawn_an_agent() -> None:
    says(
        op.SpawnAgent("Count", "explore", description="Look", continues="ses_1", command="/look"),
        opencode=(
            "task",
            {
                "description": "Look",
                "prompt": "Count",
                "subagent_type": "explore",
                "task_id": "ses_1",
                "command": "/look",
            },
        ),
    )
    said = {"description": "Look", "prompt": "Count", "subagent_type": "explore", "session_id": "ses_1"}
    reads(op.SpawnAgent("Count", "explore", description="Look", continues="ses_1"), opencode=("task", said))


def test_ask_the_user_as_it_was_asked_once() -> None:
    options = (op.Option("A", "the first"), op.Option("B", "the second"))
    says(
        op.AskUser((op.Question("Which?", options, "Pick", multiple=True),)),
        opencode=(
            "question",
            {
                "questions": [
                    {
                        "question": "Which?",
                        "header": "Pick",
                        "options": [
                            {"label": "A", "description": "the first"},
                            {"label": "B", "description": "the second"},
                        ],
                        "multiple": True,
                    }
                ]
            },
        ),
    )


# ── extensions ───────────────────────────────────────────────────────────────


def test_use_a_skill() -> None:
    says(op.UseSkill("drawing"), opencode=("skill", {"name": "drawing"}))


def test_resources() -> None:
    says(op.ListMcpResources("toy"), opencode=("list_mcp_resources", {"server": "toy"}))
    says(op.ListMcpResources(templates=True), opencode=("list_mcp_resource_templates", {}))
    says(
        op.ReadMcpResource("toy://note", "toy"),
        opencode=("read_mcp_resource", {"server": "toy", "uri": "toy://note"}),
    )


def test_tools_of_servers_that_are_known() -> None:
    knowing = DIALECT.knowing(servers=["toy"])
    operation = op.CallMcpTool("toy", "echo", {"text": "hi"})
    native = NativeCall("1", "toy_echo", {"text": "hi"})
    assert knowing.read_call(native).operations == (operation,)
    assert knowing.write_call("1", operation) == (native,)
    assert DIALECT.read_call(native).operations == (op.Unrecognised("toy_echo", {"text": "hi"}),)


def test_steer_the_client() -> None:
    says(op.SteerClient("plan_exit"), opencode=("plan_exit", {}))


@pytest.mark.parametrize(
    "error, kind",
    [
        ("Model tried to call unavailable tool 'list'. Available tools: bash.", "unknown_tool"),
        ("Invalid input for tool bash: JSON parsing failed: Text: {", "invalid_arguments"),
    ],
)
def test_a_call_the_client_could_not_read_is_a_failed_call(error: str, kind: Any) -> None:
    call = DIALECT.read_call(NativeCall("1", "invalid", {"tool": "list", "error": error}))
    assert call.operations == ()
    assert call.failure == Failure(kind, error, {"tool": "list"})
