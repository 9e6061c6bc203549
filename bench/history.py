"""Questions about a home of many small sessions, answered from an index that is up to date: whole processes.

The floor is the same question in SQL over the same index, after one walk over the same files, in a process that has
imported what ours has. `DRAGOMAN_BENCH_SESSIONS` is how many sessions there are (3,000; each is a copy of a real one).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.benches import Bench, Target
from bench.environments import LAB, ROOT
from bench.stopwatch import per_process

OURS, FLOOR = "ours", "SQL and one walk"
WALK = """
import os, sqlite3, sys
import dragoman.cli, dragoman.cli.commands.{command}
from dragoman.logs import Query
def walk(folder):
    with os.scandir(folder) as entries:
        for entry in entries:
            walk(entry.path) if entry.is_dir(follow_symlinks=False) else entry.stat()
for name in (".claude", ".codex", ".gemini"):
    walk(os.path.join(os.environ["HOME"], name))
database = sqlite3.connect(os.path.join(os.environ["DRAGOMAN_CACHE_DIR"], "history.sqlite"))
for statement in {statements!r}:
    database.execute(statement).fetchall()
"""
DAY = "date(time / 1000000, 'unixepoch')"
TOKENS = "sum(input_tokens), sum(cached_read_tokens), sum(cached_write_tokens), sum(output_tokens)"
QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "sessions": (("sessions",), "SELECT session, started FROM sessions ORDER BY started DESC LIMIT 20"),
    "update": (("index", "update"), "SELECT path, size, modified FROM files"),
    "tokens": (
        ("stats", "--by", "day", "--tokens"),
        f"SELECT {DAY}, {TOKENS} FROM (SELECT * FROM usage GROUP BY coalesce(exchange, rowid)) GROUP BY 1",
    ),
    "calls": (("stats", "--by", "tool"), "SELECT name, count(*), sum(status = 'failed') FROM calls GROUP BY 1"),
}


def fleet() -> Path:
    """The home, made when it is not there yet."""
    count = int(os.environ.get("DRAGOMAN_BENCH_SESSIONS", "3000"))
    home = LAB / f"fleet-{count}"
    if not home.is_dir():
        shared = os.environ.get("DRAGOMAN_SHARED")
        if not shared:
            raise SystemExit("the maker of homes lies in bench/logs of the shared folder: set DRAGOMAN_SHARED to that")
        folder = (ROOT / shared).resolve()
        making = LAB / f"fleet-{count}.making"
        shutil.rmtree(making, ignore_errors=True)
        program = folder / "bench" / "logs" / "fleet.py"
        command = [sys.executable, "-B", program, folder / "traces", folder / "traces-wild", making, str(count)]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        making.rename(home)
    return home


def _measure(name: str) -> Callable[[str], list[float]]:
    words, statement = QUESTIONS[name]

    def measure(column: str) -> list[float]:
        home = fleet()
        cache = LAB / f"{home.name}-cache"
        os.environ |= {"HOME": str(home), "DRAGOMAN_CACHE_DIR": str(cache), "DRAGOMAN_DATA_DIR": str(cache)}
        for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            os.environ.pop(variable, None)
        ours = [sys.executable, "-I", "-m", "dragoman", *words]
        subprocess.run(ours, check=True, stdout=subprocess.DEVNULL)  # the first, which brings the index up to date
        floor = WALK.format(command=words[0], statements=[statement])
        command = ours if column == OURS else [sys.executable, "-I", "-c", floor]
        return per_process(["/bin/sh", "-c", 'exec "$@" >/dev/null', "sh", *command], rounds=3)

    return measure


BENCHES = {
    name: Bench(
        question=f"answer `dragoman {' '.join(words)}` with nothing new in a home of many sessions",
        environments=dict.fromkeys((OURS, FLOOR), "base"),
        floor=FLOOR,
        targets=(Target(OURS, FLOOR, 2.0),),
        measure=_measure(name),
    )
    for name, (words, _) in QUESTIONS.items()
}
