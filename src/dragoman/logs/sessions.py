"""Events → sessions: turns and steps, tokens counted once, sub-agents hung under the call that spawned them.

A turn begins with something the user (or the client in their name, or a command) says; a step is one reply of the model
with the tools it called. What a step cannot hold is kept in `other`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.model import (
    AgentStarted,
    AnyEvent,
    ClientNoted,
    CommandInvoked,
    ContextCompacted,
    Event,
    HistoryRewound,
    Interrupted,
    ModelAsked,
    ModelChanged,
    ModelFinished,
    ModelSaid,
    ModelThought,
    Session,
    SessionStarted,
    Step,
    SystemSaid,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    ToolUse,
    Turn,
    UnknownRecord,
    Unreadable,
    Usage,
    UserSaid,
    operations as op,
)


def sessions_of(events: Iterable[AnyEvent]) -> list[Session]:
    """The sessions that events tell of, each with its sub-agents, in the order they began."""
    builders: dict[tuple[str, str], _Builder] = {}
    for event in events:
        key = (event.session or _file(event), event.stream)
        builder = builders.get(key)
        if builder is None:
            builder = builders[key] = _Builder(*key)
        builder.take(event)
    return _tree(list(builders.values()))


def numbered(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The same events, each with the turn and the step it belongs to, both counted from 0 within its stream."""
    builders: dict[tuple[str, str], _Builder] = {}
    for event in events:
        key = (event.session or _file(event), event.stream)
        builder = builders.get(key)
        if builder is None:
            builder = builders[key] = _Builder(*key)
        builder.take(event)
        turn, step = builder.position
        yield event if turn is None else msgspec.structs.replace(event, turn=turn, step=step)


def _file(event: Event) -> str:
    return "" if event.source is None else Path(event.source.file).stem


def _tree(builders: list[_Builder]) -> list[Session]:
    """Sub-agents under the session that spawned them; one whose parent is not here stands by itself."""
    spawned: dict[str, tuple[_Builder, AgentStarted]] = {}
    for builder in builders:
        for started in builder.agents:
            spawned.setdefault(started.agent_session or started.agent, (builder, started))
    children: dict[int, list[_Builder]] = {}
    roots: list[_Builder] = []
    for builder in builders:
        parent, call = _parent(builder, builders, spawned)
        if parent is None or parent is builder or _within(parent, builder, children):
            roots.append(builder)
        else:
            builder.parent_session, builder.parent_call = parent.id, call
            children.setdefault(id(parent), []).append(builder)
    return [_built(builder, children) for builder in roots]


def _within(inner: _Builder, outer: _Builder, children: dict[int, list[_Builder]]) -> bool:
    """Whether one already hangs below the other: then the other cannot hang below it."""
    below = list(children.get(id(outer), ()))
    while below:
        one = below.pop()
        if one is inner:
            return True
        below += children.get(id(one), ())
    return False


def _parent(
    builder: _Builder, builders: list[_Builder], spawned: dict[str, tuple[_Builder, AgentStarted]]
) -> tuple[_Builder | None, str | None]:
    for name in (builder.stream, builder.id):
        found = spawned.get(name)
        if found is not None and found[0] is not builder:
            return found[0], found[1].call_id
    if builder.stream != "main":
        main = next((one for one in builders if one.id == builder.id and one.stream == "main"), None)
        return main, None if main is None else main.call_that_said(builder.first_words)
    if builder.parent_session is not None:
        parent = next((one for one in builders if one.id == builder.parent_session and one.stream == "main"), None)
        return parent, builder.parent_call
    return None, None


def _built(builder: _Builder, children: dict[int, list[_Builder]]) -> Session:
    session = builder.session()
    below = tuple(_built(child, children) for child in children.get(id(builder), ()))
    return msgspec.structs.replace(session, children=below) if below else session


