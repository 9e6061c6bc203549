"""Writes `dragoman.serve.hook.plain_calls` from the vocabularies: `python -m tests.serve.plain_calls`.

A call is in the table when each of its parameters is a field of the operation as it is, or the old and the new text of
one edit. That is tried with values, not read off the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, operations as op
from dragoman.serve.hook import CLIENTS, client_named
from dragoman.serve.hook.deciding import plain_operation
from dragoman.serve.hook.plain_calls import Row

FILE = Path(__file__).parents[2] / "src" / "dragoman" / "serve" / "hook" / "plain_calls.py"
VALUES: dict[type, tuple[Any, ...]] = {
    str: (
        *("src/some.py", "x y", "~/a", "../b", "https://example.com/", "/a/../b", "a.ipynb", "a.pdf", "a.png", "*.py"),
        *("a\nb", "7", "true", "-1", "a,b", "[1]", " a ", "main", "all"),
    ),
    int: (1, 7, 5_000),
    bool: (True, False),
}
KINDS = {str: "text", int: "number", bool: "switch"}


def dialects() -> list[str]:
    return sorted({client_named(client).dialect for client in CLIENTS})


def rows(dialect: str) -> dict[str, Row]:
    """The plain tools of a vocabulary: operation, required parameters, and what each parameter is called there."""
    found = {}
    for spelling in DIALECTS[dialect].spellings:
        name, required = spelling.native_name, tuple(sorted(spelling.required))
        if not isinstance(name, str) or spelling.freeform or spelling.namespace or not required:
            continue
        row = _row(dialect, name, required, [one for one in sorted(spelling.parameters) if one not in required])
        if row is not None:
            found.setdefault(name, row)  # what a tool was before is further down
    return dict(sorted(found.items()))


def _row(dialect: str, name: str, required: tuple[str, ...], optional: list[str]) -> Row | None:
    texts = {one: f"the text of {one}" for one in required}
    fields = _fields(_meant(dialect, name, texts), texts)
    if fields is None:
        return None
    operation = _meant(dialect, name, texts)
    assert operation is not None
    for one in optional:
        for value in ("the text of it", 77, True):
            more = {**texts, one: value}
            meant = _meant(dialect, name, more)
            wider = _fields(meant, more)
            if wider is not None and type(meant) is type(operation):
                fields[one] = wider[one]
                break
    tag, implied = str(operation.__struct_config__.tag), _implied(operation, {fields[one][0] for one in required})
    if implied is None:
        return None
    row: Row = (tag, required, dict(sorted(fields.items())), implied)
    while wrong := next((kept for kept in _subsets(row) if not _agrees(dialect, name, row, kept)), None):
        if wrong == {*required}:
            return None
        row = (tag, required, {one: row[2][one] for one in row[2] if one in required or one not in wrong}, implied)
    return row


def _implied(operation: op.Operation, said: set[str]) -> dict[str, str | int] | None:
    """The fields that a call sets without saying so; `None` where one of them is neither text nor number."""
    fields = {one.name: one for one in msgspec.structs.fields(operation)}
    found = {}
    for name, field in fields.items():
        value = getattr(operation, name)
        if name in said or (name == "edits" and "old" in said) or value == field.default:
            continue
        if field.default_factory is not msgspec.NODEFAULT and value == field.default_factory():
            continue
        if not isinstance(value, str | int):
            return None
        found[name] = value
    return found


def _subsets(row: Row) -> Iterator[set[str]]:
    """The required parameters, with each pair of others."""
    others = [one for one in row[2] if one not in row[1]]
    for number in range(3):
        for some in combinations(others, number):
            yield {*row[1], *some}


def _agrees(dialect: str, name: str, row: Row, kept: set[str]) -> bool:
    try:
        return all(plain_operation(row, given) in (None, _meant(dialect, name, given)) for given in samples(row, kept))
    except TypeError:  # the operation has a field that the call does not say
        return False


def samples(row: Row, kept: set[str]) -> Iterator[dict[str, Any]]:
    """Calls with these parameters, with values of each kind."""
    for kind, values in VALUES.items():
        for place in range(len(values)):
            yield {one: _value(row, one, kind, place + number) for number, one in enumerate(sorted(kept))}
            yield {one: _value(row, one, kind, place) for one in sorted(kept)}


def _value(row: Row, name: str, kind: type, place: int) -> Any:
    """A value of the parameter's own kind, or of another that it may be given."""
    own = next(one for one, said in KINDS.items() if said == row[2][name][1])
    values = VALUES[kind if name not in row[1] and place % 2 else own]
    return values[place % len(values)]


def _meant(dialect: str, name: str, given: dict[str, Any]) -> op.Operation | None:
    call = DIALECTS[dialect].read_call(NativeCall("c", name, given))
    return call.operations[0] if call.failure is None and len(call.operations) == 1 and not call.unmapped else None


def _fields(operation: op.Operation | None, given: dict[str, Any]) -> dict[str, tuple[str, str]] | None:
    """Which field each parameter is; `None` where one is none of them, or another field is set too."""
    if operation is None or isinstance(operation, op.Unrecognised | op.CallMcpTool | op.SteerClient | op.RunCommand):
        return None
    values = {field: getattr(operation, field) for field in operation.__struct_fields__}
    if isinstance(operation, op.EditFile) and len(operation.edits) == 1:
        values |= {"old": operation.edits[0].old, "new": operation.edits[0].new}
    found = {}
    for name, value in given.items():
        same = [field for field, one in values.items() if type(one) is type(value) and one == value]
        if len(same) != 1:
            return None
        found[name] = (same[0], KINDS[type(value)])
    return found


def written() -> str:
    """The module."""
    head = (
        '"""Calls whose parameters are the fields of an operation, by vocabulary and tool.\n\n'
        "Reading such a call with its vocabulary gives the same, and costs as much as all the rest of a decision.\n"
        'Made by `python -m tests.serve.plain_calls`; a test holds it against the vocabularies.\n"""\n\n'
        "from __future__ import annotations\n\nfrom typing import Final\n\n"
        "Row = tuple[str, tuple[str, ...], dict[str, tuple[str, str]], dict[str, str | int]]\n"
        '"""The operation, the parameters that a call must have, the field that each parameter is, with its kind, and\n'
        'the fields that are set without being said."""\n\n'
        "PLAIN: Final[dict[str, dict[str, Row]]] = {\n"
    )
    body = ""
    for dialect in dialects():
        body += f"    {dialect!r}: {{\n"
        for name, row in rows(dialect).items():
            body += f"        {name!r}: {row!r},\n"
        body += "    },\n"
    return f"{head}{body}}}\n"


if __name__ == "__main__":
    FILE.write_text(written())
