"""`dragoman pack`, as somebody types it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode().replace("2026-", "2025-"))
    return user


def test_a_page_of_every_template_is_printed(reader: User) -> None:
    compact = reader.types("pack")
    assert compact.code == 0
    assert compact.out.startswith("# Recent sessions (compact)\n\n2 sessions, newest first")
    assert compact.out.index("s-1 · claude_code") < compact.out.index("c-1 · codex")
    assert "- **failures**: Bash: exit once" in reader.types("pack", "--template", "diagnose", "--limit", "1").out
    assert "| codex | exec_command | 1 | 1 |" in reader.types("pack", "--template", "tools").out


def test_the_size_is_kept_and_json_has_the_page(reader: User) -> None:
    small = reader.types("pack", "--size", "600")
    assert len(small.out) <= 601
    assert "did not fit into 600 characters" in small.out
    found = reader.types("pack", "--json").json
    assert (found["template"], found["sessions"]) == ("compact", ["s-1", "c-1"])
    assert found["markdown"].startswith("# Recent sessions")


def test_nothing_to_hand_over_is_told(user: User) -> None:
    done = user.types("pack")
    assert (done.code, done.out, "No session was found" in done.err) == (1, "", True)
    assert user.types("pack", "--template", "poem").code == 2
