"""A Chat Completions answer as a `Reply`: the message's fields as typed parts, everything else kept beside them.

What a field becomes, in the order of the parts: thinking (`reasoning_content`, `reasoning`, `reasoning_details`,
Gemini's signatures), calls the provider ran (`executed_tools`) with their results, `content`, `refusal`, `audio` (a
transcript is text, the sound is media), `images`, and the calls we are to run. A part's metadata holds under this
API's name what is needed to write it back as it came.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.apis.base.api import read_arguments
from dragoman.apis.base.conversation_order import made_id
from dragoman.errors import EngineError
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.json_values import as_list, as_name, as_object
from dragoman.model.outcomes import Media

from .faults import is_error, no_response, read_error
from .media import read_media
from .usage import read_usage
from .values import NAME, beside, signature_of, without_signature, write_json

FINISHES = {
    "stop": conv.FinishReason.STOP,
    "eos": conv.FinishReason.STOP,  # Together (Mixtral in June 2024, Qwen2.5 in February 2025; openllmetry)
    "end_turn": conv.FinishReason.STOP,
    "stop_sequence": conv.FinishReason.STOP_SEQUENCE,
    "length": conv.FinishReason.LENGTH,
    "max_tokens": conv.FinishReason.LENGTH,
    "model_length": conv.FinishReason.CONTEXT_EXCEEDED,  # Mistral (SDK 3.7.0)
    "tool_calls": conv.FinishReason.CALLS,
    "function_call": conv.FinishReason.CALLS,
    "content_filter": conv.FinishReason.FILTERED,
    "sensitive": conv.FinishReason.FILTERED,  # Z.ai (SDK 0.2.3)
    "refusal": conv.FinishReason.REFUSED,
    "error": conv.FinishReason.ERROR,  # OpenRouter (SDK 1.3.84) and Mistral (SDK 3.7.0)
    "network_error": conv.FinishReason.ERROR,  # Z.ai (SDK 0.2.3)
    "insufficient_system_resource": conv.FinishReason.INTERRUPTED,  # DeepSeek (@ai-sdk/deepseek 2.0.69)
}

GROQ = "groq"
"""The namespace of `executed_tools`, which Groq alone has (compound-beta, pydantic-ai, 2025-09 to 2026-07)."""

_TEXT_KEYS = {"reasoning.summary": "summary", "reasoning.encrypted": "data"}
"""Where a reasoning detail of a type holds what it says; all others under `text`."""


# ── the whole body ───────────────────────────────────────────────────────────


def read_body(body: Any) -> conv.Reply:
    """A whole response. Raises `EngineError` for an error in it, with the answer as far as it came."""
    if not isinstance(body, dict):
        raise no_response(body)
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise read_error(None, {}, body) if is_error(body) else no_response(body)
    reply = read_choices(body, choices, seed=as_name(body.get("id")) or "")
    error = error_in(body, choices)
    if error is not None:
        error.partial = reply
        raise error
    return reply


def error_in(body: dict[str, Any], choices: list[Any]) -> EngineError | None:
    """An error told beside an answer, or in one of its choices."""
    if body.get("error"):
        return read_error(None, {}, body)
    for choice in choices:
        if isinstance(choice, dict) and choice.get("error"):
            return read_error(None, {}, {"error": choice["error"]})
    return None


def read_choices(
    body: dict[str, Any], choices: list[Any], *, seed: str, counted: conv.Usage | None = None
) -> conv.Reply:
    """The answers of a body: the first is the reply, the others its alternatives. `counted` is its usage, if known."""
    objects = sorted((choice for choice in choices if isinstance(choice, dict)), key=place_of)
    rest = {key: value for key, value in body.items() if key not in ("choices", "id", "model", "usage", "object")}
    odd = [choice for choice in choices if not isinstance(choice, dict)]
    if odd:
        rest["choices"] = odd
    for key in ("id", "model"):
        if key in body and as_name(body[key]) is None:
            rest[key] = body[key]
    if "object" in body and body["object"] not in ("chat.completion", "chat.completion.chunk"):
        rest["object"] = body["object"]
    usage, used = usage_of(body, objects) if counted is None else (counted, None)
    if "usage" in body and not isinstance(body["usage"], dict) and body["usage"] is not None:
        rest["usage"] = body["usage"]
    provenance = conv.Provenance(api=NAME, model=as_name(body.get("model")))
    sources = _sources(rest)
    id = as_name(body.get("id"))
    replies = [
        _read_choice(choice, seed, provenance, id, sources if place == 0 else ())
        for place, choice in enumerate(objects)
    ]
    first = replies[0] if replies else conv.Reply((), id=id, provenance=provenance)
    if not replies and sources:
        first = msgspec.structs.replace(first, parts=(conv.TextPart("", sources),))
    if used is not None and used in rest:
        rest[used] = {key: value for key, value in rest[used].items() if key != "usage"}
    metadata = {**first.metadata.get(NAME, {}), **rest}
    return msgspec.structs.replace(first, usage=usage, metadata=beside(metadata), alternatives=tuple(replies[1:]))


def place_of(choice: dict[str, Any]) -> int:
    """Which of several answers a choice is."""
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def usage_of(body: dict[str, Any], choices: list[dict[str, Any]]) -> tuple[conv.Usage, str | None]:
    """The usage of a body, wherever it stands, and the key beside `usage` that held it."""
    if isinstance(body.get("usage"), dict):
        return read_usage(body["usage"]), None
    groq = as_object(body.get("x_groq")).get("usage")
    if isinstance(groq, dict):
        return read_usage(groq), "x_groq"
    for choice in choices:  # Moonshot's streams (its API reference: the last choice has it)
        if isinstance(choice.get("usage"), dict):
            return read_usage(choice["usage"]), None
    return conv.Usage(), None


def _read_choice(
    choice: dict[str, Any],
    seed: str,
    provenance: conv.Provenance,
    id: str | None,
    sources: tuple[conv.Citation, ...],
) -> conv.Reply:
    message = choice.get("message")
    if not isinstance(message, dict):
        message = as_object(choice.get("delta"))
    parts, rest = read_message(message, seed=f"{seed}\0{place_of(choice)}")
    if sources:
        parts = _with_sources(parts, sources)
    raw = choice.get("finish_reason")
    typed = {"message", "delta", "finish_reason", "index"}
    untyped = {key: value for key, value in choice.items() if key not in typed and value is not None}
    if isinstance(choice.get("message"), dict) and _says_more(choice.get("delta")):
        untyped["delta"] = choice["delta"]
    if raw is not None and not isinstance(raw, str):
        untyped["finish_reason"] = raw
    metadata: dict[str, Any] = {}
    if untyped:
        metadata["choice"] = untyped
    if rest:
        metadata["message"] = rest
    word = as_name(raw)
    return conv.Reply(
        tuple(parts), finish_of(word, parts), word, id=id, provenance=provenance, metadata=beside(metadata)
    )


def _says_more(delta: Any) -> bool:
    """Whether a delta beside a whole message (Perplexity sends an empty one) says anything."""
    return any(value for key, value in delta.items() if key != "role") if isinstance(delta, dict) else bool(delta)


def finish_of(raw: str | None, parts: list[conv.AnyPart]) -> conv.FinishReason:
    """Why the model stopped. Calls we are to run decide over "stop": OpenAI says so for a
    tool that was forced (gpt-3.5-turbo to gpt-4o, 2024 to 2026)."""
    finish = FINISHES.get(raw, conv.FinishReason.UNKNOWN) if raw else conv.FinishReason.UNKNOWN
    if finish is conv.FinishReason.STOP or not raw:
        if any(isinstance(part, conv.CallPart) and part.call.executed_by is ExecutedBy.CLIENT for part in parts):
            return conv.FinishReason.CALLS
        if raw and any(isinstance(part, conv.RefusalPart) for part in parts):
            return conv.FinishReason.REFUSED
    return finish


# ── one message ──────────────────────────────────────────────────────────────


def read_message(message: dict[str, Any], *, seed: str) -> tuple[list[conv.AnyPart], dict[str, Any]]:
    """An assistant's message as parts, and the fields no part says."""
    rest = {key: value for key, value in message.items() if key != "role" or value != "assistant"}
    if rest.get("role", "") is None:
        del rest["role"]
    ids: set[str] = set()
    if rest.keys() <= _ORDINARY:
        return [*read_content(rest), *_refusal(rest), *_calls(rest, seed, ids)], rest
    parts: list[conv.AnyPart] = [*_thinking(rest), *_executed(rest, seed)]
    text = len(parts)
    parts += read_content(rest)
    parts += _refusal(rest)
    parts += _audio(rest)
    parts += _images(rest)
    _annotate(parts, text, rest)
    parts += _legacy_call(rest, seed, ids)
    parts += _calls(rest, seed, ids)
    return parts, rest


