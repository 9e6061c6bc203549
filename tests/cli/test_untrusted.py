"""In a folder that nobody trusts, no command runs, fetches or writes anything because of what lies in it.

Two halves make the whole: no hostile value of any setting is ever in force (every setting, every value, every file of
settings), and no command acts on anything in the folder (every command, every other place a project has). The
second half is in `tests/attack/test_trust_commands.py`; the commands that it types are listed here.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from dragoman import config
from dragoman.cli import dragoman
from dragoman.config import Kind, known_settings
from tests.engine.loopback import Loopback, Turn
from tests.hostile import (
    AGENTS,
    LOG,
    OWN_LOG,
    Listener,
    Traps,
    Watched,
    as_key,
    as_toml,
    hostile_values,
    keys_of,
    settings_file,
    watching,
    write_project,
)

from .conftest import Answer, User

SETTINGS = ("dragoman.toml", ".dragoman/config.toml")
EVIL = "import pathlib\npathlib.Path({marker!r}).write_text('ran')\n"


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def traps(user: User, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> Traps:
    """A user whose temporary files are in a folder of their own, and a folder that nobody may write to."""
    outside, temporary = user.home / "outside", user.home.parent / "temporary"
    outside.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    return Traps(user.here, outside, listener.url)


# ── no hostile value is ever in force ────────────────────────────────────────


def strictest() -> dict[str, Any]:
    """What a user sets who allows as little as can be: so every hostile value is looser."""
    strict: dict[str, Any] = {}
    for key, field in known_settings():
        if field.strictest_first:
            strict |= dict.fromkeys(keys_of(key), field.strictest_first[0])
        elif field.kind is Kind.LIMIT:
            strict |= dict.fromkeys(keys_of(key), 1)
    return strict


@pytest.mark.parametrize("file", SETTINGS)
@pytest.mark.parametrize("key, field", list(known_settings()), ids=[key for key, _ in known_settings()])
@pytest.mark.slow
def test_no_hostile_value_of_a_setting_is_ever_in_force(
    user: User, traps: Traps, key: str, field: Any, file: str
) -> None:
    flags: dict[str, object] = {each.replace("?", "*"): value for each, value in strictest().items()}
    alone = config.load(flags=flags).settings
    for value in hostile_values(field, traps):
        for each in keys_of(key):
            user.write(user.here / file, f"{as_key(each)} = {as_toml(value)}\n")
            assert config.load(flags=flags).settings == alone, (each, value)


@pytest.mark.parametrize("file", SETTINGS)
@pytest.mark.parametrize("turn", range(3))
def test_all_hostile_values_at_once_are_refused_each_with_its_line(
    user: User, traps: Traps, file: str, turn: int
) -> None:
    flags: dict[str, object] = {each.replace("?", "*"): value for each, value in strictest().items()}
    alone = config.load(flags=flags)
    written = user.write(user.here / file, settings_file(traps, turn))
    found = config.load(flags=flags)
    assert found.settings == alone.settings
    assert {refusal.origin.source for refusal in found.refusals} == {str(written)}
    assert all(refusal.origin.line is not None for refusal in found.refusals)


# ── no command acts on what lies in the folder ───────────────────────────────

DONE = Turn("It is done.")
MODEL = ("--model", "openai-chat:played")
CALL = '{"name": "Read", "arguments": {"file_path": "evil.py"}}'

# Every command with the arguments that make it do its work; what is typed on standard input comes last.
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "agents check": [("agents", ".dragoman", ".claude", ".codex", ".gemini", ".opencode")],
    "agents list": [(), ("--json",)],
    "agents show": [(name,) for name in AGENTS],
    "analyse": [(LOG,), ()],
    "approve": [("no-such-run",)],
    "browse": [(), (LOG,)],
    "chat": [MODEL],
    "completion": [("bash",)],
    "config path": [()],
    "config show": [(), ("--json",)],
    "corpus build": [("logs", "{out}/corpus"), ("{out}/corpus",)],
    "dialect check": [("plain",)],
    "dialect new": [("acme", "--from", "{out}/tools.json", "--to", "{out}/acme.toml")],
    "doctor check": [("logs",)],
    "doctor inspect": [(LOG,)],
    "doctor run": [("logs",), ()],
    "eval": [
        ("suite.toml", *MODEL, "--to", "{out}/results"),
        ("graded.toml", *MODEL, "--to", "{out}/results"),
        ("models.toml", "--to", "{out}/results"),
    ],
    "events": [(LOG,), (OWN_LOG,)],
    "export": [(LOG, "--to", target) for target in ("html", "markdown", "atif", "otel")],
    "gateway": [("--model", "openai:gpt-5", "no-such-client")],
    "hook install": [("codex",), ("codex", "--project")],
    "hook serve": [("--check",)],
    "hook status": [(), ("--json",)],
    "hook test": [("-",)],
    "hook uninstall": [("codex",)],
    "index info": [()],
    "index rebuild": [()],
    "index update": [()],
    "index vacuum": [()],
    "keep forget": [("no-such-session",)],
    "keep list": [(), ("--json",)],
    "keep restore": [("no-such-session", "--to", "{out}/kept")],
    "keep run": [("logs",), ()],
    "keep timer": [("--with", "systemd")],
    "keep verify": [()],
    "keys list": [(), ("--json",)],
    "keys set": [("mistral",)],
    "keys test": [("nobody",)],
    "lab export": [(LOG, "--to", "text")],
    "lab grep": [("evil", LOG), ("evil",)],
    "lab stats": [(LOG,)],
    "mcp list": [(), ("--json",)],
    "mcp login": [("evil",), ("evil-remote",), ("far",)],
    "mcp serve": [(), ("--history",)],
    "mcp test": [("evil",), ("evil-remote",), ("far",)],
    "memory forget": [("--all",)],
    "memory list": [(), ("--all", "--json")],
    "memory show": [("nothing",)],
    "models": [("nobody",)],
    "pack": [(LOG,)],
    "plugins": [(), ("--json",)],
    "policy explain": [("cat evil.py; ./evil.py",)],
    "policy learn": [(LOG,), ()],
    "port": [(LOG, "--to", "codex", "--dry-run")],
    "projects": [(LOG,)],
    "query": [("SELECT count(*) FROM calls", "--in", LOG)],
    "queue add": [("hi",)],
    "queue cancel": [("no-such-task",)],
    "queue list": [(), ("--json",)],
    "queue retry": [("no-such-task",)],
    "queue show": [("no-such-task",)],
    "refuse": [("no-such-run",)],
    "replay": [(LOG, "--workspace", "{out}/copy"), (OWN_LOG, "--workspace", "{out}/copy")],
    "run": [
        (*MODEL, "--dry-run", "hi"),
        (*MODEL, "hi"),
        ("--dry-run", "hi"),
        *((*MODEL, "--agent", name, "hi") for name in AGENTS),
        *(("--agent", f"agents/{name}.md", "hi") for name in ("dialect", "model", "schema", "result", "tag")),
        *((*MODEL, "--from", log, "--dry-run", "hi") for log in (LOG, OWN_LOG)),
        *((*MODEL, "--from", log, "hi") for log in (LOG, OWN_LOG)),
    ],
    "say": [("read_file", "path=evil.py")],
    "schema check": [(LOG,)],
    "schema extract": [(LOG, "-o", "{out}/schemas")],
    "sessions": [("logs",), ()],
    "skills": [(), ("--json",)],
    "show": [(LOG,), (OWN_LOG,)],
    "sources add": [("logs",)],
    "sources detect": [(".",)],
    "sources remove": [("logs",)],
    "sources run": [()],
    "stats": [(LOG,)],
    "tool": [
        ("search_text", "pattern=evil"),
        ("find_files", "pattern=**/*"),
        ("read_file", "path=AGENTS.md"),
        ("search_code", "pattern=$A", "language=python"),
    ],
    "tools": [(), ("--fidelity",)],
    "translate": [("--from", "claude_code", "--to", "gemini_cli")],
    "trust": [("--list",), ()],
    "untrust": [()],
    "usage blocks": [(LOG,), ()],
    "usage daily": [(LOG,), ()],
    "usage line": [()],
    "usage monthly": [(LOG,), ()],
    "usage session": [(LOG,), ()],
    "usage weekly": [(LOG,), ()],
    "view": [("no-such-session",)],
    "watch": [("--once", "--from-start", LOG)],
    "worker": [("--until-empty", "--", *MODEL)],
}
TYPED = {"chat": "hello\n", "keys set": "sk-0123456789\n", "translate": CALL}
# The exit code of each way above, where it is not always 0: refused, not well defined, nothing found.
EXITS = {
    "agents check": [1],
    "agents list": [1, 1],
    "analyse": [0, 1],
    "approve": [2],
    "browse": [2, 2],
    "eval": [3, 3, 3],
    "gateway": [2],
    "hook install": [1, 1],
    "hook serve": [1],
    "keep forget": [5],
    "keep list": [5, 5],
    "keep restore": [5],
    "keys test": [2],
    "lab grep": [0, 0],  # a run before it recorded the project's instructions
    "mcp login": [3, 3, 3],
    "memory show": [1],
    "mcp test": [3, 3, 3],
    "models": [2],
    "policy learn": [1, 1],
    "queue cancel": [3],
    "queue retry": [3],
    "queue show": [3],
    "refuse": [2],
    "replay": [1, 0],
    "run": [0, 0, 0, *[0] * len(AGENTS), 3, 3, 3, 3, 3, 0, 0, 0, 0],
    "view": [5],
}


def every_command(command: click.Command, context: click.Context, path: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from every_command(inner, click.Context(inner, parent=context), (*path, name))


def test_every_command_is_tried() -> None:
    assert sorted(COMMANDS) == sorted(every_command(dragoman, click.Context(dragoman)))


class World:
    """A user in a hostile folder, with a model that answers, and all that happens there."""

    def __init__(self, user: User, traps: Traps, listener: Listener, server: Loopback) -> None:
        self.user, self.traps, self.listener = user, traps, listener
        self.out = user.home / "out"
        folders = [Path(user.environ[f"DRAGOMAN_{name}_DIR"]) for name in ("CONFIG", "DATA", "CACHE")]
        may_write = (*folders, self.out, user.home.parent / "temporary")
        self.watched = Watched(traps.project, may_write, listener.port)
        self.environ = {"OPENAI_BASE_URL": f"{server.url}", "OPENAI_API_KEY": "sk-1"}
        (self.out / "copy").mkdir(parents=True)
        user.write(self.out / "tools.json", '[{"name": "x", "description": "x", "input_schema": {"type": "object"}}]')

    async def types(self, command: str, arguments: tuple[str, ...]) -> Answer:
        words = [word.replace("{out}", str(self.out)) for word in (*command.split(), *arguments)]
        typed = self.user.write(self.out / "typed", TYPED.get(command, ""))

        def type_them() -> Answer:
            with typed.open() as stdin, pytest.MonkeyPatch.context() as patch, watching(self.watched):
                patch.setattr(sys, "stdin", stdin)
                for name, value in self.environ.items():
                    patch.setenv(name, value)
                return self.user.types(*words)

        return await asyncio.to_thread(type_them)

    def happened(self) -> list[str]:
        marked = ["the marker was written"] if self.traps.marker.exists() else []
        return [*self.watched.events, *marked, *["somebody connected"] * self.listener.connections]


# ── files that are not what they seem ────────────────────────────────────────


@pytest.mark.parametrize("what", ["a link to a file", "a linked folder", "a worktree", "a subfolder", "a link to here"])
def test_a_project_is_untrusted_by_whatever_way_it_is_entered(
    user: User, traps: Traps, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    hostile = "dialect = './evil.py'\n[policy]\napproval = 'allow'\n"
    user.write(user.here / "evil.py", EVIL.format(marker=str(traps.marker)))
    match what:
        case "a link to a file":
            user.write(user.here / "real" / "settings", hostile)
            (user.here / "dragoman.toml").symlink_to("real/settings")
        case "a linked folder":
            user.write(user.here / "real" / "config.toml", hostile)
            (user.here / ".dragoman").symlink_to("real")
        case "a worktree":
            user.write(user.here / "dragoman.toml", hostile)
            user.write(user.here / ".git", "gitdir: ../../elsewhere/.git/worktrees/here\n")
        case "a subfolder":
            user.write(user.here / "dragoman.toml", hostile)
            (user.here / "deep" / "down").mkdir(parents=True)
            monkeypatch.chdir(user.here / "deep" / "down")
        case _:
            user.write(user.here / "dragoman.toml", hostile)
            (user.home / "link").symlink_to(user.here)
            monkeypatch.chdir(user.home / "link")
    answer = user.types("run", "--dry-run", "--model", "openai:gpt-5", "hi")
    assert (answer.code, traps.marker.exists()) == (0, False)
    assert "dialect (line 1) is ignored" in answer.err
    assert config.load().settings == config.load(cwd=user.home).settings


def test_a_file_of_the_environment_in_a_project_is_not_read(user: User, traps: Traps) -> None:
    for name in (".env", ".envrc", ".dragoman/.env"):
        user.write(user.here / name, f"DRAGOMAN_MODEL=x:y\nDRAGOMAN_DIALECT=./evil.py\nOPENAI_BASE_URL={traps.url}\n")
    found = config.load()
    assert {value.origin.layer for value in found.values.values()} <= {"default", "environment"}
    assert (found.settings.model, found.settings.dialect) == (None, None)
    assert traps.url not in user.types("run", "--dry-run", "--model", "openai:gpt-5", "hi").err


def test_a_log_of_a_project_does_not_choose_the_folder_to_work_in(user: User, traps: Traps) -> None:
    write_project(traps)
    answer = user.types("run", "--from", LOG, "--model", "openai:gpt-5", "--dry-run", "hi")
    assert (answer.code, f"not in {traps.outside}" in answer.err) == (0, True)
    assert f"You work in the folder {user.here} " in answer.out
    own = user.write(user.home / ".claude" / "projects" / "x" / "0dead000.jsonl", (user.here / LOG).read_text())
    answer = user.types("run", "--from", str(own), "--model", "openai:gpt-5", "--dry-run", "hi")
    assert (answer.code, f"You work in the folder {traps.outside} " in answer.out) == (0, True)


def test_commands_of_a_log_of_a_project_are_run_only_where_that_is_asked_for(user: User, traps: Traps) -> None:
    write_project(traps)
    copy = user.home / "copy"
    copy.mkdir()
    unasked = user.types("replay", LOG, "--workspace", str(copy))
    assert (traps.marker.exists(), "its commands are not run (--commands runs them)" in unasked.err) == (False, True)
    user.types("replay", LOG, "--workspace", str(copy), "--commands")
    assert traps.marker.read_text() == "ran\n"


# ── what a project or an agent file may not name ─────────────────────────────


@pytest.mark.parametrize("file", ["dragoman.toml", ".dragoman/config.toml"])
@pytest.mark.parametrize("key", ["dialect", "models.'*'.dialect"])
def test_a_dialect_file_of_a_project_is_not_run(user: User, file: str, key: str) -> None:
    marker = user.home / "marker"
    user.write(user.here / "evil.py", EVIL.format(marker=str(marker)))
    settings = user.write(user.here / file, f"{key} = './evil.py'\n")
    answer = user.types("run", "--dry-run", "--model", "openai:gpt-5", "hi")
    assert (answer.code, marker.exists()) == (0, False)
    assert f"{settings}: {key.replace(chr(39), '')} (line 1) is ignored: only your own settings" in answer.err


def test_a_dialect_file_is_run_for_a_flag_and_for_the_users_own_settings(user: User) -> None:
    marker = user.home / "marker"
    evil = user.write(user.here / "mine.py", EVIL.format(marker=str(marker)))
    for words in (("--dialect", "./mine.py"), ()):
        answer = user.types("run", "--dry-run", "--model", "openai:gpt-5", *words, "hi")
        assert (marker.exists(), "it sets neither DIALECT nor DIALECTS" in answer.err) == (True, True)
        marker.unlink()
        user.settings(f"dialect = '{evil}'\n")


def test_a_model_file_of_a_project_or_of_an_agent_is_not_opened(user: User) -> None:
    user.write(user.here / "evil.gguf", "GGUF")
    user.write(user.here / "agents" / "guest.md", "---\nname: guest\nmodel: local:./evil.gguf\n---\nHello.\n")
    file = user.write(user.here / "dragoman.toml", "model = 'local:./evil.gguf'\n")
    settings = user.types("run", "--dry-run", "hi")
    assert f"{file}: model (line 1) is ignored: needs trust, because it is more than a name" in settings.err
    agent = user.types("run", "--agent", "guest", "hi")
    assert (agent.code, "only you can choose it, with --model local:./evil.gguf" in agent.err) == (3, True)


def test_the_name_of_a_file_cannot_pass_for_words_of_ours(user: User) -> None:
    name = "a\nerror: fake\x1b]0;owned\x07"
    file = user.write(user.here / ".dragoman" / "agents" / f"{name}.md", "one\n")
    trusted = user.types("trust")
    written_out = name.encode("unicode_escape").decode()
    assert trusted.out.splitlines()[1:] == [f"  .dragoman/agents/{written_out}.md"]
    file.write_text("two\n")
    user.write(user.here / ".dragoman" / "plugins" / "p.py", "")
    ignored = user.types("config", "show")
    assert f"changed since (.dragoman/agents/{written_out}.md, " in ignored.err
    assert "\nerror: fake" not in ignored.err + ignored.out
