"""`dragoman memory`: what models saved to remember, listed and forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman import tools
from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.errors import ToolError


@click.group
def command() -> None:
    """List, show and forget what models saved with save_memory.

    Memories are kept for each project, as files in the data folder (`dragoman config show data_dir`). A model has them
    only where its tools are named: `dragoman run --tools "save_memory,recall_memory,read,search"`.
    """


def _project_option(function: Any) -> Any:
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("--project", type=folder, help="The project's folder; default: the one around this folder.")(
        function
    )


@command.command("list", short_help="List the memories of a project.")
@_project_option
@click.option("--all", "everywhere", is_flag=True, help="Those of every project.")
@json_option
@click.pass_obj
def list_command(console: Console, *, project: Path | None, everywhere: bool, as_json: bool) -> ExitCode:
    """List memories, newest first, with the first line of each."""
    stores = _stores(console) if everywhere else [_store(console, project)]
    rows = [(store, memory) for store in stores for memory in store.all()]
    if as_json:
        console.json([{"project": store.project, **_facts(memory)} for store, memory in rows])
    elif rows:
        cells = [
            ("?" if memory.saved is None else memory.day, memory.key, memory.text.split("\n")[0], store.project or "")
            for store, memory in rows
        ]
        columns = ("saved", "key", "text", "project") if everywhere else ("saved", "key", "text")
        console.table(columns, [row[: len(columns)] for row in cells])
    else:
        console.note("Nothing is remembered.")
    return ExitCode.OK


@command.command(short_help="Print one memory.")
@click.argument("key")
@_project_option
@click.pass_obj
def show(console: Console, *, key: str, project: Path | None) -> ExitCode:
    """Print the text of the memory that is saved as KEY."""
    found = next((memory for memory in _store(console, project).all() if memory.key == key), None)
    if found is None:
        console.note(f'There is no memory "{key}"; `dragoman memory list` shows them.')
        return ExitCode.NO
    console.line(found.text)
    return ExitCode.OK


@command.command(short_help="Delete memories.")
@click.argument("keys", metavar="KEY...", nargs=-1)
@_project_option
@click.option("--all", "everything", is_flag=True, help="All memories of the project.")
@click.pass_obj
def forget(console: Console, *, keys: tuple[str, ...], project: Path | None, everything: bool) -> ExitCode:
    """Delete the memories that are saved as KEY."""
    if bool(keys) == everything:
        raise click.UsageError("name the memories to forget, or give --all.")
    store = _store(console, project)
    code = ExitCode.OK
    for key in keys or [memory.key for memory in store.all()]:
        try:
            store.forget(key)
        except ToolError as error:
            console.note(error.message)
            code = ExitCode.NO
        else:
            console.line(f"forgot {key}")
    return code


def _store(console: Console, project: Path | None) -> tools.Memories:
    from dragoman.config import data_dir

    return tools.Memories.of_project(project or here(), data_dir(flags=console.flags))


def _stores(console: Console) -> list[tools.Memories]:
    from dragoman.config import data_dir

    folder = data_dir(flags=console.flags) / "memory"
    return [tools.Memories(one) for one in sorted(folder.iterdir())] if folder.is_dir() else []


def _facts(memory: tools.Memory) -> dict[str, object]:
    return {"key": memory.key, "text": memory.text, "saved": memory.saved}
