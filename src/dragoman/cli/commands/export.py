"""`dragoman export`: a recorded session in another form."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from dragoman import logs, model
from dragoman.cli.filter_options import complete_sessions, filter_options, query_of
from dragoman.cli.log_files import files_of, format_option, redactor_of
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.config.files import written_whole
from dragoman.logs import history

if TYPE_CHECKING:
    from dragoman.logs.export import Strategy

_ENDINGS = {
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".txt": "text",
    ".parquet": "parquet",
}
_JSON = ("jsonl", "dragoman", "atif", "otel")
# Listing them must not load all that reads logs; a test holds them to `dragoman.logs.export.TARGETS`.
_TARGETS = ("jsonl", "dragoman", "markdown", "html", "text", "atif", "otel", "parquet")
_STRATEGIES = ("raw", "clean", "reasoning")


@click.command
@click.argument("wanted", metavar="[ID|PATH]...", nargs=-1, shell_complete=complete_sessions)
@click.option(
    "--to", "--export-format", "target", type=click.Choice(_TARGETS), metavar="FORM", help="What to write: see above."
)
@click.option("--strategy", type=click.Choice(_STRATEGIES), help="What to keep: see above.")
@click.option(
    "--redact", is_flag=True, help="Replace secrets, home folders, user names and e-mail addresses with placeholders."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=True),
    help="The file to write, or the folder for parquet; else standard output.",
)
@click.option(
    "--site",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write a folder of HTML pages, with a list of them: of the sessions or logs named, of those that the filters"
    " choose, or of all.",
)
@filter_options()
@format_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: tuple[str, ...],
    target: str | None,
    strategy: Strategy | None,
    redact: bool,
    output: Path | None,
    site: Path | None,
    asked: logs.Filter,
    format: str | None,
    as_json: bool,
) -> ExitCode:
    """Write a recorded session in another form. ID is a session's id or how it begins; PATH a log file or a folder.

    \b
    jsonl      the events, one JSON object per line, as `dragoman events` prints them
    dragoman   our own log format: read back, it gives the same events
    markdown   a transcript with diffs, sub-agents inside
    html       the same as one file without scripts
    text       the same in plain text
    atif       an Agent Trajectory Interchange Format document (Harbor)
    otel       OpenTelemetry spans (GenAI conventions) as OTLP JSON
    parquet    a folder with the seven tables of `dragoman query` and the events they were made of

    \b
    --strategy raw        every event, with its original record
    --strategy clean      what was said and done, without the client's internal records
    --strategy reasoning  what was asked, thought, said and called; what tools gave is cut

    Without --strategy, jsonl, dragoman and parquet hold every event, and the others what is clean. Without --to, the
    extension of the output file decides.

    --redact replaces keys, tokens, passwords, values of variables named like *KEY* or *TOKEN*, home folders, user names
    and e-mail addresses with placeholders, equal values with the same one, and prints the number of replacements on
    standard error. It does not look into pictures or archives: read what you give away.

    \b
    dragoman export 3f2a --to html -o session.html --redact
    dragoman export ~/.codex/sessions/2026/11/15/rollout-….jsonl --to atif -o trajectory.json
    dragoman export ~/.claude/projects --site pages --redact
    dragoman export --site pages --project inventory --since 1w
    """
    from dragoman.logs.export import TARGETS

    if site is not None:
        if target not in (None, "html") or output is not None or format is not None:
            raise click.UsageError("--site writes HTML pages into its own folder: leave --to, -o and --format out.")
        redactor = redactor_of(console) if redact else None
        return _site(console, wanted, asked, site, strategy or "clean", redactor, as_json=as_json)
    if len(wanted) != 1:
        raise click.UsageError("say which session: its id, how it begins, `last`, or a log file. --site takes several.")
    if asked != logs.Filter():
        raise click.UsageError("--client, --project, --since and the like choose sessions for --site.")
    chosen_target = _target(target, output)
    if as_json and output is None:
        raise click.UsageError("--json tells what was written: name where to with -o FILE.")
    events = _events(console, wanted[0], format)
    redactor = redactor_of(console) if redact else None
    chosen = logs.Chosen(events, strategy or TARGETS[chosen_target].strategy, redactor)
    if TARGETS[chosen_target].is_folder:
        if output is None:
            raise click.UsageError(f"{chosen_target} is several files: name a folder for them with -o FOLDER.")
        if output.exists() and not output.is_dir():
            raise click.UsageError(f"{output} is a file; {chosen_target} is several: name a folder for them.")
        logs.write_as(chosen, chosen_target, output)
    elif output is None:
        _to_standard_output(console, chosen_target, lambda out: logs.write_as(chosen, chosen_target, out))
    else:
        if output.is_dir():
            raise click.UsageError(f"{output} is a folder; name a file in it.")
        if not output.parent.is_dir():
            raise click.UsageError(f"there is no folder {output.parent} to write {output.name} into.")
        with written_whole(output) as file:
            logs.write_as(chosen, chosen_target, file)
    _tell(console, chosen_target, output, redactor, as_json=as_json)
    return ExitCode.OK


def _site(
    console: Console,
    wanted: tuple[str, ...],
    asked: logs.Filter,
    folder: Path,
    strategy: Strategy,
    redactor: logs.Redactor | None,
    *,
    as_json: bool,
) -> ExitCode:
    """Sessions as a folder of pages."""
    from dragoman.logs.export import write_site

    query = query_of(console, wanted)
    rows = query.sessions(asked)
    if not rows:
        console.note("No session was found. `dragoman sessions` with the same options shows what they choose.")
        return ExitCode.NO
    sessions = (logs.Chosen(partial(query.events_of, row.session), strategy, redactor) for row in rows)
    with console.progress("writing", len(rows)) as advance:
        files = write_site(sessions, folder, advance)
    _tell(console, "site", folder, redactor, as_json=as_json)
    console.note(f"{len(files) - 1:,} sessions; begin with {files[0]}")
    return ExitCode.OK


def _target(target: str | None, output: Path | None) -> str:
    if target is not None:
        return target
    told = None if output is None else _ENDINGS.get(output.suffix.lower())
    if told is None:
        raise click.UsageError(f"say what to write: --to {'|'.join(_TARGETS)}")
    return told


# --- what is exported --------------------------------------------------------------------------------------------


def _events(console: Console, wanted: str, format: str | None) -> Callable[[], Iterator[model.AnyEvent]]:
    """The events of a session or of files, as often as they are asked for."""
    if format is not None or "/" in wanted or os.path.exists(wanted):
        files = files_of(console, (wanted,), format)

        def of_files() -> Iterator[model.AnyEvent]:
            with console.progress("reading", len(files)) as advance:
                for found in files:
                    yield from history.read_log(found)
                    advance(1)

        return lambda: logs.numbered(of_files())
    query = query_of(console)
    session = query.session(wanted)
    wanted_keys = set(_keys(session))
    root = logs.Filter(session=_root(query, session.id))
    return lambda: (event for event in query.events(root) if logs.key_of(event) in wanted_keys)


def _keys(session: model.Session) -> Iterator[tuple[str, str]]:
    yield session.id, session.stream
    for child in session.children:
        yield from _keys(child)


def _root(query: logs.Query, id: str) -> str:
    """The session above all: events are found by it, also those of its agents."""
    above = {row.session: row.parent_session for row in query.sessions(with_agents=True) if row.stream == "main"}
    seen: set[str] = set()
    while id not in seen and (parent := above.get(id)) in above:
        seen.add(id)
        id = parent or id
    return id


# --- where it is written -----------------------------------------------------------------------------------------


def _to_standard_output(console: Console, target: str, write: Callable[[BinaryIO], None]) -> None:
    """Bytes as they are in a pipe; on a terminal nothing of them steers it."""
    sys.stdout.flush()
    if not sys.stdout.isatty():
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return

    kept = io.BytesIO()
    write(kept)
    # Not `splitlines`: a text may hold other breaks of lines, and then half a line is no JSON.
    for line in kept.getvalue().decode().removesuffix("\n").split("\n"):
        if target in _JSON:
            console.json(msgspec.Raw(line.encode()) if line else None)
        else:
            console.line(line)


def _tell(console: Console, target: str, output: Path | None, redactor: logs.Redactor | None, *, as_json: bool) -> None:
    counts = None if redactor is None else {kind: redactor.counts[kind] for kind in ("secret", "home", "user", "email")}
    if redactor is not None and counts is not None:
        words = {"secret": "secrets", "home": "home folders", "user": "user names", "email": "e-mail addresses"}
        told = ", ".join(f"{count} {words[kind]}" for kind, count in counts.items())
        console.note(f"redacted: {told}. What is in pictures or archives was not looked at.")
    if as_json:
        console.json({"target": target, "output": output, "redacted": counts})
    elif output is not None:
        console.note(f"{target} written to {output}")
