"""What aider's models write in their answers, as calls."""

from __future__ import annotations

from dragoman.model import operations as op
from tests.sayings import reads, says


def test_edit_a_file() -> None:
    says(
        op.EditFile("a.py", (op.Edit("x\n", "y\n"),)),
        aider=("search_replace", {"path": "a.py", "search": "x\n", "replace": "y\n"}),
    )


def test_nothing_to_search_for_is_a_new_file() -> None:
    says(op.WriteFile("a.py", "y\n"), aider=("search_replace", {"path": "a.py", "search": "", "replace": "y\n"}))
    reads(op.WriteFile("a.py", "y\n"), aider=("search_replace", {"path": "a.py", "search": "\n", "replace": "y\n"}))


def test_write_a_whole_file() -> None:
    reads(op.WriteFile("a.py", "y\n"), aider=("whole_file", {"path": "a.py", "content": "y\n"}))
