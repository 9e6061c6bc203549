"""`dragoman projects`: where coding agents worked."""

from __future__ import annotations

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


def test_projects_are_listed_with_their_sessions_worktrees_together(user: User) -> None:
    inside = CLAUDE.replace(b'"s-1"', b'"s-2"').replace(b'"/p"', b'"/p/.claude/worktrees/quick"')
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".claude/projects/-p-quick/s-2.jsonl", inside.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.replace(b'"/p"', b'"/q"').decode())
    found = {one["repository"]: one for one in user.types("projects", "--json").json}
    assert {name: (one["sessions"], one["folders"]) for name, one in found.items()} == {
        "/p": (2, ["/p", "/p/.claude/worktrees/quick"]),
        "/q": (1, ["/q"]),
    }
    assert found["/p"]["clients"] == {"claude_code": 2}
    shown = user.types("projects", "--client", "codex").out.splitlines()
    assert len(shown) == 2
    assert shown[1].split()[:4] == ["q", "1", "codex", "1"]


def test_where_there_is_none_that_is_said(user: User) -> None:
    nothing = user.types("projects")
    assert (nothing.code, nothing.out, "dragoman sources" in nothing.err) == (1, "", True)
