"""MCP: servers whose tools agents use, and our tools as a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .caller import Answered as Answered, McpCaller as McpCaller
    from .host import McpHost as McpHost, Question as Question, Sample as Sample, SampleRequest as SampleRequest
    from .login import Login as Login, secrets_in as secrets_in
    from .names import mcp_tool_name as mcp_tool_name
    from .offered import ServedPrompt as ServedPrompt, ServedResource as ServedResource
    from .policy_host import host_by_policy as host_by_policy
    from .prompts import McpPrompt as McpPrompt, PromptArgument as PromptArgument
    from .settings import mcp_server_of as mcp_server_of, own_folder as own_folder, placed as placed
    from .tool_server import Served as Served
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "caller": ("Answered", "McpCaller"),
            "host": ("McpHost", "Question", "Sample", "SampleRequest"),
            "login": ("Login", "secrets_in"),
            "names": ("mcp_tool_name",),
            "policy_host": ("host_by_policy",),
            "prompts": ("McpPrompt", "PromptArgument"),
            "offered": ("ServedPrompt", "ServedResource"),
            "settings": ("mcp_server_of", "own_folder", "placed"),
            "tool_server": ("Served",),
        },
    )
