"""Disks that are full, and folders that cannot be written."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.logs import read_events
from dragoman.model import Unreadable
from dragoman.model.operations import WriteFile
from dragoman.tools import DiskWorkspace
from tests.attack.machine import DONE, EDIT, READ, Machine, fill, small_disk


@pytest.mark.parametrize("room", [20, 900, 3_100, 4_200, 5_400])
def test_a_run_whose_record_cannot_be_written_stops_and_is_resumed_without_loss(tmp_path: Path, room: int) -> None:
    """A run that cannot be recorded any more ends with exit code 9 and can be resumed from a whole record.

    A limit on the size of files is a full disk that can be had at any byte: here in each phase of a run.
    """
    machine = Machine(tmp_path)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    with machine.provider([READ, EDIT, DONE, DONE, DONE]) as server:
        stopped = machine.runs_command("run", "--yes", "buy milk", preexec_fn=limited)
        assert (stopped.returncode, "Traceback" in stopped.stderr) == (9, False), stopped.stderr
        (error,) = (line for line in stopped.stderr.splitlines() if line.startswith("error:"))
        assert "cannot write" in error
        assert "File too large" in error
        assert machine.files() == {"notes.txt": machine.notes.read_bytes()}
        assert machine.notes.read_text() in ("tea\nbread\n", "milk\nbread\n")
        records = list(machine.runs.glob("*.jsonl"))
        if not records:
            assert ("--no-record" in error, server.requests) == (True, [])
            return
        (record,) = records
        assert record.read_bytes().endswith(b"\n")
        assert not [event for event in read_events(record) if isinstance(event, Unreadable)]
        assert f"continue with --resume {record.stem[:8]}" in error
        resumed = machine.runs_command("run", "--yes", "--resume", record.stem[:8], "go on")
    assert resumed.returncode == 0, resumed.stderr
    assert not [event for event in read_events(record) if isinstance(event, Unreadable)]


def test_on_a_full_disk_files_stay_whole_and_reading_still_works(tmp_path: Path) -> None:
    """On a full disk every file keeps its old content, nothing is left beside it, and what only reads works."""
    with small_disk(tmp_path / "disk") as disk:
        machine = Machine(disk)
        (machine.here / "dragoman.toml").write_text("retries = 1\n")
        (machine.here / "tools.json").write_text(
            '[{"name": "x", "description": "x", "input_schema": {"type": "object"}}]'
        )
        before = machine.files()
        fill(disk)
        with machine.provider([READ, EDIT, DONE]) as server:
            edited = machine.runs_command("run", "--yes", "--no-record", "buy milk")
        assert edited.returncode == 0, edited.stderr
        assert "the disk is full" in json.dumps(server.requests[-1].body)  # the model gets it, and may act on it
        reading = ("sessions", "show s-1", "stats", "pack")
        writing = ("trust", "sources add .", "index update", "run hi", "export s-1 --to jsonl -o session.jsonl")
        told = machine.types(*reading, *writing)
        assert {line: told[line].code for line in told} == {**dict.fromkeys(reading, 0), **dict.fromkeys(writing, 9)}
        assert all("No space left" in told[line].err or "disk is full" in told[line].err for line in writing), told
        assert machine.files() == before
        left = [path for path in (machine.home / ".local").rglob("*") if path.is_file()]
        assert left == []
        log = str(next(machine.home.rglob("s-1.jsonl")))
        whole = (
            "export s-1 --to html -o page.html",
            f"export --site site {log}",
            f"port {log} --to codex",
            f"schema extract {log} -o schemas",
            f"schema extract {log} -o schemas.json",
            "dialect new acme --from tools.json --to acme.toml",
        )
        others = ("keep run", "queue add hello", "worker --until-empty", f"corpus build {log} corpus", "usage line")
        told = machine.types(*whole, *others)
        assert {line: told[line].code for line in told} == {**dict.fromkeys((*whole, *others), 9), "usage line": 0}
        for line in (*whole, *others[:-1]):
            assert re.match(r"error: cannot write \S+: .*(No space left|disk is full)", told[line].err.splitlines()[-1])
        assert machine.files() == before
        assert not list(machine.home.rglob("rollout-*"))


def test_without_permission_to_write_a_command_works_or_says_what_to_do(tmp_path: Path) -> None:
    """Where home may not be written, commands that read work, and those that must write say what and what to do.

    As root without the right to pass over permissions, which is how any user stands to a folder of root's.
    """
    machine = Machine(tmp_path)
    (machine.here / "dragoman.toml").write_text("retries = 1\n")
    machine.home.chmod(0o555)
    reading = ("sessions", "show s-1", "stats", "config show", "agents list", "tool read_file path=notes.txt")
    writing = ("trust", "sources add .", "index update", "run --model anthropic:claude-sonnet-4-5 hi")
    no_rights = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    told = machine.types(*reading, *writing, before=no_rights)
    assert {line: told[line].code for line in reading} == {**dict.fromkeys(reading, 0), "agents list": 1}
    assert {line: told[line].code for line in writing} == dict.fromkeys(writing, 9)
    for line in writing:
        error = told[line].err.splitlines()[-1]
        assert error.startswith(f"error: cannot write {machine.home}/")
        assert "Permission denied; DRAGOMAN_" in error


WRITING = """
import sys
from dragoman.model.operations import WriteFile
from dragoman.tools import DiskWorkspace
workspace = DiskWorkspace(sys.argv[1])
print("begun", flush=True)
while True:
    for text in ("old", "new"):
        workspace.apply([WriteFile("big.txt", text * 5_000_000)])
"""


def test_what_a_killed_write_leaves_is_not_shown_and_goes_with_the_next_write(tmp_path: Path) -> None:
    """A write that is killed leaves the old file or the new one; what lies beside it is hidden, and removed soon."""
    machine = Machine(tmp_path)
    left: list[Path] = []
    for _ in range(20):
        with subprocess.Popen([sys.executable, "-c", WRITING, str(machine.here)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            while not list(machine.here.glob(".dragoman-*")):
                time.sleep(0)
            writer.kill()
        left = list(machine.here.glob(".dragoman-*"))
        if left:
            break
    assert left, "no write was killed in its middle"
    whole = (machine.here / "big.txt").read_text() if (machine.here / "big.txt").exists() else ""
    assert whole in ("", "old" * 5_000_000, "new" * 5_000_000)
    workspace = DiskWorkspace(machine.here)
    assert not [entry for entry in workspace.entries(".") if ".dragoman-" in repr(entry)]
    for words in (("list_directory", "path=."), ("find_files", "pattern=**/*"), ("search_text", "pattern=o")):
        assert ".dragoman-" not in machine.runs_command("tool", *words).stdout
    workspace.apply([WriteFile("small.txt", "x")])
    assert list(machine.here.glob(".dragoman-*")) == []
