"""Versions as rows of parameters, parts of fields and counted lines: declared once, read and written both ways."""

from __future__ import annotations

import pytest

from dragoman.dialects import Dialect, Spelling, means
from dragoman.dialects.base.conversions import FROM_ZERO, LINE_COUNT, SOME, whole
from dragoman.dialects.base.versions import absent, was
from dragoman.errors import DefinitionError
from dragoman.model import NativeCall, operations as op


class Look(Spelling[op.ReadFile]):
    """Look at a file."""

    native_name = "look"
    unsaid = {"pages": "there are none"}
    described_until = {"1.9": "Look at a file by its name."}

    path: str = means("path", "Its path.", since="2.0", was=was("1.9", name="file", description="Its name."))
    first: int | None = means("first_line", default=None, since="3.0")
    last: int | None = means("last_line", default=None, since="3.0")
    offset: float | None = means("first_line", default=None, until="2.5", convert=whole(FROM_ZERO))
    limit: float | None = means("last_line", default=None, until="2.5", convert=whole(LINE_COUNT))


class Change(Spelling[op.EditFile]):
    """Change a text."""

    native_name = "change"
    approximated = {"edits": "a text alone is named"}
    unsaid = {"purpose": "there is no parameter for it"}

    path: str
    old: str = means("edits.old", convert=SOME)
    new: str = means("edits.new")
    why: str = means("purpose", since="2.0", was=absent("1.9"))


DIALECT = Dialect("rows", (Look, Change), captured=("1.0.0", "2.0.0", "3.0.0"))


def test_each_span_of_versions_is_a_class_of_its_own() -> None:
    spans = [(one.since, one.until, one.__struct_fields__, one.__doc__) for one in (Look, *Look.earlier)]
    assert spans == [
        ("3.0", None, ("path", "first", "last"), "Look at a file."),
        ("2.0", "2.5", ("path", "offset", "limit"), "Look at a file."),
        (None, "1.9", ("file", "offset", "limit"), "Look at a file by its name."),
    ]
    assert [dict(one.unsaid) for one in (Change, *Change.earlier)] == [
        {},
        {"purpose": "there is no parameter for it"},
    ]
    assert Dialect("again", DIALECT.spellings).spellings == (Look, *Look.earlier, Change, *Change.earlier)


@pytest.mark.parametrize(
    "version, arguments",
    [
        ("1.0", {"file": "a", "offset": 4, "limit": 3}),
        ("2.2", {"path": "a", "offset": 4, "limit": 3}),
        (None, {"path": "a", "first": 5, "last": 7}),
    ],
)
def test_each_version_writes_its_own_words_and_all_are_read(version: str | None, arguments: dict[str, object]) -> None:
    operation = op.ReadFile("a", 5, 7)
    (written,) = DIALECT.at(version).write_call("1", operation)
    assert written.arguments == arguments
    assert DIALECT.read_call(written).operations == (operation,)


def test_a_call_of_no_span_is_read_by_the_one_that_leaves_least_unmapped() -> None:
    call = DIALECT.read_call(NativeCall("1", "look", {"file": "a", "first": 5}))
    assert (call.operations, call.unmapped) == ((op.ReadFile("a"),), {"first": 5})


def test_a_field_in_parts_is_one_call_per_item() -> None:
    both = op.EditFile("a", (op.Edit("x", "y"), op.Edit("z", "")), "tidy")
    calls = DIALECT.write_call("1", both)
    assert [call.arguments for call in calls] == [
        {"path": "a", "old": "x", "new": "y", "why": "tidy"},
        {"path": "a", "old": "z", "new": "", "why": "tidy"},
    ]
    assert [DIALECT.read_call(call).operations for call in calls] == [
        (op.EditFile("a", (edit,), "tidy"),) for edit in both.edits
    ]
    assert Change.from_operation(op.EditFile("a", (op.Edit(None, "y"),), "tidy")) is None
    assert Change.from_operation(op.EditFile("a", (op.Edit("", "y"),), "tidy")) is None


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'older' inside 'edits', which is not there"):

        class Wrong(Spelling[op.EditFile]):
            """Change a text."""

            native_name = "wrong"
            unsaid = {"purpose": "there is no parameter for it"}
            path: str
            old: str = means("edits.older")
