"""`dragoman analyse`, as somebody types it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode().replace("2026-", "2025-"))
    return user


def test_the_newest_session_is_analysed_with_places_and_advice(reader: User) -> None:
    for words in (("analyse",), ("analyse", "--last"), ("analyse", "s-1")):
        done = reader.types(*words)
        assert done.code == 0
        assert done.out.splitlines()[:5] == [
            "s-1 · claude_code · Fix it.",
            "1 turns, 2 calls, 1 failed",
            "failures: Bash: exit once: exit code 1",
            "  → A command ended with an error: read its output; a missing program or path is fixed once for all.",
            "  at s-1 turn 0 step 0 call t1",
        ]
        assert "loops: none" in done.out
        assert "context: 13 tokens in the last exchange of a window that is not known [claude-x]" in done.out


def test_json_has_every_finding_with_coordinates(reader: User) -> None:
    (found,) = reader.types("analyse", "c-1", "--json").json
    (finding,) = found["findings"]
    assert (finding["lens"], finding["kind"], finding["tool"]) == ("failures", "exit", "exec_command")
    (spot,) = finding["spots"]
    assert {**spot, "event": None} == {
        "session": "c-1",
        "stream": "main",
        "turn": 0,
        "step": 0,
        "call_id": "call_1",
        "event": None,
    }
    assert len(reader.types("analyse", "--all", "--json").json) == 2


def test_a_lens_shows_that_alone(reader: User) -> None:
    (found,) = reader.types("analyse", "--lens", "loops", "--json").json
    assert (found["findings"], found["chains"], found["context"], found["failures"]) == ([], [], [], 1)
    assert reader.types("analyse", "--lens", "loops").out.splitlines()[2:] == ["loops: none"]


def test_files_are_analysed_alone_and_what_is_not_there_is_told(reader: User) -> None:
    path = reader.home / ".codex"
    assert [one["session"] for one in reader.types("analyse", str(path), "--json").json] == ["c-1"]
    missing = reader.types("analyse", "zz")
    assert (missing.code, "no session begins with 'zz'" in missing.err) == (5, True)
    assert reader.types("analyse", "s-1", "--last").code == 2
    assert reader.types("analyse", "--client", "pi").code == 1
