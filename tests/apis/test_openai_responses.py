from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.apis.base.conversation_order import NO_RESULT, Remark
from dragoman.apis.openai_responses import API
from dragoman.errors import DefinitionError, EngineError
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.conversation import (
    AnyPart,
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

NAME = "openai_responses"
BAD_GATEWAY = 'the server sent a web page ("Bad gateway"), not an answer of an API'
MODEL = "gpt-5.2"


def response(*output: Any, **fields: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": MODEL,
        "output": list(output),
        **fields,
    }


def message(text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content, **fields}


def function_call(call_id: str = "call_1", arguments: str = '{"city":"Paris"}', **fields: Any) -> dict[str, Any]:
    base = {"id": f"fc_{call_id}", "type": "function_call", "status": "completed", "name": "weather"}
    return {**base, "call_id": call_id, "arguments": arguments, **fields}


def reasoning(id: str = "rs_1", **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "reasoning", "summary": [], **fields}


def decode(*output: Any, **fields: Any) -> Reply:
    return API.decode(response(*output, **fields))


def only(*output: Any) -> AnyPart:
    (part,) = decode(*output).parts
    return part


def sent(*conversation: Any, model: str = MODEL, **fields: Any) -> list[Any]:
    """The items a conversation is sent as."""
    return list(API.encode(Request(model, conversation, **fields)).body["input"])


def said_of(*conversation: Any, **fields: Any) -> list[str]:
    return [remark.message for remark in API.encode(Request(MODEL, conversation, **fields)).report]


# ── replies ──────────────────────────────────────────────────────────────────


def test_a_message_keeps_its_phase_its_logprobs_and_its_citations() -> None:
    link = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
    text = {"type": "output_text", "text": "Hé", "annotations": [link], "logprobs": [1]}
    item = message("", phase="commentary", content=[text])
    envelope = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "phase": "commentary"}
    assert only(item) == TextPart(
        "Hé",
        (Citation("https://a.example", "A", span=Span(0, 2), metadata={NAME: {"type": "url_citation"}}),),
        metadata={NAME: {"message": envelope, "index": 0, "part": {"type": "output_text", "logprobs": [1]}}},
    )


@pytest.mark.parametrize(
    "annotation, citation",
    [
        ({"type": "url_citation", "url": "https://a.example"}, Citation("https://a.example")),
        (
            {"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 7},
            Citation(title="a.pdf", document="file_1", span=Span(7, 7)),
        ),
        (
            {
                "type": "container_file_citation",
                "container_id": "cntr_1",
                "file_id": "cfile_1",
                "filename": "a.png",
                "start_index": 1,
                "end_index": 4,
            },
            Citation(title="a.png", document="cfile_1", span=Span(1, 4), location={"container_id": "cntr_1"}),
        ),
    ],
)
def test_citations_of_all_kinds_are_read_and_go_back(annotation: dict[str, Any], citation: Citation) -> None:
    item = message("", content=[{"type": "output_text", "text": "words", "annotations": [annotation]}])
    reply = decode(item)
    (found,) = reply.citations
    assert found == msgspec.structs.replace(citation, metadata={NAME: {"type": annotation["type"]}})
    assert sent(reply) == [item]


def test_a_thought_is_its_summary_and_its_own_words_and_goes_back_in_its_pieces() -> None:
    item = reasoning(
        summary=[{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
        content=[{"type": "reasoning_text", "text": "In plain words."}],
        encrypted_content="gAAA",
        status="completed",
    )
    reply = decode(item, message("Done."))
    thought = reply.parts[0]
    assert isinstance(thought, ThinkingPart)
    assert (thought.text, thought.encrypted, thought.id) == ("First.\n\nThen.\n\nIn plain words.", "gAAA", "rs_1")
    assert sent(reply) == [item, message("Done.")]


WORDS = {"type": "reasoning_text", "text": "In plain words."}
SUMMARY = {"type": "summary_text", "text": "First."}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"summary": [SUMMARY]},
        {"content": [WORDS]},
        {"summary": [{**SUMMARY, "more": 1}, {"type": "odd"}]},
        {"summary": [{"type": "odd"}], "encrypted_content": "gAAA"},
        {"summary": [SUMMARY, {"type": "odd"}, SUMMARY], "content": [WORDS, WORDS]},
    ],
)
def test_a_thought_of_any_pieces_goes_back_as_it_came(fields: dict[str, Any]) -> None:
    assert sent(decode(reasoning(**fields), message("Done.")))[0] == reasoning(**fields)


def test_a_thought_that_no_response_told_has_the_summary_that_must_be_there() -> None:
    made_here = Provenance(api="openai_responses", model=MODEL)
    reply = Reply((ThinkingPart("", encrypted="gAAA"),), provenance=made_here)
    assert sent(reply, user("Go on."))[0] == {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}


def test_a_thought_whose_text_was_changed_goes_back_as_it_now_is() -> None:
    reply = decode(reasoning(summary=[{"type": "summary_text", "text": "A secret."}]), message("Done."))
    thought, text = reply.parts
    changed = msgspec.structs.replace(reply, parts=(msgspec.structs.replace(thought, text="Gone."), text))
    assert sent(changed)[0]["summary"] == [{"type": "summary_text", "text": "Gone."}]


def test_calls_are_known_by_their_call_id_and_keep_the_text_of_their_arguments() -> None:
    item = function_call(arguments='{"city": "Paris"}', namespace="geo", caller={"type": "program", "caller_id": "p"})
    reply = decode(item)
    assert reply.calls == (NativeCall("call_1", "weather", {"city": "Paris"}, namespace="geo"),)
    assert reply.finish is FinishReason.CALLS
    assert sent(reply, results_message(NativeResult("call_1", "sunny"))) == [
        item,
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "sunny",
            "caller": {"type": "program", "caller_id": "p"},
        },
    ]


@pytest.mark.parametrize(
    "arguments, read",
    [("", {}), (None, {}), ("null", {}), ("{}", {}), ('{"a":', '{"a":'), ("[1]", "[1]"), ({"a": 1}, {"a": 1})],
)
def test_arguments_are_an_object_or_the_text_that_is_none(arguments: Any, read: Any) -> None:
    assert decode(function_call(arguments=arguments)).calls[0].arguments == read


def test_a_freeform_call_is_its_text() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "patch", "input": '{"a":1}'}
    reply = decode(item)
    assert reply.calls == (NativeCall("call_1", "patch", '{"a":1}'),)
    assert sent(reply, results_message(NativeResult("call_1", "ok"))) == [
        item,
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"},
    ]


def test_calls_without_an_id_or_with_one_that_is_taken_are_given_one() -> None:
    first, second, third = decode(function_call(), function_call(), function_call(call_id="")).calls
    assert first.id == "call_1"
    assert len({first.id, second.id, third.id}) == 3
    assert decode(function_call(), function_call()).calls[1].id == second.id


PROVIDER = ExecutedBy.PROVIDER

