"""The settings of the tools OpenAI and the vendors on its wire define; what a provider requires has no default."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dragoman.dialects.base.provider_rows import Settings, SettingsOf
from dragoman.model.request import Definition, FreeformDefinition, ProviderDefinition

Size = Literal["high", "medium", "low"]
Callers = tuple[Literal["direct", "programmatic"], ...]


class UserLocation(Settings, frozen=True, kw_only=True):
    """Roughly where the user is."""

    type: Literal["approximate"] = "approximate"
    city: str | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None


class DomainFilters(Settings, frozen=True, kw_only=True):
    """Which domains may be searched."""

    allowed_domains: tuple[str, ...] | None = None


class WebSearchSettings(
    SettingsOf[Literal["openai.web_search", "openai.web_search_2025_08_26", "azure.web_search"]],
    frozen=True,
    kw_only=True,
):
    """The web search."""

    filters: DomainFilters | None = None
    search_context_size: Size | None = None
    user_location: UserLocation | None = None
    external_web_access: bool | None = None


class WebSearchPreviewSettings(
    SettingsOf[
        Literal["openai.web_search_preview", "openai.web_search_preview_2025_03_11", "azure.web_search_preview"]
    ],
    frozen=True,
    kw_only=True,
):
    """The web search as it first was."""

    search_context_size: Size | None = None
    user_location: UserLocation | None = None
    search_content_types: tuple[Literal["text", "image"], ...] | None = None


class NestedLocation(Settings, frozen=True, kw_only=True):
    """Where the user is, as Chat Completions puts it."""

    type: Literal["approximate"] = "approximate"
    approximate: UserLocation


class WebSearchOptions(SettingsOf[Literal["openai.web_search_options"]], frozen=True, kw_only=True):
    """The web search of the search models of Chat Completions."""

    search_context_size: Size | None = None
    user_location: NestedLocation | None = None


class HybridSearch(Settings, frozen=True, kw_only=True):
    """How much likeness of meaning and of words count."""

    embedding_weight: float
    text_weight: float


class RankingOptions(Settings, frozen=True, kw_only=True):
    """How what was found is put in order."""

    ranker: str | None = None
    score_threshold: float | None = None
    hybrid_search: HybridSearch | None = None


class FileSearchSettings(
    SettingsOf[Literal["openai.file_search", "azure.file_search", "xai.file_search"]], frozen=True, kw_only=True
):
    """The search in vector stores."""

    vector_store_ids: tuple[str, ...]
    max_num_results: int | None = None
    filters: dict[str, Any] | None = None
    ranking_options: RankingOptions | None = None


class AutoContainer(Settings, frozen=True, kw_only=True):
    """A container that the provider makes."""

    type: Literal["auto"]
    file_ids: tuple[str, ...] | None = None
    memory_limit: str | None = None
    network_policy: dict[str, Any] | None = None


class CodeInterpreterSettings(
    SettingsOf[Literal["openai.code_interpreter", "azure.code_interpreter"]], frozen=True, kw_only=True
):
    """Where programs run: a container by its id, or one that is made."""

    container: str | AutoContainer
    allowed_callers: Callers | None = None


class Mask(Settings, frozen=True, kw_only=True):
    """Which part of a picture may change."""

    file_id: str | None = None
    image_url: str | None = None


class ImageGenerationSettings(
    SettingsOf[Literal["openai.image_generation", "azure.image_generation"]], frozen=True, kw_only=True
):
    """How pictures are painted."""

    action: Literal["generate", "edit", "auto"] | None = None
    background: Literal["transparent", "opaque", "auto"] | None = None
    complexity: Size | None = None
    frame_count: int | None = None
    frame_duration_ms: int | None = None
    input_fidelity: Literal["high", "low"] | None = None
    input_image_mask: Mask | None = None
    model: str | None = None
    moderation: Literal["auto", "low"] | None = None
    output_compression: int | None = None
    output_format: Literal["png", "webp", "jpeg", "gif", "svg"] | None = None
    partial_images: int | None = None
    quality: Literal["low", "medium", "high", "xhigh", "max", "auto"] | None = None
    size: str | None = None
    svg: dict[str, Any] | None = None


class ComputerUsePreviewSettings(
    SettingsOf[Literal["openai.computer_use_preview", "azure.computer_use_preview"]], frozen=True, kw_only=True
):
    """The screen."""

    display_width: int
    display_height: int
    environment: Literal["windows", "mac", "linux", "ubuntu", "browser"]


class McpSettings(SettingsOf[Literal["openai.mcp", "azure.mcp", "xai.mcp"]], frozen=True, kw_only=True):
    """A server of the Model Context Protocol that the provider calls."""

    server_label: str
    server_url: str | None = None
    connector_id: str | None = None
    tunnel_id: str | None = None
    server_description: str | None = None
    authorization: str | None = None
    headers: dict[str, str] | None = None
    allowed_tools: tuple[str, ...] | dict[str, Any] | None = None
    require_approval: str | dict[str, Any] | None = None
    defer_loading: bool | None = None
    allowed_callers: Callers | None = None


class Environment(Settings, frozen=True, kw_only=True):
    """Where commands run: here, in a container that is made, or in one by its id."""

    type: Literal["local", "container_auto", "container_reference"]
    container_id: str | None = None
    file_ids: tuple[str, ...] | None = None
    memory_limit: str | None = None
    network_policy: dict[str, Any] | None = None
    skills: tuple[dict[str, Any], ...] | None = None


class ShellSettings(SettingsOf[Literal["openai.shell", "azure.shell"]], frozen=True, kw_only=True):
    """Where commands run, and who may call for them."""

    environment: Environment | None = None
    allowed_callers: Callers | None = None


class CallersSettings(SettingsOf[Literal["openai.apply_patch", "azure.apply_patch"]], frozen=True, kw_only=True):
    """Who may call it."""

    allowed_callers: Callers | None = None


class InputFormat(Settings, frozen=True, kw_only=True):
    """What the input must look like: any text, or what a grammar allows."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None


