"""What a client printed of a session whose log is there is not counted beside it, wherever the two were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.logs import Index, Places, Query
from dragoman.logs.history.prints import looks_printed
from dragoman.logs.history.record_fields import records_in
from tests.logs.samples import CLAUDE, lines
from tests.logs.test_claude_code import BEGINNING, printed, printed_block, printed_result

RUN = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "false"}}
PRINTED = lines(
    BEGINNING,
    printed_block("u3", RUN),
    printed_result("u4", "t1", "Exit code 1", is_error=True),
    printed_block("u7", {"type": "text", "text": "Done."}, stop="end_turn"),
    printed("result", "p9", subtype="success", modelUsage={"claude-x": {"inputTokens": 20, "outputTokens": 14}}),
)


def of_folder(tmp_path: Path, logs: Path) -> Query:
    return Query(Index(tmp_path / "index.sqlite"), folders=[logs], places=Places(tmp_path / "home"))


def figures(query: Query) -> list[tuple[object, ...]]:
    (total,) = query.sql("SELECT count(*), count(DISTINCT call_id) FROM calls").rows
    return [(row.session, row.turns, row.calls, row.tokens, row.agents) for row in query.sessions()] + [tuple(total)]


@pytest.mark.parametrize("log_first", [True, False])
def test_a_print_in_a_folder_of_logs_is_not_counted_beside_its_log(tmp_path: Path, log_first: bool) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    both = [(logs / "s-1.jsonl", CLAUDE), (logs / "printed.jsonl", PRINTED)]
    (first, first_bytes), (second, second_bytes) = both if log_first else both[::-1]
    first.write_bytes(first_bytes)
    query = of_folder(tmp_path, logs)
    assert figures(query)[0][0] == "s-1"
    second.write_bytes(second_bytes)
    query.refresh()  # what was decided of one file alone is decided again with the other
    found = figures(query)
    query.close()
    alone = Query(Index.in_memory(), paths=[logs / "s-1.jsonl"])
    assert found == figures(alone)
    assert found[0][2] == 2


def test_a_print_without_its_log_is_read(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "printed.jsonl").write_bytes(PRINTED)
    query = of_folder(tmp_path, logs)
    assert [(row.session, row.calls) for row in query.sessions()] == [("s-1", 1)]
    query.close()


def test_a_log_that_was_clearly_not_printed_is_not_looked_into_further() -> None:
    records = records_in(Path("s-1.jsonl"), CLAUDE * 10)
    assert not looks_printed("claude_code", records)
    assert len(list(records)) > len(CLAUDE.splitlines()) * 10 - 10
