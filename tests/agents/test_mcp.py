"""MCP servers as tools: real processes over real pipes, well-behaved and not."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.agents.mcp.connection import ERRORS_KEPT
from dragoman.agents.mcp.servers import McpServer, McpServers, mcp_server_at, mcp_tool_name
from dragoman.apis import APIS
from dragoman.engine import Executor, Orchestrator, Retry, ScriptedEngine, ToolPolicy
from dragoman.errors import DefinitionError, MissingExtra
from dragoman.model import (
    AnyEvent,
    Call,
    CallPart,
    Failure,
    FinishReason,
    Kind,
    ModelAsked,
    NativeCall,
    Reply,
    Result,
    operations as op,
    outcomes as out,
)
from dragoman.registry import TOOLS
from dragoman.tools import Context, Tool, Toolset
from dragoman.tools.running import outcome_of

from .mcp_peer import PNG

PEER = str(Path(__file__).with_name("mcp_peer.py"))


def peer(*flags: str, name: str = "peer", **facts: Any) -> McpServer:
    return McpServer(name=name, transport="stdio", command=(sys.executable, PEER, *flags), **facts)


async def run(servers: McpServers, tool: str, _context: Context | None = None, **arguments: Any) -> out.Outcome:
    """What a tool of the peer gives, as the executor would see it."""
    found = servers.toolset.get(mcp_tool_name("peer", tool))
    assert isinstance(found, Tool)
    return await outcome_of(lambda: found.call(arguments, _context or Context()))


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """No task, process or open file remains of what is done within."""
    tasks, files = asyncio.all_tasks(), set(os.listdir("/proc/self/fd"))
    yield
    assert asyncio.all_tasks() == tasks
    assert not children()
    assert set(os.listdir("/proc/self/fd")) <= files


def children() -> list[str]:
    here = f"/proc/self/task/{os.getpid()}/children"
    return Path(here).read_text().split()


def gone(process: int, seconds: float = 20.0) -> bool:
    """Whether a process ends; waits for it, not for the clock."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


# ── names ────────────────────────────────────────────────────────────────────

ODD = st.text(max_size=80) | st.text(alphabet="ab_-0f", max_size=12)


@given(ODD, ODD)
def test_every_name_is_legal_for_every_provider(server: str, tool: str) -> None:
    name = mcp_tool_name(server, tool)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name)
    assert name == mcp_tool_name(server, tool)
    for api in APIS.values():
        limits = api.limits("")
        assert limits.name_length is None or len(name) <= limits.name_length
        assert limits.name_pattern is None or re.fullmatch(limits.name_pattern, name)


@given(st.tuples(ODD, ODD), st.tuples(ODD, ODD))
def test_no_two_tools_have_one_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (mcp_tool_name(*one) == mcp_tool_name(*other)) == (one == other)


