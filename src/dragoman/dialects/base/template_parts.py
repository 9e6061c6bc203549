"""What a wording of a result is made of: kinds of fields, texts of several lines, optional parts and ways."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from dragoman.model import operations as op, outcomes as out

from .default_words import as_called, unnumbered
from .sentences import numbered as number_lines

# ── kinds of fields ──────────────────────────────────────────────────────────


class Kind(msgspec.Struct, frozen=True):
    """How one value is written and read. `free`: any text without a newline, which ends where the next text begins."""

    pattern: str
    read: Callable[[str], Any] | None = None
    write: Callable[..., str | None] | None = None
    free: bool = False
    with_call: bool = False
    """Whether `write` gets the operation before the value."""
    writes_none: bool = False
    compares: bool = False
    counts: str | None = None
    """The field whose items are counted."""
    fixed: str | Callable[[Any], str] | None = None
    """What is written where the outcome has nothing to say; a function gets the operation."""


INT: Final = Kind("-?[0-9]++", int, str)
NOT_ZERO: Final = Kind("-?[0-9]++", int, lambda number: str(number) if number else None)
"""For an exit code that is given only of a command that failed."""
LINE: Final = Kind(r"[^\n]*", free=True)
ASKED: Final = Kind("", compares=True)
"""For `{asked.x}` at the beginning of a result: the very value of the call, of any lines, and no other."""
PATH: Final = Kind(r"[^\n]*", write=as_called, free=True, with_call=True)
"""The path of a file that was worked on, written as the call names it."""


def choice(words: Mapping[str, Any] | Iterable[str]) -> Kind:
    """One of a few words, each with the value it means; of several for one value the first is written."""
    values = words if isinstance(words, Mapping) else {word: word for word in words}
    written: dict[Any, str] = {}
    for word, value in values.items():
        written.setdefault(value, word)
    longest_first = sorted(values, key=len, reverse=True)
    return Kind(f"(?:{'|'.join(map(re.escape, longest_first))})", values.__getitem__, written.get)


def or_none(kind: Kind, word: str, also: Sequence[str] = ()) -> Kind:
    """A kind with a word for `None`; `also` are others that are read as `None`."""
    nothing = (word, *also)
    read, write = kind.read or str, kind.write or str

    def written(value: Any) -> str | None:
        text = word if value is None else write(value)
        return None if value is not None and text in nothing else text

    return Kind(
        f"(?:{'|'.join(map(re.escape, nothing))}|{kind.pattern})",
        lambda text: None if text in nothing else read(text),
        written,
        free=kind.free,
        writes_none=True,
    )


def count_of(field: str) -> Kind:
    """How many items a field has. It is written, and not relied on when a result is read."""
    return Kind("[0-9]++", counts=field)


def without(characters: str) -> Kind:
    """A text of one line that has none of these characters, and so needs nothing to end it."""
    none_of = frozenset(characters + "\n")

    def write(text: str) -> str | None:
        return text if text and none_of.isdisjoint(text) else None

    return Kind(f"[^{re.escape(characters)}\\n]++", write=write)


def skipped(written: str | Callable[[Any], str], pattern: str | None = None) -> Kind:
    """Words of the client that say nothing of the outcome: written so, or as the function of the operation gives them;
    read whatever they are, or as the pattern has it."""
    return Kind(r"[^\n]*" if pattern is None else f"(?:{pattern})", fixed=written, free=pattern is None)


# ── the text between head and tail ───────────────────────────────────────────


class Body(msgspec.Struct, frozen=True):
    """The field that may go over several lines; see `body`, `lines`, `numbered` and `inside`."""

    read: Callable[[str, Any], Any]
    """The text and the operation → the value, or `None` where it does not match."""
    write: Callable[[Any, Any], str | None]
    """The value and the operation → the text, or `None` where it has no form."""
    loss: str | None = None
    fields: tuple[str, ...] = ()
    """Several fields at once: the value is a tuple of them."""
    whole: bool = False
    """The value is an outcome of its own, to which the other fields are added."""
    takes_all: bool = False
    """Whether it matches any text."""
    as_it_is: bool = False
    """Whether reading gives the very text."""


def body(empty: str | None = None, *, trim: bool = False, some: bool = False, or_nothing: bool = False) -> Body:
    """Text of any lines. `empty`: the word for nothing. `trim`: newlines at its end are not written, which is a loss.

    `some`: only a text that is not empty is written by this template. `or_nothing`: `None` is written as no text.
    """

    def write(text: str | None, _asked: op.Operation) -> str | None:
        if text is None:
            return "" if or_nothing else None
        shown = text.rstrip("\n") if trim else text
        if not shown:
            return None if some else empty or ""
        return shown

    def read(text: str, _asked: op.Operation) -> str:
        return "" if text == empty else text

    return Body(
        read, write, "newlines at its end are cut off" if trim else None, takes_all=True, as_it_is=empty is None
    )


class Item(Protocol):
    """The template of one line."""

    struct: type[msgspec.Struct]

    @property
    def write(self) -> Callable[[Any, op.Operation], str | None]: ...

    @property
    def read(self) -> Callable[[str, op.Operation], Any]: ...

    @property
    def takes_all(self) -> bool: ...

    def written_fields(self) -> set[str]: ...


def lines(
    *items: Item, leading: bool = False, order: Callable[[Any], Any] | None = None, empty: str | None = None
) -> Body:
    """One item a line, by the first of these templates that fits; without any, the items are the lines.

    `leading`: a newline stands before each, so that there may be none. One line that matches nothing: no match at all.
    `order`: the key that the written lines are sorted by. `empty`: the words for no item.
    """

    def write_item(item: Any, asked: op.Operation) -> str | None:
        if not items:
            return None if "\n" in item else str(item)
        return next((text for one in items if (text := one.write(item, asked)) is not None), None)

    def read_item(line: str, asked: op.Operation) -> Any:
        return next((found for one in items if (found := one.read(line, asked)) is not None), None)

    def write(values: Sequence[Any], asked: op.Operation) -> str | None:
        if not values and empty is not None:
            return empty
        shown = [write_item(item, asked) for item in (sorted(values, key=order) if order else values)]
        if None in shown or not (shown or leading):
            return None
        return "".join(f"\n{line}" for line in shown) if leading else "\n".join(typing.cast("list[str]", shown))

    def read(text: str, asked: op.Operation) -> tuple[Any, ...] | None:
        if text == empty:
            return ()
        if leading:
            if text[:1] not in ("", "\n"):
                return None
            found = text.split("\n")[1:]
        else:
            found = text.split("\n")
        if not items:
            return tuple(found)
        read_items = [read_item(line, asked) for line in found]
        return None if None in read_items else tuple(read_items)

    takes_all = not items or any(one.takes_all for one in items)
    lost = [name for one in items for name in one.struct.__struct_fields__ if name not in one.written_fields()]
    loss = "the order of the lines is the tool's" if order else None
    loss = loss or (f"of each item {', '.join(dict.fromkeys(lost))} may be lost" if lost else None)
    return Body(read, write, loss, takes_all=takes_all)


def numbered(mark: str, *, width: int | None = 0, formerly: Sequence[str] = ()) -> Body:
    """Lines with their numbers: `first_line` and `text` at once. A number out of order: no match.

    `width` is that of the numbers; `None`: that of the last one.
    """
    all_marks = (mark, *formerly)
    marks = f"(?:{'|'.join(map(re.escape, all_marks))})"
    alike = any(one is not other and one.startswith(other) for one in all_marks for other in all_marks)
    plain = () if alike else all_marks

    def write(value: tuple[int, str], _asked: op.Operation) -> str:
        first, text = value
        columns = len(str(first + text.count("\n"))) if width is None else width
        return number_lines(out.FileOutcome("", text, first), mark, columns)

    return Body(lambda text, _asked: unnumbered(text, marks, plain), write, fields=("first_line", "text"))


# ── parts ────────────────────────────────────────────────────────────────────


class _Any:
    def __repr__(self) -> str:
        return "ANY"


ANY: Final = _Any()
"""In place of a constant: this way is written whatever the field is, and does not say it."""


class _Called:
    def __repr__(self) -> str:
        return "CALLED"


CALLED: Final = _Called()
"""In place of a constant: the result does not say the field, its call does."""


class Reads(msgspec.Struct, frozen=True):
    """In place of a constant: the field is not written whatever it is, and read as this value."""

    value: Any


class Maybe(msgspec.Struct, frozen=True):
    """An optional part; see `maybe`."""

    parts: tuple[Part, ...]
    absent: dict[str, Any]
    written: bool


class Way(msgspec.Struct, frozen=True):
    """One of several forms; see `way`."""

    parts: tuple[Part, ...]
    facts: dict[str, Any]


class Either(msgspec.Struct, frozen=True):
    """Several forms; see `either`."""

    ways: tuple[Way, ...]


Part = str | Maybe | Either


def maybe(*parts: Part, written: bool = True, **absent: Any) -> Maybe:
    """A part that is there unless its field is `absent` (`None` if not given).

    A part without a hole says a flag: `maybe(" (cut)", truncated=False)`. `written=False`: read, never written.
    """
    return Maybe(parts, absent, written)


def way(*parts: Part, **facts: Any) -> Way:
    """A form with what it implies: `way("timed out", timed_out=True)`; `when_x=…` is a condition of writing alone."""
    return Way(parts, facts)


def either(*ways: Way) -> Either:
    """The first way whose constants and fields fit is written; the one that matched is read."""
    return Either(ways)


class Hole(msgspec.Struct, frozen=True):
    """A field in a text."""

    field: str
    kind: Kind | Body


class OptionalPart(msgspec.Struct, frozen=True):
    nodes: tuple[Any, ...]
    absent: dict[str, Any]
    written: bool


class OneWay(msgspec.Struct, frozen=True):
    nodes: tuple[Any, ...]
    facts: dict[str, Any]


class SeveralWays(msgspec.Struct, frozen=True):
    ways: tuple[OneWay, ...]


def holes_in(nodes: Iterable[Any], *, written: bool = False) -> Iterator[Hole]:
    for node in nodes:
        if isinstance(node, Hole):
            yield node
        elif isinstance(node, OptionalPart):
            if node.written or not written:
                yield from holes_in(node.nodes, written=written)
        elif isinstance(node, SeveralWays):
            for one in node.ways:
                yield from holes_in(one.nodes, written=written)


def facts_in(nodes: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for node in nodes:
        if isinstance(node, OptionalPart):
            if node.written:
                yield node.absent
            yield from facts_in(node.nodes)
        elif isinstance(node, SeveralWays):
            for one in node.ways:
                yield one.facts
                yield from facts_in(one.nodes)


def is_fact(name: str, fact: Any) -> bool:
    """Whether a keyword fixes its field: not a condition of writing alone, nor a field that is left open."""
    return fact is not ANY and not isinstance(fact, Reads) and not name.startswith("when_")


def implied_by(facts: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[str]:
    for name, fact in facts.items():
        if is_fact(name, fact) and fact is not CALLED and fact != defaults.get(name):
            yield name


def fields_of(hole: Hole) -> tuple[str, ...]:
    return hole.kind.fields if isinstance(hole.kind, Body) and hole.kind.fields else (hole.field,)
