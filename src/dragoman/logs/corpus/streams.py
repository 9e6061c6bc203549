"""The bytes of a log as they come from anywhere → its format and its events, without a copy of the log.

Rule: what a reader looks for beside a log is looked for where the log is. For a log that is no file here its path lies
in an empty folder, so that no file of this machine is taken for one that belongs to it.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from dragoman.logs.base.compressed import unpacked_pieces
from dragoman.logs.base.database import SQLITE
from dragoman.logs.base.format import Gathered, LogFormat, sampled
from dragoman.logs.base.reading import recognise, recognise_sample
from dragoman.registry import FORMATS

from .places import Listed, Place

_SAMPLE: Final = 65_536
_LONGEST_NAME: Final = 200
_AT_ONCE: Final = 16
"""Objects that are fetched at the same time."""


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


class Copies:
    """Logs that are no files here, below an empty folder: where each would lie, and those that were fetched."""

    def __init__(self, place: Place, folder: Path) -> None:
        self._place, self._folder = place, folder

    def path(self, name: str) -> Path:
        """What stands for an object."""
        parts = [part.replace("\0", "")[-_LONGEST_NAME:] for part in name.split("/")]
        return Path(self._folder, *(part for part in parts if part not in ("", ".", "..")))

    def fetch(self, wanted: Iterable[Listed]) -> None:
        """Puts objects where their paths are. There may be thousands, each small and some way off."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._fetch, wanted))

    def _fetch(self, one: Listed) -> None:
        path = self.path(one.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for piece in self._place.pieces(one.name, one.etag):
                file.write(piece)

    def fetch_related(self, format: LogFormat, path: Path, pieces: Callable[[], Iterable[bytes]]) -> None:
        """Fetches what the reader of a log looks at in other sessions. It finds the log itself there, too."""
        if type(format).related is LogFormat.related:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with path.open("wb") as file:
                for piece in pieces():
                    file.write(piece)
        seen: set[Path] = set()
        while new := [one for one in format.related(path) if one not in seen]:
            seen.update(new)
            self.fetch(one for pattern in new for one in self._fitting(pattern))

    def _fitting(self, pattern: Path) -> Iterator[Listed]:
        if not pattern.is_relative_to(self._folder):
            return
        parts = pattern.relative_to(self._folder).parts
        fixed = "/".join(takewhile(lambda part: "*" not in part, parts[:-1]))
        for one in self._place.listed(fixed):
            path = self.path(one.name)
            if _fits(path.relative_to(self._folder).parts, parts) and not path.exists():
                yield one


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(parts) == len(pattern) and all(
        fnmatchcase(one, wanted) if "*" in wanted else one == wanted for one, wanted in zip(parts, pattern, strict=True)
    )


def beside_names(name: str) -> Iterator[str]:
    """The names of what some format reads with a log of this name, where the log's own name tells them."""
    path = Path(_NOWHERE, *(part for part in name.split("/") if part not in ("", ".", "..")))
    if path == _NOWHERE or "\0" in name:
        return
    for _, format in FORMATS.working():
        if not format.may_have_companions(str(path)):
            continue
        try:
            found = list(format.companions(path))
        except (OSError, ValueError):
            continue
        yield from (one.relative_to(_NOWHERE).as_posix() for one in found if one.is_relative_to(_NOWHERE))


def read_with(names: Collection[str]) -> dict[str, str]:
    """Which of these objects are read with another, and which: of clients that keep a session in many files."""
    rules = [(re.compile(one), other) for _, format in FORMATS.working() for one, other in format.members]
    by_folder: dict[tuple[str, str], str] = {}
    for name in names:
        above, _, last = name.rpartition("/")
        by_folder[above.rpartition("/")[0], last] = name

    def found(name: str) -> str | None:
        for pattern, other in rules:
            if fits := pattern.fullmatch(f"/{name}"):
                wanted = fits.expand(other).removeprefix("/")
                above, star, last = wanted.partition("/*/")
                one = by_folder.get((above, last)) if star else wanted if wanted in names else None
                if one is not None:
                    return one
        return None

    direct = {name: one for name in names if (one := found(name)) is not None and one != name}
    whole: dict[str, str] = {}
    for name, one in direct.items():
        seen = {name}
        while one in direct and one not in seen:
            seen.add(one)
            one = direct[one]
        whole[name] = one
    return whole


_NOWHERE: Final = Path(os.devnull, "corpus")
"""A folder that cannot be: what is no file here is not looked for here."""
