"""The everyday meanings, each in every vocabulary that says it: the picture of what a dialect is."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says


def test_read_a_file() -> None:
    says(
        op.ReadFile("a.py"),
        anthropic=("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}),
        claude_code=("Read", {"file_path": "a.py"}),
        gemini_cli=("read_file", {"file_path": "a.py"}),
        plain=("vfs_read", {"path": "a.py"}),
    )


def test_read_part_of_a_file() -> None:
    says(
        op.ReadFile("a.py", first_line=5, last_line=9),
        anthropic=("str_replace_based_edit_tool", {"command": "view", "path": "a.py", "view_range": [5, 9]}),
        claude_code=("Read", {"file_path": "a.py", "offset": 5, "limit": 5}),
        gemini_cli=("read_file", {"file_path": "a.py", "start_line": 5, "end_line": 9}),
        plain=("vfs_read", {"path": "a.py", "first_line": 5, "last_line": 9}),
    )


def test_write_a_file() -> None:
    says(
        op.WriteFile("a.py", "x = 1\n"),
        anthropic=("str_replace_based_edit_tool", {"command": "create", "path": "a.py", "file_text": "x = 1\n"}),
        claude_code=("Write", {"file_path": "a.py", "content": "x = 1\n"}),
        codex=("apply_patch", "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch"),
        gemini_cli=("write_file", {"file_path": "a.py", "content": "x = 1\n"}),
        plain=("vfs_write", {"path": "a.py", "content": "x = 1\n"}),
    )


def test_replace_a_piece_of_text() -> None:
    says(
        op.EditFile("a.py", (op.Edit("old", "new"),)),
        anthropic=(
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "a.py", "old_str": "old", "new_str": "new"},
        ),
        claude_code=("Edit", {"file_path": "a.py", "old_string": "old", "new_string": "new"}),
        gemini_cli=(
            "replace",
            {"file_path": "a.py", "instruction": "", "old_string": "old", "new_string": "new"},
        ),
        plain=("edit_file", {"path": "a.py", "edits": [{"old": "old", "new": "new"}]}),
    )


def test_replace_two_pieces_of_one_file() -> None:
    say = {"file_path": "a.py"}
    says(
        op.EditFile("a.py", (op.Edit("a", "b"), op.Edit("c", "d", everywhere=True))),
        claude_code=[
            ("Edit", {**say, "old_string": "a", "new_string": "b"}),
            ("Edit", {**say, "old_string": "c", "new_string": "d", "replace_all": True}),
        ],
        gemini_cli=[
            ("replace", {**say, "instruction": "", "old_string": "a", "new_string": "b"}),
            ("replace", {**say, "instruction": "", "old_string": "c", "new_string": "d", "allow_multiple": True}),
        ],
        plain=(
            "edit_file",
            {"path": "a.py", "edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "d", "everywhere": True}]},
        ),
    )


def test_replace_lines_after_an_anchor() -> None:
    edit = op.Edit("    old\n", "    new\n", whole_lines=True, anchors=("def f():",))
    says(
        op.EditFile("a.py", (edit,)),
        codex=("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    old\n+    new\n*** End Patch"),
    )


def test_run_a_command() -> None:
    says(
        op.RunCommand("ls -l", purpose="List files"),
        claude_code=("Bash", {"command": "ls -l", "description": "List files"}),
        gemini_cli=("run_shell_command", {"command": "ls -l", "description": "List files"}),
        plain=("run_command", {"command": "ls -l", "purpose": "List files"}),
    )
    says(op.RunCommand("ls -l"), codex=("exec_command", {"cmd": "ls -l"}))


def test_run_a_command_in_a_standing_shell() -> None:
    says(
        op.RunCommand("ls -l", job="bash"),
        anthropic=("bash", {"command": "ls -l"}),
        copilot=("bash", {"command": "ls -l", "description": "", "shellId": "bash"}),
        plain=("run_command", {"command": "ls -l", "job": "bash"}),
    )


def test_search_the_web() -> None:
    says(
        op.SearchWeb("tea"),
        anthropic=("web_search", {"query": "tea"}),
        claude_code=("WebSearch", {"query": "tea"}),
        gemini_cli=("google_web_search", {"query": "tea"}),
        plain=("web_search", {"query": "tea"}),
    )


def test_a_plan_is_said_differently_and_means_the_same() -> None:
    items = (op.PlanItem("read", "completed"), op.PlanItem("write", "in_progress"))
    says(
        op.UpdatePlan(items),
        gemini_cli=(
            "write_todos",
            {
                "todos": [
                    {"description": "read", "status": "completed"},
                    {"description": "write", "status": "in_progress"},
                ]
            },
        ),
        plain=(
            "update_plan",
            {"items": [{"text": "read", "status": "completed"}, {"text": "write", "status": "in_progress"}]},
        ),
    )
    reads(
        op.UpdatePlan(items),
        codex=(
            "update_plan",
            {"plan": [{"step": "read", "status": "completed"}, {"step": "write", "status": "in_progress"}]},
        ),
    )


def test_a_tool_of_a_server() -> None:
    says(
        op.CallMcpTool("toy", "add", {"a": 1}),
        claude_code=("mcp__toy__add", {"a": 1}),
        codex=("mcp__toy.add", {"a": 1}),
        gemini_cli=("mcp_toy_add", {"a": 1}),
        plain=("mcp__toy__add", {"a": 1}),
    )
