"""`--corpus` in the commands that show sessions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.logs.samples import SAMPLES

from .conftest import User


def test_sessions_of_a_corpus_are_listed_and_shown(user: User) -> None:
    for name, data in SAMPLES["claude_code"]:
        path = user.here / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert user.types("corpus", "build", "logs", "corpus").code == 0
    listed = user.types("sessions", "--corpus", "corpus", "--json").json
    assert {one["id"] for one in listed} == {one["id"] for one in user.types("sessions", "logs", "--json").json}
    id = listed[0]["id"]
    shown = user.types("show", "--corpus", "corpus", id)
    assert (shown.code, listed[0]["title"].split("\n")[0][:20] in shown.out) == (0, True)
    lines = user.types("events", "--corpus", "corpus", id, "--kind", "tool_called")
    assert lines.code == 0
    assert len(lines.out.splitlines()) == listed[0]["calls"]
    for words, message in (
        (("show", "--corpus", "corpus", "--raw", id), "--raw is about log files"),
        (("events", "--corpus", "corpus", "--format", "codex", id), "--format is about log files"),
        (("sessions", "--corpus", "corpus", "logs"), "--corpus asks all of a corpus"),
        (("show", "--corpus", "corpus", "nobody"), "nobody"),
    ):
        wrong = user.types(*words)
        assert wrong.code in (2, 3, 5, 6), wrong
        assert message in wrong.err


def written(user: User, folder: str) -> None:
    for client in ("claude_code", "codex", "gemini_cli"):
        for name, data in SAMPLES[client]:
            path = user.here / folder / client / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def without_places(value: Any) -> Any:
    """Figures without where the logs are and whose; sums of dollars to the ninth place."""
    if isinstance(value, dict):
        left = value.keys() - {"file", "files", "path", "user", "team", "machine"}
        return {name: without_places(value[name]) for name in left}
    if isinstance(value, list):
        return [without_places(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value


@pytest.mark.parametrize(
    "words",
    [
        ("stats",),
        ("stats", "--by", "tool"),
        ("stats", "--by", "client,model"),
        ("usage", "daily"),
        ("usage", "monthly"),
        ("usage", "session"),
        ("sessions",),
    ],
    ids=" ".join,
)
def test_figures_of_a_corpus_are_those_of_its_logs_and_copies_count_once(user: User, words: tuple[str, ...]) -> None:
    for machine in ("laptop", "tower"):  # the same sessions on both
        written(user, f"logs/{machine}")
    built = user.types("corpus", "build", "--folders", "machine", "--team", "search", "--user", "ada", "logs", "corpus")
    assert built.code == 0, built.err
    corpus = user.types(*words, "--corpus", "corpus", "--json")
    logs = user.types(*words, "logs/laptop", "--json")
    assert (corpus.code, logs.code) == (0, 0), corpus.err + logs.err
    assert without_places(corpus.json) == without_places(logs.json)
    assert corpus.json


def test_users_teams_and_machines_are_columns(user: User) -> None:
    for machine in ("laptop", "tower"):
        written(user, f"logs/{machine}")
    assert user.types("corpus", "build", "--folders", "machine", "--user", "ada", "logs", "corpus").code == 0
    groups = user.types("stats", "--corpus", "corpus", "--by", "user,team,machine", "--json").json["groups"]
    assert [one["group"] for one in groups] == [{"user": "ada", "team": None, "machine": "laptop"}]
    asked = 'SELECT DISTINCT "user", team, machine FROM sessions'
    row = user.types("query", "--corpus", "corpus", "--json", asked).json  # a row in a line
    assert row == {"user": "ada", "team": None, "machine": "laptop"}
