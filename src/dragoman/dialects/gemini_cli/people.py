"""Memories, and questions to the user."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means
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


class AskUser(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "ask_user"
    since = "0.34"
    on_request = "the client offers it only when a user is there to answer"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means(
        "questions", "The questions, one to four.", without={"placeholder": "shown in the client's display"}
    )

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.AskUser(tuple(_question(asked) for asked in self.questions)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskUser:
        return cls(questions=tuple(_asked(question) for question in operation.questions))


def _question(asked: AskedQuestion) -> op.Question:
    options = tuple(op.Option(option.label, option.description or None) for option in asked.options)
    if asked.type == "yesno" and not options:
        options = (op.Option("Yes"), op.Option("No"))
    return op.Question(asked.question, options, asked.header or None, asked.multiSelect)


def _asked(question: op.Question) -> AskedQuestion:
    options = tuple(AskedOption(option.label, option.description or "") for option in question.options)
    kind: Literal["choice", "text"] = "choice" if options else "text"
    return AskedQuestion(question.text, question.header or "", kind, options, question.multiple)
