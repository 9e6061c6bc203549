"""Finding the dialect and the row of a tool that a provider defines, by its id."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.registry import DIALECTS

from .dialect import Dialect
from .provider_rows import ProviderRow

VENDORS: Mapping[str, str] = {"azure": "openai", "groq": "openai", "openrouter": "openai", "xai": "openai"}
"""Vendors whose tools travel on another's wire, and so stand in that one's dialect."""


def provider_dialect(id: str) -> Dialect | None:
    """The dialect that has, or would have, the rows of an id's vendor."""
    vendor = id.partition(".")[0]
    name = VENDORS.get(vendor, vendor)
    if name not in DIALECTS:
        return None
    dialect: Dialect = DIALECTS[name]
    return dialect


ALIASES: Mapping[str, str] = {
    "anthropic.tool_search_bm25_20251119": "anthropic.tool_search_tool_bm25_20251119",
    "anthropic.tool_search_regex_20251119": "anthropic.tool_search_tool_regex_20251119",
    "openai.computer_use": "openai.computer_use_preview",
}
"""Ids other libraries use for the same tools."""


def provider_tool(id: str) -> ProviderRow | None:
    """The row of an id, or `None` when it is in no catalogue."""
    dialect = provider_dialect(id)
    return None if dialect is None else dialect.provider_tool(ALIASES.get(id, id))
