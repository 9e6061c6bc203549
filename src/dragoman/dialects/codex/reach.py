"""What lies outside: resources of servers, tools not offered up front, the web."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialects.spelling import (
    Content,
    ProviderExecuted,
    Spelling,
    means,
)
from dragoman.dialects.wording import tell, understand
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .commands import NUMBER
from .families import CATALOGUE, CLASSIC
from .results import (
    ResourceResults,
)


class ListMcpResources(ResourceResults, Spelling[op.ListMcpResources]):
    """List the resources of MCP servers."""

    native_name = "list_mcp_resources"
    since, families = "0.77.0", CLASSIC
    unsaid = {"uri": "resources are listed server by server"}
    always = {"templates": False}

    server: str | None = means("server", "List those of this server only.", default=None)
    cursor: str | None = means("cursor", "Where an earlier list was cut.", default=None)


class ListMcpResourceTemplates(ResourceResults, Spelling[op.ListMcpResources]):
    """List the resource templates of MCP servers."""

    native_name = "list_mcp_resource_templates"
    since, families = "0.77.0", CLASSIC
    unsaid = {"uri": "resources are listed server by server"}
    always = {"templates": True}

    server: str | None = means("server", "List those of this server only.", default=None)
    cursor: str | None = means("cursor", "Where an earlier list was cut.", default=None)


class ReadMcpResource(ResourceResults, Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since, families = "0.77.0", CLASSIC

    server: str = means("server", "The server.")
    uri: str = means("uri", "The resource.")


class ToolSearch(Spelling[op.SearchTools]):
    """Look for tools that can be called but are not offered up front."""

    native_name = wire_type = "tool_search"
    since, families = "0.133.0", CATALOGUE
    settings = {
        "execution": "client",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "number", "description": "How many tools to give at most."},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }

    query: str = means("query", "What to look for.")
    limit: int | None = means("limit", "How many tools to give at most.", default=None, schema=NUMBER)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        return tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        match native.item:
            case {"tools": list(tools)} if all(isinstance(one, dict) for one in tools):
                return out.ToolsOutcome(tuple(name for one in tools for name in _tool_names(one)), tuple(tools))
        return understand(operation, native)


def _tool_names(tool: Mapping[str, Any]) -> list[str]:
    inner = tool.get("tools")
    if tool.get("type") == "namespace" and isinstance(inner, list):
        return [f"{tool.get('name')}.{one.get('name')}" for one in inner if isinstance(one, dict)]
    return [str(tool.get("name", ""))]


class WebAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing done on the web: a search, a page opened, a text looked for in a page."""

    type: str
    query: str | None = None
    queries: tuple[str, ...] | None = None
    url: str | None = None
    pattern: str | None = None


class WebSearch(ProviderExecuted[op.SearchWeb | op.FetchPage | op.FindInPage]):
    """Search the web, open pages and find texts in them; the provider does it."""

    native_name = wire_type = "web_search"
    provider_id = "openai.web_search"
    since, families = "0.101.0", CLASSIC
    settings = {"external_web_access": True}
    unsaid = {
        "SearchWeb.allowed_domains": "domains are a setting of the tool",
        "SearchWeb.blocked_domains": "domains are a setting of the tool",
        "SearchWeb.limit": "the provider decides how much it looks at",
        "FetchPage.instructions": "a page is opened as it is",
        "FetchPage.format": "a page is opened as it is",
        "FetchPage.timeout_ms": "a page is opened as it is",
        "FetchPage.offset": "a page is opened as it is",
        "FetchPage.limit": "a page is opened as it is",
    }

    action: WebAction | None = means(None, default=None)
    type: str | None = means(None, default=None)
    query: str | None = means(None, default=None)
    queries: tuple[str, ...] | None = means(None, default=None)
    url: str | None = means(None, default=None)
    pattern: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        action = self.action or WebAction(self.type or "search", self.query, self.queries, self.url, self.pattern)
        match action:
            case WebAction("search", query, queries) if query or queries:
                return tuple(op.SearchWeb(one) for one in queries or (query or "",))
            case WebAction("open_page", url=str(url)):
                return (op.FetchPage(url),)
            case WebAction("find_in_page", url=str(url), pattern=str(pattern)):
                return (op.FindInPage(url, pattern),)
        raise ValueError(f"{action.type!r} with these parameters is no action: search, open_page or find_in_page")

    @classmethod
    def from_operation(cls, operation: op.SearchWeb | op.FetchPage | op.FindInPage) -> WebSearch | None:
        match operation:
            case op.SearchWeb(query):
                return cls(action=WebAction("search", query)) if query else None
            case op.FetchPage(url):
                return cls(action=WebAction("open_page", url=url))
            case op.FindInPage(url, pattern):
                return cls(action=WebAction("find_in_page", url=url, pattern=pattern))
