"""What a log format is: how its files are recognised and found, and how their bytes become events.

Rules: a format is known by content, not by path; bytes may come in any pieces, and the events are the same; every
record of a file ends in an event or in `Unreadable`; nothing here raises over a bad line.
"""

from __future__ import annotations

import abc
import mmap
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

import msgspec

from dragoman.config.files import home_folder
from dragoman.errors import LogError
from dragoman.model import AnyEvent, Source
from dragoman.model.json_text import converted

from .compressed import open_log
from .listing import entries_below

if TYPE_CHECKING:
    from msgspec.structs import FieldInfo

    from .normalise import Normaliser
    from .writing import SessionWriter


class Places(msgspec.Struct, frozen=True):
    """Where to look for a user's files: the home folder, the environment variables, the operating system."""

    home: Path
    environment: Mapping[str, str] = {}
    system: str = sys.platform

    @classmethod
    def here(cls) -> Places:
        """The home folder and the environment of this process."""
        return cls(home_folder(), dict(os.environ))


class Sample(msgspec.Struct, frozen=True):
    """The beginning of a file, from which its format is recognised."""

    path: Path
    head: bytes
    records: tuple[Any, ...]
    """The JSON values of its first lines, those that are any."""
    document: Any = None
    """The file as one JSON value, where it is that and not too long."""


class Storable:
    """A class of ours that holds data, does nothing when it is made, and may be stored beside a reader."""


class Gathered(Storable):
    """The bytes of a file that is read as a whole, as they come."""

    largest: ClassVar[int] = 512 << 20
    """Bytes that such a file may have. Reading it takes several times that in memory."""

    def __init__(self, path: Path | str) -> None:
        self._path, self._pieces, self._length = str(path), [b""], 0

    def append(self, data: bytes) -> None:
        """Keeps a piece; `LogError` when the file is too large."""
        self._length += len(data)
        if self._length > self.largest:
            self._pieces.clear()
            raise LogError(f"{self._path} has more than {self.largest >> 20} MiB, too much for one JSON document")
        self._pieces.append(data)

    @property
    def has_begun(self) -> bool:
        return self._length > 0

    def peek(self) -> bytes:
        """What has come so far."""
        self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def take(self) -> bytes:
        """What has come so far; nothing is kept of it."""
        data = self.peek()
        self._pieces, self._length = [b""], 0
        return data


