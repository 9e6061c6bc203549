"""The plan, and questions to the user."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import msgspec

from dragoman.dialects.base.default_words import tell, understand
from dragoman.dialects.base.spelling import Content, Spelling, Tells, means, was
from dragoman.dialects.base.todo_lists import plan_items
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text

from .families import CLASSIC
from .results import PLAN_HEARD, json_object

StepStatus = Literal["pending", "in_progress", "completed"]


class Step(msgspec.Struct, frozen=True):
    """One step of a plan."""

    step: str
    status: StepStatus


class FreeStep(msgspec.Struct, frozen=True):
    """One step of a plan; older clients did not say which words its state may have."""

    step: str
    status: str


class UpdatePlan(Spelling[op.UpdatePlan]):
    """Say the plan: all its steps and how they stand."""

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


class RequestUserInput(Spelling[op.AskUser]):
    """Ask the user questions that have a few answers each."""

    native_name = "request_user_input"
    since, families = "0.101.0", CLASSIC
    approximated = {"questions": "a question has one answer, no default, and its answers no preview"}

    questions: tuple[Asked, ...] = means("questions", "The questions.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.AskUser(tuple(_question(asked) for asked in self.questions)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> RequestUserInput | None:
        asked: list[Asked] = []
        for question in operation.questions:
            choices = [Choice(option.label, option.description) for option in question.options if option.description]
            if question.id is None or question.header is None or len(choices) != len(question.options):
                return None  # the tool wants words that were not said
            asked.append(Asked(question.id, question.header, question.text, tuple(choices)))
        return cls(questions=tuple(asked))

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AnswersOutcome):
            return tell(operation, outcome)
        ids = {asked.question: asked.id for asked in self.questions}
        answers = {
            ids.get(answer.question, answer.question): {
                "answers": [*answer.choices, *([] if answer.text is None else [answer.text])]
            }
            for answer in outcome.answers
        }
        return json_text({"answers": answers})

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        texts = {asked.id: asked.question for asked in self.questions}
        told = json_object(native)
        answers = told.get("answers") if isinstance(told, dict) else None
        if not isinstance(answers, dict) or not all(map(_is_answer, answers.values())):
            return understand(operation, native)
        given = [(str(id), tuple(map(str, one["answers"]))) for id, one in answers.items()]
        return out.AnswersOutcome(tuple(out.Answer(texts.get(id, id), choices) for id, choices in given))


def _is_answer(told: Any) -> bool:
    return isinstance(told, dict) and isinstance(told.get("answers"), list)


def _question(asked: Asked) -> op.Question:
    options = tuple(op.Option(choice.label, choice.description) for choice in asked.options)
    return op.Question(asked.question, options, asked.header, id=asked.id)


class Titled(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question with its answers, if it has any."""

    title: str
    options: tuple[str, ...] | None = None


class RequestUserInputAsync(Spelling[op.AskUser]):
    """Ask the user questions and go on without waiting for the answers."""

    native_name, namespace = "request_user_input_async", "functions"
    since, families = "0.166.0", ("gpt-6*",)
    approximated = {"questions": "a question is its words and the words of its answers, nothing else"}

    questions: tuple[Titled, ...] = means("questions", "The questions.", schema={"minItems": 1})

    def to_operations(self) -> tuple[op.Operation, ...]:
        questions = [
            op.Question(asked.title, tuple(op.Option(label) for label in asked.options or ()))
            for asked in self.questions
        ]
        return (op.AskUser(tuple(questions)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> RequestUserInputAsync:
        return cls(
            questions=tuple(
                Titled(question.text, tuple(option.label for option in question.options) or None)
                for question in operation.questions
            )
        )
