"""A model that uses a screen: a page of a real browser, with the provider's own tool for computer use.

    pip install '.[browser]'
    python examples/computer.py anthropic:claude-sonnet-4-5 https://example.com "Open the link. What does it say?"

Every request of the page goes through the rules of `Web`: private addresses cannot be reached unless `--allow` names
them.
"""

from __future__ import annotations

import argparse
import asyncio

from dragoman import ProviderTool, Toolset
from dragoman.engine import Orchestrator
from dragoman.model import ToolCalled, UseComputer
from dragoman.tools import Web, browser_screen, computer_tool

WIDTH, HEIGHT = 1024, 768
OFFERS = {
    "anthropic": ProviderTool("anthropic.computer_20250124", {"display_width_px": WIDTH, "display_height_px": HEIGHT}),
    "openai": ProviderTool("openai.computer"),
    "gemini": ProviderTool("google.computer_use", {"environment": "ENVIRONMENT_BROWSER"}),
}


async def main(model: str, url: str, task: str, allow: list[str]) -> None:
    async with Web(allow=allow) as web, browser_screen(web, url, width=WIDTH, height=HEIGHT) as screen:
        tools = Toolset([computer_tool(screen), OFFERS[model.partition(":")[0]]])
        run = Orchestrator(model, tools, emit=show)
        try:
            print((await run.run(task)).text)
        finally:
            await run.close()


def show(event: object) -> None:
    if isinstance(event, ToolCalled):
        for act in event.call.operations:
            if isinstance(act, UseComputer):
                print("-", act.action, act.arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="provider:model, of anthropic, openai or gemini")
    parser.add_argument("url", help="the page to begin with")
    parser.add_argument("task", help="what to do there")
    parser.add_argument("--allow", action="append", default=[], metavar="HOST:PORT", help="a private address to allow")
    given = parser.parse_args()
    asyncio.run(main(given.model, given.url, given.task, given.allow))
