"""Lines replaced by their numbers and marks: what was read is what is replaced, or nothing is."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.tools import MemoryWorkspace
from dragoman.tools.workspace import with_line_names
from dragoman.tools.workspace.line_marks import line_name, mark_of, read_line_name
from tests.examples import examples

LINE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n\ufeff\0"), max_size=8)


@examples(100)
@given(st.lists(LINE, min_size=1, max_size=8), st.data(), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_named_lines_are_replaced_and_all_others_stay(
    lines: list[str], data: st.DataObject, ended: bool, newline: str
) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    new = data.draw(st.lists(LINE, max_size=3))
    end = newline if ended or not lines[-1] else ""
    workspace = MemoryWorkspace({"f": (newline.join(lines) + end).encode()})
    names = line_name(first + 1, lines[first]), line_name(last + 1, lines[last])
    text = "".join(f"{line}\n" for line in new)
    workspace.apply([op.ReplaceLines("f", names[0], text, names[1])])
    left = [*lines[:first], *new, *lines[last + 1 :]]
    assert workspace.read("f").decode() == newline.join(left) + (end if left else "")


@examples(100)
@given(st.lists(LINE, min_size=1, max_size=8), st.integers(1, 99))
def test_every_line_is_shown_behind_the_name_that_replaces_it(lines: list[str], first: int) -> None:
    shown = with_line_names("\n".join(lines) + "\n", first).removesuffix("\n").split("\n")
    for number, (line, one) in enumerate(zip(lines, shown, strict=True), first):
        name, _, text = one.partition("|")
        assert (read_line_name(name), text) == ((number, mark_of(line)), line)


def test_a_line_that_moved_is_refused_and_its_new_place_is_named() -> None:
    workspace = MemoryWorkspace({"f": "new\na\nb\n"})
    with pytest.raises(ToolError) as refused:
        workspace.apply([op.ReplaceLines("f", line_name(2, "b"), "c")])
    assert f"is now at {line_name(3, 'b')}: read the file again" in refused.value.message
    assert workspace.read("f") == b"new\na\nb\n"


def test_the_last_line_is_not_before_the_first() -> None:
    workspace = MemoryWorkspace({"f": "a\nb\n"})
    with pytest.raises(ToolError, match="comes before line"):
        workspace.apply([op.ReplaceLines("f", line_name(2, "b"), "c", line_name(1, "a"))])


def test_a_file_without_text_has_no_lines_to_name() -> None:
    assert with_line_names("") == ""
