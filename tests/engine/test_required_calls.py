"""A required call is required, and an empty reply after tool results is not the end."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine import HttpEngine, Orchestrator, Retry, ScriptedEngine, ToolPolicy
from dragoman.engine.loop import by_client
from dragoman.engine.transport import Transport
from dragoman.errors import LimitReached
from dragoman.model import (
    AnyEvent,
    CallPart,
    FinishReason,
    NativeCall,
    Reply,
    TextPart,
    ThinkingPart,
    ToolChoice,
    ToolReturned,
    UserSaid,
)
from dragoman.registry import TOOLS
from dragoman.tools import MemoryWorkspace, Toolset, tool
from tests.engine.loopback import PATHS, Turn, loopback

ALL = sorted(PATHS)
MODELS = {
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_generate": "gemini-2.5-pro",
}
ANY, THIS = ToolChoice("required"), ToolChoice("one", ("get_weather",))
EVERY_ONE = "You must call one of the tools now. Reply with the tool call, not with text."
THIS_ONE = 'You must call "get_weather" now. Reply with the tool call, not with text.'
CONTINUE = "Your last reply was empty. Continue: answer using the tool results above, or call another tool."


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city} is sunny"


@tool
def get_time() -> str:
    """The time."""
    return "noon"


def call(name: str, **arguments: Any) -> Reply:
    return Reply((CallPart(NativeCall("c1", name, arguments)),), FinishReason.CALLS)


def said(events: list[AnyEvent]) -> list[str]:
    """What the run itself said to the model."""
    return [event.text for event in events if isinstance(event, UserSaid) and event.by == "client"]


async def against(
    api: str, turns: tuple[Turn, ...], policy: ToolPolicy, *, stream: bool
) -> tuple[Any, list[str], list[dict[str, Any]]]:
    """The result of a run with a server that ignores `tool_choice`, what the run said, and the requests' bodies."""
    events: list[AnyEvent] = []
    async with loopback(*turns) as server:
        engine = HttpEngine(api, Transport(server.url), provider="played", retry=Retry(times=0))
        run = Orchestrator(engine, [get_weather, get_time], policy, model_name=MODELS[api], dialect="plain")
        result = await run.run("Hello?", emit=events.append, observe=(lambda _: None) if stream else None)
        await run.close()
        return result, said(events), [request.body for request in server.requests]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("choice, words", [(ANY, EVERY_ONE), (THIS, THIS_ONE)])
async def test_a_reply_without_the_required_call_is_asked_for_again(
    api: str, choice: ToolChoice, words: str, stream: bool
) -> None:
    turns = (Turn("no tools for you"), Turn(calls=(("c1", "get_weather", {"city": "Rome"}),)), Turn("Sunny."))
    result, reminders, bodies = await against(api, turns, ToolPolicy(choice=choice), stream=stream)
    assert (result.status, result.text, result.rounds, reminders) == ("completed", "Sunny.", 3, [words])
    assert words.split(" now")[0].replace('"', '\\"') in str(bodies[1]).replace('"', '\\"')


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("choice", [ANY, THIS])
async def test_a_run_without_the_required_call_is_limited_and_says_why(
    api: str, choice: ToolChoice, stream: bool
) -> None:
    turns = (Turn("no tools for you"),) * 3
    result, reminders, bodies = await against(api, turns, ToolPolicy(choice=choice, max_iterations=3), stream=stream)
    assert (result.status, result.rounds, len(bodies), len(reminders)) == ("limited", 3, 3, 2)
    assert isinstance(result.error, LimitReached)
    assert result.error.limit == "iterations"
    assert "did not make the required tool call" in str(result.error)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ALL)
async def test_an_empty_reply_after_tool_results_is_continued_once(api: str, stream: bool) -> None:
    asked = Turn(calls=(("c1", "get_weather", {"city": "Rome"}),))
    result, reminders, _ = await against(api, (asked, Turn(), Turn("Sunny.")), ToolPolicy(), stream=stream)
    assert (result.status, result.text, result.rounds, result.notes) == ("completed", "Sunny.", 3, ())
    assert reminders == [CONTINUE]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ALL)
