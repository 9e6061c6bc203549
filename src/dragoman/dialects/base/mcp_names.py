"""How vocabularies name the tools of Model Context Protocol servers, read and written."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

Servers = Mapping[str, Collection[str]]
"""Servers of a run by name, each with the tools it is known to have."""


class McpNames(msgspec.Struct, frozen=True):
    """One way to name them: templates with `{server}` and `{tool}`, e.g. `mcp__{server}__{tool}`.

    With a `namespace` template the name is the tool's own and the server stands in the namespace.
    A template without a mark of its own (`{server}_{tool}`) fits any name, so it is only believed
    for servers that are known; a bare `{tool}` only for tools they are known to have. `marked` says that no tool of
    the client's own has such a name, so that it is believed as well, where the server's name is a legal one.
    """

    template: str
    namespace: str | None = None
    marked: bool = False

    def __post_init__(self) -> None:
        """Each part stands once, or a name could not be read back."""
        servers = (self.namespace or "").count("{server}") + self.template.count("{server}")
        if self.template.count("{tool}") != 1:
            raise ValueError('must hold "{tool}" once, for example "mcp__{server}__{tool}"')
        if servers > 1:
            raise ValueError('must not hold "{server}" twice')
        if servers == 0 and not self.needs_servers:
            raise ValueError('begins with "mcp" and needs "{server}", for example "mcp__{server}__{tool}"')

    @property
    def needs_servers(self) -> bool:
        """Whether only a list of known servers tells such a name from any other."""
        return not self.marked and not (self.namespace or self.template).startswith("mcp")

    def read(self, name: str, namespace: str | None, servers: Servers) -> tuple[str | None, str] | None:
        """The server and tool a native name means, or `None` when it is no such name."""
        if self.namespace is not None:
            server = _server(self.namespace, namespace or "")
            if not server:
                return None
            # A run that has a server "a b" calls it `a_b` here.
            named = (one for one in sorted(servers) if legal(one) == server)
            return (server if server in servers else next(named, server)), name
        if namespace is not None:
            return None
        for server in sorted(servers, key=len, reverse=True):
            tool = self._tool_of(server, name)
            if tool is not None and ("{server}" in self.template or tool in servers[server]):
                return server, tool
        if self.needs_servers:
            return None
        found = re.fullmatch(_pattern(self.template), name, re.DOTALL)
        if found is None or (self.marked and found["server"] != legal(found["server"])):
            return None
        return found["server"], found["tool"]

    def _tool_of(self, server: str, name: str) -> str | None:
        """The tool, if the name is this server's. Names hold what is legal in them, so servers are compared so."""
        start, _, end = self.template.partition("{tool}")
        for spelled in (server, legal(server)):
            first, last = start.replace("{server}", spelled), end.replace("{server}", spelled)
            if name.startswith(first) and name.endswith(last) and len(name) > len(first) + len(last):
                return name[len(first) : len(name) - len(last)]
        return None

    def write(self, server: str | None, tool: str) -> tuple[str | None, str] | None:
        """The namespace and name for a server's tool, or `None` when this way needs a name and there is none."""
        if not tool or (not server and "{server}" in (self.namespace or self.template)):
            return None
        named = legal(server or "")
        namespace = self.namespace.replace("{server}", named) if self.namespace else None
        return namespace, self.template.replace("{server}", named).replace("{tool}", tool)


def legal(server: str) -> str:
    """A server's name as it can stand inside a tool's name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", server)


def _server(template: str, namespace: str) -> str | None:
    found = re.fullmatch(_pattern(template), namespace, re.DOTALL)
    return found["server"] if found else None


def _pattern(template: str) -> str:
    # The server's name ends at the first mark, so the tool's may hold marks of its own.
    return re.escape(template).replace(r"\{server\}", "(?P<server>(?!_).+?)").replace(r"\{tool\}", "(?P<tool>.+)")
