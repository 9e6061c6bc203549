"""`dragoman tools`: the tools as a model sees them, and how well each vocabulary says each operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.terminal.console import Console, json_option
from dragoman.cli.vocabulary import complete_dialects, dialects_named

if TYPE_CHECKING:
    from dragoman.dialects import Dialect, Fidelity


@click.command
@click.option(
    "--dialect",
    "names",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_dialects,
    help="Only this vocabulary, or the one in this file. May be repeated.",
)
@click.option("--version", "at_version", metavar="VERSION", help="What this version of the client offers.")
@click.option("--family", metavar="MODEL", help="What this family of models is offered, e.g. gemini-3-pro.")
@click.option("--fidelity", is_flag=True, help="Show how well each operation can be expressed, and what is lost.")
@click.option("--markdown", metavar="FILE", help="Write --fidelity as a page of Markdown. - is standard output.")
@click.option("--html", metavar="FILE", help="Write --fidelity as a self-contained web page.")
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    names: tuple[str, ...],
    at_version: str | None,
    family: str | None,
    fidelity: bool,
    markdown: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Show the tools each vocabulary offers a model.

    With --fidelity, show instead what of each operation is said exactly, renamed, reshaped, only nearly
    (approximated), not at all (unsaid, unspoken), or only read, with the reason.
    """
    if (markdown or html) and not fidelity:
        raise click.UsageError("--markdown and --html are pages of --fidelity.")
    console.configuration()
    dialects = [dialect.at(at_version, family) for dialect in dialects_named(console, names)]
    if markdown or html:
        _write_pages(dialects, markdown, html)
    elif fidelity:
        _show_fidelity(console, dialects, as_json=as_json)
    elif as_json:
        console.json({dialect.name: dialect.definitions() for dialect in dialects})
    else:
        _show_tools(console, dialects)


def _show_tools(console: Console, dialects: Sequence[Dialect]) -> None:
    from dragoman.model import FunctionDefinition

    rows = []
    for dialect in dialects:
        for definition in dialect.definitions():
            offered = definition.parameters if isinstance(definition, FunctionDefinition) else None
            name = ".".join(filter(None, (getattr(definition, "namespace", None), definition.name)))
            rows.append(
                (dialect.name, name, _parameters(offered), _first_sentence(getattr(definition, "description", "")))
            )
    console.table(("dialect", "tool", "parameters", "what it does"), rows)


def _parameters(schema: dict[str, Any] | None) -> str:
    if schema is None:
        return "(free text)"
    required = schema.get("required", ())
    return ", ".join(name if name in required else f"{name}?" for name in schema["properties"])


def _first_sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def _show_fidelity(console: Console, dialects: Sequence[Dialect], *, as_json: bool) -> None:
    rows = {dialect.name: dialect.fidelity() for dialect in dialects}
    if as_json:
        console.json(rows)
        return
    table = [
        (name, row.operation, row.native or "", _field(row), row.parameter or "", row.status, row.reason or "")
        for name, found in rows.items()
        for row in found
    ]
    console.table(("dialect", "operation", "tool", "field", "parameter", "how", "reason"), table)
    for name, found in rows.items():
        console.note(f"{name}: {_summary(found)}")


def _field(row: Fidelity) -> str:
    return f"result: {row.result}.{row.field}" if row.result else row.field or ""


def _write_pages(dialects: Sequence[Dialect], markdown: str | None, html: str | None) -> None:
    from dragoman.cli import mapping

    table = mapping.mapped({dialect.name: dialect.fidelity() for dialect in dialects})
    for path, write in ((markdown, mapping.markdown), (html, mapping.html)):
        if path:
            with click.open_file(path, "w", encoding="utf-8") as file:
                file.write(write(table))


def _summary(rows: Sequence[Fidelity]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())
