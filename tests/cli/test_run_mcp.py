"""`dragoman run` with MCP servers: real servers over real pipes, beside a model that plays its turns."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dragoman.logs import read_events
from dragoman.model import CallMcpTool, ToolCalled
from tests.engine.loopback import Loopback, Turn, loopback

from .conftest import User
from .terminal import Terminal
from .test_chat import chats
from .test_run import DONE, no_keys, records, runs, said, starts
from .test_run_terminal import at_terminal

__all__ = ["no_keys"]

PEER = str(Path(__file__).parents[1] / "agents" / "mcp_peer.py")
ASKING = f'[mcp.servers.asking]\ncommand = "{sys.executable}"\nargs = ["{Path(PEER).with_name("mcp_asking.py")}"]\n'
ECHO = Turn("I ask the server.", calls=(("c1", "mcp__peer__echo", {"text": "hello there"}),))


def server_of(*flags: str, name: str = "peer") -> str:
    return f'[mcp.servers.{name}]\ncommand = "{sys.executable}"\nargs = {json.dumps([PEER, *flags])}\n'


def offered(server: Loopback) -> list[str]:
    return [tool["name"] for tool in server.requests[-1].body["tools"]]


async def test_tools_of_a_server_that_is_set_up_are_offered_called_and_recorded_as_what_they_are(
    user: User,
) -> None:
    user.settings(server_of())
    async with loopback(ECHO, DONE) as server:
        answer = await starts(user, server, "--yes", "say hello")
        assert "mcp__peer__echo" in offered(server)
        assert "ListMcpResourcesTool" in offered(server)
        assert "Read" in offered(server)
        assert "hello there" in said(server.requests[1])
    assert (answer.code, answer.out) == (0, "I ask the server.\nIt is done.\n")
    assert '● echo of peer {"text":"hello there"}' in answer.err.splitlines()
    assert "its tool 'broken' cannot be offered" in answer.err
    (record,) = records(user)
    (called,) = [event.call for event in read_events(record) if isinstance(event, ToolCalled)]
    assert called.operations == (CallMcpTool("peer", "echo", {"text": "hello there"}),)
    printed = user.types("events", str(record), "--kind", "tool_called").json
    assert printed["operations"] == [
        {"type": "call_mcp_tool", "server": "peer", "tool": "echo", "arguments": {"text": "hello there"}}
    ]


async def test_a_call_that_only_looks_needs_no_yes_where_the_server_is_trusted(user: User) -> None:
    user.settings(server_of() + "trust_hints = true\n")
    look = Turn("I look.", calls=(("c1", "mcp__peer__look", {}), ("c2", "mcp__peer__echo", {"text": "x"})))
    async with loopback(look, DONE) as server:
        answer = await runs(user, server, "look")
        assert "look: done" in said(server.requests[1])
    assert answer.code == 0
    assert "1 call was refused, since nobody could be asked" in answer.err


@pytest.mark.parametrize("words", [("--no-mcp",), ("--tools", "none"), ("--tools", "read")])
async def test_no_server_is_started_when_none_of_its_tools_is_wanted(user: User, words: tuple[str, ...]) -> None:
    journal = user.home / "journal"
    user.settings(server_of("--journal", str(journal)))
    async with loopback(DONE) as server:
        answer = await runs(user, server, *words, "hello")
        tools = [tool["name"] for tool in server.requests[0].body.get("tools", ())]
    assert (answer.code, [name for name in tools if name.startswith("mcp")]) == (0, [])
    assert not journal.exists()


async def test_tools_of_servers_are_named_by_globs_like_any_other(user: User) -> None:
    user.settings(server_of() + server_of(name="other"))
    async with loopback(DONE) as server:
        await runs(user, server, "--tools", "read_file,mcp__other__[el]*", "hello")
        assert offered(server) == ["Read", "mcp__other__echo", "mcp__other__look", "mcp__other__long"]
        wrong = await runs(user, server, "--tools", "mcp__peer__ecko", "hello")
    assert wrong.code == 2
    assert 'no MCP server that runs has a tool "mcp__peer__ecko". Did you mean "mcp__peer__echo"?' in wrong.err


async def test_a_server_that_cannot_be_started_is_a_warning_and_costs_nothing_else(user: User) -> None:
    user.settings(server_of("--crash", name="sick") + server_of())
    async with loopback(ECHO, DONE) as server:
        answer = await runs(user, server, "--yes", "say hello")
        assert "mcp__peer__echo" in offered(server)
    assert (answer.code, answer.out) == (0, "I ask the server.\nIt is done.\n")
    assert "The MCP server sick is not running" in answer.err
    assert "no configuration found" in answer.err


async def test_a_projects_servers_are_started_once_it_is_trusted(user: User) -> None:
    journal = user.home / "journal"
    row = {"command": sys.executable, "args": [PEER, "--journal", str(journal)]}
    (user.here / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": row}}))
    async with loopback(DONE, DONE) as server:
        answer = await runs(user, server, "hello")
        assert (answer.code, "mcp__near__echo" in offered(server), journal.exists()) == (0, False, False)
        assert "Not started: near. `dragoman mcp list` says why." in answer.err
        assert user.types("trust").code == 0
        await runs(user, server, "hello")
        assert "mcp__near__echo" in offered(server)
    assert journal.exists()


async def test_a_run_that_is_resumed_has_the_servers_it_had_before(user: User) -> None:
    user.settings(server_of())
    async with loopback(DONE, DONE, DONE, DONE) as server:
        await runs(user, server, "hello")
        with_servers = offered(server)
        resumed = await runs(user, server, "--resume", "last", "and now?")
        assert (resumed.code, offered(server)) == (0, with_servers)
        await runs(user, server, "--no-mcp", "hello")
        without = offered(server)
        await runs(user, server, "--resume", "last", "and now?")
        assert offered(server) == without
    assert [name for name in without if name.startswith("mcp__")] == []


async def test_a_dry_run_offers_what_a_run_would(user: User) -> None:
    user.settings(server_of())
    async with loopback(DONE) as server:
        shown = await runs(user, server, "--dry-run", "hello")
        await runs(user, server, "hello")
        assert json.loads(shown.out) == server.requests[0].body


async def test_another_model_of_a_chat_goes_on_with_the_same_servers(user: User) -> None:
    journal = user.home / "journal"
    user.settings(server_of("--journal", str(journal)))
    async with loopback(ECHO, DONE, DONE) as server:
        answer = await chats(user, server, "say hello\n/model openai-chat:gpt-5.2\nand you?\n", "--yes")
        tools = json.dumps(server.requests[-1].body["tools"])
        told = json.dumps(server.requests[-1].body["messages"])
    assert (answer.code, answer.out) == (0, "I ask the server.\nIt is done.\nIt is done.\n")
    assert '"mcp__peer__echo"' in tools
    assert "hello there" in told
    assert len(journal.read_text().splitlines()) == 1


async def test_a_chat_says_what_a_prompt_of_a_server_says_and_adds_its_resources(user: User) -> None:
    user.settings(ASKING)
    lines = (
        "/prompt\n/prompt asking/review path='a b.py' depth=2\n/prompt asking/example\n"
        "/prompt asking/review\n/prompt review\n/prompt asking/review path='a\n"
        "what is in @asking:notes://today?\nand in @asking:notes://tomorrow?\n"
    )
    async with loopback(DONE, DONE, DONE, DONE) as server:
        answer = await chats(user, server, lines)
    asked = [request.body["messages"][-1]["content"] for request in server.requests]
    texts = [one if isinstance(one, str) else "|".join(part["text"] for part in one) for one in asked]
    assert texts == [
        "Review a b.py to depth 2.",
        "user:|One?|assistant:|Two.|user:|Three?",
        "what is in @asking:notes://today?\n\nContents of notes://today:\n\nbuy milk",
        "and in @asking:notes://tomorrow?",
    ]
    assert "asking/review path=… [depth=…]  Reviews a file." in answer.err
    assert "the prompt asking/review needs path" in answer.err
    assert "Say which: /prompt SERVER/NAME ARGUMENT=VALUE" in answer.err
    assert "The quotes do not match" in answer.err
    assert "@asking:notes://tomorrow is left out: the MCP server asking answered:" in answer.err


async def test_a_server_asks_the_user_on_the_terminal_and_the_model_with_a_yes(user: User) -> None:
    user.settings(ASKING)
    calls = Turn("I book.", calls=(("c1", "mcp__asking__book", {}),))
    think = Turn("I think.", calls=(("c2", "mcp__asking__think", {}),))

    def scene(terminal: Terminal) -> None:
        terminal.sees("Allow it?")
        terminal.types("y\n")
        terminal.sees("? the MCP server asking asks you: name\n  | A table at eight.\n  | Name: Who it is for\n")
        terminal.sees("Your answer > ")
        terminal.types("Ada\n")
        terminal.sees("Your answer > ")
        terminal.types("3\n")
        terminal.sees("Your choice (a number, or your own words) [no] > ")
        terminal.types("\n")
        terminal.sees("? think of asking")
        terminal.sees("Allow it?")
        terminal.types("y\n")
        terminal.sees("mcp_sampling of asking")
        terminal.sees("Answer with a number.")
        terminal.sees("Allow it?")
        terminal.types("y\n")

    async with loopback(calls, think, Turn("42"), DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "book a table")
        assert "accept: {'name': 'Ada', 'people': 3, 'window': False}" in said(server.requests[1])
        assert server.requests[2].body["max_tokens"] == 50
        assert "said 42" in said(server.requests[3])
    assert code == 0
