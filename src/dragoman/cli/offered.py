"""Which tools a model is offered: those that were named, or a few that go with its words."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import click

from dragoman.errors import nearest

if TYPE_CHECKING:
    from dragoman.dialects import Dialect
    from dragoman.tools import AnyTool, Tool

KINDS: Final = ("read", "search", "write", "execute", "fetch", "plan", "ask")
"""What tools can be named by, besides their names."""

ALWAYS: Final = ("run_command", "write_file", "edit_file", "search_web", "ask_user")
"""Tools every model is offered, in plain words where its own vocabulary has none. A run leaves out a search that nobody
can do, and `ask_user` where nobody can answer."""
WHERE_SPOKEN: Final = (
    # Offered only in the model's own words: what has none, a command does.
    *("read_file", "delete_file", "move_file", "view_image", "list_directory", "find_files", "search_text"),
    *("read_output", "type_into", "stop_command", "fetch_page", "update_plan"),
)


def tools_named(words: Iterable[str]) -> list[AnyTool]:
    """The tools these words stand for: names, globs, kinds, or ids of a provider's own tools."""
    from dragoman.dialects import provider_dialect, provider_tool
    from dragoman.registry import TOOLS
    from dragoman.tools import ProviderTool

    found: dict[str, AnyTool] = {}
    for word in words:
        if word == "none":
            continue
        names = [word] if word in TOOLS else [name for name in TOOLS if fnmatchcase(name, word)]
        if not names and word in KINDS:
            names = [name for name in TOOLS.built_in if str(TOOLS[name].kind) == word]
        if not names and provider_tool(word) is not None:
            found[word] = ProviderTool(word)
            continue
        if not names:
            dialect = provider_dialect(word)
            rows = [row.id for row in dialect.provider_tools] if dialect is not None else []
            hint = nearest(word, (*TOOLS, *KINDS, *rows)) or " `dragoman plugins` lists them."
            raise click.BadParameter(f'there is no tool "{word}".{hint}', param_hint="--tools")
        found |= {name: TOOLS[name] for name in names}
    return list(found.values())


def usual_tools(dialect: Dialect) -> list[AnyTool]:
    """The tools a model is offered when none are named."""
    from dragoman.model import ExecutedBy
    from dragoman.registry import TOOLS

    tools: list[Tool] = [TOOLS[name] for name in (*ALWAYS, *WHERE_SPOKEN)]
    return [
        tool
        for tool in tools
        if tool.name in ALWAYS
        or (tool.operation is not None and dialect.speaks(tool.operation, executed_by=ExecutedBy.CLIENT))
    ]