HOSTED: list[tuple[dict[str, Any], str, dict[str, Any], Any]] = [
    (
        {
            "type": "web_search_call",
            "action": {"type": "search", "query": "q", "sources": [{"url": "https://a.example"}]},
        },
        "web_search",
        {"type": "search", "query": "q", "sources": [{"url": "https://a.example"}]},
        "https://a.example",
    ),
    ({"type": "web_search_call"}, "web_search", {}, None),
    ({"type": "web_search_call", "call_id": "", "arguments": '{"query":"q"}'}, "web_search", {"query": "q"}, None),
    ({"type": "x_search_call", "call_id": "", "arguments": '{"query":"q"}'}, "x_search", {"query": "q"}, None),
    (
        {"type": "file_search_call", "queries": ["q"], "results": [{"file_id": "f", "text": "found"}]},
        "file_search",
        {"queries": ["q"]},
        "found",
    ),
    ({"type": "file_search_call", "queries": ["q"], "results": None}, "file_search", {"queries": ["q"]}, None),
    (
        {
            "type": "code_interpreter_call",
            "code": "1",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": "https://a.example/1.png"}],
        },
        "code_interpreter",
        {"code": "1", "container_id": "c"},
        ("1", Media("image/*", url="https://a.example/1.png")),
    ),
    (
        {"type": "image_generation_call", "result": "aGk=", "output_format": "jpeg"},
        "image_generation",
        {},
        (Media("image/jpeg", data="aGk="),),
    ),
]


@pytest.mark.parametrize("fields, name, arguments, content", HOSTED)
def test_the_provider_s_own_calls_are_never_ours_to_run(
    fields: dict[str, Any], name: str, arguments: dict[str, Any], content: Any
) -> None:
    item = {"id": "ws_1", "status": "completed", **fields}
    reply = decode(item)
    assert reply.calls == (NativeCall("ws_1", name, arguments, executed_by=PROVIDER, item=item),)
    results = () if content is None else (NativeResult("ws_1", content, None, name, executed_by=PROVIDER, item=item),)
    assert reply.results == results
    assert reply.finish is FinishReason.STOP
    assert sent(reply) == [item]


