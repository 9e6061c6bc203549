"""Checks against the world outside: shared facts, real programs, a clean machine. Whatever is missing fails."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SHARED = (ROOT / os.environ.get("DRAGOMAN_SHARED", "../shared")).resolve()

if not SHARED.is_dir():
    raise pytest.UsageError(
        f"the shared facts are not at {SHARED}: put them there, or name their folder with DRAGOMAN_SHARED=…"
    )


AGREEMENT = "agreement"
"""The property of a test that is printed at the end: how much of another project's suite agrees."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    lines = [str(value) for report in reports for name, value in report.user_properties if name == AGREEMENT]
    if lines:
        terminalreporter.section("other projects' suites")
        for line in sorted(lines):
            terminalreporter.line(line)


def declared(page: str) -> dict[str, str]:
    """The differences that a decision page declares: the name in bold that begins a row of a list, and its reason."""
    text = (ROOT / "docs" / "decisions" / f"{page}.md").read_text()
    rows = re.findall(r"^- \*\*([^*\n]+)\*\*: (.*?)(?=\n- |\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return {name: " ".join(reason.split()) for name, reason in rows}


@pytest.fixture(scope="session")
def shared() -> Path:
    return SHARED
