"""Tools of clients that have no shared meaning, and those of them by which a model has its plan approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dragoman.model import operations as op
from dragoman.model.calls import Call, ExecutedBy, NativeCall
from dragoman.model.outcomes import AnswersOutcome, Failure, Outcome, TextOutcome
from dragoman.model.request import FunctionDefinition

YES: Final = "Yes"
NO: Final = "No"
_DESCRIPTION: Final = (
    "Show the user your plan and ask for approval before you carry it out. Use it before changes that are large or "
    "hard to undo."
)


class PlanApproval(msgspec.Struct, frozen=True):
    """How a tool has a plan approved: `parameter` holds the plan, or with `is_file` the name of its file.

    Without a parameter the plan is what the model said before.
    """

    parameter: str | None = None
    is_file: bool = False


class Steer(msgspec.Struct, frozen=True):
    """A known tool of a client without shared meaning, and why it has none.

    `fallback`: a spelling of the same name gives some of its calls a meaning; this is for the others, with
    `when` only for those that have these arguments.
    `approves`: the user is asked whether a plan may be carried out; it is offered where a model can ask its user.
    `carries`: it carries the call of another tool; these parameters hold that tool's name and its arguments,
    and the other call is what is meant.
    """

    name: str
    reason: str
    parameters: tuple[str, ...] = ()
    action: str | None = None
    namespace: str | None = None
    formerly: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    fallback: bool = False
    when: Mapping[str, Any] = {}
    executed_by: ExecutedBy = ExecutedBy.CLIENT
    carries: tuple[str, str] | None = None
    approves: PlanApproval | None = None

    def fits(self, native: NativeCall) -> bool:
        """Whether a call of this name is meant."""
        given = native.arguments if isinstance(native.arguments, dict) else {}
        return all(name in given and given[name] == value for name, value in self.when.items())

    def carried(self, native: NativeCall) -> NativeCall | None:
        """The call it carries, or `None` when there is none in it."""
        if self.carries is None or not isinstance(native.arguments, dict):
            return None
        name, arguments = (native.arguments.get(parameter) for parameter in self.carries)
        if not isinstance(name, str) or not isinstance(arguments, dict | str):
            return None
        return NativeCall(native.id, name, arguments, executed_by=native.executed_by)

    # ── approval of a plan ─────────────────────────────────────────────────

    @property
    def definition(self) -> FunctionDefinition:
        """What is offered where the user can be asked to approve a plan."""
        assert self.approves is not None
        held, properties = self.approves.parameter, {}
        if held is not None:
            what = "The file with the plan." if self.approves.is_file else "The plan, as the user is to read it."
            properties[held] = {"type": "string", "description": what}
        schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
        return FunctionDefinition(self.name, _DESCRIPTION, schema)

    def asked(self, native: NativeCall) -> Call:
        """The question to the user that a call of it is."""
        assert self.approves is not None
        held = self.approves.parameter
        given = native.arguments if isinstance(native.arguments, dict) else {}
        plan = given.get(held) if held is not None else None
        if held is not None and not (isinstance(plan, str) and plan.strip()):
            message = f"{held} is required: the plan that the user is to approve"
            return Call(native.id, (), native, failure=Failure("invalid_arguments", message, {"tool": self.name}))
        if plan is None:
            text = "May the plan be carried out?"
        else:
            text = (
                f"May the plan in {plan} be carried out?"
                if self.approves.is_file
                else f"May this plan be carried out?\n\n{plan}"
            )
        options = (op.Option(YES, "carry it out"), op.Option(NO, "keep planning"))
        return Call(native.id, (op.AskUser((op.Question(text, options, "Plan"),)),), native)


def approval_told(outcome: Outcome) -> Outcome:
    """What the model reads of the user's answer to a plan."""
    if not isinstance(outcome, AnswersOutcome) or not outcome.answers:
        return outcome
    answer = outcome.answers[0]
    if answer.choices == (YES,):
        return TextOutcome("The user approved the plan. Carry it out now.")
    said = f" The user says: {answer.text}" if answer.text else ""
    return TextOutcome(f"The user did not approve the plan. Change it, or ask what to change.{said}")
