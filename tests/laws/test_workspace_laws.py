"""Laws of workspaces: they run over every kind there is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.model.outcomes import ChangesOutcome
from dragoman.tools.workspace.line_marks import line_name
from dragoman.tools.workspace.workspace import Workspace
from tests.examples import examples
from tests.tools.workspaces import KINDS, failure, files, in_memory, on_disk, told

every_kind = pytest.mark.parametrize("kind", KINDS)

# Few names, so that operations meet; some that no file can have.
NAMES = st.sampled_from(["a", "b", "c", "a.py", "é", "..", ".", "A", "x" * 256, "with space", "-"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINES = st.sampled_from(["", "one", "two", "three", "\tone", "two ", "“one”", "caf\u00e9", "one two"])
TEXTS = st.lists(LINES, max_size=5).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines))
)
EDITS = st.builds(
    op.Edit,
    st.none() | TEXTS,
    TEXTS,
    everywhere=st.booleans(),
    expected=st.none() | st.integers(-1, 3),
    whole_lines=st.booleans(),
    anchors=st.lists(LINES, max_size=2).map(tuple),
    at_end=st.booleans(),
)
OPERATIONS = st.one_of(
    st.builds(op.WriteFile, PATHS, TEXTS, st.booleans()),
    st.builds(op.WriteFile, PATHS, TEXTS),
    st.builds(op.EditFile, PATHS, st.lists(EDITS, max_size=2).map(tuple)),
    st.builds(op.InsertText, PATHS, st.integers(-1, 4), TEXTS),
    st.builds(op.DeleteFile, PATHS),
    st.builds(op.MoveFile, PATHS, PATHS),
    st.builds(op.EditNotebook, PATHS, TEXTS, st.none() | LINES),
)
TRANSACTIONS = st.lists(st.lists(OPERATIONS, min_size=1, max_size=4), min_size=1, max_size=6)
# Something to work on, so that not everything fails at its first step.
START = {
    "a": b"one\ntwo\nthree\n",
    "b/a": b"one\r\ntwo\r\none",
    "b/c": b"caf\xe9 one",
    "c/b/é": b"\xff\xfeo\x00n\x00e\x00",
}


def started(workspace: Workspace) -> Workspace:
    for path, data in START.items():
        workspace.write(path, data)
    return workspace


@every_kind
@given(path=PATHS, data=st.binary(max_size=50))
def test_what_is_written_is_read_back(kind: str, path: str, data: bytes) -> None:
    with KINDS[kind]() as workspace:
        try:
            change = workspace.write(path, data)
        except ToolError:
            assert files(workspace) == {}
            return
        assert workspace.read(path) == data
        assert files(workspace) == {change.path: data}
        assert (change.kind, change.path) == ("created", workspace.resolve(path))


@every_kind
@examples(60)
@given(transactions=TRANSACTIONS)
def test_a_transaction_that_fails_changes_nothing(kind: str, transactions: list[list[op.Operation]]) -> None:
    with KINDS[kind]() as workspace:
        started(workspace)
        for operations in transactions:
            before = files(workspace)
            outcome = told(lambda operations=operations: workspace.apply(operations))
            if not isinstance(outcome, ChangesOutcome):
                assert files(workspace) == before


@examples(150)
@given(transactions=TRANSACTIONS)
def test_memory_does_and_says_what_the_disk_does_and_says(transactions: list[list[op.Operation]]) -> None:
    with on_disk() as disk, in_memory() as memory:
        started(disk)
        started(memory)
        for operations in transactions:
            outcomes = [told(lambda each=each: each.apply(operations)) for each in (disk, memory)]  # noqa: B023
            assert outcomes[0] == outcomes[1]
            assert files(disk) == files(memory)
            assert listing(disk) == listing(memory)


@every_kind
@examples(100)
@given(operations=st.lists(OPERATIONS, min_size=2, max_size=5))
def test_a_transaction_does_what_its_operations_do_one_by_one(kind: str, operations: list[op.Operation]) -> None:
    with KINDS[kind]() as together, KINDS[kind]() as alone:
        started(together)
        started(alone)
        before = files(together), listing(together)
        preview = told(lambda: together.apply(operations, preview=True))
        assert (files(together), listing(together)) == before
        outcome = told(lambda: together.apply(operations))
        if isinstance(outcome, ChangesOutcome):
            assert preview == ChangesOutcome(outcome.changes, preview=True)
            changes = [change for operation in operations for change in alone.apply([operation]).changes]
            assert outcome.changes == tuple(changes)
            assert files(together) == files(alone)


def listing(workspace: Workspace, folder: str = ".") -> list[Any]:
    """Every entry below a folder; of folders, sizes and times are the system's own affair."""
    found: list[Any] = []
    for entry in workspace.entries(folder):
        below = entry.path if folder == "." else f"{folder}/{entry.path}"
        found.append((below, entry.kind, entry.size))
        if entry.kind == "directory":
            found += listing(workspace, below)
    return found


