"""Media to give to a model: pictures, documents and sounds from a path, bytes or a URL, checked before sending."""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

from dragoman.errors import MediaError
from dragoman.model import Media

from .media import SEEN, media_kind, picture_size

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
"""A path, content as bytes, or a URL: http://, https:// or data:."""

LARGEST_ATTACHMENT: Final = 32 << 20
"""Bytes of one attachment. The providers' own limits on a request are 20 to 50 MiB."""


def Image(source: Source, *, media_type: str | None = None, name: str | None = None) -> Media:  # noqa: N802 - makes a kind of `Media`
    """A picture (PNG, JPEG, WebP, or, but for Gemini, GIF). The provider fetches one that is given as a URL."""
    return _made(source, media_type, name, "a picture", "image/*", ("image/",))


def Document(source: Source, *, media_type: str | None = None, name: str | None = None) -> Media:  # noqa: N802 - as above
    """A PDF document or a text. The provider fetches one that is given as a URL."""
    return _made(source, media_type, name, "a document", "application/pdf", ("application/pdf", "text/"))


def Audio(source: Source, *, media_type: str | None = None, name: str | None = None) -> Media:  # noqa: N802 - as above
    """A sound, for the APIs that take one."""
    return _made(source, media_type, name, "a sound", "audio/*", ("audio/",))


def attachment(content: bytes, name: str | None = None) -> Media:
    """Content of any of these kinds, recognised by its first bytes."""
    media_type = kind_of(content, name)
    if media_type is None:
        raise MediaError(f"{name or 'the attachment'} is neither a picture, a PDF document, a sound nor UTF-8 text")
    return _from_bytes(content, media_type, name)


def kind_of(content: bytes, name: str | None = None) -> str | None:
    """The media type of content that a model can be given; `None` for anything else."""
    known = media_kind(content[:64])
    if known is not None:
        taken = known.media_type in (*SEEN, "application/pdf") or known.media_type.startswith("audio/")
        return known.media_type if taken else None
    try:
        if "\0" in content.decode():
            return None
    except UnicodeDecodeError:
        return None
    from mimetypes import guess_type

    guessed = guess_type(name or "")[0] or "text/plain"
    return guessed if guessed.startswith("text/") else "text/plain"


def _made(
    source: Source, media_type: str | None, name: str | None, what: str, unstated: str, wanted: tuple[str, ...]
) -> Media:
    if isinstance(source, str) and source.startswith(("http://", "https://")):
        return _at_url(source, media_type, name, what, unstated, wanted)
    if isinstance(source, (bytes, bytearray, memoryview)):
        content = bytes(source)
    elif isinstance(source, str) and source.startswith("data:"):
        stated_there, content = _in_url(source)
        media_type = media_type or stated_there
    elif isinstance(source, (str, os.PathLike)):
        content, name = _content(source), name or Path(source).name
    else:
        raise TypeError(f"expected a path, bytes or a URL, not {type(source).__name__}")
    found = kind_of(content, name)
    stated = media_type or found
    if content and (
        stated is None or not stated.startswith(wanted) or (found is not None and not found.startswith(wanted))
    ):
        raise MediaError(f"{name or 'the content'} is not {what} that can be sent ({found or 'of unknown type'})")
    if media_kind(content[:64]) is not None and stated != found:
        raise MediaError(f"{name or 'the content'} is {found}, not {stated}: leave media_type out")
    return _from_bytes(content, str(stated), name)


def _in_url(url: str) -> tuple[str | None, bytes]:
    """The media type and the content of a `data:` URL (RFC 2397)."""
    head, comma, text = url.removeprefix("data:").partition(",")
    media_type, *settings = head.split(";")
    try:
        if not comma:
            raise ValueError("it has no comma")
        content = b64decode(text, validate=True) if "base64" in settings else unquote_to_bytes(text)
    except ValueError as error:
        raise MediaError(f"the data: URL cannot be read: {error}") from error
    return media_type or None, content


_USUAL: Final = {
    "audio/x-wav": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
    "audio/mp4a-latm": "audio/mp4",
}
"""Names of media types as Python guesses them by a file's ending → as the providers' documentation writes them."""


def _at_url(
    url: str, media_type: str | None, name: str | None, what: str, unstated: str, wanted: tuple[str, ...]
) -> Media:
    from mimetypes import guess_type

    guessed = guess_type(url.partition("?")[0].partition("#")[0])[0] or unstated
    stated = media_type or _USUAL.get(guessed, guessed)
    if not stated.startswith(wanted):
        raise MediaError(f"{url} is not {what} by its name ({stated}); give media_type if it is one")
    return Media(stated, url=url, name=name)


_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def _content(path: str | os.PathLike[str]) -> bytes:
    from dragoman.config.files import read_ordinary_file

    scheme = _SCHEME.match(os.fspath(path))
    if scheme is not None and not os.path.exists(path):
        raise MediaError(f"{scheme[0]} is not a URL that can be sent: give http://, https:// or data:, or a path")
    try:
        return read_ordinary_file(path, LARGEST_ATTACHMENT)
    except OSError as error:
        raise MediaError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
    except ValueError as error:
        raise MediaError(f"cannot read {os.fspath(path)}: it is {error}") from error


def _from_bytes(content: bytes, media_type: str, name: str | None) -> Media:
    if not content:
        raise MediaError(f"{name or 'the content'} is empty")
    if len(content) > LARGEST_ATTACHMENT:
        raise MediaError(
            f"{name or 'the content'} has {len(content):,} bytes; at most {LARGEST_ATTACHMENT:,} can be sent"
        )
    width, height = picture_size(content) or (None, None)
    return Media(
        media_type, b64encode(content).decode("ascii"), name=name, width=width, height=height, size=len(content)
    )
