"""What of a vocabulary is offered: to which version and family of models, and as which definition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from dragoman.model import operations as op
from dragoman.model.calls import ExecutedBy
from dragoman.model.request import Definition, FreeformDefinition, FunctionDefinition, ProviderDefinition
from dragoman.schema import schema_of

from .spelling import REQUIRED, Parameter, Spelling
from .versions import later, version_number, within

AnySpelling = type[Spelling[Any]]


def define(spelling: AnySpelling, version: str | None = None, ignored: Collection[str] = ()) -> Definition:
    """What a model is offered for a spelling, without the parameters that mean an `ignored` field.

    One that is required stays, with a description that promises nothing.
    """
    about = next((text for field, text in spelling.unhonoured.items() if field in ignored), spelling.__doc__ or "")
    description = " ".join(about.split())
    if spelling.wire_type is not None or spelling.provider_id is not None:
        return ProviderDefinition(
            spelling.provider_id or spelling.wire_type or "",
            spelling.wire_type or spelling.native_name,
            spelling.native_name,
            dict(spelling.settings),
        )
    if spelling.freeform is not None:
        freeform = spelling.freeform
        return FreeformDefinition(
            spelling.native_name, description, freeform.syntax, freeform.grammar, spelling.namespace
        )
    return FunctionDefinition(
        spelling.native_name, description, offered_schema(spelling, version, ignored), namespace=spelling.namespace
    )


def offered_schema(spelling: AnySpelling, version: str | None = None, ignored: Collection[str] = ()) -> dict[str, Any]:
    """The JSON Schema of the parameters that are offered: those that mean something, in this version."""
    hints = _hints(spelling)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field, wire in zip(spelling.__struct_fields__, spelling.__struct_encode_fields__, strict=True):
        parameter = spelling.parameters[field]
        if parameter.reason is not None or not within(parameter.since, parameter.until, version):
            continue
        if parameter.means in ignored and parameter.default is not REQUIRED:
            continue
        for unhonoured, description in parameter.unhonoured.items():
            if unhonoured in ignored:
                parameter = msgspec.structs.replace(parameter, description=description)
        properties[wire] = _offered(hints[field], parameter)
        if parameter.default is REQUIRED:
            required.append(wire)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


_hints = lru_cache(maxsize=4096)(get_type_hints)  # evaluating annotations costs more than all else here


def _offered(hint: Any, parameter: Parameter) -> dict[str, Any]:
    """`None` is how a field says "not given"; a native call says so by leaving it out, so it is not offered."""
    if parameter.default is None and get_origin(hint) in (Union, UnionType):
        hint = Union[tuple(member for member in get_args(hint) if member is not type(None))]  # noqa: UP007
    schema = {**_never_null(schema_of(hint)), **(parameter.schema or {})}
    if parameter.description:
        schema["description"] = parameter.description
    if parameter.default is not REQUIRED and parameter.default is not None and parameter.default != ():
        schema["default"] = msgspec.to_builtins(parameter.default)
    return schema


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The same for what stands inside: a name that may be left out is not offered as null either."""
    schema = dict(schema)
    if isinstance(schema.get("items"), dict):
        schema["items"] = _never_null(schema["items"])
    if "properties" in schema:
        schema["properties"] = {name: _never_null(inner) for name, inner in schema["properties"].items()}
    if "default" in schema and schema["default"] is None and "anyOf" in schema:
        del schema["default"]
        choices = [inner for inner in schema.pop("anyOf") if inner != {"type": "null"}]
        schema.update(_never_null(choices[0]) if len(choices) == 1 else {"anyOf": choices})
    return schema


def qualified(namespace: str | None, name: str) -> str:
    """A native name with its namespace."""
    return name if namespace is None else f"{namespace}.{name}"


def run_by(spelling: AnySpelling, executed_by: ExecutedBy | None) -> bool:
    return executed_by is None or spelling.executed_by is executed_by


def ignored_fields(spelling: AnySpelling, ignoring: Mapping[type[op.Operation], Collection[str]]) -> set[str]:
    """Fields that none of the operations a tool speaks is honoured in."""
    fields = [set(ignoring.get(operation, ())) for operation in spelling.operation_types]
    return set.intersection(*fields) if fields else set()


def last_before(captured: Sequence[str], version: str | None) -> str | None:
    if version is None or not captured:
        return version
    earlier = [one for one in captured if not later(version_number(one), version)]
    return earlier[-1] if earlier else captured[0]


def read_at(spellings: Sequence[AnySpelling], version: str | None, captured: str | None) -> list[AnySpelling]:
    """The spellings of a name as a version reads calls: its own first, then those of other versions. Its own are those
    of the version that was captured last before it.

    Where its own has the same parameters as one that it was made from, or that was made from it, it alone is asked:
    what this version refuses, the other one would read with its meaning.
    """
    own = [one for one in spellings if within(one.since, one.until, version if one.bounds_tried else captured)]
    others = [one for one in spellings if one not in own and not any(_reads_the_same(one, other) for other in own)]
    return [*own, *others]


def _reads_the_same(one: AnySpelling, other: AnySpelling) -> bool:
    derived = issubclass(one, other) or issubclass(other, one)
    return derived and one.__struct_encode_fields__ == other.__struct_encode_fields__


def for_family(families: tuple[str, ...] | None, family: str | None) -> bool:
    """Whether a model family is among these; a glob with "!" before it leaves some out."""
    if families is None or family is None:
        return True
    left_out = [pattern[1:] for pattern in families if pattern.startswith("!")]
    if any(fnmatchcase(family, pattern) for pattern in left_out):
        return False
    return len(left_out) == len(families) or any(fnmatchcase(family, pattern) for pattern in families)


def overlap(one: AnySpelling, other: AnySpelling) -> bool:
    if one.families is not None and other.families is not None and not set(one.families) & set(other.families):
        return False
    first, second = sorted((one, other), key=lambda spelling: version_number(spelling.since or "0"))
    return first.until is None or second.since is None or not later(version_number(second.since), first.until)
