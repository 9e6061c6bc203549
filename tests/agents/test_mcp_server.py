"""Our tools as an MCP server: the official client, and bare pipes, against a real process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent

from dragoman.agents.mcp.content import from_result, to_outcome
from dragoman.agents.mcp.servers import McpServer, McpServers, mcp_server_at
from dragoman.agents.mcp.tool_server import ToolServer
from dragoman.config import Secret
from dragoman.engine import Approval, ToolPolicy
from dragoman.errors import ConfigError, DefinitionError, ToolError
from dragoman.model import Failure, NativeResult, outcomes as out
from dragoman.registry import TOOLS
from dragoman.tools import Context, MemoryWorkspace, ProviderTool, Tool, Toolset, tool
from dragoman.tools.running import outcome_of
from tests.ports import quiet_port
from tests.strategies import values

from .mcp_peer import PNG
from .test_mcp import gone

SERVE = (sys.executable, "-m", "dragoman", "mcp", "serve")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has set next to nothing."""
    (tmp_path / "work").mkdir()
    folders = {f"DRAGOMAN_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    # In a sandbox a command does not know its own number outside of it.
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DRAGOMAN_SANDBOX__MODE": "off", **folders}


def official(home: dict[str, str], *flags: str, **facts: Any) -> Client:
    order = StdioServerParameters(command=SERVE[0], args=[*SERVE[1:], *flags], env=home, cwd=work(home))
    return Client(order, **facts)


def work(home: dict[str, str]) -> Path:
    return Path(home["HOME"]) / "work"


def write(home: dict[str, str], name: str, text: str) -> None:
    (work(home) / name).write_text(text)


def said(result: Any) -> str:
    (block,) = result.content if isinstance(result.content, list) else [result.content]
    assert isinstance(block, TextContent)
    return block.text


# ── the official client ──────────────────────────────────────────────────────


async def test_the_official_client_lists_and_calls_our_tools_over_pipes(home: dict[str, str]) -> None:
    write(home, "a.txt", "einß\nzwei 🎻\n")
    os.mkfifo(work(home) / "began")
    async with official(home, "--tools", "read_file,write_file,run_command", "--yes") as client:
        assert client.server_info is not None
        assert client.server_info.name == "dragoman"
        listed = {one.name: one for one in (await client.list_tools()).tools}
        assert list(listed) == ["vfs_read", "vfs_write", "run_command"]
        assert listed["vfs_read"].input_schema["required"] == ["path"]
        assert [hints(listed[name]) for name in listed] == [(True, True), (False, False), (False, False)]
        read = await client.call_tool("vfs_read", {"path": "a.txt"})
        assert (read.is_error, said(read)) == (False, "1\teinß\n2\tzwei 🎻")
        assert read.structured_content["type"] == "file_outcome"
        assert read.structured_content["text"] == "einß\nzwei 🎻\n"
        await cancelled_with_all_it_started(client, home)


async def cancelled_with_all_it_started(client: Client, home: dict[str, str]) -> None:
    command = {"command": "echo $$ > began; exec sleep 1000"}
    call = asyncio.create_task(client.call_tool("run_command", command))
    process = int(await asyncio.to_thread((work(home) / "began").read_text))
    call.cancel()
    await asyncio.wait((call,))
    assert call.cancelled()
    assert await asyncio.to_thread(gone, process)


def hints(listed: Any) -> tuple[bool | None, bool | None]:
    return listed.annotations.read_only_hint, listed.annotations.idempotent_hint


@asynccontextmanager
async def served(*names: str, **facts: Any) -> AsyncIterator[Client]:
    """The official client, and our server of these tools in this process."""
    facts.setdefault("workspace", MemoryWorkspace({"a.txt": "one\n"}))
    tools = ToolServer(Toolset([TOOLS[name] for name in names]), **facts)
    async with tools.opened() as server, Client(server) as client:
        yield client


async def test_tools_are_served_in_the_words_of_any_dialect() -> None:
    async with served("read_file", dialect="claude_code", structured=False) as client:
        assert [one.name for one in (await client.list_tools()).tools] == ["Read"]
        read = await client.call_tool("Read", {"file_path": "a.txt"})
        assert "one" in said(read)
        assert read.structured_content is None


async def test_a_freeform_tool_takes_its_text_as_one_argument() -> None:
    workspace = MemoryWorkspace()
    async with served("edit_file", "write_file", dialect="codex", workspace=workspace) as client:
        (patch,) = [one for one in (await client.list_tools()).tools if one.name == "apply_patch"]
        assert patch.input_schema["required"] == ["input"]
        text = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
        done = await client.call_tool("apply_patch", {"input": text})
        assert not done.is_error
    assert workspace.read("new.txt") == b"hello\n"


async def test_failures_are_results_that_say_so() -> None:
    async with served("read_file") as client:
        missing = await client.call_tool("vfs_read", {"path": "nothing.txt"})
        assert (missing.is_error, missing.structured_content["type"]) == (True, "failure")
        wrong = await client.call_tool("vfs_read", {"pfad": "x"})
        assert (wrong.is_error, wrong.structured_content["kind"]) == (True, "invalid_arguments")
        unknown = await client.call_tool("vfs_reed", {})
        assert (unknown.is_error, unknown.structured_content["kind"]) == (True, "unknown_tool")
        assert said(unknown).endswith('Did you mean "vfs_read"?')


async def test_what_would_be_asked_about_is_refused_with_the_reason() -> None:
    workspace = MemoryWorkspace()
    async with served("write_file", policy=ToolPolicy(default="ask"), workspace=workspace) as client:
        refused = await client.call_tool("vfs_write", {"path": "a.txt", "content": "x"})
        assert (refused.is_error, refused.structured_content["kind"]) == (True, "denied")
        assert "nobody is there to be asked" in said(refused)
    with pytest.raises(ToolError):
        workspace.read("a.txt")


async def test_progress_reaches_the_client_in_growing_numbers() -> None:
    @tool
    def climb(context: Context) -> str:
        """Climb."""
        for step in (1, 2, 2, 4):
            context.progress(f"step {step}", fraction=step / 4)
        return "up"

    heard: list[tuple[float, float | None, str | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard.append((round(progress, 3), total, message))

    async with ToolServer(Toolset([climb])).opened() as server, Client(server) as client:
        assert said(await client.call_tool("climb", {}, progress_callback=told)) == "up"
    assert heard == [(0.25, 1.0, "step 1"), (0.5, 1.0, "step 2"), (0.5, 1.0, "step 2"), (1.0, 1.0, "step 4")]


# ── in this process ──────────────────────────────────────────────────────────


async def test_functions_and_operations_are_served_side_by_side() -> None:
    @tool(kind="read")
    def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    workspace = MemoryWorkspace({"a.txt": "one\n"})
    both = ToolServer(Toolset([TOOLS["read_file"], add]), workspace=workspace)
    async with both.opened() as server, Client(server) as client:
        assert [one.name for one in (await client.list_tools()).tools] == ["vfs_read", "add"]
        done = await client.call_tool("add", {"a": 1, "b": "2"})
        assert (said(done), done.structured_content) == ('{"sum":3}', {"type": "json_outcome", "value": {"sum": 3}})
        assert said(await client.call_tool("vfs_read", {"path": "a.txt"})) == "1\tone"


async def test_an_approver_decides_what_is_asked_about() -> None:
    @tool
    def act(what: str) -> str:
        """Act."""
        return f"did {what}"

    asked: list[str] = []

    def approve(question: Any) -> bool:
        asked.append(question.call.native.arguments["what"])
        return bool(question.call.native.arguments["what"] == "good")

    policy = ToolPolicy(default="ask", approval=(Approval("deny", tool="never*"),))
    acting = ToolServer(Toolset([act]), policy=policy, approver=approve)
    async with acting.opened() as server, Client(server) as client:
        assert said(await client.call_tool("act", {"what": "good"})) == "did good"
        assert (await client.call_tool("act", {"what": "bad"})).is_error
    assert asked == ["good", "bad"]


def test_what_a_policy_does_not_allow_is_not_offered() -> None:
    tools = Toolset([TOOLS["read_file"], TOOLS["write_file"]])
    some = ToolServer(tools, policy=ToolPolicy(allowed=("read_*",)))
    assert [one.name for one in some.tools] == ["vfs_read"]


def test_a_tool_that_only_a_provider_runs_cannot_be_served() -> None:
    with pytest.raises(DefinitionError, match="a provider's own tool"):
        ToolServer(Toolset([ProviderTool("anthropic.web_search_20250305")]))


@given(values(out.AnyOutcome))
def test_every_outcome_crosses_the_wire_as_it_is(outcome: Any) -> None:
    told = from_result(NativeResult("c", "words"), (outcome,), structured=True)
    heard = CallToolResult.model_validate_json(told.model_dump_json(by_alias=True))
    back = to_outcome(heard, server="x")
    structured = back.details["structured"] if isinstance(back, Failure) else getattr(back, "structured", None)
    assert msgspec.convert(structured, out.AnyOutcome) == outcome
    assert isinstance(back, Failure) == isinstance(outcome, Failure)


PICTURE = out.Media("image/png", data=PNG)


@pytest.mark.parametrize(
    "piece, kind",
    [
        ("text \ud800", TextContent),
        (PICTURE, ImageContent),
        (out.Media("audio/wav", data="aGk="), AudioContent),
        (out.Media("application/pdf", data="aGk=", url="a://b"), EmbeddedResource),
        (out.Media("image/png", url="https://a.example/b.png"), ResourceLink),
    ],
)
def test_every_piece_of_a_result_has_a_block(piece: str | out.Media, kind: type) -> None:
    made = from_result(NativeResult("c", (piece,)), (out.ContentOutcome((piece,)),), structured=True)
    (block,) = made.content
    assert isinstance(block, kind)
    assert json.loads(made.model_dump_json(by_alias=True))["structuredContent"]["type"] == "content_outcome"


def test_several_outcomes_stand_below_one_key() -> None:
    outcomes = (out.TextOutcome("a"), Failure("failed", "b"))
    made = from_result(NativeResult("c", "a b"), outcomes, structured=True)
    assert made.is_error
    assert [one["type"] for one in made.structured_content["outcomes"]] == ["text_outcome", "failure"]


def test_a_picture_read_back_is_the_same_picture() -> None:
    made = from_result(NativeResult("c", (PICTURE,)), (out.ImageOutcome(PICTURE),), structured=False)
    assert to_outcome(made, server="x") == out.ImageOutcome(
        out.Media("image/png", data=PNG, width=2, height=2, size=73)
    )


# ── bare pipes ───────────────────────────────────────────────────────────────


@contextmanager
def piped(home: dict[str, str], *flags: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*SERVE, *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=home,
        cwd=work(home),
    ) as process:
        yield process


def exchanged(home: dict[str, str], *lines: str | dict[str, Any]) -> list[dict[str, Any]]:
    """Every message the server wrote, all of them before standard input was closed."""
    with piped(home, "--tools", "read_file") as process:
        text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text)
        process.stdin.flush()
        answers = sum(isinstance(one, dict) and "id" in one for one in lines)
        messages = [json.loads(process.stdout.readline()) for _ in range(answers)]
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(20) == 0
    return [*messages, *(json.loads(line) for line in rest.splitlines())]


def request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def hello(version: str) -> dict[str, Any]:
    about = {"name": "bare", "version": "1"}
    return request(1, "initialize", protocolVersion=version, capabilities={}, clientInfo=about)


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.mark.slow
def test_bare_pipes_get_an_answer_to_every_request_and_to_nothing_else(home: dict[str, str]) -> None:
    """The version is the client's, no notification is answered, and what is malformed does not end the server."""
    answers = exchanged(
        home,
        hello("2024-11-05"),
        READY,
        {"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        "this is no JSON",
        '{"jsonrpc": "1.0"}',
        "[]",
        "",
        request(2, "no/such/method"),
        request(3, "tools/call", name=7),
        request(4, "tools/list"),
    )
    known = {answer["id"]: answer for answer in answers}
    assert len(answers) == 4
    assert known[1]["result"]["protocolVersion"] == "2024-11-05"
    assert "tools" in known[1]["result"]["capabilities"]
    assert known[2]["error"]["code"] == -32601
    assert known[3]["error"]["code"] == -32602
    assert [one["name"] for one in known[4]["result"]["tools"]] == ["vfs_read"]


def test_an_interrupted_server_ends_at_once(home: dict[str, str]) -> None:
    with piped(home, "--tools", "read_file") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(hello("2025-06-18")) + "\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == "error: interrupted\n"


# ── HTTP ─────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def over_http(home: dict[str, str], *flags: str, port: int = 0, **more: str) -> AsyncIterator[tuple[str, int]]:
    """The URL of a server, and its process."""
    process = await asyncio.create_subprocess_exec(
        *SERVE,
        "--http",
        f"127.0.0.1:{port}",
        *flags,
        stderr=asyncio.subprocess.PIPE,
        env={**home, **more},
        cwd=work(home),
    )
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert line.startswith("Serving at ")
        yield line.removeprefix("Serving at ").strip(), process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@pytest.mark.slow
async def test_the_official_client_is_served_over_http(home: dict[str, str]) -> None:
    write(home, "a.txt", "ü" * 1000 + "\n")
    async with (
        over_http(home, "--tools", "read", "--no-token") as (url, _),
        Client(url) as one,
        Client(url, mode="legacy") as two,
    ):
        for client in (one, two):
            assert "vfs_read" in [tool.name for tool in (await client.list_tools()).tools]
            read = await client.call_tool("vfs_read", {"path": "a.txt"})
            assert said(read).count("ü") == 1000
        await the_stranger_in_the_browser_is_turned_away(url)


async def the_stranger_in_the_browser_is_turned_away(url: str) -> None:
    import aiohttp

    headers = {"Origin": "https://evil.example", "Accept": "application/json, text/event-stream"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=hello("2025-06-18"), headers=headers) as response,
    ):
        assert response.status == 403


@pytest.mark.slow
async def test_without_the_token_nobody_is_served(home: dict[str, str]) -> None:
    async with over_http(home, "--tools", "read", "--token-env", "KEY", KEY="sesame") as (url, _):
        with pytest.raises(BaseException) as refusal:  # noqa: PT011 - an error of the package, in groups
            async with Client(url):
                pass
        assert isinstance(refusal.value, MCPError | ExceptionGroup)
        server = McpServer(name="own", transport="http", url=url, headers={"Authorization": Secret("Bearer ${SESAME}")})
        os.environ["SESAME"] = "sesame"
        try:
            async with McpServers([server]) as servers:
                assert servers.problems == {}
                assert "mcp__own__vfs_read" in servers.toolset
        finally:
            del os.environ["SESAME"]


async def test_beyond_this_machine_a_token_is_needed() -> None:
    served = ToolServer(Toolset([TOOLS["read_file"]]))
    with pytest.raises(ConfigError, match="clients must need a token there"):
        await served.serve_http("0.0.0.0", 0, token=False)
    with pytest.raises(ConfigError, match="the token is empty"):
        await served.serve_http("127.0.0.1", 0, token="")


@pytest.mark.slow
async def test_a_server_over_http_that_died_is_a_failure_until_it_is_back(home: dict[str, str]) -> None:
    write(home, "a.txt", "one\n")

    async def read(servers: McpServers) -> out.Outcome:
        found = servers.toolset.get("mcp__far__vfs_read")
        assert isinstance(found, Tool)
        return await outcome_of(lambda: found.call({"path": "a.txt"}, Context()))

    port = quiet_port("127.0.0.1")
    async with over_http(home, "--tools", "read", "--no-token", port=port) as (url, process):
        servers = McpServers([mcp_server_at(url, name="far")])
        async with servers:
            assert isinstance(await read(servers), out.ContentOutcome)
            os.kill(process, signal.SIGKILL)
            dead = await read(servers)
            assert isinstance(dead, Failure)
            assert dead.message.startswith("The MCP server far is not running: ")
            async with over_http(home, "--tools", "read", "--no-token", port=port) as (again, _):
                assert again == url
                assert isinstance(await read(servers), out.ContentOutcome)


async def test_our_client_and_our_server_understand_each_other(home: dict[str, str]) -> None:
    """What is typed on one side is typed on the other: the words, and the outcome beside them."""
    write(home, "a.txt", "one\n")
    env = {name: Secret(value) for name, value in home.items()}
    server = McpServer(
        name="own",
        transport="stdio",
        command=(*SERVE, "--tools", "read_file,write_file"),
        env=env,
        cwd=work(home),
        trust_hints=True,
    )
    async with McpServers([server]) as servers:
        resources = ("list_mcp_resources", "read_mcp_resource")
        assert servers.toolset.names == ("mcp__own__vfs_read", "mcp__own__vfs_write", *resources)
        read = servers.toolset.get("mcp__own__vfs_read")
        assert isinstance(read, Tool)
        assert str(read.kind) == "read"
        outcome = await read.call({"path": "a.txt"}, Context())
        assert isinstance(outcome, out.ContentOutcome)
        assert outcome.content == ("1\tone",)
        assert msgspec.convert(outcome.structured, out.AnyOutcome) == out.FileOutcome(
            "a.txt", "one\n", total_lines=1, total_bytes=4, encoding=outcome.structured.get("encoding")
        )


async def test_agents_are_prompts_and_recorded_sessions_are_resources(home: dict[str, str]) -> None:
    folder = work(home) / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "critic.md").write_text("---\nname: critic\ndescription: Finds faults.\n---\nYou find faults.\n")
    async with official(home, "--agents", "--history") as client:
        (prompt,) = (await client.list_prompts()).prompts
        got = await client.get_prompt("critic", {"task": "Look at a.py"})
        (template,) = (await client.list_resource_templates()).resource_templates
        with pytest.raises(MCPError, match="no session"):
            await client.read_resource("session:///unknown")
    assert (prompt.name, prompt.description) == ("critic", "Finds faults.")
    assert [said(message) for message in got.messages] == ["You find faults.", "Look at a.py"]
    assert template.uri_template == "session:///{id}"
