"""Every recorded exchange of `generateContent`: decoded without loss, streamed alike however cut, sent again."""

from __future__ import annotations

import base64
import json
import random
import re
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.apis import APIS
from dragoman.errors import DefinitionError, EngineError
from dragoman.model import conversation as said
from dragoman.model.calls import ExecutedBy
from dragoman.model.request import (
    ArgumentsChunk,
    CallFinished,
    CallStarted,
    CitationArrived,
    Finished,
    MediaArrived,
    ResultArrived,
    TextChunk,
    ThinkingChunk,
)

from .conftest import SHARED

NAME = "gemini_generate"
API = APIS[NAME]
FOLDER = SHARED / "cassettes" / "gemini-generate"
SMALL = 4_000
"""Bytes up to which a stream is cut at every one of them."""

UNEQUAL_REQUESTS = {
    "gemini-generate-09800aaeb465": "results of parallel calls in several contents: sent in one, as the API demands",
    "gemini-generate-44e3c2cdc790": "a result that stands after a later turn is put behind its call",
    "gemini-generate-5818cce97b89": "a result that stands after a later turn is put behind its call",
    "gemini-generate-7f9f43022217": "a result that stands after a later turn is put behind its call",
    "gemini-generate-a0786f636472": "a result that stands after a later turn is put behind its call",
}
REFUSED_REQUESTS = {
    "gemini-generate-e2ce3779acc4": "no contents at all: the provider refused it too",
}


REFUSED_BY_THE_OFFICIAL_TYPES = {
    "gemini-generate-6542f5ee88fb": "types of a schema by their number, which only the provider reads",
    "gemini-generate-d429243ce9c4": "types of a schema by their number, which only the provider reads",
}
WRONG_TOTALS = {35: "gemini-generate-b9fbaec282c3: 263 in and 35 out are not 35"}


@cache
def cassettes() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(path.read_bytes()) for path in sorted(Path(FOLDER).glob("*.json")))


def raw(cassette: dict[str, Any]) -> bytes:
    """The stream's bytes as recorded; where only its events were kept, as the API would frame them."""
    if cassette.get("raw_sse"):
        return str(cassette["raw_sse"]).encode()
    return b"".join(b"data: " + json.dumps(event["data"]).encode() + b"\r\n\r\n" for event in cassette["events"])


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    for cassette in cassettes():
        if cassette["status"] == 200 and not cassette["streaming"]:
            yield cassette["id"], cassette["response"]


def streams() -> Iterator[tuple[str, dict[str, Any], bytes]]:
    for cassette in cassettes():
        if cassette["status"] == 200 and cassette["streaming"]:
            yield cassette["id"], cassette, raw(cassette)


def requests() -> Iterator[tuple[str, dict[str, Any], str | None]]:
    for cassette in cassettes():
        if isinstance(cassette.get("request"), dict):
            named = re.search(r"models/([^:]+):", cassette.get("url_path") or "")
            yield cassette["id"], cassette["request"], named[1] if named else cassette.get("model")


def test_the_recordings_are_all_there() -> None:
    assert len(cassettes()) == 1117
    assert (sum(1 for _ in bodies()), sum(1 for _ in streams()), sum(1 for _ in requests())) == (768, 322, 1024)


# ── replies ──────────────────────────────────────────────────────────────────


def test_every_recorded_body_is_decoded_with_nothing_lost() -> None:
    lost = {}
    for id, body in bodies():
        problems = list(missing(API.decode(body), body.get("candidates") or [], body.get("usageMetadata") or {}))
        if problems:
            lost[id] = problems
    assert lost == {}


def test_every_recorded_stream_is_decoded_with_nothing_lost() -> None:
    lost = {}
    for id, cassette, data in streams():
        stream = API.stream()
        stream.feed(data)
        reply = stream.close()
        events = [event["data"] for event in cassette["events"]]
        candidates = [one for event in events for one in event.get("candidates") or []]
        usage: dict[str, Any] = {}
        for event in events:
            counted = event.get("usageMetadata") or {}
            usage = counted if "totalTokenCount" in counted else usage | counted
        problems = [*missing(reply, [_joined(candidates)], usage), *_untold(id, cassette, data, reply)]
        if problems:
            lost[id] = problems
    assert lost == {}


