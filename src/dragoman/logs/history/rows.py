"""The tables of the history: the rows of each, and the page that lists their columns.

Rule: the structs are the columns, in the order a query sees them; `docs/reference/tables.md` is printed from them.
"""

from __future__ import annotations

import datetime
import types
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

Time = datetime.datetime


LONGEST: Final = 4_000
"""How many characters of what people and models say a table holds."""


SHORTER: Final = 1_000
"""How many of what tools were given and gave, which is most of every log."""


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
    doubtful: Annotated[int, _said("exchanges whose output was logged before the reply was complete: too low")] = 0

    def count(self, said: list[tuple[str, int]]) -> None:
        """Adds what was said of one exchange."""
        for name, tokens in said:
            setattr(self, name, (getattr(self, name) or 0) + tokens)


KINDS = (
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
    user: Annotated[str | None, _said("whose it is, in a corpus that was built with users")] = None
    team: Annotated[str | None, _said("the team of that user, in a corpus that was built with teams")] = None
    machine: Annotated[str | None, _said("the machine its log was on, in a corpus")] = None
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
    rule: Annotated[str | None, _said("the rule it was by, in words")] = None
    model: Annotated[str | None, _said("the model that called")] = None
    time: Annotated[Time | None, _said("when it was called (UTC)")] = None
    returned: Annotated[Time | None, _said("when its result was logged (UTC)")] = None
    duration: Annotated[float | None, _said("how long it ran in seconds, as the log says")] = None
    elapsed: Annotated[
        float | None, _said("seconds between call and result, by their times; none where a person was asked in between")
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
    repeated: Annotated[bool, _said("whether the log held this call's result before")] = False
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
    repeated: Annotated[bool, _said("whether another session or file held this exchange before")] = False
    logged_cost: Annotated[float | None, _said("US dollars, as the log says")] = None
    earlier_output: Annotated[
        int | None, _said("of a sum of several exchanges: their output tokens in rows before, which its cost includes")
    ] = None
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


_TOKENS: Final = (*KINDS, "tokens")


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
- An exchange with a model that several sessions tell of (one that was continued under another id), or several files
  of one session, is `repeated` in all but the first: `SELECT sum(tokens) FROM usage WHERE NOT repeated` counts nothing
  twice. A log that is a copy of another (all of it is the beginning of a log of the same session, in any folder, under
  any name, compressed or not) has no rows."""
