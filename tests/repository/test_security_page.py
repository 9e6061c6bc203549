"""`docs/security.md` names every attack that proves a promise, and no attack that is not there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ATTACKS = ROOT / "tests" / "attack"


def attacks() -> set[str]:
    found = set()
    for file in ATTACKS.rglob("test_*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.add(f"{file.relative_to(ROOT).as_posix()}::{node.name}")
    return found


def test_the_security_page_names_every_attack_and_no_other() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    assert set(re.findall(r"tests/attack/[\w/]+\.py::test_\w+", page)) == attacks()
