"""What is attached to a message: files, pages and standard input, as parts the model takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

import click

from dragoman import model, tools
from dragoman.errors import MediaError, ToolError
from dragoman.model import operations as op
from dragoman.tools.workspace import LARGEST_ATTACHMENT, attachment


def content_of(content: bytes, name: str) -> str | model.Media:
    """Content as a part of a message: text as text, which every model reads; anything else as media."""
    media = attachment(content, name)
    if media.media_type.startswith("text/"):
        return f"Contents of {name}:\n\n{content.decode('utf-8-sig')}"
    return media


def message_of(text: str, parts: Iterable[str | model.Media]) -> model.Message:
    """One message: all texts first, then the media."""
    given = list(parts)
    texts = [text, *(part for part in given if isinstance(part, str))]
    return model.user("\n\n".join(filter(None, texts)), *(part for part in given if not isinstance(part, str)))


async def attached(places: Iterable[str], web: tools.Web) -> list[str | model.Media]:
    """What `-a` names, in order. Addresses are fetched under the rules for pages: none that is not public."""
    found: list[str | model.Media] = []
    for place in places:
        try:
            found.append(await _attached(place, web))
        except (MediaError, ToolError) as error:
            raise click.BadParameter(f"{str(error).rstrip('.')}.", param_hint="--attach") from error
    return found


async def _attached(place: str, web: tools.Web) -> str | model.Media:
    if place.startswith(("http://", "https://")):
        return await _page(place, web)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", place):
        raise MediaError(f"cannot read {place}: only addresses that begin with https:// or http:// can be fetched")
    if place == "-":
        return content_of(_read(sys.stdin.buffer.read(LARGEST_ATTACHMENT + 1), "standard input"), "standard input")
    from dragoman.config.files import read_ordinary_file

    try:
        return content_of(read_ordinary_file(place, LARGEST_ATTACHMENT), place)
    except OSError as error:
        raise MediaError(f"cannot read {place}: {error.strerror}") from error
    except ValueError as error:
        raise MediaError(f"cannot read {place}: it is {error}") from error


def _read(content: bytes, name: str) -> bytes:
    if len(content) > LARGEST_ATTACHMENT:
        raise MediaError(f"{name} has more than {LARGEST_ATTACHMENT >> 20} MiB")
    return content


async def _page(url: str, web: tools.Web) -> str | model.Media:
    fetched = await web.get(url, any_type=True)
    if fetched.media_type not in ("text/html", "application/xhtml+xml"):
        return content_of(fetched.body, url)
    # A browser asks for the page itself; otherwise it is not requested a second time.
    (page,) = (await web.fetch(op.FetchPage(url), fetched=None if web.render else fetched)).pages
    cut = " (cut)" if page.truncated else ""
    return f"Contents of {url}{cut}:\n\n{page.text or ''}"
