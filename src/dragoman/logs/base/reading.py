"""Any log file → events: the format is recognised by content, then reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from dragoman.errors import LogError
from dragoman.model import AnyEvent
from dragoman.registry import FORMATS

from .compressed import open_log, plain_name
from .format import LogFormat, Sample, sample_of
from .openings import format_by_opening

_PIECE = 1 << 17


class UnknownFormat(LogError):
    """A file that is in no known format."""


def recognise(path: Path | str) -> tuple[LogFormat, float]:
    """The format with the highest confidence for a file, and that confidence."""
    # A format of a plugin may be surer than ours of a file that begins as ours do.
    opened = format_by_opening(path) if len(FORMATS) == len(FORMATS.built_in) else None
    return (FORMATS[opened[0]], opened[1]) if opened is not None else recognise_sample(sample_of(Path(path)))


def recognise_sample(sample: Sample) -> tuple[LogFormat, float]:
    """The same for a file of which the beginning is known."""
    sure = _confidences(sample)
    name = max(sure, default="", key=lambda one: sure[one])
    confidence = sure.get(name, 0.0)
    if confidence <= 0:
        known = ", ".join(FORMATS)
        raise UnknownFormat(
            f"{sample.path} is in no format that is known here ({known}); name one with --format if it is"
        )
    return FORMATS[name], confidence


def confidences(path: Path | str) -> dict[str, float]:
    """How sure each format is, from 0 to 1, that a file is in it."""
    return _confidences(sample_of(Path(path)))


def _confidences(sample: Sample) -> dict[str, float]:
    return {name: _confidence(format, sample) for name, format in FORMATS.working()}


def _confidence(format: LogFormat, sample: Sample) -> float:
    """How sure a format is; one that stumbles over what a file holds does not know it."""
    try:
        return format.recognise(sample)
    except Exception:  # noqa: BLE001 - a plugin's format may raise anything, and costs the others nothing
        return 0.0


def read(path: Path | str, format: str | None = None) -> Iterator[AnyEvent]:
    """The events of one log file, in the order of its records."""
    return chain.from_iterable(_pieces(Path(path), format))


def _pieces(path: Path, format: str | None) -> Iterator[Iterable[AnyEvent]]:
    """The same, some at a time: this goes on once for a piece of the file, not once for an event."""
    chosen = FORMATS[format] if format is not None else recognise(path)[0]
    reader = chosen.reader(plain_name(path))
    try:
        with open_log(path) as file:
            while data := file.read(_PIECE):
                yield reader.feed(data)
    except OSError as error:
        raise LogError(f"cannot read {path}: {error.strerror}") from error
    yield reader.rest()
