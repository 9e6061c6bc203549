"""Runs as event streams, read by the protocols' own clients from npm, over aiohttp and Starlette."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry, ScriptedEngine
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, TextPart, ThinkingPart, Usage
from dragoman.serve.front_ends import FrontEnd
from dragoman.tools import tool
from tests.conformance.packages import npm_package
from tests.engine.loopback import Turn, loopback, played
from tests.serve.frameworks import FRAMEWORKS, served

HERE = Path(__file__).parent / "front_ends"
CLIENTS: dict[str, tuple[str, str]] = {"ui_messages": ("ai", "7.0.169"), "ag_ui": ("@ag-ui/client", "1.0.0")}
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


async def talked(protocol: Name, url: str, *texts: str) -> dict[str, Any]:
    """What the protocol's own client has after it has said these texts."""
    name, version = CLIENTS[protocol]
    node = shutil.which("node")
    assert node is not None, "node is needed for the clients written in JavaScript"
    package = npm_package(name, version)
    home = package.parents[1] if name.startswith("@") else package.parent
    program = home.parent / f"{protocol}.mjs"  # beside node_modules, where node looks for packages
    program.write_text((HERE / f"{protocol}.mjs").read_text())
    process = await asyncio.create_subprocess_exec(
        node, str(program), url, *texts, stdout=-1, stderr=-1, env={"PATH": os.environ["PATH"]}
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
