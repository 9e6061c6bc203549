"""One policy in a real client's hooks: the whole list in one client here, in all of them with `make clients`."""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients.hooks import (
    ENFORCING,
    NOT_RUN,
    NUMBERS,
    PAGE,
    ROWS,
    expected_rows,
    problems,
    tried,
)


def test_a_real_client_does_nothing_that_the_policy_forbids_and_all_that_is_ordinary(tmp_path: Path) -> None:
    seen = tried("codex", tmp_path / "run")
    assert problems("codex", seen) == []
    assert seen.after == "the reason in place of the result"


def test_the_page_has_every_client_in_the_version_that_is_run_and_nothing_that_was_let_through() -> None:
    lines = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in lines}
    (head,) = [line for line in PAGE.read_text().splitlines() if line.startswith("| | claude_code")]
    assert [name.strip() for name in head.strip("|").split("|")[1:]] == list(ENFORCING)
    for row in ROWS:
        counts = [re.fullmatch(r"(\d+) of (\d+)", cell) for cell in cells[row]]
        assert all(found is None or found[1] == found[2] for found in counts), row
        missing = {client for client, found in zip(ENFORCING, counts, strict=True) if found is None}
        assert missing == {client for client in ENFORCING if row not in expected_rows(client)}, row
    for client in ENFORCING:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", cells[f"{client} {NUMBERS[client]}"][0])
    assert {client: cells[client][1] for client in NOT_RUN} == NOT_RUN
