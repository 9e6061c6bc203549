"""About how many tokens something has, by its bytes: no provider says it before it is sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from . import conversation as conv
from .calls import Content
from .outcomes import Media
from .request import Definition

BYTES_PER_TOKEN: Final = 3
"""Fewer than in any language's usual text, to be on the safe side."""
_MEDIA: Final = 2_000
"""Tokens of a picture or a page: more than the providers state for an ordinary one."""
_MESSAGE: Final = 4
"""Tokens that every message costs."""


def estimated_tokens(of: Iterable[conv.ConversationItem | Definition]) -> int:
    """About how many tokens messages and definitions of tools have."""
    return sum(map(_tokens_of, of))


def content_tokens(content: Content) -> int:
    """About how many tokens a text, or what a call gave, has."""
    pieces = (content,) if isinstance(content, str) else content
    return sum(_MEDIA if isinstance(piece, Media) else _text_tokens(piece) for piece in pieces)


def _tokens_of(one: conv.ConversationItem | Definition) -> int:
    if isinstance(one, Definition):
        return len(msgspec.json.encode(one, enc_hook=str)) // BYTES_PER_TOKEN
    return sum(map(_part_tokens, one.parts)) + _MESSAGE


def _part_tokens(part: Any) -> int:
    match part:
        case conv.CallPart(call):
            return _text_tokens(call.name) + _text_tokens(_as_text(call.arguments))
        case conv.ResultPart(result):
            return content_tokens(result.content)
        case conv.MediaPart():
            return _MEDIA
        case conv.ThinkingPart():
            return _text_tokens(part.text) + _text_tokens(part.signature or "") + _text_tokens(part.encrypted or "")
        case conv.OpaquePart():
            return _text_tokens(_as_text(part.item))
        case _:
            return _text_tokens(part.text)


def _text_tokens(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
