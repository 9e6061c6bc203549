"""The tools every agent is given when nothing else is said: files of the workspace, pages of the web, other agents.

In plain words they are vfs_read, vfs_write, vfs_list, vfs_delete, web_fetch, web_search, spawn_agent and signal_parent;
a model that knows a vocabulary of its own hears them in that. The last two are the kernel's own, for each agent anew.
"""

from __future__ import annotations

from dragoman.registry import TOOLS
from dragoman.tools import Toolset


def builtin_toolset() -> Toolset:
    """What a `Kernel` is given as `tools` for its agents to have the eight built-ins."""
    tags = ("read_file", "write_file", "list_directory", "delete_file", "fetch_page", "search_web")
    return Toolset([TOOLS[tag] for tag in tags])