_ORDINARY = frozenset({"content", "refusal", "tool_calls"})
"""What most messages have: of these nothing else is looked for."""


def _thinking(rest: dict[str, Any]) -> list[conv.AnyPart]:
    parts: list[conv.AnyPart] = []
    details = rest.get("reasoning_details")
    if isinstance(details, list) and details and all(isinstance(detail, dict) for detail in details):
        del rest["reasoning_details"]
        parts += [_detail(detail) for detail in details]
    whole = "".join(part.text for part in parts if isinstance(part, conv.ThinkingPart))
    for key in ("reasoning_content", "reasoning"):
        value = rest.get(key)
        if not isinstance(value, str) or not value:
            continue
        del rest[key]
        if parts and value == whole:  # the same words once more
            _mirror(parts, key)
        else:
            parts.append(conv.ThinkingPart(value, metadata={NAME: {"field": key}}))
            whole = whole or value
    return parts + _signed(rest)


def _detail(detail: dict[str, Any]) -> conv.ThinkingPart:
    item = dict(detail)
    kind = detail.get("type")
    where = _TEXT_KEYS.get(kind, "text") if isinstance(kind, str) else "text"

    def taken(key: str) -> str | None:
        value = as_name(item.get(key))
        if value is not None:
            del item[key]
        return value

    text = taken(where)
    metadata: dict[str, Any] = {"field": "reasoning_details", "item": item}
    signature, id = taken("signature"), taken("id")
    if where == "data":
        return conv.ThinkingPart("", signature, text, id, beside(metadata))
    return conv.ThinkingPart(text or "", signature, None, id, beside(metadata))


