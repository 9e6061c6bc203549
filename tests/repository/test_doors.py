"""Doors are short, and what they name can be loaded."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MOST_NAMES = 30


def names_at(door: Path) -> set[str]:
    """The names a package lets others import: those imported as themselves, and those its `__all__` lists."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(door.read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names if alias.asname == alias.name}
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names |= {one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)}
    return names - {"__version__"}


DOORS = {
    ".".join(path.parent.relative_to(SOURCE).parts): names
    for path in sorted(SOURCE.rglob("__init__.py"))
    if (names := names_at(path))
}


def test_no_door_has_more_than_thirty_names() -> None:
    # `dragoman.model` is not a door of this kind: it stands for all the types in its files.
    assert {door: len(names) for door, names in DOORS.items() if len(names) > MOST_NAMES} == {}


@pytest.mark.parametrize("door", DOORS)
def test_what_a_door_tells_type_checkers_is_what_it_loads(door: str) -> None:
    module: Any = import_module(door)
    listed = set(getattr(module, "__all__", DOORS[door])) - {"__version__"}
    assert listed == DOORS[door]
    assert [name for name in DOORS[door] if not hasattr(module, name)] == []


def test_no_name_of_a_door_is_that_of_a_file_behind_it() -> None:
    # mypy takes `from dragoman import tool` for the file in some orders of imports: "Module not callable".
    doors = {door: SOURCE / door.replace(".", "/") for door in DOORS}
    modules = {
        door: {one.stem for one in folder.iterdir() if one.suffix == ".py" or one.is_dir()}
        for door, folder in doors.items()
    }
    assert {door: DOORS[door] & modules[door] for door in DOORS if DOORS[door] & modules[door]} == {}
