"""How large a picture may be, which depends on how many pictures a request has.

Evidence: Anthropic's page on vision, "general limits". A larger picture is answered with 400, and so is every later
request of its conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.model import conversation as conv
from dragoman.model.outcomes import Media

LARGEST_SIDE = 8000
"""Pixels of the longer side."""
LARGEST_SIDE_OF_MANY = 2000
"""Pixels of the longer side, where a request has more than `FEW` pictures."""
FEW = 20


def longer_side(media: Media) -> int:
    """Pixels of the longer side of a picture; 0 where it is not known."""
    return max(media.width or 0, media.height or 0) if media.media_type.startswith("image/") else 0


def pictures_in(parts: Iterable[conv.AnyPart]) -> Iterator[Media]:
    """Pictures that were attached, and those in results."""
    for part in parts:
        if isinstance(part, conv.MediaPart):
            found: tuple[str | Media, ...] = (part.media,)
        elif isinstance(part, conv.ResultPart) and not isinstance(part.result.content, str):
            found = part.result.content
        else:
            continue
        yield from (one for one in found if isinstance(one, Media) and one.media_type.startswith("image/"))


def largest_side(parts: Iterable[conv.AnyPart]) -> int:
    """The longest side a picture may have beside all these."""
    return LARGEST_SIDE_OF_MANY if sum(1 for _ in pictures_in(parts)) > FEW else LARGEST_SIDE
