"""Memories, and questions to the user."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.spelling import Conversion, Spelling, means, native_only
from dragoman.dialects.base.words import in_json, one_of
from dragoman.model import operations as op, outcomes as out


class Remembered(msgspec.Struct, frozen=True):
    """How a memory is answered."""

    success: Literal[True]
    message: str


class SaveMemory(Spelling[op.SaveMemory]):
    """Remember a fact about the user or the project for later conversations."""

    native_name = "save_memory"
    until = "0.34"

    fact: str = means("text", "The fact, in one sentence.")
    scope: str | None = native_only("in which file it is kept is the client's to decide (0.38.2)")

    results = one_of(
        in_json(
            out.DoneOutcome,
            Remembered,
            to=lambda _asked, said: out.DoneOutcome(said.message),
            back=lambda _asked, outcome: Remembered(success=True, message=outcome.note or "Okay."),
            says=("note",),
        )
    )


class AskedOption(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to choose from."""

    label: str
    description: str = ""


class AskedQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to the user."""

    question: str
    header: str = ""
    type: Literal["choice", "text", "yesno"] | None = None
    options: tuple[AskedOption, ...] = ()
    multiSelect: bool = False  # noqa: N815 - the native name


_QUESTIONS = questions(AskedQuestion)


def _question(asked: AskedQuestion) -> op.Question:
    question: op.Question = _QUESTIONS.to((asked,))[0]
    if asked.type == "yesno" and not question.options:
        return msgspec.structs.replace(question, options=(op.Option("Yes"), op.Option("No")))
    return question


def _asked(question: op.Question) -> AskedQuestion:
    asked: AskedQuestion = _QUESTIONS.back((question,))[0]
    return msgspec.structs.replace(asked, type="choice" if question.options else "text")


class AskUser(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "ask_user"
    since = "0.34"
    on_request = "the client offers it only when a user is there to answer"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means(
        "questions",
        "The questions, one to four.",
        convert=Conversion(
            to=lambda asked: tuple(map(_question, asked)), back=lambda questions: tuple(map(_asked, questions))
        ),
        without={"placeholder": "shown in the client's display"},
    )
