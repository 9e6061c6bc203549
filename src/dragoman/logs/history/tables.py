"""The tables of the history: events of one file → rows, a piece at a time.

Rules: texts are cut, with their full length beside: the log itself holds the rest, and `source_offset` and
`source_length` say where. A count that was not said is `None`, not 0.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from dragoman.logs.base.format import Storable
from dragoman.logs.base.normalise import read_again
from dragoman.model import NativeResult, Usage, events as ev, operations as op, outcomes as out
from dragoman.model.json_text import json_text

from .rows import (
    KINDS,
    LONGEST,
    SHORTER,
    TABLES,
    AgentRow,
    CallRow,
    OperationRow,
    OutcomeRow,
    Row,
    SessionRow,
    StepRow,
    Time,
    TurnRow,
    UsageRow,
)
from .sessions import Counter, key_of, title_of

_EARLY: Final = 16
"""How many results wait for a call that comes after them."""


def failure_of(outcome: out.Outcome, native: NativeResult | None) -> str | None:
    """The kind of failure an outcome is, or `None`: the one place that says what counts as one.

    `native` is the result it was read from: a command without an exit code failed if that is flagged as an error.
    """
    if isinstance(outcome, out.Failure):
        return outcome.kind
    if isinstance(outcome, out.CommandOutcome):
        if outcome.timed_out:
            return "timed_out"
        if outcome.signal is not None or outcome.exit_code not in (0, None):
            return "exit"
        if outcome.exit_code is None and not outcome.running and native is not None and native.is_error:
            return "exit"
    return None


def waits_for_a_person(event: ev.ToolCalled) -> bool:
    """Whether a person answers before the result comes: then the time until it says nothing about the tool."""
    asked = event.decision is not None and event.decision.verdict == "asked"
    return asked or any(isinstance(one, op.AskUser) for one in event.call.operations[:1])


class Built(msgspec.Struct):
    """Rows to write, by table; `agents` is for our own use."""

    tables: dict[str, list[Row]]
    agents: list[AgentRow]


class TableBuilder(Storable):
    """Makes the rows of one file from its events, in their order. What it holds is small and may be stored."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._streams: dict[tuple[str, str], _Stream] = {}
        self._added: list[tuple[str, Row]] = []
        self._agents: list[AgentRow] = []
        self.events = self.unreadable = self.unknown = 0

    def take(self, event: ev.AnyEvent) -> None:
        """One more event of the file."""
        self.events += 1
        if isinstance(event, ev.Unreadable):
            self.unreadable += 1
        elif isinstance(event, ev.UnknownRecord):
            self.unknown += 1
        key = key_of(event)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(self, *key)
        stream.take(event)

    def added(self, table: str, row: Row) -> None:
        """A new row, to be written as it is when the rows are asked for."""
        self._added.append((table, row))

    def spawned(self, row: AgentRow) -> None:
        self._agents.append(row)

    def rows(self) -> Built:
        """The rows that are new since this was asked last, and those that may have changed since."""
        tables: dict[str, list[Row]] = {name: [] for name in TABLES}
        for table, row in self._added:
            tables[table].append(row)
        built = Built(tables, self._agents)
        self._added, self._agents = [], []
        return built

    def go_on(self) -> None:
        """To be called when more events come after rows were asked for: what may still change is written once more."""
        held = {id(row): (table, row) for stream in self._streams.values() for table, row in stream.held()}
        self._added = [*held.values(), *self._added]


