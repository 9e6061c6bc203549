"""Every dated version of every tool Anthropic defines, the newest of each first, with its typed settings."""

from __future__ import annotations

from typing import Any, Literal

from dragoman.dialects.base.provider_rows import Ids, ProviderRow, Settings, SettingsOf
from dragoman.model.calls import ExecutedBy

from .agents import AGENT_TOOLS
from .commands import BROWSER, COMPUTER, Bash, Computer
from .editing import Memory, StrReplaceEditor, TextEditor
from .hosted import (
    BashCodeExecution,
    CodeExecution,
    TextEditorCodeExecution,
    ToolSearchBm25,
    ToolSearchRegex,
    WebFetch,
    WebSearch,
)

MESSAGES = ("anthropic_messages",)
COMPUTER_USE_2024 = "computer-use-2024-10-22"


# ── settings ─────────────────────────────────────────────────────────────────


class CacheControl(Settings, frozen=True, kw_only=True):
    """A place up to which the prompt is kept."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class CommonSettings(SettingsOf[Ids], frozen=True, kw_only=True):
    """What may be said of every tool: who may call it, and whether it is held back until it is searched for."""

    allowed_callers: tuple[str, ...] | None = None
    cache_control: CacheControl | None = None
    defer_loading: bool | None = None
    strict: bool | None = None


class ToolSettings(
    CommonSettings[
        Literal[
            "anthropic.code_execution_20260521",
            "anthropic.code_execution_20260120",
            "anthropic.code_execution_20250825",
            "anthropic.code_execution_20250522",
            "anthropic.tool_search_tool_bm25_20251119",
            "anthropic.tool_search_tool_regex_20251119",
        ]
    ],
    frozen=True,
    kw_only=True,
):
    """What is said of a tool that has no settings of its own."""


class RunHereSettings(CommonSettings[Ids], frozen=True, kw_only=True):
    """And of those that we run: examples of good calls."""

    input_examples: tuple[dict[str, Any], ...] | None = None


class ClientSettings(
    RunHereSettings[
        Literal[
            "anthropic.bash_20250124",
            "anthropic.bash_20241022",
            "anthropic.text_editor_20250429",
            "anthropic.text_editor_20250124",
            "anthropic.text_editor_20241022",
            "anthropic.memory_20250818",
        ]
    ],
    frozen=True,
    kw_only=True,
):
    """A tool that we run, without settings of its own."""


class TextEditorSettings(RunHereSettings[Literal["anthropic.text_editor_20250728"]], frozen=True, kw_only=True):
    """How much of a file is shown."""

    max_characters: int | None = None


class ScreenSettings(RunHereSettings[Ids], frozen=True, kw_only=True):
    """The screen."""

    display_width_px: int
    display_height_px: int
    display_number: int | None = None


class ComputerSettings(
    ScreenSettings[Literal["anthropic.computer_20250124", "anthropic.computer_20241022"]], frozen=True, kw_only=True
):
    """The screen as it is."""


class ZoomingComputerSettings(ScreenSettings[Literal["anthropic.computer_20251124"]], frozen=True, kw_only=True):
    """The screen, and whether parts of it can be looked at closely."""

    enable_zoom: bool | None = None


class MemberSettings(Settings, frozen=True, kw_only=True):
    """Whether a member of a toolset is offered, and when."""

    enabled: bool | None = None
    defer_loading: bool | None = None


class ToolsetSettings(
    SettingsOf[Literal["anthropic.computer_toolset_20260801", "anthropic.browser_toolset_20260801"]],
    frozen=True,
    kw_only=True,
):
    """The members of a toolset, by name; those not named are offered."""

    cache_control: CacheControl | None = None
    configs: dict[str, MemberSettings | None] | None = None


class UserLocation(Settings, frozen=True, kw_only=True):
    """Where the user is, roughly."""

    type: Literal["approximate"]
    city: str | None = None
    region: str | None = None
    country: str | None = None
    timezone: str | None = None


class WebSettings(CommonSettings[Ids], frozen=True, kw_only=True):
    """How often the web may be used, and which parts of it: allowed or blocked domains, not both."""

    max_uses: int | None = None
    allowed_domains: tuple[str, ...] | None = None
    blocked_domains: tuple[str, ...] | None = None


class SearchSettings(WebSettings[Ids], frozen=True, kw_only=True):
    """How the web is searched."""

    user_location: UserLocation | None = None


class WebSearchSettings(
    SearchSettings[Literal["anthropic.web_search_20260209", "anthropic.web_search_20250305"]], frozen=True, kw_only=True
):
    """The search of the web."""


class WebSearch20260318Settings(SearchSettings[Literal["anthropic.web_search_20260318"]], frozen=True, kw_only=True):
    """And whether what was found inside a program comes back too."""

    response_inclusion: Literal["full", "excluded"] | None = None


class Citations(Settings, frozen=True, kw_only=True):
    """Whether sources are cited."""

    enabled: bool | None = None


class FetchSettings(WebSettings[Ids], frozen=True, kw_only=True):
    """How pages are fetched."""

    citations: Citations | None = None
    max_content_tokens: int | None = None
    url_sources: dict[str, Any] | None = None


class WebFetchSettings(
    FetchSettings[Literal["anthropic.web_fetch_20260209", "anthropic.web_fetch_20250910"]], frozen=True, kw_only=True
):
    """The fetching of pages."""


class CachedFetchSettings(FetchSettings[Ids], frozen=True, kw_only=True):
    """And whether a page that was fetched before is taken."""

    use_cache: bool | None = None


class WebFetch20260309Settings(CachedFetchSettings[Literal["anthropic.web_fetch_20260309"]], frozen=True, kw_only=True):
    """The fetching of pages, or of what was fetched before."""


class WebFetch20260318Settings(CachedFetchSettings[Literal["anthropic.web_fetch_20260318"]], frozen=True, kw_only=True):
    """And whether what was fetched inside a program comes back too."""

    response_inclusion: Literal["full", "excluded"] | None = None


class AdvisorSettings(CommonSettings[Literal["anthropic.advisor_20260301"]], frozen=True, kw_only=True):
    """The model that advises."""

    model: str
    max_uses: int | None = None
    max_tokens: int | None = None
    caching: CacheControl | None = None


class McpToolsetSettings(SettingsOf[Literal["anthropic.mcp_toolset"]], frozen=True, kw_only=True):
    """The server, one of the request's `mcp_servers`, and which of its tools are offered."""

    mcp_server_name: str
    cache_control: CacheControl | None = None
    configs: dict[str, MemberSettings] | None = None
    default_config: MemberSettings | None = None
    tools: tuple[dict[str, Any], ...] | None = None