@every_kind
@examples(60)
@given(transactions=TRANSACTIONS)
def test_a_diff_leads_from_the_old_text_to_the_new(kind: str, transactions: list[list[op.Operation]]) -> None:
    with KINDS[kind]() as workspace:
        started(workspace)
        for operations in transactions:
            before = files(workspace)
            outcome = told(lambda operations=operations: workspace.apply(operations[:1]))
            if not isinstance(outcome, ChangesOutcome):
                continue
            (change,) = outcome.changes
            if change.diff is None:
                assert change.kind == "moved"
                continue
            old, new = lines_of(before.get(change.path)), lines_of(files(workspace).get(change.path))
            assert patched(old, change.diff) == new
            assert change.added == len(re.findall(r"^\+(?!\+\+ )", change.diff, re.MULTILINE))
            assert change.removed == len(re.findall(r"^-(?!-- )", change.diff, re.MULTILINE))


def lines_of(data: bytes | None) -> list[str]:
    if data is None:
        return []
    for codec in ("utf-16", "utf-8", "cp1252"):
        try:
            text = data.decode(codec) if codec != "utf-16" or data.startswith(b"\xff\xfe") else None
        except UnicodeDecodeError:
            continue
        if text is not None:
            return text.replace("\r\n", "\n").splitlines(keepends=True)
    raise AssertionError("not a text")


def patched(old: list[str], diff: str) -> list[str]:
    """A diff applied as its format says, strictly."""
    new: list[str] = []
    position = 0
    last = ""
    hunks = re.split(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@\n", diff, flags=re.MULTILINE)[1:]
    for start, count, body in zip(hunks[::3], hunks[1::3], hunks[2::3], strict=True):
        first = int(start) - (count != "0")
        new += old[position:first]
        position = first
        for line in body.split("\n")[:-1]:
            if line.startswith("\\"):
                # The line before it has no end: in the new text if it was not taken out of the old one.
                new[-1:] = [new[-1].removesuffix("\n")] if not last.startswith("-") else new[-1:]
                continue
            last = line
            if line[0] in " -":
                assert old[position].removesuffix("\n") == line[1:]
                position += 1
            if line[0] in " +":
                new.append(f"{line[1:]}\n")
    return new + old[position:]


@every_kind
@given(path=st.text(min_size=1) | PATHS)
def test_a_resolved_path_resolves_to_itself_or_is_refused(kind: str, path: str) -> None:
    with KINDS[kind]() as workspace:
        resolved = told(lambda: workspace.resolve(path))
        if isinstance(resolved, tuple):
            assert resolved[0] in ("denied", "invalid_arguments")
            return
        assert workspace.resolve(resolved) == resolved
        assert not resolved.startswith("/")
        assert ".." not in resolved.split("/")


@every_kind
@given(path=PATHS)
def test_a_path_is_there_exactly_if_it_is_listed(kind: str, path: str) -> None:
    with KINDS[kind]() as workspace:
        started(workspace)
        listed = {below for below, _, _ in listing(workspace)} | {"."}
        entry = told(lambda: workspace.entry(path))
        if not isinstance(entry, tuple):
            assert (entry is not None) == (workspace.resolve(path) in listed)


@every_kind
@given(path=st.text(max_size=20) | PATHS)
def test_suggestions_are_files_that_are_there(kind: str, path: str) -> None:
    with KINDS[kind]() as workspace:
        started(workspace)
        assert set(workspace.suggest(path)) <= set(START)


@every_kind
@given(data=st.binary(max_size=40), limit=st.integers(0, 50))
def test_a_limit_cuts_what_is_read(kind: str, data: bytes, limit: int) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("f", data)
        assert workspace.read("f", limit=limit) == data[:limit]


# ── text ─────────────────────────────────────────────────────────────────────

ENCODINGS = st.sampled_from(
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("cp1252", b""),
    ]
)
PIECES = st.lists(
    st.tuples(st.sampled_from(["alpha", "béta", "  gamma", "", "délta\t", "ümlaut"]), st.sampled_from(["\n", "\r\n"])),
    max_size=8,
)


