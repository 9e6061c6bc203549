"""Sessions of a corpus as events, made from its tables.

Rule: a corpus has what was said and done, long texts cut, and not the records it was read from. A text that was cut
says so at its end; an event has no source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

import msgspec

from dragoman.logs.history.rows import KINDS, CallRow, OperationRow, OutcomeRow, SessionRow, StepRow, TurnRow, UsageRow
from dragoman.model import (
    Call,
    NativeCall,
    Result,
    Usage,
    conversation as conv,
    events as ev,
    operations as op,
    outcomes as out,
)

Key = tuple[str, str]


class Rows(NamedTuple):
    """What the tables say of some sessions."""

    sessions: Sequence[SessionRow]
    turns: Iterable[TurnRow]
    steps: Iterable[StepRow]
    calls: Iterable[CallRow]
    operations: Iterable[OperationRow]
    outcomes: Iterable[OutcomeRow]
    usage: Iterable[UsageRow]


def told_again(rows: Rows) -> Iterator[ev.AnyEvent]:
    """The events of these sessions, one after the other, sub-agents after who started them."""
    turns, steps, calls = _by_session(rows.turns), _by_session(rows.steps), _by_session(rows.calls)
    operations, outcomes, usage = _by_session(rows.operations), _by_session(rows.outcomes), _by_session(rows.usage)
    started_by = {row.call_id: (row.session, row.stream) for row in rows.calls}
    agents: dict[tuple[str, str, str], list[SessionRow]] = {}
    for row in rows.sessions:
        if row.parent_call is not None and row.parent_call in started_by:
            agents.setdefault((*started_by[row.parent_call], row.parent_call), []).append(row)
    for row in rows.sessions:
        key = (row.session, row.stream)
        told = _Conversation(row, operations.get(key, ()), outcomes.get(key, ()), agents)
        yield from told.session(turns.get(key, ()), steps.get(key, ()), calls.get(key, ()), usage.get(key, ()))


def _by_session(rows: Iterable[Any]) -> dict[Key, list[Any]]:
    found: dict[Key, list[Any]] = {}
    for row in rows:
        found.setdefault((row.session, row.stream), []).append(row)
    return found


class _Conversation:
    """One conversation."""

    def __init__(
        self,
        row: SessionRow,
        operations: Iterable[OperationRow],
        outcomes: Iterable[OutcomeRow],
        agents: dict[tuple[str, str, str], list[SessionRow]],
    ) -> None:
        self._row, self._count, self._agents = row, 0, agents
        self._operations: dict[str, list[OperationRow]] = {}
        self._outcomes: dict[str, list[OutcomeRow]] = {}
        for operation in operations:
            self._operations.setdefault(operation.call_id, []).append(operation)
        for outcome in outcomes:
            if not outcome.repeated:
                self._outcomes.setdefault(outcome.call_id, []).append(outcome)

    def _event(self, kind: type[Any], time: Any, **facts: Any) -> Any:
        self._count += 1
        row = self._row
        return kind(
            id=f"{row.session}-{row.stream}-{self._count}",
            session=row.session,
            stream=row.stream,
            time=time,
            client=row.client,
            version=row.version,
            **facts,
        )

    def session(
        self,
        turns: Iterable[TurnRow],
        steps: Iterable[StepRow],
        calls: Iterable[CallRow],
        usage: Iterable[UsageRow],
    ) -> Iterator[ev.AnyEvent]:
        row = self._row
        yield self._event(
            ev.SessionStarted,
            row.started,
            cwd=row.cwd,
            project=row.project,
            branch=row.branch,
            model=row.models[0] if row.models else None,
            parent_session=row.parent_session,
            parent_call=row.parent_call,
            forked_from=row.forked_from,
            metadata={name: value for name in ("user", "team", "machine") if (value := getattr(row, name)) is not None},
        )
        by_step: dict[tuple[int, int], list[CallRow]] = {}
        for call in sorted(calls, key=lambda one: one.call):
            by_step.setdefault((call.turn, call.step), []).append(call)
        used: dict[tuple[int | None, int | None], list[UsageRow]] = {}
        for one in usage:
            used.setdefault((one.turn, one.step), []).append(one)
        said = {(step.turn, step.step): step for step in steps}
        opened = {turn.turn: turn for turn in turns}
        for number in sorted({*opened, *(turn for turn, _ in (*said, *by_step))}):
            if number in opened:
                yield from self._turn(opened[number])
            for place in sorted(one for one in {*said, *by_step} if one[0] == number):
                yield from self._step(said.get(place), by_step.get(place, ()), used.pop(place, ()))
        for left in used.values():
            yield from (self._used(one) for one in left)

    def _turn(self, row: TurnRow) -> Iterator[ev.AnyEvent]:
        text = _cut(row.text, row.text_length)
        if row.opened_by == "context_compacted":
            yield self._event(ev.ContextCompacted, row.started, summary=text)
        elif text:
            by = row.said_by if row.said_by in ("user", "client", "agent") else "user"
            yield self._event(ev.UserSaid, row.started, text=text, by=by)

    def _step(self, row: StepRow | None, calls: Iterable[CallRow], usage: Iterable[UsageRow]) -> Iterator[ev.AnyEvent]:
        if row is not None:
            if row.thought:
                text = _cut(row.thought, row.thought_length)
                yield self._event(ev.ModelThought, row.started, text=text, model=row.model)
            if row.said:
                yield self._event(ev.ModelSaid, row.started, text=_cut(row.said, row.said_length), model=row.model)
        calls = list(calls)
        for call in calls:
            native = NativeCall(call.call_id, call.name, _arguments(call), namespace=call.namespace)
            made = Call(call.call_id, tuple(self._meanings(call)), native)
            yield self._event(ev.ToolCalled, call.time, call=made, call_id=call.call_id)
            for agent in self._agents.get((call.session, call.stream, call.call_id), ()):
                session = None if agent.session == call.session else agent.session
                facts = {"agent": agent.stream, "prompt": agent.title, "agent_session": session}
                yield self._event(ev.AgentStarted, call.time, call_id=call.call_id, **facts)
        yield from (self._used(one) for one in usage)
        finish = None if row is None else next((one for one in conv.FinishReason if one == row.finish), None)
        if row is not None and finish is not None:
            yield self._event(ev.ModelFinished, row.ended, finish=finish, model=row.model)
        for call in calls:
            rows = self._outcomes.get(call.call_id, ())
            if rows:
                result = Result(call.call_id, tuple(map(_outcome, rows)), call.duration)
                yield self._event(ev.ToolReturned, call.returned, result=result, call_id=call.call_id)

    def _meanings(self, call: CallRow) -> Iterator[op.Operation]:
        for row in self._operations.get(call.call_id, ()):
            if not row.intent:
                try:
                    yield msgspec.json.decode(row.data, type=op.AnyOperation)
                except msgspec.MsgspecError:  # a reader of another version wrote it, or a value was cut
                    yield op.Unrecognised(call.name, {})

    def _used(self, row: UsageRow) -> ev.AnyEvent:
        counted = Usage(**{name: getattr(row, name) for name in KINDS})
        said = {"usage": counted, "model": row.model, "cost": row.logged_cost, "earlier_output": row.earlier_output}
        used: ev.AnyEvent = self._event(ev.TokensUsed, row.time, **said)
        return used


def _cut(text: str | None, whole: int | None) -> str:
    text = text or ""
    return text if whole is None or whole <= len(text) else f"{text} [… {whole:,} characters in the log]"


def _arguments(call: CallRow) -> Any:
    """The native arguments; what is no JSON is the text itself."""
    try:
        value = msgspec.json.decode(call.arguments or "{}")
    except msgspec.DecodeError:
        return _cut(call.arguments, call.arguments_length)
    return value if isinstance(value, dict) else call.arguments


def _outcome(row: OutcomeRow) -> out.Outcome:
    text = _cut(row.text, row.text_length)
    if row.type == "failure":
        kind: Any = row.failure if row.failure in get_args(out.FailureKind) else "failed"
        return out.Failure(kind, text)
    if row.type == "command_outcome":
        return out.CommandOutcome(exit_code=row.exit_code, output=text)
    return out.TextOutcome(text)
