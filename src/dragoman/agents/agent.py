"""What an agent file says, as plain data: who the agent is, what it may do, and the tools it brings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec


class AgentLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of an agent. Every agent it starts counts."""

    max_depth: int = 5
    """Agents below this one, one under the other; 0: it starts none."""
    max_fanout: int = 8
    """Agents it may start itself."""
    max_agents: int = 100
    """Agents that it and all below it may start, taken together."""
    max_concurrency: int = 3
    """Agents working at the same time."""
    max_turns: int = 15
    """Rounds of asking the model."""
    max_tokens: int | None = 500_000
    """Tokens it and all below it may use; `None`: as many as it takes."""
    timeout: float | None = None
    """Seconds it may take; `None`: as long as it takes."""

    def __post_init__(self) -> None:
        least = {
            "max_depth": 0,
            "max_fanout": 0,
            "max_agents": 0,
            "max_concurrency": 1,
            "max_turns": 1,
            "max_tokens": 1,
        }
        problems = [
            f"{name} must be {bound} or more, not {value}"
            for name, bound in least.items()
            if (value := getattr(self, name)) is not None and value < bound
        ]
        # Written so that what is no number (`nan`) does not pass.
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            problems.append(f"timeout must be more than 0 seconds, not {self.timeout:g}")
        if problems:
            raise ValueError("; ".join(problems))


class CustomTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool written as a prompt: a call of it is a sub-agent that is given the prompt and answers."""

    name: str
    description: str
    prompt: str
    """The template; `{{parameter}}` stands for an argument."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments, always of an object."""
    model: str | None = None
    result_schema: dict[str, Any] | None = None
    """JSON Schema that the answer must fit; `None`: the answer is text."""
    limits: AgentLimits | None = None
    """Limits of the sub-agent; `None`: those of the agent that declares the tool."""
    repairs: int = 2
    """How often the sub-agent is told what was wrong with its answer and asked again."""
    line: int | None = None
    """The line of the file it begins on."""


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One agent, whichever client its file was written for."""

    name: str
    description: str = ""
    instructions: str = ""
    """The text below the frontmatter: what the agent is told before everything else."""
    project_instructions: bool = True
    """Whether it also gets the instruction files of the project (`AGENTS.md`), where the run reads them."""
    profile: str | None = None
    """A profile of the settings, for what the file does not state; `None` once that was filled in."""
    model: str | None = None
    dialect: str | None = None
    tools: tuple[str, ...] | None = None
    """What it may use: operations (`read_file`), names of tools, ids of a provider's tools, or `server/tool` globs.

    `None`: everything.
    """
    policy: Mapping[str, Any] = {}
    """What `engine.ToolPolicy.read` reads."""
    sandbox: Mapping[str, Any] = {}
    """What differs from the sandbox of whoever runs it, as fields of `config.Sandbox`: it can only be stricter."""
    limits: AgentLimits = AgentLimits()
    custom_tools: tuple[CustomTool, ...] = ()
    mcp_servers: Mapping[str, dict[str, Any]] = {}
    path: str | None = None
    format: str = "dragoman"
    unmapped: Mapping[str, Any] = {}
    """What the file says that has no meaning here, by its key: kept and listed, never acted on."""

    @property
    def models(self) -> frozenset[str]:
        """Every model that the agent and its own tools name."""
        named = (self.model, *(tool.model for tool in self.custom_tools))
        return frozenset(model for model in named if model is not None)

    def may_use(self, name: str, operation: str | None = None, tags: Collection[str] = ()) -> bool:
        """Whether the agent may use the tool with this name and operation.

        A tool of an MCP server is known by its tag `mcp:server`.
        """
        if self.tools is None or any(name == tool.name for tool in self.custom_tools):
            return True
        servers = [tag.removeprefix("mcp:") for tag in tags if tag.startswith("mcp:")]
        return any(
            _of_server(name, allowed, servers) if "/" in allowed else fnmatchcase(name, allowed) or operation == allowed
            for allowed in self.tools
        )


def _of_server(name: str, allowed: str, servers: Collection[str]) -> bool:
    from .mcp.servers import mcp_tool_name

    server, _, tool = allowed.partition("/")
    fitting = [one for one in servers if fnmatchcase(one, server)]
    return any(
        tool == "*" or name == mcp_tool_name(one, tool) or fnmatchcase(name, f"mcp__{one}__{tool}") for one in fitting
    )
