"""Tools that do what no tool should: the model gets a failure, the run goes on, and the process can end.

Not held against: `os._exit`, which ends the process where it stands, and an async tool that blocks the event loop.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import Orchestrator, Toolset, tool
from dragoman.engine import ScriptedEngine
from dragoman.errors import ToolError
from dragoman.logs import Recorder, read_events
from dragoman.model import CallPart, Failure, FinishReason, JsonOutcome, NativeCall, Reply, TextOutcome, ToolReturned
from dragoman.tools.running.operation_runner import LARGEST_RESULT


class Odd(BaseException):
    """An exception that is no `Exception`."""


class Speechless(Exception):
    """An exception that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Leaving(Exception):
    """An exception that ends the program when it is asked what it is."""

    def __str__(self) -> str:
        raise SystemExit(4)


class Nameless(Exception, metaclass=type("Names", (type,), {"__name__": property(lambda _: sys.exit(5))})):
    """An exception whose class has no name to show."""


class Unmade(ToolError):
    """An error of a tool without what every such error has."""

    def __init__(self) -> None:
        pass


class Acting(str):
    """A text whose methods do something else."""

    __slots__ = ()

    def __str__(self) -> str:
        raise KeyboardInterrupt

    def encode(self, encoding: str = "", errors: str = "") -> bytes:
        raise SystemExit(6)


def recursing() -> None:
    recursing()


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> str:
        """Fail."""
        raise error

    return fail


def raising_async(error: BaseException) -> Callable[[], Any]:
    async def fail() -> str:
        """Fail."""
        raise error

    return fail


def giving(make: Callable[[], Any]) -> Callable[[], Any]:
    def fail() -> Any:
        """Fail."""
        return make()

    return fail


async def outcome_of(function: Callable[[], Any], *, emit: Any = None) -> Any:
    """What a tool gives in a run that goes on to its end."""
    made = tool(name="fail", timeout=60)(function)
    call = Reply((CallPart(NativeCall("1", "fail", {})),), FinishReason.CALLS)
    kept: list[Any] = []

    def heard(event: Any) -> None:
        kept.append(event)
        if emit is not None:
            emit(event)

    with ScriptedEngine([call, "Done."]) as engine:
        result = await Orchestrator(engine, Toolset([made]), model_name="m", emit=heard).run("Go.")
    assert (result.status, result.text) == ("completed", "Done.")
    (returned,) = [event for event in kept if isinstance(event, ToolReturned)]
    (outcome,) = returned.result.outcomes
    return outcome


ERRORS = [
    (SystemExit(3), "it tried to end the program with 3", "SystemExit"),
    (Odd("odd"), "Odd: odd", "Odd"),
    (BaseExceptionGroup("several", [Odd()]), "BaseExceptionGroup: several (1 sub-exception)", "BaseExceptionGroup"),
    (RecursionError("deep"), "RecursionError: deep", "RecursionError"),
    (MemoryError("full"), "MemoryError: full", "MemoryError"),
    (Speechless(), "Speechless: (its message cannot be shown: ValueError)", "Speechless"),
    (GeneratorExit("over"), "GeneratorExit: over", "GeneratorExit"),
    (Leaving(), "Leaving: (its message cannot be shown: SystemExit)", "Leaving"),
]


@pytest.mark.parametrize("error, message, name", ERRORS, ids=[name for _, _, name in ERRORS])
async def test_whatever_a_tool_raises_is_a_failure_and_the_run_goes_on(
    error: BaseException, message: str, name: str
) -> None:
    assert await outcome_of(raising_async(error)) == Failure("failed", message, {"exception": name})
    in_thread = await outcome_of(raising(error))
    if isinstance(error, GeneratorExit):
        message, name = "RuntimeError: the function raised GeneratorExit", "RuntimeError"
    assert in_thread == Failure("failed", message, {"exception": name})


@pytest.mark.parametrize("error", [Nameless(), Unmade()], ids=["no name", "no message"])
async def test_an_error_that_cannot_be_shown_at_all_is_a_failure(error: Exception) -> None:
    assert await outcome_of(raising_async(error)) == Failure("failed", "it failed with an error that cannot be shown")


async def test_details_that_are_no_data_are_dropped_with_the_reason(tmp_path: Path) -> None:
    reason = "o: `object` cannot be said in JSON (it has no JSON form)"
    with Recorder(tmp_path / "record.jsonl") as record:
        outcome = await outcome_of(raising(ToolError("no", details={"o": object()})), emit=record)
        data = await outcome_of(giving(lambda: JsonOutcome(object())), emit=record)
    assert outcome == Failure("failed", "no", {"dropped": reason})
    assert data.message == "TypeError: the result: `object` cannot be said in JSON (it has no JSON form)"


async def test_a_text_with_methods_of_its_own_is_its_text() -> None:
    outcome = await outcome_of(giving(lambda: Acting("hello")))
    assert (outcome, type(outcome.text)) == (TextOutcome("hello"), str)


async def test_an_interrupt_in_a_thread_is_none_of_the_user() -> None:
    message = "RuntimeError: the function raised KeyboardInterrupt"
    assert await outcome_of(raising(KeyboardInterrupt())) == Failure("failed", message, {"exception": "RuntimeError"})


@pytest.mark.parametrize("make", [raising, raising_async], ids=["sync", "async"])
async def test_a_tool_that_cancels_itself_is_a_cancelled_call(
    make: Callable[[BaseException], Callable[[], Any]],
) -> None:
    outcome = await outcome_of(make(asyncio.CancelledError()))
    assert outcome == Failure("cancelled", "The tool cancelled itself.")


