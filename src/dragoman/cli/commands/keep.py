"""`dragoman keep`: an archive of logs, so that sessions outlive what their client deletes."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dragoman import logs
from dragoman.cli import keep_timer
from dragoman.cli.filter_options import complete_sessions, query_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.terminal.default_group import DefaultGroup
from dragoman.errors import LogError, writing
from dragoman.logs import archive


@click.group(cls=DefaultGroup)
def command() -> None:
    """Keep the logs of coding agents before the clients delete them.

    The bytes of every log are stored once, compressed and with their digest, in one file that only you can read. When a
    log is gone, its sessions are still listed, shown, searched and counted; `restore` gives back the same bytes.

    \b
    dragoman keep                     # everything, now
    dragoman keep timer --install     # every day
    dragoman keep list
    dragoman keep restore 6a8982ac --to /tmp/logs
    """


@command.command(short_help="Keep all logs, or those of the sessions named.")
@click.argument("wanted", nargs=-1, metavar="[PATH|ID]...", shell_complete=complete_sessions)
@json_option
@click.pass_obj
def run(console: Console, *, wanted: tuple[str, ...], as_json: bool) -> ExitCode:
    """Keep every log as it is now, or the logs of the files, folders and sessions named.

    What was kept before and did not change is not read again. Sessions that were forgotten are kept only when they are
    named.
    """
    query = query_of(console, wanted)
    copies = os.fspath(archive.copies_folder())
    found = [one for one in query.files() if not os.fspath(one.path).startswith(copies + os.sep)]
    counts: Counter[str] = Counter()
    failed: list[str] = []
    with archive.Archive() as kept, console.progress("keeping", len(found)) as advance:
        passed_over = set() if wanted else kept.forgotten()
        for one in found:
            sessions = query.index.sessions_in(one.path)
            if sessions and sessions <= passed_over:
                counts["forgotten"] += 1
            elif not sessions:
                counts["empty"] += 1
            else:
                counts[_kept(kept, one, sessions, failed)] += 1
            advance(1)
        if wanted:
            kept.remember({id for one in found for id in query.index.sessions_in(one.path)})
        totals = kept.totals()
    facts = {name: counts[name] for name in ("new", "unchanged", "forgotten", "empty")}
    if as_json:
        console.json({"path": kept.path, **facts, "failed": failed, "totals": totals})
    else:
        told = f"{counts['new']:,} logs kept, {counts['unchanged']:,} were kept before"
        told += f", {counts['forgotten']:,} passed over because they were forgotten" if counts["forgotten"] else ""
        console.line(f"{told}.")
        console.line(_totals(kept.path, totals))
        for text in failed:
            console.warn(text)
    return ExitCode.NO if failed else ExitCode.OK


def _totals(path: Path, totals: archive.Totals) -> str:
    sizes = f"{_size(totals.bytes)} in {_size(totals.stored)}"
    return f"{path}: {totals.sessions:,} sessions in {totals.logs:,} logs, {sizes}."


def _kept(kept: archive.Archive, found: logs.Found, sessions: set[str], failed: list[str]) -> str:
    path = Path(os.path.abspath(found.path))
    beside = [Path(os.path.abspath(one)) for one in logs.FORMATS[found.format].companions(path)]
    try:
        is_new = kept.keep(path, found.format, sessions=sessions, home=found.home, beside=beside)
    except OSError as error:
        failed.append(f"{path} was not kept: {error.strerror or error}")
        return "failed"
    return "new" if is_new else "unchanged"


@command.command("list", short_help="List what was kept.")
@click.option("--gone", is_flag=True, help="Only logs whose original no longer exists.")
@json_option
@click.pass_obj
def list_(console: Console, *, gone: bool, as_json: bool) -> ExitCode:
    """List the kept logs: when, how much, whether the original still exists."""
    with archive.Archive(create=False) as kept:
        found = [one for one in kept.logs() if not (gone and os.path.lexists(one.path))]
        totals = kept.totals()
    if as_json:
        console.json({"path": kept.path, "totals": totals, "logs": [_facts(one) for one in found]})
        return ExitCode.OK if found else ExitCode.NO
    rows = [
        (
            ", ".join(id[:12] for id in one.sessions[:2])
            + (f" and {len(one.sessions) - 2} more" if one.sessions[2:] else ""),
            one.format,
            f"{datetime.datetime.fromtimestamp(one.kept, datetime.UTC):%Y-%m-%d %H:%M}",
            _size(one.size),
            _state(one),
            one.path,
        )
        for one in found
    ]
    if rows:
        console.table(("session", "client", "kept", "size", "original", "path"), rows, optional=("path", "size"))
    console.note(_totals(kept.path, totals))
    return ExitCode.OK if found else ExitCode.NO


def _state(log: archive.KeptLog) -> str:
    if not log.is_newest:
        return "earlier"
    return "there" if os.path.lexists(log.path) else "gone"


def _facts(log: archive.KeptLog) -> dict[str, Any]:
    return {
        "path": log.path,
        "format": log.format,
        "sessions": log.sessions,
        "kept": datetime.datetime.fromtimestamp(log.kept, datetime.UTC),
        "original": _state(log),
        "files": [{"path": one.path, "size": one.size, "sha256": one.digest} for one in log.files],
    }


@command.command(short_help="Read everything that was kept, and compare it with its digests.")
@json_option
@click.pass_obj
def verify(console: Console, *, as_json: bool) -> ExitCode:
    """Read everything that was kept, and compare it with the digests of when it was kept."""
    with archive.Archive(create=False) as kept:
        wrong, totals = kept.verify(), kept.totals()
    if as_json:
        console.json({"path": kept.path, "wrong": wrong, "totals": totals})
    else:
        for text in wrong:
            console.line(text, "bad")
        console.line(
            f"{totals.versions:,} logs, {_size(totals.bytes)}: {'damaged' if wrong else 'all as they were kept'}."
        )
    return ExitCode.NO if wrong else ExitCode.OK


@command.command(short_help="Write the logs of a session as they were.")
@click.argument("session")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Below this folder; default: where they were.",
)
@json_option
@click.pass_obj
def restore(console: Console, *, session: str, folder: Path | None, as_json: bool) -> ExitCode:
    """Write the kept logs of a session, byte for byte: where they were, or below a folder.

    No file is replaced; one that is there with the same bytes stays.

    SESSION is the beginning of its id, or `last`.
    """
    written: list[str] = []
    with archive.Archive(create=False) as kept:
        found = kept.with_session(_meant(console, session))
        newest = {one.path: one for one in found}  # of each log, the last that has the session
        places = [
            (file, archive.place_of(log, file, folder) if folder is not None else Path(file.path))
            for log in newest.values()
            for file in log.files
        ]
        missing = [(file, place) for file, place in places if not os.path.lexists(place)]
        for file, place in places:
            # A client may delete the log of a session and leave those of its agents.
            if (file, place) not in missing and not (missing and archive.is_as_kept(file, place)):
                raise LogError(f"{place} exists; --to writes the kept log elsewhere")
        for file, place in missing:
            with writing(place, "name another folder with --to"):
                kept.write(file, place)
            written.append(os.fspath(place))
    if as_json:
        console.json({"files": written})
    else:
        for name in written:
            console.line(name)
    return ExitCode.OK


@command.command(short_help="Take a session out of the archive for good.")
@click.argument("session")
@click.option("--with-others", is_flag=True, help="Also the other sessions that are in the same log.")
@json_option
@click.pass_obj
def forget(console: Console, *, session: str, with_others: bool, as_json: bool) -> ExitCode:
    """Take the logs of a session out of the archive for good. The client's own log is not touched.

    SESSION is the beginning of its id, or `last`.
    The session is not kept again until it is named: `dragoman keep ID`.
    """
    with archive.Archive(create=False) as kept:
        wanted = _meant(console, session)
        found = kept.with_session(wanted)
        (id,) = _beginning(found, wanted)
        sessions = {one for log in found for one in log.sessions}
        others = sessions - {id}
        if others and not with_others:
            raise LogError(
                f"{found[0].path} holds {len(others):,} other sessions, and a log is kept whole;"
                " --with-others forgets them too"
            )
        kept.forget(sessions, [one.version for one in found])
    for log in found:
        for file in log.files:
            archive.place_of(log, file, archive.copies_folder()).unlink(missing_ok=True)
    if as_json:
        console.json({"forgotten": sorted(sessions)})
    else:
        console.line(f"{len(found):,} kept logs of {id} were forgotten.")
    return ExitCode.OK


def _meant(console: Console, session: str) -> str:
    """The id that was typed; for `last` that of the newest session, as in every command."""
    return query_of(console, ()).find(session).session if session == "last" else session


def _beginning(found: Iterable[archive.KeptLog], id: str) -> set[str]:
    ids = {one for log in found for one in log.sessions if one.startswith(id)}
    return {id} if id in ids else ids


@command.command(short_help="Keep logs every day: print what that needs, install or remove it.")
@click.option("--with", "kind", type=click.Choice(keep_timer.KINDS), help="Default: what this machine has.")
@click.option("--install", is_flag=True, help="Do it.")
@click.option("--remove", is_flag=True, help="Remove the timer.")
@json_option
@click.pass_obj
def timer(console: Console, *, kind: str | None, install: bool, remove: bool, as_json: bool) -> ExitCode:
    """Keep logs every day. Without --install and --remove, what would be done is printed and nothing is changed."""
    if install and remove:
        raise click.UsageError("Either --install or --remove.")
    made = keep_timer.plan(kind or keep_timer.kind_here(), remove=remove)
    if as_json:
        console.json(made)
    else:
        _show(console, made)
    if install or remove:
        keep_timer.apply(made)
        console.note("Removed." if remove else "Installed; `dragoman keep timer --remove` takes it away.")
    elif not as_json:
        console.note("Nothing was changed: --install does this.")
    return ExitCode.OK


def _show(console: Console, made: keep_timer.Plan) -> None:
    for command in made.before:
        console.line("$ " + " ".join(command))
    for name, content in made.files.items():
        console.line(f"# {'delete ' if content is None else ''}{name}", "strong")
        if content is not None:
            console.line(content)
    if made.crontab is not None:
        console.line("# crontab", "strong")
        console.line(made.crontab)
    for command in made.commands:
        console.line("$ " + " ".join(command))
    for note in made.notes:
        console.warn(note)


def _size(number: int) -> str:
    amount, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit in ("B", "kB") else f"{amount:,.1f} {unit}"
