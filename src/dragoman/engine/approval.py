"""Whether a call may run: rules first, then whoever is asked. An answer holds for the arguments it was given for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import ConfigError
from dragoman.model import Call, Decision
from dragoman.registry import TOOLS

from .definitions import DefinitionChange, definition_changes, definition_digest, definition_of, digest
from .rules import STRICTNESS, verdict_on

if TYPE_CHECKING:
    from dragoman.tools import Enclosure, Tool, Workspace

    from .policy import ToolPolicy


class Question(msgspec.Struct, frozen=True):
    """A call that needs a yes: what an approver is shown.

    `digest` names these operations and the definitions of their tools; `definitions` are those definitions, as plain
    JSON. `standard` says of each operation whether our own tool does it, so that its changes of files can be worked out
    before. `agent` is who asks, where several agents share an approver. `again` says why an answer that was given
    before does not count, and `changes` what changed in the tools' definitions since then. `sandbox` says in words what
    its commands will run in, where it starts any; with `unsandboxed` the call leaves it, and only an answer to this
    very question allows that.
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


class Answer(msgspec.Struct, frozen=True):
    """What an approver says.

    `digest`, where given, must be the question's: other arguments, or another definition of the tool, are another call.
    `definitions` are those of the question, so that a later question can show what changed.
    """

    allowed: bool
    by: str | None = None
    reason: str | None = None
    digest: str | None = None
    definitions: tuple[dict[str, Any], ...] = ()


LATER: Final = None
"""What an approver gives when the answer is to come later, from somewhere else: the run waits for it."""

Approver = Callable[[Question], "Awaitable[Answer | bool | None] | Answer | bool | None"]


class Approvals:
    """The definitions that calls were approved under, by the tool's name.

    A tool whose definition changed since (an MCP server may do that at any time) is asked about again, also where a
    rule would allow it: the rule may fit only because of the change.
    """

    def __init__(self) -> None:
        self._approved: dict[str, tuple[Tool, dict[str, Any]]] = {}

    def approve(self, tools: tuple[Tool, ...]) -> None:
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


def digest_of(call: Call, tools: tuple[Tool, ...] = ()) -> str:
    """Names what a call does, exactly, and the definitions of the tools that do it.

    It is made from the operations, not from the words of a vocabulary: the same call said to another model is the same.
    """
    return digest([call.operations, [definition_digest(tool) for tool in tools]])


_ALLOWED = Decision("allowed", by="policy")


async def decide(
    call: Call,
    tools: tuple[Tool, ...],
    policy: ToolPolicy,
    approver: Approver | None,
    answers: Mapping[str, Answer],
    workspace: Workspace | None = None,
    approvals: Approvals | None = None,
    enclosure: Enclosure | None = None,
) -> Decision | None:
    """The decision on a call, or `None` when it is to come later. `answers` came before: by digest, or by call id.

    `enclosure` is what its commands run in.
    """
    approvals = Approvals() if approvals is None else approvals
    verdict, rule = verdict_on(call, tools, policy, workspace)
    ours = [one for one, tool in zip(call.operations, tools, strict=True) if is_standard(tool)]
    leaving = None if enclosure is None else enclosure.left_by(ours, workspace)
    least = "allow" if enclosure is None or leaving is None else enclosure.options.unsandboxed
    if least != "allow" and STRICTNESS[least] >= STRICTNESS[verdict]:
        verdict, rule = least, leaving
    changes = approvals.changes(tools)
    if verdict == "allow" and not changes:
        return _ALLOWED if rule is None else Decision("allowed", by="policy", rule=rule)
    this = digest_of(call, tools)
    if verdict == "deny":
        return Decision("denied", by="policy", rule=rule, arguments_digest=this)
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
        )
        said: Any = approver(question) if approver is not None else None
        said = await said if hasattr(said, "__await__") else said
        if said is None:
            return None
        answer = _answer_of(said, call)
        if answer.allowed and answer.digest not in (None, this):
            answer = Answer(allowed=False, by=answer.by, reason=_OTHER)
    if answer.allowed:
        approvals.approve(tools)
    return Decision("allowed" if answer.allowed else "denied", answer.by or "approver", rule, answer.reason, this)


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
