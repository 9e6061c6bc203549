"""Resources of MCP servers, and skills."""

from __future__ import annotations

import re

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .options import WAIT


class ListMcpResources(Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    native_name = "list_mcp_resources"
    since = "0.53"
    unsaid = {"uri": "resources are not listed by folder"}

    serverName: str | None = means("server", "Only this server's.", default=None)  # noqa: N815 - the native name
    wait_for_previous: bool | None = native_only(WAIT)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome):
            return tell(operation, outcome)
        if not outcome.resources:
            return "No MCP resources found."
        return "Available MCP Resources:\n" + "".join(
            f"- {resource.server or ''}:{resource.uri} | {resource.name or ''}\n" for resource in outcome.resources
        )

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        if text.startswith("No MCP resources found"):
            return out.ResourcesOutcome(())
        found = re.findall(r"^- (.*?):(\S+)(?: \| (.*?))?$", text, re.MULTILINE)
        if not text.startswith("Available MCP Resources:"):
            return understand(operation, native)
        return out.ResourcesOutcome(
            tuple(out.Resource(uri, name or None, server=server or None) for server, uri, name in found)
        )


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "0.53"
    unsaid = {"server": "a resource is found by its URI"}

    uri: str = means("uri", "The resource's URI.")
    wait_for_previous: bool | None = native_only(WAIT)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome) or any(one.text is None for one in outcome.resources):
            return tell(operation, outcome)
        return "\n".join(resource.text or "" for resource in outcome.resources)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if not isinstance(native.content, str):
            return understand(operation, native)
        return out.ResourcesOutcome((out.Resource(self.uri, text=native.content),))


class ActivateSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "activate_skill"
    since = "0.24"

    name: str = means("name", "The skill's name.")
