"""The conversation that a session of any client tells of, so that any model can go on with it.

A record of our own keeps replies whole (`record.conversation_of`); other clients' logs keep what was said and done, and
from that a history is put together: one reply per message of the model, results after the calls they answer. What only
its maker can use stays behind: thoughts (unless the same client continues), the client's own instructions, and what it
said in the user's name (its environment, its reminders): whoever continues writes its own. Its reports on agents and
commands that ran in the background come along, and so does the prompt that a command of the user stands for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import blake2s
from itertools import islice
from typing import Any, TypeVar

import msgspec

from dragoman.apis import APIS, NO_RESULT
from dragoman.errors import LogError
from dragoman.logs.base.raw_bytes import Originals
from dragoman.logs.base.writing import SessionWriter
from dragoman.model import ExecutedBy, Media, NativeResult, conversation as conv, events as ev
from dragoman.model.conversation import answered

Found = TypeVar("Found")


class SessionHistory(msgspec.Struct, frozen=True):
    """A session as a history, and what of it could not come along: kind of thing → how often."""

    conversation: conv.Conversation
    left_out: dict[str, int] = {}


AGENTS = "conversations of sub-agents, whose answers are kept"
FROM_CLIENT = conv.Provenance("a report of the client")
"""Where a message in the user's name is from that begins no turn of theirs."""
_REPORTS = ("<task-notification>", "<subagent_notification>", "<system_notification>", "<bash-stdout>", "<bash-stderr>")
"""How clients begin what they report on work in the background (Claude Code 2.1.325 and Qwen Code 0.24.4, Codex
0.166.0, Copilot 1.0.102), where the results of the calls say only that it runs, and what a command printed that the
user ran (Claude Code 2.1.325)."""


def history_of(
    events: Iterable[ev.AnyEvent], dialect: str, stream: str | None = None, *, writer: SessionWriter | None = None
) -> SessionHistory:
    """What was said in one stream of a session, each reply marked with the vocabulary its calls are in.

    Without a `stream` it is the main one, or that of the sub-agent when the log is of one sub-agent alone. With the
    `writer` of the client whose session it is, thoughts that prove themselves to their maker are read from the log
    again and come along.
    """
    if stream is None:
        events = list(events)
        stream = _stream_of(events)
    with Originals() as originals:
        history = _History(dialect, writer, originals)
        others: set[str] = set()
        for event in events:
            if event.stream == stream:
                history.take(event)
            else:
                others.add(event.stream)
    history.answer_the_rest()
    agents = {AGENTS: len(others)} if others and stream == "main" else {}
    return SessionHistory(tuple(history.items), {**history.left_out, **agents})


def one_session(
    events: list[ev.AnyEvent], wanted: str = "", id: str | None = None
) -> tuple[str | None, list[ev.AnyEvent]]:
    """The session whose id begins with `wanted`, or the only one that is no sub-agent's, and its events.

    An `id`, or its beginning, must be that of a session.
    """
    started = [event for event in events if isinstance(event, ev.SessionStarted)]
    agents = {one.session for one in started if one.parent_session is not None and one.parent_session != one.session}
    mains = dict.fromkeys(event.session for event in events if event.stream == "main")
    mains = mains or dict.fromkeys(event.session for event in events)  # the log of a sub-agent alone
    ids = [id for id in mains if id not in agents] or list(mains)
    begins = id or wanted
    named: list[str | None] = [one for one in mains if begins and one is not None and one.startswith(begins)]
    if id is not None and not named:
        raise LogError(f"no session here has an id that begins with {id!r}: there are {_some(mains)}")
    meant = named or ids
    if len(meant) > 1:
        what = repr(wanted) if wanted else "this"
        raise LogError(f"{what} means {len(meant)} sessions: name one of {_some(meant)}")
    session = meant[0] if meant else None
    return session, [event for event in events if event.session == session]


def _some(ids: Iterable[str | None]) -> str:
    return ", ".join(map(str, islice(ids, 9)))


def _stream_of(events: Iterable[ev.AnyEvent]) -> str:
    """The main stream; for a log that holds the words of one sub-agent only, the stream of that one."""
    spoken = {event.stream for event in events if isinstance(event, ev.UserSaid | ev.ModelSaid | ev.ToolCalled)}
    return spoken.pop() if len(spoken) == 1 else "main"


