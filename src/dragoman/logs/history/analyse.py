"""What went wrong or took long in a session: failures, loops, slow calls, chains of tools, the context window.

Rules: a finding names the calls it is about, and says what to do. A loop is a call that was made again with the same
arguments and gave the same, while nothing was changed in between; many calls, or calls of one kind, are none. What a
log does not say stays unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from dragoman.context_windows import window_of
from dragoman.model import Kind, NativeResult, Outcome, events as ev
from dragoman.model.effects import fields_of

from .query import Query
from .rows import UsageRow
from .stats import quantile
from .tables import failure_of, logged_duration, text_of
from .whole_sessions import as_struct

Lens = Literal["failures", "loops", "bottlenecks", "toolchains", "context"]
LENSES: Final[tuple[Lens, ...]] = ("failures", "loops", "bottlenecks", "toolchains", "context")

SLOW: Final = 10.0
"""Seconds a call must take to be called slow; it must also be slower than nine in ten of its session."""
AGAIN: Final = 3
"""How often a call must be made in vain to be called a loop; an edit that fails needs one time less."""
FULL: Final = 0.8
"""The share of a context window from which it is nearly full."""
_SHORT: Final = 200


class Spot(msgspec.Struct, frozen=True):
    """Where in the logs something is: `dragoman show SESSION` has the turn and step."""

    session: str
    stream: str
    turn: int
    step: int | None
    call_id: str | None
    event: str | None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something to look at: what it is, what to do about it, and where it is."""

    lens: Lens
    kind: str
    text: str
    advice: str
    count: int
    tool: str | None = None
    seconds: float | None = None
    spots: tuple[Spot, ...] = ()
    """The first ones, at most `MOST_SPOTS`; `count` is how many there are."""


class Chain(msgspec.Struct, frozen=True):
    """Tools that were called one after the other, several times."""

    tools: tuple[str, ...]
    count: int
    first: Spot


