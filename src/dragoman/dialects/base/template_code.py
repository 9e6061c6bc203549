"""The source of what writes and reads a template, written out once as by hand: it runs for every result."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from .template_parts import (
    ANY,
    CALLED,
    Body,
    Hole,
    Kind,
    OneWay,
    OptionalPart,
    Reads,
    SeveralWays,
    fields_of,
    holes_in,
    implied_by,
)


class Template(Protocol):
    """What is known of a template when its source is written."""

    struct: type[msgspec.Struct]
    to: Callable[[Any, Any], Any] | None
    back: Callable[[Any, Any], Any] | None
    hints: dict[str, Any]
    defaults: dict[str, Any]
    facts: dict[str, Any]
    denied: dict[str, Any]
    nodes: tuple[Any, ...]
    head: tuple[Any, ...]
    pivot: Hole | None
    tail: list[tuple[bool, tuple[Any, ...]]]

    @property
    def lead(self) -> str: ...


# ── writing ──────────────────────────────────────────────────────────────────


class WriterSource:
    """The source of `write(outcome, asked)`, written out once as by hand: it runs for every result."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._hints = template.hints
        self.known: dict[str, Any] = {}
        self._lines: list[str] = []

    def source(self) -> list[str]:
        template = self._template
        if template.pivot is not None and isinstance(template.pivot.kind, Body) and template.pivot.kind.whole:
            return ["def write(o, asked):", "    return None"]
        self._lines = ["def write(o, asked):"]
        if template.back is not None:
            self._lines += ["    o = back(asked, o)", "    if o is None: return None"]
        conditions = self._conditions({**template.facts, **template.denied})
        if conditions:
            self._lines.append(f"    if not ({' and '.join(conditions)}): return None")
        shown = self._nodes(template.nodes, "    ", "", "return None")
        self._lines.append(f"    return {shown}")
        return self._lines

    def _know(self, value: Any) -> str:
        name = f"w{len(self.known)}"
        self.known[name] = value
        return name

    def _conditions(self, facts: Mapping[str, Any]) -> list[str]:
        found = []
        for name, fact in facts.items():
            if fact is ANY or fact is CALLED or isinstance(fact, Reads):
                continue
            field = name.removeprefix("when_")
            same = (
                f"o.{field} is {fact!r}"
                if fact is None or isinstance(fact, bool)
                else f"o.{field} == {self._know(fact)}"
            )
            found.append(same)
        return found

    def _nodes(self, nodes: Sequence[Any], indent: str, follow: str, fail: str) -> str:
        """Adds what has to be found out first to the lines, and gives the expression of the text."""
        shown = []
        for index, node in enumerate(nodes):
            after = _text_after(nodes, index, follow)
            if isinstance(node, str):
                shown.append(repr(node))
            elif isinstance(node, Hole):
                shown.append(self._hole(node, indent, after, fail))
            elif isinstance(node, OptionalPart):
                if node.written:
                    shown.append(self._optional(node, indent, after, fail))
            else:
                shown.append(self._ways(node, indent, after, fail))
        return " + ".join(shown) or "''"

    def _hole(self, hole: Hole, indent: str, follow: str, fail: str) -> str:
        kind = hole.kind
        if isinstance(kind, Kind) and kind.fixed is not None:
            return repr(kind.fixed) if isinstance(kind.fixed, str) else f"{self._know(kind.fixed)}(asked)"
        if isinstance(kind, Kind) and kind.counts is not None:
            return f"str(len(o.{kind.counts}))"
        if hole.field.startswith("asked."):
            return f"str({hole.field})"
        value = f"(o.{', o.'.join(kind.fields)})" if isinstance(kind, Body) and kind.fields else f"o.{hole.field}"
        variable = f"v{len(self._lines)}"
        if isinstance(kind, Body):
            self._lines.append(f"{indent}{variable} = {self._know(kind.write)}({value}, asked)")
            self._lines.append(f"{indent}if {variable} is None: {fail}")
            return variable
        if kind.write is None:
            written = value
        elif kind.write is str:
            written = f"None if {value} is None else str({value})"
        else:
            called = f"{self._know(kind.write)}({'asked, ' if kind.with_call else ''}{value})"
            # A kind with a word for `None` is asked about it too.
            written = called if kind.writes_none else f"None if {value} is None else {called}"
        self._lines.append(f"{indent}{variable} = {written}")
        checks = [f"{variable} is None"]
        if kind.free:
            checks.append(f"'\\n' in {variable}")
            if follow and "\n" not in follow and hole is not self._template.pivot:
                checks.append(f"{follow!r} in {variable}")
        self._lines.append(f"{indent}if {' or '.join(checks)}: {fail}")
        return variable

    def _optional(self, node: OptionalPart, indent: str, follow: str, fail: str) -> str:
        variable = f"p{len(self._lines)}"
        fields = {hole.field for hole in holes_in(node.nodes) if hole.field in self._hints}
        present = [f"o.{field} is not None" for field in sorted(fields - node.absent.keys())]
        for field, value in node.absent.items():
            present.append(f"o.{field} is not None" if value is None else f"o.{field} != {self._know(value)}")
        inner = f"{indent}        "
        self._lines += [f"{indent}{variable} = ''", f"{indent}if {' and '.join(present)}:"]
        self._lines += [f"{indent}    {variable} = None", f"{indent}    while True:"]
        shown = self._nodes(node.nodes, inner, follow, "break")
        self._lines += [f"{inner}{variable} = {shown}", f"{inner}break", f"{indent}    if {variable} is None: {fail}"]
        return variable

    def _ways(self, node: SeveralWays, indent: str, follow: str, fail: str) -> str:
        variable = f"c{len(self._lines)}"
        inner = f"{indent}    "
        self._lines.append(f"{indent}{variable} = None")
        for one, denied in zip(node.ways, denials(node.ways, self._template), strict=True):
            conditions = [f"{variable} is None", *self._conditions({**one.facts, **denied})]
            self._lines.append(f"{indent}while {' and '.join(conditions)}:")
            shown = self._nodes(one.nodes, inner, follow, "break")
            self._lines += [f"{inner}{variable} = {shown}", f"{inner}break"]
        self._lines.append(f"{indent}if {variable} is None: {fail}")
        return variable


