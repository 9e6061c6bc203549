"""Whether a call may run: rules first, then whoever is asked. An answer holds for the arguments it was given for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import ConfigError, ToolError
from dragoman.model import Call, Decision, operations as op

if TYPE_CHECKING:
    from dragoman.tools import Tool, Workspace

    from .policy import Approval, ToolPolicy, Verdict


class Question(msgspec.Struct, frozen=True):
    """A call that wants a yes: what an approver is shown. `digest` names these very arguments.

    `agent` is who asks, where several agents share an approver.
    """

    call: Call
    tools: tuple[str, ...]
    digest: str
    rule: str | None = None
    agent: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What an approver says. `digest`, where given, must be the question's: other arguments are another call."""

    allowed: bool
    by: str | None = None
    reason: str | None = None
    digest: str | None = None


LATER: Final = None
"""What an approver gives when the answer is to come later, from somewhere else: the run waits for it."""

Approver = Callable[[Question], "Awaitable[Answer | bool | None] | Answer | bool | None"]


def digest_of(call: Call) -> str:
    """Names a call's tool and its exact arguments."""
    native = call.native
    said = msgspec.json.encode([native.name, native.namespace, native.arguments], order="sorted")
    return blake2s(said, digest_size=16).hexdigest()


def verdict_on(
    call: Call, tools: tuple[Tool, ...], policy: ToolPolicy, workspace: Workspace | None = None
) -> tuple[Verdict, str | None]:
    """The strictest verdict on any operation of a call, and the rule it came from."""
    found: list[tuple[Verdict, str | None]] = []
    for operation, tool in zip(call.operations, tools, strict=True):
        bound: ToolPolicy | None = policy
        while bound is not None:
            found.append(_verdict(operation, tool, bound, workspace))
            bound = bound.within
    return max(found, key=lambda one: _STRICTNESS[one[0]], default=("allow", None))


_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def _verdict(
    operation: op.Operation, tool: Tool, policy: ToolPolicy, workspace: Workspace | None
) -> tuple[Verdict, str | None]:
    for number, rule in enumerate(policy.approval):
        if rule.verdict == "deny" and _fits(rule, operation, tool, workspace):
            return "deny", _told(number, rule)  # a rule that forbids is not to be overtaken by the tool's own wish
    if tool.approval != "policy":
        return ("ask", "the tool asks each time") if tool.approval == "always" else ("allow", None)
    for number, rule in enumerate(policy.approval):
        if _fits(rule, operation, tool, workspace):
            return rule.verdict, _told(number, rule)
    return policy.default, None if policy.default == "allow" else "the policy's default"


def _told(number: int, rule: Approval) -> str:
    said = msgspec.to_builtins(rule)
    conditions = ", ".join(f"{key}={value}" for key, value in said.items() if key != "verdict" and value is not None)
    return f"rule {number + 1} ({conditions or 'everything'})"


def rule_against(
    path: str, operation: op.Operation, tool: Tool, policy: ToolPolicy, workspace: Workspace | None
) -> str | None:
    """The rule that keeps a file from a call that would reach it without naming it; `None` where none does."""
    rules = list(enumerate(policy.approval))
    for number, rule in rules:
        if rule.verdict == "deny" and rule.path is not None and _fits(rule, operation, tool, workspace, [path]):
            return _told(number, rule)
    if tool.approval != "policy":
        return None
    for number, rule in rules:
        if _fits(rule, operation, tool, workspace, [path]):
            return None if rule.verdict == "allow" or rule.path is None else _told(number, rule)
    return None


def _fits(
    rule: Approval,
    operation: op.Operation,
    tool: Tool,
    workspace: Workspace | None,
    paths: list[str] | None = None,
) -> bool:
    """Whether a rule speaks of an operation: of the paths it names, or of these."""
    kind = tool.kind or operation.kind
    tag = str(operation.__struct_config__.tag)
    if rule.kind is not None and not fnmatchcase(str(kind), rule.kind):
        return False
    if rule.operation is not None and not fnmatchcase(tag, rule.operation):
        return False
    if rule.tool is not None and not fnmatchcase(tool.name, rule.tool):
        return False
    if rule.path is not None:
        spelled = [one for path in (paths or _said(operation, _PATHS)) for one in _spellings(path, workspace)]
        if not any(fnmatchcase(path, rule.path) for path in spelled):
            return False
    return rule.command is None or any(fnmatchcase(line, rule.command) for line in _said(operation, ("command",)))


def _spellings(path: str, workspace: Workspace | None) -> list[str]:
    """The forms in which a rule may name a path: within the workspace, and from the root of the machine.

    Never as the model wrote it: `src/../secret` must not pass for something in `src`.
    """
    from posixpath import join, normpath

    try:
        inside = normpath(path) if workspace is None else workspace.resolve(path)
    except (ToolError, OSError, ValueError):
        return [normpath(path)]  # it leads out, or nowhere: the tool will say so
    root = getattr(workspace, "root", None)
    return [inside] if root is None else [inside, normpath(join(str(root), inside))]


_PATHS = ("path", "paths", "source", "destination", "target", "to")


def _said(operation: op.Operation, fields: tuple[str, ...]) -> list[str]:
    """The texts an operation holds in these fields; the arguments of a function or a server's tool are fields too."""
    holder: Any = operation.arguments if isinstance(operation, op.CallFunction | op.CallMcpTool) else None
    found: list[str] = []
    for field in fields:
        value = holder.get(field) if isinstance(holder, dict) else getattr(operation, field, None)
        values = value if isinstance(value, list | tuple) else (value,)
        found += [one for one in values if isinstance(one, str)]
    return found


_ALLOWED = Decision("allowed", by="policy")


async def decide(
    call: Call,
    tools: tuple[Tool, ...],
    policy: ToolPolicy,
    approver: Approver | None,
    given: Answer | None,
    workspace: Workspace | None = None,
) -> Decision | None:
    """The decision on a call, or `None` when it is to come later. `given` is an answer that came before."""
    verdict, rule = verdict_on(call, tools, policy, workspace)
    if verdict == "allow":
        return _ALLOWED if rule is None else Decision("allowed", by="policy", rule=rule)
    digest = digest_of(call)
    if verdict == "deny":
        return Decision("denied", by="policy", rule=rule, arguments_digest=digest)
    if given is not None:
        return _decision(_answer_of(given, call), digest, rule)
    if approver is None:
        reason = "nobody is there to be asked"
        return Decision("denied", by="policy", rule=rule, reason=reason, arguments_digest=digest)
    said: Any = approver(Question(call, tuple(tool.name for tool in tools), digest, rule))
    answer = await said if hasattr(said, "__await__") else said
    if answer is None:
        return None
    return _decision(_answer_of(answer, call), digest, rule)


def _answer_of(said: Any, call: Call) -> Answer:
    if isinstance(said, bool):
        return Answer(said)
    if not isinstance(said, Answer):
        wanted = "an answer is True, False or an Answer (an approver may also give None, for later)"
        raise ConfigError(f"{wanted}; for the call {call.native.name!r} it was {said!r:.80}")
    return said


def _decision(answer: Answer, digest: str, rule: str | None) -> Decision:
    if answer.allowed and answer.digest is not None and answer.digest != digest:
        reason = "the approval was given for other arguments"
        return Decision("denied", by=answer.by, rule=rule, reason=reason, arguments_digest=digest)
    return Decision("allowed" if answer.allowed else "denied", answer.by or "approver", rule, answer.reason, digest)
