"""One wording of a result: text with `{field}` holes, checked when it is made. See `words.py` for the rules."""

from __future__ import annotations

import copy
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal

import msgspec

from dragoman.errors import DefinitionError
from dragoman.generated import function
from dragoman.model import operations as op, outcomes as out

from .template_code import ReaderSource, WriterSource
from .template_parts import (
    INT,
    LINE,
    Body,
    Hole,
    Kind,
    Maybe,
    OneWay,
    OptionalPart,
    Part,
    Reads,
    SeveralWays,
    choice,
    facts_in,
    fields_of,
    holes_in,
    implied_by,
    is_fact,
)

_HOLE = re.compile(r"\{([A-Za-z_][\w.]*)\}")
_OURS = (__name__, __name__.replace("template", "words"))


def where_declared(depth: int = 2) -> str:
    """File and line of the declaration, for an error."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _OURS:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


# ── a template ───────────────────────────────────────────────────────────────


class Template:
    """One wording of one struct: `write` gives its text or `None`, `read` the struct or `None`."""

    def __init__(
        self,
        struct: type[msgspec.Struct],
        parts: Sequence[Part],
        facts: Mapping[str, Any],
        *,
        of: type[out.Outcome] | None,
        to: Callable[[Any, Any], Any] | None,
        back: Callable[[Any, Any], Any] | None,
        unsaid: Mapping[str, str],
        asked: tuple[type[op.Operation], ...],
    ) -> None:
        self.struct = struct
        self.asked = asked
        self.outcome: type[msgspec.Struct] = of or struct
        self.to, self.back = to, back
        self.unsaid = dict(unsaid)
        self._problems: list[str] = []
        self.defaults, self.hints = _declared(struct)
        self._kinds = {name: kind for name, kind in facts.items() if isinstance(kind, Kind | Body)}
        self.facts = {name: fact for name, fact in facts.items() if name not in self._kinds}
        self.nodes = tuple(self._nodes(parts))
        self._check()
        self.denied: dict[str, Any] = {}
        if self._problems:
            shown = "".join(part if isinstance(part, str) else "…" for part in parts)
            raise DefinitionError(f"result {shown!r:.60} of {struct.__name__}", self._problems, where_declared())
        self._split()

    # What is declared.

    def _nodes(self, parts: Sequence[Part]) -> Iterator[Any]:
        text = ""
        for part in parts:
            if isinstance(part, str):
                position = 0
                for found in _HOLE.finditer(part):
                    text += part[position : found.start()]
                    position = found.end()
                    if text:
                        yield text
                    text = ""
                    yield self._hole(found[1])
                text += part[position:]
                continue
            if text:
                yield text
            text = ""
            if isinstance(part, Maybe):
                yield OptionalPart(tuple(self._nodes(part.parts)), part.absent, part.written)
            else:
                yield SeveralWays(tuple(OneWay(tuple(self._nodes(one.parts)), one.facts) for one in part.ways))
        if text:
            yield text

    def _hole(self, name: str) -> Hole:
        declared = self._kinds.get(name)
        if declared is not None:
            return Hole(name, declared)
        if name.startswith("asked."):
            return Hole(name, self._kinds.get(name.replace(".", "_"), LINE))
        if name not in self.hints:
            self._problems.append(f"{{{name}}} is no field of {self.struct.__name__}")
            return Hole(name, LINE)
        kind = _kind_of(self.hints[name])
        if kind is None:
            self._problems.append(f"{{{name}}} needs a kind: {name}=…")
        return Hole(name, kind or LINE)

    def _check(self) -> None:
        names = {name.removeprefix("when_") for name in (*self.facts, *self._kinds) if not name.startswith("_")}
        names |= {name.removeprefix("when_") for facts in facts_in(self.nodes) for name in facts}
        self._problems += [
            f"{name!r} is no field of {self.struct.__name__}"
            for name in sorted(names)
            if name not in self.hints and not name.startswith("asked_")
        ]
        held = {hole.field.replace(".", "_") for hole in holes_in(self.nodes)}
        self._problems += [f"{name!r} has a kind and is in no text" for name in self._kinds if name not in held]
        bodies = [hole for hole in holes_in(self.nodes) if isinstance(hole.kind, Body)]
        if len(bodies) > 1:
            self._problems.append("two fields go over several lines")
        if any(hole not in self.nodes for hole in bodies):
            self._problems.append("a field that goes over several lines is in an optional part: write two templates")
        self._check_neighbours(self.nodes)

    def _check_neighbours(self, nodes: Sequence[Any], before: Any = None) -> None:
        leads: list[str] = []
        for node in nodes:
            if isinstance(node, Hole) and isinstance(before, Hole):
                self._problems.append(f"{{{before.field}}} and {{{node.field}}} stand side by side")
            if isinstance(node, OptionalPart):
                if not node.nodes or not isinstance(node.nodes[0], str):
                    self._problems.append("an optional part begins with a field")
                elif node.nodes[0] in leads:
                    self._problems.append(f"two optional parts in a row begin with {node.nodes[0]!r}")
                else:
                    leads.append(node.nodes[0])
                fields = {hole.field for hole in node.nodes if isinstance(hole, Hole) and hole.field in self.hints}
                if node.written and len(fields) > 1:
                    self._problems.append(f"an optional part says {len(fields)} fields: one may be there alone")
                self._check_neighbours(node.nodes)
            else:
                leads = []
            if isinstance(node, SeveralWays):
                self._check_ways(node)
            before = node

    def _check_ways(self, node: SeveralWays) -> None:
        for index, one in enumerate(node.ways):
            self._check_neighbours(one.nodes)
            lead = one.nodes[0] if one.nodes and isinstance(one.nodes[0], str) else ""
            ends = len(one.nodes) == 1 and lead
            for other in node.ways[index + 1 :]:
                later = other.nodes[0] if other.nodes and isinstance(other.nodes[0], str) else ""
                if not ends and not lead and index < len(node.ways) - 1:
                    self._problems.append("a way without a beginning hides those after it")
                    break
                if later.startswith(lead) and (later != lead or len(one.nodes) == len(other.nodes) == 1):
                    self._problems.append(f"the way {lead!r} hides a later one, {later!r}")

    # Where the pivot is.

    def _split(self) -> None:
        at = next(
            (i for i, node in enumerate(self.nodes) if isinstance(node, Hole) and isinstance(node.kind, Body)), None
        )
        if at is None:
            free = [
                index
                for index, node in enumerate(self.nodes)
                if isinstance(node, Hole) and isinstance(node.kind, Kind) and node.kind.free
            ]
            at = free[-1] if free and self._groups(self.nodes[free[-1] + 1 :]) is not None else None
        self.head = self.nodes if at is None else self.nodes[:at]
        self.pivot: Hole | None = None if at is None else typing.cast(Hole, self.nodes[at])
        groups = [] if at is None else self._groups(self.nodes[at + 1 :])
        if groups is None:
            raise DefinitionError(
                f"result of {self.struct.__name__}",
                ["what follows the text begins with a field: say where it ends"],
                where_declared(),
            )
        self.tail = groups

    @staticmethod
    def _groups(nodes: Sequence[Any]) -> list[tuple[bool, tuple[Any, ...]]] | None:
        """The parts that are peeled from the end, whether each is optional; `None` where one begins with a field."""
        groups: list[tuple[bool, tuple[Any, ...]]] = []
        for node in nodes:
            if isinstance(node, OptionalPart):
                groups.append((True, (node,)))
            elif groups and not groups[-1][0]:
                groups[-1] = (False, (*groups[-1][1], node))
            else:
                groups.append((False, (node,)))
        fits = all(optional or isinstance(group[0], str) for optional, group in groups)
        return groups if fits else None

    @property
    def imitable(self) -> tuple[str, ...]:
        """The optional parts after the text: a text that ends like one of them is misread."""
        return tuple(str(group[0].nodes[0]) for optional, group in self.tail if optional)

    @property
    def lead(self) -> str:
        """The text it always begins with."""
        return self.nodes[0] if self.nodes and isinstance(self.nodes[0], str) else ""

    @property
    def takes_all(self) -> bool:
        """Whether it matches any text (of one line, where its pivot is a line) that begins with its lead."""
        if self.pivot is None or (isinstance(self.pivot.kind, Body) and not self.pivot.kind.takes_all):
            return False
        only_lead = all(isinstance(node, str) for node in self.head)
        return only_lead and all(optional for optional, _ in self.tail)

    def written_fields(self) -> set[str]:
        """The fields that are written, or fixed by a constant."""
        fields = {name for hole in holes_in(self.nodes, written=True) for name in fields_of(hole)}
        for facts in (self.facts, *facts_in(self.nodes)):
            fields |= {name for name, fact in facts.items() if is_fact(name, fact)}
        return {name for name in fields if name in self.hints}

    def nearly(self) -> dict[str, str]:
        """The fields that do not always survive, with the reason."""
        facts = [(name, fact) for facts in (self.facts, *facts_in(self.nodes)) for name, fact in facts.items()]
        found = {name: f"it is read as {fact.value!r}" for name, fact in facts if isinstance(fact, Reads)}
        if self.pivot is not None and isinstance(self.pivot.kind, Body):
            ends = " or ".join(repr(part) for part in self.imitable)
            imitated = [f"a text that ends like {ends} and more is read as that"] if ends else []
            loss = [] if self.pivot.kind.loss is None else [self.pivot.kind.loss]
            if loss or imitated:
                found[self.pivot.field] = "; ".join((*loss, *imitated))
        return found

    def implied(self) -> set[str]:
        """The fields with a constant, in the template or in a way of it, that is not what the field is by default."""
        found = {*implied_by(self.facts, self.defaults)}
        for node in self.nodes:
            for one in node.ways if isinstance(node, SeveralWays) else ():
                found |= {*implied_by(one.facts, self.defaults)}
        return found

    def denying(self, implied: Iterable[str]) -> Template:
        """The same, never written where a field is set that other templates imply and this one does not say."""
        mentioned = self.written_fields() | {name.removeprefix("when_") for name in self.facts}
        for facts in facts_in(self.nodes):
            mentioned |= {name.removeprefix("when_") for name in facts}
        other = copy.copy(self)
        other.denied = {
            name: self.defaults[name] for name in implied if name not in mentioned and name in self.defaults
        }
        return other

    def only_for(self, asked: tuple[type[op.Operation], ...]) -> Template:
        """The same for calls that mean one of these operations."""
        other = copy.copy(self)
        other.asked = asked
        return other

    def saying(self, templates: Mapping[Template, Template]) -> Template:
        """What takes its place among the wordings of a tool."""
        return templates[self]

    # Code for both directions.

    @cached_property
    def write(self) -> Callable[[Any, op.Operation], str | None]:
        """Its text for a struct, or `None` where it cannot say this one."""
        write: Callable[[Any, op.Operation], str | None] = self._made(WriterSource(self), "write")
        return write

    @cached_property
    def read(self) -> Callable[[str, op.Operation], Any]:
        """The struct that a text says, or `None` where it does not match."""
        read: Callable[[str, op.Operation], Any] = self._made(ReaderSource(self), "read")
        return read

    def _made(self, code: WriterSource | ReaderSource, name: str) -> Any:
        """Made on first use: a vocabulary has many templates, and a run needs few of them."""
        lines = list(code.source())
        return function(name, lines, {**code.known, "struct": self.struct, "to": self.to, "back": self.back})

    def __repr__(self) -> str:
        return f"<words for {self.outcome.__name__} {self.lead!r}>"


def words(
    struct: type[msgspec.Struct],
    *parts: Part,
    of: type[out.Outcome] | None = None,
    to: Callable[[Any, Any], Any] | None = None,
    back: Callable[[Any, Any], Any] | None = None,
    unsaid: Mapping[str, str] = {},
    asked: type[op.Operation] | tuple[type[op.Operation], ...] = (),
    **facts: Any,
) -> Template:
    """A wording of an outcome: text with `{field}` holes, and what is constant, as keywords.

    `to` and `back` are for a record in the place of an outcome: functions between it and the outcome `of`, each given
    the operation and the record or outcome; `back` may give `None` for what the record cannot hold. `asked`: only for
    calls that mean one of these operations.
    """
    operations = asked if isinstance(asked, tuple) else (asked,)
    return Template(struct, parts, facts, of=of, to=to, back=back, unsaid=unsaid, asked=operations)


@cache
def _declared(struct: type[msgspec.Struct]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The defaults and the types of its fields."""
    defaults = {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(struct)
        if not field.required
    }
    return defaults, typing.get_type_hints(struct)


def _kind_of(hint: Any) -> Kind | None:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        members = [one for one in typing.get_args(hint) if one is not type(None)]
        return _kind_of(members[0]) if len(members) == 1 else None
    if typing.get_origin(hint) is Literal:
        return choice(typing.get_args(hint))
    return {int: INT, str: LINE}.get(hint)
