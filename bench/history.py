"""Questions about a home of many small sessions, answered from an index that is up to date: whole processes.

The floor is the same question in SQL over the same index, after one walk over the same files, in a process that has
imported what ours has. `DRAGOMAN_BENCH_SESSIONS` is how many sessions there are (3,000; each is a copy of a real one).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.benches import Bench, Target
from bench.environments import LAB, ROOT
from bench.stopwatch import calibrated, per_process

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
    "sessions": (("sessions",), "SELECT session, started FROM session_list ORDER BY started DESC LIMIT 20"),
    "update": (("index", "update"), "SELECT path, size, modified FROM files"),
    "tokens": (
        ("stats", "--by", "day", "--tokens"),
        f"SELECT {DAY}, {TOKENS} FROM usage WHERE NOT repeated GROUP BY 1",
    ),
    "calls": (
        ("stats", "--by", "tool"),
        "SELECT word, count(*), sum(failure IS NOT NULL) FROM calls JOIN words ON words.id = calls.name GROUP BY 1",
    ),
}
IN_SQL = "SELECT operation, count(*) FROM calls GROUP BY 1"
QUERY = (
    ("query", IN_SQL),
    "SELECT word, count(*) FROM calls LEFT JOIN words ON words.id = calls.operation GROUP BY 1",
)
"""A question of the user's own; it needs the extra `query`."""
MOST_MEMORY = 150
MEGABYTE = 1_000_000
LARGEST_SHARE = 0.15
"""Of the logs' size, for the index."""
WATCHED = 30
"""Seconds."""
BUSIEST = 0.002
"""Of a core, for a watch while nothing happens."""


def fleet(share: int = 1) -> Path:
    """The home, made when it is not there yet; of so many times fewer sessions."""
    count = int(os.environ.get("DRAGOMAN_BENCH_SESSIONS", "3000")) // share
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


def _at(home: Path) -> Path:
    """Makes a home the one that is asked; gives where its index lies."""
    cache = LAB / f"{home.name}-cache"
    os.environ |= {"HOME": str(home), "DRAGOMAN_CACHE_DIR": str(cache), "DRAGOMAN_DATA_DIR": str(cache)}
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(variable, None)
    return cache


def _ours(*words: str) -> list[str]:
    return [sys.executable, "-I", "-m", "dragoman", *words]


def _measure(name: str) -> Callable[[str], list[float]]:
    words, statement = QUESTIONS.get(name, QUERY)

    def measure(column: str) -> list[float]:
        _at(fleet())
        # The first brings the index up to date.
        subprocess.run(_ours(*words), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        floor = WALK.format(command=words[0], statements=[statement])
        command = _ours(*words) if column == OURS else [sys.executable, "-I", "-c", floor]
        return per_process(["/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh", *command], rounds=3)

    return measure


def _used(command: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and megabytes that a process takes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{list(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MEGABYTE


def measure_memory(column: str) -> list[float]:
    """Megabytes that the question takes which needs most of them; also at a tenth of the sessions."""
    if column == "allowed":
        return [MOST_MEMORY]
    _at(fleet(10 if column.endswith("a tenth") else 1))
    subprocess.run(_ours("sessions"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [max(_used(_ours(*words))[1] for words, _ in QUESTIONS.values())]


def measure_size(column: str) -> list[float]:
    """Bytes of the index, and what it may have."""
    home = fleet()
    cache = _at(home)
    subprocess.run(_ours("sessions"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if column == OURS:
        return [(cache / "history.sqlite").stat().st_size]
    folders = (".claude", ".codex", ".gemini")
    logs = (path for folder in folders for path in (home / folder).rglob("*.json*") if path.is_file())
    return [LARGEST_SHARE * sum(path.stat().st_size for path in logs)]


def measure_building(column: str) -> list[float]:
    """The index of a tenth of the sessions, made anew; or the events of the same files, and nothing kept."""
    cache = _at(fleet(10))
    program = (
        "from dragoman.logs import Query, read\n"
        "for found in Query().files():\n    for _ in read(found.path, found.format): pass"
    )

    def work() -> float:
        if column == OURS:
            shutil.rmtree(cache, ignore_errors=True)
            return _used(_ours("index", "update"))[0]
        return _used([sys.executable, "-I", "-c", program])[0]

    work()
    return [calibrated(work)]


def measure_watching(column: str) -> list[float]:
    """The share of a core that a watch takes in which nothing happens, after it has begun."""
    if column == "allowed":
        return [BUSIEST]
    _at(fleet())
    process = subprocess.Popen(_ours("watch"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()  # "Following": all files are known
    try:
        time.sleep(WATCHED / 3)  # the first look at everything
        before = _seconds_of(process.pid)
        time.sleep(WATCHED)
        return [(_seconds_of(process.pid) - before) / WATCHED]
    finally:
        process.kill()
        process.wait()


def _seconds_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _of_two(
    question: str, floor: str, most: float, measure: Callable[[str], list[float]], environment: str = "base"
) -> Bench:
    return Bench(
        question=question,
        environments=dict.fromkeys((OURS, floor), environment),
        floor=floor,
        targets=(Target(OURS, floor, most),),
        measure=measure,
    )


BENCHES = {
    name: _of_two(
        f"answer `dragoman {' '.join(words)}` with nothing new in a home of many sessions", FLOOR, 2.0, _measure(name)
    )
    for name, (words, _) in QUESTIONS.items()
} | {
    "query": _of_two(f"answer `dragoman query '{IN_SQL}'` in the same home", FLOOR, 2.0, _measure("query"), "query"),
    "memory": Bench(
        question="megabytes of the question that needs most, and of a tenth of the sessions",
        environments=dict.fromkeys((OURS, f"{OURS}, a tenth", "allowed"), "base"),
        floor="allowed",
        targets=(Target(OURS, "allowed", 1), Target(OURS, f"{OURS}, a tenth", 1.3)),
        measure=measure_memory,
    ),
    "size": _of_two(f"the size of the index, beside {LARGEST_SHARE:.0%} of its logs", "allowed", 1, measure_size),
    # It took 2.3 to 3 times as long as reading; three times that rate is no longer than reading took.
    "build": _of_two("make an index, beside reading the same logs into events", "reading", 1, measure_building),
    "watch": _of_two(
        "the share of a core that `dragoman watch` takes while nothing happens", "allowed", 1, measure_watching
    ),
}
