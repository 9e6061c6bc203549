"""The real command, in a process of its own, as somebody whose whole world is one folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.cli.prepared import run


def run_command(home: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`dragoman WORDS…` in this folder, which is also the home, the settings and the data of its user."""
    known = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DRAGOMAN_CONFIG_DIR": str(home / "config"),
        "DRAGOMAN_DATA_DIR": str(home / "data"),
        "DRAGOMAN_CACHE_DIR": str(home / "cache"),
        "DRAGOMAN_SANDBOX__MODE": "off",
    }
    done = run(words, home, {**known, **environ})
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
