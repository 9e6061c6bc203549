"""Claude Code's tools for skills, held-back tools and the resources of MCP servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means
from dragoman.dialects.base.words import Results, done, in_json, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import converted, json_text, read_json

from .results import fields, list_in, text_in, told, whole


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skill"
    since = "2.0.76"

    skill: str = means("name", "The skill's name.")
    args: str | None = means("arguments", "What to tell the skill.", default=None)

    results = one_of(done("Launching skill: {asked.name}", keeps_note=False), text=told)


class SkillByCommand(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skill"
    read_only = "versions between 2.0.20 and 2.0.76 said it so; none of them was captured"
    unsaid = {"arguments": "there is no parameter for it"}

    command: str = means("name", "The skill's name.")


class SlashCommand(Spelling[op.UseSkill]):
    """Run a command of the user's, as it would be typed."""

    native_name = "SlashCommand"
    read_only = "it became Skill; no version whose tools are known has it"

    command: str = means("name", "The command with its slash, and what to tell it.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        name, _, arguments = self.command.strip().removeprefix("/").partition(" ")
        return (op.UseSkill(name, arguments.strip() or None),)


class Reference(msgspec.Struct, frozen=True, tag="tool_reference"):
    """How a tool that was found is named: a block of its own on the wire, its JSON in a text."""

    tool_name: str


class ToolSearch(Spelling[op.SearchTools]):
    """Find tools that were held back, by words or by name (`select:Name,Name`); they can be called afterwards."""

    native_name = "ToolSearch"
    since = "2.1.325"
    on_request = "it is of use only where some tools were held back"
    approximated = {"limit": "it is required: 5 when nothing was said"}

    query: str = means("query", "What to look for.")
    max_results: float = means("limit", "At most so many tools.", schema={"default": 5})

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchTools(self.query, whole(self.max_results, "max_results")),)

    @classmethod
    def from_operation(cls, operation: op.SearchTools) -> ToolSearch:
        return cls(query=operation.query, max_results=5 if operation.limit is None else operation.limit)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ToolsOutcome):
            return tell(operation, outcome)
        found = [json_text(Reference(name)) for name in outcome.names]
        return "\n".join(found) or "No matching deferred tools found"

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        matches = list_in(fields(native), "matches")
        if matches is not None and all(isinstance(name, str) for name in matches):
            return out.ToolsOutcome(tuple(matches))
        text = text_of(native.content)
        if text == "No matching deferred tools found":
            return out.ToolsOutcome(())
        try:
            found = [read_json(line, type=Reference) for line in text.split("\n")]
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.ToolsOutcome(tuple(reference.tool_name for reference in found))


# ── resources ────────────────────────────────────────────────────────────────

_NAMES = (
    ("uri", "uri"),
    ("name", "name"),
    ("description", "description"),
    ("mimeType", "media_type"),
    ("server", "server"),
    ("text", "text"),
    ("blob", "data"),
)


def _written(resource: out.Resource) -> dict[str, Any]:
    said = {native: getattr(resource, ours) for native, ours in _NAMES}
    return {native: value for native, value in said.items() if value is not None}


def _resources(_asked: op.Operation, said: Any) -> out.ResourcesOutcome | None:
    """Resources in a list, which may have a name."""
    lists = [said] if isinstance(said, list) else [list_in(said, name) for name in ("resources", "contents")]
    listed = next((one for one in lists if one is not None), None)
    if listed is None or not all(text_in(one, "uri") is not None for one in listed):
        return None
    named = [{ours: text_in(one, native) for native, ours in _NAMES} for one in listed]
    return out.ResourcesOutcome(tuple(converted(one, out.Resource) for one in named))


def _in_json(back: Callable[[Any, out.ResourcesOutcome], Any]) -> Results:
    written = in_json(out.ResourcesOutcome, Any, to=_resources, back=back, says=("resources",))
    return one_of(written, text=told, unsaid={"cursor": "the list is given whole"})


LISTED = _in_json(lambda _asked, outcome: [_written(resource) for resource in outcome.resources])


class ListMcpResourcesTool(Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    native_name = "ListMcpResourcesTool"
    results = LISTED
    unsaid = {
        "uri": "another tool lists what stands below one",
    }

    server: str | None = means("server", "Only this server's.", default=None)


class ReadMcpResourceDirTool(Spelling[op.ListMcpResources]):
    """List the resources below one of an MCP server's."""

    native_name = "ReadMcpResourceDirTool"
    results = LISTED
    since = "2.1.197"

    server: str = means("server", "The server.")
    uri: str = means("uri", "The resource to look below.")


class ReadMcpResourceTool(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "ReadMcpResourceTool"

    server: str = means("server", "The server.")
    uri: str = means("uri", "The resource.")

    results = _in_json(lambda _asked, outcome: {"contents": [_written(resource) for resource in outcome.resources]})
