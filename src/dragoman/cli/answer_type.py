"""What `--schema` names: the type of an answer."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import click

_HINT = "--schema"


def wanted_type(given: str) -> Any:
    """A JSON Schema from a file, or a class: of a module (`package.module:Name`) or a Python file (`file.py:Name`)."""
    place, colon, name = given.rpartition(":")
    if not colon or not name.isidentifier():
        return _schema(Path(given))
    found: Any = _module(place)
    if not hasattr(found, name):
        raise click.BadParameter(f"{place} has no {name}.", param_hint=_HINT)
    return getattr(found, name)


def _schema(path: Path) -> dict[str, Any]:
    import msgspec

    from dragoman.cli.vocabulary import text_from

    try:
        schema = msgspec.json.decode(text_from(str(path)))
    except click.UsageError as error:
        raise click.BadParameter(f"cannot read {path}: {error.message}", param_hint=_HINT) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise click.BadParameter(f"{path} is not JSON: {error}.", param_hint=_HINT) from error
    if not isinstance(schema, dict):
        raise click.BadParameter(f"{path} is not a JSON Schema: it holds no object.", param_hint=_HINT)
    return schema


def _module(place: str) -> Any:
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        import sys

        sys.modules.setdefault(spec.name, module)  # dataclasses look their own module up
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code, which can raise anything
        raise click.BadParameter(f"cannot import {place}: {error}.", param_hint=_HINT) from error
    return module


def plain_value(value: Any) -> Any:
    """A typed answer as plain JSON data, with the fields that have their defaults."""
    import dataclasses

    import msgspec

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Not by msgspec: it passes over defaults that only the class has.
        return {field.name: plain_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):  # pydantic's
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(one) for one in value]
    if isinstance(value, dict):
        return {key: plain_value(one) for key, one in value.items()}
    return msgspec.to_builtins(value, enc_hook=plain_value)
