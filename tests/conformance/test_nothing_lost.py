"""Nothing of a recorded answer is lost: each value has a typed place, which changes when the value does.

This reads the bodies on its own, knowing only the providers' field names. `metadata` and `item` do not count as places.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dragoman.apis import APIS
from dragoman.errors import EngineError
from dragoman.model import OpaquePart, Reply
from tests.conformance.cassettes import NAMES, Cassette, as_events, cassettes

# Where the providers say what must not be lost; `*` is any index or key, `**` any path.
PLACES: dict[str, tuple[str, ...]] = {
    "openai_chat": (
        "choices.*.message.content",
        "choices.*.message.content.*.text",
        "choices.*.message.content.*.thinking.*.text",
        "choices.*.message.refusal",
        "choices.*.message.reasoning_content",
        "choices.*.message.reasoning",
        "choices.*.message.reasoning_details.*.text",
        "choices.*.message.reasoning_details.*.summary",
        "choices.*.message.reasoning_details.*.data",
        "choices.*.message.reasoning_details.*.signature",
        "choices.*.message.tool_calls.*.id",
        "choices.*.message.tool_calls.*.function.name",
        "choices.*.message.tool_calls.*.function.arguments",
        "choices.*.message.tool_calls.*.custom.name",
        "choices.*.message.tool_calls.*.custom.input",
        "choices.*.message.function_call.name",
        "choices.*.message.function_call.arguments",
        "choices.*.message.annotations.*.url_citation.url",
        "choices.*.message.annotations.*.url_citation.title",
        "choices.*.message.annotations.*.url_citation.start_index",
        "choices.*.message.annotations.*.url_citation.end_index",
        "choices.*.message.audio.data",
        "choices.*.message.audio.transcript",
        "choices.*.finish_reason",
        "citations.*",
        "usage.prompt_tokens",
        "usage.completion_tokens",
        "usage.prompt_tokens_details.cached_tokens",
        "usage.completion_tokens_details.reasoning_tokens",
        "model",
        "id",
    ),
    "openai_responses": (
        "output.*.content.*.text",
        "output.*.content.*.refusal",
        "output.*.content.*.annotations.*.url",
        "output.*.content.*.annotations.*.title",
        "output.*.content.*.annotations.*.start_index",
        "output.*.content.*.annotations.*.end_index",
        "output.*.content.*.annotations.*.filename",
        "output.*.content.*.annotations.*.file_id",
        "output.*.summary.*.text",
        "output.*.encrypted_content",
        "output.*.call_id",
        "output.*.name",
        "output.*.namespace",
        "output.*.arguments",
        "output.*.input",
        "output.*.code",
        "output.*.queries.*",
        "output.*.action.**",
        "output.*.operation.**",
        "output.*.result",
        "output.*.output",
        "output.*.outputs.*.logs",
        "usage.input_tokens",
        "usage.output_tokens",
        "usage.input_tokens_details.cached_tokens",
        "usage.output_tokens_details.reasoning_tokens",
        "model",
        "id",
    ),
    "anthropic_messages": (
        "content.*.text",
        "content.*.thinking",
        "content.*.signature",
        "content.*.data",
        "content.*.id",
        "content.*.name",
        "content.*.input.**",
        "content.*.tool_use_id",
        "content.*.citations.*.url",
        "content.*.citations.*.title",
        "content.*.citations.*.document_title",
        "content.*.citations.*.cited_text",
        "content.*.citations.*.start_char_index",
        "content.*.citations.*.end_char_index",
        "content.*.citations.*.start_page_number",
        "content.*.citations.*.start_block_index",
        "content.*.content.stdout",
        "content.*.content.*.text",
        "stop_reason",
        "usage.input_tokens",
        "usage.output_tokens",
        "usage.cache_read_input_tokens",
        "usage.cache_creation_input_tokens",
        "usage.server_tool_use.*",
        "model",
        "id",
    ),
    "gemini_generate": (
        "candidates.*.content.parts.*.text",
        "candidates.*.content.parts.*.thoughtSignature",
        "candidates.*.content.parts.*.functionCall.name",
        "candidates.*.content.parts.*.functionCall.id",
        "candidates.*.content.parts.*.functionCall.args.**",
        "candidates.*.content.parts.*.executableCode.code",
        "candidates.*.content.parts.*.codeExecutionResult.output",
        "candidates.*.content.parts.*.inlineData.data",
        "candidates.*.content.parts.*.toolCall.args.**",
        "candidates.*.finishReason",
        "candidates.*.groundingMetadata.groundingSupports.*.segment.startIndex",
        "candidates.*.groundingMetadata.groundingSupports.*.segment.endIndex",
        "candidates.*.groundingMetadata.groundingChunks.*.web.uri",
        "candidates.*.groundingMetadata.groundingChunks.*.web.title",
        "candidates.*.citationMetadata.citationSources.*.uri",
        "usageMetadata.promptTokenCount",
        "usageMetadata.candidatesTokenCount",
        "usageMetadata.cachedContentTokenCount",
        "usageMetadata.thoughtsTokenCount",
        "usageMetadata.toolUsePromptTokenCount",
        "modelVersion",
        "responseId",
    ),
}
MUTATIONS_OF_ONE_BODY = 40

Path = tuple[str | int, ...]


def pattern_of(place: str) -> re.Pattern[str]:
    parts = [{"*": r"[^.]+", "**": r".+"}.get(part, re.escape(part)) for part in place.split(".")]
    return re.compile(r"\.".join(parts))


PATTERNS = {api: [pattern_of(place) for place in places] for api, places in PLACES.items()}


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def to_be_found(api: str, body: dict[str, Any]) -> list[tuple[Path, Any]]:
    """The values of a body that must have a typed place."""
    found = []
    for path, value in leaves(body):
        if value is None or value == "" or isinstance(value, bool):
            continue
        dotted = ".".join(str(part).replace(".", "_") for part in path)
        if any(pattern.fullmatch(dotted) for pattern in PATTERNS[api]):
            found.append((path, value))
    return found


def changed(body: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The body with another value in one place."""
    body = copy.deepcopy(body)
    holder: Any = body
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = another(value)
    return body


