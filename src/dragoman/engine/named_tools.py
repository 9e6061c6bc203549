"""Tools by the words that people write: names, globs, kinds, and ids of a provider's own tools."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from dragoman import tools
from dragoman.errors import ConfigError, nearest

TOOL_KINDS: Final = ("read", "search", "write", "execute", "fetch", "plan", "ask")
"""What tools can be named by, besides their names."""


def tools_named(words: Iterable[str]) -> list[tools.AnyTool]:
    """The tools with these names; `none` means no tool. Raises `ConfigError` for a name that is unknown."""
    from dragoman.dialects import provider_dialect, provider_tool
    from dragoman.registry import TOOLS

    found: dict[str, tools.AnyTool] = {}
    for word in words:
        if word == "none":
            continue
        names = [word] if word in TOOLS else [name for name in TOOLS if fnmatchcase(name, word)]
        if not names and word in TOOL_KINDS:
            names = [name for name in TOOLS.built_in if str(TOOLS[name].kind) == word and _can_run(name)]
        if not names and provider_tool(word) is not None:
            found[word] = tools.ProviderTool(word)
            continue
        if not names:
            dialect = provider_dialect(word)
            rows = [row.id for row in dialect.provider_tools] if dialect is not None else []
            hint = nearest(word, (*TOOLS, *TOOL_KINDS, *rows)) or " `dragoman plugins` lists them."
            raise ConfigError(f'there is no tool "{word}".{hint}')
        found |= {name: TOOLS[name] for name in names}
    return list(found.values())


def _can_run(name: str) -> bool:
    """Whether a tool that a kind stands for can work here."""
    return name != "run_code" or bool(tools.runnable())
