"""Plugins beside agents: one that is broken breaks nothing but itself, and one that works is used by its name."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.model import AnyEvent
from tests.engine.loopback import Turn, loopback

from .conftest import User
from .test_agent_run import PLAIN, no_keys, runs
from .test_from_session import ID, session

__all__ = ["no_keys"]

BROKEN = {
    "raises": "TOOLS = {'acme.x': 1}\nraise RuntimeError('boom')\n",
    "ends": "import sys\nTOOLS = {'acme.x': 1}\nsys.exit(3)\n",
    "rubbish": "TOOLS = {'acme.x': 1}\n",
    "taken": """
from dragoman import tool


@tool(kind="read", name="read_file")
def mine(path: str) -> str:
    \"\"\"Read it my way.\"\"\"
    return "mine"


TOOLS = {"acme.x": mine}
""",
    "an agent's": """
from dragoman import tool


@tool(kind="read", name="spawn_agent")
def mine(path: str) -> str:
    \"\"\"Start it my way.\"\"\"
    return "mine"


TOOLS = {"acme.x": mine}
""",
}
SHOUT = """
from dragoman import tool


@tool(kind="read")
def shout(text: str) -> str:
    \"\"\"Say it louder.\"\"\"
    return text.upper()


TOOLS = {"acme.shout": shout}
"""
MODEL = "model: openai-chat:m\ndialect: plain\n"


@pytest.mark.parametrize("plugin", BROKEN)
async def test_a_broken_plugin_costs_an_agent_nothing(user: User, plugin: str) -> None:
    user.plugin("acme.py", BROKEN[plugin])
    user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more=MODEL))
    async with loopback(Turn("Hello.")) as server:
        answer = await runs(user, server, "--agent", "one", "Go")
    assert (answer.code, answer.out) == (0, "Hello.\n"), answer.err


@pytest.mark.parametrize("plugin", ["raises", "rubbish", "taken"])
def test_a_broken_plugin_costs_a_replay_nothing(user: User, plugin: str) -> None:
    user.plugin("acme.py", BROKEN[plugin])
    session(user)
    (user.here / "notes.txt").write_text("tea")
    assert user.types("replay", ID, "--workspace", str(user.here)).code == 0


def test_an_agent_that_names_a_broken_one_is_told_why(user: User) -> None:
    user.plugin("acme.py", BROKEN["raises"])
    path = user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more="tools: [acme.x]\n"))
    answer = user.types("agents", "check", str(path))
    assert answer.code == 1
    assert 'line 4: tools[0]: the tool "acme.x" cannot be used: RuntimeError: boom' in answer.out


def test_an_agent_that_speaks_a_broken_dialect_is_told_why_and_what_else_is_wrong(user: User) -> None:
    user.plugin("acme.py", "DIALECTS = {'acme': 1}\nraise RuntimeError('boom')\n")
    more = "dialect: acme\ntools: [reed_file]\n"
    path = user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more=more))
    (found,) = user.types("agents", "check", str(path), "--json").json
    assert found["problems"] == [
        'line 4: dialect: the dialect "acme" cannot be used: RuntimeError: boom',
        'line 5: tools[0]: there is no tool "reed_file". Did you mean "read_file"?',
    ]


async def test_a_tool_is_named_as_it_is_listed_whatever_it_calls_itself(user: User) -> None:
    user.plugin("acme.py", SHOUT)
    more = f"{MODEL}tools: ['acme.*', read_file]\npolicy: {{ deny: [acme.shout] }}\n"
    user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more=more))
    user.write(user.here / "agents" / "two.md", PLAIN.format(name="two", more=f"{MODEL}tools: [acme.shout]\n"))
    shouts = Turn(calls=(("c1", "shout", {"text": "hi"}),))
    async with loopback(shouts, Turn("No."), shouts, Turn("Yes.")) as server:
        denied = await runs(user, server, "--agent", "one", "Go")
        done = await runs(user, server, "--agent", "two", "Go")
    assert (denied.out, done.out) == ("No.\n", "Yes.\n")
    offered = [{tool["function"]["name"] for tool in one.body["tools"]} for one in server.requests]
    assert offered == [{"shout", "vfs_read"}] * 2 + [{"shout"}] * 2
    told = [one.body["messages"][-1]["content"] for one in server.requests[1::2]]
    assert "not allowed" in told[0]
    assert told[1] == "HI"


async def test_what_a_plugin_prints_when_it_is_loaded_is_not_the_answer(user: User) -> None:
    user.plugin("acme.py", f"print('here I am')\n{SHOUT}")
    user.write(user.here / "agents" / "one.md", PLAIN.format(name="one", more=f"{MODEL}tools: [acme.shout]\n"))
    for words in (["list"], ["check", "agents"], ["show", "one"]):
        answer = user.types("agents", *words, "--json")
        assert answer.code == 0
        assert answer.json
        assert "here I am" in answer.err
    async with loopback(Turn("Hello.")) as server:
        ran = await runs(user, server, "--agent", "one", "--json", "Go")
    assert [msgspec.json.decode(line, type=AnyEvent) for line in ran.out.splitlines()]
