"""Conversions between a native value and the operation's: units, counting, words for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Conversion(msgspec.Struct, frozen=True):
    """Two exact inverses between a native value and the operation's: units, an empty text for "not said"."""

    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    counts_from: str | None = None
    """The field of the operation at which a count begins: the native value is a number of lines, ours the last line."""


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is not None and not abs(seconds) < 1e15:
        raise ValueError(f"{seconds} seconds are no time to wait")
    return None if seconds is None else round(seconds * 1000)


def _seconds(milliseconds: int | None) -> float | None:
    if milliseconds is None or milliseconds % 1000 == 0:
        return None if milliseconds is None else milliseconds // 1000
    seconds = milliseconds / 1000
    if _milliseconds(seconds) != milliseconds:
        raise ValueError(f"{milliseconds} milliseconds are more than seconds can say exactly")
    return seconds


SECONDS = Conversion(to=_milliseconds, back=_seconds)
"""Native seconds, our milliseconds."""

EMPTY_IS_UNSAID = Conversion(to=lambda text: text or None, back=lambda text: text or "")
"""A native text that is required though nothing may be meant by it."""


def _number(text: str | None) -> int | None:
    if text is not None and str(int(text)) != text:
        raise ValueError(f"{text!r} is not a plain number")
    return None if text is None else int(text)


TEXT_OF_NUMBER = Conversion(to=lambda number: None if number is None else str(number), back=_number)
"""A native number where we hold a name; a name that is no number cannot be said."""


def whole_number(number: float | None) -> int | None:
    """A native number as the whole one it must be."""
    if number is not None and number != int(number):
        raise ValueError(f"{number} is no whole number")
    return None if number is None else int(number)


def sayable_number(number: int | None) -> int | None:
    """A whole number where any may be said: beyond 2**53 not every one can be."""
    if number is not None and int(float(number)) != number:
        raise ValueError(f"{number} is more than such a number can say exactly")
    return number


WHOLE = Conversion(to=whole_number, back=sayable_number)
"""A native number where only whole ones have a meaning."""

TUPLE = Conversion(to=lambda items: tuple(items or ()), back=lambda items: list(items) or None)
"""A native optional list where we hold a tuple."""


def unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same for a value that may not be said."""
    return lambda value: None if value is None else convert(value)


SAME = Conversion(to=lambda value: value, back=lambda value: value)

FROM_ZERO = Conversion(
    to=lambda number: None if number is None else number + 1, back=lambda number: None if number is None else number - 1
)
"""A native number that counts from 0 where ours counts from 1."""

LINE_COUNT = Conversion(SAME.to, SAME.back, counts_from="first_line")
"""A native number of lines where we hold the last line."""

INVERTED = Conversion(unless_none(lambda no: not no), unless_none(lambda yes: not yes))
"""A native flag that says the opposite of ours."""


FLAG = Conversion(to=bool, back=lambda flag: flag or None)
"""A native flag that may be left out, where ours is then off."""


def _whole_seconds(milliseconds: int) -> int:
    if milliseconds % 1000:
        raise ValueError(f"{milliseconds} milliseconds are no whole seconds")
    return milliseconds // 1000


WHOLE_SECONDS = Conversion(unless_none(lambda seconds: seconds * 1000), unless_none(_whole_seconds))
"""Native whole seconds, our milliseconds."""


def whole(conversion: Conversion) -> Conversion:
    """The same for a native parameter that takes any number, of which only whole ones mean something."""
    return Conversion(
        lambda number: conversion.to(whole_number(number)),
        lambda ours: sayable_number(conversion.back(ours)),
        conversion.counts_from,
    )


def among(*values: str) -> Conversion:
    """A native choice where we hold any text: what is not among these values is not said."""
    return Conversion(SAME.to, lambda value: value if value in values else None)


def or_word(word: str) -> Conversion:
    """A native text that is required: this word where we have none."""
    return Conversion(SAME.to, lambda value: value or word)


def _some(value: Any) -> Any:
    if not value:
        raise ValueError("an empty value means something else, or nothing")
    return value


SOME = Conversion(SAME.to, _some)
"""A native text or list that is never written empty."""