async def test_a_second_empty_reply_ends_the_run_with_a_note(api: str, stream: bool) -> None:
    asked = Turn(calls=(("c1", "get_weather", {"city": "Rome"}),))
    result, reminders, _ = await against(api, (asked, Turn(), Turn()), ToolPolicy(), stream=stream)
    assert (result.status, result.text, result.rounds, reminders) == ("completed", "", 3, [CONTINUE])
    assert [note.message for note in result.notes] == [
        "the model's last reply is empty after the tool results, also when asked to continue"
    ]


async def scripted(*steps: Any, policy: ToolPolicy, tools: Any = (get_weather, get_time), **options: Any) -> Any:
    with ScriptedEngine(steps) as engine:
        run = Orchestrator(engine, tools, policy, **{"model_name": "some-model", "dialect": "plain", **options})
        return await run.run("go"), engine


async def test_another_call_does_not_stand_in_for_the_required_one() -> None:
    events: list[AnyEvent] = []
    policy = ToolPolicy(choice=THIS)
    steps = (call("get_time"), call("get_weather", city="Rome"), "Sunny.")
    result, engine = await scripted(*steps, policy=policy, emit=events.append)
    assert (result.status, result.text) == ("completed", "Sunny.")
    assert [request.choice.mode for request in engine.requests] == ["one", "one", "auto"]
    denied, given = (event.result.outcomes[0] for event in events if isinstance(event, ToolReturned))
    assert denied.message == 'The tool "get_time" may not be called now; these may: get_weather.'
    assert given.text == "Rome is sunny"


async def test_the_required_call_is_asked_for_in_the_models_own_words() -> None:
    files = Toolset([TOOLS["read_file"], get_weather])
    policy = ToolPolicy(choice=ToolChoice("one", ("read_file",)))
    steps = ("no", call("Read", file_path="a.txt"), "It says hello.")
    result, engine = await scripted(
        *steps, policy=policy, tools=files, dialect="claude_code", workspace=MemoryWorkspace({"a.txt": "hello\n"})
    )
    assert (result.status, result.text) == ("completed", "It says hello.")
    assert engine.requests[1].conversation[-1].text.startswith('You must call "Read" now.')


async def test_one_of_a_required_subset_is_enough() -> None:
    policy = ToolPolicy(choice=ToolChoice("subset", ("get_time", "get_weather"), required=True))
    result, engine = await scripted("no", call("get_time"), "Noon.", policy=policy)
    assert (result.status, result.text) == ("completed", "Noon.")
    assert "or" in engine.requests[1].conversation[-1].text


async def test_nothing_is_required_where_no_tool_is_offered() -> None:
    result, engine = await scripted("Hello.", policy=ToolPolicy(choice=ANY), tools=())
    assert (result.status, result.text, len(engine.requests)) == ("completed", "Hello.", 1)


async def test_a_refusal_ends_the_run_although_a_call_was_required() -> None:
    refused = Reply((TextPart("I will not."),), FinishReason.REFUSED)
    result, _ = await scripted(refused, policy=ToolPolicy(choice=ANY))
    assert (result.status, result.finish) == ("completed", FinishReason.REFUSED)


async def test_a_reply_of_thoughts_alone_is_empty_and_not_sent_back() -> None:
    thinks = Reply((ThinkingPart("hm"),), FinishReason.STOP)
    result, engine = await scripted(call("get_time"), thinks, "Noon.", policy=ToolPolicy())
    assert (result.text, result.conversation[-2:-1]) == ("Noon.", (by_client(CONTINUE),))
    assert thinks not in [item for item in engine.requests[2].conversation if isinstance(item, Reply)]


async def test_a_record_gives_the_conversation_that_was_sent() -> None:
    from dragoman.engine.history import conversation_of

    events: list[AnyEvent] = []
    thinks = Reply((ThinkingPart("hm"),), FinishReason.STOP)
    result, _ = await scripted(call("get_time"), thinks, "Noon.", policy=ToolPolicy(), emit=events.append)
    assert conversation_of(events) == result.conversation


async def test_an_empty_reply_in_the_last_round_is_noted_and_not_continued() -> None:
    result, _ = await scripted(call("get_time"), Reply((), FinishReason.STOP), policy=ToolPolicy(max_iterations=2))
    assert (result.status, [note.message for note in result.notes]) == (
        "completed",
        ["the model's last reply is empty"],
    )
