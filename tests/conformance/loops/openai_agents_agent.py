"""The OpenAI Agents SDK leads the loop."""

from __future__ import annotations

import asyncio

from agents import Agent, Runner
from offer import CASES, tools_for


async def main() -> None:
    for dialect, model, folder in CASES:
        async with tools_for("openai-agents", dialect, folder) as tools:
            print((await Runner.run(Agent("tester", tools=tools, model=model), "Do it.")).final_output)


asyncio.run(main())
