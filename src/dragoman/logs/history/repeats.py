"""Which exchanges with a model were told of before, going through them in the order of their files."""

from __future__ import annotations

from collections.abc import Mapping

from .rows import UsageRow


class Repeats:
    """Which exchanges were told before: by their names; else, in a fork, those it begins with as the session it left.

    Exchanges come in the order of their files, the one that was left before its fork.
    """

    def __init__(self, forks: Mapping[str, str]) -> None:
        self._forks = forks
        """Session → the one it branched off."""
        self._seen: dict[str, tuple[str, str, str]] = {}
        self._told: dict[str, list[tuple[int | str | None, ...]]] = {}
        """Session → the tokens of its exchanges that have no name."""
        self._alone: set[str] = set()
        """Forks that went on by themselves."""

    def has(self, row: UsageRow) -> bool:
        """Whether another session or file told of this exchange before; each is asked about once."""
        if row.exchange is not None:
            told = row.file, row.session, row.stream
            return self._seen.setdefault(row.exchange, told) != told
        if row.stream != "main":
            return False
        mine = self._told.setdefault(row.session, [])
        mine.append((row.model, row.input_tokens, row.cached_read_tokens, row.output_tokens, row.tokens))
        base = self._forks.get(row.session)
        if base is None or row.session in self._alone:
            return False
        theirs = self._told.get(base, [])
        if theirs[len(mine) - 1 : len(mine)] == mine[-1:]:
            return True
        self._alone.add(row.session)
        return False