@pytest.mark.parametrize(
    "output, error, content, is_error",
    [
        ("sunny", None, "sunny", None),
        (None, "it broke", "it broke", True),
        (None, {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no"}]}, "no", True),
    ],
)
def test_a_call_of_a_server_says_what_it_gave_or_how_it_failed(
    output: Any, error: Any, content: str, is_error: bool | None
) -> None:
    item = {
        "id": "mcp_1",
        "type": "mcp_call",
        "server_label": "geo",
        "name": "weather",
        "arguments": '{"city":"Paris"}',
    }
    item |= {"output": output, "error": error}
    assert decode(item).parts == (
        CallPart(NativeCall("mcp_1", "weather", {"city": "Paris"}, "geo", executed_by=PROVIDER, item=item)),
        ResultPart(NativeResult("mcp_1", content, is_error, "weather", "geo", executed_by=PROVIDER, item=item)),
    )


def test_a_request_for_approval_is_a_call_the_provider_waits_with() -> None:
    item = {"id": "mcpr_1", "type": "mcp_approval_request", "server_label": "geo", "name": "weather", "arguments": "{}"}
    reply = decode(item)
    assert reply.calls == (NativeCall("mcpr_1", "weather", {}, "geo", executed_by=PROVIDER, item=item),)
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    assert sent(reply, user(OpaquePart(NAME, answer))) == [item, answer]


def test_what_a_search_for_tools_found_is_paired_with_it_though_neither_has_a_call_id() -> None:
    call = {"id": "tsc_1", "type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {"q": 1}}
    output = {"id": "tso_1", "type": "tool_search_output", "call_id": None, "execution": "server", "tools": []}
    reply = decode(call, output)
    assert reply.calls == (NativeCall("tsc_1", "tool_search", {"q": 1}, executed_by=PROVIDER, item=call),)
    assert reply.results == (NativeResult("tsc_1", "[]", None, "tool_search", executed_by=PROVIDER, item=output),)
    assert sent(reply) == [call, output]


def test_a_search_for_tools_that_is_ours_is_answered_with_tools() -> None:
    call = {"type": "tool_search_call", "call_id": "call_1", "execution": "client", "arguments": {"q": 1}}
    reply = decode(call)
    assert reply.calls == (NativeCall("call_1", "tool_search", {"q": 1}, item=call),)
    answer = NativeResult("call_1", '[{"type":"function","name":"weather"}]')
    assert sent(reply, results_message(answer))[1] == {
        "type": "tool_search_output",
        "call_id": "call_1",
        "execution": "client",
        "status": "completed",
        "tools": [{"type": "function", "name": "weather"}],
    }


def test_a_program_its_fingerprint_and_its_output_go_back_as_they_came() -> None:
    program = {"id": "cm_1", "type": "program", "call_id": "call_1", "code": "text(1)", "fingerprint": "gAAA"}
    output = {"id": "cmo_1", "type": "program_output", "call_id": "call_1", "status": "completed", "result": "1"}
    reply = decode(program, output)
    assert reply.calls == (NativeCall("call_1", "program", {"code": "text(1)"}, executed_by=PROVIDER, item=program),)
    assert reply.results == (NativeResult("call_1", "1", None, "program", executed_by=PROVIDER, item=output),)
    assert sent(reply) == [program, output]


SHELL = {
    "id": "sh_1",
    "type": "shell_call",
    "call_id": "call_1",
    "action": {"commands": ["ls"], "max_output_length": 9},
}


def test_a_shell_is_ours_unless_it_ran_in_the_provider_s_container() -> None:
    there = {**SHELL, "environment": {"type": "container_reference", "container_id": "c"}}
    output = {"type": "shell_call_output", "call_id": "call_1", "output": [{"stdout": "a", "stderr": ""}]}
    assert decode(SHELL).calls[0].executed_by is ExecutedBy.CLIENT
    assert decode(there).calls[0].executed_by is PROVIDER
    assert decode(SHELL, output).calls[0].executed_by is PROVIDER
    assert decode(SHELL, output).results == (
        NativeResult("call_1", '[{"stdout":"a","stderr":""}]', None, "shell", executed_by=PROVIDER, item=output),
    )


OURS: list[tuple[dict[str, Any], NativeResult, dict[str, Any]]] = [
    (
        SHELL,
        NativeResult("call_1", "text", item={"type": "shell_call_output", "output": [{"stdout": "a"}]}),
        {"type": "shell_call_output", "call_id": "call_1", "output": [{"stdout": "a"}], "max_output_length": 9},
    ),
    (
        SHELL,
        NativeResult("call_1", "no", is_error=True),
        {
            "type": "shell_call_output",
            "call_id": "call_1",
            "output": [{"stdout": "no", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
            "max_output_length": 9,
        },
    ),
    (
        {"id": "lsh_1", "type": "local_shell_call", "call_id": "call_1", "action": {"type": "exec", "command": ["ls"]}},
        NativeResult("call_1", "a"),
        {"type": "local_shell_call_output", "id": "call_1", "output": "a"},
    ),
    (
        {"id": "apc_1", "type": "apply_patch_call", "call_id": "call_1", "operation": {"type": "delete_file"}},
        NativeResult("call_1", "no such file", is_error=True),
        {"type": "apply_patch_call_output", "call_id": "call_1", "status": "failed", "output": "no such file"},
    ),
    (
        {"id": "cu_1", "type": "computer_call", "call_id": "call_1", "actions": [{"type": "screenshot"}]},
        NativeResult("call_1", (Media("image/png", data="aGk="),)),
        {
            "type": "computer_call_output",
            "call_id": "call_1",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGk="},
        },
    ),
]


@pytest.mark.parametrize("call, result, written", OURS)
def test_a_tool_the_provider_defines_and_we_run_is_answered_in_its_own_shape(
    call: dict[str, Any], result: NativeResult, written: dict[str, Any]
) -> None:
    reply = decode(call)
    assert reply.finish is FinishReason.CALLS
    assert sent(reply, results_message(result)) == [call, written]


def test_a_refusal_is_told_as_such() -> None:
    item = message("", content=[{"type": "refusal", "refusal": "No."}])
    reply = decode(item)
    assert [type(part) for part in reply.parts] == [RefusalPart]
    assert reply.finish is FinishReason.REFUSED
    assert sent(reply) == [item]


@pytest.mark.parametrize("item", [{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}, {"type": "new"}])
def test_items_nobody_knows_are_kept_whole_and_sent_back(item: dict[str, Any]) -> None:
    assert only(item) == OpaquePart(NAME, item)
    assert sent(decode(item)) == [item]


def test_content_nobody_knows_stays_in_its_message() -> None:
    item = message(
        "", content=[{"type": "output_text", "text": "a"}, {"type": "new"}, {"type": "output_text", "text": "b"}]
    )
    assert decode(item).text == "ab"
    assert sent(decode(item)) == [item]


@pytest.mark.parametrize(
    "fields, finish, raw",
    [
        ({}, FinishReason.STOP, "completed"),
        ({"status": "complete"}, FinishReason.STOP, "complete"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            FinishReason.LENGTH,
            "max_output_tokens",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            FinishReason.FILTERED,
            "content_filter",
        ),
        ({"status": "incomplete", "incomplete_details": None}, FinishReason.UNKNOWN, "incomplete"),
        ({"status": "queued"}, FinishReason.UNKNOWN, "queued"),
        ({"status": "in_progress"}, FinishReason.UNKNOWN, "in_progress"),
        ({"status": "cancelled"}, FinishReason.INTERRUPTED, "cancelled"),
        ({"object": "response.compaction", "status": None}, FinishReason.COMPACTED, None),
    ],
)
def test_how_a_response_ended(fields: dict[str, Any], finish: FinishReason, raw: str | None) -> None:
    reply = decode(message("Hi"), **fields)
    assert (reply.finish, reply.finish_raw) == (finish, raw)


def test_what_the_user_said_is_no_words_of_a_compaction() -> None:
    asked = {"type": "message", "role": "user", "content": "Do it."}
    kept = {"type": "compaction_summary", "encrypted_content": "gAAA"}
    reply = API.decode({"id": "resp_1", "object": "response.compaction", "output": [asked, kept]})
    assert (reply.text, reply.finish) == ("", FinishReason.COMPACTED)
    assert sent(reply) == [asked, kept]


def test_everything_else_a_response_says_is_kept() -> None:
    reply = decode(service_tier="flex", error=None)
    assert reply == Reply(
        (),
        FinishReason.STOP,
        "completed",
        id="resp_1",
        provenance=Provenance(api=NAME, model=MODEL),
        metadata={NAME: {"object": "response", "status": "completed", "service_tier": "flex", "error": None}},
    )


def test_tokens_of_the_cache_are_not_counted_twice() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 120,
        "cost": 0.5,
    }
    assert API.read_usage(usage) == Usage(10, 60, 30, 20, 15, metadata={NAME: {"cost": 0.5}})
    assert API.read_usage(usage).total == 120
    assert API.read_usage(None) == Usage()


def test_uses_of_the_provider_s_tools_are_counted() -> None:
    assert decode(tool_usage={"web_search": {"num_requests": 2}}).usage.requests == {"web_search": 2}
    assert API.read_usage({"server_side_tool_usage_details": {"x_search_calls": 1}}) == Usage(requests={"x_search": 1})


@pytest.mark.parametrize("body", [None, 1, "text", [], {}, {"choices": []}])
def test_what_is_no_response_is_an_engine_error(body: Any) -> None:
    with pytest.raises(EngineError, match="is no response of the Responses API"):
        API.decode(body)


def test_a_response_that_failed_is_an_engine_error_with_what_there_was() -> None:
    with pytest.raises(EngineError, match="Too much") as caught:
        decode(message("Hi"), status="failed", error={"code": "rate_limit_exceeded", "message": "Too much"})
    error = caught.value
    assert (error.code, error.retryable, error.partial.text) == ("rate_limit_exceeded", True, "Hi")


@pytest.mark.parametrize(
    "status, body, message, code, retryable",
    [
        (400, {"error": {"message": "Bad", "type": "bad_request", "code": None}}, "Bad", "bad_request", False),
        (400, {"code": "invalid-argument", "error": "No model"}, "No model", "invalid-argument", False),
        (401, {"detail": "Unauthorized"}, "Unauthorized", None, False),
        (422, {"detail": [{"msg": "field required"}]}, "field required", None, False),
        (429, {"error": {"message": "Slow", "code": "rate_limit_exceeded"}}, "Slow", "rate_limit_exceeded", True),
        (429, {"error": {"message": "Pay", "code": "insufficient_quota"}}, "Pay", "insufficient_quota", False),
        (502, b"<html>Bad gateway</html>", BAD_GATEWAY, None, True),
        (500, b"", "the provider answered with status 500 and no message", None, True),
    ],
)  # fmt: skip
def test_an_error_body_in_any_shape(status: int, body: Any, message: str, code: str | None, retryable: bool) -> None:
    error = API.error(status, {"X-Request-Id": "req_1", "retry-after": "3"}, body)
    assert (error.message, error.code, error.retryable) == (message, code, retryable)
    assert (error.status, error.request_id, error.retry_after) == (status, "req_1", 3.0)


def test_a_server_that_says_whether_to_try_again_is_believed() -> None:
    assert API.error(400, {"x-should-retry": "true"}, {}).retryable
    assert not API.error(500, {"x-should-retry": "false"}, {}).retryable


# ── streams ──────────────────────────────────────────────────────────────────


def event(kind: str, **fields: Any) -> bytes:
    return b"data: " + msgspec.json.encode({"type": kind, **fields}) + b"\n\n"


def completed(*output: Any, **fields: Any) -> bytes:
    return event("response.completed", response=response(*output, **fields))


def streamed(*events: bytes) -> tuple[list[AnyChunk], Reply]:
    stream = API.stream()
    chunks = [chunk for one in events for chunk in stream.feed(one)]
    return chunks, stream.close()


def ended(reply: Reply) -> list[AnyChunk]:
    return [UsageArrived(reply.usage), Finished(reply.finish)]


def test_text_comes_as_it_is_said_whatever_ids_its_events_have() -> None:
    chunks, reply = streamed(
        event("response.created", response=response(status="in_progress")),
        event("response.output_item.added", output_index=0, item={"type": "message", "id": "a", "content": []}),
        event("response.output_text.delta", output_index=0, content_index=0, item_id="b", delta="Hel", obfuscation="x"),
        b'event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n',
        b": comment\n\n",
        event("ping"),
        event("response.output_text.delta", output_index=0, content_index=0, item_id="c", delta="lo"),
        event("response.output_item.done", output_index=0, item=message("Hello", id="d")),
        completed(message("Hello", id="e")),
        b"data: [DONE]\n\n",
    )
    assert reply == decode(message("Hello", id="e"))
    assert chunks == [TextChunk("Hel"), TextChunk("lo"), *ended(reply)]


def test_an_empty_last_response_is_made_of_the_items_before_it() -> None:
    chunks, reply = streamed(
        event("response.output_item.done", output_index=1, item=function_call()),
        event("response.output_item.done", output_index=0, item=message("Hello")),
        completed(),
    )
    assert reply == decode(message("Hello"), function_call())
    call = NativeCall("call_1", "weather", {"city": "Paris"})
    assert chunks == [
        CallStarted("call_1", "weather"),
        ArgumentsChunk("call_1", '{"city":"Paris"}'),
        CallFinished(call),
        TextChunk("Hello"),
        *ended(reply),
    ]


def test_a_last_response_without_output_is_an_empty_one() -> None:
    bare = {"id": "resp_1", "status": "completed", "model": MODEL}
    whole = streamed(event("response.completed", response=bare))[1]
    assert (whole.parts, whole.finish, whole.id) == ((), FinishReason.STOP, "resp_1")
    begun = streamed(event("response.created", response=bare))[1]
    assert (begun.parts, begun.finish) == ((), FinishReason.INTERRUPTED)


def test_a_response_told_only_at_its_end_is_told_all_the_same() -> None:
    item = message("", content=[{"type": "refusal", "refusal": "No."}])
    chunks, reply = streamed(completed(reasoning(content=[{"type": "reasoning_text", "text": "Hm."}]), item))
    assert chunks == [ThinkingChunk("Hm."), RefusalChunk("No."), *ended(reply)]


def test_arguments_come_in_pieces_under_the_id_their_call_keeps() -> None:
    stream = API.stream()
    begun = {**function_call(arguments=""), "id": "fc_a"}
    chunks = stream.feed(event("response.output_item.added", output_index=0, item=begun))
    chunks += stream.feed(
        event("response.function_call_arguments.delta", output_index=0, item_id="fc_b", delta='{"city":')
    )
    chunks += stream.feed(event("response.function_call_arguments.delta", output_index=0, item_id="fc_c", delta='"Par'))
    assert stream.arguments("call_1") == {"city": "Par"}
    chunks += stream.feed(event("response.function_call_arguments.delta", output_index=0, delta='is"}'))
    chunks += stream.feed(event("response.function_call_arguments.done", output_index=0, arguments='{"city":"Paris"}'))
    chunks += stream.feed(event("response.output_item.done", output_index=0, item=function_call()))
    chunks += stream.feed(completed(function_call()))
    reply = stream.close()
    assert reply.finish is FinishReason.CALLS
    assert chunks == [
        CallStarted("call_1", "weather"),
        ArgumentsChunk("call_1", '{"city":'),
        ArgumentsChunk("call_1", '"Par'),
        ArgumentsChunk("call_1", 'is"}'),
        CallFinished(reply.calls[0]),
        *ended(reply),
    ]


def test_arguments_that_come_only_whole_are_one_piece() -> None:
    chunks, reply = streamed(
        event("response.output_item.added", output_index=0, item=function_call(arguments="")),
        event("response.function_call_arguments.done", output_index=0, arguments='{"city":"Paris"}'),
        event("response.output_item.done", output_index=0, item=function_call()),
        completed(),
    )
    assert chunks[:2] == [CallStarted("call_1", "weather"), ArgumentsChunk("call_1", '{"city":"Paris"}')]
    assert reply == decode(function_call())


def test_events_without_a_place_belong_to_the_item_of_their_id_or_to_the_last() -> None:
    chunks, reply = streamed(
        event("response.output_item.added", item=function_call("call_1", "", id="a")),
        event("response.output_item.added", item=function_call("call_2", "", id="b")),
        event("response.function_call_arguments.delta", item_id="a", delta='{"a":1}'),
        event("response.function_call_arguments.delta", delta='{"b":2}'),
        event("response.output_item.done", item=function_call("call_1", '{"a":1}', id="a")),
        event("response.output_item.done", item=function_call("call_2", '{"b":2}', id="b")),
        completed(),
    )
    assert [(call.id, call.arguments) for call in reply.calls] == [("call_1", {"a": 1}), ("call_2", {"b": 2})]
    assert chunks[2:4] == [ArgumentsChunk("call_1", '{"a":1}'), ArgumentsChunk("call_2", '{"b":2}')]


def test_items_without_a_place_stand_in_the_order_they_came() -> None:
    nameless = {key: value for key, value in function_call().items() if key not in ("id", "call_id")}
    items = [nameless, {**nameless, "name": "clock"}]
    _, reply = streamed(*(event("response.output_item.done", item=item) for item in items), completed())
    assert reply == decode(*items), "ids that are made are made of the place"


def test_items_that_share_a_place_are_all_kept() -> None:
    first, second = function_call("call_1", '{"a":1}', id="a"), function_call("call_2", '{"b":2}', id="b")
    chunks, reply = streamed(
        *(
            one
            for item in (first, second)
            for one in (
                event("response.output_item.added", output_index=0, item={**item, "arguments": ""}),
                event("response.function_call_arguments.delta", output_index=0, delta=item["arguments"]),
                event("response.output_item.done", output_index=0, item=item),
            )
        ),
        event("response.output_item.done", output_index=0, item=message("Hi")),
        event("response.output_item.done", output_index=0, item=message("Hi")),
        event("response.output_item.done", output_index=0, item=message("Ho", id="msg_2")),
        completed(),
    )
    assert reply == decode(first, second, message("Hi"), message("Ho", id="msg_2"))
    assert [chunk for chunk in chunks if isinstance(chunk, ArgumentsChunk)] == [
        ArgumentsChunk("call_1", '{"a":1}'),
        ArgumentsChunk("call_2", '{"b":2}'),
    ]


def test_thoughts_in_several_pieces_are_set_apart() -> None:
    pieces = [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}]
    chunks, reply = streamed(
        event("response.output_item.added", output_index=0, item=reasoning()),
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="First."),
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="Then."),
        event("response.output_item.done", output_index=0, item=reasoning(summary=pieces)),
        completed(reasoning(summary=pieces)),
    )
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == reply.thinking
    assert reply.thinking == "First.\n\nThen."


@pytest.mark.parametrize("kind", ["response.output_text.annotation.added", "response.output_text_annotation.added"])
def test_citations_arrive_once_under_both_names_of_their_event(kind: str) -> None:
    link = {"type": "url_citation", "url": "https://a.example"}
    item = message("", content=[{"type": "output_text", "text": "a", "annotations": [link, {**link, "title": "B"}]}])
    chunks, reply = streamed(
        event("response.output_text.delta", output_index=0, content_index=0, delta="a"),
        event(kind, output_index=0, content_index=0, annotation_index=0, annotation=link),
        event("response.output_item.done", output_index=0, item=item),
        completed(item),
    )
    assert [chunk.citation for chunk in chunks if isinstance(chunk, CitationArrived)] == list(reply.citations)


def test_code_and_commands_come_as_the_values_they_are() -> None:
    code = {"type": "code_interpreter_call", "id": "ci_1", "code": "", "container_id": "c", "outputs": None}
    shell = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": []}}
    chunks, reply = streamed(
        event("response.output_item.added", output_index=0, item=code),
        event("response.code_interpreter_call.in_progress", output_index=0),
        event("response.code_interpreter_call_code.delta", output_index=0, delta="1+"),
        event("response.output_item.added", output_index=1, item=shell),
        event("response.shell_call_command.delta", output_index=1, command_index=0, delta="ls"),
    )
    assert chunks == [
        CallStarted("ci_1", "code_interpreter", executed_by=PROVIDER),
        ArgumentsChunk("ci_1", "1+", "code"),
        CallStarted("call_1", "shell"),
        ArgumentsChunk("call_1", "ls", "commands[0]"),
    ]
    assert reply.finish is FinishReason.INTERRUPTED
    assert [call.arguments for call in reply.calls] == [{"code": "1+", "container_id": "c"}, {"commands": ["ls"]}]


def test_pictures_arrive_while_they_are_made() -> None:
    item = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "aGk=",
        "output_format": "png",
    }
    chunks, reply = streamed(
        event("response.output_item.added", output_index=0, item={"type": "image_generation_call", "id": "ig_1"}),
        event("response.image_generation_call.partial_image", output_index=0, partial_image_b64="aA=="),
        event("response.output_item.done", output_index=0, item=item),
        completed(item),
    )
    assert chunks == [
        CallStarted("ig_1", "image_generation", executed_by=PROVIDER),
        MediaArrived(Media("image/png", data="aA==")),
        CallFinished(reply.calls[0]),
        ResultArrived(reply.results[0]),
        *ended(reply),
    ]


