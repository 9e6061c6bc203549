"""Versions of a tool as rows of its parameters: what was named, typed or required otherwise up to some version.

    file_path: str = means("path", "Path of the file.", since="0.19", was=was("0.1.15", name="absolute_path"))

A class with such rows stands for several, one for each span of versions in which its parameters stayed the same. The
class itself is the newest; the others are its `earlier`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

_LONG = 19
"""Digits that the number of no version has."""


class Row(msgspec.Struct, frozen=True):
    """How a parameter was up to a version; see `was`."""

    until: str
    since: str | None
    field: str | None
    annotation: Any
    changes: dict[str, Any]
    absent: bool = False


def absent(until: str) -> Row:
    """That a parameter, required since, was not there up to and including a version."""
    return Row(until, None, None, None, {}, absent=True)


def was(until: str, *, since: str | None = None, name: str | None = None, type: Any = None, **changes: Any) -> Row:
    """How a parameter was up to and including a version; what is not given was as it is now.

    `changes` are arguments of `means`: `description`, `default`, `convert`, `schema`, …
    """
    return Row(until, since, name, type, changes)


class Span(NamedTuple):
    """The versions in which a tool had these parameters."""

    since: str | None
    until: str | None
    parameters: dict[str, Any]
    annotations: dict[str, Any]


def spans_of(parameters: Mapping[str, Any], annotations: Mapping[str, Any], namespace: Mapping[str, Any]) -> list[Span]:
    """The spans of a declaration, the newest first; one alone where no parameter was otherwise.

    A class that reads its parameters by a method of its own (`to_operations`) reads those of all versions.
    """
    since, until = namespace.get("since"), namespace.get("until")
    by_method = "to_operations" in namespace
    ended = (
        set()
        if by_method
        else {(one.means, one.inside) for one in parameters.values() if one.until is not None and one.means}
    )
    replaced = {
        field
        for field, one in parameters.items()
        if one.until is None and (one.was or (one.means, one.inside) in ended)
    }
    if not replaced:
        return [Span(since, until, dict(parameters), dict(annotations))]
    ends = {row.until for one in parameters.values() for row in one.was}
    ends |= {one.until for one in parameters.values() if one.until is not None}
    found: list[Span] = []
    for end in (*sorted(ends, key=version_number), None):
        valid = [_at(field, one, annotations[field], end) for field, one in parameters.items()]
        rows = [row for row in valid if row is not None]
        starts = (
            [one.since for field, _, one, _ in rows if field in replaced and one.since is not None] if found else []
        )
        start = max(starts, key=version_number, default=since)
        declared = {name: msgspec.structs.replace(one, was=()) for _, name, one, _ in rows}
        found.append(Span(start, end or until, declared, {name: annotation for _, name, _, annotation in rows}))
    return found[::-1]


def _at(field: str, parameter: Any, annotation: Any, version: str | None) -> tuple[str, str, Any, Any] | None:
    """The parameter as it was in a version, with its names in the declaration and in the class; `None`: not there."""
    for row in parameter.was:
        if version is not None and within(row.since, row.until, version):
            if row.absent:
                return None
            changed = msgspec.structs.replace(parameter, since=row.since, until=None, **row.changes)
            return field, row.field or field, changed, annotation if row.annotation is None else row.annotation
    if not within(parameter.since, parameter.until, version):
        return None
    return field, field, msgspec.structs.replace(parameter, until=None), annotation


def earlier_classes(
    make: Callable[[str, Mapping[str, Any]], Any], name: str, namespace: Mapping[str, Any], spans: list[Span]
) -> tuple[Any, ...]:
    """The classes of all spans but the newest."""
    docs: Mapping[str, str] = namespace.get("described_until", {})
    rest = {key: value for key, value in namespace.items() if key not in ("__classcell__", "__annotations__")}
    found: list[Any] = []
    for span in spans:
        facts = {key: value for key, value in rest.items() if not hasattr(value, "means")}
        facts |= {"since": span.since, "until": span.until, "__annotations__": span.annotations, **span.parameters}
        facts["__doc__"] = docs.get(span.until or "", namespace.get("__doc__"))
        facts |= reasons_in(facts, span)
        found.append(make(f"{name}Until{re.sub('[^0-9]', '_', span.until or '')}", facts))
    return tuple(found)


def reasons_in(namespace: Mapping[str, Any], span: Span) -> dict[str, Any]:
    """The reasons that hold for the fields of a span: a field it says is not unsaid, one it does not say not nearly.

    Those of a base class hold for every span.
    """
    said = {one.means or field for field, one in span.parameters.items()}
    by_method = "to_operations" in namespace

    def holds(kind: str, field: str) -> bool:
        return field not in said if kind == "unsaid" else by_method or field in said

    return {
        kind: {field: reason for field, reason in namespace[kind].items() if holds(kind, field)}
        for kind in ("unsaid", "approximated")
        if kind in namespace
    }


# ── versions ─────────────────────────────────────────────────────────────────


def within(since: str | None, until: str | None, version: str | None) -> bool:
    if version is None:
        return until is None
    number = version_number(version)
    return (since is None or version_number(since) <= number) and (until is None or not later(number, until))


def later(number: tuple[int, ...], until: str) -> bool:
    """Whether a version comes after `until`; 0.24.3 still belongs to "0.24"."""
    last = version_number(until)
    return number[: len(last)] > last


@lru_cache(maxsize=256)  # a client says its version in every request
def version_number(version: str) -> tuple[int, ...]:
    """The numbers of a version, by which versions are in order. A log may hold one that Python does not convert."""
    return tuple(int(digits) if len(digits) < _LONG else 10**_LONG for digits in re.findall(r"\d+", version))
