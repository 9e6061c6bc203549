"""The Messages protocol: every kind of block and event, what is asked of each family of models, and what is refused."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from dragoman.apis import APIS, Remark
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import (
    CallPart,
    Citation,
    ExecutedBy,
    FinishReason,
    Media,
    MediaPart,
    Message,
    NativeCall,
    NativeResult,
    OpaquePart,
    Provenance,
    RefusalPart,
    Reply,
    ResultPart,
    TextPart,
    ThinkingPart,
    Usage,
)
from dragoman.model.conversation import Span, assistant, calls_message, results_message, system, user
from dragoman.model.request import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    CitationArrived,
    Finished,
    FreeformDefinition,
    FunctionDefinition,
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

API = APIS["anthropic_messages"]
NAME = "anthropic_messages"
BAD_GATEWAY = 'the server sent a web page ("Bad gateway"), not an answer of an API'
OLD, BUDGET, EITHER, EFFORT, ALWAYS = (
    "claude-3-5-haiku-20241022",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-8",
    "claude-fable-5",
)


def body(*content: Any, **fields: Any) -> dict[str, Any]:
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": BUDGET, "stop_reason": "end_turn"}
    return {**start, "content": list(content), **fields}


def parts(*content: Any) -> tuple[Any, ...]:
    reply: Reply = API.decode(body(*content))
    return reply.parts


def sent_back(*content: Any) -> list[Any]:
    """What a reply of these blocks goes back as."""
    reply = API.decode(body(*content))
    messages = API.encode(Request(BUDGET, (user("go"), reply, user("on")))).body["messages"]
    return [message for message in messages if message["role"] == "assistant"]


def asked(*conversation: Any, model: str = BUDGET, **fields: Any) -> dict[str, Any]:
    written: dict[str, Any] = API.encode(Request(model, conversation or (user("Hello"),), **fields)).body
    return written


def problems(*conversation: Any, model: str = BUDGET, **fields: Any) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        API.encode(Request(model, conversation or (user("Hello"),), **fields))
    return list(caught.value.problems)


def told(*conversation: Any, model: str = BUDGET, **fields: Any) -> list[str]:
    report: tuple[Remark, ...] = API.encode(Request(model, conversation or (user("Hello"),), **fields)).report
    return [remark.message for remark in report]


# ── replies ──────────────────────────────────────────────────────────────────


def test_a_text_with_a_stop_reason_and_usage_is_a_reply() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 4},
        "server_tool_use": {"web_search_requests": 1},
        "service_tier": "standard",
    }
    assert API.decode(body({"type": "text", "text": "Hi"}, usage=usage, stop_sequence=None)) == Reply(
        (TextPart("Hi"),),
        FinishReason.STOP,
        "end_turn",
        Usage(10, 3, 2, 7, 4, requests={"web_search": 1}, metadata={NAME: {"service_tier": "standard"}}),
        "msg_1",
        provenance=Provenance(api=NAME, model=BUDGET),
    )


def test_zero_is_a_count_and_what_is_none_is_kept_as_it_came() -> None:
    odd = {"output_tokens": -1, "cache_read_input_tokens": True, "cache_creation_input_tokens": 2.5}
    usage = {
        "input_tokens": 0,
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": {"web_search_requests": 0},
        **odd,
    }
    counted = Usage(0, reasoning_tokens=0, requests={"web_search": 0}, metadata={NAME: odd})
    assert API.decode(body(usage=usage)).usage == counted
    whole = {"input_tokens": 3.0, "output_tokens": 2, "cache_read_input_tokens": None}
    assert API.decode(body(usage=whole)).usage == Usage(3, output_tokens=2)  # JSON has one kind of number


@pytest.mark.parametrize("key", ["id", "model", "stop_reason"])
def test_a_field_that_is_not_the_text_it_should_be_is_kept_as_it_came(key: str) -> None:
    assert API.decode(body(**{key: 7})).metadata == {NAME: {key: 7}}
    assert API.decode(body(**{key: None})).metadata == {}
    assert API.decode(body(**{key: "text"})).metadata == {}


@pytest.mark.parametrize(
    "raw, expected",
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP_SEQUENCE),
        ("max_tokens", FinishReason.LENGTH),
        ("tool_use", FinishReason.CALLS),
        ("pause_turn", FinishReason.PAUSED),
        ("refusal", FinishReason.REFUSED),
        ("model_context_window_exceeded", FinishReason.CONTEXT_EXCEEDED),
        ("compaction", FinishReason.COMPACTED),
        ("a_new_one", FinishReason.UNKNOWN),
        (None, FinishReason.UNKNOWN),
    ],
)
def test_every_stop_reason_has_a_type(raw: str | None, expected: FinishReason) -> None:
    reply = API.decode(body(stop_reason=raw))
    assert (reply.finish, reply.finish_raw) == (expected, raw)


def test_calls_for_us_make_an_ordinary_end_one_of_calls_and_the_providers_own_do_not() -> None:
    ours = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    theirs = {"type": "server_tool_use", "id": "b", "name": "web_search", "input": {}}
    assert API.decode(body(ours)).finish is FinishReason.CALLS
    assert API.decode(body(theirs)).finish is FinishReason.STOP
    assert API.decode(body(ours, stop_reason="max_tokens")).finish is FinishReason.LENGTH


def test_thinking_is_read_with_its_signature_even_when_it_says_nothing() -> None:
    blocks = [
        {"type": "thinking", "thinking": "", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "so"},
    ]
    assert parts(*blocks) == (ThinkingPart("", "s1"), ThinkingPart(encrypted="xx"), TextPart("so"))
    assert sent_back(*blocks) == [{"role": "assistant", "content": blocks}]


def test_a_call_keeps_who_runs_it_and_what_else_its_block_says() -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "srv"}
    plain = {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}
    called = {"type": "tool_use", "id": "b", "name": "f", "input": {}, "caller": caller}
    member = {"type": "tool_use", "id": "c", "name": "click", "input": {}, "toolset_name": "browser"}
    server = {"type": "server_tool_use", "id": "d", "name": "web_search", "input": {"query": "q"}}
    remote = {"type": "mcp_tool_use", "id": "e", "name": "ask", "input": {}, "server_name": "wiki"}
    provider = ExecutedBy.PROVIDER
    assert parts(plain, called, member, server, remote) == (
        CallPart(NativeCall("a", "f", {"x": 1})),
        CallPart(NativeCall("b", "f", {}, item=called)),
        CallPart(NativeCall("c", "click", {}, namespace="browser", item=member)),
        CallPart(NativeCall("d", "web_search", {"query": "q"}, executed_by=provider)),
        CallPart(NativeCall("e", "ask", {}, executed_by=provider, item=remote)),
    )


@pytest.mark.parametrize("given", [None, "", "{}"])
def test_no_input_is_an_empty_one(given: Any) -> None:
    (part,) = parts({"type": "tool_use", "id": "a", "name": "f", "input": given})
    assert part.call.arguments == {}


def test_a_call_without_an_id_of_its_own_is_given_a_stable_one() -> None:
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    nameless = {"type": "tool_use", "name": "f", "input": {}}
    ids = [part.call.id for part in parts(block, block, nameless)]
    assert ids == [part.call.id for part in parts(block, block, nameless)]
    assert ids[0] == "a"
    assert len(set(ids)) == 3


PAGE = {
    "type": "web_search_result",
    "title": "T",
    "url": "https://a.example",
    "encrypted_content": "e",
    "page_age": None,
}
DOCUMENT = {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}


@pytest.mark.parametrize(
    "kind, content, readable, is_error",
    [
        ("web_search", [PAGE], "T\nhttps://a.example", None),
        (
            "web_search",
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            "max_uses_exceeded",
            True,
        ),
        (
            "web_fetch",
            {"type": "web_fetch_result", "url": "https://a.example", "content": DOCUMENT},
            "https://a.example\nT\nwords",
            None,
        ),
        (
            "code_execution",
            {"type": "code_execution_result", "stdout": "1", "stderr": "2", "return_code": 0, "content": []},
            "1\n2",
            None,
        ),
        (
            "text_editor_code_execution",
            {"type": "text_editor_code_execution_view_result", "content": "line"},
            "line",
            None,
        ),
        (
            "text_editor_code_execution",
            {"type": "text_editor_code_execution_str_replace_result", "lines": ["-a", "+b"]},
            "-a\n+b",
            None,
        ),
        (
            "tool_search",
            {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "f"}],
            },
            "f",
            None,
        ),
        ("advisor", {"type": "advisor_result", "text": "do it"}, "do it", None),
        ("advisor", {"type": "advisor_redacted_result", "encrypted_content": "x"}, "", None),
    ],
)
def test_what_the_provider_ran_is_readable_and_goes_back_untouched(
    kind: str, content: Any, readable: str, is_error: bool | None
) -> None:
    suffix = "tool_tool_result" if kind == "tool_search" else "tool_result"
    block = {"type": f"{kind}_{suffix}", "tool_use_id": "srv", "content": content}
    expected = NativeResult("srv", readable, is_error, executed_by=ExecutedBy.PROVIDER, item=block)
    assert parts(block) == (ResultPart(expected),)
    call = {"type": "server_tool_use", "id": "srv", "name": kind, "input": {}}
    assert sent_back(call, block) == [{"role": "assistant", "content": [call, block]}]


def test_files_that_code_made_are_media_of_its_result() -> None:
    made = {"type": "bash_code_execution_output", "file_id": "file_1"}
    content = {"type": "bash_code_execution_result", "stdout": "ok", "stderr": "", "return_code": 0, "content": [made]}
    (part,) = parts({"type": "bash_code_execution_tool_result", "tool_use_id": "srv", "content": content})
    assert part.result.content == ("ok", Media("application/octet-stream", file_id="file_1"))


def test_a_remote_servers_result_says_whether_it_failed() -> None:
    block = {
        "type": "mcp_tool_result",
        "tool_use_id": "m",
        "is_error": True,
        "content": [{"type": "text", "text": "no"}],
    }
    expected = NativeResult("m", "no", is_error=True, executed_by=ExecutedBy.PROVIDER, item=block)
    assert parts(block) == (ResultPart(expected),)


CITATIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {
            "type": "char_location",
            "document_index": 0,
            "document_title": "D",
            "start_char_index": 1,
            "end_char_index": 2,
        },
        {
            "title": "D",
            "location": {"type": "char_location", "document_index": 0, "start_char_index": 1, "end_char_index": 2},
        },
    ),
    (
        {
            "type": "page_location",
            "document_index": 0,
            "document_title": None,
            "start_page_number": 1,
            "end_page_number": 2,
        },
        {
            "location": {"type": "page_location", "document_index": 0, "start_page_number": 1, "end_page_number": 2},
            "metadata": {NAME: {"document_title": None}},
        },
    ),
    (
        {
            "type": "content_block_location",
            "document_index": 0,
            "start_block_index": 0,
            "end_block_index": 1,
            "file_id": "f",
        },
        {
            "document": "f",
            "location": {
                "type": "content_block_location",
                "document_index": 0,
                "start_block_index": 0,
                "end_block_index": 1,
            },
        },
    ),
    (
        {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "encrypted_index": "x"},
        {
            "url": "https://a.example",
            "title": "A",
            "location": {"type": "web_search_result_location", "encrypted_index": "x"},
        },
    ),
    (
        {
            "type": "search_result_location",
            "source": "s",
            "title": "A",
            "search_result_index": 0,
            "start_block_index": 0,
        },
        {
            "document": "s",
            "title": "A",
            "location": {"type": "search_result_location", "search_result_index": 0, "start_block_index": 0},
        },
    ),
]


@pytest.mark.parametrize("raw, fields", CITATIONS)
def test_every_kind_of_citation_is_one_and_goes_back_as_it_came(raw: dict[str, Any], fields: dict[str, Any]) -> None:
    block = {"type": "text", "text": "said 🌍", "citations": [{**raw, "cited_text": "quoted"}]}
    assert parts(block) == (TextPart("said 🌍", (Citation(quote="quoted", span=Span(0, 6), **fields),)),)
    assert sent_back(block) == [{"role": "assistant", "content": [block]}]


def file(kind: str, media_type: str, data: str = "AA==", **source: Any) -> dict[str, Any]:
    return {"type": kind, "media_type": media_type, "data": data, **source}


@pytest.mark.parametrize(
    "block, medium",
    [
        ({"type": "image", "source": {"type": "url", "url": "https://x"}}, Media("image/*", url="https://x")),
        (
            {"type": "document", "source": {"type": "url", "url": "https://x"}, "title": "T"},
            Media("application/pdf", url="https://x", name="T"),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": ""},
            Media("application/octet-stream", file_id="f"),
        ),
        (
            {"type": "image", "source": {"type": "file", "file_id": "f"}, "title": "T"},
            Media("image/*", file_id="f"),
        ),
        ({"type": "document", "source": file("text", "text/plain", "x")}, Media("text/plain", "eA==")),
        ({"type": "image", "source": file("base64", "image/png")}, Media("image/png", "AA==")),
        ({"type": "document", "source": file("base64", "application/pdf")}, Media("application/pdf", "AA==")),
        ({"type": "image", "source": "no"}, None),
        ({"type": "image", "source": {"type": "url", "url": 7}}, None),
        ({"type": "image", "source": {"type": "url"}}, None),
        ({"type": "image", "source": {"type": "url", "url": "https://x", "more": "y"}}, None),
        ({"type": "image", "source": file("text", "text/plain")}, None),
        ({"type": "document", "source": file("text", "text/html")}, None),
        ({"type": "document", "source": file("base64", "image/png")}, None),
        ({"type": "image", "source": file("base64", "application/pdf")}, None),
        ({"type": "odd", "source": {"type": "url", "url": "https://x"}}, None),
    ],
)
def test_an_image_or_a_document_is_a_medium_where_its_source_is_one(
    block: dict[str, Any], medium: Media | None
) -> None:
    request = API.read_request({"messages": [{"role": "user", "content": [block]}]}, model=BUDGET)
    (part,) = request.conversation[0].parts
    assert getattr(part, "media", None) == medium
    assert API.encode(request).body["messages"][0]["content"] == [block]


@pytest.mark.parametrize("kind", ["compaction", "fallback", "mcp_tool_listing", "container_upload", "of_tomorrow"])
def test_a_block_without_a_type_of_its_own_is_kept_and_goes_back(kind: str) -> None:
    block = {"type": kind, "content": "x", "more": {"deep": [1]}}
    assert parts(block) == (OpaquePart(NAME, block),)
    assert sent_back(block) == [{"role": "assistant", "content": [block]}]


def test_what_a_message_says_beside_its_content_is_kept() -> None:
    container = {"id": "container_1", "expires_at": "soon"}
    edits = {"applied_edits": []}
    reply = API.decode(body(container=container, context_management=edits, stop_details=None))
    assert reply.metadata == {NAME: {"container": container, "context_management": edits}}


def test_a_refusal_is_told_in_the_providers_words() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    reply = API.decode(body(stop_reason="refusal", stop_details=details))
    assert reply.parts == (RefusalPart("Not this.", {NAME: {"stop_details": True}}),)
    assert reply.metadata == {NAME: {"stop_details": details}}
    assert asked(user("a"), reply, user("b"))["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": [{"type": "text", "text": "b"}]},
    ]


@pytest.mark.parametrize("whole", [None, [], "text", 5, {}, {"content": 5}, {"error": {"message": "no"}}])
def test_what_is_no_message_is_an_error(whole: Any) -> None:
    with pytest.raises(EngineError):
        API.decode(whole)


def test_a_block_that_is_not_what_it_says_is_kept_whole() -> None:
    odd = [{"type": "text", "text": 5}, {"type": "tool_use", "id": "a"}, {"type": "thinking"}, {"type": ["x"]}]
    assert parts(*odd) == tuple(OpaquePart(NAME, block) for block in odd)
    assert parts("bare") == (OpaquePart(NAME, {"unread": "bare"}),)


# ── errors ───────────────────────────────────────────────────────────────────


def facts(error: EngineError) -> tuple[Any, ...]:
    return (error.message, error.status, error.code, error.request_id, error.retryable, error.retry_after)


@pytest.mark.parametrize(
    "status, headers, said, expected",
    [
        (
            529,
            {},
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"},
            ("Overloaded", 529, "overloaded_error", "req_1", True, None),
        ),
        (
            429,
            {"Retry-After": "3", "request-id": "req_2"},
            b'{"type": "error", "error": {"type": "rate_limit_error", "message": "Slow"}, "request_id": null}',
            ("Slow", 429, "rate_limit_error", "req_2", True, 3.0),
        ),
        (
            500,
            {"x-should-retry": "false"},
            {"type": "error", "error": {"type": "api_error", "message": "Broken"}},
            ("Broken", 500, "api_error", None, False, None),
        ),
        (
            400,
            {"x-amzn-RequestId": "r", "x-should-retry": "nonsense"},
            {"message": "Malformed input request"},
            ("Malformed input request", 400, None, "r", False, None),
        ),
        (
            429,
            {},
            [{"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}],
            ("Quota", 429, "RESOURCE_EXHAUSTED", None, True, None),
        ),
        (502, {}, b"<html>Bad gateway</html>", (BAD_GATEWAY, 502, None, None, True, None)),
        (503, {}, b"", ("the provider answered with status 503", 503, None, None, True, None)),
    ],
)
def test_every_shape_of_error_says_the_same_facts(
    status: int, headers: dict[str, str], said: Any, expected: tuple[Any, ...]
) -> None:
    assert facts(API.error(status, headers, said)) == expected


# ── streams ──────────────────────────────────────────────────────────────────


def start(**fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": BUDGET, "content": [], "usage": usage}
    return {"type": "message_start", "message": {**message, "stop_reason": None, **fields}}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str = "end_turn", **fields: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None, **fields}
    return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]


def as_bytes(*events: dict[str, Any], named: bool = True) -> bytes:
    lines = (f"event: {one.get('type')}\n" * named + f"data: {json.dumps(one)}\n\n" for one in events)
    return "".join(lines).encode()


def streamed(*events: dict[str, Any]) -> tuple[list[AnyChunk], Reply]:
    decoder = API.stream()
    return decoder.feed(as_bytes(*events)), decoder.close()


def text_delta(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def test_a_stream_tells_each_piece_and_gives_the_reply_of_the_whole_body() -> None:
    cited = {
        "type": "char_location",
        "cited_text": "q",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    chunks, reply = streamed(
        start(),
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "sig"},
        ),
        *block(
            1,
            {"type": "text", "text": ""},
            text_delta("a"),
            {"type": "citations_delta", "citation": cited},
            text_delta("b"),
        ),
        *block(2, call, json_delta(""), json_delta('{"x":'), json_delta(" 1}")),
        *block(3, found),
        *end("tool_use", container={"id": "c"}),
    )
    whole = body(
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "ab", "citations": [cited]},
        {**call, "input": {"x": 1}},
        found,
        stop_reason="tool_use",
        container={"id": "c"},
        usage={"input_tokens": 5, "output_tokens": 9},
    )
    assert reply == API.decode(whole)
    assert chunks == [
        UsageArrived(Usage(5, output_tokens=1)),
        ThinkingChunk("hm"),
        TextChunk("a"),
        TextChunk("b"),
        CitationArrived(reply.citations[0]),
        CallStarted("t", "f"),
        ArgumentsChunk("t", '{"x":'),
        ArgumentsChunk("t", " 1}"),
        CallFinished(NativeCall("t", "f", {"x": 1})),
        ResultArrived(reply.results[0]),
        UsageArrived(Usage(5, output_tokens=9)),
        Finished(FinishReason.CALLS),
    ]


def test_arguments_can_be_looked_at_while_they_come() -> None:
    decoder = API.stream()
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    decoder.feed(as_bytes(start(), *block(0, call, json_delta('{"path": "a.p'))[:2]))
    assert decoder.arguments("t") == {"path": "a.p"}


def test_arguments_that_came_whole_with_the_start_stand_and_are_told_once() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}
    chunks, reply = streamed(start(), *block(0, call, json_delta("")), *end("tool_use"))
    assert reply.calls == (NativeCall("t", "f", {"x": 1}),)
    assert [one for one in chunks if isinstance(one, ArgumentsChunk)] == [ArgumentsChunk("t", '{"x":1}')]


def test_arguments_cut_short_are_kept_as_text() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    _, reply = streamed(start(), *block(0, call, json_delta('{"x": ')), *end("max_tokens"))
    assert (reply.calls[0].arguments, reply.finish) == ('{"x": ', FinishReason.LENGTH)


def test_a_second_message_in_one_stream_is_the_reply_and_the_first_another_answer() -> None:
    first = block(0, {"type": "text", "text": ""}, text_delta("one"))
    second = block(0, {"type": "text", "text": ""}, text_delta("two"))
    _, reply = streamed(start(), *first, start(id="msg_2"), *second, *end())
    assert (reply.id, reply.text, reply.finish) == ("msg_2", "two", FinishReason.STOP)
    assert [(one.id, one.text, one.finish) for one in reply.alternatives] == [
        ("msg_1", "one", FinishReason.INTERRUPTED)
    ]
    assert streamed(start(), start(), *second, *end())[1].alternatives == ()


def test_an_index_used_again_or_skipped_begins_another_block() -> None:
    again = block(0, {"type": "text", "text": ""}, text_delta("a"))[:2]
    _, reply = streamed(start(), *again, *again, *block(7, {"type": "text", "text": "b"}), *end())
    assert reply.parts == (TextPart("a"), TextPart("a"), TextPart("b"))


def test_a_call_whose_index_is_used_again_is_finished_before_the_next_begins() -> None:
    calls = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ("a", "b")]
    begun = [{"type": "content_block_start", "index": 0, "content_block": call} for call in calls]
    chunks, _ = streamed(start(), *begun, *end("tool_use"))
    assert [chunk for chunk in chunks if isinstance(chunk, CallStarted | CallFinished)] == [
        CallStarted("a", "f"),
        CallFinished(NativeCall("a", "f", {})),
        CallStarted("b", "f"),
        CallFinished(NativeCall("b", "f", {})),
    ]


def test_a_block_whose_start_was_lost_is_read_from_its_deltas() -> None:
    _, reply = streamed(start(), *block(0, {}, text_delta("a"))[1:], *end())
    assert reply.parts == (TextPart("a"),)


def test_a_compaction_and_what_it_hides_come_in_one_delta() -> None:
    content = {"type": "compaction", "content": None, "encrypted_content": None}
    delta = {"type": "compaction_delta", "content": "so far", "encrypted_content": "x"}
    _, reply = streamed(start(), *block(0, content, delta), *end("compaction"))
    assert reply.parts == (OpaquePart(NAME, {"type": "compaction", "content": "so far", "encrypted_content": "x"}),)
    assert reply.finish is FinishReason.COMPACTED


def test_a_stream_that_breaks_off_says_so() -> None:
    chunks, reply = streamed(start(), *block(0, {"type": "text", "text": ""}, text_delta("a"))[:2])
    assert (reply.text, reply.finish, reply.usage.input_tokens) == ("a", FinishReason.INTERRUPTED, 5)
    assert not [one for one in chunks if isinstance(one, Finished)]
    assert API.stream().close() == Reply((), FinishReason.INTERRUPTED, provenance=Provenance(api=NAME))


def test_an_error_in_a_stream_is_raised_with_what_had_come() -> None:
    decoder = API.stream()
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    decoder.feed(as_bytes(start(), *block(0, {"type": "text", "text": ""}, text_delta("a"))[:2], error))
    with pytest.raises(EngineError) as caught:
        decoder.close()
    assert facts(caught.value) == ("Overloaded", None, "overloaded_error", "req_1", True, None)
    assert caught.value.partial.text == "a"


def test_events_without_names_and_with_unknown_types_are_none_of_them_lost() -> None:
    decoder = API.stream()
    new = {"type": "of_tomorrow", "x": 1}
    decoder.feed(as_bytes(start(), new, *block(0, {"type": "text", "text": "a"}), *end(), named=False))
    decoder.feed(b"data: [DONE]\n\n")
    reply = decoder.close()
    assert reply.text == "a"
    assert reply.metadata == {NAME: {"events": [new]}}


def test_a_delta_of_an_unknown_type_is_kept_and_never_sent() -> None:
    odd = {"type": "of_tomorrow_delta", "x": 1}
    _, reply = streamed(start(), *block(0, {"type": "text", "text": "a"}, odd), *end())
    assert reply.parts == (TextPart("a", metadata={NAME: {"deltas": [odd]}}),)
    assert asked(user("a"), reply, user("b"))["messages"][1]["content"] == [{"type": "text", "text": "a"}]


def test_what_bedrock_adds_at_the_end_is_kept() -> None:
    metrics = {"inputTokenCount": 1}
    stop = {"type": "message_stop", "amazon-bedrock-invocationMetrics": metrics}
    _, reply = streamed(start(), *end()[:1], stop)
    assert reply.metadata == {NAME: {"amazon-bedrock-invocationMetrics": metrics}}


# ── conversations ────────────────────────────────────────────────────────────


def test_the_system_text_stands_beside_the_messages() -> None:
    written = asked(system("Be brief."), user("Hello"))
    assert written == {
        "model": BUDGET,
        "max_tokens": 64_000,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    }


def test_marks_for_the_cache_travel_with_what_they_mark() -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    words = TextPart("Hello", metadata={NAME: mark})
    definition = FunctionDefinition("f", "Does.", {"type": "object"}, strict=False, metadata={NAME: mark})
    turns = (Message("system", (words,)), Message("user", (words,)))
    written = asked(*turns, definitions=(definition,))
    marked = {"type": "text", "text": "Hello", **mark}
    assert written["system"] == [marked]
    assert written["messages"] == [{"role": "user", "content": [marked]}]
    assert written["tools"][0]["cache_control"] == mark["cache_control"]


def test_a_system_message_inside_a_conversation_stays_there_where_the_model_takes_it() -> None:
    turns = (user("a"), assistant("b"), system("now in verse"), user("c"))
    assert [one["role"] for one in asked(*turns, model=EFFORT)["messages"]] == ["user", "assistant", "system", "user"]
    assert asked(*turns)["system"] == "now in verse"
    assert told(*turns) == ["this model takes no system message inside a conversation: it was moved to the start"]


def test_the_system_text_holds_no_pictures() -> None:
    told_by = Message("system", (TextPart("Be brief."), MediaPart(Media("image/png", data="AAAA"))))
    assert asked(told_by, user("a"))["system"] == "Be brief."
    assert told(told_by, user("a")) == ["the system message holds text alone: the rest was left out"]


def test_a_system_message_between_a_call_and_its_result_waits() -> None:
    call, result = NativeCall("t", "f"), NativeResult("t", "ok")
    turns = (user("a"), calls_message(call), system("b"), results_message(result))
    assert [one["role"] for one in asked(*turns, model=EFFORT)["messages"]] == ["user", "assistant", "user", "system"]


def test_results_come_first_in_the_one_message_after_their_calls() -> None:
    calls = calls_message(NativeCall("t1", "f"), NativeCall("t2", "f"))
    turns = (
        user("go"),
        calls,
        user("by the way"),
        results_message(NativeResult("t1", "one")),
        results_message(NativeResult("t2", "two", is_error=True)),
    )
    assert asked(*turns)["messages"][2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": True},
            {"type": "text", "text": "by the way"},
        ],
    }


def test_a_result_of_a_toolset_names_it() -> None:
    block = {"type": "tool_use", "id": "c", "name": "click", "input": {}, "toolset_name": "browser"}
    turns = (user("go"), API.decode(body(block)), results_message(NativeResult("c", "ok")))
    assert asked(*turns)["messages"][2]["content"][0]["toolset_name"] == "browser"


def test_results_hold_images_and_those_of_failed_calls_hold_text_alone() -> None:
    image = Media("image/png", data="AAAA")
    shown = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    for is_error, expected in (
        (None, [{"type": "text", "text": "see"}, shown]),
        (True, [{"type": "text", "text": "see"}, {"type": "text", "text": "[image/png: not shown]"}]),
    ):
        result = NativeResult("t", ("see", image), is_error=is_error)
        turns = (user("go"), calls_message(NativeCall("t", "f")), results_message(result))
        assert asked(*turns)["messages"][2]["content"][0]["content"] == expected


PDF = Media("application/pdf", data="AAAA", name="a.pdf")


@pytest.mark.parametrize(
    "media, expected",
    [
        (
            Media("image/png", url="https://a.example/x.png"),
            {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}},
        ),
        (
            Media("image/png", url="data:image/png;base64,AAAA"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        ),
        (Media("image/png", file_id="f"), {"type": "image", "source": {"type": "file", "file_id": "f"}}),
        (
            PDF,
            {
                "type": "document",
                "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
            },
        ),
        (
            Media("text/markdown", data=b64encode(b"# Hi").decode()),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "# Hi"}},
        ),
        (Media("video/mp4", data="AAAA", name="v"), {"type": "text", "text": "[video/mp4 (v): not shown]"}),
        (
            Media("audio/wav", url="https://a.example/x.wav"),
            {"type": "text", "text": "[audio/wav (https://a.example/x.wav): not shown]"},
        ),
        (Media("image/png", path="/x.png"), {"type": "text", "text": "[image/png (/x.png): not shown]"}),
    ],
)
def test_media_travel_as_the_api_takes_them_or_are_told_in_words(media: Media, expected: dict[str, Any]) -> None:
    seen = (user(media), assistant("Seen."), user("Go on."))  # what is attached just now is refused instead
    assert asked(*seen)["messages"][0]["content"] == [expected]
    assert bool(told(*seen)) == (expected["type"] == "text")


def test_a_turn_of_another_provider_is_said_without_what_only_it_can_read() -> None:
    there = Reply(
        (ThinkingPart("hm", "sig"), TextPart("Hi", (Citation(url="https://a.example", span=Span(0, 2)),))),
        provenance=Provenance(api="openai_responses"),
    )
    turns = (user("a"), there, user("b"))
    assert asked(*turns)["messages"][1] == {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}
    assert told(*turns) == [
        "thinking of another provider's model was left out",
        "citations of another API were left out",
    ]


def test_thinking_goes_back_only_to_the_model_that_thought_and_only_when_signed() -> None:
    other = Reply((ThinkingPart("hm", "sig"), TextPart("Hi")), provenance=Provenance(api=NAME, model="claude-opus-4-1"))
    unsigned = Reply((ThinkingPart("hm"), TextPart("Hi")), provenance=Provenance(api=NAME, model=BUDGET))
    assert told(user("a"), other, user("b")) == ["thinking of another model was left out"]
    assert told(user("a"), unsigned, user("b")) == ["thinking without a signature was left out"]


@pytest.mark.parametrize(
    "answered, called",
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-sonnet-4-5-20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"),
        ("claude-opus-4-8", "claude-opus-4-8@20260401"),
    ],
)
def test_a_model_is_known_by_all_its_names(answered: str, called: str) -> None:
    reply = Reply((ThinkingPart("hm", "sig"), TextPart("Hi")), provenance=Provenance(api=NAME, model=answered))
    assert told(user("a"), reply, user("b"), model=called) == []


def test_what_the_api_refuses_to_get_back_is_left_out_and_told() -> None:
    empty = Reply((TextPart(""),), provenance=Provenance(api=NAME))
    picture = assistant("Here", Media("image/png", data="AAAA"))
    assert told(user("a"), empty, user("b")) == [
        "an empty text was left out",
        "the turn holds nothing this API takes back: it was left out",
    ]
    assert told(user("a"), picture, user("b")) == ["a model's turn cannot hold media on this API: it was left out"]


def test_words_put_into_the_models_mouth_survive_without_the_space_at_their_end() -> None:
    written = asked(user("Count"), assistant("One, two, "))
    assert written["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "One, two,"}]}
    refused = ["conversation: this model does not go on from words put into its mouth; end with a user message"]
    assert problems(user("Count"), assistant("One"), model=EITHER) == refused


def test_a_turn_that_was_paused_is_sent_as_it_is_to_go_on() -> None:
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    paused = API.decode(body(block, stop_reason="pause_turn", model=EFFORT))
    assert asked(user("a"), paused, model=EFFORT)["messages"][-1] == {"role": "assistant", "content": [block]}


def test_a_result_that_came_in_a_later_reply_goes_back_there() -> None:
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    turns = (user("a"), API.decode(body(call, stop_reason="pause_turn")), API.decode(body(found)), user("b"))
    assert [one["content"] for one in asked(*turns)["messages"][1:3]] == [[call], [found]]


def test_calls_the_provider_never_finished_and_results_of_none_are_left_out() -> None:
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "other", "content": []}
    said = {"type": "text", "text": "Well"}
    turns = (user("a"), API.decode(body(said, call, found)), user("b"))
    assert asked(*turns)["messages"][1]["content"] == [said]
    assert told(*turns) == [
        "the call 'web_search' (s), which the provider never finished, was left out",
        "the provider's result for 'other' has no call: it was left out",
    ]
    ours = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    beside = (user("a"), API.decode(body(call, ours)), results_message(NativeResult("t", "ok")))
    assert asked(*beside)["messages"][1]["content"] == [call, ours]


def test_text_where_a_call_wants_an_object_is_its_only_argument() -> None:
    turns = (user("a"), calls_message(NativeCall("t", "f", "*** Begin")), results_message(NativeResult("t", "ok")))
    assert asked(*turns)["messages"][1]["content"][0]["input"] == {"input": "*** Begin"}


def test_what_a_reply_says_about_itself_is_not_sent_back() -> None:
    reply = API.decode(body({"type": "text", "text": "a"}, stop_sequence="END", container={"id": "c"}))
    assert asked(user("a"), reply, user("b"))["messages"][1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}],
    }


def test_results_for_code_that_waits_go_where_it_runs() -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "srv"}
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": caller}
    result = results_message(NativeResult("t", "ok"))
    waiting = API.decode(body(block, container={"id": "container_1"}))
    assert asked(user("a"), waiting, result)["container"] == "container_1"
    direct = API.decode(body({**block, "caller": {"type": "direct"}}, container={"id": "container_1"}))
    assert "container" not in asked(user("a"), direct, result)


# ── tools ────────────────────────────────────────────────────────────────────

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False}
F = FunctionDefinition("f", "Does.", SCHEMA)


def test_tools_say_all_they_can() -> None:
    eager = {NAME: {"eager_input_streaming": True, "allowed_callers": ["code_execution_20260120"]}}
    definition = FunctionDefinition(
        "f", "Does.", SCHEMA, examples=(ToolExample({"x": "1"}),), deferred=True, metadata=eager
    )
    search = ProviderDefinition("anthropic.web_search_20250305", "web_search_20250305", "web_search", {"max_uses": 2})
    assert asked(definitions=(definition, search))["tools"] == [
        {
            "name": "f",
            "description": "Does.",
            "input_schema": SCHEMA,
            "defer_loading": True,
            "input_examples": [{"x": "1"}],
            "eager_input_streaming": True,
            "allowed_callers": ["code_execution_20260120"],
        },
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
    ]


def test_a_tool_is_strict_where_it_asks_for_it_or_nothing_is_lost_and_the_model_has_it() -> None:
    loose = FunctionDefinition("f", "Does.", SCHEMA, strict=False)
    assert [one.get("strict") for one in asked(definitions=(F,))["tools"]] == [True]
    assert [one.get("strict") for one in asked(definitions=(loose,))["tools"]] == [None]
    assert [one.get("strict") for one in asked(definitions=(F,), model=OLD)["tools"]] == [None]


def test_more_strict_tools_than_the_api_counts_are_not_strict_unless_asked_for() -> None:
    many = tuple(FunctionDefinition(f"f{number}", "Does.", SCHEMA) for number in range(22))
    assert sum(one.get("strict", False) for one in asked(definitions=many)["tools"]) == 20
    demanding = tuple(FunctionDefinition(f"f{number}", "Does.", SCHEMA, strict=True) for number in range(21))
    assert len(problems(definitions=demanding)) == 1


def test_examples_are_told_in_the_description_where_the_model_has_no_place_for_them() -> None:
    definition = FunctionDefinition("f", "Does.", SCHEMA, examples=(ToolExample({"x": "1"}),))
    assert asked(definitions=(definition,), model=OLD)["tools"] == [
        {"name": "f", "description": 'Does.\n\nExamples of its input:\n{"x":"1"}', "input_schema": SCHEMA}
    ]


def test_namespaces_and_freeform_tools_are_said_in_the_terms_there_are() -> None:
    spaced = FunctionDefinition("read", "Reads.", SCHEMA, namespace="files", strict=False)
    freeform = FreeformDefinition("patch", "Patches.", "lark", "start: X")
    encoded = API.encode(Request(BUDGET, (user("a"),), (spaced, freeform), ToolChoice("one", ("read",))))
    assert [(one["name"], list(one["input_schema"]["properties"])) for one in encoded.body["tools"]] == [
        ("files__read", ["x"]),
        ("patch", ["input"]),
    ]
    assert encoded.body["tool_choice"] == {"type": "tool", "name": "files__read"}
    assert [remark.where for remark in encoded.report] == ["tools.files__read", "tools.patch"]


@pytest.mark.parametrize(
    "choice, parallel, expected",
    [
        (ToolChoice(), None, None),
        (ToolChoice(), True, None),
        (ToolChoice(), False, {"type": "auto", "disable_parallel_tool_use": True}),
        (ToolChoice("none"), False, {"type": "none"}),
        (ToolChoice("required"), None, {"type": "any"}),
        (ToolChoice("one", ("f",)), False, {"type": "tool", "name": "f", "disable_parallel_tool_use": True}),
        (ToolChoice("one", ("anthropic.bash_20250124",)), None, {"type": "tool", "name": "bash"}),
    ],
)
def test_every_choice_is_said(choice: ToolChoice, parallel: bool | None, expected: dict[str, Any] | None) -> None:
    definitions = (F, ProviderDefinition("anthropic.bash_20250124", "bash_20250124", "bash"))
    assert asked(definitions=definitions, choice=choice, parallel=parallel).get("tool_choice") == expected


def test_choices_the_api_has_not_are_refused() -> None:
    toolset = ProviderDefinition("anthropic.mcp_toolset", "mcp_toolset", None, {"mcp_server_name": "wiki"})
    assert problems(definitions=(F,), choice=ToolChoice("subset", ("f",))) == [
        'choice: this model has no choice "subset"; use auto, none, required, one'
    ]
    assert problems(definitions=(toolset,), choice=ToolChoice("one", ("anthropic.mcp_toolset",))) == [
        "choice: 'anthropic.mcp_toolset' has no name to be chosen by; choose \"required\", or a tool that has one"
    ]
    assert problems(definitions=(F,), choice=ToolChoice("required"), model="claude-opus-5-5") == [
        'choice: this model has no choice "required"; use auto, none'
    ]


def test_a_toolset_that_is_all_deferred_is_refused() -> None:
    deferred = FunctionDefinition("f", "Does.", SCHEMA, deferred=True)
    assert [one.split(":")[0] for one in problems(definitions=(deferred,))] == ["tools"]
    assert API.check(deferred, BUDGET) == ()


# ── thinking and sampling ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "model, thinking, expected",
    [
        (BUDGET, Thinking("low"), {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (BUDGET, Thinking("high"), {"thinking": {"type": "enabled", "budget_tokens": 16_384}}),
        (BUDGET, Thinking(tokens=3000), {"thinking": {"type": "enabled", "budget_tokens": 3000}}),
        (BUDGET, Thinking(tokens=10), {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (BUDGET, Thinking("off"), {"thinking": {"type": "disabled"}}),
        (EITHER, Thinking("medium"), {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}),
        (EITHER, Thinking(tokens=3000), {"thinking": {"type": "enabled", "budget_tokens": 3000}}),
        (EFFORT, Thinking(tokens=3000), {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}),
        (EFFORT, Thinking("off"), {"thinking": {"type": "disabled"}}),
        (ALWAYS, Thinking("low"), {"output_config": {"effort": "low"}}),
        (ALWAYS, Thinking("off"), {}),
        (
            "us.anthropic.claude-opus-4-8",
            Thinking("low"),
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        ("anthropic/claude-haiku-4.5", Thinking("low"), {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ],
)
def test_thinking_is_said_as_each_family_takes_it(model: str, thinking: Thinking, expected: dict[str, Any]) -> None:
    written = asked(model=model, thinking=thinking)
    assert {key: written[key] for key in ("thinking", "output_config") if key in written} == expected


@pytest.mark.parametrize(
    "further, rest", [({}, {}), ({"display": "summarized"}, {"thinking": {"display": "summarized"}})]
)
def test_thinking_is_read_once_and_only_its_further_settings_are_left(further: Any, rest: dict[str, Any]) -> None:
    body = {"model": BUDGET, "max_tokens": 9000, "messages": [{"role": "user", "content": "a"}]}
    thinking = {"type": "enabled", "budget_tokens": 3000, **further}
    request = API.read_request({**body, "thinking": thinking})
    assert (request.thinking, request.provider_options) == (Thinking(tokens=3000), rest)


def test_a_level_leaves_room_for_the_answer_and_a_number_that_does_not_is_refused() -> None:
    assert asked(thinking=Thinking("high"), max_output_tokens=4096)["thinking"]["budget_tokens"] == 2048
    assert [one.split(":")[0] for one in problems(thinking=Thinking(tokens=4096), max_output_tokens=4096)] == [
        "thinking"
    ]
    assert [one.split(":")[0] for one in problems(thinking=Thinking("low"), max_output_tokens=500)] == ["thinking"]
    assert [one.split(":")[0] for one in problems(thinking=Thinking("low"), model=OLD)] == ["thinking"]


@pytest.mark.parametrize(
    "model, thinking, refused",
    [
        (BUDGET, Thinking("low"), True),
        (BUDGET, Thinking("off"), False),
        (EITHER, Thinking("low"), False),
        (EITHER, Thinking(tokens=2000), True),
        (EFFORT, Thinking("low"), False),
    ],
)
def test_a_choice_is_forced_only_where_thinking_lets_it(model: str, thinking: Thinking, refused: bool) -> None:
    request = Request(model, (user("a"),), (F,), ToolChoice("required"), thinking=thinking)
    found = [problem.where for problem in API.validate(request) if not problem.fixed]
    assert found == (["choice"] if refused else [])


def test_thinking_is_off_where_the_calls_it_goes_on_from_were_made_without() -> None:
    turns = (user("a"), calls_message(NativeCall("t", "f")), results_message(NativeResult("t", "ok")))
    assert "thinking" not in asked(*turns, definitions=(F,), thinking=Thinking("low"))
    assert "thinking" in asked(*turns, definitions=(F,), thinking=Thinking("low"), model=EITHER)


@pytest.mark.parametrize(
    "model, fields, where",
    [
        (BUDGET, {"temperature": 1.5}, ["temperature"]),
        (BUDGET, {"temperature": 0.5, "thinking": Thinking("low")}, ["temperature"]),
        (BUDGET, {"top_p": 0.5, "thinking": Thinking("low")}, ["top_p"]),
        (BUDGET, {"temperature": 0.5, "top_p": 0.5}, ["top_p"]),
        (EFFORT, {"temperature": 0.5}, ["temperature"]),
        (OLD, {"response_schema": SCHEMA}, ["response_schema"]),
    ],
)
def test_settings_a_model_refuses_are_refused_before_it_is_asked(
    model: str, fields: dict[str, Any], where: list[str]
) -> None:
    assert [one.split(":")[0] for one in problems(model=model, **fields)] == where


def test_settings_are_written_and_what_has_no_place_is_told() -> None:
    written = asked(
        model="claude-sonnet-4-0",
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        max_output_tokens=100,
        stream=True,
        seed=7,
        provider_options={"top_k": 5, "metadata": {"user_id": "u"}},
    )
    assert written == {
        "model": "claude-sonnet-4-0",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "stream": True,
        "top_k": 5,
        "metadata": {"user_id": "u"},
    }
    assert told(seed=7) == ["this API takes no seed: it was left out"]


def test_an_answers_schema_may_be_of_any_type() -> None:
    listed = {"type": "array", "items": {"type": "integer"}}
    for schema in (SCHEMA, listed):
        written = asked(response_schema=schema, thinking=Thinking("low"), model=EITHER)
        assert written["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": schema}}


def test_a_request_that_asks_nothing_is_refused() -> None:
    assert problems(system("Be brief.")) == ["conversation: nothing is asked; add a user message"]


def test_validation_tells_of_what_writing_fixes_too() -> None:
    request = Request(BUDGET, (user("a"), Reply((ThinkingPart("hm"), TextPart("b"))), user("c")), seed=1)
    assert [(problem.where, problem.fixed) for problem in API.validate(request)] == [
        ("conversation[1]", True),
        ("seed", True),
    ]


@pytest.mark.parametrize(
    "model, strict, thinks, most",
    [
        ("anthropic.claude-v2", False, False, 4096),
        ("claude-3-opus-20240229", False, False, 4096),
        (OLD, False, False, 8192),
        ("claude-3-7-sonnet-latest", False, True, 64_000),
        ("claude-opus-4-20250514", False, True, 32_000),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", True, True, 64_000),
        ("claude-opus-4-6", True, True, 128_000),
        ("claude-sonnet-5", True, True, 128_000),
        ("somebody-elses-model", False, True, 8192),
    ],
)
def test_a_family_is_known_by_its_name(model: str, strict: bool, thinks: bool, most: int) -> None:
    features = API.features(model)
    assert (features.strict_tools, features.thinking, asked(model=model)["max_tokens"]) == (strict, thinks, most)
    assert API.limits(model).strict_tool_count == 20


# ── headers ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "fields, betas",
    [
        ({}, None),
        ({"definitions": (ProviderDefinition("a", "computer_20250124", "computer"),)}, "computer-use-2025-01-24"),
        ({"definitions": (ProviderDefinition("a", "advisor_20260301", "advisor"),)}, "advisor-tool-2026-03-01"),
        (
            {"definitions": (ProviderDefinition("a", "mcp_toolset", None),), "provider_options": {"mcp_servers": [{}]}},
            "mcp-client-2025-11-20",
        ),
        ({"provider_options": {"mcp_servers": [{}]}}, "mcp-client-2025-04-04"),
        (
            {"provider_options": {"context_management": {"edits": [{"type": "compact_20260112"}]}}},
            "compact-2026-01-12,context-management-2025-06-27",
        ),
        ({"provider_options": {"container": {"skills": [{}]}}}, "skills-2025-10-02"),
        ({"conversation": (user(Media("image/png", file_id="f")),)}, "files-api-2025-04-14"),
    ],
)
def test_the_headers_a_body_needs_go_with_it(fields: dict[str, Any], betas: str | None) -> None:
    encoded = API.encode(Request(**{"model": BUDGET, "conversation": (user("a"),), **fields}))
    expected = {"anthropic-version": "2023-06-01"} | ({"anthropic-beta": betas} if betas else {})
    assert (encoded.path, encoded.headers) == ("/v1/messages", expected)


def test_where_the_url_names_the_model_the_body_does_not() -> None:
    options = {"anthropic_version": "bedrock-2023-05-31"}
    encoded = API.encode(Request("us.anthropic.claude-sonnet-4-5-v1:0", (user("a"),), provider_options=options))
    assert "model" not in encoded.body
    assert encoded.headers == {}


def test_an_unchanged_toolset_is_written_once() -> None:
    definitions = (F,)
    one, other = (API.encode(Request(BUDGET, (user(text),), definitions)) for text in "ab")
    assert one.body["tools"] is other.body["tools"]
    assert json.loads(one.to_bytes()) == one.body


# ── requests read back ───────────────────────────────────────────────────────


def test_a_request_is_read_into_its_typed_fields() -> None:
    tool = {"name": "f", "description": "Does.", "input_schema": SCHEMA, "type": "custom", "strict": True}
    hosted = {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 1}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": "1"}}
    written = {
        "model": EITHER,
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": [call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok", "is_error": False}],
            },
        ],
        "tools": [tool, hosted],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "max", "format": {"type": "json_schema", "schema": SCHEMA}},
        "stop_sequences": ["END"],
        "top_k": 5,
        "stream": True,
    }
    request = API.read_request(written)
    assert request == Request(
        EITHER,
        (
            system("Be brief."),
            user("Hello"),
            Message("assistant", (CallPart(NativeCall("t", "f", {"x": "1"})),), Provenance(api=NAME)),
            results_message(NativeResult("t", "ok", is_error=False)),
        ),
        (
            FunctionDefinition("f", "Does.", SCHEMA, strict=True, metadata={NAME: {"type": "custom"}}),
            ProviderDefinition("anthropic.web_fetch_20250910", "web_fetch_20250910", "web_fetch", {"max_uses": 1}),
        ),
        parallel=False,
        thinking=Thinking("high"),
        max_output_tokens=4096,
        stop=("END",),
        response_schema=SCHEMA,
        stream=True,
        provider_options={"thinking": {"display": "summarized"}, "output_config": {"effort": "max"}, "top_k": 5},
    )
    assert API.encode(request).body == {
        **written,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}, *written["messages"][1:]],
    }


def test_blocks_that_only_a_request_has_come_back_as_they_were() -> None:
    blocks = [
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
        {**DOCUMENT, "citations": {"enabled": True}, "context": "c"},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "a"}]},
        {"type": "container_upload", "file_id": "f"},
        {
            "type": "image",
            "source": {"type": "url", "url": "https://a.example/x.png"},
            "cache_control": {"type": "ephemeral"},
        },
    ]
    request = API.read_request({"model": BUDGET, "max_tokens": 1, "messages": [{"role": "user", "content": blocks}]})
    assert API.encode(request).body["messages"] == [{"role": "user", "content": blocks}]
    text = request.conversation[0].parts[1]
    assert isinstance(text, MediaPart)
    assert text.media == Media("text/plain", data=b64encode(b"words").decode(), name="T")


def test_a_result_that_says_more_than_text_and_media_comes_back_as_it_was() -> None:
    content = [
        {"type": "tool_reference", "tool_name": "f"},
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
    ]
    block = {"type": "tool_result", "tool_use_id": "t", "content": content}
    (part,) = API.read_parts([block])
    assert part == ResultPart(NativeResult("t", ("f", "a"), item={"type": "tool_result", "content": content}))
    turns = (user("a"), calls_message(NativeCall("t", "f")), Message("tool", (part,)))
    assert asked(*turns)["messages"][2]["content"] == [block]


def test_what_cannot_be_read_travels_as_an_option() -> None:
    odd = {"model": BUDGET, "max_tokens": 1, "messages": ["nonsense"], "tools": [5], "temperature": "hot"}
    request = API.read_request(odd)
    assert request.provider_options == {"messages": ["nonsense"], "tools": [5], "temperature": "hot"}
    assert API.encode(request).body == odd
    with pytest.raises(EngineError):
        API.read_request([])
