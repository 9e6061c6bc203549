"""Finding files by a glob in a tree of 50,000: with its ignore files obeyed, and without."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence

from bench.benches import Bench, Target
from bench.stopwatch import family_time, per_call
from bench.tree import tree

Find = Callable[[], int]
PATTERN = "**/*.py"


def ours(*, obeying: bool) -> Find:
    from dragoman.model.operations import FindFiles
    from dragoman.tools import Context, DiskWorkspace
    from dragoman.tools.search import find_files

    context = Context(workspace=DiskWorkspace(tree().root))
    operation = FindFiles(PATTERN, respect_ignore=obeying)
    return lambda: len(find_files(operation, context).paths)


def ripgrep(*, obeying: bool, more: Sequence[str] = ()) -> Find:
    """Its list of files, and the glob in Python."""
    from dragoman.tools.processes.ripgrep import ripgrep_path

    rules = "--no-require-git" if obeying else "--no-ignore"
    command = [ripgrep_path(), "--no-config", "--files", "--null", "--hidden", rules, *more, "./"]

    def find() -> int:
        done = subprocess.run(command, cwd=tree().root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return len([path for path in done.stdout.decode().split("\0") if path.endswith(".py")])

    return find


def ripgrep_glob(*, obeying: bool) -> Find:
    """Its own glob: faster, and it finds what is ignored when the ignore rule and the glob are for the same name."""
    return ripgrep(obeying=obeying, more=["--glob=*.py"])


def powerwalk(*, obeying: bool) -> Find:
    from powerwalk import walk

    def find() -> int:
        found = walk(tree().root, filter=PATTERN, ignore_hidden=False, respect_git_ignore=obeying)
        return len([entry.path_str for entry in found if entry.is_file])

    return find


def rignore(*, obeying: bool) -> Find:
    from rignore import walk

    def find() -> int:
        found = walk(tree().root, ignore_hidden=False, require_git=False, read_git_ignore=obeying)
        return len([path for path in found if path.suffix == ".py"])

    return find


def ignore_python(*, obeying: bool) -> Find:
    from ignore import WalkBuilder

    def find() -> int:
        builder = WalkBuilder(tree().root).hidden(False).require_git(False)  # noqa: FBT003 - the peer's own words
        found = builder.git_ignore(obeying).build()
        return len([path for entry in found if (path := entry.path()).suffix == ".py"])

    return find


def pathspec(*, obeying: bool) -> Find:
    from pathspec import GitIgnoreSpec

    assert obeying

    def find() -> int:
        spec = GitIgnoreSpec.from_lines((tree().root / ".gitignore").read_text().splitlines())
        return len([path for path in spec.match_tree_files(tree().root, negate=True) if path.endswith(".py")])

    return find


def os_scandir(*, obeying: bool) -> Find:
    assert not obeying

    def find() -> int:
        found: list[str] = []
        waiting = [str(tree().root)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.endswith(".py"):
                        found.append(entry.path)
        return len(found)

    return find


def os_walk(*, obeying: bool) -> Find:
    assert not obeying
    return lambda: len(
        [f"{folder}/{name}" for folder, _, names in os.walk(tree().root) for name in names if name.endswith(".py")]
    )


def glob(*, obeying: bool) -> Find:
    from glob import glob

    assert not obeying
    return lambda: len(glob(PATTERN, root_dir=tree().root, recursive=True, include_hidden=True))


def pathlib(*, obeying: bool) -> Find:
    assert not obeying
    return lambda: len(list(tree().root.glob(PATTERN)))


def wcmatch(*, obeying: bool) -> Find:
    from wcmatch.glob import DOTGLOB, GLOBSTAR, glob

    assert not obeying
    return lambda: len(glob(PATTERN, flags=GLOBSTAR | DOTGLOB, root_dir=str(tree().root)))


def scandir_rs(*, obeying: bool) -> Find:
    from scandir_rs import Walk

    assert not obeying
    return lambda: len(Walk(str(tree().root), file_include=["**/*.py"]).collect().files)


OBEYING = (ours, ripgrep, ripgrep_glob, powerwalk, rignore, ignore_python, pathspec)
ALL = (ours, ripgrep, ripgrep_glob, powerwalk, os_scandir, os_walk, glob, pathlib, wcmatch, scandir_rs)
AT_HOME = (ours, ripgrep, ripgrep_glob, os_scandir, os_walk, glob, pathlib)
COLUMNS = {
    f"{kind}: {each.__name__}": (each, kind == "obeying")
    for kind, columns in (("obeying", OBEYING), ("all", ALL))
    for each in columns
}


def measure(column: str) -> list[float]:
    make, obeying = COLUMNS[column]
    find = make(obeying=obeying)
    found, there = find(), tree().python_not_ignored if obeying else tree().python
    if found != there:
        raise SystemExit(f"{column} found {found} files; there are {there}")

    def repeat(times: int) -> None:
        for _ in range(times):
            find()

    return per_call(repeat, rounds=3, clock=family_time)


BENCH = Bench(
    question="find files by a glob in 50,000",
    environments={column: "base" if make in AT_HOME else "searchers" for column, (make, _) in COLUMNS.items()},
    floor="all: ours",
    # `rg --files -g` lets the glob override the ignore files, so when they are to be obeyed it does another job.
    targets=[
        Target(f"{kind}: ours", column, 1.3 if column.endswith(": os_scandir") else 1.5)
        for column in COLUMNS
        if (kind := column.partition(":")[0]) and not column.endswith(": ours") and column != "obeying: ripgrep_glob"
    ],
    measure=measure,
)
