"""A tree of 50,000 files under .lab/, the same every time, for benches that search files."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import NamedTuple

from bench.environments import LAB

FILES = 50_000
_WORDS = (
    "account",
    "alpha",
    "beta",
    "buffer",
    "delta",
    "index",
    "item",
    "limit",
    "name",
    "node",
    "order",
    "parser",
    "total",
)
_ENDINGS = ["py"] * 5 + ["js"] * 3 + ["ts"] * 3 + ["c", "css", "go", "h", "html", "json", "md", "rs", "txt", "yaml"]
_IGNORED = "*.log\nnode_modules/\n/area24/\n*.css\n!keep.css\n"


class Tree(NamedTuple):
    """Where it is, and what is in it."""

    root: Path
    entries: int
    python: int
    python_not_ignored: int


def tree() -> Tree:
    """The tree, made when it is not there yet."""
    root = LAB / "tree"
    facts = LAB / "tree.json"
    if not facts.exists():
        shutil.rmtree(root, ignore_errors=True)
        facts.write_text(json.dumps(_make(root)))
    return Tree(root, *json.loads(facts.read_text()))


def _make(root: Path) -> tuple[int, int, int]:
    draw = random.Random(7)
    lines = [_line(draw) for _ in range(4000)]
    folders = [
        f"area{area:02d}/module{module}{part}"
        for area in range(25)
        for module in range(10)
        for part in ("", "/part0", "/part1", "/part2")
    ]
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    python = kept = 0
    for number in range(FILES - 1):
        folder, ending = folders[number % len(folders)], draw.choice(_ENDINGS)
        text = "".join(draw.choices(lines, k=draw.randint(10, 120)))
        if number % 50 == 0:
            text += f"needle_{number} was here\n"
        (root / folder / f"{draw.choice(_WORDS)}_{number}.{ending}").write_text(text)
        python += ending == "py"
        kept += ending == "py" and not folder.startswith("area24")
    (root / ".gitignore").write_text(_IGNORED)
    entries = sum(len(below) + len(names) for _, below, names in os.walk(root))
    return entries, python, kept


def _line(draw: random.Random) -> str:
    first, *others = draw.choices(_WORDS, k=draw.randint(3, 9))
    return f"{'    ' * draw.randint(0, 3)}{first}_{draw.randint(0, 999)} = {' + '.join(others)}\n"
