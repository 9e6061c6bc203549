"""Events → sessions: turns and steps, tokens counted once, sub-agents hung under the call that spawned them.

A turn begins with something the user (or the client in their name, or a command) says; a step is one reply of the model
with the tools it called. What a step cannot hold is kept in `other`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from dragoman.logs.base.format import Storable
from dragoman.logs.base.normalise import read_again
from dragoman.model import ExecutedBy, Usage, events as ev, operations as op


def sessions_of(events: Iterable[ev.AnyEvent]) -> list[ev.Session]:
    """The sessions of these events, each with its sub-agents, in the order of their start."""
    builders: dict[tuple[str, str], _Builder] = {}
    for event in events:
        key = key_of(event)
        builder = builders.get(key)
        if builder is None:
            builder = builders[key] = _Builder(*key)
        builder.take(event)
    return _tree(list(builders.values()))


def numbered(
    events: Iterable[ev.AnyEvent], counters: dict[tuple[str, str], Counter] | None = None
) -> Iterator[ev.AnyEvent]:
    """The same events, each with the turn and the step it belongs to, both counted from 0 within its stream.

    `counters` holds the counts between calls, for events that arrive in portions.
    """
    counters = {} if counters is None else counters
    for event in events:
        key = key_of(event)
        counter = counters.get(key)
        if counter is None:
            counter = counters[key] = Counter(key[1])
        counter.take(event)
        yield event if counter.turn is None else msgspec.structs.replace(event, turn=counter.turn, step=counter.step)


def key_of(event: ev.Event) -> tuple[str, str]:
    """The session and stream of an event; one without a session belongs to that of the file's name."""
    return event.session or _file(event), event.stream


def _file(event: ev.Event) -> str:
    return "" if event.source is None else Path(event.source.file).stem


def _tree(builders: list[_Builder]) -> list[ev.Session]:
    """Sub-agents under the session that spawned them; one whose parent is not here stands by itself."""
    children: dict[int, list[_Builder]] = {}
    roots: list[_Builder] = []
    for builder, (parent, call) in zip(builders, parents_of(builders), strict=True):
        if parent is None:
            roots.append(builder)
        else:
            builder.parent_session, builder.parent_call = parent.id, call
            children.setdefault(id(parent), []).append(builder)
    return [_built(builder, children) for builder in roots]


class Kin(Protocol):
    """What is known of one agent's conversation when its place among the others is looked for."""

    id: str
    stream: str
    parent_session: str | None
    parent_call: str | None

    @property
    def started_agents(self) -> Iterable[tuple[str, str | None]]:
        """The agents it started: each by its name, with the call that did it."""

    def calls_that_said(self, words: str | None) -> Sequence[str]:
        """The calls that spawned agents with these words, in order, for logs that name them in no other way."""

    @property
    def first_words(self) -> str | None:
        """What the agent was told first."""


Relative = TypeVar("Relative", bound=Kin)


def parents_of(kin: Sequence[Relative]) -> list[tuple[Relative | None, str | None]]:
    """For each the one that spawned it and the call that did, where it is among them; nobody is their own ancestor."""
    spawned: dict[str | tuple[str, str], tuple[Relative, str | None]] = {}
    mains: dict[str, Relative] = {}
    taken: set[tuple[str, str | None]] = set()
    """Calls whose agent is known, each with its session."""
    for one in kin:
        if one.stream == "main":
            mains.setdefault(one.id, one)
        else:
            taken.add((one.id, one.parent_call))
        for agent, call in one.started_agents:
            if agent == "main":  # of every session, that is the session itself
                continue
            spawned.setdefault((one.id, agent), (one, call))
            spawned.setdefault(agent, (one, call))
            taken.add((one.id, call))
    above: dict[int, Relative] = {}
    found: list[tuple[Relative | None, str | None]] = []
    for one in kin:
        parent, call = _parent(one, mains, spawned, taken)
        if parent is None or _is_at_or_below(parent, one, above):
            found.append((None, None))
        else:
            above[id(one)] = parent
            found.append((parent, call))
    return found


