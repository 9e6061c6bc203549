"""What pi's models say for each operation."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import Unspeakable
from dragoman.model import operations as op
from tests.sayings import reads, says


def test_read_a_file() -> None:
    says(op.ReadFile("a.py"), pi=("read", {"path": "a.py"}))


def test_read_part_of_a_file() -> None:
    says(op.ReadFile("a.py", first_line=5, last_line=9), pi=("read", {"path": "a.py", "offset": 5, "limit": 5}))
    says(op.ReadFile("a.py", last_line=9), pi=("read", {"path": "a.py", "limit": 9}))


def test_write_a_file() -> None:
    says(op.WriteFile("a.py", "x = 1\n"), pi=("write", {"path": "a.py", "content": "x = 1\n"}))


def test_edit_a_file_in_several_places() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x = 1", "x = 2"), op.Edit("y = 1", "y = 2"))),
        pi=(
            "edit",
            {
                "path": "a.py",
                "edits": [{"oldText": "x = 1", "newText": "x = 2"}, {"oldText": "y = 1", "newText": "y = 2"}],
            },
        ),
    )


def test_an_edit_said_flat() -> None:
    reads(op.EditFile("a.py", (op.Edit("x", "y"),)), pi=("edit", {"path": "a.py", "oldText": "x", "newText": "y"}))


@pytest.mark.parametrize(
    "edit", [op.Edit("x", "y", everywhere=True), op.Edit(None, "y"), op.Edit("x", "y", expected=2)]
)
def test_an_edit_in_more_places_than_one_is_not_said_as_something_else(edit: op.Edit) -> None:
    with pytest.raises(Unspeakable):
        DIALECTS["pi"].write_call("1", op.EditFile("a.py", (edit,)))


def test_run_a_command() -> None:
    says(op.RunCommand("ls -l"), pi=("bash", {"command": "ls -l"}))
    says(op.RunCommand("ls -l", timeout_ms=1500), pi=("bash", {"command": "ls -l", "timeout": 1.5}))


def test_search_text() -> None:
    says(
        op.SearchText("total", "src", include="*.py", case_sensitive=False, literal=True, before=2, after=2, limit=9),
        pi=(
            "grep",
            {
                "pattern": "total",
                "path": "src",
                "glob": "*.py",
                "ignoreCase": True,
                "literal": True,
                "context": 2,
                "limit": 9,
            },
        ),
    )


def test_find_files() -> None:
    says(op.FindFiles("**/*.py", "src", limit=9), pi=("find", {"pattern": "**/*.py", "path": "src", "limit": 9}))


def test_list_a_folder() -> None:
    says(op.ListDirectory(), pi=("ls", {}))
    says(op.ListDirectory("src", limit=9), pi=("ls", {"path": "src", "limit": 9}))
