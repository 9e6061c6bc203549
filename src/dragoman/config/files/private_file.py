"""Files of dragoman's own that hold settings or trust: readable by their owner alone, replaced whole or not at all.

Rule: who reads, changes and writes such a file holds its folder meanwhile, so that two commands at once lose nothing.
A temporary file that a killed command left is removed by the next one that writes there.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dragoman.errors import writing


def private(path: str, flags: int) -> int:
    """Opens a file that, if it is new, only its owner can read: an `opener` for `open`."""
    return os.open(path, flags, 0o600)


_MAKING = threading.Lock()


def make_private(path: Path) -> None:
    """Makes an empty file that only its owner can read, unless there is one.

    One that is there is not opened. It may be a database that this process has open, and closing any other descriptor
    of a file ends the locks that SQLite has on it (POSIX): then another process that closes the database removes its
    write-ahead log, and what is stored from then on is lost without an error.
    """
    with _MAKING, suppress(FileExistsError):  # a second thread may use it only when the first has closed it
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def write_private(path: Path, content: bytes, *, advice: str = "") -> None:
    """Writes a file only its owner can read: whole or not at all, whatever happens meanwhile."""
    with replacing(path, advice=advice) as write:
        write(content)


@contextmanager
def replacing(path: Path, *, advice: str = "") -> Iterator[Callable[[bytes], None]]:
    """Holds a file against other commands while it is read and changed; call what it gives with the new content."""

    def write(content: bytes) -> None:
        with writing(path, advice):
            _replace(path, content)

    with writing(path, advice):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = _held(path.parent)
    try:
        yield write
    finally:
        if held is not None:
            os.close(held)


def _replace(path: Path, content: bytes) -> None:
    prefix = f".{path.name[:40]}."
    for left in path.parent.glob(f"{prefix}*.tmp"):  # nobody else is writing here: whoever made it was killed
        with suppress(OSError):
            left.unlink()
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".tmp")  # always 0600
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


if sys.platform == "win32":

    def _held(folder: Path) -> int | None:
        return None  # a folder cannot be opened there; replacing the file is atomic all the same

else:
    import fcntl

    def _held(folder: Path) -> int | None:
        """Locks a folder, waiting for a command that writes there; the lock ends with the descriptor or the process."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
