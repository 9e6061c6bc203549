"""`output=`: the answer as a value of the type that was asked for, on every API."""

from __future__ import annotations

import copy
import datetime
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from dragoman import Orchestrator, tool
from dragoman.apis import APIS as APIS_BY_NAME
from dragoman.engine import FinalOutput, PartialOutput, Running, ScriptedEngine, ToolPolicy
from dragoman.engine.history import conversation_of
from dragoman.engine.typed_output import FINAL_TOOL, GrowingAnswer, Output
from dragoman.errors import ConfigError, DefinitionError
from dragoman.model import (
    AnyEvent,
    ArgumentsChunk,
    CallPart,
    CallStarted,
    Failure,
    Features,
    FinishReason,
    NativeCall,
    RefusalPart,
    Reply,
    Restarted,
    SessionStarted,
    TextChunk,
    TextPart,
    Thinking,
    Usage,
)
from tests.engine.loopback import Turn, loopback


class Struct(msgspec.Struct):
    name: str
    count: int = 1


@dataclass
class Data:
    name: str
    count: int = 1


class Typed(TypedDict):
    name: str
    count: int


class Model(pydantic.BaseModel):
    name: str
    count: int = 1


@dataclass
class Refusal:
    reason: str
    name: str = ""


@dataclass
class Both:
    either: Data | Refusal


class Refused(pydantic.BaseModel):
    reason: str


@tool
def look() -> str:
    """Look."""
    return "I see tea."


TAKES = Features(choices=("auto",), response_schema=True)


def calls(id: str, name: str, arguments: dict[str, Any]) -> Reply:
    return Reply((CallPart(NativeCall(id, name, arguments)),), FinishReason.CALLS)


APIS = ["anthropic:claude-sonnet-4-5", "openai:gpt-5.2", "openai-chat:gpt-5.2", "gemini:gemini-3-pro-preview"]
ANSWER = {"name": "tea", "count": 2}


def ask_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, address in (("ANTHROPIC", ""), ("OPENAI", ""), ("GEMINI", "GOOGLE_")):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
        monkeypatch.setenv(f"{address}{name}_BASE_URL", url)


@pytest.mark.parametrize(
    "wanted, said, expected",
    [
        (Struct, ANSWER, Struct("tea", 2)),
        (Data, ANSWER, Data("tea", 2)),
        (Typed, ANSWER, ANSWER),
        (Model, ANSWER, Model(name="tea", count=2)),
        (int, {"value": 3}, 3),
        (str, {"value": "tea"}, "tea"),
        (list[Data], {"value": [ANSWER]}, [Data("tea", 2)]),
        ({"type": "object", "properties": {"name": {"type": "string"}}}, {"name": "tea"}, {"name": "tea"}),
        ({"type": "array", "items": {"type": "integer"}}, {"value": [1, 2]}, [1, 2]),
        ({"$ref": "#/$defs/Count", "$defs": {"Count": {"type": "integer"}}}, {"value": 3}, 3),
        (Model | Refused, {"value": {"reason": "sold out"}}, Refused(reason="sold out")),
        (Model | Data, {"value": ANSWER}, Model(name="tea", count=2)),
        (Model | str, {"value": "tea"}, "tea"),
        (Annotated[Model | Refused, pydantic.Field(description="x")], {"value": ANSWER}, Model(name="tea", count=2)),
        (list[Data | Refusal], {"value": [ANSWER, {"reason": "sold out"}]}, [Data("tea", 2), Refusal("sold out")]),
        (Model | list[Data] | None, {"value": [ANSWER]}, [Data("tea", 2)]),
        (Both, {"either": {"reason": "sold out"}}, Both(Refusal("sold out"))),
    ],
)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"])
async def test_an_answer_is_read_into_the_type(wanted: Any, said: Any, expected: Any, form: str) -> None:
    run = Orchestrator(ScriptedEngine([form.format(json.dumps(said))], features=TAKES), output=wanted)
    result = await run.run("go")
    assert (result.status, result.output) == ("completed", expected)


@pytest.mark.parametrize(
    "wanted, said, expected",
    [
        (str, "Tea, please.", "Tea, please."),
        (Model | str, "Tea, please.", "Tea, please."),
        (Literal["tea", "milk"], "tea\n", "tea"),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (int, "3", 3),
        (list[Data], json.dumps([ANSWER]), [Data("tea", 2)]),
        (Data | Refusal, json.dumps({"reason": "sold out"}), Refusal("sold out")),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
    ],
)
async def test_an_answer_may_be_the_bare_value(wanted: Any, said: str, expected: Any) -> None:
    result = await Orchestrator(ScriptedEngine([said], features=TAKES), output=wanted).run("go")
    assert (result.status, result.output) == ("completed", expected)


