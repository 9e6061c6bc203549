"""Laws of a run: whatever a model says and tools do, each call is answered once, in order, within the limits."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, strategies as st

from dragoman.apis import APIS
from dragoman.engine import Orchestrator, Retry, ScriptedEngine, ToolPolicy
from dragoman.engine.history import conversation_of
from dragoman.model import (
    AnyEvent,
    CallPart,
    ExecutedBy,
    FinishReason,
    Message,
    NativeCall,
    Provenance,
    Reply,
    Request,
    ResultPart,
    TextPart,
    ThinkingPart,
    ToolCalled,
    ToolReturned,
)
from dragoman.tools import Tool, tool
from tests.examples import examples

BEHAVIOURS = st.sampled_from(["returns", "raises", "waits", "hangs", "exits", "cancels", "returns nothing"])
FINISHES = st.sampled_from([FinishReason.CALLS, FinishReason.STOP, FinishReason.LENGTH, FinishReason.UNKNOWN])


class World:
    """Tools that behave as told, and how many ran at once."""

    def __init__(self) -> None:
        self.running = self.most = 0

    def tools(self) -> list[Tool]:
        @tool(timeout=0.02, repeatable=True, kind="read")
        async def act(how: str) -> Any:
            """Does as told."""
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                return await self._act(how)
            finally:
                self.running -= 1

        @tool(timeout=0.02, sequential=True)
        async def alone(how: str) -> Any:
            """The same, by itself."""
            return await self._act(how)

        return [act, alone]

    async def _act(self, how: str) -> Any:
        await asyncio.sleep(0)
        if how == "raises":
            raise OSError("no")
        if how == "hangs":
            await asyncio.Event().wait()
        if how == "exits":
            raise SystemExit(1)
        if how == "cancels":
            raise asyncio.CancelledError
        if how == "waits":
            await asyncio.sleep(0.001)
        return None if how == "returns nothing" else how


@st.composite
def replies(draw: st.DrawFn) -> list[Reply]:
    made = []
    for turn in range(draw(st.integers(0, 3))):
        parts: list[Any] = [ThinkingPart("hm", signature="s")] if draw(st.booleans()) else []
        parts += [TextPart(draw(st.text(max_size=5)))] if draw(st.booleans()) else []
        for number in range(draw(st.integers(1, 4))):
            name = draw(st.sampled_from(["act", "alone", "nobody", "act "]))
            arguments: Any = draw(st.one_of(BEHAVIOURS.map(lambda how: {"how": how}), st.just({}), st.just("not json")))
            id = draw(st.sampled_from([f"c{turn}{number}", "same", ""]))
            by = draw(st.sampled_from([ExecutedBy.CLIENT] * 5 + [ExecutedBy.PROVIDER]))
            parts.append(CallPart(NativeCall(id, name, arguments, executed_by=by)))
        made.append(Reply(tuple(parts), draw(FINISHES), provenance=Provenance(api="elsewhere", model="other")))
    return made


@examples(60)
@given(replies(), st.sampled_from(["continue", "retry", "abort"]), st.integers(1, 3), st.booleans(), st.booleans())
def test_every_call_is_answered_once_in_order_and_the_history_can_be_sent_anywhere(
    said: list[Reply], on_error: Any, most: int, early: bool, stream: bool
) -> None:
    world, events = World(), []
    policy = ToolPolicy(on_error=on_error, max_parallel=most, retry=Retry(times=1, base=0), early=early)

    async def whole() -> Any:
        engine = ScriptedEngine([*said, "the end"])
        run = Orchestrator(engine, world.tools(), policy, model_name="some-model", dialect="plain")
        before = asyncio.all_tasks()
        result = await run.run("go", emit=events.append, stream=stream)
        assert asyncio.all_tasks() == before
        return result

    result = asyncio.run(whole())
    assert world.running == 0
    assert world.most <= most
    assert result.status == ("failed" if on_error == "abort" and result.error else "completed")
    for place, item in enumerate(result.conversation):
        asked = (
            [call for call in item.calls if call.executed_by is ExecutedBy.CLIENT] if isinstance(item, Reply) else []
        )
        if asked:
            answer = result.conversation[place + 1]
            assert isinstance(answer, Message)
            told = [part.result for part in answer.parts if isinstance(part, ResultPart)]
            assert [(one.call_id, one.name) for one in told] == [(call.id, call.name) for call in asked]
    _events_pair(events)
    if all(len({call.id for call in reply.calls}) == len(reply.calls) for reply in said):
        assert conversation_of(events) == result.conversation
    for api in APIS.built_in:
        codec = APIS[api]
        request = Request("some-model", (*result.conversation, Message("user", (TextPart("and?"),))))
        encoded = codec.encode(request)
        again = codec.read_request(encoded.body, model="some-model")
        assert [one for one in codec.validate(again) if not one.accepted] == [], (api, encoded.body)


def _events_pair(events: list[AnyEvent]) -> None:
    """Each call that was told of was told to have returned, once, after it was called."""
    open_calls: list[str] = []
    for event in events:
        if isinstance(event, ToolCalled) and event.call.native.executed_by is ExecutedBy.CLIENT:
            open_calls.append(event.call.id)
        elif isinstance(event, ToolReturned) and event.call_id in open_calls:
            open_calls.remove(event.call_id)
    assert open_calls == []
