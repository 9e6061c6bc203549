"""Content blocks as parts, and parts as content blocks.

Rule: a part of our own reading is written as the very block it came from. What has no typed place stays in the part's
metadata or item; a block that is not what its type promises is an `OpaquePart`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.apis.base.api import joined_name, read_arguments
from dragoman.apis.base.conversation_order import made_id
from dragoman.apis.base.encoded import USUAL_PICTURES, picture_type
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.outcomes import Media

from .families import NAME
from .pictures import LARGEST_SIDE, longer_side

CALLS: Mapping[str, ExecutedBy] = {
    "tool_use": ExecutedBy.CLIENT,
    "server_tool_use": ExecutedBy.PROVIDER,
    "mcp_tool_use": ExecutedBy.PROVIDER,
}
RECEIVED_ONLY = frozenset({"deltas", "estimated_tokens"})
"""What a stream left on a block that no request may hold."""

_DOCUMENT_TITLES = ("char_location", "page_location", "content_block_location")
_PLACES = frozenset(
    {
        *("type", "document_index", "search_result_index"),
        *("start_char_index", "end_char_index", "start_page_number", "end_page_number"),
        *("start_block_index", "end_block_index", "encrypted_index"),
    }
)


def inside(value: Any, key: str) -> Any:
    """What an object holds by a name; nothing, where it is no object."""
    return value.get(key) if isinstance(value, dict) else None


# ── reading ──────────────────────────────────────────────────────────────────


def read_blocks(items: Iterable[Any]) -> tuple[conv.AnyPart, ...]:
    """Every block in its place."""
    taken: set[str] = set()
    return tuple(read_block(item, position, taken) for position, item in enumerate(items))


def read_block(block: Any, position: int, taken: set[str]) -> conv.AnyPart:
    """One block; `taken` are the ids of the calls before it."""
    if not isinstance(block, dict):
        return conv.OpaquePart(NAME, {"unread": block})
    kind = block.get("type")
    part: conv.AnyPart | None = None
    if kind == "text":
        part = None if _is_unread(block) else _text(block)
    elif kind in ("thinking", "redacted_thinking"):
        part = _thinking(block)
    elif isinstance(kind, str) and kind in CALLS:
        id = call_id(block, position, taken)
        part = None if id is None else conv.CallPart(read_call(block, id))
    elif kind == "tool_result":
        part = _client_result(block)
    elif isinstance(kind, str) and kind.endswith("_tool_result"):
        part = _provider_result(block)
    elif kind in ("image", "document"):
        part = _media(block)
    return conv.OpaquePart(NAME, block) if part is None else part


def _is_unread(block: Mapping[str, Any]) -> bool:
    """Whether pieces of text came in a stream, and none of them was one: that is not a text of nothing."""
    pieces = block.get("deltas")
    given = isinstance(pieces, list) and any(inside(one, "type") == "text_delta" for one in pieces)
    return given and not block.get("text")


def call_id(block: Mapping[str, Any], position: int, taken: set[str]) -> str | None:
    """A call's id: its own, or, where it gave none of its own, one made of its place. `None`: it is no call."""
    if not isinstance(block.get("name"), str):
        return None
    id = block.get("id")
    if not isinstance(id, str) or not id or id in taken:
        id = made_id(f"{id}{position}")
    taken.add(id)
    return id


def read_call(block: dict[str, Any], id: str) -> NativeCall:
    """A call, whoever runs it."""
    given = block.get("input")
    toolset = block.get("toolset_name")
    plain = isinstance(given, dict) and block.get("id") == id and block.keys() == {"type", "id", "name", "input"}
    arguments: dict[str, Any] | str = {}
    if isinstance(given, dict):
        arguments = given
    elif isinstance(given, str):
        arguments = read_arguments(given)
    return NativeCall(
        id,
        block["name"],
        arguments,
        namespace=toolset if isinstance(toolset, str) else None,
        executed_by=CALLS[block["type"]],
        item=None if plain else block,
    )