class ContextUse(msgspec.Struct, frozen=True, kw_only=True):
    """How full the context window of one agent was: tokens it was given in its last exchange, and in its fullest."""

    session: str
    stream: str
    model: str | None
    last: int | None
    peak: int | None
    window: int | None
    """`None` when neither the log nor our table knows it."""
    told_by: Literal["log", "table"] | None
    compactions: int

    @property
    def share(self) -> float | None:
        """Last use divided by the window; `None` when one of them is not known."""
        return None if self.last is None or self.window is None else self.last / self.window


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found in a session and its sub-agents."""

    session: str
    client: str | None
    title: str | None
    agents: int
    turns: int
    calls: int
    failures: int
    failures_by_kind: dict[str, int]
    failures_by_tool: dict[str, int]
    findings: tuple[Finding, ...]
    chains: tuple[Chain, ...]
    context: tuple[ContextUse, ...]


MOST_SPOTS: Final = 10


def analyse_session(query: Query, id: str) -> Analysis:
    """Analyses a session with its sub-agents, by its id or a prefix of it."""
    session = query.session(id)
    return analysis_of(session, _usage(query, session))


def analysis_of(session: ev.Session, usage: Sequence[UsageRow] = ()) -> Analysis:
    """The same of a session that is at hand; `usage` are its exchanges, for what its context window held."""
    agents = list(agents_of(session))
    uses = [use for agent in agents for use in uses_of(agent)]
    failed = [use for use in uses if use.failure is not None]
    findings = (
        *_failures(failed),
        *(found for agent in agents for found in _loops(agent)),
        *_slow(uses),
    )
    context = tuple(_context(agent, usage) for agent in agents)
    return Analysis(
        session=session.id,
        client=session.client,
        title=session.title,
        agents=len(agents) - 1,
        turns=sum(len(agent.turns) for agent in agents),
        calls=len(uses),
        failures=len(failed),
        failures_by_kind=dict(Counter(str(use.failure) for use in failed).most_common()),
        failures_by_tool=dict(Counter(use.name for use in failed).most_common()),
        findings=(*findings, *(found for one in context for found in _full(one))),
        chains=tuple(_chains(agents)),
        context=context,
    )


def _usage(query: Query, session: ev.Session) -> list[UsageRow]:
    keys = {(agent.id, agent.stream) for agent in agents_of(session)}
    rows: list[UsageRow] = []
    for id in dict.fromkeys(session for session, _ in keys):
        rows += [as_struct(UsageRow, row) for row in query.looked().rows("usage", "scopes.session = ?", (id,))]
    return [row for row in rows if (row.session, row.stream) in keys]


def agents_of(session: ev.Session) -> Iterator[ev.Session]:
    """A session and all sub-agents below it."""
    yield session
    for child in session.children:
        yield from agents_of(child)


# ── calls ────────────────────────────────────────────────────────────────────


class Use:
    """A call as the lenses see it."""

    def __init__(self, session: ev.Session, turn: int, step: int, use: ev.ToolUse) -> None:
        called, returned = use.called, use.returned
        native = called.call.native
        self.name = native.name
        self.spot = Spot(session.id, session.stream, turn, step, called.call.id, called.id)
        self.operations = called.call.operations
        self.verdict = None if called.decision is None else called.decision.verdict
        outcomes, given = ((), None) if returned is None else (returned.result.outcomes, returned.result.native)
        self.failure = next((kind for one in outcomes if (kind := failure_of(one, given)) is not None), None)
        self.message = next((_said(one) for one in outcomes if failure_of(one, given) is not None), "")
        self.is_answered = returned is not None
        self.call = (native.namespace, native.name, _canonical(native.arguments))
        self.given = None if returned is None else _given(returned.result.native, outcomes)
        self.duration = None if returned is None else logged_duration(returned)
        self.elapsed: float | None = None
        if returned is not None and called.time is not None and returned.time is not None:
            seconds = (returned.time - called.time).total_seconds()
            self.elapsed = seconds if seconds >= 0 else None

    @property
    def kinds(self) -> set[Kind]:
        return {operation.kind for operation in self.operations}

    @property
    def seconds(self) -> float | None:
        return self.duration if self.duration is not None else self.elapsed

    @property
    def about(self) -> str:
        """What the call is about, in a few words."""
        for operation in self.operations:
            for field in ("path", "command", "pattern", "query", "url", "prompt", "name"):
                said = getattr(operation, field, None)
                if isinstance(said, str):
                    return _short(f"{self.name} {said}")
        return self.name


def uses_of(session: ev.Session) -> list[Use]:
    """The calls of one agent, in their order."""
    return [
        Use(session, turn.index, step.index, use) for turn in session.turns for step in turn.steps for use in step.tools
    ]


def _said(outcome: Outcome) -> str:
    code = getattr(outcome, "exit_code", None)
    return text_of(outcome) or ("" if code is None else f"exit code {code}")


def _canonical(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments, order="sorted").decode()


def _given(native: NativeResult | None, outcomes: Sequence[Any]) -> Any:
    """What a call gave, to be compared: without how long it took, which is never the same."""
    said = native.content if native is not None else "\n".join(text_of(one) for one in outcomes)
    return re.sub(r"\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b", "", said) if isinstance(said, str) else said


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _spots(uses: Sequence[Use]) -> tuple[Spot, ...]:
    return tuple(use.spot for use in uses[:MOST_SPOTS])


# ── failures ─────────────────────────────────────────────────────────────────

_ADVICE: Final = {
    "unknown_tool": "The model called a tool it was not offered: offer it, or name in the instructions what there is.",
    "invalid_arguments": "The arguments did not fit: look at the tool's description and schema for what misled it.",
    "denied": "A person or a rule refused: allow it by a rule, or tell the model beforehand not to try.",
    "timed_out": "Raise the tool's time limit, or have the command run in the background.",
    "cancelled": "Somebody stopped it: look at what was said next.",
    "exit": "A command ended with an error: read its output; a missing program or path is fixed once for all.",
    "failed": "Read the message of the first one; the same message again and again has one cause.",
}


def _failures(failed: Sequence[Use]) -> Iterator[Finding]:
    """One finding per tool and kind, the most frequent first."""
    grouped: dict[tuple[str, str], list[Use]] = {}
    for use in failed:
        grouped.setdefault((use.name, str(use.failure)), []).append(use)
    for (name, kind), uses in sorted(grouped.items(), key=lambda one: -len(one[1])):
        message, times = Counter(_short(use.message) for use in uses).most_common(1)[0]
        same = f", {times} times the same" if times > 1 else ""
        yield Finding(
            lens="failures",
            kind=kind,
            tool=name,
            count=len(uses),
            text=f"{name}: {kind.replace('_', ' ')} {_times(len(uses))}{same}: {message or 'it said nothing'}",
            advice=_ADVICE.get(kind, _ADVICE["failed"]),
            spots=_spots(uses),
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


# ── loops ────────────────────────────────────────────────────────────────────


def _loops(session: ev.Session) -> Iterator[Finding]:
    for stretch in _stretches(session):
        cycles = list(_cycles(stretch))
        within = {id(use) for cycle in cycles for use in cycle.uses}
        for cycle in cycles:
            yield cycle.finding()
        rest = [use for use in stretch if id(use) not in within]
        yield from _repeated(rest)
        yield from _stubborn(rest)


def _stretches(session: ev.Session) -> Iterator[list[Use]]:
    """Calls between which nobody gave a reason to do the same again: the user said nothing, nothing was forgotten."""
    stretch: list[Use] = []
    for turn in session.turns:
        opened = turn.opened_by
        asked = isinstance(opened, ev.CommandInvoked | ev.ContextCompacted)
        if asked or (isinstance(opened, ev.UserSaid) and opened.by == "user"):
            yield stretch
            stretch = []
        for step in turn.steps:
            if any(isinstance(event, ev.ContextCompacted) for event in step.other):
                yield stretch
                stretch = []
            stretch += [Use(session, turn.index, step.index, use) for use in step.tools]
    yield stretch


def _repeated(stretch: Sequence[Use]) -> Iterator[Finding]:
    """The same call that gave the same, while nothing was changed."""
    running: dict[Any, list[Use]] = {}
    for use in [*stretch, None]:
        if use is None or _changes(use):
            for uses in running.values():
                yield from _repetition(uses)
            running = {}
        if use is not None and use.is_answered:
            running.setdefault((use.call, _hashable(use.given)), []).append(use)


def _changes(use: Use) -> bool:
    """Whether something is otherwise after a call: then the same call may give something else."""
    return use.failure is None and use.is_answered and Kind.WRITE in use.kinds


def _repetition(uses: Sequence[Use]) -> Iterator[Finding]:
    first = uses[0]
    is_edit = first.failure is not None and Kind.WRITE in first.kinds
    if len(uses) < (AGAIN - 1 if is_edit else AGAIN):
        return
    if is_edit:
        kind, said = "failing_edit", "the same edit failed"
        advice = "Read the file again before the next edit: what was to be replaced does not stand there so."
    elif first.failure is not None:
        kind, said = "failing_call", "the same call failed"
        advice = "The same call cannot give another result: change the arguments, or what it fails on, first."
    else:
        kind, said = "repeated_call", "the same call gave the same"
        advice = "Its result was known: if the model lost it, the context is too full; if it waits, let it wait longer."
    yield Finding(
        lens="loops",
        kind=kind,
        tool=first.name,
        count=len(uses),
        text=f"{said} {len(uses)} times: {first.about}",
        advice=advice,
        spots=_spots(uses),
    )


def _stubborn(stretch: Sequence[Use]) -> Iterator[Finding]:
    """Edits of one file that failed one after the other, each a little different."""
    running: dict[str, list[Use]] = {}
    for use in [*stretch, None]:
        paths = set() if use is None else _edited(use)
        ended = list(running) if use is None else [path for path in paths if use.failure is None]
        for path in ended:
            uses = running.pop(path, [])
            if len(uses) >= AGAIN and len({one.call for one in uses}) > 1:
                yield Finding(
                    lens="loops",
                    kind="failing_edits",
                    tool=uses[0].name,
                    count=len(uses),
                    text=f"{len(uses)} edits of {_short(path)} failed one after the other",
                    advice="Have the file read again, or written whole: the model no longer knows what stands in it.",
                    spots=_spots(uses),
                )
        if use is not None and use.failure is not None:
            for path in paths:
                running.setdefault(path, []).append(use)


def _edited(use: Use) -> set[str]:
    written = [one for one in use.operations if one.kind is Kind.WRITE]
    return {str(getattr(one, path)) for one in written for path in fields_of(one).path[:1]}


class _Cycle:
    def __init__(self, uses: Sequence[Use], period: int) -> None:
        self.uses, self.period = uses, period

    def finding(self) -> Finding:
        names = " → ".join(use.about for use in self.uses[: self.period])
        rounds = len(self.uses) // self.period
        return Finding(
            lens="loops",
            kind="cycle",
            tool=self.uses[0].name,
            count=rounds,
            text=f"the same {self.period} calls gave the same in {rounds} rounds: {_short(names)}",
            advice="Each undoes the other, or neither tells anything new: say which of the two states is wanted.",
            spots=_spots(self.uses),
        )


_LONGEST_CYCLE: Final = 4


def _cycles(stretch: Sequence[Use]) -> Iterator[_Cycle]:
    """A-B-A-B: the same few calls with the same results, round after round; nothing else in between."""
    marks = [(use.call, _hashable(use.given)) if use.is_answered else (id(use), None) for use in stretch]
    start = 0
    while start < len(marks):
        found = _cycle_at(marks, start)
        if found is None:
            start += 1
        else:
            period, rounds = found
            yield _Cycle(stretch[start : start + period * rounds], period)
            start += period * rounds


def _cycle_at(marks: Sequence[Any], start: int) -> tuple[int, int] | None:
    for period in range(2, _LONGEST_CYCLE + 1):
        once = list(marks[start : start + period])
        rounds = 1
        while len(once) == period and list(marks[start + period * rounds : start + period * (rounds + 1)]) == once:
            rounds += 1
        # Twice the same three reads may be chance; what alternates twice and more is not.
        if rounds >= AGAIN - 1 and len(set(once)) == period and period * rounds >= 4:
            return period, rounds
    return None


def _hashable(given: Any) -> Any:
    try:
        hash(given)
    except TypeError:
        return repr(given)
    return given


# ── slow calls ───────────────────────────────────────────────────────────────


def _slow(uses: Sequence[Use]) -> Iterator[Finding]:
    known = sorted(use.seconds for use in uses if use.seconds is not None)
    if not known:
        return
    least = max(SLOW, quantile(known, 0.9))
    yield from _together(found for use in uses for found in _waited(use))
    for use in uses:
        if use.seconds is not None and use.seconds >= least and use.seconds > SLOW and not _asks(use):
            yield Finding(
                lens="bottlenecks",
                kind="slow_agent" if Kind.AGENT in use.kinds else "slow_call",
                tool=use.name,
                count=1,
                seconds=use.seconds,
                text=f"{use.about} took {use.seconds:.1f} s{_unsure(use)}",
                advice=_slow_advice(use),
                spots=(use.spot,),
            )


def _together(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Waits of one kind for one tool as one finding: what to do about them is the same."""
    grouped: dict[tuple[str, str | None, str], list[Finding]] = {}
    for one in findings:
        grouped.setdefault((one.kind, one.tool, one.advice), []).append(one)
    for same in grouped.values():
        if len(same) == 1:
            yield same[0]
            continue
        seconds = sum(one.seconds or 0 for one in same)
        person = " for a person" if same[0].kind == "waited_for_user" else " before or after they ran"
        yield msgspec.structs.replace(
            same[0],
            count=len(same),
            seconds=seconds,
            text=f"{len(same)} calls of {same[0].tool} waited {seconds:.1f} s in all{person}",
            spots=tuple(spot for one in same for spot in one.spots)[:MOST_SPOTS],
        )


