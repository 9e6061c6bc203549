"""A count that a client logged before it was known is marked wherever it is shown: `?`, or a field for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.logs import read
from dragoman.model import TokensUsed
from tests.cli.conftest import User

RECORDS = (
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Why?"}},
    {
        "type": "assistant",
        "uuid": "a1",
        "requestId": "r1",
        "message": {
            "id": "m1",
            "role": "assistant",
            "stop_reason": None,  # Claude Code 2.1.54 writes a reply before it is complete, and its output is 1
            "model": "claude-sonnet-4-5",
            "usage": {"input_tokens": 4000, "output_tokens": 1},
            "content": [{"type": "text", "text": "Because."}],
        },
    },
)
ABOUT = {
    "sessionId": "s-1",
    "version": "2.1.54",
    "cwd": "/p",
    "timestamp": "2026-05-01T10:00:00Z",
    "isSidechain": False,
}


@pytest.fixture
def log(user: User) -> str:
    path = user.home / ".claude/projects/-p/s-1.jsonl"
    text = "".join(json.dumps({**ABOUT, "parentUuid": None, **record}) + "\n" for record in RECORDS)
    return str(user.write(path, text))


@pytest.mark.parametrize(
    "command, marks",
    [
        ("stats", ["1?", "4,001?", "$0.01?"]),
        ("usage", ["1?", "4,001?", "$0.01?"]),
        ("sessions", ["4,001?"]),
        ("projects", ["4,001?"]),
        ("projects --json", ['"doubtful":1']),
        ("show", ["4,001? tokens", "$0.0120?"]),
        ("export --to markdown", ["4,001 (doubtful)"]),
        ("export --to text", ["4,001 (doubtful)"]),
        ("export --to html", ["4,001 (doubtful)"]),
        ("export --to jsonl", ['"doubtful":["output_tokens"]']),
        ("export --to otel", ["dragoman.usage.doubtful"]),
        ("export --to atif", ['"doubtful":["output_tokens"]']),
        ("stats --json", ['"doubtful":1']),
        ("usage --json", ['"doubtful":1']),
        ("sessions --json", ['"doubtful":1']),
    ],
)
def test_a_doubtful_count_and_its_cost_are_marked(user: User, log: str, command: str, marks: list[str]) -> None:
    name, *options = command.split()
    shown = user.types(name, log, *options).out
    plain = shown if "atif" not in command else json.dumps(json.loads(shown), separators=(",", ":"))
    assert [mark for mark in marks if mark not in plain] == [], shown


def test_sql_says_which_exchanges_have_doubtful_counts(user: User, log: str) -> None:
    told = user.types("query", "SELECT count(*) AS n, sum(doubtful::int) AS doubtful FROM usage", "--in", log, "--json")
    assert told.json == {"n": 1, "doubtful": 1}


def test_doubt_is_kept_in_the_trajectory_that_is_read_back(user: User, log: str, tmp_path: Path) -> None:
    path = tmp_path / "s-1.trajectory.json"
    path.write_text(user.types("export", log, "--to", "atif").out)
    used = [event.usage for event in read(path, "atif") if isinstance(event, TokensUsed)]
    assert [(one.output_tokens, one.doubtful) for one in used] == [(1, ("output_tokens",))]
