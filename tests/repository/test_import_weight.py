"""Importing dragoman stays cheap: what it loads, not how long that takes (`make bench` measures that)."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
before = set(sys.modules)
{program}
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}}))
"""


def loaded_by(program: str) -> set[str]:
    command = [sys.executable, "-I", "-c", PROGRAM.format(program=program)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("program", ["import dragoman", "from dragoman import *"])
def test_nothing_is_loaded_from_outside_but_msgspec_and_what_it_loads(program: str) -> None:
    outside = loaded_by(program) - sys.stdlib_module_names
    assert outside <= {"dragoman", *loaded_by("import msgspec")}


def test_the_door_opens_no_heavy_part_of_the_standard_library() -> None:
    heavy = {"asyncio", "difflib", "http", "inspect", "json", "logging", "pathlib", "ssl", "subprocess", "urllib"}
    assert loaded_by("import dragoman") & heavy == set()