@pytest.mark.parametrize(
    "one, other",
    [
        (("a", "b__c"), ("a__b", "c")),
        (("a_", "b"), ("a", "_b")),
        (("a.b", "c"), ("a_b", "c")),
        (("s", "t" * 100), ("s", "t" * 101)),
        (("s", "x y"), ("s", mcp_tool_name("s", "x y").removeprefix("mcp__s__"))),
    ],
)
def test_names_that_would_meet_are_kept_apart(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert mcp_tool_name(*one) != mcp_tool_name(*other)


def test_an_ordinary_name_is_the_one_models_know() -> None:
    assert mcp_tool_name("github", "create_issue") == "mcp__github__create_issue"
    assert mcp_tool_name("my-server", "get-sum") == "mcp__my-server__get-sum"
    assert mcp_tool_name("my server", "get.sum") == "mcp__my_server__get_sum_015760022f"


# ── what is offered ──────────────────────────────────────────────────────────


async def test_every_tool_of_a_server_is_one_of_ours() -> None:
    async with nothing_left(), McpServers([peer("--pages", timeout=9.0, trust_hints=True)]) as servers:
        tools = {tool.name: tool for tool in servers.toolset if isinstance(tool, Tool)}
        assert [name for name in tools if not name.startswith("mcp__peer__")] == [
            "list_mcp_resources",
            "read_mcp_resource",
        ]
        assert servers.problems == {
            "peer": ("its tool 'broken' cannot be offered: #/properties/a/type: \"nonsense\" is not a JSON type.",)
        }
        assert servers.instructions == {"peer": "Ask nicely."}
        look, put, echo, bare = (tools[f"mcp__peer__{name}"] for name in ("look", "put", "echo", "bare"))
        assert (look.kind, look.repeatable) == (Kind.READ, True)
        assert (put.kind, put.repeatable, put.description) == (None, True, "Put it there")
        assert (echo.kind, echo.repeatable, echo.timeout) == (None, False, 9.0)
        assert echo.tags == ("mcp", "mcp:peer")
        assert echo.parameters == {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        }
        assert (bare.parameters, bare.description) == (
            {"type": "object"},
            "The tool bare of the MCP server peer.",
        )


async def test_hints_of_a_server_that_is_not_trusted_are_part_of_the_definition_and_decide_nothing() -> None:
    async with McpServers([peer()]) as servers:
        tools = {tool.mcp[1]: tool for tool in servers.toolset if isinstance(tool, Tool) and tool.mcp is not None}
        assert {(tool.kind, tool.repeatable) for tool in tools.values()} == {(None, False)}
        assert tools["look"].hints == {"annotations": {"readOnlyHint": True}}
        assert tools["look"].snapshot()["hints"] == tools["look"].hints
        assert tools["put"].hints == {"title": "Put it there", "annotations": {"idempotentHint": True}}
        assert tools["echo"].hints is None
        reading = servers.toolset.get("read_mcp_resource")
        assert isinstance(reading, Tool)
        assert (reading.kind, reading.repeatable) == (Kind.FETCH, False)


async def test_every_provider_takes_the_tools_as_they_are() -> None:
    async with McpServers([peer()]) as servers:
        for tool in servers.toolset:
            assert isinstance(tool, Tool)
            for api in APIS.values():
                assert not [problem for problem in api.check(tool.definition) if not problem.fixed]


async def test_resources_are_listed_and_read() -> None:
    async with McpServers([peer()]) as servers:
        listing, reading = servers.toolset.get("list_mcp_resources"), servers.toolset.get("read_mcp_resource")
        assert isinstance(listing, Tool)
        assert isinstance(reading, Tool)
        note = out.Resource("peer://note", "note", media_type="text/plain", server="peer")
        assert await listing.call({}, Context()) == out.ResourcesOutcome((note,))
        assert await listing.call({"templates": True}, Context()) == out.ResourcesOutcome(
            (out.Resource("peer://{name}", "any", server="peer"),)
        )
        assert await reading.call({"uri": "peer://note"}, Context()) == out.ResourcesOutcome(
            (out.Resource("peer://note", media_type="text/plain", server="peer", text="a note"),)
        )
        lost = await outcome_of(lambda: reading.call({"uri": "peer://note", "server": "pear"}, Context()))
        assert isinstance(lost, Failure)
        assert lost.message.endswith('Did you mean "peer"?')


def test_two_servers_of_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError, match="two servers called 'peer'"):
        McpServers([peer(), peer()])


async def test_two_servers_stand_side_by_side() -> None:
    async with nothing_left(), McpServers([peer(), peer(name="other")]) as servers:
        assert {"mcp__peer__echo", "mcp__other__echo"} <= set(servers.toolset.names)
        found = servers.toolset.get("read_mcp_resource")
        assert isinstance(found, Tool)
        which = await outcome_of(lambda: found.call({"uri": "peer://note"}, Context()))
        assert isinstance(which, Failure)
        assert which.message == "say which server has it: peer, other"


