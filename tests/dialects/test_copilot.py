"""Results of Copilot CLI's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out
from dragoman.tools import DiskWorkspace, perform, standard_context

DIALECT: Dialect = DIALECTS["copilot"].knowing(servers=("toy",))
Content = str | tuple[str | out.Media, ...]
Arguments = dict[str, Any] | str


def all_understood(
    name: str, arguments: Arguments, content: Content, *, is_error: bool | None = None, item: Any = None
) -> tuple[out.Outcome, ...]:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    return DIALECT.read_result(call, NativeResult("1", content, is_error, item=item)).outcomes


def understood(
    name: str, arguments: Arguments, content: Content, *, is_error: bool | None = None, item: Any = None
) -> out.Outcome:
    (outcome,) = all_understood(name, arguments, content, is_error=is_error, item=item)
    return outcome


def told(name: str, arguments: Arguments, *outcomes: out.Outcome) -> NativeResult:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    return DIALECT.write_result(call, outcomes)


# ── files ────────────────────────────────────────────────────────────────────

VIEW = ("view", {"path": "a.py"})


def test_a_file_is_its_text() -> None:
    assert understood(*VIEW, "x = 1\n") == out.FileOutcome("a.py", "x = 1\n")
    part = ("view", {"path": "a.py", "view_range": [5, 6]})
    assert understood(*part, "x\ny") == out.FileOutcome("a.py", "x\ny", 5)
    cut = out.FileOutcome("a.py", "x", truncated=True)
    assert understood(*VIEW, told(*VIEW, cut).content) == cut


def test_a_file_that_is_too_large_was_not_read_though_the_log_calls_it_a_success() -> None:
    text = "File too large to read at once (64.9 KB). Consider view_range."
    assert understood(*VIEW, text, is_error=False) == out.Failure("failed", text)


def test_an_image_stands_beside_a_sentence_or_is_named_by_the_log() -> None:
    outcome = out.ImageOutcome(out.Media("image/png", "aGk="))
    content = told(*VIEW, outcome).content
    assert content == ("Viewed image file successfully.", outcome.image)
    assert understood(*VIEW, content) == outcome
    asset = {"type": "image", "assetId": "sha256:1", "mimeType": "image/png", "byteLength": 74}
    item = {"result": {"binaryResultsForLlm": [asset]}}
    assert understood(*VIEW, "Viewed image file successfully.", item=item) == out.ImageOutcome(
        out.Media("image/png", file_id="sha256:1", size=74)
    )


def test_a_folder_is_names_alone() -> None:
    folder = ("view", {"path": "src/"})
    assert understood(*folder, ".git\na.py") == out.DirectoryOutcome(
        "src", (out.Entry(".git", "other"), out.Entry("a.py", "other"))
    )
    outcome = out.DirectoryOutcome("src", (out.Entry("lib", "directory"), out.Entry("a.py", "other")))
    assert told(*folder, outcome).content == "lib/\na.py"
    assert understood(*folder, "lib/\na.py") == outcome


def test_changed_files() -> None:
    create = ("create", {"path": "a.py", "file_text": "xyz"})
    created = out.ChangesOutcome((out.Change("a.py", "created"),))
    assert told(*create, created).content == "Created file a.py with 3 characters"
    assert understood(*create, "Created file a.py with 3 characters") == created
    edit = ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"})
    edited = out.ChangesOutcome((out.Change("a.py", "modified"),))
    assert told(*edit, edited).content == "File a.py updated with changes."
    assert understood(*edit, "File a.py updated with changes.") == edited
    unchanged = "No changes made: old_str and new_str are the same"
    assert understood(*edit, unchanged) == out.ChangesOutcome((out.Change("a.py", "unchanged"),))


def test_a_patch_lists_what_became_of_the_files() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n*** Update File: c.py\n*** Move to: d.py\n"
        "@@\n-x\n+y\n*** End Patch"
    )
    text = "Added 2 file(s): /p/a.py, /p/d.py\nDeleted 1 file(s): /p/b.py"
    outcomes = all_understood("apply_patch", patch, text)
    assert [(change.path, change.kind) for one in outcomes for change in getattr(one, "changes", ())] == [
        ("a.py", "created"),
        ("b.py", "deleted"),
        ("c.py", "modified"),
        ("c.py", "moved"),
    ]


# ── commands ─────────────────────────────────────────────────────────────────

BASH = ("bash", {"command": "x", "description": "run"})


@pytest.mark.parametrize(
    "text, outcome",
    [
        ("42\n<shellId: 0 completed with exit code 0>", out.CommandOutcome(0, output="42", job="0")),
        ("\n<shellId: 4 completed with exit code 3>", out.CommandOutcome(3, output="", job="4")),
        ("1\n<shellId: 4 was ended by signal 9>", out.CommandOutcome(output="1", signal=9, job="4")),
        ("1\n<shellId: 4 timed out>", out.CommandOutcome(output="1", timed_out=True, job="4")),
        ("<command started in background with shellId: b>", out.CommandOutcome(output="", running=True, job="b")),
        ("1\n<command with shellId: b is still running>", out.CommandOutcome(output="1", running=True, job="b")),
        ("1\n<command completed with exit code 0>", out.CommandOutcome(0, output="1")),
    ],
)
def test_a_command_tells_how_it_ended(text: str, outcome: out.CommandOutcome) -> None:
    assert understood(*BASH, text, is_error=False) == outcome
    assert told(*BASH, outcome).content == text


def test_a_command_that_still_runs() -> None:
    text = "tick\n<command with shellId: b is still running after 2 seconds. Use read_bash or stop_bash.>"
    assert understood("read_bash", {"shellId": "b", "delay": 2}, text) == out.CommandOutcome(
        output="tick", running=True, job="b"
    )


def test_long_output_is_kept_in_a_file() -> None:
    text = (
        "Output too large to read at once (106.3 KB). Saved to: /tmp/o.txt\nUse grep.\n\nPreview "
        "(first 500 chars):\n1\n2\n<shellId: 3 completed with exit code 0>"
    )
    assert understood(*BASH, text) == out.CommandOutcome(0, output="1\n2", job="3", output_path="/tmp/o.txt")


def test_shells() -> None:
    stop = ("stop_bash", {"shellId": "b"})
    assert understood(*stop, "<command with id: b stopped>") == out.DoneOutcome("<command with id: b stopped>")
    assert told(*stop, out.DoneOutcome()).content == "<command with id: b stopped>"
    listed = (
        "Active shell sessions:\n  shellId: b, pid: 87, mode: async, status: running, elapsed: 2s, commands: 1\n"
        "    current command: sleep 60\n  shellId: 1, pid: 7, mode: sync, status: completed (exit code: 3), "
        "elapsed: 2s\n    current command: false"
    )
    jobs = out.JobsOutcome((out.Job("b", "sleep 60", running=True), out.Job("1", "false", running=False, exit_code=3)))
    assert understood("list_bash", {}, listed) == jobs
    assert understood("list_bash", {}, told("list_bash", {}, jobs).content) == jobs


# ── searching ────────────────────────────────────────────────────────────────


def test_matches_in_every_mode() -> None:
    assert understood("grep", {"pattern": "x"}, "./a.md\n./b.py") == out.MatchesOutcome(
        (out.Match("./a.md"), out.Match("./b.py")), "files"
    )
    count = ("rg", {"pattern": "x", "output_mode": "count"})
    assert understood(*count, "src/a.py:12") == out.MatchesOutcome((out.Match("src/a.py", count=12),), "count")
    assert understood(*count, "No matches found.") == out.MatchesOutcome((), "count")


def test_matching_lines_with_the_lines_around_them() -> None:
    grep = ("grep", {"pattern": "x", "output_mode": "content", "-n": True, "-C": 1})
    text = "a.md-2-\na.md:3:- x\na.md-4-b\n--\nb.py-6-c\nb.py:7:x\nb.py:8:x"
    outcome = out.MatchesOutcome(
        (out.Match("a.md", 3, "- x", ("",), ("b",)), out.Match("b.py", 7, "x", ("c",)), out.Match("b.py", 8, "x"))
    )
    assert understood(*grep, text) == outcome
    assert told(*grep, outcome).content == text
    assert understood("grep", {"pattern": "x", "output_mode": "content"}, "a.md:the x") == out.MatchesOutcome(
        (out.Match("a.md", None, "the x"),)
    )


def test_what_was_found_in_several_places_is_told_apart() -> None:
    found = all_understood("grep", {"pattern": "x", "paths": ["src", "docs/"]}, "src/a.py\ndocs/b.md")
    assert found == (
        out.MatchesOutcome((out.Match("src/a.py"),), "files"),
        out.MatchesOutcome((out.Match("docs/b.md"),), "files"),
    )
    paths = all_understood("glob", {"pattern": "*", "paths": ["src", "docs"]}, "src/a.py\ndocs/b.md")
    assert paths == (out.PathsOutcome(("src/a.py",)), out.PathsOutcome(("docs/b.md",)))


def test_found_files() -> None:
    glob = ("glob", {"pattern": "*.py"})
    assert understood(*glob, "./a.py\n./b.py") == out.PathsOutcome(("./a.py", "./b.py"))
    assert understood(*glob, "No files matched the pattern.") == out.PathsOutcome(())
    cut = out.PathsOutcome(("a.py",), truncated=True)
    assert understood(*glob, told(*glob, cut).content) == cut


# ── plans and agents ─────────────────────────────────────────────────────────


def test_the_plan() -> None:
    read = ("sql", {"description": "x", "query": "SELECT * FROM todos"})
    text = (
        "1 row(s) returned:\n\n| id | title | description | status |\n| --- | --- | --- | --- |\n| t1 | Fix |  | done |"
    )
    outcome = out.PlanOutcome((op.PlanItem("Fix", "completed", "t1"),))
    assert understood(*read, text) == outcome
    assert told(*read, outcome).content == text
    change = ("sql", {"description": "x", "query": "UPDATE todos SET status = 'done' WHERE id IN ('a', 'b')"})
    done = out.DoneOutcome("2 row(s) updated.")
    assert all_understood(*change, "2 row(s) updated.") == (done, done)


def todo(id: str | None, title: str, **fields: Any) -> op.AddPlanItem:
    return op.AddPlanItem(op.PlanItem(title, id=id, **fields))


@pytest.mark.parametrize(
    "query, operations",
    [
        ("INSERT INTO todos (id, title) VALUES ('a', 'Fix'), ('b', 'It''s')", [todo("a", "Fix"), todo("b", "It's")]),
        ("INSERT INTO todos (title, status) VALUES ('Fix', 'done');", [todo(None, "Fix", status="completed")]),
        (
            "INSERT INTO todo_deps (todo_id, depends_on) VALUES ('b', 'a'), ('b', 'c')",
            [op.ChangePlanItem("b", add_blocked_by=("a", "c"))],
        ),
        ("SELECT * FROM todos WHERE id = 'a'", [op.ReadPlan("a")]),
        ("SELECT * FROM todos WHERE id IN ('a', 'b')", [op.ReadPlan("a"), op.ReadPlan("b")]),
        (
            "DELETE FROM todos WHERE id = 'a'; UPDATE todos SET title = 'x', updated_at = 'now' WHERE id = 'b'",
            [op.ChangePlanItem("a", deleted=True), op.ChangePlanItem("b", "x")],
        ),
    ],
)
def test_statements_on_the_table_of_todos_change_the_plan(query: str, operations: list[op.Operation]) -> None:
    assert DIALECT.read_call(NativeCall("1", "sql", {"description": "x", "query": query})).operations == tuple(
        operations
    )


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO todos (id, title) VALUES ('a')",
        "INSERT INTO todos (id, title) VALUES ('a', 'Fix'), ('b')",
        "INSERT INTO todos (title) VALUES ('Fix', 'It')",
        "INSERT INTO todos (id) VALUES ('a')",
        "INSERT INTO todos (title, colour) VALUES ('Fix', 'red')",
        "INSERT INTO todos (title, status) VALUES ('Fix', 'lost')",
        "INSERT INTO other (id, title) VALUES ('a', 'Fix')",
        "INSERT INTO todo_deps (todo_id, depends_on) VALUES ('b', NULL)",
        "INSERT INTO todo_deps (todo_id, depends_on, more) VALUES ('b', 'a', 'c')",
        "UPDATE todos SET title = NULL WHERE id = 'b'",
        "UPDATE todos SET updated_at = 'now' WHERE id = 'b'",
        "UPDATE todos SET colour = 'red' WHERE id = 'b'",
        "DELETE FROM todos WHERE id = NULL",
        "SELECT * FROM todos ORDER BY id",
        "SELECT 1",
        "",
    ],
)
def test_any_other_statement_is_the_client_s_own(query: str) -> None:
    arguments = {"description": "x", "query": query}
    call = DIALECT.read_call(NativeCall("1", "sql", arguments))
    assert call.operations == (op.SteerClient("sql", arguments),)


@pytest.mark.parametrize("said, background", [({}, None), ({"mode": "sync"}, False), ({"mode": "background"}, True)])
def test_an_agent_is_waited_for_as_the_call_says(said: dict[str, str], background: bool | None) -> None:
    arguments = {"description": "x", "prompt": "p", "agent_type": "explore", "name": "n", **said}
    operation = op.SpawnAgent("p", "explore", "n", "x", background=background)
    assert DIALECT.read_call(NativeCall("1", "task", arguments)).operations == (operation,)
    assert [call.arguments for call in DIALECT.write_call("1", operation)] == [arguments]


def test_agents() -> None:
    task = ("task", {"description": "x", "prompt": "p", "agent_type": "explore", "name": "n"})
    assert understood(*task, "three") == out.AgentsOutcome((out.AgentReport(None, "completed", "three"),))
    started = "Agent started in background with agent_id: a-1. You'll be notified."
    assert understood(*task, started) == out.AgentsOutcome((out.AgentReport("a-1", "running"),))
    idle = (
        "Agent is idle (waiting for messages). agent_id: a-1, agent_type: explore, status: idle, description: Bg, "
        "elapsed: 1s, total_turns: 1\n\n[Turn 0]\nok"
    )
    report = out.AgentsOutcome(
        (out.AgentReport("a-1", "completed", "[Turn 0]\nok", agent="explore", description="Bg"),)
    )
    read = ("read_agent", {"agent_id": "a-1"})
    assert understood(*read, idle) == report
    assert understood(*read, told(*read, report).content) == report


def test_the_list_of_agents() -> None:
    text = (
        'Background agents:\n\nRunning (1):\n  o slow (a-1): general-purpose - "Bg" (0s, owner: s)\n\nIdle (1):\n'
        '  z look (a-2): explore - "Look" (0s, relation: child)'
    )
    outcome = out.AgentsOutcome(
        (
            out.AgentReport("a-1", "running", name="slow", agent="general-purpose", description="Bg"),
            out.AgentReport("a-2", "completed", name="look", agent="explore", description="Look"),
        )
    )
    assert understood("list_agents", {}, text) == outcome
    assert understood("list_agents", {}, told("list_agents", {}, outcome).content) == outcome


def test_a_message_was_delivered() -> None:
    write = ("write_agent", {"agent_id": "a", "message": "m"})
    text = "Message delivered to agent a."
    assert understood(*write, text) == out.DoneOutcome(text)
    assert told(*write, out.DoneOutcome()).content == text


def test_what_a_server_gave() -> None:
    assert understood("toy-echo", {}, "hi") == out.TextOutcome("hi")
    item = {"result": {"structuredContent": {"n": 7}}}
    assert understood("toy-stamp", {}, "7", item=item) == out.ContentOutcome(("7",), {"n": 7})


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, kind",
    [
        ("Tool 'no_such' does not exist.", "unknown_tool"),
        ('"path": Required', "invalid_arguments"),
        ("Permission denied because nobody was there.", "denied"),
        ("Path does not exist", "failed"),
    ],
)
def test_failures_by_their_words(text: str, kind: out.FailureKind) -> None:
    assert understood(*VIEW, text, is_error=True) == out.Failure(kind, text)


def test_a_denial_by_its_code() -> None:
    item = {"error": {"message": "No.", "code": "denied"}}
    assert understood(*VIEW, "No.", is_error=True, item=item) == out.Failure("denied", "No.")


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood(kind: out.FailureKind) -> None:
    written = told(*VIEW, out.Failure(kind, "so it is"))
    again = understood(*VIEW, written.content, is_error=written.is_error)
    assert isinstance(again, out.Failure)
    assert again.kind == kind
    assert told(*VIEW, again).content == written.content, "a failure told twice does not grow"


async def test_a_shell_that_is_named_stays_until_it_is_stopped(tmp_path: Path) -> None:
    dialect: Dialect = DIALECTS["copilot"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("bash", {"command": "cd /; TEA=green", "description": "go", "shellId": "main"}),
        ("bash", {"command": "echo $PWD $TEA", "description": "look", "shellId": "main"}),
        ("bash", {"command": "echo $TEA", "description": "look elsewhere"}),
        ("list_bash", {}),
        ("stop_bash", {"shellId": "main"}),
        ("bash", {"command": "echo $TEA", "description": "look again", "shellId": "main"}),
    ]
    told = []
    async with standard_context(DiskWorkspace(tmp_path)) as context:
        for name, arguments in calls:
            call = dialect.read_call(NativeCall("1", name, arguments))
            outcomes = [await perform(operation, context) for operation in call.operations]
            told.append(dialect.write_result(call, outcomes).content)
    assert told == [
        "\n<shellId: main completed with exit code 0>",
        "/ green\n<shellId: main completed with exit code 0>",
        "\n<command completed with exit code 0>",
        "Active shell sessions:\n  shellId: main, status: completed (exit code: 0)\n"
        "    current command: echo $PWD $TEA",
        "<command with id: main stopped>",
        "\n<shellId: main completed with exit code 0>",
    ]


# ── an agent that only searches, and the editor ──────────────────────────────


@pytest.mark.parametrize(
    "name, arguments, operation",
    [
        ("read_file", {"filePath": "a.py", "startLine": 5, "endLine": 9}, op.ReadFile("a.py", 5, 9)),
        ("read_file", {"filePath": "a.py", "offset": 5, "limit": 5}, op.ReadFile("a.py", 5, 9)),
        (
            "grep_search",
            {"query": "a|b", "isRegexp": True, "includePattern": "src/**", "maxResults": 5},
            op.SearchText("a|b", include="src/**", limit=5),
        ),
        ("grep_search", {"query": "a|b", "isRegexp": False}, op.SearchText("a|b", literal=True)),
        ("file_search", {"query": "**/*.py"}, op.FindFiles("**/*.py")),
        ("create", {"path": "a", "file_text": "x"}, op.WriteFile("a", "x", overwrite=False)),
        ("str_replace_editor", {"command": "view", "path": "a", "view_range": [2, 3]}, op.ReadFile("a", 2, 3)),
        ("str_replace_editor", {"command": "create", "path": "a"}, op.WriteFile("a", "", overwrite=False)),
        (
            "str_replace_editor",
            {"command": "create", "path": "a", "file_text": "x"},
            op.WriteFile("a", "x", overwrite=False),
        ),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
            op.EditFile("a", (op.Edit("x", "y"),)),
        ),
        ("str_replace_editor", {"command": "insert", "path": "a", "insert_line": 2}, op.InsertText("a", 2, "")),
        (
            "str_replace_editor",
            {"command": "insert", "path": "a", "insert_line": 0, "new_str": "x"},
            op.InsertText("a", 0, "x"),
        ),
        ("semantic_search", {"query": "matrix"}, op.SearchDocuments("matrix")),
        ("list_dir", {"path": "/p"}, op.ListDirectory("/p")),
        ("create_file", {"filePath": "a.py", "content": "x"}, op.WriteFile("a.py", "x", overwrite=False)),
        (
            "replace_string_in_file",
            {"filePath": "a.py", "oldString": "1", "newString": "2"},
            op.EditFile("a.py", (op.Edit("1", "2"),)),
        ),
        (
            "run_in_terminal",
            {"command": "ls", "explanation": "List.", "isBackground": False},
            op.RunCommand("ls", purpose="List."),
        ),
        ("get_terminal_output", {"id": "7"}, op.ReadOutput("7")),
        ("fetch_webpage", {"urls": ["https://a.example"], "query": "x"}, op.FetchPage("https://a.example", "x")),
        ("web_search", {"query": "x"}, op.SearchWeb("x")),
        (
            "manage_todo_list",
            {"todoList": [{"id": 1, "title": "Fix", "description": "it", "status": "in-progress"}]},
            op.UpdatePlan((op.PlanItem("Fix", "in_progress", "1", "it"),)),
        ),
        ("manage_todo_list", {"operation": "read"}, op.ReadPlan()),
        ("runSubagent", {"prompt": "Count.", "description": "c"}, op.SpawnAgent("Count.", description="c")),
        ("lsp", {"operation": "hover", "file": "a.py"}, op.SteerClient("lsp", {"operation": "hover", "file": "a.py"})),
        ("report_progress", {"commitMessage": "x"}, op.SteerClient("report_progress", {"commitMessage": "x"})),
        ("tool_search_tool_regex", {"pattern": "mail"}, op.SearchTools("mail")),
    ],
)
def test_tools_that_are_not_everywhere_are_known(name: str, arguments: dict[str, Any], operation: op.Operation) -> None:
    call = DIALECTS["copilot"].read_call(NativeCall("1", name, arguments))
    assert (call.operations, call.unmapped, call.failure) == ((operation,), {}, None)


def test_a_text_is_not_inserted_where_no_line_is_named() -> None:
    call = DIALECT.read_call(NativeCall("1", "str_replace_editor", {"command": "insert", "path": "a", "new_str": "x"}))
    assert call.failure is not None
    assert call.failure.message == "str_replace_editor: insert_line: name the line to insert after"


def test_a_result_of_the_editor_may_say_only_that_it_went_well() -> None:
    dialect = DIALECTS["copilot"]
    call = dialect.read_call(NativeCall("1", "multi_replace_string_in_file", {"replacements": [_REPLACED, _REPLACED]}))
    assert call.operations == (op.EditFile("a.py", (op.Edit("1", "2"),)),) * 2
    assert dialect.read_result(call, NativeResult("1", "")).outcomes == (out.DoneOutcome(),) * 2
    assert (
        dialect.read_result(call, NativeResult("1", "no such text")).outcomes == (out.TextOutcome("no such text"),) * 2
    )


_REPLACED = {"filePath": "a.py", "oldString": "1", "newString": "2"}


# ── answers and pages ────────────────────────────────────────────────────────

ASK = ("ask_user", {"question": "Which?", "choices": ["a", "b"], "allow_freeform": True})


def test_what_the_user_chose_or_wrote_is_an_answer() -> None:
    assert understood(*ASK, "User selected: b") == out.AnswersOutcome((out.Answer("Which?", ("b",)),))
    assert understood(*ASK, "User responded: none") == out.AnswersOutcome((out.Answer("Which?", text="none"),))
    alone = "User responded: The user is not available to respond and will review your work later."
    assert understood(*ASK, alone) == out.TextOutcome(alone)


def test_a_form_is_a_question_for_each_of_its_fields() -> None:
    fields = {
        "color": {"type": "string", "title": "Color?", "enum": ["red", "blue"]},
        "sizes": {"type": "array", "items": {"enum": ["s", "m"]}},
    }
    form = {"message": "How?", "requestedSchema": {"type": "object", "properties": fields}}
    call = DIALECT.read_call(NativeCall("1", "ask_user", form))
    assert call.operations == (
        op.AskUser(
            (
                op.Question("Color?", (op.Option("red"), op.Option("blue")), "How?", id="color"),
                op.Question("sizes", (op.Option("s"), op.Option("m")), "How?", multiple=True, id="sizes"),
            )
        ),
    )
    one = {**form, "requestedSchema": {"properties": {"color": fields["color"]}}}
    assert understood("ask_user", one, "User responded: red") == out.AnswersOutcome((out.Answer("Color?", ("red",)),))
    assert DIALECT.read_call(NativeCall("1", "ask_user", {})).failure is not None


def test_a_page_that_was_fetched_and_pages_that_were_found() -> None:
    fetch = ("web_fetch", {"url": "https://a.example", "raw": False})
    text = "Contents of https://a.example:\n# A\n\nwords"
    assert understood(*fetch, text) == out.PagesOutcome((out.Page("https://a.example", text="# A\n\nwords"),))
    note = "\n\n<note>Content truncated. Call the fetch tool with a start_index of 9 to get more content.</note>"
    assert understood(*fetch, text + note) == out.PagesOutcome(
        (out.Page("https://a.example", text="# A\n\nwords", truncated=True),)
    )
    cited = {"url_citation": {"title": "A", "url": "https://a.example"}}
    found = {"type": "output_text", "text": {"value": "It is so.", "annotations": [cited, cited]}}
    assert understood("web_search", {"query": "is it"}, json.dumps(found)) == out.PagesOutcome(
        (out.Page("https://a.example", "A"),), "It is so.", "is it"
    )
    assert understood("list_agents", {}, "<no background agents>") == out.AgentsOutcome(())


# ── versions ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "version, name, arguments, text, outcome",
    [
        ("1.0.42", *VIEW, "1. x\n2.  y\n3. ", out.FileOutcome("a.py", "x\n y\n")),
        ("1.0.85", *VIEW, "1. x\ny", out.FileOutcome("a.py", "1. x\ny")),  # between two captured ones, by shape
        ("1.0.92", *VIEW, "1. x\n2. y", out.TextOutcome("1. x\n2. y")),  # a list, or numbers again: nobody can tell
        ("1.0.42", *VIEW, "Viewed image file successfully.", out.TextOutcome("Viewed image file successfully.")),
        (
            *("1.0.55", "bash", {"command": "false", "description": ""}, "no\n<exited with exit code 2>"),
            out.CommandOutcome(2, output="no"),
        ),
        (
            *("1.0.20", "bash", {"command": "true", "description": ""}, "<exited with exit code 0>"),
            out.CommandOutcome(0, output=""),
        ),
        (
            *("0.0.390", "read_bash", {"sessionId": "k", "delay": 1}),
            "1\n<command with sessionId: k is still running after 1 seconds. More.>",
            out.CommandOutcome(output="1", running=True, job="k"),
        ),
    ],
)
def test_results_of_an_earlier_version_are_read_as_it_gave_them(
    version: str, name: str, arguments: dict[str, Any], text: str, outcome: out.Outcome
) -> None:
    dialect = DIALECTS["copilot"].at(version)
    call = dialect.read_call(NativeCall("1", name, arguments))
    assert dialect.read_result(call, NativeResult("1", text)).outcomes == (outcome,)
