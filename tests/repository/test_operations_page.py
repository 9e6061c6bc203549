"""The page on operations says of each one where its tool is, or why there is none."""

from __future__ import annotations

import re
from pathlib import Path

from dragoman import ProviderTool, Toolset
from dragoman.agents import Agent, AgentLimits, Kernel
from dragoman.agents.agent_tool import agent_tools
from dragoman.agents.tree import Live
from dragoman.dialects import provider_tool
from dragoman.model import operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Tool

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "operations.md").read_text()
MADE_BY_KERNELS = "a `Kernel`, for each agent"


def table(heading: str) -> dict[str, str]:
    """The rows below a heading: operation → what is said of it."""
    (part,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", part, re.MULTILINE))


MADE, WITHOUT = table("Tools that are made for a run"), table("Operations without a tool")


def tags_of(source: str) -> set[str]:
    """Operations that some line of ours makes a tool for."""
    named = set(re.findall(r"from_operation\(\s*(?:op\.)?([A-Z]\w+)", source))
    return {tag for tag, operation in op.OPERATIONS.items() if operation.__name__ in named}


def test_each_operation_is_registered_or_made_for_a_run_or_stands_without_a_tool_and_only_one_of_these() -> None:
    rows = [*TOOLS.built_in, *MADE, *WITHOUT]
    assert sorted(rows) == sorted(op.OPERATIONS)
    assert all(len(reason) > 20 for reason in WITHOUT.values())


def test_no_line_of_ours_makes_a_tool_for_an_operation_that_is_listed_without_one() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    made = tags_of(source)
    assert made & {*WITHOUT} == set()
    # A tool of a server is made from what the server says, not from the operation.
    assert {*MADE} - made == {"call_mcp_tool"}


def test_a_kernel_makes_the_tools_that_the_page_says_it_makes() -> None:
    live = Live("a", Agent(name="a"), "go", None, AgentLimits())
    made = {str(tool.operation.__struct_config__.tag) for tool in agent_tools(Kernel([]), live) if tool.operation}
    assert made == {tag for tag, by in MADE.items() if by.startswith(MADE_BY_KERNELS)}


def test_the_tools_of_providers_that_the_page_names_are_in_the_catalogue() -> None:
    named = re.findall(r"`((?:openai|google|anthropic)\.\w+)`", PAGE)
    assert named
    assert [name for name in named if provider_tool(name) is None] == []
    assert len(Toolset(ProviderTool(name) for name in dict.fromkeys(named)).names) == len({*named})


def test_a_tool_of_ones_own_is_offered_for_an_operation_without_one() -> None:
    from dragoman.engine import Facade
    from dragoman.registry import DIALECTS
    from dragoman.tools import Context

    async def search(operation: op.SearchDocuments, context: Context) -> str:
        return "found"

    facade = Facade(DIALECTS["plain"], Toolset([Tool.from_operation(op.SearchDocuments, search)]))
    assert [definition.name for definition in facade.definitions] == ["search_documents"]
