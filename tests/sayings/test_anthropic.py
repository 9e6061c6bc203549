"""What the tools say that Anthropic's API defines."""

from __future__ import annotations

from dragoman.dialects import DIALECTS
from dragoman.model import ExecutedBy, NativeCall, operations as op
from tests.sayings import reads, says

EDITOR = "str_replace_based_edit_tool"


def test_run_a_command() -> None:
    says(op.RunCommand("ls -l", job="bash"), anthropic=("bash", {"command": "ls -l"}))
    reads(op.RunCommand("ls -l"), anthropic=("bash_code_execution", {"command": "ls -l"}))
    hosted = {"command": "ls -l", "timeout_ms": 500}
    reads(op.RunCommand("ls -l", timeout_ms=500, job="bash"), anthropic=("bash", hosted))


def test_a_command_of_anybodys_runs_in_the_one_shell() -> None:
    for operation in (op.RunCommand("ls -l"), op.RunCommand("ls -l", job="7")):
        assert DIALECTS["anthropic"].write_call("1", operation) == (NativeCall("1", "bash", {"command": "ls -l"}),)
        assert [loss.field for loss in DIALECTS["anthropic"].loss(operation)] == ["job"]


def test_restart_the_shell() -> None:
    says(op.StopCommand("bash"), anthropic=("bash", {"restart": True}))
    both = ("bash", {"command": "ls", "restart": True})
    reads(op.StopCommand("bash"), op.RunCommand("ls", job="bash"), anthropic=both)
    reads(op.RunCommand("ls", job="bash"), anthropic=("bash", {"command": "ls", "restart": False}))


def test_undo_an_edit() -> None:
    says(op.UndoEdit("a.py"), anthropic=("str_replace_editor", {"command": "undo_edit", "path": "a.py"}))


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), anthropic=(EDITOR, {"command": "view", "path": "a.py"}))
    says(op.ReadFile("a.py", 5, 9), anthropic=(EDITOR, {"command": "view", "path": "a.py", "view_range": [5, 9]}))
    says(op.ReadFile("a.py", 5), anthropic=(EDITOR, {"command": "view", "path": "a.py", "view_range": [5, -1]}))
    reads(op.ReadFile("a.py", 5), anthropic=("read", {"file_path": "a.py", "view_range": [5, -1]}))


def test_list_a_folder() -> None:
    says(op.ListDirectory("src", depth=2), anthropic=(EDITOR, {"command": "view", "path": "src/"}))


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x"), anthropic=(EDITOR, {"command": "create", "path": "a.py", "file_text": "x"}))
    reads(op.WriteFile("a.py", "x"), anthropic=("write", {"file_path": "a.py", "content": "x"}))


def test_edit_a_file() -> None:
    replace = {"command": "str_replace", "path": "a.py"}
    says(
        op.EditFile("a.py", (op.Edit("one", "two"), op.Edit("three", "four"))),
        anthropic=[
            (EDITOR, {**replace, "old_str": "one", "new_str": "two"}),
            (EDITOR, {**replace, "old_str": "three", "new_str": "four"}),
        ],
    )
    reads(op.EditFile("a.py", (op.Edit("one", ""),)), anthropic=(EDITOR, {**replace, "old_str": "one"}))
    everywhere = {"file_path": "a.py", "old_string": "one", "new_string": "two", "replace_all": True}
    reads(op.EditFile("a.py", (op.Edit("one", "two", everywhere=True),)), anthropic=("edit", everywhere))


def test_insert_a_text() -> None:
    inserted = {"command": "insert", "path": "a.py", "insert_line": 3}
    says(op.InsertText("a.py", 3, "x"), anthropic=(EDITOR, {**inserted, "insert_text": "x"}))
    reads(op.InsertText("a.py", 3, "x"), anthropic=(EDITOR, {**inserted, "new_str": "x"}))
    reads(op.InsertText("a.py", 3, "x"), anthropic=("str_replace_editor", {**inserted, "new_str": "x"}))


