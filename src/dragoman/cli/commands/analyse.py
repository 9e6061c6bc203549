"""`dragoman analyse`: what went wrong or took long in a session, where, and what to do."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from dragoman import logs
from dragoman.cli.filter_options import filter_options, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.errors import LogError
from dragoman.logs import history

_LENSES = ("failures", "loops", "bottlenecks", "toolchains", "context")


@click.command
@click.argument("wanted", nargs=-1, metavar="[ID|PATH]...")
@click.option("--last", is_flag=True, help="Use the newest session (the default).")
@click.option("--lens", type=click.Choice(_LENSES), multiple=True, help="Only this lens. May be repeated.")
@filter_options(limit=1)
@json_option
@click.pass_obj
def command(
    console: Console, *, wanted: tuple[str, ...], last: bool, lens: tuple[str, ...], asked: logs.Filter, as_json: bool
) -> ExitCode:
    """Find failures, loops, slow calls, chains of tools, and what fills the context window.

    Of the session named, of those in a file or folder, or of the newest one. Every finding says where it is (session,
    turn, step, call) and what to do. --limit and --all take more sessions, newest first.

    \b
    dragoman analyse --last
    dragoman analyse 8352274b --lens loops
    dragoman analyse --project . --since 1w --all --json
    """
    if last and wanted:
        raise click.UsageError("Name sessions, or say --last: not both.")

    query, ids = _chosen(console, wanted, asked)
    if not ids:
        console.note("No session was found. `dragoman sessions` lists them.")
        if as_json:
            console.json([])
        return ExitCode.NO
    found = []
    for id in ids:
        try:
            found.append(_only(logs.analyse_session(query, id), lens))
        except LogError as error:
            if len(ids) == 1:
                raise
            console.warn(str(error))  # it went away meanwhile; the others are still wanted
    if as_json:
        console.json(found)
        return ExitCode.OK
    for number, analysis in enumerate(found):
        if number:
            console.line()
        _show(console, analysis, lens)
    return ExitCode.OK


def _chosen(console: Console, wanted: tuple[str, ...], asked: logs.Filter) -> tuple[logs.Query, list[str]]:
    """What is asked, and the ids of the sessions meant: all of those named, else the newest."""
    if not wanted:
        query = query_of(console)
        return query, [row.session for row in query.sessions(asked)]
    if any(Path(one).exists() for one in wanted):
        query = query_of(console, wanted)
        return query, [row.session for row in query.sessions(msgspec.structs.replace(asked, limit=None))]
    query = query_of(console)
    rows = [query.find(one) for one in wanted]
    return query, [row.session if row.stream == "main" else row.stream for row in rows]


def _only(analysis: history.Analysis, lens: tuple[str, ...]) -> history.Analysis:
    if not lens:
        return analysis
    return msgspec.structs.replace(
        analysis,
        findings=tuple(one for one in analysis.findings if one.lens in lens),
        chains=analysis.chains if "toolchains" in lens else (),
        context=analysis.context if "context" in lens else (),
    )


def _show(console: Console, analysis: history.Analysis, lens: tuple[str, ...]) -> None:
    head = [analysis.session, analysis.client, analysis.title]
    console.line(" · ".join(one for one in head if one), "strong")
    agents = f", {analysis.agents} sub-agents" if analysis.agents else ""
    console.line(f"{analysis.turns} turns, {analysis.calls} calls, {analysis.failures} failed{agents}", "quiet")
    for name in _LENSES:
        findings = [one for one in analysis.findings if one.lens == name]
        if lens and name not in lens:
            continue
        if name == "toolchains":
            _show_chains(console, analysis)
            continue
        if name == "context":
            for use in analysis.context:
                console.line(f"context: {_said(use)}")
        for one in findings:
            console.line(f"{name}: {one.text}", "bad")
            console.line(f"  → {one.advice}")
            for spot in one.spots[:3]:
                console.line(f"  at {history.said_of_spot(spot)}", "quiet")
            if one.count > 3 and len(one.spots) > 3:
                console.line(f"  and {one.count - 3} more (--json has them)", "quiet")
        if not findings and name != "context":
            console.line(f"{name}: none", "good")


def _show_chains(console: Console, analysis: history.Analysis) -> None:
    for chain in analysis.chains[:5]:
        console.line(f"toolchains: {' → '.join(chain.tools)}: {chain.count} times")
        console.line(f"  first at {history.said_of_spot(chain.first)}", "quiet")
    if not analysis.chains:
        console.line("toolchains: none that came up three times", "good")


def _said(use: history.ContextUse) -> str:
    whose = "" if use.stream == "main" else f"{use.stream}: "
    if use.last is None:
        return f"{whose}the log has no tokens"
    window = "a window that is not known" if use.window is None else f"{use.window:,}"
    share = "" if use.share is None else f" ({use.share:.0%})"
    peak = "" if use.peak == use.last else f", {use.peak:,} at most"
    model = f" [{use.model}]" if use.model else ""
    return f"{whose}{use.last:,} tokens in the last exchange of {window}{share}{peak}{model}"
