"""LangChain leads the loop, first with an event loop of its own, then without one."""

from __future__ import annotations

import asyncio

from langchain.agents import create_agent
from offer import CASES, tools_for

QUESTION = {"messages": [{"role": "user", "content": "Do it."}]}
HALF = len(CASES) // 2


async def main() -> None:
    for dialect, model, folder in CASES[:HALF]:
        async with tools_for("langchain", dialect, folder) as tools:
            print((await create_agent(model, tools).ainvoke(QUESTION))["messages"][-1].text)


asyncio.run(main())
for dialect, model, folder in CASES[HALF:]:
    with tools_for("langchain", dialect, folder) as tools:
        print(create_agent(model, tools).invoke(QUESTION)["messages"][-1].text)
