"""The same agent on all four wire APIs, streaming and not, over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry, Running
from dragoman.engine.transport import Transport
from dragoman.model import (
    AnyChunk,
    AnyEvent,
    ArgumentsChunk,
    CallFinished,
    Finished,
    FinishReason,
    Message,
    ResultPart,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolReturned,
    UsageArrived,
)
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Toolset, tool
from tests.engine.loopback import PATHS, Loopback, Turn, loopback

ALL = sorted(PATHS)
MODELS = {
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_generate": "gemini-2.5-pro",
}
WORDS = {
    # The same two operations in the words of the dialect each model knows.
    "openai_chat": [("shell_command", {"command": "cat notes.txt"}), None],
    "anthropic_messages": [
        ("Read", {"file_path": "notes.txt"}),
        ("Write", {"file_path": "out.txt", "content": "done\n"}),
    ],
    "gemini_generate": [
        ("read_file", {"file_path": "notes.txt"}),
        ("write_file", {"file_path": "out.txt", "content": "done\n"}),
    ],
}


@tool
async def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The weather of a city."""
    return {"city": city, "days": days, "sky": "clear"}


@tool
def shout(text: str) -> str:
    """Text in capitals."""
    return text.upper()


def engine(api: str, server: Loopback, **options: Any) -> HttpEngine:
    options.setdefault("retry", Retry(times=0))
    return HttpEngine(api, Transport(server.url, headers={"authorization": "Bearer k"}), provider="played", **options)


def results_of(conversation: Any) -> list[tuple[str, Any]]:
    return [
        (part.result.call_id, part.result.content)
        for item in conversation
        if isinstance(item, Message)
        for part in item.parts
        if isinstance(part, ResultPart)
    ]


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_with_parallel_calls(api: str, stream: bool) -> None:
    turns = (
        Turn("Let me look.", "hm", (("c1", "weather", {"city": "Paris"}), ("c2", "shout", {"text": "hi"}))),
        Turn(calls=(("c3", "weather", {"city": "Rome", "days": 2}),)),
        Turn("Both are clear.", usage=(30, 7)),
    )
    async with loopback(*turns) as server:
        chunks: list[AnyChunk] = []
        run = Orchestrator(engine(api, server), [weather, shout], model_name=MODELS[api], dialect="plain")
        result = await run.run("How is it in Paris and Rome?", observe=chunks.append if stream else None)
        await run.close()
    assert (result.status, result.text, result.rounds) == ("completed", "Both are clear.", 3)
    assert result.usage.total == 10 + 5 + 10 + 5 + 30 + 7
    assert [content for _, content in results_of(result.conversation)] == [
        '{"city":"Paris","days":1,"sky":"clear"}',
        "HI",
        '{"city":"Rome","days":2,"sky":"clear"}',
    ]
    assert len(server.requests) == 3
    assert server.connections == 1
    assert all(heard.streaming is stream for heard in server.requests)
    assert server.requests[0].headers["authorization"] == "Bearer k"
    if stream:
        said = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
        assert said == "Let me look.Both are clear."
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == "hm"
        assert [chunk.call.name for chunk in chunks if isinstance(chunk, CallFinished)] == [
            "weather",
            "shout",
            "weather",
        ]
        assert sum(isinstance(chunk, Finished) for chunk in chunks) == 3
        assert any(isinstance(chunk, UsageArrived) for chunk in chunks)
        assert any(isinstance(chunk, ArgumentsChunk) for chunk in chunks)


