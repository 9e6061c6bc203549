"""The tools every agent is given when nothing else is said: files of the workspace, pages of the web, other agents.

In plain words they are vfs_read, vfs_write, vfs_list, vfs_delete, web_fetch, web_search, spawn_agent and signal_parent;
a model that knows a vocabulary of its own hears them in that. The last two are the kernel's own, for each agent anew.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.model import PagesOutcome, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, Tool, Toolset, Web

SEARCH_RESULTS: Final = 5
"""Hits of a search that does not say how many it wants."""


def builtin_toolset() -> Toolset:
    """What a `Kernel` is given as `tools` for its agents to have the eight built-ins."""
    files = [TOOLS[tag] for tag in ("read_file", "write_file", "list_directory", "delete_file", "fetch_page")]
    return Toolset([*files, Tool.from_operation(op.SearchWeb, _search, repeatable=True)])


async def _search(operation: op.SearchWeb, context: Context) -> PagesOutcome:
    if operation.limit is None:
        operation = msgspec.structs.replace(operation, limit=SEARCH_RESULTS)
    return await context.get(Web).search(operation)
