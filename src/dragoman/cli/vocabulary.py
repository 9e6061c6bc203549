"""What the commands about vocabularies share: dialects by name or file, operations and calls from words typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from dragoman import model
from dragoman.errors import DragomanError, ToolError, nearest
from dragoman.model.json_text import read_json

from .terminal.console import Console

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dragoman.dialects import Dialect, Loss


_MAX_TEXT: Final = 64 << 20
"""Bytes of a text that is read from a file or a pipe as a whole; a pipe may have no end."""


class NativeWords(msgspec.Struct, frozen=True):
    """An operation in the words of a vocabulary, and what is lost by it."""

    calls: tuple[model.NativeCall, ...]
    loss: tuple[Loss, ...]


def dialects_named(console: Console, names: Sequence[str]) -> list[Dialect]:
    """The dialects of these names or files, or all that are listed; a plugin that is broken is left out of all."""
    from dragoman.dialects.plugins import dialect_named

    found: dict[str, Dialect] = {}
    for dialect in [dialect_named(name, files=True) for name in names] or _all_dialects(console):
        if found.setdefault(dialect.name, dialect) is not dialect:
            raise click.UsageError(f'Two of these vocabularies are called "{dialect.name}".')
    return list(found.values())


def _all_dialects(console: Console) -> Iterator[Dialect]:
    from dragoman.dialects import DIALECTS

    for name in DIALECTS:
        try:
            yield DIALECTS[name]
        except DragomanError as error:
            if name in DIALECTS.built_in:
                raise
            console.warn(str(error))


def complete_dialects(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of dialects that begin so; where none does, it may be a file."""
    from click.shell_completion import CompletionItem

    from dragoman.registry import DIALECTS

    names = [CompletionItem(name) for name in DIALECTS if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def complete_operations(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of operations that begin so."""
    return [tag for tag in model.OPERATIONS if tag.startswith(incomplete)]


def arguments_of(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=value` words as arguments: `@file` takes a value from a file, `@-` from standard input, `@@` is an "@"."""
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise click.UsageError(f'"{pair}" is not of the form key=value.')
        if key in arguments:
            raise click.UsageError(f'"{key}" is given twice.')
        arguments[key] = (
            text_from(value[1:]) if value.startswith("@") and value[1:2] != "@" else value.removeprefix("@")
        )
    return arguments


def text_from(path: str) -> str:
    """The text of a file, or of standard input for "-", with its line ends as they are."""
    name = "Standard input" if path == "-" else path
    try:
        with click.open_file(path, "rb") as file:
            content = file.read(_MAX_TEXT + 1)
            if len(content) > _MAX_TEXT:
                raise click.UsageError(f"{name} has more than {_MAX_TEXT >> 20} MiB, which is too much for one text.")
            return str(content, "utf-8")
    except OSError as error:
        raise click.UsageError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{name} is not UTF-8 text (byte {error.start}).") from error


def operation_of(tag: str, pairs: Sequence[str]) -> model.Operation:
    """The operation these words mean."""
    from dragoman.schema import Reader

    if tag not in model.OPERATIONS:
        raise click.UsageError(f'There is no operation "{tag}".{nearest(tag, model.OPERATIONS)}')
    try:
        operation: model.Operation = Reader.of_type(model.OPERATIONS[tag], tag).read(arguments_of(pairs))[0]
    except ToolError as error:
        raise click.UsageError(error.message) from error
    return operation


def native_calls(text: str) -> list[model.NativeCall]:
    """Calls given as JSON: one object or a list, `{"name": …, "arguments": …}`."""

    class Given(msgspec.Struct, forbid_unknown_fields=True):
        name: str
        arguments: dict[str, Any] | str = {}
        input: dict[str, Any] | str = {}
        id: str = "1"
        namespace: str | None = None
        type: str | None = None
        call_id: str | None = None

    try:
        given = read_json(text, list[Given] | Given)
    except msgspec.DecodeError as error:
        form = '{"name": "read_file", "arguments": {"file_path": "a.py"}}'
        raise ToolError(f"standard input is not a call: {error}. Write {form}, or a list of such.") from error
    return [
        model.NativeCall(call.call_id or call.id, call.name, _object(call.arguments or call.input), call.namespace)
        for call in (given if isinstance(given, list) else [given])
    ]


def _object(arguments: dict[str, Any] | str) -> dict[str, Any] | str:
    """Some APIs write the arguments as JSON inside a string; any other text is a freeform tool's input."""
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        try:
            return read_json(arguments, dict[str, Any])
        except msgspec.DecodeError:
            return arguments
    return arguments


def shown(call: model.NativeCall) -> str:
    """A native call on one line; freeform text below its name."""
    name = f"{call.namespace}.{call.name}" if call.namespace else call.name
    if isinstance(call.arguments, str):
        return f"{name}\n{call.arguments}"
    return f"{name} {msgspec.json.encode(call.arguments).decode()}"
