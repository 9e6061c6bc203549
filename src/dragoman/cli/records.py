"""Where runs are recorded, how a record is found again, and that one process at a time goes on with it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config import Configuration


def runs_folder(configuration: Configuration) -> Path:
    """Where the records of runs are kept."""
    return configuration.data_dir / "runs"


def find_record(folder: Path, wanted: str) -> Path:
    """The record whose name begins so, or the newest for "last"."""
    known = newest_first(folder)
    if not known:
        raise click.BadParameter(f"there is no run to go on with: {folder} has none.", param_hint="--resume")
    if wanted == "last":
        return known[0]
    found = [path for path in known if path.stem.startswith(wanted)] if wanted else []
    if len(found) == 1:
        return found[0]
    listed = ", ".join(path.stem[:8] for path in (found or known)[:5])
    if found:
        raise click.BadParameter(
            f'several runs begin with "{wanted}": {listed}; say more of it.', param_hint="--resume"
        )
    raise click.BadParameter(f'no run begins with "{wanted}"; the last ones are {listed}.', param_hint="--resume")


def newest_first(folder: Path) -> list[Path]:
    """The records of a folder."""
    found: list[tuple[float, Path]] = []
    for path in folder.glob("*.jsonl"):
        with suppress(FileNotFoundError):  # it has just been removed
            facts = path.stat()
            if facts.st_size:  # a process that was killed before its first event leaves nothing to go on with
                found.append((facts.st_mtime, path))
    # What is dated to the days to come was written while the clock was wrong: it is not the newest for ever.
    latest = time.time() + 86_400
    return [path for _, path in sorted(found, key=lambda one: (one[0] <= latest, one[0]), reverse=True)]


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def locked(path: Path) -> BinaryIO:
    """Holds a record for this process alone, for as long as it is open."""
    file = open(path, "ab", opener=private)  # noqa: SIM115 - held until the session ends
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ConfigError("this run is going on in another process: wait for it, or stop it there") from error
    return file
