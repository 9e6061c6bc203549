"""Many commands at once on one index, and on one that is damaged."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.attack.machine import SECONDS, Machine
from tests.attack.test_faults_signals import wait_until

COMMANDS = ("sessions", "index update", "index rebuild", "stats --json")
AT_ONCE = 50


Answered = list[tuple[str, int, str]]


def run_at_once(
    machine: Machine, lines: Sequence[str], meanwhile: Callable[[list[int]], None] = lambda started: None
) -> Answered:
    """What each of these commands gave: its line, its exit code, and what it said.

    `meanwhile` is called with their process ids when they have started.
    """
    started = [
        subprocess.Popen(
            machine.command(*line.split()),
            cwd=machine.here,
            env=machine.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in lines
    ]
    meanwhile([process.pid for process in started])
    ended = [process.communicate(timeout=SECONDS) for process in started]
    return [
        (line, process.returncode, out + err) for line, process, (out, err) in zip(lines, started, ended, strict=True)
    ]


def index_of(machine: Machine) -> Path:
    return machine.home / ".cache" / "dragoman" / "history.sqlite"


def assert_whole(index: Path) -> None:
    with closing(sqlite3.connect(index)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_many_commands_at_once_on_one_index_all_answer(tmp_path: Path) -> None:
    """However many commands use one index at once, each gives the whole answer, and the index is whole after them."""
    machine = Machine(tmp_path)
    for line, code, said in run_at_once(machine, [COMMANDS[n % len(COMMANDS)] for n in range(AT_ONCE)]):
        assert code == ExitCode.OK, (line, said)
        assert line != "sessions" or "s-1" in said, said
    assert_whole(index_of(machine))


@pytest.mark.parametrize("fault", ["noise", "cut"])
def test_an_index_that_is_damaged_costs_no_answer(tmp_path: Path, fault: str) -> None:
    """An index that is damaged keeps no command from answering: it is put aside, and the logs are read again."""
    machine = Machine(tmp_path)
    machine.runs_command("index", "update")
    index = index_of(machine)
    content = index.read_bytes()
    index.write_bytes(content[:100] + os.urandom(4000) + content[4100:] if fault == "noise" else content[:5000])
    for line, code, said in run_at_once(machine, COMMANDS):
        assert code == ExitCode.OK, (line, said)
        assert line != "sessions" or "s-1" in said, said


HOLDER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA locking_mode = EXCLUSIVE")
database.execute("BEGIN EXCLUSIVE")
database.execute("DELETE FROM about")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["released", "killed"])
def test_commands_wait_for_whoever_holds_the_index_and_lose_nothing(tmp_path: Path, end: str) -> None:
    """While another program holds the index, commands wait; when it lets go, or is killed while writing, all answer."""
    machine = Machine(tmp_path)
    machine.runs_command("index", "update")
    index = index_of(machine)
    command = [sys.executable, "-c", HOLDER, str(index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        def let_go(started: list[int]) -> None:
            wait_until(lambda: all(has_open(process, index) for process in started))
            holder.kill() if end == "killed" else holder.stdin.close()  # type: ignore[union-attr]

        answered = run_at_once(machine, COMMANDS, let_go)
    for line, code, said in answered:
        assert code == ExitCode.OK, (line, said)
        assert line != "sessions" or "s-1" in said, said
    assert_whole(index)


def has_open(process: int, file: Path) -> bool:
    """Whether a process has this file open, or has ended."""
    try:
        folder = f"/proc/{process}/fd"
        names = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]
    except OSError:
        return True
    return str(file) in names
