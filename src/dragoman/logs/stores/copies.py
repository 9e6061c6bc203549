"""Copies of the records of a database, as files that every command over logs reads.

Rules: only what is new is copied. A copy has the lines that the record would have as a file; one that was interrupted
is cut back to what is known to be whole. A run that is no longer in the database has no copy.
"""

from __future__ import annotations

import re
from hashlib import blake2s
from pathlib import Path

import msgspec

from dragoman.config.files import private, write_private
from dragoman.errors import ConfigError, writing
from dragoman.logs.formats.dragoman import COPIES, HEADER

from .database_store import DatabaseStore
from .file_store import locked

_STATE = "copied.json"


class _Copied(msgspec.Struct, frozen=True, array_like=True):
    """How far a record is copied: the number of its last event, and the bytes of the file."""

    number: int
    size: int


_NOTHING = _Copied(0, 0)


def copy_records(store: DatabaseStore, data_folder: Path) -> None:
    """Brings the copies in the user's data folder up to date, unless another process does it now."""
    place = data_folder / COPIES / _digest(store.place)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            lock = locked(place / "lock")
        except ConfigError:
            return
        with lock:
            before = _read_state(place / _STATE)
            after = {run: _copy(store, run, number, before, place) for run, number in store.numbers()}
            for run in before.keys() - after.keys():
                _path(place, run).unlink(missing_ok=True)
            if after != before:
                write_private(place / _STATE, msgspec.json.encode(after))


def _copy(store: DatabaseStore, run: str, number: int, before: dict[str, _Copied], place: Path) -> _Copied:
    path, known = _path(place, run), before.get(run, _NOTHING)
    size = path.stat().st_size if path.exists() else 0
    if size < known.size:  # somebody cut it: it is made anew
        known = _NOTHING
    if known.number == number and size == known.size:
        return known
    with open(path, "ab", opener=private) as file:
        file.truncate(known.size)
        if not known.size:
            file.write(HEADER)
        for line in store.lines(run, after=known.number, until=number):
            file.write(line + b"\n")
        return _Copied(number, file.tell())


def _path(place: Path, run: str) -> Path:
    """The copy of a run. Who shares the database can call a run anything, also what leads elsewhere."""
    name = run if re.fullmatch(r"[A-Za-z0-9_-]{1,100}", run) else f"run-{_digest(run)}"
    return place / f"{name}.jsonl"


def _digest(text: str) -> str:
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _read_state(path: Path) -> dict[str, _Copied]:
    """What was copied before; all of it is copied again where that cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, _Copied])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