@every_kind
@given(
    before=PIECES,
    after=PIECES,
    encoding=ENCODINGS,
    stray=st.booleans(),
    new=st.sampled_from(["", "x\ny", "z\n", "naïve"]),
)
def test_an_edit_leaves_every_other_byte_alone(
    kind: str, before: Any, after: Any, encoding: tuple[str, bytes], stray: bool, new: str
) -> None:
    codec, mark = encoding
    head, tail = ("".join(line + end for line, end in lines) for lines in (before, after))
    first = "ééé".encode(codec) + (b"\xff" if stray and codec == "utf-8" else b"")
    start, end = mark + first + head.encode(codec), tail.encode(codec)
    with KINDS[kind]() as workspace:
        workspace.write("f", start + "MARK".encode(codec) + end)
        workspace.apply([op.EditFile("f", (op.Edit("MARK", new),))])
        got = workspace.read("f")
        assert got.startswith(start)
        assert got.endswith(end)
        assert got[len(start) : len(got) - len(end)].decode(codec).replace("\r\n", "\n") == new


@every_kind
@given(lines=PIECES, at=st.integers(0, 8), final=st.booleans())
def test_lines_inserted_and_taken_out_again_leave_the_file_as_it_was(
    kind: str, lines: Any, at: int, final: bool
) -> None:
    text = "".join(line + end for line, end in lines)
    if lines and not final:
        text += "last"
    at = min(at, len(lines))
    with KINDS[kind]() as workspace:
        workspace.write("f", text.encode())
        workspace.apply([op.InsertText("f", at, "UNIQUE ONE\nUNIQUE TWO\n")])
        workspace.apply([op.EditFile("f", (op.Edit("UNIQUE ONE\nUNIQUE TWO\n", "", whole_lines=True),))])
        assert workspace.read("f") == text.encode()


