"""Ctrl-C, SIGTERM and a closed terminal, in every phase of a command."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.logs import read_events
from dragoman.model import SessionEnded, ToolReturned, Unreadable
from tests.attack.machine import DONE, EDIT, SECONDS, Machine
from tests.cli.terminal import Terminal
from tests.engine.loopback import Answer, Raw, Turn, played

MARK = "sleep 31.41592"
COMMAND = Turn("I run it.", calls=(("c2", "Bash", {"command": f"echo begun; {MARK}", "description": "a wait"}),))
HANG = Turn("I hang.", calls=(("c3", "hang", {}),))
STUBBORN = """
import asyncio
from dragoman import tool

@tool(kind="read")
async def hang() -> str:
    "Never ends, and does not let itself be cancelled."
    print("hanging", flush=True)
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            print("not ending", flush=True)

TOOLS = {"hang": hang}
"""


def cut(turn: Turn) -> Raw:
    """Half of a reply, and then nothing more."""
    whole = played("anthropic_messages", turn, stream=True)
    return dataclasses.replace(whole, stall_after=len(whole.body) // 2)


Stop = Callable[[Terminal], int]


def ctrl_c(terminal: Terminal) -> int:
    terminal.types("\x03")
    return 130


def terminate(terminal: Terminal) -> int:
    terminal.process.send_signal(signal.SIGTERM)
    return 143


def close_terminal(terminal: Terminal) -> int:
    terminal.hangs_up()
    return 129


LOOK = Turn("I look.", calls=(("c0", "Read", {"file_path": "notes.txt"}),))
PHASES: dict[str, tuple[tuple[Answer, ...], str, tuple[str, ...]]] = {
    "waiting for the provider": ((Raw(no_answer=True),), "", ("--yes",)),
    "after a round, waiting for the next": ((LOOK, LOOK, Raw(no_answer=True)), "", ("--yes",)),
    "in the middle of a reply": ((cut(Turn("I will say a lot and never end it.", pieces=30)),), "I will", ("--yes",)),
    "while a command runs": ((COMMAND,), "begun\n", ("--yes",)),
    "at a question": ((EDIT,), "[l]ater > ", ()),
}


@pytest.mark.parametrize("stop", [ctrl_c, terminate, close_terminal], ids=lambda stop: str(stop.__name__))
@pytest.mark.parametrize("phase", list(PHASES))
def test_a_run_that_is_stopped_leaves_a_record_to_go_on_from_and_nothing_else(
    tmp_path: Path, phase: str, stop: Stop
) -> None:
    """Whenever a run is stopped, it ends with the code of the signal, no process or file is left, and it can go on."""
    machine = Machine(tmp_path)
    answers, seen, options = PHASES[phase]
    with machine.provider([*answers, DONE, DONE]) as server:
        with Terminal(("run", *options, "buy milk"), machine.here, machine.environ) as terminal:
            wait_until(lambda: len(server.requests) >= len(answers))
            terminal.sees(seen)
            modes = terminal.modes()
            code = stop(terminal)
            assert terminal.process.wait(SECONDS) == code
            assert terminal.hung_up or terminal.modes() == modes
        assert "Traceback" not in terminal.raw
        (record,) = machine.runs.glob("*.jsonl")
        events = list(read_events(record))
        assert not [event for event in events if isinstance(event, Unreadable)]
        assert isinstance(events[-1], SessionEnded)
        assert len([event for event in events if isinstance(event, ToolReturned)]) >= answers.count(LOOK)
        assert not running(MARK)
        assert machine.files() == {"notes.txt": b"tea\nbread\n"}
        resumed = machine.runs_command("run", "--yes", "--resume", record.stem[:8], "go on")
    assert resumed.returncode == 0, resumed.stderr


AGENT = "---\nname: helper\ndescription: Helps.\ntools: [run_command]\n---\nHelp.\n"


@pytest.mark.parametrize("stop", [ctrl_c, terminate], ids=lambda stop: str(stop.__name__))
@pytest.mark.parametrize("words", ["run --yes --agent helper.md go", "chat --yes"])
def test_agents_and_conversations_are_stopped_as_runs_are(tmp_path: Path, words: str, stop: Stop) -> None:
    """A signal ends an agent with its processes; Ctrl-C in a conversation ends the answer, and SIGTERM all of it."""
    machine = Machine(tmp_path)
    (machine.here / "helper.md").write_text(AGENT)
    with (
        machine.provider([COMMAND, DONE]),
        Terminal(tuple(words.split()), machine.here, machine.environ) as terminal,
    ):
        if words.startswith("chat"):
            terminal.sees("> ")
            terminal.types("go\r")
        terminal.sees("begun\n")
        code = stop(terminal)
        if words.startswith("chat") and stop is ctrl_c:
            terminal.sees("> ")
            terminal.types("\x04")
            code = 0
        assert terminal.process.wait(SECONDS) == code
        assert "Traceback" not in terminal.raw
    (record,) = machine.runs.glob("*.jsonl")
    events = list(read_events(record))
    assert not [event for event in events if isinstance(event, Unreadable)]
    assert isinstance(events[-1], SessionEnded)
    assert not running(MARK)


def test_a_second_ctrl_c_ends_a_run_at_once(tmp_path: Path) -> None:
    """The second Ctrl-C ends the process at once, whatever a tool does, and leaves a whole record and the terminal."""
    machine = Machine(tmp_path)
    plugin = machine.home / ".config" / "dragoman" / "plugins" / "hang.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(STUBBORN)
    with machine.provider([HANG, DONE]):
        with Terminal(("run", "--yes", "--tools", "hang", "go"), machine.here, machine.environ) as terminal:
            terminal.sees("hanging")
            modes = terminal.modes()
            terminal.types("\x03")
            terminal.sees("not ending")
            terminal.types("\x03")
            assert terminal.process.wait(SECONDS) == 130
            assert terminal.modes() == modes
        (record,) = machine.runs.glob("*.jsonl")
        events = list(read_events(record))
    assert not [event for event in events if isinstance(event, Unreadable)]
    assert not isinstance(events[-1], SessionEnded)  # there was no time for that


@pytest.mark.parametrize("stop", [ctrl_c, terminate], ids=lambda stop: str(stop.__name__))
def test_a_tool_that_cannot_be_stopped_does_not_keep_a_run_from_ending(tmp_path: Path, stop: Stop) -> None:
    """A run whose tool neither ends nor lets itself be cancelled is ended all the same, and its record says so."""
    machine = Machine(tmp_path)
    plugin = machine.home / ".config" / "dragoman" / "plugins" / "hang.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(STUBBORN)
    with machine.provider([HANG, DONE]):
        with Terminal(("run", "--yes", "--tools", "hang", "go"), machine.here, machine.environ) as terminal:
            terminal.sees("hanging")
            code = stop(terminal)
            assert terminal.process.wait(SECONDS) == code
        (record,) = machine.runs.glob("*.jsonl")
        *_, last = read_events(record)
    assert isinstance(last, SessionEnded)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize(
    "words",
    [
        "index rebuild",
        "export s-1 --to html -o out.html",
        "query SELECT(1)",
        "watch",
        "replay LOG -w HERE",
        "agents list",
        "agents check agents",
    ],
)
def test_other_commands_that_are_stopped_say_so_and_leave_nothing(
    tmp_path: Path, words: str, number: signal.Signals
) -> None:
    """A command that is stopped at any moment ends with the code of the signal, without a traceback or half a file."""
    machine = Machine(tmp_path)
    (machine.root / "log.jsonl").write_bytes(next(machine.home.rglob("*.jsonl")).read_bytes())
    agents = machine.here / "agents"
    agents.mkdir()
    for count in range(100):  # enough to be in the middle of them
        (agents / f"helper-{count}.md").write_text(AGENT)
    named = {"LOG": str(machine.root / "log.jsonl"), "HERE": "."}
    line = [named.get(word, word) for word in words.split()]
    before = machine.files()
    process = subprocess.Popen(
        machine.command(*line), cwd=machine.here, env=machine.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: hears(process.pid, signal.SIGTERM) or process.poll() is not None)
    process.send_signal(number)
    _, err = process.communicate(timeout=SECONDS)
    assert b"Traceback" not in err
    assert process.returncode in (0, 1, 128 + number)  # it may have been done by then
    if words == "watch":
        assert process.returncode == 128 + number
    after = machine.files()
    after.pop("out.html", None)
    assert after == before


def hears(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal: Python's own start, which is not ours, is over by then."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def running(mark: str) -> list[str]:
    """The processes of this machine that have a text on their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if line.startswith(mark):
            found.append(line)
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "what was waited for never came"
        time.sleep(0.01)
