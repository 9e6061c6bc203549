"""Pictures on every API: sent where the provider takes the type, replaced by a text where it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.apis import APIS
from dragoman.model import (
    CallPart,
    Media,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    Reply,
    Request,
    ResultPart,
    TextPart,
)

MODELS = {
    "anthropic_messages": "claude-sonnet-4-5",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "gemini_generate": "gemini-2.5-pro",
}
TAKEN = {
    "image/png": set(MODELS),
    "image/jpeg": set(MODELS),
    "image/webp": set(MODELS),
    "image/gif": set(MODELS) - {"gemini_generate"},
    "image/heic": {"gemini_generate"},
    "image/bmp": set(),
    "image/tiff": set(),
    "image/svg+xml": set(),
}
"""Media type → the APIs whose documentation lists it for pictures."""
BYTES = "QUJDREVGRw=="


def test_every_api_is_in_the_table() -> None:
    assert set(MODELS) == set(APIS)


def attached(api: str, media_type: str, *after: Message | Reply) -> Request:
    said = Message("user", (TextPart("See"), MediaPart(Media(media_type, data=BYTES, name="a.pic"))))
    return Request(MODELS[api], (said, *after))


def returned(api: str, media_type: str) -> Request:
    picture = Media(media_type, data=BYTES, name="a.pic")
    call = NativeCall("call_1", "look", {})
    return Request(
        MODELS[api],
        (
            Message("user", (TextPart("Look"),)),
            Reply((CallPart(call),)),
            Message("tool", (ResultPart(NativeResult("call_1", ("This:", picture), name="look")),)),
        ),
    )


def written(api: str, request: Request) -> tuple[str, Any]:
    encoded = APIS[api].encode(request)
    return json.dumps(encoded.body), encoded.report


@pytest.mark.parametrize("media_type", TAKEN)
@pytest.mark.parametrize("api", MODELS)
def test_a_new_attachment_is_sent_or_refused_before_it_is(api: str, media_type: str) -> None:
    problems = [one.message for one in APIS[api].validate(attached(api, media_type)) if "a.pic" in one.message]
    if api in TAKEN[media_type]:
        assert problems == []
        assert BYTES in written(api, attached(api, media_type))[0]
    else:
        assert problems == [f"{api} has no way to send a.pic ({media_type})"]


@pytest.mark.parametrize("media_type", TAKEN)
@pytest.mark.parametrize("api", MODELS)
def test_an_older_picture_that_cannot_be_sent_leaves_a_text(api: str, media_type: str) -> None:
    request = attached(api, media_type, Reply((TextPart("Seen."),)), Message("user", (TextPart("And now?"),)))
    body, report = written(api, request)
    assert (BYTES in body) == (api in TAKEN[media_type])
    assert (f"[{media_type} (a.pic): not shown]" in body) == (api not in TAKEN[media_type])
    assert [one for one in report if media_type in one.message] == ([] if api in TAKEN[media_type] else list(report))


@pytest.mark.parametrize("media_type", TAKEN)
@pytest.mark.parametrize("api", MODELS)
def test_a_result_whose_picture_cannot_be_sent_says_so_to_the_model(api: str, media_type: str) -> None:
    body, _ = written(api, returned(api, media_type))
    assert "This:" in body
    assert (BYTES in body) == (api in TAKEN[media_type])
    assert (f"[{media_type} (a.pic): not shown]" in body) == (api not in TAKEN[media_type])


@pytest.mark.parametrize("api", MODELS)
def test_the_unregistered_name_of_jpeg_is_sent_by_its_registered_one(api: str) -> None:
    body, report = written(api, attached(api, "image/jpg"))
    assert BYTES in body
    assert "image/jpeg" in body
    assert "image/jpg" not in body
    assert not report


def media_problems(request: Request) -> list[str]:
    problems = APIS["anthropic_messages"].validate(request)
    return [one.message for one in problems if "has no way to send" in one.message]


@pytest.mark.parametrize("width, height", [(8001, 10), (10, 8001)])
def test_a_picture_that_anthropic_finds_too_large_is_not_sent(width: int, height: int) -> None:
    picture = Media("image/png", data=BYTES, name="a.pic", width=width, height=height)
    new = Message("user", (MediaPart(picture),))
    assert media_problems(Request(MODELS["anthropic_messages"], (new,))) == [
        f"anthropic_messages has no way to send a.pic (image/png, {width} × {height} pixels)"
    ]
    older = (new, Reply((TextPart("Seen."),)), Message("user", (TextPart("And now?"),)))
    encoded = APIS["anthropic_messages"].encode(Request(MODELS["anthropic_messages"], older))
    text = f"[image/png, {width} × {height} pixels (a.pic): not shown]"
    assert encoded.body["messages"][0]["content"] == [{"type": "text", "text": text}]


def test_the_largest_picture_that_anthropic_takes_is_sent() -> None:
    picture = Media("image/png", data=BYTES, width=8000, height=8000)
    request = Request(MODELS["anthropic_messages"], (Message("user", (MediaPart(picture),)),))
    assert media_problems(request) == []
    assert BYTES in written("anthropic_messages", request)[0]


@pytest.mark.parametrize("more, is_sent", [(0, True), (4, False)])
def test_a_picture_with_more_base64_than_anthropic_takes_is_not_sent(more: int, is_sent: bool) -> None:
    picture = Media("image/png", data="A" * ((10 << 20) + more), name="a.pic")
    assert (
        bool(media_problems(Request(MODELS["anthropic_messages"], (Message("user", (MediaPart(picture),)),))))
        != is_sent
    )


def shots(count: int, *sides: int, returned: bool) -> tuple[Message | Reply, ...]:
    """A conversation with so many pictures; those with these sides come first."""
    items: list[Message | Reply] = [Message("user", (TextPart("Look"),))]
    for at in range(count):
        side = sides[at] if at < len(sides) else 100
        picture = Media("image/png", data=BYTES, name=f"{at}.png", width=side, height=10)
        if returned:
            items.append(Reply((CallPart(NativeCall(f"c{at}", "look", {})),)))
            items.append(Message("tool", (ResultPart(NativeResult(f"c{at}", (picture,), name="look")),)))
        else:
            items += [Message("user", (MediaPart(picture),)), Reply((TextPart("Seen."),))]
    return (*items, Message("user", (TextPart("And now?"),)))


@pytest.mark.parametrize("returned", [True, False])
@pytest.mark.parametrize("count, hidden", [(20, ()), (21, ("1.png", "2.png"))])
def test_beside_more_than_twenty_pictures_anthropic_gets_small_ones_alone(
    count: int, hidden: tuple[str, ...], returned: bool
) -> None:
    conversation = shots(count, 2000, 2001, 8000, returned=returned)
    body, report = written("anthropic_messages", Request(MODELS["anthropic_messages"], conversation))
    assert body.count(BYTES) == count - len(hidden)
    assert [name for name in ("0.png", "1.png", "2.png", "3.png") if f"({name}): not shown]" in body] == list(hidden)
    assert len(report) == len(hidden)


def test_a_request_that_grows_leaves_out_what_its_next_picture_makes_too_large() -> None:
    api = APIS["anthropic_messages"]
    conversation = shots(25, 3000, returned=True)
    model = MODELS["anthropic_messages"]
    for end in (*range(4, len(conversation), 2), len(conversation)):
        request = Request(model, conversation[:end])
        assert json.loads(api.encode_to_send(request).to_bytes()) == json.loads(api.encode(request).to_bytes())
    assert "0.png): not shown]" in api.encode_to_send(request).to_bytes().decode()


def test_a_new_picture_that_is_too_large_beside_the_others_is_refused() -> None:
    many = shots(20, returned=False)
    new = Message("user", (MediaPart(Media("image/png", data=BYTES, name="new.png", width=2400, height=10)),))
    problems = APIS["anthropic_messages"].validate(Request(MODELS["anthropic_messages"], (*many, new)))
    assert [(one.message, one.fix) for one in problems if not one.fixed] == [
        (
            "new.png (image/png, 2400 × 10 pixels) is too large for a request of more than 20",
            "scale it down to 2000 pixels a side, or give fewer",
        )
    ]
