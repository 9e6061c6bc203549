"""`dragoman dialect`: check a dialect of one's own, or begin one from captured tools."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.cli.vocabulary import complete_dialects, text_from
from dragoman.config.files import written_whole
from dragoman.errors import DefinitionError, nearest

if TYPE_CHECKING:
    from dragoman.dialects import Dialect
    from dragoman.dialects.plugins import Problem


@click.group
def command() -> None:
    """Check a dialect of your own, or begin one.

    A dialect is a Python file, or data in TOML or YAML: which tools there are, and what each parameter means. Put it
    into the plugins folder (`dragoman config path plugins`), or name its path wherever a dialect is asked for.
    """


# --- check -------------------------------------------------------------------------------------------------------


class Checked(msgspec.Struct, frozen=True):
    """What was found in one dialect."""

    name: str
    tools: int
    spoken: tuple[str, ...]
    problems: list[Problem]


@command.command(short_help="Check a dialect against the laws.")
@click.argument("dialect", metavar="FILE", shell_complete=complete_dialects)
@json_option
@click.pass_obj
def check(console: Console, *, dialect: str, as_json: bool) -> ExitCode:
    """Check the dialect in FILE (.py, .toml, .yaml), or a listed one, against the laws.

    Names are legal and unique, definitions valid; what is written reads back as the same operation but for the stated
    loss; results read back as they were written; any arguments give a call or a failure. Exits with 1 when a law
    does not hold, or when something is left to do.
    """
    console.configuration()
    found = _checked(dialect)
    problems = found if isinstance(found, DefinitionError) else [one for each in found for one in each.problems]
    if as_json:
        console.json(_document(dialect, found))
    elif isinstance(found, DefinitionError):
        _show_broken(console, dialect, found)
    else:
        for one in found:
            _show(console, one)
    return ExitCode.NO if problems else ExitCode.OK


def _checked(given: str) -> list[Checked] | DefinitionError:
    from dragoman.dialects import DIALECTS
    from dragoman.dialects.plugins import dialects_in, is_dialect_file

    is_file = is_dialect_file(given)
    if not is_file and given not in DIALECTS and Path(given).exists():
        raise click.UsageError(f"{given} is no dialect's file: its name ends in .py, .toml, .yaml or .yml.")
    if not is_file and given not in DIALECTS:
        raise click.UsageError(f'There is no file and no dialect "{given}".{nearest(given, DIALECTS)}')
    if is_file and not Path(given).is_file():
        raise click.UsageError(f"There is no file {given}.")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what a file prints is not the answer
            dialects = dialects_in(Path(given)) if is_file else {given: DIALECTS[given]}
            return [_held(name, dialect) for name, dialect in dialects.items()]
    except DefinitionError as error:
        return error


def _held(name: str, dialect: Dialect) -> Checked:
    from dragoman.dialects.plugins import check, spoken

    return Checked(name, len(dialect.spellings), spoken(dialect), check(dialect))


def _document(given: str, found: list[Checked] | DefinitionError) -> dict[str, Any]:
    if isinstance(found, DefinitionError):
        return {"file": given, "broken": found.problems, "dialects": []}
    return {"file": given, "broken": (), "dialects": found}


def _show_broken(console: Console, given: str, error: DefinitionError) -> None:
    console.line(f"{given} cannot be loaded: {error.subject}", "strong")
    for problem in error.problems:
        console.line(f"  {problem}", "bad")
    console.note(f"{_counted(len(error.problems), 'problem')}; the laws are tried when it can be loaded.")


def _show(console: Console, checked: Checked) -> None:
    console.line(checked.name, "strong")
    for problem in checked.problems:
        console.line(f"  {problem.where} [{problem.law}]: {problem.what}", "bad")
        console.line(f"    {problem.fix}", "quiet")
    what = f"{_counted(checked.tools, 'tool')}, {_counted(len(checked.spoken), 'operation')} spoken"
    if checked.problems:
        console.note(f"{_counted(len(checked.problems), 'problem')} in {what}.")
    else:
        console.line(f"  {what}; every law holds.", "good")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# --- new ---------------------------------------------------------------------------------------------------------


@command.command(short_help="Begin a dialect from captured tools.")
@click.argument("name")
@click.option(
    "--from",
    "captured",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Captured tools as JSON: a list, or a request with `tools`. - is standard input.",
)
@click.option("--to", "target", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="A new file.")
@click.option("--toml", "language", flag_value="toml", help="Write a data file (the default).")
@click.option("--python", "language", flag_value="python", help="Write Python, for tools that need methods.")
@click.pass_obj
def new(console: Console, *, name: str, captured: str, target: Path | None, language: str | None) -> ExitCode:
    """Begin the dialect NAME with tools as they were offered to a model.

    The tools may be written as OpenAI's Chat or Responses API, Anthropic's, Gemini's or an MCP server has them. What
    the dialects there are know of such a tool is taken over and marked as a guess; everything else is left to do, and
    `dragoman dialect check` says what.

    \b
    dragoman dialect new acme --from request.json --to acme.toml
    dragoman dialect check acme.toml
    """
    from dragoman.dialects.plugins import captured_tools, drafted

    console.configuration()
    _check_name(console, name)
    written_in = _language(target, language)
    try:
        tools, notes = captured_tools(_json(captured))
        text = drafted(name, tools, written_in)
    except RecursionError as error:
        raise click.UsageError(f"{captured} is nested too deeply.") from error
    for note in notes:
        console.warn(note)
    if target is None:
        console.line(text.removesuffix("\n"))
    else:
        _create(target, text)
        console.note(f"{_counted(len(tools), 'tool')} written. Now see what is left: dragoman dialect check {target}")
    return ExitCode.OK


def _check_name(console: Console, name: str) -> None:
    from dragoman.dialects import DIALECTS
    from dragoman.dialects.plugins import DIALECT_NAME

    if not DIALECT_NAME.fullmatch(name):
        raise click.UsageError(f'"{name}" is no name for a dialect: use small letters, digits and _, as in acme.shell')
    if name in DIALECTS:
        console.warn(f'"{name}" is taken: as a plugin it would not be used. Give it a name of its own: acme.{name}')


def _json(path: str) -> Any:
    try:
        return msgspec.json.decode(text_from(path))
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{path} is not JSON: {error}") from error


def _language(target: Path | None, chosen: str | None) -> Literal["toml", "python"]:
    """What was asked for; else what the name of the file says."""
    suffix = None if target is None else target.suffix
    if suffix not in (None, ".toml", ".py"):
        raise click.UsageError(f"{target}: the name of a new dialect's file ends in .toml or .py.")
    named = {".toml": "toml", ".py": "python"}.get(suffix or "", chosen or "toml")
    if chosen is not None and chosen != named:
        raise click.UsageError(f"{target} would not be read as {chosen}: the end of its name says {named}.")
    return "python" if named == "python" else "toml"


def _create(path: Path, text: str) -> None:
    if os.path.lexists(path):
        raise click.UsageError(f"{path} is there already, and is not written over.")
    with written_whole(path) as file:
        file.write(text.encode())
