"""What happened: past-tense facts, one type for live runs and for recorded logs.

Rules: every event says where it stands (session, run, stream, turn, step, call, provider ids)
and, when it was read from a file, which bytes it came from. Reading twice gives the same ids.
"""

from __future__ import annotations

import datetime
from typing import Any, Literal

from .base import Value, snake
from .calls import Call, Result
from .conversation import FinishReason, Reply, Usage
from .outcomes import Failure, Media


class Source(Value, frozen=True, gc=False):
    """The original bytes: `length` of them from `offset` of `file`. For a row of a database, `row` names it."""

    file: str
    offset: int
    length: int
    row: str | None = None


class Decision(Value, frozen=True):
    """Why a call was allowed or not: the verdict, who gave it, by which rule."""

    verdict: Literal["allowed", "asked", "denied"]
    by: str | None = None
    rule: str | None = None
    reason: str | None = None
    arguments_digest: str | None = None


class Event(Value, frozen=True, kw_only=True, gc=False, tag_field="kind", tag=snake):
    """The root of all events.

    `stream` is "main" or the agent that the event belongs to; `parent` the event it follows from;
    `provider_id` the provider's own id (response or request) and `client`/`version` the program.
    """

    id: str
    session: str | None = None
    run: str | None = None
    stream: str = "main"
    turn: int | None = None
    step: int | None = None
    call_id: str | None = None
    provider_id: str | None = None
    parent: str | None = None
    time: datetime.datetime | None = None
    client: str | None = None
    version: str | None = None
    source: Source | None = None


class SessionStarted(Event, frozen=True, kw_only=True):
    """A session began, or was opened again (`resumed`), or branched off another (`forked_from`)."""

    cwd: str | None = None
    project: str | None = None
    branch: str | None = None
    model: str | None = None
    dialect: str | None = None
    parent_session: str | None = None
    parent_call: str | None = None
    resumed: bool = False
    forked_from: str | None = None
    metadata: dict[str, Any] = {}


class SessionEnded(Event, frozen=True, kw_only=True):
    """A session or run ended; `reason` says how."""

    reason: Literal["completed", "failed", "cancelled", "limited", "interrupted", "unknown"] = "unknown"
    message: str | None = None


class ModelChanged(Event, frozen=True, kw_only=True):
    """From here on another model, or another setting of it, answers."""

    model: str | None = None
    settings: dict[str, Any] = {}


class UserSaid(Event, frozen=True, kw_only=True):
    """A person said something; `by="client"` when the client said it in their name."""

    text: str
    media: tuple[Media, ...] = ()
    by: Literal["user", "client", "agent"] = "user"


class SystemSaid(Event, frozen=True, kw_only=True):
    """Instructions for the model."""

    text: str


class ModelAsked(Event, frozen=True, kw_only=True):
    """The model was asked for its next reply; `offered` are the names of the tools it may call.

    `streamed`: its reply comes in pieces; `json`: it is to be JSON; `seed` is the one that was sent.
    """

    model: str | None = None
    offered: tuple[str, ...] = ()
    streamed: bool = False
    json: bool = False
    seed: int | None = None


class ModelSaid(Event, frozen=True, kw_only=True):
    """The model said something."""

    text: str
    model: str | None = None
    media: tuple[Media, ...] = ()
    refused: bool = False


class ModelThought(Event, frozen=True, kw_only=True):
    """The model thought something; `hidden` when we cannot read it."""

    text: str
    model: str | None = None
    hidden: bool = False


class ModelFinished(Event, frozen=True, kw_only=True):
    """The model's reply was complete. `reply` is the whole of it, in a recording a run is to go on from."""

    finish: FinishReason
    model: str | None = None
    reply: Reply | None = None


class ToolCalled(Event, frozen=True, kw_only=True):
    """A tool was called; `by="client"` when the client made the call up itself."""

    call: Call
    decision: Decision | None = None
    by: Literal["model", "client", "program"] = "model"


class ToolProgressed(Event, frozen=True, kw_only=True):
    """A running tool reported its progress."""

    message: str
    fraction: float | None = None


class ToolReturned(Event, frozen=True, kw_only=True):
    """A tool gave its result."""

    result: Result


class TokensUsed(Event, frozen=True, kw_only=True):
    """Tokens were used, counted once.

    `earlier_output` is set where they are of several exchanges, of which a client logs only the sum: as many of their
    output tokens were told before, one reply at a time, and are not in `usage`. What the sum costs includes them.
    """

    usage: Usage
    model: str | None = None
    cost: float | None = None
    earlier_output: int | None = None


