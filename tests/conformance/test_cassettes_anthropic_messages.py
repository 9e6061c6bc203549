"""Every recorded exchange of the Messages protocol: answers, streams, errors and requests."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import CallPart, ExecutedBy, Message, NativeCall, Provenance, Reply
from dragoman.model.conversation import user
from dragoman.model.request import (
    AnyChunk,
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    CitationArrived,
    Finished,
    MediaArrived,
    Request,
    ResultArrived,
    TextChunk,
    ThinkingChunk,
    UsageArrived,
)
from tests.conformance.cassettes import Cassette, cassettes

API = "anthropic_messages"
CODEC = APIS[API]
SMALL = 4_000
"""Streams of at most so many bytes are cut at every byte."""


def answers() -> Iterator[Cassette]:
    return (one for one in cassettes(API) if one.status == 200 and not one.streaming)


def streams() -> Iterator[Cassette]:
    return (one for one in cassettes(API) if one.status == 200 and one.streaming)


def sent_back(reply: Reply) -> list[dict[str, Any]]:
    """The blocks a reply's turn goes back as, after one with the calls whose results it brings."""
    begun = {call.id for call in reply.calls}
    earlier = tuple(
        CallPart(NativeCall(result.call_id, "earlier", executed_by=ExecutedBy.PROVIDER))
        for result in reply.results
        if result.call_id not in begun
    )
    request = Request("claude-3-7-sonnet", (user("a"), Message("assistant", earlier), reply))
    body = CODEC._body(request, CODEC._history(request), None).body
    turns = [one["content"] for one in body["messages"] if one["role"] == "assistant"]
    return turns[-1] if len(turns) > bool(earlier) else []


