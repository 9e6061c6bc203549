"""`dragoman doctor`: what of the logs could not be read, or was not known."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman import logs, model
from dragoman.cli.log_files import as_line, files_of, format_option, written
from dragoman.cli.terminal.console import Console, ExitCode, as_json as encoded, json_option
from dragoman.cli.terminal.default_group import DefaultGroup
from dragoman.cli.terminal.visible import one_line
from dragoman.errors import LogError
from dragoman.logs import base, history
from dragoman.registry import FORMATS


@click.group(cls=DefaultGroup)
def command() -> None:
    """Check logs: what could not be read, or was not known.

    Without a sub-command: `run`, over every log of this machine or those that are named.
    """


@command.command("inspect")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--lines", type=click.IntRange(min=1), default=50, show_default=True, help="Events to show.")
@json_option
@click.pass_obj
def inspect(console: Console, *, file: Path, lines: int, as_json: bool) -> ExitCode:
    """Show how FILE is recognised, and its first events with the bytes they came from."""
    sure = base.confidences(file)
    best = max(sure, key=lambda name: sure[name])
    if as_json:
        with logs.Originals() as originals:
            events = (
                [as_line(event, originals) for event in islice(logs.numbered(logs.read(file, best)), lines)]
                if sure[best]
                else []
            )
        console.json({"file": str(file), "format": best if sure[best] else None, "confidence": sure, "events": events})
        return ExitCode.OK if sure[best] else ExitCode.NO
    for name, confidence in sorted(sure.items(), key=lambda one: -one[1]):
        if confidence:
            console.line(f"{name}  {confidence:.2f}", "strong" if name == best else "quiet")
    if not sure[best]:
        console.note(f"{file} is in no format that is known here ({', '.join(sure)}).")
        return ExitCode.NO
    for event in islice(logs.numbered(logs.read(file, best)), lines):
        source = event.source
        place = "" if source is None else source.row or f"{source.offset}+{source.length}"
        kind = str(event.__struct_config__.tag)
        about = f" {event.call.native.name}" if isinstance(event, model.ToolCalled) else ""
        console.line(f"{place:>16}  {kind}{about}")
    return ExitCode.OK


@command.command("check")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--client", "format", metavar="NAME", help="Read it as this client's, instead of by what it holds.")
@json_option
@click.pass_context
def check(context: click.Context, /, *, file: Path, format: str | None, as_json: bool) -> Any:
    """Read FILE, or a folder, whole: records read, unreadable and unknown ones, unrecognised tools."""
    return context.invoke(run, wanted=(str(file),), raw=False, format=format, as_json=as_json)


@command.command("run")
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...")
@click.option("--raw", is_flag=True, help="Show the bytes of what was unreadable, and of one unknown record each.")
@format_option
@json_option
@click.pass_obj
def run(console: Console, *, wanted: tuple[str, ...], raw: bool, format: str | None, as_json: bool) -> ExitCode:
    """Check logs: for each file its format, version, records read, unreadable and unknown ones, unrecognised tools.

    A file in no known format is named with what it looks like, one that cannot be opened with the reason, and the
    others are checked all the same. Exits with 1 when something was unreadable, unknown or unrecognised, when a file
    that was named is in no known format, or when there is nothing else. With --raw the bytes come too, in base64 where
    they are no UTF-8.
    """
    rows: list[dict[str, Any]] = []
    passed: list[Path] = []
    unfound: dict[str, LogError] = {}
    read: set[str] = set()
    """Every file of a log: a client may keep one in many."""
    files = files_of(console, wanted, format, passed=passed, unfound=unfound)
    if unfound and not files and not passed:
        raise next(iter(unfound.values()))
    with console.progress("checking", len(files)) as advance, logs.Originals() as originals:
        for found in files:
            rows.append(_checked(found, originals if raw else None, read))
            advance(1)
    findings = ("error", "unreadable", "unknown", "unrecognised", "unlike")
    sick = [row for row in rows if any(row.get(finding) for finding in findings)]
    unread = [
        {"file": str(path), "format": None, "looks_like": history.described(path)}
        for path in passed
        if str(path) not in read
    ]
    unopened = [{"file": name, "format": None, "error": str(error)} for name, error in unfound.items()]
    if as_json:
        console.json([*rows, *unread, *unopened])
    else:
        for row in sick:
            console.line(f"{one_line(row['file'])}  ({row['format']} {row['version'] or ''})", "strong")
            if row.get("error"):
                console.line(f"  {row['error']}", "bad")
            if row["unlike"]:
                console.line(f"  {row['unlike']}", "bad")
            for reason in row["unreadable"]:
                place = reason.get("row") or f"byte {reason['offset']} ({reason['length']} bytes)"
                where = f"{place} of {reason['file']}" if "file" in reason else place
                console.line(f"  unreadable at {where}: {reason['reason']}", "bad")
                _show_raw(console, reason.get("raw"))
            for kind in ("unknown", "unrecognised"):
                for name, count in row[kind].items():
                    console.line(f"  {kind}: {name} ×{count}")
                    _show_raw(console, row.get("examples", {}).get(name) if kind == "unknown" else None)
        for row in unread:
            console.line(f"{one_line(str(row['file']))}  (passed over)", "strong")
            console.line(f"  in no known format: {row['looks_like']}")
        for row in unopened:
            console.line(f"{one_line(str(row['file']))}  (passed over)", "strong")
            console.line(f"  {row['error']}", "bad")
        for name in sorted({row["format"] for row in rows}):
            if FORMATS[name].lacks:
                console.note(f"{name}: {FORMATS[name].lacks}")
        events = sum(row["events"] for row in rows)
        records = sum(row["records"] for row in rows)
        console.line(
            f"{len(rows)} files, {records} records, {events} events; {len(sick)} files with something to look at"
            + (f"; {len(unread) + len(unopened)} passed over" if unread or unopened else "")
        )
    was_named = {str(Path(one)) for one in wanted}
    is_missed = any(row["file"] in was_named for row in unread) or (unread and not rows)
    return ExitCode.NO if sick or is_missed or unopened else ExitCode.OK


def _show_raw(console: Console, raw: Any) -> None:
    """What `written` made of an original."""
    if isinstance(raw, dict):
        raw = encoded(raw).decode()
    for line in [] if raw is None else str(raw).removesuffix("\n").split("\n"):
        console.line(f"    | {line}", "quiet")


def _checked(found: logs.Found, originals: logs.Originals | None, read: set[str]) -> dict[str, Any]:
    from dragoman.model import operations as op

    unreadable: list[dict[str, Any]] = []
    unknown: Counter[str] = Counter()
    examples: dict[str, Any] = {}
    unrecognised: Counter[str] = Counter()
    row: dict[str, Any] = {"file": str(found.path), "format": found.format, "version": None, "records": 0, "events": 0}
    records: set[tuple[str, int, str | None]] = set()
    likeness = base.Likeness(FORMATS[found.format])
    try:
        for event in history.read_log(found):
            likeness.take(event)
            row["events"] += 1
            row["version"] = event.version or row["version"]
            if event.source is not None:
                records.add((event.source.file, event.source.offset, event.source.row))
            if isinstance(event, model.Unreadable):
                place = {} if event.source is None else msgspec.to_builtins(event.source)
                if place.get("file") == row["file"]:
                    del place["file"]  # one that is read together with this one stays named
                unreadable.append({**place, "reason": event.reason, **_raw(event, originals)})
            elif isinstance(event, model.UnknownRecord):
                unknown[event.name or "?"] += 1
                if originals is not None and (event.name or "?") not in examples:
                    examples[event.name or "?"] = _raw(event, originals).get("raw")
            elif isinstance(event, model.ToolCalled) and any(
                isinstance(one, op.Unrecognised) for one in event.call.operations
            ):
                unrecognised[event.call.native.name] += 1
    except LogError as error:
        row["error"] = str(error)
    row["records"], row["unlike"] = len(records), likeness.what
    read |= {file for file, _, _ in records}
    told = {"unreadable": unreadable, "unknown": dict(unknown), "unrecognised": dict(unrecognised)}
    return {**row, **told, **({"examples": examples} if originals is not None else {})}


def _raw(event: model.AnyEvent, originals: logs.Originals | None) -> dict[str, Any]:
    if originals is None or event.source is None:
        return {}
    return {"raw": written(originals.of(event.source))}