def test_a_stream_that_breaks_off_gives_what_had_come() -> None:
    chunks, reply = streamed(
        event("response.created", response=response(status="in_progress")),
        event("response.output_item.added", output_index=0, item=reasoning()),
        event("response.reasoning_text.delta", output_index=0, content_index=0, delta="Hm."),
        event("response.output_text.delta", output_index=1, content_index=0, delta="Hel"),
        event("response.output_item.added", output_index=2, item=function_call(arguments="")),
        event("response.function_call_arguments.delta", output_index=2, delta='{"city'),
    )
    assert (reply.thinking, reply.text, reply.calls) == ("Hm.", "Hel", (NativeCall("call_1", "weather", '{"city'),))
    assert (reply.finish, reply.id) == (FinishReason.INTERRUPTED, "resp_1")
    assert not [chunk for chunk in chunks if isinstance(chunk, Finished)]


@pytest.mark.parametrize(
    "told",
    [
        {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "Pay", "param": None}},
        {"code": "insufficient_quota", "message": "Pay", "param": None},
    ],
)
def test_an_error_inside_a_stream_is_raised_at_its_end_with_what_had_come(told: dict[str, Any]) -> None:
    stream = API.stream()
    stream.feed(event("response.output_text.delta", output_index=0, content_index=0, delta="Hel"))
    stream.feed(event("error", sequence_number=2, **told))
    stream.feed(event("response.failed", response=response(status="failed", error={"code": "x", "message": "y"})))
    with pytest.raises(EngineError, match="Pay") as caught:
        stream.close()
    assert (caught.value.code, caught.value.retryable) == ("insufficient_quota", False)
    assert caught.value.partial.text == "Hel"


