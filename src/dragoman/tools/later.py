"""Tools that are not offered up front: a model looks for them, and those it finds are offered from then on.

Hundreds of definitions cost tokens in every request and make models choose worse; a search costs one round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from dragoman.errors import DefinitionError
from dragoman.model.operations import SearchTools
from dragoman.model.outcomes import ToolsOutcome

from .context import Context
from .definition import Tool
from .provider_tool import ProviderTool

if TYPE_CHECKING:
    from .toolset import AnyTool, Toolset

FOUND: Final = 5
"""Tools that one search makes available when it names no limit."""
_WORD: Final = re.compile(r"[^\W_]+")


def search_tools_in(toolset: Toolset, later: Iterable[AnyTool] | Callable[[], Iterable[AnyTool]]) -> Tool:
    """A tool that searches `later` and adds what it finds to `toolset`, which is offered from the next round on.

    Add it to the same toolset: `toolset.register(search_tools_in(toolset, later))`. Only tools that run here can be
    found; what may be called is decided by the same policy as for every other tool. A function gives the tools there
    are at each search.
    """
    given = later if callable(later) else tuple(later)

    def waiting() -> dict[str, AnyTool]:
        return {_name(tool): tool for tool in (given() if callable(given) else given)}

    hosted = [name for name, tool in waiting().items() if isinstance(tool, ProviderTool)]
    if hosted:
        raise DefinitionError("search_tools", [f"{name} is run by the provider: offer it up front" for name in hosted])

    def search(operation: SearchTools, _: Context) -> ToolsOutcome:
        """Find tools by what they are called and described as."""
        found = _best(operation.query, waiting())[: FOUND if operation.limit is None else max(0, operation.limit)]
        for tool in found:
            if tool.name not in toolset:
                toolset.register(tool)
        definitions = tuple({"name": tool.name, "description": tool.description} for tool in found)
        return ToolsOutcome(tuple(tool.name for tool in found), definitions)

    names = sorted(waiting())
    text = ", ".join(names)
    listed = f"Tools that can be found: {text}." if len(text) <= 2000 else f"{len(names)} tools can be found."
    about = (SearchTools("some words"), "query", listed)
    return Tool.from_operation(SearchTools, search, name="search_tools", listed=about, repeatable=True)


def _name(tool: AnyTool) -> str:
    return tool.id if isinstance(tool, ProviderTool) else tool.name


def _best(query: str, tools: dict[str, AnyTool]) -> list[Tool]:
    """Tools by how well they fit: `select:a,b` names them; otherwise words in the name count more than in the text."""
    if query.startswith("select:"):
        wanted = [name.strip() for name in query.removeprefix("select:").split(",")]
        return [tool for name in wanted if isinstance(tool := tools.get(name), Tool)]
    words = {word.casefold() for word in _WORD.findall(query)}
    scored: list[tuple[int, int, Tool]] = []
    for place, tool in enumerate(tools.values()):
        if isinstance(tool, Tool):
            named, told = tool.name.casefold(), tool.description.casefold()
            score = sum(3 * (word in named) + (word in told) for word in words)
            if score:
                scored.append((-score, place, tool))
    return [tool for _, _, tool in sorted(scored, key=lambda one: one[:2])]
