"""How many Python functions one `Read` of a model enters on its way through facade, executor and tool, and back.

A count, not a time: the same on a busy machine. The interpreter's own functions (asyncio, codecs) count as well, so it
differs by a few between versions of Python.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

MOST = 349
"""Calls of one `Read`, at most (under 350 is the aim); 340 on Python 3.11."""


def calls_of_one_read() -> int:
    """The number of Python calls, in all threads, of reading a file of three lines with Claude Code's `Read`."""
    counter = _Counter()
    with TemporaryDirectory() as folder:
        Path(folder, "a.py").write_text("one\ntwo\nthree\n")
        # Set before any thread is there: a thread takes it over when it starts.
        threading.setprofile(counter)
        sys.setprofile(counter)
        try:
            asyncio.run(_read(folder, counter))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return counter.count


class _Counter:
    def __init__(self) -> None:
        self.count = 0
        self.on = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.on and event == "call":
            self.count += 1


async def _read(folder: str, counter: _Counter) -> None:
    import msgspec

    from dragoman.dialects import DIALECTS
    from dragoman.engine import Executor, Facade, ToolPolicy
    from dragoman.model import Call, NativeCall, Result
    from dragoman.registry import TOOLS
    from dragoman.tools import DiskWorkspace, Toolset, standard_context

    toolset = Toolset([TOOLS["read_file"], TOOLS["edit_file"], TOOLS["run_command"]])
    facade = Facade(DIALECTS["claude_code"], toolset)

    def written(call: Call, result: Result) -> Result:
        return msgspec.structs.replace(result, native=facade.write_result(call, result.outcomes))

    async with standard_context(DiskWorkspace(folder)) as context:
        executor = Executor(toolset, ToolPolicy(), context, write=written, reconsider=facade.reconsidered)
        for id in ("first", "second", "counted"):  # the first loads what is loaded when it is needed
            counter.on = id == "counted"
            call = facade.read_call(NativeCall(id, "Read", {"file_path": "a.py"}))
            (result,) = await executor.run([call])
            counter.on = False
            if result.native is None or "1\tone\n2\ttwo\n3\tthree\n" not in str(result.native.content):
                raise SystemExit(f"the file was not read: {result}")
