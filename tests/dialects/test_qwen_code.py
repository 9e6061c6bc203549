"""Results of Qwen Code's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect, tell
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out
from dragoman.tools.workspace.memory import MemoryWorkspace

DIALECT: Dialect = DIALECTS["qwen_code"]
Content = str | tuple[str | out.Media, ...]
Said = tuple[str, dict[str, Any]]


def understood(
    name: str, arguments: dict[str, Any], content: Content, *, is_error: bool | None = None, item: Any = None
) -> out.Outcome:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    (outcome,) = DIALECT.read_result(call, NativeResult("1", content, is_error, item=item)).outcomes
    return outcome


def written(name: str, arguments: dict[str, Any], outcome: out.Outcome) -> NativeResult:
    return DIALECT.write_result(DIALECT.read_call(NativeCall("1", name, arguments)), (outcome,))


def told(name: str, arguments: dict[str, Any], outcome: out.Outcome) -> Content:
    return written(name, arguments, outcome).content


# ── files ────────────────────────────────────────────────────────────────────

READ: Said = ("read_file", {"file_path": "/a.py"})


@pytest.mark.parametrize(
    "arguments, text, outcome",
    [
        ({}, "x = 1\n", out.FileOutcome("/a.py", "x = 1\n")),
        (
            {"offset": 4, "limit": 2},
            "Showing lines 5-6 of 90 total lines.\n\n---\n\nx\ny",
            out.FileOutcome("/a.py", "x\ny", 5, 90),
        ),
        (
            {},
            "Showing lines 1-2 of 90 total lines.\n\n---\n\nx\ny",
            out.FileOutcome("/a.py", "x\ny", 1, 90, truncated=True),
        ),
        (
            {},
            "Showing lines 1-2 of more than 2 total lines.\n\n---\n\nx\ny",
            out.FileOutcome("/a.py", "x\ny", truncated=True),
        ),
    ],
)
def test_a_file_is_its_text_under_a_note_when_there_is_more(
    arguments: dict[str, Any], text: str, outcome: out.FileOutcome
) -> None:
    read = ("read_file", {"file_path": "/a.py", **arguments})
    assert understood(*read, text) == outcome
    assert told(*read, outcome) == text


def test_what_is_told_of_a_file_is_not_its_text() -> None:
    text = "Jupyter Notebook (python, 2 cells)\n\n--- Markdown Cell a ---\n# Report\n"
    assert understood(*READ, text) == out.TextOutcome(text)


def test_an_image_stands_beside_a_sentence() -> None:
    outcome = out.ImageOutcome(out.Media("image/png", "aGk="))
    assert understood(*READ, told(*READ, outcome)) == outcome


@pytest.mark.parametrize(
    "text",
    [
        "Listed 2 item(s) in /src:\n---\n[DIR] lib\na.py\n\n(1 git-ignored)",
        "Directory listing for /src:\n[DIR] lib\na.py\n\n(1 git-ignored)",
    ],
)
def test_a_folder_is_told_folders_first(text: str) -> None:
    listing: Said = ("list_directory", {"path": "/src"})
    outcome = out.DirectoryOutcome("/src", (out.Entry("lib", "directory"), out.Entry("a.py")), ignored=1)
    assert understood(*listing, text) == outcome
    assert understood(*listing, told(*listing, outcome)) == outcome
    assert understood(*listing, "Directory /src is empty.") == out.DirectoryOutcome("/src", ())


@pytest.mark.parametrize(
    "text, kind",
    [
        ("The file: /a.py has been updated. Showing lines 1-2 of 2 from the edited file:\n\n---\n\nx", "modified"),
        ("Created new file: /a.py with provided content. Showing lines 1-2 of 2.", "created"),
        ("Successfully created and wrote to new file: /a.py.", "created"),
        ("Successfully overwrote file: /a.py.", "modified"),
        ("Notebook /a.py has been updated. delete cell c1.", "modified"),
    ],
)
def test_a_change_is_read_however_it_was_told(text: str, kind: Any) -> None:
    edit: Said = ("edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"})
    item = {"resultDisplay": {"diffStat": {"model_added_lines": 2, "model_removed_lines": 1}}}
    assert understood(*edit, text, item=item) == out.ChangesOutcome((out.Change("/a.py", kind, added=2, removed=1),))


def test_changes_are_told_in_its_words() -> None:
    modified = out.ChangesOutcome((out.Change("/a", "modified"),))
    edit: Said = ("edit", {"file_path": "/a", "old_string": "x", "new_string": "y"})
    assert told(*edit, modified) == "The file: /a has been updated."
    assert told("write_file", {"file_path": "/a", "content": ""}, modified) == "Successfully overwrote file: /a."
    notebook = told("notebook_edit", {"notebook_path": "/a", "new_source": ""}, modified)
    assert notebook == "Notebook /a has been updated. replace cell."


# ── search ───────────────────────────────────────────────────────────────────


def test_found_files() -> None:
    glob: Said = ("glob", {"pattern": "*.py"})
    head = 'Found 2 file(s) matching "*.py" in the workspace directory, sorted by modification time (newest first):'
    assert understood(*glob, f"{head}\n---\n/a.py\n/b.py") == out.PathsOutcome(("/a.py", "/b.py"))
    assert understood(*glob, 'No files found matching pattern "*.py" in the workspace directory') == out.PathsOutcome(
        ()
    )
    cut = out.PathsOutcome(("/a.py",), truncated=True)
    assert understood(*glob, told(*glob, cut)) == cut


def test_matching_lines() -> None:
    grep: Said = ("grep_search", {"pattern": "x", "path": "/src"})
    text = 'Found 2 matches for pattern "x" within /src:\n---\n/a.py:3:x: y\n/b.py:1:  x'
    outcome = out.MatchesOutcome((out.Match("/a.py", 3, "x: y"), out.Match("/b.py", 1, "  x")), total=2)
    assert understood(*grep, text) == outcome
    assert told(*grep, outcome) == text
    assert understood(*grep, 'No matches found for pattern "x" in the workspace directory.') == out.MatchesOutcome(())


def test_found_tools() -> None:
    search: Said = ("tool_search", {"query": "select:a,b"})
    outcome = out.ToolsOutcome(("a", "b"))
    assert understood(*search, told(*search, outcome)) == outcome
    assert understood(*search, "Not found: a, b") == out.ToolsOutcome(())


# ── commands ─────────────────────────────────────────────────────────────────

RUN: Said = ("run_shell_command", {"command": "x"})


def ran(output: str, code: str, signal: str = "(none)") -> str:
    return f"Command: x\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: {signal}"


@pytest.mark.parametrize(
    "text, outcome, is_error",
    [
        (ran("a\nb", "3"), out.CommandOutcome(3, output="a\nb"), True),
        (ran("(empty)", "0"), out.CommandOutcome(0, output=""), False),
        (ran("a", "(none)", "9"), out.CommandOutcome(output="a", signal=9), True),
        (
            "Background shell started.\nid: bg_1\noutput file: /tmp/out",
            out.CommandOutcome(running=True, job="bg_1", output_path="/tmp/out"),
            False,
        ),
        (
            "Command timed out before it could complete. Below is the output before it timed out:\n1",
            out.CommandOutcome(output="1", timed_out=True),
            True,
        ),
    ],
)
def test_a_command_tells_how_it_ended(text: str, outcome: out.CommandOutcome, is_error: bool) -> None:
    assert understood(*RUN, text, is_error=is_error) == outcome
    result = written(*RUN, outcome)
    assert (result.content, result.is_error) == (text, is_error)


@pytest.mark.parametrize("is_error", [None, True])
@pytest.mark.parametrize(
    "text, output",
    [
        ("Command timed out after 1500ms before it could complete. Below is the output before it timed out:\n1", "1"),
        ("Command timed out after 1500ms before it could complete. There was no output before it timed out.", ""),
    ],
)
def test_a_command_that_took_longer_than_it_may_timed_out(text: str, output: str, *, is_error: bool | None) -> None:
    """A success up to 0.8.2, an error of type `execution_timeout` from 0.21.2."""
    item = {"status": "error", "errorType": "execution_timeout"} if is_error else None
    assert understood(*RUN, text, is_error=is_error, item=item) == out.CommandOutcome(output=output, timed_out=True)


def test_older_versions_said_more_of_the_end() -> None:
    more = f"{ran('a', '3', '0')}\nBackground PIDs: 7\nProcess Group PGID: 159"
    assert understood(*RUN, more) == out.CommandOutcome(3, output="a")


def test_long_output_is_kept_in_a_file() -> None:
    text = (
        "Tool output was too large and has been truncated.\nThe full output has been saved to: /tmp/out\n"
        f"Read it there.\n\nTruncated part of the output:\n{ran('9', '0')}"
    )
    assert understood(*RUN, text) == out.CommandOutcome(0, output="9", output_path="/tmp/out")


def test_a_watched_command_has_an_id() -> None:
    watch: Said = ("monitor", {"command": "x"})
    outcome = out.CommandOutcome(running=True, job="mon_1")
    assert understood(*watch, "Monitor started.\nid: mon_1\ncommand: x\nmax_events: 2") == outcome
    assert understood(*watch, told(*watch, outcome)) == outcome


# ── the rest ─────────────────────────────────────────────────────────────────


def test_a_page_is_told_with_where_it_came_from() -> None:
    fetch: Said = ("tool_call", {"name": "web_fetch", "arguments": {"url": "https://example.com/", "prompt": "?"}})
    text = "URL: https://example.com/\nStatus: 200 OK | Content-Type: text/html | Size: 205 bytes\n\n42"
    page = out.Page("https://example.com/", status=200, media_type="text/html")
    assert understood(*fetch, text) == out.PagesOutcome((page,), "42")
    assert understood(*fetch, told(*fetch, out.PagesOutcome((page,), "42"))) == out.PagesOutcome((page,), "42")
    assert understood(*fetch, "ok") == out.PagesOutcome((out.Page("https://example.com/"),), "ok")


def test_a_plan_is_told_as_it_is_kept() -> None:
    plan: Said = ("todo_write", {"todos": []})
    text = (
        "Todos have been modified successfully. Go on.\n\n<system-reminder>\nIt is: \n\n"
        '[{"id":"0","content":"Look","status":"pending"}]. Go on.\n</system-reminder>'
    )
    outcome = out.PlanOutcome((op.PlanItem("Look", id="0"),))
    assert understood(*plan, text) == outcome
    assert understood(*plan, told(*plan, outcome)) == outcome


def test_an_agent_was_started_or_has_answered() -> None:
    agent: Said = ("agent", {"description": "Look", "prompt": "Count", "subagent_type": "Explore"})
    started = out.AgentsOutcome((out.AgentReport("Explore-1", "running", agent="Explore"),))
    text = "Background agent launched successfully.\ntask_id: Explore-1 (internal)\nIt works."
    assert understood(*agent, text) == started
    assert understood(*agent, told(*agent, started)) == started
    answered = out.AgentsOutcome((out.AgentReport(status="completed", text="three", agent="Explore"),))
    assert understood(*agent, "three") == answered
    assert told(*agent, answered) == "three"


def test_no_agents() -> None:
    text = "No ordinary background subagents are available in this session."
    assert understood("list_agents", {}, f"{text} Teammates are not listed.") == out.AgentsOutcome(())
    assert told("list_agents", {}, out.AgentsOutcome(())) == text


def test_a_resource_stands_between_marks() -> None:
    read: Said = ("read_mcp_resource", {"server_name": "toy", "uri": "toy://note"})
    text = (
        "\n--- Content from MCP resource toy:toy://note [a7] ---\n\na note\n\n"
        "--- End of MCP resource toy:toy://note [a7] ---\n"
    )
    outcome = out.ResourcesOutcome((out.Resource("toy://note", server="toy", text="a note"),))
    assert understood(*read, text) == outcome
    assert understood(*read, told(*read, outcome)) == outcome


@pytest.mark.parametrize(
    "outcome",
    [
        out.TextOutcome("a note"),
        out.ResourcesOutcome(()),
        out.ResourcesOutcome((out.Resource("toy://note", server="toy"),)),
        out.ResourcesOutcome((out.Resource("a", text="a note"), out.Resource("b", text="b"))),
    ],
    ids=["text", "none", "without text", "two"],
)
def test_only_one_resource_with_its_text_stands_between_marks(outcome: out.Outcome) -> None:
    content = told("read_mcp_resource", {"server_name": "toy", "uri": "toy://note"}, outcome)
    assert content == tell(op.ReadMcpResource("toy://note", "toy"), outcome)


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "error_type, kind",
    [
        ("execution_denied", "denied"),
        ("invalid_tool_params", "invalid_arguments"),
        ("tool_not_registered", "unknown_tool"),
        ("execution_timeout", "timed_out"),
        ("file_not_found", "failed"),
    ],
)
def test_the_log_names_the_type_of_an_error(error_type: str, kind: out.FailureKind) -> None:
    item = {"status": "error", "errorType": error_type}
    assert understood(*READ, "It is so.", is_error=True, item=item) == out.Failure(kind, "It is so.")


def test_an_interrupted_call_is_known_by_its_state() -> None:
    text = "[Operation Cancelled] Reason: so it is"
    assert understood(*RUN, text, is_error=True, item={"status": "cancelled"}) == out.Failure("cancelled", text)


def test_a_call_of_a_reply_that_was_asked_for_anew_was_cancelled() -> None:
    text = "Skipped because the provider attempt was retried before execution."
    assert understood(*RUN, text, is_error=True) == out.Failure("cancelled", text)


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood(kind: out.FailureKind) -> None:
    content = told(*READ, out.Failure(kind, "so it is"))
    again = understood(*READ, content, is_error=True)
    assert isinstance(again, out.Failure)
    assert again.kind == kind
    assert told(*READ, again) == content, "a failure told twice does not grow"


# ── calls of versions and settings that were not captured ────────────────────


def meant(name: str, arguments: dict[str, Any]) -> op.Operation:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    assert call.unmapped == {}
    (operation,) = call.operations
    return operation


@pytest.mark.parametrize(
    "name",
    [
        *("artifact", "display_image", "enter_plan_mode", "lsp", "structured_output"),
        *("team_create", "team_delete", "team_plan_approval", "workflow"),
    ],
)
def test_a_tool_of_the_client_that_was_never_captured_is_its_own(name: str) -> None:
    assert meant(name, {}) == op.SteerClient(name)


def test_a_search_without_ripgrep_had_other_words() -> None:
    given = {"pattern": "x", "path": "src", "include": "*.py", "maxResults": 3}
    assert meant("grep_search", given) == op.SearchText("x", "src", include="*.py", limit=3)


def test_the_plan_of_a_team() -> None:
    create = ("task_create", {"subject": "look", "description": ""})
    assert meant(*create) == op.AddPlanItem(op.PlanItem("look"))
    assert understood(*create, 'Task #7 created: "look"') == out.PlanOutcome((op.PlanItem("look", id="7"),))
    assert meant("task_update", {"taskId": "7", "status": "completed", "owner": "scout"}) == op.ChangePlanItem(
        "7", status="completed", owner="scout"
    )
    assert meant("task_update", {"taskId": "7", "status": "deleted"}) == op.ChangePlanItem("7", deleted=True)
    assert meant("task_list", {}) == op.ReadPlan()


def test_a_session_of_its_own_is_an_agent_that_goes_on_by_itself() -> None:
    given = {"prompt": "Look.", "name": "scout", "completion": "sent"}
    assert meant("create_sub_session", given) == op.SpawnAgent("Look.", name="scout", background=True)


def test_an_image_is_made() -> None:
    assert meant("image_gen", {"prompt": "a cat", "size": "64x64"}) == op.GenerateImage("a cat", "64x64")


@pytest.mark.parametrize(
    "file, new, shown",
    [
        ("a\r\nb\r\nc\r\n", "B", "a\nB\nc\n"),
        ("a\r\nb\r\nc\r\n", "B\r\nX", "a\nB\r\nX\nc\n"),
        ("a\nb\r\nc\n", "B\r\nX\nY", "a\nB\r\nX\nY\nc\n"),
        ("a\nb\nc\n", "B\r\nX", "a\nB\r\nX\nc\n"),
    ],
)
def test_the_lines_after_an_edit_show_a_crlf_of_the_new_text_alone(file: str, new: str, shown: str) -> None:
    """As 0.24.4 does, whatever ends the file's lines have."""
    native = NativeCall("1", "edit", {"file_path": "/f", "old_string": "b", "new_string": new})
    call = DIALECT.read_call(native)
    workspace = MemoryWorkspace({"f": file.encode()})
    workspace.read("f")
    changes = workspace.apply(call.operations, rules=DIALECT.edit_rules(native)).changes
    told = DIALECT.write_result(call, [out.ChangesOutcome(changes)]).content
    assert str(told).endswith(f" from the edited file:\n\n---\n\n{shown}")
