"""A file of 50 MB: twenty lines of it, and one place edited, beside the same on its bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path

from bench.benches import Bench, Target
from bench.stopwatch import per_call

LINE = "line {} of a file with some words in it, as logs have\n"
SIZE = 50_000_000
MARK = "the one place that is edited: 0"


def folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="dragoman-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    lines = [LINE.format(number) for number in range(SIZE // len(LINE))]
    lines[len(lines) // 2] = f"{MARK}\n"
    (path / "large.txt").write_text("".join(lines))
    return path


def read_by_us(root: Path, *, again: bool) -> Callable[[], None]:
    from dragoman.model.operations import ReadFile
    from dragoman.tools import Context, DiskWorkspace
    from dragoman.tools.files import read_file

    workspace = DiskWorkspace(root)

    def read() -> None:
        context = Context(workspace=workspace if again else DiskWorkspace(root))
        text = read_file(ReadFile("large.txt", first_line=10, last_line=29), context).text
        if text.count("\n") != 20:
            raise SystemExit("these are not twenty lines")

    return read


def read_bytes(root: Path) -> Callable[[], None]:
    def read() -> None:
        if len((root / "large.txt").read_bytes()) < SIZE // 2:
            raise SystemExit("that is not the file")

    return read


def edit_by_us(root: Path) -> Callable[[], None]:
    from dragoman.model.operations import Edit, EditFile
    from dragoman.tools import Context, DiskWorkspace
    from dragoman.tools.files import edit_file

    context = Context(workspace=DiskWorkspace(root, durable=False))
    numbers = count()

    def edit() -> None:
        number = next(numbers)
        edits = (Edit(f"{MARK[:-1]}{number}\n", f"{MARK[:-1]}{number + 1}\n"),)
        edit_file(EditFile("large.txt", edits), context)

    return edit


def edit_bytes(root: Path) -> Callable[[], None]:
    """What any editor must do: read it, find the one place, see that there is no other, write it, rename it."""
    numbers = count()

    def edit() -> None:
        number = next(numbers)
        old, new = (f"{MARK[:-1]}{each}\n".encode() for each in (number, number + 1))
        data = (root / "large.txt").read_bytes()
        place = data.index(old)
        if data.find(old, place + 1) >= 0:
            raise SystemExit("there are two places")
        (root / "new.txt").write_bytes(b"".join((data[:place], new, data[place + len(old) :])))
        (root / "new.txt").replace(root / "large.txt")

    return edit


Work = Callable[[Path], Callable[[], None]]
READING: dict[str, Work] = {
    "bytes": read_bytes,
    "ours, first": partial(read_by_us, again=False),
    "ours": partial(read_by_us, again=True),
}
EDITING: dict[str, Work] = {"bytes": edit_bytes, "ours": edit_by_us}


def measure(columns: Mapping[str, Work], column: str) -> list[float]:
    root = folder()
    try:
        work = columns[column](root)
        work()

        def several(times: int) -> None:
            for _ in range(times):
                work()

        return per_call(several)
    finally:
        for path in root.iterdir():
            path.unlink()
        root.rmdir()


BENCHES = {
    "read": Bench(
        question="read 20 lines of a text of 50 MB",
        environments=dict.fromkeys(READING, "base"),
        floor="bytes",
        targets=(Target("ours", "bytes", 0.1), Target("ours, first", "bytes", 2.5)),
        measure=partial(measure, READING),
    ),
    "edit": Bench(
        question="edit one place in a text of 50 MB",
        environments=dict.fromkeys(EDITING, "base"),
        floor="bytes",
        targets=(Target("ours", "bytes", 2),),
        measure=partial(measure, EDITING),
    ),
}