class AgentToolsetSettings(SettingsOf[Literal["anthropic.agent_toolset_20260401"]], frozen=True, kw_only=True):
    """The members of an agent's toolset."""

    configs: tuple[dict[str, Any], ...] | None = None
    default_config: dict[str, Any] | None = None


# ── rows ─────────────────────────────────────────────────────────────────────


def _versions(tool: str, versions: dict[str, dict[str, Any]], **same: Any) -> tuple[ProviderRow, ...]:
    """The versions of one tool; what is said of one stands before what holds for all."""
    dates = list(versions)
    return tuple(
        ProviderRow(
            **{
                "id": f"anthropic.{tool}_{date}",
                "wire_type": f"{tool}_{date}",
                "version": date,
                "apis": MESSAGES,
                "superseded_by": f"anthropic.{tool}_{dates[index - 1]}" if index else None,
                **same,
                **said,
            }
        )
        for index, (date, said) in enumerate(versions.items())
    )


BASH = _versions(
    "bash",
    {
        "20250124": {"models": ("!claude-3-5-*",)},
        "20241022": {"models": ("claude-3-5-*",), "beta": COMPUTER_USE_2024},
    },
    name="bash",
    spellings=(Bash,),
    executed_by=ExecutedBy.CLIENT,
    settings=ClientSettings,
    note="every command runs in a shell of its own: what one sets, the next does not have",
)

TEXT_EDITOR = _versions(
    "text_editor",
    {
        "20250728": {"settings": TextEditorSettings, "note": "files are shown up to the limits of our own tools"},
        "20250429": {},
        "20250124": {"models": ("claude-3-7-*",), "name": "str_replace_editor", "spellings": (StrReplaceEditor,)},
        "20241022": {
            "models": ("claude-3-5-*",),
            "name": "str_replace_editor",
            "spellings": (StrReplaceEditor,),
            "beta": COMPUTER_USE_2024,
        },
    },
    name="str_replace_based_edit_tool",
    spellings=(TextEditor,),
    executed_by=ExecutedBy.CLIENT,
    settings=ClientSettings,
    models=("!claude-3-*",),
)

