"""MCP servers as tools: every tool of every server is one of ours, for as long as the servers are open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dragoman.engine import Retry
from dragoman.errors import DefinitionError, ToolError, nearest
from dragoman.model import Kind, conversation as conv, operations as op, outcomes as out
from dragoman.tools import Context, Tool, Toolset

from .connection import Connection, installed
from .host import McpHost
from .names import mcp_tool_name
from .prompts import McpPrompt
from .settings import McpServer, configured_mcp_servers, mcp_server_at, mcp_server_of, mcp_servers_in

__all__ = [
    "McpServer",
    "McpServers",
    "configured_mcp_servers",
    "mcp_server_at",
    "mcp_server_of",
    "mcp_servers_in",
    "mcp_tool_name",
]

STARTUP_SECONDS: Final = 30.0
"""How long a server has to start and to list its tools."""
BACK_OFF: Final = Retry(base=1.0, factor=2.0, jitter=0.0, longest=60.0)
"""How long a server that keeps dying is left alone."""


# ── all servers ──────────────────────────────────────────────────────────────


class McpServers:
    """Several open servers. A server may change its tools: `toolset` always has the current ones.

    `problems` says what is wrong with which server; a server that cannot be started has no tools and does not affect
    the others. `changed` is called when the tools have changed. `host` is what servers may ask of this program.
    """

    def __init__(
        self,
        servers: Iterable[McpServer] | Mapping[str, McpServer],
        *,
        back_off: Retry = BACK_OFF,
        startup: float = STARTUP_SECONDS,
        changed: Callable[[], None] | None = None,
        host: McpHost = McpHost(),  # noqa: B008 - frozen
    ) -> None:
        given = servers.values() if isinstance(servers, Mapping) else servers
        self._changed = changed
        self._toolset: Toolset | None = None
        self._joined: list[Toolset] = []
        self.connections: dict[str, Connection] = {}
        for server in given:
            if server.name in self.connections:
                raise DefinitionError("the MCP servers", [f"there are two servers called {server.name!r}"])
            self.connections[server.name] = Connection(server, back_off, startup, self._tell, host)
        self._resources = self._resource_tools()

    async def __aenter__(self) -> McpServers:
        installed()
        try:
            await asyncio.gather(*(one.tried() for one in self.connections.values()))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops every server: asks it to end, then ends it."""
        await asyncio.gather(*(one.close() for one in self.connections.values()))

    @property
    def problems(self) -> dict[str, tuple[str, ...]]:
        """What is wrong, by server: why it is not running, and tools of it that cannot be offered."""
        found = {name: one.problems for name, one in self.connections.items()}
        return {name: problems for name, problems in found.items() if problems}

    @property
    def toolset(self) -> Toolset:
        """Every tool of every server, in the order of the servers; another set when something has changed."""
        if self._toolset is None:
            tools = [tool for one in self.connections.values() for tool in one.tools]
            if any(one.has_resources for one in self.connections.values()):
                tools += self._resources
            self._toolset = Toolset(tools)
        return self._toolset

    @property
    def instructions(self) -> dict[str, str]:
        """The servers' instructions for a model, by server; it is up to the caller to pass them on."""
        found = {name: one.instructions for name, one in self.connections.items()}
        return {name: text for name, text in found.items() if text}

    def join(self, toolset: Toolset) -> None:
        """Adds these tools to a toolset, now and whenever they change; a run offers them from its next round on.

        Other tools of the set stay unchanged, in their places.
        """
        self._joined.append(toolset)
        toolset.register(*self.toolset)

    def _tell(self) -> None:
        before, self._toolset = self._toolset, None
        for joined in self._joined:
            now = {tool.name: tool for tool in self.toolset}
            known = {tool.name: tool for tool in before or () if tool.name in joined}
            for name, tool in known.items():
                if now.get(name) is not tool:
                    joined.unregister(name)
            joined.register(*(tool for name, tool in now.items() if known.get(name) is not tool))
        if self._changed is not None:
            self._changed()

    # ── resources ──────────────────────────────────────────────────────────

    def _resource_tools(self) -> list[Tool]:
        # A URI goes to the server as the model writes it, like that of a page: only a trusted server is just read from.
        trusted = all(one.server.trust_hints for one in self.connections.values())
        kind = Kind.READ if trusted else Kind.FETCH
        return [
            Tool.from_operation(op.ListMcpResources, self._list_resources, repeatable=trusted, kind=kind),
            Tool.from_operation(op.ReadMcpResource, self._read_resource, repeatable=trusted, kind=kind),
        ]

    async def _list_resources(self, wanted: op.ListMcpResources, context: Context) -> out.ResourcesOutcome:
        if wanted.uri is not None:
            raise ToolError("resources cannot be listed below a URI here; list all", kind="invalid_arguments")
        holders = [one for one in self.connections.values() if one.has_resources]
        if wanted.server is not None:
            holders = [self._holder(wanted.server)]
        if wanted.cursor is not None and len(holders) != 1:
            raise ToolError("a cursor goes with the one server that gave it", kind="invalid_arguments")
        found: list[out.Resource] = []
        cursor: str | None = None
        for one in holders:
            # Only a single server can be asked for its next page, so of several each gives all it has.
            resources, cursor = await one.resources(wanted.cursor, templates=wanted.templates, all=len(holders) > 1)
            found += resources
        return out.ResourcesOutcome(tuple(found), cursor)

    async def _read_resource(self, wanted: op.ReadMcpResource, context: Context) -> out.ResourcesOutcome:
        holders = [one for one in self.connections.values() if one.has_resources]
        if wanted.server is None and len(holders) != 1:
            names = ", ".join(one.server.name for one in holders)
            raise ToolError(f"say which server has it: {names}", kind="invalid_arguments")
        holder = holders[0] if wanted.server is None else self._holder(wanted.server)
        return await holder.read_resource(wanted.uri)

    def _holder(self, name: str) -> Connection:
        holders = {one.server.name: one for one in self.connections.values() if one.has_resources}
        if name not in holders:
            message = f"there is no MCP server {name!r} with resources.{nearest(name, holders)}"
            raise ToolError(message, kind="invalid_arguments")
        return holders[name]

    # ── prompts ────────────────────────────────────────────────────────────

    @property
    def with_prompts(self) -> tuple[str, ...]:
        """The open servers that have prompts."""
        return tuple(name for name, one in self.connections.items() if one.has_prompts)

    async def prompts(self, server: str) -> tuple[McpPrompt, ...]:
        """The prompts of a server, for a person to choose from."""
        return await self._prompting(server).prompts()

    async def prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> tuple[conv.Message, ...]:
        """What a prompt says: messages to begin a turn with, or a whole conversation."""
        given = dict(arguments or {})
        known = {one.name: one for one in await self.prompts(server)}
        if name not in known:
            message = f"the MCP server {server} has no prompt {name!r}.{nearest(name, known)}"
            raise ToolError(message, kind="invalid_arguments")
        known[name].check(given)
        return await self._prompting(server).prompt(name, given)

    def _prompting(self, name: str) -> Connection:
        if name not in self.with_prompts:
            message = f"there is no MCP server {name!r} with prompts.{nearest(name, self.with_prompts)}"
            raise ToolError(message, kind="invalid_arguments")
        return self.connections[name]
