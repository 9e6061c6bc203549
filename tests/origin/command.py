"""The real command, in a process of its own, as somebody whose whole world is one folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


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
    return subprocess.run(
        [sys.executable, "-m", "dragoman", *words],
        cwd=home,
        env={**known, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
