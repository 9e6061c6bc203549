"""How far an "always" goes: the calls that differ from the one that was shown in nothing but what they are about.

Rule: an "always" is never broader than it says. It holds for one tool with the definition it has now, asked for by one
agent under one rule, with the same settings; only the subjects of the operation (a command, a path, a content) and its
limits may be others. An address may be another one of the same host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.model import operations as op
from dragoman.model.effects import fields_of, stated
from dragoman.tools.web import host_of

from .definitions import canonical, digest

if TYPE_CHECKING:
    from .approval import Question


class Scope(msgspec.Struct, frozen=True):
    """The calls that one "always" covers; equal scopes cover the same calls. `says` describes it in words."""

    tool: str
    operation: str
    definition: str
    settings: str
    rule: str | None
    agent: str | None
    says: str


def scopes_of(question: Question) -> frozenset[Scope]:
    """The scopes that an "always" to this question opens: one for each operation of the call."""
    parts = zip(question.call.operations, question.tools, question.definitions, strict=True)
    return frozenset(
        Scope(
            tool,
            str(operation.__struct_config__.tag),
            digest(definition),
            canonical(_fixed(operation)).decode(),
            question.rule,
            question.agent,
            _words(operation, tool),
        )
        for operation, tool, definition in parts
    )


def _fixed(operation: op.Operation) -> dict[str, Any]:
    """What must be the same: the settings, and the hosts of the addresses."""
    fields = fields_of(operation)
    fixed = {name: value for name, value in stated(operation) if name in fields.setting}
    return fixed | {name: host_of(str(value)) for name, value in stated(operation) if name in fields.url}


def _words(operation: op.Operation, tool: str) -> str:
    fields = fields_of(operation)
    given = dict(stated(operation))
    free = [name for name in fields.subject if name not in fields.url]
    free += [f"{name} on {host_of(str(given[name]))}" for name in fields.url if name in given]
    # Which function or server's tool it is, the tool's name says.
    same = [] if isinstance(operation, _NAMED) else [name for name in fields.setting if name in given]
    said = [tool]
    said += [f"any {_listed(free)}"] if free else []
    said += [f"same {_listed(same)}"] if same else []
    return ", ".join(word.replace("_", " ") if number else word for number, word in enumerate(said))


_NAMED = (op.CallFunction, op.CallMcpTool, op.Unrecognised)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