def another(value: Any) -> Any:
    if isinstance(value, int | float):
        return value + 1
    try:
        inside = json.loads(value)
    except ValueError:
        inside = None
    if isinstance(inside, dict):  # arguments, which are JSON within JSON, stay that
        return json.dumps({**inside, "another": 1})
    return "A" + value[1:] if value[:1] != "A" else "B" + value[1:]


def typed(value: Any) -> Any:
    """All a reply says in typed places: what stands in `metadata` and `item` of our types does not count.

    An opaque part is its item: a block of a kind nobody knows, or whose content only its maker can read.
    """
    if isinstance(value, msgspec.Struct):
        skipped = ("metadata",) if isinstance(value, OpaquePart) else ("metadata", "item")
        fields = [field for field in value.__struct_fields__ if field not in skipped]
        return (type(value).__name__, {field: typed(getattr(value, field)) for field in fields})
    if isinstance(value, dict):
        return {key: typed(inner) for key, inner in value.items()}
    return [typed(inner) for inner in value] if isinstance(value, list | tuple) else value


def bodies(api: str) -> Iterator[tuple[Cassette, dict[str, Any]]]:
    for cassette in cassettes(api):
        if cassette.status == 200 and not cassette.streaming and isinstance(cassette.response, dict):
            yield cassette, cassette.response


EXCUSED: dict[str, dict[str, str]] = {}
"""API → place → why another value there may leave the typed fields as they are; a reason holds for every body."""


def excused(api: str, body: dict[str, Any], path: Path, value: Any, all_values: Counter[Any]) -> bool:
    """Values said twice in one body have one typed place; the reply follows one of the two."""
    if isinstance(value, str) and all_values[value] > 1:
        return True
    if path[-1] in ("start_index", "end_index"):
        holder: Any = body
        for step in path[:-1]:
            holder = holder[step]
        if holder["end_index"] <= holder["start_index"]:
            return True  # OpenRouter's 0 to 0: nothing is marked, and nothing is by 1 to 0 either
    if path[0] == "output" and path[-1] == "name" and body["output"][path[1]]["type"] == "x_search_call":
        return True  # xAI names its own inner step there; the tool that was called is the item's type
    dotted = ".".join(str(part) for part in path)
    return any(pattern_of(place).fullmatch(dotted) for place in EXCUSED.get(api, {}))


