"""The fields of every kind of class a parameter may be: structs, dataclasses, attrs, `TypedDict`, named tuples."""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec import NODEFAULT

from .docstrings import describe


class Field(NamedTuple):
    """One named value of an object: a parameter of a tool, a field of a class."""

    name: str
    hint: Any
    default: Any = NODEFAULT
    description: str = ""
    required: bool = True


class ClassInfo(NamedTuple):
    """The fields and descriptions of a class."""

    text: str
    fields: tuple[Field, ...]
    sets_itself: bool = False
    """Whether it has fields that nobody else may give (`init=False`)."""


def is_struct(hint: Any) -> bool:
    return isinstance(getattr(hint, "__origin__", hint), msgspec.StructMeta)


def is_typeddict(hint: Any) -> bool:
    """Whether it is a `TypedDict`, of `typing` or of `typing_extensions`, whose class `typing` does not know."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def has_fields(hint: Any) -> bool:
    """Whether it is a class with fields, which is read from a JSON object."""
    cls = getattr(hint, "__origin__", hint)
    fields = ("__dataclass_fields__", "__attrs_attrs__")
    return is_struct(cls) or is_typeddict(cls) or any(hasattr(cls, name) for name in fields)


def own_doc(cls: Any) -> str:
    """The docstring its author wrote, not one that was inherited or generated."""
    doc = cls.__dict__.get("__doc__") or ""
    generated = (doc.startswith(f"{cls.__name__}(") and doc.endswith(")")) or doc == "An enumeration."
    return "" if generated else doc


_KNOWN: WeakKeyDictionary[type, ClassInfo] | None = None


def class_info(hint: Any) -> ClassInfo:
    """The fields and descriptions of a class, which may have type arguments, with its types resolved.

    Raises `NameError` for a type that cannot be resolved.
    """
    global _KNOWN
    if not isinstance(hint, type):
        return _read_class(hint.__origin__, hint)
    if _KNOWN is None:
        # Reading a class costs more than all else, and one class serves many tools.
        _KNOWN = WeakKeyDictionary()
    info = _KNOWN.get(hint)
    if info is None:
        info = _KNOWN[hint] = _read_class(hint, hint)
    return info


def _read_class(cls: Any, hint: Any) -> ClassInfo:
    said = describe(own_doc(cls))
    return ClassInfo(said.text, tuple(_read_fields(cls, hint, said.parameters)), _sets_itself(cls))


def _sets_itself(cls: Any) -> bool:
    """Whether it has fields of its own. Raises `ValueError` for one that no decoder could leave out."""
    own = [field for field in _declared(cls) if not field.init]
    for field in own:
        missing = type(field.default).__name__ in ("_MISSING_TYPE", "_Nothing")
        if missing and getattr(field, "default_factory", field.default) is field.default:
            raise ValueError(f"`{field.name}` has init=False and no default, so it cannot be read; give it a default")
    return bool(own)


def _declared(cls: Any) -> Iterable[Any]:
    """The fields of a dataclass or an attrs class as its library has them."""
    if hasattr(cls, "__dataclass_fields__"):
        import dataclasses

        return dataclasses.fields(cls)
    return getattr(cls, "__attrs_attrs__", ())


def _read_fields(cls: Any, hint: Any, texts: Mapping[str, str]) -> Iterator[Field]:
    if is_struct(cls):
        for field in msgspec.structs.fields(hint):
            default = _harmless(field.default, field.default_factory, NODEFAULT)
            yield Field(field.encode_name, field.type, default, texts.get(field.name, ""), field.required)
        return
    hints = typing.get_type_hints(cls, include_extras=True)
    arguments = dict(zip(getattr(cls, "__parameters__", ()), typing.get_args(hint), strict=False))
    for name, given, default in _attributes(cls):
        kind, required = _filled(hints.get(name, Any), arguments), given
        while typing.get_origin(kind) in (typing.Required, typing.NotRequired):
            required = typing.get_origin(kind) is typing.Required
            kind = typing.get_args(kind)[0]
        yield Field(name, kind, default, texts.get(name, ""), required)


def _attributes(cls: Any) -> Iterator[tuple[str, bool, Any]]:
    """(name, required, default) of each."""
    if hasattr(cls, "__dataclass_fields__"):
        import dataclasses

        missing: Any = dataclasses.MISSING
        for field in _declared(cls):
            if not field.init:
                continue
            required = field.default is missing and field.default_factory is missing
            yield field.name, required, _harmless(field.default, field.default_factory, missing)
    elif hasattr(cls, "__attrs_attrs__"):
        attr = sys.modules["attr"]
        for attribute in _declared(cls):
            if not attribute.init:
                continue
            made = isinstance(attribute.default, attr.Factory)
            default, factory = (attr.NOTHING, attribute.default.factory) if made else (attribute.default, None)
            yield attribute.name, attribute.default is attr.NOTHING, _harmless(default, factory, attr.NOTHING)
    elif is_typeddict(cls):
        for name in typing.get_type_hints(cls):
            yield name, name in cls.__required_keys__, NODEFAULT
    else:
        for name in cls._fields:
            default = cls._field_defaults.get(name, NODEFAULT)
            yield name, default is NODEFAULT, default


def _harmless(default: Any, factory: Any, missing: Any) -> Any:
    """The default itself; of factories only those that cannot do anything are called."""
    if default is not missing:
        return default
    return factory() if factory in (list, dict, set, frozenset, tuple) else NODEFAULT


def _filled(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """A type with its type variables replaced."""
    if not arguments:
        return hint
    if isinstance(hint, TypeVar):
        return arguments.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    return hint[tuple(arguments.get(parameter, parameter) for parameter in parameters)] if parameters else hint