def test_a_stream_that_ends_with_an_error_in_its_response_raises_it_with_the_words_before() -> None:
    stream = API.stream()
    ended = response(message("Hi"), status="incomplete", error={"code": "server_error", "message": "Gone"})
    chunks = stream.feed(event("response.incomplete", response=ended))
    assert stream.error is not None, "nothing that follows is read"
    assert not [chunk for chunk in chunks if isinstance(chunk, Finished)]
    with pytest.raises(EngineError, match="Gone") as caught:
        stream.close()
    assert (caught.value.code, caught.value.partial.text) == ("server_error", "Hi")


def test_a_response_that_failed_in_a_stream_is_an_error() -> None:
    stream = API.stream()
    stream.feed(
        event("response.failed", response=response(status="failed", error={"code": "server_error", "message": "Oh"}))
    )
    with pytest.raises(EngineError, match="Oh") as caught:
        stream.close()
    assert caught.value.retryable


def test_events_nobody_knows_are_kept() -> None:
    _, reply = streamed(event("response.new", value=1), completed(message("Hi")))
    assert reply.metadata[NAME]["events"] == [{"type": "response.new", "value": 1}]


# ── requests ─────────────────────────────────────────────────────────────────


def test_a_plain_request() -> None:
    request = Request(
        MODEL,
        (system("Be kind."), user("Hi"), assistant("Hello"), user("And?")),
        parallel=False,
        thinking=Thinking("low"),
        max_output_tokens=9,
        temperature=0.5,
        top_p=0.9,
        stream=True,
        provider_options={"store": False, "reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"]},
    )
    encoded = API.encode(request)
    assert encoded.path == "/responses"
    assert encoded.report == ()
    assert encoded.body == {
        "model": MODEL,
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "And?"},
        ],
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "max_output_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    assert API.read_request(encoded.body) == msgspec.structs.replace(
        request,
        conversation=(
            system("Be kind."),
            Message("user", (TextPart("Hi"),), metadata={NAME: {"role": "user"}}),
            Message("assistant", (said("Hello"),), Provenance(api=NAME)),
            Message("user", (TextPart("And?"),), metadata={NAME: {"role": "user"}}),
        ),
    )


def said(text: str) -> TextPart:
    beside = {"message": {"role": "assistant"}, "index": 0, "part": {"type": "output_text"}}
    return TextPart(text, metadata={NAME: beside})


