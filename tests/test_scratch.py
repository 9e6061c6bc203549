"""Folders for what is needed for a while: gone with their owner, or with the next process after it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.config.files import ScratchFolder, clear_scratch
from dragoman.logs.base import database

PROGRAM = """
import sys
from dragoman.config.files import ScratchFolder
folder = ScratchFolder()
(folder.path / "copy.db").write_bytes(b"x" * 1000)
print(folder.path, flush=True)
sys.stdin.read()
"""


def long_ago(path: Path) -> None:
    os.utime(path, (time.time() - 3600,) * 2)


def test_a_folder_lasts_until_it_is_closed() -> None:
    with ScratchFolder() as folder:
        (folder / "some").write_bytes(b"words")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_the_folder_of_a_process_that_was_killed_is_taken_away_and_that_of_one_at_work_is_not(tmp_path: Path) -> None:
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    owner = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=there, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    long_ago(folder)
    clear_scratch(tmp_path)
    assert (folder / "copy.db").exists()
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert (folder / "copy.db").exists()  # nobody could take it away
    os.utime(folder)
    clear_scratch(tmp_path)
    assert folder.exists()  # a new one: its owner may not have come to lock it
    long_ago(folder)
    clear_scratch(tmp_path)
    assert not folder.exists()


def test_what_only_has_the_name_of_such_a_folder_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "kept").write_text("mine")
    (tmp_path / "dragoman-scratch-link").symlink_to(target)
    (tmp_path / "dragoman-scratch-file").write_text("mine")
    (tmp_path / "another").mkdir()
    for path in (tmp_path / "dragoman-scratch-file", tmp_path / "another"):
        long_ago(path)
    os.utime(tmp_path / "dragoman-scratch-link", (0, 0), follow_symlinks=False)
    clear_scratch(tmp_path)
    assert (target / "kept").exists()
    assert (tmp_path / "dragoman-scratch-file").exists()
    assert (tmp_path / "another").exists()


def test_copies_of_databases_lie_in_such_folders(tmp_path: Path) -> None:
    copy = database.Copy(tmp_path / "log.db")
    copy.write(b"x" * ((16 << 20) + 1))
    held = list(Path(copy._file).parent.iterdir())
    assert {one.name for one in held} == {".lock", "copy.db"}
    assert held[0].parent.name.startswith("dragoman-scratch-")
    copy.close()
    assert not held[0].parent.exists()
