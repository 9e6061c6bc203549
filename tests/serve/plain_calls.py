"""Writes `plain_calls.json` of `dragoman.serve.hook` from the vocabularies: `python -m tests.serve.plain_calls`.

A call is in the table when each of its parameters is a field of the operation as it is, one of a few values, the old
and the new text of an edit, a count of lines, a list of such things, or means nothing. That is tried with values, not
read off the declarations.
"""

from __future__ import annotations

import json
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, operations as op
from dragoman.serve.hook import CLIENTS, client_named
from dragoman.serve.hook.plain_reading import Kind, Row, operations_by

FILE = Path(__file__).parents[2] / "src" / "dragoman" / "serve" / "hook" / "plain_calls.json"
VALUES: dict[str, tuple[Any, ...]] = {
    "text": (
        *("src/some.py", "x y", "~/a", "../b", "https://example.com/", "/a/../b", "a.ipynb", "a.pdf", "a.png", "*.py"),
        *("a\nb", "7", "true", "-1", "a,b", "[1]", " a ", "main", "all"),
    ),
    "number": (1, 7, 5_000),
    "switch": (True, False),
    "lines": ([3, 9], [4, 4], [1, 200]),
    "thousands": (1, 7, 5_000),
    "list": (["a"], ["b/*.py", "c"], ["a", "a"], [" x ", "https://example.com/", "-1"]),
}
PROBES: dict[str, Any] = {"text": "the text of {}", "number": 77, "switch": True}
_NOT_PLAIN = op.Unrecognised | op.CallMcpTool | op.SteerClient
_LISTED = ("edits", "items", "questions", "options")
_TEXTS = ["the first", "the second"]

Meant = Callable[[dict[str, Any]], Any]
"""What a call with these arguments means, or one item of a list in it; `None` if it cannot be read."""


def dialects() -> list[str]:
    return sorted({client_named(client).dialect for client in CLIENTS})


def rows(dialect: str) -> dict[str, list[Row]]:
    """The plain tools of a vocabulary, each in the ways in which it is called."""
    found: dict[str, list[Row]] = {}
    hints: dict[str, dict[str, Any]] = {}
    for spelling in reversed(DIALECTS[dialect].spellings):
        fields = msgspec.structs.fields(spelling)
        hints.setdefault(str(spelling.native_name), {}).update({one.encode_name: one.type for one in fields})
    for spelling in DIALECTS[dialect].spellings:
        name, required = spelling.native_name, tuple(sorted(spelling.required))
        if not isinstance(name, str) or spelling.namespace:
            continue
        special = _patch_row(dialect, name, spelling.freeform is not None, required) or _each_row(
            dialect, name, spelling
        )
        if special is not None:
            found.setdefault(name, []).append(special)
            continue
        if spelling.freeform or any(row[1] == required for row in found.get(name, ())):
            continue
        own = {one.encode_name: one.type for one in msgspec.structs.fields(spelling)}
        optional = sorted({*hints[name]} - {*required})
        for more in ((), *combinations([one for one in optional if one in own], 2)):
            # Some tools need parameters that they do not call required: the old and the new text.
            needed = tuple(sorted((*required, *more)))
            others = [one for one in optional if one not in more]
            row = _row(_reader(dialect, name), needed, others, {**hints[name], **own})
            if row is not None:
                found.setdefault(name, []).append(row)
                break
    return found


FORMS = ("codex", "opencode", "cline", "any")
"""The strictest first: what it refuses, the vocabulary is asked about."""
_UPDATE = "*** Begin Patch\n*** Update File: a.py\n"
PATCHES = (
    f"{_UPDATE}@@\n-x\n+y\n*** End Patch",
    f"{_UPDATE}@@ def f\n a\n-x\n+y\n b\n*** Add File: sub/b.py\n+x\n+\n*** Delete File: c\n*** End Patch",
    f"{_UPDATE}*** Move to: d.py\n@@\n-x\n+y\n*** End of File\n*** End Patch\n",
    f"{_UPDATE}\n@@\n-x\n+y\n*** End Patch",
    f"{_UPDATE} a\n-x\n*** End Patch",
    f"{_UPDATE}-x\n+y\n*** End Patch",
    f"{_UPDATE}\n-x\n\n+y\n*** End Patch",
    f"{_UPDATE}@@\n-x\n\n+y\n*** End Patch",
    f"{_UPDATE}@@\nunmarked\n-x\n+y\n*** End Patch",
    f"{_UPDATE}@@\n*** End Patch",
    f"{_UPDATE}*** End Patch",
    "*** Begin Patch\n*** Add File: a\n*** End Patch",
    "*** Begin Patch\n*** Add File: /a/../b\n+x\n*** End Patch",
    "no patch",
    "",
)


