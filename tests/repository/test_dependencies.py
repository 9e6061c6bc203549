"""What is imported is asked for: nothing works only because another package happened to bring it."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OURS = {"bench", "dragoman", "tests"}
ELSEWHERE = ROOT / "tests/conformance/loops"
"""Programs that are run in the environments of the frameworks they are about."""


def imported_in(folder: str) -> Iterator[str]:
    for path in (ROOT / folder).rglob("*.py"):
        if path.parent == ELSEWHERE:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield node.module.partition(".")[0]


def asked_for(*, development: bool) -> set[str]:
    lists = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    if development:
        lists += PROJECT["dependency-groups"].values()
    return {canonicalize_name(Requirement(text).name) for texts in lists for text in texts}


@pytest.mark.parametrize("folder,development", [("src", False), ("examples", False), ("tests", True)])
def test_every_import_is_of_a_package_that_is_asked_for(folder: str, development: bool) -> None:
    brought_by = packages_distributions()
    asked = asked_for(development=development)
    outside = set(imported_in(folder)) - sys.stdlib_module_names - OURS
    unasked = {
        name for name in outside if not asked & {canonicalize_name(each) for each in brought_by.get(name, [name])}
    }
    assert unasked == set()
