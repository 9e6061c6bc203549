"""The sandbox on the command line: how it is chosen, what is shown of it, and who may leave it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.terminal.console import ExitCode
from tests.engine.loopback import Turn, loopback
from tests.tools.sandboxes import pretended_bubblewrap

from .conftest import User
from .terminal import Terminal
from .test_run import DONE, no_keys as no_keys, runs, said
from .test_run_terminal import at_terminal

CONFINED = "writes only in the workspace and a temporary folder, network on, secrets in the home folder hidden"
IN = Turn("Inside.", calls=(("c1", "Bash", {"command": "echo in; exit 3"}),))
OUT = Turn("Outside.", calls=(("c2", "Bash", {"command": "echo out", "dangerouslyDisableSandbox": True}),))


@pytest.fixture
def sandboxed(user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    """A user whose machine has a bubblewrap, and whose settings say nothing about it."""
    program = pretended_bubblewrap(tmp_path / "bin")
    user.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    del user.environ["DRAGOMAN_SANDBOX__MODE"]
    monkeypatch.setenv("PATH", user.environ["PATH"])
    monkeypatch.delenv("DRAGOMAN_SANDBOX__MODE")
    return user


def offers(body: Any) -> bool:
    """Whether a request offers to leave the sandbox."""
    return "dangerouslyDisableSandbox" in json.dumps(body["tools"])


def test_the_settings_say_what_commands_run_in(sandboxed: User) -> None:
    shown = sandboxed.types("config", "show", "sandbox")
    assert (shown.code, shown.out.splitlines()[-1]) == (0, f"sandbox here: bubblewrap ({CONFINED})")
    off = sandboxed.types("--set", "sandbox.mode=off", "config", "show", "--json", "sandbox")
    assert off.json["sandbox"] == "none (sandbox.mode is off)"
    assert "sandbox" not in sandboxed.types("config", "show", "policy").out


def test_a_command_by_hand_runs_in_the_sandbox_unless_it_is_switched_off(sandboxed: User) -> None:
    def ran(*words: str) -> Any:
        return sandboxed.types("tool", "run_command", "command=exit 3", "--json", *words).json.get("sandbox")

    assert ran() == "bubblewrap"
    assert ran("--sandbox", "require") == ran("--sandbox", "bubblewrap") == "bubblewrap"
    assert ran("--sandbox", "off") is None
    assert ran("unsandboxed=true") == "none: it was asked to run outside"
    sandboxed.settings("[sandbox]\nmode = 'off'\n")
    assert ran() is None
    assert ran("--sandbox", "auto") == "bubblewrap"


def test_where_a_sandbox_is_required_and_missing_nothing_runs(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    answer = user.types("tool", "run_command", "command=touch made", "--sandbox", "bubblewrap")
    assert (answer.code, (user.here / "made").exists()) == (ExitCode.TOOL, False)
    assert "Commands must run in the sandbox bubblewrap here, and there is none: bubblewrap is not" in answer.err


def test_a_wrong_mode_is_a_wrong_call(user: User) -> None:
    answer = user.types("tool", "run_command", "command=true", "--sandbox", "on")
    assert (answer.code, "'on' is not one of 'off', 'auto', 'require', 'bubblewrap', 'landlock'" in answer.err) == (
        2,
        True,
    )


def test_a_project_cannot_switch_it_off(sandboxed: User) -> None:
    file = sandboxed.write(sandboxed.here / "dragoman.toml", "[sandbox]\nmode = 'off'\nwritable = ['/']\n")
    for _ in range(2):
        answer = sandboxed.types("tool", "run_command", "command=exit 3", "--json")
        assert answer.json["sandbox"] == "bubblewrap"
        assert f"{file}: sandbox.mode (line 2) is ignored: off is not stricter than auto" in answer.err
        assert sandboxed.types("trust").code == 0


async def test_a_command_of_a_model_runs_in_the_sandbox(sandboxed: User) -> None:
    async with loopback(IN, DONE) as server:
        answer = await runs(sandboxed, server, "--yes", "--json", "go")
    assert [line.count('"sandbox":"bubblewrap"') for line in answer.out.splitlines() if "exit_code" in line] == [1]


async def test_where_nobody_can_be_asked_leaving_is_neither_offered_nor_done(sandboxed: User) -> None:
    for words in (("--yes",), ("--deny",), ()):
        async with loopback(OUT, DONE) as server:
            await runs(sandboxed, server, *words, "go")
        assert not offers(server.requests[0].body)
        assert '"out\\n' not in said(server.requests[1])
    assert "it is to run outside the sandbox" in said(server.requests[1])


async def test_what_the_settings_allow_needs_no_question(sandboxed: User) -> None:
    sandboxed.settings("[sandbox]\nunsandboxed = 'allow'\n")
    async with loopback(OUT, DONE) as server:
        await runs(sandboxed, server, "--yes", "go")
    assert (offers(server.requests[0].body), '"out' in said(server.requests[1])) == (True, True)


async def test_without_a_sandbox_leaving_is_not_offered_and_means_nothing(sandboxed: User) -> None:
    async with loopback(OUT, DONE) as server:
        await runs(sandboxed, server, "--yes", "--sandbox", "off", "go")
    assert (offers(server.requests[0].body), '"out' in said(server.requests[1])) == (False, True)


async def test_a_dry_run_offers_what_a_run_offers(sandboxed: User) -> None:
    async with loopback(DONE, DONE) as server:
        for words in (("--ask",), ("--yes",)):
            shown = await runs(sandboxed, server, *words, "--dry-run", "hello")
            await runs(sandboxed, server, *words, "hello")
            assert json.loads(shown.out) == server.requests[-1].body
            assert offers(server.requests[-1].body) is (words == ("--ask",))


async def test_leaving_is_asked_each_time_and_no_always_covers_it(sandboxed: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("? run echo in; exit 3\n")
        terminal.sees("  sandbox: bubblewrap (writes only in the workspace")
        terminal.sees("[a]lways (run_command, any command), [l]ater > ")
        terminal.types("a\n")
        for answer in ("y", "n"):
            terminal.sees("? run echo out\n  unsandboxed: true\n")
            terminal.sees("  sandbox: NONE (it asks to run outside: it could read and change everything")
            terminal.sees("asked because of: it is to run outside the sandbox (sandbox.unsandboxed)\n")
            terminal.sees("Allow it? [y]es, [n]o, [l]ater > ")
            terminal.types("a\n")
            terminal.sees("Allow it? [y]es, [n]o, [l]ater > ")
            terminal.types(f"{answer}\n")

    async with loopback(IN, IN, OUT, OUT, DONE) as server:
        terminal, code = await at_terminal(sandboxed, server, scene, "run", "go")
    assert (code, offers(server.requests[0].body)) == (0, True)
    assert terminal.screen.count("? run echo in; exit 3") == 1, "an always covers what stays inside"
    assert terminal.screen.count("  │ out\n") == 1


async def test_a_sandbox_that_is_known_already_is_only_named(sandboxed: User) -> None:
    def scene(terminal: Terminal) -> None:
        for line in ("  sandbox: bubblewrap (writes only in the workspace", "  sandbox: bubblewrap\n"):
            terminal.sees(line)
            terminal.sees("[l]ater > ")
            terminal.types("y\n")

    async with loopback(IN, IN, DONE) as server:
        _, code = await at_terminal(sandboxed, server, scene, "run", "go")
    assert code == 0


async def test_a_call_that_waits_is_approved_to_leave_and_then_does(sandboxed: User) -> None:
    async with loopback(OUT, DONE) as server:
        first = await runs(sandboxed, server, "--ask", "go")
        assert (first.code, offers(server.requests[0].body)) == (ExitCode.WAITING, True)
        second = await runs(sandboxed, server, "--resume", "last", "--approve", "all")
    assert second.code == 0
    assert '"out' in said(server.requests[1])


async def test_an_agents_file_makes_the_sandbox_stricter_and_never_looser(sandboxed: User) -> None:
    page = "---\nname: careful\nsandbox: {mode: 'off', network: false, unsandboxed: deny, writable: ['/']}\n---\nHi.\n"
    sandboxed.write(sandboxed.here / "careful.md", page)
    async with loopback(OUT, DONE) as server:
        answer = await runs(sandboxed, server, "--yes", "--agent", "careful.md", "go")
    assert "sandbox.mode: off is not stricter than auto, so only your own settings may set it" in answer.err
    assert "sandbox.writable: [/] is not stricter than [], so only your own settings may set it" in answer.err
    assert not offers(server.requests[0].body)
    assert "it is to run outside the sandbox" in said(server.requests[1])