def _asks(use: Use) -> bool:
    """Whether a person had to answer: how long that took says nothing of the tool."""
    return Kind.ASK in use.kinds or (use.duration is None and (use.verdict == "asked" or use.failure == "denied"))


def _waited(use: Use) -> Iterator[Finding]:
    """Time a call did not run: told apart where the log has both its duration and its times, or says it was asked."""
    if _asks(use):
        waited = use.elapsed
    elif use.duration is not None and use.elapsed is not None:
        waited = use.elapsed - use.duration
    else:
        waited = None
    if waited is None or waited <= SLOW:
        return
    asked = _asks(use) or use.verdict == "asked"
    yield Finding(
        lens="bottlenecks",
        kind="waited_for_user" if asked else "waited",
        tool=use.name,
        count=1,
        seconds=waited,
        text=f"{use.about} waited {waited:.1f} s{' for a person' if asked else ' before or after it ran'}",
        advice="The model asked a question: an answer in the prompt or in the project's instructions saves such waits."
        if Kind.ASK in use.kinds
        else "A rule that allows such calls saves this wait."
        if asked
        else "Most often this is a wait for an approval, which this log does not name, or for other calls before it.",
        spots=(use.spot,),
    )


def _unsure(use: Use) -> str:
    return "" if use.duration is not None else " (between call and result; a wait for approval would be in it)"


