"""A session as people read it, before it is written in any notation: who said and did what, and what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

from dragoman.logs.history.sessions import key_of, sessions_of
from dragoman.logs.history.tables import as_json, failure_of, tag_of, text_of
from dragoman.model import Call, events as ev, operations as op, outcomes as out

from .chosen import Chosen

# C0 and C1 but for line breaks and tabs, DEL, separators, what turns the direction of text, invisible marks, tags,
# and lone surrogates: the same that the command line never prints as they are.
_STEERING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Text from anywhere in which nothing steers who shows it: control characters are written out, as `\\x1b`."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class Block(msgspec.Struct, frozen=True):
    """A piece of text and what it is."""

    kind: Literal["words", "code", "diff", "raw"]
    text: str
    label: str | None = None


class Said(msgspec.Struct):
    """One thing that was said, thought, called or noted."""

    kind: Literal["user", "system", "model", "thought", "call", "note", "error"]
    title: str
    blocks: list[Block]
    time: str | None = None
    failed: bool = False
    result: str | None = None
    """How a call ended, in a word; `None` for what is no call."""
    agents: list[Conversation] = []
    """The agents this call started."""


class Part(msgspec.Struct):
    """What belongs to one turn; `number` is `None` before the first."""

    number: int | None
    said: list[Said]


class Conversation(msgspec.Struct):
    """One agent's whole conversation."""

    id: str
    title: str
    facts: list[tuple[str, str]]
    parts: list[Part]
    agents: list[Conversation]
    """Agents of which nobody knows the call that started them."""


def conversations_of(chosen: Chosen) -> list[Conversation]:
    """The conversations of what was chosen, agents with the call that started them."""
    records = list(chosen.records())
    streams: dict[tuple[str, str], list[tuple[ev.AnyEvent, Any]]] = {}
    for event, raw in records:
        streams.setdefault(key_of(event), []).append((event, raw))
    return [_conversation(session, streams) for session in sessions_of(event for event, _ in records)]


def _conversation(session: ev.Session, streams: dict[tuple[str, str], list[tuple[ev.AnyEvent, Any]]]) -> Conversation:
    children = [(child.parent_call, _conversation(child, streams)) for child in session.children]
    told = _Teller(children).parts(streams.get((session.id, session.stream), []))
    placed = {id(agent) for part in told for said in part.said for agent in said.agents}
    title = session.title or (f"Session {session.id}" if session.stream == "main" else f"Agent {session.stream}")
    beside = [agent for _, agent in children if id(agent) not in placed]
    return Conversation(session.id, title, list(_facts(session)), told, beside)


def _facts(session: ev.Session) -> Iterator[tuple[str, str]]:
    program = " ".join(one for one in (session.client, session.version) if one)
    known = {
        "session": session.id,
        "agent": None if session.stream == "main" else session.stream,
        "client": program,
        "model": ", ".join(session.models),
        "folder": session.cwd,
        "started": None if session.started is None else _moment(session.started),
        "ended": None if session.ended is None else _moment(session.ended),
        "tokens": None if session.usage.total is None else f"{session.usage.total:,}",
    }
    yield from ((name, value) for name, value in known.items() if value)
    if session.unreadable or session.unknown:
        yield "not understood", f"{session.unreadable} unreadable, {session.unknown} unknown records"


def _moment(time: Any) -> str:
    return str(time.isoformat(sep=" ", timespec="seconds")).replace("+00:00", " UTC")


class _Teller:
    """Tells the events of one stream in their order, results with their calls."""

    def __init__(self, children: list[tuple[str | None, Conversation]]) -> None:
        self._children = children
        self._seen: set[ev.Source] = set()

    def parts(self, records: list[tuple[ev.AnyEvent, Any]]) -> list[Part]:
        results: dict[str, tuple[ev.ToolReturned, Any]] = {}
        for event, raw in records:
            if isinstance(event, ev.ToolReturned):
                results.setdefault(event.result.call_id, (event, raw))
        called = {event.call.id for event, _ in records if isinstance(event, ev.ToolCalled)}
        answers = {id(result) for call, (result, _) in results.items() if call in called}
        parts: list[Part] = []
        for event, raw in records:
            if id(event) in answers:
                continue  # it stands with its call
            result = results.pop(event.call.id, None) if isinstance(event, ev.ToolCalled) else None
            said = self._said(event, raw, result)
            if said is None:
                continue
            if not parts or (event.turn is not None and event.turn != parts[-1].number):
                parts.append(Part(event.turn, []))
            parts[-1].said.append(said)
        return parts

    def _said(self, event: ev.AnyEvent, raw: Any, result: tuple[ev.ToolReturned, Any] | None) -> Said | None:
        said = self._call(event, result) if isinstance(event, ev.ToolCalled) else _told(event)
        raws = [(event, raw)] if result is None else [(event, raw), result]
        originals = [block for one in raws for block in self._original(*one)]
        if said is None and not originals:
            return None
        said = said or Said("note", tag(event), [])
        said.blocks = [*said.blocks, *originals]
        said.time = None if event.time is None else _moment(event.time)
        return said

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
        outcomes = () if result is None else result[0].result.outcomes
        failures = [word for outcome in outcomes if (word := failure_of(outcome)) is not None]
        blocks = [*_asked(call, outcomes), *(block for outcome in outcomes for block in _came(outcome))]
        if call.failure is not None:
            blocks.append(Block("code", call.failure.message, "not understood"))
        ended = "no result" if result is None else failures[0].replace("_", " ") if failures else "done"
        about = next((one for operation in call.operations if (one := _about(operation))), "")
        agents = [agent for spawned, agent in self._children if spawned == call.id]
        return Said(
            "call",
            f"{call.native.name} {about}".rstrip(),
            blocks,
            failed=bool(failures),
            result=ended,
            agents=agents,
        )