def _mirror(parts: list[conv.AnyPart], key: str) -> None:
    """Remembers on the first part that a field says the same as all of them."""
    first = parts[0]
    assert isinstance(first, conv.ThinkingPart)
    metadata = first.metadata[NAME]
    parts[0] = msgspec.structs.replace(
        first, metadata={NAME: {**metadata, "mirrored": [*metadata.get("mirrored", ()), key]}}
    )


def _signed(rest: dict[str, Any]) -> list[conv.AnyPart]:
    """Gemini's signature beside a message, which may be told twice."""
    parts: list[conv.AnyPart] = []
    signature = signature_of(rest.get("extra_content"))
    if signature is not None:
        item = without_signature(rest.pop("extra_content"))
        parts.append(conv.ThinkingPart(signature=signature, metadata={NAME: {"field": "extra_content", "item": item}}))
    again = as_name(rest.get("thought_signature"))
    if again is not None:
        del rest["thought_signature"]
        if again == signature:
            _mirror(parts, "thought_signature")
        else:
            parts.append(conv.ThinkingPart(signature=again, metadata={NAME: {"field": "thought_signature"}}))
    return parts


def _executed(rest: dict[str, Any], seed: str) -> list[conv.AnyPart]:
    """Calls the provider ran by itself (Groq's compound-beta since September 2025), each with its result."""
    tools = rest.get("executed_tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return []
    del rest["executed_tools"]
    parts: list[conv.AnyPart] = []
    for place, tool in enumerate(tools):
        call, result = read_executed(tool, seed, place)
        parts.append(conv.CallPart(call))
        if result is not None:
            parts.append(conv.ResultPart(result))
    return parts


def read_executed(tool: dict[str, Any], seed: str, place: int) -> tuple[NativeCall, NativeResult | None]:
    """One such call, and its result once there is one."""
    id, name = made_id(seed, "executed", place), as_name(tool.get("type")) or ""
    arguments = tool.get("arguments")
    if not isinstance(arguments, dict):
        arguments = (
            read_arguments(arguments) if isinstance(arguments, str) or arguments is None else write_json(arguments)
        )
    call = NativeCall(id, name, arguments, GROQ, ExecutedBy.PROVIDER, tool)
    output = tool.get("output")
    if output is None:
        return call, None
    content = output if isinstance(output, str) else write_json(output)
    return call, NativeResult(id, content, None, name, GROQ, ExecutedBy.PROVIDER, tool)


def read_content(rest: dict[str, Any]) -> list[conv.AnyPart]:
    """`content` as parts. One that says nothing stays in `rest`, so that it is written back as it was."""
    content = rest.get("content")
    if isinstance(content, str) and content:
        del rest["content"]
        return [conv.TextPart(content)]
    if isinstance(content, list) and content:
        del rest["content"]
        return [read_block(block) for block in content]
    if content is not None and not isinstance(content, str | list):
        del rest["content"]
        return [conv.OpaquePart(NAME, {"content": content})]
    return []


def read_block(block: Any) -> conv.AnyPart:
    """One block of a list of content."""
    if not isinstance(block, dict):
        if isinstance(block, str):
            return conv.TextPart(block, metadata={NAME: {"bare": True}})
        return conv.OpaquePart(NAME, {"value": block})
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return conv.TextPart(block["text"], metadata={NAME: {"block": _others(block, "text")}})
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return conv.RefusalPart(block["refusal"], metadata={NAME: {"block": _others(block, "refusal")}})
    if kind == "thinking" and isinstance(block.get("thinking"), list | str):
        return _thinking_block(block)
    return read_media(block) or conv.OpaquePart(NAME, block)


def _others(block: dict[str, Any], *typed: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in ("type", *typed)}


def _thinking_block(block: dict[str, Any]) -> conv.ThinkingPart:
    """Mistral's thinking (magistral-medium, October 2025 on): a list of texts, and of references where it searched."""
    thinking = block["thinking"]
    if isinstance(thinking, str):
        text, plain = thinking, "text"
    else:
        pieces = [piece.get("text") for piece in thinking if isinstance(piece, dict)]
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        plain = "list" if thinking == [{"type": "text", "text": text}] else ""
    metadata: dict[str, Any] = {"field": "content", "block": _others(block, "thinking", "signature"), "form": plain}
    if not plain:
        metadata["thinking"] = thinking
    signature = as_name(block.get("signature"))
    if signature is None and "signature" in block:
        metadata["block"]["signature"] = block["signature"]
    return conv.ThinkingPart(text, signature, metadata={NAME: metadata})


def _refusal(rest: dict[str, Any]) -> list[conv.AnyPart]:
    refusal = as_name(rest.get("refusal"))
    if refusal is None:
        return []
    del rest["refusal"]
    return [conv.RefusalPart(refusal)]


def _audio(rest: dict[str, Any]) -> list[conv.AnyPart]:
    """A spoken answer: its transcript as text, then the sound. The format stands in the request alone."""
    audio = rest.get("audio")
    if not isinstance(audio, dict):
        return []
    id, data = as_name(audio.get("id")), as_name(audio.get("data"))
    transcript = as_name(audio.get("transcript"))
    if id is None and data is None and transcript is None:
        return []
    del rest["audio"]
    parts: list[conv.AnyPart] = []
    item = _others(audio, "id", "data", "transcript")
    if transcript is not None:
        parts.append(conv.TextPart(transcript, metadata={NAME: {"audio": id or ""}}))
    parts.append(
        conv.MediaPart(Media("audio/*", data=data, file_id=id), metadata={NAME: {"field": "audio", "item": item}})
    )
    return parts


def _images(rest: dict[str, Any]) -> list[conv.AnyPart]:
    """Images a model made, as OpenRouter sends them (openrouter SDK 1.3.84)."""
    images = rest.get("images")
    if not isinstance(images, list) or not images:
        return []
    parts = [read_media(image) if isinstance(image, dict) else None for image in images]
    if any(part is None for part in parts):
        return []
    del rest["images"]
    return [
        msgspec.structs.replace(part, metadata={NAME: {**part.metadata[NAME], "field": "images"}})
        for part in parts
        if part is not None
    ]


# ── citations ────────────────────────────────────────────────────────────────


def _annotate(parts: list[conv.AnyPart], start: int, rest: dict[str, Any]) -> None:
    """Sets the annotations of a message on its text; those that are no objects stay."""
    annotations = rest.get("annotations")
    if not isinstance(annotations, list) or not annotations or not all(isinstance(one, dict) for one in annotations):
        return
    del rest["annotations"]
    texts = [place for place in range(start, len(parts)) if isinstance(parts[place], conv.TextPart)]
    if not texts:
        parts.insert(start, conv.TextPart(""))
        texts = [start]
    by_part: dict[int, list[conv.Citation]] = {}
    for annotation in annotations:
        citation = read_annotation(annotation)
        place, citation = _on_text(parts, texts, citation)
        by_part.setdefault(place, []).append(citation)
    for place, citations in by_part.items():
        parts[place] = msgspec.structs.replace(parts[place], citations=tuple(citations))


def _on_text(parts: list[conv.AnyPart], texts: list[int], citation: conv.Citation) -> tuple[int, conv.Citation]:
    """The text a span lies in, and the span within it; indexes that fit nowhere are left in the location."""
    span = citation.span
    offset = 0
    for place in texts:
        part = parts[place]
        assert isinstance(part, conv.TextPart)
        length = len(part.text)
        if span is not None and offset <= span.start and span.end <= offset + length:
            inside = conv.Span(span.start - offset, span.end - offset)
            return place, msgspec.structs.replace(citation, span=inside) if offset else citation
        offset += length
    if span is not None:
        where = {"start_index": span.start, "end_index": span.end}
        citation = msgspec.structs.replace(citation, span=None, location=where)
    return texts[0], citation


def read_annotation(annotation: dict[str, Any]) -> conv.Citation:
    """An annotation as a citation; indexes that span nothing (OpenRouter sends 0 to 0, October 2025 on)
    are left in its location."""
    kind = annotation.get("type")
    inner = annotation.get(kind) if isinstance(kind, str) else None
    if kind == "file" and isinstance(inner, dict):
        return _file_read(annotation, inner)
    if not isinstance(inner, dict):
        inner = annotation
    rest = {key: value for key, value in annotation.items() if key != kind} if inner is not annotation else {}
    fields = dict(inner)
    start, end = fields.get("start_index"), fields.get("end_index")
    span, where = None, {key: fields.pop(key) for key in ("start_index", "end_index") if key in fields}
    if type(start) is int and type(end) is int and 0 <= start < end:
        span, where = conv.Span(start, end), {}
    typed = {key: as_name(fields.get(key)) for key in ("url", "title", "content")}
    for key, value in typed.items():
        if value is not None:
            del fields[key]
    untyped = {**rest, **fields}
    if untyped.get("type") == "url_citation":
        del untyped["type"]
    return conv.Citation(
        typed["url"],
        typed["title"],
        quote=typed["content"],
        span=span,
        location=where or None,
        metadata=beside(untyped),
    )


def _file_read(annotation: dict[str, Any], file: dict[str, Any]) -> conv.Citation:
    """A file OpenRouter read for the model (December 2025): it wants this back, so that it need not read it again."""
    texts = [as_name(as_object(block).get("text")) for block in as_list(file.get("content"))]
    quote = "".join(text for text in texts if text is not None)
    where = {"hash": file["hash"]} if "hash" in file else None
    return conv.Citation(
        document=as_name(file.get("name")),
        quote=quote or None,
        location=where,
        metadata={NAME: {"item": annotation}},
    )


def _sources(rest: dict[str, Any]) -> tuple[conv.Citation, ...]:
    """What an answer as a whole was drawn from, taken out of a body.

    Perplexity has `search_results` and `citations` (their addresses alone), Venice a list among its parameters.
    """
    citations: list[conv.Citation] = []
    venice = rest.get("venice_parameters")
    if isinstance(venice, dict) and _all_objects(venice.get("web_search_citations")):
        rest["venice_parameters"] = {key: value for key, value in venice.items() if key != "web_search_citations"}
        citations += [read_source(result) for result in venice["web_search_citations"]]
    results, addresses = rest.get("search_results"), rest.get("citations")
    if _all_objects(results):
        del rest["search_results"]
        citations += [read_source(result) for result in as_list(results)]
    if isinstance(addresses, list) and addresses and all(isinstance(address, str) for address in addresses):
        del rest["citations"]
        urls = {citation.url for citation in citations}
        citations += [conv.Citation(url=address) for address in addresses if address not in urls]
    return tuple(citations)


def _all_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def read_source(result: dict[str, Any]) -> conv.Citation:
    """One search result as the source of an answer."""
    quoted = "snippet" if as_name(result.get("snippet")) is not None else "content"
    typed = {key: as_name(result.get(key)) for key in ("url", "title", quoted)}
    rest = {key: value for key, value in result.items() if typed.get(key) is None}
    return conv.Citation(typed["url"], typed["title"], quote=typed[quoted], metadata=beside(rest))


def _with_sources(parts: list[conv.AnyPart], sources: tuple[conv.Citation, ...]) -> list[conv.AnyPart]:
    for place, part in enumerate(parts):
        if isinstance(part, conv.TextPart):
            urls = {citation.url for citation in part.citations}
            more = tuple(source for source in sources if source.url not in urls or source.title or source.quote)
            parts[place] = msgspec.structs.replace(part, citations=(*part.citations, *more))
            return parts
    return [*parts, conv.TextPart("", sources)]


# ── calls ────────────────────────────────────────────────────────────────────


def _legacy_call(rest: dict[str, Any], seed: str, ids: set[str]) -> list[conv.AnyPart]:
    call = rest.get("function_call")
    if not isinstance(call, dict) or not as_name(call.get("name")):
        return []
    del rest["function_call"]
    return [read_legacy_call(call, seed, ids)]


def read_legacy_call(call: dict[str, Any], seed: str, ids: set[str]) -> conv.CallPart:
    """The one call of a message from before there were several, which has no id."""
    id = made_id(seed, "function_call")
    ids.add(id)
    arguments, raw = _arguments(call.get("arguments"))
    metadata: dict[str, Any] = {"legacy": True} | ({} if raw is None else {"arguments": raw})
    others = {key: value for key, value in call.items() if key not in ("name", "arguments")}
    if others:
        metadata["function"] = others
    return conv.CallPart(NativeCall(id, as_name(call.get("name")) or "", arguments), metadata={NAME: metadata})


def _calls(rest: dict[str, Any], seed: str, ids: set[str]) -> list[conv.AnyPart]:
    calls = rest.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return []
    odd = [call for call in calls if not isinstance(call, dict | conv.CallPart)]
    del rest["tool_calls"]
    if odd:
        rest["tool_calls"] = odd
    readable = [
        call for call in calls if isinstance(call, dict | conv.CallPart)
    ]  # a stream has read some of them already
    return [
        call if isinstance(call, conv.CallPart) else read_call(call, seed, place, ids)
        for place, call in enumerate(readable)
    ]


def call_id(value: Any, seed: str, place: int, ids: set[str]) -> str:
    """A call's own id, or a made one where it has none or another call has it already."""
    id = as_name(value)
    if id is None or id in ids:
        id = made_id(seed, "call", place)
    ids.add(id)
    return id


def read_call(item: dict[str, Any], seed: str, place: int, ids: set[str]) -> conv.CallPart:
    """One call of `tool_calls`."""
    id = call_id(item.get("id"), seed, place, ids)
    metadata: dict[str, Any] = {}
    if item.get("id") != id:
        metadata["id"] = item.get("id") or None
    function, custom = item.get("function"), item.get("custom")
    is_custom = isinstance(custom, dict) and not as_name(as_object(function).get("name"))
    if not is_custom and not isinstance(function, dict) and item.get("type") not in (None, "function"):
        # A kind of call we do not know: named by its type, and sent back whole.
        kind = item["type"] if isinstance(item["type"], str) else ""
        return conv.CallPart(NativeCall(id, kind, {}, item=item), metadata=beside(metadata))
    inner = as_object(custom if is_custom else function)
    typed = {"id", "type", "index", "custom" if is_custom else "function"}
    extra = {key: value for key, value in item.items() if key not in typed}
    signature = signature_of(extra.get("extra_content"))
    if signature is not None:
        extra["extra_content"] = without_signature(extra["extra_content"])
    if item.get("index") not in (None, place):
        metadata["index"] = item["index"]
    if extra:
        metadata["extra"] = extra
    others = {key: value for key, value in inner.items() if key not in ("name", "input" if is_custom else "arguments")}
    if others:
        metadata["function"] = others
    name = inner.get("name") if isinstance(inner.get("name"), str) else ""
    arguments: dict[str, Any] | str
    if is_custom:
        metadata["type"] = "custom"
        text = inner.get("input")
        arguments = text if isinstance(text, str) else "" if text is None else write_json(text)
    else:
        arguments, raw = _arguments(inner.get("arguments"))
        if raw is not None:
            metadata["arguments"] = raw
    return conv.CallPart(NativeCall(id, name or "", arguments), signature, beside(metadata))


def _arguments(value: Any) -> tuple[dict[str, Any] | str, Any]:
    """Arguments, and their own writing where ours would be another."""
    if isinstance(value, dict):
        return value, None
    if value is None:
        return {}, None
    if not isinstance(value, str):
        return write_json(value), None
    arguments = read_arguments(value)
    if isinstance(arguments, str) or write_json(arguments) == value:
        return arguments, None
    return arguments, value
