"""Results of Cline's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out

DIALECT: Dialect = DIALECTS["cline"].knowing(servers=("toy",))


def understood(
    name: str, arguments: dict[str, Any], told: Any, *, is_error: bool | None = None
) -> tuple[out.Outcome, ...]:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    content = told if isinstance(told, str) else json.dumps(told)
    return DIALECT.read_result(call, NativeResult("1", content, is_error)).outcomes


def told(name: str, arguments: dict[str, Any], *outcomes: out.Outcome) -> Any:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    content = DIALECT.write_result(call, outcomes).content
    assert isinstance(content, str)
    return json.loads(content)


def entry(query: str, result: Any, error: str | None = None) -> dict[str, Any]:
    wrong = {} if error is None else {"error": error}
    return {"query": query, "result": result, **wrong, "success": error is None}


# ── files ────────────────────────────────────────────────────────────────────

READ = ("read_files", {"files": [{"path": "a.py"}, {"path": "b.py", "start_line": 9, "end_line": 10}]})


def test_every_file_has_its_entry_with_numbered_lines() -> None:
    entries = [entry("a.py", "1 | x = 1\n2 | "), entry("b.py:9-10", " 9 | a\n10 |   b")]
    outcomes = (out.FileOutcome("a.py", "x = 1\n"), out.FileOutcome("b.py", "a\n  b", 9))
    assert understood(*READ, entries) == outcomes
    assert told(*READ, *outcomes) == entries


def test_one_file_that_fails_does_not_fail_the_others() -> None:
    entries = [entry("a.py", "", "Error reading file: ENOENT"), entry("b.py:9-10", "9 | a")]
    outcomes = (out.Failure("failed", "Error reading file: ENOENT"), out.FileOutcome("b.py", "a", 9))
    assert understood(*READ, entries) == outcomes
    assert told(*READ, *outcomes) == entries


def test_an_image_stands_in_its_entry() -> None:
    read = ("read_files", {"files": [{"path": "a.png"}]})
    pieces = [
        {"type": "text", "text": "Successfully read image"},
        {"type": "image", "data": "aGk=", "mediaType": "image/png"},
    ]
    outcome = out.ImageOutcome(out.Media("image/png", "aGk="))
    assert understood(*read, [entry("a.png", pieces)]) == (outcome,)
    assert told(*read, outcome) == [entry("a.png", pieces)]


def test_a_result_of_another_shape_is_what_it_is() -> None:
    assert understood(*READ, "nothing") == (out.TextOutcome("nothing"),) * 2


def test_the_editor_tells_what_it_did() -> None:
    edit = ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"})
    difference = "Edited a.py\n```diff\n-14: x\n+14: y\n+15: z\n```"
    edited = out.ChangesOutcome((out.Change("a.py", "modified", added=2, removed=1),))
    assert understood(*edit, entry("edit:a.py", difference)) == (edited,)
    assert told(*edit, edited) == entry("edit:a.py", "Edited a.py (+2 -1)")
    assert understood(*edit, told(*edit, edited)) == (edited,)
    create = ("editor", {"path": "a.py", "new_text": "y"})
    created = out.ChangesOutcome((out.Change("a.py", "created"),))
    assert told(*create, created) == entry("edit:a.py", "File created successfully at: a.py")
    assert understood(*create, told(*create, created)) == (created,)
    insert = ("editor", {"path": "a.py", "new_text": "y", "insert_line": 1})
    inserted = out.ChangesOutcome((out.Change("a.py", "modified"),))
    assert told(*insert, inserted) == entry("insert:a.py", "Inserted content at line 1 in a.py.")
    assert understood(*insert, told(*insert, inserted)) == (inserted,)


def test_an_edit_that_failed() -> None:
    edit = ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"})
    failure = out.Failure("failed", "Editor operation failed: text not found")
    assert understood(*edit, entry("edit:a.py", "", failure.message)) == (failure,)
    assert told(*edit, failure) == entry("edit:a.py", "", failure.message)


# ── commands ─────────────────────────────────────────────────────────────────

RUN = ("run_commands", {"commands": ["x"]})


@pytest.mark.parametrize(
    "result, error, outcome",
    [
        ("42\n", None, out.CommandOutcome(0, output="42\n")),
        (
            "[Command exited with code 3]\npartial\n\n[stderr]\nboom\n",
            "Command exited with code 3",
            out.CommandOutcome(3, stdout="partial\n", stderr="boom\n"),
        ),
        ("[Command timed out]\n1", "Command timed out", out.CommandOutcome(output="1", timed_out=True)),
        (
            "[Command was ended by signal 9]\n1",
            "Command was ended by signal 9",
            out.CommandOutcome(output="1", signal=9),
        ),
        ("[Command is still running as job 7]\n1", None, out.CommandOutcome(output="1", running=True, job="7")),
    ],
)
def test_a_command_tells_how_it_ended(result: str, error: str | None, outcome: out.CommandOutcome) -> None:
    assert understood(*RUN, [entry("x", result, error)]) == (outcome,)
    assert told(*RUN, outcome) == [entry("x", result, error)]


def test_a_command_that_never_ran_is_a_failure() -> None:
    assert understood(*RUN, [entry("x", "", "spawn failed")]) == (out.Failure("failed", "spawn failed"),)


# ── searching and fetching ───────────────────────────────────────────────────


def test_matches_and_the_lines_next_to_them() -> None:
    search = ("search_codebase", {"queries": ["x"]})
    result = (
        "Found 2 results for pattern: x\n\na.md:3:3\n  4: after\n\n  1: other\n\n  2: before\n\n\nb.py:3:23\n  4: \n"
        "\n  11: far\n\n"
    )
    outcome = out.MatchesOutcome(
        (
            out.Match("a.md", 3, after=("after",), column=3),
            out.Match("b.py", 3, before=("other", "before"), after=("",), column=23),
        ),
        total=2,
    )
    assert understood(*search, [entry("x", result)]) == (outcome,)
    assert understood(*search, [entry("x", "No results found for pattern: x\nSearched 7 files.")]) == (
        out.MatchesOutcome(()),
    )


def test_matches_that_were_cut_say_so() -> None:
    search = ("search_codebase", {"queries": ["x"]})
    outcome = out.MatchesOutcome((out.Match("a.md", 3, "x", ("a",), ("b",)),), total=9, truncated=True)
    result = "Found 9 results for pattern: x\n\na.md:3\n  2: a\n> 3: x\n  4: b\n\n[more results are not shown]"
    assert told(*search, outcome) == [entry("x", result)]
    assert understood(*search, [entry("x", result)]) == (outcome,)


def test_a_page() -> None:
    url = "https://example.com/"
    fetch = ("fetch_web_content", {"requests": [{"url": url, "prompt": "limit?"}]})
    result = (
        f"URL: {url}\nContent-Type: text/html\nSize: 205 bytes\n\n--- Content ---\nHi\n\n--- Analysis Request ---\n"
    )
    outcome = out.PagesOutcome((out.Page(url, text="Hi", media_type="text/html"),))
    assert understood(*fetch, [entry(url, f"{result}Prompt: limit?")]) == (outcome,)
    assert understood(*fetch, told(*fetch, outcome)) == (outcome,)


# ── people, agents, plans, servers ───────────────────────────────────────────


def test_an_answer_is_a_bare_text() -> None:
    ask = ("ask_question", {"question": "Which?", "options": ["a", "b"]})
    assert understood(*ask, "a") == (out.AnswersOutcome((out.Answer("Which?", ("a",)),)),)
    assert understood(*ask, "neither") == (out.AnswersOutcome((out.Answer("Which?", text="neither"),)),)


def test_what_an_agent_had_to_say() -> None:
    spawn = ("spawn_agent", {"systemPrompt": "", "task": "x"})
    outcome = out.AgentsOutcome((out.AgentReport(None, "completed", "done"),))
    logged = {"text": "done", "iterations": 2, "finishReason": "completed", "usage": {"inputTokens": 1}}
    assert understood(*spawn, logged) == (outcome,)
    assert told(*spawn, outcome) == {"text": "done", "finishReason": "completed"}


def test_who_is_in_the_team() -> None:
    members = {"teamId": "t", "members": [{"agentId": "1", "role": "lead", "status": "running"}]}
    outcome = out.AgentsOutcome((out.AgentReport("1", "running", agent="lead"),))
    assert understood("team_status", {}, members) == (outcome,)
    assert understood("team_status", {}, told("team_status", {}, outcome)) == (outcome,)


def test_the_list_of_tasks() -> None:
    tasks = ("team_task", {"action": "list"})
    outcome = out.PlanOutcome((op.PlanItem("Fix", "blocked", "1", owner="anna", blocked_by=("2",)),))
    listed = {"id": "1", "title": "Fix", "status": "blocked", "assignee": "anna", "dependsOn": ["2"]}
    assert understood(*tasks, {"action": "list", "tasks": [listed]}) == (outcome,)
    assert told(*tasks, outcome) == {"action": "list", "tasks": [listed]}
    made = {"action": "create", "taskId": "1"}
    assert understood("team_task", {"action": "create", "title": "Fix"}, made) == (out.JsonOutcome(made),)


def test_what_a_server_gave() -> None:
    echo = ("toy__echo", {"text": "hi"})
    assert understood(*echo, {"content": [{"type": "text", "text": "hi"}]}) == (out.TextOutcome("hi"),)
    assert told(*echo, out.TextOutcome("hi")) == {"content": [{"type": "text", "text": "hi"}]}
    failed = {"content": [{"type": "text", "text": "no"}], "isError": True}
    assert understood(*echo, failed) == (out.Failure("failed", "no"),)


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "message, kind",
    [
        ("Tool call no_such was rejected before execution: AI_NoSuchToolError: no such", "unknown_tool"),
        ("Tool call editor was rejected before execution: AI_InvalidToolInputError: no path", "invalid_arguments"),
        ("something else", "failed"),
    ],
)
def test_a_call_that_was_refused_is_one_error(message: str, kind: out.FailureKind) -> None:
    assert understood("no_such", {"x": 1}, {"error": message}, is_error=True) == (out.Failure(kind, message),)


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood(kind: out.FailureKind) -> None:
    read = ("read_files", {"files": [{"path": "a.py"}]})
    written = told(*read, out.Failure(kind, "so it is"))
    (again,) = understood(*read, written)
    assert isinstance(again, out.Failure)
    assert again.kind == kind
    assert told(*read, again) == written, "a failure told twice does not grow"


# ── the extension for editors, and its forks ─────────────────────────────────


def meant(name: str, **arguments: Any) -> tuple[op.Operation, ...]:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    assert call.failure is None, call.failure
    return call.operations


def test_a_file_is_named_by_its_path_or_its_absolute_path() -> None:
    assert meant("write_to_file", absolutePath="/p/a", content="x") == (op.WriteFile("/p/a", "x"),)
    diff = "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE"
    edit = op.EditFile("/p/a", (op.Edit("x\n", "y\n", whole_lines=True),))
    assert meant("replace_in_file", absolutePath="/p/a", diff=diff, task_progress="- [x] z") == (edit,)
    call = DIALECT.read_call(NativeCall("1", "write_to_file", {"content": "x"}))
    assert call.failure is not None
    assert "name a file" in call.failure.message


def test_tools_of_the_extension_that_came_later() -> None:
    patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
    assert meant("apply_patch", input=f"apply_patch <<'X'\n{patch}\nX") == (op.DeleteFile("a"),)
    assert meant("apply_patch", patch=patch) == (op.DeleteFile("a"),)
    assert meant("edit", file_path="a", old_string="x", new_string="y", replace_all=True) == (
        op.EditFile("a", (op.Edit("x", "y", everywhere=True),)),
    )
    assert meant("edit_file", file_path="a", old_string="x", new_string="y", expected_replacements=2) == (
        op.EditFile("a", (op.Edit("x", "y", everywhere=True, expected=2),)),
    )
    assert meant("search_replace", file_path="a", old_string="", new_string="y") == (op.WriteFile("a", "y"),)
    assert meant("web_fetch", url="https://x.y", prompt="why") == (op.FetchPage("https://x.y", "why"),)
    assert meant("web_search", query="q", allowed_domains='["x.y"]') == (op.SearchWeb("q", ("x.y",)),)
    assert meant("use_subagents", prompt_1="a", prompt_2="b") == (op.SpawnAgent("a"), op.SpawnAgent("b"))
    assert meant("use_skill", skill_name="s") == (op.UseSkill("s"),)
    assert meant("skill", skill="s", args="x") == (op.UseSkill("s", "x"),)
    assert meant("read_command_output", artifact_id="cmd-1.txt", search="x") == (
        op.ReadOutput("cmd-1.txt", pattern="x"),
    )
    assert meant("mcp--docs--find", q="x") == (op.CallMcpTool("docs", "find", {"q": "x"}),)
    assert meant("ask_followup_question", question="q", follow_up=[{"text": "a", "mode": None}]) == (
        op.AskUser((op.Question("q", (op.Option("a"),)),)),
    )


def test_lines_of_a_file_are_named_in_all_its_ways() -> None:
    assert meant("read_file", path="a", offset=5, limit=2) == (op.ReadFile("a", 5, 6),)
    assert meant("read_file", path="a", mode="indentation", indentation={"anchor_line": 3}, limit=9) == (
        op.ReadFile("a"),
    )
    assert meant("read_file", files=[{"path": "a", "line_ranges": [[1, 2], [7, 9]]}, {"path": "b"}]) == (
        op.ReadFile("a", 1, 2),
        op.ReadFile("a", 7, 9),
        op.ReadFile("b"),
    )


def test_what_was_read_is_the_file_and_its_lines() -> None:
    assert understood("read_file", {"path": "a"}, "x\ny") == (out.FileOutcome("a", "x\ny"),)
    cut = "3 | x\n4 | y\n\n(Showing lines 3-4 of 9 total. Use start_line=5 to continue reading.)"
    assert understood("read_file", {"path": "a", "start_line": 3}, cut) == (out.FileOutcome("a", "x\ny", 3, 9),)
    assert understood("read_file", {"path": "a"}, "File: a\n1 | x\n2 | y") == (out.FileOutcome("a", "x\ny"),)
    assert understood("read_file", {"path": "a"}, "File: a\nError: gone") == (out.Failure("failed", "gone"),)
    args = "<file><path>a</path></file><file><path>b</path></file><file><path>c</path></file>"
    told = (
        '<files>\n<file><path>a</path>\n<content lines="1-2">\n1 | <file>\n2 | </file>\n</content>\n'
        "<notice>Showing only 2 of 9 total lines. Use line_range if you need to read more lines</notice>\n</file>\n"
        "<file><path>b</path><error>Error reading file: gone</error></file>\n"
        "<file><path>c</path><status>Denied by user</status></file>\n</files>"
    )
    assert understood("read_file", {"args": args}, told) == (
        out.FileOutcome("a", "<file>\n</file>", 1, 9, truncated=True),
        out.Failure("failed", "Error reading file: gone"),
        out.Failure("denied", "Denied by user"),
    )


@pytest.mark.parametrize(
    "told, outcome",
    [
        ("Command executed successfully (exit code 0).\nOutput:\nx", out.CommandOutcome(exit_code=0, output="x")),
        ("Command failed with exit code 2.\nOutput:\nx", out.CommandOutcome(exit_code=2, output="x")),
        ("Command executed.", out.CommandOutcome(output="")),
        (
            "Command is still running in the user's terminal.\nHere's the output so far:\nx",
            out.CommandOutcome(output="x", running=True),
        ),
        (
            "Command timed out after 30 seconds. Running in background.",
            out.CommandOutcome(output="", timed_out=True),
        ),
        ('{"status":"denied","feedback":"no"}', out.Failure("denied", "no")),
        ('{"status":"error","message":"it failed","error":"why"}', out.Failure("failed", "why")),
        ("Command was cancelled by the user.", out.Failure("cancelled", "Command was cancelled by the user.")),
    ],
)
def test_a_command_in_words_tells_how_it_ended(told: str, outcome: out.Outcome) -> None:
    assert understood("execute_command", {"command": "x"}, told) == (outcome,)


def test_changes_and_listings_in_words() -> None:
    diff = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
    saved = "The content was successfully saved to a.b/c.\n\nHere is the full, updated content"
    assert understood("replace_in_file", {"path": "a.b/c", "diff": diff}, saved) == (
        out.ChangesOutcome((out.Change("a.b/c", "modified"),)),
    )
    write = ("write_to_file", {"path": "a", "content": "x"})
    created = out.ChangesOutcome((out.Change("a", "created"),))
    assert understood(*write, '{"path":"a","operation":"created","notice":"n"}') == (created,)
    assert understood(*write, "<file_write_result>\n<operation>created</operation>") == (created,)
    cut = "a/\nb\n\n(File list truncated. Use list_files on specific subdirectories if you need to explore further.)"
    assert understood("list_files", {"path": "p"}, cut) == (
        out.DirectoryOutcome("p", (out.Entry("a", "directory"), out.Entry("b")), truncated=True),
    )
    nothing = (out.DirectoryOutcome("p", ()),)
    assert understood("list_files", {"path": "p", "recursive": "true"}, "No files found.") == nothing
    marked = "\U0001f512 .rooignore\n\U0001f6e1\ufe0f .roomodes\na.md"
    entries = (out.Entry(".rooignore"), out.Entry(".roomodes"), out.Entry("a.md"))
    assert understood("list_files", {"path": "p"}, marked) == (out.DirectoryOutcome("p", entries),)


# ── the patch that models of OpenAI get ──────────────────────────────────────

PATCH = "*** Begin Patch\n{}\n*** End Patch"


@pytest.mark.parametrize(
    "model, offered",
    [
        # 3.0.65 on loopback, with these names: the words count, not who serves the model.
        ("gpt-5.5", "apply_patch"),
        ("chatgpt-4o", "apply_patch"),
        ("openai/gpt-oss-120b", "apply_patch"),
        ("codex-mini-latest", "apply_patch"),
        ("o3-mini", "editor"),
        ("claude-sonnet-4-5", "editor"),
        (None, "editor"),
    ],
)
def test_models_of_openai_are_offered_a_patch_in_place_of_the_editor(model: str | None, offered: str) -> None:
    names = {one.name for one in DIALECTS["cline"].at(family=model).definitions()}
    assert names & {"apply_patch", "editor"} == {offered}


@pytest.mark.parametrize(
    "patch, result, changes",
    [
        ("*** Add File: n.txt\n+one", "n.txt", [("n.txt", "created", None)]),
        ("*** Update File: a.txt\n@@\n-b\n+B", "a.txt", [("a.txt", "modified", None)]),
        ("*** Delete File: d.txt", "d.txt: [deleted]", [("d.txt", "deleted", None)]),
        (
            "*** Add File: sub/e.txt\n+e\n*** Update File: a.txt\n@@\n-B\n+b\n*** Delete File: n.txt",
            "sub/e.txt\na.txt\nn.txt: [deleted]",
            [("sub/e.txt", "created", None), ("a.txt", "modified", None), ("n.txt", "deleted", None)],
        ),
        (
            "*** Update File: b.txt\n*** Move to: c.txt\n@@\n-x\n+y",
            "b.txt -> c.txt",
            [("b.txt", "modified", None), ("b.txt", "moved", "c.txt")],
        ),
    ],
)
def test_a_patch_tells_what_it_did_to_each_file(
    patch: str, result: str, changes: list[tuple[str, str, str | None]]
) -> None:
    asked = ("apply_patch", {"input": PATCH.format(patch)})
    one = entry("apply_patch", f"Successfully applied patch to the following files:\n{result}")
    outcomes = understood(*asked, one)
    found = [change for outcome in outcomes if isinstance(outcome, out.ChangesOutcome) for change in outcome.changes]
    assert {(change.path, change.kind, change.moved_to) for change in found} == {*changes}
    assert told(*asked, *outcomes) == one


@pytest.mark.parametrize(
    "content, lines", [("z = 1", "+z = 1"), ("z = 1\n", "+z = 1\n+"), ("", "+"), ("a\n\n", "+a\n+\n+")]
)
def test_the_last_line_of_a_new_file_gets_no_end(content: str, lines: str) -> None:
    written = op.WriteFile("n.py", content, overwrite=False)
    (call,) = DIALECT.at(family="gpt-5.5").write_call("1", written)
    assert call.arguments == {"input": PATCH.format(f"*** Add File: n.py\n{lines}")}
    assert DIALECT.read_call(NativeCall("1", "apply_patch", call.arguments)).operations == (written,)


def test_a_patch_that_does_not_fit_is_a_failure_of_all_it_would_do() -> None:
    two = PATCH.format("*** Update File: a.txt\n@@\n-x\n+y\n*** Update File: missing.txt\n@@\n-q\n+r")
    one = entry("apply_patch", "", "apply_patch failed: File not found: missing.txt")
    outcomes = understood("apply_patch", {"input": two}, one)
    assert outcomes == (out.Failure("failed", "File not found: missing.txt"),) * 2
    assert told("apply_patch", {"input": two}, *outcomes) == one


def test_a_batch_of_which_nothing_worked_is_a_failure_though_the_call_could_not_be_read() -> None:
    read = ("read_files", {"path": "wrong"})
    failed = entry("wrong", "", "ENOENT: no such file")
    assert understood(*read, [failed]) == (out.Failure("failed", "ENOENT: no such file"),)
    worked = json.dumps([failed, entry("a", "1 | x")])
    assert understood(*read, worked) == (out.TextOutcome(worked),)
