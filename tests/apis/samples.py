"""Small answers of our own making in every API's shape: what the laws of all APIs are tried on."""

from __future__ import annotations

import json
from typing import Any

BODIES: dict[str, list[dict[str, Any]]] = {
    "openai_chat": [
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "some-model",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "It is sunny.",
                        "refusal": None,
                        "reasoning_content": "I should look.",
                        "annotations": [
                            {
                                "type": "url_citation",
                                "url_citation": {
                                    "url": "https://a.example",
                                    "title": "A",
                                    "start_index": 0,
                                    "end_index": 5,
                                },
                            }
                        ],
                        "tool_calls": [
                            {
                                "id": "call_1",
                                "type": "function",
                                "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
                            },
                            {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
                        ],
                    },
                    "finish_reason": "tool_calls",
                    "logprobs": None,
                }
            ],
            "usage": {
                "prompt_tokens": 20,
                "completion_tokens": 10,
                "total_tokens": 30,
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
        }
    ],
    "openai_responses": [
        {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "model": "some-model",
            "output": [
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "I should look."}],
                    "encrypted_content": "gAAA",
                },
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "weather", "queries": ["weather"]},
                },
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [
                        {
                            "type": "output_text",
                            "text": "It is sunny.",
                            "annotations": [
                                {
                                    "type": "url_citation",
                                    "url": "https://a.example",
                                    "title": "A",
                                    "start_index": 0,
                                    "end_index": 5,
                                }
                            ],
                        },
                        {"type": "refusal", "refusal": "No more."},
                    ],
                },
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "call_id": "call_1",
                    "name": "weather",
                    "arguments": '{"city": "Paris"}',
                    "status": "completed",
                },
                {
                    "type": "custom_tool_call",
                    "id": "ctc_1",
                    "call_id": "call_2",
                    "name": "patch",
                    "input": "*** Begin",
                },
                {"type": "a_future_item", "id": "x_1", "content": {"deep": [1, 2]}},
            ],
            "usage": {
                "input_tokens": 20,
                "input_tokens_details": {"cached_tokens": 5},
                "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 4},
                "total_tokens": 30,
            },
        }
    ],
    "anthropic_messages": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "some-model",
            "content": [
                {"type": "thinking", "thinking": "I should look.", "signature": "sig"},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": [
                        {
                            "type": "web_search_result",
                            "url": "https://a.example",
                            "title": "A",
                            "encrypted_content": "e",
                            "page_age": None,
                        }
                    ],
                },
                {
                    "type": "text",
                    "text": "It is sunny.",
                    "citations": [
                        {
                            "type": "web_search_result_location",
                            "url": "https://a.example",
                            "title": "A",
                            "cited_text": "sun",
                            "encrypted_index": "i",
                        }
                    ],
                },
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}},
                {"type": "a_future_block", "content": {"deep": [1, 2]}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 15,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 2,
                "output_tokens": 10,
                "server_tool_use": {"web_search_requests": 1},
            },
        }
    ],
    "gemini_generate": [
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "I should look.", "thought": True},
                            {"text": "Es ist schön.", "thoughtSignature": "c2ln"},
                            {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
                            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}},
                            {
                                "functionCall": {"name": "weather", "args": {"city": "Paris"}},
                                "thoughtSignature": "c2ln",
                            },
                            {"aFuturePart": {"deep": [1, 2]}},
                        ],
                    },
                    "finishReason": "STOP",
                    "index": 0,
                    "groundingMetadata": {
                        "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
                        "groundingSupports": [
                            {
                                "segment": {"startIndex": 7, "endIndex": 14, "text": "schön."},
                                "groundingChunkIndices": [0],
                            }
                        ],
                        "webSearchQueries": ["weather"],
                    },
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 20,
                "cachedContentTokenCount": 5,
                "candidatesTokenCount": 6,
                "thoughtsTokenCount": 4,
                "totalTokenCount": 30,
            },
            "modelVersion": "some-model",
            "responseId": "r1",
        }
    ],
}


def _chat(*deltas: dict[str, Any], finish: str) -> list[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "some-model"}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    usage = BODIES["openai_chat"][0]["usage"]
    return [*chunks, {**head, "choices": [], "usage": usage}]


def _call(index: int, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **fields}]}