class _Builder:
    """Puts the events of one stream together."""

    def __init__(self, id: str, stream: str) -> None:
        self.id, self.stream = id, stream
        self.parent_session: str | None = None
        self.parent_call: str | None = None
        self.agents: list[AgentStarted] = []
        self._facts: dict[str, Any] = {}
        self._models: dict[str, None] = {}
        self._turns: list[_Turn] = []
        self._results: dict[str, ToolReturned] = {}
        self._unreadable = self._unknown = 0
        self._preface: list[AnyEvent] = []
        self._spawns: list[tuple[str, str]] = []
        self.first_words: str | None = None
        """What the agent was told first."""

    @property
    def position(self) -> tuple[int | None, int | None]:
        """The turn and the step events go to now."""
        if not self._turns:
            return None, None
        return len(self._turns) - 1, self._turns[-1].step

    def call_that_said(self, words: str | None) -> str | None:
        """The call that spawned an agent with these words, where the log names it in no other way."""
        return next((call for call, prompt in self._spawns if words is not None and prompt == words), None)

    def take(self, event: AnyEvent) -> None:
        self._note(event)
        if isinstance(event, UserSaid) and event.by != "client" and self.first_words is None:
            self.first_words = event.text
        if isinstance(event, ToolCalled):
            spawns = [one for one in event.call.operations if isinstance(one, op.SpawnAgent)]
            self._spawns += [(event.call.id, spawn.prompt) for spawn in spawns]
        if isinstance(event, SessionStarted):
            for field in ("cwd", "project", "branch"):
                self._facts[field] = self._facts.get(field) or getattr(event, field)
            self.parent_session = self.parent_session or event.parent_session
            self.parent_call = self.parent_call or event.parent_call
        elif isinstance(event, UserSaid | CommandInvoked | ContextCompacted):
            self._opened(event)
        elif isinstance(event, Unreadable):
            self._unreadable += 1
        elif isinstance(event, UnknownRecord):
            self._unknown += 1
        elif isinstance(event, ClientNoted | ModelAsked | SystemSaid):
            pass
        elif isinstance(event, AgentStarted):
            self.agents.append(event)
            self._turn().take(event)
        elif isinstance(event, HistoryRewound | ModelChanged):
            (self._turns[-1].other if self._turns else self._preface).append(event)
        else:
            if isinstance(event, ToolReturned):
                self._results.setdefault(event.result.call_id, event)
            self._turn().take(event)

    def _note(self, event: AnyEvent) -> None:
        if event.time is not None:
            self._facts["started"] = min(self._facts.get("started") or event.time, event.time)
            self._facts["ended"] = max(self._facts.get("ended") or event.time, event.time)
        if event.client is not None:
            self._facts.setdefault("client", event.client)
        if event.version is not None:
            self._facts["version"] = event.version
        model = getattr(event, "model", None)
        if isinstance(model, str) and isinstance(event, ModelSaid | ModelThought | TokensUsed | ModelChanged):
            self._models.setdefault(model)

    def _opened(self, event: UserSaid | CommandInvoked | ContextCompacted) -> None:
        last = self._turns[-1] if self._turns else None
        if isinstance(event, UserSaid) and event.by == "client" and self.stream == "main":
            # What the client says in the user's name belongs to what is going on, or to what comes first.
            (self._preface if last is None else last.other).append(event)
        elif isinstance(event, UserSaid) and last is not None and last.waits_for_words:
            last.other.append(event)  # what a command was expanded to
        else:
            self._turns.append(_Turn(len(self._turns), event))
            self._turns[-1].other += self._preface
            self._preface.clear()

    def _turn(self) -> _Turn:
        if not self._turns:
            self._turns.append(_Turn(0, None))
            self._turns[-1].other += self._preface
            self._preface.clear()
        return self._turns[-1]

    def session(self) -> Session:
        turns = tuple(turn.built(self._results) for turn in self._turns)
        usage = Usage()
        for turn in turns:
            usage = usage + turn.usage
        first = next((turn.opened_by for turn in turns if isinstance(turn.opened_by, UserSaid)), None)
        return Session(
            self.id,
            client=self._facts.get("client"),
            version=self._facts.get("version"),
            stream=self.stream,
            cwd=self._facts.get("cwd"),
            project=self._facts.get("project") or self._facts.get("cwd"),
            title=None if first is None else _title(first.text),
            models=tuple(self._models),
            started=self._facts.get("started"),
            ended=self._facts.get("ended"),
            parent_session=self.parent_session,
            parent_call=self.parent_call,
            turns=turns,
            usage=usage,
            unreadable=self._unreadable,
            unknown=self._unknown,
        )


class _Turn:
    def __init__(self, index: int, opened_by: UserSaid | CommandInvoked | ContextCompacted | None) -> None:
        self.index, self.opened_by = index, opened_by
        self.other: list[AnyEvent] = []
        self._steps: list[_Step] = []

    @property
    def step(self) -> int | None:
        return len(self._steps) - 1 if self._steps else None

    @property
    def waits_for_words(self) -> bool:
        return isinstance(self.opened_by, CommandInvoked) and not self._steps and not self.other

    def take(self, event: AnyEvent) -> None:
        if isinstance(event, Interrupted):
            self.other.append(event)
            return
        step = self._steps[-1] if self._steps else None
        if step is None or step.closed_to(event):
            step = _Step(len(self._steps))
            self._steps.append(step)
        step.take(event)

    def built(self, results: dict[str, ToolReturned]) -> Turn:
        steps = tuple(step.built(results) for step in self._steps)
        usage = Usage()
        for step in steps:
            usage = usage + step.usage
        return Turn(self.index, self.opened_by, steps, usage, tuple(self.other))


class _Step:
    """One reply: what was said and thought, the calls, and what they gave."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.said: list[ModelSaid] = []
        self.thought: list[ModelThought] = []
        self.called: list[ToolCalled] = []
        self.other: list[AnyEvent] = []
        self.usage = Usage()
        self.ended = self.answered = False

    def closed_to(self, event: AnyEvent) -> bool:
        """Whether an event begins the next reply: the model speaks again after it had ended or was answered."""
        if not isinstance(event, ModelSaid | ModelThought | ToolCalled):
            return False
        return self.ended or (self.answered and not isinstance(event, ToolCalled))

    def take(self, event: AnyEvent) -> None:
        if isinstance(event, ModelSaid):
            self.said.append(event)
        elif isinstance(event, ModelThought):
            self.thought.append(event)
        elif isinstance(event, ToolCalled):
            self.called.append(event)
        elif isinstance(event, ToolReturned):
            self.answered = True
        elif isinstance(event, TokensUsed):
            self.usage = self.usage + event.usage
            self.ended = True  # tokens are counted when a reply is complete
        elif isinstance(event, ModelFinished):
            self.ended = True
        else:
            self.other.append(event)

    def built(self, results: dict[str, ToolReturned]) -> Step:
        tools = tuple(ToolUse(called, results.get(called.call.id)) for called in self.called)
        waiting = any(use.returned is None for use in tools)
        return Step(
            self.index,
            tuple(self.said),
            tuple(self.thought),
            tools,
            self.usage,
            tuple(self.other),
            "in_progress" if waiting else "done",
        )


def _title(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 100 else line[:99] + "…"
