"""droid's patches and whole files, held to chosen ones that droid 0.215.0 did on loopback on 2026-11-18."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import ToolError, Unspeakable
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeCall
from dragoman.tools.workspace.memory import MemoryWorkspace

PATCHING = DIALECTS["droid"].at("0.215.0", "gpt-5")
APPLIED = (
    ("x\ny\nx\n", "@@|-x|+z|*** End of File", "z\ny\nx\n"),
    ("x\ny\nx", "@@|-x|+z|*** End of File", "x\ny\nz"),
    ("a\nb\n", "@@|+c|*** End of File", "a\nb\n\nc"),
    ("a\nb\n", "@@|+c|*** End of File|@@|+d", "a\nb\n\nc\nd"),
    ("a\nb\n", "@@|+c", "c\na\nb\n"),
    ("a\nb\n", "@@ nowhere|-b|+c", "a\nc\n"),
    ("def f\n a\ndef g\n a\n", "@@ def g|+ b", "def f\n a\ndef g\n b\n a\n"),
    ("def f\n a\ndef g\n a\n", "@@ def g|- a|+ A|@@ def f|+ B", "def f\n a\ndef g\n A\n B\n"),
    ("a \n\u00a0a\na\nz;\n", "@@ a|+x", "a \n\u00a0a\na\nx\nz;\n"),
    ("x — y\n“q”\n", '@@|-x - y|+1|-"q"|+2', "1\n2\n"),
    ("e\u0301\n", "@@|-\u00e9|+e", "e\n"),
    ("a\nb\n", "@@|a|+r", "a\nr\nb\n"),
    ("a\r\nb\nc\r\n", "@@|-b|+B", "a\r\nB\r\nc\r\n"),
    ("a\rb\rc\n", "@@|-b|+B", "a\rB\rc\r"),
    ("a\nb\r\n", "@@| a", "a\nb\n"),
    ("\ufeffa\nb\n", "@@|-a|+A", "\ufeffA\nb\n"),
    ("a\nb\n", "@@|-a|-b", ""),
    ("c\nb\nd\n", "@@| b||@@|+x", "c\nb\nd\nx\n"),
    ("", "@@|+x", "x\n"),
    ("a\r\nb\r\nc\r\n", "@@| a\rb\r|-c\r|+x\r", "a\r\nb\r\nx\r\n"),
    ("a\rb\rc\r", "@@ a\rb|+x", "a\rb\rx\rc\r"),
    ("same\r\na\rb\r\n", "@@ same|-a\rb\r|+q\r", "same\r\nb\r\nq\r\n"),
    ("\ufeffa\r\nb\r\n", "@@|-a\r|+x\r|+y\r", "\ufeffx\r\ny\r\nb\r\n"),
)
REFUSED = (
    ("a\nb\nc\n", "@@|-c|+x|@@|-a|+y"),
    ("a\n", "@@|-q|+x"),
    ("wait…\n", "@@|-wait...|+x"),
    ("a\nb\n", "@@|-a|+A|@@ |-b|+B"),
    ("a", "@@|-a|+b|@@|-a|*** End of File"),
    ("a\nc", "@@|-c|+d| "),
    ("\n  d\n\nc\n  d\n \n", "@@|-|-c|+X| "),
    (" \na\n\n\n", "@@|  |-a|-| |*** End of File"),
    # The client takes "b" for the empty line, and removes it.
    ("a\nb\nc\n", "@@|-a|-|+x"),
    ("a\nx\na\n\ny\n", "@@|-a|+b|"),
    ("c\r\na\rb\r\n", " c|@@ a\rb|-c"),
    ("\ufeffa\ra \ra", "@@|-\ufeffa\r| a \r|+x\r| a\r\r|+y\r"),
    # The client overlooks the empty line, removes two lines from "a" on, and so leaves "c".
    ("a\n\nc\n", "@@|-a|-c|+x"),
    ("a\n\nc\n", "@@|-a| c|+x"),
)


def called(*lines: str) -> NativeCall:
    return NativeCall("1", "ApplyPatch", "\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


def patched(files: dict[str, str], native: NativeCall) -> tuple[dict[str, str], str]:
    workspace = MemoryWorkspace({name: text.encode() for name, text in files.items()})
    call = PATCHING.read_call(native)
    changes = workspace.apply(call.operations, rules=PATCHING.edit_rules(native)).changes
    told = PATCHING.write_result(call, [out.ChangesOutcome((change,)) for change in changes]).content
    assert isinstance(told, str)
    return {name: workspace.read(name).decode() for name in workspace.paths()}, told


@pytest.mark.parametrize("file, section, expected", APPLIED)
def test_a_patch_ends_as_in_droid(file: str, section: str, expected: str) -> None:
    files, told = patched({"f": file}, called("*** Update File: f", *section.split("|")))
    assert (files, told) == ({"f": expected}, "Success. Applied changes to the following files:\nM f")


@pytest.mark.parametrize("file, section", REFUSED)
def test_a_patch_that_droid_refuses_or_that_would_lose_a_line_is_refused(file: str, section: str) -> None:
    with pytest.raises(ToolError):
        patched({"f": file}, called("*** Update File: f", *section.split("|")))


def test_a_patch_of_several_files_is_listed_as_in_droid() -> None:
    native = called(
        *("*** Delete File: d", "*** Add File: n", "+x", "*** Add File: o", "+x", "+y"),
        *(
            "*** Update File: m",
            "*** Move to: moved",
            "@@",
            "-a",
            "+A",
            "*** Update File: s",
            "*** Move to: t",
            "@@",
            " a",
        ),
    )
    before = {"d": "a\n", "o": "a\r\n", "m": "a\nb\r\n", "s": "a\nb\r\n"}
    files, told = patched(before, native)
    # A file that was there gets no end of its last line, and one whose lines stay keeps their ends.
    assert files == {"n": "x\n", "o": "x\r\ny", "moved": "A\nb\n", "t": "a\nb\r\n"}
    assert told == "Success. Applied changes to the following files:\nD d\nA n\nM o\nM m -> moved\nM s -> t"


def test_a_file_is_not_moved_over_another() -> None:
    with pytest.raises(ToolError):
        patched({"a": "a\n", "b": "b\n"}, called("*** Update File: a", "*** Move to: b", "@@", "-a", "+A"))


WRITTEN = (
    (None, "x\ny", "x\ny\n"),
    (None, "", "\n"),
    (None, "x\r\ny", "x\r\ny\r\n"),
    ("a\r\nb\nc\r\n", "x\ny", "x\r\ny\r\n"),
    ("a\nb\r\n", "x\ny", "x\ny\n"),
    ("a\rb\r", "x\ny\n", "x\ry\r"),
    ("a\r\nb\r\n", "x\ry", "x\r\ny\r\n"),
    ("a\nb\n", "x\ry", "x\ry\n"),
    ("a\nb\n", "x\ny\r\nz", "x\ny\r\nz\r\n"),
    ("\ufeffa\n", "x", "\ufeffx\n"),
)


@pytest.mark.parametrize("file, content, expected", WRITTEN)
def test_a_whole_file_is_written_as_in_droid(file: str | None, content: str, expected: str) -> None:
    dialect = DIALECTS["droid"].at("0.215.0")
    native = NativeCall("1", "Create", {"file_path": "f", "content": content})
    workspace = MemoryWorkspace({} if file is None else {"f": file.encode()})
    call = dialect.read_call(native)
    changes = workspace.apply(call.operations, rules=dialect.edit_rules(native)).changes
    told = dialect.write_result(call, [out.ChangesOutcome(changes)]).content
    assert (workspace.read("f").decode(), told) == (expected, "The file f has been created successfully.")


def test_an_edit_of_a_missing_file_is_refused_in_droids_words() -> None:
    dialect = DIALECTS["droid"].at("0.215.0")
    call = dialect.read_call(NativeCall("1", "Edit", {"file_path": "f", "old_str": "a", "new_str": "b"}))
    with pytest.raises(ToolError) as caught:
        MemoryWorkspace({}).apply(call.operations)
    failure = out.Failure(caught.value.kind, str(caught.value), caught.value.details)
    assert dialect.write_result(call, [failure]).content == (
        'Error: Error: Cannot edit file that has not been read first. Please use the Read tool on "f" before '
        "attempting to edit it."
    )


@pytest.mark.parametrize("operation", [op.DeleteFile("a\rb"), op.MoveFile("a", "b\r"), op.WriteFile("a", "x\ry\n")])
def test_no_patch_is_written_in_which_a_cr_would_end_a_line(operation: op.Operation) -> None:
    with pytest.raises(Unspeakable):
        PATCHING.write_call("1", operation)
