"""CPU time of this process or of another, divided by a fixed piece of work timed right beside it.

The division makes figures comparable that were taken while the machine was busy and while it was
not; a time that was not divided says more about the neighbours than about the code.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Sequence

SHORTEST_ROUND = 0.04  # seconds of CPU, like the calibration's own


def own_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def family_time() -> float:
    """CPU seconds of this process and of those it started and has seen end."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own_time() + usage.ru_utime + usage.ru_stime


def machine_time() -> float:
    """CPU seconds of everything on this machine, and those that its host took away."""
    user, nice, system, _, _, interrupts, soft, stolen, *_ = map(
        int, _contents("/proc/stat").split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def household_time() -> float:
    """The same, and that of its children that still live. Looking for them takes time: only for long rounds."""
    living = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(_contents(f"/proc/{name}/stat").rpartition(")")[2].split()[1]) == os.getpid():
                living += int(_contents(f"/proc/{name}/schedstat").split()[0])
        except OSError:
            continue
    return family_time() + living / 1e9


def _contents(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def calibration() -> float:
    """CPU seconds of work that never changes: arithmetic, and making and reading text, as real code does."""
    start = own_time()
    total = 0
    words: dict[str, int] = {}
    for number in range(60_000):
        total = (total * 31 + number) % 65_521
        words[f"{total % 997:x}"] = number
    for _ in range(40):
        sorted(" ".join(words).split(" "))
    return own_time() - start


def calibrated(work: Callable[[], float]) -> float:
    """The CPU seconds `work` reports, in units of the calibration before and after it."""
    before = calibration()
    cost = work()
    return 2 * cost / (before + calibration())


def per_call(
    repeat: Callable[[int], object],
    *,
    rounds: int = 5,
    clock: Callable[[], float] = own_time,
    shortest: float = SHORTEST_ROUND,
) -> list[float]:
    """The cost of one call, once a round; `repeat(n)` makes n calls. A round is long enough for the clock."""

    def timed(calls: int) -> float:
        start = clock()
        repeat(calls)
        return clock() - start

    calls = 1
    while timed(calls) < shortest:
        calls *= 2
    return [calibrated(lambda: timed(calls) / calls) for _ in range(rounds)]


def per_process(command: Sequence[str], *, rounds: int = 5, quiet: bool = False) -> list[float]:
    """The cost of a whole process from its start to its end, once a round; `quiet`: what it prints goes nowhere."""

    def one_process() -> float:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL if quiet else None)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{list(command)} ended with {process.returncode}")
        return usage.ru_utime + usage.ru_stime

    one_process()  # the first reads the disk and writes bytecode
    return [calibrated(one_process) for _ in range(rounds)]