def _rest(block: Mapping[str, Any], *typed: str) -> conv.Metadata:
    """What of a block has no typed place."""
    rest = {key: value for key, value in block.items() if key != "type" and key not in typed}
    return {NAME: rest} if rest else {}


def _text(block: dict[str, Any]) -> conv.TextPart | None:
    text, cited = block.get("text"), block.get("citations")
    if not isinstance(text, str):
        return None
    if not isinstance(cited, list) or not cited or not all(isinstance(one, dict) for one in cited):
        return conv.TextPart(text, metadata=_rest(block, "text"))
    span = conv.Span(0, len(text))
    return conv.TextPart(text, tuple(_citation(one, span) for one in cited), _rest(block, "text", "citations"))


def _citation(raw: dict[str, Any], span: conv.Span) -> conv.Citation:
    named = "document_title" if raw.get("type") in _DOCUMENT_TITLES else "title"
    held = "source" if raw.get("type") == "search_result_location" else "file_id"
    typed = {"url": raw.get("url"), "title": raw.get(named), "document": raw.get(held), "quote": raw.get("cited_text")}
    fields = {name: value for name, value in typed.items() if isinstance(value, str)}
    words = {"url": "url", "title": named, "document": held, "quote": "cited_text"}
    known = {words[name] for name in fields} | _PLACES
    rest = {key: value for key, value in raw.items() if key not in known}
    return conv.Citation(
        **fields,
        span=span,
        location={key: raw[key] for key in raw if key in _PLACES},
        metadata={NAME: rest} if rest else {},
    )


def _thinking(block: dict[str, Any]) -> conv.ThinkingPart | None:
    if block["type"] == "redacted_thinking":
        data = block.get("data")
        return conv.ThinkingPart(encrypted=data, metadata=_rest(block, "data")) if isinstance(data, str) else None
    text, signature = block.get("thinking"), block.get("signature")
    if not isinstance(text, str):
        return None
    if not isinstance(signature, str):
        return conv.ThinkingPart(text, metadata=_rest(block, "thinking"))
    return conv.ThinkingPart(text, signature, metadata=_rest(block, "thinking", "signature"))


def _client_result(block: dict[str, Any]) -> conv.ResultPart | None:
    id, content, is_error = block.get("tool_use_id"), block.get("content"), block.get("is_error")
    content = "" if content is None else [content] if isinstance(content, dict) else content
    if not isinstance(id, str) or not isinstance(content, str | list) or not isinstance(is_error, bool | None):
        return None
    pieces = content if isinstance(content, str) else tuple(_pieces(content))
    plain = isinstance(content, str) or (len(pieces) == len(content) and all(map(_is_plain, content)))
    toolset = block.get("toolset_name")
    result = NativeResult(
        id,
        pieces,
        is_error=is_error,
        namespace=toolset if isinstance(toolset, str) else None,
        item=None if plain else {"type": "tool_result", "content": content},
    )
    return conv.ResultPart(result, _rest(block, "tool_use_id", "content", "is_error"))


def _is_plain(block: Any) -> bool:
    """Whether a block inside a result says no more than a text or a medium does."""
    if not isinstance(block, dict):
        return False
    if block.get("type") == "text":
        return len(block) == 2
    medium = read_media(block)
    return medium is not None and block.keys() <= {"type", "source", "title"}


def _provider_result(block: dict[str, Any]) -> conv.ResultPart | None:
    id, content, is_error = block.get("tool_use_id"), block.get("content"), block.get("is_error")
    if not isinstance(id, str):
        return None
    kind = content.get("type") if isinstance(content, dict) else None
    failed = isinstance(kind, str) and kind.endswith("_error")
    pieces = list(_pieces(content if isinstance(content, list) else [content]))
    texts = [piece for piece in pieces if isinstance(piece, str)]
    result = NativeResult(
        id,
        "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces),
        is_error=True if failed else is_error if isinstance(is_error, bool) else None,
        executed_by=ExecutedBy.PROVIDER,
        item=block,
    )
    return conv.ResultPart(result)