@pytest.mark.parametrize("api", ["anthropic_messages", "gemini_generate"])
@pytest.mark.parametrize("stream", [False, True])
async def test_standard_tools_in_the_words_of_the_model(api: str, stream: bool, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    read, write = WORDS[api]
    assert read is not None
    assert write is not None
    async with loopback(Turn(calls=(("c1", *read),)), Turn(calls=(("c2", *write),)), Turn("I wrote it.")) as server:
        tools = Toolset([TOOLS["read_file"], TOOLS["write_file"]])
        run = Orchestrator(engine(api, server), tools, model_name=MODELS[api], workspace=DiskWorkspace(tmp_path))
        events: list[AnyEvent] = []
        result = await run.run("Do it.", emit=events.append, stream=stream)
        await run.close()
    assert result.status == "completed"
    assert (tmp_path / "out.txt").read_text() == "done\n"
    outcomes = [event.result.outcomes[0] for event in events if isinstance(event, ToolReturned)]
    assert [type(outcome).__name__ for outcome in outcomes] == ["FileOutcome", "ChangesOutcome"]


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("stream", [False, True])
async def test_mistakes_of_the_model_are_told_to_it(api: str, stream: bool) -> None:
    turns = (
        Turn(calls=(("c1", "wether", {"city": "Paris"}), ("c2", "weather", {"town": "Paris"}))),
        Turn("Sorry."),
    )
    async with loopback(*turns) as server:
        run = Orchestrator(engine(api, server), [weather], model_name=MODELS[api], dialect="plain")
        result = await run.run("Go", stream=stream)
        await run.close()
    told = [str(content) for _, content in results_of(result.conversation)]
    assert 'Did you mean "weather"?' in told[0]
    assert "city" in told[1]
    assert result.text == "Sorry."


TRUNCATED = {
    "openai_chat": "length",
    "openai_responses": "max_output_tokens",
    "anthropic_messages": "max_tokens",
    "gemini_generate": "MAX_TOKENS",
}


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_was_cut_off_is_not_run(api: str, stream: bool) -> None:
    ran: list[str] = []

    @tool
    def wipe(path: str = "/") -> str:
        """Removes a folder."""
        ran.append(path)
        return "gone"

    turns = (Turn(calls=(("c1", "wipe", {}),), finish=TRUNCATED[api]), Turn("Ah."))
    async with loopback(*turns) as server:
        run = Orchestrator(engine(api, server), [wipe], model_name=MODELS[api], dialect="plain")
        result = await run.run("Go", stream=stream)
        await run.close()
    assert ran == []
    assert "cut off" in str(results_of(result.conversation)[0][1])
    assert result.finish is FinishReason.STOP


@pytest.mark.parametrize("api", ALL)
async def test_iterating_a_run_gives_chunks_and_events_in_order(api: str) -> None:
    async with loopback(Turn(calls=(("c1", "shout", {"text": "a"}),)), Turn("A")) as server:
        run = Orchestrator(engine(api, server), [shout], model_name=MODELS[api], dialect="plain")
        names = [type(item).__name__ async for item in run.stream("Go")]
        await run.close()
    assert names[0] == "SessionStarted"
    assert names[-1] == "SessionEnded"
    assert (
        names.index("CallFinished") < names.index("ToolCalled") < names.index("ToolReturned") < names.index("TextChunk")
    )


@pytest.mark.parametrize("api", ALL)
async def test_leaving_the_iteration_stops_the_run_and_its_history_can_be_sent_on(api: str) -> None:
    async with loopback(Turn(calls=(("c1", "shout", {"text": "a"}),)), Turn("A" * 50, pieces=50), Turn("B")) as server:
        run = Orchestrator(engine(api, server), [shout], model_name=MODELS[api], dialect="plain")
        running: Running = run.start("Go")
        async for item in running:
            if isinstance(item, TextChunk):
                break
        result = await run.run("Go on", history=running.conversation)
        await run.close()
    assert result.text == "B"
    problems = [one for one in run.engine.api.validate(server_request(run, result)) if not one.fixed]  # type: ignore[attr-defined]
    assert problems == []


def server_request(run: Orchestrator, result: Any) -> Any:
    return run.prepare(history=result.conversation, prompt="and now?").request


@pytest.mark.parametrize("api", ALL)
async def test_thinking_and_options_reach_the_wire(api: str) -> None:
    async with loopback(Turn("ok")) as server:
        run = Orchestrator(
            engine(api, server),
            model_name=MODELS[api],
            thinking=Thinking("low"),
            options={"some_option": 1},
            max_output_tokens=9000,
            system="Be brief.",
        )
        prepared = run.prepare("Go")
        await run.run("Go")
        await run.close()
    sent = server.requests[0].body
    assert prepared.encoded is not None
    assert prepared.encoded.body == sent
    assert sent["some_option"] == 1
    assert "Be brief." in str(sent)
    assert "low" in str(sent) or "1024" in str(sent) or "budget" in str(sent).lower()
