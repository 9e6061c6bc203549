"""Runs as event streams, read by the protocols' own clients from npm, over aiohttp and Starlette."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry, ScriptedEngine, ToolPolicy
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError
from dragoman.model import (
    CallPart,
    FinishReason,
    Media,
    NativeCall,
    Reply,
    ResultPart,
    TextPart,
    ThinkingPart,
    Usage,
)
from dragoman.serve.front_ends import FrontEnd
from dragoman.tools import tool
from tests.conformance.packages import npm_package
from tests.engine.loopback import Turn, loopback, played
from tests.serve.frameworks import FRAMEWORKS, served

HERE = Path(__file__).parent / "front_ends"
CLIENTS: dict[str, tuple[str, str]] = {"ui_messages": ("ai", "7.0.173"), "ag_ui": ("@ag-ui/client", "1.0.0")}
Name = Literal["ag_ui", "ui_messages"]


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"clear in {city}"


def calls(id: str, *cities: str) -> Reply:
    parts = [CallPart(NativeCall(f"{id}{number}", "weather", {"city": city})) for number, city in enumerate(cities)]
    return Reply((ThinkingPart("Hm."), TextPart("Let me look."), *parts), FinishReason.CALLS, usage=Usage(5, 1, 0, 3))


def says(text: str) -> Reply:
    return Reply((TextPart(text),), FinishReason.STOP, usage=Usage(5, 1, 0, 3))


async def talked(protocol: Name, url: str, *texts: str, program: str | None = None) -> dict[str, Any]:
    """What the protocol's own client has after it has said these texts, or done these actions of another program."""
    source = HERE / f"{program or protocol}.mjs"
    name, version = CLIENTS[protocol]
    node = shutil.which("node")
    assert node is not None, "node is needed for the clients written in JavaScript"
    package = npm_package(name, version)
    home = package.parents[1] if name.startswith("@") else package.parent
    copied = home.parent / source.name  # beside node_modules, where node looks for packages
    copied.write_text(source.read_text())
    process = await asyncio.create_subprocess_exec(
        node, str(copied), url, *texts, stdout=-1, stderr=-1, env={"PATH": os.environ["PATH"]}
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_client_of_vercel_shows_a_run_and_sends_it_back(framework: str) -> None:
    with ScriptedEngine([calls("a", "Rome", "Atlantis"), says("Clear."), says("You too.")]) as engine:
        agent = Orchestrator(engine, [weather], system="Be brief.")
        async with served(FrontEnd(agent, "ui_messages"), framework) as url:
            found = await talked("ui_messages", url, "How is Rome?", "Thanks!")
    assert found["errors"] == []
    _, first, _, second = found["messages"]
    shown = [{key: value for key, value in part.items() if key != "id"} for part in first["parts"]]
    tool_part = {"type": "dynamic-tool", "toolName": "weather"}
    assert shown == [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm.", "state": "done"},
        {"type": "text", "text": "Let me look.", "state": "done"},
        {
            **tool_part,
            "toolCallId": "a0",
            "state": "output-available",
            "input": {"city": "Rome"},
            "output": "clear in Rome",
        },
        {
            **tool_part,
            "toolCallId": "a1",
            "state": "output-error",
            "input": {"city": "Atlantis"},
            "errorText": "Error (failed): ValueError: no such city",
        },
        {"type": "step-start"},
        {"type": "text", "text": "Clear.", "state": "done"},
    ]
    assert [part["text"] for part in second["parts"] if part["type"] == "text"] == ["You too."]
    again = engine.requests[2].conversation
    assert [item.role for item in again] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [len(item.parts) for item in again] == [1, 1, 3, 2, 1, 1]


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_client_of_ag_ui_shows_a_run_and_sends_it_back(framework: str) -> None:
    with ScriptedEngine([calls("a", "Rome", "Atlantis"), says("Clear."), says("You too.")]) as engine:
        agent = Orchestrator(engine, [weather], system="Be brief.")
        async with served(FrontEnd(agent, "ag_ui"), framework) as url:
            found = await talked("ag_ui", url, "How is Rome?", "Thanks!")
    assert found["errors"] == []
    roles = [message["role"] for message in found["messages"]]
    assert roles == ["user", "reasoning", "assistant", "tool", "tool", "assistant", "user", "assistant"]
    said = found["messages"][2]
    assert (said["content"], [call["function"] for call in said["toolCalls"]]) == (
        "Let me look.",
        [{"name": "weather", "arguments": f'{{"city":"{city}"}}'} for city in ("Rome", "Atlantis")],
    )
    results = {message["toolCallId"]: message["content"] for message in found["messages"] if message["role"] == "tool"}
    assert results == {"a0": "clear in Rome", "a1": "Error (failed): ValueError: no such city"}
    first = {"inputTokens": 12, "outputTokens": 6, "cachedInputTokens": 2, "cacheWriteInputTokens": 0}
    assert found["usage"][0] == first
    assert (found["events"][0], found["events"][-1]) == ("RUN_STARTED", "RUN_FINISHED")
    again = engine.requests[2].conversation
    assert [item.role for item in again if item.role != "tool"] == ["system", "user", "assistant", "assistant", "user"]


@pytest.mark.parametrize("protocol", ["ui_messages", "ag_ui"])
async def test_an_answer_that_begins_anew_is_shown_once(protocol: Name) -> None:
    whole = played("openai_chat", Turn("It is clear.", calls=(("c1", "weather", {"city": "Rome"}),)), stream=True)
    broken = type(whole)(**{**vars(whole), "stop_after": len(whole.body) * 3 // 5})
    async with loopback(broken, Turn("It is clear."), Turn("Bye.")) as provider:
        engine = HttpEngine("openai_chat", Transport(provider.url), retry=Retry(times=1, base=0))
        agent = Orchestrator(engine, [weather], model_name="m", dialect="plain")
        async with served(FrontEnd(agent, protocol), "aiohttp") as url:
            found = await talked(protocol, url, "How is Rome?")
        await agent.close()
    assert found["errors"] == []
    last = found["messages"][-1]
    texts = [part["text"] for part in last.get("parts", []) if part["type"] == "text"] or [last.get("content")]
    assert texts == ["It is clear."]
    assert len(found["messages"]) == 2


@pytest.mark.parametrize("protocol", ["ui_messages", "ag_ui"])
async def test_a_run_that_fails_is_shown_as_failed(protocol: Name) -> None:
    agent = Orchestrator(ScriptedEngine([EngineError("the provider is down", code="down")]))
    async with served(FrontEnd(agent, protocol), "starlette") as url:
        found = await talked(protocol, url, "Hi")
    assert any("the provider is down" in error for error in found["errors"])


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = Media("image/png", PIXEL)
MEASURED = Media("image/png", PIXEL, width=1, height=1)


@tool
def plan() -> list[Any]:
    """The plan of the town."""
    return ["Here it is:", PICTURE]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("protocol", ["ui_messages", "ag_ui"])
async def test_a_picture_of_a_tool_is_shown_and_comes_back(protocol: Name, framework: str) -> None:
    called = Reply((CallPart(NativeCall("c1", "plan", {})),), FinishReason.CALLS)
    with ScriptedEngine([called, says("A town."), says("Still a town.")]) as engine:
        async with served(FrontEnd(Orchestrator(engine, [plan]), protocol), framework) as url:
            found = await talked(protocol, url, "Show me.", "And now?")
    assert found["errors"] == []
    if protocol == "ui_messages":
        (shown,) = [part["output"] for part in found["messages"][1]["parts"] if part["type"] == "dynamic-tool"]
        picture: dict[str, Any] = {"type": "file", "url": f"data:image/png;base64,{PIXEL}", "mediaType": "image/png"}
    else:
        (shown,) = [message["content"] for message in found["messages"] if message["role"] == "tool"]
        picture = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}
    assert shown == [{"type": "text", "text": "Here it is:"}, picture]
    before, after = (
        [part.result.content for item in request.conversation for part in item.parts if isinstance(part, ResultPart)]
        for request in engine.requests[1:]
    )
    assert before == after == [("Here it is:", MEASURED)]


def asks_first(*replies: Reply) -> tuple[ScriptedEngine, FrontEnd]:
    engine = ScriptedEngine(replies)
    agent = Orchestrator(engine, [weather], ToolPolicy(default="ask"))
    return engine, FrontEnd(agent, "ui_messages", approvals=True)


def states(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(part["toolCallId"], part["state"]) for part in message["parts"] if part["type"] == "dynamic-tool"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_calls_are_approved_and_refused_in_a_page_of_vercel(framework: str) -> None:
    # A server that begins to count its calls anew in each reply.
    engine, front_end = asks_first(calls("a", "Rome", "Oslo"), calls("a", "Atlantis"), says("Clear."), says("Bye."))
    actions: list[dict[str, Any]] = [
        {"say": "How is Rome?"},
        {"answers": [{"approved": True}, {"approved": False, "reason": "too cold"}]},
        {"answers": [{"approved": True}]},
        {"twice": True},
        {"say": "Thanks!"},
    ]
    with engine:
        async with served(front_end, framework) as url:
            found = await talked("ui_messages", url, *map(json.dumps, actions), program="ui_chat")
    assert [error.partition(" ")[0] for error in found["errors"]] == ["400"]  # the answer that came twice
    assert "does not wait here any more" in found["errors"][0]
    assert [len(messages) for messages in found["log"]] == [2, 2, 2, 2, 4]
    again, done = (states(messages[1]) for messages in found["log"][1:3])
    other = again[2][0]
    assert again == [
        ("a0", "output-available"),
        ("a1", "output-error"),
        (other, "approval-responded"),
    ]  # as the other tab then sends it
    assert done == [*again[:2], (other, "output-error")]
    assert [part["input"] for part in found["messages"][1]["parts"] if part["type"] == "dynamic-tool"] == [
        {"city": city} for city in ("Rome", "Oslo", "Atlantis")
    ]
    results = [
        part.result.content
        for item in engine.requests[3].conversation
        for part in item.parts
        if isinstance(part, ResultPart)
    ]
    assert results[0] == "clear in Rome"
    assert "too cold" in str(results[1])
    assert "no such city" in str(results[2])


async def test_a_page_may_say_something_else_instead_of_answering() -> None:
    engine, front_end = asks_first(calls("a", "Rome", "Oslo"), says("As you like."), says("Again."))
    actions: list[dict[str, Any]] = [
        {"say": "How is Rome?"},
        {"answers": [{"approved": True}]},  # of two questions: nothing is sent
        {"say": "Forget it."},
        {"rewrite": "How are you?"},
    ]
    with engine:
        async with served(front_end, "starlette") as url:
            found = await talked("ui_messages", url, *map(json.dumps, actions), program="ui_chat")
    assert found["errors"] == []
    assert states(found["log"][1][1]) == [("a0", "approval-responded"), ("a1", "approval-requested")]
    assert [item.role for item in engine.requests[1].conversation] == ["user", "assistant", "user"]
    assert [item.role for item in engine.requests[2].conversation] == ["user"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_an_answer_that_is_stopped_can_be_asked_for_again(framework: str) -> None:
    whole = played("openai_chat", Turn("It is clear. " * 9), stream=True)
    slow = type(whole)(**{**vars(whole), "stall_after": len(whole.body) // 2})
    async with loopback(slow, Turn("Second.", pieces=40), Turn("Third ☃ 👩‍👩‍👧.", pieces=40)) as provider:
        agent = Orchestrator(HttpEngine("openai_chat", Transport(provider.url)), model_name="m", dialect="plain")
        async with served(FrontEnd(agent, "ui_messages"), framework) as url:
            actions: list[dict[str, Any]] = [
                {"stop": "How is Rome?"},
                {"resume": True},
                {"say": "And now?"},
                {"regenerate": True},
            ]
            found = await talked("ui_messages", url, *map(json.dumps, actions), program="ui_chat")
        await agent.close()
    assert found["errors"] == []
    texts = ["".join(part.get("text", "") for part in message["parts"]) for message in found["messages"]]
    assert texts[1].startswith("It is clear.")
    assert texts[3] == "Third ☃ 👩‍👩‍👧."
    assert [len(messages) for messages in found["log"]] == [2, 2, 4, 4]


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_calls_are_approved_and_refused_in_a_page_of_ag_ui(framework: str) -> None:
    with ScriptedEngine([calls("a", "Rome", "Oslo", "Bonn"), says("Clear."), says("You too.")]) as engine:
        agent = Orchestrator(engine, [weather], ToolPolicy(default="ask"))
        async with served(FrontEnd(agent, "ag_ui", approvals=True), framework) as url:
            answers = [
                {"status": "resolved", "payload": {"approved": True}},
                {"status": "resolved", "payload": {"approved": False, "reason": "too cold"}},
                {"status": "cancelled"},
            ]
            found = await talked("ag_ui", url, "How is Rome?", json.dumps(answers), "Thanks!")
    assert found["errors"] == []
    results = {message["toolCallId"]: message["content"] for message in found["messages"] if message["role"] == "tool"}
    assert sorted(results) == ["a0", "a1", "a2"]
    assert results["a0"] == "clear in Rome"
    assert "too cold" in results["a1"]
    assert "no answer" in results["a2"]
    assert [usage["outputTokens"] for usage in found["usage"]] == [3, 3, 3]
    assert [message["content"] for message in found["messages"] if message["role"] == "user"] == [
        "How is Rome?",
        "Thanks!",
    ]
    asked = [item for item in engine.requests[2].conversation if item.role == "tool"]
    assert sum(len(item.parts) for item in asked) == 3
