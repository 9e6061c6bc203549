"""The tables of the history: events of one file → rows, a piece at a time.

Rules: the structs below are the columns, in the order a query sees them; `docs/reference/tables.md` is printed from
them. Texts are cut, with their full length beside: the log itself holds the rest, and `source_offset` and
`source_length` say where. A count that was not said is `None`, not 0.
"""

from __future__ import annotations

import datetime
import json
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from dragoman.logs.base.format import Storable
from dragoman.logs.base.normalise import read_again
from dragoman.model import (
    AgentStarted,
    AnyEvent,
    CommandInvoked,
    ContextCompacted,
    Failure,
    ModelChanged,
    ModelFinished,
    ModelSaid,
    ModelThought,
    Operation,
    Outcome,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    Usage,
    UserSaid,
    operations as op,
    outcomes as out,
)

from .sessions import Counter, key_of, title_of

Time = datetime.datetime

LONGEST: Final = 4_000
"""How many characters of what people and models say a table holds."""
SHORTER: Final = 1_000
"""How many of what tools were given and gave, which is most of every log."""
_EARLY: Final = 16
"""How many results wait for a call that comes after them."""


def _said(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class Row(msgspec.Struct, kw_only=True):
    """What every row says: the file it was read from, and the session and stream it belongs to."""

    file: Annotated[str, _said("the log file it was read from")] = ""
    session: Annotated[str, _said("the session's id")]
    stream: Annotated[str, _said('"main", or the sub-agent\'s id')]


class _Counted(Row, kw_only=True):
    """Tokens, as `dragoman.model.Usage` counts them: nothing twice."""

    input_tokens: Annotated[int | None, _said("input neither read from nor written to a cache")] = None
    cached_read_tokens: Annotated[int | None, _said("input read from a cache")] = None
    cached_write_tokens: Annotated[int | None, _said("input written to a cache")] = None
    output_tokens: Annotated[int | None, _said("output, reasoning included")] = None
    reasoning_tokens: Annotated[int | None, _said("of the output, what was thought")] = None
    tool_tokens: Annotated[int | None, _said("input that the provider's own tools used")] = None
    tokens: Annotated[int | None, _said("all of them")] = None

    def count(self, said: list[tuple[str, int]]) -> None:
        """Adds what was said of one exchange."""
        for name, tokens in said:
            setattr(self, name, (getattr(self, name) or 0) + tokens)


_KINDS = (
    *("input_tokens", "cached_read_tokens", "cached_write_tokens"),
    *("output_tokens", "reasoning_tokens", "tool_tokens"),
)


class SessionRow(_Counted, kw_only=True):
    """One agent's conversation: a session, or a sub-agent of one (then `stream` names it)."""

    client: Annotated[str | None, _said("the program: claude_code, codex, …")] = None
    version: Annotated[str | None, _said("the program's version, the last one seen")] = None
    cwd: Annotated[str | None, _said("the folder it ran in")] = None
    project: Annotated[str | None, _said("the project as the log names it, else the folder")] = None
    repository: Annotated[str | None, _said("the repository of that folder, the same for all its worktrees")] = None
    branch: Annotated[str | None, _said("the branch it began on")] = None
    title: Annotated[str | None, _said("the first line the user said")] = None
    models: Annotated[list[str], _said("the models that answered, in order")] = []
    started: Annotated[Time | None, _said("the first time logged (UTC)")] = None
    ended: Annotated[Time | None, _said("the last time logged (UTC)")] = None
    parent_session: Annotated[str | None, _said("the session that spawned it")] = None
    parent_call: Annotated[str | None, _said("the call that spawned it")] = None
    forked_from: Annotated[str | None, _said("the session it branched off")] = None
    agents: Annotated[int, _said("how many sub-agents it spawned directly")] = 0
    turns: Annotated[int, _said("how many turns")] = 0
    steps: Annotated[int, _said("how many replies of the model")] = 0
    calls: Annotated[int, _said("how many tool calls")] = 0
    failures: Annotated[int, _said("how many calls failed")] = 0
    events: Annotated[int, _said("how many events")] = 0
    unreadable: Annotated[int, _said("how many of them are bytes that are no record")] = 0
    unknown: Annotated[int, _said("how many are records of a kind nobody knows")] = 0


class TurnRow(_Counted, kw_only=True):
    """Something the user said and what it took to answer."""

    turn: Annotated[int, _said("counted from 0 within the stream")]
    opened_by: Annotated[str | None, _said("user_said, command_invoked or context_compacted")] = None
    said_by: Annotated[str | None, _said("who said it: user, client or agent")] = None
    text: Annotated[str | None, _said("what was said, the command, or the summary; cut")] = None
    text_length: Annotated[int | None, _said("its whole length in characters")] = None
    started: Annotated[Time | None, _said("the first time logged (UTC)")] = None
    ended: Annotated[Time | None, _said("the last time logged (UTC)")] = None
    steps: Annotated[int, _said("how many replies of the model")] = 0
    calls: Annotated[int, _said("how many tool calls")] = 0
    failures: Annotated[int, _said("how many calls failed")] = 0
    source_offset: Annotated[int | None, _said("where in the file what opened it stands")] = None
    source_length: Annotated[int | None, _said("and how many bytes it is")] = None


class StepRow(_Counted, kw_only=True):
    """One reply of the model and the tools it called."""

    turn: Annotated[int, _said("the turn it belongs to")]
    step: Annotated[int, _said("counted from 0 within the turn")]
    model: Annotated[str | None, _said("the model that answered")] = None
    said: Annotated[str | None, _said("what it said; cut")] = None
    said_length: Annotated[int, _said("its whole length in characters")] = 0
    thought: Annotated[str | None, _said("what it thought; cut")] = None
    thought_length: Annotated[int, _said("its whole length in characters")] = 0
    started: Annotated[Time | None, _said("the first time logged (UTC)")] = None
    ended: Annotated[Time | None, _said("the last time logged (UTC)")] = None
    finish: Annotated[str | None, _said("why the model stopped")] = None
    calls: Annotated[int, _said("how many tool calls")] = 0
    failures: Annotated[int, _said("how many calls failed")] = 0
    waiting: Annotated[int, _said("how many calls have no result")] = 0
    source_offset: Annotated[int | None, _said("where in the file its first event stands")] = None
    source_length: Annotated[int | None, _said("and how many bytes it is")] = None


class CallRow(Row, kw_only=True):
    """One tool call, as the client named it."""

    turn: Annotated[int, _said("the turn it belongs to")]
    step: Annotated[int, _said("the step it belongs to")]
    call: Annotated[int, _said("counted from 0 within the stream")]
    call_id: Annotated[str, _said("the id the log gives it")]
    event: Annotated[str, _said("the id of the event")]
    name: Annotated[str, _said("the tool's native name")]
    namespace: Annotated[str | None, _said("the tool's native namespace")] = None
    executed_by: Annotated[str, _said("client or provider")] = "client"
    called_by: Annotated[str, _said("model, client or program")] = "model"
    operation: Annotated[str | None, _said("the type of its first operation; none when it could not be read")] = None
    operations: Annotated[int, _said("how many operations it means")] = 0
    arguments: Annotated[
        str | None, _said("its native arguments as JSON with long texts in it cut, or the text itself, cut")
    ] = None
    arguments_length: Annotated[int, _said("their whole length in characters")] = 0
    status: Annotated[str, _said("done, failed, or waiting when it has no result")] = "waiting"
    failure: Annotated[str | None, _said("the kind of failure: denied, timed_out, exit, …")] = None
    verdict: Annotated[str | None, _said("allowed, asked or denied, where the log says so")] = None
    model: Annotated[str | None, _said("the model that called")] = None
    time: Annotated[Time | None, _said("when it was called (UTC)")] = None
    returned: Annotated[Time | None, _said("when its result was logged (UTC)")] = None
    duration: Annotated[float | None, _said("how long it ran in seconds, as the log says")] = None
    elapsed: Annotated[
        float | None, _said("seconds between call and result, by their times, where these are in order")
    ] = None
    source_offset: Annotated[int | None, _said("where in the file it stands")] = None
    source_length: Annotated[int | None, _said("and how many bytes it is")] = None


class OperationRow(Row, kw_only=True):
    """One thing a call means, in words that are the same for every client."""

    turn: Annotated[int, _said("the turn it belongs to")]
    step: Annotated[int, _said("the step it belongs to")]
    call: Annotated[int, _said("the call it belongs to")]
    call_id: Annotated[str, _said("the id the log gives the call")]
    number: Annotated[int, _said("counted from 0 within the call")]
    intent: Annotated[bool, _said("whether it is only what a command line was seen to do, beside the command")] = False
    type: Annotated[str, _said("read_file, run_command, …")]
    kind: Annotated[str, _said("read, write, execute, search, fetch, plan, ask, agent or other")]
    path: Annotated[str | None, _said("the file or folder it is about")] = None
    about: Annotated[str | None, _said("else what it is about: the command, pattern, query, URL or prompt; cut")] = None
    data: Annotated[str, _said("the operation as JSON, long texts in it cut")] = ""
    data_length: Annotated[int, _said("its whole length in characters")] = 0


class OutcomeRow(Row, kw_only=True):
    """What one operation gave."""

    turn: Annotated[int | None, _said("the turn its result was logged in")] = None
    step: Annotated[int | None, _said("the step its result was logged in")] = None
    call: Annotated[int | None, _said("the call it belongs to; none when that is not in the log before it")] = None
    call_id: Annotated[str, _said("the id the log gives the call")]
    number: Annotated[int, _said("counted from 0 within the result")]
    type: Annotated[str, _said("command_outcome, failure, …")]
    failed: Annotated[bool, _said("a failure, or a command that did not end with 0")] = False
    failure: Annotated[str | None, _said("the kind of failure: denied, timed_out, …; exit for a command's code")] = None
    exit_code: Annotated[int | None, _said("the command's exit code")] = None
    text: Annotated[str | None, _said("the message, output or text; cut")] = None
    text_length: Annotated[int, _said("its whole length in characters")] = 0
    files: Annotated[int | None, _said("how many files were changed or found")] = None
    added: Annotated[int | None, _said("lines added")] = None
    removed: Annotated[int | None, _said("lines removed")] = None
    repeated: Annotated[bool, _said("whether the log had told of this call's result before")] = False
    time: Annotated[Time | None, _said("when it was logged (UTC)")] = None
    source_offset: Annotated[int | None, _said("where in the file it stands")] = None
    source_length: Annotated[int | None, _said("and how many bytes it is")] = None


class UsageRow(_Counted, kw_only=True):
    """The tokens of one exchange with a model."""

    turn: Annotated[int | None, _said("the turn it belongs to")] = None
    step: Annotated[int | None, _said("the step it belongs to")] = None
    number: Annotated[int, _said("counted from 0 within the stream")]
    event: Annotated[str, _said("the id of the event")]
    time: Annotated[Time | None, _said("when it was logged (UTC)")] = None
    client: Annotated[str | None, _said("the program")] = None
    model: Annotated[str | None, _said("the model that answered")] = None
    provider_id: Annotated[str | None, _said("the provider's own id of the exchange, where logged")] = None
    exchange: Annotated[str | None, _said("what names the exchange in every copy of it, where something does")] = None
    repeated: Annotated[bool, _said("whether another session or file told of this exchange before")] = False
    logged_cost: Annotated[float | None, _said("US dollars, as the log says")] = None
    cost: Annotated[float | None, _said("US dollars by the list prices of that day; none when not known")] = None
    requests: Annotated[str | None, _said("uses of the provider's own tools, as JSON")] = None
    source_offset: Annotated[int | None, _said("where in the file it stands")] = None
    source_length: Annotated[int | None, _said("and how many bytes it is")] = None


class AgentRow(Row, kw_only=True):
    """What says which call spawned which agent: told by the log, or by a call's own prompt."""

    agent: str | None = None
    agent_session: str | None = None
    call_id: str | None = None
    prompt: str | None = None


TABLES: Final[dict[str, type[Row]]] = {
    "sessions": SessionRow,
    "turns": TurnRow,
    "steps": StepRow,
    "calls": CallRow,
    "operations": OperationRow,
    "outcomes": OutcomeRow,
    "usage": UsageRow,
}
"""Every table that can be asked, by its name."""

KEYS: Final = {
    "sessions": ("session", "stream"),
    "turns": ("session", "stream", "turn"),
    "steps": ("session", "stream", "turn", "step"),
    "calls": ("session", "stream", "call"),
}
"""What tells the rows of a table apart within a file. Rows of the others are only ever added."""


def columns_of(kind: type[Row]) -> dict[str, str]:
    """The columns of a table as a query sees them, each with its type in SQL; the tokens come last."""
    hints = get_type_hints(kind)
    names = [name for name in kind.__struct_fields__ if name not in _TOKENS]
    counted = _TOKENS if issubclass(kind, _Counted) else ()
    return {name: _sql_type(hints[name]) for name in (*names, *counted)}


def _sql_type(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not types.NoneType)
    if get_origin(hint) is list:
        return f"{_sql_type(get_args(hint)[0])}[]"
    return _SQL_TYPES[hint]


_TOKENS: Final = (*_KINDS, "tokens")
_SQL_TYPES: Final = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN", datetime.datetime: "TIMESTAMP"}


def tables_page() -> str:
    """The tables and their columns in Markdown: `docs/reference/tables.md`."""
    parts = [_INTRODUCTION]
    for name, kind in TABLES.items():
        hints = get_type_hints(kind, include_extras=True)
        parts.append(f"## {name}\n\n{(kind.__doc__ or '').splitlines()[0]}\n\n| Column | Type | Is |\n|---|---|---|")
        for column, type in columns_of(kind).items():
            said = next(one.description for one in get_args(hints[column]) if isinstance(one, msgspec.Meta))
            parts[-1] += f"\n| `{column}` | {type} | {said} |"
    return "\n\n".join(parts) + "\n"


_INTRODUCTION: Final = f"""# Tables of the history

What `dragoman query SQL` asks, in DuckDB, and `Query.table(name)` gives; `dragoman query --tables` prints this page.

- Every row names the `file` it was read from and its `session` and `stream`: `(session, stream)` joins all tables,
  with `turn`, `step` and `call` where they are.
- `turn` counts within the stream, `step` within the turn, `call` within the stream; all from 0.
- Times are in UTC. What a log does not say is NULL, never 0 or an empty text.
- Texts are cut: what people and models say at {LONGEST} characters, what tools were given and gave at {SHORTER}; JSON
  that was cut is still JSON. The column `…_length` beside has the whole length, and `source_offset` and `source_length`
  say which bytes of `file` hold all of it (NULL where the client keeps it in yet another file).
- Sub-agents have rows of their own, in all tables; `parent_session` and `parent_call` name what spawned them.
- An exchange with a model that several sessions tell of (one that was gone on with under another id), or several files
  of one session, is `repeated` in all but the first: `SELECT sum(tokens) FROM usage WHERE NOT repeated` counts nothing
  twice. A log that is a copy of another (same name, same size, same end) has no rows."""


def failure_of(outcome: Outcome) -> str | None:
    """The kind of failure an outcome is, or `None`: the one place that says what counts as one."""
    if isinstance(outcome, Failure):
        return outcome.kind
    if isinstance(outcome, out.CommandOutcome):
        if outcome.timed_out:
            return "timed_out"
        if outcome.signal is not None or outcome.exit_code not in (0, None):
            return "exit"
    return None


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

    def take(self, event: AnyEvent) -> None:
        """One more event of the file."""
        self.events += 1
        if isinstance(event, Unreadable):
            self.unreadable += 1
        elif isinstance(event, UnknownRecord):
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
        self._early: dict[str, ToolReturned] = {}
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

    def take(self, event: AnyEvent) -> None:
        self._note(event)
        where = self._counter.take(event)
        if where in ("opening", "turn", "step"):
            self._place(event, where)
        taken = _TAKEN.get(type(event))
        if taken is not None:
            taken(self, event)

    def _source(self, event: AnyEvent) -> tuple[int | None, int | None]:
        """Which bytes of the file an event is; where a client keeps a session in several, it may be of another."""
        source = event.source
        return (None, None) if source is None or source.file != self._builder.file else (source.offset, source.length)

    def _agent_started(self, event: AgentStarted) -> None:
        row = AgentRow(**self._key, agent=event.agent, agent_session=event.agent_session, call_id=event.call_id)
        self._builder.spawned(row)

    def _unread(self, event: Unreadable) -> None:
        self._session.unreadable += 1

    def _not_known(self, event: UnknownRecord) -> None:
        self._session.unknown += 1

    # ── the session ────────────────────────────────────────────────────────

    def _note(self, event: AnyEvent) -> None:
        session = self._session
        session.events += 1
        _timed(session, event.time)
        session.client = session.client or event.client
        session.version = event.version or session.version
        if type(event) in _NAMING and (model := event.model) is not None:  # type: ignore[union-attr]
            self._model = model
            if model not in session.models:
                session.models = [*session.models, model]

    def _started(self, event: SessionStarted) -> None:
        session = self._session
        session.cwd = session.cwd or event.cwd
        session.project = session.project or event.project
        session.branch = session.branch or event.branch
        session.parent_session = session.parent_session or event.parent_session
        session.parent_call = session.parent_call or event.parent_call
        session.forked_from = session.forked_from or event.forked_from

    # ── turns and steps ────────────────────────────────────────────────────

    def _place(self, event: AnyEvent, where: str) -> None:
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
        if isinstance(event, UserSaid) and event.by != "client" and self._first_words is None:
            self._first_words = event.text
            digest = digest_of(event.text)
            self._builder.spawned(AgentRow(**self._key, prompt=digest))

    def _opened(self, number: int, event: AnyEvent) -> TurnRow:
        turn = TurnRow(**self._key, turn=number)
        if isinstance(event, UserSaid):
            turn.opened_by, turn.said_by = "user_said", event.by
            turn.text, turn.text_length = _cut(event.text)
            if self._session.title is None:
                self._session.title = title_of(event.text)
        elif isinstance(event, CommandInvoked):
            turn.opened_by, turn.said_by = "command_invoked", "user"
            turn.text, turn.text_length = _cut(" ".join(filter(None, (event.name, event.arguments))))
        elif isinstance(event, ContextCompacted):
            turn.opened_by = "context_compacted"
            if event.summary is not None:
                turn.text, turn.text_length = _cut(event.summary)
        else:
            return turn
        turn.source_offset, turn.source_length = self._source(event)
        return turn

    def _in_step(self, turn: TurnRow, event: AnyEvent) -> None:
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
        if isinstance(event, ModelSaid):
            step.said, step.said_length = _joined(step.said, step.said_length, event.text)
        elif isinstance(event, ModelThought):
            step.thought, step.thought_length = _joined(step.thought, step.thought_length, event.text)
        elif isinstance(event, ModelFinished):
            step.finish = event.finish.value

    # ── calls and what they gave ───────────────────────────────────────────

    def _called(self, event: ToolCalled) -> None:
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

    def _means(self, call: CallRow, number: int, operation: Operation, *, intent: bool) -> None:
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

    def _returned(self, event: ToolReturned) -> None:
        result = event.result
        id = result.call_id
        repeated = id in self._results
        for number, outcome in enumerate(result.outcomes):
            self._gave(event, number, outcome, failure_of(outcome), repeated=repeated)
        if repeated:
            return
        known = self._results[id] = (_failure(event), event.time, _duration(event))
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
        if call.time is not None and call.returned is not None and call.returned >= call.time:
            call.elapsed = (call.returned - call.time).total_seconds()
        if call.failure is not None:
            for counted in (turn, step, self._session):
                counted.failures += 1

    def _gave(self, event: ToolReturned, number: int, outcome: Outcome, failure: str | None, *, repeated: bool) -> None:
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

    def _used(self, event: TokensUsed) -> None:
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
            requests=as_json(event.usage.requests) if event.usage.requests else None,
            source_offset=offset,
            source_length=size,
        )
        row.count(said)
        self._usages += 1
        self._builder.added("usage", row)


