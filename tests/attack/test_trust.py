"""A stranger's repository: nothing in it is run, fetched or written before the user trusts it."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.loopback import Turn
from tests.hostile import LOG, Listener, Traps, tree, write_project

from .apart import NOBODY, run_apart
from .machine import DONE, SECONDS, Machine

DRAGOMAN = str(Path(sys.executable).with_name("dragoman"))
MODEL = ("--model", "anthropic:claude-sonnet-4-5")
SEARCH = Turn("I search.", calls=(("c1", "Grep", {"pattern": "evil"}),))

GOOD = "---\nname: good\ndescription: Good.\n---\nDo it.\n"


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def traps(machine: Machine, listener: Listener) -> Traps:
    outside = machine.root / "outside"
    outside.mkdir()
    return Traps(machine.here, outside, listener.url)


def starts(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=machine.here,
        env=machine.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_a_strangers_repository_runs_nothing(machine: Machine, traps: Traps, listener: Listener) -> None:
    """Nothing in a folder that is not trusted is run, fetched or written, with whatever command you work in it."""
    write_project(traps)
    settings = machine.home / ".config" / "dragoman" / "config.toml"
    settings.parent.mkdir(parents=True)
    # A server of the user's own, started by Python, which looks into the folder it is started in first.
    own = f"[mcp.servers.own]\ncommand = '{sys.executable}'\nargs = ['-m', 'yaml']\n"
    settings.write_text(f"[[prices]]\nmodel = 'played'\ninput = 1\noutput = 1\n{own}")
    machine.environ["PATH"] = f".::node_modules/.bin:{machine.environ['PATH']}"
    before = tree(machine.here), tree(traps.outside)
    with machine.provider([SEARCH, DONE, SEARCH, DONE]):
        for code, *words in (
            (0, DRAGOMAN, "run", "--dry-run", "--model", "openai:gpt-5", "hi"),
            (0, DRAGOMAN, "run", *MODEL, "--yes", "hi"),
            (0, DRAGOMAN, "run", *MODEL, "--yes", "--agent", "claude", "hi"),
            (1, DRAGOMAN, "agents", "list"),
            (1, sys.executable, "-m", "dragoman", "agents", "list"),  # where Python looks into the folder itself
            (3, DRAGOMAN, "mcp", "test", "evil"),
            (0, DRAGOMAN, "plugins"),
            (0, DRAGOMAN, "lab", "grep", "evil", LOG),
        ):
            done = starts(machine, *words)
            assert (done.returncode, traps.marker.exists(), listener.connections) == (code, False, 0), done.stderr
            assert (tree(machine.here), tree(traps.outside)) == before, words


PROGRAM = """
import asyncio
from dragoman import TOOLS, DiskWorkspace
from dragoman.agents import Agent, Kernel
from dragoman.engine import Orchestrator