def _slow_advice(use: Use) -> str:
    if Kind.AGENT in use.kinds:
        return "Look into the sub-agent: its own calls are analysed here too."
    if Kind.EXECUTE in use.kinds:
        return "Run it in the background, or run less of it: one test, one package."
    return "Ask it for less: a narrower path or pattern, a page instead of all."


# ── chains of tools ──────────────────────────────────────────────────────────

_LONGEST_CHAIN: Final = 4
_MOST_CHAINS: Final = 10


def _chains(agents: Sequence[ev.Session]) -> list[Chain]:
    """The most frequent sequences of different tools; one that only ever stands within a longer one is left out."""
    counts: Counter[tuple[str, ...]] = Counter()
    first: dict[tuple[str, ...], Spot] = {}
    for agent in agents:
        uses = uses_of(agent)
        for length in range(2, _LONGEST_CHAIN + 1):
            for start in range(len(uses) - length + 1):
                part = uses[start : start + length]
                names = tuple(use.name for use in part)
                if len(set(names)) > 1:
                    counts[names] += 1
                    first.setdefault(names, part[0].spot)
    often = {names: count for names, count in counts.items() if count >= AGAIN}
    kept = [
        names
        for names in often
        if not any(_is_within(names, other) and often[other] == often[names] for other in often)
    ]
    kept.sort(key=lambda names: (-often[names] * len(names), names))
    return [Chain(names, often[names], first[names]) for names in kept[:_MOST_CHAINS]]


