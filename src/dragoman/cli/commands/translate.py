"""`dragoman translate`: a call of one vocabulary in the words of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.vocabulary import complete_dialects, native_calls, shown, text_from
from dragoman.errors import ToolError, Unspeakable

if TYPE_CHECKING:
    from dragoman.dialects import Loss
    from dragoman.model import NativeCall, Operation


class Shown(msgspec.Struct, frozen=True):
    """What a call means, how the other vocabulary says it, and what got lost on either side."""

    operations: tuple[Operation, ...]
    calls: tuple[NativeCall, ...]
    loss: tuple[Loss, ...]
    unmapped: dict[str, Any]


@click.command
@click.option(
    "--from",
    "source",
    required=True,
    metavar="DIALECT",
    shell_complete=complete_dialects,
    help="The vocabulary of the call, or the file it is in.",
)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="DIALECT",
    shell_complete=complete_dialects,
    help="The vocabulary to translate to, or the file it is in.",
)
@json_option
@click.pass_obj
def command(console: Console, *, source: str, target: str, as_json: bool) -> ExitCode:
    """Translate a tool call, given as JSON on standard input, from one vocabulary to another.

    \b
    echo '{"name": "Read", "arguments": {"file_path": "a"}}' | dragoman translate --from claude_code --to gemini_cli
    """
    from dragoman.dialects import Loss
    from dragoman.dialects.plugins import dialect_named
    from dragoman.dialects.translation import Translation

    console.configuration()
    translation = Translation(dialect_named(source, files=True), dialect_named(target, files=True))
    results = []
    for native in native_calls(text_from("-")):
        translated = translation.call(native)
        call = translated.source
        if call.failure is not None:
            raise ToolError(call.failure.message, kind=call.failure.kind, details=call.failure.details)
        if not translated.calls:
            raise Unspeakable(target, native.name, translated.lost[0].reason)
        loss = tuple(Loss(lost.field, lost.reason) for lost in translated.lost if lost.field not in call.unmapped)
        results.append(Shown(call.operations, tuple(one.native for one in translated.calls), loss, call.unmapped))
    if as_json:
        console.json(results)
        return ExitCode.OK
    for result in results:
        for said in result.calls:
            console.line(shown(said))
        for lost in result.loss:
            console.warn(f"{lost.field} is lost: {lost.reason}")
        for name in result.unmapped:
            console.warn(f"the parameter {name!r} has no meaning outside {source}")
    return ExitCode.OK