class _Stream(Storable):
    """The rows of one stream: those of what is going on, and the calls that wait for a result."""

    def __init__(self, builder: TableBuilder, session: str, stream: str) -> None:
        self._builder = builder
        self._key: dict[str, Any] = {"session": session, "stream": stream}
        self._counter = Counter(stream)
        self._session = SessionRow(**self._key)
        builder.added("sessions", self._session)
        self._turn: TurnRow | None = None
        self._step: StepRow | None = None
        self._waiting: dict[str, list[tuple[TurnRow, StepRow, CallRow]]] = {}
        self._numbers: dict[str, int] = {}
        """Call id → the call's number."""
        self._results: dict[str, tuple[str | None, datetime.datetime | None, float | None]] = {}
        """Call id → how its first result failed, when it was logged, how long it took."""
        self._early: dict[str, ev.ToolReturned] = {}
        """Call id → a result that stood before its call, of the last of these: most have their call elsewhere."""
        self._first_words: str | None = None
        self._usages = 0
        self._model: str | None = None
        self._assumed: list[CallRow] = []
        """Calls of the step that is going on, of which only what ends it says which model made them."""

    def held(self) -> Iterator[tuple[str, Row]]:
        yield "sessions", self._session
        if self._turn is not None:
            yield "turns", self._turn
        if self._step is not None:
            yield "steps", self._step
        for waiting in self._waiting.values():
            for turn, step, call in waiting:
                yield "turns", turn
                yield "steps", step
                yield "calls", call
        yield from (("calls", call) for call in self._assumed)

    def take(self, event: ev.AnyEvent) -> None:
        self._note(event)
        where = self._counter.take(event)
        if where in ("opening", "turn", "step"):
            self._place(event, where)
        taken = _TAKEN.get(type(event))
        if taken is not None:
            taken(self, event)

    def _source(self, event: ev.AnyEvent) -> tuple[int | None, int | None]:
        """Which bytes of the file an event is; where a client keeps a session in several, it may be of another."""
        source = event.source
        return (None, None) if source is None or source.file != self._builder.file else (source.offset, source.length)

    def _agent_started(self, event: ev.AgentStarted) -> None:
        row = AgentRow(**self._key, agent=event.agent, agent_session=event.agent_session, call_id=event.call_id)
        self._builder.spawned(row)

    def _unread(self, event: ev.Unreadable) -> None:
        self._session.unreadable += 1

    def _not_known(self, event: ev.UnknownRecord) -> None:
        self._session.unknown += 1

    # ── the session ────────────────────────────────────────────────────────

    def _note(self, event: ev.AnyEvent) -> None:
        session = self._session
        session.events += 1
        _timed(session, event.time)
        session.client = session.client or event.client
        session.version = event.version or session.version
        if type(event) in _NAMING and (model := event.model) is not None:  # type: ignore[union-attr]
            self._model = model
            if model not in session.models:
                session.models = [*session.models, model]

    def _started(self, event: ev.SessionStarted) -> None:
        session = self._session
        session.cwd = session.cwd or event.cwd
        session.project = session.project or event.project
        session.branch = session.branch or event.branch
        session.parent_session = session.parent_session or event.parent_session
        session.parent_call = session.parent_call or event.parent_call
        session.forked_from = session.forked_from or event.forked_from

    # ── turns and steps ────────────────────────────────────────────────────

    def _place(self, event: ev.AnyEvent, where: str) -> None:
        number = self._counter.turn
        assert number is not None
        if self._turn is None or self._turn.turn != number:
            self._turn, self._step = self._opened(number, event), None
            self._builder.added("turns", self._turn)
            self._session.turns += 1
        turn = self._turn
        _timed(turn, event.time)
        if where == "step":
            self._in_step(turn, event)
        if isinstance(event, ev.UserSaid) and event.by != "client" and self._first_words is None:
            self._first_words = event.text
            digest = digest_of(event.text)
            self._builder.spawned(AgentRow(**self._key, prompt=digest))

    def _opened(self, number: int, event: ev.AnyEvent) -> TurnRow:
        turn = TurnRow(**self._key, turn=number)
        if isinstance(event, ev.UserSaid):
            turn.opened_by, turn.said_by = "user_said", event.by
            turn.text, turn.text_length = _cut(event.text)
            if self._session.title is None:
                self._session.title = title_of(event.text)
        elif isinstance(event, ev.CommandInvoked):
            turn.opened_by, turn.said_by = "command_invoked", "user"
            turn.text, turn.text_length = _cut(" ".join(filter(None, (event.name, event.arguments))))
        elif isinstance(event, ev.ContextCompacted):
            turn.opened_by = "context_compacted"
            if event.summary is not None:
                turn.text, turn.text_length = _cut(event.summary)
        else:
            return turn
        turn.source_offset, turn.source_length = self._source(event)
        return turn

    def _in_step(self, turn: TurnRow, event: ev.AnyEvent) -> None:
        number = self._counter.step or 0
        if self._step is None or self._step.step != number:
            offset, length = self._source(event)
            self._step = StepRow(**self._key, turn=turn.turn, step=number, source_offset=offset, source_length=length)
            self._builder.added("steps", self._step)
            self._assumed = []
            turn.steps += 1
            self._session.steps += 1
        step = self._step
        _timed(step, event.time)
        if type(event) not in _OF_THE_MODEL:
            return
        if (model := event.model) is not None:  # type: ignore[union-attr]
            step.model = model
            for call in self._assumed:
                call.model = model
            self._assumed = []
        if isinstance(event, ev.ModelSaid):
            step.said, step.said_length = _joined(step.said, step.said_length, event.text)
        elif isinstance(event, ev.ModelThought):
            step.thought, step.thought_length = _joined(step.thought, step.thought_length, event.text)
        elif isinstance(event, ev.ModelFinished):
            step.finish = event.finish.value

    # ── calls and what they gave ───────────────────────────────────────────

    def _called(self, event: ev.ToolCalled) -> None:
        turn, step, session, call = self._turn, self._step, self._session, event.call
        assert turn is not None
        assert step is not None
        number = session.calls
        for counted in (turn, step, session):
            counted.calls += 1
        arguments = call.native.arguments
        text, length = _cut(arguments, SHORTER) if isinstance(arguments, str) else short_json(arguments)
        offset, size = self._source(event)
        row = CallRow(
            **self._key,
            turn=turn.turn,
            step=step.step,
            call=number,
            call_id=call.id,
            event=event.id,
            name=call.native.name,
            namespace=call.native.namespace,
            executed_by=call.native.executed_by.value,
            called_by=event.by,
            operation=tag_of(call.operations[0]) if call.operations else None,
            operations=len(call.operations),
            arguments=text,
            arguments_length=length,
            verdict=None if event.decision is None else event.decision.verdict,
            rule=None if event.decision is None else event.decision.rule,
            model=step.model or self._model,
            time=event.time,
            source_offset=offset,
            source_length=size,
        )
        if step.model is None:
            self._assumed.append(row)
        self._numbers.setdefault(call.id, number)
        self._builder.added("calls", row)
        for intent, meant in ((False, call.operations), (True, call.intents)):
            for index, operation in enumerate(meant):
                self._means(row, index, operation, intent=intent)
        known = self._results.get(call.id)
        if known is None:
            step.waiting += 1
            self._waiting.setdefault(call.id, []).append((turn, step, row))
        else:
            early = self._early.pop(call.id, None)
            if early is not None:
                known = (_failure(read_again(early, event)), *known[1:])
            self._answered(turn, step, row, known)

    def _means(self, call: CallRow, number: int, operation: op.Operation, *, intent: bool) -> None:
        data, length = short_json(operation)
        path = getattr(operation, "path", None)
        about = next((said for name in _ABOUT if isinstance(said := getattr(operation, name, None), str)), None)
        row = OperationRow(
            **self._key,
            turn=call.turn,
            step=call.step,
            call=call.call,
            call_id=call.call_id,
            number=number,
            intent=intent,
            type=tag_of(operation),
            kind=operation.kind.value,
            path=path if isinstance(path, str) else None,
            about=None if about is None else about[:SHORTER],
            data=data,
            data_length=length,
        )
        self._builder.added("operations", row)
        if isinstance(operation, op.SpawnAgent) and not intent:
            prompt = digest_of(operation.prompt)
            self._builder.spawned(AgentRow(**self._key, call_id=call.call_id, prompt=prompt))

    def _returned(self, event: ev.ToolReturned) -> None:
        result = event.result
        id = result.call_id
        repeated = id in self._results
        for number, outcome in enumerate(result.outcomes):
            self._gave(event, number, outcome, failure_of(outcome, result.native), repeated=repeated)
        if repeated:
            return
        known = self._results[id] = (_failure(event), event.time, logged_duration(event))
        if id not in self._numbers:
            self._early[id] = event
            if len(self._early) > _EARLY:
                del self._early[next(iter(self._early))]
        for turn, step, call in self._waiting.pop(id, ()):
            step.waiting -= 1
            self._answered(turn, step, call, known)

    def _answered(
        self, turn: TurnRow, step: StepRow, call: CallRow, known: tuple[str | None, Time | None, float | None]
    ) -> None:
        call.failure, call.returned, call.duration = known
        call.status = "done" if call.failure is None else "failed"
        asked = call.verdict == "asked" or call.operation == _QUESTION
        if not asked and call.time is not None and call.returned is not None and call.returned >= call.time:
            call.elapsed = (call.returned - call.time).total_seconds()
        if call.failure is not None:
            for counted in (turn, step, self._session):
                counted.failures += 1

    def _gave(
        self, event: ev.ToolReturned, number: int, outcome: out.Outcome, failure: str | None, *, repeated: bool
    ) -> None:
        text, length = _cut(text_of(outcome), SHORTER)
        offset, size = self._source(event)
        row = OutcomeRow(
            **self._key,
            turn=self._counter.turn,
            step=self._counter.step,
            call=self._numbers.get(event.result.call_id),
            call_id=event.result.call_id,
            number=number,
            type=tag_of(outcome),
            failed=failure is not None,
            failure=failure,
            exit_code=getattr(outcome, "exit_code", None),
            text=text,
            text_length=length,
            repeated=repeated,
            time=event.time,
            source_offset=offset,
            source_length=size,
        )
        if isinstance(outcome, out.ChangesOutcome):
            row.files = len(outcome.changes)
            row.added = _total([change.added for change in outcome.changes])
            row.removed = _total([change.removed for change in outcome.changes])
        elif isinstance(outcome, out.PathsOutcome):
            row.files = len(outcome.paths)
        elif isinstance(outcome, out.MatchesOutcome):
            row.files = outcome.files
        self._builder.added("outcomes", row)

    # ── tokens ─────────────────────────────────────────────────────────────

    def _used(self, event: ev.TokensUsed) -> None:
        said = _counts(event.usage)
        for counted in (self._session, self._turn, self._step):
            if counted is not None:
                counted.count(said)
        offset, size = self._source(event)
        row = UsageRow(
            **self._key,
            turn=self._counter.turn,
            step=self._counter.step,
            number=self._usages,
            event=event.id,
            time=event.time,
            client=event.client,
            model=event.model,
            provider_id=event.provider_id,
            exchange=exchange_of(event),
            logged_cost=event.cost,
            earlier_output=event.earlier_output,
            requests=as_json(event.usage.requests) if event.usage.requests else None,
            source_offset=offset,
            source_length=size,
        )
        row.count(said)
        self._usages += 1
        self._builder.added("usage", row)


