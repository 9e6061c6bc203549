"""Chat Completions: each kind of field, event, quirk and error, in samples of our own making."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.conversation import (
    CallPart,
    Citation,
    FinishReason,
    MediaPart,
    Message,
    OpaquePart,
    Provenance,
    RefusalPart,
    Reply,
    ResultPart,
    Span,
    TextPart,
    ThinkingPart,
    Usage,
    assistant,
    calls_message,
    results_message,
    system,
    user,
)
from dragoman.model.outcomes import Media
from dragoman.model.request import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    CitationArrived,
    Definition,
    Finished,
    FreeformDefinition,
    FunctionDefinition,
    MediaArrived,
    ProviderDefinition,
    RefusalChunk,
    Request,
    ResultArrived,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolChoice,
    ToolExample,
    UsageArrived,
)

API = APIS["openai_chat"]
NAME = "openai_chat"
BAD_GATEWAY = 'the server sent a web page ("Bad gateway"), not an answer of an API'


def answer(message: dict[str, Any], finish: str | None = "stop", **body: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return API.decode({"id": "c1", "model": "m", "choices": [choice], **body})


def call(id: str = "a", name: str = "f", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def sent_back(message: dict[str, Any], model: str = "m") -> dict[str, Any]:
    body = {"model": "m", "choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    return dict(API.encode(Request(model, (user("?"), API.decode(body)))).body["messages"][1])


# ── answers ──────────────────────────────────────────────────────────────────


def test_a_plain_answer_is_text_with_its_id_model_and_usage() -> None:
    body = {
        "id": "c1",
        "object": "chat.completion",
        "created": 7,
        "model": "m-1",
        "system_fingerprint": "fp",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "logprobs": None, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }
    assert API.decode(body) == Reply(
        (TextPart("Hi"),),
        FinishReason.STOP,
        "stop",
        Usage(input_tokens=5, output_tokens=2),
        "c1",
        provenance=Provenance(api=NAME, model="m-1"),
        metadata={NAME: {"created": 7, "system_fingerprint": "fp"}},
    )


@pytest.mark.parametrize(
    "arguments, read",
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("null", {}),
        (None, {}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_arguments_are_a_mapping_or_the_text_itself(arguments: Any, read: Any) -> None:
    reply = answer({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": arguments}}]}, "tool_calls")
    assert reply.calls == (NativeCall("a", "f", read),)
    assert reply.finish is FinishReason.CALLS


def test_calls_without_an_id_or_with_a_taken_one_get_one_that_stays() -> None:
    message = {"tool_calls": [call(""), call("x"), call("x", "g"), {"function": {"name": "h"}}]}
    ids = [one.id for one in answer(message).calls]
    assert len(set(ids)) == 4
    assert ids[1] == "x"
    assert ids == [one.id for one in answer(message).calls]


def test_a_custom_call_keeps_its_text() -> None:
    item = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin\n{"}}
    reply = answer({"content": None, "tool_calls": [item]})
    assert reply.calls == (NativeCall("a", "patch", "*** Begin\n{"),)
    assert body_of(Request("gpt-5", (user("?"), reply)))["messages"][1]["tool_calls"] == [item]


def test_an_empty_custom_object_beside_a_function_does_not_make_it_custom() -> None:
    reply = answer({"tool_calls": [call(arguments='{"a":1}', custom={"name": "", "input": ""})]})
    assert reply.calls == (NativeCall("a", "f", {"a": 1}),)


def test_the_one_call_of_old_is_a_call_and_its_result_a_function_message() -> None:
    reply = answer({"content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}, "function_call")
    (made,) = reply.calls
    assert (made.name, made.arguments, reply.finish) == ("f", {"a": 1}, FinishReason.CALLS)
    body = API.encode(Request("m", (user("?"), reply, results_message(NativeResult(made.id, "2"))))).body
    assert body["messages"][1:] == [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"role": "function", "name": "f", "content": "2"},
    ]


@pytest.mark.parametrize(
    "word, message, finish",
    [
        ("stop", {"content": "x"}, FinishReason.STOP),
        ("stop", {"tool_calls": [call()]}, FinishReason.CALLS),
        ("", {"tool_calls": [call()]}, FinishReason.CALLS),
        ("length", {"tool_calls": [call(arguments='{"a')]}, FinishReason.LENGTH),
        ("stop", {"refusal": "No."}, FinishReason.REFUSED),
        ("content_filter", {"content": ""}, FinishReason.FILTERED),
        ("eos", {"content": "x"}, FinishReason.STOP),
        ("model_length", {"content": "x"}, FinishReason.CONTEXT_EXCEEDED),
        ("insufficient_system_resource", {"content": "x"}, FinishReason.INTERRUPTED),
        ("stop", {"content": "x", "executed_tools": [{"type": "search", "arguments": "{}"}]}, FinishReason.STOP),
        ("something new", {"content": "x"}, FinishReason.UNKNOWN),
        (None, {"content": "x"}, FinishReason.UNKNOWN),
    ],
)
def test_why_a_model_stopped(word: str | None, message: dict[str, Any], finish: FinishReason) -> None:
    reply = answer(message, word)
    assert (reply.finish, reply.finish_raw) == (finish, word or None)


def test_thoughts_are_read_from_every_field_and_go_back_in_the_same() -> None:
    details = [
        {"type": "reasoning.text", "text": "Well", "signature": "s", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "e", "id": "r1", "format": "openai-responses-v1", "index": 1},
        {"type": "reasoning.summary", "summary": ", so", "index": 2},
    ]
    message = {"content": "x", "reasoning": "Well, so", "reasoning_details": details}
    thoughts = [part for part in answer(message).parts if isinstance(part, ThinkingPart)]
    assert [(one.text, one.signature, one.encrypted, one.id) for one in thoughts] == [
        ("Well", "s", None, None),
        ("", None, "e", "r1"),
        (", so", None, None, None),
    ]
    assert sent_back(message) == {"role": "assistant", **message}
    for key in ("reasoning", "reasoning_content"):
        plain = {"content": "x", key: "Hm"}
        assert answer(plain).thinking == "Hm"
        assert sent_back(plain) == {"role": "assistant", **plain}


def test_thoughts_told_differently_in_two_fields_are_both_kept() -> None:
    message = {"content": "x", "reasoning": "short", "reasoning_details": [{"type": "reasoning.text", "text": "long"}]}
    assert answer(message).thinking == "longshort"
    assert sent_back(message) == {"role": "assistant", **message}


def test_thoughts_do_not_go_to_another_model() -> None:
    signed = {"content": "x", "reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": "s"}]}
    assert sent_back(signed, "another") == {"role": "assistant", "content": "x"}
    reply = msgspec.structs.replace(
        answer({"content": "x", "reasoning_content": "t"}), provenance=Provenance(NAME, model="deepseek-v4-flash")
    )
    written = API.encode(Request("deepseek-reasoner", (user("?"), reply)))
    assert written.body["messages"][1]["reasoning_content"] == "t"  # an alias: one maker, and the thought is not signed
    written = API.encode(Request("gpt-4o", (user("?"), reply)))
    assert "reasoning_content" not in written.body["messages"][1]
    assert [remark.message for remark in written.report] == ["thinking of another model was left out"]


def test_thinking_in_a_list_of_content_stays_there() -> None:
    message = {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}], "closed": True},
            {"type": "text", "text": "Yes"},
            {"type": "reference", "reference_ids": [1]},
        ]
    }
    reply = answer(message)
    assert (reply.thinking, reply.text) == ("Hm", "Yes")
    assert reply.parts[2] == OpaquePart(NAME, {"type": "reference", "reference_ids": [1]})
    assert sent_back(message) == {"role": "assistant", **message}


def test_signatures_of_gemini_stand_on_their_part_and_go_back() -> None:
    signed = {"google": {"thought_signature": "sig"}}
    message = {"content": None, "tool_calls": [call(extra_content=signed)]}
    (part,) = answer(message).parts
    assert isinstance(part, CallPart)
    assert part.signature == "sig"
    assert sent_back(message)["tool_calls"] == message["tool_calls"]
    spoken = {"content": "x", "extra_content": signed, "thought_signature": "sig"}
    assert [part.signature for part in answer(spoken).parts if isinstance(part, ThinkingPart)] == ["sig"]
    assert sent_back(spoken) == {"role": "assistant", **spoken}


def test_what_a_provider_ran_is_a_call_with_its_result_and_no_call_of_ours() -> None:
    tool = {"type": "search", "index": 0, "arguments": '{"query": "q"}', "output": "found"}
    reply = answer({"content": "x", "executed_tools": [tool]})
    (made,), (result,) = reply.calls, reply.results
    assert made == NativeCall(made.id, "search", {"query": "q"}, "groq", ExecutedBy.PROVIDER, tool)
    assert result == NativeResult(made.id, "found", None, "search", "groq", ExecutedBy.PROVIDER, tool)
    written = API.encode(Request("m", (user("?"), reply)))
    assert written.body["messages"][1] == {"role": "assistant", "content": "x"}
    assert len(written.report) == 2


def test_citations_have_their_span_in_the_text_and_nothing_where_there_is_none() -> None:
    cited = {"url": "https://a", "title": "A", "start_index": 2, "end_index": 5}
    unplaced = {"url": "https://b", "content": "said", "start_index": 0, "end_index": 0}
    annotations = [{"type": "url_citation", "url_citation": one} for one in (cited, unplaced)]
    reply = answer({"content": "ab(c)d", "annotations": annotations})
    assert reply.citations == (
        Citation("https://a", "A", span=Span(2, 5)),
        Citation("https://b", quote="said", location={"start_index": 0, "end_index": 0}),
    )


def test_sources_of_a_whole_answer_are_citations() -> None:
    found = {"url": "https://a", "title": "A", "snippet": "said", "date": "2026-01-01"}
    reply = answer({"content": "x [1]"}, search_results=[found], citations=["https://a", "https://b"])
    assert reply.citations == (
        Citation("https://a", "A", quote="said", metadata={NAME: {"date": "2026-01-01"}}),
        Citation("https://b"),
    )
    assert reply.metadata == {}


def test_a_file_that_was_read_goes_back_so_that_it_is_not_read_again() -> None:
    annotation = {"type": "file", "file": {"hash": "h", "name": "a.pdf", "content": [{"type": "text", "text": "t"}]}}
    message = {"content": "x", "annotations": [annotation]}
    (citation,) = answer(message).citations
    assert (citation.document, citation.quote, citation.location) == ("a.pdf", "t", {"hash": "h"})
    assert sent_back(message) == {"role": "assistant", **message}


def test_a_spoken_answer_is_its_transcript_and_the_sound_and_goes_back_by_its_id() -> None:
    audio = {"id": "audio_1", "data": "QUJD", "transcript": "Hello", "expires_at": 9}
    reply = answer({"content": None, "audio": audio})
    assert reply.text == "Hello"
    assert [part.media for part in reply.parts if isinstance(part, MediaPart)] == [
        Media("audio/*", data="QUJD", file_id="audio_1")
    ]
    assert sent_back({"content": None, "audio": audio}) == {
        "role": "assistant",
        "content": None,
        "audio": {"id": "audio_1"},
    }


def test_images_a_model_made_are_media() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    reply = answer({"content": "x", "images": [image]})
    assert [part.media for part in reply.parts if isinstance(part, MediaPart)] == [Media("image/png", data="QUJD")]


def test_a_refusal_is_a_refusal() -> None:
    assert answer({"content": None, "refusal": "No."}).parts == (RefusalPart("No."),)
    assert sent_back({"content": None, "refusal": "No."}) == {"role": "assistant", "content": None, "refusal": "No."}


def test_further_answers_are_alternatives_in_their_order() -> None:
    choices = [
        {"index": index, "message": {"content": word}, "finish_reason": "stop"} for index, word in ((1, "b"), (0, "a"))
    ]
    reply = API.decode({"choices": choices})
    assert (reply.text, [one.text for one in reply.alternatives]) == ("a", ["b"])


def test_a_call_goes_back_letter_for_letter() -> None:
    calls = [call("a", "f", '{ "a" : 1.0 }'), call("b", "g", "")]
    assert sent_back({"content": "", "tool_calls": calls}) == {"role": "assistant", "content": "", "tool_calls": calls}


# ── usage ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "usage, read",
    [
        (
            {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}},
            Usage(4, 6, None, 4),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}},
            Usage(5, 2, 3),
        ),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 6, "completion_tokens": 1}, Usage(4, 6, None, 1)),
        ({"prompt_tokens": 10, "cached_tokens": 6}, Usage(4, 6)),
        ({"prompt_tokens": 10, "num_cached_tokens": 6}, Usage(4, 6)),
        ({"prompt_tokens": 10, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 1}, Usage(3, 6, 1)),
        (
            {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}},
            Usage(output_tokens=9, reasoning_tokens=5),
        ),
        (  # reasoning beside the completion, as the sum says
            {
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "total_tokens": 12,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(3, output_tokens=9, reasoning_tokens=7),
        ),
        (  # the cached ones beside the prompt, as their number says
            {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 161}},
            Usage(7, 161),
        ),
        (  # sound beside the prompt, as the sum says
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 111,
                "prompt_tokens_details": {"audio_tokens": 100},
            },
            Usage(109, output_tokens=2, metadata={NAME: {"prompt_tokens_details": {"audio_tokens": 100}}}),
        ),
        (
            {"prompt_tokens": 1, "server_tool_use_details": {"web_search_requests": 2}},
            Usage(1, requests={"web_search": 2}),
        ),
        ({"prompt_tokens": 1, "cost": 0.5}, Usage(1, metadata={NAME: {"cost": 0.5}})),
        ({"prompt_tokens": None, "completion_tokens": "2"}, Usage(metadata={NAME: {"completion_tokens": "2"}})),
        ({}, Usage()),
        (None, Usage()),
    ],
)
def test_tokens_are_counted_once_in_every_dialect_of_usage(usage: Any, read: Usage) -> None:
    assert API.read_usage(usage) == read


def test_usage_is_found_where_groq_and_moonshot_put_it() -> None:
    counted = {"prompt_tokens": 1, "completion_tokens": 2}
    assert answer({"content": "x"}, x_groq={"id": "r", "usage": counted}).usage == Usage(1, output_tokens=2)
    choices = [{"message": {"content": "x"}, "finish_reason": "stop", "usage": counted}]
    assert API.decode({"choices": choices}).usage == Usage(1, output_tokens=2)


# ── errors ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "status, body, message, code, again",
    [
        (400, {"error": {"message": "Bad.", "type": "bad_request", "code": None}}, "Bad.", "bad_request", False),
        (429, {"error": {"message": "Slow.", "code": "rate_limit_exceeded"}}, "Slow.", "rate_limit_exceeded", True),
        (429, {"error": {"message": "Paid?", "code": "insufficient_quota"}}, "Paid?", "insufficient_quota", False),
        (400, {"object": "error", "message": "No.", "type": "bad_args", "code": "3051"}, "No.", "3051", False),
        (401, {"detail": "Who?"}, "Who?", None, False),
        (422, {"detail": [{"msg": "missing"}]}, '[{"msg":"missing"}]', None, False),
        (404, {"error": "No such model"}, "No such model", None, False),
        (403, {"code": "denied", "error": "No key"}, "No key", "denied", False),
        (500, {"error": {"code": 500, "message": "Oh", "type": "server_error"}}, "Oh", "server_error", True),
        (429, {"error": {"code": 429, "message": "Failed", "metadata": {"raw": "busy"}}}, "Failed: busy", "429", True),
        (502, b"<html>Bad gateway</html>", BAD_GATEWAY, None, True),
        (503, b"", "the provider gave no reason", None, True),
    ],
)  # fmt: skip
def test_every_shape_of_an_error_is_read(status: int, body: Any, message: str, code: str | None, again: bool) -> None:
    error = API.error(status, {"X-Request-Id": "r1", "Retry-After": "2"}, body)
    assert (error.message, error.status, error.code, error.retryable) == (message, status, code, again)
    assert (error.request_id, error.retry_after) == ("r1", 2.0)


def test_an_error_in_a_good_response_is_raised_with_what_was_said() -> None:
    with pytest.raises(EngineError, match="filtered") as caught:
        API.decode({"error": {"message": "filtered", "code": "content_filter", "status": 400}})
    assert (caught.value.status, caught.value.code) == (400, "content_filter")
    with pytest.raises(EngineError, match="upstream") as caught:
        API.decode({"choices": [{"message": {"content": "so f"}}], "error": {"message": "upstream", "code": 502}})
    assert caught.value.partial.text == "so f"
    assert caught.value.retryable is False or caught.value.status == 502


@pytest.mark.parametrize("body", [None, [], "x", 1, {}, {"choices": None}, {"choices": "x"}, {"id": "c"}])
def test_what_is_no_answer_is_an_engine_error(body: Any) -> None:
    with pytest.raises(EngineError, match="no response of Chat Completions"):
        API.decode(body)


# ── streams ──────────────────────────────────────────────────────────────────


def streamed(*events: Any, done: bool = True) -> tuple[list[AnyChunk], Reply]:
    decoder, chunks = API.stream(), []
    for event in events:
        chunks += decoder.feed(f"data: {json.dumps(event)}\n\n".encode())
    if done:
        chunks += decoder.feed(b"data: [DONE]\n\n")
    return chunks, decoder.close()


def delta(finish: str | None = None, *, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "m", "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


def piece(index: int | None = 0, id: str | None = None, name: str | None = None, said: Any = "") -> dict[str, Any]:
    item: dict[str, Any] = {"function": {"arguments": said}}
    if index is not None:
        item["index"] = index
    if id is not None:
        item["id"] = id
    if name is not None:
        item["function"]["name"] = name
    return item


def test_text_thinking_and_refusals_stream_as_they_come() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    chunks, reply = streamed(
        delta(role="assistant", content=""),
        delta(reasoning_content="Hm"),
        delta(content="Y"),
        delta(content="es"),
        delta("stop"),
        {"id": "c1", "choices": [], "usage": usage},
    )
    counted = Usage(1, output_tokens=2)
    assert chunks == [
        ThinkingChunk("Hm"),
        TextChunk("Y"),
        TextChunk("es"),
        Finished(FinishReason.STOP),
        UsageArrived(counted),
    ]
    assert reply == answer({"content": "Yes", "reasoning_content": "Hm"}, usage=usage)
    assert streamed(delta(refusal="N"), delta("stop", refusal="o"))[0][:2] == [RefusalChunk("N"), RefusalChunk("o")]


def test_a_call_streams_under_one_id_and_the_reply_is_that_of_the_whole() -> None:
    chunks, reply = streamed(
        delta(tool_calls=[piece(0, "a", "f")]),
        delta(tool_calls=[piece(0, said='{"x"')]),
        delta(tool_calls=[piece(0, None, None, ":1}"), piece(1, "b", "g", "{}")]),
        delta("tool_calls"),
    )
    assert chunks == [
        CallStarted("a", "f"),
        ArgumentsChunk("a", '{"x"'),
        ArgumentsChunk("a", ":1}"),
        CallStarted("b", "g"),
        ArgumentsChunk("b", "{}"),
        CallFinished(NativeCall("a", "f", {"x": 1})),
        CallFinished(NativeCall("b", "g", {})),
        Finished(FinishReason.CALLS),
    ]
    assert reply == answer({"tool_calls": [call("a", "f", '{"x":1}'), call("b", "g")]}, "tool_calls")


@pytest.mark.parametrize(
    "pieces, calls",
    [
        ([piece(0, "a", "f", '{"x":'), piece(0, "", "", "1}")], [("a", "f", {"x": 1})]),
        ([piece(0, "a", "f", '{"x":'), piece(0, "a", "f", "1}")], [("a", "f", {"x": 1})]),
        ([piece(0, "a", "f", '{"x":'), piece(0, "other", None, "1}")], [("a", "f", {"x": 1})]),
        ([piece(None, "a", "f", '{"x":'), piece(None, said="1}")], [("a", "f", {"x": 1})]),
        ([piece(0, "a", "f", '{"x":'), piece(7, said="1}")], [("a", "f", {"x": 1})]),
        ([piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")], [("a", "f", {}), ("b", "g", {})]),
        ([piece(0, "a", "f", "{}"), piece(1, None, "g", "{}")], [("a", "f", {}), (None, "g", {})]),
        ([piece(0, "a", "f", "{}"), piece(1, "b"), piece(1, None, "g", "{}")], [("a", "f", {}), ("b", "g", {})]),
        ([piece(0, "a", "f"), piece(0, "b", "g", '{"x":1}')], [("a", "f", {}), ("b", "g", {"x": 1})]),
        ([piece(0, "a", "f", "{}"), piece(0, "a", "g", "{}")], [("a", "f", {}), (None, "g", {})]),
        ([piece(0, None, "f", "{}"), piece(0, None, "g", '{"x":1}')], [(None, "f", {}), (None, "g", {"x": 1})]),
        ([piece(0, "a", "f", {"x": 1})], [("a", "f", {"x": 1})]),
        ([piece(0, "a", "f", None)], [("a", "f", {})]),
        ([piece(0, "a", "f", '{"x'), piece(1, "b", "g", '{"y'), piece(0, said='":1}'), piece(1, said='":2}')],
         [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]),
        ([piece(0, "a", "f", '{"x'), piece(0, "b", "g", '{"y":2}')], [("a", "f", '{"x{"y":2}')]),
        ([piece(0, said='{"x"'), piece(0, said=":1}"), piece(0, "a", "f")], [("a", "f", {"x": 1})]),
        ([{"index": 0, "id": "a", "function": {"name": "f"}}, {"index": 0, "function": None}], [("a", "f", {})]),
    ],
)  # fmt: skip
def test_pieces_of_calls_find_their_call(pieces: list[dict[str, Any]], calls: list[Any]) -> None:
    chunks, reply = streamed(*(delta(tool_calls=[one]) for one in pieces), delta("tool_calls"))
    made = [(one.id, one.name, one.arguments) for one in reply.calls]
    ids = [expected[0] and id for (id, _, _), expected in zip(made, calls, strict=True)]
    assert [(id, name, read) for id, (_, name, read) in zip(ids, made, strict=True)] == calls
    assert [chunk.call for chunk in chunks if isinstance(chunk, CallFinished)] == list(reply.calls)
    told = {chunk.call_id for chunk in chunks if isinstance(chunk, CallStarted | ArgumentsChunk)}
    assert told == {one.id for one in reply.calls}


@pytest.mark.parametrize("images", [[], "x", [{"type": "unknown"}]])
def test_images_that_are_none_are_kept_as_they_came(images: Any) -> None:
    reply = answer({"content": "x", "images": images})
    assert (reply.parts, reply.metadata) == ((TextPart("x"),), {NAME: {"message": {"images": images}}})


def test_a_picture_among_blocks_of_content_arrives_as_media() -> None:
    block = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    chunks, reply = streamed(delta(content=[block]), delta("stop"))
    media = Media("image/png", data="iVBORw0KGgo=")
    assert chunks == [MediaArrived(media), Finished(FinishReason.STOP)]
    assert [part.media for part in reply.parts if isinstance(part, MediaPart)] == [media]


def test_a_field_told_in_pieces_is_put_together() -> None:
    pieces = [{"a": [1], "b": 1, "c": 1}, {"a": [2], "b": 2, "c": None}, {"d": None, "e": [3]}, {"e": [4]}]
    _, reply = streamed(*(delta(more=piece) for piece in pieces), delta("stop", content="x"))
    whole = {"a": [1, 2], "b": 2, "c": 1, "d": None, "e": [3, 4]}
    assert reply.metadata == {NAME: {"message": {"more": whole}}}


def test_an_id_that_comes_late_is_kept_beside_the_first() -> None:
    pieces = [piece(0, "a", "f", '{"x":'), piece(0, "b", None, "1}"), piece(0, said=" ")]
    chunks, reply = streamed(*(delta(tool_calls=[one]) for one in pieces), delta("tool_calls"))
    assert reply == answer({"tool_calls": [{**call("a", "f", '{"x":1} '), "late_id": "b"}]}, "tool_calls")
    assert chunks[:4] == [CallStarted("a", "f"), *(ArgumentsChunk("a", said) for said in ('{"x":', "1}", " "))]


def test_a_whole_call_in_the_last_event_and_one_after_it_are_both_finished() -> None:
    chunks, reply = streamed(
        delta("tool_calls", tool_calls=[piece(0, "a", "f", "{}")]),
        delta(tool_calls=[piece(1, "b", "g", "{}")]),
    )
    assert [chunk.call.id for chunk in chunks if isinstance(chunk, CallFinished)] == ["a", "b"]
    assert len([chunk for chunk in chunks if isinstance(chunk, Finished)]) == 1
    assert [one.id for one in reply.calls] == ["a", "b"]


def test_a_partial_view_of_arguments_grows() -> None:
    decoder = API.stream()
    for one in (piece(0, "a", "f"), piece(said='{"path": "a.'), piece(said='py", "n')):
        decoder.feed(f"data: {json.dumps(delta(tool_calls=[one]))}\n\n".encode())
    assert decoder.arguments("a") == {"path": "a.py"}


def test_old_and_custom_calls_stream_too() -> None:
    chunks, reply = streamed(
        delta(function_call={"name": "f", "arguments": ""}), delta(function_call={"arguments": "{}"}), delta("stop")
    )
    (made,) = reply.calls
    assert chunks == [
        CallStarted(made.id, "f"),
        ArgumentsChunk(made.id, "{}"),
        CallFinished(made),
        Finished(FinishReason.CALLS),
    ]
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "p", "input": "*** "}}
    more = {"index": 0, "custom": {"input": "Begin"}}
    _, reply = streamed(delta(tool_calls=[custom]), delta(tool_calls=[more]), delta("tool_calls"))
    assert reply.calls == (NativeCall("a", "p", "*** Begin"),)


def test_thoughts_in_details_are_put_together_with_their_signature() -> None:
    def detail(**fields: Any) -> dict[str, Any]:
        return {"type": "reasoning.text", "format": "f", "index": 0, **fields}

    chunks, reply = streamed(
        delta(reasoning="We", reasoning_details=[detail(text="We")]),
        delta(reasoning="ll", reasoning_details=[detail(text="ll")]),
        delta(reasoning_details=[detail(signature="s")]),
        delta("stop", content="x"),
    )
    assert [chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)] == ["We", "ll"]
    whole = {"content": "x", "reasoning": "Well", "reasoning_details": [detail(text="Well", signature="s")]}
    assert reply == answer(whole)


def test_content_in_lists_streams_and_is_put_together() -> None:
    def thinking(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    chunks, reply = streamed(
        delta(content=[thinking("H")]),
        delta(content=[thinking("m")]),
        delta(content=[{"type": "text", "text": "Y"}]),
        delta("stop", content="es"),
    )
    assert chunks[:4] == [ThinkingChunk("H"), ThinkingChunk("m"), TextChunk("Y"), TextChunk("es")]
    assert reply == answer({"content": [thinking("Hm"), {"type": "text", "text": "Yes"}]})


def test_citations_provider_calls_sound_and_images_arrive_as_they_come() -> None:
    cited = {"type": "url_citation", "url_citation": {"url": "https://a"}}
    begun = {"index": 0, "type": "search", "arguments": '{"query":"q"}'}
    image = {"type": "image_url", "image_url": {"url": "https://i"}}
    chunks, reply = streamed(
        delta(executed_tools=[begun]),
        delta(executed_tools=[{**begun, "output": "found"}]),
        delta(content="x", annotations=[cited]),
        delta(annotations=[cited], images=[image]),
        delta("stop"),
    )
    (made,), (result,) = reply.calls, reply.results
    assert chunks == [
        CallStarted(made.id, "search", "groq", ExecutedBy.PROVIDER),
        ArgumentsChunk(made.id, '{"query":"q"}'),
        CallFinished(made),
        ResultArrived(result),
        TextChunk("x"),
        CitationArrived(Citation("https://a")),
        MediaArrived(Media("image/*", url="https://i")),
        Finished(FinishReason.STOP),
    ]
    assert reply.citations == (Citation("https://a"),)
    chunks, reply = streamed(
        delta(audio={"id": "s", "transcript": "He"}),
        delta(audio={"transcript": "y", "data": "QQ=="}),
        delta(audio={"data": "QkM="}),
        delta("stop"),
    )
    assert chunks == [
        TextChunk("He"),
        TextChunk("y"),
        MediaArrived(Media("audio/*", data="QUJD", file_id="s")),
        Finished(FinishReason.STOP),
    ]


def test_sources_told_again_with_every_event_arrive_once() -> None:
    told = {"citations": ["https://a"], "search_results": [{"url": "https://a", "title": "A"}]}
    chunks, reply = streamed({**delta(content="x"), **told}, {**delta("stop"), **told})
    assert [chunk for chunk in chunks if isinstance(chunk, CitationArrived)] == [
        CitationArrived(Citation("https://a", "A"))
    ]
    assert reply.citations == (Citation("https://a", "A"),)


def test_any_number_of_annotations_costs_what_they_say() -> None:
    """Each was once compared with all before it: 20,000 took half a minute."""
    cited = [
        {"type": "url_citation", "url_citation": {"url": f"https://a.example/{one % 10_000}"}} for one in range(20_000)
    ]
    chunks, reply = streamed(*(delta(annotations=[one]) for one in cited), delta("stop", content="x"))
    arrived = [chunk.citation.url for chunk in chunks if isinstance(chunk, CitationArrived)]
    assert arrived == [f"https://a.example/{one}" for one in range(10_000)]
    assert [citation.url for citation in reply.citations] == arrived


def test_odd_events_are_passed_over_or_kept() -> None:
    chunks, reply = streamed(
        {"choices": [], "prompt_filter_results": [{"n": 1}]},
        {"id": "c1", "choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {"end": 1}}]},
        delta(role="assistant", tool_calls=None),
        {**delta(content="x"), "obfuscation": "abc"},
        delta("stop", content=None, tool_calls=[]),
        delta("stop"),
    )
    assert chunks == [TextChunk("x"), Finished(FinishReason.STOP)]
    assert reply.metadata[NAME]["prompt_filter_results"] == [{"n": 1}]


def test_a_stream_without_its_end_is_interrupted_and_one_with_it_is_not() -> None:
    assert streamed(delta(content="x"), done=False)[1].finish is FinishReason.INTERRUPTED
    assert streamed(delta(content="x"))[1].finish is FinishReason.UNKNOWN
    assert streamed(delta("stop", content="x"), done=False)[1].finish is FinishReason.STOP


def test_a_stream_has_the_first_id_that_its_events_have() -> None:
    said = [{**delta(content="x"), "id": id} for id in (None, "", "c1", "c2")]
    assert streamed(*said, {**delta("stop"), "id": "c3"})[1].id == "c1"
    called = {"function": {"name": "f", "arguments": "{}"}}
    _, reply = streamed(delta(tool_calls=[called]), delta("tool_calls"))
    assert reply == answer({"tool_calls": [called]}, "tool_calls"), "an id that is made is made of the same"


@pytest.mark.parametrize("finish", [7, ["stop"], {"reason": "stop"}, True])
def test_a_reason_to_stop_that_is_no_text_is_kept_as_in_a_whole_answer(finish: Any) -> None:
    last = delta(content="x")
    last["choices"][0]["finish_reason"] = finish
    chunks, reply = streamed(last)
    assert reply == answer({"content": "x"}, finish)
    assert chunks == [TextChunk("x"), Finished(FinishReason.UNKNOWN)]


def test_a_field_beside_the_answers_has_the_last_value_that_says_something() -> None:
    said = [{**delta(content="x"), "note": note, "blank": None} for note in (None, "a", "b", None)]
    assert streamed(*said, delta("stop"))[1].metadata == {NAME: {"note": "b", "blank": None}}


def test_an_error_inside_a_stream_is_raised_at_its_end_with_what_came_before() -> None:
    decoder = API.stream()
    decoder.feed(f"data: {json.dumps(delta(content='so f'))}\n\n".encode())
    told = {"error": {"message": "broke", "code": "tool_use_failed", "status_code": 400, "failed_generation": "{"}}
    decoder.feed(f"event: error\ndata: {json.dumps(told)}\n\n".encode())
    with pytest.raises(EngineError, match="broke") as caught:
        decoder.close()
    assert (caught.value.status, caught.value.code, caught.value.partial.text) == (400, "tool_use_failed", "so f")


def test_an_error_without_an_error_object_is_one_too() -> None:
    decoder = API.stream()
    decoder.feed(b'data: {"object":"error","message":"too long","type":"BadRequestError","code":400}\n\n')
    with pytest.raises(EngineError, match="too long") as caught:
        decoder.close()
    assert (caught.value.status, caught.value.code) == (400, "BadRequestError")


def test_of_several_streamed_answers_the_first_tells_its_chunks() -> None:
    chunks, reply = streamed(delta(content="a"), delta(content="b", index=1), delta("stop"), delta("stop", index=1))
    assert chunks == [TextChunk("a"), Finished(FinishReason.STOP)]
    assert (reply.text, [one.text for one in reply.alternatives]) == ("a", ["b"])


KEYS = st.sampled_from(
    [
        *("id", "index", "choices", "message", "delta", "content", "role", "tool_calls", "function", "custom"),
        *(
            "name",
            "arguments",
            "input",
            "type",
            "text",
            "thinking",
            "reasoning",
            "reasoning_details",
            "reasoning_content",
        ),
        *("annotations", "url_citation", "start_index", "usage", "prompt_tokens", "details", "prompt_tokens_details"),
        *("cached_tokens", "finish_reason", "error", "audio", "data", "executed_tools", "output", "extra_content"),
        *("google", "thought_signature", "images", "image_url", "url", "x_groq", "citations", "search_results"),
        *(
            "function_call",
            "refusal",
            "signature",
        ),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, JSON)
def test_any_json_is_a_reply_or_an_engine_error(message: Any, body: Any) -> None:
    for one in (body, {"choices": [{"message": message, "finish_reason": "stop"}]}, {"choices": body}):
        try:
            reply = API.decode(one)
        except EngineError:
            continue
        assert isinstance(reply, Reply)
        API.encode(Request("m", (user("?"), reply)))


@given(st.lists(JSON, max_size=6))
def test_any_events_are_a_reply_or_an_engine_error(deltas: list[Any]) -> None:
    decoder = API.stream()
    for one in deltas:
        decoder.feed(f"data: {json.dumps({'choices': [{'index': 0, 'delta': one}]})}\n\n".encode())
        decoder.feed(f"data: {json.dumps(one)}\n\n".encode())
    try:
        reply = decoder.close()
    except EngineError as error:
        reply = error.partial
    assert isinstance(reply, Reply)


@given(JSON, JSON)
def test_any_object_is_a_request(message: Any, value: Any) -> None:
    for body in (value, {"messages": [{"role": "user", "content": message}], "tools": value, "tool_choice": message}):
        if isinstance(body, dict):
            API.validate(API.read_request(body))
        else:
            with pytest.raises(EngineError, match="is no request of Chat Completions"):
                API.read_request(body)


# ── requests ─────────────────────────────────────────────────────────────────

LOOK = FunctionDefinition(
    "look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
)


def body_of(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = API.encode(request).body
    return body


def asked(*definitions: Definition, model: str = "m", **fields: Any) -> Request:
    return Request(model, (user("Hi"),), definitions, **fields)


def test_a_conversation_with_calls_and_results_is_written_in_order() -> None:
    made = NativeCall("a", "look", {"at": "x"})
    talk = (
        system("Be kind."),
        user("Hi"),
        calls_message(made),
        results_message(NativeResult("a", "seen")),
        user("And?"),
    )
    assert body_of(Request("m", talk)) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call("a", "look", '{"at":"x"}')]},
            {"role": "tool", "tool_call_id": "a", "content": "seen"},
            {"role": "user", "content": "And?"},
        ],
    }


def test_every_result_is_a_message_and_media_in_them_follow_after_all_results() -> None:
    image = Media("image/png", data="QUJD")
    talk = (
        user("Hi"),
        calls_message(NativeCall("a", "f"), NativeCall("b", "g")),
        results_message(NativeResult("a", ("one", image)), NativeResult("b", "two")),
    )
    written = API.encode(Request("m", talk))
    assert written.body["messages"][2:] == [
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What the call a returned beside its text:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            ],
        },
    ]
    assert [remark.where for remark in written.report] == ["conversation[2]"]


def test_media_are_written_as_the_block_that_carries_them() -> None:
    media = (
        Media("image/jpeg", url="https://i"),
        Media("audio/mpeg", data="QQ"),
        Media("application/pdf", data="QQ", name="a.pdf"),
        Media("application/pdf", data="QQ"),
        Media("application/pdf", file_id="file-1"),
        Media("video/mp4", url="https://v"),
    )
    assert body_of(Request("m", (user("See", *media),)))["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "https://i"}},
        {"type": "input_audio", "input_audio": {"data": "QQ", "format": "mp3"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ", "filename": "file.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "video_url", "video_url": {"url": "https://v"}},
    ]
    written = API.encode(Request("m", (user("See", Media("text/csv", path="/a.csv")), assistant("Seen."))))
    assert written.body["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "text", "text": "[text/csv (/a.csv): not shown]"},
    ]
    assert [remark.message for remark in written.report] == ["text/csv cannot be sent: a text says so"]


def test_a_text_that_is_attached_is_sent_as_text_and_what_came_as_a_file_goes_back_as_one() -> None:
    files = (Media("text/csv", data="YSxiw6k=", name="a.csv"), Media("text/plain", data="QQ=="))
    written = API.encode(Request("m", (user("See", *files),)))
    assert written.body["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "text", "text": "Contents of a.csv:\n\na,bé"},
        {"type": "text", "text": "Contents of the attached text:\n\nA"},
    ]
    assert [remark.message for remark in written.report] == ["text/csv is sent as text", "text/plain is sent as text"]
    for data in ("/w==", "QUJD!REVG"):  # no UTF-8, and no base64
        with pytest.raises(DefinitionError, match="no way to send"):
            API.encode(Request("m", (user("See", Media("text/plain", data=data)),)))
    file = {"type": "file", "file": {"file_data": "data:text/plain;base64,QQ=="}}
    kept = API.read_request({"messages": [{"role": "user", "content": [file]}]}, model="m")
    assert API.encode(kept).body["messages"][0]["content"] == [file]


def test_functions_are_strict_where_nothing_is_lost_and_the_model_has_it() -> None:
    (strict,) = body_of(asked(LOOK, model="gpt-4o"))["tools"]
    assert strict["function"]["strict"] is True
    assert strict["function"]["parameters"]["additionalProperties"] is False
    (loose,) = body_of(asked(LOOK))["tools"]
    assert loose == {
        "type": "function",
        "function": {"name": "look", "description": "Look.", "parameters": LOOK.parameters},
    }


def test_freeform_tools_are_custom_or_functions_of_one_text() -> None:
    patch = FreeformDefinition("patch", "Patch.", "lark", "start: /x/")
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x/"}}
    assert body_of(asked(patch, model="gpt-5"))["tools"] == [
        {"type": "custom", "custom": {"name": "patch", "description": "Patch.", "format": grammar}}
    ]
    written = API.encode(asked(patch))
    (tool,) = written.body["tools"]
    assert tool["function"]["parameters"]["required"] == ["input"]
    assert "start: /x/" in tool["function"]["parameters"]["properties"]["input"]["description"]
    assert [remark.where for remark in written.report] == ["tools.patch"]


def test_a_freeform_call_from_elsewhere_is_written_as_the_tool_is_offered() -> None:
    patch = FreeformDefinition("patch", "Patch.")
    talk = (user("Hi"), calls_message(NativeCall("a", "patch", "*** ")), results_message(NativeResult("a", "ok")))
    assert body_of(Request("gpt-5", talk, (patch,)))["messages"][1]["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** "}}
    ]
    body = body_of(Request("m", talk, (patch,), ToolChoice("one", ("patch",))))
    assert body["messages"][1]["tool_calls"] == [call("a", "patch", '{"input":"*** "}')]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "patch"}}


def test_namespaces_examples_and_deferral_are_said_as_well_as_they_can_be() -> None:
    tool = msgspec.structs.replace(
        LOOK, namespace="eyes", deferred=True, examples=(ToolExample({"at": "x"}, "seen", "plain"),)
    )
    written = API.encode(asked(tool, choice=ToolChoice("one", ("look",))))
    assert written.body["tools"][0]["function"]["name"] == "eyes__look"
    described = 'Look.\n\nExamples:\n- {"at":"x"} gives "seen" (plain)'
    assert written.body["tools"][0]["function"]["description"] == described
    assert written.body["tool_choice"] == {"type": "function", "function": {"name": "eyes__look"}}
    assert len(written.report) == 2


def test_a_providers_tools_are_written_with_their_settings_in_their_place() -> None:
    search = ProviderDefinition(
        "openrouter.web_search", "openrouter:web_search", settings={"parameters": {"max_uses": 1}}
    )
    plugin = ProviderDefinition("openrouter.plugins", "plugins", settings={"id": "web"})
    body = body_of(asked(search, plugin))
    assert body["tools"] == [{"type": "openrouter:web_search", "parameters": {"max_uses": 1}}]
    assert body["plugins"] == [{"id": "web"}]


@pytest.mark.parametrize(
    "choice, written",
    [
        (ToolChoice(), None),
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice("one", ("look",)), {"type": "function", "function": {"name": "look"}}),
        (
            ToolChoice("subset", ("look",), required=True),
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "look"}}]},
            },
        ),
    ],
)
def test_a_choice_is_written_and_read(choice: ToolChoice, written: Any) -> None:
    body = body_of(asked(LOOK, model="gpt-4o", choice=choice, parallel=False))
    assert body.get("tool_choice") == written
    assert body["parallel_tool_calls"] is False
    read = API.read_request(body)
    assert (read.choice, read.parallel) == (choice, False)


@pytest.mark.parametrize(
    "model, thinking, written",
    [
        ("gpt-5", Thinking("high"), {"reasoning_effort": "high"}),
        ("gpt-5", Thinking("off"), {"reasoning_effort": "minimal"}),
        ("gpt-5.2", Thinking("off"), {"reasoning_effort": "none"}),
        ("o3", Thinking("low"), {"reasoning_effort": "low"}),
        ("gpt-4o", Thinking("off"), {}),
        ("anthropic/claude-haiku-4.5", Thinking("medium"), {"reasoning": {"effort": "medium"}}),
        ("anthropic/claude-haiku-4.5", Thinking(tokens=2000), {"reasoning": {"max_tokens": 2000}}),
        ("deepseek-v4-flash", Thinking("off"), {"thinking": {"type": "disabled"}}),
        ("deepseek-v4-flash", Thinking("high"), {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("qwen3", Thinking("off"), {"enable_thinking": False}),
        ("qwen3", Thinking(tokens=500), {"enable_thinking": True, "thinking_budget": 500}),
        ("openai/gpt-oss-120b", Thinking("low"), {"reasoning_effort": "low"}),
    ],
)
def test_thinking_is_said_in_the_words_of_the_model(model: str, thinking: Thinking, written: dict[str, Any]) -> None:
    body = body_of(asked(model=model, thinking=thinking))
    assert {key: value for key, value in body.items() if key not in ("model", "messages")} == written
    if written:
        assert API.read_request(body).thinking == thinking


def test_a_number_of_thinking_tokens_is_told_as_a_level_where_no_number_is_taken() -> None:
    written = API.encode(asked(model="gpt-5", thinking=Thinking(tokens=1000)))
    assert written.body["reasoning_effort"] == "low"
    assert [remark.where for remark in written.report] == ["thinking"]


def test_plain_settings_are_written_under_the_keys_of_the_model() -> None:
    fields: dict[str, Any] = {"max_output_tokens": 9, "temperature": 0.5, "top_p": 0.9, "stop": ("x",), "seed": 1}
    said = {"temperature": 0.5, "top_p": 0.9, "stop": ["x"]}
    body = body_of(asked(stream=True, **fields))
    assert {key: body[key] for key in body if key not in ("model", "messages")} == {
        **said,
        "max_tokens": 9,
        "seed": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert body_of(asked(model="gpt-5", **fields))["max_completion_tokens"] == 9
    mistral = body_of(asked(model="mistral-small-latest", stream=True, **fields))
    assert mistral["random_seed"] == 1
    assert "stream_options" not in mistral


def test_a_response_schema_is_named_and_strict_where_nothing_is_lost() -> None:
    schema = {"title": "A Point", "type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    form = body_of(asked(model="gpt-4o", response_schema=schema))["response_format"]
    assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == (
        "json_schema",
        "A_Point",
        True,
    )
    assert "strict" not in body_of(asked(response_schema=schema))["response_format"]["json_schema"]


def test_the_callers_own_options_are_merged_last() -> None:
    options = {"logit_bias": {"1": 2}, "temperature": 2, "stream_options": {"include_usage": False}}
    body = body_of(asked(temperature=0.1, stream=True, provider_options=options))
    assert {key: body[key] for key in options} == options


def test_the_role_developer_is_told_as_system_to_models_that_may_not_know_it() -> None:
    talk = (Message("developer", (TextPart("Be kind."),)), user("Hi"))
    assert body_of(Request("gpt-5", talk))["messages"][0]["role"] == "developer"
    written = API.encode(Request("mistral-small-latest", talk))
    assert written.body["messages"][0]["role"] == "system"
    assert len(written.report) == 1


def test_a_turn_from_another_provider_is_told_without_what_only_its_maker_reads() -> None:
    turn = Message(
        "assistant",
        (
            ThinkingPart("Hm", signature="s"),
            TextPart("One. "),
            TextPart("Two."),
            CallPart(NativeCall("srv", "web_search", {}, executed_by=ExecutedBy.PROVIDER)),
            ResultPart(NativeResult("srv", "found", executed_by=ExecutedBy.PROVIDER)),
            CallPart(NativeCall("toolu_1", "f", {"a": 1})),
        ),
        Provenance(api="anthropic_messages"),
    )
    written = API.encode(Request("gpt-4o", (user("Hi"), turn, results_message(NativeResult("toolu_1", "ok")))))
    assert written.body["messages"][1] == {
        "role": "assistant",
        "content": "One. Two.",
        "tool_calls": [call("toolu_1", "f", '{"a":1}')],
    }
    assert len(written.report) == 3


def test_an_id_too_long_for_openai_is_made_shorter_in_call_and_result() -> None:
    long = "call_" + "x" * 60
    talk = (user("Hi"), calls_message(NativeCall(long, "f")), results_message(NativeResult(long, "ok")))
    _, made, result = body_of(Request("gpt-4o", talk))["messages"]
    assert made["tool_calls"][0]["id"] == result["tool_call_id"] != long
    assert len(result["tool_call_id"]) <= 40
    assert body_of(Request("m", talk))["messages"][2]["tool_call_id"] == long


def test_an_unchanged_toolset_is_written_once() -> None:
    definitions = (LOOK,)
    first = API.encode(Request("m", (user("a"),), definitions))
    second = API.encode(Request("m", (user("b"),), definitions))
    assert first.body["tools"] is second.body["tools"]
    assert json.loads(second.to_bytes()) == second.body


@pytest.mark.parametrize(
    "request_, where",
    [
        (asked(FunctionDefinition("a b", "", {}),), "tools.a b"),
        (asked(FunctionDefinition("x" * 65, "", {}),), f"tools.{'x' * 65}"),
        (asked(LOOK, LOOK), "tools.look"),
        (asked(*(FunctionDefinition(f"f{number}", "", {}) for number in range(129))), "tools"),
        (asked(LOOK, choice=ToolChoice("one", ("lock",))), "choice"),
        (asked(LOOK, choice=ToolChoice("subset", ("look",))), "choice"),
        (asked(choice=ToolChoice("required")), "choice"),
        (
            asked(ProviderDefinition("openrouter.web_search", "openrouter:web_search"),
                  choice=ToolChoice("one", ("openrouter.web_search",))),
            "choice",
        ),
        (asked(model="gpt-4o", thinking=Thinking("high")), "thinking"),
        (asked(stop=("a", "b", "c", "d", "e")), "stop"),
    ],
)  # fmt: skip
def test_what_a_provider_would_refuse_is_refused_before_the_wire(request_: Request, where: str) -> None:
    assert where in [problem.where for problem in API.validate(request_) if not problem.fixed]
    with pytest.raises(DefinitionError):
        API.encode(request_)


# ── reading requests ─────────────────────────────────────────────────────────


def test_a_recorded_request_is_read_into_its_fields_and_written_the_same() -> None:
    body = {
        "model": "gpt-5",
        "messages": [
            {"role": "developer", "content": "Be kind."},
            {
                "role": "user",
                "name": "Ann",
                "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "e"}}],
            },
            {"role": "assistant", "content": None, "tool_calls": [call("a", "look", '{ "at": "x" }')]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "seen"}]},
            {"role": "assistant", "content": "Done", "refusal": None, "annotations": []},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://i", "detail": "low"}}]},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "Look.", "parameters": LOOK.parameters, "external": True},
            },
            {"type": "custom", "custom": {"name": "say", "description": "Say.", "format": {"type": "text"}}},
        ],
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "reasoning_effort": "low",
        "max_completion_tokens": 9,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
        "logprobs": True,
    }
    request = API.read_request(body)
    assert request.model == "gpt-5"
    assert [message.role for message in request.conversation] == [message["role"] for message in body["messages"]]  # type: ignore[index, attr-defined]
    assert [definition.name for definition in request.definitions] == ["look", "say"]
    assert (request.choice, request.parallel, request.thinking) == (ToolChoice("required"), True, Thinking("low"))
    assert (request.max_output_tokens, request.response_schema) == (9, {"type": "object"})
    assert request.provider_options == {
        "logprobs": True,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n"}},
    }
    assert API.encode(request).body == body


def test_the_older_functions_are_read_and_written_in_their_own_words() -> None:
    body = {
        "model": "gpt-4",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "seen"},
        ],
        "functions": [{"name": "look", "description": "Look.", "parameters": LOOK.parameters}],
        "function_call": {"name": "look"},
    }
    request = API.read_request(body)
    assert request.choice == ToolChoice("one", ("look",))
    assert API.encode(request).body == body


def test_a_choice_in_mistrals_older_word_is_read() -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": LOOK.parameters}}
    messages = [{"role": "user", "content": "Hi"}]
    request = API.read_request({"model": "m", "messages": messages, "tools": [tool], "tool_choice": "any"})
    assert (request.choice, request.provider_options) == (ToolChoice("required"), {})


def test_the_model_may_stand_in_the_address() -> None:
    request = API.read_request({"messages": [{"role": "user", "content": "Hi"}]}, model="gpt-4o")
    assert request == Request("gpt-4o", (user("Hi"),))


def test_messages_of_a_log_are_read_into_parts() -> None:
    message = {"role": "assistant", "content": "x", "tool_calls": [call("a", "f", '{"a":1}')]}
    assert API.read_parts([message, {"type": "text", "text": "y"}]) == (
        TextPart("x"),
        CallPart(NativeCall("a", "f", {"a": 1})),
        TextPart("y", metadata={NAME: {"block": {}}}),
    )


def test_a_hand_written_turn_is_written_plainly() -> None:
    assert body_of(Request("m", (user("Hi"), assistant("Yes"))))["messages"][1] == {
        "role": "assistant",
        "content": "Yes",
    }


def test_a_text_stands_for_media_that_an_openai_model_does_not_take() -> None:
    film, tone = Media("video/mp4", url="https://v"), Media("audio/x-wav", data="QQ")
    image, raw = Media("image/png", data="QQ"), Media("audio/L16;rate=24000", data="QQ")
    said = Reply((TextPart("So."), MediaPart(image)), provenance=Provenance(api="elsewhere"))
    encoded = API.encode(Request("gpt-4o", (user("See", film, tone, raw), said, user("Go on"))))
    assert encoded.body["messages"][:2] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See"},
                {"type": "text", "text": "[video/mp4 (https://v): not shown]"},
                {"type": "input_audio", "input_audio": {"data": "QQ", "format": "wav"}},
                {"type": "text", "text": "[audio/L16;rate=24000: not shown]"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "So."}]},
    ]
    assert [remark.where for remark in encoded.report] == ["conversation[0]", "conversation[0]", "conversation[1]"]


def test_an_answer_is_held_strictly_only_to_the_very_schema_asked_for() -> None:
    optional = {"type": "object", "properties": {"a": {"type": "string"}}}
    required = {**optional, "required": ["a"]}
    written = [
        body_of(asked(model="gpt-5", response_schema=schema))["response_format"]["json_schema"]
        for schema in (optional, required)
    ]
    assert [one.get("strict") for one in written] == [None, True]
    assert written[0]["schema"]["properties"] == optional["properties"]