# ── what comes back ──────────────────────────────────────────────────────────

BLOB = base64.b64encode(b"%PDF-").decode()
RESULTS: list[tuple[dict[str, Any], out.Outcome]] = [
    ({"content": [{"type": "text", "text": "ünïcode 🎻 \u2028"}]}, out.TextOutcome("ünïcode 🎻 \u2028")),
    ({"content": []}, out.DoneOutcome()),
    ({"content": [], "structuredContent": {"n": 7}}, out.JsonOutcome({"n": 7})),
    (
        {"content": [{"type": "text", "text": "seven"}], "structuredContent": {"n": 7}},
        out.ContentOutcome(("seven",), {"n": 7}),
    ),
    (
        {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]},
        out.ImageOutcome(out.Media("image/png", data=PNG, width=2, height=2, size=73)),
    ),
    (
        {
            "content": [
                {"type": "text", "text": "listen"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            ]
        },
        out.ContentOutcome(("listen", out.Media("audio/wav", data="AAAA", size=3))),
    ),
    (
        {"content": [{"type": "resource", "resource": {"uri": "a://b", "mimeType": "text/x", "text": "hi"}}]},
        out.ResourcesOutcome((out.Resource("a://b", media_type="text/x", server="peer", text="hi"),)),
    ),
    (
        {"content": [{"type": "resource_link", "uri": "a://b", "name": "b", "description": "about b"}]},
        out.ResourcesOutcome((out.Resource("a://b", "b", "about b", server="peer"),)),
    ),
    (
        {"content": [{"type": "resource", "resource": {"uri": "a://b", "mimeType": "application/pdf", "blob": BLOB}}]},
        out.ContentOutcome((out.Media("application/pdf", data=BLOB, url="a://b", size=5),)),
    ),
    (
        {
            "content": [
                {"type": "text", "text": "see"},
                {"type": "resource", "resource": {"uri": "a://b", "text": "hi"}},
                {"type": "resource_link", "uri": "a://c", "name": "c", "mimeType": "text/x"},
            ]
        },
        out.ContentOutcome(("see", "[a://b]\nhi", "[a://c (text/x)] c")),
    ),
    (
        {"content": [{"type": "text", "text": "it broke"}], "structuredContent": {"code": 5}, "isError": True},
        Failure("failed", "it broke", {"server": "peer", "structured": {"code": 5}}),
    ),
    (
        {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}], "isError": True},
        Failure(
            "failed",
            "The tool failed, and its server did not say why.",
            {
                "server": "peer",
                "content": [{"media_type": "image/png", "data": PNG, "width": 2, "height": 2, "size": 73}],
            },
        ),
    ),
]


async def test_everything_a_result_holds_is_in_the_outcome() -> None:
    async with McpServers([peer()]) as servers:
        for result, outcome in RESULTS:
            assert await run(servers, "give", **result) == outcome


async def test_long_results_and_many_calls_at_once_arrive_whole() -> None:
    async with McpServers([peer()]) as servers:
        long = run(servers, "long", size=300_000)
        others = [run(servers, "echo", text=f"number {number}") for number in range(50)]
        first, *rest = await asyncio.gather(long, *others)
        assert first == out.TextOutcome("é" * 300_000)
        assert rest == [out.TextOutcome(f"number {number}") for number in range(50)]


async def test_arguments_that_do_not_fit_never_reach_the_server() -> None:
    async with McpServers([peer()]) as servers:
        outcome = await run(servers, "echo", txt="x")
        assert isinstance(outcome, Failure)
        assert outcome.kind == "invalid_arguments"


async def test_an_error_of_the_protocol_is_a_failure_with_its_code() -> None:
    async with McpServers([peer()]) as servers:
        assert await run(servers, "refuse") == Failure(
            "invalid_arguments",
            "the MCP server peer answered: I do not want to",
            {"server": "peer", "code": -32602, "data": {"why": "mood"}},
        )


