"""Agents and tools written in Markdown, and what runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import Agent as Agent, AgentLimits as AgentLimits, CustomTool as CustomTool
    from .builtins import builtin_toolset as builtin_toolset
    from .checking import hindrances as hindrances, remarks as remarks, unmatched as unmatched
    from .folders import (
        FoundAgent as FoundAgent,
        agent_folders as agent_folders,
        agent_named as agent_named,
        find_agents as find_agents,
        load_agent as load_agent,
        vouched_for as vouched_for,
    )
    from .frontmatter import (
        AGENT_FORMATS as AGENT_FORMATS,
        parse_agent as parse_agent,
        read_agent as read_agent,
    )
    from .instructions import Instructions as Instructions, find_instructions as find_instructions
    from .kernel import Kernel as Kernel
    from .mcp import (
        McpServer as McpServer,
        McpServers as McpServers,
        configured_mcp_servers as configured_mcp_servers,
        mcp_server_at as mcp_server_at,
        mcp_server_of as mcp_server_of,
        mcp_servers_in as mcp_servers_in,
        mcp_tool_name as mcp_tool_name,
    )
    from .mcp_server import Served as Served, ToolServer as ToolServer
    from .mcp_settings import own_folder as own_folder, placed as placed
    from .policies import limits_for as limits_for, policy_for as policy_for
    from .sandboxes import sandbox_for as sandbox_for
    from .skills import Skill as Skill, find_skills as find_skills, skill_tool as skill_tool
    from .template import placeholders as placeholders, prompt_of as prompt_of, render as render
    from .tree import Activation as Activation, Live as Live

_HOME = {
    "agent": ("Agent", "AgentLimits", "CustomTool"),
    "builtins": ("builtin_toolset",),
    "checking": ("hindrances", "remarks", "unmatched"),
    "folders": ("FoundAgent", "agent_folders", "agent_named", "find_agents", "load_agent", "vouched_for"),
    "frontmatter": ("AGENT_FORMATS", "parse_agent", "read_agent"),
    "kernel": ("Kernel",),
    "mcp": ("McpServers",),
    "mcp_names": ("mcp_tool_name",),
    "mcp_server": ("Served", "ToolServer"),
    "mcp_settings": (
        *("McpServer", "configured_mcp_servers", "mcp_server_at", "mcp_server_of", "mcp_servers_in"),
        *("own_folder", "placed"),
    ),
    "policies": ("limits_for", "policy_for"),
    "sandboxes": ("sandbox_for",),
    "instructions": ("Instructions", "find_instructions"),
    "skills": ("Skill", "find_skills", "skill_tool"),
    "template": ("placeholders", "prompt_of", "render"),
    "tree": ("Activation", "Live"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
