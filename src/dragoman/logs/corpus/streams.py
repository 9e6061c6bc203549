"""The bytes of a log as they come from anywhere → its format and its events, without a copy of the log.

Rule: what a reader looks for beside a log is looked for where the log is. For a log that is no file here its path lies
in an empty folder, so that no file of this machine is taken for one that belongs to it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import msgspec

from dragoman.errors import LogError
from dragoman.logs.base.compressed import unpacked_pieces
from dragoman.logs.base.database import SQLITE
from dragoman.logs.base.format import Gathered, LogFormat, sampled
from dragoman.logs.base.reading import recognise, recognise_sample
from dragoman.registry import FORMATS

_SAMPLE: Final = 65_536
_LONGEST_NAME: Final = 200


class Stream(io.RawIOBase):
    """Pieces of bytes as a file that can only be read on."""

    def __init__(self, name: str, pieces: Iterable[bytes]) -> None:
        self.name = name
        self._pieces = iter(pieces)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes: some, at most `size`; none at the end."""
        if not self._rest:
            self._rest = next(self._pieces, b"")
        if size < 0 or size >= len(self._rest):
            data, self._rest = self._rest, b""
        else:
            data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def peek(self, size: int) -> bytes:
        """The first bytes of what is left."""
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        return self._rest[:size]


def contents(name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What a log holds, unpacked."""
    stream = Stream(name, pieces)
    return unpacked_pieces(name, cast("Any", stream), stream.peek(4))


def recognised(path: Path, pieces: Iterator[bytes]) -> tuple[LogFormat, Iterator[bytes]]:
    """The format of a log by its beginning, and all its bytes: what was looked at comes first.

    A log that is one JSON document is read as a whole for that, as its reader does it.
    """
    held: list[bytes] = []
    length = 0

    def more() -> bool:
        nonlocal length
        piece = next(pieces, b"")
        held.append(piece)
        length += len(piece)
        return bool(piece)

    while length < _SAMPLE and more():
        pass
    is_whole = length < _SAMPLE
    has_line = any(b"\n" in one for one in held)
    while not is_whole and not has_line and length <= Gathered.largest and more():
        has_line = b"\n" in held[-1]
    head = b"".join(held)
    if head.startswith(SQLITE):
        return _of_database(path, chain([head], pieces))

    def document() -> Any:
        while length <= Gathered.largest and more():
            pass
        return msgspec.json.decode(b"".join(held)) if length <= Gathered.largest else None

    format, _ = recognise_sample(sampled(path, head, None if is_whole else document))
    if type(format).whole is not LogFormat.whole:
        raise LogError(
            f"{path.name}: {format.name} keeps a session in several files, which cannot be read one by one; "
            "build from a folder that has all of them"
        )
    return format, chain(held, pieces)


def _of_database(path: Path, pieces: Iterable[bytes]) -> tuple[LogFormat, Iterator[bytes]]:
    """A database is no stream: it is put down where it can be opened, as its reader does it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
    format, _ = recognise(path)
    return format, _of_file(path)


def _of_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            yield data


@contextmanager
def path_of_name(name: str) -> Iterator[Path]:
    """A path that stands for a log that is no file here, in an empty folder of its own."""
    with TemporaryDirectory(prefix="dragoman-") as folder:
        parts = [part.replace("\0", "")[-_LONGEST_NAME:] for part in name.split("/")]
        yield Path(folder, *(part for part in parts if part not in ("", ".", "..")))


def beside_names(name: str) -> Iterator[str]:
    """The names of what some format reads with a log of this name, where the log's own name tells them."""
    path = Path(_NOWHERE, *(part for part in name.split("/") if part not in ("", ".", "..")))
    if path == _NOWHERE or "\0" in name:
        return
    for _, format in FORMATS.working():
        if not format.may_have_beside(str(path)):
            continue
        try:
            found = list(format.beside(path))
        except (OSError, ValueError):
            continue
        yield from (one.relative_to(_NOWHERE).as_posix() for one in found if one.parent == path.parent)


_NOWHERE: Final = Path(os.devnull, "corpus")
"""A folder that cannot be: what is no file here is not looked for here."""
