"""Questions to the user, and skills."""

from __future__ import annotations

import re

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult


class AskQuestion(Spelling[op.AskUser]):
    """Ask the user one question, with answers to choose from or (none given) an open one."""

    native_name = "AskQuestion"
    approximated = {"questions": "a question has no header and no id, takes one answer, and its options are bare texts"}

    question: str = means("questions", "The question.")
    options: tuple[str, ...] = means(None, "Answers to choose from; none for an open question.")
    defaultAnswer: str | None = means(None, "The answer when the user gives none.", default=None)  # noqa: N815 - native

    def to_operations(self) -> tuple[op.Operation, ...]:
        options = tuple(op.Option(option) for option in self.options)
        return (op.AskUser((op.Question(self.question, options, default=self.defaultAnswer),)),)

    @classmethod
    def from_operation(cls, operation: op.AskUser) -> AskQuestion | None:
        if len(operation.questions) != 1:
            return None
        (question,) = operation.questions
        options = tuple(option.label for option in question.options)
        return cls(question=question.text, options=options, defaultAnswer=question.default)

    _TOLD = re.compile(
        r'User (?:selected option \d+|(?P<own>provided custom answer|answered)): "(?P<said>.*)"', re.DOTALL
    )

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.AnswersOutcome) or len(outcome.answers) != 1:
            return tell(operation, outcome)
        answer = outcome.answers[0]
        said = answer.text if answer.text is not None else ", ".join(answer.choices)
        if said in self.options:
            return f'User selected option {self.options.index(said) + 1}: "{said}"'
        return f'User {"provided custom answer" if self.options else "answered"}: "{said}"'

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = self._TOLD.fullmatch(text)
        if found is not None:
            answer = out.Answer(self.question, () if found["own"] else (found["said"],), found["own"] and found["said"])
            return out.AnswersOutcome((answer,))
        if text == "The user declined to answer your question.":
            return out.Failure("denied", text)
        return understand(operation, native)


class Skills(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "Skills"

    skill_name: str = means("name", "Name of the skill.")
