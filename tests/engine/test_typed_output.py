"""`output=`: the answer as a value of the type that was asked for, on every API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

from dragoman import Orchestrator, tool
from dragoman.engine import ScriptedEngine
from dragoman.errors import ConfigError, DefinitionError
from dragoman.model import CallPart, Failure, Features, FinishReason, NativeCall, Reply
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


@tool
def look() -> str:
    """Look."""
    return "I see tea."


TAKES = Features(choices=("auto",), response_schema=True)


def calls(id: str, name: str, arguments: dict[str, Any]) -> Reply:
    return Reply((CallPart(NativeCall(id, name, arguments)),), FinishReason.CALLS)


ANSWER = {"name": "tea", "count": 2}


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
    ],
)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"])
async def test_an_answer_is_read_into_the_type(wanted: Any, said: Any, expected: Any, form: str) -> None:
    run = Orchestrator(ScriptedEngine([form.format(json.dumps(said))], features=TAKES), output=wanted)
    result = await run.run("go")
    assert (result.status, result.output) == ("completed", expected)


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
    assert "the answer does not fit the type that was asked for" in result.error.message
    assert "name" in result.error.message


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


@pytest.mark.parametrize(
    "model", ["anthropic:claude-sonnet-4-5", "openai:gpt-5.2", "openai-chat:gpt-5.2", "gemini:gemini-3-pro-preview"]
)
async def test_every_api_sends_the_schema_beside_the_tools(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(Turn(json.dumps(ANSWER))) as server:
        for name, address in (("ANTHROPIC", ""), ("OPENAI", ""), ("GEMINI", "GOOGLE_")):
            monkeypatch.setenv(f"{name}_API_KEY", "k")
            monkeypatch.setenv(f"{address}{name}_BASE_URL", server.url)
        run = Orchestrator(model, [look], output=Struct, configuration=None)
        try:
            result = await run.run("go")
        finally:
            await run.close()
    assert result.output == Struct("tea", 2)
    assert '"count"' in json.dumps(server.requests[0].body)


def test_what_is_no_type_is_refused_when_it_is_given() -> None:
    with pytest.raises(DefinitionError):
        Orchestrator(ScriptedEngine([]), output=lambda: None)
    with pytest.raises(ConfigError, match="for a Python type use output="):
        Orchestrator(ScriptedEngine([]), response_schema=Struct)