@pytest.mark.parametrize("tool", ["wrong", "stamp"])
async def test_a_result_that_is_none_is_a_failure(tool: str) -> None:
    async with McpServers([peer()]) as servers:
        outcome = await run(servers, tool)
        assert isinstance(outcome, Failure)
        assert outcome.message.startswith("the MCP server peer gave a result that cannot be read: ")
        assert await run(servers, "echo", text="still there") == out.TextOutcome("still there")


async def test_nonsense_between_messages_is_passed_over() -> None:
    async with McpServers([peer()]) as servers:
        assert await run(servers, "babble") == out.TextOutcome("done babbling")


# ── while it runs ────────────────────────────────────────────────────────────


def executor(servers: McpServers, heard: list[tuple[str, Any]], **policy: Any) -> Executor:
    def emit(what: str, **facts: Any) -> None:
        heard.append((what, facts))

    return Executor(servers.toolset, ToolPolicy(**policy), Context(), emit=emit)


def calling(tool: str, id: str = "c1", **arguments: Any) -> Call:
    name = mcp_tool_name("peer", tool)
    return Call(id, (op.CallFunction(name, arguments),), NativeCall(id, name, arguments))


async def test_progress_is_told_as_it_comes() -> None:
    heard: list[tuple[str, Any]] = []
    async with McpServers([peer()]) as servers:
        await executor(servers, heard).run([calling("steps")])
    told = [(facts["message"], round(facts["fraction"], 2)) for what, facts in heard if what == "progressed"]
    assert told == [("step 1", 0.33), ("step 2", 0.67), ("step 3", 1.0)]


async def test_a_call_that_takes_too_long_is_stopped_and_the_server_told() -> None:
    async with nothing_left(), McpServers([peer()]) as servers:
        (result,) = await executor(servers, [], timeout=1.0).run([calling("wait")])
        assert result.outcomes == (
            Failure(
                "timed_out",
                "It was stopped after 1 seconds. Changes made before it was stopped remain.",
                {"seconds": 1.0},
            ),
        )
        cancelled = await run(servers, "cancelled")
        assert isinstance(cancelled, out.TextOutcome)
        assert len(json.loads(cancelled.text)) == 1


async def test_a_cancelled_run_cancels_its_calls_at_the_server() -> None:
    began = asyncio.Event()

    async with nothing_left(), McpServers([peer()]) as servers:
        context = Context(report=lambda *_: began.set())
        task = asyncio.create_task(run(servers, "wait", context))
        await began.wait()
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        cancelled = await run(servers, "cancelled")
        assert isinstance(cancelled, out.TextOutcome)
        assert len(json.loads(cancelled.text)) == 1


def calls(name: str) -> Reply:
    return Reply((CallPart(NativeCall(name, name, {})),), FinishReason.CALLS)


async def test_a_run_is_offered_new_tools_in_its_next_round() -> None:
    asked: list[tuple[str, ...]] = []

    def heard(event: AnyEvent) -> None:
        if isinstance(event, ModelAsked):
            asked.append(event.offered)

    script = [calls("mcp__peer__grow"), calls("mcp__peer__grown"), "done"]
    async with McpServers([peer()]) as servers:
        tools = Toolset([TOOLS["read_file"]])
        servers.join(tools)
        run = Orchestrator(ScriptedEngine(script), tools, ToolPolicy(), dialect="plain", emit=heard)
        result = await run.run("grow")
        assert result.status == "completed"
        assert tools.names[0] == "read_file"
    assert [names.count("mcp__peer__grown") for names in asked] == [0, 1, 1]
    assert asked[1][: len(asked[0])] == asked[0]


async def test_a_change_is_followed_by_whoever_wants_to_know() -> None:
    changes = asyncio.Queue[None]()
    async with McpServers([peer()], changed=lambda: changes.put_nowait(None)) as servers:
        await changes.get()
        before = servers.toolset
        assert servers.toolset is before
        assert await run(servers, "grow") == out.TextOutcome("grown")
        await changes.get()
        assert set(servers.toolset.names) - set(before.names) == {"mcp__peer__grown"}
        assert await run(servers, "grown") == out.TextOutcome("grown: done")