def test_the_older_editor_is_spoken_to_the_older_models() -> None:
    older = DIALECTS["anthropic"].at(family="claude-3-7-sonnet-20250219")
    inserted = {"command": "insert", "path": "a.py", "insert_line": 3, "new_str": "x"}
    assert older.write_call("1", op.InsertText("a.py", 3, "x")) == (NativeCall("1", "str_replace_editor", inserted),)


def test_what_is_kept_in_the_memory_is_a_file_below_its_folder() -> None:
    note = "memories/tea.md"
    says(op.DeleteFile(note), anthropic=("memory", {"command": "delete", "path": f"/{note}"}))
    says(
        op.MoveFile(note, "memories/old/tea.md"),
        anthropic=("memory", {"command": "rename", "old_path": f"/{note}", "new_path": "/memories/old/tea.md"}),
    )
    says(
        op.WriteFile(note, "green", overwrite=False),
        anthropic=("memory", {"command": "create", "path": f"/{note}", "file_text": "green"}),
    )
    viewed = {"command": "view", "path": "/memories"}
    reads(op.ListDirectory("memories", depth=2), anthropic=("memory", viewed))
    reads(op.ReadFile(note, 1, 2), anthropic=("memory", {**viewed, "path": f"/{note}", "view_range": [1, 2]}))
    inserted = {"command": "insert", "path": f"/{note}", "insert_line": 0, "insert_text": "x"}
    reads(op.InsertText(note, 0, "x"), anthropic=("memory", inserted))
    replaced = {"command": "str_replace", "path": f"/{note}", "old_str": "a", "new_str": "b"}
    reads(op.EditFile(note, (op.Edit("a", "b"),)), anthropic=("memory", replaced))


def test_search_the_web_and_fetch_a_page() -> None:
    says(op.SearchWeb("tea"), anthropic=("web_search", {"query": "tea"}))
    says(op.FetchPage("https://a.example"), anthropic=("web_fetch", {"url": "https://a.example"}))


def test_run_a_program() -> None:
    says(op.RunCode("print(1)", "python"), anthropic=("code_execution", {"code": "print(1)"}))


def test_search_tools() -> None:
    says(op.SearchTools("weather", 3), anthropic=("tool_search_tool_bm25", {"query": "weather", "limit": 3}))
    reads(op.SearchTools("get_.*"), anthropic=("tool_search_tool_regex", {"pattern": "get_.*"}))


def test_use_a_computer() -> None:
    says(op.UseComputer("screenshot"), anthropic=("computer", {"action": "screenshot"}))
    says(
        op.UseComputer("left_click", {"coordinate": [3, 4]}),
        anthropic=("computer", {"action": "left_click", "coordinate": [3, 4]}),
    )
    says(
        op.UseComputer("navigate", {"url": "https://a.example"}),
        anthropic=("browser.navigate", {"url": "https://a.example"}),
    )
    says(op.UseComputer("type", {"text": "x", "tab_id": "7"}), anthropic=("browser.type", {"text": "x", "tab_id": "7"}))
    reads(op.UseComputer("zoom", {"region": [0, 0, 9, 9]}), anthropic=("computer.zoom", {"region": [0, 0, 9, 9]}))
    dragged = {"from": {"type": "coordinate", "x": 1, "y": 1}, "target": {"type": "coordinate", "x": 2, "y": 2}}
    says(op.UseComputer("left_click_drag", dragged), anthropic=("browser.left_click_drag", dragged))


def test_find_and_search_as_hosted_agents_do() -> None:
    reads(op.FindFiles("*.py", "src"), anthropic=("glob", {"pattern": "*.py", "path": "src"}))
    reads(op.SearchText("total"), anthropic=("grep", {"pattern": "total"}))


def test_steer_the_client() -> None:
    says(op.SteerClient("advisor"), anthropic=("advisor", {}))


def test_call_a_servers_tool_by_its_bare_name() -> None:
    called = op.CallMcpTool("deepwiki", "bash", {"command": "ask"})
    item = {"type": "mcp_tool_use", "server_name": "deepwiki"}
    native = NativeCall("1", "bash", {"command": "ask"}, None, ExecutedBy.PROVIDER, item)
    for name in ("anthropic", "claude_code"):
        assert DIALECTS[name].read_call(native).operations == (called,)
    assert DIALECTS["anthropic"].write_call("1", called) == (native,)
