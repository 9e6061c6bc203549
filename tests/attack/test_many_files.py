"""A project with very many files. `PYTEST_FILES=200000 make attack ATTACK="-k many_files"` tries it with more."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.attack.machine import DONE, Machine
from tests.engine.loopback import Turn

FILES = int(os.environ.get("PYTEST_FILES", "30000"))
MEMORY = 700 << 20
LARGEST_REQUEST = 400_000
LOOK = Turn(
    "I look.",
    calls=(
        ("c1", "Glob", {"pattern": "**/*.py"}),
        ("c2", "Grep", {"pattern": "^", "output_mode": "content"}),
        ("c3", "Grep", {"pattern": "needle", "output_mode": "content"}),
    ),
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    for number in range(FILES):
        folder = machine.here / f"folder-{number // 100}"
        if number % 100 == 0:
            folder.mkdir()
        (folder / f"file-{number}.py").write_bytes(b"needle = 1\n" if number == FILES - 1 else b"x\n")
    return machine


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def test_commands_work_in_a_project_with_very_many_files(machine: Machine) -> None:
    """However many files a project has, each is found, in bounded memory, and what a model is sent stays small."""
    last = f"folder-{(FILES - 1) // 100}/file-{FILES - 1}.py"
    listed = machine.runs_command("tool", "find_files", "pattern=**/*.py", preexec_fn=limited)
    assert (listed.returncode, listed.stdout.count("\n")) == (ExitCode.OK, FILES), listed.stderr
    found = machine.runs_command("tool", "search_text", "pattern=needle", preexec_fn=limited)
    assert (found.returncode, last in found.stdout) == (ExitCode.OK, True), found.stderr
    with machine.provider([LOOK, DONE]) as server:
        done = machine.runs_command("run", "--yes", "look", preexec_fn=limited)
    assert (done.returncode, done.stdout) == (ExitCode.OK, "I look.\nIt is done.\n"), done.stderr
    _, second = server.requests
    assert last in str(second.body)
    assert len(str(second.body)) < LARGEST_REQUEST