class LogFormat(abc.ABC):
    """The format in which one client stores sessions. A new one is one file and one line in `registry.FORMATS`."""

    name: ClassVar[str]
    dialect: ClassVar[str]
    """The vocabulary its calls are in."""
    foreign_words: ClassVar[bool] = False
    """Whether its calls are in the words of whichever agent a log tells of, and not in those of one vocabulary."""
    lacks: ClassVar[str] = ""
    """What its logs do not say (results, times, tokens), in a sentence: nothing of it is made up."""
    captured: ClassVar[bool] = True
    """Whether it is known from sessions of the real client; else from public source and other people's samples."""
    written_by_field: ClassVar[tuple[str, ...] | None] = None
    """Where sessions name the program that wrote them: the field of their metadata, then words that are in the names of
    this client. A log that names another program is only like this client's: its results are kept as text."""
    unnamed_server: ClassVar[str | None] = None
    """What stands in the name of a server's tool where a log does not say which tools are a server's."""
    answers_unknown: ClassVar[bool] = True
    """Whether a call of a tool that its client does not have is answered in the log."""
    knows_free: ClassVar[bool] = False
    """Whether a cost of 0 in it means that nothing was paid; other clients log 0 for a price that they do not know."""
    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".json", ".db")
    """How the names of its files end, to look for them in any folder."""
    own_words: ClassVar[tuple[str, ...]] = ()
    """Words in what its events say that need not stand in a log, because the reader supplies them; in lower case."""
    written_by: ClassVar[str | None] = None
    """The class in `formats/parts` that writes sessions of this format, loaded when one is written."""

    @abc.abstractmethod
    def recognise(self, sample: Sample) -> float:
        """The confidence, from 0 to 1, that a file is in this format."""

    def homes(self, places: Places) -> Iterable[Path]:
        """The folders where the client keeps its logs."""
        return ()

    def files(self, home: Path) -> Iterator[Path]:
        """The log files below a folder, oldest path first."""
        for path, _ in self.entries(home):
            yield Path(path)

    below: ClassVar[str | None] = None
    """What the names of log files fit that lie at any depth below a folder."""

    def keeps(self, path: str) -> bool:
        """Whether one that fits is a log file."""
        return True

    def entries(self, home: Path) -> Iterator[tuple[Path | str, os.stat_result | None]]:
        """The same, each with what the system says of it; a format has `below`, or lists its files itself."""
        if self.below is None and type(self).files is LogFormat.files:
            return
        listed: Iterable[Path | os.DirEntry[str]] = (
            self.files(home) if self.below is None else entries_below(home, self.below)
        )
        for one in listed:
            path = one if isinstance(one, Path) else one.path
            if isinstance(path, str) and not self.keeps(path):
                continue
            try:
                status = one.stat()
            except (OSError, ValueError):
                status = None
            yield path, status

    def whole(self, path: Path) -> Path:
        """The file that is read for this one: itself, unless a client keeps a session in many files."""
        return path

    members: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The same by names alone, for places where opening each file takes long: what the name of a file fits that is
    read with another (a regular expression), and the name of that one, in which a `*` stands for any folder."""

    def related(self, path: Path) -> Iterable[Path]:
        """Files of other sessions that the reader of this one looks at; `*` fits any name. A place that fetches them
        asks again, until it has all: one that was fetched may name more."""
        return ()

    def companions(self, path: Path) -> Iterable[Path]:
        """Other files that are read together with this one: when they change, it has changed."""
        return ()

    def may_have_companions(self, name: str) -> bool:
        """Whether a file may have such; asked of every file there is."""
        return type(self).companions is not LogFormat.companions

    @abc.abstractmethod
    def reader(self, path: Path) -> LogReader:
        """A reader for one file."""

    def text_records(self, data: bytes) -> Iterable[tuple[dict[str, Any], int, int]] | None:
        """Of a log that is plain text, what drift compares: its marks as records, each with where it begins and how
        many bytes it is. `None` for a log of JSON values, which are compared as they are."""
        return None

    def another_program(self, metadata: Mapping[str, Any]) -> str | None:
        """The program that a session names as its writer, if it is not this client."""
        if self.written_by_field is None:
            return None
        field, *own = self.written_by_field
        named = metadata.get(field)
        if not isinstance(named, str) or not named:
            return None
        return None if any(word in named.lower() for word in own) else named

    def writer(self) -> SessionWriter | None:
        """Writes sessions that the client can resume; `None` if there is no writer."""
        if self.written_by is None:
            return None
        module, _, name = self.written_by.rpartition(".")
        writer: SessionWriter = getattr(import_module(f"dragoman.logs.formats.parts.{module}"), name)()
        return writer

    def usage_reader(self, path: Path) -> LogReader:
        """A reader for its tokens: it gives the same `TokensUsed` as `reader`, and need not give any other event."""
        return self.reader(path)


class LogReader(abc.ABC):
    """Reads one file, given its bytes in any pieces."""

    not_stored: ClassVar[frozenset[str]] = frozenset()
    """What it holds to spare itself work, and is not stored with it."""

    @abc.abstractmethod
    def feed(self, data: bytes) -> list[AnyEvent]:
        """The events that are complete with these bytes."""

    def close(self) -> list[AnyEvent]:
        """The events that only the end of the file completes."""
        return []

    def rest(self) -> Iterator[AnyEvent]:
        """The same, one by one: of some files all events are."""
        yield from self.close()


class WholeFileReader(LogReader):
    """Reads a file when all of it is there. A format writes `whole`, which gives the events of its bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gathered = Gathered(path)

    @abc.abstractmethod
    def whole(self, data: bytes) -> Iterator[AnyEvent]:
        """The events of the file, which may be empty."""

    def feed(self, data: bytes) -> list[AnyEvent]:
        self._gathered.append(data)
        return []

    def close(self) -> list[AnyEvent]:
        return list(self.rest())

    def rest(self) -> Iterator[AnyEvent]:
        yield from self.whole(self._gathered.take())


