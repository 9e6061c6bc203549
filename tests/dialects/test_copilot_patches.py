"""Copilot's patches, held to chosen ones that Copilot CLI 1.0.102 applied with gpt-5.4 on loopback on 2026-11-18."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import ToolError
from dragoman.model.calls import NativeCall
from dragoman.model.outcomes import ChangesOutcome
from dragoman.tools.workspace.memory import MemoryWorkspace

APPLIED = (
    ("a\nb", "+q|@@ b|+x|*** End of File", "a\nb\nq\nx"),
    ("a\nb\n", "+q|@@ b|+x", "a\nb\nq\nx\n"),
    ("a\nb\n", "*** Move to: ./f|@@|-a|+A", "A\nb\n"),
    ("def f():\na \n\nz;\n", "@@|-def f():| a  |@@|+    go|*** End of File", "a  \n\nz;\n    go\n"),
    (" a\n a\na\nz", '@@|  a|-a|+"q"|-a ', '  a\n "q"\nz'),
    ("a \nb\n", "@@| a|-b|+c|+d", "a \nc\nd\n"),
    ("c\n  go\n\u00a0a\nz\n", "@@|-c|+same|   go|+a| a|+q", "same\n  go\n\u00a0a\na\nq\nz\n"),
    ("    a\n      b\n", "@@|-  a|-    b|+  x|+    y", "    x\n      y\n"),
    ("  a\n    b\n", "@@|-    a|-      b|+    x|+      y", "  x\n    y\n"),
    ("\ta\n\t\tb\n", "@@|-a|-\tb|+x|+\ty", "\tx\n\t\ty\n"),
    ("  a\nb\n", "@@| a|-b|+c", "  a\n  c\n"),
    ("a\n  b\n", "@@| a|-b|+c|+d", "a\n  c\n  d\n"),
    (" a\na\n", "@@|-a|+b", " b\na\n"),
    ("a \na\n", "@@|-a|+b", "b\na\n"),
    ("A\na\n", "@@|-a|+b", "A\nb\n"),
    ('“a”\n"a"\n', '@@|-"a"|+c', "“a”\nc\n"),
    ("A\n", "@@|-a|+z", "z\n"),
    ("foo(a, b)\n", "@@|-foo(a,b)|+z", "z\n"),
    (" def g\n  x\ndef g\n  x\n", "@@ def g|-  x|+  y", " def g\n  y\ndef g\n  x\n"),
    ("a\nb\nc\n", "@@ a|+x", "a\nx\nb\nc\n"),
    ("", "@@|+x", "x"),
    ("a", "@@|-a|+x|+", "x\n"),
    ("same\n", "@@|-same|+", ""),
    ("a\n\n\n", "@@|-a|+x", "x\n\n"),
    ("a\n\n\n", "@@|+x", "a\n\n\nx\n"),
    ("\ufeffa\nb\n", "@@|-a|+x", "x\nb\n"),
    ("a\r\nb\r\nc\n", "@@|-c|+x|+y", "a\r\nb\r\nx\r\ny\r\n"),
    # Which line ends most of the first five lines have decides, whatever comes after them.
    ("a\nb\r\nc\r\nd\r\ne\nf\n", "@@|-d|+x", "a\r\nb\r\nc\r\nx\r\ne\r\nf\r\n"),
    ("a\r\nb\r\nc\nd\ne\nf\r\n", "@@|-c|+x", "a\nb\nx\nd\ne\nf\n"),
    ("a\nb\r\nc\nd\ne\nf\r\ng\r\nh\r\n", "@@|-c|+x", "a\nb\nx\nd\ne\nf\ng\nh\n"),
    ("a\r\nb\nc\r\nd\n", "@@|-b|+x", "a\nx\nc\nd\n"),
    # An empty line that is not found stands for the end: what is put there keeps the order of the patch.
    ("", "@@|+d|@@| |+e", "d\n\ne"),
    ("", "@@|-|+b|@@|+d|@@| |+q", "b\nd\n\nq"),
    ("a\n", "@@|-a|+b|@@|+d|@@| |+q", "b\nd\n\nq\n"),
    ("a\nb\n", "@@|+d|@@| |+q", "\nq\na\nb\nd\n"),
    # A line of blanks is a line to look after, and blank lines before the first anchor are left out (2026-11-19).
    ("\t\n\n  d\n\t\n\n\n", "@@ \t|-|+X|+Z", "\t\nX\nZ\n  d\n\t\n\n"),
    (" \n\te\n \n\te\nc\n", "@@  |+Z", " \nZ\n\te\n \n\te\nc\n"),
    (" \n\na\n\n", " |+  Y", " \n\na\n\n  Y\n"),
    ("\n\n", " |+  Y|-|+X", "  Y\nX\n"),
    # A kept line of blanks is written as in the patch where lines are added, and stays where none are.
    (" \n\nc", "@@| |+Z", "\nZ\n\nc"),
    ("\n\te\n\t\n", "@@|-\te|+  Y| |+X", "\n  Y\n\nX\n"),
    ("\nc\n\t\na\n", "@@|-c|+| ", "\n\n\t\na\n"),
    # An empty line at the end that is not there is left out at the end of the file.
    ("b\na", "@@|-a|+X|-", "b\nX"),
    ("b\na", "@@|-a|-|+X|+Y", "b\nX\nY"),
    ("b\na", "@@|-a|+X| ", "b\nX"),
    ("b\na", " b|-a|+X| ", "b\nX"),
    ("b\na\n", "@@|-a|-|+X|+", "b\nX\n"),
    ("a\nb\r\n", "@@|-a|+x", "x\nb\n"),
    ("c\nq\nq", "@@|+a|@@ q| q|+z", "c\nq\nq\nz\na"),
)
REFUSED = (
    ("a\nb\nc\n", "@@|-c|+x|@@|-a|+y", "from line 4 on"),
    ("a\rb\n", "@@|-b|+x", "a CR that ends no line"),
    ("  a\n    b\n", "@@|-a|-b|+x", "in more than one way"),
    ("a\n", "@@ q|+x", "cannot be found"),
    ("\t\n  d\nc\na\n", "@@|-c|-|+", "its empty last line is not in the file"),
    ("a\nb\n\nc\n", "@@|-a|-b|+Y|-|-", "its empty last line is not in the file"),
    ("a\u2003b\na b\n", "@@|-a b|-|+x", "its empty last line is not in the file"),
)
NOT_THE_END = "@@|-a|+x|*** End of File "
ANCHORED_TWICE = ("@@|@@|-c|+x", "@@ a|@@ b|-c|+x", "@@ a|@@|-c|+x", "@@|@@ a|-c|+x", " a|@@|@@|-c|+x")


def called(section: str) -> NativeCall:
    lines = ["*** Begin Patch", "*** Update File: f", *section.split("|"), "*** End Patch"]
    return NativeCall("1", "apply_patch", "\n".join(lines))


def patched(file: str, section: str) -> str:
    dialect = DIALECTS["copilot"].at("1.0.102", "gpt-5.4")
    native = called(section)
    workspace = MemoryWorkspace({"f": file.encode()})
    workspace.apply(dialect.read_call(native).operations, rules=dialect.edit_rules(native))
    return workspace.read("f").decode()


@pytest.mark.parametrize("file, section, expected", APPLIED)
def test_a_patch_ends_as_in_copilot(file: str, section: str, expected: str) -> None:
    assert patched(file, section) == expected


@pytest.mark.parametrize("section", ANCHORED_TWICE)
def test_an_anchor_after_another_is_refused_as_in_copilot(section: str) -> None:
    call = DIALECTS["copilot"].at("1.0.102", "gpt-5.4").read_call(called(section))
    assert call.failure is not None
    assert "has an anchor after another one" in call.failure.message


def test_blanks_after_the_end_of_the_file_are_refused_as_in_copilot() -> None:
    call = DIALECTS["copilot"].at("1.0.102", "gpt-5.4").read_call(called(NOT_THE_END))
    assert call.failure is not None
    assert "without blanks after it" in call.failure.message


@pytest.mark.parametrize("file, section, reason", REFUSED)
def test_a_patch_that_is_not_clear_is_refused(file: str, section: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        patched(file, section)


def test_a_file_that_is_there_is_not_added() -> None:
    dialect = DIALECTS["copilot"].at("1.0.102", "gpt-5.4")
    native = NativeCall("1", "apply_patch", "*** Begin Patch\n*** Add File: f\n+x\n*** End Patch")
    with pytest.raises(ToolError, match="exists already"):
        MemoryWorkspace({"f": b"a\n"}).apply(dialect.read_call(native).operations, rules=dialect.edit_rules(native))


@pytest.mark.parametrize("there, told", [(False, "Added 1 file(s): g"), (True, "Modified 1 file(s): g")])
def test_a_file_moved_over_another_is_told_as_modified(there: bool, told: str) -> None:
    dialect = DIALECTS["copilot"].at("1.0.102", "gpt-5.4")
    native = called("*** Move to: g|@@|-a|+b")
    call = dialect.read_call(native)
    workspace = MemoryWorkspace({"f": b"a\n", **({"g": b"old\n"} if there else {})})
    changes = workspace.apply(call.operations, rules=dialect.edit_rules(native)).changes
    assert dialect.write_result(call, [ChangesOutcome((change,)) for change in changes]).content == told
    assert workspace.read("g") == b"b\n"


ADDED = (("+", ""), ("+|+", "\n\n"), ("+a", "a\n"), ("+a|+", "a\n\n"), ("+ ", " \n"), ("+|+a", "\na\n"))


@pytest.mark.parametrize("lines, text", ADDED)
def test_a_file_is_added_with_the_text_that_copilot_gives_it(lines: str, text: str) -> None:
    dialect = DIALECTS["copilot"].at("1.0.102", "gpt-5.4")
    patch = "\n".join(["*** Begin Patch", "*** Add File: f", *lines.split("|"), "*** End Patch"])
    call = dialect.read_call(NativeCall("1", "apply_patch", patch))
    workspace = MemoryWorkspace({})
    workspace.apply(call.operations, rules=dialect.edit_rules(call.native))
    assert workspace.read("f").decode() == text
