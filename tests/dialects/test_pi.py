"""Results of pi's tools: read as its logs hold them, and told in its words."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out

DIALECT: Dialect = DIALECTS["pi"]
Content = str | tuple[str | out.Media, ...]


def understood(
    name: str, arguments: dict[str, Any], content: Content, *, is_error: bool | None = None, item: Any = None
) -> out.Outcome:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    (outcome,) = DIALECT.read_result(call, NativeResult("1", content, is_error, item=item)).outcomes
    return outcome


def told(name: str, arguments: dict[str, Any], outcome: out.Outcome) -> NativeResult:
    call = DIALECT.read_call(NativeCall("1", name, arguments))
    return DIALECT.write_result(call, (outcome,))


# ── files ────────────────────────────────────────────────────────────────────

READ = ("read", {"path": "a.py"})


@pytest.mark.parametrize(
    "arguments, text, outcome",
    [
        ({}, "x = 1\n", out.FileOutcome("a.py", "x = 1\n")),
        ({"offset": 5}, "x", out.FileOutcome("a.py", "x", 5)),
        (
            {"offset": 5, "limit": 2},
            "x\ny\n\n[84 more lines in file. Use offset=7 to continue.]",
            out.FileOutcome("a.py", "x\ny", 5, 90),
        ),
        (
            {},
            "x\ny\n\n[Showing lines 1-2 of 90. Use offset=3 to continue.]",
            out.FileOutcome("a.py", "x\ny", 1, 90, truncated=True),
        ),
        (
            {},
            "x\ny\n\n[Showing lines 1-2 of more than 2. Use offset=3 to continue.]",
            out.FileOutcome("a.py", "x\ny", truncated=True),
        ),
    ],
)
def test_a_file_is_its_text_and_a_note_when_there_is_more(
    arguments: dict[str, Any], text: str, outcome: out.FileOutcome
) -> None:
    read = ("read", {"path": "a.py", **arguments})
    assert understood(*read, text) == outcome
    assert told(*read, outcome).content == text


def test_an_image_stands_beside_a_sentence() -> None:
    outcome = out.ImageOutcome(out.Media("image/png", "aGk="))
    content = told(*READ, outcome).content
    assert content == ("Read image file [image/png]", outcome.image)
    assert understood(*READ, content) == outcome


def test_that_a_file_was_written_says_not_whether_it_was_there() -> None:
    write = ("write", {"path": "a.py", "content": "é\n"})
    text = "Successfully wrote 2 bytes to a.py"
    assert told(*write, out.ChangesOutcome((out.Change("a.py", "created"),))).content == text
    assert understood(*write, text) == out.DoneOutcome(text)


def test_edits_are_counted_and_the_log_counts_their_lines() -> None:
    edit = ("edit", {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}]})
    text = "Successfully replaced 1 block(s) in a.py."
    item = {"details": {"diff": " 1 a\n- 2 x\n+ 2 y\n+ 3 z\n"}}
    assert understood(*edit, text, item=item) == out.ChangesOutcome(
        (out.Change("a.py", "modified", added=2, removed=1, replacements=1),)
    )
    assert told(*edit, out.ChangesOutcome((out.Change("a.py", "modified"),))).content == text


# ── commands ─────────────────────────────────────────────────────────────────

BASH = ("bash", {"command": "x", "timeout": 2})


@pytest.mark.parametrize(
    "text, is_error, outcome",
    [
        ("hi\n", False, out.CommandOutcome(0, output="hi\n")),
        ("(no output)", False, out.CommandOutcome(0, output="")),
        ("a\nb\n\n\nCommand exited with code 3", True, out.CommandOutcome(3, output="a\nb\n")),
        ("(no output)\n\nCommand exited with code 1", True, out.CommandOutcome(1, output="")),
        ("1\n\n\nCommand timed out after 2 seconds", True, out.CommandOutcome(output="1\n", timed_out=True)),
        ("1\n\nCommand was ended by signal 9", True, out.CommandOutcome(output="1", signal=9)),
        ("1\n\nCommand is still running as job 7", False, out.CommandOutcome(output="1", running=True, job="7")),
    ],
)
def test_a_command_tells_how_it_ended(text: str, is_error: bool, outcome: out.CommandOutcome) -> None:
    assert understood(*BASH, text, is_error=is_error) == outcome
    written = told(*BASH, outcome)
    assert (written.content, written.is_error) == (text, is_error)


def test_long_output_is_kept_in_a_file() -> None:
    text = "9\n\n\n[Showing lines 2-3 of 3. Full output: /tmp/out.log]"
    assert understood(*BASH, text) == out.CommandOutcome(0, output="9\n", output_path="/tmp/out.log")


# ── searching ────────────────────────────────────────────────────────────────


def test_matches_with_the_lines_around_them() -> None:
    grep = ("grep", {"pattern": "x", "context": 1})
    text = "a.py-2- a\na.py:3: x\na.py-4- b\na.py-4- b\na.py:5: x"
    outcome = out.MatchesOutcome((out.Match("a.py", 3, "x", ("a",), ("b",)), out.Match("a.py", 5, "x", ("b",))))
    assert understood(*grep, text) == outcome
    assert told(*grep, outcome).content == text
    assert understood(*grep, "No matches found") == out.MatchesOutcome(())
    assert understood(*grep, "something else") == out.TextOutcome("something else")


def test_matches_that_were_cut_say_so() -> None:
    grep = ("grep", {"pattern": "x", "limit": 1})
    text = "a.py:3: x\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]"
    assert understood(*grep, text) == out.MatchesOutcome((out.Match("a.py", 3, "x"),), truncated=True)


def test_found_files() -> None:
    find = ("find", {"pattern": "*.py"})
    assert understood(*find, "a.py\nb.py") == out.PathsOutcome(("a.py", "b.py"))
    assert understood(*find, "No files found matching pattern") == out.PathsOutcome(())
    cut = out.PathsOutcome(("a.py",), truncated=True)
    assert told(*find, cut).content == "a.py\n\n[1 results limit reached]"
    assert understood(*find, "a.py\n\n[1 results limit reached]") == cut


def test_a_folder() -> None:
    outcome = out.DirectoryOutcome("src", (out.Entry("lib", "directory"), out.Entry("a.py")))
    assert understood("ls", {"path": "src"}, "lib/\na.py") == outcome
    assert told("ls", {"path": "src"}, outcome).content == "lib/\na.py"
    assert understood("ls", {}, "(empty directory)") == out.DirectoryOutcome(".", ())


# ── failures ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, kind",
    [
        ("Tool no_such not found", "unknown_tool"),
        ('Validation failed for tool "read":\n  - path: is missing', "invalid_arguments"),
        ("partial\n\nOperation aborted", "cancelled"),
        ("ENOENT: no such file or directory", "failed"),
    ],
)
def test_failures_by_their_words(text: str, kind: out.FailureKind) -> None:
    assert understood(*READ, text, is_error=True) == out.Failure(kind, text)


@pytest.mark.parametrize("kind", ["unknown_tool", "invalid_arguments", "denied", "failed", "timed_out", "cancelled"])
def test_a_failure_is_told_so_that_its_kind_is_understood(kind: out.FailureKind) -> None:
    written = told(*READ, out.Failure(kind, "so it is"))
    again = understood(*READ, written.content, is_error=written.is_error)
    assert isinstance(again, out.Failure)
    assert again.kind == kind
    assert told(*READ, again).content == written.content, "a failure told twice does not grow"


def test_lines_whose_count_no_number_says_exactly_cannot_be_said() -> None:
    with pytest.raises(Unspeakable):
        DIALECT.write_call("1", op.ReadFile("a", 2, -(2**53)))
    (call,) = DIALECT.write_call("1", op.ReadFile("a", 2, 9))
    assert DIALECT.read_call(call).operations == (op.ReadFile("a", 2, 9),)


# ── words of other versions ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "Successfully replaced text in src/a.b.py.",
        "Successfully replaced text in src/a.b.py. Changed 12 characters to 9 characters.",
    ],
)
def test_an_edit_of_2025_is_a_change_with_its_lines(text: str) -> None:
    item = {"details": {"diff": "   1 a\n-  2 b\n+  2 c\n+  3 d"}}
    outcome = understood("edit", {"path": "src/a.b.py", "oldText": "b", "newText": "c\nd"}, text, item=item)
    assert outcome == out.ChangesOutcome((out.Change("src/a.b.py", "modified", added=2, removed=1),))


def test_powershell_and_programs_are_run_too() -> None:
    command = DIALECT.read_call(NativeCall("1", "powershell", {"command": "dir", "timeout": 5}))
    assert command.operations == (op.RunCommand("dir", timeout_ms=5000, shell="powershell"),)
    assert understood("powershell", {"command": "dir"}, "no\n\nCommand exited with code 1", is_error=True) == (
        out.CommandOutcome(1, output="no")
    )
    program = DIALECT.read_call(NativeCall("1", "codemode", {"code": "return 1", "timeout": 5}))
    assert program.operations == (op.RunCode("return 1", "javascript"),)
    assert understood("codemode", {"code": "return 1"}, "1") == out.CommandOutcome(output="1")
    assert understood("codemode", {"code": "x"}, "Script aborted: stopped", is_error=True) == (
        out.Failure("cancelled", "Script aborted: stopped")
    )
