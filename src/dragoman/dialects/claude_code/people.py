"""Claude Code's tool for asking the user."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.spelling import Spelling, means, native_only, was
from dragoman.dialects.base.words import by_hand, one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .results import fields, plain_text, text_in

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


def _written(outcome: out.AnswersOutcome, _asked: op.Operation) -> str:
    said = [f'"{one.question}"="{", ".join(filter(None, (*one.choices, one.text)))}"' for one in outcome.answers]
    return f"Your questions have been answered: {', '.join(said)}. You can now continue with these answers in mind."


def _answered(asked: op.AskUser, native: NativeResult) -> out.Outcome | None:
    """The log has the answers beside the text; in the text, an answer may hold what ends another."""
    text = plain_text(native)
    if not text.startswith(("Your questions have been answered: ", "User has answered your questions: ")):
        return None
    known = fields(native).get("answers")
    given = [(one, text_in(known, one.text) or _quoted(text, one.text)) for one in asked.questions]
    answers = tuple(_answer(question, answer) for question, answer in given if answer is not None)
    return out.AnswersOutcome(answers) if answers else out.TextOutcome(text)


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
PLAIN = (
    "a question has no id and no default, and a header and descriptions that say nothing are empty; "
    "2.0.76 has no previews"
)


class AskUserQuestion(Spelling[op.AskUser]):
    """Ask the user one or several questions, each with answers to choose from."""

    native_name = "AskUserQuestion"
    since = "2.0.76"
    on_request, on_request_since = NOBODY, "2.1.197"
    approximated = {"questions": PLAIN}

    questions: tuple[Ask, ...] = means(
        "questions",
        "The questions, one to four.",
        since="2.1.123",
        convert=questions(Ask, most=4),
        schema={"minItems": 1, "maxItems": 4},
        was=(
            was("2.0.76", type=tuple[PlainAsk, ...], convert=questions(PlainAsk, most=4)),
            was("2.1.54", since="2.1.54", type=tuple[AskWithMarkdown, ...], convert=questions(AskWithMarkdown, most=4)),
        ),
    )
    answers: dict[str, str] | None = native_only(ANSWERED)
    annotations: dict[str, Any] | None = native_only(ANSWERED, since="2.1.54")
    metadata: dict[str, Any] | None = native_only(
        "where the question came from is the client's to know", since="2.1.54"
    )

    results = one_of(
        by_hand(
            out.AnswersOutcome,
            _written,
            nearly={"answers": "several choices are one text, and a text that is a choice is read as one"},
        ),
        from_native=_answered,
    )
