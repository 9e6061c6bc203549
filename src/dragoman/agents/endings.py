"""What the end of a run means for the agent whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.errors import LimitReached, ToolError

from .tree import Activation, Live

if TYPE_CHECKING:
    from dragoman.engine import RunResult


class Parked(Exception):
    """Nothing is left to do before an answer comes."""


def answer_of(live: Live, result: RunResult) -> str:
    """What a run answered; an error when it did not come to that."""
    if result.status == "waiting" and live.parks:
        raise Parked
    if result.status == "waiting":
        called = ", ".join(dict.fromkeys(call.native.name for call in result.waiting))
        raise ToolError(
            f"whether {called} may run was put off, and an agent that a function started does not wait for that: give "
            "an approver that answers, however long it takes it, or say it in the policy"
        )
    if result.status == "limited":
        raise result.error if isinstance(result.error, LimitReached) else LimitReached("the run", 0)
    if result.status != "completed":
        raise ToolError(str(getattr(result.error, "message", result.error)))
    return result.text


def out_of_turns(live: Live, reached: LimitReached | None = None) -> LimitReached:
    advice = "give the agent a larger max_turns, or a smaller task"
    return LimitReached("turns", live.limits.max_turns, advice, reason=None if reached is None else reached.reason)


def complaint_about(live: Live) -> str | None:
    """What an agent is told about its answer when it does not do; an error when it was told often enough."""
    problems = live.check(live.text) if live.check is not None else []
    if not problems:
        return None
    listed = "\n".join(f"- {problem}" for problem in problems)
    if live.repairs < 1:
        raise ToolError(f"its answer does not fit the result schema:\n{listed}")
    live.repairs -= 1
    return f"Your answer does not fit:\n{listed}\nAnswer again, with the whole corrected JSON value and nothing else."


def report_of(ended: Activation) -> str:
    said = ended.text if ended.status == "completed" else ended.error or ""
    return f"Agent {ended.agent} ({ended.id}) {ended.status}: {said}".rstrip(": ")
