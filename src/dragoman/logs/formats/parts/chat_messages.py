"""Messages of OpenAI's chat API as other programs keep them: their words, calls and tokens."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.model import Media, Usage
from dragoman.model.json_text import read_json
from dragoman.model.json_values import as_integer, as_object, as_objects, as_text


def text_of(content: Any) -> str:
    """The words of a message, which are a text or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in as_objects(content) if isinstance(part.get("text"), str))


def pictures_of(content: Any) -> tuple[Media, ...]:
    """The pictures of a message, where they are addresses or data addresses."""
    found = []
    for part in as_objects(content):
        image = part.get("image_url", part.get("image"))
        address = as_text(image) or as_text(as_object(image).get("url"))
        if address is None:
            continue
        kind, mark, data = address.removeprefix("data:").partition(";base64,")
        is_data = address.startswith("data:") and bool(mark)
        found.append(Media(kind, data=data) if is_data else Media("image/*", url=address))
    return tuple(found)


def arguments_of(given: Any) -> dict[str, Any] | str:
    """The arguments of a call, which are mostly the text of an object; another text is what it is."""
    if isinstance(given, dict):
        return given
    if given is None:
        return {}
    text = given if isinstance(given, str) else str(given)
    if not text.lstrip().startswith("{"):
        return text
    try:
        decoded = read_json(text)
    except msgspec.DecodeError:
        return text
    return decoded if isinstance(decoded, dict) else text


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens of a reply, as the chat API and the Responses API count them: the prompt includes what was cached."""
    prompt = as_integer(usage.get("prompt_tokens", usage.get("input_tokens")))
    details = as_object(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    cached = as_integer(details.get("cached_tokens"))
    made = as_object(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    return Usage(
        input_tokens=None if prompt is None else prompt - (cached or 0),
        cached_read_tokens=cached,
        output_tokens=as_integer(usage.get("completion_tokens", usage.get("output_tokens"))),
        reasoning_tokens=as_integer(made.get("reasoning_tokens")),
    )
