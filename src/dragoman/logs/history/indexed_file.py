"""One log file as the index knows it: what tells whether it changed, and its rows, read on or anew."""

from __future__ import annotations

import hashlib
import os
import re
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.errors import LogError
from dragoman.logs.base.checkpoint import restored, stored
from dragoman.logs.base.compressed import is_compressed, open_log, plain_name
from dragoman.logs.base.database import SQLITE
from dragoman.logs.base.format import LogFormat, LogReader
from dragoman.registry import FORMATS

from .discover import Found
from .tables import TableBuilder

_TAIL: Final = 4_096
_DIGEST: Final = 16
_PIECE: Final = 1 << 20
_LATELY: Final = 3 * 86_400 * 10**9
"""Nanoseconds."""


class FileRow(msgspec.Struct, kw_only=True):
    """A log file as the index knows it."""

    path: str
    format: str
    home: str | None = None
    device: int = 0
    inode: int = 0
    size: int = 0
    modified: int = 0
    """Nanoseconds since 1970."""
    beside: str = ""
    """What stands for the files that are read with it."""
    tail: str = ""
    """A digest of the last bytes that were read; of a database, of all of them."""
    state: bytes | None = None
    events: int = 0
    unreadable: int = 0
    unknown: int = 0
    error: str | None = None
    generation: int = 0


def name_of(path: Path | str) -> str:
    """A file as tables name it: what of its path is no UTF-8 is written out, `\\udce9`."""
    text = str(path)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def path_of(name: str) -> str:
    """The file that tables name so."""
    if "\\udc" not in name:
        return name
    return re.sub(r"\\(udc[89a-f][0-9a-f])", lambda match: chr(int(match[1][1:], 16)), name)


class FileReading:
    """One file, read on or anew: its rows, those that its end alone gave, and the state to go on from."""

    def __init__(self, found: Found, row: FileRow, known: FileRow | None, state: bytes | None) -> None:
        self.found, self.row, self.bytes, self.is_continued = found, row, 0, False
        path = str(found.path)
        builder = TableBuilder(path)
        reader: LogReader | None = None
        try:
            is_plain = not is_compressed(path)
            with open_log(path) as file:
                begin = 0
                if known is not None and is_plain and _has_grown(file, known, row):
                    kept = restored(row.format, Path(path), state)
                    if kept is not None:
                        reader, builder = kept
                        builder.go_on()
                        begin, self.is_continued = known.size, True
                if reader is None:
                    reader = FORMATS[row.format].reader(plain_name(Path(path)))
                file.seek(begin)
                size = row.size
                self._feed(file, reader, builder, row, begin)
                row.size = row.size if is_plain else size
                if _may_grow(row):
                    self._end(reader, builder, row)
                else:
                    for event in reader.rest():
                        builder.take(event)
                    self.firm, self.provisional = builder.rows(), builder.rows()
        except (OSError, LogError) as error:
            row.error = getattr(error, "strerror", None) or str(error)
            builder = TableBuilder(path)
            self.firm = self.provisional = builder.rows()
            self.is_continued = False
        row.events, row.unreadable, row.unknown = builder.events, builder.unreadable, builder.unknown

    def _end(self, reader: LogReader, builder: TableBuilder, row: FileRow) -> None:
        """Takes what only the end of a file told as provisional, and keeps the reader as it was before that."""
        self.firm = builder.rows()
        firm = builder.events
        # Of some files everything is told at the end: there is nothing to go on from.
        row.state = stored(reader, builder) if firm else None
        for event in reader.rest():
            if builder.events == firm:
                builder.go_on()
            builder.take(event)
        self.provisional = builder.rows()

    def _feed(self, file: Any, reader: LogReader, builder: TableBuilder, row: FileRow, begin: int) -> None:
        last = b""
        # Databases change in the middle, and different ones often end with the same page: all of it tells them apart.
        whole: hashlib.blake2b | None = None
        while data := file.read(_PIECE):
            if not self.bytes and data.startswith(SQLITE):
                whole = hashlib.blake2b(digest_size=_DIGEST)
            if whole is not None:
                whole.update(data)
            self.bytes += len(data)
            last = (last + data)[-_TAIL:]
            for event in reader.feed(data):
                builder.take(event)
        # What was read counts, not what the file was before: it may have grown meanwhile, and will be read on.
        row.size = begin + self.bytes
        if len(last) < min(_TAIL, row.size):
            last = tail_of(file, row.size)
        row.tail = digest(last) if whole is None else whole.hexdigest()


def tail_of(file: Any, end: int) -> bytes:
    """The last bytes of a file before a place in it."""
    begin = max(0, end - _TAIL)
    file.seek(begin)
    data: bytes = file.read(end - begin)
    return data


def digest(data: bytes) -> str:
    """A short name for bytes, the same for equal ones."""
    return hashlib.blake2b(data, digest_size=_DIGEST).hexdigest()


def _has_grown(file: Any, known: FileRow, row: FileRow) -> bool:
    """Whether a file begins as the one that was read: its last bytes before the old end are what they were."""
    same = (known.device, known.inode, known.format, known.error) == (row.device, row.inode, row.format, None)
    return same and row.size >= known.size > 0 and digest(tail_of(file, known.size)) == known.tail


FACTS: Final = ("format", "device", "inode", "size", "modified", "beside")


def facts_of(found: Found, *, is_looked_at_again: bool = False) -> tuple[Any, ...] | None:
    """What tells whether a file is as it was, the values of `FACTS`; `None` if there is none."""
    status = found.status
    if status is None or is_looked_at_again:
        try:
            status = os.stat(found.name)
        except OSError:
            return None
    format = FORMATS[found.format]
    return (
        found.format,
        column_of(status.st_dev),
        column_of(status.st_ino),
        status.st_size,
        column_of(status.st_mtime_ns),
        companions_of(format, found.path) if format.may_have_companions(found.name) else "",
    )


def _may_grow(row: FileRow) -> bool:
    """Whether a file was written to lately. The state of a reader is a fifth of an index, and few sessions go on later:
    those are read anew."""
    return time.time_ns() - row.modified < _LATELY


_HALF: Final = 1 << 63


def column_of(number: int) -> int:
    """A number of the system as a column of SQLite holds it: of 64 bits, with a sign.

    Some file systems count inodes beyond that, and a file may be dated after 2262; it is only compared.
    """
    return number if -_HALF <= number < _HALF else (number + _HALF) % (2 * _HALF) - _HALF


def companions_of(format: LogFormat, path: Path) -> str:
    """What stands for the files that are read together with one: their names, sizes and times."""
    facts = []
    for other in format.companions(path):
        try:
            status = os.stat(other)
        except OSError:
            continue
        facts.append(f"{other}|{status.st_size}|{status.st_mtime_ns}")
    return digest("\n".join(facts).encode("utf-8", "surrogateescape")) if facts else ""
