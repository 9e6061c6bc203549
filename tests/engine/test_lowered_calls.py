"""Calls of tools that had to be lowered for a wire: what comes back means what the tool's own schema says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry
from dragoman.engine.transport import Transport
from dragoman.model import AnyEvent, Message, ResultPart, ToolCalled
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Tool, Toolset
from tests.engine.loopback import Turn, loopback


def engine(api: str, url: str) -> HttpEngine:
    return HttpEngine(api, Transport(url), retry=Retry(times=0))


PATCH = "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch"


@pytest.mark.parametrize("api", ["anthropic_messages", "gemini_generate"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_text_tool_travels_as_a_function_and_comes_back_as_text(api: str, stream: bool, tmp_path: Path) -> None:
    events: list[AnyEvent] = []
    async with loopback(Turn(calls=(("c1", "apply_patch", {"input": PATCH}),)), Turn("done")) as server:
        run = Orchestrator(
            engine(api, server.url),
            Toolset([TOOLS["write_file"], TOOLS["edit_file"]]),
            model_name="gemini-2.5-pro" if api == "gemini_generate" else "claude-sonnet-4-5",
            dialect="codex",
            workspace=DiskWorkspace(tmp_path),
        )
        result = await run.run("go", stream=stream, emit=events.append)
        await run.close()
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    called = next(event for event in events if isinstance(event, ToolCalled))
    assert called.call.native.arguments == {"input": PATCH}
    told = [
        part.result
        for item in result.conversation
        if isinstance(item, Message)
        for part in item.parts
        if isinstance(part, ResultPart)
    ]
    assert "a.txt" in str(told[0].content)


async def test_parameters_that_had_to_be_renamed_come_back_under_their_own_names() -> None:
    heard: list[dict[str, Any]] = []

    def search(arguments: dict[str, Any]) -> str:
        heard.append(arguments)
        return "ok"

    schema = {
        "type": "object",
        "properties": {"-A": {"type": "integer"}, "level": {"enum": [1, 2, None]}, "free": {"type": "object"}},
        "required": ["-A"],
    }
    tool = Tool("search", "Searches.", schema, search)

    def answer(body: dict[str, Any]) -> Turn:
        declared = body["tools"][0]["functionDeclarations"][0]
        parameters = declared.get("parametersJsonSchema") or declared["parameters"]
        renamed = next(name for name in parameters["properties"] if name not in ("level", "free"))
        assert renamed != "-A"
        return Turn(calls=(("c1", "search", {renamed: 3, "level": 2}),))

    async with loopback(answer, Turn("done")) as server:
        run = Orchestrator(engine("gemini_generate", server.url), [tool], model_name="gemini-2.5-pro", dialect="plain")
        await run.run("go")
        await run.close()
    assert heard == [{"-A": 3, "level": 2}]


async def test_nulls_that_strictness_forces_are_taken_away_again() -> None:
    heard: list[dict[str, Any]] = []

    def note(arguments: dict[str, Any]) -> str:
        heard.append(arguments)
        return "ok"

    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "tag": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    async with loopback(Turn(calls=(("c1", "note", {"text": "a", "tag": None}),)), Turn("done")) as server:
        tool = Tool("note", "Notes.", schema, note)
        run = Orchestrator(engine("openai_responses", server.url), [tool], model_name="gpt-5", dialect="plain")
        await run.run("go")
        await run.close()
    strict = server.requests[0].body["tools"][0].get("strict")
    assert heard == ([{"text": "a"}] if strict else heard)
    assert strict is True