@pytest.mark.parametrize("wanted", [list[str], int, Literal["tea"], Model | Refused])
async def test_prose_is_no_value_of_another_type(wanted: Any) -> None:
    engine = ScriptedEngine(["I cannot do that."], features=TAKES)
    result = await Orchestrator(engine, output=wanted, output_retries=0).run("go")
    assert (result.status, result.output) == ("failed", None)


async def test_an_answer_that_does_not_fit_is_given_back_to_the_model() -> None:
    engine = ScriptedEngine(["tea, please", '{"name": "tea", "count": "many"}', '{"name": "tea"}'], features=TAKES)
    result = await Orchestrator(engine, output=Struct).run("go")
    assert (result.status, result.output, result.rounds) == ("completed", Struct("tea"), 3)
    asked = [item.text for item in result.conversation if item.role == "user"]
    assert ["go", "is not JSON" in asked[1], "count must be an integer" in asked[2]] == [asked[0], True, True]


async def test_after_the_last_try_the_run_has_failed_and_says_why() -> None:
    result = await Orchestrator(ScriptedEngine(["{}", "{}"], features=TAKES), output=Struct, output_retries=1).run("go")
    assert (result.status, result.output) == ("failed", None)
    assert isinstance(result.error, Failure)
    assert result.error.message == "the answer does not fit the type that was asked for: name is required"


async def test_without_a_schema_of_the_provider_the_model_answers_by_a_tool() -> None:
    wrong = calls("1", "final_answer", {"count": 2})
    right = calls("2", "final_answer", ANSWER)
    features = Features(choices=("auto", "one"))
    engine = ScriptedEngine([calls("0", "look", {}), "Tea.", wrong, right], features=features)
    result = await Orchestrator(engine, [look], output=Struct).run("go")
    assert (result.status, result.output, result.text) == ("completed", Struct("tea", 2), "Tea.")
    assert [definition.name for definition in engine.requests[0].definitions] == ["look"]
    assert [definition.name for definition in engine.requests[2].definitions] == ["final_answer"]
    assert engine.requests[2].choice.names == ("final_answer",)


async def test_a_model_that_nothing_can_make_call_the_tool_may_write_the_value() -> None:
    features = Features(choices=("auto",))
    engine = ScriptedEngine(["Tea.", json.dumps(ANSWER)], features=features)
    result = await Orchestrator(engine, output=Struct).run("go")
    assert (result.status, result.output) == ("completed", Struct("tea", 2))
    failed = await Orchestrator(ScriptedEngine(["Tea.", "Two teas."], features=features), output=Struct).run("go")
    assert (failed.status, failed.output) == ("failed", None)


async def test_a_model_that_writes_the_value_where_it_must_call_the_tool_has_answered() -> None:
    engine = ScriptedEngine(["Tea.", *[json.dumps(ANSWER)] * 3], features=Features(choices=("auto", "one")))
    result = await Orchestrator(engine, output=Struct).run("go")
    assert (result.status, result.error, result.output) == ("completed", None, Struct("tea", 2))


async def test_what_did_not_fit_is_said_of_an_answer_by_a_tool_too() -> None:
    engine = ScriptedEngine(["Tea.", calls("1", "final_answer", {"count": "x"})], features=Features(choices=("one",)))
    result = await Orchestrator(engine, output=Struct, output_retries=0).run("go")
    assert isinstance(result.error, Failure)
    said = result.error.message
    assert "name is required" in said
    assert "count must be an integer" in said


