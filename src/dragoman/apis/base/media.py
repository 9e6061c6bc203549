"""Pictures that an API takes, and the text that stands for media it cannot carry.

Rule: a provider answers a picture of a type that it does not take with an error for the whole request, and a tool's
result with such a picture stays in the conversation: every later request would fail, too. So it is never sent.
"""

from __future__ import annotations

from typing import Final

from dragoman.model.outcomes import Media

USUAL_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types of pictures that Anthropic and OpenAI document. Gemini documents others."""


def picture_type(media_type: str, taken: frozenset[str]) -> str | None:
    """The media type to send a picture's bytes with; `None` when the API does not take that type."""
    # "image/jpg" is no registered type; programs write it, and Gemini refuses it ("Unsupported MIME type: image/jpg").
    media_type = "image/jpeg" if media_type == "image/jpg" else media_type
    return media_type if media_type in taken else None


def not_shown(media: Media) -> str:
    """What the model reads where media could not be sent."""
    known = media.name or media.path or (media.url if media.url and not media.url.startswith("data:") else None)
    name = f" ({known})" if known else ""
    return f"[{media.media_type}{name}: not shown]"
