"""A model has its plan approved: a question to the user, in the words its vocabulary has for it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine import Answer, Facade, Orchestrator, Question, ScriptedEngine
from dragoman.model import (
    AnyEvent,
    CallPart,
    FinishReason,
    FunctionDefinition,
    NativeCall,
    Reply,
    SteerClient,
    ToolReturned,
    operations as op,
)
from dragoman.registry import DIALECTS, TOOLS
from dragoman.tools import Toolset

CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "claude_code": ("ExitPlanMode", {"plan": "1. Paint."}, "May this plan be carried out?\n\n1. Paint."),
    "gemini_cli": ("exit_plan_mode", {"plan_filename": "p.md"}, "May the plan in p.md be carried out?"),
    "opencode": ("plan_exit", {}, "May the plan be carried out?"),
    "kilo": ("plan_exit", {}, "May the plan be carried out?"),
    "copilot": ("exit_plan_mode", {"summary": "1. Paint."}, "May this plan be carried out?\n\n1. Paint."),
}


async def run(dialect: str, approver: Any, arguments: Any = None) -> tuple[Any, ScriptedEngine, list[Any]]:
    name, given, _ = CALLS[dialect]
    call = NativeCall("c1", name, given if arguments is None else arguments)
    events: list[AnyEvent] = []
    with ScriptedEngine([Reply((CallPart(call),), FinishReason.CALLS), "Done."]) as engine:
        whole = Orchestrator(
            engine,
            [TOOLS["ask_user"]],
            model_name="some-model",
            dialect=dialect,
            approver=approver,
            emit=events.append,
        )
        result = await whole.run("go")
    told = [event.result.native.content for event in events if isinstance(event, ToolReturned) and event.result.native]
    return result, engine, told


def test_every_vocabulary_that_has_words_for_it_is_tried_here() -> None:
    assert {name for name in DIALECTS if DIALECTS[name].plan_approvals} == {*CALLS}


@pytest.mark.parametrize("dialect", CALLS)
@pytest.mark.parametrize(
    "words, told",
    [
        ("yes", "The user approved the plan. Carry it out now."),
        ("2", "The user did not approve the plan. Change it, or ask what to change."),
        (
            "in blue, please",
            "The user did not approve the plan. Change it, or ask what to change. The user says: in blue, please",
        ),
    ],
)
async def test_the_user_approves_a_plan_or_not(dialect: str, words: str, told: str) -> None:
    seen: list[Question] = []

    def approver(question: Question) -> Answer:
        seen.append(question)
        return question.answered(words)

    result, engine, results = await run(dialect, approver)
    name, _, text = CALLS[dialect]
    assert result.text == "Done."
    assert name in [one.name for one in engine.requests[0].definitions]
    assert [(one.text, [option.label for option in one.options]) for one in seen[0].asks] == [(text, ["Yes", "No"])]
    assert results == [told]


@pytest.mark.parametrize("dialect", CALLS)
async def test_it_is_not_offered_where_nobody_can_answer(dialect: str) -> None:
    _, engine, told = await run(dialect, None)
    assert engine.requests[0].definitions == ()
    assert "nobody" in str(told[0])


@pytest.mark.parametrize("arguments", [{}, {"plan": " "}, {"plan": 3}, "1. Paint."])
async def test_a_plan_that_is_missing_is_asked_for(arguments: Any) -> None:
    def approver(question: Question) -> Answer:
        raise AssertionError("it was asked")

    _, _, told = await run("claude_code", approver, arguments)
    assert "plan is required: the plan that the user is to approve" in str(told[0])


def test_it_is_offered_only_beside_the_tool_that_asks() -> None:
    alone = Facade(DIALECTS["claude_code"], Toolset([TOOLS["read_file"]]))
    assert [one.name for one in alone.definitions] == ["Read"]
    beside = Facade(DIALECTS["claude_code"], Toolset([TOOLS["ask_user"]]))
    assert [one.name for one in beside.definitions] == ["AskUserQuestion", "ExitPlanMode"]
    definition = beside.definitions[1]
    assert isinstance(definition, FunctionDefinition)
    assert definition.parameters["required"] == ["plan"]


def test_a_version_that_has_no_such_tool_is_not_offered_it() -> None:
    assert [steer.name for steer in DIALECTS["gemini_cli"].at("0.53").plan_approvals] == []
    assert [steer.name for steer in DIALECTS["qwen_code"].at("0.12").plan_approvals] == ["exit_plan_mode"]


def test_a_log_tells_of_it_as_before() -> None:
    call = DIALECTS["claude_code"].read_call(NativeCall("c1", "ExitPlanMode", {"plan": "1. Paint."}))
    assert call.operations == (SteerClient("ExitPlanMode", {"plan": "1. Paint."}),)


def test_a_function_of_the_callers_with_that_name_is_told_apart() -> None:
    from dragoman.tools import tool

    @tool(name="ExitPlanMode")
    def leave() -> str:
        """Leaves."""
        return "left"

    facade = Facade(DIALECTS["claude_code"], Toolset([TOOLS["ask_user"], leave]))
    names = [str(one.name) for one in facade.definitions]
    assert (len({*names}), "ExitPlanMode" in names) == (3, True)
    (other,) = (name for name in names if name not in ("AskUserQuestion", "ExitPlanMode"))
    assert facade.read_call(NativeCall("1", other, {})).operations == (op.CallFunction("ExitPlanMode", {}),)
