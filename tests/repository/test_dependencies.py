"""What is imported is asked for: nothing works only because another package happened to bring it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Set
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OURS = {"bench", "dragoman", "tests"}
FOR_CHECKERS = {"typing_extensions"}
"""Every type checker brings it; no program of ours loads it, which `import dragoman` without it would show."""
ELSEWHERE = ROOT / "tests/conformance/loops"
"""Programs that are run in the environments of the frameworks they are about."""


# What may be an import: texts that hold programs match it too, and only a parser can tell those apart.
_IMPORT = re.compile(r"^\s*(?:from\s+(\w+)|import\s+(\w.*))", re.MULTILINE)


def imported_in(folder: str, known: Set[str]) -> Iterator[str]:
    """The packages that are imported there and are not known. A module is parsed only when it may import one."""
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text()
        if path.parent != ELSEWHERE and not may_be_imported(text) <= known:
            yield from packages_in(ast.parse(text)) - known


def may_be_imported(text: str) -> set[str]:
    rows = [[one] if one else several.split(",") for one, several in _IMPORT.findall(text)]
    return {name.strip().partition(".")[0].partition(" ")[0] for row in rows for name in row}


def packages_in(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def asked_for(*, development: bool) -> set[str]:
    lists = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    if development:
        lists += PROJECT["dependency-groups"].values()
    return {canonicalize_name(Requirement(text).name) for texts in lists for text in texts}


@pytest.mark.parametrize("folder,development", [("src", False), ("examples", False), ("tests", True)])
def test_every_import_is_of_a_package_that_is_asked_for(folder: str, development: bool) -> None:
    brought_by = packages_distributions()
    asked = asked_for(development=development)
    known = {name for name, packages in brought_by.items() if asked & {canonicalize_name(each) for each in packages}}
    unknown = set(imported_in(folder, known | sys.stdlib_module_names | OURS | FOR_CHECKERS))
    assert {name for name in unknown if brought_by.get(name) or canonicalize_name(name) not in asked} == set()


@pytest.mark.parametrize(
    "text, packages",
    [
        ("import a, b.c as d", {"a", "b"}),
        ("def f():\n    from a.b import c", {"a"}),
        ("from . import a\nfrom .b import c", set()),
        ("try:\n    import a\nexcept ImportError:\n    import b", {"a", "b"}),
    ],
)
def test_every_form_of_import_is_seen(text: str, packages: set[str]) -> None:
    assert (packages_in(ast.parse(text)), may_be_imported(text)) == (packages, packages)


def test_the_page_on_dependencies_has_each_of_them_and_every_extra() -> None:
    page = (ROOT / "docs" / "decisions" / "dependencies.md").read_text()
    rows = re.findall(r"^\| ([\w-]+) \| [\d.]+ MB \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(Requirement(text).name for text in PROJECT["project"]["dependencies"])
    extras = {*re.findall(r"`\[(\w+)\]`", page.partition("are extras")[2])}
    assert extras == {*PROJECT["project"]["optional-dependencies"]}


def test_the_list_of_decisions_has_every_page() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(page.name for page in folder.glob("*.md") if page.name != "README.md")


def test_the_page_on_installing_lists_every_extra() -> None:
    page = (ROOT / "docs" / "howto" / "install.md").read_text()
    listed = {*re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)}
    assert listed == {*PROJECT["project"]["optional-dependencies"]} - {"all"}
