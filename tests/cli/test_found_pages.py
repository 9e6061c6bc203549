"""What people once found wrong in tables, transcripts and exports: a test for each.

`ELSEWHERE` names those that stand beside other tests of the same thing; the rest are here.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dragoman.logs.export.blocks import outcome_blocks
from dragoman.model import Outcome, outcomes as out
from tests.cli.conftest import User
from tests.logs.samples import SAMPLES
from tests.outcomes import smallest

ELSEWHERE = {
    "HTML exports leave Markdown raw": "logs/test_export.py::test_what_is_said_in_markdown_is_rendered",
    "Markdown export fences every saying": "logs/test_export.py::test_what_is_said_is_markdown_in_markdown",
    "no anchors, contents, cost, duration": "logs/test_export.py::test_a_page_has_contents_anchors_cost_and_durations",
    "sessions shows 20 of 302 without saying so": "cli/test_sessions.py::test_a_list_that_is_cut_says_of_how_many",
    "show last fails": "cli/test_sessions.py::test_last_and_the_beginning_of_an_id_name_a_session_everywhere",
    "show prints class names": "cli/test_show.py::test_no_outcome_is_shown_by_a_name_of_ours",
    "no times, no cost": "cli/test_show.py::test_agents_stand_inside_their_call_and_times_and_costs_are_shown",
    "no completion": "cli/test_completion.py::test_ids_of_sessions_and_names_of_models_are_completed_from_the_index",
    "one by one": "logs/test_analyse.py::test_failures_are_told_by_tool_and_kind_with_their_places_and_what_to_do",
    "a rule for a question": "logs/test_analyse.py::test_a_wait_for_a_person_is_told_apart_from_a_slow_call",
    "schema check drafts slips": "cli/test_schema.py::test_a_call_of_a_tool_that_a_model_made_up_is_not_drafted",
}
TESTS = Path(__file__).parents[1]
FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAYS = 60


@pytest.fixture
def reader(user: User) -> User:
    """Somebody with a session a day for two months, of many tokens, with calls in folders with long names."""
    for day in range(DAYS):
        time = (FIRST + timedelta(days=day)).isoformat().replace("+00:00", "Z")
        session = f"0b6f9d1e-4a77-4c1c-9d55-{day:012}"
        head = {"sessionId": session, "cwd": f"/home/somebody/projects/number-{day % 3}", "timestamp": time}
        usage = {"input_tokens": 1_234_567 + day, "cache_read_input_tokens": 7_654_321, "output_tokens": 98_765}
        call = {"type": "tool_use", "id": f"c{day}", "name": "Bash", "input": {"command": "ls"}}
        reply = {"role": "assistant", "id": f"m{day}", "model": "claude-sonnet-4-5-20250929", "usage": usage}
        lines = [
            {**head, "type": "user", "uuid": f"u{day}", "message": {"role": "user", "content": f"Count the {day}"}},
            {**head, "type": "assistant", "uuid": f"a{day}", "message": {**reply, "content": [call]}},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        user.write(user.home / f".claude/projects/-p/{session}.jsonl", text)
    return user


@pytest.mark.parametrize("row", ELSEWHERE)
def test_what_was_found_has_its_test(row: str) -> None:
    file, _, name = ELSEWHERE[row].partition("::")
    assert f"def {name}(" in (TESTS / file).read_text()


def test_the_newest_days_are_shown_and_those_left_out_are_counted(reader: User) -> None:
    shown = reader.types("stats", "--by", "day", "--limit", "5")
    days = re.findall(r"^2026-\d\d-\d\d", shown.out, re.MULTILINE)
    assert days == [f"{FIRST + timedelta(days=DAYS - 1 - place):%Y-%m-%d}" for place in range(5)]
    assert f"{DAYS - 5} more" in shown.out + shown.err


@pytest.mark.parametrize("words", [("sessions",), ("stats", "--by", "day"), ("projects",), ("usage", "daily")])
def test_thousands_are_grouped(reader: User, words: tuple[str, ...]) -> None:
    shown = reader.types(*words).out
    assert re.search(r"\b\d{1,3}(,\d{3})+\b", shown)
    assert re.findall(r"(?<![\w.,-])\d{4,}(?![\w-])", shown) == []


TABLES = (
    ("sessions",),
    ("projects",),
    ("sources",),
    ("models",),
    ("usage", "daily"),
    ("usage", "weekly"),
    ("usage", "monthly"),
    ("usage", "blocks"),
    ("usage", "session"),
    *(("stats", "--by", by) for by in ("day", "block", "tool", "operation", "model", "client", "project", "session")),
    ("query", "SELECT session, started, tokens, title FROM sessions LIMIT 5"),
)


def words_of(text: str) -> set[str]:
    """Numbers, amounts, dates, ids and names of models: what must not be broken."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    words = {word for line in plain.splitlines() for word in line.split("\r")[-1].split()}
    words = {word.removesuffix(":") for word in words}
    return {word for word in words if re.fullmatch(r"[$\w][\w:.,+?-]*", word) and any(map(str.isdigit, word))}


