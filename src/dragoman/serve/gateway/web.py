"""What the gateway does itself, with `--web`: searches and pages that the client's own provider would have got.

Only public addresses are reached, as in runs of dragoman. It is the one thing that is run here, and nothing of it
touches the client's machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import AnyPart, Call, Definition, ExecutedBy, Failure, TextPart, operations as op, outcomes as out
from dragoman.tools import Context, Web
from dragoman.tools.running import perform


class OwnWeb:
    """Runs operations on the web with our own tools."""

    def __init__(self, web: Web) -> None:
        self._web = web

    @property
    def operations(self) -> frozenset[type[op.Operation]]:
        """What can be done: pages can be fetched, and searches made where the settings name who does."""
        found: set[type[op.Operation]] = {op.FetchPage}
        if self._web.can_search:
            found.add(op.SearchWeb)
        return frozenset(found)

    async def outcomes(self, call: Call) -> tuple[out.Outcome, ...]:
        """What a call gave, one outcome for each of its operations."""
        if call.failure is not None or not call.operations:
            return (call.failure or Failure("failed", "the call says nothing to do"),)
        context = Context(provides={Web: self._web})
        able = self.operations
        return tuple(
            [
                await perform(one, context) if type(one) in able else Failure("failed", "this cannot be done here")
                for one in call.operations
            ]
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._web.close()


def spoken(
    operations: Iterable[type[op.Operation]], model: Dialect | None, taken: Iterable[str]
) -> Sequence[tuple[Definition, Dialect]]:
    """Tools for what is done here, in the words of the model where it has them, else in plain ones.

    None of them has a name that is `taken`.
    """
    names = set(taken)
    found: list[tuple[Definition, Dialect]] = []
    for operation in sorted(operations, key=lambda one: one.__name__):
        for dialect in (model, DIALECTS["plain"]):
            said = [] if dialect is None else [*dialect.definitions({operation}, executed_by=ExecutedBy.CLIENT)]
            if dialect is not None and len(said) == 1 and str(said[0].name) not in names:
                found.append((said[0], dialect))
                names.add(str(said[0].name))
                break
    return found


def sources(parts: Iterable[AnyPart]) -> str:
    """The pages that a model names for what it found on the web, as a list: each maker has its own form for them, which
    clients of another cannot read. Pages whose address stands in the text are not repeated. JSON is left as it is."""
    texts = [part for part in parts if isinstance(part, TextPart)]
    said = "".join(part.text for part in texts)
    if _is_json(said):
        return ""
    pages = {one.url: one.title for part in texts for one in part.citations if one.url and one.url not in said}
    lines = [f"- {url}" if title is None else f"- {title}: {url}" for url, title in pages.items()]
    return "\n".join(["\n\nSources:", *lines]) if lines else ""


def _is_json(text: str) -> bool:
    """Whether a text is what a program may read: an object or an array."""
    try:
        return isinstance(msgspec.json.decode(text), dict | list)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
