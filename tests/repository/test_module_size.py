"""Modules stay short enough to be read as a whole."""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
MOST_LINES = 800


def test_no_module_has_more_than_eight_hundred_lines() -> None:
    lengths = {str(path.relative_to(SOURCE)): path.read_text().count("\n") for path in SOURCE.rglob("*.py")}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}
