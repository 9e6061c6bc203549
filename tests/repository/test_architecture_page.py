"""The tree in `docs/architecture.md` is the tree of the source."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from dragoman.registry import APIS, DIALECTS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dragoman"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def listed() -> set[str]:
    """The paths in the tree, folders with a slash at their end."""
    (tree,) = re.findall(r"```\nsrc/dragoman/\n(.*?)```", PAGE, re.DOTALL)
    found: set[str] = set()
    above: list[tuple[int, str]] = []
    for indent, name in re.findall(r"^( +)([\w.]+/?) ", tree, re.MULTILINE):
        above = [(depth, folder) for depth, folder in above if depth < len(indent)]
        found.add("".join(folder for _, folder in above) + name)
        above.append((len(indent), name))
    assert len(found) == len(tree.splitlines())
    return found


def own_folder(path: PurePosixPath) -> bool:
    """Whether it is the folder of one vocabulary or one wire API, which the tree does not list."""
    return (path.parent.name == "dialects" and path.name.removesuffix("_") in DIALECTS.built_in) or (
        path.parent.name == "apis" and path.name in APIS.built_in
    )


def test_the_tree_has_every_folder_and_every_module_beside_the_rooms_and_nothing_else() -> None:
    packages = {PurePosixPath(file.parent.relative_to(SOURCE)) for file in SOURCE.rglob("*.py")} - {PurePosixPath()}
    modules = {file.name for file in SOURCE.glob("*.py")}
    assert listed() == modules | {f"{package}/" for package in packages if not own_folder(package)}


def test_the_tree_fits_on_one_screen() -> None:
    (tree,) = re.findall(r"```\n(src/dragoman/\n.*?)```", PAGE, re.DOTALL)
    assert len(tree.splitlines()) <= 60
    assert max(map(len, tree.splitlines())) <= 120


def test_every_path_the_page_names_exists() -> None:
    named = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", PAGE.partition("## Where a thing belongs")[2])
    assert named
    assert [path for path in named if not (SOURCE / path).exists()] == []
