"""A process that is killed, or interrupted, during any write leaves the old or the new files and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.interruptions import OLD

BEFORE = {path: text.split("\n")[0] for path, text in OLD.items()}
AFTER = {
    "one": {**BEFORE, "edited": "new"},
    "created": {**BEFORE, "new folder/deep/created": "new"},
    "many": {
        "edited": "new",
        "new folder/deep/created": "new",
        "folder/kept": "new folder/kept",
        "new folder/moved": "old moved",
        "here": "old there",
        "there": "old here",
    },
    "turned": {
        "edited/deep/created": "new",
        "edited/edited": "old edited",
        "deleted/moved": "old moved",
        "folder/kept": "old folder/kept",
        "here": "old here",
        "there": "old there",
    },
}


def happened(case: str, folder: Path) -> Any:
    command = [sys.executable, "-m", "tests.tools.interruptions", case, str(folder / "roots")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "how, what",
    [
        *((how, what) for how in ("killed", "raised") for what in ("one", "created", "many", "turned")),
        ("rekilled", "many"),
        ("rekilled", "turned"),
    ],
)
def test_a_write_stopped_at_any_call_is_done_or_undone(how: str, what: str, tmp_path: Path) -> None:
    """A write that is killed or interrupted at any system call is done or undone, and leaves nothing else."""
    results = happened(f"{how} {what}", tmp_path)
    assert len(results) >= {"many": 40, "turned": 20, "one": 5, "created": 5}[what] // (4 if how == "rekilled" else 1)
    for number, result in enumerate(results):
        whole = [BEFORE, AFTER[what]]
        assert result["reopened"] in whole, number
        assert result["left"] == [], number
        if how == "raised" or what in ("one", "created"):
            assert result["after"] in whole, number
        # Before it is opened again, each file by itself is the old or the new one.
        for path, text in result["after"].items():
            assert text in [state.get(path) for state in whole], number
    assert results[0]["reopened"] == BEFORE
    assert results[-1] == {"ended": 0, "after": AFTER[what], "reopened": AFTER[what], "left": []}


@pytest.mark.parametrize("what", ["one", "many"])
def test_a_write_killed_at_any_moment_is_done_or_undone(what: str, tmp_path: Path) -> None:
    """A write that is killed at any moment is done or undone when the workspace is opened again."""
    for result in happened(f"anytime {what}", tmp_path):
        assert result["reopened"] in [BEFORE, AFTER[what]]
        assert result["left"] == []


@pytest.mark.parametrize("call", ["fcntl.flock", "os.link"])
def test_somebody_who_comes_between_reading_and_writing_is_noticed(call: str, tmp_path: Path) -> None:
    """A file that another program changes between reading and writing is not overwritten."""
    assert happened(f"between {call}", tmp_path) == {
        "details": {"reason": "stale", "path": "f"},
        "files": {"f": "their work"},
    }


def test_a_disk_that_is_full_halfway_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """A write that does not fit on the disk changes no file."""
    assert happened("full", tmp_path) == {
        "message": '"folder/large": it would be larger than the system allows a file to be',
        "files": [[], ["f"]],
    }