MODERN = """
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("modern")

async def grown() -> str:
    return "new here"

@server.tool()
async def grow(context: Context) -> str:
    server.add_tool(grown)
    await context.notify_tools_changed()
    return "grown"

server.run()
"""


async def test_new_tools_of_a_server_of_the_latest_protocol_are_offered_too() -> None:
    changes = asyncio.Queue[None]()
    server = mcp_server_at(sys.executable, "-c", MODERN, name="peer")
    async with nothing_left(), McpServers([server], changed=lambda: changes.put_nowait(None)) as servers:
        await changes.get()
        client = servers.connections["peer"].client
        assert client is not None
        assert client.protocol_version == "2026-07-28"
        await run(servers, "grow")
        await changes.get()
        assert servers.toolset.names == ("mcp__peer__grow", "mcp__peer__grown", *servers.toolset.names[2:])
        outcome = await run(servers, "grown")
        assert isinstance(outcome, out.ContentOutcome)
        assert outcome.content == ("new here",)


# ── death and return ─────────────────────────────────────────────────────────


async def process_of(servers: McpServers) -> int:
    told = await run(servers, "process")
    assert isinstance(told, out.TextOutcome)
    return int(told.text)


async def test_a_server_killed_in_the_middle_of_a_call_fails_it_and_comes_back() -> None:
    began = asyncio.Event()
    async with nothing_left(), McpServers([peer()]) as servers:
        first = await process_of(servers)
        call = asyncio.create_task(run(servers, "wait", Context(report=lambda *_: began.set())))
        await began.wait()
        os.kill(first, signal.SIGKILL)
        outcome = await call
        assert outcome == Failure(
            "failed",
            "The MCP server peer is not running: it ended. Whether the call took effect is not known: look first. "
            "The next call starts the server again.",
            {"server": "peer"},
        )
        assert servers.problems["peer"][0].startswith("The MCP server peer is not running")
        assert await process_of(servers) != first
        assert servers.connections["peer"].starts == 2


async def test_a_server_that_died_while_nobody_called_is_started_by_the_next_call() -> None:
    async with nothing_left(), McpServers([peer()]) as servers:
        first = await process_of(servers)
        os.kill(first, signal.SIGKILL)
        await asyncio.wait([task for task in asyncio.all_tasks() if task.get_name() == "MCP server peer"])
        assert await process_of(servers) != first


async def test_its_last_words_are_kept_and_no_more_than_that() -> None:
    async with McpServers([peer()]) as servers:
        outcome = await run(servers, "die")
        assert isinstance(outcome, Failure)
        assert "It wrote to standard error: xxx" in outcome.message
        assert "last words" in outcome.message
        assert len(outcome.details["stderr"]) == ERRORS_KEPT
        assert outcome.details["stderr"].endswith("x\nlast words\n")


