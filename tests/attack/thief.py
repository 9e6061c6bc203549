"""A program that looks for a text in all that it can read of other processes, and says what it could read of which.

`python thief.py HALF OTHER-HALF` looks for the two halves put together, so that the text is in no command line.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

_SEIZE, _DETACH = 0x4206, 17
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_LIBC = ctypes.CDLL(None, use_errno=True)


def environment(process: int) -> Iterator[bytes]:
    with open(f"/proc/{process}/environ", "rb") as file:
        yield file.read()


def command_line(process: int) -> Iterator[bytes]:
    with open(f"/proc/{process}/cmdline", "rb") as file:
        yield file.read()


def memory(process: int) -> Iterator[bytes]:
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as file:
        for line in maps:
            start, end = (int(one, 16) for one in line.split()[0].split("-"))
            if " rw" in line and end - start < 1 << 28:
                with suppress(OSError, OverflowError):
                    file.seek(start)
                    yield file.read(end - start)


def open_files(process: int) -> Iterator[bytes]:
    for name in os.listdir(f"/proc/{process}/fd"):
        yield os.fsencode(os.readlink(f"/proc/{process}/fd/{name}"))


def trace(process: int) -> Iterator[bytes]:
    nothing = ctypes.c_void_p(0)
    if _LIBC.ptrace(_SEIZE, process, nothing, nothing) != 0:
        raise PermissionError(ctypes.get_errno())
    _LIBC.ptrace(_DETACH, process, nothing, nothing)
    yield b""


def stolen_descriptors(process: int) -> Iterator[bytes]:
    handle = _LIBC.syscall(_PIDFD_OPEN, process, 0)
    taken = [_LIBC.syscall(_PIDFD_GETFD, handle, number, 0) for number in range(64)]
    os.close(handle)
    for one in taken:
        if one >= 0:
            os.close(one)
    if max(taken) < 0:
        raise PermissionError(ctypes.get_errno())
    yield b""


WAYS: tuple[Callable[[int], Iterator[bytes]], ...] = (
    environment,
    command_line,
    memory,
    open_files,
    trace,
    stolen_descriptors,
)


def main(wanted: bytes) -> None:
    report = []
    for process in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        if process == os.getpid():
            continue
        readable, found = [], []
        for way in WAYS:
            try:
                for data in way(process):
                    found += [way.__name__] if wanted in data else []
            except OSError:
                continue
            readable.append(way.__name__)
        words = b"".join(command_line(process)).split(b"\0")
        report.append({"words": [word.decode() for word in words], "readable": readable, "found": found})
    print(json.dumps(report))


if __name__ == "__main__":
    main(os.fsencode("".join(sys.argv[1:])))
