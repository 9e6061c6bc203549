"""Runs a module of these tests in a sandbox: no network but loopback, and nothing writable but one folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from .install import node_for, program

ROOT = Path(__file__).parents[2]
Seen = TypeVar("Seen")


def run_inside(module: str, *words: str | Path, folder: Path, seconds: float, type: type[Seen]) -> Seen | str:
    """What the module printed in its last line, or the end of its output when it failed.

    Every process in the sandbox ends with it.
    """
    shut_in = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", folder, folder)
    alone = ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session")
    done = subprocess.run(
        [str(one) for one in (*shut_in, *alone, "--chdir", ROOT, sys.executable, "-m", module, *words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        return (done.stdout + done.stderr).decode("utf-8", "replace")[-3_000:]
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=type)


def programs_of(client: str) -> tuple[str | Path, ...]:
    """A client's program, and the Node that it runs on where it needs one."""
    return (program(client), node_for(client) or "")
