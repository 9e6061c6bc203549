"""Our own log: one event per line, as JSON, in the very types of the model. What is read equals what was written.

The first line names the format. A line is written whole or not at all: a process that is killed leaves a log that can
be read up to its last event, and where the disk is full the half line is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec

from dragoman.config.files import home_folder, system_folder
from dragoman.errors import LogError
from dragoman.logs.base.format import LinesReader, LogFormat, LogReader, Places, Sample
from dragoman.logs.base.line_file import LineFile
from dragoman.logs.base.listing import files_in
from dragoman.logs.base.normalise import Normaliser
from dragoman.model import AnyEvent, Event, Source

COPIES: Final = "copied-runs"
"""The folder of copies of records that are kept in databases, one folder for each database."""
HEADER: Final = b'{"format":"dragoman","version":1}\n'


class Recorder:
    """Writes events to a file as they happen; given to a run as its `emit`. Safe from several threads."""

    def __init__(
        self,
        path: Path | str,
        *,
        advice: str = "free some space, or record to another place",
        advice_later: str | None = None,
        fsync: bool = False,
    ) -> None:
        """`advice` ends the `StorageError` of a file that cannot be written; `advice_later` once it was begun.

        With `fsync`, an event is on the disk before the call returns, and a power cut loses none.
        """
        self._lines = LineFile(path, first=HEADER, advice=advice, fsync=fsync)
        self._lines.advice = advice if advice_later is None else advice_later
        self.path = self._lines.path

    def __call__(self, event: AnyEvent) -> None:
        """Adds an event; `StorageError` when it cannot be written, from then on for every event."""
        self._lines.add(event_line(event) + b"\n")

    def all(self, events: Iterable[AnyEvent]) -> None:
        """Adds events by one write; `StorageError`, with none of them added, when they cannot be written."""
        self._lines.add(b"".join([event_line(event) + b"\n" for event in events]))

    def close(self) -> None:
        """Closes the file."""
        self._lines.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def event_line(event: AnyEvent) -> bytes:
    """An event as the JSON of one line, without its end."""
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        import json

        # A half surrogate, which a model or a program may well print, has no UTF-8; JSON has an escape for it.
        plain = msgspec.to_builtins(event)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


@cache
def _decoder() -> msgspec.json.Decoder[AnyEvent]:
    """Made when first needed: a reader of every event there is takes long to make."""
    return msgspec.json.Decoder(AnyEvent)


class Dragoman(LogFormat):
    """Our own recordings as one more log format; see the module."""

    name = "dragoman"
    dialect = "plain"
    foreign_words = True
    knows_free = True

    def recognise(self, sample: Sample) -> float:
        return 1.0 if sample.head.startswith(b'{"format":"dragoman"') else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        data = Path(places.environment.get("DRAGOMAN_DATA_DIR") or _data_folder(places))
        yield data / "runs"
        yield data / "gateway" / "sessions"
        yield data / "decisions"
        yield from sorted((data / COPIES).glob("*"))

    def files(self, home: Path) -> Iterator[Path]:
        yield from files_in(home, "*.jsonl")

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


def _data_folder(places: Places) -> Path:
    """Where we keep what is this user's; of another home, the place that is usual there."""
    if places.home == home_folder():
        return system_folder("user_data_path")
    usual = {"darwin": "Library/Application Support", "win32": "AppData/Local"}.get(places.system, ".local/share")
    return places.home / usual / "dragoman"


class _Reader(LinesReader):
    """Lines are events already: they are given back as they were written, with the bytes they came from."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser("plain", "dragoman", path.stem))
        self.decode = _decoder().decode

    def record(self, value: Any, source: Source) -> Iterator[AnyEvent]:
        if not isinstance(value, Event):
            if not source.offset and isinstance(value, dict) and value.get("format") == "dragoman":
                return
            value = _converted(value)
        if value is None:
            yield self.normaliser.unreadable(source, "it is no event that is known here")
            return
        event: AnyEvent = msgspec.structs.replace(value, source=source)
        yield event


def _converted(value: Any) -> AnyEvent | None:
    """An event that had to be read leniently: its words hold half surrogates."""
    try:
        return msgspec.convert(value, AnyEvent)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        return None


def read_events(path: Path | str) -> Iterator[AnyEvent]:
    """The events of a recording of ours, each with the bytes it came from; a line that is none is `Unreadable`."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogError(f"cannot open {path}: {error.strerror}") from error
    if not data.startswith(b'{"format":"dragoman"'):
        raise LogError(f"{path} is no recording of dragoman: its first line does not say so")
    reader = _Reader(path)
    yield from reader.feed(data)
    yield from reader.close()


def events_of_lines(lines: Iterable[bytes], run: str) -> Iterator[AnyEvent]:
    """The events of a run's lines that are kept elsewhere than in a file; a line that is none is `Unreadable`."""
    reader = _Reader(Path(run))
    for line in lines:
        for event in reader.feed(line + b"\n"):
            yield msgspec.structs.replace(event, source=None)
    yield from reader.close()


FORMAT = Dragoman()
