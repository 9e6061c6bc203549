"""Runs that wait for people: what they wait for, and the answers that `approve` and `refuse` give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from dragoman.engine.history import conversation_of, open_calls_of_all

from .records import find_run, queue_of, store_of
from .terminal.approver import SHORT_DIGEST, WaitingCall, waiting_calls
from .terminal.console import Console, ExitCode

if TYPE_CHECKING:
    from dragoman.model import AnyEvent

Verdict: TypeAlias = Literal["approve", "refuse"]


def waiting_in(events: Sequence[AnyEvent]) -> list[WaitingCall]:
    """The calls of a record that wait for an answer, of all agents that worked in it."""
    return waiting_calls(open_calls_of_all(events), events)


def answer_of(events: Sequence[AnyEvent]) -> str:
    """The last that the model said in a run."""
    from dragoman.model import Reply

    return next((item.text for item in reversed(conversation_of(events)) if isinstance(item, Reply) and item.text), "")


def decide(
    ctx: click.Context, verdict: Verdict, run: str, calls: tuple[str, ...], *, resume: click.Command
) -> ExitCode:
    """Gives an answer to calls that a run waits for; it continues with a worker or, outside the queue, here."""
    code = _decide_queued(ctx.find_object(Console) or Console(), verdict, run, calls)
    if code is not None:
        return code
    words = ["--resume", run, *(word for call in calls or ("all",) for word in (f"--{verdict}", call))]
    with resume.make_context("run", words, parent=ctx) as resumed:
        ended: ExitCode = resume.invoke(resumed)
    return ended


def _decide_queued(console: Console, verdict: Verdict, run: str, calls: tuple[str, ...]) -> ExitCode | None:
    """Gives an answer to calls of a run of the queue, which continues with a worker; `None` if it is no such run."""
    from dragoman.fleet import Decision

    configuration = console.configuration()
    store, queue = store_of(configuration), queue_of(configuration)
    try:
        id = find_run(store, run, "RUN")
        entry = next((one for one in queue.entries(("waiting",)) if one.id == id), None)
        if entry is None:
            return None
        waiting = waiting_in(list(store.read(id)))
        asking = [call for call in waiting if call.asks]
        chosen = _chosen(waiting, calls)
        if verdict == "approve" and any(call in asking for call in chosen):
            call = next(call for call in chosen if call in asking)
            raise click.UsageError(
                f"{call.id} is a question of the model: answer it with dragoman run --resume {id[:8]} --answer"
            )
        kept = {decision.call: decision for decision in entry.decisions}
        kept.update({call.digest: Decision(verdict, call.digest) for call in chosen})
        left = [call for call in waiting if call.digest not in kept]
        if not queue.decide(id, tuple(kept.values()), complete=not left):
            raise click.UsageError(f"{id[:8]} does not wait any more.")
        for call in left:
            console.note(f"  {call.digest[:SHORT_DIGEST]}  {call.summary} still waits")
        console.note(f"{id[:8]} waits for more answers." if left else f"{id[:8]} continues with the next worker.")
        return ExitCode.OK
    finally:
        store.close()
        queue.close()


def _chosen(waiting: Sequence[WaitingCall], words: Sequence[str]) -> list[WaitingCall]:
    """The calls that are named by id or digest; all of them if none is named."""
    if not words or "all" in words:
        if not waiting:
            raise click.UsageError("No call of this run waits.")
        return list(waiting)
    chosen: list[WaitingCall] = []
    for word in words:
        long = len(word) >= SHORT_DIGEST
        found = [call for call in waiting if call.id == word or (long and call.digest.startswith(word))]
        if len(found) != 1:
            listed = ", ".join(call.digest[:SHORT_DIGEST] if found else call.id for call in found or waiting) or "none"
            what = f'several calls wait as "{word}"' if found else f'no call "{word}" waits; those that do'
            raise click.BadParameter(f"{what}: {listed}.", param_hint="CALL")
        chosen += found
    return chosen
