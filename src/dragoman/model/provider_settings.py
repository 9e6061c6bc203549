"""Settings of tools that providers define: what they have in common, whatever the vendor."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from .request import Definition, ProviderDefinition

Ids = TypeVar("Ids", bound=str)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The root of all settings; by itself: a tool that has none."""

    @classmethod
    def offered(cls, definition: ProviderDefinition) -> Definition:
        """A tool with these settings as it stands among the others of a request."""
        return definition


class SettingsOf(Settings, Generic[Ids], frozen=True, kw_only=True):
    """Settings of the tools with these ids: `SettingsOf[Literal["google.file_search"]]`.

    A type checker takes settings for a tool of theirs alone; a test holds the ids to the rows of the dialects.
    """
