"""Tools for models that cannot call them: what is offered, what decoding is held to, and what a reply is read as."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any, Literal

import msgspec
import pytest

from dragoman.engine import Hooks, HttpEngine, Orchestrator, Retry, ToolPolicy
from dragoman.engine.constrained import ConstrainedEngine
from dragoman.engine.history.from_recording import conversation_of
from dragoman.engine.loop import NOT_DONE, by_client
from dragoman.engine.transport import Transport
from dragoman.errors import DefinitionError
from dragoman.model import (
    AnyChunk,
    AnyEvent,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    Finished,
    FinishReason,
    FreeformDefinition,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    Request,
    TextChunk,
    ThinkingChunk,
    ThinkingPart,
    ToolChoice,
    Usage,
    UsageArrived,
    assistant,
    calls_message,
    results_message,
    system,
    user,
)
from dragoman.tools import tool
from tests.engine.loopback import Loopback, Turn, loopback

PICK = FunctionDefinition(
    "pick",
    "Picks a colour. Any will do.",
    {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "blue"], "description": "Which."},
            "shade": {"type": "string", "pattern": "^[a-z]+"},
        },
        "required": ["colour"],
        "additionalProperties": False,
    },
)
COUNT = FunctionDefinition(
    "count", "Counts.", {"type": "object", "properties": {"what": {"type": "string"}, "how": {"type": "string"}}}, "my"
)
NOTE = FreeformDefinition("note", "Takes a note.")


def branch(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


RED_OR_BLUE = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


@asynccontextmanager
async def model(*turns: Turn, **options: Any) -> AsyncIterator[tuple[ConstrainedEngine, Loopback]]:
    async with loopback(*turns) as server:
        inner = HttpEngine("openai_chat", Transport(server.url), provider="played", retry=Retry(times=0))
        engine = ConstrainedEngine(inner, **options)
        yield engine, server
        await engine.close()


def asking(*definitions: Any, **more: Any) -> Request:
    return Request("small", more.pop("conversation", (user("Pick one."),)), definitions=definitions, **more)


def branches_of(schema: dict[str, Any]) -> list[str]:
    """What a schema lets a model say, in a few words."""
    names = []
    for one in schema["oneOf"]:
        match one["properties"]:
            case {"plan": {"items": {"pattern": pattern}}}:
                names.append(f"plan of {pattern[2 : pattern.index(')')]}")
            case {"call": {"const": name}}:
                names.append(name)
            case {"say": _}:
                names.append("say")
    return names


PLAN = '{"plan": ["pick: a colour", "note: which"]}'
PICKED = '{"call": "pick", "arguments": {"colour": "red"}}'
NOTED = '{"call": "note", "arguments": "red"}'


# ── what goes out ────────────────────────────────────────────────────────────


async def test_tools_stand_in_the_instructions_and_in_the_schema_and_nowhere_else() -> None:
    said = (system("Be brief."), user("Pick one."))
    async with model(Turn('{"say": "red"}')) as (engine, server):
        await engine.ask(asking(PICK, COUNT, NOTE, conversation=said))
    body = server.requests[0].body
    assert "tools" not in body
    assert "tool_choice" not in body
    step = {"type": "string", "pattern": r'^(pick|my\.count|note): [^"\\\n]{1,80}$'}
    plan = {"type": "array", "items": step, "minItems": 1, "maxItems": 6}
    assert body["json_schema"] == {"oneOf": [branch(say={"type": "string"}), branch(plan=plan)]}
    first, second = body["messages"]
    assert (first["role"], second) == ("system", {"role": "user", "content": "Pick one."})
    assert first["content"].endswith("\n\nBe brief.")  # what stands before it is the same in every run
    assert "- pick(colour=red|blue): Picks a colour\n- my.count(what): Counts\n- note(text): " in first["content"]
    assert body["temperature"] == 0.0
    assert 1024 in body.values()  # the most it may say, under whichever name the server takes it


async def test_objects_in_a_list_are_shown_with_what_they_need_in_words_that_decoding_takes() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "items": False, "maxItems": 2}
    edit = {
        "type": "object",
        "properties": {"old": {"type": "string"}, "lines": pair, "all": {"type": "boolean", "default": False}},
        "required": ["old", "lines"],
    }
    parameters = {"type": "object", "properties": {"edits": {"type": "array", "items": edit}}, "required": ["edits"]}
    definition = FunctionDefinition("edit", "Edits.", parameters)
    taken = {"type": "array", "prefixItems": pair["prefixItems"], "maxItems": 2}
    needed = {"old": {"type": "string"}, "lines": taken}
    for optional, shown in ((False, needed), (True, {**needed, "all": {"type": "boolean"}})):
        async with model(Turn('{"call": "edit", "arguments": {"edits": []}}'), optional=optional) as (engine, server):
            await engine.ask(asking(definition, choice=ToolChoice("required")))
        body = server.requests[0].body
        (call,) = body["json_schema"]["oneOf"]
        assert call["properties"]["arguments"]["properties"]["edits"]["items"]["properties"] == shown
        assert f"- edit(edits=[{{{', '.join(shown)}}}]): Edits" in body["messages"][0]["content"]


async def test_examples_of_plans_name_tools_that_are_offered() -> None:
    def takes(name: str, *needed: str) -> FunctionDefinition:
        schema = {"type": "object", "properties": {one: {"type": "string"} for one in needed}, "required": [*needed]}
        return FunctionDefinition(name, "Does it.", schema)

    read, run, write = takes("look", "file_path"), takes("sh", "command"), takes("put", "path", "command")
    async with model() as (engine, _):
        told = [engine.about_tools(offered) for offered in ([read, run, write], [write])]
    rename = 'To rename a.log: {"plan": ["sh: mv a.log b.log"]}\n'
    logs = 'For a task about what is in a.log and b.log: {"plan": ["look: a.log", "look: b.log"]}\n'
    assert rename + logs in told[0]
    assert "a.log" not in told[1]


async def test_parameters_that_are_not_shown_are_named_in_what_is_prepared() -> None:
    must = asking(PICK, choice=ToolChoice("required"))
    async with model() as (engine, _), model(optional=True) as (shown, _):
        report = engine.prepare(must).report
        everything = shown.prepare(must)
    assert [(one.where, one.message) for one in report] == [("tools.pick", "not shown to the model: shade")]
    assert everything.report == ()
    (call,) = everything.body["json_schema"]["oneOf"]
    assert call["properties"]["arguments"]["properties"]["shade"] == {"type": "string"}


@pytest.mark.parametrize(
    "choice, branches",
    [
        (ToolChoice(), ["say", "plan of pick|note"]),
        (ToolChoice("required"), ["pick", "note"]),
        (ToolChoice("one", ("note",)), ["note"]),
        (ToolChoice("subset", ("pick",)), ["say", "plan of pick"]),
        (ToolChoice("subset", ("pick",), required=True), ["pick"]),
    ],
)
async def test_the_choice_of_tools_is_the_choice_of_branches(choice: ToolChoice, branches: list[str]) -> None:
    async with model() as (engine, _):
        schema = engine.prepare(asking(PICK, NOTE, choice=choice)).body["json_schema"]
    assert branches_of(schema) == branches


async def test_without_tools_nothing_is_constrained() -> None:
    async with model(Turn("Just text."), Turn("{}")) as (engine, server):
        plain = await engine.ask(asking(PICK, choice=ToolChoice("none")))
        await engine.ask(asking(response_schema={"type": "object"}))
    assert plain.text == "Just text."
    assert "json_schema" not in server.requests[0].body
    assert server.requests[1].body["json_schema"] == {"type": "object"}


async def test_calls_and_results_of_earlier_rounds_are_told_in_the_same_form() -> None:
    history = (
        user("Pick one."),
        calls_message(NativeCall("c1", "pick", {"colour": "red"})),
        results_message(NativeResult("c1", "red it is")),
    )
    async with model() as (engine, _):
        messages = engine.prepare(asking(PICK, conversation=history)).body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == '{"call": "pick", "arguments": {"colour": "red"}}'
    assert messages[3]["content"].startswith("Result of pick:\nred it is\n\nThe task: Pick one.\n")


async def test_a_failed_result_says_so() -> None:
    history = (
        user("Go."),
        calls_message(NativeCall("c1", "pick", {})),
        results_message(NativeResult("c1", "no colour", is_error=True)),
    )
    async with model() as (engine, _):
        messages = engine.prepare(asking(PICK, conversation=history)).body["messages"]
    assert messages[3]["content"].startswith("Result of pick (it failed):\nno colour\n")


async def test_a_tool_its_provider_runs_is_refused_before_anything_is_sent() -> None:
    hosted = ProviderDefinition("openai.web_search", "web_search")
    async with model() as (engine, server):
        with pytest.raises(DefinitionError, match=r"openai\.web_search is run by its provider"):
            await engine.ask(asking(PICK, hosted))
    assert server.requests == []


# ── what comes back ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_is_read(stream: bool) -> None:
    chunks: list[AnyChunk] = []
    turn = Turn('{"call": "pick", "arguments": {"colour": "red"}}', usage=(7, 9), pieces=20)
    async with model(turn) as (engine, _):
        reply = await engine.ask(asking(PICK), chunks.append if stream else None)
    (call,) = reply.calls
    assert call == NativeCall(call.id, "pick", {"colour": "red"})
    assert (reply.text, reply.finish, reply.usage) == ("", FinishReason.CALLS, Usage(7, output_tokens=9))
    if stream:
        assert [chunk for chunk in chunks if not isinstance(chunk, UsageArrived)] == [
            CallStarted(call.id, "pick"),
            ArgumentsChunk(call.id, '{"colour":"red"}'),
            CallFinished(call),
            Finished(FinishReason.CALLS),
        ]
        assert [chunk.usage for chunk in chunks if isinstance(chunk, UsageArrived)] == [reply.usage]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_text_is_read_and_streams_without_the_json_around_it(stream: bool) -> None:
    text = 'It is "red",\nI think: \u00e9\U0001f600.'
    chunks: list[AnyChunk] = []
    async with model(Turn(json.dumps({"say": text}), pieces=40)) as (engine, _):
        reply = await engine.ask(asking(PICK), chunks.append if stream else None)
    assert (reply.text, reply.finish, reply.calls) == (text, FinishReason.STOP, ())
    if stream:
        said = [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)]
        assert "".join(said) == text
        assert len(said) > 5


async def test_a_namespace_and_a_freeform_text_find_their_way_back() -> None:
    turns = (Turn('{"call": "my.count", "arguments": {"what": "x"}}'), Turn('{"call": "note", "arguments": "abc"}'))
    async with model(*turns) as (engine, _):
        counted = await engine.ask(asking(COUNT, NOTE))
        noted = await engine.ask(asking(COUNT, NOTE))
    assert (counted.calls[0].namespace, counted.calls[0].name) == ("my", "count")
    assert (noted.calls[0].name, noted.calls[0].arguments) == ("note", "abc")


@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_cut_off_is_an_unfinished_call_or_an_unfinished_text(stream: bool) -> None:
    turns = (
        Turn('{"call": "pick", "arguments": {"colour": "re', finish="length"),
        Turn('{"say": "It is re', finish="length"),
        Turn('{"ca', finish="length"),
    )
    chunks: list[AnyChunk] = []
    observe = chunks.append if stream else None
    async with model(*turns) as (engine, _):
        call, text, nothing = [await engine.ask(asking(PICK), observe) for _ in turns]
    assert (call.calls[0].arguments, call.finish) == ('{"colour": "re', FinishReason.LENGTH)
    assert (text.text, text.finish) == ("It is re", FinishReason.LENGTH)
    assert (nothing.text, nothing.calls, nothing.finish) == ("", (), FinishReason.LENGTH)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_whole_run_with_a_tool(stream: bool) -> None:
    @tool
    def pick(colour: Literal["red", "blue"], shade: str = "dark") -> str:
        """Picks a colour."""
        return f"{shade} {colour}"

    turns = (Turn('{"call": "pick", "arguments": {"colour": "red"}}'), Turn('{"say": "It is dark red."}'))
    async with model(*turns) as (engine, server):
        run = Orchestrator(engine, [pick], ToolPolicy(), model_name="small", dialect="plain")
        result = await run.run("Pick one.", stream=stream)
    assert (result.status, result.text, result.rounds) == ("completed", "It is dark red.", 2)
    assert "dark red" in server.requests[1].body["messages"][-1]["content"]


async def test_a_tool_that_gave_the_same_twice_is_not_offered_again_until_the_user_speaks() -> None:
    def round_of(id: str, answer: str) -> tuple[Any, Any]:
        call = NativeCall(id, "pick", {"colour": "red"})
        return calls_message(call), results_message(NativeResult(id, answer))

    once = (user("Pick one."), *round_of("c1", "red it is"))
    async with model() as (engine, _):

        def offered(*conversation: Any, **more: Any) -> list[str]:
            return branches_of(
                engine.prepare(asking(PICK, NOTE, conversation=conversation, **more)).body["json_schema"]
            )

        assert offered(*once) == ["say", "pick", "note"]
        assert offered(*once, *round_of("c2", "blue now")) == ["say", "pick", "note"]
        assert offered(*once, *round_of("c2", "red it is")) == ["say", "note"]
        assert offered(*once, *round_of("c2", "red it is"), user("Again!")) == ["say", "plan of pick|note"]
        required = ToolChoice("required")
        assert offered(*once, *round_of("c2", "red it is"), choice=required) == ["pick", "note"]


# ── a plan ───────────────────────────────────────────────────────────────────


async def test_a_model_plans_and_is_led_through_its_plan_step_by_step() -> None:
    done: list[str] = []

    @tool
    def pick(colour: Literal["red", "blue"]) -> str:
        """Picks a colour."""
        done.append(colour)
        return f"{colour} it is"

    @tool
    def keep(text: str) -> str:
        """Keeps a text."""
        done.append(text)
        return "kept"

    plan = '{"plan": ["pick: a colour", "keep: which"]}'
    kept = '{"call": "keep", "arguments": {"text": "red"}}'
    chunks: list[AnyChunk] = []
    async with model(Turn(plan), Turn(PICKED), Turn(kept), Turn('{"say": "Red."}')) as (engine, server):
        run = Orchestrator(engine, [pick, keep], ToolPolicy(), model_name="small", dialect="plain")
        result = await run.run("Pick one and keep it.", observe=chunks.append)
    assert (result.status, result.text, done) == ("completed", "Red.", ["red", "red"])
    bodies = [heard.body for heard in server.requests]
    offered = [branches_of(body["json_schema"]) for body in bodies]
    assert offered == [["say", "plan of pick|keep"], ["pick"], ["keep"], ["say"]]
    assert bodies[1]["messages"][2]["content"] == plan
    asked = [body["messages"][-1]["content"] for body in bodies]
    task = "The task: Pick one and keep it.\n"
    step = "Now do step {} of 2, going by the results so far: {}"
    assert asked[1] == task + step.format(1, "pick: a colour")
    assert asked[2] == "Result of pick:\nred it is\n\n" + task + step.format(2, "keep: which")
    assert asked[3].endswith("Every step is done. Now say the answer, from the results.")
    thought = [chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)]
    assert thought == ["1. pick: a colour\n2. keep: which\n"]


async def test_a_model_that_is_reminded_of_its_task_can_only_make_a_call() -> None:
    conversation = (user("Change it."), assistant("Done."), by_client(f"{NOT_DONE}No file has been changed."))
    async with model() as (engine, _):
        request = asking(PICK, conversation=conversation)
        told = asking(PICK, conversation=(*conversation[:2], user("Go on.")))
        schemas = [engine.schema(engine.offered(one), one) for one in (request, told)]
    assert [branches_of(schema) for schema in schemas] == [["pick"], ["say", "plan of pick"]]


async def test_what_the_client_says_in_the_middle_of_a_task_does_not_begin_another() -> None:
    done: list[str] = []

    @tool
    def pick(colour: Literal["red", "blue"]) -> str:
        """Picks a colour."""
        done.append(colour)
        return f"{colour} it is"

    @tool
    def keep(text: str) -> str:
        """Keeps a text."""
        done.append(text)
        return "kept"

    told = iter(["Instructions of this folder: be quick."])
    plan = '{"plan": ["pick: a colour", "keep: which"]}'
    kept = '{"call": "keep", "arguments": {"text": "red"}}'
    events: list[AnyEvent] = []
    async with model(Turn(plan), Turn(PICKED), Turn(kept), Turn('{"say": "Red."}')) as (engine, server):
        run = Orchestrator(
            engine,
            [pick, keep],
            model_name="small",
            dialect="plain",
            hooks=Hooks(remind=lambda calls, conversation: next(told, None)),
            emit=events.append,
        )
        result = await run.run("Pick one and keep it.")
        record = conversation_of(events)
        resumed = asking(PICK, conversation=record[:4])
        schema = engine.schema(engine.offered(resumed), resumed)
    assert (result.status, result.text, done) == ("completed", "Red.", ["red", "red"])
    bodies = [heard.body for heard in server.requests]
    assert [branches_of(body["json_schema"]) for body in bodies] == [
        ["say", "plan of pick|keep"],
        ["pick"],
        ["keep"],
        ["say"],
    ]
    assert bodies[2]["messages"][-1]["content"] == (
        "Instructions of this folder: be quick.\n\nThe task: Pick one and keep it.\n"
        "Now do step 2 of 2, going by the results so far: keep: which"
    )
    assert record[3] == by_client("Instructions of this folder: be quick.")
    assert branches_of(schema) == ["say", "pick"]


async def test_what_was_said_before_stays_as_it_was_so_that_nothing_is_read_twice() -> None:
    history: tuple[Any, ...] = (user("Pick one and note it."),)
    sent: list[list[Any]] = []
    async with model(Turn(PLAN), Turn(PICKED), Turn(NOTED), Turn('{"say": "Red."}')) as (engine, server):
        for _ in range(3):
            reply = await engine.ask(asking(PICK, NOTE, conversation=history))
            results = [NativeResult(call.id, "done") for call in reply.calls]
            history = (*history, reply, *([results_message(*results)] if results else []))
        sent = [heard.body["messages"] for heard in server.requests]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
        assert len(after) > len(before)


@pytest.mark.parametrize(
    "results, branches",
    [
        ([("pick", False)], ["note"]),
        ([("pick", True)], ["say", "pick", "note"]),
        ([("pick", True), ("note", False)], ["say", "pick", "note"]),
        ([("pick", False), ("pick", True)], ["say", "pick", "note"]),
        ([("pick", False), ("pick", False)], ["note"]),
        ([("pick", True), ("pick", False)], ["note"]),
        ([("pick", False), ("note", False)], ["say"]),
    ],
)
async def test_a_step_is_done_when_its_tool_did_not_fail(results: list[tuple[str, bool]], branches: list[str]) -> None:
    async with model(Turn(PLAN), Turn(PICKED)) as (engine, _):
        first = await engine.ask(asking(PICK, NOTE))
        history: list[Any] = [user("Pick one."), msgspec.structs.replace(first, parts=first.parts[:1])]
        for number, (name, failed) in enumerate(results):
            history.append(calls_message(NativeCall(f"c{number}", name, {"n": number})))
            history.append(results_message(NativeResult(f"c{number}", "so", is_error=failed)))
        schema = engine.prepare(asking(PICK, NOTE, conversation=tuple(history))).body["json_schema"]
    assert branches_of(schema) == branches


@pytest.mark.parametrize(
    "steps, kept",
    [("pn", "pn"), ("pnpn", "pn"), ("ppp", "p"), ("pnp", "pnp"), ("pnpnp", "pnpnp"), ("pnnn", "pn"), ("nppnpp", "np")],
)
async def test_a_plan_that_says_the_same_all_over_again_is_followed_once(steps: str, kept: str) -> None:
    words = {"p": "pick: a colour", "n": "note: which"}
    async with model(Turn(json.dumps({"plan": [words[step] for step in steps]})), Turn(PICKED)) as (engine, _):
        reply = await engine.ask(asking(PICK, NOTE))
    (thought,) = (part.text for part in reply.parts if isinstance(part, ThinkingPart))
    assert thought.splitlines() == [f"{number}. {words[step]}" for number, step in enumerate(kept, 1)]


async def test_a_step_with_a_placeholder_is_done_by_the_results() -> None:
    plan = ["pick: <colour>", "note: the name of '<colour>'"]
    async with model(Turn(json.dumps({"plan": plan})), Turn(PICKED)) as (engine, server):
        reply = await engine.ask(asking(PICK, NOTE))
    (thought,) = (part.text for part in reply.parts if isinstance(part, ThinkingPart))
    assert thought.splitlines() == ["1. pick", "2. note: the name of"]
    assert server.requests[1].body["messages"][-1]["content"].endswith("going by the results so far: pick")


async def test_off_its_plan_a_model_that_repeats_what_it_did_may_only_answer() -> None:
    def round_of(id: str, call: NativeCall, *, failed: bool = False) -> tuple[Any, Any]:
        again = msgspec.structs.replace(call, id=id)
        return calls_message(again), results_message(NativeResult(id, f"so it is {id}", is_error=failed))

    picked, noted = NativeCall("", "pick", {"colour": "red"}), NativeCall("", "note", "red")
    async with model(Turn(PLAN), Turn(PICKED)) as (engine, _):
        first = await engine.ask(asking(PICK, NOTE))
        planned = (user("Pick one."), msgspec.structs.replace(first, parts=first.parts[:1]))
        lost = (*planned, *round_of("c1", picked), *round_of("c2", noted, failed=True))
        for again, branches in ((picked, ["say"]), (noted, ["say", "pick", "note"])):
            history = (*lost, *round_of("c3", again, failed=again is noted))
            prepared = engine.prepare(asking(PICK, NOTE, conversation=history)).body
            assert branches_of(prepared["json_schema"]) == branches
            assert ("That was done before." in prepared["messages"][-1]["content"]) == (branches == ["say"])


async def test_a_plan_that_was_cut_off_is_an_empty_reply_that_says_so() -> None:
    async with model(Turn('{"plan": ["pick: a co', finish="length")) as (engine, server):
        reply = await engine.ask(asking(PICK))
    assert (reply.text, reply.calls, reply.finish) == ("", (), FinishReason.LENGTH)
    assert len(server.requests) == 1


async def test_the_tokens_of_a_plan_are_counted_with_its_first_call() -> None:
    async with model(Turn(PLAN, usage=(7, 9)), Turn(PICKED, usage=(20, 5))) as (engine, _):
        reply = await engine.ask(asking(PICK, NOTE))
    assert reply.usage == Usage(27, output_tokens=14)
    assert [call.name for call in reply.calls] == ["pick"]


# ── free decoding ────────────────────────────────────────────────────────────


async def test_a_model_that_is_not_held_gets_the_same_instructions_and_no_schema() -> None:
    async with model(Turn(PICKED)) as (held, one), model(Turn(PICKED), held=False) as (free, other):
        assert (await held.ask(asking(PICK))).calls[0].arguments == (await free.ask(asking(PICK))).calls[0].arguments
    body = dict(one.requests[0].body)
    del body["json_schema"]
    assert other.requests[0].body == body
    assert (held.features("small").response_schema, free.features("small").response_schema) == (True, False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "said, text, calls",
    [
        (PICKED, "", [("pick", {"colour": "red"})]),
        (f"```json\n{PICKED}\n```", "", [("pick", {"colour": "red"})]),
        ('{"say": "red"}', "red", []),
        ("I pick red.", "I pick red.", []),
        (f"Sure! {PICKED}", f"Sure! {PICKED}", []),
        ('{"call": "choose", "arguments": {}}', "", [("choose", {})]),
        ('{"call": "pick", "arguments": {"hue": 1}}', "", [("pick", {"hue": 1})]),
        ('{"call": "pick", "arguments": [1]}', '{"call": "pick", "arguments": [1]}', []),
        ('{"call": 3, "arguments": {}}', '{"call": 3, "arguments": {}}', []),
        ('{"plan": [1]}', '{"plan": [1]}', []),
        ('{"plan": "pick"}', '{"plan": "pick"}', []),
        ("[]", "[]", []),
        ("{}", "{}", []),
        ('{"call": "pick", "arguments": {"colour": "re', "", [("pick", '{"colour": "re')]),
    ],
)
async def test_whatever_a_free_model_writes_is_a_call_or_a_text(
    said: str, text: str, calls: list[Any], stream: bool
) -> None:
    chunks: list[AnyChunk] = []
    async with model(Turn(said), held=False) as (engine, _):
        reply = await engine.ask(asking(PICK), chunks.append if stream else None)
    assert (reply.text, [(call.name, call.arguments) for call in reply.calls]) == (text, calls)
    if stream:
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == text
