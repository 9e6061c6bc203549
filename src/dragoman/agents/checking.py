"""What is worth knowing about an agent that is well defined.

A problem: it, or a tool of its own, can never run. A remark: it runs, but perhaps not as was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.errors import ConfigError, nearest

from .agent import Agent, CustomTool
from .template import placeholders

if TYPE_CHECKING:
    from dragoman.config import Configuration


def unmatched(tool: CustomTool) -> tuple[str, ...]:
    """Places of a tool's prompt that no parameter is for: they stay as they are written."""
    parameters = tool.parameters.get("properties", {})
    return tuple(name for name in placeholders(tool.prompt) if name not in parameters)


def remarks(agent: Agent) -> tuple[str, ...]:
    """Everything a reader of the file should know, each with its line if there is one."""
    found = [*_of_agent(agent)]
    for tool in agent.custom_tools:
        at = "" if tool.line is None else f"line {tool.line}: "
        found += [
            f"{at}{tool.name}: no parameter is called {{{{{name}}}}}; it stays in the prompt"
            for name in unmatched(tool)
        ]
        used = placeholders(tool.prompt)
        unused = [name for name in tool.parameters.get("properties", {}) if name not in used]
        found += [f'{at}{tool.name}: the prompt has no place for "{name}"' for name in unused]
    return tuple(found)


def hindrances(agent: Agent, configuration: Configuration, *, trusted: bool) -> tuple[str, ...]:
    """Why the agent, or one of its custom tools, can never run with its current file; empty if it can."""
    # A model of the agent itself that only the user may choose can be named with --model.
    found = [f"model: {reason}" for reason in _of_model(agent.model, configuration, trusted=True)]
    for tool in agent.custom_tools:
        at = "" if tool.line is None else f"line {tool.line}: "
        reasons = [f"model: {reason}" for reason in _of_model(tool.model, configuration, trusted=trusted)]
        zero = [name for name in ("max_depth", "max_fanout", "max_agents") if getattr(agent.limits, name) == 0]
        if zero:
            reasons.append(f"it runs as a sub-agent, and {zero[0]} is 0, so none can be started")
        found += [f"{at}{tool.name} can never run: {reason}" for reason in reasons]
    return tuple(found)


def _of_agent(agent: Agent) -> list[str]:
    found = []
    if not agent.description:
        found.append("it has no description, so no other agent knows what it is for")
    if not agent.instructions:
        found.append("it has no instructions: nothing stands below the frontmatter")
    for key, value in agent.unmapped.items():
        if key == "tools":
            found += [f"tools: {entry} has no meaning here, or not all of it" for entry in value]
        elif key == "model":
            found.append(f'model: which one "{value}" is, is not known here; name it as provider:model with --model')
        elif key in ("mcpServers", "mcp_servers") and isinstance(value, list):
            found += [f"{key}: {entry} has no meaning here" for entry in value]
        elif key == "permission":
            found += [f"permission: {entry} is not kept: the stricter reading holds" for entry in value]
        else:
            found.append(f"{key}: {_of_key(agent.format, key)}")
    return found


def _of_key(format: str, key: str) -> str:
    from .foreign import CLIENT_KEYS

    known = CLIENT_KEYS.get(format)
    if known is None or key in known:
        return "has no meaning here"
    return f"{format} has no such key, and neither have we.{nearest(key, known)}"


def _of_model(model: str | None, configuration: Configuration, *, trusted: bool) -> list[str]:
    """Why no run can use this model. A missing key is no reason: it may be set before the run."""
    from dragoman.engine.models import check_provider, check_unvouched_model, split_model

    if model is None:
        return []
    try:
        check_provider(split_model(model)[0], configuration)
        if not trusted:
            check_unvouched_model(model)
    except ConfigError as error:
        return [str(error)]
    return []
