"""What the commands over logs share: which files, their events, and one event as a line of JSON."""

from __future__ import annotations

import atexit
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman import logs, model
from dragoman.errors import ConfigError, LogError, StorageError
from dragoman.logs import base, history

from .terminal.console import Console

if TYPE_CHECKING:
    from dragoman.config.settings import Logs

format_option = click.option(
    "--format", metavar="NAME", help="Read files as this format, instead of by what they hold."
)


def files_of(
    console: Console,
    wanted: tuple[str, ...],
    format: str | None = None,
    *,
    piped: bool = True,
    passed: list[Path] | None = None,
    unfound: dict[str, LogError] | None = None,
) -> list[logs.Found]:
    """The log files that were named, or every one on this machine; files that are named are read as `format`.

    What is `piped` in is taken as well: `-` is the standard input. With `passed`, files in no known format are added
    to it and are no error; with `unfound`, neither is a name for which there is nothing that can be opened.
    """
    places = log_places(console)
    named, folders = places.homes, places.folders
    if not wanted:
        return list(history.all_logs(named=named, folders=folders))
    if piped:
        wanted = out_of_pipes(wanted)
    named_twice: list[logs.Found] = []
    for one in wanted:
        try:
            named_twice += history.logs_named(one, named=named, format=format, folders=folders, passed=passed)
        except LogError as error:
            if unfound is None:
                raise
            unfound[one] = error
    # One log may be named by several paths: relative, absolute, through a link.
    return list({(os.path.realpath(one.path), one.sessions): one for one in reversed(named_twice)}.values())[::-1]


def log_places(console: Console) -> Logs:
    """The places of logs that the settings name. Records of runs in a database are copied to files first."""
    configuration = console.configuration()
    if configuration.settings.store.url is not None:
        from .records import copy_stored_runs

        try:
            copy_stored_runs(configuration)
        except (ConfigError, StorageError) as error:
            console.warn(f"the records in the database of store.url are as they were last seen: {error}")
    return configuration.settings.logs


def redactor_of(console: Console) -> logs.Redactor:
    """What takes secrets, home folders, user names and e-mail addresses out of sessions that leave this machine."""
    known, home, user = known_of_user(console)
    return logs.Redactor(known, home=home, user=user)


def known_of_user(console: Console) -> tuple[tuple[str, ...], str | None, str | None]:
    """What is known of the user and must not leave this machine: secrets, the home folder, the name."""
    import getpass

    from dragoman.config.files import home_folder

    from .secrets import secrets_of

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = None
    home = home_folder()
    return tuple(secrets_of(console.configuration())), None if home == Path(home.anchor) else str(home), user


def are_own(console: Console, files: Iterable[logs.Found]) -> bool:
    """Whether all these logs lie where the user's clients keep them, or in folders of the settings.

    Anybody can write any other log. Reading one is harmless, but what it says is done only where the user asks for it.
    """
    places = console.configuration().settings.logs
    own = [
        os.path.realpath(home) for home in (*(home for _, home in history.homes(named=places.homes)), *places.folders)
    ]
    return all(any(Path(os.path.realpath(one.path)).is_relative_to(home) for home in own) for one in files)


def out_of_pipes(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The same names, where one is a pipe the file that has what came out of it; `-` is the standard input."""
    return tuple([_kept(one) if _is_pipe(one) else one for one in wanted])


def _is_pipe(name: str) -> bool:
    try:
        return name == "-" or stat.S_ISFIFO(os.stat(name).st_mode)
    except (OSError, ValueError):
        return False


def _kept(pipe: str) -> str:
    """What comes out of a pipe, in a file until the end: a log is known by its content, and its bytes are shown."""
    import shutil

    from dragoman.config.files import ScratchFolder

    folder = ScratchFolder()
    atexit.register(folder.close)
    kept = folder.path / ("stdin" if pipe == "-" else Path(pipe).name)
    with kept.open("wb") as file:
        if pipe == "-":
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with Path(pipe).open("rb") as source:
                shutil.copyfileobj(source, file)
    return str(kept)


def events_of(console: Console, files: list[logs.Found], *, printed: bool = False) -> Iterator[model.AnyEvent]:
    """Their events, numbered by turn and step, without what was printed of a log among them; shows progress.

    Events that are `printed` to a terminal as they come are progress enough: a bar would stand between them. Of several
    files one that cannot be opened is warned of, and costs nothing else.
    """

    files = history.without_prints(files)

    def all_events() -> Iterator[model.AnyEvent]:
        silent = printed and sys.stdout.isatty()
        with nullcontext(_unshown) if silent else console.progress("reading", len(files)) as advance:
            for found in files:
                try:
                    yield from history.read_log(found)
                except LogError as error:
                    if len(files) == 1:
                        raise
                    console.warn(str(error))
                advance(1)

    return logs.numbered(all_events())


def _unshown(steps: int) -> None:
    pass


def as_line(event: model.AnyEvent, originals: logs.Originals | None = None) -> dict[str, Any]:
    """An event as machines read it: the same keys for every kind, those that say nothing left out.

    With its original, that is in `raw`: a text where the bytes are UTF-8, `{"base64": …}` where they are not, and
    `{"row": {…}}` for the row of a database.
    """
    from dragoman.logs.export import event_line

    line = event_line(event)
    if originals is not None and event.source is not None:
        line["raw"] = written(originals.of(event.source))
    return line


def written(original: base.Original | None) -> Any:
    """An original as JSON can hold it: text where it is that, else base64; a row by its columns."""
    from dragoman.logs.export import written

    return written(original)


def raw_lines(original: base.Original | None) -> list[str]:
    """An original as people read it: its lines, what is no text written `\\xNN`; a row column by column."""
    if original is None:
        return []
    if isinstance(original, bytes):
        return _readable(original).removesuffix("\n").split("\n")
    return [
        line
        for column, cell in original.items()
        for line in f"{column}: {_readable(cell) if isinstance(cell, bytes) else cell}".split("\n")
    ]


def _readable(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
