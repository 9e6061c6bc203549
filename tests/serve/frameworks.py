"""Front ends served by aiohttp and by Starlette, on sockets of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from aiohttp import web
from starlette.applications import Starlette
from starlette.routing import Mount

from dragoman.serve.front_ends import FrontEnd

FRAMEWORKS = ("aiohttp", "starlette")


@asynccontextmanager
async def served(front_end: FrontEnd, framework: str) -> AsyncIterator[str]:
    """The address of a front end, served by a framework."""
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/agent/"
    if framework == "aiohttp":
        app = web.Application()
        app.router.add_route("*", "/agent/{rest:.*}", front_end.aiohttp)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        try:
            yield url
        finally:
            await runner.cleanup()
        return
    config = uvicorn.Config(Starlette(routes=[Mount("/agent", front_end)]), log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server._serve([listening]))  # without handlers of signals
    try:
        yield url
    finally:
        server.should_exit = True
        await serving
        listening.close()
