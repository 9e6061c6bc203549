"""What a provider can do itself, and who does it in a run: its own tool, ours, or whichever there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.dialects import ProviderRow, provider_dialect, provider_tool
from dragoman.engine.policy import Where
from dragoman.errors import ConfigError, nearest
from dragoman.model import ExecutedBy, Operation, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import ProviderTool, Tool, Toolset

from .providers import plain_name

VENDORS: Mapping[str, str] = {"gemini": "google", "openai-chat": "openai"}
"""Providers whose tools are listed under another name."""


def vendor_of(provider: str) -> str:
    """The vendor under whose name the tools of a provider are listed."""
    return VENDORS.get(provider, provider)


SETTINGS: Mapping[str, Mapping[str, Any]] = {"openai.code_interpreter": {"container": {"type": "auto"}}}
"""What a provider's tool cannot do without, as its provider's own pages have it; a caller's own settings stand."""


def native_tool(operation: type[Operation], api: str, provider: str, model: str) -> ProviderRow | None:
    """The provider's own tool for an operation, the newest this model has, or `None`."""
    vendor = vendor_of(provider)
    dialect = provider_dialect(f"{vendor}.")
    if dialect is None:
        return None
    rows = [
        row
        for row in dialect.provider_tools
        if row.superseded_by is None
        and row.executed_by is ExecutedBy.PROVIDER
        and is_offered(row, api, provider, model)
        and operation in row.operations
    ]
    return max(rows, key=lambda row: row.version or "", default=None)


def is_offered(row: ProviderRow, api: str, provider: str, model: str) -> bool:
    """Whether a provider defines this tool for a model of its own, in this API."""
    ours = row.vendor == vendor_of(provider) and (not row.apis or api in row.apis)
    return ours and row.offered_to(plain_name(model))


def resolved(
    toolset: Toolset, where: Mapping[str, Where], *, api: str, provider: str, model: str, mixed: bool = True
) -> Toolset:
    """The toolset with each capability done where it is to be done.

    `mixed` says whether the model takes functions beside its provider's tools; where it does not and there are
    functions, `auto` is ours.
    """
    tools = dict(zip(toolset.names, toolset, strict=True))
    for tag, place in where.items():
        operation = op.OPERATIONS.get(tag)
        if operation is None:
            raise ConfigError(f"where: no operation is called {tag!r}.{nearest(tag, op.OPERATIONS)}")
        row = None if place == "local" else native_tool(operation, api, provider, model)
        if place == "native" and row is None:
            raise ConfigError(
                f"{provider or api} has no tool of its own that does {tag} with {model}; say local or auto"
            )
        if place == "auto" and not mixed and _others(tools.values(), where):
            row = None
        ours = [name for name, tool in tools.items() if isinstance(tool, Tool) and tool.operation is operation]
        theirs = [name for name, tool in tools.items() if does(tool, operation)]
        if row is None:
            for name in theirs:
                del tools[name]
            if not ours:
                tools[tag] = _ours(tag)
        else:
            for name in ours:
                del tools[name]
            if not theirs:
                tools[row.id] = ProviderTool(row.id, dict(SETTINGS.get(row.id, {})))
    return Toolset(tools.values())


def _others(tools: Iterable[object], where: Mapping[str, Where]) -> bool:
    """Whether there are functions that no provider's tool is to stand for."""
    native = {op.OPERATIONS.get(tag) for tag, place in where.items() if place != "local"}
    return any(isinstance(tool, Tool) and (tool.operation is None or tool.operation not in native) for tool in tools)


def does(tool: object, operation: type[Operation]) -> bool:
    """Whether it is a provider's tool that does this operation on the provider's side."""
    if not isinstance(tool, ProviderTool):
        return False
    row = provider_tool(tool.id)
    return row is not None and row.executed_by is ExecutedBy.PROVIDER and operation in row.operations


def _ours(tag: str) -> Tool:
    if tag not in TOOLS:
        raise ConfigError(f"there is no tool here that does {tag}")
    tool: Tool = TOOLS[tag]
    return tool


def merged_by_id(toolset: Toolset, more: Iterable[ProviderTool]) -> Toolset:
    """The toolset with further provider tools; one of the same id takes the place of the one that was there."""
    return toolset.merge(Toolset(more), on_duplicate="replace")
