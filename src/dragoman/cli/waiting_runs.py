"""Runs that wait for people: what they wait for, and the answers that `approve` and `refuse` give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import click

from dragoman.engine.history import conversation_of, open_calls_of_all

from .records import find_run, queue_of, store_of
from .terminal.approver import SHORT_DIGEST, WaitingCall, are_the_same, waiting_calls
from .terminal.console import Console, ExitCode

if TYPE_CHECKING:
    from dragoman.fleet import State
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
        entry = queue.find(id)
        if entry is None:
            return None
        if entry.state != "waiting":
            raise click.UsageError(f"{id[:8]} does not wait for an answer: {_STATES[entry.state].format(id[:8])}")
        waiting = waiting_in(list(store.read(id)))
        if not waiting and not calls:  # it was continued by hand, with --resume
            queue.decide(id, (), waiting=())
            console.note(f"No call of {id[:8]} waits any more; the next worker continues it.")
            return ExitCode.OK
        asking = [call for call in waiting if call.asks]
        chosen = _chosen(waiting, calls)
        if verdict == "approve" and any(call in asking for call in chosen):
            call = next(call for call in chosen if call in asking)
            raise click.UsageError(
                f"{call.id} is a question of the model: answer it with dragoman run --resume {id[:8]} --answer"
            )
        decisions = [Decision(verdict, digest) for digest in dict.fromkeys(call.digest for call in chosen)]
        after = queue.decide(id, decisions, waiting=[call.digest for call in waiting])
        if after is None:
            raise click.UsageError(f"{id[:8]} does not wait any more: somebody else has answered.")
        for other in entry.decisions:
            if other not in after.decisions:
                console.note(f"  {other.call[:SHORT_DIGEST]}  the answer before this one was: {other.verdict}")
        answered = {decision.call for decision in after.decisions}
        left = [call for call in waiting if call.digest not in answered]
        for call in left:
            console.note(f"  {call.digest[:SHORT_DIGEST]}  {call.summary} still waits")
        console.note(f"{id[:8]} waits for more answers." if left else f"{id[:8]} continues with the next worker.")
        return ExitCode.OK
    finally:
        store.close()
        queue.close()


_STATES: Final[dict[State, str]] = {
    "queued": "it waits for a worker, which continues it.",
    "running": "a worker runs it now. If it waits, `dragoman queue show {}` says for what.",
    "done": "it is done.",
    "failed": "it has failed; `dragoman queue retry {}` continues it.",
    "cancelled": "it was cancelled; `dragoman queue retry {}` continues it.",
}


def _chosen(waiting: Sequence[WaitingCall], words: Sequence[str]) -> list[WaitingCall]:
    """The calls that are named by id or digest; all of them if none is named.

    An answer is kept by its digest, so it is for every call that is the same: naming one of those by its id is refused.
    """
    if not words or "all" in words:
        if not waiting:
            raise click.UsageError("No call of this run waits.")
        return list(waiting)
    chosen: list[WaitingCall] = []
    for word in words:
        long = len(word) >= SHORT_DIGEST
        found = [call for call in waiting if call.id == word or (long and call.digest.startswith(word))]
        same = [call for call in waiting if found and call.digest == found[0].digest]
        if len(found) == 1 < len(same):
            ids = " and ".join(call.id for call in same)
            raise click.BadParameter(
                f"{ids} are the same call, and an answer is for all of them: name them by their digest, "
                f"{found[0].digest[:SHORT_DIGEST]}.",
                param_hint="CALL",
            )
        if len(found) != 1 and not are_the_same(found, word):
            listed = ", ".join(call.digest[:SHORT_DIGEST] if found else call.id for call in found or waiting) or "none"
            what = f'several calls wait as "{word}"' if found else f'no call "{word}" waits; those that do'
            raise click.BadParameter(f"{what}: {listed}.", param_hint="CALL")
        chosen += found
    return chosen
