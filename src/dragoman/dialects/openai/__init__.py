"""The tools OpenAI's own API defines, and those of the vendors on its wire, whoever runs them.

A call is named by the type of its item without `_call`, its arguments are the item's action, operation or
arguments; the whole item stands beside them.

The types of the tools' settings are imported from here: `ProviderTool("openai.web_search", WebSearchSettings(…))`.
Those of Azure, Groq, xAI and OpenRouter, which travel on the same wire, are here as well.
"""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.responses_items import WebSearch
from dragoman.model import operations as op
from dragoman.model.calls import ExecutedBy

from .commands import LocalShell, Shell
from .hosted import CodeInterpreter, Computer, FileSearch, ImageGeneration, Program, ToolSearch
from .patches import ApplyPatch
from .results import FAILURES, ServerResults
from .rows import ROWS
from .settings import (
    Advisor as Advisor,
    AdvisorSettings as AdvisorSettings,
    AutoContainer as AutoContainer,
    CallersSettings as CallersSettings,
    CodeInterpreterSettings as CodeInterpreterSettings,
    ComputerUsePreviewSettings as ComputerUsePreviewSettings,
    CustomSettings as CustomSettings,
    DomainFilters as DomainFilters,
    Environment as Environment,
    FileSearchSettings as FileSearchSettings,
    HybridSearch as HybridSearch,
    ImageGenerationSettings as ImageGenerationSettings,
    InputFormat as InputFormat,
    Mask as Mask,
    McpSettings as McpSettings,
    NamespaceSettings as NamespaceSettings,
    NestedLocation as NestedLocation,
    OpenRouterSearch as OpenRouterSearch,
    OpenRouterSearchSettings as OpenRouterSearchSettings,
    PluginSettings as PluginSettings,
    RankingOptions as RankingOptions,
    ShellSettings as ShellSettings,
    ToolSearchSettings as ToolSearchSettings,
    UserLocation as UserLocation,
    WebSearchOptions as WebSearchOptions,
    WebSearchPreviewSettings as WebSearchPreviewSettings,
    WebSearchSettings as WebSearchSettings,
    XaiFilters as XaiFilters,
    XaiImageSettings as XaiImageSettings,
    XaiWebSearchSettings as XaiWebSearchSettings,
    XSearchSettings as XSearchSettings,
)
from .vendors import GroqPython, GroqSearch, GroqVisit, XSearch

_SHELL = "files are looked at through the shell"
_SESSIONS = "every command is waited for"
_PLAN = "no tool of the provider's keeps a plan"
_AGENTS = "no tool of the provider's starts agents"
_MCP = "the provider calls a server's tools, nothing else of it"

DIALECT = Dialect(
    "openai",
    (
        WebSearch,
        FileSearch,
        CodeInterpreter,
        Program,
        ImageGeneration,
        Computer,
        Shell,
        LocalShell,
        ApplyPatch,
        ToolSearch,
        GroqSearch,
        GroqVisit,
        GroqPython,
        XSearch,
    ),
    provider_tools=ROWS,
    unspoken={
        op.ReadFile: _SHELL,
        op.ReadFiles: _SHELL,
        op.ReadNotebook: _SHELL,
        op.ViewImage: "a picture is part of what the user says",
        op.ListDirectory: _SHELL,
        op.InsertText: "a diff names a place by the lines around it, not by its number",
        op.MoveFile: "a file is moved through the shell",
        op.UndoEdit: "no native tool undoes a change",
        op.EditNotebook: "a notebook is patched as the text it is",
        op.FindFiles: _SHELL,
        op.ReadOutput: _SESSIONS,
        op.TypeInto: _SESSIONS,
        op.StopCommand: _SESSIONS,
        op.ListCommands: _SESSIONS,
        op.WatchCommand: _SESSIONS,
        op.SearchText: _SHELL,
        op.SearchCode: _SHELL,
        op.RewriteCode: _SHELL,
        op.TakeScreenshot: "a screen is looked at, no page",
        op.UpdatePlan: _PLAN,
        op.AddPlanItem: _PLAN,
        op.ChangePlanItem: _PLAN,
        op.ReadPlan: _PLAN,
        op.SpawnAgent: _AGENTS,
        op.MessageAgent: _AGENTS,
        op.WaitForAgent: _AGENTS,
        op.StopAgent: _AGENTS,
        op.ResumeAgent: _AGENTS,
        op.ListAgents: _AGENTS,
        op.SignalParent: _AGENTS,
        op.ReturnToParent: _AGENTS,
        op.AskUser: "the model asks in its answer",
        op.SaveMemory: "no tool of the provider's keeps memories",
        op.RecallMemory: "no tool of the provider's keeps memories",
        op.ReadMcpResource: _MCP,
        op.ListMcpResources: _MCP,
        op.UseSkill: "skills are a setting of the shell's container",
    },
    steering=(
        Steer(
            "x_search",
            "one post, or who wrote it, is looked up on X",
            ("post_id", "username", "usernames", "count", "video_url", "image_url"),
            otherwise=True,
            executed_by=ExecutedBy.PROVIDER,
        ),
    ),
    mcp_items={"mcp_call": "server_label", "mcp_approval_request": "server_label"},
    failures=FAILURES,
    unspelled=ServerResults(),
)