async def test_a_server_that_keeps_dying_is_started_later_and_later(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    slow = Retry(base=1000.0, longest=5000.0, jitter=0.0)
    async with nothing_left(), McpServers([peer("--doomed", "--journal", str(journal))], back_off=slow) as servers:
        for _ in range(2):  # the first death is forgiven: it is started again at once
            assert "it ended" in str(await run(servers, "look"))
        refused = await run(servers, "look")
        assert isinstance(refused, Failure)
        assert re.search(r"It will be started again in (999|1000) seconds at the earliest", refused.message)
        assert journal.read_text().count("started") == 2


async def test_a_server_that_does_not_start_says_why_and_spoils_nothing() -> None:
    async with nothing_left(), McpServers([peer("--crash", name="sick"), peer()]) as servers:
        assert list(servers.problems) == ["sick", "peer"]
        assert servers.problems["sick"] == (
            "The MCP server sick is not running: Connection closed. It wrote to standard error: no configuration found",
        )
        assert await run(servers, "look") == out.TextOutcome("look: done")


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with nothing_left(), McpServers([peer("--mute")], startup=0.5) as servers:
        assert servers.problems == {
            "peer": ("The MCP server peer is not running: it did not answer within 0.5 seconds.",)
        }
        assert servers.toolset.names == ()


async def test_a_program_that_is_not_there_is_named() -> None:
    async with McpServers([mcp_server_at("no-such-program", name="x")]) as servers:
        assert servers.problems["x"] == (
            "The MCP server x is not running: there is no program 'no-such-program' to start it with; "
            "install it, or give its whole path.",
        )


async def test_a_closed_server_is_not_started_again() -> None:
    servers = McpServers([peer()])
    async with servers:
        pass
    outcome = await run(servers, "look")
    assert outcome == Failure("failed", "the MCP server peer was closed", {})


async def test_a_server_can_be_closed_while_it_opens() -> None:
    async with nothing_left():
        servers = McpServers([peer("--mute")])
        opening = asyncio.create_task(servers.__aenter__())
        while not children():
            await asyncio.wait((opening,), timeout=0.01)
        await servers.close()
        await opening


@pytest.mark.slow
async def test_a_server_that_will_not_go_is_made_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mcp.client.stdio

    monkeypatch.setattr(mcp.client.stdio, "PROCESS_TERMINATION_TIMEOUT", 0.1)
    journal = tmp_path / "journal"
    async with nothing_left(), McpServers([peer("--stubborn", "--journal", str(journal))]) as servers:
        await run(servers, "look")
    processes = [int(line.split()[1]) for line in journal.read_text().splitlines()]
    assert len(processes) == 2
    assert all(gone(process) for process in processes)


ORPHANS = """
import asyncio, sys
from dragoman.agents.mcp.servers import McpServers, mcp_server_at

async def main():
    async with McpServers([mcp_server_at(sys.executable, *sys.argv[1:], name="peer")]) as servers:
        print(servers.connections["peer"].client is not None, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def test_no_server_outlives_a_process_that_was_killed(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    command = [sys.executable, "-c", ORPHANS, PEER, "--stubborn", "--journal", str(journal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == "True\n"
        ours.kill()
    processes = [int(line.split()[1]) for line in journal.read_text().splitlines()]
    assert len(processes) == 2
    assert all(gone(process) for process in processes)


async def test_a_server_gets_no_variables_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.config import Secret

    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("TOKEN", "abc")
    server = peer(env={"GIVEN": Secret("it is ${TOKEN}"), "ELSE": Secret("${UNSET_HERE:-other}")})
    async with McpServers([server]) as servers:
        told = await run(servers, "variables")
        assert isinstance(told, out.TextOutcome)
        variables = json.loads(told.text)
    assert (variables["GIVEN"], variables["ELSE"]) == ("it is abc", "other")
    assert "SOME_API_KEY" not in variables
    assert "TOKEN" not in variables


async def test_a_variable_that_is_missing_is_named() -> None:
    from dragoman.config import Secret

    async with McpServers([peer(env={"A": Secret("${NOT_SET_ANYWHERE}")})]) as servers:
        assert "the environment variable NOT_SET_ANYWHERE is not set" in servers.problems["peer"][0]


async def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtra, match=r"install 'mcp>=.*' 'uvicorn>="):
        async with McpServers([peer()]):
            pass


async def test_results_are_told_to_the_model_in_order() -> None:
    async with McpServers([peer()]) as servers:
        calls = [calling("echo", f"c{number}", text=str(number)) for number in range(6)]
        results = await executor(servers, []).run(calls)
        assert [(one.call_id, one.outcomes) for one in results] == [
            (f"c{number}", (out.TextOutcome(str(number)),)) for number in range(6)
        ]
        assert all(isinstance(one, Result) for one in results)