_NAMING = frozenset({ev.ModelSaid, ev.ModelThought, ev.TokensUsed, ev.ModelChanged})
_OF_THE_MODEL = frozenset({ev.ModelSaid, ev.ModelThought, ev.ModelFinished, ev.TokensUsed})
_TAKEN: Final[dict[type, Callable[[_Stream, Any], None]]] = {
    ev.SessionStarted: _Stream._started,
    ev.ToolCalled: _Stream._called,
    ev.ToolReturned: _Stream._returned,
    ev.TokensUsed: _Stream._used,
    ev.AgentStarted: _Stream._agent_started,
    ev.Unreadable: _Stream._unread,
    ev.UnknownRecord: _Stream._not_known,
}
"""What is done with an event beside counting it. Looked up by its type: this runs for every event there is."""
_QUESTION: Final = str(op.AskUser.__struct_config__.tag)
_ABOUT = ("command", "pattern", "query", "url", "prompt", "name", "message", "code", "text")


def tag_of(value: op.Operation | out.Outcome) -> str:
    """`read_file`, `command_outcome`: the name of a type as JSON has it."""
    return str(type(value).__struct_config__.tag)


def text_of(outcome: out.Outcome) -> str:
    """What an outcome says, as one text: its message, output or text, else all of it as JSON."""
    if isinstance(outcome, out.Failure):
        return outcome.message
    if isinstance(outcome, out.CommandOutcome):
        if outcome.output is not None:
            return outcome.output
        return "\n".join(said for said in (outcome.stdout, outcome.stderr) if said)
    if isinstance(outcome, out.TextOutcome | out.FileOutcome):
        return outcome.text
    if isinstance(outcome, out.UnknownOutcome):
        return outcome.reason
    if isinstance(outcome, out.DoneOutcome):
        return outcome.note or ""
    return as_json(outcome)


