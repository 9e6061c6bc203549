"""MCP servers as the agent files of other clients write them, with the keys that ours have.

Rule: what cannot be said here is kept and listed. Where only some tools of a server were meant, each call is asked
about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .foreign import Draft
from .frontmatter import checked_server
from .frontmatter_text import Section

Row = dict[str, Any]


def servers_of(draft: Draft, key: str, table: Section | None, translated: Callable[[Row], Row]) -> dict[str, Row]:
    """The servers of a table. `translated` takes out of a row what it can say with our keys; the rest is kept."""
    found: dict[str, Row] = {}
    for name, stated in (table.content if table is not None else {}).items():
        row = dict(stated) if isinstance(stated, dict) else {}
        if row.pop("enabled", True) is False:
            continue
        server = translated(row)
        _narrow(draft, name, row)
        if row:
            draft.keep(key, [f"{name}.{word}" for word in row])
        assert table is not None
        if "tcp" not in row and checked_server(table, name, server):
            found[name] = server
    return found


def _narrow(draft: Draft, name: str, row: Row) -> None:
    for word in ("exclude_tools", "disabled_tools"):
        denied = row.get(word)
        if isinstance(denied, list) and all(isinstance(tool, str) for tool in denied):
            del row[word]
            draft.rule("deny", [f"{name}/{tool}" for tool in denied])
    if any(row.get(word) is not None for word in ("include_tools", "enabled_tools")):
        draft.rule("ask", (f"{name}/*",))


def _taken(row: Row, spelled: Mapping[str, str]) -> Row:
    return {ours: row.pop(theirs) for theirs, ours in spelled.items() if theirs in row}


_ALIKE: Final = {key: key for key in ("command", "args", "env", "cwd", "url", "headers")}


def claude_code(row: Row) -> Row:
    """`type` says how a `url` is spoken to."""
    spoken = row.pop("type", None)
    if spoken not in (None, "stdio", "http", "streamable-http", "sse"):
        row["type"] = spoken
    return {**_taken(row, _ALIKE), **({"transport": "sse"} if spoken == "sse" else {})}


def gemini_cli(row: Row) -> Row:
    """A bare `url` is one of the older way; milliseconds."""
    spoken = row.pop("type", None)
    old = spoken == "sse" or (spoken is None and "url" in row and "http_url" not in row)
    server = _taken(row, {**_ALIKE, "http_url": "url"})
    if isinstance(row.get("timeout"), int | float):
        server["timeout"] = row.pop("timeout") / 1000
    return {**server, **({"transport": "sse"} if old else {})}


def codex(row: Row) -> Row:
    """Headers and variables may be named instead of written: then they are taken from the environment."""
    server = _taken(row, {**_ALIKE, "http_headers": "headers", "tool_timeout_sec": "timeout"})
    for word, ours in (("env_http_headers", "headers"), ("env_vars", "env")):
        named = row.get(word)
        if isinstance(named, list) and all(isinstance(one, str) for one in named):
            named = {one: one for one in named}
        written = server.get(ours, {})
        if isinstance(named, dict) and isinstance(written, dict):
            del row[word]
            server[ours] = {**written, **{one: f"${{{variable}:-}}" for one, variable in named.items()}}
    token, written = row.get("bearer_token_env_var"), server.get("headers", {})
    if isinstance(token, str) and isinstance(written, dict):
        del row["bearer_token_env_var"]
        server["headers"] = {**written, "Authorization": f"Bearer ${{{token}}}"}
    return server