class EitherReader(LogReader):
    """Reads a file that has one of two forms. Its first bytes decide, and are held until there are enough of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin = b""
        self._reader: LogReader | None = None

    @abc.abstractmethod
    def choose(self, begin: bytes, *, is_whole: bool) -> LogReader | None:
        """The reader of a file that begins like this; `None` while more bytes are needed, or for an empty file."""

    def feed(self, data: bytes) -> list[AnyEvent]:
        if self._reader is not None:
            return self._reader.feed(data)
        self._begin += data
        return self._begun(is_whole=False)

    def close(self) -> list[AnyEvent]:
        events = [] if self._reader is not None else self._begun(is_whole=True)
        return events if self._reader is None else events + self._reader.close()

    def _begun(self, *, is_whole: bool) -> list[AnyEvent]:
        self._reader = self.choose(self._begin, is_whole=is_whole)
        if self._reader is None:
            return []
        begin, self._begin = self._begin, b""
        return self._reader.feed(begin)


class LinesReader(LogReader):
    """Reads a file of JSON lines. A format writes `record`, which gives the events of one line's value, or, where its
    files are long, `add_record`: the same without a generator for each line.

    A last line without its end is read at the close: a client may be writing it at this moment. A line that is longer
    than `longest_line` is `Unreadable`, and memory does not grow with it.
    """

    longest_line: ClassVar[int] = 128 << 20
    """Bytes of a record. The largest that clients write hold images and are about a tenth of this."""

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        self.path = str(path)
        self.normaliser = normaliser
        self.decode: Callable[[bytes | memoryview], Any] = _decode
        """What reads a line; where it refuses one, that is read as any JSON."""
        self._offset = 0
        self._rest: list[bytes] = []
        self._rest_length = 0
        self._told_of: tuple[str | None, str] = None, "main"
        """The session and the stream of the last event before this piece of the file."""

    def record(self, value: Any, source: Source) -> Iterable[AnyEvent]:
        """The events of one record."""
        raise NotImplementedError(f"{type(self).__name__} has neither record nor add_record")

    def add_record(self, value: Any, source: Source, events: list[AnyEvent]) -> None:
        """Adds the events of one record; where a part of it cannot be read, those before it stay."""
        events += self.record(value, source)

    def end(self) -> Iterable[AnyEvent]:
        """Events that only the end of the file completes."""
        return ()

    def feed(self, data: bytes) -> list[AnyEvent]:
        start, end = 0, data.find(b"\n")
        if end < 0:
            self._keep(data)
            return []
        events: list[AnyEvent] = []
        path, begin = self.path, self._offset
        if self._rest_length:
            self._keep(data[:end])
            length = self._rest_length + 1
            self._read_rest(Source(path, begin, length), events)
            start = end + 1
            begin += length - start
        # Lines are read where they lie: to copy each of them takes a good part of the time that decoding it does.
        view, find, decode, add = memoryview(data), data.find, self.decode, self.add_record
        while (end := find(b"\n", start)) >= 0:  # as `_read` does it, without a call for each line
            source = Source(path, begin + start, end + 1 - start)
            try:
                value = decode(view[start:end])
            except UNDECODABLE as error:
                self._read_refused(view[start:end], source, error, events)
                decode = self.decode  # a format may know by it what the lines are
            else:
                try:
                    add(value, source, events)
                except _UNEXPECTED as error:
                    self._strange(source, error, events)
            start = end + 1
        self._offset = begin + start
        if events:
            self._told_of = events[-1].session, events[-1].stream
        if start < len(data):
            self._keep(data[start:])
        return events

    def close(self) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        length = self._rest_length
        if length:
            self._read_rest(Source(self.path, self._offset, length), events)
            self._offset += length
        events += self.end()
        return events

    def _keep(self, data: bytes) -> None:
        """Keeps a piece of a line whose end has not come; of one that is too long, only its length."""
        self._rest_length += len(data)
        if self._rest_length > self.longest_line:
            self._rest.clear()
        else:
            self._rest.append(data)

    def _read_rest(self, source: Source, events: list[AnyEvent]) -> None:
        if self._rest_length > self.longest_line:
            reason = f"the record has more than {self.longest_line >> 20} MiB"
            self._unreadable(source, reason, events)
        else:
            self._read(b"".join(self._rest), source, events)
        self._rest.clear()
        self._rest_length = 0

    def _read(self, line: bytes | memoryview, source: Source, events: list[AnyEvent]) -> None:
        try:
            value = self.decode(line)
        except UNDECODABLE as error:
            self._read_refused(line, source, error, events)
        else:
            self._add(value, source, events)

    def _read_refused(self, line: bytes | memoryview, source: Source, error: Exception, events: list[AnyEvent]) -> None:
        """A line that is no record of the usual shape, or not even JSON."""
        line = bytes(line)
        if not line.strip():
            return  # an empty line says nothing, and its place is known from its neighbours
        value = _decoded_otherwise(line, error)
        if value is _NOTHING:
            self._read_joined(line, source, str(error), events)
        else:
            self._add(value, source, events)

    def _add(self, value: Any, source: Source, events: list[AnyEvent]) -> None:
        try:
            self.add_record(value, source, events)
        except _UNEXPECTED as error:
            self._strange(source, error, events)

    def _read_joined(self, line: bytes, source: Source, reason: str, events: list[AnyEvent]) -> None:
        """Records between which no end of a line was written, as far as they are whole; what is left is unreadable."""
        start = 0
        for length in _lengths_of_objects(line):
            if length == len(line):
                break  # it is one, and yet cannot be read
            whole = length if start + length < len(line) else source.length - start
            self._read(line[start : start + length], Source(source.file, source.offset + start, whole), events)
            start += length
        if start < len(line):
            rest = Source(source.file, source.offset + start, source.length - start)
            self._unreadable(rest, reason, events)

    def _strange(self, source: Source, error: Exception, events: list[AnyEvent]) -> None:
        """A record of a known kind in a shape nobody has seen: kept, counted, and it costs nothing else."""
        self._unreadable(source, f"{type(error).__name__}: {error}", events)

    def _unreadable(self, source: Source, reason: str, events: list[AnyEvent]) -> None:
        told_of = (events[-1].session, events[-1].stream) if events else self._told_of
        events.append(self.normaliser.unreadable(source, reason, *told_of))


def is_of_lines(reader: LogReader) -> bool:
    """Whether a log's records are its lines, so that it only ever grows; a document is written anew as a whole."""
    return type(reader).feed is LinesReader.feed


