"""Memories, and questions to the user."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.gemini_family import question_in
from dragoman.dialects.base.spelling import Content, Conversion, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import json_text, read_json


class Remembered(msgspec.Struct, frozen=True):
    """How a memory is answered."""

    success: Literal[True]
    message: str


class SaveMemory(Spelling[op.SaveMemory]):
    """Remember a fact about the user or the project for later conversations."""

    native_name = "save_memory"
    until = "0.34"
    unsaid = {"key": "facts have no names"}

    fact: str = means("text", "The fact, in one sentence.")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.DoneOutcome):
            return tell(operation, outcome)
        return json_text({"success": True, "message": outcome.note or "Okay."})

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        try:
            said = read_json(text_of(native.content), type=Remembered)
        except msgspec.DecodeError:
            return understand(operation, native)
        return out.DoneOutcome(said.message)


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


def _question(asked: AskedQuestion) -> op.Question:
    question = question_in(asked)
    if asked.type == "yesno" and not question.options:
        return msgspec.structs.replace(question, options=(op.Option("Yes"), op.Option("No")))
    return question


def _asked(question: op.Question) -> AskedQuestion:
    options = tuple(AskedOption(option.label, option.description or "") for option in question.options)
    kind: Literal["choice", "text"] = "choice" if options else "text"
    return AskedQuestion(question.text, question.header or "", kind, options, question.multiple)


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
