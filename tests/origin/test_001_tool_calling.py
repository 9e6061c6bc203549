"""The document on tool calling: one definition, one loop and one policy for every provider.

Every type, constant, default and example of it, in its order. `docs/origin.md` lists its requirements.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from dragoman import DefinitionError, LimitReached, NativeCall, Tool, ToolChoice, ToolError, ToolPolicy, Toolset, tool
from dragoman.apis import Api
from dragoman.config import load, use
from dragoman.engine import Executor, HttpEngine, Orchestrator, Retry, ScriptedEngine
from dragoman.engine.executor import Metrics
from dragoman.engine.models import engine_for
from dragoman.engine.transport import Transport
from dragoman.model import (
    ArgumentsChunk,
    Call,
    CallFinished,
    CallPart,
    CallStarted,
    ConversationItem,
    Failure,
    Features,
    Finished,
    FinishReason,
    FunctionDefinition,
    JsonOutcome,
    Limits,
    Message,
    NativeResult,
    Reply,
    Request,
    Result,
    ResultPart,
    TextChunk,
    ToolCalled,
    ToolExample,
    ToolReturned,
    operations as op,
    tool_call,
    tool_result,
    user,
)
from dragoman.registry import APIS
from dragoman.tools import Context
from tests.engine.loopback import Turn, loopback
from tests.origin.command import run_command

PROVIDERS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_generate")
MODELS = {
    "openai_chat": "gpt-4.1",
    "openai_responses": "gpt-4.1",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_generate": "gemini-2.5-pro",
}
TYPES = ["string", "number", "integer", "boolean", "object", "array"]
ROOT = Path(__file__).parents[2]


@tool
def get_weather(location: str, units: Literal["celsius", "fahrenheit"] = "celsius") -> dict[str, str]:
    """Get current weather for a location

    Args:
        location: City name or coordinates
        units: Temperature units (celsius/fahrenheit)
    """
    return {"location": location, "units": units, "sky": "clear"}


ROME = ("1", "get_weather", {"location": "Rome"})
OSLO = ("2", "get_weather", {"location": "Oslo"})


def calls(*made: tuple[str, str, dict[str, Any]]) -> Reply:
    return Reply(tuple(CallPart(NativeCall(*one)) for one in made), FinishReason.CALLS)


def scripted(*steps: Any, tools: Any = (get_weather,), **more: Any) -> tuple[Orchestrator, ScriptedEngine]:
    engine = ScriptedEngine(steps)
    return Orchestrator(engine, tools, model_name="a-model", **more), engine


def results(conversation: tuple[ConversationItem, ...]) -> list[NativeResult]:
    return [part.result for item in conversation for part in item.parts if isinstance(part, ResultPart)]


def request(api: str, *definitions: FunctionDefinition, **more: Any) -> Request:
    return Request(MODELS[api], (user("How is Rome?"),), definitions, **more)


def engine_of(api: str, url: str) -> HttpEngine:
    return HttpEngine(api, Transport(url), retry=Retry(times=0))


# ── goals ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", PROVIDERS)
async def test_s1_1_the_same_definition_works_with_every_provider(api: str) -> None:
    async with loopback(Turn(calls=(ROME,)), Turn(text="It is clear.")) as server:
        run = Orchestrator(engine_of(api, server.url), [get_weather], model_name=MODELS[api], dialect="plain")
        result = await run.run("How is Rome?")
        await run.close()
    assert (result.status, result.text, result.rounds) == ("completed", "It is clear.", 2)
    (told,) = results(result.conversation)
    assert "clear" in str(told.content)


def test_s1_2_definitions_and_calls_are_typed() -> None:
    bound = get_weather.read('{"location": "Rome"}')
    assert (bound.tool, bound.call_sync()) == (get_weather, {"location": "Rome", "units": "celsius", "sky": "clear"})
    with pytest.raises(ToolError) as refused:
        get_weather.read({"location": ["Rome", {}], "units": "kelvin"})
    assert (refused.value.kind, len(refused.value.details["problems"])) == ("invalid_arguments", 2)
    assert (ROOT / "src" / "dragoman" / "py.typed").exists()


def test_s1_3_providers_and_tools_are_added_without_touching_the_rest(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[providers.lab]\napi = "openai_chat"\nbase_url = "http://127.0.0.1:9/v1"\n')
    engine, model = engine_for(
        "lab:m", configuration=load(environ={"DRAGOMAN_CONFIG_DIR": str(tmp_path)}, cwd=tmp_path)
    )
    assert (engine.name, model) == ("openai_chat", "m")
    tools = Toolset([get_weather])
    tools.register(lambda_tool("shout"))
    assert tools.names == ("get_weather", "shout")


def lambda_tool(name: str) -> Tool:
    return Tool(name, "Text in capitals.", {"type": "object", "properties": {}}, lambda arguments: arguments)


def test_s1_4_importing_is_cheap_and_a_toolset_is_written_once_for_many_requests() -> None:
    code = "import sys, dragoman; print(sorted(m for m in sys.modules if m in ('aiohttp', 'openai', 'pydantic')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded == "[]\n"
    api: Api = APIS["openai_chat"]
    definitions = (get_weather.definition,)
    first, second = (api.encode(Request("gpt-4.1", (user("Hi"),), definitions)) for _ in range(2))
    assert first.body["tools"] is second.body["tools"]


async def test_s1_5_every_step_of_the_tool_calling_flow_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def fail() -> str:
        """Fails."""
        raise RuntimeError("out of tea")

    caplog.set_level(logging.DEBUG, "dragoman")
    run, _ = scripted(calls(ROME, ("2", "fail", {})), "Done.", tools=[get_weather, fail])
    result = await run.run("How is Rome?", run_id="r1")
    lines = [one.getMessage() for one in caplog.records]
    for words in (("a-model",), ("call 1", "get_weather"), ("call 2", "fail"), ("call 2", "failed"), ("completed",)):
        assert any("r1" in line and all(word in line for word in words) for line in lines), words
    assert {one.name.partition(".")[0] for one in caplog.records} == {"dragoman"}
    assert ["out of tea" in str(one.content) for one in results(result.conversation)] == [False, True]


def test_s1_5_telemetry_has_a_page() -> None:
    page = (ROOT / "docs" / "howto" / "logging-and-telemetry.md").read_text()
    assert ("Telemetry(" in page, "logging" in page) == (True, True)


def test_s1_6_an_engine_takes_tools_by_itself() -> None:
    for api in PROVIDERS:
        assert "get_weather" in json.dumps(APIS[api].encode(request(api, get_weather.definition)).body)
    assert "definitions" in Request.__struct_fields__


# ── 1. definitions ───────────────────────────────────────────────────────────


def test_s1_7_a_tool_has_a_name_a_description_and_a_json_schema() -> None:
    assert get_weather.definition == FunctionDefinition(
        "get_weather",
        "Get current weather for a location",
        {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "City name or coordinates"},
                "units": {
                    "type": "string",
                    "enum": ["celsius", "fahrenheit"],
                    "description": "Temperature units (celsius/fahrenheit)",
                    "default": "celsius",
                },
            },
            "additionalProperties": False,
            "required": ["location"],
        },
    )


def test_s1_8_a_tool_has_examples_with_input_output_and_description() -> None:
    example = ToolExample(input={"location": "Rome"}, output={"sky": "clear"}, description="A city by its name.")
    made = Tool.from_function(get_weather.run, examples=[example])
    assert made.definition.examples == (example,)
    assert made.snapshot()["examples"] == [
        {"input": {"location": "Rome"}, "output": {"sky": "clear"}, "description": "A city by its name."}
    ]
    with pytest.raises(DefinitionError, match="place"):
        Tool.from_function(get_weather.run, examples=[ToolExample({"place": "Rome"})])


def test_s1_9_a_tool_has_tags_and_a_version() -> None:
    made = Tool.from_function(get_weather.run, tags=("weather",), version="1.2")
    assert (made.tags, made.version) == (("weather",), "1.2")
    assert "run" not in made.snapshot()


def test_s1_10_the_function_is_wrapped_with_validation_and_prepared_once() -> None:
    reader = get_weather.reader
    assert get_weather.call_sync(b'{"location": "Rome"}') == get_weather.call_sync({"location": "Rome"})
    assert get_weather.reader is reader
    with pytest.raises(ToolError, match="location"):
        get_weather.call_sync("{}")


def test_s1_11_a_tool_is_made_from_a_function_and_a_wrong_signature_is_refused() -> None:
    made = Tool.from_function(get_weather.run, name="weather", description="The weather.")
    assert (made.name, made.description, made.parameters) == ("weather", "The weather.", get_weather.parameters)

    def wrong(location, *rest):  # type: ignore[no-untyped-def]
        return location

    with pytest.raises(DefinitionError) as refused:
        Tool.from_function(wrong)
    assert len(refused.value.problems) >= 2


def test_s1_12_tools_are_registered_got_listed_and_unregistered() -> None:
    registry = Toolset()
    registry.register(get_weather)
    assert registry.get("get_weather") is get_weather
    assert registry.list() == (get_weather,)
    assert registry.unregister("get_weather") is get_weather
    assert registry.list() == ()


def test_s1_13_an_unknown_or_a_second_tool_of_one_name_is_an_error() -> None:
    registry = Toolset([get_weather])
    with pytest.raises(ToolError, match='Did you mean "get_weather"'):
        registry.get("get_wether")
    with pytest.raises(DefinitionError, match="two tools called 'get_weather'"):
        registry.register(get_weather)


def test_s1_14_a_registry_may_be_changed_from_many_threads() -> None:
    registry = Toolset()
    names = [f"tool_{number}" for number in range(40)]
    threads = [threading.Thread(target=registry.register, args=(lambda_tool(name),)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(registry.names) == sorted(names)


def test_s1_15_a_clone_is_apart_from_what_it_was_made_of() -> None:
    registry = Toolset([get_weather])
    clone = registry.clone()
    clone.unregister("get_weather")
    assert (registry.names, clone.names) == (("get_weather",), ())


def test_s1_16_registries_are_merged_into_another_one() -> None:
    one, other = Toolset([get_weather]), Toolset([lambda_tool("shout")])
    assert one.merge(other).names == ("get_weather", "shout")
    assert (one.names, other.names) == (("get_weather",), ("shout",))
    with pytest.raises(DefinitionError, match="both sets"):
        one.merge(Toolset([lambda_tool("get_weather")]))


# ── 2. engine and orchestrator ───────────────────────────────────────────────


async def test_s1_17_an_engine_asks_the_model_and_runs_no_tool() -> None:
    async with loopback(Turn(calls=(ROME,))) as server:
        engine = engine_of("openai_chat", server.url)
        reply = await engine.ask(request("openai_chat", get_weather.definition))
        await engine.close()
    assert (len(server.requests), [call.name for call in reply.calls]) == (1, ["get_weather"])


@pytest.mark.parametrize("api", PROVIDERS)
async def test_s1_18_an_engine_streams(api: str) -> None:
    chunks: list[Any] = []
    async with loopback(Turn(text="It is clear.")) as server:
        engine = engine_of(api, server.url)
        reply = await engine.ask(request(api), observe=chunks.append)
        await engine.close()
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == reply.text == "It is clear."


@pytest.mark.parametrize("api", PROVIDERS)
def test_s1_19_an_engine_tells_what_features_and_limits_a_model_has(api: str) -> None:
    engine = engine_of(api, "http://127.0.0.1:9")
    features = engine.features(MODELS[api])
    assert features == APIS[api].features(MODELS[api])
    assert (features.streaming, {"auto", "none", "required", "one"} <= set(features.choices)) == (True, True)
    assert engine.limits(MODELS[api]) == APIS[api].limits(MODELS[api])


def test_s1_19_no_feature_is_listed_that_decides_nothing() -> None:
    listed = {*Features.__struct_fields__, *Limits.__struct_fields__}
    assert not listed & {"parallel_calls", "system_tools", "images", "parameter_types"}
    assert (ROOT / "tests" / "laws" / "test_knob_laws.py").exists()


def test_s1_20_tools_are_prepared_for_a_request_without_sending_it() -> None:
    run = Orchestrator(HttpEngine("anthropic_messages", Transport("http://127.0.0.1:9")), [get_weather], model_name="m")
    prepared = run.prepare("How is Rome?")
    assert prepared.encoded is not None
    assert [one["name"] for one in prepared.encoded.body["tools"]] == ["get_weather"]
    assert prepared.encoded.body["tools"][0]["input_schema"]["required"] == ["location"]


@pytest.mark.parametrize("api", PROVIDERS)
async def test_s1_21_a_chunk_may_be_part_of_a_call_and_says_when_it_is_complete(api: str) -> None:
    chunks: list[Any] = []
    async with loopback(Turn(calls=(ROME,))) as server:
        engine = engine_of(api, server.url)
        await engine.ask(request(api, get_weather.definition), observe=chunks.append)
        await engine.close()
    (started,) = [chunk for chunk in chunks if isinstance(chunk, CallStarted)]
    pieces = "".join(one.text for one in chunks if isinstance(one, ArgumentsChunk))
    (finished,) = [chunk for chunk in chunks if isinstance(chunk, CallFinished)]
    assert (started.name, json.loads(pieces), finished.call.arguments) == ("get_weather", *[{"location": "Rome"}] * 2)
    assert [chunk.finish for chunk in chunks if isinstance(chunk, Finished)] == [FinishReason.CALLS]
    assert {chunk.__struct_config__.tag for chunk in chunks} >= {"call_started", "arguments_chunk", "call_finished"}


async def test_s1_22_the_orchestrator_runs_calls_until_the_model_is_done() -> None:
    run, engine = scripted(calls(ROME), calls(OSLO), "Both are clear.")
    result = await run.run("How are Rome and Oslo?")
    assert (result.status, result.rounds, len(engine.requests)) == ("completed", 3, 3)
    assert [item.role for item in result.conversation] == ["user", *["assistant", "tool"] * 2, "assistant"]
    assert list(inspect.signature(Orchestrator).parameters)[:3] == ["model", "tools", "policy"]


async def test_s1_23_the_orchestrator_streams_chunks_and_what_tools_gave() -> None:
    run, _ = scripted(calls(ROME), "It is clear.")
    items = [item async for item in run.stream("How is Rome?")]
    assert [type(item) for item in items if isinstance(item, CallFinished | ToolReturned | TextChunk)] == [
        *(CallFinished, ToolReturned, TextChunk)
    ]


async def test_s1_24_tools_can_be_switched_off() -> None:
    run, engine = scripted("No tools.", policy=ToolPolicy(enabled=False))
    await run.run("How is Rome?")
    assert engine.requests[0].definitions == ()
    assert ToolPolicy().enabled


@pytest.mark.parametrize("mode", ["auto", "none", "required"])
def test_s1_25_the_three_choices_have_these_names_and_auto_is_the_default(mode: Any) -> None:
    assert ToolChoice(mode).mode == mode
    assert ToolPolicy().choice == ToolChoice("auto")
    said = {
        "openai_chat": {"auto": "auto", "none": "none", "required": "required"},
        "anthropic_messages": {"auto": "auto", "none": "none", "required": "any"},
        "gemini_generate": {"auto": "AUTO", "none": "NONE", "required": "ANY"},
    }
    for api, words in said.items():
        body = APIS[api].encode(request(api, get_weather.definition, choice=ToolChoice(mode))).body
        spoken = json.dumps([body.get("tool_choice", "auto"), body.get("toolConfig", "AUTO")])
        assert f'"{words[mode]}"' in spoken, (api, spoken)


async def test_s1_26_with_none_no_tool_is_called() -> None:
    run, engine = scripted(calls(ROME), "No tools.", policy=ToolPolicy(choice=ToolChoice("none")))
    result = await run.run("How is Rome?")
    assert engine.requests[0].choice == ToolChoice("none")
    assert ["denied" in str(one.content) for one in results(result.conversation)] == [True]


@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("one", ("get_weather",))])
async def test_s1_27_required_means_at_least_one_call(choice: ToolChoice) -> None:
    text = Turn(text="no tools for you")
    async with loopback(text, Turn(calls=(ROME,)), Turn(text="It is clear.")) as server:
        run = Orchestrator(
            engine_of("openai_chat", server.url), [get_weather], ToolPolicy(choice=choice), model_name="gpt-4.1"
        )
        result = await run.run("How is Rome?")
        await run.close()
    assert (result.status, result.text, result.metrics["get_weather"].calls) == ("completed", "It is clear.", 1)


@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("one", ("get_weather",))])
async def test_s1_27_without_the_required_call_the_run_ends_at_the_iteration_limit(choice: ToolChoice) -> None:
    policy = ToolPolicy(choice=choice, max_iterations=3)
    async with loopback(*[Turn(text="no tools for you")] * 3) as server:
        run = Orchestrator(engine_of("openai_chat", server.url), [get_weather], policy, model_name="gpt-4.1")
        result = await run.run("How is Rome?")
        await run.close()
    assert (result.status, len(server.requests)) == ("limited", 3)
    assert isinstance(result.error, LimitReached)
    assert result.error.limit == "iterations"


async def test_s1_28_a_run_ends_after_so_many_iterations() -> None:
    run, engine = scripted(calls(ROME), calls(OSLO), policy=ToolPolicy(max_iterations=2))
    result = await run.run("How is everything?")
    assert (result.status, result.rounds, len(engine.requests)) == ("limited", 2, 2)
    assert isinstance(result.error, LimitReached)
    assert (result.error.limit, result.error.value) == ("iterations", 2)


async def test_s1_29_a_call_has_so_much_time() -> None:
    @tool
    async def wait() -> str:
        """Waits for ever."""
        await asyncio.Event().wait()
        return "never"

    run, _ = scripted(calls(("1", "wait", {})), "Too slow.", tools=[wait], policy=ToolPolicy(timeout=0.05))
    events: list[Any] = []
    await run.run("Wait.", emit=events.append)
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert [outcome.kind for outcome in returned.result.outcomes if isinstance(outcome, Failure)] == ["timed_out"]


async def test_s1_30_so_many_calls_run_at_once() -> None:
    at_once, most = 0, 0
    both = asyncio.Event()

    @tool
    async def count(number: int) -> int:
        """Counts how many run."""
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == 2:
            both.set()
        await both.wait()
        at_once -= 1
        return number

    made = [(str(number), "count", {"number": number}) for number in range(6)]
    run, _ = scripted(calls(*made), "Done.", tools=[count], policy=ToolPolicy(max_parallel=2))
    result = await run.run("Count.")
    assert (most, [one.content for one in results(result.conversation)]) == (2, [*map(str, range(6))])


async def test_s1_31_only_allowed_tools_are_offered_and_run() -> None:
    run, engine = scripted(
        calls(("1", "shout", {})), "Not allowed.", tools=[get_weather, lambda_tool("shout")],
        policy=ToolPolicy(allowed=("get_weather",)),
    )  # fmt: skip
    result = await run.run("Shout.")
    assert [definition.name for definition in engine.requests[0].definitions] == ["get_weather"]
    assert [one.is_error for one in results(result.conversation)] == [True]


@pytest.mark.parametrize(
    "handling, status, tried", [("continue", "completed", 1), ("abort", "failed", 1), ("retry", "completed", 3)]
)
async def test_s1_32_an_error_continues_ends_or_is_tried_again(handling: Any, status: str, tried: int) -> None:
    attempts = 0

    @tool(repeatable=True)
    def fail() -> str:
        """Fails."""
        nonlocal attempts
        attempts += 1
        raise RuntimeError("out of tea")

    policy = ToolPolicy(on_error=handling, retry=Retry(times=2, base=0, jitter=0))
    run, _ = scripted(calls(("1", "fail", {})), "It failed.", tools=[fail], policy=policy)
    result = await run.run("Fail.")
    assert (result.status, attempts) == (status, tried)
    if handling != "abort":
        assert ["out of tea" in str(one.content) for one in results(result.conversation)] == [True]


def test_s1_32_continue_is_the_default() -> None:
    assert ToolPolicy().on_error == "continue"


def test_s1_33_retries_have_a_number_a_base_and_a_factor() -> None:
    retry = Retry(times=3, base=0.5, factor=2.0, jitter=0)
    assert [retry.wait(attempt) for attempt in (1, 2, 3)] == [0.5, 1.0, 2.0]


# ── 3. adapters ──────────────────────────────────────────────────────────────


def test_s1_34_a_tool_is_written_in_each_providers_form() -> None:
    parameters = get_weather.parameters
    chat = APIS["openai_chat"].encode(request("openai_chat", get_weather.definition)).body["tools"]
    assert (chat[0]["type"], chat[0]["function"]["name"]) == ("function", "get_weather")
    assert set(chat[0]["function"]["parameters"]["properties"]) == set(parameters["properties"])
    responses = APIS["openai_responses"].encode(request("openai_responses", get_weather.definition)).body["tools"]
    assert (responses[0]["type"], responses[0]["name"]) == ("function", "get_weather")
    claude = APIS["anthropic_messages"].encode(request("anthropic_messages", get_weather.definition)).body["tools"]
    assert (claude[0]["name"], claude[0]["input_schema"]["required"]) == ("get_weather", ["location"])
    gemini = APIS["gemini_generate"].encode(request("gemini_generate", get_weather.definition)).body["tools"]
    (declared,) = gemini[0]["functionDeclarations"]
    assert (declared["name"], declared["description"]) == ("get_weather", "Get current weather for a location")


@pytest.mark.parametrize("api", PROVIDERS)
async def test_s1_34_calls_are_read_from_each_providers_reply(api: str) -> None:
    async with loopback(Turn(calls=(ROME, OSLO))) as server:
        engine = engine_of(api, server.url)
        reply = await engine.ask(request(api, get_weather.definition))
        await engine.close()
    assert [(call.name, call.arguments) for call in reply.calls] == [ROME[1:], OSLO[1:]]


@pytest.mark.parametrize("api", PROVIDERS)
def test_s1_35_a_definition_is_validated_for_a_provider(api: str) -> None:
    assert APIS[api].check(get_weather.definition, MODELS[api]) == ()
    wrong = FunctionDefinition("get weather!" * 20, "Weather.", {"type": "object", "properties": {}})
    assert [problem.where for problem in APIS[api].check(wrong, MODELS[api])]


def test_s1_36_limits_are_data_that_bound_what_is_offered() -> None:
    limited = ScriptedEngine([], limits=Limits(tools=1, name_length=20))
    with pytest.raises(DefinitionError, match="2 tools are offered; this API takes 1"):
        Orchestrator(limited, [get_weather, lambda_tool("shout")]).prepare("Hi")
    long = Orchestrator(limited, [lambda_tool("shout_as_loudly_as_you_can")]).prepare("Hi")
    assert [len(str(one.name)) for one in long.request.definitions] == [20]
    by_model = [APIS["openai_chat"].limits(model).call_id_length for model in ("gpt-4.1", "another")]
    assert by_model == [40, None]


def test_s1_37_openai_takes_as_many_tools_as_it_says_and_names_of_64_characters() -> None:
    for api in ("openai_chat", "openai_responses"):
        limits = APIS[api].limits("gpt-4.1")
        assert (limits.tools, limits.name_length) == (128, 64)
        many = tuple(FunctionDefinition(f"tool_{n}", "A tool.", {"type": "object"}) for n in range(129))
        assert any("128" in problem.message for problem in APIS[api].validate(request(api, *many)))
        assert APIS[api].validate(request(api, *many[:128])) == ()


def test_s1_37_the_six_types_of_a_schema_are_taken_by_every_provider() -> None:
    takes_all_types("openai_chat", "openai_responses")


def test_s1_38_claude_takes_more_than_twenty_tools_and_more_than_fifty_kilobytes() -> None:
    limits = APIS["anthropic_messages"].limits(MODELS["anthropic_messages"])
    assert (limits.tools, limits.strict_tool_count) == (None, 20)
    many = tuple(FunctionDefinition(f"tool_{n}", "x" * 2600, {"type": "object"}) for n in range(21))
    assert APIS["anthropic_messages"].validate(request("anthropic_messages", *many)) == ()
    takes_all_types("anthropic_messages", "gemini_generate")


def takes_all_types(*apis: str) -> None:
    properties: dict[str, Any] = {f"of_{name}": {"type": name} for name in TYPES}
    properties["of_array"]["items"] = {"type": "string"}
    properties["of_object"]["properties"] = {"inner": {"type": "string"}}
    definition = FunctionDefinition("all", "All types.", {"type": "object", "properties": properties})
    for api in apis:
        assert APIS[api].check(definition, MODELS[api]) == ()


# ── 4. execution ─────────────────────────────────────────────────────────────


async def test_s1_39_the_executor_runs_one_call_or_several_in_their_order() -> None:
    executor = Executor(Toolset([get_weather]), ToolPolicy(), Context())
    made = [Call(id, (op.CallFunction(name, said),), NativeCall(id, name, said)) for id, name, said in (ROME, OSLO)]
    (one,) = await executor.run(made[:1])
    several = await executor.run(made)
    assert [result.call_id for result in (one, *several)] == ["1", "1", "2"]
    assert one.outcomes == (JsonOutcome({"location": "Rome", "units": "celsius", "sky": "clear"}),)


def test_s1_40_a_call_has_an_id_a_name_and_its_raw_arguments() -> None:
    assert NativeCall.__struct_fields__[:3] == ("id", "name", "arguments")
    unread = APIS["openai_chat"].decode(
        {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "tool_calls": [
                            {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": "{oops"}}
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        }
    )
    assert [(call.id, call.name, call.arguments) for call in unread.calls] == [("1", "get_weather", "{oops")]


async def test_s1_41_a_result_has_an_id_what_it_gave_or_the_error_the_time_and_the_retries() -> None:
    @tool(repeatable=True)
    def fail() -> str:
        """Fails."""
        raise RuntimeError("out of tea")

    policy = ToolPolicy(on_error="retry", retry=Retry(times=1, base=0, jitter=0))
    executor = Executor(Toolset([fail]), policy, Context())
    (result,) = await executor.run([Call("1", (op.CallFunction("fail", {}),), NativeCall("1", "fail", {}))])
    assert isinstance(result, Result)
    assert (result.call_id, result.retries, result.duration is not None) == ("1", 1, True)
    assert [outcome.message for outcome in result.outcomes if isinstance(outcome, Failure)] == [
        "RuntimeError: out of tea"
    ]


# ── 5. features ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", PROVIDERS)
def test_s1_42_an_api_says_what_it_can_do_with_tools(api: str) -> None:
    features = APIS[api].features(MODELS[api])
    assert (features.streaming, {"auto", "none", "required"} <= set(features.choices)) == (True, True)
    longest = {"openai_chat": 64, "openai_responses": 64, "anthropic_messages": 64, "gemini_generate": 128}
    assert APIS[api].limits(MODELS[api]).name_length == longest[api]


# ── conversations ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", PROVIDERS)
def test_s1_43_calls_and_results_of_a_conversation_are_valid_for_every_provider_and_written_as_json(api: str) -> None:
    conversation = (
        user("How is Rome?"),
        Reply((CallPart(NativeCall(*ROME)),), FinishReason.CALLS),
        Message("tool", (ResultPart(NativeResult("1", "clear", name="get_weather")),)),
    )
    asked = Request(MODELS[api], conversation, (get_weather.definition,))
    assert APIS[api].validate(asked) == ()
    assert "clear" in json.dumps(APIS[api].encode(asked).body)
    kept = msgspec.json.encode(conversation)
    assert msgspec.json.decode(kept, type=tuple[ConversationItem, ...]) == conversation


@pytest.mark.parametrize("api", PROVIDERS)
def test_s1_43_a_conversation_that_is_out_of_order_is_found_before_it_is_sent(api: str) -> None:
    asked = Request(MODELS[api], (user("Hi"), Reply((CallPart(NativeCall(*ROME)),), FinishReason.CALLS)))
    assert APIS[api].validate(asked)


@pytest.mark.parametrize("api", PROVIDERS)
def test_s1_44_helpers_write_a_call_and_its_result(api: str) -> None:
    asked = tool_call("get_weather", {"location": "Rome"}, id="1")
    history = (user("How is Rome?"), asked, tool_result(asked, "clear"))
    assert [(item.role, *item.parts) for item in history[1:]] == [
        ("assistant", CallPart(NativeCall(*ROME))),
        ("tool", ResultPart(NativeResult("1", "clear", name="get_weather"))),
    ]
    assert APIS[api].validate(Request(MODELS[api], history, (get_weather.definition,))) == ()


# ── engines of the providers ─────────────────────────────────────────────────


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses"])
@pytest.mark.parametrize("stream", [False, True])
async def test_s1_45_openai_runs_parallel_calls_streaming_and_not(api: str, stream: bool) -> None:
    body = await two_at_once(api, stream)
    if api == "openai_chat":
        answered = [one["tool_call_id"] for one in body["messages"] if one["role"] == "tool"]
    else:
        answered = [one["call_id"] for one in body["input"] if one.get("type") == "function_call_output"]
    assert answered == ["1", "2"]


@pytest.mark.parametrize("stream", [False, True])
async def test_s1_46_claude_runs_tool_use_blocks_and_gets_tool_result_blocks(stream: bool) -> None:
    body = await two_at_once("anthropic_messages", stream)
    blocks = [block for block in body["messages"][-1]["content"] if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in blocks] == ["1", "2"]
    assert body["messages"][-1]["role"] == "user"


@pytest.mark.parametrize("stream", [False, True])
async def test_s1_47_gemini_runs_function_calls_and_gets_function_responses(stream: bool) -> None:
    body = await two_at_once("gemini_generate", stream)
    responses = [part["functionResponse"] for part in body["contents"][-1]["parts"]]
    assert [one["name"] for one in responses] == ["get_weather", "get_weather"]


async def two_at_once(api: str, stream: bool) -> dict[str, Any]:
    """The second request of a run whose model made two calls in one reply."""
    async with loopback(Turn(calls=(ROME, OSLO)), Turn(text="Both are clear.")) as server:
        run = Orchestrator(engine_of(api, server.url), [get_weather], model_name=MODELS[api], dialect="plain")
        result = await run.run("How are they?", stream=stream)
        await run.close()
    assert (result.text, len(results(result.conversation))) == ("Both are clear.", 2)
    assert [heard.streaming for heard in server.requests] == [stream, stream]
    return server.requests[1].body


# ── factory and settings ─────────────────────────────────────────────────────


def settings(folder: Path, text: str) -> Any:
    (folder / "config.toml").write_text(text)
    return load(environ={"DRAGOMAN_CONFIG_DIR": str(folder)}, cwd=folder)


def test_s1_48_an_orchestrator_is_made_with_a_registry_and_a_policy() -> None:
    registry, policy = Toolset([get_weather]), ToolPolicy(max_iterations=5)
    run = Orchestrator(ScriptedEngine([]), tools=registry, policy=policy, model_name="m")
    assert (run.toolset, run.policy) == (registry, policy)


LAYERS = """
[providers.openai]
base_url = "http://127.0.0.1:9/v1"
options = {service_tier = "flex"}
[providers.lab]
api = "openai_chat"
base_url = "http://127.0.0.1:9/v1"
[policy]
max_iterations = 5
"""


def test_s1_49_python_and_the_command_line_read_the_same_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(LAYERS)
    monkeypatch.setenv("DRAGOMAN_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    monkeypatch.chdir(tmp_path)
    use(None)
    try:
        run = Orchestrator("openai:gpt-5.1", [get_weather])
        prepared = run.prepare("Hi")
        assert prepared.encoded is not None
        assert (prepared.encoded.body["service_tier"], run.policy.max_iterations) == ("flex", 5)
        assert isinstance(run.engine, HttpEngine)
        assert run.engine.transport.base_url.startswith("http://127.0.0.1:9/v1")
        assert Orchestrator("lab:m", [get_weather]).engine.name == "openai_chat"
        without = Orchestrator("openai:gpt-5.1", [get_weather], configuration=None)
        assert "service_tier" not in without.prepare("Hi").encoded.body  # type: ignore[union-attr]
    finally:
        use(None)
    shown = run_command(tmp_path, "run", "--model", "openai:gpt-5.1", "--dry-run", "hi", OPENAI_API_KEY="sk-of-nobody")
    assert "http://127.0.0.1:9/v1/responses" in shown.stdout + shown.stderr


def test_s1_50_tools_have_settings_timeouts_and_limits_per_provider(tmp_path: Path) -> None:
    configuration = settings(
        tmp_path,
        "[policy]\nmax_iterations = 5\ntimeout = 30\n[providers.openai.policy]\nmax_iterations = 7\ntimeout = 3\n",
    )
    policies = [ToolPolicy.from_settings(configuration.settings, name) for name in ("anthropic", "openai")]
    assert [(policy.max_iterations, policy.timeout) for policy in policies] == [(5, 30), (7, 3)]


def test_s1_51_tools_are_filtered_per_provider_and_model(tmp_path: Path) -> None:
    configuration = settings(
        tmp_path,
        '[providers.openai.policy]\nallowed = ["read_*"]\n[models."gpt-5*".policy]\nallowed = ["search_text"]\n',
    )
    for model, allowed in (("gpt-4.1", ("read_file",)), ("gpt-5.1", ("search_text",))):
        policy = ToolPolicy.from_settings(configuration.settings, "openai", model)
        assert tuple(name for name in ("read_file", "search_text") if policy.allows(name)) == allowed


# ── for developers ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "hint, schema",
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (int, {"type": "integer"}),
        (bool, {"type": "boolean"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["celsius", "fahrenheit"], {"type": "string", "enum": ["celsius", "fahrenheit"]}),
    ],
)
def test_s1_52_schemas_come_from_signatures_and_are_checked(hint: Any, schema: dict[str, Any]) -> None:
    def take(value: Any) -> str:
        """Takes a value."""
        return repr(value)

    take.__annotations__["value"] = hint
    made = Tool.from_function(take)
    given = {name: said for name, said in made.parameters["properties"]["value"].items() if name != "description"}
    assert {name: given.get(name) for name in schema} == schema
    with pytest.raises(ToolError):
        made.call_sync({"value": {"no": ["such"]}})


def test_s1_53_the_methods_of_an_object_are_registered_as_tools() -> None:
    class Station:
        def __init__(self, sky: str) -> None:
            self.sky = sky

        def weather(self, city: str) -> str:
            """The weather of a city."""
            return f"{self.sky} in {city}"

        def forecast(self, city: str, days: int = 1) -> str:
            """The weather of the next days."""
            return f"{self.sky} in {city} for {days}"

    tools = Toolset.from_object(Station("clear"))
    assert tools.names == ("weather", "forecast")
    weather = tools.get("weather")
    assert isinstance(weather, Tool)
    assert weather.call_sync({"city": "Rome"}) == "clear in Rome"


async def test_s1_54_calls_errors_retries_and_seconds_of_each_tool_are_counted() -> None:
    @tool
    def fail() -> str:
        """Fails."""
        raise RuntimeError("out of tea")

    run, _ = scripted(calls(ROME, OSLO, ("3", "fail", {})), "Done.", tools=[get_weather, fail])
    metrics = (await run.run("Go.")).metrics
    assert {name: (one.calls, one.errors, one.retries) for name, one in metrics.items()} == {
        "get_weather": (2, 0, 0),
        "fail": (1, 1, 0),
    }
    assert Metrics.__struct_fields__ == ("calls", "errors", "retries", "seconds")


# ── the examples ─────────────────────────────────────────────────────────────

WEATHER = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "description": "City name or coordinates"},
        "units": {
            "type": "string",
            "description": "Temperature units (celsius/fahrenheit)",
            "enum": ["celsius", "fahrenheit"],
            "default": "celsius",
        },
    },
    "required": ["location"],
}


async def test_s1_55_the_registration_example_takes_a_raw_schema_and_a_function_of_two_arguments() -> None:
    weather_tool = Tool(
        "get_weather", "Get current weather for a location", WEATHER, lambda location, units: f"{location}, {units}"
    )
    registry = Toolset()
    registry.register(weather_tool)
    assert registry.get("get_weather") is weather_tool
    assert weather_tool.parameters == WEATHER
    assert weather_tool.call_sync({"location": "Rome"}) == "Rome, celsius"
    assert weather_tool.call_sync({"location": "Rome", "units": "fahrenheit"}) == "Rome, fahrenheit"
    with pytest.raises(ToolError, match="units"):
        weather_tool.call_sync({"location": "Rome", "units": "kelvin"})
    run, _ = scripted(calls(ROME), "It is clear.", tools=registry)
    assert [one.content for one in results((await run.run("How is Rome?")).conversation)] == ["Rome, celsius"]


def test_s1_55_a_function_of_one_dict_gets_the_default_too() -> None:
    made = Tool("get_weather", "Get current weather for a location", WEATHER, lambda arguments: arguments)
    assert made.call_sync({"location": "Rome"}) == {"location": "Rome", "units": "celsius"}


TOOL_CONFIG = ToolPolicy(enabled=True, choice=ToolChoice("auto"), max_iterations=5, timeout=30, max_parallel=3)


async def test_s1_56_the_usage_example_runs() -> None:
    registry = Toolset()
    registry.register(get_weather)
    engine = ScriptedEngine([calls(ROME), "It is clear."])
    orchestrator = Orchestrator(engine, registry, TOOL_CONFIG, model_name="a-model")
    result = await orchestrator.run("How is Rome?")
    assert [item.role for item in result.conversation] == ["user", "assistant", "tool", "assistant"]
    assert (TOOL_CONFIG.max_iterations, TOOL_CONFIG.timeout, TOOL_CONFIG.max_parallel) == (5, 30, 3)
    assert (ToolPolicy().timeout, ToolPolicy().max_parallel) == (30, 3)


@pytest.mark.parametrize("api", PROVIDERS)
async def test_s1_57_the_streaming_example_sees_partial_calls(api: str) -> None:
    seen: list[Any] = []
    async with loopback(Turn(calls=(ROME,)), Turn(text="It is clear.")) as server:
        run = Orchestrator(
            engine_of(api, server.url), [get_weather], TOOL_CONFIG, model_name=MODELS[api], dialect="plain"
        )
        async for item in run.stream("How is Rome?"):
            seen.append(item)
        await run.close()
    assert [one.call_id for one in seen if isinstance(one, ArgumentsChunk)]
    assert "".join(one.text for one in seen if isinstance(one, TextChunk)) == "It is clear."


def test_s1_58_the_factory_example_makes_an_orchestrator_from_a_name_tools_and_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    run = Orchestrator("openai:gpt-5.1", tools=Toolset([get_weather]), policy=TOOL_CONFIG, configuration=None)
    assert (run.engine.name, run.model, run.policy, run.toolset.names) == (
        *("openai_responses", "gpt-5.1", TOOL_CONFIG),
        ("get_weather",),
    )


# ── what each provider does its own way ──────────────────────────────────────


def test_s1_59_openai_has_parallel_calls_choices_functions_and_streams() -> None:
    for api in ("openai_chat", "openai_responses"):
        features = APIS[api].features("gpt-4.1")
        assert {"auto", "none", "one"} <= set(features.choices)
        assert features.streaming
        body = (
            APIS[api]
            .encode(request(api, get_weather.definition, choice=ToolChoice("one", ("get_weather",)), parallel=True))
            .body
        )
        assert body["parallel_tool_calls"] is True
        assert "get_weather" in json.dumps(body["tool_choice"])
        assert body["tools"][0]["type"] == "function"


def test_s1_60_claude_has_input_schemas_tool_use_and_tool_result_blocks() -> None:
    conversation = (
        user("How is Rome?"),
        Reply((CallPart(NativeCall(*ROME)),), FinishReason.CALLS),
        Message("tool", (ResultPart(NativeResult("1", "clear")),)),
    )
    body = APIS["anthropic_messages"].encode(Request("claude-sonnet-4-5", conversation, (get_weather.definition,))).body
    assert "input_schema" in body["tools"][0]
    assert body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "1", "name": "get_weather", "input": {"location": "Rome"}}
    ]
    (block,) = body["messages"][2]["content"]
    assert (body["messages"][2]["role"], block["type"], block["tool_use_id"]) == ("user", "tool_result", "1")


async def test_s1_61_claude_calls_in_parallel_in_one_request() -> None:
    async with loopback(Turn(calls=(ROME, OSLO)), Turn(text="Both.")) as server:
        run = Orchestrator(engine_of("anthropic_messages", server.url), [get_weather], model_name="claude-sonnet-4-5")
        await run.run("How are they?")
        await run.close()
    assert len(server.requests) == 2
    body = APIS["anthropic_messages"].encode(request("anthropic_messages", get_weather.definition, parallel=False)).body
    assert body["tool_choice"]["disable_parallel_tool_use"] is True


def test_s1_62_gemini_has_function_declarations_its_own_schema_and_function_responses() -> None:
    conversation = (
        user("How is Rome?"),
        Reply((CallPart(NativeCall(*ROME)),), FinishReason.CALLS),
        Message("tool", (ResultPart(NativeResult("1", "clear", name="get_weather")),)),
    )
    body = APIS["gemini_generate"].encode(Request("gemini-2.5-pro", conversation, (get_weather.definition,))).body
    (declared,) = body["tools"][0]["functionDeclarations"]
    assert declared["name"] == "get_weather"
    assert [list(part) for part in body["contents"][2]["parts"]] == [["functionResponse"]]
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == {"location": "Rome"}


# ── errors ───────────────────────────────────────────────────────────────────


async def failures(name: str, said: Any, tools: list[Tool], **policy: Any) -> list[Failure]:
    run, _ = scripted(calls(("1", name, said)), "Hm.", tools=tools, policy=ToolPolicy(**policy))
    events: list[Any] = []
    await run.run("Go.", emit=events.append)
    found = [one.result for one in events if isinstance(one, ToolReturned)]
    assert [(one.call.native.id, one.call.native.name) for one in events if isinstance(one, ToolCalled)] == [
        ("1", name)
    ]
    assert [one.call_id for one in found] == ["1"]
    return [outcome for one in found for outcome in one.outcomes if isinstance(outcome, Failure)]


@pytest.mark.parametrize(
    "kind, name, said",
    [
        ("invalid_arguments", "get_weather", {}),
        ("failed", "fail", {}),
        ("timed_out", "wait", {}),
        ("unknown_tool", "get_wether", {"location": "Rome"}),
    ],
)
async def test_s1_63_the_four_kinds_of_errors_have_a_tool_a_message_and_details(
    kind: str, name: str, said: dict[str, Any]
) -> None:
    @tool
    def fail() -> str:
        """Fails."""
        raise ToolError("out of tea", details={"left": 0})

    @tool
    async def wait() -> str:
        """Waits for ever."""
        await asyncio.Event().wait()
        return "never"

    (failure,) = await failures(name, said, [get_weather, fail, wait], timeout=0.05)
    assert (failure.kind, bool(failure.message)) == (kind, True)
    assert name != "fail" or failure.details == {"left": 0}
