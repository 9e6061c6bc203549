"""`dragoman usage`: tokens and cost by day, week, month, block of five hours or session, and as a status line."""

from __future__ import annotations

import datetime
import time
from contextlib import suppress
from math import fsum
from typing import Any

import click
import msgspec

from dragoman import logs
from dragoman.cli.filter_options import complete_sessions, corpus_option, filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.terminal.default_group import DefaultGroup
from dragoman.config.files import OTHER_CACHE_DIR, write_private
from dragoman.errors import StorageError
from dragoman.logs import blocks, history
from dragoman.serve import status_line


class _Usage(DefaultGroup):
    default = "daily"


@click.group(cls=_Usage)
def command() -> None:
    """Show tokens and cost: by day, week, month, block of five hours or session, the newest first.

    Cost is by the list prices of the day, and your own in [[prices]] of the settings; "+" says that some exchanges with
    a model have no known price. Exchanges that several logs tell of are counted once. Days are those of UTC.

    \b
    dragoman usage                          # by day
    dragoman usage monthly --client codex
    dragoman usage blocks --since 2d
    dragoman usage session --project . --json
    """


def _options(limit: int, function: Any) -> Any:
    function = click.pass_obj(json_option(corpus_option(filter_options(limit=limit)(function))))
    return click.argument("wanted", nargs=-1, metavar="[PATH|ID]...", shell_complete=complete_sessions)(function)


_by_model = click.option("--by-model", is_flag=True, help="A row for each model.")


def _in_time(by: str, text: str) -> None:
    def counted(
        console: Console,
        *,
        wanted: tuple[str, ...],
        corpus: str | None,
        by_model: bool,
        asked: logs.Filter,
        as_json: bool,
    ) -> Any:
        query = query_of(console, wanted, corpus=corpus)
        return _counted(console, by, query, asked, by_model=by_model, as_json=as_json)

    counted.__doc__ = f"{text}, the newest first."
    command.command(_NAMES[by], short_help=f"{text}.")(_by_model(_options(31, counted)))


_NAMES = {"day": "daily", "week": "weekly", "month": "monthly", "block": "blocks"}
_in_time("day", "Tokens and cost of each day")
_in_time("week", "Tokens and cost of each week, named by its Monday")
_in_time("month", "Tokens and cost of each month")
_in_time("block", "Tokens and cost of each block of five hours, and what the running one will hold")


def _counted(
    console: Console, by: str, query: logs.Query, asked: logs.Filter, *, by_model: bool, as_json: bool
) -> ExitCode:
    chosen = msgspec.structs.replace(asked, limit=None)
    columns: Any = (by, "model") if by_model else (by,)
    found = logs.statistics(query, chosen, columns, tokens_only=True, limit=asked.limit)
    now = _running(found.groups) if by == "block" and not by_model else None
    if as_json:
        console.json(found if by != "block" else {**msgspec.to_builtins(found), "running": now})
        return ExitCode.OK if found.groups else ExitCode.NO
    if not found.groups:
        return _nothing(console)
    rows = [_cells(group, columns) for group in found.groups]
    _table(console, (by, "model" if by_model else "models"), rows, found.total, found.left_out)
    if now is not None:
        projected = "" if now.projected_cost is None else f", ${now.projected_cost:,.2f}"
        console.note(
            f"The block that began last ends in {_minutes(now.minutes_left)}; at {now.tokens_a_minute:,.0f} tokens a"
            f" minute it will hold {now.projected_tokens:,}{projected}."
        )
    return ExitCode.OK


def _cells(group: history.Group, columns: tuple[str, ...]) -> tuple[str, ...]:
    name = group.group[columns[0]] or "?"
    models = (group.group["model"] or "?") if len(columns) > 1 else _models(group)
    return (name, models, *_figures(group))


def _models(group: history.Group) -> str:
    shown, rest = group.models[:3], len(group.models) - 3
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def _figures(group: history.Group) -> tuple[str, ...]:
    tokens = group.tokens
    assert tokens is not None  # nothing else was asked for
    counts = (tokens.input_tokens, tokens.cached_write_tokens, tokens.cached_read_tokens, tokens.output_tokens)
    cost = "?" if tokens.cost is None else f"${tokens.cost:,.2f}{'?' if tokens.doubtful else ''}"
    if tokens.unpriced and tokens.cost is not None:
        cost += "+"
    said = ["?" if one is None else f"{one:,}" for one in (*counts, tokens.tokens)]
    if tokens.doubtful:
        said[3], said[4] = f"{said[3]}?", f"{said[4]}?"
    return (*said, cost)


_FIGURES = ("input", "cache write", "cache read", "output", "tokens", "cost")
_LEFT_OUT = ("cache write", "cache read", "input", "output", "models", "client", "title")
"""Columns that a narrow terminal goes without, the first of them first."""


def _table(
    console: Console, names: tuple[str, ...], rows: list[tuple[str, ...]], total: history.Group, left_out: int
) -> None:
    console.table(
        (*names, *_FIGURES), [*rows, ("total", *[""] * (len(names) - 1), *_figures(total))], optional=_LEFT_OUT
    )
    if left_out:
        console.note(f"{left_out:,} more are not shown; --all shows them, and the total has them.")
    tokens = total.tokens
    assert tokens is not None  # nothing else was asked for
    if tokens.unpriced:
        console.note(f"The price of {tokens.unpriced:,} exchanges is not known (costs with +, or ?): {tokens.reasons}.")
    if tokens.doubtful:
        console.note(f"The output of {tokens.doubtful:,} exchanges was logged too early: figures with ? are too low.")