def _told(event: ev.AnyEvent) -> Said | None:
    """What an event that is no call says to people; `None` where that is nothing."""
    match event:
        case ev.UserSaid():
            titles = {"user": "User", "client": "Client, in the user's name", "agent": "Agent"}
            return Said("user", titles[event.by], [*_words(event.text), *_media(event.media)])
        case ev.SystemSaid():
            return Said("system", "Instructions", _words(event.text))
        case ev.ModelSaid():
            title = "Model refused" if event.refused else "Model"
            return Said("model", title, [*_words(event.text), *_media(event.media)])
        case ev.ModelThought():
            if event.hidden and not event.text:
                return None
            return Said("thought", "Thought", _words(event.text))
        case ev.ToolReturned():
            blocks = [block for outcome in event.result.outcomes for block in _came(outcome)]
            return Said("note", f"Result of {event.result.call_id}, whose call is not here", blocks)
        case ev.CommandInvoked():
            return Said("user", f"Command {event.name} {event.arguments or ''}".rstrip(), [])
        case ev.ContextCompacted():
            return Said("note", "Context compacted", _words(event.summary or ""))
        case ev.HistoryRewound():
            return Said("note", "History rewound", [])
        case ev.ModelChanged():
            return Said("note", f"Model changed to {event.model or 'another setting'}", [])
        case ev.Interrupted():
            return Said("note", "Interrupted by the user", _words(event.text or ""))
        case ev.ErrorOccurred():
            return Said("error", "Error", _words(event.message), failed=True)
        case ev.SessionEnded() if event.reason != "completed":
            return Said("note", f"Session ended: {event.reason}", _words(event.message or ""))
        case ev.AgentStarted():
            return Said("note", f"Agent {event.name or event.agent} started", [])
        case ev.AgentEnded():
            return Said("note", f"Agent {event.agent} ended: {event.status}", [])
    return None


def tag(event: ev.AnyEvent) -> str:
    """`tool_called`: the kind of an event as JSON has it."""
    return str(type(event).__struct_config__.tag)


def _words(text: str) -> list[Block]:
    return [Block("words", text)] if text.strip() else []


def _media(media: Iterable[out.Media]) -> Iterator[Block]:
    for one in media:
        where = one.name or one.path or one.url or (f"{len(one.data)} characters of base64" if one.data else "")
        yield Block("words", f"[{one.media_type} {where}]".replace(" ]", "]"))


# ── calls ────────────────────────────────────────────────────────────────────

_ABOUT: Final = ("path", "pattern", "query", "url", "description", "name", "tool", "job", "command")
_LONGEST_TITLE: Final = 100


def _about(operation: op.Operation) -> str:
    """What a call is about, in a line."""
    said = next((value for name in _ABOUT if isinstance(value := getattr(operation, name, None), str) and value), "")
    line = " ".join(said.split())
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"


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
            case op.WriteFile() | op.EditFile() | op.InsertText():
                pass
            case _:
                plain = True
    arguments = call.native.arguments
    if (plain or not call.operations) and arguments:
        yield Block("code", arguments if isinstance(arguments, str) else _pretty(arguments), "arguments")


def _edited(edit: op.Edit) -> str:
    from difflib import unified_diff

    lines = list(unified_diff((edit.old or "").splitlines(), edit.new.splitlines(), n=3, lineterm=""))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@")) or _prefixed("+", edit.new)


def _prefixed(mark: str, text: str) -> str:
    return "\n".join(f"{mark}{line}" for line in text.splitlines())


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _came(outcome: out.Outcome) -> Iterator[Block]:
    """What an outcome shows."""
    if isinstance(outcome, out.ChangesOutcome):
        for change in outcome.changes:
            if change.diff:
                yield Block("diff", change.diff.rstrip("\n"), change.path)
            else:
                moved = f" to {change.moved_to}" if change.moved_to else ""
                yield Block("words", f"{change.kind} {change.path}{moved}")
        return
    if isinstance(outcome, out.ContentOutcome):
        for piece in outcome.content:
            yield from _media((piece,)) if isinstance(piece, out.Media) else [Block("code", piece, "result")]
        return
    if isinstance(outcome, out.ImageOutcome):
        yield from _media((outcome.image,))
        return
    text = text_of(outcome)
    if isinstance(outcome, out.Failure):
        yield Block("code", text, outcome.kind.replace("_", " "))
    elif text.strip():
        code = getattr(outcome, "exit_code", None)
        label = f"exit code {code}" if code is not None else tag_of(outcome).removesuffix("_outcome").replace("_", " ")
        yield Block("code", text.rstrip("\n"), label)
