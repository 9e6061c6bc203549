"""Whether a call may run: rules first, then whoever is asked. An answer holds for the arguments it was given for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from dragoman.errors import ConfigError
from dragoman.model import Call, Decision, operations as op, outcomes as out
from dragoman.registry import TOOLS
from dragoman.tools import answer_to

from .definitions import DefinitionChange, definition_changes, definition_digest, definition_of, digest
from .rules import DEFAULT_RULE, STRICTNESS, Judged

if TYPE_CHECKING:
    from dragoman.model.edit_rules import EditRules
    from dragoman.tools import Tool, Workspace
    from dragoman.tools.sandbox import Enclosure


class Question(msgspec.Struct, frozen=True):
    """A call that needs approval: what an approver is shown.

    `digest` names these operations and the definitions of their tools; `definitions` are those definitions, as plain
    JSON. `standard` says of each operation whether our own tool does it, so that its changes of files can be worked out
    before. `agent` is who asks, where several agents share an approver. `again` says why an answer that was given
    before does not count, and `changes` what changed in the tools' definitions since then. `sandbox` says in words what
    its commands will run in, where it starts any; with `unsandboxed` the call leaves it, and only an answer to this
    very question allows that. `asks` are the questions the model itself asks (`ask_user`): their answers go into
    `Answer.answers`, and `answered` makes such an answer from words. `edit_rules` say how the vocabulary of the call
    finds the places of its edits.
    """

    call: Call
    tools: tuple[str, ...]
    digest: str
    rule: str | None = None
    agent: str | None = None
    definitions: tuple[dict[str, Any], ...] = ()
    standard: tuple[bool, ...] = ()
    again: str | None = None
    changes: tuple[DefinitionChange, ...] = ()
    sandbox: str | None = None
    unsandboxed: bool = False
    asks: tuple[op.Question, ...] = ()
    edit_rules: EditRules | None = None

    @property
    def stated_rule(self) -> str | None:
        """The rule that asks; `None` where none fits and the policy's default asks."""
        return None if self.rule == DEFAULT_RULE else self.rule

    def answered(self, *words: str, by: str | None = None) -> Answer:
        """The answer to what the model asks: words for each question, in order.

        Words that name an option by its label or number (several, with commas, where the question takes several)
        choose it; other words are free text; no words stand for the question's default.
        """
        if len(words) != len(self.asks):
            raise ConfigError(f"the model asks {len(self.asks)} questions, and {len(words)} answers were given")
        try:
            answers = tuple(answer_to(question, said) for question, said in zip(self.asks, words, strict=True))
        except ValueError as error:
            raise ConfigError(f"the answer cannot be used: {error}") from error
        return Answer(allowed=True, by=by, digest=self.digest, answers=answers)


class Answer(msgspec.Struct, frozen=True):
    """An approver's decision.

    `digest`, where given, must be the question's: other arguments, or another definition of the tool, are another call.
    `definitions` are those of the question, so that a later question can show what changed. `answers` are the user's
    answers to `Question.asks`, one for each.
    """

    allowed: bool
    by: str | None = None
    reason: str | None = None
    digest: str | None = None
    definitions: tuple[dict[str, Any], ...] = ()
    answers: tuple[out.Answer, ...] = ()


LATER: Final = None
"""What an approver gives when the answer is to come later, from somewhere else: the run waits for it."""

Approver = Callable[[Question], "Awaitable[Answer | bool | None] | Answer | bool | None"]
"""Whoever is asked. One that never answers what the model asks has the reason as its attribute `no_answers`; one that
always gives `LATER` has a true attribute `puts_off`."""


def why_no_answers(approver: Approver | None) -> str | None:
    """Why a model's questions would stay without an answer; `None` if they are answered."""
    if approver is None:
        return "nobody can answer: no approver is set"
    reason: str | None = getattr(approver, "no_answers", None)
    return reason


class Decided(NamedTuple):
    """The decision on a call, and the user's answers to what it asks."""

    decision: Decision
    answers: tuple[out.Answer, ...] = ()


class Approvals:
    """The definitions that calls were approved under, by the tool's name.

    A tool whose definition changed since (an MCP server may do that at any time) is asked about again, also where a
    rule would allow it: the rule may fit only because of the change.
    """

    def __init__(self) -> None:
        self._approved: dict[str, tuple[Tool, dict[str, Any]]] = {}

    def approve(self, tools: tuple[Tool, ...]) -> None:
        """Keeps that these tools were approved as they are defined now."""
        for tool in tools:
            self._approved[tool.name] = (tool, definition_of(tool))

    def changes(self, tools: tuple[Tool, ...]) -> tuple[DefinitionChange, ...]:
        """What changed in the definitions of these tools since they were approved last."""
        found: list[DefinitionChange] = []
        for tool in tools:
            approved, definition = self._approved.get(tool.name, (None, {}))
            if approved is not None and approved is not tool:
                found += definition_changes(definition, definition_of(tool))
        return tuple(found)


def digest_of(call: Call, tools: tuple[Tool, ...] = (), edit_rules: EditRules | None = None) -> str:
    """Names what a call does, exactly, and the definitions of the tools that do it.

    It is made from the operations, not from the words of a vocabulary: the same call said to another model is the same,
    unless that model's client finds the places of edits by other rules.
    """
    named = [call.operations, [definition_digest(tool) for tool in tools]]
    return digest(named if edit_rules is None else [*named, edit_rules])


