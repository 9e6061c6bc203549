"""`dragoman doctor`: what of the logs could not be read, or was not known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from dragoman.errors import LogError

from .console import Console, ExitCode, json_option
from .log_files import files_of


@click.command
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...")
@json_option
@click.pass_obj
def command(console: Console, *, wanted: tuple[str, ...], as_json: bool) -> ExitCode:
    """Check logs: for each file its format, version, records read, unreadable and unknown ones, unrecognised tools.

    Exits with 1 when something was unreadable, unknown or unrecognised.
    """
    rows: list[dict[str, Any]] = []
    files = files_of(console, wanted)
    with console.progress("checking", len(files)) as advance:
        for found in files:
            rows.append(_checked(found.path, found.format))
            advance(1)
    sick = [row for row in rows if row.get("error") or row["unreadable"] or row["unknown"] or row["unrecognised"]]
    if as_json:
        console.json(rows)
    else:
        for row in sick:
            console.line(f"{row['file']}  ({row['format']} {row['version'] or ''})", "strong")
            if row.get("error"):
                console.line(f"  {row['error']}", "bad")
            for reason in row["unreadable"]:
                console.line(f"  unreadable at byte {reason['offset']}: {reason['reason']}", "bad")
            for kind in ("unknown", "unrecognised"):
                for name, count in row[kind].items():
                    console.line(f"  {kind}: {name} ×{count}")
        events = sum(row["events"] for row in rows)
        console.line(f"{len(rows)} files, {events} events; {len(sick)} files with something to look at")
    return ExitCode.NO if sick else ExitCode.OK


def _checked(path: Any, format: str) -> dict[str, Any]:
    from dragoman.logs import read
    from dragoman.model import ToolCalled, UnknownRecord, Unreadable, operations as op

    unreadable: list[dict[str, Any]] = []
    unknown: Counter[str] = Counter()
    unrecognised: Counter[str] = Counter()
    row: dict[str, Any] = {"file": str(path), "format": format, "version": None, "events": 0}
    try:
        for event in read(path, format):
            row["events"] += 1
            row["version"] = event.version or row["version"]
            if isinstance(event, Unreadable):
                unreadable.append({"offset": event.source.offset if event.source else None, "reason": event.reason})
            elif isinstance(event, UnknownRecord):
                unknown[event.name or "?"] += 1
            elif isinstance(event, ToolCalled) and any(
                isinstance(one, op.Unrecognised) for one in event.call.operations
            ):
                unrecognised[event.call.native.name] += 1
    except LogError as error:
        row["error"] = str(error)
    return {**row, "unreadable": unreadable, "unknown": dict(unknown), "unrecognised": dict(unrecognised)}
