"""Agents and tools written in Markdown, and what runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .agent import Agent as Agent, AgentLimits as AgentLimits, CustomTool as CustomTool
    from .builtins import builtin_toolset as builtin_toolset
    from .checking import hindrances as hindrances, remarks as remarks
    from .folders import (
        FoundAgent as FoundAgent,
        agent_named as agent_named,
        find_agents as find_agents,
        load_agent as load_agent,
    )
    from .frontmatter import AGENT_FORMATS as AGENT_FORMATS, parse_agent as parse_agent, read_agent as read_agent
    from .instructions import (
        Instructions as Instructions,
        NestedInstructions as NestedInstructions,
        find_instructions as find_instructions,
    )
    from .kernel import Kernel as Kernel
    from .mcp.servers import McpServers as McpServers
    from .mcp.settings import (
        McpServer as McpServer,
        configured_mcp_servers as configured_mcp_servers,
        mcp_server_at as mcp_server_at,
    )
    from .mcp.tool_server import ToolServer as ToolServer
    from .policies import limits_for as limits_for, policy_for as policy_for
    from .sandboxes import sandbox_for as sandbox_for
    from .skills import find_skills as find_skills, skill_tool as skill_tool
    from .tree import Activation as Activation, Live as Live
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "agent": ("Agent", "AgentLimits", "CustomTool"),
            "builtins": ("builtin_toolset",),
            "checking": ("hindrances", "remarks"),
            "folders": ("FoundAgent", "agent_named", "find_agents", "load_agent"),
            "frontmatter": ("AGENT_FORMATS", "parse_agent", "read_agent"),
            "instructions": ("Instructions", "NestedInstructions", "find_instructions"),
            "kernel": ("Kernel",),
            "mcp.servers": ("McpServers",),
            "mcp.settings": ("McpServer", "configured_mcp_servers", "mcp_server_at"),
            "mcp.tool_server": ("ToolServer",),
            "policies": ("limits_for", "policy_for"),
            "sandboxes": ("sandbox_for",),
            "skills": ("find_skills", "skill_tool"),
            "tree": ("Activation", "Live"),
        },
    )
