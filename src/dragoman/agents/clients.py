"""The clients whose agent files are read: where each keeps them, and what they are called."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

OWN: Final = "dragoman"


class UserFolder(msgspec.Struct, frozen=True):
    """A folder of the user's: below the one that a variable names, or below another in the home folder."""

    variable: str | None
    otherwise: str
    below: str

    def path(self, home: Path) -> Path:
        named = None if self.variable is None else os.environ.get(self.variable)
        return (Path(named) if named else home / self.otherwise) / self.below


class AgentClient(msgspec.Struct, frozen=True):
    """One client. `format` is also the name of its dialect and of the module that reads its files."""

    format: str
    project: tuple[str, ...]
    """Folders in a project."""
    user: tuple[UserFolder, ...] = ()
    suffix: str = ".md"
    deep: bool = False
    """Whether folders within them are looked into."""
    settings: str | None = None
    """A file beside the folder whose tables name further agents."""

    def parts(self) -> Iterator[tuple[str, ...]]:
        """The ends of the paths of its folders."""
        yield from (tuple(folder.split("/")) for folder in self.project)
        yield from ((folder.otherwise, *folder.below.split("/")) for folder in self.user)


CLIENTS: Final = {
    client.format: client
    for client in (
        AgentClient(OWN, (".dragoman/agents", "agents")),
        AgentClient("claude_code", (".claude/agents",), (UserFolder(None, ".claude", "agents"),), deep=True),
        AgentClient(
            "opencode",
            (".opencode/agent", ".opencode/agents"),
            (
                UserFolder("XDG_CONFIG_HOME", ".config", "opencode/agent"),
                UserFolder("XDG_CONFIG_HOME", ".config", "opencode/agents"),
            ),
            deep=True,
        ),
        AgentClient("gemini_cli", (".gemini/agents",), (UserFolder(None, ".gemini", "agents"),)),
        AgentClient(
            "codex",
            (".codex/agents",),
            (UserFolder("CODEX_HOME", ".codex", "agents"),),
            suffix=".toml",
            deep=True,
            settings="config.toml",
        ),
    )
}
"""By format, ours first."""
