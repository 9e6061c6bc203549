"""Every public name says what it is, and every parameter of it can be seen by an editor."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from tests.repository.test_doors import DOORS

MODEL = ("operations", "outcomes", "calls", "conversation", "request", "events")


def public() -> Iterator[tuple[str, Any]]:
    """Every class and function that a door lets through, and the methods and properties of those classes."""
    modules = {**DOORS, **{f"dragoman.model.{name}": None for name in MODEL}}
    for module_name, names in modules.items():
        module = import_module(module_name)
        for name in names or [name for name in vars(module) if not name.startswith("_")]:
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isroutine(value)) or not is_ours(value):
                continue
            yield f"{module_name}.{name}", value
            for member, found in vars(value).items() if inspect.isclass(value) else ():
                function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
                if inspect.isfunction(function) and (not member.startswith("_") or member == "__init__"):
                    yield f"{module_name}.{name}.{member}", function


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("dragoman")


def is_described(name: str, value: Any) -> bool:
    text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    if text and not (inspect.isclass(value) and text.startswith(f"{value.__name__}(")):  # a dataclass makes one
        return True
    if name.endswith(".__init__"):
        return True  # the class describes it
    if inspect.isclass(value) or "." not in value.__qualname__:
        return False
    owner, _, member = name.rpartition(".")
    module, _, kind = owner.rpartition(".")
    bases = getattr(import_module(module), kind).__mro__[1:-1]
    return any(getattr(getattr(base, member, None), "__doc__", None) for base in bases)


def test_every_public_name_has_a_docstring() -> None:
    assert sorted(name for name, value in public() if not is_described(name, value)) == []


RECORDS = {"event", "knowing"}  # of a Normaliser: the fields of the record that a format's own file names


def test_no_public_parameter_hides_behind_keywords_of_any_type() -> None:
    hidden = [
        name
        for name, value in public()
        if inspect.isfunction(value) and name.rpartition(".")[2] not in RECORDS
        for parameter in inspect.signature(value).parameters.values()
        if parameter.kind is parameter.VAR_KEYWORD and parameter.annotation in ("Any", "object")
    ]
    assert hidden == []
