"""Reads plain calls without their vocabulary, whose loading would cost as much as all the rest of a decision.

`plain_calls.json` has them by vocabulary and tool; `python -m tests.serve.plain_calls` writes it from the vocabularies.
Rule: what is read here is what the vocabulary reads, or nothing; a test holds the two against each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from dragoman.model import operations as op

Kind = str | dict[Any, Any] | tuple[str, tuple[str, ...], dict[str, Any], dict[str, str | int]]
"""What a parameter holds: text, a number (of thousands, too), a switch, two lines, a list of texts, texts that are an
operation each; one of a few values, and what each means; or a list of things that are read by a row of their own."""
Row = tuple[str, tuple[str, ...], dict[str, tuple[str, Kind]], dict[str, str | int]]
"""The operation, the parameters that a call must have, the field that each parameter is ("": none), with its kind, and
the fields that are set without being said. A `patch` is in the parameter, or is all of the call, and has a form."""
_KINDS: Final = {"text": str, "number": int, "switch": bool}
_OTHERWISE: Final = (".ipynb", ".pdf", ".png", "/")
"""How paths end that not every tool reads as files."""
_OTHERS: Final = ""
"""Under this name a table has the names of all other tools of the vocabulary."""
_LISTED: Final = {"Edit": op.Edit, "PlanItem": op.PlanItem, "Question": op.Question, "Option": op.Option}


@cache
def plain_rows(dialect: str, tool: str) -> tuple[Row, ...]:
    """The ways in which a tool of a vocabulary is called that are read here."""
    tools = _tables().get(dialect)
    rows = msgspec.json.decode(tools, type=dict[str, msgspec.Raw]).get(tool) if tools is not None and tool else None
    return () if rows is None else tuple(map(_row, msgspec.json.decode(rows)))


@cache
def _tables() -> dict[str, msgspec.Raw]:
    with open(os.path.join(os.path.dirname(__file__), "plain_calls.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, msgspec.Raw])


def plain_tools() -> dict[str, tuple[str, ...]]:
    """The tools that are read here, by vocabulary."""
    tables = {dialect: msgspec.json.decode(tools) for dialect, tools in _tables().items()}
    return {dialect: tuple(name for name in tools if name != _OTHERS) for dialect, tools in tables.items()}


def _row(told: Any) -> Row:
    tag, required, fields, implied = told
    return tag, tuple(required), {name: (field, _kind(kind)) for name, (field, kind) in fields.items()}, implied


def _kind(told: Any) -> Kind:
    if isinstance(told, str):
        return told
    return dict(told["choice"]) if "choice" in told else _row(told["items"])


class _Otherwise(Exception):
    """The vocabulary has to be asked."""


def plain_operations(dialect: str, tool: str, given: Mapping[str, Any] | str) -> tuple[op.Operation, ...] | None:
    """What a call of a plain tool means; `None` where the vocabulary has to be asked."""
    if isinstance(given, dict) and is_unknown(dialect, tool):
        return (op.Unrecognised(tool, given),)
    return next((made for row in plain_rows(dialect, tool) if (made := operations_by(row, given)) is not None), None)


def is_unknown(dialect: str, tool: str) -> bool:
    """Whether a vocabulary has no tool of this name, and none of a server is called so."""
    tools = _tables().get(dialect)
    if tools is None or "__" in tool or tool.startswith("mcp"):
        return False
    names = msgspec.json.decode(tools, type=dict[str, msgspec.Raw])
    return tool not in names and tool not in msgspec.json.decode(names[_OTHERS])


def operations_by(row: Row, given: Mapping[str, Any] | str) -> tuple[op.Operation, ...] | None:
    """What a call means that is made in this way."""
    if row[0] == "patch":
        return _patched(row, given)
    if isinstance(given, str):
        return None
    try:
        said = _said(row, given)
    except _Otherwise:
        return None
    tag, several = row[0], [name for name, value in said.items() if type(value) is list]
    if tag == "read_file":
        if said["path"].lower().endswith(_OTHERWISE):
            return None
        if "line_count" in said:
            said["last_line"] = said.get("first_line", 1) + said.pop("line_count") - 1
        if "line_range" in said:
            said["first_line"], said["last_line"] = said.pop("line_range")
    if tag == "edit_file" and "edits" not in said:
        if "old" not in said or "new" not in said:
            return None
        said["edits"] = (op.Edit(said.pop("old"), said.pop("new"), **_only(said, "everywhere")),)
    if tag == "add_plan_item":
        if said.get("doing") == said.get("text"):
            return None
        said = {"item": op.PlanItem(**said)}
    made = op.OPERATIONS[tag]
    if several:
        return tuple([made(**{**said, several[0]: value}) for value in said[several[0]]])
    return (made(**said),)


def _patched(row: Row, given: Mapping[str, Any] | str) -> tuple[op.Operation, ...] | None:
    name = row[1][0] if row[1] else None
    text = given if isinstance(given, str) else given.get(name) if name and len(given) == 1 else None
    if not isinstance(text, str) or (name is not None and given is text):
        return None
    from dragoman.dialects import read_patch_in_form

    try:
        return read_patch_in_form(text, str(row[3]["form"]))
    except ValueError:
        return None


def _only(said: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: said.pop(name)} if name in said else {}


def _said(row: Row, given: Mapping[str, Any]) -> dict[str, Any]:
    _, required, fields, implied = row
    if not given.keys() <= fields.keys() or not all(name in given for name in required):
        raise _Otherwise
    said: dict[str, Any] = {**implied}
    for name, value in given.items():
        field, kind = fields[name]
        read = _read(kind, value)
        if field:
            said[field] = read
    return said


def _read(kind: Kind, value: Any) -> Any:
    if isinstance(kind, str):
        # The vocabulary knows what an empty text or a zero means, and reads a number that is written as text.
        if kind == "lines":
            first, last = value if type(value) is list and len(value) == 2 else (0, 0)
            if type(first) is type(last) is int and 0 < first <= last:
                return (first, last)
            raise _Otherwise
        if kind == "list":
            return tuple(_read("texts", value))
        if kind == "texts":
            if type(value) is list and value and all(type(one) is str and one for one in value):
                return value
            raise _Otherwise
        if kind == "thousands":
            return _read("number", value) * 1000
        if type(value) is not _KINDS[kind] or (not value and kind != "switch"):
            raise _Otherwise
        return value
    if isinstance(kind, dict):
        if type(value) not in (str, bool) or value not in kind:
            raise _Otherwise
        return kind[value]
    if type(value) is not list or not value or not all(type(one) is dict for one in value):
        raise _Otherwise
    listed = [_said(kind, one) for one in value]
    if any("doing" in one and one["doing"] == one.get("text") for one in listed):
        raise _Otherwise  # a vocabulary may take it for nothing new
    return tuple([_LISTED[kind[0]](**one) for one in listed])
