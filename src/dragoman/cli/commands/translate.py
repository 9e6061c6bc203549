"""`dragoman translate`: a call of one vocabulary in the words of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.vocabulary import complete_dialects, native_calls, shown, text_from
from dragoman.errors import ToolError

if TYPE_CHECKING:
    from dragoman.dialects import Loss
    from dragoman.model import NativeCall, Operation


class Translated(msgspec.Struct, frozen=True):
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
    help="Its vocabulary, or the file it is in.",
)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="DIALECT",
    shell_complete=complete_dialects,
    help="The other one, or the file it is in.",
)
@json_option
@click.pass_obj
def command(console: Console, *, source: str, target: str, as_json: bool) -> ExitCode:
    """Translate a tool call, given as JSON on standard input, from one vocabulary to another.

    \b
    echo '{"name": "Read", "arguments": {"file_path": "a.py"}}' | dragoman translate --from claude_code --to gemini_cli
    """
    from dragoman.dialects.plugins import dialect_named

    console.configuration()
    heard, spoken = dialect_named(source, files=True), dialect_named(target, files=True)
    results = []
    for native in native_calls(text_from("-")):
        call = heard.read_call(native)
        if call.failure is not None:
            raise ToolError(call.failure.message, kind=call.failure.kind, details=call.failure.details)
        calls = tuple(said for operation in call.operations for said in spoken.write_call(native.id, operation))
        loss = tuple(lost for operation in call.operations for lost in spoken.loss(operation))
        results.append(Translated(call.operations, calls, loss, call.unmapped))
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