def as_json(value: Any) -> str:
    return json_text(value, too_deep="null")  # it may have been read where less of the stack was in use


_DEEPEST: Final = 50
"""Levels of JSON that are kept when it is cut; a value may have as many as Python can read, some hundreds."""


def short_json(value: Any) -> tuple[str, int]:
    """JSON that is still JSON when it was cut, and its whole length: long texts in it are cut, then what is nested."""
    whole = as_json(value)
    if len(whole) <= SHORTER:
        return whole, len(whole)
    try:
        plain = json.loads(whole)
    except RecursionError:  # `whole` was written where less of the stack was in use
        return "null", len(whole)
    for longest in (200, 40):
        cut = as_json(_shortened(plain, longest))
        if len(cut) <= SHORTER:
            return cut, len(whole)
    flat = {key: None if isinstance(one, dict | list) else _shortened(one, 40) for key, one in plain.items()}
    cut = as_json(flat)
    return cut if len(cut) <= LONGEST else "null", len(whole)


def _shortened(value: Any, longest: int, deepest: int = _DEEPEST) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else value[: longest - 1] + "…"
    if isinstance(value, dict | list) and not deepest:
        return None
    if isinstance(value, dict):
        return {key: _shortened(one, longest, deepest - 1) for key, one in value.items()}
    return [_shortened(one, longest, deepest - 1) for one in value] if isinstance(value, list) else value


