"""Listing a whole tree of 50,000 files with kinds and sizes."""

from __future__ import annotations

import os
from collections.abc import Callable
from stat import S_ISDIR

from bench.benches import Bench, Target
from bench.stopwatch import family_time, per_call
from bench.tree import tree

List = Callable[[], int]
Row = tuple[str, bool, int, float]


def ours() -> List:
    from dragoman.model.operations import ListDirectory
    from dragoman.tools import Context, DiskWorkspace
    from dragoman.tools.search import list_directory

    context = Context(workspace=DiskWorkspace(tree().root))
    return lambda: len(list_directory(ListDirectory(depth=99), context).entries)


def os_scandir() -> List:
    def list_all() -> int:
        rows: list[Row] = []
        waiting = [str(tree().root)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    is_folder = entry.is_dir(follow_symlinks=False)
                    rows.append((entry.path, is_folder, status.st_size, status.st_mtime))
                    if is_folder:
                        waiting.append(entry.path)
        return len(rows)

    return list_all


def os_walk() -> List:
    def list_all() -> int:
        rows: list[Row] = []
        for folder, below, names in os.walk(tree().root):
            for path in (f"{folder}/{name}" for name in below + names):
                status = os.lstat(path)
                rows.append((path, S_ISDIR(status.st_mode), status.st_size, status.st_mtime))
        return len(rows)

    return list_all


def os_fwalk() -> List:
    def list_all() -> int:
        rows: list[Row] = []
        for folder, below, names, handle in os.fwalk(tree().root):
            for name in below + names:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                rows.append((f"{folder}/{name}", S_ISDIR(status.st_mode), status.st_size, status.st_mtime))
        return len(rows)

    return list_all


def pathlib() -> List:
    def list_all() -> int:
        rows: list[Row] = []
        for path in tree().root.rglob("*"):
            status = path.lstat()
            rows.append((str(path), S_ISDIR(status.st_mode), status.st_size, status.st_mtime))
        return len(rows)

    return list_all


def scandir_rs() -> List:
    from scandir_rs import ReturnType, Scandir

    def list_all() -> int:
        entries, _ = Scandir(str(tree().root), return_type=ReturnType.Base).collect()
        return len([(entry.path, entry.is_dir, entry.st_size, entry.st_mtime) for entry in entries])

    return list_all


COLUMNS = {each.__name__: each for each in (ours, os_scandir, os_walk, os_fwalk, pathlib, scandir_rs)}


def measure(column: str) -> list[float]:
    list_all = COLUMNS[column]()
    listed = list_all()
    if listed != tree().entries:
        raise SystemExit(f"{column} listed {listed} entries; there are {tree().entries}")

    def repeat(times: int) -> None:
        for _ in range(times):
            list_all()

    return per_call(repeat, rounds=3, clock=family_time)


BENCH = Bench(
    question="list 50,000 files with kinds and sizes",
    environments={column: "searchers" if column == "scandir_rs" else "base" for column in COLUMNS},
    floor="os_scandir",
    targets=[Target("ours", column, 1.5) for column in COLUMNS if column != "ours"],
    measure=measure,
)
