"""Tools that take more than there is."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
