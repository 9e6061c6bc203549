"""What changed in folders, as Linux tells it (inotify): so that files that nobody writes to need not be looked at.

Rule: it is a hint and no promise. A file system may tell nothing of what another machine writes, and the system drops
what nobody fetches in time: whoever uses this looks at everything now and then.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
from collections.abc import Iterable
from typing import Final

_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x8, 0x40, 0x80, 0x100, 0x200
_IS_FOLDER, _OVERFLOW, _IGNORED, _ONLY_FOLDERS = 0x40000000, 0x4000, 0x8000, 0x01000000
_WANTED: Final = _MODIFY | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS
_NON_BLOCKING: Final = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_HEAD: Final = struct.Struct("iIII")
_PIECE: Final = 1 << 16


class Notices:
    """The folders that are listened to; `None` from `opened` where the system cannot tell."""

    def __init__(self, descriptor: int, library: ctypes.CDLL) -> None:
        self._descriptor, self._library = descriptor, library
        self._folders: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    @classmethod
    def opened(cls) -> Notices | None:
        """New notices, of no folder yet."""
        if sys.platform != "linux":
            return None
        library = ctypes.CDLL(None, use_errno=True)
        try:
            descriptor = library.inotify_init1(_NON_BLOCKING)
        except AttributeError:
            return None
        return cls(descriptor, library) if descriptor >= 0 else None

    def close(self) -> None:
        """Ends the listening."""
        os.close(self._descriptor)

    def listen(self, folders: Iterable[str]) -> bool:
        """Listens to these folders too; `False` if the system allows no more."""
        for folder in folders:
            if folder in self._numbers:
                continue
            number = self._library.inotify_add_watch(self._descriptor, os.fsencode(folder), _WANTED)
            if number >= 0:
                self._numbers[folder], self._folders[number] = number, folder
            elif ctypes.get_errno() == _NO_SPACE:
                return False
        return True

    def wait(self, seconds: float) -> tuple[set[tuple[str, str]], bool] | None:
        """What changed, as folder and name, and whether something is new there; `None` if some of it was lost.

        Waits at most so long. A folder that is new is listened to from here on, with all in it.
        """
        self._poll.poll(max(0.0, seconds) * 1000)
        changed: set[tuple[str, str]] = set()
        is_new = False
        while data := self._read():
            place = 0
            while place < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, place)
                name = os.fsdecode(data[place + _HEAD.size : place + _HEAD.size + length].rstrip(b"\0"))
                place += _HEAD.size + length
                if mask & _OVERFLOW:
                    return None
                folder = self._folders.get(number)
                if mask & _IGNORED:
                    self._folders.pop(number, None)
                    self._numbers.pop(folder or "", None)
                    continue
                if folder is None:
                    continue
                if mask & _IS_FOLDER:
                    if mask & (_CREATE | _MOVED_TO) and not self.listen(
                        _with_folders_below(os.path.join(folder, name))
                    ):
                        return None
                    is_new = True
                else:
                    changed.add((folder, name))
                    is_new = is_new or bool(mask & (_CREATE | _MOVED_TO))
        return changed, is_new

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except BlockingIOError:
            return b""


_NO_SPACE: Final = 28


def _with_folders_below(folder: str) -> Iterable[str]:
    for place, _, _ in os.walk(folder):
        yield place
