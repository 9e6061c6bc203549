"""`dragoman index`: the index of all logs, which can be made again at any time."""

from __future__ import annotations

from collections.abc import Iterable

import click
import msgspec

from dragoman import logs
from dragoman.cli.filter_options import client_option
from dragoman.cli.log_files import log_places
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.logs import history


@click.group
def command() -> None:
    """Show, update or rebuild the index of all logs.

    Commands over the history bring it up to the logs by themselves, reading only what is new. Deleting it loses
    nothing: it is made again from the logs.
    """


@command.command(short_help="Show where it is and what is in it.")
@json_option
@click.pass_obj
def info(console: Console, *, as_json: bool) -> ExitCode:
    """Show where the index is, how big it is, and how many files, sessions, calls, … are in it."""
    with _opened(console) as index:
        facts = index.info()
    if as_json:
        console.json(facts)
        return ExitCode.OK
    console.line(f"{facts['path']}  {_size(facts['bytes'])}, made by {facts['version']}")
    console.line(f"{facts['files']} files, {_size(facts['log_bytes'])} of logs")
    for name, count in facts["rows"].items():
        console.line(f"  {name:<11}{count:>10}")
    if facts["unreadable"] or facts["unknown"]:
        console.line(f"{facts['unreadable']} unreadable and {facts['unknown']} unknown records: see `dragoman doctor`")
    for failed in facts["failed"]:
        console.line(f"{failed['path']}: {failed['error']}", "bad")
    return ExitCode.OK


@command.command(short_help="Read what is new in the logs.")
@client_option
@json_option
@click.pass_obj
def update(console: Console, *, client: str | None, as_json: bool) -> ExitCode:
    """Update the index from the logs. Unchanged files are not opened; of files that grew, only the new part is read."""
    found = _logs(console, client)
    with _opened(console) as index, console.progress("reading", index.count() or None) as advance:
        counts = index.update(found, advance, is_everything=client is None)
    return _told(console, counts, as_json=as_json)


@command.command(short_help="Read all logs again.")
@client_option
@json_option
@click.pass_obj
def rebuild(console: Console, *, client: str | None, as_json: bool) -> ExitCode:
    """Forget everything and read every log from its beginning; with --client, those of one client."""
    found = _logs(console, client)
    with _opened(console) as index, console.progress("reading", index.count() or None) as advance:
        counts = index.rebuild(found, advance, is_everything=client is None)
    return _told(console, counts, as_json=as_json)


@command.command(short_help="Return unused space to the file system.")
@json_option
@click.pass_obj
def vacuum(console: Console, *, as_json: bool) -> ExitCode:
    """Return unused space to the file system."""
    with _opened(console) as index:
        freed = index.vacuum()
    if as_json:
        console.json({"freed": freed})
    else:
        console.line(f"{_size(max(freed, 0))} given back")
    return ExitCode.OK


def _opened(console: Console) -> logs.Index:
    console.configuration()
    index = logs.Index()
    if index.note is not None:
        console.note(index.note)
    return index


def _logs(console: Console, client: str | None) -> Iterable[logs.Found]:
    places = log_places(console)
    found = logs.Query(homes=places.homes, folders=places.folders).walk()
    return found if client is None else [one for one in found if one.format == client]


def _told(console: Console, counts: history.Counts, *, as_json: bool) -> ExitCode:
    if as_json:
        console.json(msgspec.to_builtins(counts))
    else:
        console.line(
            f"{counts.files} files: {counts.unchanged} unchanged, {counts.read_on} read on,"
            f" {counts.read_anew} read anew, {counts.removed} gone; {_size(counts.bytes)} read"
        )
        if counts.failed:
            console.warn(f"{counts.failed} files could not be read: `dragoman index info` says why")
    return ExitCode.OK


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
