"""A session as people read it, before it is written in any notation: who said and did what, and what came of it."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from math import fsum
from typing import Any, Literal

import msgspec

from dragoman import config
from dragoman.client_names import client_name
from dragoman.logs.history.costs import Costs
from dragoman.logs.history.sessions import key_of, sessions_of
from dragoman.logs.history.tables import as_json, failure_of, logged_duration, waits_for_a_person as waits_for_a_person
from dragoman.logs.history.usage import usage_row
from dragoman.model import Call, Usage, events as ev, operations as op, outcomes as out

from .blocks import Block, about, media_blocks, outcome_blocks, pretty, said_blocks
from .chosen import Chosen, LeftOut
from .rich_text import visible as visible


class Said(msgspec.Struct):
    """One thing that was said, thought, called or noted."""

    kind: Literal["user", "system", "model", "thought", "call", "note", "error", "usage"]
    title: str
    blocks: list[Block]
    time: str | None = None
    event: str = ""
    """The id of the event: the same whenever the log is read."""
    failed: bool = False
    result: str | None = None
    """How a call ended, in a word; `None` for what is no call."""
    seconds: float | None = None
    """How long a call took, without the time that a person took to answer."""
    operations: tuple[op.Operation, ...] = ()
    """What a call means."""
    agents: list[Conversation] = []
    """The agents this call started."""


class Part(msgspec.Struct):
    """What belongs to one turn; `number` is `None` before the first."""

    number: int | None
    said: list[Said]


class TurnLine(msgspec.Struct):
    """A turn in a list of them."""

    number: int | None
    place: int
    """The first of its entries, by how many come before it."""
    words: str = ""
    """What opened it, in a line."""
    failed: int = 0


class Conversation(msgspec.Struct):
    """One agent's conversation: all of it, or a window of a long one."""

    id: str
    title: str
    facts: list[tuple[str, str]]
    parts: list[Part]
    agents: list[Conversation]
    """Agents of which nobody knows the call that started them."""
    stream: str = "main"
    turns: list[TurnLine] | None = None
    """All turns of one of which `parts` is only a window."""
    unread: int = 0
    """Events of one that is only named, since it is too long to stand in its call."""

    @staticmethod
    def only_named(id: str, stream: str, events: int) -> Conversation:
        """An agent that is too long to stand inside its call."""
        return Conversation(id, f"Agent {stream}", [], [], [], stream, unread=events)

    def turn_lines(self) -> list[TurnLine]:
        """All turns."""
        if self.turns is not None:
            return self.turns
        lines: list[TurnLine] = []
        place = 0
        for part in self.parts:
            title = next((said for said in part.said if said.kind == "user"), None)
            words = "" if title is None else title_of_said(title)
            lines.append(TurnLine(part.number, place, words, sum(said.failed for said in part.said)))
            place += len(part.said)
        return lines

    def window(self, begin: int, size: int) -> Conversation:
        """The same with some of its entries alone."""
        parts: list[Part] = []
        place, total = 0, sum(len(part.said) for part in self.parts)
        for part in self.parts:
            said = part.said[max(0, begin - place) : max(0, begin + size - place)]
            if said:
                parts.append(Part(part.number, said))
            place += len(part.said)
        agents = self.agents if begin + size >= total else []
        return msgspec.structs.replace(self, parts=parts, agents=agents, turns=self.turn_lines())


def title_of_said(said: Said) -> str:
    """What was said in one short line."""
    text = next((block.text for block in said.blocks if block.kind in ("words", "markdown")), said.title)
    line = " ".join(text[:400].split())
    return line if len(line) <= 90 else line[:89] + "…"


def conversations_of(chosen: Chosen) -> list[Conversation]:
    """The conversations of what was chosen, agents with the call that started them."""
    records = list(chosen.records())
    streams: dict[tuple[str, str], list[tuple[ev.AnyEvent, Any]]] = {}
    for event, raw in records:
        streams.setdefault(key_of(event), []).append((event, raw))
    spending = Spending()
    left_out = chosen.left_out
    found = sessions_of(event for event, _ in records)
    return [_conversation(session, streams, spending, left_out) for session in found]


