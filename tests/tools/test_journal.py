"""What a stretch of work did to files is taken back exactly, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.tools import DiskWorkspace
from dragoman.tools.workspace import Journal


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"one\r\n\xff")
    (tmp_path / "b").write_text("two\n")
    (tmp_path / "gone").write_text("three\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def work(workspace: DiskWorkspace) -> None:
    workspace.write("a", b"other")
    workspace.apply([op.EditFile("b", (op.Edit("two", "2"),)), op.WriteFile("new", "x\n")])
    workspace.apply([op.EditFile("b", (op.Edit("2", "zwei"),)), op.MoveFile("new", "newer")])
    workspace.apply([op.DeleteFile("gone"), op.MoveFile("run.sh", "go.sh")])


def contents(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir()}


def test_everything_is_as_it_was(files: Path) -> None:
    workspace, journal, before = DiskWorkspace(files), Journal(), contents(files)
    workspace.follow(journal)
    work(workspace)
    workspace.unfollow(journal)
    shown = [(one.change.path, one.change.kind) for one in journal.changes(workspace.held)]
    assert shown == [
        ("a", "modified"),
        ("b", "modified"),
        ("go.sh", "created"),
        ("gone", "deleted"),
        ("newer", "created"),
        ("run.sh", "deleted"),
    ]
    workspace.take_back(journal)
    assert contents(files) == before
    assert list(journal.changes(workspace.held)) == []


def test_a_file_that_somebody_else_changed_stops_all_of_it(files: Path) -> None:
    workspace, journal = DiskWorkspace(files), Journal()
    workspace.follow(journal)
    work(workspace)
    (files / "newer").write_text("mine")
    after = contents(files)
    with pytest.raises(ToolError, match='"newer" was changed by something else since'):
        workspace.take_back(journal)
    assert contents(files) == after


def test_a_link_that_was_replaced_cannot_be_taken_back(files: Path) -> None:
    (files / "link").symlink_to("a")
    workspace, journal = DiskWorkspace(files), Journal()
    workspace.follow(journal)
    workspace.apply([op.DeleteFile("link")])
    with pytest.raises(ToolError, match='"link" was too large, or a link'):
        workspace.take_back(journal)


def test_nothing_done_is_nothing_to_take_back(files: Path) -> None:
    journal = Journal()
    assert not journal
