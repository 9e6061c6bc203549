"""The tools Anthropic's API defines: what it runs is read from its blocks, what we run is done on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman import ProviderTool, Toolset
from dragoman.dialects import DIALECTS, Dialect, provider_tool
from dragoman.engine import Facade
from dragoman.model import (
    Call,
    ExecutedBy,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    operations as op,
    outcomes as out,
)
from dragoman.registry import TOOLS
from dragoman.tools import Context, DiskWorkspace, perform, standard_context

DIALECT: Dialect = DIALECTS["anthropic"]
PROVIDER = ExecutedBy.PROVIDER
EDITOR = "str_replace_based_edit_tool"


# ── what the provider runs ───────────────────────────────────────────────────


def hosted(name: str, arguments: dict[str, Any], content: Any, **more: Any) -> out.Outcome:
    """What a block of a result says, in the vocabulary of the API and in that of the client beside it."""
    native = NativeCall("1", name, arguments, executed_by=PROVIDER)
    item = {"type": f"{name}_tool_result", "tool_use_id": "1", "content": content, **more}
    result = NativeResult("1", "", None, executed_by=PROVIDER, item=item)
    read = [one.read_result(one.read_call(native), result).outcomes for one in (DIALECT, DIALECTS["claude_code"])]
    assert read[0] == read[1]
    (outcome,) = read[0]
    return outcome


def test_a_search_gives_pages() -> None:
    hit = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "x"}
    found = hosted("web_search", {"query": "tea"}, [{**hit, "page_age": "3 days"}, {**hit, "page_age": None}])
    page = out.Page("https://a.example", "A")
    assert found == out.PagesOutcome((out.Page("https://a.example", "A", age="3 days"), page), query="tea")
    assert hosted("web_search", {"query": "tea"}, []) == out.PagesOutcome((), query="tea")


@pytest.mark.parametrize(
    "code, kind",
    [
        ("max_uses_exceeded", "denied"),
        ("query_too_long", "invalid_arguments"),
        ("unavailable", "failed"),
        ("execution_time_exceeded", "timed_out"),
        ("a_new_one", "failed"),
    ],
)
def test_a_code_says_why_it_failed(code: str, kind: out.FailureKind) -> None:
    error = {"type": "web_search_tool_result_error", "error_code": code}
    expected = out.Failure(kind, code.replace("_", " "), {"error_code": code})
    assert hosted("web_search", {"query": "tea"}, error) == expected
    explained = {**error, "error_message": "in words"}
    assert hosted("tool_search_tool_regex", {"pattern": "("}, explained) == out.Failure(
        kind, "in words", {"error_code": code}
    )


def test_a_fetched_page_has_its_text_and_a_document_its_type() -> None:
    arguments = {"url": "https://a.example"}
    source = {"type": "text", "media_type": "text/plain", "data": "words"}
    fetched = {"type": "web_fetch_result", "url": "https://a.example", "retrieved_at": "2026-01-01T00:00:00Z"}
    document = {"type": "document", "source": source, "title": "A"}
    page = out.Page("https://a.example", "A", "words", media_type="text/plain")
    assert hosted("web_fetch", arguments, {**fetched, "content": document}) == out.PagesOutcome((page,))
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
    moved = {**fetched, "url": "https://b.example", "content": pdf}
    page = out.Page("https://a.example", media_type="application/pdf", final_url="https://b.example")
    assert hosted("web_fetch", arguments, moved) == out.PagesOutcome((page,))


def test_a_program_gives_what_it_wrote_and_how_it_ended() -> None:
    ran = {"stdout": "1\n", "stderr": "", "return_code": 0, "content": []}
    outcome = out.CommandOutcome(exit_code=0, stdout="1\n", stderr="")
    assert hosted("code_execution", {"code": "print(1)"}, {"type": "code_execution_result", **ran}) == outcome
    assert hosted("bash_code_execution", {"command": "x"}, {"type": "bash_code_execution_result", **ran}) == outcome
    sealed = {"type": "encrypted_code_execution_result", "encrypted_stdout": "x", "stderr": "", "return_code": 3}
    assert hosted("code_execution", {"code": "1"}, sealed) == out.CommandOutcome(exit_code=3, stderr="")


def test_the_editor_of_the_container_tells_of_files_and_changes() -> None:
    name, view = "text_editor_code_execution", "text_editor_code_execution_view_result"
    seen = {"type": view, "file_type": "text", "content": "b\nc", "num_lines": 2, "start_line": 2, "total_lines": 9}
    arguments = {"command": "view", "path": "/tmp/a", "view_range": [2, 3]}
    assert hosted(name, arguments, seen) == out.FileOutcome("/tmp/a", "b\nc", 2, 9, truncated=True)
    media = out.ContentOutcome((out.Media("application/pdf", data="JVBERi0="),))
    assert hosted(name, arguments, {"type": view, "file_type": "pdf", "content": "JVBERi0="}) == media
    created = {"type": "text_editor_code_execution_create_result", "is_file_update": True}
    arguments = {"command": "create", "path": "/tmp/a", "file_text": "x"}
    assert hosted(name, arguments, created) == out.ChangesOutcome((out.Change("/tmp/a", "modified"),))
    replaced = {"type": "text_editor_code_execution_str_replace_result", "lines": ["-a", "+b", "+c"]}
    places = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 2}
    arguments = {"command": "str_replace", "path": "/tmp/a", "old_str": "a", "new_str": "b\nc"}
    diff = "@@ -1,1 +1,2 @@\n-a\n+b\n+c\n"
    change = out.Change("/tmp/a", "modified", diff=diff, added=2, removed=1)
    assert hosted(name, arguments, {**replaced, **places}) == out.ChangesOutcome((change,))


def test_a_search_of_tools_names_them() -> None:
    reference = {"type": "tool_reference", "tool_name": "get_weather"}
    found = {"type": "tool_search_tool_search_result", "tool_references": [reference]}
    assert hosted("tool_search_tool_bm25", {"query": "weather"}, found) == out.ToolsOutcome(("get_weather",))


def test_advice_is_a_text_or_sealed() -> None:
    advice = {"type": "advisor_result", "text": "Think again.", "stop_reason": "end_turn"}
    assert hosted("advisor", {}, advice) == out.TextOutcome("Think again.")
    sealed = {"type": "advisor_redacted_result", "encrypted_content": "x", "stop_reason": "end_turn"}
    assert hosted("advisor", {}, sealed) == out.DoneOutcome("the advice is encrypted: the model alone reads it")


def test_a_servers_answer_is_its_text_and_its_error_a_failure() -> None:
    item = {"type": "mcp_tool_use", "server_name": "wiki"}
    call = DIALECT.read_call(NativeCall("1", "ask", {"q": 1}, None, PROVIDER, item))
    assert call.operations == (op.CallMcpTool("wiki", "ask", {"q": 1}),)
    answer = {"type": "mcp_tool_result", "content": [{"type": "text", "text": "yes"}]}
    native = NativeResult("1", "", False, executed_by=PROVIDER, item=answer)
    assert DIALECT.read_result(call, native).outcomes == (out.TextOutcome("yes"),)
    native = NativeResult("1", "", True, executed_by=PROVIDER, item=answer)
    assert DIALECT.read_result(call, native).outcomes == (out.Failure("failed", "yes"),)


def test_the_client_beside_reads_what_the_provider_ran_and_nothing_that_was_run_here() -> None:
    beside = DIALECTS["claude_code"]
    searched = NativeCall("1", "web_search", {"query": "tea"}, executed_by=PROVIDER)
    assert beside.read_call(searched).operations == (op.SearchWeb("tea"),)
    assert beside.read_call(NativeCall("1", "advisor", {}, executed_by=PROVIDER)).operations == (
        op.SteerClient("advisor"),
    )
    for name in ("bash", "memory", "computer"):
        arguments = {"command": "ls"}
        assert beside.read_call(NativeCall("1", name, arguments)).operations == (op.Unrecognised(name, arguments),)


def test_a_servers_call_without_an_object_is_a_failure() -> None:
    item = {"type": "mcp_tool_use", "server_name": "wiki"}
    call = DIALECT.read_call(NativeCall("1", "ask", "no json", None, PROVIDER, item))
    assert call.operations == ()
    assert call.failure is not None


# ── what we run ──────────────────────────────────────────────────────────────

STANDARD = [
    TOOLS[name]
    for name in (
        "run_command",
        "stop_command",
        "undo_edit",
        "read_file",
        "list_directory",
        "write_file",
        "edit_file",
        "insert_text",
        "delete_file",
        "move_file",
    )
]
IDS = ("bash_20250124", "text_editor_20250728", "text_editor_20250124", "memory_20250818")
FACADE = Facade(DIALECT, Toolset([*STANDARD, *(ProviderTool(f"anthropic.{name}") for name in IDS)]))


async def ran(
    root: Path | Context, name: str, arguments: dict[str, Any]
) -> tuple[NativeResult, tuple[out.Outcome, ...]]:
    """A model's call from one end to the other: read, done by the standard tools, told, and understood again."""
    call = FACADE.read_call(NativeCall("1", name, arguments))
    if isinstance(root, Context):
        call, outcomes = await done(call, root)
    else:
        async with standard_context(DiskWorkspace(root)) as context:
            call, outcomes = await done(call, context)
    told = FACADE.write_result(call, outcomes)
    assert told.name == name
    understood = FACADE.read_result(call, told).outcomes
    assert [type(one) for one in understood] == [type(one) for one in outcomes]
    return told, outcomes


