"""What the views on replies, usage and messages give."""

from __future__ import annotations

import pytest

from dragoman.engine import Orchestrator
from dragoman.engine.models import engine_for
from dragoman.model import (
    CallPart,
    Citation,
    ExecutedBy,
    Media,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    Reply,
    ResultPart,
    Span,
    TextPart,
    ThinkingPart,
    ToolChoice,
    Usage,
    calls_message,
    results_message,
    tool_call,
    tool_result,
    user,
)
from dragoman.model.request import Thinking


def test_a_reply_shows_its_text_thinking_calls_and_results() -> None:
    ours = NativeCall("1", "Read", {"file_path": "a.py"})
    theirs = NativeCall("2", "web_search", {"query": "q"}, executed_by=ExecutedBy.PROVIDER)
    found = NativeResult("2", "found", executed_by=ExecutedBy.PROVIDER)
    reply = Reply(
        (ThinkingPart("hm"), TextPart("one "), CallPart(theirs), ResultPart(found), TextPart("two"), CallPart(ours))
    )
    assert reply.text == "one two"
    assert reply.thinking == "hm"
    assert reply.calls == (theirs, ours)
    assert reply.results == (found,)
    assert reply.role == "assistant"


def test_citation_spans_of_a_reply_count_within_its_whole_text() -> None:
    reply = Reply(
        (
            TextPart("12345"),
            ThinkingPart("not text"),
            TextPart("abc", (Citation(url="u", span=Span(0, 3)), Citation(url="v"))),
        )
    )
    assert reply.citations == (Citation(url="u", span=Span(5, 8)), Citation(url="v"))
    assert [reply.text[c.span.start : c.span.end] for c in reply.citations if c.span] == ["abc"]


def test_usage_adds_up_and_not_said_stays_not_said() -> None:
    total = Usage(input_tokens=3, output_tokens=5, reasoning_tokens=2, requests={"web": 1}) + Usage(
        input_tokens=4, cached_read_tokens=7, requests={"web": 2, "code": 1}
    )
    assert total == Usage(
        input_tokens=7,
        cached_read_tokens=7,
        output_tokens=5,
        reasoning_tokens=2,
        requests={"code": 1, "web": 3},
    )
    assert total.total == 19, "reasoning is part of the output and counts once"
    assert Usage().total is None


def test_messages_are_made_from_texts_media_calls_and_results() -> None:
    image = Media("image/png", data="AA==")
    assert user("look", image) == Message("user", (TextPart("look"), MediaPart(image)))
    call, result = NativeCall("1", "f"), NativeResult("1", "ok")
    assert calls_message(call) == Message("assistant", (CallPart(call),))
    assert results_message(result) == Message("tool", (ResultPart(result),))


def test_a_call_and_its_result_are_written_by_hand() -> None:
    asked = tool_call("get_weather", {"city": "Rome"}, id="1")
    assert asked == calls_message(NativeCall("1", "get_weather", {"city": "Rome"}))
    told = results_message(NativeResult("1", "clear", name="get_weather"))
    assert tool_result(asked, "clear") == tool_result(NativeCall("1", "get_weather"), "clear") == told
    image = Media("image/png", data="AA==")
    assert tool_result("1", "look", image, is_error=True) == results_message(
        NativeResult("1", ("look", image), is_error=True)
    )
    assert tool_result("1") == results_message(NativeResult("1", ""))
    first, second = tool_call("f"), tool_call("f")
    assert first != second, "each has an id of its own"
    with pytest.raises(ValueError, match="the message makes 0 calls"):
        tool_result(user("hi"), "x")
    with pytest.raises(ValueError, match="the message makes 2 calls"):
        tool_result(calls_message(NativeCall("1", "f"), NativeCall("2", "f")), "x")


@pytest.mark.parametrize("model", ["openai:m", "openai-chat:m", "anthropic:m", "gemini:m"])
def test_a_conversation_with_a_call_and_its_result_travels_on_every_api(model: str) -> None:
    asked = tool_call("get_weather", {"city": "Rome"})
    engine, name = engine_for(model, api_key="k", configuration=None)
    prepared = Orchestrator(engine, model_name=name).prepare((user("How is Rome?"), asked, tool_result(asked, "clear")))
    assert prepared.encoded is not None
    sent = prepared.encoded.to_bytes().decode()
    assert sent.count("get_weather") >= 1
    assert "clear" in sent


@pytest.mark.parametrize(
    "mode, names, required",
    [
        ("one", (), False),
        ("one", ("a", "b"), False),
        ("subset", (), False),
        ("auto", ("a",), False),
        ("auto", (), True),
        ("requird", (), False),
        ("one", "weather", False),
    ],
)
def test_a_tool_choice_that_contradicts_itself_is_refused(mode: str, names: tuple[str, ...], required: bool) -> None:
    with pytest.raises(ValueError, match="choice"):
        ToolChoice(mode, names, required)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [{}, {"level": "low", "tokens": 5}, {"tokens": 0}, {"level": "extreme"}])
def test_thinking_is_a_level_or_a_number_of_tokens(said: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="thinking"):
        Thinking(**said)  # type: ignore[arg-type]