MODEL, TOOL, HERE = "claude-sonnet-4-5", TOOLS["search_text"], DiskWorkspace(".")
run = Orchestrator(MODEL, [TOOL], workspace=HERE)
print(run.run_sync("hi").status, run.policy.max_iterations <= 20, run.policy.default, run.engine.transport.base_url)
kernel = Kernel([Agent(name="boss")], model=MODEL, workspace=HERE, tools=[TOOL])
print(asyncio.run(kernel.run("boss", "hi")).status, kernel.policy.default)
"""


@pytest.mark.parametrize("turn", [0, 1])
def test_a_python_program_obeys_a_strangers_repository_no_more_than_a_command(
    machine: Machine, traps: Traps, listener: Listener, turn: int
) -> None:
    """A Python program that works in a folder that is not trusted takes no address, code or permission from it."""
    write_project(traps, turn=turn)
    program = machine.home / "program.py"
    program.write_text(PROGRAM)
    settings = machine.home / ".config" / "dragoman" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[[prices]]\nmodel = 'played'\ninput = 1\noutput = 1\n")
    before = tree(machine.here), tree(traps.outside)
    with machine.provider([SEARCH, DONE, SEARCH, DONE]) as served:
        done = starts(machine, sys.executable, str(program))
    assert (done.returncode, traps.marker.exists(), listener.connections) == (0, False, 0), done.stderr
    assert (tree(machine.here), tree(traps.outside)) == before
    assert done.stdout.splitlines() == [f"completed True allow {served.url}", "completed allow"]
    assert len(served.requests) == 4
    assert "is ignored: needs trust" in done.stderr


def test_trust_is_what_lets_it_run_and_a_change_takes_that_back(machine: Machine, traps: Traps) -> None:
    """Code of a project runs after `dragoman trust`, and not any more when one of its files has changed."""
    write_project(traps)
    (machine.here / "dragoman.toml").write_text("")
    assert starts(machine, DRAGOMAN, "trust").returncode == 0
    assert not traps.marker.exists()
    starts(machine, DRAGOMAN, "tools", "--dialect", "evil")
    assert traps.marker.read_text() == "Python ran"
    traps.marker.unlink()
    with (machine.here / ".dragoman" / "plugins" / "evil.py").open("a") as plugin:
        plugin.write("\n")
    done = starts(machine, DRAGOMAN, "tools", "--dialect", "evil")
    assert (done.returncode, traps.marker.exists()) == (3, False)
    assert "changed since (.dragoman/plugins/evil.py)" in done.stderr


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those that tests are given."""
    folder = Path(tempfile.mkdtemp(prefix="dragoman-attack-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_broken_agent_file_costs_no_other_one(open_folder: Path) -> None:
    """Every defect of an agent file is reported with its file and line, and all other agents are still listed."""
    agents = open_folder / "agents"
    agents.mkdir()
    (agents / "good.md").write_text(GOOD)
    (agents / "parameters.md").write_text(
        "---\nname: odd\ncustom_tools:\n  - name: look\n    description: Look.\n    prompt: x\n    parameters: x\n---\n"
    )
    (agents / "binary.md").write_bytes(b"\x7fELF\x00\xff" * 1000)
    (agents / "huge.md").write_bytes(b"x" * (1 << 21))
    (agents / "deep.md").write_text(f"---\nname: {'[' * 20_000}\n---\n")
    (agents / "alias.md").write_text("---\nname: a\nx: &a [*a, *a]\n---\n")
    (agents / "tag.md").write_text(f"---\nname: !!python/object/apply:os.system ['touch {open_folder}/marker']\n---\n")
    os.mkfifo(agents / "pipe.md")
    (agents / "loop.md").symlink_to("loop.md")
    (agents / "secret.md").write_text(GOOD)
    (agents / "secret.md").chmod(0)
    closed = open_folder / ".claude" / "agents"
    closed.mkdir(parents=True)
    closed.chmod(0)
    script = f"cd {open_folder} && exec {DRAGOMAN} agents list --json"
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sh", "-c", script]
    done = run_apart(nobody, environment={"HOME": "/nonexistent", "DRAGOMAN_DATA_DIR": "/nonexistent"})
    found = {Path(row["path"]).name: row["problems"] for row in json.loads(done.stdout)}
    assert (done.returncode, found.pop("good.md")) == (1, [])
    assert {name: problems[0].split(";")[0] for name, problems in found.items()} == {
        "alias.md": "line 3: aliases (`*name`) are not read",
        "binary.md": "line 1: it is not UTF-8 text",
        "deep.md": "line 1: it is nested too deeply",
        "huge.md": "it cannot be read: larger than 1024 KiB",
        "loop.md": "it cannot be read: Too many levels of symbolic links",
        "parameters.md": "line 7: custom_tools[0].parameters: must be a table, not 'x'",
        "pipe.md": "it cannot be read: not a regular file",
        "secret.md": "it cannot be read: Permission denied",
        "tag.md": "line 2: the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not read",
        "agents": "this folder cannot be read: Permission denied",
    }
    assert not (open_folder / "marker").exists()


class Bash:
    """A bash that somebody sits at, with completion of our command."""

    def __init__(self, machine: Machine) -> None:
        command = machine.root / "bin" / "dragoman"
        command.parent.mkdir()
        command.symlink_to(DRAGOMAN)
        self._ours, theirs = pty.openpty()
        environ = {**machine.environ, "PATH": f"{command.parent}:{machine.environ['PATH']}", "TERM": "dumb"}
        environ |= {"PS1": "ready> ", "INPUTRC": "/dev/null", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            cwd=machine.here,
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.screen = b""
        self.until(b"ready> ")
        self.types("bind 'set bell-style none' 'set enable-bracketed-paste off'\n", until=b"ready> ")
        self.types('eval "$(dragoman completion bash)"\n', until=b"ready> ")

    def types(self, text: str, *, until: bytes) -> bytes:
        """What comes onto the screen after something was typed, up to some words."""
        self.screen = b""
        os.write(self._ours, text.encode())
        return self.until(until)

    def until(self, words: bytes) -> bytes:
        end = time.monotonic() + SECONDS
        while not self.screen.endswith(words):
            ready, _, _ = select.select([self._ours], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{words!r} never came: {self.screen!r}")
            self.screen += os.read(self._ours, 65536)
        return self.screen

    def close(self) -> None:
        os.close(self._ours)
        self.process.kill()
        self.process.wait()


def test_completing_in_a_strangers_repository_runs_nothing_and_steers_no_terminal(machine: Machine) -> None:
    """Completing a word never runs anything, and writes neither `$(…)` nor control characters of a name anywhere."""
    marker = machine.root / "marker"
    names = {
        "one": f"evil$(touch${{IFS}}{marker})",
        "two": "list\x1b]0;owned\x07",
        "three": "list\x1b[31m\x9b31m\u202e",
        "four": f"list\nplain,list`touch {marker}`",
        "five": "listed",
        "six": "lists",
    }
    for stem, name in names.items():
        page = f"---\nname: {json.dumps(name)}\ndescription: x\n---\nDo it.\n"
        path = machine.here / "agents" / f"{stem}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(page)
    (machine.here / "agents" / f"evil`touch${{IFS}}{marker.name}`.md").write_text("Do it.\n")
    (machine.here / "dragoman").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (machine.here / "dragoman").chmod(0o755)
    bash = Bash(machine)
    try:
        begun = bash.types("dragoman agents show lis\t", until=b"dragoman agents show list")
        listed = bash.types("\t\t", until=b"ready> dragoman agents show list")
        shown = bash.types("\x15echo over\n", until=b"over\r\nready> ")
        chosen = bash.types("dragoman agents show ev\t\n", until=b"ready> ")
        bash.types("./dragoman agents show lis\t", until=b"./dragoman agents show list")
    finally:
        bash.close()
    for screen in (begun, listed, shown, chosen):
        assert not set(screen) & {0x1B, 0x9B, 0x7F}, screen
    assert b"listed" in listed
    assert b"owned" not in listed + shown
    assert b"touch" not in listed + shown + chosen
    assert b'there is no agent "ev"' in chosen
    assert not marker.exists()
    assert not (machine.here / marker.name).exists()
