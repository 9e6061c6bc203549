"""The client that the official MCP conformance suite starts: ours, which opens the server and calls its tools."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from dragoman.agents import McpServers, mcp_server_at
from dragoman.agents.mcp import Answered, Login, McpHost, Question
from dragoman.agents.mcp.settings import mcp_server_of
from dragoman.tools import Context, Tool


async def visit(address: str) -> None:
    """The user's browser: the suite's authorization server sends it back at once."""

    def visited() -> None:
        with urlopen(address, timeout=10) as page:
            page.read()

    await asyncio.to_thread(visited)


BY_ITSELF = (
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/cross-app-access-complete-flow",
)
"""Scenarios in which nobody logs in."""
OURS = {
    "private_key_pem": "private_key",
    "signing_algorithm": "algorithm",
    "idp_client_id": "identity_client_id",
    "idp_id_token": "id_token",
    "idp_token_endpoint": "identity_url",
    "idp_issuer": None,
    "name": None,
}
"""What the suite calls a setting → what we call it; what has no name here is not needed."""


async def accept(question: Question) -> Answered:
    return Answered("accept")


async def main(url: str) -> None:
    given: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    with tempfile.TemporaryDirectory() as folder:
        login = Login(
            config_dir=Path(folder),
            visit=visit,
            client_id=given.get("client_id"),
            client_secret=given.get("client_secret"),
            metadata_url="https://conformance-test.local/client-metadata.json" if "cimd" in scenario else None,
        )
        server = mcp_server_at(url)
        if scenario in BY_ITSELF:
            named = {OURS.get(name, name): value for name, value in given.items() if OURS.get(name, name)}
            server = mcp_server_of("server", {"url": url, "login": named})
        async with McpServers([server], host=McpHost(elicit=accept, login=login)) as servers:
            for problem in servers.problems.get("server", ()):
                raise SystemExit(problem)
            for tool in servers.toolset:
                if isinstance(tool, Tool) and tool.mcp is not None:
                    names = tool.parameters.get("properties", {})
                    await tool.call({"a": 5, "b": 3} if "a" in names else {}, Context())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
