"""A server that passes requests on as they are and answers as they come: `python bench/pass_on.py PORT UPSTREAM`.

It has the two sides of the gateway, aiohttp's server and our own connections to providers, and nothing between them:
what any gateway written with them pays for the bytes alone.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web

from dragoman.engine.transport import Transport


async def main(port: int, upstream: int) -> None:
    transport = Transport(f"http://127.0.0.1:{upstream}/v1")

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        pieces: list[bytes] = []
        await transport.exchange("/chat/completions", body, sink=pieces.append)
        await response.write(b"".join(pieces))
        await response.write_eof()
        return response

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