def _patch_row(dialect: str, name: str, freeform: bool, required: Sequence[str]) -> Row | None:
    """A tool that takes a patch, and how its vocabulary reads one."""
    if not freeform and len(required) != 1:
        return None
    for form in FORMS:
        named = () if freeform else (required[0],)
        row: Row = ("patch", named, dict.fromkeys(named, ("", "text")), {"form": form})
        calls: list[Any] = [text if freeform else {required[0]: text} for text in PATCHES]
        read = [operations_by(row, call) for call in calls]
        if any(read) and all(
            one in (None, _meanings(dialect, name, call)) for one, call in zip(read, calls, strict=True)
        ):
            return row
    return None


def _each_row(dialect: str, name: str, spelling: Any) -> Row | None:
    """A tool with a list of texts, of which each is an operation."""
    fields = msgspec.structs.fields(spelling)
    if [one.type for one in fields] != [tuple[str, ...]]:
        return None
    meanings = _meanings(dialect, name, {fields[0].encode_name: ["the first", "the second"]})
    if len(meanings) != 2:
        return None
    field = next((one for one, value in _values(meanings[0]).items() if value == "the first"), None)
    if field is None:
        return None
    row: Row = (_tag(meanings[0]), (fields[0].encode_name,), {fields[0].encode_name: (field, "texts")}, {})
    calls = [{fields[0].encode_name: [one, *more]} for one in VALUES["text"] for more in ((), ("b",), (one, ""))]
    agree = all(operations_by(row, call) in (None, _meanings(dialect, name, call)) for call in calls)
    return row if agree else None


def _meanings(dialect: str, name: str, given: Any) -> tuple[Any, ...]:
    call = DIALECTS[dialect].read_call(NativeCall("c", name, given))
    return call.operations if call.failure is None else ()


def _reader(dialect: str, name: str) -> Meant:
    def meant(given: dict[str, Any]) -> Any:
        call = DIALECTS[dialect].read_call(NativeCall("c", name, given))
        one = call.operations[0] if call.failure is None and len(call.operations) == 1 else None
        return None if isinstance(one, _NOT_PLAIN) else one

    return meant


def _row(meant: Meant, required: Sequence[str], optional: Sequence[str], hints: dict[str, Any]) -> Row | None:
    base: dict[str, Any] = {}
    for one in required:
        values = list(_candidates(hints[one], one))
        if not values:
            return None
        base[one] = values[0]
    operation = meant(base)
    if operation is None:
        return None
    fields: dict[str, tuple[str, Kind]] = {}
    for one in (*required, *optional):
        found = _field(meant, base, one, hints[one], operation)
        if found is not None:
            fields[one] = found
        elif one in required:
            return None
    _count_lines(meant, base, fields)
    said = {fields[one][0] for one in required}
    implied = _implied(operation, said)
    if implied is None or ("old" in said) != ("new" in said):
        return None
    row: Row = (_tag(operation), tuple(required), dict(sorted(fields.items())), implied)
    while wrong := [kept - {*required} for kept in _subsets(row) if not _agrees(meant, row, kept)]:
        if not wrong[0]:
            return None
        # A parameter that is wrong alone goes first, then the one that most others do not go with.
        alone = [one for kept in wrong if len(kept) == 1 for one in kept]
        times = Counter(alone or [one for kept in wrong for one in kept])
        worst = max(times, key=lambda one: (times[one], fields[one][0] == "", isinstance(fields[one][1], dict), one))
        row = (*row[:2], {one: row[2][one] for one in row[2] if one != worst}, implied)
    return row


def _tag(operation: Any) -> str:
    return str(operation.__struct_config__.tag) if isinstance(operation, op.Operation) else type(operation).__name__


def _candidates(hint: Any, name: str) -> Iterator[Any]:
    """Values to try a parameter with, by its type."""
    yield from _choices(hint)
    item = _item_of(hint)
    if item is not None:
        needed = {one.encode_name: one.type for one in msgspec.structs.fields(item) if one.required}
        values = {key: next(_candidates(kind, key), None) for key, kind in needed.items()}
        if None not in values.values():
            yield [values]
    if _is_texts(hint) and not _is_of(hint, "text"):
        yield _TEXTS
    yield from (PROBES["text"].format(name), PROBES["number"], PROBES["switch"])