def _running(groups: list[history.Group]) -> blocks.Running | None:
    newest = next((one for one in groups if one.group["block"]), None)
    if newest is None or newest.tokens is None:
        return None
    began = _began(newest.group["block"])
    assert began is not None
    return blocks.running(began, newest.tokens.tokens, newest.tokens.cost)


def _began(block: str | None) -> datetime.datetime | None:
    """When a block began, by its name."""
    return datetime.datetime.fromisoformat(block) if block else None


def _minutes(minutes: int) -> str:
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _nothing(console: Console) -> ExitCode:
    console.note("No session was found to count. `dragoman sources` shows where they are looked for.")
    return ExitCode.NO


# ── by session ───────────────────────────────────────────────────────────────


def _by_session(
    console: Console, *, wanted: tuple[str, ...], corpus: str | None, asked: logs.Filter, as_json: bool
) -> ExitCode:
    """Tokens and cost of each session, sub-agents included, the newest first."""
    query = query_of(console, wanted, corpus=corpus)
    chosen = msgspec.structs.replace(asked, limit=None)
    found = logs.statistics(query, chosen, ("session",), tokens_only=True)
    known = {row.session: row for row in query.sessions(with_agents=True) if row.stream == "main"}
    found.groups.sort(key=lambda one: _moment(known.get(one.group["session"] or "")), reverse=True)
    shown = found.groups[: asked.limit]
    left_out = len(found.groups) - len(shown)
    if as_json:
        facts = {"groups": [_facts(one, known) for one in shown], "left_out": left_out}
        console.json({**msgspec.to_builtins(found), **facts})
        return ExitCode.OK if shown else ExitCode.NO
    if not shown:
        return _nothing(console)
    _table(
        console,
        ("session", "client", "began", "title", "models"),
        [_of_session(one, known, query) for one in shown],
        found.total,
        left_out,
    )
    return ExitCode.OK


command.command("session", short_help="Tokens and cost of each session, sub-agents included.")(
    _options(20, _by_session)
)


def _of_session(group: history.Group, known: dict[str, logs.SessionRow], query: logs.Query) -> tuple[str, ...]:
    id = group.group["session"] or "?"
    row = known.get(id)
    about = ("", "", "") if row is None else (row.client or "", _day(row.started), (row.title or "")[:60])
    return (query.in_short(id), *about, _models(group), *_figures(group))


def _day(time: datetime.datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d}"


def _moment(row: logs.SessionRow | None) -> float:
    return 0.0 if row is None or row.started is None else row.started.timestamp()


def _facts(group: history.Group, known: dict[str, logs.SessionRow]) -> dict[str, Any]:
    row = known.get(group.group["session"] or "")
    about = ("client", "project", "title", "started", "ended")
    return {**msgspec.to_builtins(group), **{name: None if row is None else getattr(row, name) for name in about}}


# ── a line ───────────────────────────────────────────────────────────────────


@command.command(short_help="One line for the status line of a client.")
@click.option("--count", "only_counts", is_flag=True, hidden=True)
@click.pass_obj
def line(console: Console, *, only_counts: bool) -> ExitCode:
    """Print one line: cost of this session, of today, and of the running block of five hours.

    Claude Code shows it with this in its settings:

    \b
    "statusLine": {"type": "command", "command": "dragoman usage line"}

    The session is the one that the client names on standard input; without that it is left out. Figures are at most
    some seconds old: they are counted in the background, so that the line itself costs next to nothing.
    """
    folder = console.configuration().cache_dir
    try:
        figures = _figures_of_line(console)
        with suppress(StorageError):  # then the next line counts for itself, as this one did
            write_private(folder / status_line.FILE, msgspec.json.encode(figures), advice=OTHER_CACHE_DIR)
    finally:
        status_line.counted(folder)
    if not only_counts:
        console.line(status_line.line_of(figures, status_line.asked_on_input(), time.time()))
    return ExitCode.OK


_RECENT = 300
"""Sessions of which the line knows the cost: the newest."""


def _figures_of_line(console: Console) -> dict[str, Any]:
    began, now = time.process_time(), datetime.datetime.now(datetime.UTC)
    query = query_of(console)
    today = f"{now:%Y-%m-%d}"
    groups = logs.statistics(query, by=("session", "day", "block"), tokens_only=True).groups
    newest_block = max((one.group["block"] or "" for one in groups), default="")
    start = _began(newest_block)
    ends = None if start is None else (start + blocks.BLOCK).timestamp()
    sessions: dict[str, list[history.Group]] = {}
    for one in groups:
        sessions.setdefault(one.group["session"] or "", []).append(one)
    newest = sorted(sessions, key=lambda id: max(one.group["day"] or "" for one in sessions[id]), reverse=True)
    return {
        "layout": status_line.LAYOUT,
        "made": now.timestamp(),
        "took": time.process_time() - began,
        "day": today,
        "today": _summed([one for one in groups if one.group["day"] == today]),
        "block": None
        if ends is None or ends <= now.timestamp()
        else {**_summed([one for one in groups if one.group["block"] == newest_block]), "ends": ends},
        "sessions": {id: _summed(sessions[id]) for id in newest[:_RECENT]},
    }


def _summed(groups: list[history.Group]) -> dict[str, Any]:
    tokens = [one.tokens for one in groups if one.tokens is not None]
    known = [one.cost for one in tokens if one.cost is not None]
    return {
        "tokens": sum(one.tokens or 0 for one in tokens),
        "cost": fsum(known) if known or not tokens else None,
        "unpriced": sum(one.unpriced for one in tokens),
    }