def _pieces(content: Iterable[Any]) -> Iterable[str | Media]:
    """What can be read in a result."""
    for block in content:
        if isinstance(block, str):
            yield block
        elif isinstance(block, dict):
            yield from _readable(block)


def _readable(block: dict[str, Any]) -> Iterable[str | Media]:
    medium = read_media(block)
    if medium is not None and medium.media_type != "text/plain":
        yield medium
        return
    if block.get("type") == "web_fetch_result":
        yield from _texts(block, "url")
        document = block.get("content")
        yield from _document(document) if isinstance(document, dict) else ()
    elif block.get("type") == "document":
        yield from _document(block)
    elif block.get("type") == "tool_search_tool_search_result":
        yield from (text for one in _dicts(block.get("tool_references")) for text in _texts(one, "tool_name"))
    elif block.get("type") == "search_result":
        yield from _texts(block, "title", "source")
        yield from (text for one in _dicts(block.get("content")) for text in _texts(one, "text"))
    else:
        keys = ("title", "url", "tool_name", "text", "snippet", "page_age", "error_code", "error_message")
        yield from _texts(block, *keys)
        yield from _texts(block, "stdout", "stderr")
        yield from _nested(block.get("content"))
        lines = block.get("lines")
        if isinstance(lines, list):
            yield "\n".join(line for line in lines if isinstance(line, str))


def _document(block: dict[str, Any]) -> Iterable[str | Media]:
    yield from _texts(block, "title")
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text":
        yield from _texts(source, "data")
    else:
        medium = read_media(block)
        yield from () if medium is None else (medium,)


def _nested(content: Any) -> Iterable[str | Media]:
    """Text of a file that was viewed, or files that were made."""
    if isinstance(content, str):
        yield content
    for one in _dicts(content):
        file = one.get("file_id")
        if isinstance(file, str):
            yield Media("application/octet-stream", file_id=file)


def _texts(block: Mapping[str, Any], *keys: str) -> Iterable[str]:
    return (value for value in map(block.get, keys) if isinstance(value, str) and value)


