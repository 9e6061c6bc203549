"""Times by the calendar, as crontab writes them: `0 9 * * mon-fri` is nine o'clock on working days.

Rules: a day matches if its month does and, where both the day of the month and the day of the week are restricted, one
of these two. A time that a change of the clocks leaves out is as much later as the clocks were put forward; one that
comes twice counts once, unless the hour is `*`.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dragoman.errors import ConfigError

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORT: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * sun",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_LONGEST: Final = 9 * 366
"""Days without a match after which there is none: from one 29 February to the next it may be eight years."""


class _Part(NamedTuple):
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()


_PARTS: Final = (
    _Part("minute", 0, 59),
    _Part("hour", 0, 23),
    _Part("day of the month", 1, 31),
    _Part("month", 1, 12, _MONTHS),
    _Part("day of the week", 0, 7, _DAYS),
)


class Calendar:
    """Times of a zone. `text` is what it was made from: five fields, or `@daily` and the like."""

    def __init__(self, text: str, zone: str) -> None:
        self.text, self.zone = " ".join(text.lower().split()), zone
        self._zone = _zone(zone)
        fields = _SHORT.get(self.text, self.text).split()
        if len(fields) != len(_PARTS):
            known = ", ".join(_SHORT)
            raise ConfigError(
                f'"{text}" is no schedule: write minute, hour, day of the month, month and day of the week, '
                f'such as "0 9 * * mon-fri", or one of {known}'
            )
        minutes, hours, days, months, weekdays = (
            _values(text, field, part) for field, part in zip(fields, _PARTS, strict=True)
        )
        self._minutes, self._hours = sorted(minutes), sorted(hours)
        self._days, self._months, self._weekdays = days, months, {day % 7 for day in weekdays}
        self._every_hour = fields[1].startswith("*")
        self._any_day, self._any_weekday = fields[2].startswith("*"), fields[4].startswith("*")
        if self._found(0.0) is None:
            raise ConfigError(f'"{text}" is a schedule without a time: no year has such a day')

    def after(self, moment: float) -> float:
        """The first time after a moment, in seconds since 1970."""
        found = self._found(moment)
        assert found is not None  # it repeats itself, and has had a first time
        return found

    def _found(self, moment: float) -> float | None:
        day = datetime.datetime.fromtimestamp(moment, self._zone).date()
        # A time that was put off by a change of the clocks may be after midnight.
        day -= datetime.timedelta(days=1)
        for _ in range(_LONGEST):
            if self._has(day):
                times = [at for at in self._times(day) if at > moment]
                if times:
                    return min(times)
            day += datetime.timedelta(days=1)
        return None

    def _has(self, day: datetime.date) -> bool:
        by_date, by_weekday = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        fits = by_date and by_weekday if self._any_day or self._any_weekday else by_date or by_weekday
        return fits and day.month in self._months

    def _times(self, day: datetime.date) -> list[float]:
        folds = (0, 1) if self._every_hour else (0,)
        return [
            datetime.datetime(day.year, day.month, day.day, hour, minute, tzinfo=self._zone, fold=fold).timestamp()
            for hour in self._hours
            for minute in self._minutes
            for fold in folds
        ]


def _values(whole: str, field: str, part: _Part) -> set[int]:
    """The numbers that a field of a schedule stands for."""

    def number(word: str) -> int:
        if word in part.names:
            return part.names.index(word) + part.first
        if not word.isdecimal() or not part.first <= int(word) <= part.last:
            known = f", or {part.names[0]} to {part.names[-1]}" if part.names else ""
            raise ConfigError(
                f'"{whole}" is no schedule: the {part.name} is {part.first} to {part.last}{known}, not "{word}"'
            )
        return int(word)

    found: set[int] = set()
    for piece in field.split(","):
        span, slash, step = piece.partition("/")
        if slash and (not step.isdecimal() or int(step) == 0):
            raise ConfigError(f'"{whole}" is no schedule: "/{step}" in the {part.name} is no step; write */15')
        first, dash, last = span.partition("-")
        if span == "*":
            begin, end = part.first, part.last
        else:
            begin = number(first)
            end = number(last) if dash else part.last if slash else begin
        if dash and last == "sun":
            end = part.last  # a week ends with the day that it begins with
        if end < begin:
            raise ConfigError(f'"{whole}" is no schedule: in the {part.name}, {first} comes after {last}')
        found.update(range(begin, end + 1, int(step) if slash else 1))
    return found


def moment(text: str, zone: str) -> float:
    """A date and a time of day, in seconds since 1970; `zone` holds where the text names no offset."""
    where = _zone(zone)
    try:
        said = datetime.datetime.fromisoformat(text)
        return (said if said.tzinfo is not None else said.replace(tzinfo=where)).timestamp()
    except (ValueError, OverflowError) as error:
        raise ConfigError(f'"{text}" is not a time: write "2026-11-20 09:00"') from error


def _zone(name: str) -> datetime.tzinfo:
    try:  # a machine without a database of zones knows UTC all the same
        return datetime.UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f'there is no time zone "{name}"; write one such as Europe/Berlin, or UTC') from error


def zone_here() -> str:
    """The name of this machine's time zone; UTC where it cannot be told."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named:
        _, found, named = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")
        named = named if found else ""
    try:
        return ZoneInfo(named).key if named else "UTC"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "UTC"
