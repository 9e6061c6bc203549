"""A snapshot says which files changed, by their content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.tools.workspace import Snapshot, snapshot


def changes(folder: Path, before: Snapshot) -> dict[str, str]:
    return Snapshot.of(str(folder), before).changed_since(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n")
    (tmp_path / "b.txt").write_text("b\n")
    return tmp_path


def test_a_folder_in_which_nothing_happened_did_not_change(folder: Path) -> None:
    before = Snapshot.of(str(folder))

    assert (changes(folder, before), before.complete) == ({}, True)


def test_files_made_changed_and_deleted_are_told_apart(folder: Path) -> None:
    before = Snapshot.of(str(folder))
    (folder / "src" / "a.py").write_text("x = 2\n")
    (folder / "b.txt").rename(folder / "c.txt")
    (folder / "empty").mkdir()
    (folder / "new").mkdir()
    (folder / "new" / "d.txt").write_text("")

    assert changes(folder, before) == {
        "b.txt": "deleted",
        "c.txt": "created",
        "empty": "created",
        "new/d.txt": "created",
        "src/a.py": "modified",
    }


def test_the_same_content_written_again_is_no_change(folder: Path) -> None:
    before = Snapshot.of(str(folder))
    (folder / "b.txt").unlink()
    (folder / "b.txt").write_text("b\n")
    os.utime(folder / "b.txt", ns=(1, 1))

    assert changes(folder, before) == {}


def test_a_file_replaced_by_a_link_or_a_folder_changed(folder: Path) -> None:
    before = Snapshot.of(str(folder))
    (folder / "b.txt").unlink()
    (folder / "b.txt").symlink_to("src/a.py")

    assert changes(folder, before) == {"b.txt": "modified"}


def test_what_tools_make_for_themselves_is_passed_over_but_a_new_branch_is_a_change(folder: Path) -> None:
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    before = Snapshot.of(str(folder))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_text("")
    (folder / ".git" / "index").write_text("")
    assert changes(folder, before) == {}

    (folder / ".git" / "refs" / "heads" / "topic").write_text("0" * 40)
    assert changes(folder, before) == {".git/refs/heads/topic": "created"}


def test_a_named_pipe_does_not_hold_it_up(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    before = Snapshot.of(str(folder))

    assert changes(folder, before) == {}


def test_a_folder_with_too_many_files_is_said_to_be_incomplete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MOST_FILES", 2)

    assert not Snapshot.of(str(folder)).complete
