"""The events of one run, chunks among them: for listeners, and for iteration."""

from __future__ import annotations

import asyncio
import datetime
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from typing import Any

import msgspec

from dragoman.model import AnyChunk, ExecutedBy, Result, conversation as conv, events as ev

from .executor import Hooks, masked
from .loop import is_by_client
from .offer import Offer
from .typed_output import FinalOutput, OutputT, PartialOutput

Item = AnyChunk | ev.AnyEvent | PartialOutput | FinalOutput[OutputT]
Listener = Callable[[ev.AnyEvent], None]

_OF_TOOLS = {
    "called": ev.ToolCalled,
    "returned": ev.ToolReturned,
    "progressed": ev.ToolProgressed,
    "noted": ev.ClientNoted,
}


class EventStream:
    """Makes the events of a run and hands them out. `step` is the round they belong to."""

    def __init__(self, run: str, listeners: Iterable[Listener | None]) -> None:
        self.count = 0
        """Events so far, those of an earlier process among them: ids are made of it."""
        self.step = 0
        self._run = run
        self._listeners = [one for one in listeners if one is not None]
        self._items: deque[Item[Any]] | None = None
        self._wake: asyncio.Event | None = None

    @property
    def has_listeners(self) -> bool:
        """Whether anybody takes events."""
        return bool(self._listeners) or self._items is not None

    @property
    def iterated(self) -> bool:
        return self._items is not None

    def emit(self, kind: type[Any], **facts: Any) -> None:
        """Makes an event, if there is a listener for it."""
        if not self.has_listeners:
            return
        self.count += 1
        facts.setdefault("step", self.step or None)
        event = kind(
            id=f"{self._run}-{self.count}",
            session=self._run,
            run=self._run,
            time=datetime.datetime.now(datetime.UTC),
            client="dragoman",
            **facts,
        )
        for listener in self._listeners:
            listener(event)
        self.show(event)

    def tool(self, what: str, **facts: Any) -> None:
        """An event of the executor."""
        self.emit(_OF_TOOLS[what], **facts)

    # ── what was said ──────────────────────────────────────────────────────

    def given(self, items: Sequence[conv.ConversationItem]) -> None:
        """What the run begins with: what the user says now, and what was said in earlier runs."""
        for item in items:
            if item.role in ("system", "developer"):
                self.emit(ev.SystemSaid, text=_text_of(item))
            elif item.role == "user":
                self.user_said(item)
            elif item.role == "assistant":  # of an earlier run: told whole, so that the record is
                reply = item if isinstance(item, conv.Reply) else conv.Reply(item.parts, conv.FinishReason.UNKNOWN)
                self.emit(ev.ModelFinished, finish=reply.finish, model=reply.provenance.model, reply=reply)
            for part in item.parts:
                if isinstance(part, conv.ResultPart):
                    self.emit(ev.ToolReturned, result=Result(part.result.call_id, (), native=part.result))

    def user_said(self, item: conv.ConversationItem) -> None:
        media = tuple(part.media for part in item.parts if isinstance(part, conv.MediaPart))
        text = _text_of(item)
        if text or media:
            self.emit(ev.UserSaid, text=text, media=media, by="client" if is_by_client(item) else "user")

    async def replied(self, reply: conv.Reply, offer: Offer, hooks: Hooks, cost: float | None) -> None:
        """A reply of the model, part by part and then whole; calls as `hooks` lets them be shown."""
        model = reply.provenance.served or reply.provenance.model
        for part in reply.parts:
            if isinstance(part, conv.TextPart):
                self.emit(ev.ModelSaid, text=part.text, model=model)
            elif isinstance(part, conv.ThinkingPart):
                self.emit(ev.ModelThought, text=part.text, model=model, hidden=not part.text)
            elif isinstance(part, conv.RefusalPart):
                self.emit(ev.ModelSaid, text=part.text, model=model, refused=True)
        for native in reply.calls:
            if native.executed_by is ExecutedBy.PROVIDER:
                shown = await masked(offer.read_call(native), hooks)
                self.emit(ev.ToolCalled, call=shown, call_id=native.id)
        for told in reply.results:
            call = next((call for call in reply.calls if call.id == told.call_id), None)
            if call is not None:
                result = offer.read_result(offer.read_call(call), told)
                self.emit(ev.ToolReturned, result=result, call_id=told.call_id)
        self.emit(ev.TokensUsed, usage=reply.usage, model=model, cost=cost)
        whole = await _masked(reply, offer, hooks)
        self.emit(ev.ModelFinished, finish=reply.finish, model=model, reply=whole, provider_id=reply.id)

    # ── as an iteration ────────────────────────────────────────────────────

    def show(self, item: Item[Any]) -> None:
        """Hands an event or a chunk to the iteration, where there is one."""
        if self._items is not None and self._wake is not None:
            self._items.append(item)
            self._wake.set()

    async def during(self, work: Coroutine[Any, Any, Any]) -> AsyncGenerator[Item[Any], None]:
        """Events and chunks while `work` is done; its error is raised, and leaving the iteration cancels it."""
        items, wake = self._items, self._wake = deque[Item[Any]](), asyncio.Event()
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda _: wake.set())
        try:
            while True:
                while items:
                    yield items.popleft()
                if task.done():
                    break
                wake.clear()
                if not items and not task.done():
                    await wake.wait()
            task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])


async def _masked(reply: conv.Reply, offer: Offer, hooks: Hooks) -> conv.Reply:
    """A reply with its calls as events may show them; one that is shown otherwise than it was bears a mark."""
    if hooks.mask is None:
        return reply
    parts: list[conv.AnyPart] = []
    for part in reply.parts:
        if isinstance(part, conv.CallPart):
            native = (await masked(offer.read_call(part.call), hooks)).native
            if native != part.call:
                part = conv.CallPart(native, metadata={**part.metadata, "dragoman": {"masked": True}})
        parts.append(part)
    return msgspec.structs.replace(reply, parts=tuple(parts))


def _text_of(item: conv.ConversationItem) -> str:
    return "".join(part.text for part in item.parts if isinstance(part, conv.TextPart))
