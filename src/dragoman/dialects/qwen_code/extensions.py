"""Skills, and resources of MCP servers."""

from __future__ import annotations

from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import CALLED, body, one_of, single, skipped, words
from dragoman.model import operations as op, outcomes as out


class UseSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"
    since = "0.12"

    skill: str = means("name", "Name of the skill.")
    args: str | None = means("arguments", "Arguments of the skill.", default=None, since="0.24")


_NAME = skipped(lambda asked: f"{asked.server}:{asked.uri}", r"[^\n]*?")


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "0.24"

    server_name: str = means("server", "Name of the MCP server.")
    uri: str = means("uri", "URI of the resource.")

    results = one_of(
        single(
            out.ResourcesOutcome,
            words(
                out.Resource,
                "\n--- Content from MCP resource {_name} ---\n\n",
                "{text}",
                "\n\n--- End of MCP resource {_end} ---\n",
                text=body(),
                uri=CALLED,
                server=CALLED,
                _name=_NAME,
                _end=_NAME,
                unsaid=dict.fromkeys(("name", "description", "media_type", "data"), "only the text is given"),
            ),
        )
    )
