"""What a guarded run answers to a call that was made before."""

from __future__ import annotations

import pytest

from dragoman.engine import task_guard
from dragoman.model import (
    Call,
    CommandOutcome,
    Failure,
    NativeCall,
    NativeResult,
    Outcome,
    ReadFile,
    Result,
    RunCommand,
    TextOutcome,
)

CALL = Call("c", (ReadFile("a"),), NativeCall("c", "read_file", {"path": "a"}))


def again(text: str, outcome: Outcome, call: Call = CALL) -> Outcome | None:
    return task_guard._again(call, Result("c", (outcome,), native=NativeResult("c", text)))


@pytest.mark.parametrize("length, cut", [(1000, ""), (1001, " …")])
def test_at_most_a_thousand_characters_are_told_again(length: int, cut: str) -> None:
    answer = again("x" * length, TextOutcome("x" * length))
    assert isinstance(answer, TextOutcome)
    assert answer.text.endswith("It gave:\n" + "x" * 1000 + cut)


def test_a_failure_is_told_again_as_one_and_what_may_end_otherwise_is_not_told_again() -> None:
    assert isinstance(again("no", Failure("failed", "no")), Failure)
    assert again("no", Failure("timed_out", "no")) is None
    command = Call("c", (RunCommand("sleep 9"),), NativeCall("c", "bash", {}))
    assert again("", CommandOutcome(None, running=True), command) is None
    waiting = Call("c", (RunCommand("sleep 9", background=True),), NativeCall("c", "bash", {}))
    assert again("", CommandOutcome(0), waiting) is None
