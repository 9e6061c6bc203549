"""A power cut at any system call: what `store.fsync` promises, and what is not promised without it.

The system calls of a real run are recorded with strace. For every point between two of them, the disk is built as a
power cut could have left it (everything that was synced, and any part of what was not), and the run is continued.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.engine.killed_runs import make_run, told_of

_PROGRAM = """
import sys
from pathlib import Path
from tests.engine.killed_runs import make_run
make_run(Path(sys.argv[1]), "r", None, lambda: None, fsync=sys.argv[2] == "fsync")
"""
_CALL = re.compile(r"(?:\d+ +)?(\w+)\((?:AT_FDCWD[^,]*, )?(?:\d+<([^>]*)>|\"([^\"]*)\").*\) = (-?\d+)")


class Disk(NamedTuple):
    """What a power cut could leave: so many bytes of the record are safe, so many were written, and who was paid."""

    safe: int
    written: int
    named: bool
    """Whether the file's name is safe, too."""
    paid: int


def disks(log: str, record: Path, outside: Path) -> Iterator[Disk]:
    """The disk after each system call of a run."""
    disk = Disk(0, 0, named=False, paid=0)
    for line in log.splitlines():
        found = _CALL.match(line)
        if found is None:
            continue
        name, path, result = found[1], found[2] or found[3], int(found[4])
        if name == "write" and path == str(record):
            disk = disk._replace(written=disk.written + result)
        elif name == "write" and path == str(outside):
            disk = disk._replace(paid=disk.paid + 1)
        elif name in ("fsync", "fdatasync") and path == str(record):
            disk = disk._replace(safe=disk.written)
        elif name in ("fsync", "fdatasync") and path == str(record.parent):
            disk = disk._replace(named=disk.written > 0)
        else:
            continue
        yield disk


def effects_made_twice(folder: Path, *, fsync: bool) -> tuple[int, int]:
    """Continues the run after every possible power cut; gives how many were tried, and how many paid somebody twice."""
    ran = folder / "ran"
    ran.mkdir(parents=True)
    record, outside, log = ran / "r.jsonl", ran / "r.paid", folder / "calls"
    words = [sys.executable, "-c", _PROGRAM, str(ran), "fsync" if fsync else "none"]
    watch = ["strace", "-f", "-y", "-s", "0", "-o", str(log), "-e", "trace=write,fsync,fdatasync"]
    subprocess.run([*watch, *words], check=True, cwd=Path(__file__).parents[2], timeout=120)
    data, paid = record.read_bytes(), outside.read_text().splitlines()
    found = list(disks(log.read_text(), record, outside))
    assert (found[-1].written, found[-1].paid) == (len(data), len(paid)), "strace has seen every write"
    tried = twice = 0
    for disk in dict.fromkeys(found):
        safe = disk.safe if disk.named else 0
        middle = (safe + disk.written) // 2
        left = {data[:length] for length in (safe, middle, disk.written)}
        # A file system may have the new length of a file and not its bytes: then they are zero.
        left.add(data[:safe] + bytes(disk.written - safe))
        for bytes_left in left:
            tried += 1
            again = folder / f"{tried}"
            again.mkdir()
            if bytes_left:
                (again / "r.jsonl").write_bytes(bytes_left)
            (again / "r.paid").write_text("".join(f"{whom}\n" for whom in paid[: disk.paid]))
            make_run(again, "r", None, lambda: None)
            told = told_of(again, "r", None)
            assert (told["open"], told["text"]) == (0, "All paid."), (disk, told)
            doubled = len(set(told["paid"])) < len(told["paid"])
            twice += doubled
            if not doubled:
                for whom, result in told["results"]:
                    assert told["paid"].count(whom) == 1 if result == "done" else result == "unknown", (disk, told)
    return tried, twice


def test_with_fsync_no_power_cut_makes_an_effect_twice(tmp_path: Path) -> None:
    tried, twice = effects_made_twice(tmp_path, fsync=True)
    assert twice == 0
    assert tried > 60


def test_without_fsync_a_power_cut_may_make_an_effect_twice(tmp_path: Path) -> None:
    """The control: the same cuts do find what is missing where nothing is synced."""
    _, twice = effects_made_twice(tmp_path, fsync=False)
    assert twice > 0


@pytest.mark.parametrize("line", ['12 write(3</x/r.jsonl>, ""..., 120) = 120', 'write(3</x/r.jsonl>, "", 120) = 120'])
def test_the_lines_of_strace_are_understood(line: str) -> None:
    found = _CALL.match(line)
    assert found is not None
    assert (found[1], found[2], found[4]) == ("write", "/x/r.jsonl", "120")
