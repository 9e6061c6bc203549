"""Results of MCP tools as outcomes, and outcomes as results: one table read in both directions.

Rules: nothing a result holds is lost to the outcome but `_meta` and the annotations of its blocks, which are advice for
a screen, and media that are not what they say they are: a provider would refuse the whole request because of them, so
they are described in text. A link is passed on as text; nothing here opens it.
"""

from __future__ import annotations

from binascii import Error
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.model import Failure, outcomes as out
from dragoman.tools.workspace import media_kind, picture_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.types import CallToolResult, ContentBlock

    from dragoman.model import NativeResult, Outcome


# ── what a server said ───────────────────────────────────────────────────────


def to_outcome(result: CallToolResult, *, server: str) -> Outcome:
    """What a server's result says; one that is flagged as an error is a `Failure` with all it holds in its details."""
    blocks, structured = result.content, result.structured_content
    if result.is_error:
        return _failure(blocks, structured, server)
    resources = [_resource(block, server) for block in blocks]
    if blocks and structured is None and all(one is not None and one.data is None for one in resources):
        return out.ResourcesOutcome(tuple(one for one in resources if one is not None))
    content = tuple(piece_of(block) for block in blocks)
    if not content:
        return out.DoneOutcome() if structured is None else out.JsonOutcome(structured)
    if len(content) == 1 and structured is None:
        only = content[0]
        if isinstance(only, str):
            return out.TextOutcome(only)
        if only.media_type.startswith("image/"):
            return out.ImageOutcome(only)
    return out.ContentOutcome(content, structured)


def _failure(blocks: Sequence[ContentBlock], structured: Any, server: str) -> Failure:
    pieces = [piece_of(block) for block in blocks]
    told = "\n".join(piece for piece in pieces if isinstance(piece, str)).strip()
    details: dict[str, Any] = {"server": server}
    media = [msgspec.to_builtins(piece) for piece in pieces if not isinstance(piece, str)]
    if media:
        details["content"] = media
    if structured is not None:
        details["structured"] = structured
    return Failure("failed", told or "The tool failed, and its server did not say why.", details)


def piece_of(block: ContentBlock) -> str | out.Media:
    """A block as a text, or as media."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return _media(block.mime_type, block.data)
    resource = _resource(block, None)
    assert resource is not None  # the two kinds left are
    if resource.data is not None:
        return _media(resource.media_type or "application/octet-stream", resource.data, resource.uri)
    kind = f" ({resource.media_type})" if resource.media_type else ""
    if resource.text is not None:
        return f"[{resource.uri}{kind}]\n{resource.text}"
    about = ": ".join(one for one in (resource.name, resource.description) if one)
    return f"[{resource.uri}{kind}] {about}".rstrip()


def _media(media_type: str, data: str, uri: str | None = None) -> str | out.Media:
    """Media by what their bytes are, or words that say why they are not shown."""
    from base64 import b64decode

    where = f"[{uri}] " if uri else ""
    named = media_type[:100]
    try:
        content = b64decode(data, validate=True)
    except (Error, ValueError):
        return f"{where}[media of the type {named} whose data is not base64: not shown]"
    known = media_kind(content[:64])
    if not media_type.startswith("image/"):
        return out.Media(named, data=data, url=uri, size=len(content))
    if known is not None and known.media_type in _PICTURES:
        width, height = picture_size(content) or (None, None)
        return out.Media(known.media_type, data=data, url=uri, size=len(content), width=width, height=height)
    if known is None and len(content) <= _LONGEST_TEXT:
        try:
            return f"{where}[{named}]\n{content.decode()}"  # SVG is text
        except UnicodeDecodeError:
            pass
    what = known.name if known is not None else "of unknown type"
    return (
        f"{where}[media of the type {named} that is no picture a model can be shown, but {what}: {len(content)} bytes]"
    )


_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models are shown as pictures; an API that takes fewer sends a text instead."""
_LONGEST_TEXT = 200_000


def _resource(block: ContentBlock, server: str | None) -> out.Resource | None:
    if block.type == "resource_link":
        return out.Resource(block.uri, block.name, block.description, block.mime_type, server)
    if block.type == "resource":
        return resource_of(block.resource, server)
    return None


def resource_of(contents: Any, server: str | None) -> out.Resource:
    """A resource with its contents, text or base64."""
    text, data = getattr(contents, "text", None), getattr(contents, "blob", None)
    return out.Resource(contents.uri, media_type=contents.mime_type, server=server, text=text, data=data)


# ── what we say ──────────────────────────────────────────────────────────────


def from_result(told: NativeResult, outcomes: Sequence[Outcome], *, structured: bool) -> CallToolResult:
    """A result in the words of a dialect, and the same typed: one outcome as it is, several below `outcomes`."""
    from mcp.types import CallToolResult

    pieces = (told.content,) if isinstance(told.content, str) else told.content
    plain = [_clean(msgspec.to_builtins(outcome)) for outcome in outcomes]
    given = [one for outcome in outcomes if isinstance(outcome, out.ResourcesOutcome) for one in outcome.resources]
    blocks = [embedded(one) for one in given] if given else [block_of(piece) for piece in pieces]
    return CallToolResult(
        content=blocks,
        structured_content=(plain[0] if len(plain) == 1 else {"outcomes": plain}) if structured else None,
        is_error=any(isinstance(outcome, Failure) for outcome in outcomes),
    )


def embedded(resource: out.Resource) -> ContentBlock:
    """A resource with its contents, or a link to one that has none."""
    from mcp.types import BlobResourceContents, EmbeddedResource, ResourceLink, TextResourceContents

    uri, kind = resource.uri, resource.media_type
    if resource.text is not None:
        return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=kind, text=_clean(resource.text)))
    if resource.data is not None:
        return EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=kind, blob=resource.data))
    return ResourceLink(uri=uri, name=resource.name or uri, description=resource.description, mime_type=kind)


def block_of(piece: str | out.Media) -> ContentBlock:
    """A text, a picture, a sound, a link to what is elsewhere, or any other file as an embedded resource."""
    from mcp.types import AudioContent, ImageContent, ResourceLink, TextContent

    if isinstance(piece, str):
        return TextContent(text=_clean(piece))
    kind = piece.media_type
    if piece.data is None:
        uri = piece.url or f"file://{piece.path}"
        return ResourceLink(uri=uri, name=piece.name or uri, mime_type=kind, size=piece.size)
    if kind.startswith("image/"):
        return ImageContent(data=piece.data, mime_type=kind)
    if kind.startswith("audio/"):
        return AudioContent(data=piece.data, mime_type=kind)
    uri = piece.url or f"data:{piece.name or 'result'}"
    return embedded(out.Resource(uri, media_type=kind, text=_text_in(piece), data=piece.data))


def _text_in(piece: out.Media) -> str | None:
    """What a file of text says; `None` where it is none."""
    from base64 import b64decode

    if not piece.media_type.startswith("text/") and piece.media_type not in ("application/json", "application/xml"):
        return None
    try:
        return b64decode(piece.data or "").decode()
    except ValueError:
        return None


def _clean(value: Any) -> Any:
    """A value that can be written as JSON: half a surrogate pair, as in odd file names, is written out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, (list, tuple)) else value