@every_kind
@given(content=TEXTS)
def test_writing_the_same_text_again_changes_nothing(kind: str, content: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.apply([op.WriteFile("f", content)])
        data = workspace.read("f")
        outcome = workspace.apply([op.WriteFile("f", content)])
        assert outcome.changes[0].kind == "unchanged"
        assert workspace.read("f") == data


# ── transactions ─────────────────────────────────────────────────────────────


@every_kind
def test_operations_see_what_earlier_ones_did(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.apply(
            [
                op.WriteFile("new/a.txt", "one\ntwo\n"),
                op.EditFile("new/a.txt", (op.Edit("one", "1"),)),
                op.MoveFile("new/a.txt", "other/b.txt"),
                op.InsertText("other/b.txt", 2, "three"),
                op.WriteFile("new/a.txt", "again"),
            ]
        )
        assert files(workspace) == {"new/a.txt": b"again", "other/b.txt": b"1\ntwo\nthree\n"}


@every_kind
def test_a_file_moved_away_can_be_written_again_as_it_was(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a", b"A")
        workspace.apply([op.MoveFile("a", "b"), op.WriteFile("a", "A")])
        assert files(workspace) == {"a": b"A", "b": b"A"}


@every_kind
def test_files_can_change_places(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a", b"A")
        workspace.write("b", b"B")
        workspace.apply([op.MoveFile("a", "t"), op.MoveFile("b", "a"), op.MoveFile("t", "b")])
        assert files(workspace) == {"a": b"B", "b": b"A"}


@every_kind
def test_a_failure_says_which_operation_it_was(kind: str) -> None:
    with KINDS[kind]() as workspace:
        error = failure(
            lambda: workspace.apply([op.WriteFile("x/a", "1"), op.DeleteFile("nothing"), op.WriteFile("b", "2")])
        )
        assert error.message.startswith('operation 2 of 3: "nothing" does not exist.')
        assert error.message.endswith("None of the 3 operations was done.")
        assert error.details == {"reason": "not_found", "path": "nothing", "suggestions": [], "operation": 1}
        assert listing(workspace) == []


@every_kind
@pytest.mark.parametrize(
    "operations, after",
    [
        ([op.DeleteFile("a"), op.WriteFile("a/b", "1")], {"a/b": b"1", "x": b"x"}),
        ([op.MoveFile("a", "c"), op.WriteFile("a/b", "1")], {"c": b"a", "a/b": b"1", "x": b"x"}),
        ([op.MoveFile("a", "c"), op.MoveFile("c", "a/b/c")], {"a/b/c": b"a", "x": b"x"}),
        ([op.DeleteFile("a"), op.MoveFile("x", "a/x")], {"a/x": b"x"}),
        (
            [op.MoveFile("a", "c"), op.MoveFile("x", "a/x"), op.MoveFile("c", "x/a")],
            {"a/x": b"x", "x/a": b"a"},
        ),
        (
            [op.DeleteFile("a"), op.WriteFile("a/b", "1"), op.DeleteFile("a/b"), op.WriteFile("a", "2")],
            {"a": b"2", "x": b"x"},
        ),
        ([op.WriteFile("n/b", "1"), op.DeleteFile("n/b"), op.WriteFile("n", "2")], {"a": b"a", "n": b"2", "x": b"x"}),
    ],
    ids=str,
)
def test_a_name_that_was_freed_can_become_a_folder(
    kind: str, operations: list[op.Operation], after: dict[str, bytes]
) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("a", b"a")
        workspace.write("x", b"x")
        workspace.apply(operations)
        assert files(workspace) == after


@every_kind
def test_a_folder_does_not_become_a_file_by_losing_its_files(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("d/a", b"")
        for operation in (op.DeleteFile("d/a"), op.MoveFile("d/a", "b")):
            error = failure(lambda operation=operation: workspace.apply([operation, op.WriteFile("d", "x")]))
            assert error.details["reason"] == "is_directory"
            assert "stays one when the files in it are deleted or moved" in error.message
        assert files(workspace) == {"d/a": b""}


@every_kind
def test_a_folder_stays_when_its_last_file_goes(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("folder/file", b"")
        workspace.apply([op.DeleteFile("folder/file")])
        assert listing(workspace) == [("folder", "directory", None)]


@every_kind
@pytest.mark.parametrize(
    "operation, kind_of_failure, reason",
    [
        (op.WriteFile("there", "x", overwrite=False), "failed", "exists"),
        (op.WriteFile("folder", "x"), "failed", "is_directory"),
        (op.WriteFile("there/below", "x"), "failed", "not_a_directory"),
        (op.WriteFile("../out", "x"), "denied", "outside"),
        (op.WriteFile("/../out", "x"), "denied", "outside"),
        (op.WriteFile("folder/../../out", "x"), "denied", "outside"),
        (op.WriteFile(".", "x"), "failed", "is_directory"),
        (op.WriteFile(".dragoman-0123456789abcdef.tmp", "x"), "denied", None),
        (op.WriteFile("folder/.dragoman-0123456789abcdef.journal/x", "x"), "denied", None),
        (op.MoveFile("there", ".dragoman-0123456789abcdef.done/x/y"), "denied", None),
        (op.WriteFile("", "x"), "invalid_arguments", None),
        (op.WriteFile("a\0b", "x"), "invalid_arguments", None),
        (op.WriteFile("a\ud800b", "x"), "invalid_arguments", None),
        (op.WriteFile("new", "\ud800"), "invalid_arguments", None),
        (op.WriteFile("x" * 300, "x"), "invalid_arguments", None),
        (op.WriteFile("x/" * 5000, "x"), "invalid_arguments", None),
        (op.DeleteFile("missing"), "failed", "not_found"),
        (op.DeleteFile("folder"), "failed", "is_directory"),
        (op.MoveFile("missing", "new"), "failed", "not_found"),
        (op.MoveFile("there", "folder/file"), "failed", "exists"),
        (op.MoveFile("there", "folder"), "failed", "is_directory"),
        (op.MoveFile("folder", "new"), "failed", "is_directory"),
        (op.MoveFile("there", "there"), "failed", "exists"),
        (op.MoveFile("there", "../there"), "denied", "outside"),
        (op.EditFile("missing", (op.Edit("a", "b"),)), "failed", "not_found"),
        (op.EditFile("folder", (op.Edit("a", "b"),)), "failed", "is_directory"),
        (op.EditFile("binary", (op.Edit("a", "b"),)), "failed", "binary"),
        (op.EditFile("there", ()), "invalid_arguments", None),
        (op.EditFile("there", (op.Edit("", "b"),)), "invalid_arguments", "empty"),
        (op.EditFile("there", (op.Edit(None, "b"),)), "invalid_arguments", "empty"),
        (op.EditFile("there", (op.Edit("one", "one"),)), "failed", "no_change"),
        (op.EditFile("there", (op.Edit("four", "4"),)), "failed", "no_match"),
        (op.EditFile("there", (op.Edit("t", "T"),)), "failed", "many_matches"),
        (op.EditFile("there", (op.Edit("one", "1", expected=2),)), "failed", "wrong_count"),
        (op.EditFile("latin", (op.Edit("caf", "→"),)), "failed", "encoding"),
        (op.InsertText("there", 4, "x"), "invalid_arguments", "no_line"),
        (op.InsertText("there", -1, "x"), "invalid_arguments", "no_line"),
        (op.InsertText("there", 1, ""), "invalid_arguments", None),
        (op.ReplaceLines("there", "1", "x"), "invalid_arguments", "no_line"),
        (op.ReplaceLines("there", "1:zzz", "x"), "invalid_arguments", "no_line"),
        (op.ReplaceLines("there", line_name(1, "another"), "x"), "failed", "no_match"),
        (op.ReplaceLines("there", "99:000", "x"), "failed", "no_match"),
        (op.EditNotebook("there", "x"), "failed", "not_a_notebook"),
        (op.ReadFile("there"), "invalid_arguments", None),
    ],
    ids=str,
)
def test_each_failure_says_why_and_leaves_everything_alone(
    kind: str, operation: op.Operation, kind_of_failure: str, reason: str | None
) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("there", b"one\ntwo\nthree\n")
        workspace.write("folder/file", b"")
        workspace.write("binary", b"\x7fELF\0\0")
        workspace.write("latin", b"caf\xe9")
        before = files(workspace), listing(workspace)
        error = failure(lambda: workspace.apply([operation]))
        assert (error.kind, error.details.get("reason")) == (kind_of_failure, reason)
        assert (files(workspace), listing(workspace)) == before


@every_kind
@pytest.mark.parametrize(
    "read, kind_of_failure, reason",
    [
        (lambda workspace: workspace.read("missing"), "failed", "not_found"),
        (lambda workspace: workspace.read("folder"), "failed", "is_directory"),
        (lambda workspace: workspace.read("../x"), "denied", "outside"),
        (lambda workspace: workspace.read("folder/file/below"), "failed", "not_found"),
        (lambda workspace: workspace.entries("missing"), "failed", "not_found"),
        (lambda workspace: workspace.entries("folder/file"), "failed", "not_a_directory"),
        (lambda workspace: workspace.entries(".."), "denied", "outside"),
        (lambda workspace: workspace.entry("../.."), "denied", "outside"),
    ],
)
def test_reading_what_is_not_there_says_why(kind: str, read: Any, kind_of_failure: str, reason: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("folder/file", b"")
        error = failure(lambda: read(workspace))
        assert (error.kind, error.details["reason"]) == (kind_of_failure, reason)


@every_kind
def test_the_tree_can_be_read_as_a_folder_of_this_machine(kind: str) -> None:
    with KINDS[kind]() as workspace:
        started(workspace)
        with workspace.directory() as folder:
            found = {
                path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
            }
        assert found == START


@every_kind
def test_a_wrong_path_is_answered_with_the_right_one(kind: str) -> None:
    with KINDS[kind]() as workspace:
        for path in ("src/inventory.py", "src/report.py", "docs/inventory.md", "README.md"):
            workspace.write(path, b"")
        assert workspace.suggest("inventory.py") == ("src/inventory.py", "docs/inventory.md")
        assert workspace.suggest("src\\inventory.py")[0] == "src/inventory.py"
        assert workspace.suggest("readme.MD") == ("README.md",)
        assert workspace.suggest("lib/reports.py") == ("src/report.py",)
        assert workspace.suggest("zzz") == ()
        assert failure(lambda: workspace.read("src/inventry.py")).message == (
            '"src/inventry.py" does not exist. Did you mean "src/inventory.py" or "docs/inventory.md"?'
        )
        assert failure(lambda: workspace.read("src/zzz")).message == (
            '"src/zzz" does not exist. "src" holds inventory.py, report.py.'
        )