class CustomSettings(SettingsOf[Literal["openai.custom"]], frozen=True, kw_only=True, rename={"asynchronous": "async"}):
    """A tool of the caller's whose input is text."""

    name: str
    description: str | None = None
    format: InputFormat | None = None
    defer_loading: bool | None = None
    allowed_callers: Callers | None = None
    asynchronous: bool | None = None

    @classmethod
    def offered(cls, definition: ProviderDefinition) -> Definition:
        """The caller's tool as the caller's: each API has its own form for one."""
        given = definition.settings
        rest = {key: value for key, value in given.items() if key not in ("name", "description", "defer_loading")}
        form = msgspec.convert(rest.get("format"), InputFormat | None) or InputFormat(type="text")
        if form.type == "grammar":
            del rest["format"]
        more = {"openai_responses": rest, "openai_chat": {"custom": rest}} if rest else {}
        description, deferred = given.get("description") or "", bool(given.get("defer_loading"))
        return FreeformDefinition(
            given["name"], description, form.syntax, form.definition, deferred=deferred, metadata=more
        )


class NamespaceSettings(SettingsOf[Literal["openai.namespace"]], frozen=True, kw_only=True):
    """Tools of the caller's that belong together."""

    name: str
    description: str
    tools: tuple[dict[str, Any], ...]


class ToolSearchSettings(SettingsOf[Literal["openai.tool_search"]], frozen=True, kw_only=True):
    """Who looks for tools, and what it is asked with when that is the caller."""

    execution: Literal["server", "client"] | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


# ── xAI ──────────────────────────────────────────────────────────────────────


class XaiWebSearchSettings(SettingsOf[Literal["xai.web_search"]], frozen=True, kw_only=True):
    """xAI's web search."""

    filters: XaiFilters | None = None
    enable_image_understanding: bool | None = None
    enable_image_search: bool | None = None


class XaiFilters(Settings, frozen=True, kw_only=True):
    """Which domains may be searched; one of the two."""

    allowed_domains: tuple[str, ...] | None = None
    excluded_domains: tuple[str, ...] | None = None


class XSearchSettings(SettingsOf[Literal["xai.x_search"]], frozen=True, kw_only=True):
    """Which posts may be searched."""

    allowed_x_handles: tuple[str, ...] | None = None
    excluded_x_handles: tuple[str, ...] | None = None
    from_date: str | None = None
    to_date: str | None = None
    enable_image_understanding: bool | None = None
    enable_video_understanding: bool | None = None


class XaiImageSettings(SettingsOf[Literal["xai.image_generation"]], frozen=True, kw_only=True):
    """Whether pictures are made, changed, or both."""

    action: Literal["generate", "edit", "auto"] | None = None


# ── OpenRouter ───────────────────────────────────────────────────────────────


class OpenRouterSearch(Settings, frozen=True, kw_only=True):
    """How OpenRouter searches."""

    engine: str | None = None
    max_results: int | None = None
    max_total_results: int | None = None
    max_characters: int | None = None
    max_uses: int | None = None
    mode: str | None = None
    search_context_size: Size | None = None
    allowed_domains: tuple[str, ...] | None = None
    excluded_domains: tuple[str, ...] | None = None
    user_location: UserLocation | None = None
    x_search: dict[str, Any] | None = None


class OpenRouterSearchSettings(SettingsOf[Literal["openrouter.web_search"]], frozen=True, kw_only=True):
    """OpenRouter's web search."""

    parameters: OpenRouterSearch | None = None


class Advisor(Settings, frozen=True, kw_only=True):
    """Which model is asked for advice, and how much it is told."""

    model: str | None = None
    name: str | None = None
    instructions: str | None = None
    forward_transcript: bool | None = None
    max_completion_tokens: int | None = None
    reasoning: dict[str, Any] | None = None
    temperature: float | None = None
    stream: bool | None = None


class AdvisorSettings(SettingsOf[Literal["openrouter.advisor"]], frozen=True, kw_only=True):
    """OpenRouter's advisor."""

    parameters: Advisor | None = None


class PluginSettings(SettingsOf[Literal["openrouter.plugins"]], frozen=True, kw_only=True):
    """One of OpenRouter's plugins."""

    id: str
    enabled: bool | None = None
    engine: str | None = None
    max_results: int | None = None
    max_uses: int | None = None
    mode: str | None = None
    search_prompt: str | None = None
    user_location: UserLocation | None = None
    x_search: dict[str, Any] | None = None
    include_domains: tuple[str, ...] | None = None
    exclude_domains: tuple[str, ...] | None = None
    pdf: dict[str, Any] | None = None