class _History:
    def __init__(self, dialect: str, writer: SessionWriter | None, originals: Originals) -> None:
        self._writer, self._originals = writer, originals
        self._reread: ev.Source | None = None
        """The record whose thoughts were read last: it may be that of several events."""
        self.items: list[conv.ConversationItem] = []
        self.left_out: dict[str, int] = {}
        self._dialect = dialect
        self._lengths: dict[str, int] = {}
        """Event id → how many items there were before it."""
        self._reply_id: str | None = None
        self._open: set[str] = set()
        """Calls without a result so far, by the ids they have here."""
        self._called_ids: set[str] = set()
        self._early: dict[str, NativeResult] = {}
        """Results that were logged before their calls."""
        self._command = False
        """Whether a command of the user was just given: the client's next words are the prompt that it stands for."""
        self._ran: str | None = None
        """The shell command that the user just ran and let the model see (`!ls`): what it printed is noted next."""

    def take(self, event: ev.AnyEvent) -> None:
        self._lengths[event.id] = len(self.items)
        is_prompt = self._is_prompt(event)
        match event:
            case ev.HistoryRewound():
                self._rewind(event.to)
            case ev.ContextCompacted(summary=str(summary)) if summary:
                self.items[:] = [conv.user(summary)]
                self._reply_id = None
            case ev.CommandInvoked(name="!"):
                self._ran = event.arguments
            case ev.ClientNoted() if self._ran is not None:
                self._by_user(self._ran, event.data)
            case ev.UserSaid(by="client") if event.text.startswith(_REPORTS):
                self.items.append(conv.Message("user", (conv.TextPart(event.text),), FROM_CLIENT))
            case ev.UserSaid(by="client") if not is_prompt:
                self._leave("texts of the client in the user's name")
            case ev.UserSaid():
                said: list[str | Media] = [event.text] if event.text else []
                if said or event.media:
                    self.items.append(conv.user(*said, *event.media))
            case ev.ModelSaid():
                self._said(event)
            case ev.ToolCalled():
                self._called(event)
            case ev.ToolReturned():
                self._returned(event)
            case ev.ModelThought():
                self._thought(event)
            case ev.SystemSaid():
                self._leave("instructions of the client")
            case _:
                pass

    def _is_prompt(self, event: ev.AnyEvent) -> bool:
        """Whether these words of the client are the prompt that a command of the user stands for."""
        is_prompt = self._command and isinstance(event, ev.UserSaid)
        if isinstance(event, ev.CommandInvoked):
            self._command = event.name not in ("!", "!!")
        elif not isinstance(event, ev.ClientNoted) or event.name == "local-command":  # that one needs no model
            self._command = False
        return is_prompt

    def _by_user(self, command: str, ended: dict[str, Any]) -> None:
        """A command that the user ran: the model was shown it (Codex 0.166.0, pi 0.87.1)."""
        code = ended.get("exit_code", ended.get("exitCode"))
        lines = [f"The user ran: {command}", *([f"Exit code: {code}"] if code is not None else []), "Output:"]
        text = "\n".join([*lines, str(ended.get("output") or "")])
        self.items.append(conv.Message("user", (conv.TextPart(text),), FROM_CLIENT))
        self._ran = None

    def _rewind(self, to: str | None) -> None:
        if to is None:
            self.items.clear()
        elif to in self._lengths:
            del self.items[self._lengths[to] :]
        self._reply_id = None

    def _leave(self, what: str) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def _said(self, event: ev.ModelSaid) -> None:
        parts: list[conv.AnyPart] = []
        if event.text:
            parts.append(conv.RefusalPart(event.text) if event.refused else conv.TextPart(event.text))
        parts += [conv.MediaPart(one) for one in event.media]
        if parts:
            self._add(event, event.model, *parts)

    def _thought(self, event: ev.ModelThought) -> None:
        if event.source is not None and event.source == self._reread:
            return
        before = self._open_reply(event.provider_id)
        known = () if before is None else self.items[before].parts
        # A record may be written again when it has grown.
        parts = [part for part in self._thoughts_in(event.source) if part not in known]
        if not parts:
            self._leave("thoughts")
            return
        self._reread = event.source
        self._add(event, event.model, *parts)

    def _thoughts_in(self, source: ev.Source | None) -> tuple[conv.AnyPart, ...]:
        """Thoughts of a record with what proves them, which events do not have."""
        record = self._original(source)
        if self._writer is None or record is None:
            return ()
        blocks = self._of_writer(self._writer.thoughts, record) or []
        parts: tuple[conv.AnyPart, ...] = APIS[self._writer.api].read_parts(blocks)
        return parts

    def _original(self, source: ev.Source | None) -> dict[str, Any] | None:
        """The record that an event was read from, for what events do not have: proofs and signatures."""
        found = None if source is None or self._writer is None else self._originals.of(source)
        data = found.get("data") if isinstance(found, dict) else found  # in a database, a column of its row
        try:
            record = msgspec.json.decode(data) if isinstance(data, bytes) else None
        except msgspec.DecodeError:
            return None
        return record if isinstance(record, dict) else None

    def _of_writer(self, read: Callable[..., Found], *given: Any) -> Found | None:
        try:
            return read(*given)
        except (LookupError, TypeError, AttributeError):
            return None  # the reader understood it, as another kind of record

    def _called(self, event: ev.ToolCalled) -> None:
        native = event.call.native
        if event.by == "program":
            self._leave("calls a program made within a call")  # the call it was part of has the whole result
        elif native.executed_by is not ExecutedBy.CLIENT:
            self._leave("calls the provider ran itself")
        elif (id := legal_id(native.id)) not in self._open:
            self._open.add(id)
            self._called_ids.add(id)
            record = self._original(event.source)
            signature = None
            if self._writer is not None and record is not None:
                signature = self._of_writer(self._writer.signature, record, native.id)
            self._add(event, None, conv.CallPart(msgspec.structs.replace(native, id=id), signature=signature))
            if id in self._early:
                self._answer(self._early.pop(id))

    def _returned(self, event: ev.ToolReturned) -> None:
        native = event.result.native
        id = "" if native is None else legal_id(native.call_id)
        if native is not None and id in self._open:
            self._answer(msgspec.structs.replace(native, call_id=id))
        elif native is not None and id not in self._called_ids and id not in self._early:
            self._early[id] = msgspec.structs.replace(native, call_id=id)
        else:
            self._leave("results without a call that waits for them")  # one call has one result on every wire

    def _answer(self, native: NativeResult) -> None:
        self._open.discard(native.call_id)
        place = self._place_of(native.call_id)
        if place is None:
            self._leave("results without a call that waits for them")  # it was said before the history was shortened
            return
        after = place + 1
        there = self.items[after : after + 1]
        results = conv.Message("tool", (conv.ResultPart(native),))
        if there and there[0].role == "tool":
            self.items[place : after + 1] = answered((self.items[place], there[0]), results)
        else:
            self.items.insert(after, results)

    def answer_the_rest(self) -> None:
        """Whether a call without a result took effect is not known: the model is told so."""
        for _ in self._early:
            self._leave("results without a call that waits for them")
        for id in sorted(self._open):
            if self._place_of(id) is not None:
                self._answer(NativeResult(id, NO_RESULT, is_error=True))

    def _place_of(self, call_id: str) -> int | None:
        for place in range(len(self.items) - 1, -1, -1):
            for part in self.items[place].parts:
                if isinstance(part, conv.CallPart) and part.call.id == call_id:
                    return place
        return None

    def _add(self, event: ev.AnyEvent, model: str | None, *parts: conv.AnyPart) -> None:
        """Adds to the reply the parts belong to: the same message of the model, or what it said since it was heard."""
        place = self._open_reply(event.provider_id)
        if place is None:
            api = f"log of {event.client or 'a client'}" if self._writer is None else self._writer.api
            made_by = conv.Provenance(api, model=model, dialect=self._dialect)
            self.items.append(conv.Reply(parts, conv.FinishReason.UNKNOWN, provenance=made_by))
        else:
            before = self.items[place]
            self.items[place] = msgspec.structs.replace(before, parts=(*before.parts, *parts))
        self._reply_id = event.provider_id

    def _open_reply(self, provider_id: str | None) -> int | None:
        if not self.items:
            return None
        last = len(self.items) - 1
        if self.items[last].role == "assistant":
            return last if provider_id is None or self._reply_id in (None, provider_id) else None
        same = provider_id is not None and provider_id == self._reply_id
        if same and self.items[last].role == "tool" and last and self.items[last - 1].role == "assistant":
            return last - 1  # clients write a message line by line, and run its first call before its second is there
        return None


_EVERYWHERE = re.compile(r"[A-Za-z0-9_-]{1,40}")


def legal_id(id: str) -> str:
    """The id, or one made of it that every provider takes."""
    return (
        id
        if _EVERYWHERE.fullmatch(id)
        else "call_" + blake2s(id.encode("utf-8", "replace"), digest_size=12).hexdigest()
    )