async def done(call: Call, context: Any) -> tuple[Call, list[out.Outcome]]:
    if call.failure is not None:
        return call, [call.failure]
    outcomes = [await perform(operation, context) for operation in call.operations]
    other = FACADE.reconsidered(call, outcomes)
    return (call, outcomes) if other is None else await done(other, context)


async def said(root: Path | Context, name: str, arguments: dict[str, Any]) -> Any:
    """The text the model is given, and whether it is flagged as an error."""
    told, _ = await ran(root, name, arguments)
    return told.content, bool(told.is_error)


async def test_a_command_really_runs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("tea\n")
    assert await said(tmp_path, "bash", {"command": "cat a.txt"}) == ("tea\n[exit code 0]", False)
    text = "out\n[stderr]\nerr\n[exit code 3]"
    assert await said(tmp_path, "bash", {"command": "echo out; echo err >&2; (exit 3)"}) == (text, False)
    ended = "dragoman: the shell has ended with this command: the next one starts in a new shell"
    assert await said(tmp_path, "bash", {"command": "exit 3"}) == (f"[stderr]\n{ended}\n[exit code 3]", False)


async def test_the_shell_stays_until_it_is_restarted(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    async with standard_context(DiskWorkspace(tmp_path)) as context:
        # Before there is a shell, the next one is new anyway.
        call = FACADE.read_call(NativeCall("1", "bash", {"restart": True}))
        told = FACADE.write_result(*await done(call, context))
        assert (told.content, bool(told.is_error)) == ("tool has been restarted.", False)
        await said(context, "bash", {"command": "cd inner; export TEA=green"})
        inside = f"{tmp_path}/inner green\n[exit code 0]"
        assert await said(context, "bash", {"command": "echo $PWD $TEA"}) == (inside, False)
        assert await said(context, "bash", {"restart": True}) == ("tool has been restarted.", False)
        assert await said(context, "bash", {"command": "echo $PWD $TEA"}) == (f"{tmp_path}\n[exit code 0]", False)


async def test_a_call_of_the_shell_that_says_nothing_is_refused(tmp_path: Path) -> None:
    for nothing in ({}, {"restart": False}):
        words, flagged = await said(tmp_path, "bash", nothing)
        assert flagged
        assert words == "Error: Invalid input: bash: command: it must be given, unless the shell is restarted"


async def test_a_file_is_viewed_with_numbers_whole_or_in_part(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    view = {"command": "view", "path": "a.py"}
    assert await said(tmp_path, EDITOR, view) == ("1\tone\n2\ttwo\n3\tthree\n4\t", False)
    part = ("2\ttwo\n3\tthree\n4\t", False)
    assert await said(tmp_path, EDITOR, {**view, "view_range": [2, -1]}) == part
    assert await said(tmp_path, EDITOR, {**view, "view_range": [2, 2]}) == ("2\ttwo", False)
    words, flagged = await said(tmp_path, EDITOR, {**view, "view_range": [9, 12]})
    assert flagged
    assert words == 'Error: Invalid input: "a.py" has 3 lines, so there is no line 9'
    words, flagged = await said(tmp_path, EDITOR, {**view, "path": "b.py"})
    assert flagged
    assert words.startswith('"b.py" does not exist.')


@pytest.mark.parametrize("path", ["src", "src/"])
async def test_a_folder_is_viewed_two_levels_deep_whether_a_slash_says_so_or_not(tmp_path: Path, path: str) -> None:
    (tmp_path / "src/inner/deep").mkdir(parents=True)
    (tmp_path / "src/a.py").write_text("x")
    (tmp_path / "src/inner/b.py").write_text("x")
    (tmp_path / "src/inner/deep/c.py").write_text("x")
    told, outcomes = await ran(tmp_path, EDITOR, {"command": "view", "path": path})
    head = f"Here are the files and folders up to 2 levels deep in {path}:"
    assert told.content == "\n".join([head, "a.py", "inner/", "inner/b.py", "inner/deep/"])
    assert isinstance(outcomes[0], out.DirectoryOutcome)


async def test_a_folder_has_no_lines_to_view(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    words, flagged = await said(tmp_path, EDITOR, {"command": "view", "path": "src", "view_range": [1, 2]})
    assert flagged
    assert words == '"src" is a directory; a file is needed here'


async def test_a_file_is_created_and_replaced(tmp_path: Path) -> None:
    create = {"command": "create", "path": "new/a.py", "file_text": "x = 1\n"}
    assert await said(tmp_path, EDITOR, create) == ("File created successfully at: new/a.py", False)
    words, _ = await said(tmp_path, EDITOR, {**create, "file_text": "x = 2\n"})
    assert words == "The file was edited: new/a.py\nThe lines around the change:\n1\tx = 2"
    assert (tmp_path / "new/a.py").read_text() == "x = 2\n"


async def test_a_text_is_replaced_where_it_stands_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\ntwo\n")
    replace = {"command": "str_replace", "path": "a.py"}
    words = await said(tmp_path, EDITOR, {**replace, "old_str": "one", "new_str": "1"})
    assert words == ("The file was edited: a.py\nThe lines around the change:\n1\t1\n2\ttwo\n3\ttwo", False)
    words, flagged = await said(tmp_path, EDITOR, {**replace, "old_str": "four", "new_str": "4"})
    assert flagged
    assert "not found" in words
    words, flagged = await said(tmp_path, EDITOR, {**replace, "old_str": "two", "new_str": "2"})
    assert flagged
    assert "2 times (lines 2" in words
    assert (tmp_path / "a.py").read_text() == "1\ntwo\ntwo\n"


async def test_a_text_is_inserted_after_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    insert = {"command": "insert", "path": "a.py"}
    words, flagged = await said(tmp_path, EDITOR, {**insert, "insert_line": 1, "insert_text": "and"})
    assert not flagged
    assert words == "The file was edited: a.py\nThe lines around the change:\n1\tone\n2\tand\n3\ttwo"
    await said(tmp_path, "str_replace_editor", {**insert, "insert_line": 0, "new_str": "zero\n"})
    assert (tmp_path / "a.py").read_text() == "zero\none\nand\ntwo\n"
    words, flagged = await said(tmp_path, EDITOR, {**insert, "insert_line": 99, "insert_text": "x"})
    assert flagged


async def test_the_last_edit_is_undone_by_the_older_editor(tmp_path: Path) -> None:
    editor, undo = "str_replace_editor", {"command": "undo_edit", "path": "a.py"}
    async with standard_context(DiskWorkspace(tmp_path)) as context:
        await said(context, editor, {"command": "create", "path": "a.py", "file_text": "x = 1\n"})
        await said(context, editor, {"command": "str_replace", "path": "a.py", "old_str": "1", "new_str": "2"})
        assert (tmp_path / "a.py").read_text() == "x = 2\n"
        words = "The file was edited: a.py\nThe lines around the change:\n1\tx = 1"
        assert await said(context, editor, undo) == (words, False)
        assert await said(context, editor, undo) == ("Successfully deleted a.py", False)
        words = '"a.py" is remembered that could be undone'
        told, flagged = await said(context, editor, undo)
        assert (words in told, flagged) == (True, True)
    newer, flagged = await said(tmp_path, EDITOR, {"command": "undo_edit", "path": "a.py"})
    assert flagged
    assert "there is no 'undo_edit'" in newer


async def test_the_memory_is_a_folder_of_the_workspace(tmp_path: Path) -> None:
    note, words = "/memories/tea.md", "green\nblack\n"
    create = {"command": "create", "path": note, "file_text": words}
    assert await said(tmp_path, "memory", create) == (f"File created successfully at: {note}", False)
    assert (tmp_path / "memories/tea.md").read_text() == words
    told, flagged = await said(tmp_path, "memory", create)
    assert flagged
    assert told.startswith(f'"{note}" exists')  # as the model has to say it
    view = {"command": "view", "path": "/memories"}
    head = "Here are the files and folders up to 2 levels deep in /memories:"
    assert await said(tmp_path, "memory", view) == (f"{head}\ntea.md", False)
    assert await said(tmp_path, "memory", {**view, "path": note, "view_range": [2, 2]}) == ("2\tblack", False)
    replace = {"command": "str_replace", "path": note, "old_str": "green", "new_str": "white"}
    shown = f"The file was edited: {note}\nThe lines around the change:\n1\twhite\n2\tblack"
    assert await said(tmp_path, "memory", replace) == (shown, False)
    insert = {"command": "insert", "path": note, "insert_line": 2, "insert_text": "red"}
    await said(tmp_path, "memory", insert)
    assert (tmp_path / "memories/tea.md").read_text() == "white\nblack\nred\n"
    rename = {"command": "rename", "old_path": note, "new_path": "/memories/old/tea.md"}
    done = f"Successfully renamed {note} to /memories/old/tea.md"
    assert await said(tmp_path, "memory", rename) == (done, False)
    delete = {"command": "delete", "path": "/memories/old/tea.md"}
    assert await said(tmp_path, "memory", delete) == ("Successfully deleted /memories/old/tea.md", False)
    assert not (tmp_path / "memories/old/tea.md").exists()


async def test_a_memory_that_was_never_written_to_is_empty_and_tells_nothing_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    async with standard_context(DiskWorkspace(tmp_path)) as context:
        for path in ("/memories", "/memories/"):
            call = FACADE.read_call(NativeCall("1", "memory", {"command": "view", "path": path}))
            told = FACADE.write_result(*await done(call, context))
            assert told.content == f"Here are the files and folders up to 2 levels deep in {path}:"
            assert FACADE.read_result(call, told).outcomes == (out.DirectoryOutcome("memories", ()),)
    for arguments in ({"command": "view", "path": "/memories/a.md"}, {"command": "delete", "path": "/memories/a.md"}):
        assert await said(tmp_path, "memory", arguments) == ("Error: The path /memories/a.md does not exist.", True)


@pytest.mark.parametrize("path", ["/etc/passwd", "/memories/../a", "memories/a", "/memoriesx", "", "/memories/./a"])
async def test_nothing_outside_the_memory_is_reached_with_it(tmp_path: Path, path: str) -> None:
    (tmp_path / "a").write_text("secret")
    for command in ("view", "delete"):
        words, flagged = await said(tmp_path, "memory", {"command": command, "path": path})
        assert flagged
        assert "a path of the memory" in words
    assert (tmp_path / "a").exists()


# ── what other programs told for these tools ─────────────────────────────────


def understood(name: str, arguments: dict[str, Any], text: str, *, is_error: bool | None = None) -> out.Outcome:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    (outcome,) = DIALECT.read_result(call, NativeResult("1", text, is_error)).outcomes
    return outcome


def test_listings_and_files_of_other_programs_are_understood() -> None:
    view = {"command": "view", "path": "/memories"}
    listed = (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "4.0K\t/memories\n4.0K\t/memories/old/\n1.5K\t/memories/a.md"
    )
    entries = (out.Entry("old", "directory"), out.Entry("a.md"))
    assert understood("memory", view, listed) == out.DirectoryOutcome("memories", entries)
    text = "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo"
    read = understood("memory", {**view, "path": "/memories/a.md"}, text)
    assert read == out.FileOutcome("memories/a.md", "one\ntwo")


def test_a_bare_text_is_what_a_command_wrote() -> None:
    assert understood("bash", {"command": "ls"}, "a\nb") == out.CommandOutcome(output="a\nb")
    assert understood("bash", {"command": "ls"}, "no", is_error=True) == out.Failure("failed", "no")


# ── rows ─────────────────────────────────────────────────────────────────────


def test_a_row_says_who_runs_a_tool_and_what_it_needs() -> None:
    row = provider_tool("anthropic.bash_20241022")
    assert row is not None
    assert (row.wire_type, row.name, row.executed_by) == ("bash_20241022", "bash", ExecutedBy.CLIENT)
    assert (row.beta, row.version) == ("computer-use-2024-10-22", "20241022")
    assert row.superseded_by == "anthropic.bash_20250124"
    assert provider_tool("anthropic.bash_20990101") is None
    assert provider_tool("nobody.bash") is None


def test_every_row_that_is_superseded_is_by_one_that_is_there() -> None:
    ids = {row.id for row in DIALECT.provider_tools}
    assert {row.superseded_by for row in DIALECT.provider_tools} - {None} <= ids


@pytest.mark.parametrize(
    "family, bash, editor",
    [
        (None, "anthropic.bash_20250124", "anthropic.text_editor_20250728"),
        ("claude-opus-5", "anthropic.bash_20250124", "anthropic.text_editor_20250728"),
        ("claude-3-7-sonnet-20250219", "anthropic.bash_20250124", "anthropic.text_editor_20250124"),
        ("claude-3-5-sonnet-20241022", "anthropic.bash_20241022", "anthropic.text_editor_20241022"),
    ],
)
def test_a_family_of_models_is_offered_the_newest_version_it_has(family: str | None, bash: str, editor: str) -> None:
    definitions = DIALECT.at(family=family).definitions(executed_by=ExecutedBy.CLIENT)
    offered = [one.id for one in definitions if isinstance(one, ProviderDefinition)]
    assert offered == [bash, editor]


def test_tools_of_one_row_are_offered_once() -> None:
    offered = DIALECT.definitions([op.RunCode, op.RunCommand], executed_by=PROVIDER)
    assert [one.name for one in offered] == ["code_execution"]