def _bare(hint: Any) -> Any:
    return hint.__origin__ if hasattr(hint, "__metadata__") else hint


def _choices(hint: Any) -> tuple[Any, ...]:
    hint = _bare(hint)
    if typing.get_origin(hint) is typing.Literal:
        return tuple(one for one in typing.get_args(hint) if isinstance(one, str))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(choice for one in typing.get_args(hint) for choice in _choices(one))
    return ()


def _is_of(hint: Any, kind: str) -> bool:
    """Whether a parameter may be of a kind."""
    hint = _bare(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(_is_of(one, kind) for one in typing.get_args(hint))
    return hint in {"text": (str, Any), "number": (int, float, Any), "switch": (bool, Any)}[kind]


def _is_texts(hint: Any) -> bool:
    """Whether a parameter may be a list of texts."""
    hint = _bare(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(_is_texts(one) for one in typing.get_args(hint))
    return typing.get_origin(hint) in (tuple, list) and _bare(typing.get_args(hint)[0]) is str


def _item_of(hint: Any) -> type[msgspec.Struct] | None:
    """The class of the items of a list."""
    hint = _bare(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next((found for one in typing.get_args(hint) if (found := _item_of(one))), None)
    inner = typing.get_args(hint)[0] if typing.get_origin(hint) in (tuple, list) and typing.get_args(hint) else None
    return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None


def _field(meant: Meant, base: dict[str, Any], name: str, hint: Any, operation: Any) -> tuple[str, Kind] | None:
    """The field that a parameter is, and its kind."""
    without = {key: value for key, value in base.items() if key != name}
    if choices := _choices(hint):
        return _chosen(meant, without, name, choices, operation)
    if (item := _item_of(hint)) is not None:
        return _list_of(meant, without, name, item)
    if _is_texts(hint):
        made = meant({**without, name: _TEXTS})
        same = [] if made is None else [field for field, one in _values(made).items() if one == tuple(_TEXTS)]
        if len(same) == 1 and type(made) is type(operation):
            return same[0], "list"
    for kind, probe in PROBES.items():
        if not _is_of(hint, kind):
            continue
        value = probe.format(name) if isinstance(probe, str) else probe
        made = meant({**without, name: value})
        if made is None or type(made) is not type(operation):
            continue
        same = [field for field, one in _values(made).items() if type(one) is type(value) and one == value]
        if kind == "switch" and (chosen := _chosen(meant, without, name, (True, False), operation)) is not None:
            return chosen if chosen[1] != {True: True, False: False} else (chosen[0], "switch")
        if len(same) == 1:
            return same[0], kind
        if not same and name not in base and made == operation:
            return "", kind
        if not same and kind == "number":
            scaled = [field for field, one in _values(made).items() if type(one) is int and one == 77_000]
            if scaled:
                return scaled[0], "thousands"
    made = meant({**without, name: [3, 9]})
    if isinstance(made, op.ReadFile) and (made.first_line, made.last_line) == (3, 9):
        return "line_range", "lines"
    return None


def _chosen(
    meant: Meant, without: dict[str, Any], name: str, choices: tuple[Any, ...], operation: Any
) -> tuple[str, Kind] | None:
    """A parameter with a few values: the one field that they set, and to what."""
    made = {choice: meant({**without, name: choice}) for choice in choices}
    if any(type(one) is not type(operation) for one in made.values()):
        return None
    all_values = {choice: _values(one) for choice, one in made.items()}
    first = next(iter(all_values.values()))
    differing = {field for one in all_values.values() for field in one if one[field] != first[field]}
    if len(differing) > 1:
        return None
    if not differing:
        return ("", "switch" if choices == (True, False) else dict.fromkeys(choices, "")) if without else None
    (field,) = differing
    told = {choice: one[field] for choice, one in all_values.items()}
    plain = all(one is None or isinstance(one, str | int | bool) for one in told.values())
    return (field, {choice: msgspec.to_builtins(one) for choice, one in told.items()}) if plain else None


def _list_of(meant: Meant, without: dict[str, Any], name: str, item: type[msgspec.Struct]) -> tuple[str, Kind] | None:
    def one(given: dict[str, Any]) -> Any:
        made = meant({**without, name: [given]})
        listed = next((getattr(made, field) for field in _LISTED if hasattr(made, field)), ())
        return listed[0] if len(listed) == 1 else None

    hints = {each.encode_name: each.type for each in msgspec.structs.fields(item)}
    required = sorted(each.encode_name for each in msgspec.structs.fields(item) if each.required)
    row = _row(one, required, sorted({*hints} - {*required}), hints)
    made = meant({**without, name: next(_candidates(tuple[item, ...], name))})
    field = next((field for field in _LISTED if hasattr(made, field)), None)
    return None if row is None or field is None else (field, row)


def _values(operation: Any) -> dict[str, Any]:
    values = {field: getattr(operation, field) for field in operation.__struct_fields__}
    if isinstance(operation, op.EditFile) and len(operation.edits) == 1:
        (edit,) = operation.edits
        values |= {"old": edit.old, "new": edit.new, "everywhere": edit.everywhere}
        del values["edits"]
    if isinstance(operation, op.AddPlanItem):
        values |= _values(values.pop("item"))
    return values


def _count_lines(meant: Meant, base: dict[str, Any], fields: dict[str, tuple[str, Kind]]) -> None:
    """For vocabularies that give a number of lines instead of the last line."""
    named = {field: name for name, (field, kind) in fields.items() if kind == "number"}
    if {"first_line", "last_line"} <= named.keys():
        made = meant({**base, named["first_line"]: 3, named["last_line"]: 5})
        if isinstance(made, op.ReadFile) and made.last_line == 7:
            fields[named["last_line"]] = ("line_count", "number")


def _implied(operation: Any, said: set[str]) -> dict[str, str | int] | None:
    """The fields that a call sets without saying so; `None` where one of them is neither text nor number."""
    fields = {one.name: one for one in msgspec.structs.fields(operation)}
    found = {}
    for name, field in fields.items():
        value = getattr(operation, name)
        if name in said or (name == "edits" and "old" in said) or value == field.default:
            continue
        if name == "item" and "text" in said:
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


def _agrees(meant: Meant, row: Row, kept: set[str]) -> bool:
    try:
        return all(_read(row, given) in (None, meant(given)) for given in samples(row, kept))
    except TypeError:  # the operation has a field that the call does not say
        return False


def _read(row: Row, given: dict[str, Any]) -> Any:
    if row[0] in op.OPERATIONS:
        made = operations_by(row, given)
        return None if made is None else made[0]
    listing = operations_by(("update_plan", ("items",), {"items": ("items", row)}, {}), {"items": [given]})
    return None if listing is None else listing[0].items[0]  # type: ignore[attr-defined]


def samples(row: Row, kept: set[str]) -> Iterator[dict[str, Any]]:
    """Calls with these parameters, with values of each kind."""
    for place in range(max(map(len, VALUES.values()))):
        for other in (None, *VALUES):
            yield {one: _value(row, one, other, place + number) for number, one in enumerate(sorted(kept))}
            yield {one: _value(row, one, other, place) for one in sorted(kept)}


def _value(row: Row, name: str, other: str | None, place: int) -> Any:
    """A value of the parameter's own kind, or of another that it may be given."""
    kind = row[2][name][1]
    if other is not None and name not in row[1] and place % 2:
        kind = other
    if isinstance(kind, str):
        return VALUES[kind][place % len(VALUES[kind])]
    if isinstance(kind, dict):
        return list(kind)[place % len(kind)]
    return [{one: _value(kind, one, None, place + number) for one in kind[2]} for number in range(1 + place % 2)]


def written() -> str:
    """The table, a tool on each line. A choice is a list of pairs, because not every value is text."""
    told = {
        dialect: {name: [*map(_told, some)] for name, some in sorted(rows(dialect).items())} for dialect in dialects()
    }
    tables = []
    for dialect, tools in told.items():
        others = sorted(names(dialect) - tools.keys())
        lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in {"": others, **tools}.items()]
        tables.append(f"{json.dumps(dialect)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(tables) + "\n}\n"


def names(dialect: str) -> set[str]:
    """Every name that a vocabulary, or the provider's beside it, knows."""
    vocabulary = DIALECTS[dialect]
    parts = [one for one in (vocabulary, vocabulary.provider_dialect) if one is not None]
    return {
        name
        for one in parts
        for table in (one._by_name, one._steer_by_name, one._hosted_by_name)
        for name in (*table, *(name.rpartition(".")[2] for name in table))
    }


def _told(row: Row) -> list[Any]:
    tag, required, fields, implied = row
    return [tag, required, {name: [field, _told_kind(kind)] for name, (field, kind) in fields.items()}, implied]


def _told_kind(kind: Kind) -> Any:
    if isinstance(kind, dict):
        return {"choice": list(kind.items())}
    return kind if isinstance(kind, str) else {"items": _told(kind)}


if __name__ == "__main__":
    FILE.write_text(written())
