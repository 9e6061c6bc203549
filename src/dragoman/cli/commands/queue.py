"""`dragoman queue`: tasks that workers do, added, listed, shown, cancelled and tried again."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click
import msgspec

from dragoman import fleet
from dragoman.cli.records import queue_of, store_of
from dragoman.cli.terminal.console import Console, ExitCode, foreign, json_option
from dragoman.errors import ConfigError, LogError, nearest

if TYPE_CHECKING:
    from dragoman.fleet import Entry


@click.group
def command() -> None:
    """Add tasks that `dragoman worker` does, look at them, cancel them or try them again.

    The queue is in the database of store.url, by default in a file of the data folder. A task brings no model, tools
    or policy: those are the worker's.
    """


@command.command(short_help="Add a task.")
@click.argument("task", nargs=-1, required=True)
@click.option(
    "--folder", metavar="PATH", default="", help="Folder to work in, relative to the workspace of the worker."
)
@click.option(
    "--priority",
    type=click.IntRange(-1000, 1000),
    default=0,
    help="Tasks with a larger number are done first; default: 0.",
)
@click.option("--in", "after", metavar="DURATION", help="Begin after this time: 90s, 10m, 2h, 1d.")
@click.option("--at", metavar="TIME", help='Begin at this time, in --zone: "2026-11-20 09:00".')
@click.option("--every", metavar="DURATION", help="Do it again each time this has passed: 90s, 10m, 2h, 1d.")
@click.option(
    "--cron",
    metavar="SCHEDULE",
    help='Do it at these times, as crontab writes them: "0 9 * * mon-fri", "*/15 * * * *", @daily.',
)
@click.option("--zone", metavar="ZONE", help="Time zone of --at and --cron, such as Europe/Berlin; default: yours.")
@json_option
@click.pass_obj
def add(
    console: Console,
    *,
    task: tuple[str, ...],
    folder: str,
    priority: int,
    after: str | None,
    at: str | None,
    every: str | None,
    cron: str | None,
    zone: str | None,
    as_json: bool,
) -> ExitCode:
    """Add a TASK and print its id, which is also the id of its run; "-" takes the task from standard input.

    \b
    dragoman queue add "update the changelog"
    dragoman queue add --folder api --priority 5 "fix the failing test"
    dragoman queue add --cron "0 9 * * mon-fri" "look for outdated dependencies"
    """
    text = " ".join(task)
    if text == "-":
        from dragoman.cli.vocabulary import text_from

        text = text_from("-").strip()
    if not text.strip():
        raise click.UsageError("The task is empty.")
    if os.path.isabs(folder) or ".." in Path(folder).parts:
        raise click.BadParameter("it is relative to the workspace of the worker, and inside it.", param_hint="--folder")
    times = {"--in": after, "--at": at, "--cron": cron}
    given = [name for name, value in times.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} both say when to begin: give one of them.")
    if cron is not None and every is not None:
        raise click.UsageError("--cron and --every both say when to do it again: give one of them.")
    if zone is not None and at is None and cron is None:
        raise click.UsageError("--zone is the time zone of --at or --cron: give one of them.")
    again = None if every is None else _seconds(every, "--every")
    if again == 0:
        raise click.BadParameter("it must be longer than 0 seconds.", param_hint="--every")
    zone = zone or fleet.zone_here()
    with _told("--at"):
        begin = None if at is None else fleet.moment(at, zone)
    with _told("--cron"):
        calendar = None if cron is None else fleet.Calendar(cron, zone)
    queue = queue_of(console.configuration())
    try:
        entry = queue.add(
            text,
            folder=folder,
            priority=priority,
            after=0.0 if after is None else _seconds(after, "--in"),
            at=begin,
            every=again,
            calendar=calendar,
        )
    finally:
        queue.close()
    if as_json:
        console.json(_facts(entry))
    else:
        console.line(entry.id)
        if given:
            console.note(f"It begins {_time(entry.start_at)}.")
    return ExitCode.OK


@contextmanager
def _told(option: str) -> Iterator[None]:
    """Makes a mistake in a time one of the command line."""
    try:
        yield
    except ConfigError as error:
        raise click.BadParameter(f"{error}.", param_hint=option) from error


def _seconds(text: str, option: str) -> float:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not number.isdecimal():
        raise click.BadParameter(f'"{text}" is not a duration: write 90s, 10m, 2h or 1d.', param_hint=option)
    seconds = float(number) * units[unit]
    if seconds > _LONGEST:
        raise click.BadParameter(f'"{text}" is longer than a hundred years.', param_hint=option)
    return seconds


_LONGEST: Final = 100 * 366 * 86_400.0


@command.command("list", short_help="List tasks, those that changed last first.")
@click.option("--state", "states", multiple=True, help="Only those that are queued, running, waiting, done, …")
@click.option("--limit", type=click.IntRange(min=1), default=50, help="Maximum number of tasks; default: 50.")
@json_option
@click.pass_obj
def list_command(console: Console, *, states: tuple[Any, ...], limit: int, as_json: bool) -> ExitCode:
    """List tasks with their state."""
    for state in states:
        if state not in fleet.STATES:
            known = f"the states are {', '.join(fleet.STATES)}"
            message = f'no task is "{state}": {known}.{nearest(state, fleet.STATES)}'
            raise click.BadParameter(message, param_hint="--state")
    queue = queue_of(console.configuration())
    try:
        entries, now = queue.entries(states, most=limit), queue.now()
    finally:
        queue.close()
    if as_json:
        console.json([_facts(entry) for entry in entries])
    elif entries:
        rows = [
            (entry.id[:8], entry.state, str(entry.priority), _when(entry, now), foreign(_line(entry), one_line=True))
            for entry in entries
        ]
        console.table(("id", "state", "priority", "changed", "task"), rows)
    else:
        console.note("The queue has no such tasks." if states else "The queue is empty.")
    return ExitCode.OK if entries else ExitCode.NO


@command.command(short_help="Show one task: its state, its answer, and what it waits for.")
@click.argument("id")
@json_option
@click.pass_obj
def show(console: Console, *, id: str, as_json: bool) -> ExitCode:
    """Show the task whose id starts with ID, with the last answer of its run and the calls that wait for approval."""
    from dragoman.cli.waiting_runs import answer_of, waiting_in

    configuration = console.configuration()
    queue = queue_of(configuration)
    store = store_of(configuration)
    try:
        entry = queue.entry(id)
        try:
            events = list(store.read(entry.id))
        except LogError:  # it has not begun
            events = []
    finally:
        store.close()
        queue.close()
    waiting = waiting_in(events) if entry.state == "waiting" else []
    answer = answer_of(events)
    if as_json:
        calls = [{"id": call.id, "digest": call.digest, "summary": call.summary} for call in waiting]
        console.json({**_facts(entry), "answer": answer, "calls": calls})
        return ExitCode.OK
    for name, value in (
        ("id", entry.id),
        ("state", entry.state),
        ("task", entry.task),
        ("folder", entry.folder or "."),
        ("priority", str(entry.priority)),
        ("added", _time(entry.added)),
        ("starts", _time(entry.start_at) if entry.state == "queued" else ""),
        ("again", _again(entry)),
        ("worker", entry.worker or ""),
        ("attempts", str(entry.attempts)),
        ("message", entry.message),
        ("answer", answer),
    ):
        if value:
            console.line(f"{name + ':':<10}{foreign(value)}")
    for call in waiting:
        console.line(f"waits:    {call.digest[:8]}  {foreign(call.summary, one_line=True)}")
    return ExitCode.OK


@command.command(short_help="Cancel a task; one that runs is stopped.")
@click.argument("id")
@click.pass_obj
def cancel(console: Console, *, id: str) -> ExitCode:
    """Cancel the task whose id starts with ID. Its record stays, and `queue retry` continues it."""
    return _changed(console, id, "cancel", "is cancelled", "is {state} already")


@command.command(short_help="Try a task again that failed or was cancelled.")
@click.argument("id")
@click.pass_obj
def retry(console: Console, *, id: str) -> ExitCode:
    """Queue the task whose id starts with ID once more. Its run continues where it stopped."""
    return _changed(console, id, "retry", "is queued again", "is {state}")


def _changed(console: Console, id: str, change: Literal["cancel", "retry"], done: str, otherwise: str) -> ExitCode:
    """Changes the state of a task, and says what was done or in which state it is instead."""
    queue = queue_of(console.configuration())
    try:
        entry = queue.entry(id)
        changed = queue.cancel(entry.id) if change == "cancel" else queue.retry(entry.id)
    finally:
        queue.close()
    console.note(f"{entry.id[:8]} {done if changed else otherwise.format(state=entry.state)}.")
    return ExitCode.OK if changed else ExitCode.NO


def _facts(entry: Entry) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(entry)
    return facts


def _time(seconds: float) -> str:
    try:
        return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):  # other programs can write any number into the database
        return f"{seconds:g} seconds after 1970"


def _when(entry: Entry, now: float) -> str:
    """When it changed last or, where it waits for its time, when it begins."""
    starts = entry.state == "queued" and entry.start_at > now
    return f"starts {_time(entry.start_at)}" if starts else _time(entry.changed)


def _again(entry: Entry) -> str:
    """When a task comes back."""
    if entry.cron is not None:
        return f"{entry.cron} ({entry.zone})"
    if entry.every is None:
        return ""
    is_usual = 0 < entry.every <= _LONGEST
    return f"every {datetime.timedelta(seconds=entry.every) if is_usual else f'{entry.every:g} seconds'}"


def _line(entry: Entry) -> str:
    first = entry.task.strip().split("\n")[0]
    return first if len(first) <= 80 else f"{first[:79]}…"
