"""What is attached to a message: files, pages and standard input, as parts the model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.tools.workspace import attachment

if TYPE_CHECKING:
    from dragoman.model import Media


def content_of(content: bytes, name: str) -> str | Media:
    """Content as a part of a message: text as text, which every model reads; anything else as media."""
    media = attachment(content, name)
    if media.media_type.startswith("text/"):
        return f"Contents of {name}:\n\n{content.decode()}"
    return media
