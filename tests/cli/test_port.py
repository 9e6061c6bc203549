"""`dragoman port`: a session of one client, written where another looks for it."""

from __future__ import annotations

import json
import os
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.installed_client import installed_version
from dragoman.errors import LogError
from dragoman.logs import Places, read
from dragoman.logs.port import ported, targets
from dragoman.model import ToolCalled, user as user_said
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX


@pytest.fixture
def reader(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setenv("PATH", str(user.home / "bin"))  # which clients the machine has must not matter
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


def test_a_budget_folds_the_older_part_and_says_how_much(reader: User) -> None:
    said = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "text", "text": "x " * 900}]},
    ]
    lines = [
        {"type": one["role"], "message": one, "sessionId": "long", "uuid": str(number), "cwd": "/p"}
        | {"parentUuid": str(number - 1) if number else None, "timestamp": "2026-01-01T00:00:00.000Z"}
        for number, one in enumerate(said * 9)
    ]
    log = reader.write(reader.here / "long.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    words = ("port", str(log), "--to", "codex", "--cwd", "/p", "--dry-run")
    whole = json.loads(reader.types(*words, "--json").out)
    facts = json.loads(reader.types(*words, "--json", "--budget", "3000").out)
    assert facts["tokens"] <= 3000 < whole["tokens"]
    assert facts["left_out"]["messages of the user that are only in the summary"] > 1
    refused = reader.types(*words, "--budget", "1")
    assert refused.code != 0
    assert "a budget of 1 tokens is too small" in refused.err


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


def test_a_session_of_two_files_is_written_and_removed_as_a_whole(reader: User) -> None:
    facts = json.loads(reader.types("port", "s-1", "--to", "cline", "--cwd", "/p", "--json").out)
    said, about = map(Path, facts["files"])
    assert facts["file"] == str(said)
    assert [(path.parent, stat.S_IMODE(path.stat().st_mode)) for path in (said, about)] == [
        (reader.home / ".cline/data/sessions" / facts["session"], 0o600)
    ] * 2
    known = json.loads(about.read_text())
    assert (known["session_id"], known["cwd"], known["messages_path"]) == (facts["session"], "/p", str(said))
    answer = reader.types("port", "s-1", "--to", "cline", "--cwd", "/p")
    remove = next(line for line in answer.out.splitlines() if line.startswith("Remove:"))
    (folder,) = shlex.split(remove)[3:]
    assert sorted(path.name.partition(".")[2] for path in Path(folder).iterdir()) == ["json", "messages.json"]


def test_nothing_stays_of_a_session_whose_second_file_cannot_be_put_in_place(tmp_path: Path) -> None:
    done = ported((user_said("Hi."),), to="cline", folder="/p", places=Places(tmp_path))
    _, about = done.files
    about.parent.mkdir(parents=True)
    about.write_text("another's")
    with pytest.raises(LogError, match="is there already"):
        done.place()
    assert [(path.name, path.read_text()) for path in about.parent.iterdir()] == [(about.name, "another's")]


def claude_records(session: str, said: list[dict[str, Any]], **whose: Any) -> str:
    """Messages as records of Claude Code, each following the one before."""
    records = [
        {"type": one["role"], "message": one, "sessionId": session, "uuid": f"{whose}{number}", "cwd": "/p", **whose}
        | {"parentUuid": f"{whose}{number - 1}" if number else None, "timestamp": "2026-01-01T00:00:00.000Z"}
        for number, one in enumerate(said)
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def test_sub_agents_are_written_beside_the_session_when_that_is_asked_for(reader: User) -> None:
    spawn = {"type": "tool_use", "id": "toolu_spawn1", "name": "Agent"}
    spawn |= {"input": {"description": "Look", "prompt": "Count.", "subagent_type": "general-purpose"}}
    launched = "Async agent launched successfully.\nagentId: a1290af1f1d60ae2a (internal ID)"
    main: list[dict[str, Any]] = [
        {"role": "user", "content": "Delegate."},
        {"role": "assistant", "content": [spawn]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_spawn1", "content": launched}]},
    ]
    agent: list[dict[str, Any]] = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": [{"type": "text", "text": "Three of them."}]},
    ]
    folder = reader.home / ".claude/projects/-p"
    reader.write(folder / "s-9.jsonl", claude_records("s-9", main))
    whose = {"isSidechain": True, "agentId": "a1290af1f1d60ae2a"}
    reader.write(folder / "s-9/subagents/agent-a1290af1f1d60ae2a.jsonl", claude_records("s-9", agent, **whose))
    asked = ("port", "s-9", "--to", "gemini_cli", "--cwd", "/p", "--json")
    alone = json.loads(reader.types(*asked, "--dry-run").out)
    assert (len(alone["files"]), alone["left_out"]) == (1, {"conversations of sub-agents, whose answers are kept": 1})
    facts = json.loads(reader.types(*asked, "--with-agents").out)
    session, of_agent = map(Path, facts["files"])
    assert of_agent.parent == session.parent / facts["session"]
    assert "Three of them." in of_agent.read_text()
    assert facts["left_out"] == {}
    shown = json.loads(reader.types("show", str(session.parent), "--json").out)
    assert [[child["parent_call"] for child in one["children"]] for one in shown] == [["toolu_spawn1"]]
    without = json.loads(reader.types("port", "s-9", "--to", "pi", "--cwd", "/p", "--json", "--with-agents").out)
    assert [one["call"] for one in without["lost"] if one["what"] == "agent"] == ["toolu_spawn1"]


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_tools_of_the_installed_version_are_used(reader: User) -> None:
    program(reader.home / "bin/codex", "echo codex-cli 0.20.0; pwd >$HOME/ran-in")
    asked = ("port", "s-1", "--to", "codex", "--cwd", "/p")
    old = json.loads(reader.types(*asked, "--json").out)
    said = json.loads(reader.types(*asked, "--version", "0.166.0", "--json").out)
    names = [
        [event.call.native.name for event in read(Path(facts["file"]), "codex") if isinstance(event, ToolCalled)]
        for facts in (old, said)
    ]
    assert (old["version"], said["version"]) == ("0.20.0", "0.166.0")
    assert names == [["shell", "shell"], ["exec_command", "exec_command"]]
    assert (reader.home / "ran-in").read_text() == "/\n"
    assert "codex 0.20.0 is installed" in reader.types(*asked).err


@pytest.mark.parametrize(
    "script", ["exit 1", "echo no version", "printf '\\377\\376'", "sleep 60", "sleep 60 & echo x; exec sleep 60"]
)
def test_a_client_that_does_not_tell_its_version_is_written_for_all_the_same(
    reader: User, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(reader.home / "bin/codex", script)
    monkeypatch.setenv("PATH", f"{reader.home / 'bin'}:/usr/bin:/bin")
    assert installed_version("codex", seconds=0.5) is None


def test_a_version_is_looked_for_in_the_output_before_the_complaints(reader: User) -> None:
    program(reader.home / "bin/codex", "echo 0.74.2 >&2")
    program(reader.home / "bin/pi", "echo needs 22.0.0 >&2; echo 0.74.1")
    assert (installed_version("codex"), installed_version("pi")) == ("0.74.2", "0.74.1")


def test_no_program_of_the_current_folder_is_asked(reader: User, monkeypatch: pytest.MonkeyPatch) -> None:
    program(reader.here / "codex", "touch $HOME/ran; echo 9.9.9")
    monkeypatch.setenv("PATH", f".:{os.pathsep}:{reader.home / 'bin'}")
    facts = json.loads(reader.types("port", "s-1", "--to", "codex", "--cwd", "/p", "--json").out)
    assert facts["version"] == "0.166.0"
    assert not (reader.home / "ran").exists()


@pytest.mark.parametrize("where", ["repository", "folder", "link"])
def test_no_program_of_the_project_is_asked_for_its_version_even_if_path_names_it(
    reader: User, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = reader.here / "project"
    asked = program(root / "node_modules/.bin/codex", "touch $HOME/ran; echo 9.9.9")
    inner = root / "inner"
    inner.mkdir()
    named = asked.parent
    if where == "repository":
        (root / ".git").mkdir()
    if where == "link":
        named = reader.home / "bin"
        named.mkdir()
        (named / "codex").symlink_to(asked)
    monkeypatch.chdir(inner if where == "repository" else root)
    monkeypatch.setenv("PATH", f"{named}:/usr/bin:/bin")
    assert installed_version("codex") is None
    assert not (reader.home / "ran").exists()
    monkeypatch.chdir(reader.home)
    assert installed_version("codex") == "9.9.9"
