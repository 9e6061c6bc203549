"""Trees of agents with outside effects that wait for people, killed with SIGKILL at every event boundary.

`python -m tests.agents.killed_trees ADDRESS FOLDER` prints, as JSON, what became of each. ADDRESS is `file` or what
`store.url` takes. A boss starts three agents at once: one looks, two pay, and these ask first. Each run is killed at
another boundary: while it comes to wait, or while it continues with the answers. Anna may pay and Bert may not.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dragoman.agents import Kernel
from dragoman.cli.terminal.approver import WaitingCall, waiting, waiting_calls
from dragoman.engine import Answer, Approval, Question, ToolPolicy
from dragoman.engine.history import open_calls_of_all
from dragoman.errors import LogError
from dragoman.logs.stores import EventStore, store_for
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CallPart,
    Failure,
    ModelFinished,
    Reply,
    Request,
    ResultPart,
    SessionEnded,
    ToolReturned,
    UnknownOutcome,
    UserSaid,
)
from dragoman.tools import Tool
from tests.agents.playing import Cast, agent, calls, says, spawns
from tests.engine.killed_runs import Boundary, held, in_a_process

MANY = 40
ALLOWED = {"anna": True, "bert": False}


def plays(first: Reply) -> list[Callable[[Request], Reply]]:
    """A model that makes these calls, once, and then says that it is done."""

    def play(request: Request) -> Reply:
        parts = [part for item in request.conversation for part in item.parts]
        return says("Done.") if any(isinstance(part, ResultPart) for part in parts) else first

    return [play] * MANY


def cast() -> Cast:
    others = [spawns(name, f"{name}'s task", background=False) for name in ("anna", "bert", "looker")]
    return Cast(
        boss=plays(calls(*others)),
        anna=plays(calls(("pay", {"whom": "anna"}))),
        bert=plays(calls(("pay", {"whom": "bert"}))),
        looker=plays(calls(("look", {}))),
    )


def make_tree(folder: Path, run: str, address: str | None, boundary: Boundary, *, answering: bool) -> None:
    """Begins the tree or continues it; effects are lines of a file that stands for the world outside."""

    def happened(what: str) -> str:
        boundary()
        outside = os.open(folder / f"{run}.done", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(outside, f"{what}\n".encode())
        os.close(outside)
        boundary()
        return f"done {what}"

    def pay(whom: str) -> str:
        """Pay somebody, for real."""
        return happened(whom)

    def look() -> str:
        """Look something up, and be charged for it."""
        return happened("look")

    store = store_for(address, folder=folder)
    record = held(store, run)
    events = recorded(store, run)

    def emit(event: AnyEvent) -> None:
        boundary()
        record(event)
        boundary()

    noted = len(events)

    def put_off(question: Question) -> None:
        nonlocal noted
        noted += 1
        emit(msgspec.structs.replace(waiting(question, f"{run}-note-{noted}"), session=run, run=run))

    kernel = Kernel(
        [agent(name, tools=("pay", "look", "spawn_agent")) for name in ("boss", *ALLOWED, "looker")],
        engines=cast(),
        configuration=None,
        tools=[Tool.from_function(one) for one in (pay, look)],
        policy=ToolPolicy(approval=(Approval("ask", tool="pay"),)),
        approver=put_off,
        emit=emit,
    )
    answers = {call.digest: answer_to(call) for call in waiting_in(events)} if answering else {}
    if not is_finished(events):
        task = "" if any(isinstance(event, UserSaid) and event.stream == "main" for event in events) else "Go"
        asyncio.run(kernel.run("boss", task, run_id=run, recorded=tuple(events), answers=answers))
    record.close()


def recorded(store: EventStore, run: str) -> list[AnyEvent]:
    try:
        return list(store.read(run))
    except LogError:
        return []  # it was killed before its first event


def waiting_in(events: list[AnyEvent]) -> list[WaitingCall]:
    return waiting_calls(open_calls_of_all(events), events)


def answer_to(call: WaitingCall) -> Answer:
    return call.answer(allowed=next(allowed for whom, allowed in ALLOWED.items() if whom in call.summary))


def is_finished(events: list[AnyEvent]) -> bool:
    ended = [event.reason for event in events if isinstance(event, SessionEnded) and event.stream == "main"]
    return bool(ended) and ended[-1] == "completed"


def main(given: str, place: str) -> None:
    folder, address = Path(place), None if given == "file" else given
    happened: list[dict[str, Any]] = []
    for answered in (False, True):  # whether the part that is killed is the one with the answers
        for last in range(1, 400):
            run = f"run{answered:d}{last}"

            def part(last: int, run: str = run, *, answering: bool) -> int:
                return in_a_process(
                    lambda boundary: make_tree(folder, run, address, boundary, answering=answering), last
                )

            first = part(0 if answered else last, answering=False)
            if first < 0:
                part(0, answering=False)
            parked = told_of(folder, run, address)
            codes = [part(last if answered else 0, answering=True)]
            if codes[0] < 0 and last % 2:  # killed once more, elsewhere
                codes.append(part(1 + last * 7 % 23, answering=True))
            while codes[-1] < 0:
                codes.append(part(0, answering=True))
            happened.append({"codes": [first, *codes], "parked": parked, **told_of(folder, run, address)})
            if not any(code < 0 for code in (first, *codes)):
                break  # it has fewer boundaries than that
    print(json.dumps(happened))


def told_of(folder: Path, run: str, address: str | None) -> dict[str, Any]:
    """What the record says happened, and what the world outside counted."""
    store = store_for(address, folder=folder)
    events = recorded(store, run)
    store.close()
    outside = folder / f"{run}.done"
    asked: dict[tuple[str, str], str] = {}
    results: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, ModelFinished) and event.reply is not None:
            natives = [part.call for part in event.reply.parts if isinstance(part, CallPart)]
            asked |= {
                (event.stream, one.id): str(one.arguments.get("whom", one.name))
                for one in natives
                if one.arguments != ""
            }
        elif isinstance(event, ToolReturned):
            what = asked[event.stream, event.result.call_id]
            (outcome,) = event.result.outcomes
            kind = "unknown" if isinstance(outcome, UnknownOutcome) else "done"
            results.append((what, "failed" if isinstance(outcome, Failure) else kind))
    return {
        "outside": sorted(outside.read_text().split()) if outside.exists() else [],
        "results": sorted(result for result in results if result[0] != "spawn_agent"),
        "ids": len({event.id for event in events}) == len(events),
        "open": len(open_calls_of_all(events)),
        "waiting": sorted(call.summary for call in waiting_in(events)),
        "finished": is_finished(events),
        "agents": sorted({event.agent for event in events if isinstance(event, AgentStarted)}),
        "ended": sorted({event.agent for event in events if isinstance(event, AgentEnded)}),
    }


def assert_no_effect_twice_or_lost(happened: list[dict[str, Any]]) -> None:
    """What must hold of every tree, wherever it was killed."""
    assert len(happened) > 80
    for number, one in enumerate(happened, 1):
        assert one["codes"][-1] == 0, (number, one)
        parked = one["parked"]
        # Who does not wait has gone on, and nobody paid without an answer.
        assert ([len(parked["waiting"]), parked["finished"]]) == [2, False], (number, parked)
        assert parked["outside"] in (["look"], []), (number, parked)
        assert [what for what, _ in parked["results"]] == ["look"], (number, parked)
        assert (one["finished"], one["ids"], one["open"]) == (True, True, 0), (number, one)
        assert one["agents"] == one["ended"], (number, one)
        assert [what for what, _ in one["results"]] == ["anna", "bert", "look"], (number, one)
        for what, result in one["results"]:
            times = one["outside"].count(what)
            if what == "bert":
                assert (times, result) == (0, "failed"), (number, one)
            else:
                assert times == 1 if result == "done" else (result == "unknown" and times <= 1), (number, one)
        assert set(one["outside"]) <= {"anna", "look"}
    unknown = [what for one in happened for what, result in one["results"] if result == "unknown"]
    assert {*unknown} == {"anna", "look"}  # some were killed in the middle of an effect
    assert len(unknown) < len(happened) / 2


if __name__ == "__main__":
    main(*sys.argv[1:])
