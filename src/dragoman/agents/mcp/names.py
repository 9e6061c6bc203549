"""What a tool of an MCP server is called here: legal for every provider, and never the name of another."""

from __future__ import annotations

import re
from hashlib import blake2s
from typing import Final

_LONGEST: Final = 64
_DIGEST: Final = re.compile(r"_[0-9a-f]{10}$")
_SERVER: Final = re.compile(r"(?!_)(?!.*__)[A-Za-z0-9_-]*[A-Za-z0-9-]")
_TOOL: Final = re.compile(r"[A-Za-z0-9_-]+")


def mcp_tool_name(server: str, tool: str) -> str:
    """The name of a server's tool here: `mcp__server__tool`, legal for every provider and never another tool's.

    Where it would be too long, illegal or to be read in two ways, it ends in a digest of both names instead; no other
    name ends so.
    """
    plain = f"mcp__{server}__{tool}"
    readable = _SERVER.fullmatch(server) and _TOOL.fullmatch(tool) and not _DIGEST.search(plain)
    if readable and len(plain) <= _LONGEST:
        return plain
    whole = f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")
    digest = blake2s(whole, digest_size=5).hexdigest()
    start = f"mcp__{_legal(server)[:20].strip('_') or 'server'}__{_legal(tool)}"
    return f"{start[: _LONGEST - len(digest) - 1]}_{digest}"


def _legal(text: str) -> str:
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", text))
