"""`dragoman schema`: the shapes of what logs hold, and where they differ from what is known."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Literal

import click

from dragoman import logs
from dragoman.cli.log_files import files_of, format_option
from dragoman.cli.terminal.console import Console, ExitCode, as_json as encoded, json_option
from dragoman.config.files import written_whole
from dragoman.errors import LogError, nearest, writing
from dragoman.logs import history


@click.group
def command() -> None:
    """Learn the shapes of logs, and check them for drift.

    Clients change: a tool gets a new name, a parameter or a field of a record comes or goes, a record of a new kind
    appears. `extract` writes down what logs hold; `check` compares them with what this version of dragoman knows.
    """


def _wanted(function: Any) -> Any:
    function = click.argument("wanted", nargs=-1, metavar="[PATH|ID]...")(function)
    return click.option("--client", help="Only logs of this client, for example codex.")(function)


def _files(
    console: Console,
    wanted: tuple[str, ...],
    format: str | None,
    client: str | None,
    passed: list[Path] | None = None,
) -> list[logs.Found]:
    if client is not None and client not in logs.FORMATS:
        raise click.BadParameter(
            f"there is no client {client!r}; there are {', '.join(logs.FORMATS)}.{nearest(client, logs.FORMATS)}",
            param_hint="--client",
        )
    return [one for one in files_of(console, wanted, format, passed=passed) if client in (None, one.format)]


# --- extract -----------------------------------------------------------------------------------------------------


@command.command(short_help="Write down the shapes of tools and records.")
@_wanted
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A .json file for all, or a folder for CLIENT/VERSION.json each.",
)
@format_option
@json_option
@click.pass_obj
def extract(
    console: Console,
    *,
    wanted: tuple[str, ...],
    client: str | None,
    output: Path | None,
    format: str | None,
    as_json: bool,
) -> ExitCode:
    """Infer JSON Schemas from logs: of every tool's arguments and every kind of record, per client and version.

    A name is `required` when it was there each time; texts are an `enum` when few, short ones came again and again.
    `x-count` says how often a value was seen and `x-seen` where first. Without PATH, all logs of this machine.
    """
    files = _files(console, wanted, format, client)
    with console.progress("reading", len(files)) as advance:
        learnt = history.extract_shapes(files, advance, console.warn)
    if output is not None:
        _write(console, learnt, output)
    if as_json:
        console.json({name: {one: it.document() for one, it in its.items()} for name, its in learnt.items()})
    elif output is None:
        rows = [
            (name, version, str(len(shapes.tools)), str(len(shapes.records)), str(_calls(shapes)))
            for name, versions in learnt.items()
            for version, shapes in versions.items()
        ]
        console.table(("client", "version", "tools", "record kinds", "calls"), rows)
        console.note("The schemas themselves: --json, or -o FOLDER.")
    return ExitCode.OK if learnt else ExitCode.NO


def _calls(shapes: history.Shapes) -> int:
    return sum(shape.count for shape in shapes.tools.values())


def _write(console: Console, learnt: dict[str, dict[str, history.Shapes]], output: Path) -> None:
    if output.suffix == ".json":
        document = {name: {one: it.document() for one, it in its.items()} for name, its in learnt.items()}
        _write_file(output, document)
        console.note(f"written to {output}")
        return
    count = 0
    for name, versions in learnt.items():
        for version, shapes in versions.items():
            path = output / name / f"{_as_file_name(version)}.json"
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            _write_file(path, shapes.document())
            count += 1
    console.note(f"{count} files written below {output}")


def _write_file(path: Path, document: Any) -> None:
    with written_whole(path) as file:
        file.write(_indented(document))


def _indented(document: Any) -> bytes:
    """A document for people to read. The name of a log in it may be no UTF-8, which msgspec does not format."""
    import json

    text = json.dumps(json.loads(encoded(document)), indent=2, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _as_file_name(version: str) -> str:
    """A version comes from a log, and may be anything: one that cannot be the name of a file has its digest in it, so
    that two versions are never one file."""
    plain = re.sub(r"[^\w.+-]", "_", version, flags=re.ASCII).lstrip(".")[:80]
    if plain == version:
        return plain
    return (
        f"{plain}_{hashlib.sha256(version.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}" if version else "unknown"
    )


# --- check -------------------------------------------------------------------------------------------------------

_TITLES = {
    "new_tool": "new tool",
    "new_parameter": "new parameter",
    "missing_parameter": "missing parameter",
    "changed_type": "changed type",
    "changed_text": "changed text",
    "new_record": "new kind of record",
    "unreadable": "unreadable",
    "new_field": "new field",
    "missing_field": "missing field",
    "renamed_field": "renamed field",
    "became_note": "record read as a note only",
    "left_as_text": "result read as text only",
    "left_empty": "results read as empty",
    "without_tokens": "tokens not read",
    "without_calls": "calls not read",
}


@command.command(short_help="Compare logs with the catalogue; exit 1 on drift.")
@_wanted
@click.option(
    "--language",
    type=click.Choice(["python", "toml"]),
    default="python",
    show_default=True,
    help="What the drafts of missing tools are written in.",
)
@format_option
@json_option
@click.pass_obj
def check(
    console: Console,
    *,
    wanted: tuple[str, ...],
    client: str | None,
    language: Literal["toml", "python"],
    format: str | None,
    as_json: bool,
) -> ExitCode:
    """Compare logs with what is known of each client: tools and their parameters, records and their fields, results.

    Each difference is printed with where it was seen first, how often, and in which versions; unknown tools come with
    the draft of their spelling, in which every guess is marked. A call the client itself refused is a model's mistake
    and not counted. Fields that a newer version of a client only adds are one line and no difference. Exits with 1
    when anything differs. Without PATH, all logs of this machine.
    """
    passed: list[Path] = []
    files = _files(console, wanted, format, client, passed)
    with console.progress("checking", len(files)) as advance:
        report = history.check_drift(files, advance, console.warn, passed)
    if passed and not report.files:
        raise LogError(
            f"{passed[0]} is in no format that is known here, and like none; name one with --format if it is"
        )
    skeleton = report.skeleton(language)
    if as_json:
        told: dict[str, Any] = {"files": report.files, "calls": report.calls, "refused": report.refused}
        told |= {"drifts": report.drifts, "additions": report.additions}
        shortened = [{"file": str(path), "fields": count} for path, count in report.shortened.items()]
        unlike = [{"file": str(path), "what": what} for path, what in report.unlike.items()]
        console.json({**told, "shortened": shortened, "unlike": unlike, "skeleton": skeleton})
    else:
        for drift in report.drifts:
            _show(console, drift)
        for added in report.additions:
            console.line(f"additions: {added.what}", "quiet")
        if skeleton:
            console.line()
            console.line("The missing spellings, drafted:", "strong")
            console.line(skeleton.rstrip("\n"))
        for path, what in report.unlike.items():
            console.note(f"{path} is {what}")
        for path, count in report.shortened.items():
            console.note(f"{path} was shortened or made by hand: it lacks {count} fields that its client always writes")
        console.note(
            f"{report.files} files, {report.calls} calls ({report.refused} refused by the client, not counted); "
            f"{len(report.drifts)} differences"
        )
    return ExitCode.NO if report.drifts else ExitCode.OK


def _show(console: Console, drift: history.Drift) -> None:
    versions = ", ".join(drift.versions[:3]) + (" …" if len(drift.versions) > 3 else "")
    console.line(f"{_TITLES[drift.kind]}: {drift.what}", "bad")
    console.line(f"  {drift.client} {versions}, ×{drift.count}", "quiet")
    if drift.source is not None:
        console.line(f"  {drift.source.file} at {drift.source.row or f'byte {drift.source.offset}'}", "quiet")