class Spending:
    """What exchanges with models cost, by the prices of their day and the user's own."""

    def __init__(self) -> None:
        self._costs = Costs(config.current().settings.prices)

    def of(self, event: ev.TokensUsed) -> float | None:
        """US dollars; `None` where the price is not known."""
        return self._costs.of(usage_row(event, ""))

    def why_unknown(self, event: ev.TokensUsed) -> str:
        """Why the price is not known."""
        return self._costs.why_unknown(usage_row(event, ""))

    def total(self, events: Iterable[ev.AnyEvent]) -> tuple[float | None, int]:
        """The dollars of the exchanges whose price is known, and how many there are whose price is not."""
        found = [self.of(event) for event in events if isinstance(event, ev.TokensUsed)]
        known = [cost for cost in found if cost is not None]
        return (fsum(known) if known else None), len(found) - len(known)


def _conversation(
    session: ev.Session,
    streams: dict[tuple[str, str], list[tuple[ev.AnyEvent, Any]]],
    spending: Spending,
    left_out: Mapping[tuple[str, str], LeftOut],
) -> Conversation:
    children = [(child.parent_call, _conversation(child, streams, spending, left_out)) for child in session.children]
    records = streams.get((session.id, session.stream), [])
    told = Teller(children, spending).parts(records)
    placed = {id(agent) for part in told for said in part.said for agent in said.agents}
    title = session.title or (f"Session {session.id}" if session.stream == "main" else f"Agent {session.stream}")
    beside = [agent for _, agent in children if id(agent) not in placed]
    cost = spending.total(event for one in _family(session) for event, _ in streams.get(one, []))
    facts = _facts(session, *cost, left_out.get((session.id, session.stream), LeftOut()))
    return Conversation(session.id, title, list(facts), told, beside, session.stream)


def _family(session: ev.Session) -> Iterator[tuple[str, str]]:
    yield session.id, session.stream
    for child in session.children:
        yield from _family(child)


def _used_by(session: ev.Session) -> Usage:
    """The tokens of a session and its agents: what its cost is of."""
    usage = session.usage
    for child in session.children:
        usage = usage + _used_by(child)
    return usage