def _is_at_or_below(one: Relative, other: Relative, above: dict[int, Relative]) -> bool:
    """Whether one is the other or already hangs below it: then the other cannot hang below it."""
    at: Relative | None = one
    while at is not None:
        if at is other:
            return True
        at = above.get(id(at))
    return False


def _parent(
    one: Relative,
    mains: dict[str, Relative],
    spawned: dict[str | tuple[str, str], tuple[Relative, str | None]],
    taken: set[tuple[str, str | None]],
) -> tuple[Relative | None, str | None]:
    for name in ((one.id, one.stream), one.stream, one.id):
        found = spawned.get(name)
        if found is not None and found[0] is not one:
            return found
    if one.stream != "main":
        # What spawned it may be a run that a call began; then it is known by the run's name.
        found = None if one.parent_call is None else spawned.get((one.id, one.parent_call))
        if found is not None and found[0] is not one:
            return found
        if one.parent_session is not None and one.parent_call is not None:
            return mains.get(one.parent_session), one.parent_call
        main = mains.get(one.id)
        calls = () if main is None else main.calls_that_said(one.first_words)
        # Several may have been told the same: then they are those calls' in their order.
        call = next((call for call in calls if (one.id, call) not in taken), calls[0] if calls else None)
        taken.add((one.id, call))
        return main, call
    if one.parent_session is not None:
        return mains.get(one.parent_session), one.parent_call
    return None, None


def _built(builder: _Builder, children: dict[int, list[_Builder]]) -> ev.Session:
    session = builder.session()
    below = tuple(_built(child, children) for child in children.get(id(builder), ()))
    return msgspec.structs.replace(session, children=below) if below else session


Where = Literal["nowhere", "before", "opening", "turn", "step"]
"""Where in its stream an event stands: in no turn, before the first one, opening one, in one, or in a step of it."""

_NOWHERE = frozenset({ev.SessionStarted, ev.Unreadable, ev.UnknownRecord, ev.ClientNoted, ev.ModelAsked, ev.SystemSaid})
_OPENING = frozenset({ev.UserSaid, ev.CommandInvoked, ev.ContextCompacted})
_BESIDE = frozenset({ev.HistoryRewound, ev.ModelChanged})
_REPLYING = frozenset({ev.ModelSaid, ev.ModelThought, ev.ToolCalled})
_ENDING = frozenset({ev.TokensUsed, ev.ModelFinished})


_LOCAL_COMMAND = "local-command"
"""What a client notes that did a command by itself: whatever is said next is not what the command was expanded to."""


class Counter(Storable):
    """Counts the turns and steps of one stream. It keeps no event, so it may stand for a stream of any length."""

    def __init__(self, stream: str) -> None:
        self._main = stream == "main"
        self.turn: int | None = None
        self.step: int | None = None
        self._is_prefaced = False
        self._waits_for_words = False
        """Whether the turn is a command's, and nothing followed yet: the next words are what it was expanded to."""
        self._ended = self._answered = False

    def take(self, event: ev.AnyEvent) -> Where:
        """Where the next event stands; `turn` and `step` say which."""
        kind = type(event)
        if kind in _NOWHERE:
            if self._waits_for_words and isinstance(event, ev.ClientNoted) and event.name == _LOCAL_COMMAND:
                self._waits_for_words = False
            return "nowhere"
        if kind in _OPENING:
            return self._said(event)
        if kind in _BESIDE:
            return self._beside()
        if self.turn is None:
            self._open()
        if kind is ev.Interrupted:
            return self._beside()
        self._waits_for_words = False
        if self.step is None:
            self.step, self._ended, self._answered = 0, False, False
        elif kind in _REPLYING and (self._ended or (self._answered and kind is not ev.ToolCalled)):
            # The model speaks again after it had ended or was answered: the next reply begins.
            self.step, self._ended, self._answered = self.step + 1, False, False
        if kind is ev.ToolReturned:
            self._answered = True
        elif kind in _ENDING:
            self._ended = True  # tokens are counted when a reply is complete
        return "step"

    def _said(self, event: ev.AnyEvent) -> Where:
        if isinstance(event, ev.UserSaid) and event.by == "client" and (self._main or self.turn is not None):
            # What the client says in the user's name belongs to what is going on, or to what comes first.
            return self._beside()
        if isinstance(event, ev.UserSaid) and self._waits_for_words:
            return self._beside()
        self._open()
        self._waits_for_words = isinstance(event, ev.CommandInvoked) and not self._is_prefaced
        self._is_prefaced = False
        return "opening"

    def _open(self) -> None:
        self.turn = 0 if self.turn is None else self.turn + 1
        self.step = None
        self._waits_for_words = False

    def _beside(self) -> Where:
        self._waits_for_words = False
        if self.turn is None:
            self._is_prefaced = True
            return "before"
        return "turn"


