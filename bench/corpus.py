"""A home with 1 GB of logs under .lab/, the same every time, for benches over recorded sessions.

The generator lies in `$DRAGOMAN_SHARED/bench/logs` and is run from there; `DRAGOMAN_BENCH_MEGABYTES` makes less.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bench.environments import LAB, ROOT


class Corpus(NamedTuple):
    """A home folder, its log files and their size."""

    home: Path
    files: list[Path]
    size: int


def corpus() -> Corpus:
    """The home, made when it is not there yet."""
    megabytes = int(os.environ.get("DRAGOMAN_BENCH_MEGABYTES", "1000"))
    home = LAB / f"logs-{megabytes}"
    if not home.is_dir():
        making = LAB / f"logs-{megabytes}.making"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        command = [sys.executable, "-B", str(_generator()), str(making / ".claude"), "--mb", str(megabytes)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        making.rename(home)
    files = sorted((home / ".claude").rglob("*.jsonl"))
    return Corpus(home, files, sum(file.stat().st_size for file in files))


def _generator() -> Path:
    shared = os.environ.get("DRAGOMAN_SHARED")
    found = (ROOT / shared).resolve() / "bench" / "logs" / "gen_corpus.py" if shared else None
    if found is None or not found.is_file():
        raise SystemExit("the generator of logs lies in bench/logs of the shared folder: set DRAGOMAN_SHARED to that")
    return found
