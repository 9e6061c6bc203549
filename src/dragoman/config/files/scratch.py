"""Folders for what is needed for a while: those of a process that was killed are taken away by a later one.

Rule: a folder's owner holds a lock in it, which the system frees when the owner ends, however that happens. Where there
are no such locks (Windows, some network drives), nothing of others is taken away.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Final

_PREFIX: Final = "dragoman-scratch-"
_LOCK: Final = ".lock"
_YOUNG: Final = 60.0
"""Seconds in which its owner may not have locked a new folder yet."""


class ScratchFolder:
    """A folder of this process, readable by its user alone, which is gone after `close`."""

    def __init__(self) -> None:
        _clear_once(os.getpid())
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.path: Final = Path(self._folder.name)
        self._owned = ExitStack()
        with suppress(OSError):
            _lock(self._owned.enter_context(_opened(self.path)))

    def close(self) -> None:
        """Takes the folder away."""
        self._owned.close()
        self._folder.cleanup()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def clear_scratch(place: Path) -> None:
    """Takes away the scratch folders in a folder that are this user's and whose owners have ended."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in [one for one in entries if one.name.startswith(_PREFIX)]:
            with suppress(OSError):
                if _is_left(entry):
                    shutil.rmtree(entry.path, ignore_errors=True)


@cache
def _clear_once(process: int) -> None:
    clear_scratch(Path(tempfile.gettempdir()))


def _is_left(entry: os.DirEntry[str]) -> bool:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != _user() or time.time() - status.st_mtime < _YOUNG:
        return False
    with _opened(Path(entry.path)) as lock:
        _lock(lock)  # raises while its owner is there
    return True


def _opened(folder: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    return open(os.open(folder / _LOCK, flags, 0o600), "r+b")


if sys.platform == "win32":

    def _lock(file: IO[bytes]) -> None:
        raise OSError("there are no such locks here")

    def _user() -> int:
        return -1

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _user() -> int:
        return os.getuid()