def test_images_and_files_travel_and_what_cannot_is_told() -> None:
    pieces = (
        Media("image/png", data="aGk="),
        Media("image/png", url="https://a.example/1.png"),
        Media("image/png", file_id="file_1"),
        Media("application/pdf", data="aGk=", name="a.pdf"),
        Media("application/pdf", url="https://a.example/a.pdf"),
        Media("application/pdf", file_id="file_2"),
        Media("audio/wav", data="aGk="),
    )
    item, _ = sent(user("Look:", *pieces), assistant("Seen."))
    assert item["content"] == [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_image", "detail": "auto", "image_url": "https://a.example/1.png"},
        {"type": "input_image", "detail": "auto", "file_id": "file_1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        {"type": "input_file", "file_url": "https://a.example/a.pdf"},
        {"type": "input_file", "file_id": "file_2"},
        {"type": "input_text", "text": "[audio/wav: not shown]"},
    ]
    assert said_of(user(*pieces), assistant("Seen.")) == ["a file of type audio/wav cannot be sent: a text says so"]
    read = API.read_request({"model": MODEL, "input": [item]}).conversation[0].parts
    assert [part.media for part in read if isinstance(part, MediaPart)][3] == pieces[3]


def test_a_result_with_a_picture_is_a_list_of_parts() -> None:
    shown = NativeResult("call_1", ("see", Media("image/png", data="aGk=")))
    written = sent(calls_message(NativeCall("call_1", "look")), results_message(shown))[1]
    assert written == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="},
        ],
    }
    body = {"model": MODEL, "input": [function_call(), {**written, "call_id": "call_1", "id": "o_1"}]}
    assert API.encode(API.read_request(body)).body == body


def test_a_call_without_a_result_is_answered_and_a_result_without_a_call_left_out() -> None:
    conversation = (
        calls_message(NativeCall("call_1", "look")),
        results_message(NativeResult("call_2", "?")),
        user("So?"),
    )
    assert sent(*conversation) == [
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": NO_RESULT},
        {"role": "user", "content": "So?"},
    ]


