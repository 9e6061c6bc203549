"""A memory of bounded size: a dictionary that forgets its oldest entries."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Known = TypeVar("Known")


def remember(known: dict[Key, Known], key: Key, value: Known, most: int) -> None:
    """Adds an entry; the oldest is forgotten when there would be more than `most`. Threads may share the memory."""
    while len(known) >= most:
        try:
            del known[next(iter(known))]
        except (StopIteration, KeyError, RuntimeError):  # another thread changed it meanwhile
            continue
    known[key] = value
