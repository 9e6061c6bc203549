"""Conversations that went through the gateway, recorded as sessions of ours: in the model's words, as `run` records.

Rules:
- Nothing of a request is recorded but the conversation and the names of the tools: no header, no key, no token.
- Files are the user's alone (0600), one for a conversation, and only what is new in it is added to its file.
- A client may change what was said before. Then the record says from where on it was (`HistoryRewound`).
- A record that cannot be written keeps nobody from being answered: it is reported once, and no more is recorded.
"""

from __future__ import annotations

import datetime
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import is_
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.apis import Lowering
from dragoman.dialects import Dialect
from dragoman.errors import DragomanError
from dragoman.logs import Recorder
from dragoman.model import (
    AnyEvent,
    Call,
    Conversation,
    ConversationItem,
    ExecutedBy,
    MediaPart,
    NativeCall,
    Provenance,
    RefusalPart,
    Reply,
    Request,
    Result,
    ResultPart,
    TextPart,
    ThinkingPart,
    events as ev,
    operations as op,
)

from .memory import words_of

_OPEN: Final = 64
"""Sessions whose state is in memory. One that is found again later is recorded anew from its beginning."""


class About(msgspec.Struct, frozen=True):
    """What is known of an exchange beside what was said in it."""

    client: str | None
    """The vocabulary of the client."""
    dialect: Dialect | None
    """The vocabulary that the model was offered; `None` for tools of no known one."""
    model: str | None
    folder: str | None
    lowering: Lowering = Lowering()
    """What undoes, on the calls, what was done to the schemas of the tools."""
    cost: float | None = None


class _Session:
    """How far a conversation is recorded."""

    def __init__(self) -> None:
        self.count = 0
        self.step = 0
        self.items: list[ConversationItem] = []
        self.first_events: list[str] = []
        """For each item, the id of its first event."""
        self.calls: dict[str, Call] = {}


