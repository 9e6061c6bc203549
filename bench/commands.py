"""A command that does nothing, from the call of the tool to its result, beside the same in a bare shell.

What a tool adds is that it supervises the command: it ends everything that the command started, whatever that does.
The process that starts commands is counted, though it stays from one command to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.benches import Bench, Target
from bench.stopwatch import household_time, per_call


def ours(folder: Path) -> Callable[[], Awaitable[int | None]]:
    from dragoman.model.operations import RunCommand
    from dragoman.registry import TOOLS
    from dragoman.tools import Context, DiskWorkspace
    from dragoman.tools.shell import Shell

    context = Context(workspace=DiskWorkspace(folder), provides={Shell: Shell()})

    async def run() -> int | None:
        outcome = await TOOLS["run_command"].run(RunCommand("true"), context)
        code: int | None = outcome.exit_code
        return code

    return run


def asyncio_shell(folder: Path) -> Callable[[], Awaitable[int | None]]:
    async def run() -> int | None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec("sh", "-c", "true", cwd=folder, stdout=pipe, stderr=pipe)
        await process.communicate()
        return process.returncode

    return run


COLUMNS = {"ours": ours, "asyncio, sh -c": asyncio_shell}


def measure(column: str) -> list[float]:
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        run = COLUMNS[column](Path(folder))

        async def several(times: int) -> None:
            for _ in range(times):
                if await run() != 0:
                    raise SystemExit("the command failed")

        return per_call(lambda times: runner.run(several(times)), clock=household_time, shortest=0.5)


BENCH = Bench(
    question="run the command `true`",
    environments=dict.fromkeys(COLUMNS, "base"),
    floor="asyncio, sh -c",
    targets=(Target("ours", "asyncio, sh -c", 3),),
    measure=measure,
)