_decode = msgspec.json.Decoder().decode
_NOTHING: Any = object()
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_UNEXPECTED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
Shape = TypeVar("Shape", bound=msgspec.Struct)


@cache
def _fields(shape: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """The fields of a shape: looking them up takes a hundred times as long as decoding a record."""
    return msgspec.structs.fields(shape)


def fitted(value: dict[str, Any], shape: type[Shape]) -> Shape:
    """A record in the shape its kind usually has; what is of another type than there counts as not said."""
    try:
        return converted(value, shape)
    except msgspec.ValidationError:
        return _fitted_in_part(value, shape)


def _fitted_in_part(value: dict[str, Any], shape: type[Shape]) -> Shape:
    said: dict[str, Any] = {}
    for field in _fields(shape):
        if field.encode_name not in value:
            continue
        given = value[field.encode_name]
        inner = [one for one in get_args(field.type) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        if inner and isinstance(given, dict):
            said[field.name] = _fitted_in_part(given, inner[0])
            continue
        try:
            said[field.name] = converted(given, field.type)
        except msgspec.ValidationError:
            continue
    return shape(**said)


def decoded(raw: bytes) -> Any:
    """What a part of a line says that was left as it is written; of what cannot be read, nothing."""
    try:
        return _decode(raw)
    except UNDECODABLE:
        value = _decoded_leniently(raw)
        return None if value is _NOTHING else value


def _lengths_of_objects(line: bytes) -> Iterator[int]:
    """How many bytes each of the JSON objects has that stand end to end in a line."""
    import json

    text, at = line.decode("utf-8", "surrogateescape"), 0
    while text.startswith("{", at):
        try:
            _, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield len(text[at:end].encode("utf-8", "surrogateescape"))
        at = end


def _decoded_otherwise(line: bytes, error: Exception) -> Any:
    """A line that was refused, as any JSON."""
    if isinstance(error, msgspec.ValidationError):  # it is JSON, only in another shape
        with suppress(*UNDECODABLE):
            return _decode(line)
    return _decoded_leniently(line)


def _decoded_leniently(line: bytes) -> Any:
    """JSON that is well formed but for half surrogates, a byte order mark, or zeros a crash left before or after it."""
    import json

    try:
        return json.loads(line.strip(b"\x00").decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError):
        return _NOTHING


_MARK = b"\xef\xbb\xbf"
"""The byte order mark some editors put before a text; it is no part of it."""
_LONGEST_FIRST_LINE = 128 << 20
"""Bytes of a first line that are looked at, where it is longer than a sample."""


def is_pipe(path: Path) -> bool:
    """Whether it would keep a reader waiting: a pipe, a socket, a device."""
    mode = os.stat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def sample_of(path: Path, size: int = 65_536) -> Sample:
    """The beginning of a file."""
    try:
        if is_pipe(path):  # its beginning would be gone then, or never come
            raise LogError(f"{path} is no file but a pipe or the like; save what it gives to a file first")
        with open_log(path) as file:
            head = file.read(size)
            whole = len(head) < size
            if not whole and b"\n" not in head:
                head += file.readline(_LONGEST_FIRST_LINE)
    except OSError as error:
        raise LogError(f"cannot open {path}: {error.strerror}") from error
    return sampled(path, head, None if whole else lambda: _decoded_in_place(path))


def sampled(path: Path, head: bytes, document: Callable[[], Any] | None = None) -> Sample:
    """The sample of a file that begins so; `document` gives it as one JSON value where `head` is not all of it."""
    head = head.removeprefix(_MARK)
    records: list[Any] = []
    first_is_whole = False
    for number, line in enumerate(head.lstrip().split(b"\n", 50)[:50]):
        try:
            records.append(_decode(line))
            first_is_whole = first_is_whole or number == 0
        except UNDECODABLE:
            continue
    value = None
    # A value that ends with the first line and is followed by others is no document; lines within one may be values.
    are_lines = first_is_whole and len(records) > 1
    if not are_lines and head.lstrip()[:1] in (b"{", b"["):
        try:
            value = _decode(head) if document is None else document()
        except (*UNDECODABLE, OSError):
            value = None
    return Sample(path, head, tuple(records), value)


def _decoded_in_place(path: Path) -> Any:
    """A file as one JSON value; of a file of lines, however long, only the first is looked at."""
    if path.stat().st_size > Gathered.largest:
        return None
    with open_log(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return msgspec.json.decode(memoryview(data)[len(_MARK) :] if data[: len(_MARK)] == _MARK else data)
