"""Runs with outside effects, killed with SIGKILL at every event boundary and continued by another process.

`python -m tests.engine.killed_runs ADDRESS FOLDER` prints, as JSON, what became of each. ADDRESS is `file` or what
`store.url` takes. The process that continues is killed once as well, at another boundary. It is a program, so that
each killed process is a fork that has imported everything.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.engine import Orchestrator, ScriptedEngine, ToolPolicy
from dragoman.engine.history import conversation_of, open_calls
from dragoman.errors import ConfigError, LogError
from dragoman.logs.stores import EventStore, RunRecord, store_for
from dragoman.model import (
    AnyEvent,
    CallPart,
    Failure,
    FinishReason,
    ModelFinished,
    NativeCall,
    Reply,
    Request,
    SessionEnded,
    ToolReturned,
    UnknownOutcome,
)
from dragoman.tools import tool

Boundary = Callable[[], None]


def model(request: Request) -> Reply | str:
    """A model that pays once, then twice at once while it looks something up, then is done."""

    def calls(*made: tuple[str, str, dict[str, Any]]) -> Reply:
        return Reply(tuple(CallPart(NativeCall(*one)) for one in made), FinishReason.CALLS)

    said = sum(isinstance(item, Reply) for item in request.conversation)
    if said == 0:
        return calls(("c1", "pay", {"whom": "a"}))
    if said == 1:
        return calls(("c1", "pay", {"whom": "b"}), ("c2", "pay", {"whom": "c"}), ("c3", "look", {}))
    return "All paid."


def make_run(folder: Path, run: str, address: str | None, boundary: Boundary, *, fsync: bool = False) -> None:
    """Begins or continues the run; every payment is a line of a file that stands for the world outside."""

    def paid(whom: str) -> str:
        boundary()
        outside = os.open(folder / f"{run}.paid", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(outside, f"{whom}\n".encode())
        os.close(outside)
        boundary()
        return f"paid {whom}"

    @tool
    async def pay(whom: str) -> str:
        """Pays somebody, for real."""
        return paid(whom)

    @tool(repeatable=True)
    async def look() -> str:
        """Looks something up."""
        return "nothing new"

    store = store_for(address, folder=folder, fsync=fsync)
    record = held(store, run)
    try:
        events: list[AnyEvent] = list(store.read(run))
    except LogError:
        events = []  # it was killed before its first event

    def emit(event: AnyEvent) -> None:
        boundary()
        record(event)
        boundary()

    engine = ScriptedEngine([model] * 4)
    policy = ToolPolicy(default="allow")
    orchestrator = Orchestrator(
        engine, [pay, look], policy, model_name="m", dialect="plain", emit=emit, configuration=None
    )
    if is_finished(events):
        record.close()
        return
    prompt = "" if any(item.role == "user" for item in conversation_of(events)) else "pay all of them"
    asyncio.run(orchestrator.resume(events, prompt, run_id=run).result())
    record.close()


def held(store: EventStore, run: str) -> RunRecord:
    """The record, once a server has noticed that the process which held it is dead."""
    end = time.monotonic() + 30
    while True:
        try:
            return store.open(run)
        except ConfigError:
            if time.monotonic() > end:
                raise


def is_finished(events: list[AnyEvent]) -> bool:
    """Whether the model has said all, though the end of the run may not be in the record."""
    last = next(reversed(conversation_of(events)), None)
    return isinstance(last, Reply) and not open_calls(events)


def assert_no_effect_twice_or_lost(happened: list[dict[str, Any]]) -> None:
    """What must hold of every run, wherever it was killed."""
    assert len(happened) > 40
    assert happened[-1]["codes"] == [0]
    assert all(one["codes"][0] == -9 for one in happened[:-1])
    for number, one in enumerate(happened, 1):
        assert one["codes"][-1] == 0, (number, one)
        assert [whom for whom, _ in one["results"]] in (["a", "b", "c"], ["a", "c", "b"]), (number, one)
        for whom, result in one["results"]:
            times = one["paid"].count(whom)
            assert times == 1 if result == "done" else (result == "unknown" and times <= 1), (number, one)
        assert set(one["paid"]) <= {"a", "b", "c"}
        assert (one["ids"], one["open"], one["text"], one["said"]) == (True, 0, "All paid.", 3), (number, one)
    unknown = sum(result == "unknown" for one in happened for _, result in one["results"])
    assert unknown > 5  # some were killed in the middle of an effect
    assert unknown < len(happened)


def in_a_process(work: Callable[[Boundary], None], last: int) -> int:
    """Does it in a fork that is killed at the boundary with this number; gives its exit status."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    passed = 0

    def boundary() -> None:
        nonlocal passed
        passed += 1
        if passed == last:
            os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        work(boundary)
        code = 0
    except BaseException as error:  # noqa: BLE001 - the fork must not return into the program
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def main(given: str, place: str) -> None:
    folder, address = Path(place), None if given == "file" else given
    happened: list[dict[str, Any]] = []
    for last in range(1, 200):
        run = f"run{last}"

        def work(boundary: Boundary, run: str = run) -> None:
            make_run(folder, run, address, boundary)

        codes = [in_a_process(work, last)]
        if codes[-1] < 0:
            codes.append(in_a_process(work, 1 + last * 7 % 23))
        while codes[-1] < 0:
            codes.append(in_a_process(work, 0))
        happened.append({"codes": codes, **told_of(folder, run, address)})
        if len(codes) == 1:
            break  # it has fewer boundaries than that
    print(json.dumps(happened))


def told_of(folder: Path, run: str, address: str | None) -> dict[str, Any]:
    """What the record says happened, and what the world outside counted."""
    store = store_for(address, folder=folder)
    events = list(store.read(run))
    conversation = conversation_of(events)
    outside = folder / f"{run}.paid"
    results: list[tuple[str, str]] = []
    asked: dict[str, str] = {}
    for event in events:
        if isinstance(event, ModelFinished) and event.reply is not None:
            asked = {call.id: dict(call.arguments).get("whom", "") for call in event.reply.calls}
        elif isinstance(event, ToolReturned):
            (outcome,) = event.result.outcomes
            kind = "unknown" if isinstance(outcome, UnknownOutcome) else "done"
            results.append((asked[event.result.call_id], "failed" if isinstance(outcome, Failure) else kind))
    store.close()
    last = conversation[-1]
    return {
        "paid": outside.read_text().split() if outside.exists() else [],
        "results": [result for result in results if result[0]],
        "ids": len({event.id for event in events}) == len(events),
        "open": len(open_calls(events)),
        "ended": [event.reason for event in events if isinstance(event, SessionEnded)],
        "text": last.text if isinstance(last, Reply) else "",
        "said": sum(isinstance(item, Reply) for item in conversation),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
