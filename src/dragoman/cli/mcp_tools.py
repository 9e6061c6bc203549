"""The tools of MCP servers in `run` and `chat`: those of every server that is set up, unless --no-mcp.

Rule: a server that cannot be started is a warning, and one that may not be started is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman import agents, tools
from dragoman.agents import mcp
from dragoman.cli.terminal.console import foreign
from dragoman.errors import ConfigError, MissingExtra, nearest

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from dragoman.config import Configuration
    from dragoman.engine import Orchestrator
    from dragoman.model import Reply

    from .terminal.console import Console

_RESOURCES: Final = ("list_mcp_resources", "read_mcp_resource")


def is_served(word: str) -> bool:
    """Whether a word of --tools speaks of tools of MCP servers."""
    return word.startswith("mcp__") or word in _RESOURCES


async def opened_servers(
    console: Console,
    configuration: Configuration,
    stack: AsyncExitStack,
    host: mcp.McpHost,
    own: Sequence[agents.McpServer] = (),
) -> agents.McpServers | None:
    """The servers that are set up, open for as long as the stack is; `None` when there are none to be had.

    `host` answers what they ask. `own` are those of an agent; one that is set up hides one of its name.
    """
    known: Mapping[str, agents.McpServer] = {}
    try:
        known = agents.configured_mcp_servers(configuration)
    except ConfigError as error:  # a file of a project that names servers for other clients
        console.warn(f"no MCP server that is set up is started: {error}")
    refused = [server.name for server in known.values() if server.refused is not None]
    if refused:
        console.note(f"Not started: {', '.join(refused)}. `dragoman mcp list` says why.")
    usable = [server for server in known.values() if server.refused is None]
    for server in own:
        why = "one of that name is set up, and is used" if server.name in known else server.refused
        if why is None:
            usable.append(server)
        else:
            console.warn(f"MCP server {server.name} of {server.origin} is not started: {why}")
    if not usable:
        return None

    try:
        servers = await stack.enter_async_context(agents.McpServers(usable, host=host))
    except MissingExtra as error:
        console.warn(f"no MCP server is started: {error}")
        return None
    for name, problems in servers.problems.items():
        for problem in problems:
            console.warn(problem if name in problem else f"MCP server {name}: {problem}")
    return servers


def host_of(
    configuration: Configuration,
    folder: Path,
    run: Callable[[], Orchestrator[Any] | None],
    tell: Callable[[str], None],
    *,
    answers: bool,
) -> mcp.McpHost:
    """What servers may ask in a session: its folder, and, as the rules of its run say, its user and its model."""

    def sampled(wanted: mcp.SampleRequest, reply: Reply) -> None:
        spent = f": {reply.usage.total:,} tokens" if reply.usage.total is not None else ""
        tell(foreign(f"the MCP server {wanted.server} asked the model{spent}", one_line=True))

    # Only what `dragoman mcp login` stored: nobody can be sent to a browser in the middle of a run.
    login = mcp.Login(config_dir=configuration.config_dir)
    return mcp.host_by_policy(run, answers=answers, roots=(folder,), login=login, sampled=sampled)


MOST_UP_FRONT: Final = 64
"""Tools of servers that are offered up front. With more than these, a model is offered a search for them instead."""


def offer_served(
    toolset: tools.Toolset, servers: agents.McpServers | None, words: Sequence[str] | None, *, searched: bool = False
) -> int:
    """Adds servers' tools to what is offered: all, now and whenever they change, or those of these names and globs.

    With `searched`, a model looks for them when there are very many; the result is how many it looks for.
    """
    if words is None:
        if servers is None:
            return 0
        if searched and len(servers.toolset.names) > MOST_UP_FRONT:
            from dragoman.tools import search_tools_in

            toolset.register(search_tools_in(toolset, lambda: servers.toolset))
            return len(servers.toolset.names)
        servers.join(toolset)
        return 0
    there = {tool.name: tool for tool in servers.toolset} if servers is not None else {}
    for word in words:
        found = [tool for name, tool in there.items() if fnmatchcase(name, word) and name not in toolset]
        if not found:
            hint = nearest(word, there) or " `dragoman mcp list` shows the servers that are set up."
            raise click.BadParameter(f'no MCP server that runs has a tool "{word}".{hint}', param_hint="--tools")
        toolset.register(*found)
    return 0