@pytest.mark.parametrize("options", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_a_result_whose_call_the_provider_holds_is_sent(options: dict[str, Any]) -> None:
    result = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    assert sent(results_message(NativeResult("call_1", "ok")), provider_options=options) == [result]
    reference = OpaquePart(NAME, {"type": "item_reference", "id": "fc_1"})
    assert sent(assistant(reference), results_message(NativeResult("call_1", "ok"))) == [reference.item, result]


def test_reasoning_of_another_model_stays_behind_with_the_ids_that_ask_for_it() -> None:
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed"}
    reply = decode(reasoning(encrypted_content="gAAA"), search, reasoning("rs_2"), message("Hi"), function_call())
    result = results_message(NativeResult("call_1", "ok"))
    answered = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    assert sent(reply, result, model="gpt-5.2-2026-01-01") == [*response_items(reply), answered]
    assert sent(reply, result, model="gpt-6") == [
        {"role": "assistant", "content": "Hi"},
        {key: value for key, value in function_call().items() if key != "id"},
        answered,
    ]


def response_items(reply: Reply) -> list[Any]:
    return [
        reasoning(encrypted_content="gAAA"),
        {"id": "ws_1", "type": "web_search_call", "status": "completed"},
        reasoning("rs_2"),
        message("Hi"),
        function_call(),
    ]


@pytest.mark.parametrize(
    "items, options, kept",
    [
        ([reasoning(encrypted_content="gAAA"), message("Hi")], {}, True),
        ([reasoning(), message("Hi")], {}, True),
        ([reasoning(), message("Hi")], {"store": False}, False),
        ([reasoning(encrypted_content="gAAA"), message("Hi")], {"store": False}, True),
        ([reasoning(encrypted_content="gAAA")], {}, False),
        ([reasoning(encrypted_content="gAAA")], {"store": False}, True),
        ([{"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}], {}, True),
        ([reasoning(content=[{"type": "reasoning_text", "text": "Hm."}])], {"store": False}, True),
    ],
)
def test_reasoning_goes_back_where_the_provider_takes_it(items: list[Any], options: dict[str, Any], kept: bool) -> None:
    conversation = (decode(*items), user("And?"))
    written = sent(*conversation, provider_options=options)
    assert ("reasoning" in [item.get("type") for item in written]) is kept
    assert bool(said_of(*conversation, provider_options=options)) is not kept


def test_reasoning_before_words_that_are_no_longer_its_own_stays_behind() -> None:
    reply = decode(reasoning(encrypted_content="gAAA"), message("Hi"))
    edited = msgspec.structs.replace(reply, parts=(reply.parts[0], TextPart("Hello")))
    assert sent(edited) == [{"role": "assistant", "content": "Hello"}]
    assert said_of(edited) == ["a reasoning item was left out: what it led to does not follow it"]


def test_a_turn_of_another_provider_is_said_in_plain_words() -> None:
    foreign = Reply(
        (
            ThinkingPart("Hm.", signature="s"),
            TextPart("Hi", (Citation("https://a.example"),)),
            RefusalPart("No."),
            MediaPart(Media("image/png", data="aGk=")),
            CallPart(NativeCall("toolu_1", "weather", {"city": "Paris"}), signature="s"),
        ),
        provenance=Provenance(api="elsewhere", model="m"),
    )
    conversation = (foreign, results_message(NativeResult("toolu_1", "sunny")))
    assert sent(*conversation) == [
        {"role": "assistant", "content": "Hi"},
        {"role": "assistant", "content": "No."},
        {"type": "function_call", "call_id": "toolu_1", "name": "weather", "arguments": '{"city":"Paris"}'},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "sunny"},
    ]
    assert said_of(*conversation) == [
        "thinking of another provider's model was left out",
        "citations were left out of a message that goes back as plain text",
        "a refusal was sent as plain text",
        "a file of type image/png the model made cannot be sent back and was left out",
    ]


def test_a_call_by_a_name_that_is_not_legal_here_is_told_by_a_legal_one() -> None:
    conversation = (calls_message(NativeCall("call_1", "geo.weather")), results_message(NativeResult("call_1", "ok")))
    assert sent(*conversation)[0]["name"] == "geo_weather"
    assert said_of(*conversation) == [
        "the call 'geo.weather' is sent as 'geo_weather': this API does not allow that name"
    ]


def test_two_messages_that_are_alike_stay_two() -> None:
    twice = [{"type": "message", "role": "assistant", "content": "Hi"}] * 2
    assert sent(decode(*twice)) == twice


def test_system_texts_later_on_or_in_pieces_stay_where_they_are() -> None:
    pieces = Message("system", (TextPart("a"), TextPart("b")))
    assert sent(pieces, user("Hi"), system("c"), Message("developer", (TextPart("d"),))) == [
        {"role": "system", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "c"},
        {"role": "developer", "content": "d"},
    ]


def test_a_system_message_read_from_the_items_goes_back_there() -> None:
    body = {"model": MODEL, "input": [{"role": "system", "content": "a", "type": "message"}]}
    assert API.encode(API.read_request(body)).body == body


# ── tools ────────────────────────────────────────────────────────────────────

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = FunctionDefinition("weather", "The weather.", SCHEMA)
PATCH = FreeformDefinition("patch", "Patches.", "lark", "start: /.+/")
SEARCH = ProviderDefinition("openai.web_search", "web_search", settings={"search_context_size": "low"})
PYTHON = ProviderDefinition("openai.code_interpreter", "code_interpreter", settings={"container": {"type": "auto"}})
SERVER = ProviderDefinition("openai.mcp", "mcp", settings={"server_label": "geo"})


def tools(*definitions: Definition, model: str = MODEL) -> list[Any]:
    return list(API.encode(Request(model, (user("Hi"),), definitions)).body["tools"])


def test_tools_of_every_kind() -> None:
    assert tools(WEATHER, PATCH, SEARCH) == [
        {"type": "function", "name": "weather", "description": "The weather.", "parameters": SCHEMA, "strict": True},
        {
            "type": "custom",
            "name": "patch",
            "description": "Patches.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
        },
        {"type": "web_search", "search_context_size": "low"},
    ]


def test_a_tool_is_strict_as_it_asks_and_where_nothing_is_lost() -> None:
    loose = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}}
    written = tools(
        FunctionDefinition("a", "", loose),
        FunctionDefinition("b", "", SCHEMA, strict=False),
        FunctionDefinition("c", "", SCHEMA, strict=True),
    )
    assert [tool["strict"] for tool in written] == [False, False, True]
    assert written[0]["parameters"] == loose


def test_the_members_of_a_namespace_stand_together() -> None:
    one = FunctionDefinition("one", "1", SCHEMA, namespace="geo", deferred=True)
    two = FreeformDefinition("two", "2", namespace="geo")
    written = tools(one, WEATHER, two, model="gpt-5.4")
    assert [tool.get("name") for tool in written] == ["geo", "weather"]
    assert written[0] == {
        "type": "namespace",
        "name": "geo",
        "description": "The tools of geo.",
        "tools": [
            {
                "type": "function",
                "name": "one",
                "parameters": SCHEMA,
                "strict": True,
                "description": "1",
                "defer_loading": True,
            },
            {"type": "custom", "name": "two", "description": "2"},
        ],
    }


def test_a_recorded_toolset_goes_back_as_it_came() -> None:
    recorded = [
        {
            "type": "function",
            "name": "a",
            "parameters": {"type": "object", "properties": {}},
            "allowed_callers": ["direct"],
        },
        {"type": "custom", "name": "b", "format": {"type": "text"}},
        {"type": "namespace", "name": "geo", "description": "Geo.", "tools": [{"type": "custom", "name": "c"}]},
        {"type": "mcp", "server_label": "geo", "server_url": "https://a.example"},
    ]
    written = API.encode(API.read_request({"model": MODEL, "input": "Hi", "tools": recorded})).body["tools"]
    assert written == [{**recorded[0], "strict": None}, *recorded[1:]]


def test_a_model_without_freeform_tools_is_offered_a_function() -> None:
    encoded = API.encode(Request("gpt-4o", (user("Hi"),), (PATCH,)))
    (tool,) = encoded.body["tools"]
    assert (tool["type"], tool["parameters"]["required"]) == ("function", ["input"])
    assert "start: /.+/" in tool["description"]
    assert (
        Remark("tools.patch", "a freeform tool is offered as a function with the parameter 'input'") in encoded.report
    )


def test_a_text_for_a_freeform_tool_is_sent_as_one_and_half_written_arguments_as_they_are() -> None:
    conversation = (calls_message(NativeCall("call_1", "patch", "*** Begin"), NativeCall("call_2", "weather", '{"ci')),)
    answered = (*conversation, results_message(NativeResult("call_1", "ok"), NativeResult("call_2", "no")))
    assert sent(*answered, definitions=(PATCH, WEATHER)) == [
        {"type": "custom_tool_call", "call_id": "call_1", "name": "patch", "input": "*** Begin"},
        {"type": "function_call", "call_id": "call_2", "name": "weather", "arguments": '{"ci'},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"},
        {"type": "function_call_output", "call_id": "call_2", "output": "no"},
    ]


def test_an_earlier_freeform_call_is_told_to_such_a_model_as_a_function_s() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "patch", "input": "*** Begin"}
    answer = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"}
    request = API.read_request({"model": "gpt-4o", "input": [item, answer]})
    assert API.encode(request).body["input"] == [
        {"type": "function_call", "call_id": "call_1", "name": "patch", "arguments": '{"input":"*** Begin"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
    ]


def test_examples_are_shown_in_the_description() -> None:
    example = ToolExample({"city": "Paris"}, "sunny", "a capital")
    (tool,) = tools(FunctionDefinition("weather", "The weather.", SCHEMA, examples=(example,)))
    assert tool["description"] == 'The weather.\n\nExamples:\n- a capital: {"city":"Paris"} → "sunny"'


CHOICES: list[tuple[ToolChoice, Any]] = [
    (ToolChoice(), None),
    (ToolChoice("none"), "none"),
    (ToolChoice("required"), "required"),
    (ToolChoice("one", ("weather",)), {"type": "function", "name": "weather"}),
    (ToolChoice("one", ("patch",)), {"type": "custom", "name": "patch"}),
    (ToolChoice("one", ("openai.code_interpreter",)), {"type": "code_interpreter"}),
    (ToolChoice("one", ("openai.mcp",)), {"type": "mcp", "server_label": "geo"}),
    (
        ToolChoice("one", ("openai.web_search",)),
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
    ),
    (
        ToolChoice("subset", ("weather", "openai.web_search")),
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "weather"}, {"type": "web_search"}],
        },
    ),
    (
        ToolChoice("subset", ("patch",), required=True),
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "patch"}]},
    ),
]


@pytest.mark.parametrize("choice, written", CHOICES)
def test_a_choice_is_written_and_read_again(choice: ToolChoice, written: Any) -> None:
    request = Request(MODEL, (user("Hi"),), (WEATHER, PATCH, SEARCH, PYTHON, SERVER), choice)
    body = API.encode(request).body
    assert body.get("tool_choice") == written
    again = API.encode(API.read_request(body)).body
    assert again.get("tool_choice") == written


def test_a_choice_of_a_tool_that_is_not_offered_is_told_before_anything_is_sent() -> None:
    with pytest.raises(DefinitionError, match="no tool 'wether' is offered"):
        API.encode(Request(MODEL, (user("Hi"),), (WEATHER,), ToolChoice("one", ("wether",))))


