"""A failing input made smaller, as far as that is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any


def smaller(value: Any, fails: Callable[[Any], bool], seconds: float = 10.0) -> Any:
    """The smallest input found in this time that still fails."""
    end = time.process_time() + seconds
    found = True
    while found and time.process_time() < end:
        found = False
        for candidate in simpler(value):
            if time.process_time() >= end:
                break
            if fails(candidate):
                value, found = candidate, True
                break
    return value


def simpler(value: Any) -> Iterator[Any]:
    """Values that are simpler in one respect, the boldest first."""
    if isinstance(value, tuple):  # parts of an input: each stays
        for index, part in enumerate(value):
            yield from ((*value[:index], other, *value[index + 1 :]) for other in simpler(part))
    elif isinstance(value, str | bytes | list):
        size = len(value)
        while size:
            yield from (value[:begin] + value[begin + size :] for begin in range(0, len(value), size))
            size //= 2
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from ([*value[:index], other, *value[index + 1 :]] for other in simpler(item))
        elif value.isascii() is False:
            yield value[:0].join(one if one.isascii() else _plain(one) for one in _characters(value))
    elif isinstance(value, dict):
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            yield from ({**value, key: other} for other in simpler(item))
            if isinstance(item, dict | list):
                yield {**value, key: None}
    elif isinstance(value, float):
        yield 0
    elif isinstance(value, int) and abs(value) > 1:
        yield 0
        yield 1


def _characters(value: Any) -> list[Any]:
    return [value[index : index + 1] for index in range(len(value))]


def _plain(one: Any) -> Any:
    return "a" if isinstance(one, str) else b"a"
