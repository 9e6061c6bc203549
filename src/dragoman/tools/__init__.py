"""Tools, defined once and run here, and toolsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .asking import Answers as Answers, answer_to as answer_to
    from .computer import Screen as Screen, browser_screen as browser_screen, computer_tool as computer_tool
    from .context import (
        AgentInfo as AgentInfo,
        Cancellation as Cancellation,
        Context as Context,
        Inject as Inject,
        Injected as Injected,
        LimitsLeft as LimitsLeft,
    )
    from .definition import Tool as Tool, tool as tool
    from .later import search_tools_in as search_tools_in
    from .memories import Memories as Memories, Memory as Memory
    from .provider_tool import ProviderTool as ProviderTool
    from .run_code import runnable as runnable
    from .running.operation_runner import perform as perform, standard_context as standard_context
    from .shell import Shell as Shell
    from .toolset import AnyTool as AnyTool, Toolset as Toolset
    from .web.web import Web as Web
    from .workspace.attachments import Audio as Audio, Document as Document, Image as Image
    from .workspace.disk import DiskWorkspace as DiskWorkspace
    from .workspace.memory import MemoryWorkspace as MemoryWorkspace
    from .workspace.workspace import Workspace as Workspace
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "asking": ("Answers", "answer_to"),
            "computer": ("Screen", "browser_screen", "computer_tool"),
            "context": ("AgentInfo", "Cancellation", "Context", "Inject", "Injected", "LimitsLeft"),
            "later": ("search_tools_in",),
            "memories": ("Memories", "Memory"),
            "provider_tool": ("ProviderTool",),
            "run_code": ("runnable",),
            "running.operation_runner": ("perform", "standard_context"),
            "shell": ("Shell",),
            "definition": ("Tool", "tool"),
            "toolset": ("AnyTool", "Toolset"),
            "web.web": ("Web",),
            "workspace.attachments": ("Audio", "Document", "Image"),
            "workspace.disk": ("DiskWorkspace",),
            "workspace.memory": ("MemoryWorkspace",),
            "workspace.workspace": ("Workspace",),
        },
    )
