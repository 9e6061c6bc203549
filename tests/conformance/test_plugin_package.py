"""The example plugin, installed for real: a fresh environment, the package managers' own metadata, the real command.

Nothing is fetched: what dragoman depends on is taken from the environment of the tests, by a path that adds nothing
else; dragoman and the plugin are built and installed anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"
SESSION = PLUGIN / "tests" / "session.jsonl"


class Machine:
    """An environment with dragoman and the plugin, and a home of its own."""

    def __init__(self, root: Path) -> None:
        self.home, self.programs = root / "home", root / "env" / "bin"
        self.home.mkdir()
        venv.create(root / "env", with_pip=False)
        site = next((root / "env").glob("lib/python*/site-packages"))
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        pip = (sys.executable, "-m", "pip", "--python", str(self.programs / "python"), "--disable-pip-version-check")
        order = ("install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall")
        done = self.run(*pip, *order, "--prefix", str(root / "env"), str(ROOT), str(PLUGIN))
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return subprocess.run(words, input=said, cwd=self.home, env=environ, capture_output=True, text=True)

    def dragoman(self, *words: str, said: str = "") -> str:
        done = self.run(str(self.programs / "dragoman"), *words, said=said)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    def python(self, program: str) -> str:
        done = self.run(str(self.programs / "python"), "-c", program)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with TemporaryDirectory(prefix="dragoman-plugin-") as folder:
        yield Machine(Path(folder))


def lines(text: str) -> list[Any]:
    return [msgspec.json.decode(line) for line in text.splitlines()]


def test_what_runs_is_what_was_installed(machine: Machine) -> None:
    program = "import dragoman, dragoman_acme; print(dragoman.__file__); print(dragoman_acme.__file__)"
    environment = machine.programs.parent
    assert all(Path(line).is_relative_to(environment) for line in machine.python(program).splitlines())


def test_the_three_things_are_listed_with_their_package_and_load(machine: Machine) -> None:
    listed = msgspec.json.decode(machine.dragoman("plugins", "--check", "--json"))
    found = [(row["kind"], row["name"], row["origin"], row["broken"]) for row in listed if row["origin"] != "built-in"]
    assert found == [
        ("tools", "find_ticket", "package dragoman-acme 1.0", None),
        ("dialects", "acme", "package dragoman-acme 1.0", None),
        ("formats", "acme", "package dragoman-acme 1.0", None),
    ]


def test_the_dialect_is_one_like_any_other(machine: Machine) -> None:
    (offered,) = msgspec.json.decode(machine.dragoman("tools", "--dialect", "acme", "--json")).values()
    assert [definition["name"] for definition in offered] == ["open_file", "shell"]
    said = machine.dragoman("say", "read_file", "path=a.py", "first_line=5", "last_line=9", "--to", "acme")
    assert said == 'acme\n  open_file {"name":"a.py","first_line":5,"last_line":9}\n'
    call = '{"name": "Read", "arguments": {"file_path": "a.py", "offset": 5, "limit": 5}}'
    translated = machine.dragoman("translate", "--from", "claude_code", "--to", "acme", said=call)
    assert translated == 'open_file {"name":"a.py","first_line":5,"last_line":9}\n'


def test_the_dialect_is_held_to_the_laws(machine: Machine) -> None:
    (checked,) = msgspec.json.decode(machine.dragoman("dialect", "check", "acme", "--json"))["dialects"]
    assert (checked["spoken"], checked["problems"]) == (["read_file", "run_command"], [])


def test_the_tool_is_called_by_name(machine: Machine) -> None:
    outcome = msgspec.json.decode(machine.dragoman("tool", "find_ticket", "number=7", "--json"))
    assert outcome == {"type": "json_outcome", "value": {"number": 7, "text": "The door squeaks."}}
    missing = machine.run(str(machine.programs / "dragoman"), "tool", "find_ticket", "number=8")
    assert (missing.returncode, missing.stderr) == (7, "error: there is no ticket 8; there are 7, 12\n")
    wrong = machine.run(str(machine.programs / "dragoman"), "tool", "find_ticket", "number=seven")
    assert wrong.returncode == 2
    assert "number" in wrong.stderr


def test_its_logs_are_recognised_and_typed(machine: Machine) -> None:
    events = lines(machine.dragoman("events", str(SESSION)))
    assert [event["kind"] for event in events] == [
        *("session_started", "user_said", "tool_called", "tool_returned", "tool_called", "tool_returned"),
        *("tool_called", "tool_returned", "tokens_used", "model_said", "unknown_record"),
    ]
    assert [event["operations"] for event in events if "operations" in event] == [
        [{"type": "call_function", "name": "find_ticket", "arguments": {"number": 7}}],
        [{"type": "read_file", "path": "door.py", "first_line": 5, "last_line": 9}],
        [{"type": "call_mcp_tool", "server": "hub", "tool": "send", "arguments": {"to": "Ada"}}],
    ]
    assert [event["outcomes"][0]["type"] for event in events if "outcomes" in event] == [
        *("json_outcome", "file_outcome", "failure")
    ]


def test_its_sessions_are_found_where_the_client_keeps_them(machine: Machine) -> None:
    folder = machine.home / ".acme" / "sessions"
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_bytes(SESSION.read_bytes())
    (row,) = msgspec.json.decode(machine.dragoman("sessions", "--json"))
    assert (row["client"], row["calls"]) == ("acme", 3)


SCRIPTED = """
import asyncio
from dragoman.engine import Orchestrator, ScriptedEngine
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, ResultPart, TextPart, ToolCalled
from dragoman.registry import TOOLS
from dragoman.tools import MemoryWorkspace

replies = [
    Reply((CallPart(NativeCall("1", "find_ticket", {"number": 12})),
           CallPart(NativeCall("2", "open_file", {"name": "a.py"}))), FinishReason.CALLS),
    Reply((TextPart("It is on by day."),), FinishReason.STOP),
]
events = []
workspace = MemoryWorkspace({"a.py": "x = 1"})
tools = [TOOLS["find_ticket"], TOOLS["read_file"]]
orchestrator = Orchestrator(ScriptedEngine(replies), tools, dialect="acme", workspace=workspace, emit=events.append)
result = asyncio.run(orchestrator.run("What is on?"))
for event in events:
    if isinstance(event, ToolCalled):
        print(event.call.operations[0])
for item in result.conversation:
    for part in item.parts:
        if isinstance(part, ResultPart):
            print(part.result.content)
"""


def test_the_tool_and_the_words_serve_a_run(machine: Machine) -> None:
    assert machine.python(SCRIPTED).splitlines() == [
        "CallFunction(name='find_ticket', arguments={'number': 12})",
        "ReadFile(path='a.py')",
        '{"number":12,"text":"The lamp is on by day."}',
        "1\tx = 1",
    ]


def test_its_own_tests_pass(machine: Machine) -> None:
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(PLUGIN), str(PLUGIN / "tests"))
    done = machine.run(str(machine.programs / "python"), "-B", *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_the_package_nothing_is_left_of_it(machine: Machine) -> None:
    pip = (sys.executable, "-m", "pip", "--python", str(machine.programs / "python"), "--disable-pip-version-check")
    done = machine.run(*pip, "uninstall", "--quiet", "--yes", "dragoman-acme")
    assert done.returncode == 0, done.stdout + done.stderr
    listed = msgspec.json.decode(machine.dragoman("plugins", "--check", "--json"))
    assert [row["name"] for row in listed if row["origin"] != "built-in"] == []
