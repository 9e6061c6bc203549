"""Agents that take what their file does not state from a profile of the settings.

Rule: what a profile states counts as if the agent's file stated it. So a file that nobody vouches for can only be
stricter with a profile, however loose the profile is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.registry import DIALECTS

from .agent import Agent
from .tool_words import own_names

if TYPE_CHECKING:
    from dragoman.config import Configuration


def with_profile(agent: Agent, configuration: Configuration | None) -> Agent:
    """The agent with what its profile states and its file does not; `ConfigError` when that cannot be used."""
    name = agent.profile
    if name is None:
        return agent
    if configuration is None:
        raise ConfigError(f"the agent {agent.name!r} names the profile {name!r}, and no settings were read")
    stated = configuration.with_profile(name).stated_by(name)
    return msgspec.structs.replace(
        agent,
        profile=None,
        model=agent.model or stated.get("model"),
        dialect=agent.dialect or _dialect(name, stated.get("dialect")),
        tools=_tools(name, stated.get("tools", ()), agent) if agent.tools is None else agent.tools,
        instructions="\n\n".join(text for text in (stated.get("system"), agent.instructions) if text),
        policy=_policy(stated, agent),
    )


def _dialect(profile: str, dialect: str | None) -> str | None:
    if dialect is not None and dialect not in DIALECTS:
        known = f"there is no dialect {dialect!r} that an agent could name.{nearest(dialect, DIALECTS)}"
        raise ConfigError(f"profile {profile!r}: {known}")
    return dialect


def _tools(profile: str, words: tuple[str, ...], agent: Agent) -> tuple[str, ...] | None:
    if not words:
        return None
    names: dict[str, None] = {}
    for word in (word for word in words if word != "none"):
        meant = own_names(word, agent.dialect, [tool.name for tool in agent.custom_tools])
        if meant is None:
            raise ConfigError(f'profile {profile!r}: there is no tool "{word}" that an agent could use')
        if meant.everything:
            return None
        names |= dict.fromkeys(meant.names)
    return tuple(names)


def _policy(stated: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """The policy of the file over that of the profile, as `ToolPolicy.read` reads it; the rules of both hold."""
    own = {key.removeprefix("policy."): value for key, value in stated.items() if key.startswith("policy.")}
    found: dict[str, Any] = {
        key: own[key] for key in ("max_iterations", "timeout", "max_parallel", "max_tokens", "max_cost") if key in own
    }
    if "approval" in own:
        found["default"] = own["approval"]
    if "max_retries" in own:
        found |= {"on_error": "retry" if own["max_retries"] else "continue", "retry": {"times": own["max_retries"]}}
    where = {key.removeprefix("where."): value for key, value in own.items() if key.startswith("where.")}
    if where:
        found["where"] = where
    rules = [msgspec.to_builtins(rule) for rule in own.get("rules", ())]
    rules = [{key: value for key, value in rule.items() if key != "source"} for rule in rules]
    rules += [
        {"verdict": value, "tool": key.removeprefix("tools.")} for key, value in own.items() if key.startswith("tools.")
    ]
    whole = {**found, **agent.policy}
    if rules:
        whole["approval"] = [*agent.policy.get("approval", ()), *rules]
    return whole
