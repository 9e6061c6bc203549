"""The tools that OpenAI, and the vendors on its wire, define: one row per version, the newest of each tool first."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.dialects.base.provider_rows import ProviderRow
from dragoman.dialects.base.responses_items import WebSearch
from dragoman.model.calls import ExecutedBy

from . import settings as given
from .commands import LocalShell, Shell
from .hosted import CodeInterpreter, Computer, FileSearch, ImageGeneration, Program, ToolSearch
from .patches import ApplyPatch
from .vendors import GroqPython, GroqSearch, GroqVisit, XSearch

CLIENT = ExecutedBy.CLIENT
RESPONSES, CHAT = ("openai_responses",), ("openai_chat",)
SINCE_5_1 = ("!gpt-3*", "!gpt-4*", "!o1*", "!o3*", "!o4*", "!gpt-5", "!gpt-5-*", "!codex-mini*", "!computer-use-*")
SINCE_5_4 = (*SINCE_5_1, "!gpt-5.1*", "!gpt-5.2*", "!gpt-5.3*")
"""What a tool that came with a family of models is not offered to, as OpenAI's pages on models have it (2026); newer
families have what older ones had."""


def _row(id: str, wire_type: str, *spellings: Any, **declared: Any) -> ProviderRow:
    """A row on the Responses wire, called by the name its calls are read by."""
    declared.setdefault("name", spellings[0].native_name if spellings else None)
    declared.setdefault("apis", RESPONSES)
    return ProviderRow(id=id, wire_type=wire_type, spellings=spellings, **declared)


OPENAI = (
    _row("openai.web_search", "web_search", WebSearch, settings=given.WebSearchSettings),
    _row(
        "openai.web_search_2025_08_26",
        "web_search_2025_08_26",
        WebSearch,
        settings=given.WebSearchSettings,
        version="2025-08-26",
    ),
    _row(
        "openai.web_search_preview",
        "web_search_preview",
        WebSearch,
        settings=given.WebSearchPreviewSettings,
        superseded_by="openai.web_search",
    ),
    _row(
        "openai.web_search_preview_2025_03_11",
        "web_search_preview_2025_03_11",
        WebSearch,
        settings=given.WebSearchPreviewSettings,
        version="2025-03-11",
        superseded_by="openai.web_search",
    ),
    _row(
        "openai.web_search_options",
        "web_search_options",
        settings=given.WebSearchOptions,
        models=("*search*",),
        apis=CHAT,
        note="a key of the request beside its tools; what was found shows in the citations alone",
    ),
    _row("openai.file_search", "file_search", FileSearch, settings=given.FileSearchSettings),
    _row(
        "openai.code_interpreter",
        "code_interpreter",
        CodeInterpreter,
        settings=given.CodeInterpreterSettings,
        deferred=True,
    ),
    _row("openai.image_generation", "image_generation", ImageGeneration, settings=given.ImageGenerationSettings),
    _row("openai.computer", "computer", Computer, executed_by=CLIENT, models=SINCE_5_4),
    _row(
        "openai.computer_use_preview",
        "computer_use_preview",
        Computer,
        executed_by=CLIENT,
        settings=given.ComputerUsePreviewSettings,
        models=("computer-use-preview*",),
        superseded_by="openai.computer",
    ),
    _row("openai.mcp", "mcp", settings=given.McpSettings, note="its calls carry the server in their item"),
    _row(
        "openai.shell",
        "shell",
        Shell,
        executed_by=CLIENT,
        settings=given.ShellSettings,
        models=SINCE_5_1,
        hosted_with=(("environment.type", ("container_auto", "container_reference")),),
        note="in a container the provider runs the commands; each call says who does",
    ),
    _row(
        "openai.local_shell",
        "local_shell",
        LocalShell,
        executed_by=CLIENT,
        models=("codex-mini*",),
        superseded_by="openai.shell",
    ),
    _row(
        "openai.apply_patch",
        "apply_patch",
        ApplyPatch,
        executed_by=CLIENT,
        settings=given.CallersSettings,
        models=SINCE_5_1,
    ),
    _row(
        "openai.custom",
        "custom",
        executed_by=CLIENT,
        settings=given.CustomSettings,
        models=("!gpt-3*", "!gpt-4*", "!o1*", "!o3*", "!o4*"),
        apis=(*RESPONSES, *CHAT),
        note="the caller's own tool, called by the name in its settings",
    ),
    _row(
        "openai.namespace",
        "namespace",
        executed_by=CLIENT,
        settings=given.NamespaceSettings,
        models=SINCE_5_4,
        note="the caller's own tools, called by their names within it",
    ),
    _row(
        "openai.tool_search",
        "tool_search",
        ToolSearch,
        settings=given.ToolSearchSettings,
        models=SINCE_5_4,
        note='with execution "client" the caller answers; each call says who does',
    ),
    _row("openai.programmatic_tool_calling", "programmatic_tool_calling", Program, deferred=True, models=SINCE_5_4),
)

AZURE = tuple(
    replace(row, id=f"azure.{row.id.partition('.')[2]}", models=None, superseded_by=None)
    for row in OPENAI
    if row.wire_type
    in (
        "web_search",
        "web_search_preview",
        "file_search",
        "code_interpreter",
        "image_generation",
        "computer_use_preview",
        "mcp",
        "shell",
        "apply_patch",
    )
)
"""The same tools, by the names of deployments, which say nothing about the model."""

_COMPOUND = "Groq's compound models run it unasked; it is no tool of the request"

GROQ = (
    _row("groq.browser_search", "browser_search", GroqSearch, name="browser_search", models=("*gpt-oss*",), apis=CHAT),
    _row(
        "groq.code_interpreter",
        "code_interpreter",
        GroqPython,
        name="code_interpreter",
        models=("*gpt-oss*",),
        apis=CHAT,
    ),
    _row("groq.search", "search", GroqSearch, models=("*compound*",), apis=CHAT, note=_COMPOUND),
    _row("groq.visit", "visit", GroqVisit, models=("*compound*",), apis=CHAT, note=_COMPOUND),
    _row("groq.python", "python", GroqPython, models=("*compound*",), apis=CHAT, note=_COMPOUND),
)

XAI = (
    _row("xai.web_search", "web_search", WebSearch, settings=given.XaiWebSearchSettings),
    _row("xai.x_search", "x_search", XSearch, settings=given.XSearchSettings),
    _row("xai.code_execution", "code_interpreter", CodeInterpreter),
    _row("xai.file_search", "file_search", FileSearch, settings=given.FileSearchSettings),
    _row("xai.image_generation", "image_generation", ImageGeneration, settings=given.XaiImageSettings),
    _row("xai.mcp", "mcp", settings=given.McpSettings, note="its calls carry the server in their item"),
    _row("xai.view_image", "view_image", note="looked at within a search; no call of it is shown"),
    _row("xai.view_x_video", "view_x_video", note="looked at within a search; no call of it is shown"),
)

OPENROUTER = (
    _row(
        "openrouter.web_search",
        "openrouter:web_search",
        settings=given.OpenRouterSearchSettings,
        apis=CHAT,
        note="what was found shows in the citations alone",
    ),
    _row(
        "openrouter.advisor",
        "openrouter:advisor",
        settings=given.AdvisorSettings,
        apis=CHAT,
        note="its advice goes to the model; no call of it is shown",
    ),
    _row(
        "openrouter.plugins",
        "plugins",
        settings=given.PluginSettings,
        apis=CHAT,
        note="a key of the request beside its tools",
    ),
)

ROWS = (*OPENAI, *AZURE, *GROQ, *XAI, *OPENROUTER)
