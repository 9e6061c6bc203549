"""Gemini's `generateContent`: every kind of part, event, setting and error, read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from dragoman.apis import APIS
from dragoman.errors import ConfigError, DefinitionError, EngineError
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.conversation import (
    CallPart,
    Citation,
    FinishReason,
    MediaPart,
    Message,
    OpaquePart,
    Provenance,
    Reply,
    ResultPart,
    Span,
    TextPart,
    ThinkingPart,
    Usage,
    calls_message,
    results_message,
    system,
    user,
)
from dragoman.model.outcomes import Media
from dragoman.model.request import (
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    CitationArrived,
    Finished,
    FreeformDefinition,
    FunctionDefinition,
    MediaArrived,
    ProviderDefinition,
    Request,
    ResultArrived,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolChoice,
    ToolExample,
    UsageArrived,
)

NAME = "gemini_generate"
API = APIS[NAME]
WEATHER = FunctionDefinition(
    "weather",
    "Says the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CLOCK = FunctionDefinition("clock", "Says the time.", {"type": "object", "properties": {}})
SEARCH = ProviderDefinition("google.google_search", "googleSearch", "google_search")


def body(*parts: dict[str, Any], finish: Any = "STOP", **candidate: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {
        "candidates": [{"content": content, "finishReason": finish, "index": 0, **candidate}],
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "reply-1",
    }


def decoded(*parts: dict[str, Any], **candidate: Any) -> Reply:
    reply = API.decode(body(*parts, **candidate))
    assert isinstance(reply, Reply)
    return reply


def sse(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


def ask(*conversation: Any, model: str = "gemini-3-flash-preview", **settings: Any) -> Request:
    return Request(model, conversation or (user("Hello"),), **settings)


def contents(request: Request) -> list[dict[str, Any]]:
    written = API.encode(request).body["contents"]
    assert isinstance(written, list)
    return written


def problems(request: Request) -> list[str]:
    with pytest.raises(DefinitionError) as raised:
        API.encode(request)
    return list(raised.value.problems)


# ── replies ──────────────────────────────────────────────────────────────────


def test_text_and_thoughts_are_parts_of_their_own_with_their_own_signatures() -> None:
    reply = decoded(
        {"text": "Let me see.", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "Hello"},
        {"text": "", "thoughtSignature": "bGFzdA=="},
    )
    assert reply == Reply(
        (
            ThinkingPart("Let me see.", signature="c2ln"),
            TextPart("Hello"),
            TextPart("", signature="bGFzdA=="),
        ),
        finish=FinishReason.STOP,
        finish_raw="STOP",
        id="reply-1",
        provenance=Provenance(api=NAME, model="gemini-3-flash-preview"),
    )


def test_calls_without_an_id_get_a_stable_one_of_their_own() -> None:
    parts = ({"functionCall": {"name": "clock"}}, {"functionCall": {"name": "clock", "args": {}}})
    first, again = decoded(*parts), decoded(*parts)
    assert first == again
    assert len({call.id for call in first.calls}) == 2
    assert [(call.name, call.arguments) for call in first.calls] == [("clock", {}), ("clock", {})]
    assert first.finish is FinishReason.CALLS


def test_an_id_that_comes_twice_is_kept_for_the_first_call_and_echoed_for_both() -> None:
    parts = [{"functionCall": {"id": "same", "name": "clock", "args": {}}}] * 2
    reply = decoded(*parts)
    assert reply.calls[0].id == "same" != reply.calls[1].id
    assert contents(ask(user("?"), reply, user("!")))[1]["parts"] == parts


def test_arguments_that_are_no_object_are_kept_as_text() -> None:
    assert decoded({"functionCall": {"name": "f", "args": "half"}}).calls[0].arguments == "half"
    assert decoded({"functionCall": {"name": "f", "args": [1]}}).calls[0].arguments == "[1]"
    assert decoded({"functionCall": {"name": "f", "args": None}}).calls[0].arguments == {}


def test_a_reply_in_snake_case_reads_the_same() -> None:
    snake = {
        "candidates": [
            {
                "content": {"parts": [{"function_call": {"name": "clock", "args": {}}, "thought_signature": "c2ln"}]},
                "finish_reason": "MAX_TOKENS",
            }
        ],
        "usage_metadata": {"prompt_token_count": 3},
        "model_version": "gemini-3-flash-preview",
        "response_id": "reply-1",
    }
    part = {"functionCall": {"name": "clock", "args": {}}, "thoughtSignature": "c2ln"}
    assert API.decode(snake) == replace(decoded(part, finish="MAX_TOKENS"), usage=Usage(input_tokens=3))


def test_code_the_provider_runs_is_a_call_and_a_result_that_are_not_ours() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)", "id": "c1"}, "thoughtSignature": "c2ln"}
    output = {"codeExecutionResult": {"id": "c1", "outcome": "OUTCOME_FAILED", "output": "no"}}
    reply = decoded(code, output)
    assert reply.calls == (
        NativeCall(
            "c1",
            "code_execution",
            {"language": "PYTHON", "code": "print(1)"},
            executed_by=ExecutedBy.PROVIDER,
            item=code,
        ),
    )
    assert reply.results == (
        NativeResult("c1", "no", True, "code_execution", executed_by=ExecutedBy.PROVIDER, item=output),
    )
    assert reply.finish is FinishReason.STOP
    assert contents(ask(user("?"), reply))[1]["parts"] == [code, output]


def test_results_of_code_without_ids_belong_to_the_code_before_them() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    output = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    reply = decoded(code, output, code, output)
    assert [result.call_id for result in reply.results] == [call.id for call in reply.calls]
    assert len({call.id for call in reply.calls}) == 2
    assert [result.is_error for result in reply.results] == [False, False]


def test_tools_of_the_provider_are_named_as_it_names_them_and_go_back_whole() -> None:
    call = {
        "toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}},
        "thoughtSignature": "YQ==",
    }
    answer = {
        "toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"a": 1}},
        "thoughtSignature": "Yg==",
    }
    reply = decoded(call, answer)
    assert reply.calls == (
        NativeCall("t1", "GOOGLE_SEARCH_WEB", {"queries": ["x"]}, executed_by=ExecutedBy.PROVIDER, item=call),
    )
    assert reply.results == (
        NativeResult("t1", '{"a":1}', name="GOOGLE_SEARCH_WEB", executed_by=ExecutedBy.PROVIDER, item=answer),
    )
    assert contents(ask(user("?"), reply))[1]["parts"] == [call, answer]


def test_images_and_sounds_are_media_with_their_signature() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}, "thoughtSignature": "c2ln"}
    reply = decoded(image)
    assert reply.parts == (MediaPart(Media("image/png", data="iVBO"), signature="c2ln"),)
    assert contents(ask(user("?"), reply))[1]["parts"] == [image]


def test_a_part_we_do_not_know_is_kept_whole_and_goes_back_but_an_empty_one_cannot() -> None:
    reply = decoded({"hologram": {"depth": 3}}, {})
    assert reply.parts == (OpaquePart(NAME, {"hologram": {"depth": 3}}), OpaquePart(NAME, {}))
    encoded = API.encode(ask(user("?"), reply))
    assert encoded.body["contents"][1]["parts"] == [{"hologram": {"depth": 3}}]
    assert [remark.message for remark in encoded.report] == ["an empty part cannot be sent and was left out"]


def test_several_candidates_are_one_reply_with_alternatives() -> None:
    one = {"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP", "index": 0}
    other = {"content": {"parts": [{"text": "b"}]}, "finishReason": "MAX_TOKENS", "index": 1}
    reply = API.decode({"candidates": [one, other], "usageMetadata": {"candidatesTokenCount": 2}})
    assert (reply.text, reply.finish, reply.usage.output_tokens) == ("a", FinishReason.STOP, 2)
    assert [(one.text, one.finish, one.usage) for one in reply.alternatives] == [("b", FinishReason.LENGTH, Usage())]


@pytest.mark.parametrize(
    "reason, finish",
    [
        ("STOP", FinishReason.STOP),
        (1, FinishReason.STOP),
        (2, FinishReason.LENGTH),
        (9, FinishReason.MALFORMED_CALL),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("SAFETY", FinishReason.FILTERED),
        ("RECITATION", FinishReason.FILTERED),
        ("MODEL_ARMOR", FinishReason.FILTERED),
        ("MALFORMED_FUNCTION_CALL", FinishReason.MALFORMED_CALL),
        ("UNEXPECTED_TOOL_CALL", FinishReason.MALFORMED_CALL),
        ("NO_IMAGE", FinishReason.ERROR),
        ("NEVER_HEARD_OF", FinishReason.UNKNOWN),
        (77, FinishReason.UNKNOWN),
        (None, FinishReason.UNKNOWN),
    ],
)
def test_reasons_to_stop_are_typed_by_name_or_number(reason: Any, finish: FinishReason) -> None:
    reply = API.decode({"candidates": [{"finishReason": reason}]})
    assert (reply.finish, reply.finish_raw) == (finish, None if reason is None else str(reason))


def test_what_a_candidate_says_beside_its_content_is_kept() -> None:
    reply = API.decode(
        {
            "candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "print(", "avgLogprobs": -0.5}],
            "createTime": "2026-01-01T00:00:00Z",
        }
    )
    assert reply.metadata == {
        NAME: {"createTime": "2026-01-01T00:00:00Z", "finishMessage": "print(", "avgLogprobs": -0.5}
    }


def test_a_refused_prompt_is_a_filtered_reply_without_parts() -> None:
    reply = API.decode({"promptFeedback": {"blockReason": "SAFETY"}})
    assert (reply.parts, reply.finish, reply.finish_raw) == ((), FinishReason.FILTERED, "SAFETY")


def test_tokens_are_counted_once() -> None:
    usage = API.read_usage(
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            "candidatesTokenCount": 10,
            "thoughtsTokenCount": 20,
            "toolUsePromptTokenCount": 5,
            "totalTokenCount": 135,
            "trafficType": "ON_DEMAND",
        }
    )
    assert usage == Usage(
        input_tokens=40,
        cached_read_tokens=60,
        output_tokens=30,
        reasoning_tokens=20,
        tool_tokens=5,
        metadata={NAME: {"totalTokenCount": 135, "trafficType": "ON_DEMAND"}},
    )
    assert usage.total == 135


@pytest.mark.parametrize("broken", [{}, None, "text", 7, {"hello": 1}])
def test_what_is_no_response_is_told_so(broken: Any) -> None:
    with pytest.raises(EngineError, match="no response of gemini_generate"):
        API.decode(broken)


@pytest.mark.parametrize("empty", [[], {"candidates": []}, {"candidates": [7]}, {"usageMetadata": []}])
def test_a_response_that_says_nothing_is_an_empty_reply(empty: Any) -> None:
    assert API.decode(empty).parts == ()


def test_a_part_of_a_log_is_read_as_one_of_a_reply() -> None:
    assert API.read_parts([{"text": "hi"}, {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}}]) == (
        TextPart("hi"),
        CallPart(NativeCall("a", "f", {"x": 1}), metadata={}),
    )


# ── citations ────────────────────────────────────────────────────────────────


def test_spans_of_sources_count_characters_where_the_wire_counts_bytes() -> None:
    text = "Zoë: ünï is"
    start = len("Zoë: ".encode())
    grounding = {
        "groundingChunks": [
            {"web": {"uri": "https://a.example", "title": "A", "domain": "a.example"}},
            {"maps": {"uri": "https://maps.example", "title": "Place", "placeId": "p1"}},
        ],
        "groundingSupports": [
            {
                "segment": {"startIndex": start, "endIndex": start + len("ünï".encode()), "text": "ünï"},
                "groundingChunkIndices": [0, 1],
                "confidenceScores": [0.9],
            }
        ],
        "webSearchQueries": ["q"],
    }
    reply = decoded({"text": "hm", "thought": True}, {"text": text}, groundingMetadata=grounding)
    assert reply.citations == (
        Citation(
            url="https://a.example",
            title="A",
            span=Span(5, 8),
            location={"domain": "a.example"},
            metadata={NAME: {"source": "web", "confidence": 0.9}},
        ),
        Citation(
            url="https://maps.example",
            title="Place",
            span=Span(5, 8),
            location={"placeId": "p1"},
            metadata={NAME: {"source": "maps"}},
        ),
    )
    assert reply.text[5:8] == "ünï"
    assert reply.metadata[NAME]["groundingMetadata"] == grounding


def test_a_source_is_cited_in_every_text_its_span_touches() -> None:
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://a.example"}}],
        "groundingSupports": [
            {"segment": {"startIndex": 2, "endIndex": 6, "text": "cdef"}, "groundingChunkIndices": [0]}
        ],
    }
    reply = decoded({"text": "abcd"}, {"text": "efgh", "thoughtSignature": "c2ln"}, groundingMetadata=grounding)
    assert [[one.span for one in part.citations] for part in reply.parts if isinstance(part, TextPart)] == [
        [Span(2, 4)],
        [Span(0, 2)],
    ]


@given(st.lists(st.text("aé", min_size=1, max_size=3), min_size=1, max_size=5), st.data())
def test_the_parts_of_a_span_are_together_what_it_cites(texts: list[str], data: st.DataObject) -> None:
    whole = "".join(texts)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    segment = {"startIndex": len(whole[:start].encode()), "endIndex": len(whole[:end].encode())}
    grounding = {"groundingSupports": [{"segment": segment}]}
    reply = decoded(*({"text": text} for text in texts), groundingMetadata=grounding)
    spans = [(part.text, one.span) for part in reply.parts if isinstance(part, TextPart) for one in part.citations]
    if start == end:
        assert [span.start == span.end for _, span in spans if span is not None] == [True]
    else:
        assert "".join(text[span.start : span.end] for text, span in spans if span is not None) == whole[start:end]
        assert all(span is not None and span.start < span.end for _, span in spans)


def test_a_span_of_very_many_parts_is_cited_in_the_first_hundred() -> None:
    grounding = {"groundingSupports": [{"segment": {"startIndex": 0, "endIndex": 120}}]}
    reply = decoded(*({"text": "a"} for _ in range(120)), groundingMetadata=grounding)
    assert [len(part.citations) for part in reply.parts if isinstance(part, TextPart)] == [1] * 100 + [0] * 20


def test_an_offset_is_of_the_part_it_names() -> None:
    grounding = {
        "groundingSupports": [{"segment": {"partIndex": 1, "startIndex": 0, "endIndex": 2, "text": "ef"}}],
    }
    reply = decoded({"text": "abcd"}, {"text": "efgh"}, groundingMetadata=grounding)
    assert [part.citations for part in reply.parts if isinstance(part, TextPart)] == [(), (Citation(span=Span(0, 2)),)]


def test_a_wrong_offset_is_fixed_by_the_text_it_means_and_told() -> None:
    segment = {"startIndex": 5, "endIndex": 9, "text": "said"}
    reply = decoded({"text": "it's said"}, groundingMetadata={"groundingSupports": [{"segment": segment}]})
    assert reply.citations == (Citation(span=Span(5, 9)),)
    wrong = {**segment, "startIndex": 6, "endIndex": 10}
    reply = decoded({"text": "it's said"}, groundingMetadata={"groundingSupports": [{"segment": wrong}]})
    assert reply.citations == (Citation(span=Span(5, 9), location=wrong),)


def test_an_index_of_a_source_that_is_not_there_is_kept_as_it_came() -> None:
    supports = [{"segment": {"startIndex": 0, "endIndex": 1}, "groundingChunkIndices": [0, 1, 7]}]
    chunks = [{"web": {"uri": "https://a.example"}}]
    reply = decoded({"text": "x"}, groundingMetadata={"groundingChunks": chunks, "groundingSupports": supports})
    assert reply.citations == (
        Citation("https://a.example", span=Span(0, 1), metadata={NAME: {"source": "web"}}),
        Citation(span=Span(0, 1), location={"groundingChunkIndex": 1}),
        Citation(span=Span(0, 1), location={"groundingChunkIndex": 7}),
    )


def test_sources_nothing_was_said_of_and_passages_of_documents_are_citations_too() -> None:
    passage = {"title": "Doc", "text": "the passage", "documentName": "docs/1", "pageNumber": 4}
    image = {"sourceUri": "https://page.example", "imageUri": "https://img.example", "title": "I"}
    chunks = [{"retrievedContext": passage}, {"image": image}]
    reply = decoded({"text": "x"}, groundingMetadata={"groundingChunks": chunks})
    assert reply.citations == (
        Citation(
            title="Doc",
            document="docs/1",
            quote="the passage",
            location={"pageNumber": 4},
            metadata={NAME: {"source": "retrievedContext"}},
        ),
        Citation(
            url="https://page.example",
            title="I",
            location={"imageUri": "https://img.example"},
            metadata={NAME: {"source": "image"}},
        ),
    )


@pytest.mark.parametrize(
    "chunk, citation",
    [
        ({"odd": 1}, Citation(location={"odd": 1})),
        ({}, Citation()),
        (
            {"web": {"uri": "u", "title": "t", "sourceUri": "s", "domain": "d"}, "more": 1},
            Citation(
                "u", "t", location={"domain": "d", "more": 1, "sourceUri": "s"}, metadata={NAME: {"source": "web"}}
            ),
        ),
        ({"web": {"uri": 7}}, Citation(location={"uri": 7}, metadata={NAME: {"source": "web"}})),
        ({"web": {"sourceUri": "s"}}, Citation("s", metadata={NAME: {"source": "web"}})),
    ],
)
def test_nothing_that_is_said_of_a_source_is_lost(chunk: dict[str, Any], citation: Citation) -> None:
    assert decoded({"text": "x"}, groundingMetadata={"groundingChunks": [chunk]}).citations == (citation,)


def test_a_function_is_offered_with_the_schema_of_its_result_and_its_own_fields() -> None:
    function = replace(CLOCK, output_schema={"type": "string"}, metadata={NAME: {"behavior": "BLOCKING"}})
    (written,) = API.encode(Request("gemini-3-flash-preview", (user("?"),), (function,))).body["tools"]
    (declared,) = written["functionDeclarations"]
    assert (declared["responseJsonSchema"], declared["behavior"]) == ({"type": "string"}, "BLOCKING")


def test_recited_sources_and_fetched_pages_are_citations() -> None:
    reply = decoded(
        {"text": "café noir"},
        citationMetadata={
            "citations": [
                {"endIndex": 5, "uri": "https://a.example", "license": "mit"},
                {"startIndex": 100, "endIndex": 120, "title": "far"},
            ]
        },
        urlContextMetadata={
            "urlMetadata": [
                {"retrievedUrl": "https://b.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
                {"retrievedUrl": "https://c.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR"},
            ]
        },
    )
    assert reply.citations == (
        Citation(url="https://a.example", span=Span(0, 4), location={"license": "mit"}),
        Citation(title="far", location={"startIndex": 100, "endIndex": 120}),
        Citation(
            url="https://b.example",
            location={"urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
            metadata={NAME: {"source": "urlContext"}},
        ),
    )


@given(st.text(min_size=1), st.data())
def test_any_span_of_any_text_is_found_by_its_bytes(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    segment = {"startIndex": len(text[:start].encode()), "endIndex": len(text[:end].encode()), "text": text[start:end]}
    for said in (segment, {key: segment[key] for key in ("startIndex", "endIndex")}):
        reply = decoded({"text": text}, groundingMetadata={"groundingSupports": [{"segment": said}]})
        assert reply.citations == (Citation(span=Span(start, end)),)


# ── streams ──────────────────────────────────────────────────────────────────


def told(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}], "responseId": "reply-1"}


def test_text_goes_on_in_one_part_until_one_is_signed() -> None:
    stream = API.stream()
    chunks = stream.feed(
        sse(
            told({"text": "Hm", "thought": True}),
            told({"text": "m.", "thought": True}),
            told({"text": "Hel"}),
            told({"text": "lo"}),
            {
                **told({"text": "", "thoughtSignature": "c2ln"}, finishReason="STOP"),
                "usageMetadata": {"promptTokenCount": 2},
            },
        )
    )
    assert chunks == [
        ThinkingChunk("Hm"),
        ThinkingChunk("m."),
        TextChunk("Hel"),
        TextChunk("lo"),
        Finished(FinishReason.STOP),
        UsageArrived(Usage(input_tokens=2)),
    ]
    assert stream.close().parts == (
        ThinkingPart("Hmm."),
        TextPart("Hello"),
        TextPart("", signature="c2ln"),
    )


def test_a_call_in_the_last_chunk_is_told_whole_and_the_reply_ends_in_calls() -> None:
    stream = API.stream()
    part = {"functionCall": {"id": "c", "name": "weather", "args": {"city": "Rome"}}, "thoughtSignature": "c2ln"}
    call = NativeCall("c", "weather", {"city": "Rome"})
    assert stream.feed(sse(told(part, finishReason="STOP"))) == [
        CallStarted("c", "weather"),
        ArgumentsChunk("c", '{"city":"Rome"}'),
        CallFinished(call),
        Finished(FinishReason.CALLS),
    ]
    assert stream.arguments("c") == {"city": "Rome"}
    reply = stream.close()
    assert (reply.parts, reply.finish) == ((CallPart(call, signature="c2ln"),), FinishReason.CALLS)


def test_arguments_come_value_by_value_and_can_be_looked_at_on_the_way() -> None:
    stream = API.stream()
    more = {"willContinue": True}

    def fed(call: dict[str, Any], **candidate: Any) -> list[Any]:
        chunks = stream.feed(sse(told({"functionCall": call}, **candidate)))
        assert isinstance(chunks, list)
        return chunks

    (started,) = fed({"name": "book", **more})
    id = started.call_id
    assert stream.arguments(id) == {}
    assert fed({"partialArgs": [{"jsonPath": "$.to['full name']", "stringValue": "Zo", **more}], **more}) == [
        ArgumentsChunk(id, "Zo", path="$.to['full name']")
    ]
    assert stream.arguments(id) == {"to": {"full name": "Zo"}}
    fed({"partialArgs": [{"jsonPath": "$.to['full name']", "stringValue": "ë"}], **more})
    several = [{"jsonPath": "$.seats[1].row", "numberValue": 7.0}, {"jsonPath": "$.ok", "boolValue": True}]
    assert fed({"partialArgs": several, **more}) == [
        ArgumentsChunk(id, "7.0", path="$.seats[1].row"),
        ArgumentsChunk(id, "true", path="$.ok"),
    ]
    fed({"partialArgs": [{"jsonPath": "$.note", "nullValue": "NULL_VALUE"}], **more})
    arguments = {"to": {"full name": "Zoë"}, "seats": [None, {"row": 7.0}], "ok": True, "note": None}
    assert stream.arguments(id) == arguments
    assert fed({}) == [CallFinished(NativeCall(id, "book", arguments))]
    assert fed({"name": "clock", "args": {}}, finishReason="STOP")[-1] == Finished(FinishReason.CALLS)
    reply = stream.close()
    assert [(call.name, call.arguments) for call in reply.calls] == [("book", arguments), ("clock", {})]
    assert reply.calls[0].id == id != reply.calls[1].id


def test_a_streamed_call_that_is_never_closed_ends_with_the_reply() -> None:
    stream = API.stream()
    begun = {"functionCall": {"name": "f", "willContinue": True}}
    piece = {
        "functionCall": {
            "partialArgs": [{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}],
            "willContinue": True,
        }
    }
    chunks = stream.feed(sse(told(begun), told(piece), told(finishReason="MAX_TOKENS")))
    assert isinstance(chunks[-2], CallFinished)
    assert chunks[-2].call.arguments == {"a": "x"}
    assert stream.close().finish is FinishReason.LENGTH


@pytest.mark.parametrize("path", ["location", "$..a", "$[*]", "$", "$.a[999999999]", "$[0]"])
def test_an_assignment_that_leads_nowhere_is_kept_beside_the_call(path: str) -> None:
    assignment = {"jsonPath": path, "stringValue": "x"}
    stream = API.stream()
    stream.feed(sse(told({"functionCall": {"name": "f", "partialArgs": [assignment]}}, finishReason="STOP")))
    (part,) = stream.close().parts
    assert isinstance(part, CallPart)
    assert part.metadata[NAME]["unplacedArgs"] == [assignment]


def test_parts_of_a_call_in_one_body_are_one_call() -> None:
    reply = decoded(
        {"functionCall": {"name": "f", "willContinue": True}},
        {
            "functionCall": {
                "partialArgs": [{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}],
                "willContinue": True,
            }
        },
        {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "y"}], "willContinue": True}},
        {"functionCall": {}},
    )
    assert [(call.name, call.arguments) for call in reply.calls] == [("f", {"a": "xy"})]


def test_a_stream_without_sse_is_one_array_cut_anywhere() -> None:
    events = [told({"text": 'He said "{[\\"'}), told({"text": "]} bye"}, finishReason="STOP")]
    data = b"\xef\xbb\xbf[" + b",\r\n".join(json.dumps(event, indent=1).encode() for event in events) + b"\n]\n"
    whole = API.stream()
    chunks, reply = whole.feed(data), whole.close()
    assert reply.text == 'He said "{[\\"]} bye'
    for size in (1, 2, 7):
        cut = API.stream()
        pieces = [chunk for at in range(0, len(data), size) for chunk in cut.feed(data[at : at + size])]
        assert (pieces, cut.close()) == (chunks, reply)
    assert API.decode(events) == reply


@given(st.lists(st.text(), min_size=1), st.integers(1, 40), st.sampled_from([None, 1]))
def test_a_stream_of_any_text_is_the_same_in_both_framings_and_however_cut(
    texts: list[str], size: int, indent: int | None
) -> None:
    events = [told({"text": text}) for text in texts]
    array = ("[" + ",\n".join(json.dumps(event, indent=indent, ensure_ascii=False) for event in events) + "]").encode()
    for data in (sse(*events), array):
        stream = API.stream()
        chunks = [chunk for at in range(0, len(data), size) for chunk in stream.feed(data[at : at + size])]
        assert chunks == [TextChunk(text) for text in texts if text]
        assert stream.close().text == "".join(texts)


def test_what_the_provider_ran_and_made_arrives_as_it_comes() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1", "id": "c"}}
    output = {"codeExecutionResult": {"id": "c", "outcome": "OUTCOME_OK", "output": "1"}}
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}
    chunks = API.stream().feed(sse(told(code), told(output, finishReason="STOP"), told(image)))
    assert [type(chunk) for chunk in chunks] == [
        CallStarted,
        ArgumentsChunk,
        CallFinished,
        ResultArrived,
        Finished,
        MediaArrived,
    ]
    assert chunks[0].executed_by is ExecutedBy.PROVIDER


def test_sources_that_come_in_several_chunks_are_joined_and_told_at_the_end() -> None:
    def grounded(uri: str, start: int, end: int) -> dict[str, Any]:
        support = {"segment": {"startIndex": start, "endIndex": end}, "groundingChunkIndices": [0]}
        return {"groundingChunks": [{"web": {"uri": uri}}], "groundingSupports": [support]}

    stream = API.stream()
    chunks = stream.feed(
        sse(
            told({"text": "ab"}, groundingMetadata=grounded("https://a.example", 0, 2)),
            told({"text": "cd"}, groundingMetadata=grounded("https://b.example", 2, 4), finishReason="STOP"),
        )
    )
    expected = [
        Citation(url="https://a.example", span=Span(0, 2), metadata={NAME: {"source": "web"}}),
        Citation(url="https://b.example", span=Span(2, 4), metadata={NAME: {"source": "web"}}),
    ]
    assert [chunk.citation for chunk in chunks if isinstance(chunk, CitationArrived)] == expected
    assert list(stream.close().citations) == expected


def test_any_number_of_events_with_sources_costs_what_they_say() -> None:
    """Each was once compared with all before it, and the reply put together anew for each: 3,000 took minutes."""
    number = 3_000
    sources = [{"groundingChunks": [{"web": {"uri": f"https://a.example/{one}"}}]} for one in range(number)]
    stream = API.stream()
    chunks = stream.feed(sse(told({"text": "Hello"}, finishReason="STOP")))
    for source in sources:
        chunks += stream.feed(sse(told(groundingMetadata=source)))
    chunks += stream.end()
    arrived = [chunk.citation.url for chunk in chunks if isinstance(chunk, CitationArrived)]
    assert arrived == [f"https://a.example/{one}" for one in range(number)]
    assert [citation.url for citation in stream.close().citations] == arrived


def test_a_stream_that_breaks_off_is_interrupted() -> None:
    stream = API.stream()
    stream.feed(sse(told({"text": "Hel"})))
    reply = stream.close()
    assert (reply.text, reply.finish) == ("Hel", FinishReason.INTERRUPTED)


@pytest.mark.parametrize(
    "framed", [sse, lambda *events: json.dumps(events).encode(), lambda *events: json.dumps(events[-1]).encode()]
)
def test_an_error_in_a_stream_is_raised_at_its_end_with_what_came_before(framed: Any) -> None:
    stream = API.stream()
    stream.feed(framed(told({"text": "Hel"}), {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}))
    with pytest.raises(EngineError) as raised:
        stream.close()
    error = raised.value
    assert (error.status, error.code, error.message, error.retryable) == (503, "UNAVAILABLE", "busy", True)
    assert error.partial.text in ("", "Hel")


def test_a_refused_prompt_ends_a_stream() -> None:
    stream = API.stream()
    assert stream.feed(sse({"promptFeedback": {"blockReason": "SAFETY"}})) == [Finished(FinishReason.FILTERED)]
    assert stream.close().finish is FinishReason.FILTERED


# ── errors ───────────────────────────────────────────────────────────────────


def test_an_error_says_when_to_try_again() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    told = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": [retry]}}
    for shape in (told, [told], json.dumps(told), json.dumps([told]).encode()):
        error = API.error(429, {}, shape)
        assert (error.status, error.code, error.message) == (429, "RESOURCE_EXHAUSTED", "slow down")
        assert (error.retryable, error.retry_after) == (True, 34.5)
    assert API.error(429, {"Retry-After": "7"}, told).retry_after == 7


@pytest.mark.parametrize(
    "shape", [None, b"<html>", "", [], {}, {"error": "no"}, {"error": {"details": [1, {"@type": 3}]}}, 4]
)
def test_any_error_body_gives_an_error(shape: Any) -> None:
    error = API.error(500, {"X-Request-Id": "r1"}, shape)
    assert (error.status, error.retryable, error.request_id, bool(error.message)) == (500, True, "r1", True)


# ── requests ─────────────────────────────────────────────────────────────────


def test_the_model_is_in_the_path() -> None:
    assert API.encode(ask()).path == "models/gemini-3-flash-preview:generateContent"
    assert API.encode(ask(stream=True)).path == "models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
    vertex = "publishers/google/models/gemini-2.5-pro"
    assert API.encode(ask(model=vertex)).path == f"{vertex}:generateContent"


def test_the_name_of_a_model_cannot_change_the_url() -> None:
    assert API.encode(ask(model="x?key=1#y:z%2f w")).path == "models/x%3Fkey%3D1%23y%3Az%252f%20w:generateContent"
    for name in ("../x?y", "models/../../x", "a//b", "/x", "models/.", "x/"):
        with pytest.raises(ConfigError, match="cannot be the name of a model"):
            API.encode(ask(model=name))


def test_instructions_stand_apart_and_settings_together() -> None:
    request = ask(
        system("Be brief."),
        user("Hello", Media("image/png", data="iVBO"), Media("video/mp4", url="https://v.example")),
        max_output_tokens=10,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        seed=7,
        response_schema={"type": "object", "properties": {"a": {"type": "string"}}},
        provider_options={"generationConfig": {"topK": 3}, "safetySettings": []},
    )
    assert API.encode(request).body == {
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Hello"},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBO"}},
                    {"fileData": {"mimeType": "video/mp4", "fileUri": "https://v.example"}},
                ],
            }
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "maxOutputTokens": 10,
            "temperature": 0.5,
            "topP": 0.9,
            "stopSequences": ["END"],
            "seed": 7,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
            "topK": 3,
        },
        "safetySettings": [],
    }


@pytest.mark.parametrize(
    "model, thinking, config",
    [
        ("gemini-2.5-flash", Thinking("off"), {"thinkingBudget": 0}),
        ("gemini-2.5-flash", Thinking("high"), {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-2.5-pro", Thinking(tokens=512), {"thinkingBudget": 512, "includeThoughts": True}),
        ("gemini-3-flash-preview", Thinking("off"), {"thinkingLevel": "minimal"}),
        ("gemini-3-pro-preview", Thinking("low"), {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-flash-latest", Thinking("medium"), {"thinkingLevel": "medium", "includeThoughts": True}),
    ],
)
def test_thinking_is_a_level_or_a_budget_by_family(model: str, thinking: Thinking, config: dict[str, Any]) -> None:
    request = ask(model=model, thinking=thinking)
    assert API.encode(request).body["generationConfig"] == {"thinkingConfig": config}


def test_a_model_that_always_or_never_thinks_is_not_asked_otherwise() -> None:
    assert "cannot be kept from thinking" in problems(ask(model="gemini-2.5-pro", thinking=Thinking("off")))[0]
    assert "does not think" in problems(ask(model="gemini-2.0-flash", thinking=Thinking("low")))[0]


@pytest.mark.parametrize(
    "choice, config",
    [
        (ToolChoice(), None),
        (ToolChoice("none"), {"mode": "NONE"}),
        (ToolChoice("required"), {"mode": "ANY"}),
        (ToolChoice("one", ("clock",)), {"mode": "ANY", "allowedFunctionNames": ["clock"]}),
        (
            ToolChoice("subset", ("clock", "weather"), required=True),
            {"mode": "ANY", "allowedFunctionNames": ["clock", "weather"]},
        ),
        (ToolChoice("subset", ("clock",)), {"mode": "VALIDATED", "allowedFunctionNames": ["clock"]}),
    ],
)
def test_a_choice_of_tools_is_a_mode_and_names(choice: ToolChoice, config: dict[str, Any] | None) -> None:
    written = API.encode(ask(definitions=(WEATHER, CLOCK), choice=choice)).body
    assert written.get("toolConfig") == (None if config is None else {"functionCallingConfig": config})
    read = API.read_request(written, model="gemini-3-flash-preview")
    assert read.choice == choice


def test_functions_share_one_entry_and_the_providers_tools_have_their_own() -> None:
    encoded = API.encode(ask(definitions=(WEATHER, SEARCH, CLOCK)))
    assert encoded.body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Says the weather.", "parametersJsonSchema": WEATHER.parameters},
                {"name": "clock", "description": "Says the time."},
            ]
        },
        {"googleSearch": {}},
    ]
    assert json.loads(encoded.to_bytes()) == encoded.body


def test_functions_beside_the_providers_tools_are_a_matter_of_model_and_place() -> None:
    both = (WEATHER, SEARCH)
    assert API.encode(ask(definitions=both)).body["toolConfig"] == {"includeServerSideToolInvocations": True}
    vertex = ask(model="publishers/google/models/gemini-3-flash-preview", definitions=both)
    assert "toolConfig" not in API.encode(vertex).body
    told_not_to = {"toolConfig": {"includeServerSideToolInvocations": None}}
    assert "toolConfig" not in API.encode(ask(definitions=both, provider_options=told_not_to)).body
    assert "does not take functions beside" in problems(ask(model="gemini-2.5-flash", definitions=both))[0]


def test_a_strict_tool_has_calls_held_to_their_schemas() -> None:
    strict = ask(definitions=(replace(WEATHER, strict=True), CLOCK))
    assert API.encode(strict).body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_a_tool_whose_field_is_a_list_is_written_and_read_as_one() -> None:
    servers = ProviderDefinition("google.mcp_servers", "mcpServers", settings={"mcpServers": [{"name": "s"}]})
    body = API.encode(ask(definitions=(servers,))).body
    assert body["tools"] == [{"mcpServers": [{"name": "s"}]}]
    assert API.read_request(body, model="gemini-3-flash-preview").definitions == (servers,)


def test_tools_that_cannot_be_chosen_or_are_another_vendors_are_refused_with_all_problems() -> None:
    foreign = ProviderDefinition("anthropic.web_search_20250305", "web_search_20250305", "web_search")
    request = ask(definitions=(WEATHER, SEARCH, foreign), choice=ToolChoice("one", ("google.google_search",)))
    found = problems(request)
    assert len(found) == 2
    assert "a tool of anthropic" in found[0]
    assert "cannot be chosen" in found[1]


def test_freeform_tools_namespaces_and_examples_are_said_in_a_function() -> None:
    patch = FreeformDefinition("patch", "Applies a patch.", "lark", "start: A", namespace="files")
    example = replace(CLOCK, examples=(ToolExample({"zone": "UTC"}, description="at Greenwich"),))
    encoded = API.encode(ask(definitions=(patch, example)))
    (entry,) = encoded.body["tools"]
    assert entry["functionDeclarations"] == [
        {
            "name": "files__patch",
            "description": "Applies a patch.\n\n`input` follows this lark grammar:\nstart: A",
            "parametersJsonSchema": {
                "type": "object",
                "properties": {"input": {"type": "string"}},
                "required": ["input"],
            },
        },
        {"name": "clock", "description": 'Says the time.\n\nGood calls:\n- {"zone":"UTC"}: at Greenwich'},
    ]
    assert [remark.where for remark in encoded.report] == ["tools.files__patch", "tools.files__patch"]


def test_an_unchanged_toolset_is_written_once() -> None:
    definitions = (WEATHER, CLOCK)
    one, other = API.encode(ask(definitions=definitions)), API.encode(ask(user("?"), definitions=definitions))
    assert one.body["tools"] is other.body["tools"]


def test_an_answer_by_schema_beside_tools_is_a_matter_of_model() -> None:
    asked: dict[str, Any] = {"definitions": (CLOCK,), "response_schema": {"type": "object", "properties": {}}}
    assert "takes no tools while" in problems(ask(model="gemini-2.5-flash", **asked))[0]
    assert API.encode(ask(**asked)).body["generationConfig"]["responseMimeType"] == "application/json"


def test_cached_content_holds_the_instructions_and_tools_itself() -> None:
    cached = {"cachedContent": "cachedContents/1"}
    assert "cannot be used with" in problems(ask(definitions=(CLOCK,), provider_options=cached))[0]
    assert API.encode(ask(provider_options=cached)).body["cachedContent"] == "cachedContents/1"


def test_names_the_api_refuses_are_found_before_it_does() -> None:
    bad = replace(WEATHER, name="1st tool")
    assert "does not match" in problems(ask(definitions=(bad,)))[0]
    assert "nothing is said" in problems(Request("gemini-2.5-flash", (system("Only this."),)))[0]


# ── history ──────────────────────────────────────────────────────────────────


def test_ids_that_were_not_given_are_not_echoed_and_results_stand_as_their_calls_do() -> None:
    reply = decoded(
        {"functionCall": {"name": "clock", "args": {"zone": "a"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "clock", "args": {"zone": "b"}}},
    )
    first, second = reply.calls
    sent = contents(
        ask(
            user("?"),
            reply,
            results_message(NativeResult(second.id, "two")),
            results_message(NativeResult(first.id, "no", is_error=True)),
        )
    )
    assert sent[1:] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "clock", "args": {"zone": "a"}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "clock", "args": {"zone": "b"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "clock", "response": {"error": "no"}}},
                {"functionResponse": {"name": "clock", "response": {"output": "two"}}},
            ],
        },
    ]


def test_results_come_before_what_the_user_says_after_the_calls() -> None:
    call = {"functionCall": {"id": "c", "name": "clock", "args": {}}}
    reply = decoded(call)
    sent = contents(ask(user("?"), reply, user("Hurry"), results_message(NativeResult("c", "noon"))))
    response = {"functionResponse": {"id": "c", "name": "clock", "response": {"output": "noon"}}}
    assert sent[1:] == [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response]},
        {"role": "user", "parts": [{"text": "Hurry"}]},
    ]


def test_a_sound_of_an_unknown_type_is_not_sent() -> None:
    said = Reply((TextPart("Listen."), MediaPart(Media("audio/*", data="AA=="))), FinishReason.STOP)
    written = API.encode(Request("m", (user("Sing."), said, user("Again."))))
    assert written.body["contents"][1] == {
        "role": "model",
        "parts": [{"text": "Listen."}, {"text": "[audio/*: not shown]"}],
    }
    assert any("audio/*" in remark.message for remark in written.report)


def test_media_in_a_result_go_inside_it_or_after_it() -> None:
    reply = decoded({"functionCall": {"id": "c", "name": "draw", "args": {}}})
    result = results_message(NativeResult("c", ("done", Media("image/png", data="iVBO"))))
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}
    response = {"id": "c", "name": "draw", "response": {"output": "done"}}
    assert contents(ask(user("?"), reply, result))[2]["parts"] == [{"functionResponse": {**response, "parts": [image]}}]
    older = contents(ask(user("?"), reply, result, model="gemini-2.5-flash"))
    assert older[2]["parts"] == [{"functionResponse": response}, image]


def test_a_call_another_model_made_carries_the_stand_in_where_a_signature_is_demanded() -> None:
    foreign = Message(
        "assistant",
        (ThinkingPart("secret", signature="s"), CallPart(NativeCall("c", "clock")), CallPart(NativeCall("d", "clock"))),
        provenance=Provenance(api="anthropic_messages", model="claude"),
    )
    results = results_message(NativeResult("c", "1"), NativeResult("d", "2"))
    one, other = (
        {"functionCall": {"id": "c", "name": "clock", "args": {}}},
        {"functionCall": {"id": "d", "name": "clock", "args": {}}},
    )
    stand_in = {**one, "thoughtSignature": "skip_thought_signature_validator"}
    assert contents(ask(user("?"), foreign, results))[1]["parts"] == [stand_in, other]
    assert contents(ask(user("?"), foreign, results, model="gemini-2.5-pro"))[1]["parts"] == [one, other]
    (found,) = [one for one in API.validate(ask(user("?"), foreign, results)) if "demands the signature" in one.message]
    assert (found.where, found.fixed) == ("conversation[1]", True)
    by_hand = calls_message(NativeCall("c", "clock"), NativeCall("d", "clock"))
    assert contents(ask(user("?"), by_hand, results))[1]["parts"] == [stand_in, other]


def test_signatures_go_back_to_the_model_that_made_them_and_to_no_other() -> None:
    reply = decoded(
        {"text": "Hi", "thoughtSignature": "YQ=="},
        {"functionCall": {"id": "c", "name": "clock", "args": {}}, "thoughtSignature": "Yg=="},
    )
    turns = (user("?"), reply, results_message(NativeResult("c", "1")))
    signed = [
        {"text": "Hi", "thoughtSignature": "YQ=="},
        {"functionCall": {"id": "c", "name": "clock", "args": {}}, "thoughtSignature": "Yg=="},
    ]
    for model in ("gemini-3-flash-preview", "gemini-3-flash", "gemini-flash-latest", "models/gemini-3-flash-preview"):
        assert contents(ask(*turns, model=model))[1]["parts"] == signed
    bare = [{"text": "Hi"}, {"functionCall": {"id": "c", "name": "clock", "args": {}}}]
    assert contents(ask(*turns, model="gemini-2.5-flash"))[1]["parts"] == bare


def test_tools_the_provider_ran_for_another_model_stay_behind() -> None:
    call = {"toolCall": {"id": "t1", "toolType": "URL_CONTEXT", "args": {}}, "thoughtSignature": "YQ=="}
    reply = decoded(call, {"text": "Hi"})
    encoded = API.encode(ask(user("?"), reply, model="gemini-2.5-flash"))
    assert encoded.body["contents"][1]["parts"] == [{"text": "Hi"}]
    assert [remark.message for remark in encoded.report] == [
        "signatures of another model were left out",
        "tools the provider ran for another model were left out",
    ]


def test_an_older_model_is_given_the_older_schema() -> None:
    (entry,) = API.encode(ask(model="gemini-1.5-flash", definitions=(WEATHER,))).body["tools"]
    (declaration,) = entry["functionDeclarations"]
    assert declaration["parameters"]["type"] == "OBJECT"
    assert declaration["parameters"]["properties"] == {"city": {"type": "STRING"}}


def test_instructions_in_the_middle_and_turns_without_content_are_fixed_and_told() -> None:
    empty = API.decode({"candidates": [{"finishReason": "SAFETY"}], "modelVersion": "gemini-3-flash-preview"})
    encoded = API.encode(ask(user("a"), empty, system("Mind."), user("b")))
    assert encoded.body["contents"] == [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "user", "parts": [{"text": "b"}]},
    ]
    assert [remark.message for remark in encoded.report] == [
        "a turn without content cannot be sent and was left out",
        "instructions can only come first: they were moved there",
    ]


# ── recorded requests ────────────────────────────────────────────────────────


def test_a_recorded_request_in_snake_case_is_read_and_sent_again() -> None:
    schema = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}}
    recorded = {
        "system_instruction": {"parts": {"text": "Be brief."}},
        "contents": [
            {"parts": [{"text": "?"}]},
            {
                "role": "model",
                "parts": [{"function_call": {"name": "f", "args": {"n": 1}}, "thought_signature": "c2ln"}],
            },
            {"role": "function", "parts": [{"function_response": {"name": "f", "response": {"result": 2}}}]},
        ],
        "tools": [{"function_declarations": [{"name": "f", "parameters": schema}]}, {"google_search": {}}],
        "tool_config": {"function_calling_config": {"mode": "any", "allowed_function_names": ["f"]}},
        "generation_config": {"thinking_config": {"thinking_level": "HIGH"}, "max_output_tokens": 5, "top_k": 2},
        "cached_content": None,
    }
    request = API.read_request(recorded, model="gemini-3-flash-preview")
    call = request.conversation[2].parts[0]
    result = request.conversation[3].parts[0]
    assert isinstance(call, CallPart)
    assert isinstance(result, ResultPart)
    assert call.call.id == result.result.call_id
    assert (result.result.content, result.result.item) == ('{"result":2}', {"response": {"result": 2}})
    assert (request.choice, request.thinking, request.max_output_tokens) == (
        ToolChoice("one", ("f",)),
        Thinking("high"),
        5,
    )
    assert [one.id if isinstance(one, ProviderDefinition) else one.parameters for one in request.definitions] == [
        {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}},
        "google.google_search",
    ]
    assert API.encode(request).body == {
        "contents": [
            {"parts": [{"text": "?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"n": 1}}, "thoughtSignature": "c2ln"}]},
            {"role": "function", "parts": [{"functionResponse": {"name": "f", "response": {"result": 2}}}]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "maxOutputTokens": 5,
            "thinkingConfig": {"thinkingLevel": "high", "includeThoughts": False},
            "topK": 2,
        },
    }


@pytest.mark.parametrize(
    "response, content, is_error",
    [
        ({"error": "x"}, "x", True),
        ({"output": "y"}, "y", None),
        ({"error": "x", "output": "y"}, '{"error":"x","output":"y"}', None),
        ({"error": {"code": 1}}, '{"error":{"code":1}}', True),
        ({"output": 1}, '{"output":1}', None),
        ({"result": 1}, '{"result":1}', None),
        ({}, "{}", None),
    ],
)
def test_a_recorded_response_of_a_function_is_its_text_or_its_json(
    response: dict[str, Any], content: str, is_error: bool | None
) -> None:
    result = {"functionResponse": {"id": "c", "name": "clock", "response": response}}
    turns = [
        {"role": "user", "parts": [{"text": "?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "clock", "args": {}}}]},
        {"role": "user", "parts": [result]},
    ]
    request = API.read_request({"contents": turns}, model="gemini-3-flash-preview")
    (part,) = request.conversation[-1].parts
    assert (part.result.content, part.result.is_error) == (content, is_error)
    assert API.encode(request).body["contents"][-1]["parts"] == [result]


def test_a_schema_that_was_changed_after_reading_is_written_anew() -> None:
    declaration = {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}
    recorded = {
        "contents": [{"role": "user", "parts": [{"text": "?"}]}],
        "tools": [{"functionDeclarations": [declaration]}],
    }
    request = API.read_request(recorded, model="gemini-2.5-flash")
    (definition,) = request.definitions
    assert isinstance(definition, FunctionDefinition)
    changed = replace(definition, parameters=WEATHER.parameters)
    assert API.encode(replace(request, definitions=(changed,))).body["tools"] == [
        {"functionDeclarations": [{"name": "f", "parametersJsonSchema": WEATHER.parameters}]}
    ]


def test_space_before_a_stream_is_passed_over_however_much_of_it_comes() -> None:
    decoder = API.stream()
    for _ in range(50_000):
        assert decoder.feed(b"\r\n") == []
    chunks = decoder.feed(b'[{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}]')
    assert [chunk for chunk in chunks if isinstance(chunk, TextChunk)] == [TextChunk("Hi")]
