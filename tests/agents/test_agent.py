"""What an agent may use, and how far it may go."""

from __future__ import annotations

import pytest

from dragoman.agents import Agent, AgentLimits, CustomTool

OWN = CustomTool(name="own", description="d", prompt="p", parameters={"type": "object", "properties": {}})


@pytest.mark.parametrize(
    "tools, name, operation, tags, allowed",
    [
        (None, "anything", None, (), True),
        ((), "read_file", "read_file", (), False),
        ((), "own", None, (), True),
        (("read_file",), "read_file", "read_file", (), True),
        (("read_file",), "Read", "read_file", (), True),
        (("read_file",), "write_file", "write_file", (), False),
        (("my_*",), "my_tool", None, (), True),
        (("github/*",), "mcp__github__list", None, ("mcp", "mcp:github"), True),
        (("github/list_*",), "mcp__github__list_issues", None, ("mcp:github",), True),
        (("github/list_*",), "mcp__github__delete", None, ("mcp:github",), False),
        (("github/*",), "mcp__gitlab__list", None, ("mcp:gitlab",), False),
        (("*/*",), "mcp__gitlab__list", None, ("mcp:gitlab",), True),
        (("*/*",), "read_file", "read_file", (), False),
        # A name that only looks like a server's: the tag tells.
        (("github/*",), "mcp__github__list", None, (), False),
    ],
)
def test_what_an_agent_may_use(
    tools: tuple[str, ...] | None, name: str, operation: str | None, tags: tuple[str, ...], allowed: bool
) -> None:
    agent = Agent(name="a", tools=tools, custom_tools=(OWN,))
    assert agent.may_use(name, operation, tags) is allowed


def test_limits_that_make_no_sense_are_refused_together() -> None:
    with pytest.raises(ValueError, match=r"max_depth must be 0 or more, not -1; max_turns must be 1 or more, not 0"):
        AgentLimits(max_depth=-1, max_turns=0)
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout must be more than 0 seconds"):
            AgentLimits(timeout=timeout)
    assert AgentLimits(max_depth=0, max_fanout=0, max_tokens=None).timeout is None
