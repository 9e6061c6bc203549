"""The patch language: what is written is read back, and any text is a patch or says why it is none."""

from __future__ import annotations

from hypothesis import example, given, strategies as st

from dragoman.dialects.base.patch_text import PatchError, in_whole_lines, patch_in_command, read_patch, write_patch
from dragoman.model import operations as op
from tests.strategies import TEXT, values

WRITABLE = (op.WriteFile, op.EditFile, op.DeleteFile, op.MoveFile)

_LINE = st.text(max_size=8).filter(lambda line: "\n" not in line and not line.endswith("\r")) | st.sampled_from(
    ["*** End Patch", "*** End of File", "*** Add File: x", "@@", "@@ f", "+", "-", " ", "EOF", "\t"]
)
_NAME = _LINE.map(str.rstrip).filter(bool)
_LINES = st.lists(_LINE, min_size=1, max_size=4).map(lambda lines: "".join(f"{line}\n" for line in lines))
_ANCHORS = st.lists(_NAME, max_size=2).map(tuple)


@st.composite
def edits(draw: st.DrawFn, *, at_end: bool) -> op.Edit:
    old = draw(st.none() | _LINES)
    new = draw(_LINES) if old is None else draw(st.just("") | _LINES)
    return op.Edit(old, new, whole_lines=True, anchors=draw(_ANCHORS), at_end=at_end)


_EDITS = st.builds(
    lambda first, last: (*first, last),
    st.lists(edits(at_end=False), max_size=2),
    st.booleans().flatmap(lambda end: edits(at_end=end)),
)
OPERATIONS = st.lists(
    st.builds(op.WriteFile, _NAME, _LINES)
    | st.builds(op.DeleteFile, _NAME)
    | st.builds(op.MoveFile, _NAME, _NAME)
    | st.builds(op.EditFile, _NAME, _EDITS),
    min_size=1,
    max_size=4,
).map(tuple)


@given(OPERATIONS)
def test_everything_made_of_whole_lines_is_written_and_read_back(operations: tuple[op.Operation, ...]) -> None:
    patch = write_patch(operations)
    assert patch is not None
    assert read_patch(patch) == operations


@given(st.lists(st.one_of([values(one) for one in WRITABLE]), max_size=3).map(tuple))
def test_whatever_can_be_written_is_read_back(operations: tuple[op.Operation, ...]) -> None:
    patch = write_patch(operations)
    assert patch is None or read_patch(patch) == operations


@given(st.one_of([values(one) for one in WRITABLE]))
def test_the_nearest_patch_speaks_of_the_same_file_and_stays_as_it_is(operation: op.Operation) -> None:
    nearest = in_whole_lines(operation)
    assert type(nearest) is type(operation)
    assert in_whole_lines(nearest) == nearest
    assert getattr(nearest, "path", None) == getattr(operation, "path", None)


_MARKS = st.sampled_from(
    ["*** Add File: a", "*** Update File: b", "*** Delete File: c", "*** Move to: d", "*** End of File", "@@", "@@ f",
     "+x", "-y", " z", "", " ", "*** End Patch", "*** Begin Patch", "junk"]
)  # fmt: skip


@given(st.lists(_MARKS | _LINE, max_size=10))
@example(["*** Update File: a", "*** Move to: "])
def test_any_text_is_a_patch_that_is_written_again_or_says_which_line_is_wrong(lines: list[str]) -> None:
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch"))
    operations: tuple[op.Operation, ...] = ()
    wrong: int | None = None
    try:
        operations = read_patch(text)
    except PatchError as error:
        wrong = error.line
    assert bool(operations) != (wrong is not None)
    assert wrong is None or 1 <= wrong <= len(lines) + 2
    patch = write_patch(operations)
    # Read, but beyond the grammar: an empty new file, and the end of the file said in the middle.
    assert patch is None or read_patch(patch) == operations


@given(TEXT)
def test_a_text_without_marks_is_no_patch(text: str) -> None:
    try:
        read_patch(text)
    except PatchError:
        return
    raise AssertionError("a text without marks was read as a patch")


@given(OPERATIONS, st.sampled_from(["EOF", "PATCH"]), st.sampled_from(["", "'", '"']))
def test_a_patch_in_a_heredoc_is_the_same_patch(operations: tuple[op.Operation, ...], end: str, quote: str) -> None:
    patch = write_patch(operations)
    assert patch is not None
    found = patch_in_command(f"apply_patch <<{quote}{end}{quote}\n{patch}\n{end}\n")
    assert found == (patch, None)
