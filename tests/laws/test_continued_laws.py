"""Requests that continue a conversation are written as if each were alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.apis import APIS
from dragoman.apis.base.continued import Continued
from dragoman.errors import DefinitionError
from dragoman.model import (
    CallPart,
    Conversation,
    ExecutedBy,
    FreeformDefinition,
    Media,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    OpaquePart,
    Provenance,
    Reply,
    Request,
    ResultPart,
    TextPart,
    Thinking,
    ThinkingPart,
    system,
    user,
)
from tests.apis.samples import BODIES
from tests.examples import examples

ALL = sorted(APIS.built_in)
PIXEL = Media("image/png", data="iVBORw0KGgo=")


def plain_turn(number: int) -> list[Any]:
    """A turn of the model with two calls, and their results."""
    calls = [NativeCall(f"call_{number}_{each}", "find", {"most": number}) for each in range(2)]
    results = [ResultPart(NativeResult(call.id, f"{number} parcels", name=call.name)) for call in calls]
    return [Reply((TextPart(f"Turn {number}."), *map(CallPart, calls))), Message("tool", tuple(results))]


def conversation_of(turns: int) -> list[Any]:
    return [system("Be brief."), user("Where are they?"), *(item for turn in range(turns) for item in plain_turn(turn))]


def said(*parts: Any, api: str | None = None, metadata: Any = None) -> Reply:
    return Reply(parts, provenance=Provenance(api=api, model="other"), metadata=metadata or {})


def call(id: str, **more: Any) -> CallPart:
    return CallPart(NativeCall(id, "find", {}, **more))


def result(id: str, content: Any = "ok", **more: Any) -> Message:
    return Message("tool", (ResultPart(NativeResult(id, content, name="find"), **more),))


def strange(api: str) -> list[list[Any]]:
    """Items that a conversation may hold at any place, and that some API writes otherwise than where they stand."""
    mark = {"anthropic_messages": {"cache_control": {"type": "ephemeral"}}}
    replies = [APIS[api].decode(body) for body in BODIES[api]]
    answered = [
        [reply, *(result(one.id) for one in reply.calls if one.executed_by is ExecutedBy.CLIENT)] for reply in replies
    ]
    return [
        *answered,
        [user("And the others?")],
        [user("Wait."), user("Go on.")],
        [system("Be very brief.")],
        [Message("developer", (TextPart("Speak French."),))],
        [Reply((TextPart("Alone."),))],
        [Reply((TextPart("No words: "), TextPart("")))],
        [Reply((call("lost"),))],
        [result("found")],
        [Reply((call("call_0_0"),)), result("call_0_0")],
        [Reply((call("not legal! " * 9),)), result("not legal! " * 9)],
        [Reply((call("space", namespace="acme"),)), Message("tool", (ResultPart(NativeResult("space", "ok")),))],
        [Reply((call("seen"),)), result("seen", ("a picture", PIXEL))],
        [Message("user", (TextPart("Look: "), MediaPart(PIXEL)))],
        [Message("user", (TextPart("Keep this.", metadata=mark),))],
        [said(ThinkingPart("Hm.", signature="c2ln"), TextPart("Yes."), api=api)],
        [said(ThinkingPart("Hm."), call("elsewhere"), api="another"), result("elsewhere")],
        [said(OpaquePart(api, {"type": "odd"}), TextPart("Odd."), api=api)],
        [said(call("hosted", executed_by=ExecutedBy.PROVIDER), TextPart("Done."), api=api)],
    ]


def written(encode: Any, request: Request) -> Any:
    try:
        encoded = encode(request)
    except DefinitionError as error:
        return error.problems
    return encoded.to_bytes(), encoded.path, encoded.headers, encoded.report, encoded.lowering


@pytest.mark.parametrize("api", ALL)
@examples(100)
@given(st.data())
@pytest.mark.slow
def test_a_request_that_continues_another_is_written_as_if_it_were_alone(api: str, data: st.DataObject) -> None:
    items = conversation_of(24)
    odd = strange(api)
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(items)))
        items[place:place] = data.draw(st.sampled_from(odd))
    codec: Any = type(APIS[api])()
    settings = [{"cache": True}, {}, {"thinking": Thinking("low")}, {"provider_options": {"store": False}}]
    for length in data.draw(st.lists(st.integers(38, len(items)), min_size=3, max_size=5)):
        conversation = items[:length]
        if data.draw(st.integers(0, 9)) == 0:
            conversation[data.draw(st.integers(0, length - 1))] = user("Changed.")
        request = Request("some-model", tuple(conversation), stream=True, **data.draw(st.sampled_from(settings)))
        assert written(codec.encode_to_send, request) == written(type(codec)().encode, request)


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("place", [2, 10, 44])
@pytest.mark.slow
def test_whatever_a_conversation_holds_at_its_beginning_or_end_it_is_written_as_if_it_were_alone(
    api: str, place: int
) -> None:
    for odd in strange(api):
        items = conversation_of(24)
        items[place:place] = odd
        follows(api, [Request("some-model", tuple(items[:-end] if end else items), cache=True) for end in (4, 2, 0)])


def follows(api: str, requests: list[Request]) -> None:
    """All are written by one codec as each is by a codec of its own."""
    codec: Any = type(APIS[api])()
    for request in (requests[0], *requests):  # what is asked once is not kept
        assert written(codec.encode_to_send, request) == written(type(codec)().encode, request)


@pytest.mark.parametrize("api", ALL)
def test_a_conversation_that_was_changed_is_not_taken_for_the_one_before(api: str) -> None:
    items = conversation_of(24)
    changed = [*items]
    changed[9] = Message("tool", (ResultPart(NativeResult("call_3_0", "other", name="find")), changed[9].parts[1]))
    follows(api, [Request("some-model", tuple(each), cache=True) for each in (items, changed, items[:-2], items)])


@pytest.mark.parametrize("api", ALL)
def test_other_settings_are_not_taken_for_those_before(api: str) -> None:
    items = conversation_of(24)
    patch = NativeCall("patch", "patch", "*** text")
    items[4:4] = [Reply((CallPart(patch),)), Message("tool", (ResultPart(NativeResult("patch", "ok", name="patch")),))]
    freeform = (FreeformDefinition("patch", "Patch it."),)
    bare = Request("gpt-5", tuple(items))
    follows(api, [bare, msgspec.structs.replace(bare, definitions=freeform), bare])


@pytest.mark.parametrize("api", ALL)
def test_what_two_requests_have_in_common_is_written_once(api: str) -> None:
    codec, field, items = type(APIS[api])(), APIS[api].conversation_fields[-1], conversation_of(50)
    _, first, second = (
        codec.encode_to_send(Request("some-model", tuple(items[:length]), cache=True)).body[field]
        for length in (len(items) - 4, len(items) - 2, len(items))
    )
    shared = sum(one is other for one, other in zip(first, second, strict=False))
    assert shared >= len(first) - 20


def test_a_conversation_that_cannot_be_kept_is_not_tried_again_before_it_has_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To try costs as much as to write it: calls that Gemini did not make carry a stand-in, which is a remark."""
    codec: Any = type(APIS["gemini_generate"])()
    foreign = [one for number in range(60) for one in (said(call(f"c{number}"), api="another"), result(f"c{number}"))]
    items = [user("Go."), *foreign]
    tried: list[int] = []
    begun = Continued._begun

    def counted(self: Continued, bare: Request, head: Conversation) -> Any:
        tried.append(1)
        return begun(self, bare, head)

    monkeypatch.setattr(Continued, "_begun", counted)
    for length in range(41, 81, 2):
        codec.encode_to_send(Request("gemini-3-pro-preview", tuple(items[:length])))
    assert len(tried) == 1
    codec.encode_to_send(Request("gemini-3-pro-preview", tuple(items[:101])))
    assert len(tried) == 2
