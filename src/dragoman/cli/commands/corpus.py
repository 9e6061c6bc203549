"""`dragoman corpus`: the logs of many machines as tables in Parquet, in a folder or in object storage."""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec

from dragoman.cli.log_files import files_of, known_of_user
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.errors import ConfigError


@click.group
def command() -> None:
    """Put the logs of many people and machines into one corpus, to be asked together.

    A corpus is Parquet files in a folder or in object storage. `query`, `stats` and `usage` ask it with --corpus.
    """


def _shard(_: click.Context, __: click.Parameter, text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise click.BadParameter(f'"{text}" is no shard: write 1/4 to 4/4 for four of them.')
    return int(found[1]), int(found[2])


def _folders(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...]:
    from dragoman.logs.corpus import folders_named

    try:
        return () if text is None else folders_named(text)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from error


@command.command(short_help="Read what is new in logs and add it to a corpus.")
@click.argument("places", nargs=-1, required=True, metavar="[SRC]... DST")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that read logs.")
@click.option("--shard", default="1/1", callback=_shard, metavar="I/N", help="Only this one of N shares of the logs.")
@click.option(
    "--redact/--no-redact",
    default=None,
    help="Replace secrets, home folders and user names with placeholders; default: if DST is remote.",
)
@click.option("--engine", type=click.Choice(["processes", "dask"]), default="processes", help="What runs the workers.")
@click.option("--scheduler", metavar="ADDRESS", help="Scheduler of a Dask cluster; default: one on this machine.")
@click.option("--user", help="Whose logs they are.")
@click.option("--team", help="The team of that user.")
@click.option("--machine", help="The machine the logs are from; default for files: this one.")
@click.option(
    "--folders",
    callback=_folders,
    metavar="NAMES",
    help="What the folders below SRC name, for example team/user/machine; - for a folder that names nothing.",
)
@json_option
@click.pass_obj
def build(
    console: Console,
    *,
    places: tuple[str, ...],
    workers: int,
    shard: tuple[int, int],
    redact: bool | None,
    engine: str,
    scheduler: str | None,
    user: str | None,
    team: str | None,
    machine: str | None,
    folders: tuple[str, ...],
    as_json: bool,
) -> ExitCode:
    """Read logs from SRC (files, folders or object storage; default: every log of this machine) into the corpus DST.

    Logs that are in the corpus and did not change are not opened. The command can be stopped at any time and run
    again, and several can run at once: nothing is counted twice. Object storage is s3://bucket/folder,
    gs://bucket/folder or az://container/folder, with keys from the environment.

    \b
    dragoman corpus build ~/corpus
    dragoman corpus build --team search s3://acme/corpus
    dragoman corpus build --folders team/user s3://acme/logs s3://acme/corpus
    """
    from dragoman.logs import corpus

    if scheduler is not None and engine != "dask":
        raise click.UsageError("--scheduler is the one of a Dask cluster: add --engine dask.")
    configuration = console.configuration()
    *sources, to = [corpus.place_of(address) for address in places]
    is_redacted = to.is_remote if redact is None else redact
    plan = corpus.planned(
        to,
        sources,
        here=() if sources else files_of(console, ()),
        labels=corpus.Labels(user, team, machine),
        folders=folders,
        shard=shard,
        redaction=_redaction(console) if is_redacted else None,
        cache=configuration.cache_dir / "corpus",
    )
    with console.progress("building", len(plan.parts)) as advance:
        if engine == "dask":
            counts = corpus.built_on_dask(plan, scheduler=scheduler, workers=workers, progress=advance)
        else:
            counts = corpus.built(plan, workers=workers, progress=advance)
    return _told(console, counts, as_json=as_json)


def _redaction(console: Console) -> Any:
    from dragoman.logs import corpus

    secrets, home, user = known_of_user(console)
    return corpus.Redaction(tuple(secrets), home, user)


def _told(console: Console, counts: Any, *, as_json: bool) -> ExitCode:
    if as_json:
        console.json(msgspec.to_builtins(counts))
        return ExitCode.NO if counts.failed else ExitCode.OK
    console.line(
        f"{counts.inputs:,} files: {counts.read:,} logs read ({counts.bytes / 1e6:,.1f} MB), {counts.parts:,} parts,"
        f" {counts.unchanged:,} unchanged, {counts.no_logs:,} in no known format, {counts.failed:,} failed"
    )
    if counts.made_elsewhere:
        console.note(f"{counts.made_elsewhere:,} parts were made by another build meanwhile.")
    for address, reason in counts.failures[:20]:
        console.warn(f"{address}: {reason}")
    return ExitCode.NO if counts.failed else ExitCode.OK
