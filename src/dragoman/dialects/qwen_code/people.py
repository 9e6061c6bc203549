"""Questions to the user, memories and images made for them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.dialects.base.words import done, one_of
from dragoman.model import operations as op


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


class AskUserQuestion(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "ask_user_question"
    since, until = "0.12", "0.12"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means(
        "questions",
        "The questions, one to four.",
        convert=questions(AskedQuestion),
    )
    metadata: dict[str, Any] | None = native_only("where a question came from is the client's own affair")


class SaveMemory(Spelling[op.SaveMemory]):
    """Remember a fact about the user or the project for later conversations."""

    native_name = "save_memory"
    until = "0.12"

    fact: str = means("text", "The fact, in one sentence.")
    scope: Literal["global", "project"] | None = native_only("where memories are kept is the client's to decide")

    results = one_of(
        done(lambda asked: f'Okay, I\'ve remembered that: "{asked.text}"', "Okay, "),
    )


class ImageGen(Spelling[op.GenerateImage]):
    """Make an image from a description."""

    native_name = "image_gen"
    read_only = "the client offers it only where a model for images is set up, and none was in what was captured"

    prompt: str | None = means("prompt", "What to show.")
    size: str | None = means("size", "Its width and height.", default=None)