def unempty(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what the API itself sends and refuses to get back: empty texts, thinking that was never signed."""
    return [
        block
        for block in blocks
        if not (block["type"] == "text" and not block["text"])
        if not (block["type"] == "thinking" and not block.get("signature"))
    ]


def test_every_recorded_answer_is_read_and_goes_back_as_it_came() -> None:
    read = 0
    for cassette in answers():
        reply = CODEC.decode(cassette.response)
        assert reply.usage.total is not None or "usage" not in cassette.response, cassette.id
        assert reply.finish_raw == cassette.response["stop_reason"], cassette.id
        if "completion" in cassette.response:  # two of Bedrock's oldest, text completions
            assert reply.text == cassette.response["completion"]
        else:
            unbound = Reply(reply.parts, provenance=Provenance(api=API))
            expected = unempty(cassette.response["content"])
            trimmed = [dict(one) for one in expected]
            if trimmed and trimmed[-1]["type"] == "text":  # a last turn may not end in space
                trimmed[-1]["text"] = trimmed[-1]["text"].rstrip() or trimmed[-1]["text"]
            assert sent_back(unbound) == trimmed, cassette.id
        read += 1
    assert read > 900


def test_every_recorded_type_of_block_but_two_has_a_type_of_its_own() -> None:
    opaque = Counter(
        part.item["type"]
        for cassette in answers()
        for part in CODEC.decode(cassette.response).parts
        if type(part).__name__ == "OpaquePart"
    )
    assert set(opaque) == {"compaction", "fallback"}


# ── streams ──────────────────────────────────────────────────────────────────


def assembled(cassette: Cassette) -> dict[str, Any]:
    """The body a stream stands for, put together without the codec; the last message where there are several."""
    body: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in cassette.events or []:
        data = event["data"]
        if not isinstance(data, dict):
            continue
        if data["type"] == "message_start":
            body, blocks = {**data["message"]}, {}
        elif data["type"] == "content_block_start":
            blocks[data["index"]] = {**data["content_block"], "json": ""}
        elif data["type"] == "content_block_delta":
            apply(blocks[data["index"]], data["delta"])
        elif data["type"] == "message_delta":
            new = {**data["delta"], **{key: data[key] for key in data if key not in ("type", "delta", "usage")}}
            body |= {key: value for key, value in new.items() if value is not None}
            body["usage"] = {
                **body["usage"],
                **{key: value for key, value in data["usage"].items() if value is not None},
            }
        elif data["type"] == "message_stop":
            body |= {key: value for key, value in data.items() if key != "type"}
    for block in blocks.values():
        text = block.pop("json")
        if text:
            try:
                block["input"] = json.loads(text)
            except ValueError:
                block["input"] = text
    return {**body, "content": list(blocks.values())}


def apply(block: dict[str, Any], delta: dict[str, Any]) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
            if delta.get("estimated_tokens"):
                block["estimated_tokens"] = delta["estimated_tokens"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            block["json"] += delta["partial_json"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        case "compaction_delta":
            block |= {key: value for key, value in delta.items() if key != "type"}
        case other:
            pytest.fail(f"a delta of type {other} was never recorded before")


def fed(raw: bytes, cuts: list[int]) -> tuple[Reply, list[AnyChunk]]:
    decoder = CODEC.stream()
    chunks: list[AnyChunk] = []
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        chunks += decoder.feed(raw[begin:end])
    return decoder.close(), chunks


def test_every_recorded_stream_gives_the_reply_of_the_whole_body() -> None:
    read = 0
    for cassette in streams():
        reply, chunks = fed(cassette.stream, [])
        whole = CODEC.decode(assembled(cassette))
        compared = Reply(
            reply.parts, reply.finish, reply.finish_raw, reply.usage, reply.id, None, reply.provenance, reply.metadata
        )
        assert compared == whole, cassette.id
        if not reply.alternatives:
            check_chunks(reply, chunks, cassette.id)
        read += 1
    assert read > 400


def check_chunks(reply: Reply, chunks: list[AnyChunk], id: str) -> None:
    """What was told piece by piece is what the reply says."""
    assert "".join(one.text for one in chunks if isinstance(one, TextChunk)) == reply.text, id
    assert "".join(one.text for one in chunks if isinstance(one, ThinkingChunk)) == reply.thinking, id
    assert [one.call for one in chunks if isinstance(one, CallFinished)] == list(reply.calls), id
    assert [one.call_id for one in chunks if isinstance(one, CallStarted)] == [call.id for call in reply.calls], id
    assert [one.result for one in chunks if isinstance(one, ResultArrived)] == list(reply.results), id
    assert [one.finish for one in chunks if isinstance(one, Finished)] == [reply.finish], id
    assert [one.usage for one in chunks if isinstance(one, UsageArrived)][-1] == reply.usage, id
    assert not [one for one in chunks if isinstance(one, MediaArrived)], id
    cited = [one.citation for part in reply.parts for one in map(CitationArrived, getattr(part, "citations", ()))]
    assert [one.citation for one in chunks if isinstance(one, CitationArrived)] == cited, id
    for call in reply.calls:
        text = "".join(one.text for one in chunks if isinstance(one, ArgumentsChunk) and one.call_id == call.id)
        assert (json.loads(text) if isinstance(call.arguments, dict) and text else text or {}) == call.arguments, id


def test_every_recorded_stream_is_the_same_however_it_is_cut() -> None:
    for cassette in streams():
        raw = cassette.stream
        expected = fed(raw, [])
        if len(raw) <= SMALL:
            assert fed(raw, list(range(1, len(raw)))) == expected, cassette.id
        chance = random.Random(cassette.id)
        cuts = sorted(chance.sample(range(1, len(raw)), min(len(raw) - 1, 40)))
        assert fed(raw, cuts) == expected, cassette.id


# ── errors ───────────────────────────────────────────────────────────────────


def test_every_recorded_error_says_what_was_wrong() -> None:
    read = 0
    for cassette in cassettes(API):
        if cassette.status == 200:
            continue
        headers = cassette.response_headers or {}
        error = CODEC.error(cassette.status, headers, cassette.response)
        said = cassette.response["error"]
        assert (error.status, error.code, error.message) == (
            cassette.status,
            said["type"],
            said["message"] or f"the provider answered with status {cassette.status}",
        )
        assert error.request_id == (cassette.response.get("request_id") or headers.get("request-id")), cassette.id
        assert error.retryable == (cassette.status == 429), cassette.id
        with pytest.raises(EngineError):
            CODEC.decode(cassette.response)
        read += 1
    assert read > 30


# ── requests ─────────────────────────────────────────────────────────────────

REFUSED = {
    "anthropic-messages-2a6cfe880d44": "a temperature of -5",
    "anthropic-messages-2b69909b5eb7": "strict, with definitions that lead to each other and to nothing",
    "anthropic-messages-5996edee1947": "strict, with 25 optional parameters",
    "anthropic-messages-9af4aaae271e": "arguments that are a text",
    "anthropic-messages-af3f96e95709": "strict, with a schema that refers to itself",
    "anthropic-messages-c303dc071ac7": "arguments that are a text, by reference",
    "anthropic-messages-e4712ea9effd": "a prefill, of a model that takes none",
    "anthropic-messages-f13fef700a45": "strict, with 17 unions",
}
"""Requests we refuse, as the API did."""
OTHERS = {
    "anthropic-messages-4a4939617bb9": "a text completion, which is another protocol: a prompt and no messages",
    "anthropic-messages-8ede90656e66": "a text completion as well",
}
DIFFERENT = {
    "anthropic-messages-6c43e268ad42": "a search and its result whose ids the recorder made two",
    "anthropic-messages-283cebf52bfe": "a result for a call nobody made, and a call without one",
    "anthropic-messages-949dc23d370c": "a result for a call nobody made, and a call without one",
    "anthropic-messages-32774f86b466": "two calls with one id: the second is given its own",
    "anthropic-messages-5ec8459a81a4": "two calls with one id: the second is given its own",
}
"""Requests we write otherwise than they were, with the same meaning."""


def test_every_recorded_request_is_written_as_it_was_read() -> None:
    different: dict[str, Any] = {}
    refused: dict[str, Any] = {}
    written = 0
    for cassette in cassettes(API):
        if not isinstance(cassette.request, dict):
            continue
        request = CODEC.read_request(cassette.request, model=cassette.model)
        try:
            body = CODEC.encode(request).body
        except DefinitionError as error:
            refused[cassette.id] = error.problems
            continue
        written += 1
        if cassette.status == 400:  # what the API refused is fixed where it can be
            continue
        mine, theirs = equivalent(body), equivalent(cassette.request)
        if mine != theirs:
            different[cassette.id] = [
                (mine.get(key), theirs.get(key)) for key in mine | theirs if mine.get(key) != theirs.get(key)
            ]
    assert written > 1_200
    assert refused.keys() == (REFUSED | OTHERS).keys(), refused
    assert different.keys() == DIFFERENT.keys(), different


def equivalent(body: dict[str, Any]) -> dict[str, Any]:
    """A body without what makes no difference to the API."""
    body = {key: value for key, value in body.items() if value not in (None, [], "")}  # not given, and given empty
    if body.get("stream") is False:  # the default
        del body["stream"]
    if isinstance(body.get("system"), str):  # a text is one block
        body["system"] = blocks(body["system"])
    if isinstance(body.get("messages"), list):
        body["messages"] = joined_turns(body["messages"])
    choice = {key: value for key, value in body.get("tool_choice", {}).items() if value is not False}  # the default
    body.pop("tool_choice", None)
    if choice not in ({}, {"type": "auto"}):  # the default
        body["tool_choice"] = choice
    if "tools" in body:  # not given, given as false and given empty
        body["tools"] = [
            {key: value for key, value in tool.items() if value not in (False, "")} for tool in body["tools"]
        ]
    if "output_config" in body or body.get("thinking", {}).get("type") == "adaptive":
        body["output_config"] = config(body.get("output_config", {}))
    return body


def config(stated: dict[str, Any]) -> dict[str, Any]:
    """High effort is the default; `$schema` names a draft and asks for nothing."""
    stated = {"effort": "high", **stated}
    form = stated.get("format")
    if isinstance(form, dict) and isinstance(form.get("schema"), dict):
        schema = {key: value for key, value in form["schema"].items() if key != "$schema"}
        stated["format"] = {**form, "schema": schema}
    return stated


def blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def joined_turns(messages: list[Any]) -> list[Any]:
    """A text is one block, and what one side says in two messages the API reads as one."""
    turns: list[Any] = []
    for message in messages:
        if not isinstance(message, dict):
            turns.append(message)
            continue
        turn = {**message, "content": blocks(message["content"])}
        if turns and turns[-1]["role"] == turn["role"] != "system":
            turns[-1]["content"] = [*turns[-1]["content"], *turn["content"]]
        else:
            turns.append(turn)
    return turns


NAMES_A_DRAFT = {"anthropic-messages-8215a306a317", "anthropic-messages-c91f284dddc4"}


def test_only_what_is_written_otherwise_is_remarked_upon() -> None:
    remarked = {
        cassette.id
        for cassette in cassettes(API)
        if isinstance(cassette.request, dict) and cassette.status == 200 and cassette.id not in OTHERS
        if any(
            # What the reader keeps as an option may replace what the typed field beside it writes, and gives the same.
            not remark.where.startswith("options.")
            for remark in CODEC.encode(CODEC.read_request(cassette.request, model=cassette.model)).report
        )
    }
    assert remarked == DIFFERENT.keys() | NAMES_A_DRAFT
