"""Every feature of docs/features.md has a page or a test, or is said not to be there yet."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (DOCS / "features.md").read_text().splitlines()
    if line.startswith("| ")
][1:]


def test_every_row_has_a_cell_for_each_library() -> None:
    assert len(ROWS) > 20
    assert [row for row in ROWS if len(row) != 6 or "" in row] == []


def test_every_feature_is_shown_by_a_page_or_a_test_or_is_said_to_be_missing() -> None:
    for feature, ours, *_ in ROWS:
        links = re.findall(r"\]\(([^)]+)\)", ours)
        assert bool(links) is not ours.startswith("not yet"), feature
        assert [link for link in links if not (DOCS / link).is_file()] == [], feature
