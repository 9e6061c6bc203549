"""`dragoman worker`: does the tasks of the queue, each in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dragoman.cli.notices import facts_of, notifier_of
from dragoman.cli.records import queue_of, store_of
from dragoman.cli.terminal.console import Console, ExitCode, here
from dragoman.cli.waiting_runs import waiting_in

if TYPE_CHECKING:
    from dragoman.fleet import Ended, Entry

_SOON: Final = 30.0
"""Seconds after which a run is tried again that a provider or the database has let down."""


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--concurrency", type=click.IntRange(min=1), default=1, help="Tasks done at once; default: 1.")
@click.option(
    "--workspace",
    "-w",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder that tasks may name folders of; default: the current one.",
)
@click.option("--until-empty", is_flag=True, help="Stop when there is nothing left to do.")
@click.option(
    "--silent",
    type=click.FloatRange(min=1),
    default=30.0,
    metavar="SECONDS",
    help="Seconds without a sign of life after which a worker counts as dead; default: 30.",
)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- RUN OPTIONS]")
@click.pass_obj
def command(
    console: Console,
    /,
    *,
    concurrency: int,
    workspace: Path | None,
    until_empty: bool,
    silent: float,
    run_options: tuple[str, ...],
) -> ExitCode:
    """Do the tasks of the queue, as `dragoman run` would with the options after "--".

    Calls that need approval wait: `dragoman approve RUN` lets them continue. If a worker dies, another one takes its
    tasks over; a run continues from its record.

    \b
    dragoman worker
    dragoman worker --concurrency 4 -- --model openai:gpt-5.2 --tools read,write
    dragoman worker --until-empty -- --yes --sandbox require
    """
    from dragoman.cli.runner import Runner
    from dragoman.fleet import Worker

    for word in run_options:
        if word.split("=")[0] in ("--resume", "--from", "--run-id", "--workspace", "-w", "--no-record"):
            raise click.UsageError(f"{word} is not for all tasks of a queue.")
    configuration = console.configuration()
    queue, store = queue_of(configuration), store_of(configuration)
    url = configuration.settings.store.url
    environment = {**os.environ, **({} if url is None else {"DRAGOMAN_STORE__URL": url.reveal()})}
    asked = () if {"--yes", "-y", "--deny", "--ask"} & {*run_options} else ("--ask",)

    def started(entry: Entry) -> tuple[list[str], dict[str, str]]:
        decided = [word for one in entry.decisions for word in (f"--{one.verdict}", one.call)]
        # The folder is the one that the worker starts it in, whatever a record or the settings say.
        own = ["--workspace", ".", *asked, *decided, "--run-id", entry.id, "-"]
        return [sys.executable, "-m", "dragoman", "run", *run_options, *own], environment

    notifier = notifier_of(configuration)

    async def tell(entry: Entry) -> list[str]:
        assert notifier is not None
        calls = waiting_in(list(store.read(entry.id))) if entry.state == "waiting" else []
        return await notifier.tell(
            facts_of(
                configuration,
                entry.id,
                entry.state,
                task=entry.task,
                folder=entry.folder,
                message=entry.message,
                calls=calls,
            )
        )

    try:
        with Runner() as runner:
            worker = Worker(
                queue,
                store,
                workspace or configuration.settings.workspace or here(),
                started,
                meaning,
                concurrency=concurrency,
                silent=silent,
                say=console.note,
                tells=configuration.settings.notify.when,
                tell=None if notifier is None else tell,
            )
            console.note(f"{worker.id} takes tasks from {queue.place}")
            runner.run(worker.work(until_empty=until_empty))
    except KeyboardInterrupt:
        console.note("stopped; what it was doing is queued again")
        return ExitCode.OK
    finally:
        store.close()
        queue.close()
    return ExitCode.OK


def meaning(code: int) -> Ended:
    """What the exit code of `dragoman run` means for a task."""
    from dragoman.fleet import Ended

    if code == ExitCode.OK:
        return Ended("done")
    if code == ExitCode.WAITING:
        return Ended("waiting")
    if code in (ExitCode.ENGINE, ExitCode.STORAGE):
        return Ended("queued", _SOON)
    if code < 0 or code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED, ExitCode.HUNG_UP):
        return Ended("queued", 0.0)  # somebody ended the process, or the system did for want of memory
    return Ended("failed")