def dollars(cost: float) -> str:
    """An amount of money as people read it: `$1.23`, `$0.0042`."""
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def duration(seconds: float) -> str:
    """A length of time as people read it: `40 ms`, `1.2 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 0.995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    hours, minutes = divmod(whole // 60, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _facts(session: ev.Session, cost: float | None, unpriced: int, left_out: LeftOut) -> Iterator[tuple[str, str]]:
    began = min(filter(None, (session.started, left_out.began)), default=None)
    ended = max(filter(None, (session.ended, left_out.ended)), default=None)
    lasted = None if began is None or ended is None else ended - began
    unknown = f"{unpriced} exchange{'s' if unpriced != 1 else ''} of unknown price" if unpriced else ""
    usage, count = _used_by(session), len(session.children)
    agents = f" with {count:,} agent{'s' if count != 1 else ''}" if count else ""
    known_cost = "" if cost is None else f"{dollars(cost)}{_doubt(usage)}"
    program = " ".join(one for one in (session.client and client_name(session.client), session.version) if one)
    known = {
        "session": session.id,
        "agent": None if session.stream == "main" else session.stream,
        "client": program,
        "model": ", ".join(session.models),
        "folder": session.cwd,
        "started": None if began is None else _moment(began),
        "ended": None if ended is None else _moment(ended),
        "duration": duration(lasted.total_seconds()) if lasted else None,
        "tokens": None if usage.total is None else f"{usage.total:,}{agents}{_doubt(usage)}",
        "cost": " and ".join(filter(None, (known_cost, unknown))),
    }
    yield from ((name, value) for name, value in known.items() if value)
    unreadable, unknown_records = session.unreadable + left_out.unreadable, session.unknown + left_out.unknown
    if unreadable or unknown_records:
        yield "not understood", f"{unreadable:,} unreadable, {unknown_records:,} unknown records"


def _moment(time: datetime.datetime) -> str:
    return str(time.isoformat(sep=" ", timespec="seconds")).replace("+00:00", " UTC")


class Teller:
    """Tells the events of one stream in their order, results with their calls."""

    def __init__(self, children: list[tuple[str | None, Conversation]], spending: Spending) -> None:
        self._children, self._spending = children, spending
        self._seen: set[ev.Source] = set()

    def parts(self, records: list[tuple[ev.AnyEvent, Any]]) -> list[Part]:
        """All of them. Where several calls have one id, each has its own result, in their order."""
        given: dict[str, deque[tuple[ev.ToolReturned, Any]]] = {}
        for event, raw in records:
            if isinstance(event, ev.ToolReturned):
                given.setdefault(event.result.call_id, deque()).append((event, raw))
        results: dict[int, tuple[ev.ToolReturned, Any]] = {}
        for event, _ in records:
            if isinstance(event, ev.ToolCalled) and (waiting := given.get(event.call.id)):
                results[id(event)] = waiting.popleft()
        answers = {id(result) for result, _ in results.values()}
        told = ((event, raw, results.get(id(event))) for event, raw in records if id(event) not in answers)
        return self.parts_of(told)

    def parts_of(self, entries: Iterable[tuple[ev.AnyEvent, Any, tuple[ev.ToolReturned, Any] | None]]) -> list[Part]:
        """Events, each with its original and, where it is a call, its result."""
        parts: list[Part] = []
        for event, raw, result in entries:
            said = self.entry(event, raw, result)
            if said is None:
                continue
            if not parts or begins_part(event, parts[-1].number):
                parts.append(Part(event.turn, []))
            parts[-1].said.append(said)
        return parts

    def entry(self, event: ev.AnyEvent, raw: Any, result: tuple[ev.ToolReturned, Any] | None) -> Said | None:
        """One of them; `None` where it says nothing to people."""
        if isinstance(event, ev.ToolCalled):
            said: Said | None = self._call(event, result)
        elif isinstance(event, ev.TokensUsed):
            said = self._used(event)
        else:
            said = _told(event)
        raws = [(event, raw)] if result is None else [(event, raw), result]
        originals = [block for one in raws for block in self._original(*one)]
        if said is None and not originals:
            return None
        said = said or Said("note", tag(event), [])
        said.blocks = [*said.blocks, *originals]
        said.time = None if event.time is None else _moment(event.time)
        said.event = event.id
        return said

    def _used(self, event: ev.TokensUsed) -> Said | None:
        total, cost = event.usage.total, self._spending.of(event)
        if total is None and cost is None:
            return None
        cached = event.usage.cached_read_tokens
        facts = [
            "" if total is None else f"{total:,} tokens{_doubt(event.usage)}",
            f"{cached:,} of them from a cache" if cached else "",
            dollars(cost) if cost is not None else f"price not known: {self._spending.why_unknown(event)}",
            event.model or "",
        ]
        return Said("usage", " · ".join(fact for fact in facts if fact), [])

    def _original(self, event: ev.AnyEvent, raw: Any) -> Iterator[Block]:
        """The record an event was read from, once."""
        if raw is None or (event.source is not None and event.source in self._seen):
            return
        text = raw if isinstance(raw, str) else as_json(raw)
        if event.source is not None:
            self._seen.add(event.source)
        yield Block("raw", text.rstrip("\n"), "original record")

    def _call(self, event: ev.ToolCalled, result: tuple[ev.ToolReturned, Any] | None) -> Said:
        call = event.call
        outcomes, native = ((), None) if result is None else (result[0].result.outcomes, result[0].result.native)
        failures = [word for outcome in outcomes if (word := failure_of(outcome, native)) is not None]
        blocks = [*_asked(call, outcomes), *(block for outcome in outcomes for block in outcome_blocks(outcome))]
        if call.failure is not None:
            blocks.append(Block("code", call.failure.message, "not understood"))
        ended = "no result" if result is None else failures[0].replace("_", " ") if failures else "done"
        said = next((one for operation in call.operations if (one := about(operation))), "")
        agents = [agent for spawned, agent in self._children if spawned == call.id]
        return Said(
            "call",
            f"{call.native.name} {said}".rstrip(),
            blocks,
            failed=bool(failures),
            result=ended,
            seconds=None if result is None else call_seconds(event, result[0]),
            operations=call.operations,
            agents=agents,
        )


def begins_part(event: ev.AnyEvent, before: int | None) -> bool:
    """Whether an event is of another turn than the part before it."""
    return event.turn is not None and event.turn != before


def call_seconds(called: ev.ToolCalled, returned: ev.ToolReturned) -> float | None:
    """How long a call took: as the log says, else by the times, unless a person was waited for in between."""
    logged = logged_duration(returned)
    if logged is not None:
        return logged
    if waits_for_a_person(called) or called.time is None or returned.time is None or returned.time < called.time:
        return None
    return (returned.time - called.time).total_seconds()


def _told(event: ev.AnyEvent) -> Said | None:
    """What an event that is no call says to people; `None` where that is nothing."""
    match event:
        case ev.UserSaid():
            titles = {"user": "User", "client": "Client, in the user's name", "agent": "Agent"}
            return Said("user", titles[event.by], [*said_blocks(event.text), *media_blocks(event.media)])
        case ev.SystemSaid():
            return Said("system", "Instructions", said_blocks(event.text))
        case ev.ModelSaid():
            title = "Model refused" if event.refused else "Model"
            return Said("model", title, [*said_blocks(event.text), *media_blocks(event.media)])
        case ev.ModelThought():
            if event.hidden and not event.text:
                return None
            return Said("thought", "Thought", said_blocks(event.text))
        case ev.ToolReturned():
            blocks = [block for outcome in event.result.outcomes for block in outcome_blocks(outcome)]
            return Said("note", f"Result of {event.result.call_id}, whose call is not here", blocks)
        case ev.CommandInvoked():
            return Said("user", f"Command {event.name} {event.arguments or ''}".rstrip(), [])
        case ev.ContextCompacted():
            return Said("note", event.description, said_blocks(event.summary or ""))
        case ev.HistoryRewound():
            return Said("note", "History rewound", [])
        case ev.ModelChanged():
            return Said("note", f"Model changed to {event.model or 'another setting'}", [])
        case ev.Interrupted():
            return Said("note", "Interrupted by the user", said_blocks(event.text or ""))
        case ev.ErrorOccurred():
            return Said("error", "Error", said_blocks(event.message), failed=True)
        case ev.SessionEnded() if event.reason != "completed":
            return Said("note", f"Session ended: {event.reason}", said_blocks(event.message or ""))
        case ev.AgentStarted():
            return Said("note", f"Agent {event.name or event.agent} started", [])
        case ev.AgentEnded():
            return Said("note", f"Agent {event.agent} ended: {event.status}", [])
    return None


def tag(event: ev.AnyEvent) -> str:
    """`tool_called`: the kind of an event as JSON has it."""
    return str(type(event).__struct_config__.tag)


# ── calls ────────────────────────────────────────────────────────────────────


def _asked(call: Call, outcomes: Iterable[out.Outcome]) -> Iterator[Block]:
    """What a call asked for: a command as such, an edit as a diff, anything else as its arguments."""
    shown = any(
        isinstance(outcome, out.ChangesOutcome) and any(one.diff for one in outcome.changes) for outcome in outcomes
    )
    plain = False
    for operation in call.operations:
        match operation:
            case op.RunCommand():
                yield Block("code", operation.command, "command")
            case op.WriteFile() if not shown:
                yield Block("diff", _prefixed("+", operation.content), operation.path)
            case op.EditFile() if not shown:
                edits = "\n".join(_edited(edit) for edit in operation.edits)
                yield Block("diff", edits, operation.path)
            case op.InsertText() if not shown:
                yield Block("diff", _prefixed("+", operation.text), f"{operation.path}, after line {operation.line}")
            case op.ReplaceLines() if not shown:
                lines = operation.first if operation.last is None else f"{operation.first} to {operation.last}"
                yield Block("diff", _prefixed("+", operation.text), f"{operation.path}, in place of {lines}")
            case op.WriteFile() | op.EditFile() | op.InsertText() | op.ReplaceLines():
                pass
            case _:
                plain = True
    arguments = call.native.arguments
    if (plain or not call.operations) and arguments:
        yield Block("code", arguments if isinstance(arguments, str) else pretty(arguments), "arguments")


def _edited(edit: op.Edit) -> str:
    from difflib import unified_diff

    lines = list(unified_diff((edit.old or "").splitlines(), edit.new.splitlines(), n=3, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@")) or _prefixed("+", edit.new)


def _prefixed(mark: str, text: str) -> str:
    return "\n".join(f"{mark}{line}" for line in text.splitlines())


def _doubt(usage: Usage) -> str:
    """What is said of a count that the client logged before the reply was complete."""
    return " (doubtful)" if usage.doubtful else ""
