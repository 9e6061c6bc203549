"""Records as files, one per run: `<id>.jsonl`, an event per line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from dragoman.config.files import private
from dragoman.errors import ConfigError, writing
from dragoman.logs.formats.dragoman import Recorder, read_events
from dragoman.model import AnyEvent

from .store import BUSY, StoredRun


class FileStore:
    """Keeps records in a folder. With `fsync`, every event is on the disk before the run continues."""

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self.folder, self.fsync, self.place = folder, fsync, str(folder)

    def open(self, run: str, *, advice: str = "", advice_later: str | None = None) -> FileRecord:
        """See `EventStore.open`. A record that cannot be begun leaves no file."""
        return FileRecord(self.path(run), fsync=self.fsync, advice=advice, advice_later=advice_later)

    def is_held(self, run: str) -> bool:
        """See `EventStore.is_held`."""
        if not self.path(run).exists():
            return False
        try:
            locked(self.path(run)).close()
        except ConfigError:
            return True
        return False

    def path(self, run: str) -> Path:
        """The file of a run: in this folder, whatever somebody called it."""
        if "/" in run or "\0" in run or os.path.basename(run) != run or run in ("", ".", ".."):
            raise ConfigError(f"{run!r} is no id of a run")
        return self.folder / f"{run}.jsonl"

    def read(self, run: str) -> Iterator[AnyEvent]:
        """See `EventStore.read`."""
        return read_events(self.path(run))

    def runs(self) -> list[StoredRun]:
        """See `EventStore.runs`."""
        found: list[StoredRun] = []
        for path in self.folder.glob("*.jsonl"):
            with suppress(FileNotFoundError):  # it has just been removed
                facts = path.stat()
                if facts.st_size:  # a process that was killed before its first event leaves nothing to continue
                    found.append(StoredRun(path.stem, facts.st_mtime))
        return found

    def close(self) -> None:
        """See `EventStore.close`."""


class FileRecord:
    """One file, locked for as long as it is open."""

    def __init__(self, path: Path, *, fsync: bool, advice: str, advice_later: str | None) -> None:
        with ExitStack() as stack:
            with writing(path, advice):
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                lock = stack.enter_context(locked(path))
            try:
                self._recorder = Recorder(path, advice=advice, advice_later=advice_later, fsync=fsync)
            except BaseException:
                if not os.fstat(lock.fileno()).st_size:
                    path.unlink(missing_ok=True)  # it was made for this run, and nothing is in it
                raise
            stack.callback(self._recorder.close)
            self._open = stack.pop_all()

    def __call__(self, event: AnyEvent) -> None:
        """Adds an event."""
        self._recorder(event)

    def close(self) -> None:
        """Closes the file and lets others have it."""
        self._open.close()


def locked(path: Path) -> BinaryIO:
    """Holds a file for this process alone, for as long as it is open; the end of the process ends it too."""
    file = open(path, "ab", opener=private)  # noqa: SIM115 - held until it is closed
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ConfigError(BUSY) from error
    return file