_ALLOWED = Decided(Decision("allowed", by="policy"))


async def decide(
    call: Call,
    tools: tuple[Tool, ...],
    judged: Judged,
    approver: Approver | None,
    answers: Mapping[str, Answer],
    workspace: Workspace | None = None,
    approvals: Approvals | None = None,
    enclosure: Enclosure | None = None,
    edit_rules: EditRules | None = None,
) -> Decided | None:
    """The decision on a call, or `None` when it is to come later. `answers` came before: by digest, or by call id.

    `judged` is what the rules say of it (`verdict_on`); `enclosure` is what its commands run in. A call that asks the
    user something always needs an answer: no rule can give it.
    """
    approvals = Approvals() if approvals is None else approvals
    verdict, rule = judged
    ours: list[op.Operation] = []
    leaving = None
    if enclosure is not None:
        ours = [one for one, tool in zip(call.operations, tools, strict=True) if is_standard(tool)]
        leaving = enclosure.left_by(ours, workspace)
        least = "allow" if leaving is None else enclosure.options.unsandboxed
        if least != "allow" and STRICTNESS[least] >= STRICTNESS[verdict]:
            verdict, rule = least, leaving
    changes = approvals.changes(tools)
    asks = asked_by(call, tools)
    if verdict == "allow" and not changes and not asks:
        return _ALLOWED if rule is None else Decided(Decision("allowed", by="policy", rule=rule))
    this = digest_of(call, tools, edit_rules)
    if verdict == "deny":
        return Decided(Decision("denied", by="policy", rule=rule, arguments_digest=this))
    definitions = tuple(definition_of(tool) for tool in tools)
    again = _CHANGED if changes else None
    given = answers.get(this, answers.get(call.id))
    answer = None if given is None else _answer_of(given, call)
    if answer is not None and answer.allowed and answer.digest not in (None, this):
        again, changes = _OTHER, changes or _changes_since(answer, definitions)
        answer = None
    if answer is None and approver is None:
        answer = Answer(allowed=False, by="policy", reason=again or "nobody is there to be asked")
    if answer is None:
        question = Question(
            call,
            tuple(tool.name for tool in tools),
            this,
            rule,
            definitions=definitions,
            standard=tuple(map(is_standard, tools)),
            again=again,
            changes=changes,
            sandbox=None if enclosure is None else enclosure.around_commands(ours),
            unsandboxed=rule is not None and rule == leaving,
            asks=asks,
            edit_rules=edit_rules,
        )
        said: Any = approver(question) if approver is not None else None
        said = await said if hasattr(said, "__await__") else said
        if said is None:
            return None
        answer = _answer_of(said, call)
        if answer.allowed and answer.digest not in (None, this):
            answer = Answer(allowed=False, by=answer.by, reason=_OTHER)
    if asks:
        answer = _with_answers(answer, asks, call)
    if answer.allowed:
        approvals.approve(tools)
    verdict_given: Literal["allowed", "denied"] = "allowed" if answer.allowed else "denied"
    return Decided(Decision(verdict_given, answer.by or "approver", rule, answer.reason, this), answer.answers)


def asked_by(call: Call, tools: tuple[Tool, ...]) -> tuple[op.Question, ...]:
    """The questions a call puts to the user; a tool of the caller's own that asks is not meant."""
    return tuple(
        question
        for operation, tool in zip(call.operations, tools, strict=True)
        if isinstance(operation, op.AskUser) and is_standard(tool)
        for question in operation.questions
    )


def _with_answers(answer: Answer, asks: tuple[op.Question, ...], call: Call) -> Answer:
    """The answer, if it answers each question; a plain yes does not."""
    if not answer.allowed:
        return answer
    if not answer.answers:
        return Answer(allowed=False, by=answer.by, reason="nobody answered it")
    if len(answer.answers) != len(asks):
        raise ConfigError(
            f"the call {call.native.name!r} asks {len(asks)} questions, and `Answer.answers` has {len(answer.answers)}"
        )
    return answer


def is_standard(tool: Tool) -> bool:
    """Whether it is our own tool for an operation, and not another one that was made for it."""
    if tool.operation is None:
        return False
    tag = str(tool.operation.__struct_config__.tag)
    return tag in TOOLS and TOOLS[tag] is tool


_CHANGED: Final = "the definition of the tool changed after it was approved"
_OTHER: Final = "the approval was given for other arguments, or before the definition of the tool changed"


def _changes_since(answer: Answer, now: tuple[dict[str, Any], ...]) -> tuple[DefinitionChange, ...]:
    """What changed in the definitions since an answer was given; nothing where the answer does not have them."""
    if len(answer.definitions) != len(now):
        return ()
    pairs = zip(answer.definitions, now, strict=True)
    return tuple(change for before, after in pairs for change in definition_changes(before, after))


def _answer_of(said: Any, call: Call) -> Answer:
    if isinstance(said, bool):
        return Answer(said)
    if not isinstance(said, Answer):
        wanted = "an answer is True, False or an Answer (an approver may also give None, for later)"
        raise ConfigError(f"{wanted}; for the call {call.native.name!r} it was {said!r:.80}")
    return said
