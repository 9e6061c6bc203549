"""Runs the cases of a target in a process of its own: a crash, an endless loop or a full memory is a failure too.

Time is processor time: a busy machine makes no case fail.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import resource
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Iterable
from typing import Any, NamedTuple

from .smaller import smaller
from .target import Target

CASE_SECONDS = 10.0
"""Processor time one case may take; an input is a few kilobytes, and takes milliseconds."""
CASE_MEMORY = 256 << 20
"""Bytes by which one case may raise the memory of the process."""
_ALL_MEMORY = 3 << 30
_STUCK = 3 * CASE_SECONDS


class CaseError(AssertionError):
    """A case took more time or memory than any input needs."""


class Failure(NamedTuple):
    """A case that failed. `number` is `None` for a fixed example."""

    number: int | None
    error: str
    shown: str
    """The input, made smaller."""


class Ran(NamedTuple):
    """What a run of cases came to."""

    following: int
    """The number of the first case that was not run."""
    seconds: float
    memory: int
    """Most memory the process held, in bytes."""
    failure: Failure | None = None


def run_cases(target: Target, seed: int, numbers: Iterable[int], seconds: float) -> Ran:
    """Runs these cases, for so many seconds at most, until one fails."""
    first = next(iter(numbers), 0)
    progress = mmap.mmap(-1, 16)
    progress[:] = struct.pack("qd", first, 0.0)
    reading, writing = os.pipe()
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            ran = _run(target, seed, numbers, seconds, progress)
            with open(writing, "wb") as pipe:
                pickle.dump(ran, pipe)
            status = 0
        except BaseException:  # noqa: BLE001 - nothing may go past the end of this process
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    stuck = _wait(child, reading, progress)
    with open(reading, "rb") as pipe:
        written = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if written and status == 0:
        ran: Ran = pickle.loads(written)
        return ran
    number = struct.unpack("qd", progress[:])[0]
    error = f"no end after {_STUCK:g} seconds of processor time" if stuck else f"the process ended with {status}"
    failure = Failure(number, error, shown(target.case(seed, number)))
    return Ran(number + 1, time.monotonic() - begun, 0, failure)


def _wait(child: int, reading: int, progress: mmap.mmap) -> bool:
    """Waits for the process to end; ends it, and gives true, when one case takes for ever."""
    ticks = os.sysconf("SC_CLK_TCK")
    last, since = -1, 0.0
    while not select.select([reading], [], [], 1.0)[0]:
        number = struct.unpack("qd", progress[:])[0]
        with open(f"/proc/{child}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / ticks
        if number != last:
            last, since = number, used
        elif used - since > _STUCK:
            os.kill(child, signal.SIGKILL)
            return True
    return False


def _run(target: Target, seed: int, numbers: Iterable[int], seconds: float, progress: mmap.mmap) -> Ran:
    resource.setrlimit(resource.RLIMIT_DATA, (_ALL_MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()  # what was imported stays: nothing is gained by looking for garbage in it
    gc.set_threshold(20_000, 20, 20)
    watch()
    begun = time.monotonic()
    end = begun + seconds
    number = -1
    failure: Failure | None = None
    for number in numbers:
        progress[:8] = struct.pack("q", number)
        value = target.case(seed, number)
        error = tried(target, value)
        if error is not None:
            failure = Failure(number, error, shown(_smaller(target, value, error)))
            break
        if time.monotonic() >= end:
            break
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Ran(number + 1, time.monotonic() - begun, memory, failure)


def watch() -> None:
    """Makes this process end a case that takes too long."""
    signal.signal(signal.SIGPROF, _too_long)


def _too_long(signal_number: int, frame: Any) -> None:
    if _Watch.on:
        raise CaseError(f"more than {CASE_SECONDS:g} seconds of processor time")


class _Watch:
    """Whether a case is running. A signal may come when it has just ended."""

    on = False


def tried(target: Target, value: Any) -> str | None:
    """Why an input fails; `None` when it does not."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        _Watch.on = True
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
        target.check(value)
        _Watch.on = False
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
        _Watch.on = False
        return _told(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"CaseError: {more >> 10} MiB more memory" if more * 1024 > CASE_MEMORY else None


def _told(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    return "".join(lines if len(lines) < 40 else [*lines[:10], "  …\n", *lines[-20:]]).rstrip()


def _kind(error: str) -> tuple[str, ...]:
    """What makes two errors the same: the kind of exception, and where it was raised."""
    lines = error.splitlines()
    last = max((index for index, line in enumerate(lines) if line.startswith('  File "')), default=0)
    return (lines[last], next((line.partition(":")[0] for line in lines[last:] if not line.startswith(" ")), ""))


def _smaller(target: Target, value: Any, error: str) -> Any:
    def fails(candidate: Any) -> bool:
        told = tried(target, candidate)
        return told is not None and _kind(told) == _kind(error)

    if error.startswith("CaseError") or "CaseError: more than" in error:
        return value  # each try would take as long again
    return smaller(value, fails)


def shown(value: Any) -> str:
    """An input as Python writes it, or how it begins when it is very long."""
    text = ascii(value)
    return text if len(text) <= 4000 else f"{text[:4000]}… ({len(text):,} characters in all)"