class Recording:
    """Records into `folder`. `warn` gets a sentence when something cannot be recorded."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder, self._warn = folder, warn
        self._sessions: OrderedDict[str, _Session | None] = OrderedDict()

    def replied(self, name: str, request: Request, reply: Reply, about: About) -> None:
        """A model answered a request."""
        dialect = None if about.dialect is None else about.dialect.name
        made_by = msgspec.structs.replace(reply.provenance, dialect=dialect)
        whole = msgspec.structs.replace(reply, provenance=made_by)
        self._record(name, lambda writing: writing.exchange(request, whole, about))

    def failed(self, name: str, request: Request, error: DragomanError, about: About) -> None:
        """A model did not answer a request."""
        self._record(name, lambda writing: writing.failure(request, error, about))

    def _record(self, name: str, write: Callable[[_Writing], None]) -> None:
        if name in self._sessions and self._sessions[name] is None:
            return  # it could not be written before, which was reported
        path = self._folder / f"{name}.jsonl"
        try:
            for folder in (self._folder.parent, self._folder):  # `mkdir` gives the mode to the last one only
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
            with Recorder(path) as recorder:
                session = self._sessions.get(name)
                if session is None:
                    session = _Session()
                    session.count = max(
                        0, path.read_bytes().count(b"\n") - 1
                    )  # of an earlier process, without the head
                self._sessions[name] = session
                self._sessions.move_to_end(name)
                events: list[AnyEvent] = []
                write(_Writing(name, session, events.append))
                recorder.all(events)
        except (OSError, DragomanError) as error:
            self._sessions[name] = None
            self._warn(f"the session {name} is not recorded any more: {error}")
        while len(self._sessions) > _OPEN:
            self._sessions.popitem(last=False)


class _Writing:
    """Writes the events of one exchange."""

    def __init__(self, name: str, session: _Session, write: Callable[[AnyEvent], None]) -> None:
        self._name, self._session, self._write = name, session, write

    def exchange(self, request: Request, reply: Reply, about: About) -> None:
        self._asked(request, about)
        model = reply.provenance.served or reply.provenance.model
        begun = self._next_id()
        for part in reply.parts:
            if isinstance(part, TextPart | RefusalPart):
                self._emit(ev.ModelSaid, text=part.text, model=model, refused=isinstance(part, RefusalPart))
            elif isinstance(part, ThinkingPart):
                self._emit(ev.ModelThought, text=part.text, model=model, hidden=not part.text)
        self._emit(ev.TokensUsed, usage=reply.usage, model=model, cost=about.cost)
        self._emit(ev.ModelFinished, finish=reply.finish, model=model, reply=reply, provider_id=reply.id)
        self._called(reply, about)
        self._session.items.append(reply)
        self._session.first_events.append(begun)

    def failure(self, request: Request, error: DragomanError, about: About) -> None:
        self._asked(request, about)
        facts = {name: getattr(error, name, None) for name in ("status", "code")}
        self._emit(ev.ErrorOccurred, message=getattr(error, "message", str(error)), **facts)

    def _asked(self, request: Request, about: About) -> None:
        session = self._session
        if not session.items:
            dialect = None if about.dialect is None else about.dialect.name
            facts = {"gateway": {"client": about.client}}
            resumed = session.count > 0
            self._emit(
                ev.SessionStarted,
                model=about.model,
                dialect=dialect,
                cwd=about.folder,
                resumed=resumed,
                metadata=facts,
            )
            if resumed:
                self._emit(ev.HistoryRewound)  # what an earlier process recorded follows once more
        session.step += 1
        self._given(request.conversation, about)
        names = tuple(str(one.name) for one in request.definitions)
        self._emit(
            ev.ModelAsked,
            model=about.model,
            offered=names,
            streamed=request.stream,
            json=request.response_schema is not None,
            seed=request.seed,
        )

    def _given(self, conversation: Conversation, about: About) -> None:
        """What is new in a conversation."""
        session = self._session
        shared = _shared(session.items, conversation)
        if shared < len(session.items):
            self._emit(ev.HistoryRewound, to=session.first_events[shared])
            del session.first_events[shared:]
        session.items[:] = conversation  # the very items of the next request, which are compared fastest
        for item in conversation[shared:]:
            session.first_events.append(self._next_id())
            self._item(item, about)

    def _item(self, item: ConversationItem, about: About) -> None:
        text = "".join(part.text for part in item.parts if isinstance(part, TextPart))
        media = tuple(part.media for part in item.parts if isinstance(part, MediaPart))
        if item.role in ("system", "developer"):
            self._emit(ev.SystemSaid, text=text)
        elif item.role == "assistant":
            reply = item if isinstance(item, Reply) else Reply(item.parts, provenance=item.provenance or Provenance())
            self._emit(ev.ModelFinished, finish=reply.finish, model=reply.provenance.model, reply=reply)
            self._called(reply, about)
        elif text or media:
            by_client = text.lstrip().startswith("<system-reminder>")
            self._emit(ev.UserSaid, text=text, media=media, by="client" if by_client else "user")
        for part in item.parts:
            if isinstance(part, ResultPart) and item.role != "assistant":
                call = self._session.calls.get(part.result.call_id)
                result = Result(part.result.call_id, (), native=part.result)
                if call is not None and about.dialect is not None:
                    result = about.dialect.read_result(call, part.result)
                self._emit(ev.ToolReturned, result=result, call_id=result.call_id)

    def _called(self, reply: Reply, about: About) -> None:
        for native in reply.calls:
            call = _read(about.lowering.call(native), about.dialect)
            if native.executed_by is ExecutedBy.CLIENT:
                self._session.calls[native.id] = call
            self._emit(ev.ToolCalled, call=call, call_id=native.id)

    def _next_id(self) -> str:
        return f"{self._name}-{self._session.count + 1}"

    def _emit(self, kind: type[Any], **facts: Any) -> None:
        id = self._next_id()
        self._session.count += 1
        self._write(
            kind(
                id=id,
                session=self._name,
                run=self._name,
                step=self._session.step or None,
                time=datetime.datetime.now(datetime.UTC),
                client="dragoman",
                **facts,
            )
        )


def _read(native: NativeCall, dialect: Dialect | None) -> Call:
    if dialect is not None:
        return dialect.read_call(native)
    arguments = native.arguments if isinstance(native.arguments, dict) else {"input": native.arguments}
    return Call(native.id, (op.CallFunction(native.name, arguments),), native)


def _shared(recorded: Sequence[ConversationItem], conversation: Conversation) -> int:
    """How many items are recorded already. Instructions that a client changes are not recorded again."""
    known = [*map(is_, recorded, conversation)]
    for number in range(known.index(False) if False in known else len(known), len(known)):
        one, now = recorded[number], conversation[number]
        both_lead = one.role in ("system", "developer") and now.role == one.role
        if not known[number] and not both_lead and words_of(one) != words_of(now):
            return number
    return len(known)
