"""`make fuzz`: every target, and the laws of the tests with random examples, for a given time.

Variables: FUZZ_SECONDS (default 120); FUZZ_CASES (most cases of a target; default: as many as the time allows);
SEED (a number, or "new" for a random one; default: the one in tests/fuzz/seed); TARGET (names, separated by commas;
default: all); CASE (a number or a range such as 0-999999; for the target `laws`, the name of a test).
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import laws
from .running import Failure, run_cases, shown, tried, watch
from .target import Target
from .targets import all_targets

SEED_FILE = Path(__file__).with_name("seed")


def main() -> int:
    asked = os.environ.get("SEED") or SEED_FILE.read_text()
    seed = secrets.randbelow(10**9) if asked.strip() == "new" else int(asked)
    seconds = float(os.environ.get("FUZZ_SECONDS") or 120)
    most = int(os.environ.get("FUZZ_CASES") or sys.maxsize)
    case = os.environ.get("CASE") or ""
    targets = all_targets()
    names = [name.strip() for name in (os.environ.get("TARGET") or ",".join([*targets, laws.NAME])).split(",")]
    unknown = [name for name in names if name not in targets and name != laws.NAME]
    if unknown:
        print(f"fuzz: there is no target {', '.join(unknown)}; there are {', '.join([*targets, laws.NAME])}")
        return 2
    print(f"fuzz: seed {seed}, {seconds:g} seconds", flush=True)
    watch()
    chosen = [targets[name] for name in names if name in targets]
    failed = False
    with tempfile.TemporaryFile() as output:
        running = laws.start(seed, seconds, case, output) if laws.NAME in names else None
        if case and chosen:
            first, _, last = case.partition("-")
            held = [_range(target, seed, int(first), int(last or first)) for target in chosen]
            failed = not all(held)
        elif chosen:
            failed = not _in_turn(chosen, seed, seconds, most)
        if running is not None:
            status = running.wait()
            output.seek(0)
            told = output.read().decode(errors="replace").rstrip()
            print(told if status else f"  {laws.NAME:<16} {laws.counted(told)}")
            if status:
                print(
                    f"fuzz: a law fails; again: make fuzz TARGET={laws.NAME} SEED={seed} CASE=<the test's name above>"
                )
                failed = True
    return 1 if failed else 0


def _range(target: Target, seed: int, first: int, last: int) -> bool:
    """Runs these cases however long they take, and tells now and then how far they are."""
    following, memory, begun = first, 0, time.monotonic()
    while following <= last:
        ran = run_cases(target, seed, range(following, last + 1), 60.0)
        following, memory = ran.following, max(memory, ran.memory)
        if ran.failure is not None:
            _tell(target, seed, ran.failure)
            return False
        if last > first:
            _count(target, following - first, time.monotonic() - begun, memory)
    return True


def _in_turn(targets: Sequence[Target], seed: int, seconds: float, most: int) -> bool:
    """Runs the targets one after the other, each with an equal share of the time that is left, and `most` cases.

    Each has one process: what a target imports and compiles at its first cases takes longer than hundreds of others.
    """
    end = time.monotonic() + seconds
    failed = False
    for number, target in enumerate(targets):
        share = (end - time.monotonic()) / (len(targets) - number)
        if not _examples_hold(target, seed):
            failed = True
            continue
        ran = run_cases(target, seed, range(most), share)
        _count(target, ran.following, ran.seconds, ran.memory)
        if ran.failure is not None:
            _tell(target, seed, ran.failure)
            failed = True
    return not failed


def _examples_hold(target: Target, seed: int) -> bool:
    for value in target.examples:
        error = tried(target, value)
        if error is not None:
            _tell(target, seed, Failure(None, error, shown(value)))
            return False
    return True


def _count(target: Target, cases: int, seconds: float, memory: int) -> None:
    rate = cases / seconds if seconds else 0.0
    print(f"  {target.name:<16} {cases:>9,} cases  {rate:>8,.0f}/s  {memory >> 20:>5} MiB", flush=True)


def _tell(target: Target, seed: int, failure: Failure) -> None:
    print(f"\nfuzz: {target.name} fails, seed {seed}, case {failure.number}")
    print(failure.error)
    print(f"input, made smaller: {failure.shown}")
    if failure.number is not None:
        print(f"again: make fuzz TARGET={target.name} SEED={seed} CASE={failure.number}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