@pytest.mark.parametrize(
    "model, thinking, effort, told",
    [
        ("gpt-5.2", Thinking("off"), "none", False),
        ("gpt-5.2", Thinking("high"), "high", False),
        ("gpt-5", Thinking("off"), "minimal", True),
        ("o4-mini", Thinking("off"), "low", True),
        ("openai/o3", Thinking("medium"), "medium", False),
        ("gpt-5-pro", Thinking("low"), "high", True),
        ("gpt-5.1-codex", Thinking("off"), "low", True),
        ("gpt-5.3-codex", Thinking("high"), "high", False),
        ("gpt-5.2-chat-latest", Thinking("high"), "medium", True),
        ("gpt-5.6-sol", Thinking("off"), "none", False),
        ("grok-4", Thinking("low"), "low", False),
        ("gpt-5.2", Thinking(tokens=1000), "low", True),
        ("gpt-5.2", Thinking(tokens=5000), "medium", True),
        ("gpt-5.2", Thinking(tokens=50_000), "high", True),
    ],
)
def test_thinking_is_said_in_a_word_the_model_knows(model: str, thinking: Thinking, effort: str, told: bool) -> None:
    encoded = API.encode(Request(model, (user("Hi"),), thinking=thinking))
    assert encoded.body["reasoning"] == {"effort": effort}
    assert bool(encoded.report) is told


def test_a_model_that_does_not_think_is_not_asked_to() -> None:
    with pytest.raises(DefinitionError, match="gpt-4o does not think"):
        API.encode(Request("gpt-4o", (user("Hi"),), thinking=Thinking("low")))
    assert "reasoning" not in API.encode(Request("gpt-4o", (user("Hi"),), thinking=Thinking("off"))).body


def test_an_answer_in_a_schema_is_strict_where_the_schema_allows_it() -> None:
    strict = API.encode(Request(MODEL, (user("Hi"),), response_schema=SCHEMA)).body["text"]
    assert strict == {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}}
    open_schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    loose = API.encode(Request(MODEL, (user("Hi"),), response_schema=open_schema)).body["text"]
    assert loose == {"format": {"type": "json_schema", "name": "answer", "schema": open_schema, "strict": False}}


def test_what_this_api_has_no_field_for_is_told() -> None:
    assert said_of(user("Hi"), seed=1) == ["this API takes no seed: it was left out"]
    with pytest.raises(DefinitionError, match="stop sequences"):
        API.encode(Request(MODEL, (user("Hi"),), stop=("x",)))


def test_a_request_made_of_a_stored_prompt_alone_goes_back_as_it_came() -> None:
    body = {"prompt": {"id": "pmpt_1"}}
    assert API.encode(API.read_request(body)).body == body


def test_tools_added_on_the_way_and_settings_nobody_knows_go_back_as_they_came() -> None:
    body = {
        "model": MODEL,
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]},
            function_call(),
            {"type": "function_call_output", "call_id": "call_1", "output": "ok", "status": "completed"},
        ],
        "reasoning": {"effort": "xhigh", "summary": "auto"},
        "text": {"verbosity": "low", "format": {"type": "json_object"}},
        "context_management": [{"type": "compaction", "compact_threshold": 9}],
    }
    assert API.encode(API.read_request(body)).body == body


def test_items_of_a_log_are_read_as_parts() -> None:
    result = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    call, told = API.read_parts([function_call(), result])
    assert isinstance(call, CallPart)
    assert told == ResultPart(NativeResult("call_1", "ok"))


def test_what_is_no_object_is_no_request() -> None:
    for body in ([], "x", None, True):
        with pytest.raises(EngineError, match="is no request of the Responses API"):
            API.read_request(body)  # type: ignore[arg-type]


def test_citations_of_a_stream_that_breaks_off_are_kept() -> None:
    annotation = {"type": "url_citation", "url": "https://a", "title": "A", "start_index": 0, "end_index": 2}
    place = {"output_index": 0, "content_index": 0}
    _, reply = streamed(
        *(
            b"data: " + msgspec.json.encode(event) + b"\n\n"
            for event in (
                {"type": "response.output_text.delta", **place, "delta": "So it is"},
                {"type": "response.output_text.annotation.added", **place, "annotation": annotation},
            )
        )
    )
    assert reply.finish is FinishReason.INTERRUPTED
    assert [(one.url, one.span) for one in reply.citations] == [("https://a", Span(0, 2))]


def test_an_image_that_code_made_is_read_from_its_address() -> None:
    item = {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "code": "plot()",
        "outputs": [{"type": "image", "url": "data:image/png;base64,QUJD"}, {"type": "image", "url": "https://i"}],
    }
    (result,) = API.decode({"object": "response", "status": "completed", "output": [item]}).results
    assert result.content == (Media("image/png", data="QUJD"), Media("image/*", url="https://i"))


def test_a_call_another_provider_ran_is_left_out_though_nobody_says_whose_it_was() -> None:
    hosted = CallPart(NativeCall("s", "search", {}, executed_by=ExecutedBy.PROVIDER, item={"toolCall": {}}))
    ours = CallPart(NativeCall("a", "f", {}, item={"functionCall": {}}))
    encoded = API.encode(Request(MODEL, (user("Hi"), Message("assistant", (hosted, ours)))))
    assert [one.get("type") for one in encoded.body["input"]] == [None, "function_call", "function_call_output"]
    assert any("'search'" in remark.message for remark in encoded.report)


def test_of_several_acts_on_a_screen_the_last_picture_is_sent() -> None:
    item = {"type": "computer_call", "call_id": "c1", "actions": [{"type": "click"}, {"type": "screenshot"}]}
    call = NativeCall("c1", "computer", {"actions": item["actions"]}, item=item)
    first, last = (Media("image/png", data=data) for data in ("Zmlyc3Q=", "bGFzdA=="))
    asked = Reply((CallPart(call),), FinishReason.CALLS)
    told = Message("tool", (ResultPart(NativeResult("c1", (first, last), name="computer")),))
    (output,) = (one["output"] for one in sent(user("go"), asked, told) if one.get("type") == "computer_call_output")
    assert output == {"type": "computer_screenshot", "image_url": "data:image/png;base64,bGFzdA=="}


ODD_CALLS: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}', "status": "completed", "id": "i"},
    {"type": "function_call", "call_id": "", "name": 7, "arguments": "no JSON", "namespace": "n"},
    {"type": "function_call", "call_id": 3, "arguments": {"x": 1}, "namespace": []},
    {"type": "function_call", "name": "f"},
    {"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "text"},
    {"type": "custom_tool_call", "call_id": "c", "input": {"x": 1}},
    {"type": "function_call_output", "call_id": "c", "output": "text", "name": "f"},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "of another"}]},
    {"type": "function_call_output", "call_id": None, "output": "text"},
    {"type": "custom_tool_call_output", "call_id": "c", "output": None},
    {"type": "web_search_call", "id": "w", "status": "completed"},
    {"type": "message", "role": "assistant", "content": "a"},
    {"type": ["function_call"]},
    {},
]


@pytest.mark.parametrize("item", ODD_CALLS)
def test_a_call_or_result_of_a_log_is_the_one_that_a_part_holds(item: dict[str, Any]) -> None:
    native = API.read_logged(item)
    (part,) = API.read_parts([item])
    is_ours = isinstance(part, ResultPart) or (
        isinstance(part, CallPart) and part.call.executed_by is ExecutedBy.CLIENT
    )
    held = part.call if isinstance(part, CallPart) else part.result if isinstance(part, ResultPart) else None
    assert native == (held if is_ours else None)
