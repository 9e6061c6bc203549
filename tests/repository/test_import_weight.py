"""Importing dragoman stays cheap: what it loads, not how long that takes (`make bench` measures that)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.logs.samples import CLAUDE, CODEX

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


LISTING = """
import sys
from dragoman.cli import main
sys.argv = ["dragoman", "sessions", sys.argv[1]]
try:
    main()
finally:
    print(*sorted(name for name in sys.modules if name.startswith("dragoman.")), file=sys.stderr)
"""


@pytest.mark.parametrize("log", [CLAUDE, CODEX])
def test_listing_sessions_loads_no_lowering_and_nothing_that_writes_requests(log: bytes, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(log)
    done = subprocess.run(
        [sys.executable, "-I", "-c", LISTING, tmp_path / "log.jsonl"],
        env={"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.split()
    writing = ("requests", "writing", "tools", "settings", "problems")
    assert [
        name
        for name in loaded
        if name.startswith("dragoman.apis.lowering")
        or (name.startswith("dragoman.apis.") and name.rpartition(".")[2] in writing)
    ] == []
    # Besides the vocabulary itself, which is in many small modules, and the formats, of which each looks at the file.
    apart = ("dragoman.dialects.", "dragoman.logs.formats.")
    assert len([name for name in loaded if not name.startswith(apart)]) <= 97
