"""Which tools a model is offered: those that were named, or a few that go with its words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.dialects import Dialect
    from dragoman.tools import AnyTool, Tool

ALWAYS: Final = ("run_command", "write_file", "edit_file", "search_web", "ask_user")
"""Tools every model is offered, in plain words where its own vocabulary has none. A run leaves out a search that nobody
can do, and `ask_user` where nobody can answer."""
WHERE_SPOKEN: Final = (
    # Offered only in the model's own words: what has none, a command does.
    *("read_file", "delete_file", "move_file", "view_image", "list_directory", "find_files", "search_text"),
    *("read_output", "type_into", "stop_command", "fetch_page", "update_plan"),
)


def tools_named(words: Iterable[str], option: str | None = "--tools") -> list[AnyTool]:
    """The tools these words stand for; a word that names none is a wrong `option`, or else a wrong setting."""
    from dragoman import engine

    try:
        return engine.tools_named(words)
    except ConfigError as error:
        raise (error if option is None else click.BadParameter(str(error), param_hint=option)) from error


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