class Relations:
    """What the events of one stream say of the agents it started, and of what started it."""

    def __init__(self, id: str, stream: str) -> None:
        self.id, self.stream = id, stream
        self.parent_session: str | None = None
        self.parent_call: str | None = None
        self.started_agents: list[tuple[str, str | None]] = []
        self.spawns: list[tuple[str, str]] = []
        self.first_words: str | None = None
        """What the agent was told first."""

    def calls_that_said(self, words: str | None) -> Sequence[str]:
        """The calls that spawned agents with these words, in order, for logs that name them in no other way."""
        return [call for call, prompt in self.spawns if words is not None and prompt == words]

    def learn(self, event: ev.AnyEvent) -> None:
        """Takes the next event of the stream."""
        if isinstance(event, ev.UserSaid):
            if event.by != "client" and self.first_words is None:
                self.first_words = event.text
        elif isinstance(event, ev.ToolCalled):
            for one in event.call.operations:
                if isinstance(one, op.SpawnAgent):
                    self.spawns.append((event.call.id, one.prompt))
        elif isinstance(event, ev.SessionStarted):
            self.parent_session = self.parent_session or event.parent_session
            self.parent_call = self.parent_call or event.parent_call
        elif isinstance(event, ev.AgentStarted):
            self.started_agents.append((event.agent_session or event.agent, event.call_id))


