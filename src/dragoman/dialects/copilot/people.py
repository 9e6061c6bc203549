"""Questions to the user, memories and skills."""

from __future__ import annotations

import re
from typing import Any

from dragoman.dialects.base.default_words import text_of, understand
from dragoman.dialects.base.spelling import Spelling, means, native_only
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .offered import NOT_OFFERED


class AskUser(Spelling[op.AskUser]):
    """Ask the user a question, or some with the form their answers are to have."""

    native_name = "ask_user"
    read_only = NOT_OFFERED

    question: str | None = None
    choices: tuple[str, ...] = ()
    allow_freeform: bool | None = native_only("whoever is asked may always say something else")
    message: str | None = None
    requestedSchema: dict[str, Any] | None = None  # noqa: N815 - the native name

    _ANSWER = re.compile(r"User (?P<how>selected|responded): (?P<words>.*)", re.DOTALL)
    _NOBODY = "The user is not available to respond"

    def to_operations(self) -> tuple[op.Operation, ...]:
        fields = _mapping(_mapping(self.requestedSchema).get("properties"))
        if self.question is not None or not fields:
            asked = self.question or self.message
            if asked is None:
                raise ValueError("there is no question; give one")
            return (op.AskUser((op.Question(asked, tuple(op.Option(choice) for choice in self.choices)),)),)
        return (op.AskUser(tuple(_field_asked(name, _mapping(field), self.message) for name, field in fields.items())),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        found = self._ANSWER.fullmatch(text_of(native.content))
        if found is None or found["words"].startswith(self._NOBODY) or not isinstance(operation, op.AskUser):
            return understand(operation, native)
        asked, words = operation.questions[0], found["words"]
        if len(operation.questions) > 1:  # which words answer which question cannot be told for sure
            return out.TextOutcome(words)
        is_chosen = found["how"] == "selected" or words in [option.label for option in asked.options]
        answer = out.Answer(asked.text, (words,)) if is_chosen else out.Answer(asked.text, text=words)
        return out.AnswersOutcome((answer,))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _field_asked(name: str, field: dict[str, Any], message: str | None) -> op.Question:
    """The question a field of a form asks."""
    is_list = field.get("type") == "array"
    options = _mapping(field.get("items")).get("enum") if is_list else field.get("enum")
    labels = [option for option in options if isinstance(option, str)] if isinstance(options, list) else []
    words = next((text for key in ("title", "description") if isinstance(text := field.get(key), str)), name)
    return op.Question(words, tuple(map(op.Option, labels)), message, multiple=is_list, id=name)


class StoreMemory(Spelling[op.SaveMemory]):
    """Remember a fact about a subject."""

    native_name = "store_memory"
    read_only = NOT_OFFERED

    fact: str = means("text")
    subject: str | None = means("key", default=None)
    citations: str | tuple[str, ...] | None = native_only("where a fact is from is shown to the user")
    reason: str | None = native_only("why it is worth remembering is shown to the user")
    scope: str | None = native_only("whose memory it is, is the client's to know")


class Skill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"

    skill: str = means("name", "Name of the skill.")