def _joined(candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """All chunks of a stream's one candidate, its parts one after another and its text in one."""
    whole: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for candidate in candidates:
        assert candidate.get("index", 0) == 0
        whole |= {key: value for key, value in candidate.items() if value not in (None, {})}
        parts += (candidate.get("content") or {}).get("parts") or []
    sources = [one["citationMetadata"] for one in candidates if one.get("citationMetadata")]
    for key in ("citations", "citationSources"):
        if found := [one for source in sources for one in source.get(key, [])]:
            whole["citationMetadata"] = {key: found}
    return {**whole, "content": {"parts": parts}}


def missing(reply: said.Reply, candidates: list[dict[str, Any]], usage: dict[str, Any]) -> Iterator[str]:
    """What a body says that its reply does not, by a reading of its own."""
    replies = (reply, *reply.alternatives)
    if candidates and len(replies) != len(candidates):
        yield "candidates"
    for one, candidate in zip(replies, candidates, strict=False):
        yield from _missing_parts(one, (candidate.get("content") or {}).get("parts") or [])
        yield from _missing_sources(one, candidate)
    count = usage.get
    prompt, cached = count("promptTokenCount"), count("cachedContentTokenCount")
    spent: list[int] = [usage[key] for key in ("candidatesTokenCount", "thoughtsTokenCount") if count(key) is not None]
    expected = (
        None if prompt is None else prompt - (cached or 0),
        cached,
        sum(spent) if spent else None,
        count("thoughtsTokenCount"),
        count("toolUsePromptTokenCount"),
    )
    found = reply.usage
    if expected != (
        found.input_tokens,
        found.cached_read_tokens,
        found.output_tokens,
        found.reasoning_tokens,
        found.tool_tokens,
    ):
        yield f"usage {expected}"
    total = count("totalTokenCount")
    if total is not None and total != found.total and total not in WRONG_TOTALS:
        yield f"total {total}, not {found.total}"


def _missing_parts(reply: said.Reply, parts: list[dict[str, Any]]) -> Iterator[str]:
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    if reply.text != text:
        yield "text"
    if reply.thinking != "".join(part.get("text", "") for part in parts if part.get("thought")):
        yield "thinking"
    calls = [part["functionCall"] for part in parts if part.get("functionCall", {}).get("name")]
    ours = [call for call in reply.calls if call.executed_by is ExecutedBy.CLIENT]
    if [call["name"] for call in calls] != [call.name for call in ours]:
        yield "calls"
    for told, call in zip(calls, ours, strict=False):
        if "willContinue" not in told and told.get("args", {}) != call.arguments:
            yield f"arguments of {call.name}"
        if told.get("id") not in (None, call.id):
            yield f"id of {call.name}"
    streamed = [one for part in parts for one in part.get("functionCall", {}).get("partialArgs", [])]
    values = json.dumps([call.arguments for call in ours])
    yield from (f"value {one}" for one in streamed if json.dumps(one.get("stringValue", ""))[1:-1] not in values)
    signatures = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
    if signatures != [found for part in reply.parts for found in _signatures(part)]:
        yield "signatures"
    hosted = [call for call in reply.calls if call.executed_by is ExecutedBy.PROVIDER]
    expected = [_hosted(part) for part in parts if "executableCode" in part or "toolCall" in part]
    if expected != [(call.name, call.arguments) for call in hosted]:
        yield "the provider's calls"
    results = [part for part in parts if "codeExecutionResult" in part or "toolResponse" in part]
    if results != [result.item for result in reply.results]:
        yield "the provider's results"
    for part, result in zip(results, reply.results, strict=False):
        if "codeExecutionResult" in part and part["codeExecutionResult"].get("output", "") != result.content:
            yield "the output of code"
        if result.call_id not in {call.id for call in hosted}:
            yield "the call of a result"
    media = [(part["inlineData"]["mimeType"], part["inlineData"]["data"]) for part in parts if "inlineData" in part]
    if media != [(one.media.media_type, one.media.data) for one in reply.parts if isinstance(one, said.MediaPart)]:
        yield "media"


def _signatures(part: said.AnyPart) -> list[str]:
    if isinstance(part, said.OpaquePart):
        return []
    found = getattr(part, "signature", None) or part.metadata.get(NAME, {}).get("thoughtSignature")
    if isinstance(part, said.ResultPart) and isinstance(part.result.item, dict):
        found = part.result.item.get("thoughtSignature")
    return [found] if found else []


def _hosted(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if "toolCall" in part:
        return part["toolCall"]["toolType"], part["toolCall"].get("args", {})
    return "code_execution", {key: value for key, value in part["executableCode"].items() if key != "id"}


def _missing_sources(reply: said.Reply, candidate: dict[str, Any]) -> Iterator[str]:
    grounding = candidate.get("groundingMetadata") or {}
    citations = reply.citations
    has_text = any(isinstance(part, said.TextPart) for part in reply.parts)
    for chunk in grounding.get("groundingChunks", []):
        (source,) = chunk.values()
        wanted = (source.get("uri"), source.get("title"), source.get("text"))
        if has_text and wanted not in [(one.url, one.title, one.quote) for one in citations]:
            yield f"source {wanted}"
    for support in grounding.get("groundingSupports", []):
        words = support["segment"]["text"]
        spans = [one.span for one in citations if one.span is not None]
        if words not in [reply.text[span.start : span.end] for span in spans]:
            yield f"span of {words!r}"
    metadata = candidate.get("citationMetadata") or {}
    for source in (*metadata.get("citations", []), *metadata.get("citationSources", [])):
        if has_text and not any((source.get("uri") or None) == one.url for one in citations):
            yield f"recited {source}"
    for page in (candidate.get("urlContextMetadata") or {}).get("urlMetadata", []):
        if page["urlRetrievalStatus"].endswith("SUCCESS") and page["retrievedUrl"] not in {c.url for c in citations}:
            yield f"page {page}"


def _untold(id: str, cassette: dict[str, Any], data: bytes, reply: said.Reply) -> Iterator[str]:
    """What the chunks of a stream do not tell of its reply; a last event without its empty line comes with `close`."""
    if not data.endswith(b"\n\n") and not data.endswith(b"\r\n\r\n") and cassette["framing"] == "sse":
        data += b"\n\n"
    chunks = API.stream().feed(data)
    if "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) != reply.text:
        yield "text chunks"
    if "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) != reply.thinking:
        yield "thinking chunks"
    started = [(one.call_id, one.name) for one in chunks if isinstance(one, CallStarted)]
    if started != [(call.id, call.name) for call in reply.calls]:
        yield "calls begun"
    if [one.call for one in chunks if isinstance(one, CallFinished)] != list(reply.calls):
        yield "calls ended"
    for call in reply.calls:
        pieces = [one for one in chunks if isinstance(one, ArgumentsChunk) and one.call_id == call.id]
        if (
            all(one.path is None for one in pieces)
            and json.loads("".join(one.text for one in pieces)) != call.arguments
        ):
            yield "arguments"
    if [one.result for one in chunks if isinstance(one, ResultArrived)] != list(reply.results):
        yield "results"
    if [one.media for one in chunks if isinstance(one, MediaArrived)] != [
        one.media for one in reply.parts if isinstance(one, said.MediaPart)
    ]:
        yield "media chunks"
    if [one.citation for one in chunks if isinstance(one, CitationArrived)] != list(reply.citations):
        yield "citations"
    ended = [one.finish for one in chunks if isinstance(one, Finished)]
    if len(ended) != (reply.finish is not said.FinishReason.INTERRUPTED):
        yield f"ended {ended}"


def test_a_recorded_stream_is_the_same_however_its_bytes_are_cut() -> None:
    chance = random.Random(7)
    for id, _, data in streams():
        whole = API.stream()
        chunks, reply = whole.feed(data), whole.close()
        for sizes in ((1,), (1, 3, 40, 900), (60, 4_000)) if len(data) <= SMALL else ((1, 3, 40, 900), (60, 4_000)):
            cut = API.stream()
            pieces, at = [], 0
            while at < len(data):
                size = chance.choice(sizes)
                pieces += cut.feed(data[at : at + size])
                at += size
            assert (pieces, cut.close()) == (chunks, reply), id


def test_the_chunks_of_a_stream_in_one_list_are_the_same_reply() -> None:
    for id, cassette, data in streams():
        stream = API.stream()
        stream.feed(data)
        assert API.decode([event["data"] for event in cassette["events"]]) == stream.close(), id


def test_recorded_errors_are_engine_errors() -> None:
    errors = [cassette for cassette in cassettes() if cassette["status"] != 200]
    assert len(errors) == 27
    for cassette in errors:
        told = cassette["response"]["error"]
        for body in (cassette["response"], [cassette["response"]], json.dumps(cassette["response"]).encode()):
            error = API.error(cassette["status"], cassette.get("response_headers") or {}, body)
            assert (error.status, error.code, error.message) == (told["code"], told["status"], told["message"])
            assert error.retryable == (told["code"] == 429)
        with pytest.raises(EngineError, match=re.escape(told["message"])):
            API.decode(cassette["response"])


# ── requests ─────────────────────────────────────────────────────────────────


def test_parts_of_every_reply_go_back_as_they_came() -> None:
    for id, body in bodies():
        reply = API.decode(body)
        parts = ((body.get("candidates") or [{}])[0].get("content") or {}).get("parts") or []
        model = body.get("modelVersion") or "gemini-2.5-flash"
        asked = API.read_request({"contents": [{"role": "user", "parts": [{"text": "?"}]}]}, model=model)
        sent = API.encode(replace(asked, conversation=(*asked.conversation, reply))).body["contents"]
        back = [part for content in sent if content["role"] == "model" for part in content["parts"]]
        assert back == [part for part in parts if part], id


def test_every_recorded_request_is_sent_again_as_it_was() -> None:
    unequal: dict[str, str] = {}
    refused: dict[str, str] = {}
    for id, body, model in requests():
        before = json.dumps(body)
        try:
            sent = API.encode(API.read_request(body, model=model))
        except DefinitionError as error:
            refused[id] = str(error)
            continue
        assert json.dumps(body) == before, "reading changed what was read"
        if equivalent(body) != equivalent(json.loads(sent.to_bytes())):
            unequal[id] = str(sent.report)
    assert (set(unequal), set(refused)) == (set(UNEQUAL_REQUESTS), set(REFUSED_REQUESTS))


def test_the_official_types_accept_every_request() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own descriptions hold backslashes Python warns of
        from google.genai import types

    refused: dict[str, str] = {}
    for id, body, model in requests():
        if id in REFUSED_REQUESTS:
            continue
        sent = json.loads(API.encode(API.read_request(body, model=model)).to_bytes())
        beside = {key: value for key, value in sent.items() if key not in ("contents", "generationConfig", "model")}
        try:
            for content in sent["contents"]:
                types.Content.model_validate(_with_bytes(content))
            types.GenerateContentConfig.model_validate({**sent.get("generationConfig", {}), **beside})
        except (ValueError, AttributeError) as error:
            refused[id] = str(error)
    assert set(refused) == set(REFUSED_BY_THE_OFFICIAL_TYPES), refused


def _with_bytes(value: Any) -> Any:
    """A signature as the official types hold it: bytes, which the documented stand-in also spells."""
    if isinstance(value, dict):
        return {
            key: base64.urlsafe_b64decode(held.replace("+", "-").replace("/", "_") + "==")
            if key in ("thoughtSignature", "thought_signature") and re.fullmatch(r"[\w+/=-]+", held)
            else _with_bytes(held)
            for key, held in value.items()
        }
    return [_with_bytes(one) for one in value] if isinstance(value, list) else value


def equivalent(body: dict[str, Any]) -> dict[str, Any]:
    """A request with every form that means the same brought to one.

    Keys in snake_case are those in camelCase; null is absent; `thought: false`, `includeThoughts: false`, the mode
    AUTO and empty lists are the defaults; a lone part is a list of one; a role left out is the user's; a content
    without parts says nothing; base64 means the same in the alphabet for URLs; levels and modes are read in any case;
    functions and provider tools may be grouped in any way.
    """
    said = _plain(body)
    return {
        **said,
        "contents": [content for content in map(_content, said.get("contents", [])) if content["parts"]],
        "systemInstruction": _system(said.get("systemInstruction")),
        "tools": _tools(said.get("tools", [])),
        "toolConfig": _tool_config(_plain(said.get("toolConfig", {}))),
        "generationConfig": _generation(_plain(said.get("generationConfig", {}))),
    }


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    return {
        re.sub(r"_([a-z])", lambda found: found[1].upper(), key): held
        for key, held in value.items()
        if held is not None and held != []
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _content(content: dict[str, Any]) -> dict[str, Any]:
    said = _plain(content)
    return {"role": said.get("role", "user"), "parts": [_part(part) for part in _listed(said.get("parts", []))]}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    said = {key: value for key, value in _plain(part).items() if (key, value) != ("thought", False)}
    read = {key: _plain(value) if isinstance(value, dict) else value for key, value in said.items()}
    if isinstance(read.get("inlineData"), dict) and isinstance(read["inlineData"].get("data"), str):
        read["inlineData"]["data"] = read["inlineData"]["data"].translate(str.maketrans("-_", "+/"))
    response = read.get("functionResponse")
    if response and "parts" in response:
        response["parts"] = [_part(one) for one in response["parts"]]
    return read


def _system(instruction: Any) -> Any:
    if instruction is None:
        return None
    return {"role": instruction.get("role"), "parts": [_part(one) for one in _listed(instruction["parts"])]}


def _tools(tools: Any) -> tuple[list[Any], list[Any]]:
    functions: list[Any] = []
    hosted: list[Any] = []
    for entry in _listed(tools):
        for key, value in _plain(entry).items():
            if key == "functionDeclarations":
                functions += [{k: v for k, v in _plain(one).items() if v != ""} for one in value]
            else:
                hosted.append({key: value})
    return functions, hosted


def _tool_config(config: dict[str, Any]) -> dict[str, Any]:
    calling = _plain(config.pop("functionCallingConfig", {}))
    if "mode" in calling:
        calling["mode"] = calling["mode"].upper()
    return config if calling == {"mode": "AUTO"} else {**config, **({"calling": calling} if calling else {})}


def _generation(config: dict[str, Any]) -> dict[str, Any]:
    thinking = {
        k: v for k, v in _plain(config.pop("thinkingConfig", {})).items() if (k, v) != ("includeThoughts", False)
    }
    if "thinkingLevel" in thinking:
        thinking["thinkingLevel"] = thinking["thinkingLevel"].lower()
    return {**config, **({"thinking": thinking} if thinking else {})}
