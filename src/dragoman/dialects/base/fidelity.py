"""How well a vocabulary says each operation, field by field, with the declared reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from dragoman.model import operations as op

from .edit_words import described, described_writing
from .spelling import Parameter, Spelling

Status = Literal["exact", "renamed", "reshaped", "approximated", "unsaid", "unspoken"]


class Fidelity(msgspec.Struct, frozen=True):
    """How well one field of one operation is said by one native tool (`field=None`: the operation as a whole)."""

    operation: str
    native: str | None
    field: str | None
    parameter: str | None
    status: Status
    reason: str | None = None
    result: str | None = None
    """The outcome whose field it is, where a field of the tool's result is lost and not one of the operation."""
    places: str | None = None
    """How the places of edits are found, where the field holds edits; and what of a file stays, where it holds the text
    of a whole one."""


def field_rows(tag: str, operation: type[op.Operation], spelling: type[Spelling[Any]]) -> list[Fidelity]:
    wire = dict(zip(spelling.__struct_fields__, spelling.__struct_encode_fields__, strict=True))
    saying: dict[str | None, tuple[str, Parameter]] = {}
    for name, declared in spelling.parameters.items():  # of several that mean parts of a field, the first names it
        saying.setdefault(declared.means, (name, declared))
    rows: list[Fidelity] = []
    for field in operation.__struct_fields__:
        said = saying.get(field)
        parameter = wire[said[0]] if said else None
        reason = _declared(spelling.unsaid, operation, field)
        nearly = _declared(spelling.approximated, operation, field)
        status: Status
        if reason is not None:
            status = "unsaid"
        elif nearly is not None:
            status, reason = "approximated", nearly
        elif spelling.reshaped or said is None or said[1].convert is not None or said[1].inside is not None:
            status = "exact" if field in spelling.always else "reshaped"
        else:
            status = "exact" if parameter == field else "renamed"
        places = None
        if (operation, field) == (op.EditFile, "edits"):
            places = described(spelling.edit_rules)
        elif (operation, field) == (op.WriteFile, "content") and spelling.edit_rules is not None:
            replaces = _declared(spelling.unsaid, operation, "overwrite") is None
            places = described_writing(spelling.edit_rules) if replaces else None
        rows.append(Fidelity(tag, spelling.native_name, field, parameter, status, reason, places=places))
    return rows or [Fidelity(tag, spelling.native_name, None, None, "exact")]


def result_rows(tag: str, spelling: type[Spelling[Any]]) -> list[Fidelity]:
    """What is lost when a result of this tool is written, as far as its results are declared."""
    if spelling.results is None:
        return []
    return [
        Fidelity(tag, spelling.native_name, field, None, "approximated" if nearly else "unsaid", reason, outcome)
        for outcome, field, nearly, reason in spelling.results.losses()
    ]


def _declared(reasons: Mapping[str, str], operation: type[op.Operation], field: str) -> str | None:
    return reasons.get(f"{operation.__name__}.{field}") or reasons.get(field)
