"""Building a corpus: which logs are to be read, in which parts, and the reading of one part.

Rules: what is to be done follows from the sources and the manifest alone, so builders need no lock: two that begin with
the same make the same parts, and the entry of each is written once. A builder that is killed leaves whole parts; the
next one reads what is in none. Where two parts hold the same log, readers take one (`current_logs`).
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from dragoman.config.files import ScratchFolder
from dragoman.errors import LogError
from dragoman.logs.base.compressed import plain_name
from dragoman.logs.base.database import SQLITE
from dragoman.logs.base.format import LogFormat
from dragoman.logs.base.reading import UnknownFormat, recognise
from dragoman.logs.history.discover import Found
from dragoman.logs.history.indexed_file import digest
from dragoman.logs.history.prints import looks_printed
from dragoman.logs.history.record_fields import records_in
from dragoman.logs.history.rows import columns_of
from dragoman.logs.history.tables import TableBuilder
from dragoman.logs.redaction.redact import Redactor
from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .parts import (
    PART_TABLES,
    Manifest,
    Manifests,
    PartWriter,
    Read,
    entry_name,
    opened,
    part_name,
    table_name,
)
from .places import Place, place_of
from .sources import NO_LOG, UNKNOWN, Input, Known, Labels, Part, inputs_here, inputs_of
from .streams import Copies, contents, recognised

_PART_BYTES: Final = 32 << 20
"""How many bytes of logs a part is made from, about."""
_HEAD: Final = 65_536
_TAIL: Final = 4_096


class Redaction(msgspec.Struct, frozen=True):
    """What is taken out of logs beside what looks like a secret or a person."""

    secrets: tuple[str, ...] = ()
    home: str | None = None
    user: str | None = None


class Order(msgspec.Struct, frozen=True):
    """What the makers of parts must know."""

    to: str
    made: str
    redaction: Redaction | None = None


class Plan(msgspec.Struct):
    """What is to be done."""

    order: Order
    parts: list[Part]
    inputs: int = 0
    unchanged: int = 0
    failures: list[tuple[str, str]] = []
    """What could not even be listed, each with the reason."""


class Counts(msgspec.Struct):
    """What a build did."""

    inputs: int = 0
    """Files that may be logs, of this shard."""
    unchanged: int = 0
    """Those that were in the corpus already: they were not opened."""
    read: int = 0
    failed: int = 0
    no_logs: int = 0
    """Those that are in no known format."""
    bytes: int = 0
    """How many bytes of logs were read."""
    parts: int = 0
    made_elsewhere: int = 0
    """Parts that another builder was first with."""
    rows: dict[str, int] = {}
    failures: list[tuple[str, str]] = []

    def add(self, made: Made) -> None:
        """Counts a part."""
        self.failed += len(made.failures)
        self.failures += made.failures
        self.made_elsewhere += made.is_from_elsewhere
        if made.manifest is None:
            return
        self.parts += 1
        for table, rows in made.manifest.rows.items():
            self.rows[table] = self.rows.get(table, 0) + rows
        for log in made.manifest.logs:
            self.bytes += log.bytes
            self.read += log.format != NO_LOG
            self.no_logs += log.format == NO_LOG and log.whole is None


class Made(msgspec.Struct):
    """What became of a part: its entry, if one was written, and the logs that could not be read, each with the reason.

    Those are in no entry: the next build tries them again.
    """

    manifest: Manifest | None = None
    is_from_elsewhere: bool = False
    failures: list[tuple[str, str]] = []


@cache
def reader_version() -> str:
    """What logs are read by: another version may read them otherwise, and a plugin changes them too."""
    columns = [(name, columns_of(kind)) for name, kind in PART_TABLES.items()]
    facts = msgspec.json.encode([columns, sorted(FORMATS)])
    return f"{version('dragoman')}/{hashlib.blake2b(facts, digest_size=6).hexdigest()}"


# ── planning ─────────────────────────────────────────────────────────────────


def planned(
    to: Place,
    sources: Sequence[Place],
    *,
    here: Iterable[Found] = (),
    labels: Labels | None = None,
    folders: tuple[str, ...] = (),
    shard: tuple[int, int] = (1, 1),
    redaction: Redaction | None = None,
    cache: Path | None = None,
    part_bytes: int = _PART_BYTES,
) -> Plan:
    """What has to be read: of the sources, and of logs that were found `here`; of one shard of several."""
    opened(to, is_made=True)
    order = Order(to.address, f"{reader_version()}{'' if redaction is None else ' redacted'}", redaction)
    done, known = _done(Manifests(to, cache).read(), order.made)

    def is_known(address: str, version: str, labels: Labels) -> bool:
        return (address, version, labels) in done

    labels = labels or Labels()
    plan = Plan(order, [])
    waiting: dict[str, Input] = {}
    every = [inputs_here(here, labels, known, is_known)]
    problems: dict[str, str] = {}
    every += [inputs_of(one, labels, folders, known, is_known, to, problems) for one in sources]
    for some in every:
        for one, is_there in some:
            if _number(one.address) % shard[1] != shard[0] - 1:
                continue
            plan.inputs += 1
            plan.unchanged += is_there
            if not is_there:
                waiting[one.address] = one
    plan.parts = _parts(waiting.values(), part_bytes)
    plan.failures = list(problems.items())
    return plan


def _done(manifests: Iterable[Manifest], made: str) -> tuple[set[tuple[str, str, Labels]], dict[str, Known]]:
    """What is in the corpus, read as it would be read now."""
    done: set[tuple[str, str, Labels]] = set()
    known: dict[str, Known] = {}
    for manifest in manifests:
        if manifest.made != made:
            continue
        for log in manifest.logs:
            done.add((log.address, log.version, log.labels))
            known[log.address] = Known(log.format, log.whole)
    return done, known


def _parts(inputs: Collection[Input], part_bytes: int) -> list[Part]:
    """Inputs in parts of about the same size: which part one is in depends on its name and on how much there is."""
    count = 1
    while count * part_bytes < sum(one.size for one in inputs):
        count *= 2
    found: dict[int, list[Input]] = {}
    for one in sorted(inputs, key=lambda one: one.address):
        found.setdefault(_number(one.address, "part") % count, []).append(one)
    parts = [Part(some) for some in found.values()]
    random.shuffle(parts)  # builders that begin together do different parts first, and find those of the others done
    return parts


def _number(address: str, purpose: str = "shard") -> int:
    return int.from_bytes(hashlib.blake2b(f"{purpose} {address}".encode(), digest_size=8).digest(), "big")


# ── making ───────────────────────────────────────────────────────────────────


def make_part(order: Order, planned: Part) -> Made:
    """Reads some logs and writes their part, unless it is there."""
    inputs = list(planned)
    to = place_of(order.to)
    part = part_name(order.made, inputs)
    if to.has(entry_name(part)):
        return Made(is_from_elsewhere=True)
    failures: list[tuple[str, str]] = []
    read: list[Input] = []
    logs: list[Read] = []
    with PartWriter() as writer:
        for one in inputs:
            try:
                logs.append(_read(one, order.redaction, writer))
                read.append(one)
            except (LogError, OSError) as error:  # it costs the others nothing
                failures.append((one.address, getattr(error, "strerror", None) or str(error)))
        if not logs:
            return Made(failures=failures)
        if failures:
            # By the name of all of them, its tables would be taken for those of a builder that could read them all.
            part = part_name(order.made, read)
        manifest = Manifest(part=part, made=order.made, built=time.time(), rows=dict(writer.rows), logs=logs)
        for table, data in writer.tables():
            to.put_new(table_name(table, part), data)
    entry = msgspec.json.encode(manifest)
    # A service that wrote it and lost its answer is asked again, and says then that there is one: it may be ours.
    if not to.put_new(entry_name(part), entry) and to.get(entry_name(part)) != entry:
        return Made(is_from_elsewhere=True, failures=failures)
    return Made(manifest, failures=failures)


def _read(one: Input, redaction: Redaction | None, writer: PartWriter) -> Read:
    """Reads a log into the part."""
    log = Read(
        address=one.address,
        version=one.version,
        modified=one.modified,
        size=one.size,
        format=one.format or NO_LOG,
        whole=one.whole,
        labels=one.labels,
        root=one.root,
    )
    if one.format == NO_LOG:
        return log
    try:
        with _opened(one) as (path, pieces):
            _read_events(one, path, pieces, log, redaction, writer)
    except UnknownFormat:
        log.format = NO_LOG
    return log


def _read_events(
    one: Input, path: Path, pieces: _Pieces, log: Read, redaction: Redaction | None, writer: PartWriter
) -> None:
    format = _format_of(one, path, pieces)
    log.format = format.name
    log.beside = _companions_of(one, format, path)
    redactor = None
    if redaction is not None:
        # A secret may stand in a text before the name that gives it away: everything is looked at first.
        redactor = Redactor(redaction.secrets, home=redaction.home, user=redaction.user)
        for event in _events(format, path, pieces.again()):
            redactor.learn(event)
    builder = TableBuilder(str(path))
    measured = _Measured(pieces.again())
    for event in _events(format, path, measured):
        builder.take(event if redactor is None else redactor.value(event))
    writer.add(one.address, builder.rows(), one.labels)
    log.bytes, log.tail, log.digest = measured.length, measured.tail(), measured.digest()
    log.is_printed = looks_printed(format.name, records_in(path, measured.head))
    log.events, log.unreadable, log.unknown = builder.events, builder.unreadable, builder.unknown


def _events(format: LogFormat, path: Path, pieces: Iterable[bytes]) -> Iterator[AnyEvent]:
    reader = format.reader(plain_name(path))
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.rest()


@contextmanager
def _opened(one: Input) -> Iterator[tuple[Path, _Pieces]]:
    """A log, with the path that its reader is given."""
    if not one.root:
        yield Path(one.name), _Pieces(one.address, lambda: _pieces_of_file(one.name))
        return
    place = place_of(one.root)
    with ScratchFolder() as folder:
        copies = Copies(place, folder)
        if one.beside:
            copies.fetch(one.beside)
        yield copies.path(one.name), _Pieces(one.address, lambda: place.pieces(one.name, one.etag), copies)


def _pieces_of_file(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            yield data


class _Pieces:
    """What a log holds, from its beginning as often as it is asked for; what was looked at is not read twice."""

    def __init__(self, name: str, begin: Callable[[], Iterator[bytes]], copies: Copies | None = None) -> None:
        self._name, self._begin, self._copies = name, begin, copies
        self._begun: Iterator[bytes] | None = None

    def recognised(self, path: Path) -> LogFormat:
        format, self._begun = recognised(path, self.again())
        if self._copies is not None:
            self._copies.fetch_related(format, path, lambda: contents(self._name, self._begin()))
        return format

    def again(self) -> Iterator[bytes]:
        begun, self._begun = self._begun, None
        return begun if begun is not None else contents(self._name, self._begin())


def _format_of(one: Input, path: Path, pieces: _Pieces) -> LogFormat:
    if one.root:
        return pieces.recognised(path)
    if one.format is None or one.format == UNKNOWN:
        return recognise(path)[0]
    format: LogFormat = FORMATS[one.format]
    return format


def _companions_of(one: Input, format: LogFormat, path: Path) -> str:
    """What stands for the files that are read with a log: the same for its copy on another machine."""
    if not format.may_have_companions(one.name):
        return ""
    beside = [(other.name, other.stat().st_size) for other in format.companions(path) if other.is_file()]
    return digest(msgspec.json.encode(sorted(beside))) if beside else ""


class _Measured:
    """Pieces as they are, and what they are together."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._hash, self._last, self.length = pieces, hashlib.blake2b(digest_size=16), b"", 0
        self.head = b""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.length += len(piece)
            self._hash.update(piece)
            if len(self.head) < _HEAD:
                self.head += piece[: _HEAD - len(self.head)]
            self._last = (self._last + piece)[-_TAIL:]
            yield piece

    def tail(self) -> str:
        # As in the index: different databases often end with the same page.
        return self.digest() if self.head.startswith(SQLITE) else digest(self._last)

    def digest(self) -> str:
        return self._hash.hexdigest()