@pytest.mark.parametrize(
    "wanted, why",
    [
        ({"type": "wat"}, '  - #/type: "wat" is not a JSON type'),
        ({"type": "array", "items": {"type": "wat"}}, '  - #/items/type: "wat" is not a JSON type'),
        (str | bytes, "more than one str-like"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(wanted: Any, why: str) -> None:
    with pytest.raises(DefinitionError, match=why):
        Orchestrator(ScriptedEngine([]), output=wanted)


@pytest.mark.parametrize("model", APIS)
async def test_every_api_sends_the_schema_beside_the_tools(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(Turn(json.dumps(ANSWER))) as server:
        ask_at(server.url, monkeypatch)
        run = Orchestrator(model, [look], output=Struct, configuration=None)
        try:
            result = await run.run("go")
        finally:
            await run.close()
    assert result.output == Struct("tea", 2)
    assert '"count"' in json.dumps(server.requests[0].body)


async def grown(running: Running[Any]) -> tuple[list[Any], list[Any]]:
    """The partial values of a run, each as it was when it came, and the final ones."""
    partial, final = [], []
    async for item in running:
        if isinstance(item, PartialOutput):
            partial.append(copy.deepcopy(item.value))
        elif isinstance(item, FinalOutput):
            final.append(item.value)
    return partial, final


@pytest.mark.parametrize("model", APIS)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"])
async def test_who_iterates_a_run_sees_the_answer_grow(model: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = {"value": [{"name": "green tea", "count": 2}, {"name": "black tea", "count": 12}]}
    async with loopback(Turn(form.format(json.dumps(orders)), pieces=20)) as server:
        ask_at(server.url, monkeypatch)
        run = Orchestrator(model, [look], output=list[Data], configuration=None)
        try:
            running = run.start("go")
            partial, final = await grown(running)
            result = await running.result()
        finally:
            await run.close()
    assert final == [result.output] == [[Data("green tea", 2), Data("black tea", 12)]]
    assert partial[-1] == orders["value"]
    assert len(partial) > 5


@pytest.mark.parametrize("by_tool", [False, True])
def test_a_partial_value_holds_what_has_come(by_tool: bool) -> None:
    answer = GrowingAnswer(Output(list[Data]), by_tool=by_tool)
    seen: list[Any] = []
    if by_tool:
        assert answer.feed(CallStarted("c1", "final_answer")) is None
    for text in (
        "",
        "" if by_tool else "Here:\n```json\n",
        '{"value": [{"na',
        'me": "gre',
        'en", "count": 1',
        "2}, {",
        "}]}",
    ):
        grew = answer.feed(ArgumentsChunk("c1", text) if by_tool else TextChunk(text))
        seen.append(None if grew is None else copy.deepcopy(grew.value))
    green = {"name": "green", "count": 12}
    assert seen == [None, None, [{}], [{"name": "gre"}], [{"name": "green"}], [green, {}], [green, {}]]
    assert answer.feed(Restarted("it broke off")) is None
    assert answer.feed(TextChunk("{")) is None
    assert answer.feed(ArgumentsChunk("c1", '{"value": [1]}')) is None


async def test_an_answer_by_a_tool_grows_too_and_text_before_it_does_not_count() -> None:
    wrong, right = calls("1", "final_answer", {"count": 2}), calls("2", "final_answer", ANSWER)
    engine = ScriptedEngine(["Not {this}.", wrong, right], features=Features(choices=("auto", "one")))
    items = [item async for item in Orchestrator(engine, [look], output=Struct).stream("go")]
    assert [item.value for item in items if isinstance(item, PartialOutput)] == [{"count": 2}, ANSWER]
    assert [item.value for item in items if isinstance(item, FinalOutput)] == [Struct("tea", 2)]


async def test_an_answer_that_is_asked_for_again_is_one_run_for_listeners_the_record_and_limits() -> None:
    events: list[AnyEvent] = []
    engine = ScriptedEngine(["no", '{"name": "tea"}'], features=TAKES)
    running = Orchestrator(engine, output=Struct).start("go", emit=events.append)
    partial, final = await grown(running)
    result = await running.result()
    assert (partial[-1], final, result.output) == ({"name": "tea"}, [Struct("tea")], Struct("tea"))
    assert {event.run for event in events} == {running.id}
    assert len({event.id for event in events}) == len(events)
    assert [event.resumed for event in events if isinstance(event, SessionStarted)] == [False, True]
    assert conversation_of(events) == result.conversation == running.conversation
    no = Reply((TextPart("no"),), FinishReason.STOP, usage=Usage(60, output_tokens=0))
    large = [no, no, '{"name": "tea"}']
    policy = ToolPolicy(max_tokens=100)
    limited = await Orchestrator(ScriptedEngine(large, features=TAKES), [], policy, output=Struct).start("go").result()
    assert (limited.status, limited.output, len(limited.charged)) == ("limited", None, 2)


async def test_an_answer_that_never_fits_has_no_final_value() -> None:
    run = Orchestrator(ScriptedEngine(["{}", "{}"], features=TAKES), output=Struct, output_retries=1).start("go")
    assert await grown(run) == ([{}, {}], [])
    assert (await run.result()).status == "failed"


@pytest.mark.parametrize("takes_schema", [True, False])
async def test_one_run_may_ask_for_a_type_of_its_own(takes_schema: bool) -> None:
    def answer(value: str) -> Any:
        call = NativeCall("c1", FINAL_TOOL, {"value": json.loads(value)})
        return f'{{"value": {value}}}' if takes_schema else Reply((CallPart(call),), FinishReason.CALLS)

    script = [answer("[1, 2]"), answer("7")] if takes_schema else ["Well.", answer("[1, 2]"), "Hm.", answer("7")]
    engine = ScriptedEngine(script, features=Features(response_schema=takes_schema))
    orchestrator = Orchestrator(engine, output=int)
    assert (await orchestrator.run("Which?", output=list[int])).output == [1, 2]
    assert (await orchestrator.run("How many?")).output == 7
    engine.finish()


def test_an_option_that_a_run_does_not_have_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(TypeError, match='Did you mean "history"'):
        Orchestrator(ScriptedEngine([])).start("Hi", histry=())  # type: ignore[call-overload]


@pytest.mark.parametrize("model", APIS)
async def test_an_answer_may_be_one_of_several_classes(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ({"name": "tea"}, {"reason": "sold out", "name": "tea"}, {"count": 2})
    async with loopback(*(Turn(json.dumps({"value": answer})) for answer in answers)) as server:
        ask_at(server.url, monkeypatch)
        asked: Orchestrator[Any] = Orchestrator(model, output=Data | Refusal, output_retries=0, configuration=None)
        assert (await asked.run("Order tea.")).output == Data("tea")
        assert (await asked.run("Order tea.")).output == Refusal("sold out", "tea")
        failed = await asked.run("Order tea.")
        await asked.close()
    assert isinstance(failed.error, Failure)
    assert "name" in failed.error.message
    assert "reason" in failed.error.message


def test_what_is_no_type_is_refused_when_it_is_given() -> None:
    with pytest.raises(DefinitionError):
        Orchestrator(ScriptedEngine([]), output=lambda: None)
    with pytest.raises(ConfigError, match="for a Python type use output="):
        Orchestrator(ScriptedEngine([]), response_schema=Struct)


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses"])
def test_only_models_that_take_a_schema_are_sent_one(api: str) -> None:
    without: tuple[str, ...] = ("gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "gpt-4o-2024-05-13")
    if api == "openai_chat":
        without += ("deepseek-chat", "deepseek-v4-pro", "llama-3.3-70b-versatile")
    with_it = ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5.2")
    takes = {model: APIS_BY_NAME[api].features(model).response_schema for model in (*without, *with_it)}
    assert takes == {**dict.fromkeys(without, False), **dict.fromkeys(with_it, True)}


@pytest.mark.parametrize("takes_schema", [True, False])
async def test_a_refusal_is_said_and_not_asked_again(takes_schema: bool) -> None:
    features = Features(choices=("auto", "one"), response_schema=takes_schema)
    for reply, said in (
        (Reply((RefusalPart("I cannot."),), FinishReason.REFUSED), "the model refused to answer: I cannot."),
        (Reply((TextPart("I cannot."),), FinishReason.REFUSED), "the model refused to answer: I cannot."),
        (Reply((), FinishReason.FILTERED), "the provider's filter ended the answer"),
    ):
        with ScriptedEngine([reply], features=features) as engine:
            result = await Orchestrator(engine, output=Struct).run("go")
        assert (result.status, result.output, result.error) == ("failed", None, Failure("failed", said))


async def test_an_answer_that_was_cut_off_is_asked_for_again_with_the_reason() -> None:
    cut = Reply((TextPart('{"name": "te'),), FinishReason.LENGTH)
    with ScriptedEngine([cut, '{"name": "tea"}'], features=TAKES) as engine:
        result = await Orchestrator(engine, output=Struct).run("go")
    assert (result.status, result.output) == ("completed", Struct("tea"))
    assert "cut off at the limit on its length" in str(engine.requests[1].conversation[-1])
    failed = await Orchestrator(ScriptedEngine([cut], features=TAKES), output=Struct, output_retries=0).run("go")
    assert isinstance(failed.error, Failure)
    assert "cut off at the limit on its length" in failed.error.message


@pytest.mark.parametrize("model", ["anthropic:claude-3-7-sonnet-20250219", "gemini:gemini-2.5-pro"])
async def test_a_model_that_thinks_can_be_made_to_answer_by_a_tool(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    final = Turn(calls=(("c1", FINAL_TOOL, {"value": 3}),))
    async with loopback(Turn("Three."), final) as server:
        ask_at(server.url, monkeypatch)
        run = Orchestrator(model, [look], output=int, thinking=Thinking("low"), configuration=None)
        result = await run.run("How many?")
        await run.close()
    assert (result.status, result.output) == ("completed", 3)
    assert [("thinking" in json.dumps(heard.body)) for heard in server.requests] == [True, model.startswith("gemini")]
