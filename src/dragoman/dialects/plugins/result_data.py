"""Results of a dialect that is written as data: `[[tools.results]]` becomes the templates a Python file would hold.

Nothing in a file is run: names that become code in a template are those of fields, and checked before.
"""

from __future__ import annotations

import re
import typing
from typing import Any

import msgspec

from dragoman.dialects.base.words import CALLED, Part, Results, Template, body, maybe, one_of, words
from dragoman.errors import DefinitionError, nearest
from dragoman.model import operations as op
from dragoman.model.outcomes import OUTCOMES, Outcome

from .data_file import Table

_ASKED = re.compile(r"\{asked\.([^{}]*)\}")


def results_of(table: Table, operation: type[op.Operation] | None) -> Results | None:
    """The results of a tool, or `None` where it declares none; what is wrong with them is a problem of the table."""
    current: list[Template] = []
    older: list[Template] = []
    declared = list(table.tables("results"))
    before = len(table.problems)
    for one in declared:
        read_only = one.anything("read_only") is True
        template = _template(one, operation)
        if template is not None:
            (older if read_only else current).append(template)
    if not declared or len(table.problems) > before:
        return None
    try:
        return one_of(*current, formerly=older)
    except DefinitionError as error:
        for problem in error.problems:
            table.problem(problem, "results")
        return None


def _template(table: Table, operation: type[op.Operation] | None) -> Template | None:
    before = len(table.problems)
    tag = table.text("outcome") or ""
    outcome = OUTCOMES.get(tag)
    if outcome is None:
        table.problem(f'there is no outcome "{tag}".{nearest(tag, OUTCOMES)}', "outcome")
    parts = _parts(table, operation)
    several, called, unsaid = table.text("lines"), table.texts("called"), table.reasons("unsaid")
    where = table.table("where")
    facts: dict[str, Any] = {} if where is None or outcome is None else _constants(where, outcome)
    table.close()
    if outcome is None or len(table.problems) > before:
        return None
    asked = () if operation is None else operation.__struct_fields__
    for field in called:
        if field not in asked:
            table.problem(f'the call has no "{field}".{nearest(field, asked)}', "called")
    for field in (*called, *(() if several is None else (several,))):
        if field not in outcome.__struct_fields__:
            known = outcome.__struct_fields__
            table.problem(
                f'the outcome has no "{field}".{nearest(field, known)}', "lines" if field == several else "called"
            )
    facts |= dict.fromkeys(called, CALLED)
    if several is not None:
        facts[several] = body()
    if len(table.problems) > before:
        return None
    try:
        return words(outcome, *parts, unsaid=unsaid, **facts)
    except DefinitionError as error:
        for problem in error.problems:
            table.problem(problem)
        return None


def _constants(table: Table, outcome: type[Outcome]) -> dict[str, Any]:
    hints = typing.get_type_hints(outcome)
    found: dict[str, Any] = {}
    for name in table.content:
        value = table.anything(name)
        if name not in hints:
            table.problem(f'the outcome has no "{name}".{nearest(name, hints)}', name)
            continue
        try:
            found[name] = msgspec.convert(value, hints[name])
        except msgspec.ValidationError as error:
            table.problem(f"does not fit the outcome: {error}", name)
    return found


def _parts(table: Table, operation: type[op.Operation] | None) -> list[Part]:
    """Texts, and `{ maybe = "…" }` for optional ones; `absent` is what a field is when its part is not there."""
    given = table.anything("text")
    parts: list[Part] = []
    for index, part in enumerate(given if isinstance(given, list) else [given]):
        absent: Any = part.get("absent", {}) if isinstance(part, dict) else {}
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("maybe"), str) and isinstance(absent, dict):
            parts.append(maybe(part["maybe"], **absent))
        else:
            table.problem('is no text and no { maybe = "…" }', "text", index)
    known = () if operation is None else operation.__struct_fields__
    for part in parts:
        for name in _ASKED.findall(part if isinstance(part, str) else "".join(map(str, getattr(part, "parts", ())))):
            if name not in known:
                table.problem(f'the call has no "{name}".{nearest(name, known)}', "text")
    return parts
