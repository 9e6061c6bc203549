"""Questions a model asks its user: `ask_user`, and the answers it is given.

The questions travel with the approval of the call: whoever is asked whether a call may run gets them, and gives the
answers. Rule: an answer is somebody's; where nobody answered, the call fails.
"""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.model.outcomes import Answer, AnswersOutcome

from .context import Context
from .definition import Tool


class Answers:
    """The user's answers to the questions of one call, in the order of the questions."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._left = list(answers)

    def take(self, questions: tuple[op.Question, ...]) -> tuple[Answer, ...]:
        """The answers to these questions; each is given once."""
        if len(self._left) < len(questions):
            raise ToolError("the user has not answered every question", kind="denied")
        taken, self._left = self._left[: len(questions)], self._left[len(questions) :]
        return tuple(taken)


def answer_to(question: op.Question, words: str) -> Answer:
    """An answer in words as a typed one: the numbers or labels of options, else free text.

    Raises `ValueError` with what to do when the words name several options of a question that takes one.
    """
    words = words.strip()
    if not words and question.default is not None:
        words = question.default
    if not words:
        raise ValueError("the answer is empty")
    chosen = _chosen(question, words)
    if chosen is None:
        return Answer(question.text, text=words)
    if len(chosen) > 1 and not question.multiple:
        raise ValueError("choose one option")
    return Answer(question.text, choices=tuple(chosen))


def _chosen(question: op.Question, words: str) -> list[str] | None:
    """The labels of the options that words name, by number or label; `None` when they name anything else."""
    labels = [option.label for option in question.options]
    known = {label.strip().casefold(): label for label in reversed(labels)}
    if words.casefold() in known:  # a label may hold a comma, or be a number
        return [known[words.casefold()]]
    found: list[str] = []
    for word in (piece.strip() for piece in words.split(",")):
        if word.casefold() in known:
            label = known[word.casefold()]
        elif word.isascii() and word.isdigit() and 1 <= int(word[:6]) <= len(labels):
            label = labels[int(word[:6]) - 1]
        else:
            return None
        if label not in found:
            found.append(label)
    return found


async def _ask(operation: op.AskUser, context: Context) -> AnswersOutcome:
    answers = context.provides.get(Answers)
    if answers is None:
        raise ToolError("no user is available to answer", kind="denied")
    return AnswersOutcome(answers.take(operation.questions))


ask_user = Tool.from_operation(op.AskUser, _ask)
