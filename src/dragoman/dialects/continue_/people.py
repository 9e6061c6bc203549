"""Questions to the user, and skills."""

from __future__ import annotations

import re

from dragoman.dialects.base.questions import LABELS
from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import by_hand, one_of, refusal
from dragoman.model import operations as op, outcomes as out

_ANSWER = re.compile(
    r'User (?:selected option \d+|(?P<own>provided custom answer|answered)): "(?P<said>.*)"', re.DOTALL
)


def _answered(outcome: out.AnswersOutcome, asked: op.AskUser) -> str | None:
    if len(outcome.answers) != 1:
        return None
    answer = outcome.answers[0]
    said = answer.text if answer.text is not None else ", ".join(answer.choices)
    labels = [option.label for option in asked.questions[0].options]
    if said in labels:
        return f'User selected option {labels.index(said) + 1}: "{said}"'
    return f'User {"provided custom answer" if labels else "answered"}: "{said}"'


def _answer_in(text: str, asked: op.AskUser) -> out.AnswersOutcome | None:
    found = _ANSWER.fullmatch(text)
    if found is None:
        return None
    chosen = () if found["own"] else (found["said"],)
    return out.AnswersOutcome((out.Answer(asked.questions[0].text, chosen, found["own"] and found["said"]),))


class AskQuestion(Spelling[op.AskUser]):
    """Ask the user one question: an open one, or one with answers to choose from."""

    native_name = "AskQuestion"
    approximated = {"questions": "a question has no header and no id, takes one answer, and its options are bare texts"}

    question: str = means("questions.text", "The question.")
    options: tuple[str, ...] = means(
        "questions.options", "Answers to choose from; omit them for an open question.", convert=LABELS
    )
    defaultAnswer: str | None = means(  # noqa: N815 - the native name
        "questions.default", "Default answer.", default=None
    )

    results = one_of(
        by_hand(out.AnswersOutcome, _answered, _answer_in, nearly={"answers": "several choices are read as one"}),
        read_first=(refusal("The user declined to answer your question.", "denied"),),
    )


class Skills(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skills"

    skill_name: str = means("name", "Name of the skill.")
