"""What a server offers beside tools, and what its tools ask of the client: with the official client."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, types

from dragoman.agents import ToolServer
from dragoman.agents.mcp import McpCaller, ServedPrompt, ServedResource
from dragoman.engine import Approval, ToolPolicy
from dragoman.model import outcomes as out
from dragoman.registry import TOOLS
from dragoman.tools import Context, DiskWorkspace, Toolset, tool

from .mcp_peer import PNG

ALLOWED = ToolPolicy(default="allow")


@asynccontextmanager
async def served(server: ToolServer, **client: Any) -> AsyncIterator[Client]:
    async with server.opened() as opened, Client(opened, mode="legacy", **client) as made:
        yield made


def files(folder: Path, policy: ToolPolicy = ALLOWED) -> ToolServer:
    chosen = Toolset([TOOLS[name] for name in ("read_file", "write_file", "find_files")])
    return ToolServer(chosen, policy=policy, workspace=DiskWorkspace(folder))


async def test_files_of_the_workspace_are_resources(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("one\n" * 5000)
    (tmp_path / "pixel.png").write_bytes(base64.b64decode(PNG))
    async with served(files(tmp_path)) as client:
        listed = (await client.list_resources()).resources
        assert sorted(one.uri for one in listed) == ["workspace:///a%20b.txt", "workspace:///pixel.png"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "workspace:///{+path}"
        (text,) = (await client.read_resource("workspace:///a%20b.txt")).contents
        (data,) = (await client.read_resource("workspace:///pixel.png")).contents
        assert isinstance(text, types.TextResourceContents)
        assert isinstance(data, types.BlobResourceContents)
        assert (text.text, data.blob) == ("one\n" * 5000, PNG)
        reference = types.ResourceTemplateReference(uri=template.uri_template)
        found = await client.complete(reference, {"name": "path", "value": "a"})
        assert found.completion.values == ["a b.txt"]


async def test_a_binary_file_is_a_resource_though_no_model_can_be_shown_it(tmp_path: Path) -> None:
    data = b"\x1f\x8b" + bytes(range(256))
    (tmp_path / "logs.gz").write_bytes(data)
    (tmp_path / "unknown.bin").write_bytes(bytes(100))
    async with served(files(tmp_path)) as client:
        (packed,) = (await client.read_resource("workspace:///logs.gz")).contents
        (unknown,) = (await client.read_resource("workspace:///unknown.bin")).contents
    assert isinstance(packed, types.BlobResourceContents)
    assert isinstance(unknown, types.BlobResourceContents)
    assert (packed.mime_type, unknown.mime_type) == ("application/gzip", "application/octet-stream")
    assert base64.b64decode(packed.blob) == data


@pytest.mark.filterwarnings("ignore:resources/")
async def test_what_is_no_file_of_the_workspace_is_the_clients_mistake(tmp_path: Path) -> None:
    async with served(files(tmp_path)) as client:
        for uri in ("workspace:///none.txt", "workspace:///../x", "other:///a"):
            with pytest.raises(MCPError) as raised:
                await client.read_resource(uri)
            assert raised.value.error.code == types.INVALID_PARAMS
        await client.subscribe_resource("workspace:///none.txt")  # it may come
        for uri in ("workspace:///../x", "other:///a"):
            with pytest.raises(MCPError, match=r"leads out|no resource"):
                await client.subscribe_resource(uri)


@pytest.mark.parametrize("uri", ["workspace:///../outside", "workspace:////etc/passwd", "workspace:///%2e%2e/outside"])
async def test_no_resource_leads_out_of_the_workspace(tmp_path: Path, uri: str) -> None:
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "in").mkdir()
    async with served(files(tmp_path / "in")) as client:
        with pytest.raises(MCPError):
            await client.read_resource(uri)


async def test_rules_hold_for_resources_as_for_calls(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "open.txt").write_text("y")
    policy = ToolPolicy(default="allow", approval=(Approval("deny", operation="read_file", path="secret*"),))
    async with served(files(tmp_path, policy)) as client:
        (read,) = (await client.read_resource("workspace:///open.txt")).contents
        assert isinstance(read, types.TextResourceContents)
        with pytest.raises(MCPError, match=r"denied|not allowed|refused"):
            await client.read_resource("workspace:///secret.txt")


@pytest.mark.filterwarnings("ignore:resources/")  # the newest protocol has another way
async def test_a_subscriber_hears_of_a_file_that_a_call_has_changed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    heard: list[str] = []
    told = asyncio.Event()

    async def noted(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(str(message.params.uri))
            told.set()

    async with served(files(tmp_path), message_handler=noted) as client:
        await client.subscribe_resource("workspace:///a.txt")
        await client.call_tool("vfs_write", {"path": "a.txt", "content": "two and more"})
        await asyncio.wait_for(told.wait(), 10)
        await client.unsubscribe_resource("workspace:///a.txt")
        await client.call_tool("vfs_write", {"path": "a.txt", "content": "three and even more"})
        assert heard == ["workspace:///a.txt"]


async def greeted(given: dict[str, str]) -> list[Any]:
    return [out.Resource("test://about", text="About"), f"Greet {given['name']}."]


async def names(argument: str, value: str) -> list[str]:
    return [f"{argument}{number:03}" for number in range(150)]


async def test_prompts_are_listed_filled_in_and_completed() -> None:
    prompt = ServedPrompt(name="greet", arguments={"name": True, "how": False}, messages=greeted, complete=names)
    async with served(ToolServer(Toolset(), prompts=[prompt])) as client:
        (listed,) = (await client.list_prompts()).prompts
        assert [(one.name, one.required) for one in listed.arguments or ()] == [("name", True), ("how", False)]
        got = await client.get_prompt("greet", {"name": "Ada"})
        assert [message.content.type for message in got.messages] == ["resource", "text"]
        with pytest.raises(MCPError, match="needs name"):
            await client.get_prompt("greet", {})
        found = (await client.complete(types.PromptReference(name="greet"), {"name": "name", "value": ""})).completion
        assert (len(found.values), found.total, found.has_more) == (100, 150, True)


@tool
async def ask_all(context: Context) -> str:
    """Asks the client for everything."""
    caller = context.get(McpCaller)
    await caller.log("quiet", "debug")
    await caller.log({"loud": True}, "error")
    answer = await caller.elicit("Name?", {"type": "object", "properties": {"name": {"type": "string"}}})
    return f"{await caller.sample('Say it')}, {answer.action} {answer.content}, {await caller.roots()}"


async def test_a_tool_logs_asks_the_user_and_the_model_of_the_client() -> None:
    logged: list[Any] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append((params.level, params.data))

    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": params.message})

    async def sample(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="Said"), model="m")

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///here")])

    callbacks: dict[str, Any] = {"elicitation_callback": elicit, "sampling_callback": sample}
    server = ToolServer(Toolset([ask_all]), policy=ALLOWED)
    async with served(server, logging_callback=log, list_roots_callback=roots, **callbacks) as client:
        result = await client.call_tool("ask_all", {})
    assert [block.text for block in result.content if block.type == "text"] == [
        "Said, accept {'name': 'Name?'}, ('file:///here',)"
    ]
    assert logged == [("error", {"loud": True})]


async def test_what_a_client_does_not_offer_fails_the_call_and_says_so() -> None:
    async with served(ToolServer(Toolset([ask_all]), policy=ALLOWED)) as client:
        result = await client.call_tool("ask_all", {})
    (block,) = result.content
    assert result.is_error
    assert block.type == "text"
    assert "does not offer elicitation" in block.text


async def test_a_resource_that_a_tool_gives_is_embedded() -> None:
    @tool
    def give() -> out.ResourcesOutcome:
        """Gives two."""
        return out.ResourcesOutcome((out.Resource("test://a", text="A"), out.Resource("test://b", "b")))

    async with served(ToolServer(Toolset([give]), policy=ALLOWED)) as client:
        result = await client.call_tool("give", {})
    assert [block.type for block in result.content] == ["resource", "resource_link"]


async def test_a_server_without_resources_and_prompts_says_so() -> None:
    async with served(ToolServer(Toolset([ask_all]))) as client:
        offered = client.server_capabilities
        assert (offered.resources, offered.prompts, offered.completions) == (None, None, None)


def test_a_template_takes_what_it_says_and_no_more() -> None:
    async def read(uri: str, id: str) -> str:
        return id

    one = ServedResource(uri="test://template/{id}/data", name="x", read=read)
    assert one.values("test://template/a%20b/data") == {"id": "a b"}
    assert one.values("test://template/a/b/data") is None
