"""Searches of a workspace in which folders and files are swapped for links that lead out, while they run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ToolError
from dragoman.model.operations import FindFiles, ListDirectory, Operation, SearchCode, SearchText
from dragoman.tools import Context, DiskWorkspace
from dragoman.tools.code import search_code
from dragoman.tools.search import find_files, list_directory, search_text

SECONDS = 5
SECRET = "outside_secret"
ONLY_OUTSIDE = "only-outside.py"

SEARCHES: dict[str, Operation] = {
    "lines": SearchText(SECRET),
    "lines in the folder": SearchText(SECRET, path="deep/below/folder"),
    "lines around": SearchText(SECRET, before=1, after=1),
    "lines with a limit": SearchText("secret", limit=5),
    "several lines": SearchText(rf"{SECRET}\(\)\nmore", multiline=True),
    "files": SearchText(SECRET, mode="files"),
    "counts": SearchText(SECRET, mode="count"),
    "names": FindFiles("**/*"),
    "names in the folder": FindFiles("*", path="deep/below/folder"),
    "code": SearchCode(f"{SECRET}($$$)", language="python"),
    "listing": ListDirectory(depth=5),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with folders at several depths and files, each beside a link to its like outside."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    folders = [inside / "folder", inside / "deep/below/folder"]
    for folder in (outside, *folders):
        (folder / "further").mkdir(parents=True)
    for file in ("file.py", "further/file.py", ONLY_OUTSIDE, f"further/{ONLY_OUTSIDE}"):
        (outside / file).write_text(f"before\n{SECRET}()\nmore\n" * 3)
    for file in ("file.py", "further/file.py"):
        for folder in folders:
            (folder / file).write_text("no secret here\n")
    for folder in folders:
        (folder.parent / "link").symlink_to(outside)
    (inside / "file.py").write_text("no secret here\n")
    (inside / "file-link.py").symlink_to(outside / "file.py")
    for number in range(40):
        (inside / f"other{number}").mkdir()
        (inside / f"other{number}/file.py").write_text("no secret here\n")
    return inside


@contextmanager
def swapped(inside: Path, pause: float) -> Iterator[None]:
    """Folders and files change places with the links beside them, with pauses of up to so many seconds."""
    pairs = [("folder", "link"), ("deep/below/folder", "deep/below/link"), ("file.py", "file-link.py")]
    paths = [str(inside / name) for pair in pairs for name in pair]
    command = [sys.executable, str(Path(__file__).with_name("swapper.py")), str(pause), *paths]
    swapper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield
    finally:
        said, _ = swapper.communicate()
    assert int(said) > 20


@pytest.mark.parametrize("pause", [0, 0.01])
def test_no_search_tells_of_what_is_outside(workspace: Path, pause: float) -> None:
    """A search reports only what is in the workspace, even while its folders are swapped for links that lead out."""
    context = Context(workspace=DiskWorkspace(workspace, durable=False))
    told: dict[str, list[str]] = {name: [] for name in SEARCHES}
    rounds = 0
    with swapped(workspace, pause):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until or rounds < 5:
            rounds += 1
            for name, operation in SEARCHES.items():
                found = outcome(operation, context)
                told[name] += [found] if leaks(operation, found) else []
    assert told == {name: [] for name in SEARCHES}


def outcome(operation: Operation, context: Context) -> str:
    tools: dict[type[Operation], Any] = {
        SearchText: search_text,
        FindFiles: find_files,
        SearchCode: search_code,
        ListDirectory: list_directory,
    }
    try:
        return str(tools[type(operation)](operation, context))
    except ToolError as error:
        return error.message


def leaks(operation: Operation, found: str) -> bool:
    if isinstance(operation, SearchText) and operation.mode != "content":
        return "Match(" in found
    return f"{SECRET}()" in found or ONLY_OUTSIDE in found
