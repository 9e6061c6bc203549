"""What only the virtual file system has: versions, authors, and several threads at once."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.tools.workspaces import failure, files


def test_every_version_is_kept_with_its_author() -> None:
    workspace = MemoryWorkspace({"plan.md": "one\n"}, author="user")
    workspace.apply([op.EditFile("plan.md", (op.Edit("one", "two"),))], author="agent-1")
    workspace.write("plan.md", b"two\nthree\n", author="agent-2")
    told = [(each.number, each.author, each.size, each.added, each.removed) for each in workspace.history("plan.md")]
    assert told == [(3, "agent-2", 10, 1, 0), (2, "agent-1", 4, 1, 1), (1, "user", 4, 1, 0)]
    assert workspace.history("plan.md")[0].diff == "--- a/plan.md\n+++ b/plan.md\n@@ -1 +1,2 @@\n two\n+three\n"
    assert [workspace.at_version("plan.md", number) for number in (1, 2, 3)] == [b"one\n", b"two\n", b"two\nthree\n"]
    assert all(each.time.tzinfo is datetime.UTC for each in workspace.history("plan.md"))


def test_only_the_newest_versions_are_kept() -> None:
    workspace = MemoryWorkspace(keep=3)
    for number in range(10):
        workspace.write("f", b"%d" % number)
    assert [each.number for each in workspace.history("f")] == [10, 9, 8]
    assert failure(lambda: workspace.at_version("f", 1)).message == 'version 1 of "f" is not kept; kept are: 8, 9, 10'


def test_a_deleted_file_is_remembered_and_goes_on_counting() -> None:
    workspace = MemoryWorkspace({"f": "one"})
    workspace.apply([op.DeleteFile("f")], author="me")
    assert [(each.number, each.deleted, each.author) for each in workspace.history("f")] == [
        (2, True, "me"),
        (1, False, None),
    ]
    assert workspace.at_version("f", 1) == b"one"
    with pytest.raises(ToolError, match="is not kept"):
        workspace.at_version("f", 2)
    workspace.write("f", b"two")
    assert [each.number for each in workspace.history("f")] == [3, 2, 1]


def test_a_move_ends_one_history_and_begins_another() -> None:
    workspace = MemoryWorkspace({"f": "one"})
    workspace.apply([op.MoveFile("f", "g")])
    assert workspace.history("f")[0].deleted
    assert [each.number for each in workspace.history("g")] == [1]


def test_a_file_that_never_was_has_no_history() -> None:
    assert failure(lambda: MemoryWorkspace().history("f")).details["reason"] == "not_found"


def test_writing_what_is_there_makes_no_version() -> None:
    workspace = MemoryWorkspace({"f": "one"})
    workspace.write("f", b"one")
    assert len(workspace.history("f")) == 1


def test_an_absolute_path_starts_at_the_root() -> None:
    workspace = MemoryWorkspace({"/a/b": "x"})
    assert (files(workspace), workspace.resolve("/a/b")) == ({"a/b": b"x"}, "a/b")


def test_a_large_file_can_be_read() -> None:
    large = b"x" * (65 * 1024 * 1024)
    workspace = MemoryWorkspace({"f": large})
    assert workspace.read("f") == large
    assert failure(lambda: workspace.apply([op.EditFile("f", (op.Edit("x", "y"),))])).details["reason"] == "too_large"
    moved = [op.MoveFile("f", "g"), op.InsertText("g", 0, "x")]
    assert failure(lambda: workspace.apply(moved)).details["reason"] == "too_large"
    workspace.apply([op.MoveFile("f", "g"), op.WriteFile("f", "small")])
    assert (workspace.read("f"), len(workspace.read("g"))) == (b"small", len(large))


def test_threads_do_not_lose_each_others_edits() -> None:
    workspace = MemoryWorkspace({"f": ""})

    def add(number: int) -> None:
        workspace.apply([op.InsertText("f", 0, f"line {number}"), op.WriteFile(f"own/{number}", "x")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(200)))
    assert sorted(workspace.read("f").decode().split("\n")) == sorted(["", *(f"line {n}" for n in range(200))])
    assert len(workspace.entries("own")) == 200


@pytest.mark.parametrize("number, more", [(20, ""), (21, ", … (1 more)"), (25, ", … (5 more)")])
def test_a_missing_path_is_answered_with_what_is_there_instead(number: int, more: str) -> None:
    names = [f"f{count:02}" for count in range(number)]
    workspace = MemoryWorkspace(dict.fromkeys(names, "x"))
    with pytest.raises(ToolError) as raised:
        workspace.read("zzz/qqq.bin")
    assert str(raised.value).endswith(f"holds {', '.join(names[:20])}{more}.")
