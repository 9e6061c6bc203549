"""Building a corpus of the logs of many sessions: two workers beside one, on the clock, and the memory it takes.

`DRAGOMAN_BENCH_SESSIONS` is how many sessions there are (3,000, of which a tenth is read here; 63,500 make 5 GB, of
which `DRAGOMAN_BENCH_SHARE=1` reads all). Rows that read the clock say something only while two cores are free.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.benches import Bench, Target
from bench.environments import LAB
from bench.history import MEGABYTE, fleet

ONE, TWO, MISSING = "one worker", "two workers", "logs that are missing"
PART_BYTES = 1 << 20
"""So that the small home makes many parts; a large one has larger ones."""


def _share() -> int:
    return int(os.environ.get("DRAGOMAN_BENCH_SHARE", "10"))


def _planned(home: Path, name: str, *, anew: bool = True) -> object:
    from dragoman.logs import corpus

    to = LAB / f"corpus-{name}"
    if anew:
        shutil.rmtree(to, ignore_errors=True)
    sources = [corpus.place_of(str(home / folder)) for folder in (".claude", ".codex", ".gemini")]
    part_bytes = PART_BYTES if _share() > 1 else PART_BYTES << 5
    return corpus.planned(corpus.place_of(str(to)), sources, part_bytes=part_bytes)


def measure_processes(column: str) -> list[float]:
    """Seconds on the clock, without the walk over the logs."""
    from dragoman.logs import corpus

    plan: corpus.Plan = _planned(fleet(_share()), column)  # type: ignore[assignment]
    began = time.monotonic()
    corpus.built(plan, workers=2 if column == TWO else 1)
    return [time.monotonic() - began]


def measure_dask(column: str) -> list[float]:
    """The same on a Dask cluster that is there already."""
    import distributed

    from dragoman.logs import corpus

    plan: corpus.Plan = _planned(fleet(_share()), f"dask-{column}")  # type: ignore[assignment]
    workers = 2 if column == TWO else 1
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        began = time.monotonic()
        corpus.built_on_dask(plan, scheduler=cluster.scheduler_address)
        return [time.monotonic() - began]


def measure_memory(column: str) -> list[float]:
    """Megabytes of a process that builds alone; also with a quarter of the sessions."""
    from dragoman.logs import corpus

    plan: corpus.Plan = _planned(fleet(_share() * (4 if column == "a quarter" else 1)), f"memory-{column}")  # type: ignore[assignment]
    corpus.built(plan)
    return [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE]


BUILD = """
import sys
from pathlib import Path
from bench import company
from dragoman.logs import corpus
corpus.built(company._planned(Path(sys.argv[1]), "killed"), workers=2)
"""
"""What is killed."""


def measure_resumed(column: str) -> list[float]:
    """How many logs a build opens after one was killed with SIGKILL half-way, for each log that is in no part."""
    from dragoman.logs import corpus

    if column == MISSING:
        return [1.0]
    home = fleet(_share())
    whole: corpus.Plan = _planned(home, "killed")  # type: ignore[assignment]
    killed = subprocess.Popen([sys.executable, "-c", BUILD, home], start_new_session=True)
    manifest = LAB / "corpus-killed" / "manifest"
    while killed.poll() is None and len(list(manifest.glob("*.json"))) < len(whole.parts) / 2:
        time.sleep(0.01)
    if killed.poll() is not None:
        raise SystemExit("the build was over before it could be killed: DRAGOMAN_BENCH_SESSIONS=3000 makes more parts")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    plan: corpus.Plan = _planned(home, "killed", anew=False)  # type: ignore[assignment]
    every = {one.address: os.path.join(one.root, one.name) for part in whole.parts for one in part}
    missing = {one.address for part in plan.parts for one in part}
    opened: set[str] = set()

    def look(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | Path):
            opened.add(os.path.realpath(arguments[0]))

    sys.addaudithook(look)
    counts = corpus.built(plan)
    last: corpus.Plan = _planned(home, "killed", anew=False)  # type: ignore[assignment]
    if not every.keys() > missing or counts.inputs != len(every) or last.parts:
        raise SystemExit(
            f"of {len(every)} logs {len(missing)} were missing after the kill, {len(last.parts)} parts now"
        )
    # Small files that a client keeps beside a log are in a part too, and are opened with that log.
    entries = [json.loads(path.read_bytes()) for path in manifest.glob("*.json")]
    logs = {log["address"] for entry in entries for log in entry["logs"] if log.get("format")}
    again = {address for address in logs - missing if every[address] in opened}
    return [len(again | missing) / len(missing)]


def _of_two(
    question: str,
    column: str,
    floor: str,
    most: float,
    measure: Callable[[str], list[float]],
    *,
    reads_clock: bool = False,
) -> Bench:
    return Bench(
        question=question,
        environments=dict.fromkeys((column, floor), "corpus"),
        floor=floor,
        targets=(Target(column, floor, most),),
        measure=measure,
        reads_clock=reads_clock,
    )


BENCHES = {
    # Two workers are used to 0.85 and 0.8: they take 1/(2 × 0.85) and 1/(2 × 0.8) of the time of one.
    "processes": _of_two("build a corpus, time on the clock", TWO, ONE, 0.588, measure_processes, reads_clock=True),
    "dask": _of_two("the same on Dask, without its start", TWO, ONE, 0.625, measure_dask, reads_clock=True),
    "memory": _of_two("megabytes of the build of all sessions", "all", "a quarter", 1.3, measure_memory),
    "resumed": _of_two("logs opened after a build was killed", "opened", MISSING, 1.0, measure_resumed),
}
