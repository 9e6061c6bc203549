"""Tools that a provider defines (`ProviderTool`), with settings that are typed where the tool is known.

Rule: a provider's tool has nothing that could be run by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, overload

import msgspec

from dragoman.errors import DefinitionError
from dragoman.model.provider_settings import Ids, SettingsOf
from dragoman.schema import json_problems, to_json

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

    @overload
    def __init__(self, id: Ids, settings: SettingsOf[Ids], *, label: str | None = None) -> None: ...

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
