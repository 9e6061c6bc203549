"""Questions to the user, memories and images made for them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.gemini_family import question_in
from dragoman.dialects.base.spelling import Content, Conversion, Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult


class AskedOption(msgspec.Struct, frozen=True):
    """One answer to choose from."""

    label: str
    description: str


class AskedQuestion(msgspec.Struct, frozen=True):
    """One question to the user."""

    question: str
    header: str
    options: tuple[AskedOption, ...]
    multiSelect: bool  # noqa: N815 - the native name


def _asked(question: op.Question) -> AskedQuestion:
    options = tuple(AskedOption(option.label, option.description or "") for option in question.options)
    return AskedQuestion(question.text, question.header or "", options, question.multiple)


class AskUserQuestion(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "ask_user_question"
    since, until = "0.12", "0.12"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means(
        "questions",
        "The questions, one to four.",
        convert=Conversion(
            to=lambda asked: tuple(map(question_in, asked)), back=lambda questions: tuple(map(_asked, questions))
        ),
    )
    metadata: dict[str, Any] | None = native_only("where a question came from is the client's own affair")


class SaveMemory(Spelling[op.SaveMemory]):
    """Remember a fact about the user or the project for later conversations."""

    native_name = "save_memory"
    until = "0.12"
    unsaid = {"key": "facts have no names"}

    fact: str = means("text", "The fact, in one sentence.")
    scope: Literal["global", "project"] | None = native_only("where memories are kept is the client's to decide")

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.DoneOutcome):
            return tell(operation, outcome)
        return outcome.note or f'Okay, I\'ve remembered that: "{self.fact}"'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        return out.DoneOutcome(text) if text.startswith("Okay, ") else understand(operation, native)


class ImageGen(Spelling[op.GenerateImage]):
    """Make an image from a description."""

    native_name = "image_gen"
    read_only = "the client offers it only where a model for images is set up, and none was in what was captured"

    prompt: str | None = means("prompt", "What to show.")
    size: str | None = means("size", "Its width and height.", default=None)
