"""Files and folders of a workspace that another process keeps swapping for links."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.model import operations as op
from dragoman.tools import files
from tests.tools.test_file_attacks import SECRET, surrounded
from tests.tools.workspaces import run, told

SWAPPER = """
import ctypes, os, sys
place, target = map(os.fsencode, sys.argv[1:])
link, exchange = place + b".link", ctypes.CDLL(None).renameat2
print("ready", flush=True)
while os.getppid() != 1:
    os.symlink(target, link)
    # In one step each: there is always something, the thing itself or a link out of the workspace.
    exchange(-100, link, -100, place, 2)
    exchange(-100, link, -100, place, 2)
    os.unlink(link)
"""


@contextmanager
def swapping(place: Path, target: Path) -> Iterator[None]:
    """Another process that puts a link in the place of something, and the thing back, as fast as it can."""
    command = [sys.executable, "-c", SWAPPER, str(place), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("depth", ["folder", "folder/deep"])
def test_a_folder_swapped_for_a_link_during_writes_leads_nowhere(tmp_path: Path, depth: str) -> None:
    """A folder that becomes a link out of the workspace while files are read and written leads nowhere."""
    with surrounded(tmp_path) as (workspace, root):
        workspace.write(f"{depth}/f", b"inside")
        workspace.write("bait", b"bait")
        reached = 0
        with swapping(root / "folder", tmp_path / "middle/beside"):
            for number in range(150):
                for act in (
                    lambda: run(files.read_file, op.ReadFile(f"{depth}/f"), workspace),
                    lambda: run(files.read_file, op.ReadFile("folder/secret"), workspace),
                    lambda number=number: workspace.write(f"{depth}/f", b"%d" % number),
                    lambda number=number: workspace.apply(
                        [op.WriteFile(f"{depth}/new{number}", "x"), op.WriteFile("bait", "x")]
                    ),
                    lambda: workspace.apply([op.DeleteFile("folder/secret")]),
                    lambda: workspace.apply([op.MoveFile("bait", "folder/secret2")]),
                    lambda: workspace.apply([op.MoveFile("folder/secret2", "bait")]),
                    lambda: workspace.entries("folder"),
                ):
                    outcome = told(act)
                    assert SECRET not in str(outcome)
                    reached += not isinstance(outcome, tuple)
        assert reached > 0


def test_a_file_swapped_for_a_link_during_writes_is_not_followed(tmp_path: Path) -> None:
    """A file that becomes a link out of the workspace while it is read and written is not followed."""
    with surrounded(tmp_path) as (workspace, root):
        workspace.write("f", b"inside")
        with swapping(root / "f", tmp_path / "middle/secret"):
            for number in range(300):
                for act in (
                    lambda: run(files.read_file, op.ReadFile("f"), workspace),
                    lambda number=number: workspace.write("f", b"%d" % number),
                    lambda: workspace.apply([op.EditFile("f", (op.Edit("secret", "attack"),))]),
                ):
                    assert SECRET not in str(told(act))
