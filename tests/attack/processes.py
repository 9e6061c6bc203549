"""Our own command as a process, and the processes below it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds after which an attack counts as won; far more than anything here takes."""


def started(*words: str, home: Path, **more: Any) -> subprocess.Popen[str]:
    """A Python process with a home of its own."""
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""}
    pipe = subprocess.PIPE
    kept = {"text": True, "stdin": pipe, "stdout": pipe, "stderr": pipe, "env": env, **more}
    return subprocess.Popen([sys.executable, *words], **kept)


def ran(*words: str, home: Path, **more: Any) -> tuple[int, str, str]:
    """The exit code and the output of a Python process."""
    with started(*words, home=home, **more) as process:
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return process.returncode, out, err


def below(process: int) -> set[int]:
    """The living processes below one."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            children.setdefault(int(parent), []).append(int(name))
    found: set[int] = set()
    waiting = [process]
    while waiting:
        fresh = children.get(waiting.pop(), [])
        found.update(fresh)
        waiting += fresh
    return found


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in (b"Z", b"X")


def until(condition: Any, what: str) -> Any:
    """Waits for a condition; gives what it gave."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"never came about: {what}")