def _is_within(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    size = len(short)
    return size < len(long) and any(long[at : at + size] == short for at in range(len(long) - size + 1))


# ── the context window ───────────────────────────────────────────────────────

_TOLD_WINDOW: Final = re.compile(rb'"(?:model_context_window|contextWindowSize|contextWindow)"\s*:\s*(\d+)')
"""How Codex (since 0.44), Qwen Code (since 0.21) and others write it."""
_BESIDE: Final = 8_192
"""Bytes after the record of the tokens in which it may stand: Codex (0.166.0) has it in the record that follows."""


def _context(agent: ev.Session, usage: Sequence[UsageRow]) -> ContextUse:
    rows = [row for row in usage if (row.session, row.stream) == (agent.id, agent.stream)]
    given = [(row, tokens) for row in rows if (tokens := _given_tokens(row)) is not None]
    last = given[-1] if given else None
    model = last[0].model if last is not None else None
    told = _told_window(last[0]) if last is not None else None
    listed = window_of(model)
    compacted = [turn for turn in agent.turns if isinstance(turn.opened_by, ev.ContextCompacted)]
    within = [event for turn in agent.turns for event in turn.other if isinstance(event, ev.ContextCompacted)]
    return ContextUse(
        session=agent.id,
        stream=agent.stream,
        model=model,
        last=None if last is None else last[1],
        peak=max((tokens for _, tokens in given), default=None),
        window=told if told is not None else listed,
        told_by="log" if told is not None else "table" if listed is not None else None,
        compactions=len(compacted) + len(within),
    )


def _given_tokens(row: UsageRow) -> int | None:
    said = (row.input_tokens, row.cached_read_tokens, row.cached_write_tokens, row.tool_tokens)
    known = [tokens for tokens in said if tokens is not None]
    return sum(known) if known else None


def _told_window(row: UsageRow) -> int | None:
    if row.source_offset is None or not row.source_length:
        return None
    try:
        with open(row.file, "rb") as file:
            file.seek(row.source_offset)
            found = _TOLD_WINDOW.search(file.read(row.source_length + _BESIDE))
    except OSError:
        return None
    return None if found is None or int(found[1]) == 0 else int(found[1])


def _full(context: ContextUse) -> Iterator[Finding]:
    share = context.share
    spot = Spot(context.session, context.stream, 0, None, None, None)
    if share is not None and share >= FULL:
        yield Finding(
            lens="context",
            kind="nearly_full",
            count=1,
            text=f"the last exchange filled {share:.0%} of the window: {context.last:,} of {context.window:,} tokens",
            advice="Begin a new session with what matters (`dragoman pack`), or have this one compacted.",
            spots=(spot,),
        )
    if context.compactions > 1:
        yield Finding(
            lens="context",
            kind="compacted",
            count=context.compactions,
            text=f"the conversation was shortened {_times(context.compactions)}",
            advice="Give parts of the task to sub-agents, or ask tools for less: each time something is forgotten.",
            spots=(spot,),
        )


def said_of_spot(spot: Spot) -> str:
    """Coordinates on one line: session, agent, turn and step, call."""
    where = spot.session if spot.stream == "main" else f"{spot.session} {spot.stream}"
    if spot.call_id is None:
        return where
    return f"{where} turn {spot.turn} step {spot.step} call {spot.call_id}"
