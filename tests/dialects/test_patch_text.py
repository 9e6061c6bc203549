"""The patch language, form by form."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import pytest

from dragoman.dialects.base.patch_text import (
    CLINE,
    CODEX,
    COPILOT,
    DROID,
    OPENCODE,
    Invocation,
    PatchError,
    PatchForm,
    changed_files,
    in_whole_lines,
    patch_in_arguments,
    patch_in_command,
    read_patch,
    write_patch,
)
from dragoman.errors import ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.model.edit_rules import EditRules, PatchRules
from dragoman.tools.workspace.memory import MemoryWorkspace


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def edit(old: str | None, new: str, *anchors: str, at_end: bool = False) -> op.Edit:
    return op.Edit(old, new, whole_lines=True, anchors=anchors, at_end=at_end)


def test_one_patch_means_several_operations_on_several_files() -> None:
    text = patch(
        "*** Add File: docs/history.md",
        "+# History",
        "+",
        "*** Update File: src/stock.py",
        "@@ def count(items):",
        "     total = 0",
        "-    return sum(items)",
        "+    return sum(items, total)",
        "*** Delete File: old.json",
        "*** Update File: notes.md",
        "*** Move to: docs/notes.md",
        "@@",
        "-rough",
        "+smooth",
    )
    operations = (
        op.WriteFile("docs/history.md", "# History\n\n"),
        op.EditFile(
            "src/stock.py",
            (
                edit(
                    "    total = 0\n    return sum(items)\n",
                    "    total = 0\n    return sum(items, total)\n",
                    "def count(items):",
                ),
            ),
        ),
        op.DeleteFile("old.json"),
        op.EditFile("notes.md", (edit("rough\n", "smooth\n"),)),
        op.MoveFile("notes.md", "docs/notes.md"),
    )
    assert read_patch(text) == operations
    assert write_patch(operations) == text


def test_a_pure_insertion_has_no_old_text_and_keeps_its_anchors() -> None:
    text = patch("*** Update File: a.py", "@@ class Shelf:", "@@     def add(self):", "+        self.count += 1")
    operations = (
        op.EditFile("a.py", (edit(None, "        self.count += 1\n", "class Shelf:", "    def add(self):"),)),
    )
    assert read_patch(text) == operations
    assert write_patch(operations) == text


def test_several_hunks_are_several_edits_and_the_last_may_be_at_the_end_of_the_file() -> None:
    text = patch(
        "*** Update File: a.py", "@@", "-one", "+two", "@@ def f():", " kept", "+added", "*** End of File"
    )  # fmt: skip
    edits = (edit("one\n", "two\n"), edit("kept\n", "kept\nadded\n", "def f():", at_end=True))
    assert read_patch(text) == (op.EditFile("a.py", edits),)
    assert write_patch((op.EditFile("a.py", edits),)) == text


def test_the_first_hunk_needs_no_anchor_and_an_empty_line_is_kept() -> None:
    text = patch("*** Update File: a.py", " one", "", "-two", "+three")
    assert read_patch(text) == (op.EditFile("a.py", (edit("one\n\ntwo\n", "one\n\nthree\n"),)),)


def test_a_hunk_may_follow_the_end_of_the_file_though_it_is_never_written_so() -> None:
    text = patch("*** Update File: a", "-one", "*** End of File", "", "@@", "+two")
    operations = (op.EditFile("a", (edit("one\n", "", at_end=True), edit(None, "two\n"))),)
    assert read_patch(text) == operations
    assert write_patch(operations) is None


def test_a_move_alone_is_a_move() -> None:
    text = patch("*** Update File: a", "*** Move to: b")
    assert read_patch(text) == (op.MoveFile("a", "b"),)
    assert write_patch((op.MoveFile("a", "b"),)) == text


@pytest.mark.parametrize(
    "text",
    [
        "\n  *** Begin Patch\n*** Delete File: a\n  *** End Patch  \n\n",
        "*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n",
        "*** Begin Patch\n   *** Delete File: a   \n*** End Patch",
        "<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n",
        '<<"EOF"\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF',
        "*** Begin Patch\n*** Environment ID: far away\n*** Delete File: a\n*** End Patch",
    ],
)
def test_the_frame_of_a_patch_is_read_forgivingly(text: str) -> None:
    assert read_patch(text) == (op.DeleteFile("a"),)


@pytest.mark.parametrize(
    "lines, line, problem",
    [
        (("junk",), 1, 'line 1 of the patch is "junk"; expected "*** Begin Patch"'),
        (("*** Begin Patch", "*** Delete File: a"), 2, 'and the last one; expected "*** End Patch"'),
        (("*** Begin Patch", "*** End Patch"), 2, "nothing is changed; expected a file to add, delete or update"),
        (("*** Begin Patch", "*** Rename File: a", "*** End Patch"), 2, 'line 2 of the patch is "*** Rename File: a"'),
        (("*** Begin Patch", "*** Add File: a", "+x", "y", "*** End Patch"), 4, 'with "+" before it'),
        (("*** Begin Patch", "*** Update File: a", "*** End Patch"), 2, "updates 'a' and nothing is changed"),
        (("*** Begin Patch", "*** Update File: a", "@@ f", "*** End Patch"), 4, "ends an edit that has no lines"),
        (("*** Begin Patch", "*** Update File: a", "*** End of File", "*** End Patch"), 3, "an edit that has no lines"),
        (("*** Begin Patch", "*** Update File: a", "-x", "y", "*** End Patch"), 4, '"+" (added) or "-" (removed)'),
        (("*** Begin Patch", "*** Update File: a", "-x", "*** End of File", "-y", "*** End Patch"), 5, "after the end"),
        (("*** Begin Patch", "*** Delete File: a", "*** End Patch", "", "*** End Patch"), 3, "before its last line"),
    ],
)  # fmt: skip
def test_what_is_no_patch_says_which_line_is_wrong_and_what_was_expected(
    lines: tuple[str, ...], line: int, problem: str
) -> None:
    with pytest.raises(PatchError) as raised:
        read_patch("\n".join(lines))
    assert raised.value.line == line
    assert problem in str(raised.value)


DELETE = patch("*** Delete File: a")


@pytest.mark.parametrize(
    "arguments, found",
    [
        (["apply_patch", DELETE], Invocation(DELETE)),
        (["applypatch", DELETE], Invocation(DELETE)),
        (["bash", "-lc", f"apply_patch <<'EOF'\n{DELETE}\nEOF"], Invocation(DELETE)),
        (["/bin/zsh", "-c", f"applypatch << EOF\n{DELETE}\nEOF\n"], Invocation(DELETE)),
        (["bash", "-lc", f"cd src && apply_patch <<'END'\n{DELETE}\nEND"], Invocation(DELETE, "src")),
        (["bash", "-lc", f"apply_patch '{DELETE}'"], None),
        (["python3", "-c", f"apply_patch <<'EOF'\n{DELETE}\nEOF"], None),
        (["apply_patch"], None),
        (["ls"], None),
        ([], None),
    ],
)
def test_a_patch_is_found_in_the_arguments_of_a_program(arguments: list[str], found: Invocation | None) -> None:
    assert patch_in_arguments(arguments) == found


@pytest.mark.parametrize(
    "command, found",
    [
        (f"apply_patch <<'EOF'\n{DELETE}\nEOF", Invocation(DELETE)),
        (f'cd "my folder" && apply_patch <<"EOF"\n{DELETE}\nEOF\n', Invocation(DELETE, "my folder")),
        (f"cd '/tmp/a b' && apply_patch <<'EOF'\n{DELETE}\nEOF\n", Invocation(DELETE, "/tmp/a b")),
        (f"bash -lc \"apply_patch <<'EOF'\n{DELETE}\nEOF\"", Invocation(DELETE)),
        # Anything else or more is a command like any other.
        (f"cd $HOME && apply_patch <<'EOF'\n{DELETE}\nEOF", None),
        (f"cd src; apply_patch <<'EOF'\n{DELETE}\nEOF", None),
        (f"cd src || apply_patch <<'EOF'\n{DELETE}\nEOF", None),
        (f"apply_patch <<'EOF'\n{DELETE}\nEOF\nmake test", None),
        (f"apply_patch <<'EOF'\n{DELETE}\nEOF\nmake\nEOF", None),
        (f"apply_patch --check <<'EOF'\n{DELETE}\nEOF", None),
        (f"apply_patch '{DELETE}'", None),
        ("echo apply_patch", None),
        ('bash -lc "apply_patch', None),
    ],
)
def test_a_patch_is_found_in_a_heredoc(command: str, found: Invocation | None) -> None:
    assert patch_in_command(command) == found


def test_paths_are_taken_from_the_folder_the_command_went_to() -> None:
    text = patch("*** Add File: a", "+x", "*** Update File: b", "*** Move to: /tmp/c", "-y", "*** Delete File: d")
    assert read_patch(text, "src") == (
        op.WriteFile("src/a", "x\n"),
        op.EditFile("src/b", (edit("y\n", ""),)),
        op.MoveFile("src/b", "/tmp/c"),
        op.DeleteFile("src/d"),
    )
    assert read_patch(text, ".") == read_patch(text)


@pytest.mark.parametrize(
    "operation",
    [
        op.WriteFile("a", ""),
        op.WriteFile("a", "no end"),
        op.WriteFile("a", "x\r\n"),
        op.WriteFile("a", "x\n", overwrite=False),
        op.WriteFile("a ", "x\n"),
        op.EditFile("a", ()),
        op.EditFile("a", (op.Edit("x", "y"),)),
        op.EditFile("a", (op.Edit("x\n", "y\n", whole_lines=True, everywhere=True),)),
        op.EditFile("a", (op.Edit("x\n", "y\n", whole_lines=True, expected=2),)),
        op.EditFile("a", (op.Edit("x\n", "y\n", whole_lines=True, anchors=("f ",)),)),
        op.EditFile("a", (op.Edit("x\n", "y\n", whole_lines=True),), purpose="tidy"),
        op.InsertText("a", 3, "x\n"),
        op.DeleteFile(""),
    ],
)
def test_what_a_patch_cannot_say_exactly_is_not_written(operation: op.Operation) -> None:
    assert write_patch((operation,)) is None


@pytest.mark.parametrize(
    "said, nearest",
    [
        (op.Edit("x = 1", "x = 2"), edit("x = 1\n", "x = 2\n")),
        (op.Edit("x\ny\n", "z\n"), edit("x\ny\n", "z\n")),
        (op.Edit("x\n", ""), edit("x\n", "")),
        (op.Edit("x", ""), edit("x\n", "\n")),
        (op.Edit("x", "y\n"), edit("x\n", "y\n\n")),
        # Half a line, or many places: no patch comes near.
        (op.Edit("x\n", "y"), op.Edit("x\n", "y")),
        (op.Edit("x", "y", everywhere=True), op.Edit("x", "y", everywhere=True)),
    ],
)
def test_a_text_is_said_as_the_whole_lines_it_may_be(said: op.Edit, nearest: op.Edit) -> None:
    assert in_whole_lines(op.EditFile("a", (said,))) == op.EditFile("a", (nearest,))


def test_a_new_file_that_lacks_the_end_of_its_last_line_gets_it() -> None:
    assert in_whole_lines(op.WriteFile("a", "x", overwrite=False)) == op.WriteFile("a", "x\n")


PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"


@pytest.mark.parametrize(
    "arguments, found",
    [
        (["powershell.exe", "-Command", f"apply_patch <<'PATCH'\n{PATCH}\nPATCH"], True),
        (["powershell.exe", "-NoProfile", "-Command", f"apply_patch <<'PATCH'\n{PATCH}\nPATCH"], True),
        (["C:\\Program Files\\PowerShell\\7\\pwsh.EXE", "-command", f"apply_patch <<EOF\n{PATCH}\nEOF"], True),
        (["cmd.exe", "/c", f"apply_patch <<'EOF'\n{PATCH}\nEOF"], True),
        (["pwsh", "-Command", f"@'\n{PATCH}\n'@ | apply_patch"], True),
        (["pwsh", "-Command", f'@"\n{PATCH}\n"@ | apply_patch'], True),
        (["pwsh", "-Command", '@"\n*** Begin Patch\n*** Add File: a\n+$HOME\n*** End Patch\n"@ | apply_patch'], False),
        (["pwsh", "-File", f"apply_patch <<'EOF'\n{PATCH}\nEOF"], False),
        (["cmd.exe", "/k", f"apply_patch <<'EOF'\n{PATCH}\nEOF"], False),
        (["pwsh", "-Command", f"@'\n{PATCH}\n'@ | apply_patch; rm b"], False),
    ],
)
def test_a_patch_is_found_in_command_lines_of_windows(arguments: list[str], found: bool) -> None:
    assert patch_in_arguments(arguments) == (Invocation(PATCH) if found else None)


TWICE = ("*** Update File: f", "@@", "-a", "+A", "*** Update File: f", "@@", "-b", "+B")
ADDED_AND_UPDATED = ("*** Add File: f", "+a", "*** Update File: f", "@@", "-a", "+A")
REPLACED = ("*** Delete File: f", "*** Add File: f", "+a")


@pytest.mark.parametrize(
    "form, section, refused",
    [
        (CODEX, TWICE, False),
        (OPENCODE, TWICE, True),
        (OPENCODE, ADDED_AND_UPDATED, True),
        (OPENCODE, REPLACED, False),
        (CLINE, TWICE, True),
        (CLINE, ADDED_AND_UPDATED, True),
        (CLINE, REPLACED, True),
        (COPILOT, TWICE, False),
        (DROID, TWICE, False),
    ],
)
def test_a_second_section_about_a_file_is_what_it_is_in_the_client(
    form: PatchForm, section: Sequence[str], refused: bool
) -> None:
    patch = "\n".join(["*** Begin Patch", *section, "*** End Patch"])
    with pytest.raises(PatchError, match="changed already") if refused else nullcontext():
        assert len(read_patch(patch, form=form)) == 2


@pytest.mark.parametrize("form, moves", [(CODEX, True), (COPILOT, False), (DROID, False)])
def test_a_move_of_a_file_onto_itself_is_no_move_where_the_client_makes_none(form: PatchForm, moves: bool) -> None:
    patch = "*** Begin Patch\n*** Update File: a/f\n*** Move to: a/./f\n@@\n-a\n+A\n*** End Patch"
    assert any(isinstance(one, op.MoveFile) for one in read_patch(patch, form=form)) is moves


def test_a_move_of_a_file_onto_itself_loses_no_file() -> None:
    moves_over = PatchRules(moves_over=True)
    workspace = MemoryWorkspace({"f": b"a\n"})
    with pytest.raises(ToolError, match="onto itself"):
        workspace.apply([op.MoveFile("f", "./f")], rules=EditRules(patch=moves_over))
    assert workspace.read("f") == b"a\n"


def test_each_section_of_a_patch_is_listed_in_the_result() -> None:
    edited = out.ChangesOutcome((out.Change("f", "modified"),))
    moved = out.ChangesOutcome((out.Change("f", "moved", moved_to="g"),))
    letters = {"modified": "M", "moved": "M"}
    assert changed_files([edited, edited], letters) == ["M f", "M f"]
    assert changed_files([edited, moved], letters) == ["M g"]
