"""Claude Code's tool for asking the user."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from dragoman.dialects.base.default_words import tell, understand
from dragoman.dialects.base.spelling import Content, Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .results import fields, text_in, told

Label = Annotated[str, Meta(description="The answer in a few words.")]
Described = Annotated[str, Meta(description="What choosing it means.")]
Asked = Annotated[str, Meta(description="The question in full.")]
Header = Annotated[str, Meta(description="The question in a word or two.")]
Several = Annotated[bool, Meta(description="Whether several answers may be chosen.")]
Shown = Annotated[str, Meta(description="What the answer would look like.")]
T = TypeVar("T")
TwoToFour = Annotated[tuple[T, ...], Meta(min_length=2, max_length=4)]


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to choose from."""

    label: Label
    description: Described
    preview: Shown | None = None


class ChoiceWithMarkdown(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to choose from, as 2.1.54 had it."""

    label: Label
    description: Described
    markdown: Shown | None = None


class PlainChoice(msgspec.Struct, frozen=True):
    """One answer to choose from, as 2.0.76 had it."""

    label: Label
    description: Described


class Ask(msgspec.Struct, frozen=True):
    """One question to the user."""

    question: Asked
    header: Header
    options: TwoToFour[Choice]
    multiSelect: Several  # noqa: N815 - the native name


class AskWithMarkdown(msgspec.Struct, frozen=True):
    """One question to the user, as 2.1.54 had it."""

    question: Asked
    header: Header
    options: TwoToFour[ChoiceWithMarkdown]
    multiSelect: Several  # noqa: N815 - the native name


class PlainAsk(msgspec.Struct, frozen=True):
    """One question to the user, as 2.0.76 had it."""

    question: Asked
    header: Header
    options: TwoToFour[PlainChoice]
    multiSelect: Several  # noqa: N815 - the native name


def _questions(asked: Any) -> op.AskUser:
    return op.AskUser(
        tuple(
            op.Question(
                ask.question,
                tuple(op.Option(one.label, one.description or None, _preview(one)) for one in ask.options),
                ask.header or None,
                ask.multiSelect,
            )
            for ask in asked
        )
    )


def _preview(choice: Any) -> str | None:
    found: str | None = getattr(choice, "preview", None) or getattr(choice, "markdown", None)
    return found


def _asked(operation: op.AskUser, ask: type[Any], choice: type[Any]) -> tuple[Any, ...] | None:
    """Questions in the form of a version; choices of the first had no preview."""
    if not 1 <= len(operation.questions) <= 4 or not all(2 <= len(one.options) <= 4 for one in operation.questions):
        return None
    named = len(choice.__struct_fields__)
    return tuple(
        ask(
            one.text,
            one.header or "",
            tuple(choice(*(each.label, each.description or "", each.preview)[:named]) for each in one.options),
            one.multiple,
        )
        for one in operation.questions
    )


class Answering:
    """How answers are told: each question with its answer, in quotes."""

    __slots__ = ()

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AnswersOutcome):
            return tell(operation, outcome)
        said = [f'"{one.question}"="{", ".join(filter(None, (*one.choices, one.text)))}"' for one in outcome.answers]
        return f"Your questions have been answered: {', '.join(said)}. You can now continue with these answers in mind."

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        assert isinstance(operation, op.AskUser)
        text = told(native)
        head = re.match(r"(?:Your questions have been answered|User has answered your questions): ", text)
        if head is None:
            return understand(operation, native)
        known = fields(native).get("answers")
        answers = []
        for question in operation.questions:
            given = text_in(known, question.text) or _quoted(text, question.text)
            if given is not None:
                answers.append(_answer(question, given))
        return out.AnswersOutcome(tuple(answers)) if answers else out.TextOutcome(text)


def _quoted(text: str, question: str) -> str | None:
    found = re.search(rf'"{re.escape(question)}"="(.*?)"(?=, "|[.,] (?:You can now|user notes)|\.?\Z)', text, re.DOTALL)
    return None if found is None else found[1]


def _answer(question: op.Question, given: str) -> out.Answer:
    """Labels are choices; anything else was written by the user."""
    labels = {option.label for option in question.options}
    chosen = [given] if given in labels else given.split(", ")
    if all(one in labels for one in chosen):
        return out.Answer(question.text, tuple(chosen))
    return out.Answer(question.text, text=given)


NOBODY = "it is offered only when somebody can answer"
ANSWERED = "the client fills it in when the user has answered"
QUESTIONS = "a question has no id and no default, and a header and descriptions that say nothing are empty"
FOUR = {"minItems": 1, "maxItems": 4}


class AskUserQuestion(Answering, Spelling[op.AskUser]):
    """Ask the user one or several questions, each with answers to choose from."""

    native_name = "AskUserQuestion"
    since = "2.1.123"
    on_request, on_request_since = NOBODY, "2.1.197"
    approximated = {"questions": QUESTIONS}

    questions: tuple[Ask, ...] = means("questions", "The questions, one to four.", schema=FOUR)
    answers: dict[str, str] | None = native_only(ANSWERED)
    annotations: dict[str, Any] | None = native_only(ANSWERED)
    metadata: dict[str, Any] | None = native_only("where the question came from is the client's to know")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (_questions(self.questions),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskUserQuestion | None:
        questions = _asked(operation, Ask, Choice)
        return None if questions is None else cls(questions=questions)


class AskUserQuestionWithMarkdown(Answering, Spelling[op.AskUser]):
    """Ask the user one or several questions, each with answers to choose from."""

    native_name = "AskUserQuestion"
    since, until = "2.1.54", "2.1.54"
    approximated = {"questions": QUESTIONS}

    questions: tuple[AskWithMarkdown, ...] = means("questions", "The questions, one to four.", schema=FOUR)
    answers: dict[str, str] | None = native_only(ANSWERED)
    annotations: dict[str, Any] | None = native_only(ANSWERED)
    metadata: dict[str, Any] | None = native_only("where the question came from is the client's to know")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (_questions(self.questions),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskUserQuestionWithMarkdown | None:
        questions = _asked(operation, AskWithMarkdown, ChoiceWithMarkdown)
        return None if questions is None else cls(questions=questions)


class PlainAskUserQuestion(Answering, Spelling[op.AskUser]):
    """Ask the user one or several questions, each with answers to choose from."""

    native_name = "AskUserQuestion"
    since, until = "2.0.76", "2.0.76"
    approximated = {"questions": f"{QUESTIONS}; there are no previews"}

    questions: tuple[PlainAsk, ...] = means("questions", "The questions, one to four.", schema=FOUR)
    answers: dict[str, str] | None = native_only(ANSWERED)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (_questions(self.questions),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> PlainAskUserQuestion | None:
        questions = _asked(operation, PlainAsk, PlainChoice)
        return None if questions is None else cls(questions=questions)
