"""Results of Claude Code's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out

DIALECT = DIALECTS["claude_code"]
REMINDER = "\n\n<system-reminder>\nThink twice.\n</system-reminder>\n"
Content = str | tuple[str | out.Media, ...]


def understood(
    name: str,
    arguments: dict[str, Any],
    content: Content,
    *,
    is_error: bool | None = None,
    item: Any = None,
) -> out.Outcome:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    (outcome,) = DIALECT.read_result(call, NativeResult("1", content, is_error, item=item)).outcomes
    return outcome


def told(name: str, arguments: dict[str, Any], outcome: out.Outcome) -> tuple[Content, bool | None]:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    result = DIALECT.write_result(call, (outcome,))
    return result.content, result.is_error


# ── files ────────────────────────────────────────────────────────────────────

READ = ("Read", {"file_path": "a.py"})


def test_a_file_is_told_in_numbered_lines() -> None:
    outcome = out.FileOutcome("a.py", "x = 1\n", first_line=9)
    assert told(*READ, outcome) == ("9\tx = 1\n10\t", None)
    assert understood(*READ, "9\tx = 1\n10\t") == outcome


def test_numbers_stood_before_an_arrow_and_reminders_after_the_text() -> None:
    assert understood(*READ, f"     1→x = 1\n     2→{REMINDER}") == out.FileOutcome("a.py", "x = 1\n")


@pytest.mark.parametrize("text", ["1\tx = 1\n2\ty\n3", "     1→x = 1\n     2→y\n     3"])
def test_the_last_line_is_there_when_its_end_was_trimmed_before_a_reminder(text: str) -> None:
    """As 2.1.325 sends it: the result is trimmed, so that of an empty last line only the number is left."""
    assert understood(*READ, text + REMINDER) == out.FileOutcome("a.py", "x = 1\ny\n")


def test_a_number_that_does_not_continue_the_lines_is_no_line() -> None:
    assert understood(*READ, "1\tx\n7") == out.TextOutcome("1\tx\n7")


IMAGE = out.Media("image/png", "aGk=")


@pytest.mark.parametrize(
    "content, outcome",
    [
        (f"seven{REMINDER}", out.TextOutcome("seven")),
        (("seven", REMINDER), out.TextOutcome("seven")),
        ((f"seven{REMINDER}",), out.TextOutcome("seven")),
        (("seven", "eight", REMINDER, REMINDER), out.ContentOutcome(("seven", "eight"))),
        ((IMAGE, REMINDER), out.ImageOutcome(IMAGE)),
        (("a picture", IMAGE, REMINDER), out.ContentOutcome(("a picture", IMAGE))),
        ((REMINDER, "seven"), out.ContentOutcome((REMINDER, "seven"))),
    ],
)
def test_reminders_at_the_end_are_no_part_of_what_a_server_gave(content: Content, outcome: out.Outcome) -> None:
    assert understood("mcp__toy__add", {"a": 1}, content) == outcome
    native = NativeResult("1", content)
    call = DIALECT.read_call(NativeCall("1", "mcp__toy__add", {"a": 1}))
    assert DIALECT.read_result(call, native).native is native


def test_reminders_at_the_end_are_no_part_of_a_picture_or_a_notebook() -> None:
    assert understood(*READ, (IMAGE, REMINDER)) == out.ImageOutcome(IMAGE)
    notebook = understood("Read", {"file_path": "a.ipynb"}, ('<cell id="c">x</cell id="c">', REMINDER))
    assert notebook == out.NotebookOutcome("a.ipynb", (out.Cell("x", "code", "c"),))


def test_a_reminder_stays_in_the_native_result() -> None:
    call = DIALECT.read_call(NativeCall("1", *READ))
    native = NativeResult("1", f"1\tx{REMINDER}")
    assert DIALECT.read_result(call, native).native is native


def test_a_line_of_a_file_is_no_reminder() -> None:
    text = "1\tx\n2\t<system-reminder>y</system-reminder>"
    assert understood(*READ, text) == out.FileOutcome("a.py", "x\n<system-reminder>y</system-reminder>")


def test_an_empty_file_has_only_reminders() -> None:
    assert understood(*READ, "<system-reminder>It is empty.</system-reminder>") == out.FileOutcome("a.py", "")


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_record_of_a_file_says_how_long_it_is(wrapped: bool) -> None:
    record = {"type": "text", "file": {"filePath": "a.py", "content": "x\ny", "startLine": 2, "totalLines": 9}}
    item = {"toolUseResult": record, "permissionDecision": {"decision": "accept"}} if wrapped else record
    part = {"file_path": "a.py", "offset": 2, "limit": 2}
    whole = {"file_path": "a.py", "offset": 2}
    assert understood("Read", part, "2\tx\n3\ty", item=item) == out.FileOutcome("a.py", "x\ny", 2, 9)
    assert understood("Read", whole, "2\tx\n3\ty", item=item) == out.FileOutcome("a.py", "x\ny", 2, 9, truncated=True)


def test_a_record_may_have_fewer_lines_of_a_long_file_than_were_read() -> None:
    file = {"filePath": "a.py", "content": "x\ny", "numLines": 2601, "startLine": 1, "totalLines": 2601}
    cut = out.FileOutcome("a.py", "x\ny", 1, 2601, truncated=True)
    assert understood(*READ, "1\tx\n2\ty", item={"type": "text", "file": file}) == cut


@pytest.mark.parametrize("total", [None, 2600])
def test_a_file_that_was_cut_says_so(total: int | None) -> None:
    outcome = out.FileOutcome("a.py", "x\ny", total_lines=total, truncated=True)
    content, _ = told(*READ, outcome)
    assert str(content).startswith("1\tx\n2\ty\n\n<system-reminder>")
    assert understood(*READ, content) == outcome


def test_the_first_lines_of_a_long_file_end_with_a_note_that_says_so() -> None:
    note = "[Truncated: PARTIAL view — big.py: showing lines 1-2 of 30 total (9 tokens)]"
    assert understood(*READ, f"1\ta\n2\tb\n\n{note}") == out.FileOutcome("a.py", "a\nb", total_lines=30, truncated=True)


@pytest.mark.parametrize("words", ["[Truncated: PARTIAL view — ", ": showing lines 1-1 of 1 total "])
def test_a_file_that_holds_the_words_of_the_note_is_read_in_one_go(words: str) -> None:
    """Looked for from each place on, it would take hours."""
    text = f"[Truncated: PARTIAL view — {words * 30_000}"
    assert understood(*READ, f"1\t{text}") == out.FileOutcome("a.py", text)


def test_an_image_is_seen_with_its_size() -> None:
    image = out.Media("image/png", "aGk=")
    dimensions = {"originalWidth": 8, "originalHeight": 6}
    item = {"type": "image", "file": {"originalSize": 74, "dimensions": dimensions}}
    assert understood(*READ, (image,)) == out.ImageOutcome(image)
    assert understood(*READ, (image,), item=item) == out.ImageOutcome(
        out.Media("image/png", "aGk=", width=8, height=6, size=74)
    )


CELLS = '<cell id="a1"><cell_type>markdown</cell_type># Title</cell id="a1">\n<cell id="b2">1 + 2</cell id="b2">\n\n3\n'


@pytest.mark.parametrize("content", [CELLS, (CELLS,)])
def test_a_notebook_is_told_cell_by_cell(content: Content) -> None:
    outcome = out.NotebookOutcome(
        "a.py", (out.Cell("# Title", "markdown", "a1"), out.Cell("1 + 2", "code", "b2", outputs=("3\n",)))
    )
    assert understood(*READ, content) == outcome
    assert told(*READ, outcome) == (CELLS, None)


def test_the_record_of_a_notebook_knows_its_language() -> None:
    cell = {"cellType": "code", "source": "1", "cell_id": "b2", "language": "python", "outputs": [{"text": "1\n"}]}
    expected = out.Cell("1", "code", "b2", "python", ("1\n",))
    item = {"type": "notebook", "file": {"cells": [cell]}}
    assert understood(*READ, (CELLS,), item=item) == out.NotebookOutcome("a.py", (expected,))
    notebook = ("NotebookRead", {"notebook_path": "a.ipynb"})
    assert understood(*notebook, (CELLS,), item=[cell]) == out.NotebookOutcome("a.ipynb", (expected,))


EDIT = ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"})
PATCH = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-x", "+y"]}


@pytest.mark.parametrize(
    "text",
    [
        "The file /a.py has been updated successfully.",
        "The file /a.py has been updated successfully. (file state is current in your context)",
        "The file /a.py has been updated. Here's the result of running `cat -n`:\n     1→y",
        "The file /a.py has been updated. All occurrences of 'x' were successfully replaced with 'y'.",
    ],
)
def test_an_edit_is_read_however_it_was_told(text: str) -> None:
    assert understood(*EDIT, text) == out.ChangesOutcome((out.Change("/a.py", "modified"),))


def test_the_record_of_an_edit_has_its_diff() -> None:
    text = "The file /a.py has been updated successfully."
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a\n-x\n+y\n"
    assert understood(*EDIT, text, item={"structuredPatch": [PATCH]}) == out.ChangesOutcome(
        (out.Change("/a.py", "modified", diff=diff, added=1, removed=1),)
    )


def test_an_edit_of_nothing_is_told_as_an_update_and_read_as_a_new_file() -> None:
    new = ("Edit", {"file_path": "/a.py", "old_string": "", "new_string": "y"})
    text = "The file /a.py has been updated successfully."
    assert understood(*new, text, item={"oldString": "", "originalFile": ""}) == out.ChangesOutcome(
        (out.Change("/a.py", "created"),)
    )


def test_a_write_says_whether_the_file_is_new() -> None:
    write = ("Write", {"file_path": "/a.py", "content": "y"})
    created = out.ChangesOutcome((out.Change("/a.py", "created"),))
    assert told(*write, created) == ("File created successfully at: /a.py", None)
    assert understood(*write, "File created successfully at: /a.py") == created
    assert understood(*write, "File created successfully at: /a.py (file state is current here)") == created
    modified = out.ChangesOutcome((out.Change("/a.py", "modified"),))
    assert told(*write, modified) == ("The file /a.py has been updated successfully.", None)
    current = out.ChangesOutcome((out.Change("/a.py", "modified", current=True),))
    note = "(file state is current in your context — no need to Read it back)"
    assert told(*write, current) == (f"The file /a.py has been updated successfully. {note}", None)


def test_several_edits_are_one_change() -> None:
    edits = [{"old_string": "x", "new_string": "y"}, {"old_string": "1", "new_string": "2"}]
    text = 'Applied 2 edits to /a.py:\n1. Replaced "x" with "y"\n2. Replaced "1" with "2"'
    assert understood("MultiEdit", {"file_path": "/a.py", "edits": edits}, text) == out.ChangesOutcome(
        (out.Change("/a.py", "modified"),)
    )


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"cell_id": "c1", "new_source": "2 + 3"}, "Updated cell c1 with 2 + 3"),
        ({"cell_id": "c1", "new_source": "", "edit_mode": "delete"}, "Deleted cell c1"),
        ({"cell_id": "c1", "new_source": "z", "edit_mode": "insert", "cell_type": "code"}, "Inserted cell with z"),
    ],
)
def test_a_cell_that_changed(arguments: dict[str, str], text: str) -> None:
    call = ("NotebookEdit", {"notebook_path": "a.ipynb", **arguments})
    outcome = out.ChangesOutcome((out.Change("a.ipynb", "modified"),))
    assert told(*call, outcome) == (text, None)
    assert understood(*call, text) == outcome


def test_a_folder_was_told_as_a_tree() -> None:
    tree = "- /src/\n  - a.py\n  - lib/\n    - b.py\n  - z.py\n"
    outcome = out.DirectoryOutcome(
        "/src",
        (out.Entry("a.py"), out.Entry("lib", "directory"), out.Entry("lib/b.py"), out.Entry("z.py")),
    )
    listing = ("LS", {"path": "/src"})
    assert told(*listing, outcome) == (tree, None)
    assert understood(*listing, f"{tree}\nNOTE: do any of these look odd?") == outcome


def test_folders_above_an_entry_are_told_with_it() -> None:
    outcome = out.DirectoryOutcome("/src", (out.Entry("lib/deep/b.py"), out.Entry("lib/c.py")))
    text = "- /src/\n  - lib/\n    - deep/\n      - b.py\n    - c.py\n"
    assert told("LS", {"path": "/src"}, outcome) == (text, None)


# ── commands ─────────────────────────────────────────────────────────────────

BASH = ("Bash", {"command": "make"})


def test_a_command_that_succeeded_is_what_it_printed() -> None:
    assert told(*BASH, out.CommandOutcome(0, stdout="a\n", stderr="b\n")) == ("a\nb", False)
    assert understood(*BASH, "a\nb", is_error=False) == out.CommandOutcome(0, output="a\nb")


@pytest.mark.parametrize("text", ["(Bash completed with no output)", "Tool ran without output", ""])
def test_a_command_that_printed_nothing(text: str) -> None:
    assert understood(*BASH, text, is_error=False) == out.CommandOutcome(0, output="")


def test_a_command_that_failed_is_flagged_and_still_a_command_that_ran() -> None:
    outcome = out.CommandOutcome(3, output="boom\npartial")
    assert told(*BASH, outcome) == ("Exit code 3\nboom\npartial", True)
    assert understood(*BASH, "Exit code 3\nboom\npartial", is_error=True) == outcome


def test_a_text_that_looks_like_an_exit_code_is_output_without_the_flag() -> None:
    assert understood(*BASH, "Exit code 3\n", is_error=False) == out.CommandOutcome(0, output="Exit code 3\n")


def test_old_logs_say_only_that_a_command_failed() -> None:
    assert understood(*BASH, "boom\n\npartial", is_error=True) == out.CommandOutcome(output="boom\n\npartial")
    refused = "<tool_use_error>no</tool_use_error>"
    assert understood(*BASH, refused, is_error=True) == out.Failure("failed", "no"), "the tool failed, no command ran"


def test_a_command_ended_by_a_signal_is_told_as_the_shell_counts() -> None:
    assert told(*BASH, out.CommandOutcome(signal=9, output="")) == ("Exit code 137", True)


def test_streams_are_kept_apart_where_the_record_has_both() -> None:
    item = {"stdout": "a", "stderr": "b", "interrupted": False}
    assert understood(*BASH, "a\nb", item=item) == out.CommandOutcome(0, stdout="a", stderr="b")
    item = {"stdout": "a\nb", "stderr": "", "interrupted": False}
    assert understood(*BASH, "a\nb", item=item) == out.CommandOutcome(0, output="a\nb")


def test_where_the_shell_went_back_to_is_no_output() -> None:
    item = {"stdout": "a", "stderr": "\nShell cwd was reset to /src"}
    assert understood(*BASH, "a\nShell cwd was reset to /src", item=item) == out.CommandOutcome(0, output="a")
    assert understood(*BASH, "a\nShell cwd was reset to /src") == out.CommandOutcome(0, output="a")


@pytest.mark.parametrize("item", [{"returnCodeInterpretation": "No matches found"}, {"interrupted": True}])
def test_a_success_whose_exit_code_is_not_told_has_none(item: dict[str, Any]) -> None:
    assert understood(*BASH, "", item={"stdout": "", **item}) == out.CommandOutcome(output="")


@pytest.mark.parametrize(
    "text, path",
    [
        ("Command running in background with ID: b1", None),
        ("Command was manually backgrounded by user with ID: b1. Output is being written to: /tmp/b1", "/tmp/b1"),
        ("Command running in background with ID: b1. Output is being written to: /tmp/b1.output", "/tmp/b1.output"),
        (
            "Command running in background with ID: b1. Output is being written to: /tmp/b1.output. You will be"
            " notified when it completes. To check interim output, use Read on that file path.",
            "/tmp/b1.output",
        ),
    ],
)
def test_a_command_left_running(text: str, path: str | None) -> None:
    outcome = out.CommandOutcome(running=True, job="b1", output_path=path)
    assert understood(*BASH, text, is_error=False) == outcome
    assert understood(*BASH, text, item={"stdout": "", "backgroundTaskId": "b1"}) == outcome
    content, flag = told(*BASH, outcome)
    assert flag is False
    assert understood(*BASH, content) == outcome


def test_a_command_that_took_too_long_is_left_running() -> None:
    call = ("Bash", {"command": "make", "timeout": 1500})
    text = "1\nCommand did not complete within its 1.5s timeout and was moved to the background (ID: b1)."
    outcome = out.CommandOutcome(output="1", running=True, timed_out=True, job="b1")
    assert told(*call, outcome) == (text, False)
    assert understood(*call, text) == outcome
    item = {"stdout": "1", "backgroundTaskId": "b1", "timedOutAfterMs": 1500}
    assert understood(*call, f"{text} Output is being written to: /tmp/o.", item=item) == out.CommandOutcome(
        output="1", running=True, timed_out=True, job="b1", output_path="/tmp/o"
    )


def test_a_command_that_took_too_long_was_ended() -> None:
    call = ("Bash", {"command": "make", "timeout": 1200})
    outcome = out.CommandOutcome(output="1", timed_out=True)
    assert told(*call, outcome) == ("Command timed out after 1.2s\n1", True)
    assert understood(*call, "Command timed out after 1.2s\n1", is_error=True) == outcome
    killed = out.CommandOutcome(143, output="1", timed_out=True)
    assert told(*call, killed) == ("Exit code 143\nCommand timed out after 1.2s\n1", True)
    assert understood(*call, "Exit code 143\nCommand timed out after 1.2s\n1", is_error=True) == killed


@pytest.mark.parametrize(
    "text",
    [
        "Exit code 137\n[Request interrupted by user for tool use]\n\nhalf of it",
        "half of it\n<error>Command was aborted before completion</error>",
    ],
)
def test_a_command_the_user_stopped_was_cancelled(text: str) -> None:
    assert understood("Bash", {"command": "make"}, text, is_error=True) == out.Failure("cancelled", text)


def test_a_command_the_client_left_running_in_any_words_is_known_by_its_record() -> None:
    text = "Command exceeded a budget (15s) and was moved to the background with ID: b3. It is still running."
    item = {"toolUseResult": {"stdout": "1", "stderr": "", "backgroundTaskId": "b3"}}
    left = out.CommandOutcome(output="1", running=True, job="b3")
    assert understood("Bash", {"command": "make"}, text, item=item) == left


LONG = (
    "<persisted-output>\nOutput too large (2.0KB). Full output saved to: /tmp/o.txt\n\n"
    "Preview (first 2KB):\n1\n2\n...\n</persisted-output>"
)


def test_a_long_output_is_kept_in_a_file() -> None:
    assert understood(*BASH, LONG) == out.CommandOutcome(0, output="1\n2", output_path="/tmp/o.txt", truncated=2045)
    item = {"stdout": "1\n2\n3", "persistedOutputPath": "/tmp/o.txt", "persistedOutputSize": 2048}
    assert understood(*BASH, LONG, item=item) == out.CommandOutcome(
        0, output="1\n2\n3", output_path="/tmp/o.txt", truncated=2043
    )
    outcome = out.CommandOutcome(0, output="1\n2", output_path="/tmp/o.txt", truncated=2045)
    assert understood(*BASH, told(*BASH, outcome)[0]) == outcome


def test_an_image_a_command_printed() -> None:
    image = out.Media("image/png", "aGk=")
    assert understood(*BASH, (image,)) == out.ImageOutcome(image)


def test_the_output_of_a_task() -> None:
    call = ("TaskOutput", {"task_id": "b1", "block": False, "timeout": 1000})
    text = (
        "<retrieval_status>not_ready</retrieval_status>\n\n<task_id>b1</task_id>\n\n"
        "<task_type>local_bash</task_type>\n\n<status>running</status>\n\n<output>\ntick\n</output>"
    )
    outcome = out.CommandOutcome(output="tick\n", running=True, job="b1")
    assert understood(*call, text) == outcome
    assert told(*call, outcome) == (text, None)


def test_the_output_of_a_task_that_ended() -> None:
    call = ("TaskOutput", {"task_id": "b1", "block": False, "timeout": 1000})
    text = "<status>failed</status>\n\n<output>\ntick\n</output>"
    item = {"retrieval_status": "success", "task": {"task_id": "b1", "exitCode": 2}}
    assert understood(*call, text, item=item) == out.CommandOutcome(2, output="tick\n", job="b1")
    assert understood(*call, f"<exit_code>2</exit_code>\n\n{text}") == out.CommandOutcome(2, output="tick\n", job="b1")


def test_a_task_may_be_an_agent() -> None:
    state = "<task_id>a1</task_id>\n\n<task_type>local_agent</task_type>\n\n<status>completed</status>"
    text = f"{state}\n\n<output>\nok\n</output>"
    call = ("TaskOutput", {"task_id": "a1"})
    assert understood(*call, text) == out.AgentsOutcome((out.AgentReport("a1", "completed", "ok\n"),))


def test_the_output_of_a_command_came_in_two_streams() -> None:
    text = "<status>completed</status>\n\n<stdout>\na\n</stdout>\n\n<stderr>\nb\n</stderr>\n\n<timestamp>t</timestamp>"
    assert understood("BashOutput", {"bash_id": "b1"}, text, item={"exitCode": 0}) == out.CommandOutcome(
        0, stdout="a\n", stderr="b\n", job="b1"
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"message":"Successfully stopped task: b1 (make)","task_id":"b1","task_type":"local_bash","command":"make"}',
        '{"success":true,"message":"Successfully killed shell: b1 (make)","shell_id":"b1"}',
        '{"message":"Successfully stopped task: b1 (make)"}',
    ],
)
def test_a_task_that_was_stopped(text: str) -> None:
    assert understood("TaskStop", {"task_id": "b1"}, text) == out.CommandOutcome(job="b1")


def test_the_last_output_of_a_stopped_task_is_told() -> None:
    outcome = out.CommandOutcome(job="b1", output="tick")
    assert understood("TaskStop", {"task_id": "b1"}, told("TaskStop", {"task_id": "b1"}, outcome)[0]) == outcome


def test_what_runs_in_the_background_is_named() -> None:
    running = out.CommandOutcome(running=True, job="b1")
    watch = ("Monitor", {"description": "", "timeout_ms": 1000, "command": "tail -f log"})
    assert understood(*watch, "Monitor started (task b1, expires in 3s unless it ends).") == running
    assert understood(*watch, told(*watch, running)[0]) == running
    script = ("Workflow", {"script": "return 1"})
    assert understood(*script, "Workflow launched in background. Task ID: b1\nSummary: demo") == running
    assert understood(*script, told(*script, running)[0]) == running


# ── search ───────────────────────────────────────────────────────────────────


def test_found_files() -> None:
    glob = ("Glob", {"pattern": "*.py"})
    cut = "(Results are truncated. Consider using a more specific path or pattern.)"
    assert understood(*glob, "No files found") == out.PathsOutcome(())
    assert understood(*glob, "a.py\nb.py") == out.PathsOutcome(("a.py", "b.py"))
    assert understood(*glob, f"a.py\n{cut}") == out.PathsOutcome(("a.py",), truncated=True)
    item = {"filenames": ["a.py"], "truncated": False, "totalMatches": 1, "countIsComplete": True}
    assert understood(*glob, "a.py", item=item) == out.PathsOutcome(("a.py",), 1)
    assert told(*glob, out.PathsOutcome(("a.py",), truncated=True)) == (f"a.py\n{cut}", None)


def test_files_with_matches() -> None:
    grep = ("Grep", {"pattern": "x"})
    outcome = out.MatchesOutcome((out.Match("a.py"), out.Match("b.py")), "files", files=2)
    assert told(*grep, outcome) == ("Found 2 files\na.py\nb.py", None)
    assert understood(*grep, "Found 2 files\na.py\nb.py") == outcome
    assert understood(*grep, "No files found") == out.MatchesOutcome((), "files", 0)


def test_counted_matches() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "count"})
    text = "a.py:1\nb.py:3\n\nFound 4 total occurrences across 2 files."
    outcome = out.MatchesOutcome((out.Match("a.py", count=1), out.Match("b.py", count=3)), "count", 4, 2)
    assert understood(*grep, text) == outcome
    assert told(*grep, outcome) == (text, None)
    none = "No matches found\n\nFound 0 total occurrences across 0 files."
    assert understood(*grep, none) == out.MatchesOutcome((), "count", 0, 0)


def test_matching_lines_with_those_around_them() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content", "-n": True, "-C": 1})
    text = "a-1-b.py-2-a\na-1-b.py:3:x\na-1-b.py-4-b\n--\na-1-b.py-8-c\na-1-b.py:9:x\na-1-b.py:10:x"
    assert understood(*grep, text) == out.MatchesOutcome(
        (
            out.Match("a-1-b.py", 3, "x", ("a",), ("b",)),
            out.Match("a-1-b.py", 9, "x", ("c",)),
            out.Match("a-1-b.py", 10, "x"),
        )
    )


def test_lines_around_a_match_had_a_longer_path() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content", "-A": 1, "path": "/home/src"})
    assert understood(*grep, "src/a.py:3:x\n/home/src/a.py-4-y") == out.MatchesOutcome(
        (out.Match("src/a.py", 3, "x", after=("y",)),)
    )


def test_matches_in_a_single_file_have_no_path() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content", "path": "src/a.py", "-B": 1})
    assert understood(*grep, "2-y:5:z\n3:x:1:2") == out.MatchesOutcome((out.Match("src/a.py", 3, "x:1:2", ("y:5:z",)),))


def test_matches_without_numbers_are_a_text() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content", "-n": False, "path": "a.py"})
    assert understood(*grep, "x = 1\ny = x") == out.TextOutcome("x = 1\ny = x")


def test_matches_that_were_cut() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content", "head_limit": 2, "offset": 1})
    note = "\n\n[Showing results with pagination = limit: 2, offset: 1]"
    both = (out.Match("a.py", 1, "x"), out.Match("a.py", 2, "x"))
    cut = out.MatchesOutcome(both, truncated=True)
    assert understood(*grep, f"a.py:1:x\na.py:2:x{note}") == cut
    assert told(*grep, cut) == (f"a.py:1:x\na.py:2:x{note}", None)
    assert understood(*grep, f"a.py:1:x{note}") == out.MatchesOutcome(both[:1])


def test_matches_too_long_to_tell_are_whole_in_the_record() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content"})
    text = "a.py:1:x\na.py:2:x\nb.\n\n... [1 lines truncated] ..."
    first = (out.Match("a.py", 1, "x"), out.Match("a.py", 2, "x"))
    assert understood(*grep, text) == out.MatchesOutcome(first, truncated=True)
    item = {"toolUseResult": {"mode": "content", "content": "a.py:1:x\na.py:2:x\nb.py:7:x"}}
    assert understood(*grep, text, item=item) == out.MatchesOutcome((*first, out.Match("b.py", 7, "x")))


def test_nothing_was_found_beyond_an_offset() -> None:
    grep = ("Grep", {"pattern": "x", "output_mode": "content", "offset": 180})
    note = "\n\n[Showing results with pagination = limit: undefined, offset: 180]"
    assert understood(*grep, f"No matches found{note}") == out.MatchesOutcome((), "content", 0)
    assert understood(*grep, f"a.py:1:x{note}") == out.MatchesOutcome((out.Match("a.py", 1, "x"),))


# ── web ──────────────────────────────────────────────────────────────────────


def test_a_page_is_answered_from() -> None:
    fetch = ("WebFetch", {"url": "https://example.com", "prompt": "What?"})
    assert understood(*fetch, "A page.", item={"code": 200, "result": "A page."}) == out.PagesOutcome(
        (out.Page("https://example.com", status=200),), "A page."
    )


def test_a_page_that_was_only_fetched_is_its_text() -> None:
    fetch = ("WebFetch", {"url": "https://example.com", "prompt": ""})
    page = out.Page("https://example.com", text="A page.", total_chars=900, truncated=True)
    content, _ = told(*fetch, out.PagesOutcome((page,)))
    assert content == "A page.\n\n[Cut here; 900 characters in all. Read on with offset.]"
    assert understood(*fetch, content) == out.PagesOutcome((page,))


SEARCH = ("WebSearch", {"query": "counting"})


def test_a_search_gives_links_and_an_answer() -> None:
    text = (
        'Web search results for query: "counting"\n\nLinks: [{"title":"One","url":"https://example.com/1"}]\n\n'
        "Count twice.\n\n\nREMINDER: Name your sources."
    )
    outcome = out.PagesOutcome((out.Page("https://example.com/1", "One"),), "Count twice.", "counting")
    assert understood(*SEARCH, text) == outcome
    links = {"tool_use_id": "1", "content": [{"title": "One", "url": "https://example.com/1"}]}
    assert understood(*SEARCH, text, item={"results": [links, "Count twice."]}) == outcome
    assert understood(*SEARCH, told(*SEARCH, outcome)[0]) == outcome


def test_hits_without_an_answer_are_told_with_what_they_say() -> None:
    content, _ = told(*SEARCH, out.PagesOutcome((out.Page("https://example.com", snippet="Count."),)))
    assert str(content).endswith("\n\nhttps://example.com: Count.")


# ── plans ────────────────────────────────────────────────────────────────────


def test_a_plan_that_was_written() -> None:
    todo = {"content": "Look", "status": "pending", "activeForm": "Looking"}
    write = ("TodoWrite", {"todos": [todo]})
    text = "Todos have been modified successfully. Go on with them."
    plan = out.PlanOutcome((op.PlanItem("Look", doing="Looking"),))
    assert told(*write, plan) == (text, None)
    assert understood(*write, text) == plan
    short = {"newTodos": [{"content": "Look", "status": "pending"}]}
    assert understood(*write, text, item=short) == out.PlanOutcome((op.PlanItem("Look"),))


def test_an_item_that_was_added() -> None:
    create = ("TaskCreate", {"subject": "Look", "description": "around"})
    added = out.PlanOutcome((op.PlanItem("Look", id="3", description="around"),))
    assert understood(*create, "Task #3 created successfully: Look") == added
    assert told(*create, added) == ("Task #3 created successfully: Look", None)


def test_an_item_that_was_changed() -> None:
    update = ("TaskUpdate", {"taskId": "3", "status": "completed", "owner": "bob"})
    done = out.DoneOutcome("Updated task #3 status, owner")
    assert told(*update, out.PlanOutcome((op.PlanItem("Look", "completed", "3"),))) == (done.note, None)
    assert understood(*update, "Updated task #3 status, owner") == done


def test_the_plan_in_lines() -> None:
    text = "#1 [completed] Look\n#2 [pending] Act [blocked by #1]"
    plan = out.PlanOutcome((op.PlanItem("Look", "completed", "1"), op.PlanItem("Act", id="2", blocked_by=("1",))))
    assert understood("TaskList", {}, text) == plan
    assert told("TaskList", {}, plan) == (text, None)
    assert understood("TaskList", {}, "No tasks found") == out.PlanOutcome(())


def test_whose_an_item_is_stands_in_the_record() -> None:
    task = {"id": "1", "subject": "Look", "status": "completed", "owner": "bob", "blockedBy": []}
    item = {"tasks": [task]}
    assert understood("TaskList", {}, "#1 [completed] Look (bob)", item=item) == out.PlanOutcome(
        (op.PlanItem("Look", "completed", "1", owner="bob"),)
    )


def test_one_item_in_full() -> None:
    text = "Task #2: Act\nStatus: pending\nDescription: Act\nwell\nBlocked by: #1\nBlocks: #3, #4"
    item = op.PlanItem("Act", "pending", "2", "Act\nwell", blocked_by=("1",), blocks=("3", "4"))
    assert understood("TaskGet", {"taskId": "2"}, text) == out.PlanOutcome((item,))
    assert told("TaskGet", {"taskId": "2"}, out.PlanOutcome((item,))) == (text, None)


# ── agents and people ────────────────────────────────────────────────────────

AGENT = ("Agent", {"description": "Count", "prompt": "Count them"})


def test_an_agent_that_was_started() -> None:
    text = "Async agent launched successfully. (internal)\nagentId: a1 (internal ID - use SendMessage)\nIt is working."
    started = out.AgentsOutcome((out.AgentReport("a1", "running"),))
    assert understood(*AGENT, (text,), item={"isAsync": True, "agentId": "a1"}) == started
    assert understood(*AGENT, told(*AGENT, started)[0]) == started


@pytest.mark.parametrize(
    "content, id",
    [
        (("three",), None),
        (("three", "agentId: a1 (for resuming to continue this agent's work if needed)"), "a1"),
        (("three", "agentId: a1 (use SendMessage)\n<usage>total_tokens: 15\nduration_ms: 2</usage>"), "a1"),
        (("three", "agentId: a1 (use SendMessage)\nworktreePath: /w\n<usage>total_tokens: 15</usage>"), "a1"),
    ],
)
def test_an_agent_that_answered(content: Content, id: str | None) -> None:
    assert understood("Task", AGENT[1], content) == out.AgentsOutcome((out.AgentReport(id, "completed", "three"),))


def test_an_agent_that_failed_is_told_with_its_state() -> None:
    failed = out.AgentsOutcome((out.AgentReport("a1", "failed", "no luck"),))
    assert understood(*AGENT, told(*AGENT, failed)[0]) == failed


def test_a_message_that_was_sent_and_one_that_was_not() -> None:
    send = ("SendMessage", {"to": "a1", "message": "Go on"})
    assert understood(*send, ('{"success":true,"message":"Resuming agent a1"}',)) == out.DoneOutcome(
        "Resuming agent a1"
    )
    assert understood(*send, '{"success":false,"message":"Nobody there."}') == out.Failure("failed", "Nobody there.")
    assert understood(*send, told(*send, out.DoneOutcome("Sent"))[0]) == out.DoneOutcome("Sent")


def test_the_agents_that_can_be_reached() -> None:
    assert understood("ListAgents", {}, "This is one.\n\nNo reachable agents — none runs.") == out.AgentsOutcome(())
    listed = out.AgentsOutcome((out.AgentReport("a1", "running", name="bob"),))
    assert understood("ListAgents", {}, told("ListAgents", {}, listed)[0]) == listed


ASK = (
    "AskUserQuestion",
    {
        "questions": [
            {
                "question": 'Which "one"?',
                "header": "Pick",
                "options": [{"label": "North", "description": ""}, {"label": "South, far", "description": ""}],
                "multiSelect": True,
            },
            {
                "question": "How?",
                "header": "How",
                "options": [{"label": "Fast", "description": ""}, {"label": "Slow", "description": ""}],
                "multiSelect": False,
            },
        ]
    },
)


@pytest.mark.parametrize("count, is_said", [(0, False), (1, True), (4, True), (5, False)])
def test_from_one_to_four_questions_are_asked_at_once(count: int, is_said: bool) -> None:
    options = (op.Option("North", "Up"), op.Option("South", "Down"))
    asked = op.AskUser((op.Question("Where?", options, header="Where"),) * count)
    if is_said:
        (call,) = DIALECT.write_call("1", asked)
        assert DIALECT.read_call(call).operations == (asked,)
    else:
        with pytest.raises(Unspeakable):
            DIALECT.write_call("1", asked)


@pytest.mark.parametrize("head", ["Your questions have been answered: ", "User has answered your questions: "])
def test_answers_are_choices_or_the_users_own_words(head: str) -> None:
    text = f'{head}"Which "one"?"="North", "How?"="as you like". You can now continue with these answers in mind.'
    answers = out.AnswersOutcome((out.Answer('Which "one"?', ("North",)), out.Answer("How?", text="as you like")))
    assert understood(*ASK, text) == answers
    item = {"answers": {'Which "one"?': "North", "How?": "as you like"}}
    assert understood(*ASK, text, item=item) == answers
    assert understood(*ASK, told(*ASK, answers)[0]) == answers


# ── extensions ───────────────────────────────────────────────────────────────


def test_tools_that_were_found() -> None:
    search = ("ToolSearch", {"query": "plans", "max_results": 5})
    found = out.ToolsOutcome(("TaskCreate", "TaskList"))
    blocks = ('{"type":"tool_reference","tool_name":"TaskCreate"}', '{"type":"tool_reference","tool_name":"TaskList"}')
    assert understood(*search, blocks) == found
    assert understood(*search, ("",), item={"matches": ["TaskCreate", "TaskList"]}) == found
    assert told(*search, found) == ("\n".join(blocks), None)
    assert understood(*search, "No matching deferred tools found") == out.ToolsOutcome(())


def test_resources_are_told_as_json() -> None:
    listing = ("ListMcpResourcesTool", {})
    text = '[{"uri":"toy://note","name":"note","mimeType":"text/plain","server":"toy"}]'
    listed = out.ResourcesOutcome((out.Resource("toy://note", "note", media_type="text/plain", server="toy"),))
    assert understood(*listing, text) == listed
    assert told(*listing, listed) == (text, None)
    reading = ("ReadMcpResourceTool", {"server": "toy", "uri": "toy://note"})
    text = '{"contents":[{"uri":"toy://note","mimeType":"text/plain","text":"hi"}]}'
    read = out.ResourcesOutcome((out.Resource("toy://note", media_type="text/plain", text="hi"),))
    assert understood(*reading, text) == read
    assert told(*reading, read) == (text, None)


def test_a_folder_of_resources_that_cannot_be_listed_is_a_failure_without_a_flag() -> None:
    call = ("ReadMcpResourceDirTool", {"server": "toy", "uri": "toy://"})
    item = {"resources": [], "error": "Not enabled."}
    assert understood(*call, "Not enabled.", item=item) == out.Failure("failed", "Not enabled.")


def test_a_skill_that_was_loaded() -> None:
    skill = ("Skill", {"skill": "review"})
    assert understood(*skill, "Launching skill: review") == out.DoneOutcome("Launching skill: review")
    assert told(*skill, out.DoneOutcome()) == ("Launching skill: review", None)


# ── failures ─────────────────────────────────────────────────────────────────

STOP = "The user doesn't want to proceed with this tool use. The tool use was rejected."


@pytest.mark.parametrize(
    "text, kind, message",
    [
        ("<tool_use_error>Error: No such tool available: X</tool_use_error>", "unknown_tool", None),
        ("Error: No such tool available: X", "unknown_tool", "Error: No such tool available: X"),
        ("<tool_use_error>InputValidationError: Read failed</tool_use_error>", "invalid_arguments", None),
        ("Permission to use Bash with command rm -rf x has been denied.", "denied", None),
        ("Claude requested permissions to write to /a, but you haven't granted it yet.", "denied", None),
        (
            "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>",
            "denied",
            None,
        ),
        ("PreToolUse:Bash hook error: [guard]: not that", "denied", None),
        ("Answer questions?", "denied", None),
        ("No tools needed for suggestion", "denied", None),
        ("cd to '/a' was blocked. For security, Claude Code may only go down.", "denied", None),
        ("Permission prompt was aborted.", "cancelled", None),
        (f"{STOP} To tell you how to proceed, the user said:\nnot so", "denied", None),
        (f"{STOP} STOP what you are doing and wait.", "cancelled", None),
        ("[Request interrupted by user for tool use]", "cancelled", None),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "cancelled", None),
        ("MCP error -32001: Request timed out", "timed_out", None),
        ("The user doesn't want to take this action right now. STOP what you are doing.", "cancelled", None),
        ("<tool_use_error>Cancelled: parallel tool call Bash(ls) errored</tool_use_error>", "cancelled", None),
        ("<tool_use_error>Interrupted by user</tool_use_error>", "cancelled", None),
        ("Permission for this action has been denied. Reason: it pushes.", "denied", None),
        ("Permission for this tool use was denied. The tool use was rejected.", "denied", None),
        ("This command requires approval", "denied", None),
        ("This Bash command contains multiple operations. The following part requires approval: x", "denied", None),
        ("The agent proposed a plan that was rejected by the user. The user chose to stay.", "denied", None),
        ("<tool_use_error>Execution stopped by PreToolUse hook: halt</tool_use_error>", "denied", None),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "failed", "File has not been read yet."),
        ("File does not exist.", "failed", "File does not exist."),
    ],
)
def test_failures_by_their_words(text: str, kind: out.FailureKind, message: str | None) -> None:
    plain = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    assert understood(*READ, text, is_error=True) == out.Failure(kind, message or plain)


@pytest.mark.parametrize(
    "item", [{"permissionDecision": {"decision": "reject"}}, {"toolDenialKind": "permission-rule"}]
)
def test_what_a_user_says_to_a_refusal_is_one_by_the_log(item: dict[str, Any]) -> None:
    beside = {"toolUseResult": "Error: Not this one", **item}
    assert understood(*BASH, "Not this one", is_error=True, item=beside) == out.Failure("denied", "Not this one")


@pytest.mark.parametrize(
    "denial, kind", [("interrupted", "cancelled"), ("cancelled", "cancelled"), ("automode-blocked", "denied")]
)
def test_a_call_that_did_not_run_is_one_by_the_log(denial: str, kind: out.FailureKind) -> None:
    outcome = understood("Bash", {"command": "ls"}, "No.", is_error=True, item={"toolDenialKind": denial})
    assert outcome == out.Failure(kind, "No.")


def test_an_item_that_is_not_there_is_a_failure_without_a_flag() -> None:
    assert understood("TaskGet", {"taskId": "9"}, "Task not found") == out.Failure("failed", "Task not found")
    assert understood("TaskUpdate", {"taskId": "9"}, "Task not found") == out.Failure("failed", "Task not found")


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood(kind: out.FailureKind) -> None:
    content, flag = told(*READ, out.Failure(kind, "not so"))
    assert flag is True
    first = understood(*READ, content, is_error=True)
    assert isinstance(first, out.Failure)
    assert (first.kind, first.message.endswith("not so")) == (kind, True)
    assert told(*READ, first) == (content, True), "a failure told twice does not grow"


# ── calls ────────────────────────────────────────────────────────────────────


def test_arguments_that_were_no_json_are_a_failure_with_their_text() -> None:
    call = DIALECT.read_call(NativeCall("1", "Bash", {"__unparsedToolInput": {"raw": '{"command": "ec', "len": 15}}))
    assert (call.operations, call.failure and call.failure.kind) == ((), "invalid_arguments")
    assert call.failure is not None
    assert '{"command": "ec' in call.failure.message


def test_a_call_is_spoken_of_by_the_name_it_had() -> None:
    failure = DIALECT.read_call(NativeCall("1", "Task", {"description": "d"})).failure
    assert failure is not None
    assert failure.message.startswith("Task ")


def test_what_stands_inside_an_argument_and_has_no_meaning_is_kept() -> None:
    arguments = {"description": "", "timeout_ms": 1000, "ws": {"url": "wss://example.com", "protocols": ["a"]}}
    call = DIALECT.read_call(NativeCall("1", "Monitor", arguments))
    assert call.operations == (op.WatchCommand(url="wss://example.com", timeout_ms=1000),)
    assert call.unmapped == {"ws": arguments["ws"]}


def test_a_number_that_is_not_whole_is_refused() -> None:
    call = DIALECT.read_call(NativeCall("1", "Grep", {"pattern": "x", "head_limit": 2.5}))
    assert call.failure is not None
    assert "head_limit is 2.5" in call.failure.message


@pytest.mark.parametrize(
    "version, named, missing",
    [
        ("1.0.59", {"LS", "MultiEdit", "NotebookRead", "Task", "TodoWrite", "Grep"}, {"BashOutput", "Agent"}),
        ("1.0.88", {"BashOutput", "KillBash"}, {"NotebookRead", "TaskOutput"}),
        ("2.0.76", {"TaskOutput", "KillShell", "AskUserQuestion"}, {"LS", "KillBash"}),
        ("2.1.123", {"Agent", "TaskStop", "TodoWrite", "Glob"}, {"Task", "TaskCreate"}),
        ("2.1.197", {"TaskCreate", "SendMessage", "Workflow"}, {"TodoWrite", "Grep", "AskUserQuestion"}),
        ("2.1.325", {"Monitor", "ListAgents"}, {"TaskOutput", "Grep", "ToolSearch"}),
    ],
)
def test_each_version_offers_its_own(version: str, named: set[str], missing: set[str]) -> None:
    offered = {definition.name for definition in DIALECT.at(version).definitions()}
    assert named <= offered
    assert not missing & offered


def test_a_tool_of_the_newest_version_that_is_not_offered_can_be_asked_for() -> None:
    assert [definition.name for definition in DIALECT.definitions([op.SearchText])] == ["Grep"]
    assert "TodoWrite" in {definition.name for definition in DIALECT.definitions(names=["TodoWrite"])}


@pytest.mark.parametrize(
    "name, arguments, operation",
    [
        ("TodoRead", {}, op.ReadPlan()),
        ("SlashCommand", {"command": "/review-pr 12 quickly"}, op.UseSkill("review-pr", "12 quickly")),
        ("SlashCommand", {"command": "/team:plan"}, op.UseSkill("team:plan")),
    ],
)
def test_tools_that_no_known_version_has_any_more_are_read(
    name: str, arguments: dict[str, Any], operation: op.Operation
) -> None:
    assert DIALECTS["claude_code"].read_call(NativeCall("1", name, arguments)).operations == (operation,)


# ── calls of versions that were not captured ─────────────────────────────────


def meant(name: str, arguments: dict[str, Any]) -> op.Operation:
    (operation,) = DIALECT.read_call(NativeCall("1", name, arguments)).operations
    return operation


@pytest.mark.parametrize(
    "name",
    [
        *("Artifact", "ClaudeDesign", "EndConversation", "OfferChromeSetup", "Projects", "ProposeGoal"),
        *("PushNotification", "ReadNotifications", "RemoteTrigger", "SendFeedback", "SendUserFile", "SendUserMessage"),
        *("ShareOnboardingGuide", "ShowOnboardingRolePicker", "WaitForMcpServers", "propose_skills"),
    ],
)
def test_a_tool_of_the_client_that_was_never_captured_is_its_own(name: str) -> None:
    assert meant(name, {}) == op.SteerClient(name)


def test_an_agent_hands_its_report_back() -> None:
    handback = ("SubagentHandback", {"message": "Done."})
    assert meant(*handback) == op.ReturnToParent("Done.")
    assert understood(*handback, '{"success":true,"message":"Delivered."}') == out.DoneOutcome("Delivered.")


@pytest.mark.parametrize("tool", ["Agent", "Task"])
def test_an_agent_of_a_team_has_a_name(tool: str) -> None:
    given = {"description": "look", "prompt": "Look.", "name": "scout", "team_name": "crew", "mode": "plan"}
    call = DIALECT.read_call(NativeCall("1", tool, given))
    assert call.operations == (op.SpawnAgent("Look.", name="scout", description="look"),)
    assert call.unmapped == {"team_name": "crew", "mode": "plan"}


def test_what_is_no_text_is_a_message_to_a_member_too() -> None:
    signal = {"type": "shutdown_request", "reason": "done"}
    assert meant("SendMessage", {"to": "scout", "message": signal}) == op.MessageAgent(
        "scout", '{"type":"shutdown_request","reason":"done"}'
    )
    answered = {"type": "shutdown_response", "request_id": "r1", "approve": True}
    assert meant("SendMessage", answered) == op.SteerClient("SendMessage", answered)
    assert DIALECT.read_call(NativeCall("1", "SendMessage", {"to": "scout"})).failure is not None


def test_a_skill_was_called_by_its_command() -> None:
    assert meant("Skill", {"command": "pdf"}) == op.UseSkill("pdf")


def test_lines_around_a_match_may_have_a_part_of_its_path() -> None:
    lines = ["/p/src/a.py-1-x", "/p/src/a.py:2:y", "src/a.py-3-z", "--", "/p/b.py:5:q", "b.py-6-r"]
    call = ("Grep", {"pattern": "q|y", "output_mode": "content", "-n": True, "-C": 1})
    assert understood(*call, "\n".join(lines)) == out.MatchesOutcome(
        (out.Match("/p/src/a.py", 2, "y", ("x",), ("z",)), out.Match("/p/b.py", 5, "q", after=("r",)))
    )


def test_lines_around_matches_in_files_of_one_name_belong_to_their_own_file() -> None:
    call = ("Grep", {"pattern": "q|y", "output_mode": "content", "-n": True, "-C": 1})
    lines = ["src/a.py:2:y", "/p/src/a.py-3-z", "--", "lib/a.py:5:q", "/p/lib/a.py-6-r"]
    assert understood(*call, "\n".join(lines)) == out.MatchesOutcome(
        (out.Match("src/a.py", 2, "y", after=("z",)), out.Match("lib/a.py", 5, "q", after=("r",)))
    )
    unclear = ["src/a.py:2:y", "a.py-3-z", "--", "lib/a.py:5:q"]
    assert isinstance(understood(*call, "\n".join(unclear)), out.TextOutcome)


def test_arguments_that_were_no_json_are_never_those_of_a_server_that_was_called_before() -> None:
    """The second call of a server's tool is read by a shorter way, which must not pass over the wrapping."""
    wrapped = NativeCall("2", "mcp__s__t", {"__unparsedToolInput": {"raw": "{"}})
    for dialect in (DIALECTS["claude_code"].at(), DIALECTS["claude_code"].at()):
        alone = dialect.read_call(wrapped)
        assert dialect.read_call(NativeCall("1", "mcp__s__t", {"a": 1})).operations == (
            op.CallMcpTool("s", "t", {"a": 1}),
        )
        assert dialect.read_call(wrapped) == alone
        assert dialect.read_call(NativeCall("3", "mcp__s__t", {"a": 2})).operations == (
            op.CallMcpTool("s", "t", {"a": 2}),
        )
