"""What lies outside: resources of servers, tools not offered up front, the web."""

from __future__ import annotations

from dragoman.dialects.base.responses_items import WebSearch as HostedWebSearch, tools_found
from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import one_of
from dragoman.model import operations as op

from .commands import NUMBER
from .families import CATALOGUE, CLASSIC, variant
from .results import RESOURCES


class ListMcpResources(Spelling[op.ListMcpResources]):
    """List the resources of MCP servers."""

    native_name = "list_mcp_resources"
    results = RESOURCES
    since, families = "0.77.0", CLASSIC
    always = {"templates": False}

    server: str | None = means("server", "List only the resources of this server.", default=None)
    cursor: str | None = means("cursor", "Cursor from the previous page of results.", default=None)


class ListMcpResourceTemplates(Spelling[op.ListMcpResources]):
    """List the resource templates of MCP servers."""

    native_name = "list_mcp_resource_templates"
    results = RESOURCES
    since, families = "0.77.0", CLASSIC
    always = {"templates": True}

    server: str | None = means("server", "List only the resources of this server.", default=None)
    cursor: str | None = means("cursor", "Cursor from the previous page of results.", default=None)


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    results = RESOURCES
    since, families = "0.77.0", CLASSIC

    server: str = means("server", "Name of the MCP server.")
    uri: str = means("uri", "URI of the resource.")


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

    results = one_of(from_native=lambda _asked, native: tools_found(native.item))


WebSearch = variant(
    HostedWebSearch,
    wire_type="web_search",
    provider_id="openai.web_search",
    settings={"external_web_access": True},
    since="0.101.0",
    families=CLASSIC,
)
"""The provider's tool as the client offers it (0.166.0); how it is called and answered is the provider's own."""
