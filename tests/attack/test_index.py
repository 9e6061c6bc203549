"""Many commands at once on one index, and on one that is damaged."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.attack.machine import SECONDS, Machine

COMMANDS = ("sessions", "index update", "index rebuild", "stats --json")
AT_ONCE = 12


def run_at_once(machine: Machine, lines: Sequence[str]) -> list[tuple[str, int, str]]:
    """What each of these commands gave: its line, its exit code, and what it said."""
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
    ended = [process.communicate(timeout=SECONDS) for process in started]
    return [
        (line, process.returncode, out + err) for line, process, (out, err) in zip(lines, started, ended, strict=True)
    ]


def index_of(machine: Machine) -> Path:
    return machine.home / ".cache" / "dragoman" / "history.sqlite"


def test_many_commands_at_once_on_one_index_all_answer(tmp_path: Path) -> None:
    """However many commands use one index at once, each gives the whole answer, and the index is whole after them."""
    machine = Machine(tmp_path)
    for line, code, said in run_at_once(machine, [COMMANDS[n % len(COMMANDS)] for n in range(AT_ONCE)]):
        assert code == ExitCode.OK, (line, said)
        assert line != "sessions" or "s-1" in said, said
    database = sqlite3.connect(index_of(machine))
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


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
