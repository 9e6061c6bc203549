"""Tools that a provider defines (`ProviderTool`), with settings that are typed where the tool is known.

Rule: a provider's tool has nothing that could be run by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from dragoman.errors import DefinitionError
from dragoman.schema import json_problems, to_json

if TYPE_CHECKING:
    # Types alone, for editors and type checkers: at run time tools know no vocabulary.
    from dragoman.dialects import anthropic, google, openai

_PROVIDER_ID = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")
_DATE = re.compile(r"_(\d{8})$")
_A_DATE = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")


class ProviderTool:
    """A tool the provider defines, named by a stable id: `anthropic.web_search_20250305`.

    It has no `run`: the provider runs it, or the standard tools of the same set do. Two with the same id
    and settings are equal. `label` tells several with one id apart (two servers, two stores) inside a set.

    Settings are a mapping, as they stand on the wire, or an object of the type that the tool has in the module of its
    vendor: `dragoman.dialects.openai.WebSearchSettings`. The second is checked by editors and type checkers.
    """

    __slots__ = ("_settings", "id", "label", "settings_type")

    id: str
    label: str | None
    settings_type: type[msgspec.Struct] | None
    """The type of the settings, when they were given as an object."""
    _settings: bytes

    if TYPE_CHECKING:
        # One for each type of settings, with the ids it is for (a test holds them to the rows of the dialects).
        @overload
        def __init__(
            self,
            id: Literal[
                "anthropic.bash_20250124",
                "anthropic.bash_20241022",
                "anthropic.text_editor_20250429",
                "anthropic.text_editor_20250124",
                "anthropic.text_editor_20241022",
                "anthropic.memory_20250818",
            ],
            settings: anthropic.ClientSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.text_editor_20250728"],
            settings: anthropic.TextEditorSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.computer_toolset_20260801", "anthropic.browser_toolset_20260801"],
            settings: anthropic.ToolsetSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.computer_20251124"],
            settings: anthropic.ZoomingComputerSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.computer_20250124", "anthropic.computer_20241022"],
            settings: anthropic.ComputerSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.web_search_20260318"],
            settings: anthropic.WebSearch20260318Settings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.web_search_20260209", "anthropic.web_search_20250305"],
            settings: anthropic.WebSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.web_fetch_20260318"],
            settings: anthropic.WebFetch20260318Settings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.web_fetch_20260309"],
            settings: anthropic.WebFetch20260309Settings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.web_fetch_20260209", "anthropic.web_fetch_20250910"],
            settings: anthropic.WebFetchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal[
                "anthropic.code_execution_20260521",
                "anthropic.code_execution_20260120",
                "anthropic.code_execution_20250825",
                "anthropic.code_execution_20250522",
                "anthropic.tool_search_tool_bm25_20251119",
                "anthropic.tool_search_tool_regex_20251119",
            ],
            settings: anthropic.ToolSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.advisor_20260301"],
            settings: anthropic.AdvisorSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.mcp_toolset"],
            settings: anthropic.McpToolsetSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["anthropic.agent_toolset_20260401"],
            settings: anthropic.AgentToolsetSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["google.google_search"],
            settings: google.GoogleSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["google.google_search_retrieval"],
            settings: google.GoogleSearchRetrievalSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["google.enterprise_web_search"],
            settings: google.EnterpriseSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["google.file_search"], settings: google.FileSearchSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["google.google_maps"], settings: google.GoogleMapsSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["google.computer_use"], settings: google.ComputerUseSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["google.retrieval"], settings: google.RetrievalSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["google.parallel_ai_search"],
            settings: google.ParallelSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["google.exa_ai_search"], settings: google.ExaSearchSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["google.mcp_servers"], settings: google.McpServersSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.web_search", "openai.web_search_2025_08_26", "azure.web_search"],
            settings: openai.WebSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal[
                "openai.web_search_preview", "openai.web_search_preview_2025_03_11", "azure.web_search_preview"
            ],
            settings: openai.WebSearchPreviewSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.web_search_options"],
            settings: openai.WebSearchOptions,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.file_search", "azure.file_search", "xai.file_search"],
            settings: openai.FileSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.code_interpreter", "azure.code_interpreter"],
            settings: openai.CodeInterpreterSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.image_generation", "azure.image_generation"],
            settings: openai.ImageGenerationSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.computer_use_preview", "azure.computer_use_preview"],
            settings: openai.ComputerUsePreviewSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.mcp", "azure.mcp", "xai.mcp"],
            settings: openai.McpSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.shell", "azure.shell"],
            settings: openai.ShellSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openai.apply_patch", "azure.apply_patch"],
            settings: openai.CallersSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["openai.custom"], settings: openai.CustomSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["openai.namespace"], settings: openai.NamespaceSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["openai.tool_search"], settings: openai.ToolSearchSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["xai.web_search"], settings: openai.XaiWebSearchSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["xai.x_search"], settings: openai.XSearchSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["xai.image_generation"], settings: openai.XaiImageSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self,
            id: Literal["openrouter.web_search"],
            settings: openai.OpenRouterSearchSettings,
            *,
            label: str | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["openrouter.advisor"], settings: openai.AdvisorSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, id: Literal["openrouter.plugins"], settings: openai.PluginSettings, *, label: str | None = None
        ) -> None: ...

        @overload
        def __init__(self, id: str, settings: Mapping[str, Any] | None = None, *, label: str | None = None) -> None: ...

    def __init__(
        self, id: str, settings: Mapping[str, Any] | msgspec.Struct | None = None, *, label: str | None = None
    ) -> None:
        given = settings
        if isinstance(settings, msgspec.Struct):
            settings = _without_nothing(msgspec.to_builtins(settings))
        problems = [f"settings{path and '.'}{path} {message}" for path, message in json_problems(settings or {})]
        date = _DATE.search(id)
        if not _PROVIDER_ID.fullmatch(id) or (date is not None and not _A_DATE.fullmatch(date[1])):
            problems.insert(0, f"{id!r} is not a provider tool's id: write vendor.name or vendor.name_YYYYMMDD")
        if problems:
            raise DefinitionError(f"provider tool {id!r}", problems)
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "settings_type", type(given) if isinstance(given, msgspec.Struct) else None)
        object.__setattr__(self, "_settings", msgspec.json.encode(to_json(settings or {}), order="sorted"))

    @property
    def settings(self) -> dict[str, Any]:
        """A copy of its settings."""
        settings: dict[str, Any] = msgspec.json.decode(self._settings)
        return settings

    @property
    def offered_as(self) -> object:
        """The same object for tools that are offered alike."""
        return self

    @property
    def name(self) -> str:
        """The name a set knows it by."""
        return self.id if self.label is None else f"{self.id}:{self.label}"

    @property
    def vendor(self) -> str:
        """The vendor, which is the first part of the id: `openai`."""
        return self.id.partition(".")[0]

    def snapshot(self) -> dict[str, Any]:
        """A complete description as plain JSON."""
        known = {"id": self.id, "settings": self.settings}
        return known if self.label is None else {**known, "label": self.label}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a provider tool does not change; make another one to give it another `{name}`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProviderTool) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    @property
    def _all(self) -> tuple[str, bytes, str | None]:
        return self.id, self._settings, self.label

    def __repr__(self) -> str:
        label = "" if self.label is None else f", label={self.label!r}"
        return f"ProviderTool({self.id!r}, {self.settings!r}{label})"


def _without_nothing(value: Any) -> Any:
    """Settings without those that are not set, which the wire does not name."""
    if isinstance(value, dict):
        return {key: _without_nothing(inner) for key, inner in value.items() if inner is not None}
    return [_without_nothing(inner) for inner in value] if isinstance(value, list) else value
