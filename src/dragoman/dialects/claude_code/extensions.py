"""Claude Code's tools for skills, held-back tools and the resources of MCP servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.dialects.base.mcp_resources import resource_row, resources_in
from dragoman.dialects.base.spelling import WHOLE, Conversion, Spelling, means
from dragoman.dialects.base.words import Results, by_hand, done, in_json, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json

from .results import fields, list_in, plain_text


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skill"
    since = "2.0.76"

    skill: str = means("name", "Name of the skill.")
    args: str | None = means("arguments", "Arguments of the skill.", default=None)

    results = one_of(done("Launching skill: {asked.name}", keeps_note=False), text=plain_text)


class SkillByCommand(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skill"
    read_only = "versions between 2.0.20 and 2.0.76 said it so; none of them was captured"
    unsaid = {"arguments": "there is no parameter for it"}

    command: str = means("name", "Name of the skill.")


class SlashCommand(Spelling[op.UseSkill]):
    """Run a command of the user's, as it would be typed."""

    native_name = "SlashCommand"
    read_only = "it became Skill; no version whose tools are known has it"

    command: str = means("name", "The command with its slash, and what to tell it.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        name, _, arguments = self.command.strip().removeprefix("/").partition(" ")
        return (op.UseSkill(name, arguments.strip() or None),)


FIVE = Conversion(WHOLE.to, lambda limit: 5 if limit is None else WHOLE.back(limit))


class Reference(msgspec.Struct, frozen=True, tag="tool_reference"):
    """How a tool that was found is named: a block of its own on the wire, its JSON in a text."""

    tool_name: str


_NO_TOOLS = "No matching deferred tools found"


def _tools_written(outcome: out.ToolsOutcome, _asked: op.Operation) -> str:
    return "\n".join(json_text(Reference(name)) for name in outcome.names) or _NO_TOOLS


def _tools_read(text: str, _asked: op.Operation) -> out.ToolsOutcome | None:
    lines = [] if text == _NO_TOOLS else text.split("\n")
    try:
        return out.ToolsOutcome(tuple(read_json(line, type=Reference).tool_name for line in lines))
    except msgspec.DecodeError:
        return None


def _tools_recorded(_asked: op.Operation, native: NativeResult) -> out.ToolsOutcome | None:
    matches = list_in(fields(native), "matches")
    named = matches is not None and all(isinstance(name, str) for name in matches)
    return out.ToolsOutcome(tuple(matches or ())) if named else None


class ToolSearch(Spelling[op.SearchTools]):
    """Find tools that were held back, by words or by name (`select:Name,Name`); they can be called afterwards."""

    native_name = "ToolSearch"
    since = "2.1.325"
    on_request = "it is of use only where some tools were held back"
    approximated = {"limit": "it is required: 5 when nothing was said"}

    query: str = means("query", "What to look for.")
    max_results: float = means("limit", "Maximum number of tools.", convert=FIVE, schema={"default": 5})

    results = one_of(
        by_hand(
            out.ToolsOutcome,
            _tools_written,
            _tools_read,
            says=("names",),
        ),
        from_native=_tools_recorded,
        unsaid={"definitions": "the client offers the tools themselves"},
    )


# ── resources ────────────────────────────────────────────────────────────────


def _in_json(back: Callable[[list[Any]], Any]) -> Results:
    written = in_json(
        out.ResourcesOutcome,
        Any,
        to=lambda _asked, said: resources_in(said),
        back=lambda _asked, outcome: back(
            [
                resource_row(one, "uri", "name", "description", "mimeType", "server", "text", "blob")
                for one in outcome.resources
            ]
        ),
        says=("resources",),
    )
    return one_of(written, text=plain_text)


LISTED = _in_json(lambda rows: rows)


class ListMcpResourcesTool(Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    native_name = "ListMcpResourcesTool"
    results = LISTED
    unsaid = {
        "uri": "another tool lists what stands below one",
    }

    server: str | None = means("server", "List only the resources of this server.", default=None)


class ReadMcpResourceDirTool(Spelling[op.ListMcpResources]):
    """List the resources below a resource of an MCP server."""

    native_name = "ReadMcpResourceDirTool"
    results = LISTED
    since = "2.1.197"

    server: str = means("server", "Name of the MCP server.")
    uri: str = means("uri", "URI of the parent resource.")


class ReadMcpResourceTool(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "ReadMcpResourceTool"

    server: str = means("server", "Name of the MCP server.")
    uri: str = means("uri", "URI of the resource.")

    results = _in_json(lambda rows: {"contents": rows})