def _responses() -> list[dict[str, Any]]:
    """The whole answer above, item by item."""
    whole = BODIES["openai_responses"][0]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}}
    ]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", "output_index": index, "item": _begun(item)})
        if item["type"] == "message":
            for place, part in enumerate(item["content"]):
                kind, key = ("output_text", "text") if part["type"] == "output_text" else ("refusal", "refusal")
                here = {**at, "content_index": place}
                events.append(
                    {"type": "response.content_part.added", **here, "part": {**part, key: "", "annotations": []}}
                )
                for piece in (part[key][:3], part[key][3:]):
                    events.append({"type": f"response.{kind}.delta", **here, "delta": piece})
                for number, annotation in enumerate(part.get("annotations", [])):
                    events.append(
                        {
                            "type": "response.output_text.annotation.added",
                            **here,
                            "annotation_index": number,
                            "annotation": annotation,
                        }
                    )
                events.append({"type": "response.content_part.done", **here, "part": part})
        elif item["type"] == "function_call":
            for piece in (item["arguments"][:5], item["arguments"][5:]):
                events.append({"type": "response.function_call_arguments.delta", **at, "delta": piece})
            events.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        elif item["type"] == "custom_tool_call":
            events.append({"type": "response.custom_tool_call_input.delta", **at, "delta": item["input"]})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*events, {"type": "response.completed", "response": whole}]


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty = {"arguments": "", "input": "", "content": [] if item["type"] == "message" else item.get("content")}
    return {**item, **{key: value for key, value in empty.items() if key in item}}


def _messages() -> list[dict[str, Any]]:
    whole = BODIES["anthropic_messages"][0]
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}},
        },
        {"type": "ping"},
    ]
    for index, block in enumerate(whole["content"]):
        start, deltas = dict(block), []
        if block["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in ("I should", " look.")]
            deltas.append({"type": "signature_delta", "signature": "sig"})
        elif block["type"] == "text":
            start = {"type": "text", "text": ""}
            deltas = [{"type": "citations_delta", "citation": block["citations"][0]}]
            deltas += [{"type": "text_delta", "text": piece} for piece in ("It is", " sunny.")]
        elif block["type"] in ("tool_use", "server_tool_use"):
            start["input"] = {}
            text = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", text[:4], text[4:])]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": whole["usage"]})
    return [*events, {"type": "message_stop"}]


def _generate() -> list[dict[str, Any]]:
    whole = BODIES["gemini_generate"][0]
    candidate = whole["candidates"][0]
    head = {"modelVersion": whole["modelVersion"], "responseId": whole["responseId"]}
    chunks = [
        {**head, "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
        for part in candidate["content"]["parts"]
    ]
    last = {key: value for key, value in candidate.items() if key != "content"}
    chunks[-1]["candidates"][0].update(last)
    chunks[-1]["usageMetadata"] = whole["usageMetadata"]
    return chunks


_CHAT = BODIES["openai_chat"][0]["choices"][0]["message"]

STREAMS: dict[str, list[tuple[list[dict[str, Any]], dict[str, Any]]]] = {
    # API → (the events, the whole body they amount to)
    "openai_chat": [
        (
            _chat(
                {"role": "assistant", "content": ""},
                {"reasoning_content": "I should"},
                {"reasoning_content": " look."},
                {"content": "It is"},
                {"content": " sunny.", "annotations": _CHAT["annotations"]},
                _call(0, id="call_1", type="function", function={"name": "weather", "arguments": ""}),
                _call(0, function={"arguments": '{"city":'}),
                _call(0, function={"arguments": ' "Paris"}'}),
                _call(1, id="call_2", type="custom", custom={"name": "patch", "input": "*** "}),
                _call(1, custom={"input": "Begin"}),
                finish="tool_calls",
            ),
            BODIES["openai_chat"][0],
        )
    ],
    "openai_responses": [(_responses(), BODIES["openai_responses"][0])],
    "anthropic_messages": [(_messages(), BODIES["anthropic_messages"][0])],
    "gemini_generate": [(_generate(), BODIES["gemini_generate"][0])],
}


def as_bytes(events: list[dict[str, Any]], *, named: bool = False, end: str = "\n") -> bytes:
    """Events as a server sends them."""
    lines: list[str] = []
    for event in events:
        if named and "type" in event:
            lines.append(f"event: {event['type']}")
        lines += [f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    return end.join([*lines, ""]).encode()