def _dicts(value: Any) -> Iterable[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _media(block: dict[str, Any]) -> conv.MediaPart | None:
    medium = read_media(block)
    return (
        None if medium is None else conv.MediaPart(medium, _rest(block, "source", *(("title",) if medium.name else ())))
    )


_SOURCES = {
    "base64": {"type", "media_type", "data"},
    "text": {"type", "media_type", "data"},
    "url": {"type", "url"},
    "file": {"type", "file_id"},
}


def read_media(block: dict[str, Any]) -> Media | None:
    """An image or a document; `None` where its source is none that a medium can hold."""
    source, kind, title = block.get("source"), block.get("type"), block.get("title")
    if kind not in ("image", "document") or not isinstance(source, dict):
        return None
    if (
        not all(isinstance(value, str) for value in source.values())
        or _SOURCES.get(source.get("type", "")) != source.keys()
    ):
        return None
    name = title if kind == "document" and isinstance(title, str) and title else None
    image = kind == "image"
    if source["type"] == "url":
        return Media("image/*" if image else "application/pdf", url=source["url"], name=name)
    if source["type"] == "file":
        return Media("image/*" if image else "application/octet-stream", file_id=source["file_id"], name=name)
    if source["type"] == "text":
        if image or source["media_type"] != "text/plain":
            return None
        return Media("text/plain", data=b64encode(source["data"].encode("utf-8", "surrogatepass")).decode(), name=name)
    told = source["media_type"]
    fits = told.startswith("image/") if image else told == "application/pdf"
    return Media(told, data=source["data"], name=name) if fits else None


# ── writing ──────────────────────────────────────────────────────────────────


def own(metadata: conv.Metadata) -> dict[str, Any]:
    """What of a part's metadata goes back to this API."""
    mine = metadata.get(NAME)
    return {key: value for key, value in mine.items() if key not in RECEIVED_ONLY} if mine else {}


def write_text(part: conv.TextPart) -> dict[str, Any]:
    """A text block with those of its citations that are this API's."""
    block = {"type": "text", **own(part.metadata), "text": part.text}
    cited = [_written_citation(one) for one in part.citations if one.location and "type" in one.location]
    return {**block, "citations": cited} if cited else block


def _written_citation(citation: conv.Citation) -> dict[str, Any]:
    location = citation.location or {}
    named = "document_title" if location.get("type") in _DOCUMENT_TITLES else "title"
    held = "source" if location.get("type") == "search_result_location" else "file_id"
    typed = {"url": citation.url, named: citation.title, held: citation.document, "cited_text": citation.quote}
    said = {key: value for key, value in typed.items() if value is not None}
    return {**citation.metadata.get(NAME, {}), **location, **said}


def write_thinking(part: conv.ThinkingPart) -> dict[str, Any]:
    """Thinking as it came."""
    if part.encrypted is not None:
        return {"type": "redacted_thinking", **own(part.metadata), "data": part.encrypted}
    signature = {} if part.signature is None else {"signature": part.signature}
    return {"type": "thinking", **own(part.metadata), "thinking": part.text, **signature}


def write_call(call: NativeCall) -> dict[str, Any]:
    """A call block. Arguments that are text are its only argument `input`, as the API takes objects alone."""
    item = call.item if call.item is not None and call.item.get("type") in tuple(CALLS) else None
    provider = call.executed_by is ExecutedBy.PROVIDER
    block = dict(item) if item else {"type": "server_tool_use" if provider else "tool_use"}
    for key in RECEIVED_ONLY & block.keys():
        del block[key]
    name = call.name if call.namespace is None or "toolset_name" in block else joined_name(call.namespace, call.name)
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    return {**block, "id": call.id, "name": name, "input": arguments}


LONGEST_PICTURE = 10 << 20
"""Characters of base64. Anthropic answers more with 400 (its page on vision: 10 MB of base64)."""


def write_media(media: Media, largest: int = LARGEST_SIDE) -> dict[str, Any] | None:
    """An image or document block; `None` where this API has none for it, and for a picture with a longer side."""
    image = media.media_type.startswith("image/")
    if longer_side(media) > largest:
        return None
    source = _source(media, image=image)
    if source is None:
        return None
    title = {"title": media.name} if media.name and not image else {}
    return {"type": "image" if image else "document", "source": source, **title}


def _source(media: Media, *, image: bool) -> dict[str, Any] | None:
    if media.file_id is not None:
        return {"type": "file", "file_id": media.file_id}
    data, media_type = media.data, media.media_type
    if data is None and media.url is not None:
        if not media.url.startswith("data:"):
            # Anthropic fetches pictures and PDF documents, and nothing else (types of anthropic 2.8.0).
            fetched = image or media_type == "application/pdf"
            return {"type": "url", "url": media.url} if fetched else None
        head, _, data = media.url[5:].partition(",")
        media_type = head.removesuffix(";base64")
    if data is None:
        return None
    if image:
        taken = picture_type(media_type, USUAL_PICTURES)
        return (
            None
            if taken is None or len(data) > LONGEST_PICTURE
            else {"type": "base64", "media_type": taken, "data": data}
        )
    if media_type == "application/pdf":
        return {"type": "base64", "media_type": media_type, "data": data}
    return _plain_text(data) if media_type.startswith("text/") or media_type == "application/json" else None


def _plain_text(data: str) -> dict[str, Any] | None:
    try:
        text = b64decode(data).decode("utf-8", "surrogatepass")
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text}
