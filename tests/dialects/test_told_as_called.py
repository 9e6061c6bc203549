"""What replaying real sessions taught: results are told in the words of the call, with no line that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import Failure, NativeCall, NativeResult, operations as op, outcomes as out
from dragoman.tools import Context, DiskWorkspace
from dragoman.tools.files import read_file

LINES = out.FileOutcome("a.txt", "two\nthree\n", 2, 9)


def told(dialect: str, name: str, arguments: dict[str, Any] | str, *outcomes: out.Outcome) -> str:
    speaker: Dialect = DIALECTS[dialect]
    content = speaker.write_result(speaker.read_call(NativeCall("1", name, arguments)), outcomes).content
    assert isinstance(content, str)
    return content


@pytest.mark.parametrize(
    "dialect,name,arguments,text",
    [
        ("claude_code", "Read", {"file_path": "a.txt", "offset": 2, "limit": 2}, "2\ttwo\n3\tthree"),
        ("copilot", "view", {"path": "a.txt", "view_range": [2, 3]}, "two\nthree"),
        ("pi", "read", {"path": "a.txt", "offset": 2, "limit": 2}, "two\nthree\n\n[6 more lines in file. Use offset=4"),
        ("qwen_code", "read_file", {"file_path": "/w/a.txt", "offset": 1, "limit": 2}, "Showing lines 2-3 of 9 total"),
        ("gemini_cli", "read_file", {"file_path": "a.txt", "start_line": 2, "end_line": 3}, "Showing lines 2-3 of 9"),
        ("opencode", "read", {"filePath": "a.txt", "offset": 2, "limit": 2}, "3: three\n\n(Showing lines 2-3 of 9."),
    ],
)
def test_no_line_is_told_after_the_last_one_asked_for(
    dialect: str, name: str, arguments: dict[str, Any], text: str
) -> None:
    assert text in told(dialect, name, arguments, LINES)
    assert not told(dialect, name, arguments, LINES).endswith("\n")


def test_the_newline_that_ends_the_file_is_told_where_the_lines_reach_it() -> None:
    ending = out.FileOutcome("a.txt", "two\nthree\n", 2, 3)
    assert (
        told("claude_code", "Read", {"file_path": "a.txt", "offset": 2, "limit": 2}, ending) == "2\ttwo\n3\tthree\n4\t"
    )


@pytest.mark.parametrize(
    "dialect,name,arguments,text",
    [
        ("claude_code", "Read", {"file_path": "a.txt"}, "Cut here: lines 1 to 2000 of 3000."),
        ("pi", "read", {"path": "a.txt"}, "[Showing lines 1-2000 of 3000. Use offset=2001 to continue.]"),
        ("qwen_code", "read_file", {"file_path": "/w/a.txt"}, "Showing lines 1-2000 of 3000 total lines."),
        ("gemini_cli", "read_file", {"file_path": "a.txt"}, "Showing lines 1-2000 of 3000 total lines."),
        ("opencode", "read", {"filePath": "a.txt"}, "(Showing lines 1-2000 of 3000. Use offset=2001 to continue.)"),
    ],
)
def test_whoever_reads_on_where_a_long_file_was_cut_misses_no_line(
    dialect: str, name: str, arguments: dict[str, Any], text: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 3001)))
    cut = read_file.run(op.ReadFile("a.txt"), Context(workspace=DiskWorkspace(tmp_path)))
    assert text in told(dialect, name, arguments, cut)


def test_opencode_says_that_the_file_ends_and_shows_no_line_after_it() -> None:
    whole = out.FileOutcome("a.txt", "one\ntwo\n", 1, 2)
    assert told("opencode", "read", {"filePath": "/w/a.txt"}, whole) == (
        "<path>/w/a.txt</path>\n<type>file</type>\n<content>\n1: one\n2: two\n\n"
        "(End of file - total 2 lines)\n</content>"
    )


@pytest.mark.parametrize(
    "dialect,name,arguments,text",
    [
        ("claude_code", "Write", {"file_path": "/w/a.txt", "content": "x"}, "File created successfully at: /w/a.txt"),
        ("gemini_cli", "write_file", {"file_path": "/w/a.txt", "content": "x"}, "wrote to new file: /w/a.txt."),
        ("qwen_code", "write_file", {"file_path": "/w/a.txt", "content": "x"}, "wrote to new file: /w/a.txt."),
        ("copilot", "create", {"path": "/w/a.txt", "file_text": "x"}, "Created file /w/a.txt with 1 characters"),
        ("cline", "editor", {"path": "/w/a.txt", "new_text": "x"}, "File created successfully at: /w/a.txt"),
        ("continue", "Write", {"filepath": "/w/a.txt", "content": "x"}, "Successfully created file: /w/a.txt"),
    ],
)
def test_a_path_is_told_as_the_call_said_it(dialect: str, name: str, arguments: dict[str, Any], text: str) -> None:
    assert text in told(dialect, name, arguments, out.ChangesOutcome((out.Change("a.txt", "created"),)))
    elsewhere = out.ChangesOutcome((out.Change("b/c.txt", "created"),))
    assert "b/c.txt" in told(dialect, name, arguments, elsewhere)


def test_matches_in_the_one_file_that_was_searched_have_no_path() -> None:
    found = out.Match("src/a.py", 3, "def b():", ("",), ("    pass",))
    asked = {"pattern": "b", "path": "/w/src/a.py", "output_mode": "content"}
    assert told("claude_code", "Grep", asked, out.MatchesOutcome((found,))) == "2-\n3:def b():\n4-    pass"
    bare = out.MatchesOutcome((out.Match("src/a.py", None, "def b():", ("",), ("    pass",)),))
    assert told("claude_code", "Grep", {**asked, "-n": False}, bare) == "\ndef b():\n    pass"
    below = {**asked, "path": "/w/src"}
    assert told("claude_code", "Grep", below, out.MatchesOutcome((found,))).startswith("src/a.py-2-\nsrc/a.py:3:def")


def test_a_match_over_several_lines_is_told_with_all_of_them() -> None:
    found = out.MatchesOutcome((out.Match("a.py", 3, "return", last_line=4),))
    asked = {"pattern": "return\\n\\n", "multiline": True, "output_mode": "content"}
    assert told("claude_code", "Grep", asked, found) == "a.py:3:return\na.py:4:"


def test_opencode_lists_a_folder_that_was_to_be_read() -> None:
    opencode: Dialect = DIALECTS["opencode"]
    call = opencode.read_call(NativeCall("1", "read", {"filePath": "/w/src"}))
    instead = opencode.reconsidered(call, (Failure("failed", "a folder", {"reason": "is_directory"}),))
    assert instead is not None
    entries = (out.Entry("a.py"), out.Entry("b", "directory"))
    assert opencode.write_result(instead, (out.DirectoryOutcome("src", entries),)).content == (
        "<path>/w/src</path>\n<type>directory</type>\n<entries>\na.py\nb/\n\n(2 entries)\n</entries>"
    )
    some = opencode.read_call(NativeCall("1", "read", {"filePath": "/w/src", "offset": 2}))
    assert opencode.reconsidered(some, (Failure("failed", "a folder", {"reason": "is_directory"}),)) is None


def test_opencode_says_of_an_edit_that_made_a_file_that_it_was_applied() -> None:
    made = out.ChangesOutcome((out.Change("a.txt", "created"),))
    edit = {"filePath": "a.txt", "oldString": "", "newString": "x"}
    assert told("opencode", "edit", edit, made) == "Edit applied successfully."


def test_copilot_tells_a_file_that_was_changed_and_moved_once() -> None:
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** End Patch"
    outcomes = (
        out.ChangesOutcome((out.Change("a.txt", "modified"),)),
        out.ChangesOutcome((out.Change("a.txt", "moved", moved_to="b.txt"),)),
    )
    assert told("copilot", "apply_patch", patch, *outcomes) == "Added 1 file(s): b.txt"


def test_gemini_s_lines_around_a_match_belong_to_the_one_they_stand_next_to() -> None:
    gemini: Dialect = DIALECTS["gemini_cli"]
    lines = ["L3: total", "L4- ", "L6- class T:", "L7:     total()"]
    text = "\n".join(['Found 2 matches for pattern "total" in path ".":', "---", "File: a.py", *lines, "---"])
    call = gemini.read_call(NativeCall("1", "grep_search", {"pattern": "total", "context": 1}))
    [outcome] = gemini.read_result(call, NativeResult("1", text)).outcomes
    assert outcome == out.MatchesOutcome(
        (out.Match("a.py", 3, "total", (), ("",)), out.Match("a.py", 7, "    total()", ("class T:",))), "content", 2
    )
