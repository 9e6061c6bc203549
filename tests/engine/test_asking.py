"""A model may ask its user: the questions reach the approver, and its answers the model."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine import LATER, Answer, Approval, Orchestrator, Question, ScriptedEngine, ToolPolicy
from dragoman.errors import ConfigError
from dragoman.model import (
    AnyEvent,
    CallPart,
    Failure,
    FinishReason,
    Reply,
    ToolCalled,
    ToolReturned,
    operations as op,
    outcomes as out,
)
from dragoman.registry import DIALECTS, TOOLS
from dragoman.tools import Context, MemoryWorkspace, Tool, Toolset, answer_to, perform

COLOUR = op.Question("Which colour?", (op.Option("Red", "as a rose"), op.Option("Blue")), "Colour")
MANY = op.Question("Which sizes?", (op.Option("S"), op.Option("M"), op.Option("L")), "Sizes", multiple=True)
ASKS = op.AskUser((COLOUR, MANY))
GIVEN = (out.Answer("Which colour?", ("Blue",)), out.Answer("Which sizes?", ("S", "L")))


def asked_in(dialect: str, operation: op.AskUser = ASKS) -> Reply:
    (call,) = DIALECTS[dialect].write_call("c1", operation)
    return Reply((CallPart(call),), FinishReason.CALLS)


def outcomes(events: list[AnyEvent]) -> list[Any]:
    return [outcome for event in events if isinstance(event, ToolReturned) for outcome in event.result.outcomes]


async def run(reply: Reply, approver: Any, *, dialect: str = "plain", **options: Any) -> tuple[Any, Any, list[Any]]:
    events: list[AnyEvent] = []
    with ScriptedEngine([reply, "Thanks."]) as engine:
        whole = Orchestrator(
            engine,
            Toolset([TOOLS["ask_user"]]),
            options.pop("policy", ToolPolicy()),
            model_name="some-model",
            dialect=dialect,
            approver=approver,
            emit=events.append,
            **options,
        )
        return await whole.run("go"), engine, outcomes(events)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if DIALECTS[name].speaks(op.AskUser)])
async def test_every_vocabulary_with_words_for_it_asks_and_hears_the_answer(dialect: str) -> None:
    one = op.AskUser((COLOUR,))
    seen: list[Question] = []

    def approver(question: Question) -> Answer:
        seen.append(question)
        return question.answered("2", by="me")

    result, engine, given = await run(asked_in(dialect, one), approver, dialect=dialect)
    assert (result.status, result.text) == ("completed", "Thanks.")
    assert [one.text for one in seen[0].asks] == ["Which colour?"]
    assert [option.label for option in seen[0].asks[0].options] == ["Red", "Blue"]
    assert given == [out.AnswersOutcome((out.Answer("Which colour?", ("Blue",)),))]
    assert "Blue" in str(engine.requests[1].conversation[-1])


async def test_several_questions_are_answered_in_one_go_with_typed_answers() -> None:
    result, _, given = await run(asked_in("plain"), lambda question: Answer(True, by="me", answers=GIVEN))
    assert (result.status, given) == ("completed", [out.AnswersOutcome(GIVEN)])


async def test_words_choose_options_or_are_free_text() -> None:
    _, _, given = await run(asked_in("plain"), lambda question: question.answered("green, please", "s, 3"))
    assert given == [
        out.AnswersOutcome((out.Answer("Which colour?", text="green, please"), out.Answer("Which sizes?", ("S", "L"))))
    ]


@pytest.mark.parametrize(
    "question, words, answer",
    [
        (COLOUR, "1", out.Answer("Which colour?", ("Red",))),
        (COLOUR, " bLue ", out.Answer("Which colour?", ("Blue",))),
        (COLOUR, "3", out.Answer("Which colour?", text="3")),
        (op.Question("Why?", default="just so"), "", out.Answer("Why?", text="just so")),
        (op.Question("Which?", (op.Option("a, b"), op.Option("b"))), "a, b", out.Answer("Which?", ("a, b",))),
        (op.Question("How many?", (op.Option("2"), op.Option("1"))), "1", out.Answer("How many?", ("1",))),
        (MANY, "M, M, 2", out.Answer("Which sizes?", ("M",))),
    ],
)
def test_an_answer_in_words(question: op.Question, words: str, answer: out.Answer) -> None:
    assert answer_to(question, words) == answer


@pytest.mark.parametrize("question, words", [(COLOUR, "1, 2"), (COLOUR, " ")])
def test_words_that_answer_nothing_are_refused(question: op.Question, words: str) -> None:
    with pytest.raises(ValueError, match=r"choose one|empty"):
        answer_to(question, words)


async def test_a_model_is_told_when_the_user_declines() -> None:
    declined = Answer(allowed=False, by="me", reason="the user declined to answer")
    _, _, given = await run(asked_in("plain"), lambda question: declined)
    assert [one.message for one in given] == [
        "The user did not answer: the user declined to answer. Continue without the answer, and say what you assumed."
    ]


async def test_a_plain_yes_is_no_answer() -> None:
    _, _, given = await run(asked_in("plain"), lambda question: True)
    assert [(one.kind, one.details["reason"]) for one in given] == [("denied", "nobody answered it")]


async def test_a_rule_that_allows_everything_answers_nothing() -> None:
    seen: list[Question] = []
    policy = ToolPolicy(default="allow", approval=(Approval("allow", kind="ask"),))

    def approver(question: Question) -> Answer:
        seen.append(question)
        return question.answered("Red", "S")

    await run(asked_in("plain"), approver, policy=policy)
    assert len(seen) == 1


async def test_a_rule_that_denies_keeps_a_model_from_asking() -> None:
    def approver(question: Question) -> Answer:
        raise AssertionError("it was asked")

    policy = ToolPolicy(approval=(Approval("deny", kind="ask"),))
    _, _, given = await run(asked_in("plain"), approver, policy=policy)
    assert [one.kind for one in given] == ["denied"]


async def test_answers_that_are_too_few_are_an_error_of_the_caller() -> None:
    with pytest.raises(ConfigError, match=r"asks 2 questions, and `Answer.answers` has 1"):
        await run(asked_in("plain"), lambda question: Answer(True, answers=GIVEN[:1]))
    with pytest.raises(ConfigError, match="asks 2 questions, and 1 answers were given"):
        await run(asked_in("plain"), lambda question: question.answered("Red"))


async def test_it_is_not_offered_where_nobody_can_answer_and_a_note_says_why() -> None:
    class Silent:
        no_answers = "nobody sits there"

        def __call__(self, question: Question) -> bool:
            return True

    for approver, reason in ((None, "nobody can answer: no approver is set"), (Silent(), "nobody sits there")):
        result, engine, given = await run(asked_in("plain"), approver)
        assert engine.requests[0].definitions == ()
        assert ("ask_user", f"it is not offered: {reason}") in [(note.tool, note.message) for note in result.notes]
        assert [one.kind for one in given] == ["denied"]


async def test_an_answer_may_come_later_from_another_process() -> None:
    events: list[AnyEvent] = []
    with ScriptedEngine([asked_in("plain")]) as engine:
        asks = Orchestrator(
            engine, [TOOLS["ask_user"]], model_name="m", dialect="plain", approver=lambda _: LATER, emit=events.append
        )
        waits = await asks.run("go")
    assert (waits.status, [call.id for call in waits.waiting]) == ("waiting", ["c1"])
    with ScriptedEngine(["Thanks."]) as engine:
        goes_on = Orchestrator(engine, [TOOLS["ask_user"]], model_name="m", dialect="plain", emit=events.append)
        answers = {"c1": Answer(allowed=True, by="me", answers=GIVEN)}
        result = await goes_on.resume(list(events), answers=answers).result()
    assert (result.status, result.text, outcomes(events)) == ("completed", "Thanks.", [out.AnswersOutcome(GIVEN)])
    (called,) = (event for event in events if isinstance(event, ToolCalled))
    assert called.decision is not None
    assert (called.decision.verdict, called.decision.by) == ("allowed", "me")


async def test_a_tool_of_ones_own_answers_by_itself() -> None:
    async def ask(operation: op.AskUser, context: Context) -> out.AnswersOutcome:
        return out.AnswersOutcome(tuple(out.Answer(one.text, text="whatever") for one in operation.questions))

    events: list[AnyEvent] = []
    with ScriptedEngine([asked_in("plain"), "Thanks."]) as engine:
        tools = [Tool.from_operation(op.AskUser, ask)]
        whole = Orchestrator(engine, tools, model_name="m", dialect="plain", emit=events.append)
        result = await whole.run("go")
    assert (result.notes, [one.name for one in engine.requests[0].definitions]) == ((), ["ask_user"])
    assert [answer.text for answer in outcomes(events)[0].answers] == ["whatever", "whatever"]


async def test_done_by_hand_nobody_is_there_to_answer() -> None:
    outcome = await perform(ASKS, Context(workspace=MemoryWorkspace()))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.message) == ("denied", "no user is available to answer")
