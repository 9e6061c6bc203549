"""Regular files that others wrote, read within a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_ordinary_file(path: str | os.PathLike[str], largest: int) -> bytes:
    """The bytes of a regular file. A pipe is not waited for, and no more than `largest` bytes and one are read.

    `OSError` when it cannot be opened or read; `ValueError` when it is not a regular file, or a larger one.
    """
    return read_with_place(path, largest)[0]


def read_with_place(path: str | os.PathLike[str], largest: int) -> tuple[bytes, Path]:
    """The same, and where the file that was read really is: `path` may lead to another one before and after."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > largest:
            raise _larger(largest)
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(largest + 1)
        place = _place_of(descriptor, path)
    finally:
        os.close(descriptor)
    if len(content) > largest:
        raise _larger(largest)
    return content, place


def _larger(largest: int) -> ValueError:
    return ValueError(f"larger than {largest // 1024} KiB")


def _place_of(descriptor: int, path: str | os.PathLike[str]) -> Path:
    """Where an open file is, without links. Linux knows; elsewhere it is looked up once more, and must be the same."""
    try:
        return Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    except OSError:
        place = Path(os.path.realpath(path))
        if not os.path.samestat(os.fstat(descriptor), os.stat(place)):
            raise ValueError("replaced while it was read") from None
        return place
