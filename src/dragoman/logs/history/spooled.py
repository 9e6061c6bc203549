"""A session too long to hold in memory: its events, read once and kept in a file of this process.

Rules: the file has no name, so nobody else reads it and nothing is left of it. Events come back as they were read. A
log of lines that grew is read on from its end; any other that changed is read anew, by whoever asks for that.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from dragoman import config
from dragoman.errors import LogError
from dragoman.logs.base.checkpoint import restored, stored
from dragoman.logs.base.compressed import is_compressed, open_log, plain_name
from dragoman.logs.base.format import LogReader, Storable, is_of_lines
from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .indexed_file import digest, tail_of
from .sessions import Counter, key_of, numbered

_BLOCK: Final = 256
"""Events that are written, and read back, together."""
_PIECE: Final = 1 << 18
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[AnyEvent]).decode

Take = Callable[[AnyEvent], None]


class Spool:
    """Events in a file without a name; those that do not fill a block yet are in memory.

    One thread at a time uses it. The file ends with the last reference to this.
    """

    def __init__(self) -> None:
        folder = config.current().cache_dir  # a temporary folder is often memory itself
        self._file = tempfile.TemporaryFile(dir=folder if os.access(folder, os.W_OK) else None)  # noqa: SIM115 - see below
        weakref.finalize(self, self._file.close)
        self._blocks: list[tuple[int, int, bool]] = []
        """Where each begins, its length, and whether it is msgpack: that holds no half surrogate and no long number."""
        self._open: list[AnyEvent] = []

    def __len__(self) -> int:
        return len(self._blocks) * _BLOCK + len(self._open)

    def __iter__(self) -> Iterator[AnyEvent]:
        return self.between(0, len(self))

    def append(self, event: AnyEvent) -> None:
        """Adds an event."""
        self._open.append(event)
        if len(self._open) == _BLOCK:
            begin = 0 if not self._blocks else sum(self._blocks[-1][:2])
            try:
                data, is_packed = _encode(self._open), True
            except (UnicodeEncodeError, OverflowError):
                data, is_packed = pickle.dumps(self._open, 5), False
            self._file.seek(begin)
            self._file.write(data)
            self._blocks.append((begin, len(data), is_packed))
            self._open = []

    def cut(self, count: int) -> None:
        """Leaves the first so many events."""
        whole, rest = divmod(count, _BLOCK)
        self._open = self._block(whole)[:rest]
        del self._blocks[whole:]

    def between(self, begin: int, end: int) -> Iterator[AnyEvent]:
        """The events from one number to before another."""
        while begin < end:
            block, first = divmod(begin, _BLOCK)
            yield from self._block(block)[first : first + end - begin]
            begin = (block + 1) * _BLOCK

    def some(self, numbers: Iterable[int]) -> Iterator[AnyEvent]:
        """The events with these numbers, which are in order."""
        for block, wanted in groupby(numbers, key=lambda number: number // _BLOCK):
            events = self._block(block)
            yield from (events[number % _BLOCK] for number in wanted)

    def _block(self, number: int) -> list[AnyEvent]:
        if number == len(self._blocks):
            return self._open
        begin, length, is_packed = self._blocks[number]
        self._file.seek(begin)
        data = self._file.read(length)
        if is_packed:
            return _decode(data)
        events: list[AnyEvent] = pickle.loads(data)  # this process wrote it, and no other can
        return events


class Spooled:
    """The events of a session and its sub-agents, from these files (each with its format) in this order.

    `keys` says whose events are meant: other sessions may stand in the same files.
    """

    def __init__(self, files: list[tuple[str, str]], keys: frozenset[tuple[str, str]]) -> None:
        self.files, self.keys = files, keys
        self.spool = Spool()
        self._firm = 0
        """How many of its events stay when the last file grows: the rest were told by the end of that."""
        self._reached: _Reached | None = None

    def read(self, take: Take) -> list[AnyEvent]:
        """Reads everything. `take` is given the events that stay; the others are returned."""
        counters: dict[tuple[str, str], Counter] = {}
        last: list[AnyEvent] = []
        for place, (path, format) in enumerate(self.files):
            reader = FORMATS[format].reader(plain_name(Path(path)))
            last = self._read(path, format, reader, counters, take, 0, is_last=place == len(self.files) - 1)
        return last

    def state(self) -> list[object]:
        """What tells whether the files are as they were, of each of them; `None` for one that is gone."""
        return [_state_of(path) for path, _ in self.files]

    def read_on(self, take: Take) -> list[AnyEvent] | None:
        """The same for what was added to the last file since; `None` if that is not all that happened to it."""
        reached = self._reached
        if reached is None:
            return None
        path, format = self.files[-1]
        try:
            with open(path, "rb") as file:
                if not reached.is_in(file):
                    return None
        except OSError:
            return None
        kept = restored(format, Path(path), reached.state)
        if kept is None:
            return None
        self.spool.cut(self._firm)
        reader, counted = kept
        return self._read(path, format, reader, counted.counters, take, reached.offset, is_last=True)

    def _read(
        self,
        path: str,
        format: str,
        reader: LogReader,
        counters: dict[tuple[str, str], Counter],
        take: Take,
        begin: int,
        *,
        is_last: bool,
    ) -> list[AnyEvent]:
        self._reached = None
        may_go_on = is_last and is_of_lines(reader) and not is_compressed(path)
        try:
            with open_log(path) as file:
                file.seek(begin)
                while data := file.read(_PIECE):
                    begin += len(data)
                    self._take(reader.feed(data), counters, take)
                self._firm = len(self.spool)
                state = stored(reader, _Counted(counters)) if may_go_on else None
                if state is not None:
                    self._reached = _Reached(state, begin, digest(tail_of(file, begin)))
        except OSError as error:
            raise LogError(f"cannot read {path}: {error.strerror}") from error
        if self._reached is None:
            self._take(reader.rest(), counters, take)
            return []
        last: list[AnyEvent] = []
        self._take(reader.rest(), counters, last.append)
        return last

    def _take(self, events: Iterable[AnyEvent], counters: dict[tuple[str, str], Counter], take: Take) -> None:
        for event in numbered((one for one in events if key_of(one) in self.keys), counters):
            self.spool.append(event)
            take(event)


class _Counted(Storable):
    """The counts of turns and steps where reading stopped."""

    def __init__(self, counters: dict[tuple[str, str], Counter]) -> None:
        self.counters = counters


class _Reached(msgspec.Struct):
    """Where reading a file stopped."""

    state: bytes
    offset: int
    tail: str

    def is_in(self, file: BinaryIO) -> bool:
        """Whether a file has, up to there, the end that it had."""
        return os.fstat(file.fileno()).st_size >= self.offset and digest(tail_of(file, self.offset)) == self.tail


def _state_of(path: str) -> tuple[int, int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
