"""A run that goes on until it is killed: agents that start agents, recorded as they do.

For each event there is a byte on standard output.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from typing import Any

from dragoman.agents import Kernel
from dragoman.engine import ScriptedEngine
from dragoman.logs import Recorder
from dragoman.model import AnyEvent, Reply, Request
from dragoman.tools import MemoryWorkspace
from tests.agents.playing import agent, calls, custom, says, spawns

COUNT = itertools.count()


class Endless(ScriptedEngine):
    async def ask(self, request: Request, observe: Any = None) -> Reply:
        await asyncio.sleep(0.001)
        number = next(COUNT)
        if number % 3 == 2:
            return says(f"word {number} " * 20)
        return calls(spawns("kid", f"dig {number}", background=bool(number % 2)), ("look", {"text": f"{number}"}))


async def main(path: str) -> None:
    agents = [agent(name, custom_tools=(custom("look", model="kid"),)) for name in ("boss", "kid")]
    number = itertools.count()
    with Recorder(path) as recorder:

        def emit(event: AnyEvent) -> None:
            recorder(event)
            os.write(1, b".")

        while True:
            kernel = Kernel(agents, engines=lambda name: (Endless([]), name), workspace=MemoryWorkspace(), emit=emit)
            await kernel.run("boss", f"Go {next(number)}", run_id="endless")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
