"""pydantic-ai leads the loop."""

from __future__ import annotations

import asyncio

from offer import CASES, tools_for
from pydantic_ai import Agent


async def main() -> None:
    for dialect, model, folder in CASES:
        async with tools_for("pydantic-ai", dialect, folder) as tools:
            print((await Agent(model, tools=tools).run("Do it.")).output)


asyncio.run(main())
