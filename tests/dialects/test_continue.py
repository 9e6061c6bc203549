"""Results of Continue's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out

DIALECT: Dialect = DIALECTS["continue"].knowing(servers={"toy": ("echo",)})
Content = str | tuple[str | out.Media, ...]


def understood(name: str, arguments: dict[str, Any], content: Content, *, is_error: bool | None = None) -> out.Outcome:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    (outcome,) = DIALECT.read_result(call, NativeResult("1", content, is_error)).outcomes
    return outcome


def told(name: str, arguments: dict[str, Any], outcome: out.Outcome) -> NativeResult:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    return DIALECT.write_result(call, (outcome,))


# ── files ────────────────────────────────────────────────────────────────────

READ = ("Read", {"filepath": "a.py"})


@pytest.mark.parametrize(
    "text, outcome",
    [
        ("Content of a.py:\nx = 1\n", out.FileOutcome("a.py", "x = 1\n")),
        ("Content of a.py (from line 5):\nx", out.FileOutcome("a.py", "x", 5)),
        ("Content of a.py (from line 1, cut):\nx", out.FileOutcome("a.py", "x", truncated=True)),
    ],
)
def test_a_file_is_its_text_under_its_name(text: str, outcome: out.FileOutcome) -> None:
    assert understood(*READ, text) == outcome
    assert told(*READ, outcome).content == text


def test_an_image_stands_beside_a_sentence() -> None:
    outcome = out.ImageOutcome(out.Media("image/png", "aGk="))
    content = told(*READ, outcome).content
    assert content == ("Image file: a.py (image/png)", outcome.image)
    assert understood(*READ, content) == outcome


def test_a_folder() -> None:
    listing = ("List", {"dirpath": "src"})
    text = "Files in src:\nlib (directory)\na.py (file, 13 bytes)"
    outcome = out.DirectoryOutcome("src", (out.Entry("lib", "directory"), out.Entry("a.py", "file", 13)))
    assert understood(*listing, text) == outcome
    assert told(*listing, outcome).content == text
    assert understood(*listing, "Files in src:\n") == out.DirectoryOutcome("src", ())


def test_a_written_file_was_there_before_or_not() -> None:
    write = ("Write", {"filepath": "a.py", "content": "x"})
    created = out.ChangesOutcome((out.Change("a.py", "created"),))
    assert understood(*write, "Successfully created file: a.py") == created
    assert told(*write, created).content == "Successfully created file: a.py"
    assert understood(*write, "Successfully wrote to file: a.py") == out.ChangesOutcome(
        (out.Change("a.py", "modified"),)
    )


def test_edits_tell_the_difference() -> None:
    edit = ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]})
    difference = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"
    outcome = out.ChangesOutcome((out.Change("a.py", "modified", diff=difference, added=2, removed=1),))
    head = f"Index: a.py\n{'=' * 67}\n--- a.py\n+++ a.py\n"
    text = f"Successfully edited a.py with 1 edit\nDiff:\n{head}@@ -1,1 +1,2 @@\n-x\n+y\n+z\n"
    assert understood(*edit, text) == outcome
    assert told(*edit, outcome).content == text


# ── commands ─────────────────────────────────────────────────────────────────

BASH = ("Bash", {"command": "x", "timeout": 2})
ERROR = "Error executing tool Bash: "


@pytest.mark.parametrize(
    "text, is_error, outcome",
    [
        ("hi\n", None, out.CommandOutcome(output="hi\n")),
        ("a\n\nStderr: b\n", None, out.CommandOutcome(0, stdout="a\n", stderr="b\n")),
        (f"{ERROR}Error (exit code 3): boom\n", True, out.CommandOutcome(3, stderr="boom\n")),
        (f"{ERROR}Error (exit code 3): a\nStderr: b", True, out.CommandOutcome(3, stdout="a", stderr="b")),
        (f"{ERROR}Error (ended by signal 9): b", True, out.CommandOutcome(stderr="b", signal=9)),
        (
            "1\n\n\n[Command timed out after 2 seconds of no output]",
            None,
            out.CommandOutcome(output="1\n", timed_out=True),
        ),
        (
            'Command moved to background. Job ID: bg-1\nOutput so far:\n1\n\nUse CheckBackgroundJob("bg-1") to check '
            "status.",
            None,
            out.CommandOutcome(output="1\n", running=True, job="bg-1"),
        ),
    ],
)
def test_a_command_tells_how_it_ended(text: str, is_error: bool | None, outcome: out.CommandOutcome) -> None:
    assert understood(*BASH, text, is_error=is_error) == outcome
    assert understood(*BASH, text) == outcome, "the wire has no flag"
    written = told(*BASH, outcome)
    assert (written.content, written.is_error) == (text, is_error)


def test_a_command_that_failed_in_silence_cannot_be_told_from_one_that_did_not() -> None:
    assert understood(*BASH, "") == out.CommandOutcome(output="")


def test_a_job() -> None:
    check = ("CheckBackgroundJob", {"job_id": "bg-1"})
    text = '{"job_id": "bg-1", "status": "failed", "command": "x", "output": "1\\n", "started_at": "2026-01-01T00:00Z"'
    text += ', "ended_at": "2026-01-01T00:02Z", "duration_seconds": 2, "exit_code": 3}'
    assert understood(*check, text) == out.CommandOutcome(3, output="1\n", job="bg-1", duration_ms=2000)
    running = out.CommandOutcome(output="1\n", running=True, job="bg-1")
    assert understood(*check, told(*check, running).content) == running
    missing = '{"error":"Job bg-1 not found","available_jobs":[]}'
    assert understood(*check, missing) == out.Failure("failed", "Job bg-1 not found", {"available_jobs": []})


# ── searching, fetching, planning ────────────────────────────────────────────


def test_matches() -> None:
    search = ("Search", {"pattern": "x", "file_pattern": "*.py"})
    found = out.MatchesOutcome((out.Match("a.py", 3, "x: 1"), out.Match("b.py", 5, "  x")))
    text = 'Search results for pattern "x" in files matching "*.py":\n\na.py:3:x: 1\nb.py:5:  x\n'
    assert understood(*search, text) == found
    assert told(*search, found).content == text
    nothing = 'No matches found for pattern "x" in files matching "*.py".'
    assert told(*search, out.MatchesOutcome(())).content == nothing
    assert understood(*search, nothing) == out.MatchesOutcome(())
    assert understood(*search, f"Error executing tool Search: {nothing}", is_error=True) == out.MatchesOutcome(())


def test_matches_that_were_cut_say_so() -> None:
    search = ("Search", {"pattern": "x"})
    text = 'Search results for pattern "x":\n\na.py:3:x\n\n[Results truncated: showing 1 of 200 matches]'
    outcome = out.MatchesOutcome((out.Match("a.py", 3, "x"),), total=200, truncated=True)
    assert understood(*search, text) == outcome
    assert told(*search, outcome).content == text


def test_a_page_is_its_text() -> None:
    fetch = ("Fetch", {"url": "https://example.com/"})
    outcome = out.PagesOutcome((out.Page("https://example.com/", text="# Hi"),))
    assert understood(*fetch, "# Hi") == outcome
    assert told(*fetch, outcome).content == "# Hi"


def test_a_plan_is_told_as_it_stands() -> None:
    checklist = ("Checklist", {"checklist": "- [ ] a"})
    outcome = out.PlanOutcome((op.PlanItem("a"), op.PlanItem("b", "completed")))
    text = "Task list status:\n- [ ] a\n- [x] b"
    assert understood(*checklist, text) == outcome
    assert told(*checklist, outcome).content == text


@pytest.mark.parametrize(
    "options, text, answer",
    [
        (["a", "b"], 'User selected option 2: "b"', out.Answer("Which?", ("b",))),
        (["a", "b"], 'User provided custom answer: "c"', out.Answer("Which?", text="c")),
        ([], 'User answered: "c"', out.Answer("Which?", text="c")),
    ],
)
def test_answers(options: list[str], text: str, answer: out.Answer) -> None:
    ask = ("AskQuestion", {"question": "Which?", "options": options})
    assert understood(*ask, text) == out.AnswersOutcome((answer,))
    assert told(*ask, out.AnswersOutcome((answer,))).content == text


def test_an_answer_that_was_declined_is_a_denial() -> None:
    text = "The user declined to answer your question."
    assert understood("AskQuestion", {"question": "Which?", "options": []}, text) == out.Failure("denied", text)


def test_what_a_server_gave() -> None:
    echo = ("echo", {"text": "hi"})
    assert understood(*echo, '[{"type":"text","text":"hi"}]') == out.TextOutcome("hi")
    assert told(*echo, out.TextOutcome("hi")).content == '[{"type":"text","text":"hi"}]'
    picture = '[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","data":"aGk="}]'
    assert understood(*echo, picture) == out.ContentOutcome(("hi", out.Media("image/png", "aGk=")))


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, kind, is_error",
    [
        ("Tool Read not found", "unknown_tool", None),
        ("Error executing tool Read: File does not exist: a.py", "failed", None),
        ("Error executing tool Read: Required argument missing", "invalid_arguments", None),
        ("Directory does not exist: a", "failed", True),
    ],
)
def test_failures_by_their_words(text: str, kind: out.FailureKind, is_error: bool | None) -> None:
    assert understood(*READ, text, is_error=is_error) == out.Failure(kind, text)


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood_without_a_flag(kind: out.FailureKind) -> None:
    written = told(*READ, out.Failure(kind, "so it is"))
    again = understood(*READ, written.content)
    assert isinstance(again, out.Failure)
    assert again.kind == kind
    assert told(*READ, again).content == written.content, "a failure told twice does not grow"


# ── the extension for editors ────────────────────────────────────────────────


def meant(name: str, **arguments: Any) -> op.Operation:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    assert call.failure is None, call.failure
    (operation,) = call.operations
    return operation


@pytest.mark.parametrize("mark", ["", "builtin_"])
def test_tools_of_the_extension_by_both_their_names(mark: str) -> None:
    assert meant(f"{mark}read_file", filepath="a") == op.ReadFile("a")
    assert meant(f"{mark}read_file_range", filepath="a", startLine=2, endLine=3) == op.ReadFile("a", 2, 3)
    assert meant(f"{mark}create_new_file", filepath="a", contents="x") == op.WriteFile("a", "x", overwrite=False)
    edit = op.EditFile("a", (op.Edit("x", "y", everywhere=True),))
    replacement = {"old_string": "x", "new_string": "y", "replace_all": True}
    assert meant(f"{mark}single_find_and_replace", filepath="a", **replacement) == edit
    assert meant(f"{mark}multi_edit", filepath="a", edits=[replacement]) == edit
    assert meant(f"{mark}run_terminal_command", command="x", waitForCompletion=False) == op.RunCommand(
        "x", background=True
    )
    assert meant(f"{mark}grep_search", query="x") == op.SearchText("x")
    assert meant(f"{mark}file_glob_search", pattern="*.py") == op.FindFiles("*.py")
    assert meant(f"{mark}ls") == op.ListDirectory(".")
    assert meant(f"{mark}ls", dirPath="src", recursive=True) == op.FindFiles("**/*", "src")
    assert meant(f"{mark}search_web", query="x") == op.SearchWeb("x")
    assert meant(f"{mark}fetch_url_content", url="https://x.y") == op.FetchPage("https://x.y")
    assert isinstance(meant(f"{mark}edit_existing_file", filepath="a", changes="// ..."), op.SteerClient)
    assert isinstance(meant(f"{mark}view_diff"), op.SteerClient)


def given(name: str, arguments: dict[str, Any], *pieces: tuple[str, str], **beside: str) -> out.Outcome:
    output = [{"name": title, "description": "", "content": text, **beside} for title, text in pieces]
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    native = NativeResult("1", "\n".join(text for _, text in pieces), item={"status": "done", "output": output})
    (outcome,) = DIALECT.read_result(call, native).outcomes
    return outcome


def test_results_of_the_extension_are_typed_by_what_stands_beside_them() -> None:
    cut = ("Truncation warning", "2 ls entries were truncated")
    assert given("read_file", {"filepath": "a"}, ("a", "x\n")) == out.FileOutcome("a", "x\n")
    assert given("ls", {"dirPath": "p"}, ("File/folder list", "s/\na"), cut) == out.DirectoryOutcome(
        "p", (out.Entry("s", "directory"), out.Entry("a")), truncated=True
    )
    assert given("file_glob_search", {"pattern": "*"}, ("File results", "a\nb")) == out.PathsOutcome(("a", "b"))
    none = ("File results", "The glob search returned no results.")
    assert given("file_glob_search", {"pattern": "*"}, none) == out.PathsOutcome(())
    nothing = ("Search results", "The search returned no results.")
    assert given("grep_search", {"query": "x"}, nothing) == out.MatchesOutcome(())
    written = ("a", "File created successfuly")
    assert given("create_new_file", {"filepath": "a", "contents": "x"}, written) == out.ChangesOutcome(
        (out.Change("a", "created"),)
    )
    replace = {"filepath": "a", "old_string": "x", "new_string": "y"}
    assert given("single_find_and_replace", replace, ("Edit", "Successfully edited a")) == out.ChangesOutcome(
        (out.Change("a", "modified"),)
    )
    page = out.PagesOutcome((out.Page("https://x.y", text="p", truncated=True),))
    assert given("fetch_url_content", {"url": "https://x.y"}, ("p", "p"), cut) == page


@pytest.mark.parametrize(
    "status, outcome",
    [
        ("Command completed", out.CommandOutcome(0, output="x")),
        ("Command failed with exit code 3", out.CommandOutcome(3, output="x")),
        ("Command timed out", out.CommandOutcome(output="x", timed_out=True)),
        ("Command is running in the background...", out.CommandOutcome(output="x", running=True)),
        ("", out.CommandOutcome(output="x")),
    ],
)
def test_a_command_of_the_extension(status: str, outcome: out.Outcome) -> None:
    assert given("run_terminal_command", {"command": "c"}, ("Terminal", "x"), status=status) == outcome
