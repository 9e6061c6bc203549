"""The plan, and questions to the user."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import msgspec

from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.spelling import Conversion, Spelling, Tells, means, native_only, was
from dragoman.dialects.base.todo_lists import plan_items
from dragoman.dialects.base.words import in_json, one_of
from dragoman.model import operations as op, outcomes as out

from .families import CLASSIC
from .results import PLAN_HEARD

StepStatus = Literal["pending", "in_progress", "completed"]


class Step(msgspec.Struct, frozen=True):
    """One step of a plan."""

    step: str
    status: StepStatus


class FreeStep(msgspec.Struct, frozen=True):
    """One step of a plan; up to 0.133.0 the schema does not say which words its state may have."""

    step: str
    status: str


class UpdatePlan(Spelling[op.UpdatePlan]):
    """Set the plan: all its steps with the status of each."""

    native_name = "update_plan"
    since, until = "0.77.0", "0.151.0"
    families = CLASSIC
    approximated = {"items": "a step has words and a state, nothing else"}
    results = PLAN_HEARD
    tells: ClassVar[Tells] = {}  # the plan is that of the call, whatever became of it

    plan: tuple[Step, ...] = means(
        "items",
        "All steps, in order.",
        since="0.151.0",
        convert=plan_items(Step, "step"),
        was=was(
            "0.133.0", type=tuple[FreeStep, ...], convert=plan_items(FreeStep, "step", statuses=get_args(StepStatus))
        ),
    )
    explanation: str | None = means("explanation", "Why the plan is as it is.", default=None)


class Choice(msgspec.Struct, frozen=True):
    """One answer to choose from."""

    label: str
    description: str


class Asked(msgspec.Struct, frozen=True):
    """One question with its answers."""

    id: str
    header: str
    question: str
    options: tuple[Choice, ...]


class Answers(msgspec.Struct, frozen=True):
    """What the user said to one question."""

    answers: list[Any]


class Answered(msgspec.Struct, frozen=True):
    """What the user said to each question, by its id."""

    answers: dict[str, Answers]


def _answered(asked: op.AskUser, outcome: out.AnswersOutcome) -> Answered:
    ids = {question.text: question.id or "" for question in asked.questions}
    given = [(one.question, [*one.choices, *([] if one.text is None else [one.text])]) for one in outcome.answers]
    return Answered({ids.get(question, question): Answers(answers) for question, answers in given})


def _answers(asked: op.AskUser, said: Answered) -> out.AnswersOutcome:
    texts = {question.id: question.text for question in asked.questions}
    given = [(texts.get(id, id), tuple(map(str, one.answers))) for id, one in said.answers.items()]
    return out.AnswersOutcome(tuple(out.Answer(question, choices) for question, choices in given))


class RequestUserInput(Spelling[op.AskUser]):
    """Ask the user questions, each with a few answers to choose from."""

    native_name = "request_user_input"
    since, families = "0.101.0", CLASSIC
    approximated = {"questions": "a question has one answer, no default, and its answers no preview"}

    questions: tuple[Asked, ...] = means("questions", "The questions.", convert=questions(Asked, empty=False))
    autoResolutionMs: float | None = native_only(  # noqa: N815 - the native name
        "when it answers in the user's place is the client's to decide (0.142.5)"
    )

    results = one_of(
        in_json(
            out.AnswersOutcome,
            Answered,
            to=_answers,
            back=_answered,
            nearly={"answers": "a text and the choices are one list"},
        )
    )


class Titled(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question with its answers, if it has any."""

    title: str
    options: tuple[str, ...] | None = None


class RequestUserInputAsync(Spelling[op.AskUser]):
    """Ask the user questions and continue without waiting for the answers."""

    native_name, namespace = "request_user_input_async", "functions"
    since, families = "0.166.0", ("gpt-6*",)
    approximated = {"questions": "a question is its words and the words of its answers, nothing else"}

    questions: tuple[Titled, ...] = means(
        "questions",
        "The questions.",
        schema={"minItems": 1},
        convert=Conversion(
            to=lambda asked: tuple(op.Question(one.title, tuple(map(op.Option, one.options or ()))) for one in asked),
            back=lambda asked: tuple(
                Titled(one.text, tuple(option.label for option in one.options) or None) for one in asked
            ),
        ),
    )
