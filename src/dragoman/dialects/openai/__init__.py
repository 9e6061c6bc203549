"""The tools OpenAI's own API defines, and those of the vendors on its wire, whoever runs them.

Known from the documentation, the types of openai 3.49.0 and traffic recorded until August 2026. A call is named by the
type of its item without `_call`, its arguments are the item's action, operation or arguments; the whole item stands
beside them.

The types of the tools' settings are imported from here: `ProviderTool("openai.web_search", WebSearchSettings(…))`.
`HybridSearch`, which stands inside others, is in `settings`. Those of Azure, Groq, xAI and OpenRouter, which
travel on the same wire, are here as well.
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
        op.Reading: "files are read through the shell",
        op.Searching: "files are searched through the shell",
        op.ViewImage: "a picture is part of what the user says",
        op.InsertText: "a diff finds a place by the lines around it, not by its number",
        op.EditNotebook: "a notebook is patched as text",
        op.Executing: "every command is waited for",
        op.TakeScreenshot: "screenshots are of the screen, not of a page",
        op.Planning: "no tool of the provider keeps a plan",
        op.Delegating: "no tool of the provider starts agents",
        op.SaveMemory: "no tool of the provider keeps memories",
        op.RecallMemory: "no tool of the provider keeps memories",
        op.ReadMcpResource: "the provider calls only the tools of a server",
        op.ListMcpResources: "the provider calls only the tools of a server",
        op.UseSkill: "skills are a setting of the shell's container",
    },
    steering=(
        Steer(
            "x_search",
            "one post, or who wrote it, is looked up on X",
            ("post_id", "username", "usernames", "count", "video_url", "image_url"),
            fallback=True,
            executed_by=ExecutedBy.PROVIDER,
        ),
    ),
    mcp_items={"mcp_call": "server_label", "mcp_approval_request": "server_label"},
    failures=FAILURES,
    unspelled=ServerResults(),
)
