"""Workspaces to test with, and ways to look at them from outside."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import ToolError
from dragoman.model.operations import Operation
from dragoman.tools.context import Context
from dragoman.tools.definition import Tool
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.memory import MemoryWorkspace
from dragoman.tools.workspace.workspace import Workspace


@contextmanager
def on_disk(**options: Any) -> Iterator[DiskWorkspace]:
    with tempfile.TemporaryDirectory() as folder:
        yield DiskWorkspace(folder, durable=False, **options)


@contextmanager
def without_handles() -> Iterator[DiskWorkspace]:
    """What a system without directory handles does."""
    with on_disk(handles=False) as workspace:
        yield workspace


@contextmanager
def in_memory() -> Iterator[MemoryWorkspace]:
    yield MemoryWorkspace()


KINDS: dict[str, Callable[[], Any]] = {"disk": on_disk, "disk without handles": without_handles, "memory": in_memory}


def run(tool: Tool, operation: Operation, workspace: Workspace) -> Any:
    """What a tool gives; what it raises comes through."""
    return tool.run(operation, Context(workspace=workspace))


def files(workspace: Workspace) -> dict[str, bytes]:
    """Every file with its content, without telling the workspace that it was seen."""
    found = {}
    for path in workspace.paths():
        with workspace.open(path) as file:
            found[path] = file.read()
    return found


def told(call: Callable[[], Any]) -> Any:
    """What a call gives, or its failure as a value that can be compared; either must be fit for JSON."""
    try:
        given = call()
    except ToolError as error:
        given = error.kind, error.message, error.details
    msgspec.json.encode(given)
    return given


def failure(call: Callable[[], Any]) -> ToolError:
    """The failure of a call that must fail."""
    try:
        given = call()
    except ToolError as error:
        msgspec.json.encode((error.message, error.details))
        return error
    raise AssertionError(f"it was done: {given}")


def tree(folder: Path) -> dict[str, Any]:
    """Everything below a folder of this machine: modes, contents, targets; links are not followed."""
    found: dict[str, Any] = {}
    for place, folders, names in os.walk(folder):
        for name in folders + names:
            path = Path(place, name)
            status = path.lstat()
            facts: list[Any] = [stat.filemode(status.st_mode), status.st_ino]
            if stat.S_ISREG(status.st_mode):
                facts += [status.st_size, status.st_mtime_ns, path.read_bytes()[:4096]]
            elif stat.S_ISLNK(status.st_mode):
                facts.append(os.readlink(path))
            found[str(path.relative_to(folder))] = facts
    return found
