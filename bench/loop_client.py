"""Our client of the scripted server, in the form its other clients have: run by `bench.loop`, never imported."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

if os.environ.get("EVENT_LOOP") == "uvloop":
    import uvloop

    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

# Both lie beside the server, which puts its folder on the path.
import common  # type: ignore[import-not-found, unused-ignore]
import tools_msgspec  # type: ignore[import-not-found, unused-ignore]

from dragoman.engine import Orchestrator, ToolPolicy
from dragoman.engine.models import engine_for
from dragoman.model import TextChunk

MODELS = {
    "chat": ("openai-chat:gpt-4o", "/v1"),
    "responses": ("openai:gpt-4o", "/v1"),
    "anthropic": ("anthropic:claude-sonnet-4-0", ""),
    "gemini": ("gemini:gemini-2.5-flash", "/v1beta"),
}


async def make(form: str, stream: bool, base: str) -> Callable[[], Awaitable[str]]:  # noqa: FBT001 - as it is called
    model, path = MODELS[form]
    engine, name = engine_for(model, base_url=base + path, api_key="x")
    orchestrator = Orchestrator(engine, tools_msgspec.TOOLS, ToolPolicy(), model_name=name, max_output_tokens=4096)

    async def streamed() -> str:
        texts: list[str] = []

        def observe(chunk: Any) -> None:
            if type(chunk) is TextChunk:
                texts.append(chunk.text)

        await orchestrator.run(common.PROMPT, observe=observe)
        return "".join(texts)

    async def whole() -> str:
        return (await orchestrator.run(common.PROMPT)).text

    return streamed if stream else whole


common.main("ours", make, tools_msgspec.COUNT)