async def test_recursion_without_end_is_a_failure() -> None:
    outcome = await outcome_of(giving(recursing))
    assert (outcome.kind, outcome.details) == ("failed", {"exception": "RecursionError"})


async def test_a_message_without_end_is_cut() -> None:
    outcome = await outcome_of(raising(ValueError("x" * 10_000_000)))
    assert isinstance(outcome, Failure)
    assert "\n… 9,900,000 characters cut …\n" in outcome.message
    assert len(outcome.message) < 101_000


async def test_a_text_that_is_too_large_is_cut_in_its_middle_and_says_so() -> None:
    outcome = await outcome_of(giving(lambda: "a" + "x" * (LARGEST_RESULT + 10) + "z"))
    assert isinstance(outcome, TextOutcome)
    assert "\n… 12 characters cut …\n" in outcome.text
    assert (outcome.text[0], outcome.text[-1]) == ("a", "z")
    assert len(outcome.text) < LARGEST_RESULT + 100


def cyclic() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


def nested(levels: int) -> list[Any]:
    held: list[Any] = []
    for _ in range(levels):
        held = [held]
    return held


class Endless(msgspec.Struct):
    text: str


TOO_LARGE = f"it ran, but its result is larger than {LARGEST_RESULT:,} characters and was dropped; ask for less of it"


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"x" * (LARGEST_RESULT + 1),
        lambda: [0] * LARGEST_RESULT,
        lambda: {"text": "x" * LARGEST_RESULT, "more": "x"},
        lambda: Endless("x" * LARGEST_RESULT),
        lambda: range(10**12),
    ],
    ids=["bytes", "list", "dict", "struct", "range"],
)
async def test_data_that_is_too_large_is_dropped_and_the_model_gets_to_know(make: Callable[[], Any]) -> None:
    details = {"reason": "too_large", "most": LARGEST_RESULT}
    assert await outcome_of(giving(make)) == Failure("failed", TOO_LARGE, details)


@pytest.mark.parametrize(
    "make, message",
    [
        (object, "the result: `object` cannot be said in JSON (it has no JSON form)"),
        (cyclic, "the result is nested too deeply, or holds itself"),
        (lambda: nested(100_000), "the result is nested too deeply, or holds itself"),
        (lambda: (yield), "the result: `generator` cannot be said in JSON (it has no JSON form)"),
        (lambda: {(1, 2): 3}, "the result: `tuple` cannot be the key of a JSON object"),
        (lambda: [10**5000], "[0]: a number with so many digits cannot be said in JSON"),
    ],
    ids=["object", "cyclic", "deep", "generator", "key", "number"],
)
async def test_what_is_no_data_is_a_failure_that_says_what_and_where(make: Callable[[], Any], message: str) -> None:
    assert await outcome_of(giving(make)) == Failure("failed", f"TypeError: {message}", {"exception": "TypeError"})


async def test_half_characters_and_numbers_that_are_none_come_through_a_record(tmp_path: Path) -> None:
    with Recorder(tmp_path / "record.jsonl") as record:
        text = await outcome_of(giving(lambda: "a\ud800b"), emit=record)
        data = await outcome_of(giving(lambda: ["a\ud800b", float("nan"), float("-inf")]), emit=record)
    assert (text, data) == (TextOutcome("a\ud800b"), JsonOutcome(["a?b", "NaN", "-Infinity"]))
    returned = [event for event in read_events(tmp_path / "record.jsonl") if isinstance(event, ToolReturned)]
    assert [event.result.outcomes for event in returned] == [(text,), (data,)]


async def test_a_tool_that_changes_the_current_folder_to_one_that_goes_away_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone").mkdir()

    def wander() -> str:
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        return "there"

    assert await outcome_of(giving(wander)) == TextOutcome("there")
    assert await outcome_of(giving(lambda: "here")) == TextOutcome("here")


PROGRAM = """
import asyncio, sys, threading, time
from dragoman import Orchestrator, Toolset, tool
from dragoman.engine import ScriptedEngine
from dragoman.model import CallPart, FinishReason, NativeCall, Reply

{tool}

call = Reply((CallPart(NativeCall("1", "hang", {{}})),), FinishReason.CALLS)
made = tool(name="hang", timeout=0.1)(hang)
result = asyncio.run(Orchestrator(ScriptedEngine([call, "Done."]), Toolset([made]), model_name="m").run("Go."))
results = [part.result for item in result.conversation for part in item.parts if hasattr(part, "result")]
print(result.status, *(result.content for result in results))
"""
HANGING = {
    "a plain function": "def hang() -> str:\n    'Hang.'\n    threading.Event().wait()",
    "an async function": "async def hang() -> str:\n    'Hang.'\n    await asyncio.Event().wait()",
    "one that ignores cancelling": (
        "async def hang() -> str:\n    'Hang.'\n    while True:\n        try:\n            await asyncio.sleep(9)\n"
        "        except asyncio.CancelledError:\n            pass"
    ),
}


@pytest.mark.parametrize("hanging", list(HANGING))
@pytest.mark.slow
def test_a_tool_that_never_ends_is_given_up_and_the_process_can_end(hanging: str) -> None:
    program = PROGRAM.format(tool=HANGING[hanging])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    status, _, told = done.stdout.partition(" ")
    assert (done.returncode, done.stderr, status) == (0, "", "completed")
    assert "Error (timed_out): It was stopped after 0.1 seconds." in told


async def test_a_change_of_files_is_waited_for_when_the_run_is_cancelled() -> None:
    from dragoman.tools.processes import in_thread

    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def change() -> None:
        begun.set()
        go_on.wait()
        ended.set()

    task = asyncio.ensure_future(in_thread(change, to_its_end=True))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
