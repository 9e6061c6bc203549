"""What is said for each operation to GLM models."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import Unspeakable
from dragoman.model import NativeCall, operations as op
from tests.sayings import reads, says

DIALECT: Dialect = DIALECTS["zai"]


def test_list_a_folder() -> None:
    says(op.ListDirectory("src"), zai=("list_dir", {"path": "src"}))
    says(op.ListDirectory(), zai=("list_dir", {}))
    reads(op.ListDirectory(), zai=("list_dir", {"path": ""}))


def test_read_a_file() -> None:
    says(op.ReadFile("/a.py"), zai=("read_file", {"file_path": "/a.py"}))
    says(
        op.ReadFile("/a.py", first_line=5, last_line=9),
        zai=("read_file", {"file_path": "/a.py", "offset": 5, "limit": 5}),
    )


def test_write_a_file() -> None:
    says(op.WriteFile("/a.py", "x = 1\n"), zai=("write_file", {"file_path": "/a.py", "content": "x = 1\n"}))


def test_edit_a_file() -> None:
    says(
        op.EditFile("/a.py", (op.Edit("x", "y"), op.Edit("a", "b"))),
        zai=[
            ("edit_file", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}),
            ("edit_file", {"file_path": "/a.py", "old_string": "a", "new_string": "b"}),
        ],
    )


def test_an_edit_everywhere_is_not_said_as_one_in_one_place() -> None:
    with pytest.raises(Unspeakable):
        DIALECT.write_call("1", op.EditFile("/a.py", (op.Edit("x", "y", everywhere=True),)))


def test_an_edit_of_nothing_is_refused() -> None:
    nothing = {"file_path": "/a.py", "old_string": "", "new_string": "y"}
    call = DIALECT.read_call(NativeCall("1", "edit_file", nothing))
    assert call.failure is not None
    assert call.failure.kind == "invalid_arguments"


def test_run_a_command() -> None:
    says(op.RunCommand("ls -l"), zai=("run_command", {"command": "ls -l"}))


def test_search_text() -> None:
    says(op.SearchText("total", "src"), zai=("grep_files", {"pattern": "total", "path": "src"}))


def test_find_files() -> None:
    says(op.FindFiles("**/*.py", "src"), zai=("find_files", {"pattern": "**/*.py", "path": "src"}))
