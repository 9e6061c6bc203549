"""`dragoman sources`: where logs are looked for, and what is there."""

from __future__ import annotations

import click

from .console import Console, ExitCode, json_option


@click.command
@json_option
@click.pass_obj
def command(console: Console, *, as_json: bool) -> ExitCode:
    """List the folders where coding agents keep their sessions, and how many files each has.

    A folder elsewhere is added in the settings: `[logs.homes]`, the format's name = the folder.
    """
    from dragoman.logs import FORMATS, homes

    named = console.configuration().settings.logs.homes
    rows = []
    for name, home in homes(named=named):
        files = list(FORMATS[name].files(home))
        rows.append({"format": name, "home": str(home), "files": len(files), "bytes": sum(_size(one) for one in files)})
    if as_json:
        console.json(rows)
    elif rows:
        shown = [(row["format"], str(row["home"]), str(row["files"]), str(row["bytes"])) for row in rows]
        console.table(("format", "folder", "files", "bytes"), [[str(cell) for cell in row] for row in shown])
    else:
        console.note(f"No logs were found here. Known formats: {', '.join(FORMATS)}.")
        return ExitCode.NO
    return ExitCode.OK


def _size(path: object) -> int:
    from pathlib import Path

    assert isinstance(path, Path)
    return path.stat().st_size
