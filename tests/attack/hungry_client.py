"""Asks hostile servers, as a program of its own whose memory can be measured: `python -m … KIND NAME=URL …`.

It prints one line of JSON: for each name what the exchange ended in, and by how many megabytes the process has grown.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path


async def ask_provider(url: str) -> str:
    """A streamed answer with the default limits."""
    from dragoman.engine import HttpEngine, Retry
    from dragoman.engine.transport import Transport
    from dragoman.errors import EngineError
    from dragoman.model import Request, user

    engine = HttpEngine("openai_chat", Transport(url), retry=Retry(times=0))
    try:
        reply = await engine.ask(Request("some-model", (user("hi"),)), lambda chunk: None)
    except EngineError as error:
        return str(error.code)
    finally:
        await engine.close()
    return f"answered {reply.text[:100]!r}"


async def fetch_page(url: str) -> str:
    from dragoman.errors import ToolError
    from dragoman.model.operations import FetchPage
    from dragoman.tools import Web

    async with Web(allow_private=True, timeout_ms=2_000) as web:
        try:
            return f"fetched {await web.fetch(FetchPage(url))}"[:100]
        except ToolError as error:
            return "took too long" if error.kind == "timed_out" else str(error).partition(" ")[2][:40]


async def open_mcp_server(url: str) -> str:
    from dragoman.agents.mcp.connection import Connection
    from dragoman.agents.mcp.settings import mcp_server_at
    from dragoman.engine import Retry

    connection = Connection(mcp_server_at(f"{url}/mcp"), Retry(), 10, lambda: None)
    await connection.tried()
    await connection.close()
    return " ".join(connection.problems).rpartition(": ")[2]


async def download(url: str) -> str:
    import tempfile

    from dragoman.engine.models.model_files import Hub, ModelFile, fetched
    from dragoman.errors import EngineError

    with tempfile.TemporaryDirectory() as folder:
        model = ModelFile("Tiny", "tiny.gguf", "0" * 64, 1_000_000, f"{url}/tiny.gguf")
        hub = Hub(patience=1.0)
        try:
            return str(await asyncio.to_thread(fetched, model, cache=Path(folder), sources=[hub]))
        except EngineError as error:
            written = await asyncio.to_thread(size_of, Path(folder, "models"))
            return f"{error.code}, {'more' if written > 2_000_000 else 'no more'} written than the file has"


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


KINDS: dict[str, Callable[[str], Awaitable[str]]] = {
    "provider": ask_provider,
    "page": fetch_page,
    "mcp": open_mcp_server,
    "download": download,
}


async def main(targets: list[str]) -> None:
    ended: dict[str, str] = {}
    before: int | None = None
    for target in targets:
        name, _, url = target.partition("=")
        kind, _, _ = name.partition(":")
        if before is None:
            await KINDS[kind](url)  # what is imported for the first time is not what a server makes us take
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        else:
            ended[name] = await KINDS[kind](url)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - (before or 0)) // 1024
    print(json.dumps({"ended": ended, "grown": grown}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
