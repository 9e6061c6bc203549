"""Tools that take more than there is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.machine import Machine
from tests.engine.loopback import Turn

PROGRAM = """
import asyncio, resource, sys
from dragoman import Orchestrator, Toolset, tool
from dragoman.engine import ScriptedEngine
from dragoman.model import CallPart, FinishReason, NativeCall, Reply

size = 1 << 30
limit = size + (600 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

def large() -> object:
    "Return a gigabyte."
    return {value}

kept = 0
def heard(event):
    import msgspec
    global kept
    kept += len(msgspec.json.encode(event))

call = Reply((CallPart(NativeCall("1", "large", {{}})),), FinishReason.CALLS)
tools = Toolset([tool(large)])
result = asyncio.run(Orchestrator(ScriptedEngine([call, "Done."]), tools, model_name="m", emit=heard).run("Go."))
(told,) = (part.result.content for item in result.conversation for part in item.parts if hasattr(part, "result"))
print(result.status, len(told) < 200_000, kept < (20 << 20), "cut" in told or "dropped" in told or "left out" in told)
"""


@pytest.mark.parametrize("value", ["'x' * size", "b'x' * size", "[None] * (size // 8)", "{'text': 'x' * size}"])
def test_a_result_of_a_gigabyte_costs_little_more_than_the_tool_took_to_make_it(value: str) -> None:
    """A tool that returns a gigabyte fills neither memory nor record: its result is cut or dropped, and says so."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(value=value)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "completed True True True\n", "")


PRINTING = """
import os, subprocess, sys
from dragoman import tool

def noise(where: str) -> None:
    print("printed", where, flush=True)
    sys.stdout.write("written\\n")
    os.write(1, b"raw\\n")
    subprocess.run(["echo", "from a program"], check=True)

@tool(kind="read")
def loud() -> str:
    "Print a lot."
    noise("in a thread")
    return "quiet"

@tool(kind="read")
async def loud_async() -> str:
    "Print a lot."
    noise("in the loop")
    return "quiet"

@tool(kind="read")
async def interrupt() -> str:
    "Raise."
    raise KeyboardInterrupt("mine")

@tool(kind="read")
async def leave() -> str:
    "Raise."
    raise SystemExit(3)

TOOLS = {"loud": loud, "loud_async": loud_async, "interrupt": interrupt, "leave": leave}
"""
NAMES = ("loud", "loud_async", "interrupt", "leave")


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_what_tools_print_and_raise_reaches_neither_the_output_nor_the_end_of_a_run(
    tmp_path: Path, as_json: bool
) -> None:
    """Whatever a tool prints goes to standard error, and an interrupt or exit that it raises itself is its failure."""
    machine = Machine(tmp_path)
    plugin = machine.home / ".config" / "dragoman" / "plugins" / "loud.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(PRINTING)
    calls = Turn("I call.", calls=tuple((f"c{name}", name, {}) for name in NAMES))
    with machine.provider([calls, Turn("It is done.")]) as server:
        options = ("--json",) if as_json else ()
        done = machine.runs_command("run", "--yes", *options, "--tools", ",".join(NAMES), "go")
    assert done.returncode == 0, done.stderr
    for text in ("printed in a thread", "printed in the loop", "written", "raw", "from a program"):
        assert text in done.stderr
    if as_json:
        kinds = [json.loads(line).get("kind") for line in done.stdout.splitlines()]
        assert kinds.count("tool_returned") == len(NAMES)
    else:
        assert done.stdout == "I call.\nIt is done.\n"
    said = json.dumps(server.requests[1].body)
    assert "KeyboardInterrupt: mine" in said
    assert "it tried to end the program with 3" in said


@pytest.mark.parametrize("name", ["loud", "loud_async"])
def test_one_call_by_hand_prints_its_result_alone(tmp_path: Path, name: str) -> None:
    """`dragoman tool --json` writes one JSON document, whatever the tool prints."""
    machine = Machine(tmp_path)
    plugin = machine.home / ".config" / "dragoman" / "plugins" / "loud.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(PRINTING)
    done = machine.runs_command("tool", name, "--json")
    assert (done.returncode, json.loads(done.stdout)["text"]) == (0, "quiet"), done
    assert "raw" in done.stderr