def digest_of(text: str) -> str:
    """A short name for a text, the same for equal texts."""
    import hashlib

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def exchange_of(event: ev.TokensUsed) -> str | None:
    """What names an exchange in every copy of it: a session that was continued may hold it once more."""
    if event.provider_id is None:
        return None
    # The id of an event is session:record:number, and a copy stands in another session.
    record = event.id.split(":", 1)[-1]
    return (
        f"{event.client}:{event.provider_id}:{record}" if "@" not in record else f"{event.client}:{event.provider_id}"
    )


def _failure(event: ev.ToolReturned) -> str | None:
    """How a call failed: as the first of its outcomes that did."""
    result = event.result
    return next((one for each in result.outcomes if (one := failure_of(each, result.native)) is not None), None)


def logged_duration(event: ev.ToolReturned) -> float | None:
    """How many seconds a call took, as its log says; a command's own count stands for that of its call."""
    result = event.result
    if result.duration is not None:
        return result.duration
    said = [one.duration_ms for one in result.outcomes if isinstance(one, out.CommandOutcome)]
    known = [one for one in said if one is not None]
    return sum(known) / 1000 if known else None


def _counts(usage: Usage) -> list[tuple[str, int]]:
    said = [(name, count) for name in KINDS if (count := getattr(usage, name)) is not None]
    total = usage.total
    if total is not None:
        said.append(("tokens", total))
    if usage.doubtful:
        said.append(("doubtful", 1))
    return said


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _timed(row: SessionRow | TurnRow | StepRow, time: datetime.datetime | None) -> None:
    if time is not None:
        if row.started is None or time < row.started:
            row.started = time
        if row.ended is None or time > row.ended:
            row.ended = time


def _cut(text: str, longest: int = LONGEST) -> tuple[str, int]:
    return text[:longest], len(text)


def _joined(before: str | None, length: int, text: str) -> tuple[str, int]:
    """Two things said one after the other; the length is that of both without what joins them."""
    joined = text if before is None else f"{before}\n{text}"
    return joined[:LONGEST], length + len(text)
