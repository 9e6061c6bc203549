"""Tokens by day of a home of 1 GB: whole processes, ours without an index and with one, beside ccusage.

ccusage comes from npm, once, into .lab/. A run ends when the two do not agree on the tokens; those written to a cache
are left out of that: ccusage adds up the parts a log tells of, and the corpus has parts that do not fit their sum.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

from bench.benches import Bench, Target
from bench.corpus import corpus
from bench.environments import LAB
from bench.stopwatch import per_process

PEER = "ccusage@20.0.24"
COUNT = ("stats", "--by", "day", "--tokens", "--all", "--json")
COLD, WARM, THEIRS = "ours, no index", "ours, index", "ccusage"


def measure(column: str) -> list[float]:
    home = corpus().home
    cache = LAB / ("stats-cache" if column == WARM else "stats-no-cache")
    os.environ |= {"HOME": str(home), "DRAGOMAN_CACHE_DIR": str(cache), "DRAGOMAN_DATA_DIR": str(cache)}
    os.environ["CLAUDE_CONFIG_DIR"] = str(home / ".claude")
    if column == COLD:
        shutil.rmtree(cache, ignore_errors=True)
    elif column == WARM:
        subprocess.run(_ours("index", "update"), check=True, stdout=subprocess.DEVNULL)
    command = _theirs() if column == THEIRS else _ours(*COUNT)
    _agree(_total(_theirs()), _total(_ours(*COUNT)))
    return per_process(["/bin/sh", "-c", 'exec "$@" >/dev/null', "sh", *command], rounds=3)


def _ours(*words: str) -> list[str]:
    return [sys.executable, "-I", "-m", "dragoman", *words]


def _theirs() -> list[str]:
    folder = LAB / "ccusage-npm"
    program = folder / "node_modules" / ".bin" / "ccusage"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), PEER], check=True)
    return [str(program), "daily", "--json", "--offline"]


def _total(command: list[str]) -> tuple[int, int, int]:
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if "totals" in told:
        total = told["totals"]
        return total["inputTokens"], total["cacheReadTokens"], total["outputTokens"]
    total = told["total"]["tokens"]
    return total["input_tokens"], total["cached_read_tokens"], total["output_tokens"]


def _agree(theirs: tuple[int, int, int], ours: tuple[int, int, int]) -> None:
    if theirs != ours:
        raise SystemExit(f"the tokens differ: ccusage {theirs}, ours {ours}")


BENCH = Bench(
    question="count the tokens of a home of 1 GB, day by day",
    environments=dict.fromkeys((COLD, WARM, THEIRS), "base"),
    floor=THEIRS,
    targets=(Target(COLD, THEIRS, 0.5), Target(WARM, THEIRS, 0.1)),
    measure=measure,
)
