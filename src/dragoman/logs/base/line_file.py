"""A file that lines are added to, each whole or not at all.

Rule: whenever the process is killed and wherever the disk fills up, what was added before can be read. After a line
that could not be written no other is taken, so that a file never has a hole in its middle. Where lines are synced, the
same holds for a power cut: a line is on the disk, and so is the file's name, before `add` returns.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from dragoman.errors import StorageError, writing


class LineFile:
    """Adds lines to a file, made if it is not there. Safe from several threads.

    `advice` ends the `StorageError` that is raised when the file cannot be written. With `fsync`, every line is on the
    disk before `add` returns.
    """

    def __init__(
        self, path: Path | str, *, first: bytes = b"", mode: int = 0o666, advice: str = "", fsync: bool = False
    ) -> None:
        self.path, self.advice, self._fsync = Path(path), advice, fsync
        self._lock = threading.Lock()
        self._failure: StorageError | None = None
        with writing(self.path, advice):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "ab+", buffering=0, opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115 - until `close`
        try:
            if self._file.tell() == 0 or self._is_torn(first):
                self._append(first)
            elif not self._is_whole():
                self._append(b"\n")  # a process that was killed may have left half a line: it must not cost the next
            if fsync:
                with writing(self.path, advice):
                    _sync_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    def add(self, line: bytes) -> None:
        """Adds a line, its end included. When it cannot be written, the file is as it was before."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                self._append(line)
            except StorageError as error:
                self._failure = error
                raise

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _append(self, line: bytes) -> None:
        written = 0
        with writing(self.path, self.advice):
            before = self._file.seek(0, os.SEEK_END)
            try:
                while written < len(line):  # on a disk that is nearly full a part is written, and no error told
                    written += self._file.write(line[written:])
                if self._fsync:
                    os.fsync(self._file.fileno())
            except OSError:
                if self._file.seek(0, os.SEEK_END) == before + written:  # nobody else has added to it
                    self._file.truncate(before)
                raise

    def _is_torn(self, first: bytes) -> bool:
        """Whether nothing but a part of its first line is there, as a power cut may leave it; then that is taken away.

        A file system may keep the new length of a file and lose its bytes: they are zero then.
        """
        self._file.seek(0)
        beginning = self._file.read(len(first))
        if not first or beginning == first or not first.startswith(beginning.rstrip(b"\0")):
            return False
        while rest := self._file.read(1 << 20):
            if rest.strip(b"\0"):
                return False
        with writing(self.path, self.advice):
            self._file.truncate(0)
        return True

    def _is_whole(self) -> bool:
        self._file.seek(-1, os.SEEK_END)
        return self._file.read(1) == b"\n"


def _sync_folder(folder: Path) -> None:
    """Puts the names of new files on the disk, for every folder that may be new itself."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    for one in (folder, *folder.parents):
        try:
            descriptor = os.open(one, os.O_RDONLY)
        except PermissionError:  # whoever may not read it has made nothing in it
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
