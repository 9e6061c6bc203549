"""`dragoman query`: SQL over all recorded sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from dragoman import logs
from dragoman.cli.filter_options import corpus_option, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.vocabulary import text_from
from dragoman.errors import QueryRefused
from dragoman.logs import history


@click.command
@click.argument("sql", required=False)
@click.option("--in", "wanted", multiple=True, metavar="PATH|ID", help="Only these files, folders or sessions.")
@corpus_option
@click.option("--tables", is_flag=True, help="Print the tables and their columns, and do nothing else.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="Maximum time the query may run.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(min=1),
    metavar="N",
    default=100_000,
    show_default=True,
    help="Maximum number of rows.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(min=16),
    metavar="MB",
    default=2048,
    show_default=True,
    help="Maximum memory the query may use.",
)
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    sql: str | None,
    wanted: tuple[str, ...],
    corpus: str | None,
    tables: bool,
    timeout: float,
    max_rows: int,
    max_memory: int,
    as_json: bool,
) -> ExitCode:
    """Query recorded sessions with SQL (DuckDB); `-` reads it from standard input.

    There are the tables sessions, turns, steps, calls, operations, outcomes and usage; `--tables` describes them. The
    SQL can reach neither files nor the network. With --json each row is an object on a line of its own. A query that
    exceeds a limit is stopped with exit code 6; rows printed by then remain.

    \b
    dragoman query "SELECT name, count(*) FROM calls GROUP BY 1"
    dragoman query "SELECT sum(cost) FROM usage WHERE NOT repeated"
    """
    if tables:
        console.line(history.tables_page().rstrip())
        return ExitCode.OK
    if sql is None:
        raise click.UsageError("say what to ask: SQL, or - to read it from standard input; --tables shows the tables.")
    text = text_from("-") if sql == "-" else sql
    query = query_of(console, wanted, corpus=corpus)
    limits = logs.SqlLimits(seconds=timeout, rows=max_rows, memory=max_memory << 20)
    try:
        with query.ask_sql(text, limits) as asked:
            if as_json:
                names = asked.names
                for row in asked:
                    console.json({name: _plain(cell) for name, cell in zip(names, row, strict=True)})
            elif asked.columns:
                console.table(asked.columns, _cells(asked))
    except QueryRefused as error:
        raise click.UsageError(str(error)) from error
    return ExitCode.OK


def _cells(asked: history.Asked) -> Iterator[list[str]]:
    return (["" if cell is None else str(cell) for cell in row] for row in asked)


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
