"""`docs/origin.md` lists every requirement of the design documents with its tests, and no test that is not there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "origin.md"
TESTS = ROOT / "tests" / "origin"
STATUSES = ("met", "better", "different", "not yet")
NAMED = re.compile(r"test_s(\d)_(\d+)_\w+")


class Row(NamedTuple):
    id: str
    requirement: str
    status: str
    where: str
    tests: frozenset[str]


def rows() -> list[Row]:
    found = []
    for line in PAGE.read_text().splitlines():
        if re.match(r"\| S\d-\d+ \|", line):
            id, requirement, status, where, tests = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append(Row(id, requirement, status, where, frozenset(re.findall(r"`(test_\w+)`", tests))))
    return found


def written() -> dict[str, set[str]]:
    """Requirement → its tests, read from the files; a test without a requirement is under its own name."""
    found: dict[str, set[str]] = {}
    for file in TESTS.glob("test_*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                named = NAMED.fullmatch(node.name)
                right_file = named is not None and file.name.startswith(f"test_00{named[1]}_")
                id = f"S{named[1]}-{named[2]}" if named is not None and right_file else f"{file.name}::{node.name}"
                found.setdefault(id, set()).add(node.name)
    return found


def paths_in(text: str) -> list[str]:
    return re.findall(r"`((?:src|docs|tests|bench|examples)/[\w/.-]*)`", text)


def test_every_requirement_is_listed_once_and_in_order() -> None:
    expected = [f"S{document}-{n}" for document, last in enumerate((39, 63, 27, 37, 32)) for n in range(1, last + 1)]
    assert [row.id for row in rows()] == expected


def test_the_page_and_the_files_name_the_same_tests_for_each_requirement() -> None:
    listed = {row.id: set(row.tests) for row in rows() if row.tests}
    assert listed == written()


def test_every_requirement_is_met_better_different_or_not_yet_and_a_status_has_its_reason() -> None:
    for row in rows():
        assert row.status in STATUSES, row.id
        reason = re.sub(r"`[^`]*`", "", row.where).strip(" ,.;")
        if row.status in ("better", "different", "not yet"):
            assert len(reason.split()) >= 2, f"{row.id} says {row.status!r} without a reason"
        if row.status != "not yet":
            assert row.tests, f"{row.id} is {row.status} and has no test"
            assert paths_in(row.where), f"{row.id} is {row.status} and says not where"


def test_every_path_on_the_page_is_there() -> None:
    paths = paths_in(PAGE.read_text())
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_readme_leads_to_the_page() -> None:
    assert "(docs/origin.md)" in (ROOT / "README.md").read_text()
