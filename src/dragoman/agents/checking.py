"""What is worth knowing about an agent that is well defined: it can be run, but perhaps not as it was meant."""

from __future__ import annotations

from .agent import Agent, CustomTool
from .template import placeholders


def unmatched(tool: CustomTool) -> tuple[str, ...]:
    """Places of a tool's prompt that no parameter is for: they stay as they are written."""
    parameters = tool.parameters.get("properties", {})
    return tuple(name for name in placeholders(tool.prompt) if name not in parameters)


def remarks(agent: Agent) -> tuple[str, ...]:
    """Everything a reader of the file should be told, with the line where there is one."""
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
        found += [f"{at}{tool.name}: {text}" for text in _of_model(tool.model)]
    return tuple(found)


def _of_agent(agent: Agent) -> list[str]:
    found = []
    if not agent.description:
        found.append("it has no description, so no other agent knows what it is for")
    if not agent.instructions:
        found.append("it has no instructions: nothing stands below the frontmatter")
    found += _of_model(agent.model)
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
    from dragoman.errors import nearest

    from .foreign import CLIENT_KEYS

    known = CLIENT_KEYS.get(format)
    if known is None or key in known:
        return "has no meaning here"
    return f"{format} has no such key, and neither have we.{nearest(key, known)}"


def _of_model(model: str | None) -> list[str]:
    from dragoman.engine import split_model
    from dragoman.errors import ConfigError, nearest
    from dragoman.registry import PROVIDERS

    if model is None:
        return []
    try:
        provider, _ = split_model(model)
    except ConfigError as error:
        return [f"model: {error}"]
    return [] if provider in PROVIDERS else [f'model: there is no provider "{provider}".{nearest(provider, PROVIDERS)}']