@pytest.mark.parametrize("api", NAMES)
def test_every_value_of_a_whole_body_has_a_typed_place(api: str) -> None:
    codec = APIS[api]
    lost: Counter[str] = Counter()
    examples: dict[str, str] = {}
    checked = 0
    for cassette, body in bodies(api):
        if "error" in body and body["error"] and api != "openai_responses":
            continue
        places = to_be_found(api, body)
        if len(places) > MUTATIONS_OF_ONE_BODY:
            places = random.Random(cassette.id).sample(places, MUTATIONS_OF_ONE_BODY)
        try:
            before = typed(codec.decode(body))
        except EngineError:
            continue  # told as an error: the tests of each API check those
        said_twice = Counter(value for _, value in leaves(body) if isinstance(value, str))
        for path, value in places:
            if excused(api, body, path, value, said_twice):
                continue
            checked += 1
            try:
                after = typed(codec.decode(changed(body, path, value)))
            except EngineError:
                continue
            if after == before:
                place = ".".join("*" if isinstance(part, int) else str(part) for part in path)
                lost[place] += 1
                examples.setdefault(place, f"{cassette.id} {cassette.vendor}")
    assert checked > 2_000
    assert not lost, [(place, count, examples[place]) for place, count in lost.most_common()]


# ── streams ──────────────────────────────────────────────────────────────────


def streamed(api: str, raw: bytes, size: int | None = None) -> Reply:
    decoder = APIS[api].stream()
    for begin in range(0, len(raw), size or len(raw) or 1):
        decoder.feed(raw[begin : begin + (size or len(raw))])
    return decoder.close()


DELTAS: dict[str, tuple[str, ...]] = {
    "openai_chat": (
        "choices.*.delta.content",
        "choices.*.delta.reasoning_content",
        "choices.*.delta.reasoning",
        "choices.*.delta.tool_calls.*.function.arguments",
        "choices.*.delta.tool_calls.*.function.name",
        "choices.*.delta.refusal",
        "usage.completion_tokens",
    ),
    "anthropic_messages": (
        "delta.text",
        "delta.thinking",
        "delta.signature",
        "delta.citation.url",
        "delta.citation.cited_text",
        "content_block.name",
        "content_block.id",
        "usage.output_tokens",
    ),
    "gemini_generate": PLACES["gemini_generate"][:6],
}
DELTA_PATTERNS = {api: [pattern_of(place) for place in places] for api, places in DELTAS.items()}


@pytest.mark.parametrize("api", DELTAS)
def test_every_delta_of_a_stream_has_a_typed_place(api: str) -> None:
    lost: Counter[str] = Counter()
    examples: dict[str, str] = {}
    checked = 0
    for cassette in cassettes(api):
        if not cassette.streaming or cassette.status != 200 or not cassette.events:
            continue
        events = [event for event in cassette.events if isinstance(event.get("data"), dict)]
        places = [
            (number, path, value)
            for number, event in enumerate(events)
            for path, value in leaves(event["data"])
            if value and not isinstance(value, bool)
            if any(one.fullmatch(".".join(map(str, path))) for one in DELTA_PATTERNS[api])
        ]
        chance = random.Random(cassette.id)
        try:
            before = typed(streamed(api, as_events(events)))
        except EngineError:
            continue
        for number, path, value in chance.sample(places, min(4, len(places))):
            if path[0] == "usage" and any("usage" in event["data"] for event in events[number + 1 :]):
                continue  # a later count replaces an earlier one
            if path[-1] == "name" and any((path, value) in leaves(event["data"]) for event in events[:number]):
                continue  # the name of a call, said again
            if isinstance(value, str) and any(
                value == other for _, other in leaves(events[number]["data"]) if other is not value
            ):
                continue
            mutated = list(events)
            mutated[number] = {**events[number], "data": changed(events[number]["data"], path, value)}
            checked += 1
            try:
                after = typed(streamed(api, as_events(mutated)))
            except EngineError:
                continue
            if after == before:
                place = ".".join("*" if isinstance(part, int) else str(part) for part in path)
                lost[place] += 1
                examples.setdefault(place, f"{cassette.id} {cassette.vendor} event {number}")
    assert checked > 400
    assert not lost, [(place, count, examples[place]) for place, count in lost.most_common()]


def test_a_streamed_response_equals_the_whole_one_it_ends_with() -> None:
    codec = APIS["openai_responses"]
    compared = 0
    for cassette in cassettes("openai_responses"):
        if not cassette.streaming or not cassette.events:
            continue
        last = next(
            (
                event["data"]["response"]
                for event in reversed(cassette.events)
                if isinstance(event.get("data"), dict)
                and event["data"].get("type") in ("response.completed", "response.incomplete")
            ),
            None,
        )
        if last is None or not last.get("output"):
            continue
        compared += 1
        assert typed(streamed("openai_responses", cassette.stream)) == typed(codec.decode(last)), cassette.id
    assert compared > 300
