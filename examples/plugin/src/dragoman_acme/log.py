"""Acme's logs: JSON lines, the first of which says `acme`, each with `who` and what was said, called or given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.logs import LinesReader, LogFormat, LogReader, Normaliser, Place, Places, Sample, moment
from dragoman.model import (
    AnyEvent,
    ModelSaid,
    NativeCall,
    NativeResult,
    SessionStarted,
    Source,
    TokensUsed,
    Usage,
    UserSaid,
)
from dragoman.model.json_values import as_integer


class Acme(LogFormat):
    """The format; see the module."""

    name = "acme"
    dialect = "acme"

    def recognise(self, sample: Sample) -> float:
        first = sample.records[0] if sample.records else None
        return 0.9 if isinstance(first, dict) and "acme" in first else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        yield places.home / ".acme" / "sessions"

    def files(self, home: Path) -> Iterator[Path]:
        yield from sorted(home.rglob("*.jsonl"))

    def reader(self, path: Path) -> LogReader:
        return _Reader(path)


class _Reader(LinesReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Normaliser("acme", "acme", path.stem))
        self._session: str | None = None

    def record(self, value: Any, source: Source) -> Iterator[AnyEvent]:
        # A value of another shape raises here, and the line becomes an `Unreadable` that costs nothing else.
        if "acme" in value:
            self._session = value["session"]
            self.normaliser.knowing(functions=value.get("tools", ()))  # what was declared in that very run
        place = Place(source, f"@{source.offset}", self._session, time=moment(value.get("at")))
        match value:
            case {"acme": _}:
                yield self.normaliser.event(SessionStarted, place, cwd=value.get("cwd"))
            case {"who": "user", "say": str(text)}:
                yield self.normaliser.event(UserSaid, place, text=text)
            case {"who": "model", "say": str(text)}:
                yield self.normaliser.event(ModelSaid, place, text=text)
            case {"who": "model", "call": str(name), "id": str(id), "with": dict(arguments)}:
                yield self.normaliser.called(place, NativeCall(id, name, arguments))
            case {"who": "tool", "id": str(id), "gave": str(text)}:
                yield self.normaliser.returned(place, NativeResult(id, text, is_error=value.get("ok") is False))
            case {"who": "meter", "in": read, "out": written}:
                usage = Usage(input_tokens=as_integer(read), output_tokens=as_integer(written))
                yield self.normaliser.event(TokensUsed, place, usage=usage)
            case _:
                yield self.normaliser.unknown(place, str(value.get("who")))


FORMAT = Acme()
