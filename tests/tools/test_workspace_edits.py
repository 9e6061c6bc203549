"""Edits: what they find, what they change, and what they say when they cannot."""

from __future__ import annotations

import pytest

from dragoman.model.operations import Edit, EditFile, InsertText, WriteFile
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.tools.workspaces import failure


def edited(before: str | bytes, *edits: Edit) -> bytes:
    workspace = MemoryWorkspace({"f": before})
    workspace.apply([EditFile("f", edits)])
    return workspace.read("f")


def refused(before: str | bytes, *edits: Edit) -> str:
    workspace = MemoryWorkspace({"f": before})
    return failure(lambda: workspace.apply([EditFile("f", edits)])).message


def lines(old: str | None, new: str, **how: object) -> Edit:
    return Edit(old, new, whole_lines=True, **how)  # type: ignore[arg-type]


PROGRAM = """\
class Basket:
    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(self.items)


class Box:
    def add(self, item):
        self.items.append(item)
"""


# ── text ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "before, edit, after",
    [
        ("a b c", Edit("b", "B"), "a B c"),
        ("a b c", Edit(" b", ""), "a c"),
        ("a b a", Edit("a", "x", everywhere=True), "x b x"),
        ("a b a", Edit("a", "x", expected=2), "x b x"),
        ("a b c", Edit("b", "x", expected=1), "a x c"),
        ("a b a", Edit("a", "aa", everywhere=True, expected=2), "aa b aa"),
        ("aaaa", Edit("aa", "b", everywhere=True), "bb"),
        ("x\ny\n", Edit("x\ny", "x\n\ny"), "x\n\ny\n"),
    ],
)
def test_text_is_replaced_where_it_stands(before: str, edit: Edit, after: str) -> None:
    assert edited(before, edit) == after.encode()


def test_edits_apply_in_order_all_or_none() -> None:
    assert edited("one", Edit("one", "two"), Edit("two", "three")) == b"three"
    assert refused("one", Edit("one", "two"), Edit("one", "three")) == (
        'edit 2 of 2: the text to replace is not found; no line looks like it: read the file again ("f" is unchanged)'
    )


def test_replacements_are_counted() -> None:
    workspace = MemoryWorkspace({"f": "a a\nb\na\n"})
    outcome = workspace.apply([EditFile("f", (Edit("a", "x", everywhere=True), Edit("b", "y")))])
    assert [(change.kind, change.replacements, change.added, change.removed) for change in outcome.changes] == [
        ("modified", 4, 3, 3)
    ]


@pytest.mark.parametrize(
    "before, edit, why",
    [
        (
            "a\nb a\n",
            Edit("a", "x"),
            "is found 2 times (lines 1, 2), and it must be unique: add lines around it, or replace it everywhere",
        ),
        ("aaa", Edit("aa", "x"), "is found 2 times (lines 1, 1), and it must be unique"),
        ("a a a", Edit("a", "x", expected=2), "is found 3 times (lines 1, 1, 1), not 2 times as expected"),
        ("a", Edit("a", "x", expected=2), "is found once (line 1), not 2 times as expected"),
        ("a", Edit("a", "a"), "the same, so nothing would change"),
        ("a", Edit("", "a"), "is empty"),
        ("a", Edit(None, "a"), "is missing"),
        ("ab", Edit("a", "x", everywhere=True, expected=0), "is found once (line 1), not 0 times as expected"),
    ],
)
def test_a_text_that_is_not_there_once_is_refused(before: str, edit: Edit, why: str) -> None:
    assert why in refused(before, edit)


@pytest.mark.parametrize(
    "before, old, hint",
    [
        ("if x:\n\treturn 1\n", "    return 1", "line 2 has it without the white space around it"),
        ("if x:\n\treturn  1\n", "if x:\n    return 1", "line 1 differs from it only in tabs, spaces or indentation"),
        ("print(“hello”)\n", 'print("hello")', "line 1 differs from it only in the shape of quotes, dashes or spaces"),
        ("a\nSELECT one\n", "select one", "line 2 differs from it only in upper and lower case"),
        ("one\ntwo\n", "  1→one\n  2→two", "it is there without the line numbers"),
        ("one\ntwo\n", "1\tone\n2\ttwo", "it is there without the line numbers"),
        ("one\ntwo\n", "one\\ntwo", "it is there with real line breaks"),
        (b"caf\xff \xc3\xa9\xc3\xa9\n", "caf\ufffd", "it holds U+FFFD"),
    ],
)
def test_a_text_that_is_nearly_there_is_told_how_it_differs(before: str | bytes, old: str, hint: str) -> None:
    assert hint in refused(before, Edit(old, "new"))