def _text_after(nodes: Sequence[Any], index: int, follow: str) -> str:
    """The text that ends a field: the next one that is always there."""
    return next((node for node in nodes[index + 1 :] if isinstance(node, str)), follow)


def denials(ways: Sequence[OneWay], template: Template) -> list[dict[str, Any]]:
    """What one way implies, each other denies unless it speaks of it itself."""
    implied = {name for one in ways for name in implied_by(one.facts, template.defaults)}
    denials = []
    for one in ways:
        mentioned = {name.removeprefix("when_") for name in (*one.facts, *template.facts)}
        mentioned |= {name for hole in holes_in(one.nodes) for name in fields_of(hole)}
        denials.append(
            {name: template.defaults[name] for name in sorted(implied - mentioned) if name in template.defaults}
        )
    return denials


# ── reading ──────────────────────────────────────────────────────────────────


class ReaderSource:
    """The source of `read(text, asked)`."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self.known: dict[str, Any] = {}
        self._values: dict[str, list[str]] = {}
        """Field → expressions of its value, each `None` where that part is not there."""
        self._absent: dict[str, Any] = {}
        self._groups = 0
        self._optional = False
        """Whether the match at hand may be none: of an optional part of the tail."""

    def source(self) -> list[str]:
        template = self._template
        lines = ["def read(text, asked):"]
        head, pivot = template.head, template.pivot
        if pivot is None:
            if template.lead:
                lines.append(f"    if not text.startswith({template.lead!r}): return None")
            lines += self._matched("m", head, "text", "fullmatch", "")
        elif all(isinstance(node, str) for node in head):
            lead = "".join(head)
            if lead:
                lines += [f"    if not text.startswith({lead!r}): return None"]
            lines += [f"    start = {len(lead)}"]
        else:
            if len(head) > 1 and isinstance(head[1], Hole) and isinstance(head[1].kind, Kind) and head[1].kind.compares:
                lines.append(f"    lead = {template.lead!r} + str({head[1].field})")
                lines.append("    if not text.startswith(lead): return None")
                lines += self._matched("m", head[2:], "text, len(lead)", "match", "")
            else:
                if template.lead:
                    lines.append(f"    if not text.startswith({template.lead!r}): return None")
                lines += self._matched("m", head, "text", "match", "")
            lines.append("    start = m.end()")
        if pivot is not None:
            last = template.tail[-1] if template.tail else (True, ())
            if not last[0] and len(last[1]) > 1 and isinstance(last[1][-1], str):
                # Most texts do not end so, which is known sooner than where the tail would begin.
                lines.insert(1, f"    if not text.endswith({last[1][-1]!r}): return None")
            lines.append("    end = len(text)")
            for number, (optional, group) in reversed(list(enumerate(template.tail))):
                lines += self._peeled(f"t{number}", group, optional=optional)
            lines += self._pivoted(pivot)
        lines.append(f"    return {self._built()}")
        return lines

    def _know(self, value: Any) -> str:
        name = f"r{len(self.known)}"
        self.known[name] = value
        return name

    def _matched(self, variable: str, nodes: Sequence[Any], arguments: str, how: str, follow: str) -> list[str]:
        self._groups = 0
        pattern = re.compile(self._pattern(nodes, variable, follow))
        match = self._know(getattr(pattern, how))
        return [f"    {variable} = {match}({arguments})", f"    if {variable} is None: return None"]

    def _peeled(self, variable: str, group: tuple[Any, ...], *, optional: bool) -> list[str]:
        nodes = group[0].nodes if optional else group
        lead = nodes[0]
        lines = [f"    at = text.rfind({lead!r}, start, end)"]
        if not optional:
            lines.append("    if at < 0: return None")
            if len(nodes) == 1:  # a text alone ends the result, or the parts after it
                return [f"    if not text.endswith({lead!r}, start, end): return None", f"    end -= {len(lead)}"]
            return [*lines, *self._matched(variable, nodes, "text, at, end", "fullmatch", ""), "    end = at"]
        self._flag(group[0], f"{variable} is not None")
        self._optional = True
        matched = self._matched(variable, nodes, "text, at, end", "fullmatch", "")
        self._optional = False
        self._absent |= group[0].absent
        return [
            *lines,
            f"    {variable} = None",
            "    if at >= 0:",
            f"    {matched[0]}",
            f"        if {variable} is not None: end = at",
        ]

    def _group(self, variable: str) -> str:
        self._groups += 1
        group = f"{variable}[{self._groups}]"
        return f"({variable} and {group})" if self._optional else group

    def _flag(self, node: OptionalPart, present: str) -> None:
        """An optional part without a hole of its own says a flag."""
        held = {hole.field for hole in holes_in(node.nodes)}
        for name, value in node.absent.items():
            if name not in held and isinstance(value, bool):
                self._values.setdefault(name, []).append(f"{not value} if {present} else None")

    def _pivoted(self, pivot: Hole) -> list[str]:
        kind = pivot.kind
        lines = ["    body = text[start:end]"]
        if isinstance(kind, Kind):
            lines.append("    if '\\n' in body: return None")
            if pivot.field in self._template.hints:
                read = "body" if kind.read is None else f"{self._know(kind.read)}(body)"
                self._values.setdefault(pivot.field, []).append(read)
            return lines
        if not kind.as_it_is:
            lines += [f"    body = {self._know(kind.read)}(body, asked)", "    if body is None: return None"]
        for index, field in enumerate(fields_of(pivot)):
            self._values.setdefault(field, []).append(f"body[{index}]" if kind.fields else "body")
        return lines

    def _pattern(self, nodes: Sequence[Any], variable: str, follow: str) -> str:
        """A regular expression; a free text takes as little as it can, and gives nothing of it back."""
        pieces = []
        for index, node in enumerate(nodes):
            if isinstance(node, str):
                pieces.append(re.escape(node))
            elif isinstance(node, Hole):
                pieces.append(self._captured(node, variable, _until(nodes[index + 1 :], follow)))
            elif isinstance(node, OptionalPart):
                inner = self._pattern(node.nodes, variable, _until(nodes[index + 1 :], follow))
                self._flag(node, f"{self._group(variable)} is not None")
                self._absent |= node.absent
                pieces.append(f"(?:{inner}())?+")
            else:
                pieces.append(self._alternatives(node, variable, _until(nodes[index + 1 :], follow)))
        return "".join(pieces)

    def _alternatives(self, node: SeveralWays, variable: str, follow: str) -> str:
        ways = []
        for one in node.ways:
            inner = self._pattern(one.nodes, variable, follow)
            matched = self._group(variable)
            for name, fact in one.facts.items():
                if not name.startswith("when_") and fact is not ANY:
                    value = self._know(fact.value if isinstance(fact, Reads) else fact)
                    self._values.setdefault(name, []).append(f"{value} if {matched} is not None else None")
            ways.append(f"{inner}()")
        return f"(?:{'|'.join(ways)})"

    def _captured(self, hole: Hole, variable: str, follow: str) -> str:
        kind = typing.cast(Kind, hole.kind)
        if hole.field not in self._template.hints:
            pattern = f"{kind.pattern}?" if kind.free else kind.pattern
            return f"(?>{pattern}(?={follow}))" if follow else kind.pattern
        group = self._group(variable)
        optional = f"{group} is not None"
        if kind.read is None:
            self._values.setdefault(hole.field, []).append(group)
        else:
            self._values.setdefault(hole.field, []).append(f"{self._know(kind.read)}({group}) if {optional} else None")
        if not kind.free:
            return f"({kind.pattern})"
        return f"(?>({kind.pattern}?)(?={follow}))" if follow else f"({kind.pattern})"

    def _built(self) -> str:
        template = self._template
        defaults = template.defaults
        given = {}
        for name, values in self._values.items():
            if name in template.hints or values == ["body"]:
                given[name] = (
                    values[0] if values == ["body"] else self._first(values, self._absent.get(name, defaults.get(name)))
                )
        for name, fact in template.facts.items():
            if fact is CALLED:
                given[name] = self._first([f"asked.{name}"], defaults.get(name))
            elif not name.startswith("when_") and fact is not ANY:
                given[name] = self._know(fact.value if isinstance(fact, Reads) else fact)
        pivot = template.pivot
        if pivot is not None and isinstance(pivot.kind, Body) and pivot.kind.whole:
            others = ", ".join(f"{name}={value}" for name, value in given.items() if name != pivot.field)
            return f"{self._know(msgspec.structs.replace)}(body, {others})" if others else "body"
        made = f"struct({', '.join(f'{name}={value}' for name, value in given.items())})"
        return made if template.to is None else f"to(asked, {made})"

    def _first(self, values: Sequence[str], absent: Any) -> str:
        """The first of several values that is there. `None` is what a part gives that is not."""
        if absent is None:
            if len(values) == 1:
                return f"({values[0]})"
            *first, last = values
            return "".join(f"(x if (x := ({one})) is not None else " for one in first) + f"({last})" + ")" * len(first)
        chain = "".join(f"(x if (x := ({one})) is not None else " for one in values)
        return f"{chain}{self._know(absent)}{')' * len(values)}"


def _until(nodes: Sequence[Any], follow: str) -> str:
    """What ends a free text, as a pattern: the next text that is always there, with what may stand before it."""
    if not nodes:
        return follow
    first = nodes[0]
    if isinstance(first, str):
        return re.escape(first)
    if isinstance(first, OptionalPart):
        rest = _until(nodes[1:], follow)
        if not rest and len(nodes) > 1:
            return ""  # a field may follow, so nothing is known of the end
        inner = "".join(_plain(node) for node in first.nodes)
        return f"(?:{inner})?{rest}" if rest else f"(?:{inner})?\\Z"
    if isinstance(first, SeveralWays):
        return f"(?:{'|'.join(_until(one.nodes, follow) for one in first.ways)})"
    return ""


def _plain(node: Any) -> str:
    """A node as a pattern without groups."""
    if isinstance(node, str):
        return re.escape(node)
    if isinstance(node, Hole):
        return node.kind.pattern if isinstance(node.kind, Kind) else "(?s:.*)"
    if isinstance(node, OptionalPart):
        return f"(?:{''.join(map(_plain, node.nodes))})?"
    return f"(?:{'|'.join(''.join(map(_plain, one.nodes)) for one in node.ways)})"