class ContextCompacted(Event, frozen=True, kw_only=True):
    """The conversation was shortened: `summary` stands for what went before, or the first `removed` results of calls
    were taken out (short ones among them stayed)."""

    summary: str | None = None
    removed: int | None = None
    trigger: Literal["manual", "auto"] | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None

    @property
    def description(self) -> str:
        """What was done, in one line for people: the summary itself is not in it."""
        if self.removed:
            how = f": {self.removed} old result{'s' * (self.removed != 1)} removed"
        else:
            how = "" if self.summary is None else ": a summary replaces the conversation"
        known = self.tokens_before is not None and self.tokens_after is not None
        sizes = f" (about {self.tokens_before:,} tokens before, {self.tokens_after:,} after)" if known else ""
        return f"Context compacted{how}{sizes}"


class HistoryRewound(Event, frozen=True, kw_only=True):
    """What was said after event `to` no longer counts."""

    to: str | None = None


class CommandInvoked(Event, frozen=True, kw_only=True):
    """The user gave the client a command of its own (`/compact`)."""

    name: str
    arguments: str | None = None


class AgentStarted(Event, frozen=True, kw_only=True):
    """Another agent began in stream `agent`, spawned by call `call_id`."""

    agent: str
    name: str | None = None
    prompt: str | None = None
    agent_session: str | None = None


class AgentEnded(Event, frozen=True, kw_only=True):
    """Another agent ended."""

    agent: str
    status: Literal["completed", "failed", "cancelled", "limited", "unknown"] = "unknown"
    text: str | None = None


class Interrupted(Event, frozen=True, kw_only=True):
    """The user stopped what was going on."""

    text: str | None = None


class ErrorOccurred(Event, frozen=True, kw_only=True):
    """A provider, the network or the client failed; `retried` when it was tried again without the user."""

    message: str
    status: int | None = None
    code: str | None = None
    retried: bool = False
    failure: Failure | None = None


class ClientNoted(Event, frozen=True, kw_only=True):
    """A record of the client's own book-keeping, known and without shared meaning."""

    name: str
    data: dict[str, Any] = {}


class UnknownRecord(Event, frozen=True, kw_only=True):
    """A well-formed record of a kind we do not know."""

    name: str | None = None


class Unreadable(Event, frozen=True, kw_only=True):
    """Bytes that are no record; `source` points at them."""

    reason: str


AnyEvent = (
    SessionStarted
    | SessionEnded
    | ModelChanged
    | UserSaid
    | SystemSaid
    | ModelAsked
    | ModelSaid
    | ModelThought
    | ModelFinished
    | ToolCalled
    | ToolProgressed
    | ToolReturned
    | TokensUsed
    | ContextCompacted
    | HistoryRewound
    | CommandInvoked
    | AgentStarted
    | AgentEnded
    | Interrupted
    | ErrorOccurred
    | ClientNoted
    | UnknownRecord
    | Unreadable
)


# ── events put together ──────────────────────────────────────────────────────


class ToolUse(Value, frozen=True):
    """A call and its result, if it got one."""

    called: ToolCalled
    returned: ToolReturned | None = None


class Step(Value, frozen=True):
    """One reply of the model and the tools it called."""

    index: int
    said: tuple[ModelSaid, ...] = ()
    thought: tuple[ModelThought, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = Usage()
    other: tuple[AnyEvent, ...] = ()
    status: Literal["done", "in_progress", "failed"] = "done"


class Turn(Value, frozen=True):
    """Something the user said and the steps it took to answer."""

    index: int
    opened_by: UserSaid | CommandInvoked | ContextCompacted | None = None
    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    other: tuple[AnyEvent, ...] = ()


class Session(Value, frozen=True):
    """A whole conversation of one agent; `children` are the agents it spawned."""

    id: str
    client: str | None = None
    version: str | None = None
    stream: str = "main"
    cwd: str | None = None
    project: str | None = None
    title: str | None = None
    models: tuple[str, ...] = ()
    started: datetime.datetime | None = None
    ended: datetime.datetime | None = None
    parent_session: str | None = None
    parent_call: str | None = None
    turns: tuple[Turn, ...] = ()
    children: tuple[Session, ...] = ()
    usage: Usage = Usage()
    unreadable: int = 0
    unknown: int = 0