def test_a_text_that_is_not_there_is_told_the_lines_most_like_it() -> None:
    assert refused(PROGRAM, Edit("def subtotal(self, rate):", "x")) == (
        "the text to replace is not found; the lines most like it are:\n"
        "  2:     def add(self, item):\n"
        "  5:     def total(self):\n"
        "  10:     def add(self, item):\n"
        ' ("f" is unchanged)'
    )


# ── whole lines ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "before, edits, after",
    [
        ("a\nb\nc\n", [lines("b\n", "B\n")], "a\nB\nc\n"),
        ("a\nb\nc\n", [lines("b", "B")], "a\nB\nc\n"),
        ("a\nb\nc\n", [lines("b\n", "")], "a\nc\n"),
        ("a\nb\nc\n", [lines("b\n", "\n")], "a\n\nc\n"),
        ("a\nb\nc\n", [lines("b\n", "1\n2\n")], "a\n1\n2\nc\n"),
        ("ab\na\n", [lines("a\n", "x\n")], "ab\nx\n"),
        ("a\na\na\n", [lines("a\n", "x\n")], "x\na\na\n"),
        ("a\na\na\n", [lines("a\n", "x\n"), lines("a\n", "y\n")], "x\ny\na\n"),
        ("a\na\n", [lines("a\n", "x\n", everywhere=True)], "x\nx\n"),
        ("a\na", [lines("a\n", "x\n", everywhere=True)], "x\nx"),
        ("a\na", [lines("a\n", "", everywhere=True)], ""),
        ("a\nb", [lines("b\n", "")], "a"),
        ("a\nb\na\n", [lines("a\n", "x\n", at_end=True)], "a\nb\nx\n"),
        ("a\nb\na", [lines("a", "x", at_end=True)], "a\nb\nx"),
        ("a\nb\n", [lines("b\n\n", "c\n\n")], "a\nc\n"),
        ("a\nb\n", [lines(None, "c\n")], "a\nb\nc\n"),
        ("a\nb", [lines(None, "c\n")], "a\nb\nc"),
        ("", [lines(None, "c\n")], "c\n"),
        ("a\nb\n", [lines(None, "c\n", anchors=("a",))], "a\nc\nb\n"),
        ("a\nb\na\nc\n", [lines("a\n", "x\n", anchors=("b",))], "a\nb\nx\nc\n"),
        # Lines that are only shown stay; more than one edit may lean on them.
        ("a\nb\nc\nd\n", [lines("a\nb\n", "a\nB\n"), lines("c\nd\n", "C\nd\n")], "a\nB\nC\nd\n"),
    ],
)
def test_runs_of_lines_are_replaced_in_order(before: str, edits: list[Edit], after: str) -> None:
    assert edited(before, *edits) == after.encode()


def test_anchors_choose_between_equal_lines() -> None:
    edit = lines(
        "        self.items.append(item)\n", "        pass\n", anchors=("class Box:", "    def add(self, item):")
    )
    assert edited(PROGRAM, edit) == (PROGRAM[:-32] + "        pass\n").encode()


@pytest.mark.parametrize(
    "before, old",
    [
        ("first\nif x:  \n\treturn\nlast\n", "if x:\n\treturn\n"),
        ("first\nif x:\n    return\nlast\n", "  if x:\nreturn\n"),
        ("first\nsay “x” – y\nlast\n", 'say "x" - y\n'),
    ],
)
def test_lines_may_differ_in_white_space_and_quotes(before: str, old: str) -> None:
    assert edited(before, lines(old, "new\n")) == b"first\nnew\nlast\n"


def test_the_closest_reading_wins() -> None:
    assert edited("  a\na \na\n", lines("a\n", "x\n")) == b"  a\na \nx\n"


def test_lines_that_are_kept_stay_as_the_file_has_them() -> None:
    assert edited("if x:  \n\treturn\r\nend\n", lines("if x:\nreturn\nend\n", "if x:\nstop\nend\n")) == (
        b"if x:  \nstop\r\nend\n"
    )


