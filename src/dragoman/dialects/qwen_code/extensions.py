"""Skills, and resources of MCP servers."""

from __future__ import annotations

import re

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult


class UseSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"
    since = "0.12"

    skill: str = means("name", "The skill's name.")
    args: str | None = means("arguments", "What the skill is given.", default=None, since="0.24")


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "0.24"

    server_name: str = means("server", "The server.")
    uri: str = means("uri", "The resource's URI.")

    _TOLD = re.compile(
        r"\n?--- Content from MCP resource (?P<name>[^\n]*?)(?P<mark> \[\w+\])? ---\n\n(?P<text>.*)\n\n"
        r"--- End of MCP resource [^\n]* ---\n?",
        re.DOTALL,
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ResourcesOutcome) or len(outcome.resources) != 1:
            return tell(operation, outcome)
        resource = outcome.resources[0]
        if resource.text is None:
            return tell(operation, outcome)
        name = f"{resource.server or self.server_name}:{resource.uri}"
        return f"\n--- Content from MCP resource {name} ---\n\n{resource.text}\n\n--- End of MCP resource {name} ---\n"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._TOLD.fullmatch(text_of(native.content))
        if found is None:
            return understand(operation, native)
        return out.ResourcesOutcome((out.Resource(self.uri, server=self.server_name, text=found["text"]),))
