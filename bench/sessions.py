"""Listing the sessions of an unchanged home of 1 GB a second time: a whole process, beside reading those bytes.

A process with an audit hook proves first that no log is opened, and ends the run if one is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.benches import Bench
from bench.corpus import corpus
from bench.environments import LAB
from bench.stopwatch import per_process

WATCHED = """
import sys
opened = []
def hook(event, arguments):
    if event in ("open", "sqlite3.connect") and str(arguments[0]).endswith((".jsonl", ".json", ".db")):
        opened.append(str(arguments[0]))
sys.addaudithook(hook)
from dragoman.cli import main
code = main(["sessions", "--json", "--all"])
logs = [file for file in opened if file.startswith(sys.argv[1])]
sys.exit(f"{len(logs)} logs were opened, {logs[0]} first" if logs else code)
"""
SILENT = "import os, sys; os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
LISTED = SILENT + "from dragoman.cli import main; sys.exit(main(['sessions', '--json']))"
PROGRAMS = {
    "every byte read": "import sys, pathlib\nfor p in pathlib.Path(sys.argv[1]).rglob('*.jsonl'): p.read_bytes()",
    "every file looked at": "import sys, pathlib\nfor p in pathlib.Path(sys.argv[1]).rglob('*.jsonl'): p.stat()",
}


def measure(column: str) -> list[float]:
    home = corpus().home
    os.environ |= {"HOME": str(home), "DRAGOMAN_CACHE_DIR": str(_cache()), "DRAGOMAN_DATA_DIR": str(_cache())}
    os.environ.pop("CLAUDE_CONFIG_DIR", None)
    if column != "ours":
        return per_process([sys.executable, "-I", "-c", PROGRAMS[column], str(home)])
    listed = [sys.executable, "-I", "-c", LISTED]
    subprocess.run(listed, check=True)  # the first, which reads everything
    watched = subprocess.run(
        [sys.executable, "-I", "-c", SILENT + WATCHED, str(home)], check=False, stderr=subprocess.PIPE
    )
    if watched.returncode != 0:
        raise SystemExit(f"the second call is not what it should be: {watched.stderr.decode()}")
    return per_process(listed)


def _cache() -> Path:
    return LAB / "sessions-cache"


BENCH = Bench(
    question="list the sessions of an unchanged home of 1 GB",
    environments={"ours": "base", **dict.fromkeys(PROGRAMS, "base")},
    floor="every file looked at",
    targets=(),
    measure=measure,
)