_NAMING = frozenset({ModelSaid, ModelThought, TokensUsed, ModelChanged})
_OF_THE_MODEL = frozenset({ModelSaid, ModelThought, ModelFinished, TokensUsed})
_TAKEN: Final[dict[type, Callable[[_Stream, Any], None]]] = {
    SessionStarted: _Stream._started,
    ToolCalled: _Stream._called,
    ToolReturned: _Stream._returned,
    TokensUsed: _Stream._used,
    AgentStarted: _Stream._agent_started,
    Unreadable: _Stream._unread,
    UnknownRecord: _Stream._not_known,
}
"""What is done with an event beside counting it. Looked up by its type: this runs for every event there is."""
_ABOUT = ("command", "pattern", "query", "url", "prompt", "name", "message", "code", "text")


def tag_of(value: Operation | Outcome) -> str:
    """`read_file`, `command_outcome`: the name of a type as JSON has it."""
    return str(type(value).__struct_config__.tag)


def text_of(outcome: Outcome) -> str:
    """What an outcome says, as one text: its message, output or text, else all of it as JSON."""
    if isinstance(outcome, Failure):
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
    """JSON, also of text that has no UTF-8."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(value))
    except RecursionError:  # it was read where less of the stack was in use
        return "null"


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


def exchange_of(event: TokensUsed) -> str | None:
    """What names an exchange in every copy of it: a session that was gone on with may hold it once more."""
    if event.provider_id is None:
        return None
    # The id of an event is session:record:number, and a copy stands in another session.
    record = event.id.split(":", 1)[-1]
    return (
        f"{event.client}:{event.provider_id}:{record}" if "@" not in record else f"{event.client}:{event.provider_id}"
    )


def _failure(event: ToolReturned) -> str | None:
    """How a call failed: as the first of its outcomes that did."""
    return next((one for outcome in event.result.outcomes if (one := failure_of(outcome)) is not None), None)


def _duration(event: ToolReturned) -> float | None:
    result = event.result
    if result.duration is not None:
        return result.duration
    said = [one.duration_ms for one in result.outcomes if isinstance(one, out.CommandOutcome)]
    known = [one for one in said if one is not None]
    return sum(known) / 1000 if known else None


def _counts(usage: Usage) -> list[tuple[str, int]]:
    said = [(name, count) for name in _KINDS if (count := getattr(usage, name)) is not None]
    total = usage.total
    return said if total is None else [*said, ("tokens", total)]


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _timed(row: SessionRow | TurnRow | StepRow, time: datetime.datetime | None) -> None:
    if time is not None:
        row.started = time if row.started is None else min(row.started, time)
        row.ended = time if row.ended is None else max(row.ended, time)


def _cut(text: str, longest: int = LONGEST) -> tuple[str, int]:
    return text[:longest], len(text)


def _joined(before: str | None, length: int, text: str) -> tuple[str, int]:
    """Two things said one after the other; the length is that of both without what joins them."""
    joined = text if before is None else f"{before}\n{text}"
    return joined[:LONGEST], length + len(text)
