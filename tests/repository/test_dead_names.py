"""What a module keeps to itself it uses: a private name that nothing in it refers to is dead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "dragoman"


def private_names(body: list[ast.stmt]) -> Iterator[str]:
    """The private functions, classes and values that a module defines."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        else:
            continue
        yield from (name for name in names if name.startswith("_") and not name.startswith("__"))


def test_every_private_name_of_a_module_is_used_in_it() -> None:
    sources = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    dead = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path, source in sources.items()
        for name in private_names(ast.parse(source).body)
        if len(re.findall(rf"\b{name}\b", source)) == 1
    }
    assert dead == set()
