"""A request as it goes out, the tools and media in it, and what is wrong with one that cannot."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dragoman.model import request as req
from dragoman.model.base import Value
from dragoman.model.conversation import Metadata
from dragoman.model.json_text import whole_json
from dragoman.model.outcomes import Media

from .conversation_order import Remark
from .lowered import Lowering


class Problem(Value, frozen=True):
    """What is wrong with a request: where, what, and what to do.

    A provider would refuse it, unless `encode` fixes it by itself (`fixed`), or only the model is misled (`accepted`).
    """

    where: str
    message: str
    fix: str
    fixed: bool = False
    accepted: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message}; {self.fix}"


class Tools(msgspec.Struct, frozen=True):
    """A toolset as one API carries it: made once, however many requests offer it."""

    definitions: tuple[req.Definition, ...]
    wire: list[Any]
    """What stands in the body, in the order it is offered."""
    raw: msgspec.Raw
    lowering: Lowering
    report: tuple[Remark, ...]
    problems: tuple[Problem, ...]


class Encoded(msgspec.Struct, frozen=True):
    """A request as it goes out.

    `path` follows the provider's base URL; `headers` are those the protocol itself wants (versions, betas), no key.
    `lowering` undoes on arguments what was done to schemas; `report` says what was changed and what could not travel.
    """

    body: dict[str, Any]
    path: str = ""
    headers: dict[str, str] = {}
    lowering: Lowering = Lowering()
    report: tuple[Remark, ...] = ()
    tools: Tools | None = None

    def __repr__(self) -> str:
        return f"Encoded({self.path!r}, body={list(self.body)!r}, remarks={len(self.report)})"

    def to_bytes(self) -> bytes:
        """The body as JSON. An unchanged toolset is not written again.

        Half a character, which a program can say (`os.listdir`, a cut text) and JSON only as an escape, becomes
        U+FFFD: Anthropic refuses the whole request ("no low surrogate in string"), and every later one, since it
        stays in the conversation.
        """
        body = self.body
        if self.tools is not None and body.get("tools") is self.tools.wire:
            body = {**body, "tools": self.tools.raw}
        try:
            return msgspec.json.encode(body)
        except UnicodeEncodeError:
            return whole_json(self.body)


# ── media ────────────────────────────────────────────────────────────────────
#
# A provider answers a picture of a type that it does not take with an error for the whole request, and as the picture
# stays in the conversation every later request would fail, too. So it is never sent: a text stands in its place.

USUAL_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types of pictures on the pages on vision of Anthropic and OpenAI. Gemini's page on images lists others."""


def picture_type(media_type: str, taken: frozenset[str]) -> str | None:
    """The media type to send a picture's bytes with; `None` when the API does not take that type."""
    # "image/jpg" is no registered type; programs write it, and Gemini refuses it ("Unsupported MIME type: image/jpg").
    media_type = "image/jpeg" if media_type == "image/jpg" else media_type
    return media_type if media_type in taken else None


def stated_detail(metadata: Metadata) -> str | None:
    """How closely a picture is to be looked at, as a client of either Chat Completions or Responses said it."""
    for said in metadata.values():
        for inner in (said, *said.values()):
            if isinstance(inner, dict) and inner.get("detail") in ("low", "high"):
                return str(inner["detail"])
    return None


def file_name(media: Media) -> str:
    """The name of a file, made up for one that has none: what it is must be in its ending, by which OpenAI tells files
    apart, and a file without a name is refused ("Missing required parameter: …file.file_id", openai-agents#1513)."""
    from mimetypes import guess_extension

    return media.name or f"file{guess_extension(media.media_type) or ''}"


def not_shown(media: Media) -> str:
    """What the model reads where media could not be sent."""
    known = media.name or media.path or (media.url if media.url and not media.url.startswith("data:") else None)
    name = f" ({known})" if known else ""
    return f"[{described(media)}{name}: not shown]"


def described(media: Media) -> str:
    """Type and, where it is known, size of media: what decides whether they can be sent."""
    size = f", {media.width} × {media.height} pixels" if media.width and media.height else ""
    return f"{media.media_type or 'no media type'}{size}"
