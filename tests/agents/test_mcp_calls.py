"""A call of a server's tool is one operation: made live, read from our record, or found in another client's log."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents import McpServer, McpServers
from dragoman.engine import Approval, Executor, Facade, Hooks, Orchestrator, ScriptedEngine, ToolPolicy
from dragoman.engine.respeak import respoken
from dragoman.errors import DefinitionError
from dragoman.logs import Recorder, read
from dragoman.model import (
    AnyEvent,
    Call,
    CallPart,
    Failure,
    FinishReason,
    NativeCall,
    Reply,
    ResultPart,
    ToolCalled,
    ToolReturned,
    operations as op,
    outcomes as out,
)
from dragoman.registry import DIALECTS
from dragoman.tools import Context, Tool, Toolset

PEER = str(Path(__file__).with_name("mcp_peer.py"))
ECHO = op.CallMcpTool("peer", "echo", {"text": "hi"})


def peer(name: str = "peer") -> McpServer:
    return McpServer(name=name, transport="stdio", command=(sys.executable, PEER))


def calls(name: str, arguments: dict[str, Any]) -> Reply:
    return Reply((CallPart(NativeCall("c1", name, arguments)),), FinishReason.CALLS)


def served(server: str, tool: str, name: str) -> Tool:
    async def run(arguments: dict[str, Any]) -> str:
        return f"{server}.{tool} {arguments}"

    return Tool(name, "Does it.", {"type": "object"}, run, mcp=(server, tool))


def called(events: list[AnyEvent]) -> list[op.Operation]:
    return [one for event in events if isinstance(event, ToolCalled) for one in event.call.operations]


def claude_log(path: Path) -> Path:
    """The same call as Claude Code writes it down."""
    block = {"type": "tool_use", "id": "t1", "name": "mcp__peer__echo", "input": {"text": "hi"}}
    message = {"id": "m1", "role": "assistant", "model": "claude-x", "content": [block]}
    facts = {"uuid": "u1", "parentUuid": None, "isSidechain": False, "sessionId": "s-1", "version": "2.1.300"}
    record = {"type": "assistant", **facts, "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z", "message": message}
    path.write_text(json.dumps(record) + "\n")
    return path


async def test_a_live_call_is_recorded_as_what_other_clients_logs_say_it_is(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    events: list[AnyEvent] = []
    script = [calls("mcp__peer__echo", {"text": "hi"}), "done"]
    with Recorder(record) as recorder:

        def emit(event: AnyEvent) -> None:
            events.append(event)
            recorder(event)

        async with McpServers([peer()]) as servers:
            run = Orchestrator(ScriptedEngine(script), servers.toolset, dialect="claude_code", emit=emit)
            assert (await run.run("say hi")).status == "completed"
    assert called(events) == [ECHO]
    assert called(list(read(record))) == [ECHO]
    assert called(list(read(claude_log(tmp_path / "claude.jsonl")))) == [ECHO]
    (returned,) = [event.result for event in events if isinstance(event, ToolReturned)]
    assert (returned.outcomes, returned.native and returned.native.content) == ((out.TextOutcome("hi"),), "hi")


async def test_names_that_had_to_change_mean_the_server_and_tool_themselves() -> None:
    tool = served("my server", "get.sum", "mcp__my_server__get_sum_015760022f")
    facade = Facade(DIALECTS["gemini_cli"], Toolset([tool]))
    (shown,) = [definition.name for definition in facade.definitions]
    assert shown is not None
    call = facade.read_call(NativeCall("1", shown, {"a": 1}))
    assert call.operations == (op.CallMcpTool("my server", "get.sum", {"a": 1}),)
    assert facade.write_call("1", call.operations[0]) == (NativeCall("1", shown, {"a": 1}),)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS.built_in if name != "claude_code"])
async def test_a_history_in_another_dialect_keeps_the_operation_and_its_result(dialect: str) -> None:
    toolset = Toolset([served("peer", "echo", "mcp__peer__echo")])
    old, new = Facade(DIALECTS["claude_code"], toolset), Facade(DIALECTS[dialect], toolset)
    script = [calls("mcp__peer__echo", {"text": "hi"}), "done"]
    run = Orchestrator(ScriptedEngine(script), toolset, dialect="claude_code")
    history = (await run.run("say hi")).conversation
    told, notes = respoken(history, new, lambda _: old)
    parts = [part for item in told for part in item.parts]
    (call,) = [part.call for part in parts if isinstance(part, CallPart)]
    (result,) = [part.result for part in parts if isinstance(part, ResultPart)]
    meant = new.read_call(call)
    assert (meant.operations, notes) == ((ECHO,), ())
    assert call.name in {definition.name for definition in new.definitions}
    (outcome,) = new.read_result(meant, result).outcomes
    assert outcome in (
        out.TextOutcome("peer.echo {'text': 'hi'}"),
        out.ContentOutcome(("peer.echo {'text': 'hi'}",)),
    )


def test_a_history_that_names_no_server_finds_the_only_tool_of_that_name() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([served("peer", "echo", "mcp__peer__echo")]))
    assert facade.write_call("1", op.CallMcpTool(None, "echo", {}))[0].name == "mcp__peer__echo"
    two = Toolset([served("a", "echo", "mcp__a__echo"), served("b", "echo", "mcp__b__echo")])
    assert Facade(DIALECTS["plain"], two).write_call("1", op.CallMcpTool("b", "echo", {}))[0].name == "mcp__b__echo"


async def ran(operation: op.Operation, *rules: Approval, hooks: Hooks | None = None) -> out.Outcome:
    toolset = Toolset([served("peer", "echo", "mcp__peer__echo")])
    executor = Executor(toolset, ToolPolicy(approval=rules), Context(), hooks=hooks or Hooks())
    (result,) = await executor.run([Call("1", (operation,), NativeCall("1", "mcp__peer__echo", {}))])
    return result.outcomes[0]


@pytest.mark.parametrize(
    "rule",
    [
        Approval("deny", tool="mcp__peer__*"),
        Approval("deny", operation="call_mcp_tool"),
        Approval("deny", path="secret*"),
    ],
)
async def test_rules_speak_of_it_by_name_by_operation_and_by_the_paths_in_its_arguments(rule: Approval) -> None:
    outcome = await ran(op.CallMcpTool("peer", "echo", {"path": "secret.txt"}), rule)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "denied"


async def test_it_is_run_by_the_tool_of_that_server_alone() -> None:
    assert await ran(ECHO) == out.TextOutcome("peer.echo {'text': 'hi'}")
    other = await ran(op.CallMcpTool("elsewhere", "echo", {}))
    assert isinstance(other, Failure)
    assert other.kind == "unknown_tool"
    assert 'no tool "echo" of an MCP server "elsewhere"' in other.message


async def test_a_hook_may_name_it_as_a_function_or_as_what_it_is() -> None:
    for instead in (op.CallFunction("mcp__peer__echo", {}), op.CallMcpTool("peer", "echo", {})):
        hooks = Hooks(before=lambda call, instead=instead: Call(call.id, (instead,), call.native))
        assert await ran(ECHO, hooks=hooks) == out.TextOutcome("peer.echo {}")


def test_what_it_is_on_its_server_is_two_names() -> None:
    with pytest.raises(DefinitionError, match="`mcp` is 'peer'; it must be the names of a server and of its tool"):
        Tool("a", "Does it.", {"type": "object"}, lambda arguments: None, mcp="peer")  # type: ignore[arg-type]
    assert served("a", "b", "c").renamed("d").mcp == ("a", "b")