MEMORY = _versions(
    "memory",
    {"20250818": {}},
    name="memory",
    spellings=(Memory,),
    executed_by=ExecutedBy.CLIENT,
    settings=ClientSettings,
    models=("!claude-3-*",),
    note="/memories is the folder memories of the workspace",
)

_BEFORE_ZOOM = (
    "claude-3-7-*",
    "claude-opus-4-2*",
    "claude-sonnet-4-2*",
    "claude-opus-4-1*",
    "claude-sonnet-4-5*",
    "claude-haiku-4-5*",
)
SCREEN = (
    *_versions(
        "computer_toolset",
        {"20260801": {}},
        spellings=COMPUTER,
        executed_by=ExecutedBy.CLIENT,
        settings=ToolsetSettings,
        models=("!claude-3-*", "!claude-*-4-*"),
    ),
    *_versions(
        "computer",
        {
            "20251124": {
                "settings": ZoomingComputerSettings,
                "models": ("!claude-3-*", *(f"!{family}" for family in _BEFORE_ZOOM[1:])),
                "beta": "computer-use-2025-11-24",
            },
            "20250124": {"models": _BEFORE_ZOOM, "beta": "computer-use-2025-01-24"},
            "20241022": {"models": ("claude-3-5-*",), "beta": COMPUTER_USE_2024},
        },
        name="computer",
        spellings=(Computer,),
        executed_by=ExecutedBy.CLIENT,
        settings=ComputerSettings,
    ),
    *_versions(
        "browser_toolset",
        {"20260801": {}},
        spellings=BROWSER,
        executed_by=ExecutedBy.CLIENT,
        settings=ToolsetSettings,
        models=("!claude-3-*", "!claude-*-4-*"),
    ),
)

WEB = (
    *_versions(
        "web_search",
        {"20260318": {"settings": WebSearch20260318Settings}, "20260209": {}, "20250305": {}},
        name="web_search",
        spellings=(WebSearch,),
        settings=WebSearchSettings,
        deferred=True,
    ),
    *_versions(
        "web_fetch",
        {
            "20260318": {"settings": WebFetch20260318Settings},
            "20260309": {"settings": WebFetch20260309Settings},
            "20260209": {},
            "20250910": {},
        },
        name="web_fetch",
        spellings=(WebFetch,),
        settings=WebFetchSettings,
        deferred=True,
    ),
)

_CONTAINER = (CodeExecution, BashCodeExecution, TextEditorCodeExecution)
CODE = _versions(
    "code_execution",
    {"20260521": {}, "20260120": {}, "20250825": {}, "20250522": {"spellings": (CodeExecution,), "reserves": ()}},
    name="code_execution",
    spellings=_CONTAINER,
    reserves=("bash_code_execution", "text_editor_code_execution"),
    settings=ToolSettings,
    deferred=True,
)

TOOL_SEARCH = (
    *_versions(
        "tool_search_tool_bm25",
        {"20251119": {}},
        name="tool_search_tool_bm25",
        spellings=(ToolSearchBm25,),
        settings=ToolSettings,
        deferred=True,
    ),
    *_versions(
        "tool_search_tool_regex",
        {"20251119": {}},
        name="tool_search_tool_regex",
        spellings=(ToolSearchRegex,),
        settings=ToolSettings,
        deferred=True,
    ),
)

OTHERS = (
    *_versions("advisor", {"20260301": {}}, name="advisor", settings=AdvisorSettings, beta="advisor-tool-2026-03-01"),
    ProviderRow(
        id="anthropic.mcp_toolset",
        wire_type="mcp_toolset",
        settings=McpToolsetSettings,
        beta="mcp-client-2025-11-20",
        apis=MESSAGES,
        note="its server stands in the request's mcp_servers",
    ),
    *_versions(
        "agent_toolset",
        {"20260401": {}},
        spellings=AGENT_TOOLS,
        executed_by=ExecutedBy.CLIENT,
        settings=AgentToolsetSettings,
        beta="managed-agents-2026-04-01",
        apis=("anthropic_agents",),
        note="of agents that Anthropic hosts; the Messages API does not take it",
    ),
)

ROWS = (*BASH, *TEXT_EDITOR, *MEMORY, *SCREEN, *WEB, *CODE, *TOOL_SEARCH, *OTHERS)