@pytest.mark.slow
@pytest.mark.parametrize("words", TABLES, ids=" ".join)
def test_no_table_is_wider_than_the_terminal_or_breaks_an_id_or_a_number(reader: User, words: tuple[str, ...]) -> None:
    plainly = reader.types(*words)
    whole = words_of(f"{plainly.out}\n{plainly.err}")
    widths = (60, 80, 120, 200)
    for width, seen in zip(widths, reader.sees_each(*((one, {}, words) for one in widths)), strict=True):
        lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).split("\r")[-1] for line in seen.out.splitlines()]
        assert [line for line in lines if len(line) > width] == [], width
        assert words_of(seen.out) - whole == set(), width


@pytest.mark.slow
def test_no_name_of_a_model_and_no_count_is_torn_at_any_width(user: User) -> None:
    name = "anthropic/claude-sonnet-4-5-20250929"
    head = {"cwd": "/home/somebody/projects/shop", "timestamp": "2026-01-01T12:00:00Z"}
    samples = [(format, *one) for format in ("codex", "gemini_cli", "qwen_code") for one in SAMPLES[format]]
    for format, file, data in samples:
        path = user.home / "logs" / format / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.replace(b"/home/user/project", b"/home/somebody/projects/shop"))
    for number in range(12):
        usage = {"input_tokens": 1_234_567, "cache_read_input_tokens": 7_654_321, "output_tokens": 98_765}
        message = {"role": "assistant", "id": f"m{number}", "model": name, "usage": usage, "content": []}
        record = {**head, "sessionId": f"s-{number}", "type": "assistant", "uuid": "a", "message": message}
        user.write(user.home / f"logs/claude/s-{number}.jsonl", json.dumps(record) + "\n")
    logs = str(user.home / "logs")
    for words in (("usage", "daily", logs), ("stats", logs, "--by", "model"), ("projects", logs)):
        plain = user.types(*words)
        whole = words_of(f"{plain.out}\n{plain.err}")
        for width, seen in zip(
            (60, 80, 100), user.sees_each(*((one, {}, words) for one in (60, 80, 100))), strict=True
        ):
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.out)
            assert text.count("anthropic/") == text.count(name), (words, width)
            assert words_of(text) - whole == set(), (words, width)
            assert [line for line in text.split("\n") if len(line.split("\r")[-1].rstrip()) > width] == [], (
                words,
                width,
            )


@pytest.mark.parametrize("outcome", out.AnyOutcome.__args__, ids=lambda kind: kind.__name__)
def test_no_outcome_is_exported_as_raw_json_or_by_a_name_of_ours(outcome: type[Outcome]) -> None:
    shown = [text for block in outcome_blocks(smallest(outcome)) for text in (block.text, block.label or "")]
    for text in shown:
        assert outcome.__name__ not in text
        assert '"type"' not in text
        assert not text.endswith("_outcome")
