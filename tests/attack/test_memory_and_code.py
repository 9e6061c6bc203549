"""Attacks through what a model may save and run: memories, and programs in the sandbox."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from dragoman.config import Sandbox
from dragoman.errors import ToolError
from dragoman.model import CommandOutcome, TextOutcome, operations as op
from dragoman.tools import DiskWorkspace, Memories, Shell, perform, standard_context

NAMES = [
    "../../escaped",
    "/tmp/escaped",
    "..",
    "a/../../b",
    "~/.bashrc",
    "x\ny",
    "nul\0byte",
    "-rf",
    "\u202egpj",
    "." * 90,
]


async def test_a_program_of_a_model_cannot_write_outside_the_workspace() -> None:
    """A program that a model runs with run_code is confined like a command: it writes in the workspace alone."""
    home = Path(tempfile.mkdtemp(dir="/var/tmp"))  # bubblewrap hides the usual temporary folder
    (home / "work").mkdir()
    outside = home / "outside"
    code = f"open('inside', 'w').write('x')\nopen({str(outside)!r}, 'w').write('x')"
    shell = Shell(sandbox=Sandbox(mode="require"))
    async with standard_context(DiskWorkspace(home / "work"), shell=shell) as context:
        outcome = await perform(op.RunCode(code, "python"), context)
    assert isinstance(outcome, CommandOutcome)
    assert outcome.exit_code == 1
    assert outcome.sandbox
    written = (home / "work" / "inside").exists(), outside.exists()
    shutil.rmtree(home)
    assert written == (True, False)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_memory_leaves_its_folder(tmp_path: Path, name: str) -> None:
    """A memory is one file in its project's folder, whatever a model calls it."""
    memories = Memories(tmp_path / "a" / "memory")
    try:
        memories.save("text", name)
    except ToolError:
        assert not (tmp_path / "a").exists()
        return
    written = [Path(parent) / file for parent, _, files in os.walk(tmp_path) for file in files]
    assert [path.parent for path in written] == [memories.folder]
    assert [one.text for one in memories.all()] == ["text"]


async def test_a_link_among_memories_shows_no_other_file(tmp_path: Path) -> None:
    """Recalling gives back what was saved: a link that somebody put there is not followed."""
    (tmp_path / "secret").write_text("the key\n\nis 1234\n")
    (tmp_path / "work").mkdir()
    memories = Memories.of_project(tmp_path / "work", tmp_path / "data")
    memories.save("harmless", "note")
    link = memories.folder / memories._file("the key")
    link.symlink_to(tmp_path / "secret")
    async with standard_context(DiskWorkspace(tmp_path / "work")) as context:
        context.provides = {**context.provides, Memories: memories}
        outcome = await perform(op.RecallMemory(), context)
    assert isinstance(outcome, TextOutcome)
    assert ("harmless" in outcome.text, "1234" in outcome.text) == (True, False)
