"""Types that msgspec does not decode by itself: what stands for each where msgspec is given the type to decode.

Those are the types of other libraries, unions of several classes without a tag, and classes that only a call of the
class makes right: attrs classes with converters, and every class around one of these.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar, cast

import msgspec

from .classes import class_info, has_fields, is_struct


def is_pydantic(cls: Any) -> bool:
    """Whether a class is a pydantic model. pydantic is never loaded to find out: a model's author has loaded it."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def has_pydantic_rules(kind: Any) -> bool:
    """Whether pydantic alone knows how to hold to a class, which is no model, or to a fact in `Annotated`."""
    if "pydantic" not in sys.modules or is_pydantic(kind):
        return False
    rules = ("__get_pydantic_core_schema__", "__is_pydantic_dataclass__")
    return is_predicate(kind) or any(hasattr(kind, name) for name in rules)


def is_predicate(fact: Any) -> bool:
    """Whether it is a function of annotated-types that a value must satisfy; pydantic calls it."""
    annotated_types = sys.modules.get("annotated_types")
    return annotated_types is not None and isinstance(fact, annotated_types.Predicate)


def is_custom(kind: Any) -> bool:
    """Whether reading a class is left to our hook."""
    return is_pydantic(kind) or (isinstance(kind, type) and issubclass(kind, StandIn))


def is_path(cls: Any) -> bool:
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and isinstance(cls, type) and issubclass(cls, pathlib.PurePath)


def read_custom(kind: Any, value: Any) -> Any:
    """Read what msgspec leaves to others: pydantic's models, by their own strict rules, paths, and stand-ins."""
    if kind is object:
        return value
    if is_pydantic(kind):
        # Strict, and from JSON: its own silent coercions would go unreported, and a date is a text here.
        return kind.model_validate_json(msgspec.json.encode(value), strict=True)
    if is_path(kind) and isinstance(value, str):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, StandIn):
        return kind.read(value)
    raise TypeError(f"Expected `{getattr(kind, '__name__', kind)}`, got `{type(value).__name__}`")


def decodes(hint: Any) -> bool:
    """Whether msgspec decodes the unions in a type as they are. What else is wrong is told where types are checked."""
    try:
        msgspec.json.Decoder(hint, dec_hook=read_custom)
    except TypeError as error:
        return "union" not in str(error)
    except Exception:  # noqa: BLE001 - whatever it is, it is not that it is a union
        return True
    return True


class _OfAll(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec asks whether its hook gave what was wanted; a value of any type is that


class StandIn(metaclass=_OfAll):
    """Stands for a type where msgspec is given the type to decode: a class that it leaves to its hook."""

    read: ClassVar[Callable[[Any], Any]]
    adapter: ClassVar[Callable[[], Any]]
    """pydantic's own, where it stands for a type that pydantic reads."""
    parts: ClassVar[tuple[tuple[str, Any], ...]] = ()
    """The names and types of its fields, where it stands for a class."""


def _stand_in(read: Callable[[Any], Any]) -> type[StandIn]:
    return cast("type[StandIn]", _OfAll("StandIn", (StandIn,), {"read": staticmethod(read)}))


def any_of(members: Sequence[Any]) -> type[StandIn]:
    """Stands for a union. A class that knows every field is tried before one that would drop some of them; otherwise
    members are tried in the order in which they were written."""

    def read(value: Any) -> Any:
        keys = value.keys() if isinstance(value, dict) else None
        reasons = []
        for member in sorted(members, key=lambda member: keys is None or not keys <= _names(member)):
            try:
                return msgspec.convert(value, member, str_keys=True, dec_hook=read_custom)
            except msgspec.ValidationError as error:
                reasons.append(str(error))
        raise ValueError("\nor ".join(reasons))

    return _stand_in(read)


def by_pydantic(hint: Any) -> type[StandIn]:
    """Stands for a type that pydantic reads."""

    @cache
    def adapter() -> Any:
        return sys.modules["pydantic"].TypeAdapter(hint)

    stand_in = _stand_in(lambda value: adapter().validate_json(msgspec.json.encode(value), strict=True))
    stand_in.adapter = staticmethod(adapter)
    return stand_in


def later() -> type[StandIn]:
    """Stands for a type that may be met again inside itself; `given_parts` or `given_type` says what it is."""
    return _stand_in(lambda value: value)


def given_type(stand_in: type[StandIn], hint: Any) -> None:
    """Gives a stand-in what it is read as."""
    stand_in.read = staticmethod(lambda value: msgspec.convert(value, hint, str_keys=True, dec_hook=read_custom))


_LEFT_OUT: Any = object()


def given_parts(stand_in: type[StandIn], hint: Any, parts: Iterable[tuple[str, Any, bool]]) -> None:
    """Gives a class its parts: (name, type that msgspec decodes, required) of each.

    They are decoded into a struct with the same fields, and the class is called with those that are there.
    """
    cls = typing.get_origin(hint) or hint
    config = getattr(cls, "__struct_config__", None)
    is_row = issubclass(cls, tuple) or (config is not None and config.array_like)
    rows = list(parts)
    arguments = [(f"field_{index}", name) for index, (name, _, _) in enumerate(rows)]
    fields = [
        (attribute, kind) if required else (attribute, kind, _LEFT_OUT)
        for (attribute, _), (_, kind, required) in zip(arguments, rows, strict=True)
    ]
    decoded = msgspec.defstruct(
        cls.__name__,
        fields,
        kw_only=not is_row,
        array_like=is_row,
        rename=dict(arguments),
        forbid_unknown_fields=issubclass(cls, tuple) if config is None else config.forbid_unknown_fields,
        tag=None if config is None else config.tag,
        tag_field=None if config is None else config.tag_field,
    )
    msgspec.json.Decoder(decoded, dec_hook=read_custom)  # raises for what cannot be decoded
    names = _argument_names(hint)

    def read(value: Any) -> Any:
        row = msgspec.convert(value, decoded, str_keys=True, dec_hook=read_custom)
        given = {names.get(name, name): getattr(row, attribute) for attribute, name in arguments}
        return cls(**{name: part for name, part in given.items() if part is not _LEFT_OUT})

    stand_in.read = staticmethod(read)
    stand_in.parts = tuple((name, kind) for name, kind, _ in rows)


def has_converters(cls: Any) -> bool:
    """Whether an attrs class changes what it is given; msgspec would set its fields without asking it."""
    return any(attribute.converter is not None for attribute in getattr(cls, "__attrs_attrs__", ()))


def _argument_names(hint: Any) -> dict[str, str]:
    """What fields are called by when the class is called, where it is not their name in JSON."""
    cls = typing.get_origin(hint) or hint
    if is_struct(cls):
        return {field.encode_name: field.name for field in msgspec.structs.fields(hint)}
    return {attribute.name: attribute.alias for attribute in getattr(cls, "__attrs_attrs__", ())}


def _names(member: Any) -> set[str]:
    """The fields of a class, by the names they have in JSON."""
    if isinstance(member, type) and issubclass(member, StandIn):
        return {name for name, _ in member.parts}
    if has_fields(member):
        return {field.name for field in class_info(member).fields}
    fields = getattr(member, "model_fields", {})  # pydantic's
    return {alias for name, field in fields.items() for alias in (name, field.alias, field.validation_alias) if alias}
