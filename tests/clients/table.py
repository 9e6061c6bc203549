"""Cells that are tried with the real clients, and the tables in the documentation that keep what was seen."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Cell = TypeVar("Cell")
Seen = TypeVar("Seen")


def each_tried(cells: Mapping[Cell, Callable[[Path], Seen]]) -> Iterator[tuple[Cell, Seen]]:
    """Tries the cells two at a time, each in a folder of its own, and gives what was seen in their order."""
    with (
        tempfile.TemporaryDirectory(prefix="clients-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(2) as pool,
    ):
        running = {
            cell: pool.submit(tried, Path(folder, f"cell{number}"))
            for number, (cell, tried) in enumerate(cells.items(), 1)
        }
        for cell, future in running.items():
            yield cell, future.result()


def change_rows(page: Path, head: str, changed: Callable[[list[str]], list[str]]) -> None:
    """Writes other rows into the table of a page that has this head."""
    lines = page.read_text().splitlines()
    begin = lines.index(head) + 2
    end = next((number for number in range(begin, len(lines)) if not lines[number]), len(lines))
    lines[begin:end] = changed(lines[begin:end])
    page.write_text("\n".join(lines) + "\n")
