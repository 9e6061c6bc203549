"""`dragoman replay`: do again what a recorded session did, and see where it comes out otherwise."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from dragoman import logs, model, tools
from dragoman.cli.log_files import are_own, events_of, files_of
from dragoman.cli.sandbox import sandbox_option, use_mode
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.engine import history, models

_SHOWN = 12
"""Lines of a difference."""


@click.command
@click.argument("wanted", metavar="PATH|ID")
@click.option(
    "--workspace",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to work in: a copy of the project as it was when the session began.",
)
@click.option("--folder", help="The folder the session worked in, when its log does not say.")
@click.option(
    "--commands/--no-commands",
    default=None,
    help="Whether recorded commands are run. Default: only for logs in the folders of your own clients.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds a call may take.",
)
@click.option(
    "--record", is_flag=True, help="Keep the replay as a session, to compare it with the original in `dragoman view`."
)
@click.option("--texts/--no-texts", default=True, help="Show results that differ only in wording.")
@sandbox_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    wanted: str,
    workspace: Path,
    folder: str | None,
    commands: bool | None,
    timeout: float,
    record: bool,
    texts: bool,
    sandbox: str | None,
    as_json: bool,
) -> ExitCode:
    """Run the calls of a session again with our own tools, and show where the results differ.

    Files are changed and commands are run, in --workspace: give it a copy. No file tool leaves that folder, and no
    command does where there is a sandbox; without one a command can reach everything that you can. So the commands of
    a log outside the folders of your own clients are run only with --commands. Calls that ask people, models or the
    network are skipped, as are those that were refused. Exits with 1 when the outcome of a call differs from the log;
    differences in wording alone are shown, and the exit code is 0.
    """
    from dragoman.cli.runner import run as run_in_loop

    use_mode(console, sandbox)
    configuration = console.configuration()
    found = files_of(console, (wanted,))
    events = list(events_of(console, found))
    dialect = logs.FORMATS[found[0].format].dialect
    if commands is None:
        commands = are_own(console, found)
        if not commands:
            console.note(
                "The log is not in a folder of your own clients: its commands are not run (--commands runs them)."
            )
    counts: Counter[str] = Counter()
    kept = _Record(configuration.data_dir / "runs", events, workspace) if record else None

    async def run() -> None:
        from dragoman.dialects import DIALECTS

        kinds = history.REPLAYED if commands else history.REPLAYED - {model.Kind.EXECUTE}
        again = history.replay(
            events,
            DIALECTS[dialect],
            tools.DiskWorkspace(workspace),
            folder=folder,
            seconds=timeout,
            kinds=kinds,
            shell=tools.Shell(sandbox=models.configured_sandbox(configuration, askable=False)),
        )
        async with aclosing(again):  # nobody may read on, and what was begun is ended all the same
            async for done in again:
                _count(done, counts)
                if kept is not None:
                    kept.add(done)
                if as_json:
                    console.json(_facts(done))
                else:
                    _show(console, done, texts=texts)

    try:
        run_in_loop(run())
    finally:
        if kept is not None:
            kept.close()
    if kept is not None:
        console.note(f"Recorded as session {kept.session}; Compare in `dragoman view` shows it beside {kept.original}.")
    if not as_json:
        console.line()
        console.line(" · ".join(f"{number} {what}" for what, number in counts.items()) or "no calls", "strong")
    return ExitCode.NO if counts["otherwise"] else ExitCode.OK


class _Record:
    """A replay as a session of ours: the calls that were made again, and what they gave here."""

    def __init__(self, folder: Path, events: Sequence[model.AnyEvent], workspace: Path) -> None:
        started = next((one for one in events if isinstance(one, model.SessionStarted)), None)
        known = (one.session for one in events if one.session is not None)
        self.original = next(known, None) or "the log"
        self.session = f"replay-{secrets.token_hex(6)}"
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._recorder = logs.Recorder(folder / f"{self.session}.jsonl")
        place = str(workspace.resolve())
        dialect = None if started is None else started.dialect
        self._recorder(model.SessionStarted(**self._head(), cwd=place, project=place, dialect=dialect))
        self._recorder(model.UserSaid(**self._head(), text=f"Replay of {self.original}", by="client"))

    def _head(self) -> dict[str, Any]:
        self._number += 1
        time = datetime.now(UTC)
        return {"id": f"{self.session}:{self._number}", "session": self.session, "time": time, "client": "dragoman"}

    def add(self, done: history.Replayed) -> None:
        """Adds a call that was made again."""
        if done.ours is None:
            return
        called = model.ToolCalled(**self._head(), call=done.call, call_id=done.call.id)
        returned = model.ToolReturned(**self._head(), result=done.ours, call_id=done.call.id)
        self._recorder.all([called, returned])

    def close(self) -> None:
        """Ends the record."""
        self._recorder.close()


def _count(done: history.Replayed, counts: Counter[str]) -> None:
    if done.skipped is not None:
        counts["passed over"] += 1
    elif done.outcome_differs:
        counts["otherwise"] += 1
    elif done.text_differs:
        counts["in other words"] += 1
    else:
        counts["the same"] += 1


def _facts(done: history.Replayed) -> dict[str, Any]:
    native = done.call.native
    facts: dict[str, Any] = {"call": {"id": native.id, "name": native.name, "arguments": native.arguments}}
    if done.skipped is not None:
        return facts | {"skipped": done.skipped}
    return facts | {"differences": [{"what": o.what, "theirs": o.theirs, "ours": o.ours} for o in done.differences]}


def _show(console: Console, done: history.Replayed, *, texts: bool) -> None:
    from dragoman.cli.terminal.call_lines import said_of_operation
    from dragoman.cli.terminal.visible import short

    means = ", ".join(said_of_operation(one) for one in done.call.operations)
    what = short(means or str(done.call.native.arguments), 120)
    name = f"{done.call.native.name}  {what}"
    if done.skipped is not None:
        console.line(f"· {name}  ({done.skipped})", "quiet")
        return
    style = "bad" if done.outcome_differs else "warning" if done.text_differs else "good"
    mark = "✗" if done.outcome_differs else "≈" if done.text_differs else "✓"
    console.line(f"{mark} {name}", style)
    for one in done.differences:
        if one.what == "text":
            if texts:
                _show_texts(console, str(one.theirs), str(one.ours))
        else:
            console.line(f"    {one.what}: {short(str(one.theirs), 200)}  here: {short(str(one.ours), 200)}")


def _show_texts(console: Console, theirs: str, ours: str) -> None:
    from difflib import unified_diff

    lines = list(unified_diff(theirs.splitlines(), ours.splitlines(), "the log", "here", lineterm="", n=1))
    for line in lines[:_SHOWN]:
        console.line(f"    {line[:200]}", "quiet")
    if len(lines) > _SHOWN:
        console.line(f"    … {len(lines) - _SHOWN} more lines", "quiet")
