"""What a program gives `Orchestrator`, its runs and our doors: refused where it is given, with what was wanted."""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman import Orchestrator, Toolset, engine, model, tool
from dragoman.engine import ScriptedEngine
from dragoman.errors import ConfigError, DefinitionError
from dragoman.tools import Context, MemoryWorkspace


@pytest.mark.parametrize(
    "argument, why",
    [
        ({"policy": {"max_iterations": 3}}, "policy must be a ToolPolicy, not {'max_iterations': 3}"),
        ({"dialect": 3}, 'dialect must be a name like "claude_code", or a Dialect, not 3'),
        ({"workspace": "."}, "workspace must be a workspace, such as DiskWorkspace(\".\"), not '.'"),
        ({"context": "."}, "context must be a Context, not '.'"),
        ({"system": ["x"]}, "system must be text, not ['x']"),
        ({"hooks": {}}, "hooks must be Hooks, not {}"),
        ({"approver": "yes"}, "approver must be a function, not 'yes'"),
        ({"emit": []}, "emit must be a function, not []"),
        ({"thinking": "high"}, "thinking must be Thinking(\"high\") or Thinking(tokens=4000), not 'high'"),
        ({"guard": "no"}, "guard must be True or False, not 'no'"),
        ({"cache": 0}, "cache must be True or False, not 0"),
        ({"stop": 5}, "stop must be text, or a list of texts, not 5"),
        ({"prices": 5}, "prices must be a list of prices, not 5"),
        ({"window": "8k"}, "window must be a number of tokens, not '8k'"),
        ({"output_retries": -1}, "output_retries must be a whole number, 0 or more, not -1"),
        ({"max_output_tokens": 0}, "max_output_tokens must be more than 0, not 0"),
        ({"temperature": -0.1}, "temperature must be 0 or more, not -0.1"),
        ({"top_p": 7.0}, "top_p must be from 0 to 1, not 7.0"),
        ({"policy": 1, "guard": 2}, "policy must be a ToolPolicy, not 1; guard must be True or False, not 2"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused_when_it_is_given(argument: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Orchestrator(ScriptedEngine([]), model_name="m", **argument)
    assert str(refused.value) == why


def test_a_model_is_a_name_or_an_engine() -> None:
    given: Any = 5
    with pytest.raises(ConfigError, match=r'model must be a name like "openai:gpt-5.2", or an engine, not 5'):
        Orchestrator(given)


@pytest.mark.parametrize(
    "option, why",
    [
        ({"temperature": 1}, "'temperature' is not an option of one run: give it to Orchestrator(…)"),
        ({"output_type": int}, "a run has no option 'output_type'. Did you mean \"output\"?"),
    ],
)
def test_an_option_of_all_runs_is_told_from_one_that_nobody_has(option: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeError) as refused:
        Orchestrator(ScriptedEngine([]), model_name="m").start("x", **option)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    "option, why",
    [({"stream": "no"}, "stream must be True or False, not 'no'"), ({"emit": 1}, "emit must be a function")],
)
def test_an_option_of_a_run_has_its_type(option: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Orchestrator(ScriptedEngine([]), model_name="m").start("x", **option)
    assert str(refused.value).startswith(why)


def test_what_cannot_be_part_of_a_prompt_is_named() -> None:
    prompt: Any = ["a text", 5.5]
    with pytest.raises(ConfigError, match=r"not float$"):
        Orchestrator(ScriptedEngine([]), model_name="m").start(prompt)


def test_what_is_no_tool_is_refused_without_a_place_that_it_does_not_have() -> None:
    given: Any = [5]
    with pytest.raises(DefinitionError) as refused:
        Toolset(given)
    assert "(None)" not in str(refused.value)


def test_what_people_print_is_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    @tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return city

    scripted = ScriptedEngine(["x" * 1000])
    workspace = MemoryWorkspace({"a.txt": "x" * 1000})
    run = Orchestrator(scripted, [weather], model_name="m", dialect="plain", configuration=None)
    http = Orchestrator("openai:gpt-5.2", [weather], configuration=None)
    prepared = http.prepare("x" * 1000)
    shown = [scripted, workspace, Context(workspace=workspace, run="r1"), run.facade_of(), http.engine, prepared]
    assert list(map(repr, shown)) == [
        "ScriptedEngine(1 steps, 0 of them used)",
        "MemoryWorkspace('memory')",
        "Context(workspace=MemoryWorkspace('memory'), run='r1')",
        "Facade('plain', Toolset(weather))",
        "HttpEngine('openai_responses', provider='openai')",
        "Prepared('gpt-5.2', messages=1, tools=1, notes=0)",
    ]
    assert repr(prepared.encoded).startswith("Encoded('/responses', body=[")


@pytest.mark.parametrize(
    "door, name, why",
    [
        (dragoman, "Orchestartor", "module 'dragoman' has no attribute 'Orchestartor'. Did you mean \"Orchestrator\"?"),
        (
            engine,
            "ToolPolicey",
            "module 'dragoman.engine' has no attribute 'ToolPolicey'. Did you mean \"ToolPolicy\"?",
        ),
        (engine, "__wrapped__", "module 'dragoman.engine' has no attribute '__wrapped__'"),
    ],
)
def test_a_misspelt_name_of_a_door_gets_the_nearest_one(door: Any, name: str, why: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(door, name)
    assert str(refused.value) == why


def test_a_shell_completes_the_names_of_a_door() -> None:
    assert {"Orchestrator", "ScriptedEngine", "Facade"} <= set(dir(engine))
    assert {"TextChunk", "user", "operations"} <= set(dir(model))
    assert not {name for name in dir(model) if name[0].isupper() and not hasattr(model, name)}
