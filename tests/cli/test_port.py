"""`dragoman port`: a session of one client, written where another looks for it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from dragoman.logs import read
from dragoman.logs.port import targets
from dragoman.model import ToolCalled
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


def files(user: User) -> set[Path]:
    """The sessions of clients in the user's home."""
    return {path for path in user.home.rglob("*.jsonl") if "dragoman" not in path.parts}


def test_a_session_is_written_for_another_client_which_can_be_shown_and_removed(reader: User) -> None:
    before = files(reader)
    answer = reader.types("port", "s-1", "--to", "codex", "--cwd", str(reader.here))
    (new,) = files(reader) - before
    assert answer.code == 0
    written, resume, remove, *_ = answer.out.splitlines()
    assert written == f"Written: {new}"
    assert resume.startswith(f"Resume:  cd {reader.here} && codex resume ")
    assert remove == f"Remove:  rm {new}"
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    calls = [event.call.native.name for event in read(new, "codex") if isinstance(event, ToolCalled)]
    assert calls == ["exec_command", "exec_command"]
    assert "exec_command" in reader.types("show", str(new)).out


def test_a_dry_run_says_what_it_would_write_and_writes_nothing(reader: User) -> None:
    before = files(reader)
    answer = reader.types("port", "s-1", "--to", "gemini_cli", "--cwd", str(reader.here), "--dry-run")
    assert answer.out.startswith("Would write: ")
    assert "Resume" not in answer.out
    assert files(reader) == before


def test_programs_get_the_same_facts_as_json(reader: User) -> None:
    facts = json.loads(reader.types("port", "c-1", "--to", "claude_code", "--cwd", "/p", "--json").out)
    assert facts["client"] == "claude_code"
    assert facts["file"].endswith(f"/.claude/projects/-p/{facts['session']}.jsonl")
    assert Path(facts["file"]).exists()
    assert facts["resume"] == f"claude --resume {facts['session']}"
    assert sum(facts["calls"].values()) == sum(
        isinstance(event, ToolCalled) for event in read(reader.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl")
    )


def test_only_the_turns_that_are_asked_for_are_written(reader: User) -> None:
    whole = json.loads(reader.types("port", "s-1", "--to", "codex", "--cwd", "/p", "--dry-run", "--json").out)
    last = json.loads(
        reader.types("port", "s-1", "--to", "codex", "--cwd", "/p", "--dry-run", "--json", "--from-turn", "99").out
        or "{}"
    )
    assert last == {}
    one = json.loads(
        reader.types("port", "s-1", "--to", "codex", "--cwd", "/p", "--dry-run", "--json", "--last", "1").out
    )
    assert one["messages"] <= whole["messages"]


def test_the_help_names_every_client_that_can_be_written_for(user: User) -> None:
    said = " ".join(user.types("port", "--help").out.split())
    assert all(f" {client}" in said for client in targets())


def test_the_newest_session_is_called_last(reader: User) -> None:
    newest = json.loads(reader.types("sessions", "--json", "--limit", "1").out)[0]["id"]
    shown = json.loads(reader.types("show", "last", "--json").out)
    assert [session["id"] for session in shown] == [newest]


@pytest.mark.parametrize(
    "words, said",
    [
        (("--to", "claud"), "sessions cannot be written for 'claud'"),
        (("--to", "codex", "--last", "1", "--from-turn", "2"), "exclude each other"),
        (("--to", "codex", "--from-turn", "99"), "holds no messages to port"),
    ],
)
def test_what_cannot_be_done_is_said(reader: User, words: tuple[str, ...], said: str) -> None:
    before = files(reader)
    answer = reader.types("port", "s-1", "--cwd", "/p", *words)
    assert answer.code != 0
    assert said in answer.err
    assert files(reader) == before


def test_secrets_stay_behind_when_that_is_asked_for(reader: User) -> None:
    key = "sk-ant-api03-" + "a1B2" * 12
    log = CLAUDE.decode().replace('"false"', f'"echo {key}"', 1)
    assert key in log
    path = reader.write(reader.here / "secret.jsonl", log)
    facts = json.loads(reader.types("port", str(path), "--to", "codex", "--cwd", "/p", "--redact", "--json").out)
    assert key.encode() not in Path(facts["file"]).read_bytes()


def test_a_client_folder_that_leads_elsewhere_is_not_written_to(reader: User, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (reader.home / ".claude/projects/-q").symlink_to(elsewhere)
    answer = reader.types("port", "s-1", "--to", "claude_code", "--cwd", "/q")
    assert answer.code != 0
    assert "leads out of" in answer.err
    assert list(elsewhere.iterdir()) == []