class _Builder(Relations):
    """Puts the events of one stream together."""

    def __init__(self, id: str, stream: str) -> None:
        super().__init__(id, stream)
        self._facts: dict[str, Any] = {}
        self._models: dict[str, None] = {}
        self._counter = Counter(stream)
        self._turns: list[_Turn] = []
        self._results = _Results()
        self._unreadable = self._unknown = 0
        self._preface: list[ev.AnyEvent] = []

    def take(self, event: ev.AnyEvent) -> None:
        self._note(event)
        self.learn(event)
        if isinstance(event, ev.ToolCalled):
            self._results.expect(event)
        elif isinstance(event, ev.SessionStarted):
            for field in ("cwd", "project", "branch"):
                self._facts[field] = self._facts.get(field) or getattr(event, field)
        elif isinstance(event, ev.Unreadable):
            self._unreadable += 1
        elif isinstance(event, ev.UnknownRecord):
            self._unknown += 1
        elif isinstance(event, ev.ToolReturned):
            self._results.take(event)
        self._put(event)

    def _put(self, event: ev.AnyEvent) -> None:
        where = self._counter.take(event)
        if where == "nowhere":
            return
        if where == "before":
            self._preface.append(event)
            return
        if self._counter.turn == len(self._turns):
            opened = event if isinstance(event, ev.UserSaid | ev.CommandInvoked | ev.ContextCompacted) else None
            self._turns.append(_Turn(len(self._turns), opened))
            self._turns[-1].other += self._preface
            self._preface.clear()
        if where == "turn":
            self._turns[-1].other.append(event)
        elif where == "step":
            self._turns[-1].take(event, self._counter.step or 0)

    def _note(self, event: ev.AnyEvent) -> None:
        if event.time is not None:
            self._facts["started"] = min(self._facts.get("started") or event.time, event.time)
            self._facts["ended"] = max(self._facts.get("ended") or event.time, event.time)
        if event.client is not None:
            self._facts.setdefault("client", event.client)
        if event.version is not None:
            self._facts["version"] = event.version
        model = getattr(event, "model", None)
        if isinstance(model, str) and isinstance(
            event, ev.ModelSaid | ev.ModelThought | ev.TokensUsed | ev.ModelChanged
        ):
            self._models.setdefault(model)

    def session(self) -> ev.Session:
        self._results.begin()
        turns = tuple(turn.built(self._results) for turn in self._turns)
        usage = Usage()
        for turn in turns:
            usage = usage + turn.usage
        first = next((turn.opened_by for turn in turns if isinstance(turn.opened_by, ev.UserSaid)), None)
        return ev.Session(
            self.id,
            client=self._facts.get("client"),
            version=self._facts.get("version"),
            stream=self.stream,
            cwd=self._facts.get("cwd"),
            project=self._facts.get("project") or self._facts.get("cwd"),
            title=None if first is None else title_of(first.text),
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


class _Results:
    """What calls gave, by id. Some providers number the calls of each reply anew: then each has its own result."""

    def __init__(self) -> None:
        self._given: dict[str, list[ev.ToolReturned]] = {}
        self._asked: dict[str, int] = {}
        self._called: set[str] = set()
        self._early: set[str] = set()
        """Results that stood before their calls, by the ids of their events."""

    def take(self, event: ev.ToolReturned) -> None:
        id = event.result.call_id
        self._given.setdefault(id, []).append(event)
        if id not in self._called:
            self._early.add(event.id)

    def expect(self, event: ev.ToolCalled) -> None:
        """A call that was told: what comes for it from here on was read with it."""
        self._called.add(event.call.id)

    def begin(self) -> None:
        """From here on it is asked for each call once, in their order."""
        self._asked.clear()

    def of(self, called: ev.ToolCalled) -> ev.ToolReturned | None:
        """The result of the next call that has this id."""
        id = called.call.id
        number = self._asked[id] = self._asked.get(id, -1) + 1
        given = self._given.get(id)
        if not given:
            return None
        event = given[min(number, len(given) - 1)]
        return read_again(event, called) if event.id in self._early else event


class _Turn:
    def __init__(self, index: int, opened_by: ev.UserSaid | ev.CommandInvoked | ev.ContextCompacted | None) -> None:
        self.index, self.opened_by = index, opened_by
        self.other: list[ev.AnyEvent] = []
        self._steps: list[_Step] = []

    def take(self, event: ev.AnyEvent, step: int) -> None:
        if step == len(self._steps):
            self._steps.append(_Step(step))
        self._steps[step].take(event)

    def built(self, results: _Results) -> ev.Turn:
        steps = tuple(step.built(results) for step in self._steps)
        usage = Usage()
        for step in steps:
            usage = usage + step.usage
        return ev.Turn(self.index, self.opened_by, steps, usage, tuple(self.other))


class _Step:
    """One reply: what was said and thought, the calls, and what they gave."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.said: list[ev.ModelSaid] = []
        self.thought: list[ev.ModelThought] = []
        self.called: list[ev.ToolCalled] = []
        self.other: list[ev.AnyEvent] = []
        self.usage = Usage()

    def take(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.ModelSaid):
            self.said.append(event)
        elif isinstance(event, ev.ModelThought):
            self.thought.append(event)
        elif isinstance(event, ev.ToolCalled):
            self.called.append(event)
        elif isinstance(event, ev.TokensUsed):
            self.usage = self.usage + event.usage
        elif not isinstance(event, ev.ToolReturned | ev.ModelFinished):
            self.other.append(event)

    def built(self, results: _Results) -> ev.Step:
        tools = tuple(ev.ToolUse(called, results.of(called)) for called in self.called)
        # What a provider runs itself may give its result to the model alone.
        ours = (use for use in tools if use.called.call.native.executed_by is not ExecutedBy.PROVIDER)
        waiting = any(use.returned is None for use in ours)
        return ev.Step(
            self.index,
            tuple(self.said),
            tuple(self.thought),
            tools,
            self.usage,
            tuple(self.other),
            "in_progress" if waiting else "done",
        )


def title_of(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 100 else line[:99] + "…"
