"""`dragoman stats`: calls, failures, tokens, cost and durations, counted by what one likes."""

from __future__ import annotations

import gc
from typing import Any

import click
import msgspec

from dragoman import logs
from dragoman.cli.filter_options import complete_sessions, corpus_option, filter_options, operation_named, query_of
from dragoman.cli.log_files import log_places
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.logs import history

_BY = (
    *("tool", "operation", "client", "model", "project", "session", "day", "week", "month", "block"),
    *("verdict", "rule", "user", "team", "machine"),
)


class _Columns(click.Choice[str]):
    """One or more names of columns, with commas between them."""

    name = "columns"

    def __init__(self) -> None:
        super().__init__(_BY)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return tuple(super(_Columns, self).convert(name, param, ctx) for name in str(value).split(","))


@click.command
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...", shell_complete=complete_sessions)
@click.option(
    "--by",
    type=_Columns(),
    metavar="COLUMN",
    multiple=True,
    callback=lambda context, option, given: tuple(dict.fromkeys(name for names in given for name in names)),
    help=f"What to count by: {', '.join(_BY)}. Several with commas, or by repeating the option.",
)
@click.option("--tool", help="Only calls of this tool, by its native name.")
@click.option("--op", "operation", callback=operation_named, help="Only calls that mean this operation (run_command).")
@click.option(
    "--tokens", "tokens_only", is_flag=True, help="Tokens and cost alone: no call is looked at, which is quick."
)
@corpus_option
@filter_options(limit=50)
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: tuple[str, ...],
    by: tuple[str, ...],
    tool: str | None,
    operation: str | None,
    tokens_only: bool,
    corpus: str | None,
    asked: logs.Filter,
    as_json: bool,
) -> ExitCode:
    """Count what was done: in every recorded session, or in the files, folders and sessions named.

    Tokens are counted once for each exchange with a model, even if several sessions record it; costs are the list
    prices of that day. Unknown values are shown as "?" and counted. --since, --until and --model select calls and
    exchanges; days are in UTC, newest first. --limit is the number of groups shown.

    \b
    dragoman stats --by tool --since 1w
    dragoman stats --by day,model --tokens
    dragoman stats --by client,verdict --since 1w
    dragoman stats ~/.codex/sessions --by operation --json
    """
    if tokens_only and (
        tool is not None or operation is not None or {"tool", "operation", "verdict", "rule"} & set(by)
    ):
        raise click.UsageError("Tokens belong to exchanges with a model, not to tools: leave --tokens out.")
    limit = asked.limit
    asked = msgspec.structs.replace(asked, tool=tool, operation=operation, limit=None)
    if tokens_only and corpus is None:
        gc.disable()  # millions of small things are made and let go, none of them in a cycle, and then this ends
        places = log_places(console)
        query = logs.Query(homes=places.homes, folders=places.folders, paths=wanted or None)
        click.get_current_context().call_on_close(query.close)
    else:
        query = query_of(console, wanted, corpus=corpus)
    found = logs.statistics(query, asked, by, tokens_only=tokens_only, limit=limit)  # type: ignore[arg-type]
    if as_json:
        console.json(found)
        return ExitCode.OK if found.total.sessions else ExitCode.NO
    if not found.total.sessions:
        console.note("No session was found to count. `dragoman sources` shows where they are looked for.")
        return ExitCode.NO
    rows = [_cells(by, group) for group in found.groups]
    rows.append(("total", *[""] * (len(by) - 1), *_cells((), found.total)) if by else _cells((), found.total))
    console.table(_columns(by, found.total), rows)
    _notes(console, found.total, found.left_out)
    return ExitCode.OK


_CALLS = ("calls", "failed", "waiting", "median", "p90", "longest")
_TOKENS = ("exchanges", "input", "cache read", "cache write", "output", "reasoning", "tokens", "cost")


def _columns(by: tuple[str, ...], total: history.Group) -> tuple[str, ...]:
    columns = (*by, "sessions")
    columns += () if total.calls is None else _CALLS
    return columns if total.tokens is None else (*columns, *_TOKENS)


def _cells(by: tuple[str, ...], group: history.Group) -> tuple[str, ...]:
    names = tuple("?" if (name := group.group.get(one)) is None else name for one in by)
    return (*names, f"{group.sessions:,}", *_of_calls(group.calls), *_of_tokens(group.tokens))


def _of_calls(calls: history.Calls | None) -> tuple[str, ...]:
    if calls is None:
        return ()
    failed = f"{calls.failures:,} ({calls.failures / calls.calls:.0%})" if calls.failures else "0"
    times = (calls.median, calls.p90, calls.longest)
    return (f"{calls.calls:,}", failed, f"{calls.waiting:,}", *("?" if one is None else _seconds(one) for one in times))


def _of_tokens(tokens: history.Tokens | None) -> tuple[str, ...]:
    if tokens is None:
        return ()
    counts = (
        *(tokens.input_tokens, tokens.cached_read_tokens, tokens.cached_write_tokens),
        *(tokens.output_tokens, tokens.reasoning_tokens, tokens.tokens),
    )
    cost = "?" if tokens.cost is None else f"${tokens.cost:,.2f}{'?' if tokens.doubtful else ''}"
    if tokens.unpriced and tokens.cost is not None:
        cost += f" + {tokens.unpriced}×?"
    said = ["?" if one is None else f"{one:,}" for one in counts]
    if tokens.doubtful:
        said[3], said[5] = f"{said[3]}?", f"{said[5]}?"
    return (f"{tokens.exchanges:,}", *said, cost)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}s" if seconds < 100 else f"{seconds:.0f}s"


def _notes(console: Console, total: history.Group, left_out: int) -> None:
    """What the numbers do not say of themselves."""
    if left_out:
        console.note(f"{left_out} more groups are not shown; --all shows them.")
    if total.calls is not None and total.calls.failed_by:
        console.note("Failures: " + ", ".join(f"{number} × {kind}" for kind, number in total.calls.failed_by.items()))
    tokens = total.tokens
    if tokens is None:
        return
    if tokens.unpriced:
        of = _exchanges(tokens.unpriced)
        console.note(f"The price of {of} is not known: {tokens.reasons}.")
    if tokens.doubtful:
        of = _exchanges(tokens.doubtful)
        console.note(f"The output of {of} is doubtful: it was logged before the reply was complete.")
    if tokens.unsaid:
        console.note(f"The tokens of {_exchanges(tokens.unsaid)} are not in the logs.")
    if tokens.repeated:
        of = _exchanges(tokens.repeated)
        console.note(f"Left out, as another session or file has the same and counts it: {of}.")
    if tokens.logged_cost is not None:
        console.note(f"The logs themselves say ${tokens.logged_cost:.2f} for those exchanges they put a price on.")


def _exchanges(number: int) -> str:
    return f"{number:,} exchange{'s' if number != 1 else ''}"
