"""Resources of MCP servers, and skills."""

from __future__ import annotations

import re

from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.dialects.base.words import body, by_hand, one_of, words
from dragoman.model import operations as op, outcomes as out

from .options import WAIT

_AVAILABLE = "Available MCP Resources:"


def _resources_written(outcome: out.ResourcesOutcome, _asked: op.Operation) -> str:
    if not outcome.resources:
        return "No MCP resources found."
    return f"{_AVAILABLE}\n" + "".join(
        f"- {resource.server or ''}:{resource.uri} | {resource.name or ''}\n" for resource in outcome.resources
    )


def _resources_read(text: str, _asked: op.Operation) -> out.ResourcesOutcome | None:
    if not text.startswith((_AVAILABLE, "No MCP resources found")):
        return None
    found = re.findall(r"^- (.*?):(\S+)(?: \| (.*?))?$", text, re.MULTILINE)
    return out.ResourcesOutcome(
        tuple(out.Resource(uri, name or None, server=server or None) for server, uri, name in found)
    )


class ListMcpResources(Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    native_name = "list_mcp_resources"
    since = "0.53"

    serverName: str | None = means("server", "List only the resources of this server.", default=None)  # noqa: N815 - the native name
    wait_for_previous: bool | None = native_only(WAIT)

    results = one_of(
        by_hand(
            out.ResourcesOutcome,
            _resources_written,
            _resources_read,
            nearly={"resources": "a resource is its server, its URI and its name"},
        ),
    )


def _resource_text(_asked: op.Operation, outcome: out.ResourcesOutcome) -> out.TextOutcome | None:
    texts = [resource.text for resource in outcome.resources]
    return None if None in texts else out.TextOutcome("\n".join(text or "" for text in texts))


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "0.53"
    unsaid = {"server": "a resource is found by its URI"}

    uri: str = means("uri", "URI of the resource.")
    wait_for_previous: bool | None = native_only(WAIT)

    results = one_of(
        words(
            out.TextOutcome,
            "{text}",
            text=body(),
            of=out.ResourcesOutcome,
            to=lambda asked, said: out.ResourcesOutcome((out.Resource(asked.uri, text=said.text),)),
            back=_resource_text,
        )
    )


class ActivateSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "activate_skill"
    since = "0.24"

    name: str = means("name", "Name of the skill.")
