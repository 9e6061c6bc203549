"""`dragoman query`: SQL over all recorded sessions."""

from __future__ import annotations

import sys
from typing import Any

import click

from .console import Console, ExitCode, json_option
from .filter_options import query_of


@click.command
@click.argument("sql", required=False)
@click.option("--in", "wanted", multiple=True, metavar="PATH|ID", help="Only these files, folders or sessions.")
@click.option("--tables", is_flag=True, help="Print the tables and their columns, and do nothing else.")
@json_option
@click.pass_obj
def command(console: Console, *, sql: str | None, wanted: tuple[str, ...], tables: bool, as_json: bool) -> ExitCode:
    """Ask recorded sessions in SQL (DuckDB); `-` reads it from standard input.

    There are the tables sessions, turns, steps, calls, operations, outcomes and usage; `--tables` describes them. The
    SQL can reach neither files nor the network. With --json each row is an object on a line of its own.

    \b
    dragoman query "SELECT name, count(*) FROM calls GROUP BY name ORDER BY 2 DESC"
    dragoman query "SELECT model, sum(tokens), sum(cost) FROM usage WHERE NOT repeated GROUP BY model"
    """
    from dragoman.errors import QueryRefused
    from dragoman.logs import tables_page

    if tables:
        console.line(tables_page().rstrip())
        return ExitCode.OK
    if sql is None:
        raise click.UsageError("say what to ask: SQL, or - to read it from standard input; --tables shows the tables.")
    text = sys.stdin.read() if sql == "-" else sql
    query = query_of(console, wanted)
    try:
        result = query.sql(text)
    except QueryRefused as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        for row in result.dicts():
            console.json({name: _plain(cell) for name, cell in row.items()})
    elif result.columns:
        console.table(result.columns, [[_shown(cell) for cell in row] for row in result.rows])
    return ExitCode.OK


def _plain(cell: Any) -> Any:
    """What DuckDB gives, as JSON has it: times, decimals and other values of its own are texts."""
    if isinstance(cell, list | tuple):
        return [_plain(one) for one in cell]
    if isinstance(cell, dict):
        return {str(name): _plain(one) for name, one in cell.items()}
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    if isinstance(cell, float):
        return cell if cell == cell and abs(cell) != float("inf") else None
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def _shown(cell: Any) -> str:
    return "" if cell is None else str(cell)