@pytest.mark.parametrize(
    "before, edits, why",
    [
        ("a\nb\n", [lines("c\n", "x\n")], "the lines to replace cannot be found:\nc"),
        (
            "a\nb\n",
            [lines("b\n", "x\n"), lines("a\n", "y\n")],
            "line 1 has it, but this edit is looked for from line 3 on",
        ),
        ("a\nb\n", [lines("a\n", "x\n", at_end=True)], "they are there, but not at the end of the file"),
        ("a\nb\n", [lines("a\n", "x\n", anchors=("c",))], "the line it is looked for after cannot be found:\nc"),
        ("A\nb\n", [lines("a\n", "x\n")], "line 1 differs from it only in upper and lower case"),
        ("a\nb\n", [lines("a\n", "a\n")], "the same, so nothing would change"),
        ("a\na\n", [lines("a\n", "b\n", expected=3)], "is found 2 times (lines 1, 2), not 3 times as expected"),
        ("a\n", [lines("", "x\n")], "is empty"),
    ],
)
def test_lines_that_cannot_be_found_are_told_why(before: str, edits: list[Edit], why: str) -> None:
    assert why in refused(before, *edits)


# ── line ends and encodings ──────────────────────────────────────────────────


@pytest.mark.parametrize(
    "before, edit, after",
    [
        (b"a\r\nb\r\n", Edit("a\nb", "a\nx\nb"), b"a\r\nx\r\nb\r\n"),
        (b"a\r\nb\r\n", Edit("a\r\nb", "c\r\nd"), b"c\r\nd\r\n"),
        (b"a\nb\n", Edit("a\r\nb", "c\r\nd"), b"c\nd\n"),
        (b"a\r\nb\nc\r\n", Edit("a\nb\nc", "a\nB\nc"), b"a\r\nB\nc\r\n"),
        (b"a\r\nb\nc\r\n", Edit("b", "x\ny"), b"a\r\nx\r\ny\nc\r\n"),
        (b"a\rb\n", Edit("b", "x"), b"a\rx\n"),
        (b"a\r\r\nb\r\n", Edit("b", "x"), b"a\r\r\nx\r\n"),
        (b"\xef\xbb\xbfa\r\nb", Edit("a", "x"), b"\xef\xbb\xbfx\r\nb"),
        (b"\xff\xfea\0\r\0\n\0", Edit("a\n", "é\n"), b"\xff\xfe\xe9\0\r\0\n\0"),
        (b"\xfe\xff\0a\0\n", Edit("a", "\U0001f600"), b"\xfe\xff\xd8\x3d\xde\x00\0\n"),
        (b"\xff\xfe\0\0a\0\0\0", Edit("a", "b"), b"\xff\xfe\0\0b\0\0\0"),
        (b"caf\xe9 a", Edit("café", "thé"), b"th\xe9 a"),
        (b"\x8d\xe9 a", Edit("a", "é"), b"\x8d\xe9 \xe9"),
        ("é è à ".encode() + b"\xff a", Edit("a", "→"), "é è à ".encode() + b"\xff " + "→".encode()),
    ],
)
def test_line_ends_marks_and_encodings_are_kept(before: bytes, edit: Edit, after: bytes) -> None:
    assert edited(before, edit) == after


def test_a_character_the_encoding_has_not_is_refused() -> None:
    assert "the file is in cp1252, which has no '→' (U+2192)" in refused(b"caf\xe9", Edit("caf", "→"))


@pytest.mark.parametrize(
    "before, content, after",
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\n", "x\r\n", b"x\r\n"),
        (b"\xef\xbb\xbfa", "é", b"\xef\xbb\xbf\xc3\xa9"),
        (b"\xef\xbb\xbfa", "\ufeffb", b"\xef\xbb\xbfb"),
        (b"\xff\xfea\0", "\ufeffb", b"\xff\xfeb\0"),
        (b"\xff\xfea\0", "é", b"\xff\xfe\xe9\0"),
        (b"caf\xe9", "thé", b"th\xe9"),
        (b"caf\xe9", "→", "→".encode()),
        (b"\0\1", "text", b"text"),
        (b"", "a\n", b"a\n"),
    ],
)
def test_a_file_written_over_keeps_its_encoding_and_line_ends(before: bytes, content: str, after: bytes) -> None:
    workspace = MemoryWorkspace({"f": before})
    workspace.apply([WriteFile("f", content)])
    assert workspace.read("f") == after


@pytest.mark.parametrize(
    "before, line, text, after",
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\nb\n", 2, "x", "a\nb\nx\n"),
        ("a\nb", 2, "x\n", "a\nb\nx"),
        ("a\r\nb\r\n", 1, "x", "a\r\nx\r\nb\r\n"),
        ("a\n", 1, "\n", "a\n\n"),
        ("", 0, "x", "x\n"),
    ],
)
def test_text_is_inserted_as_lines(before: str, line: int, text: str, after: str) -> None:
    workspace = MemoryWorkspace({"f": before})
    workspace.apply([InsertText("f", line, text)])
    assert workspace.read("f") == after.encode()
