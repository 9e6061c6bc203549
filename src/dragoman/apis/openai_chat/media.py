"""Images, sounds, films and files in messages: content blocks ⇄ `Media`."""

from __future__ import annotations

import re
from typing import Any

from dragoman.apis.base.encoded import USUAL_PICTURES, file_name, picture_type, stated_detail
from dragoman.model.conversation import MediaPart
from dragoman.model.json_values import as_name
from dragoman.model.outcomes import Media

from .families import Ways
from .values import NAME, of_this_api

_DATA = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_UNSAID = {"image_url": "image/*", "video_url": "video/*", "document_url": "application/*", "input_audio": "audio/*"}
"""Kinds of block that hold an address (or, for a sound, data) without a type."""
_FORMATS = {"mp3": "audio/mpeg"}
"""Names of sound formats that are not those of their media type."""
_SOUNDS = {"audio/mpeg": "mp3", "audio/x-wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav"}
"""The inverse, with the other names of the same types."""


def read_media(block: dict[str, Any]) -> MediaPart | None:
    """A media block as a part; `None` when it is none, or not as it should be."""
    kind = block.get("type")
    if not isinstance(kind, str) or (kind not in _UNSAID and kind != "file"):
        return None
    inner = block.get(kind)
    fields = dict(inner) if isinstance(inner, dict) else {}
    if kind == "file":
        media = _file(fields) if isinstance(inner, dict) else None
    elif isinstance(inner, str):
        media = _at(inner, kind)
    elif kind == "input_audio":
        media = _sound(fields)
    else:
        url = as_name(fields.pop("url", None))
        media = None if url is None else _at(url, kind)
    if media is None:
        return None
    outer = {key: value for key, value in block.items() if key not in ("type", kind)}
    said: dict[str, Any] = {"type": kind}
    if isinstance(inner, str):
        said["bare"] = True
    if fields:
        said["inner"] = fields
    if outer:
        said["block"] = outer
    return MediaPart(media, metadata={NAME: said})


def _at(address: str, kind: str) -> Media | None:
    data = _DATA.fullmatch(address)
    if data is not None:
        return Media(data[1], data=data[2])
    if kind == "input_audio" and not address.startswith(("http://", "https://")):
        return Media(_UNSAID[kind], data=address)
    return Media(_UNSAID[kind], url=address)


def _sound(fields: dict[str, Any]) -> Media | None:
    data, form = as_name(fields.get("data")), as_name(fields.get("format"))
    if data is None:
        return None
    del fields["data"]
    if form is None:
        return Media("audio/*", data=data)
    del fields["format"]
    return Media(_FORMATS.get(form, f"audio/{form}"), data=data)


def _file(fields: dict[str, Any]) -> Media | None:
    given, file_id = as_name(fields.get("file_data")), as_name(fields.get("file_id"))
    name = as_name(fields.get("filename"))
    if given is None and file_id is None:
        return None
    for key, value in (("file_data", given), ("file_id", file_id), ("filename", name)):
        if value is not None:
            del fields[key]
    data = _DATA.fullmatch(given) if given is not None else None
    if data is not None:
        return Media(data[1], data=data[2], file_id=file_id, name=name)
    if given is not None and given.startswith(("http://", "https://")):
        return Media("application/*", url=given, file_id=file_id, name=name)
    return Media("application/*", data=given, file_id=file_id, name=name)


def write_media(part: MediaPart) -> dict[str, Any] | None:
    """A part as a content block; `None` where Chat Completions has none for it."""
    media, said = part.media, of_this_api(part.metadata)
    kind = said.get("type") or _kind(media)
    if kind == "file" and not said and media.media_type.startswith("text/") and media.data is not None:
        return _written_text(media)
    if kind == "file":
        inner: Any = _written_file(media, named=not said)
    elif kind == "input_audio":
        inner = _written_sound(media, bare="bare" in said)
    elif kind == "image_url" and media.data is not None and picture_type(media.media_type, USUAL_PICTURES) is None:
        return None
    else:
        address = _address(media)
        inner = None if kind is None or address is None else address if "bare" in said else {"url": address}
    if inner is None or kind is None:
        return None
    if isinstance(inner, dict):
        detail = stated_detail(part.metadata) if kind == "image_url" and not said else None
        inner = {**inner, **({"detail": detail} if detail else {}), **said.get("inner", {})}
    return {"type": kind, kind: inner, **said.get("block", {})}


def _kind(media: Media) -> str | None:
    family = media.media_type.partition("/")[0]
    if family == "image":
        return "file" if media.file_id is not None and media.data is None and media.url is None else "image_url"
    if family == "audio":
        return "input_audio" if media.data is not None else None
    if family == "video":
        return "video_url"
    return "file" if media.data is not None or media.file_id is not None else None


def _address(media: Media) -> str | None:
    media_type = picture_type(media.media_type, USUAL_PICTURES) or media.media_type
    return f"data:{media_type};base64,{media.data}" if media.data is not None else media.url


def _written_text(media: Media) -> dict[str, Any] | None:
    """A text as text: "Chat Completions accepts only PDF files" as files (OpenAI's guide on file inputs)."""
    import base64

    try:
        text = base64.b64decode(media.data or "", validate=True).decode("utf-8-sig")
    except ValueError:
        return None
    return {"type": "text", "text": f"Contents of {media.name or 'the attached text'}:\n\n{text}"}


def _written_file(media: Media, *, named: bool) -> dict[str, Any] | None:
    inner: dict[str, Any] = {}
    if media.file_id is not None:
        inner["file_id"] = media.file_id
    if media.data is not None:
        inner["file_data"] = media.data if media.media_type == "application/*" else _address(media)
    elif media.url is not None:
        inner["file_data"] = media.url
    if media.name is not None or (named and media.data is not None and media.file_id is None):
        inner["filename"] = file_name(media)
    return inner if "file_id" in inner or "file_data" in inner else None


def _written_sound(media: Media, *, bare: bool) -> dict[str, Any] | str | None:
    if bare or media.data is None:
        if media.data is not None and media.media_type == "audio/*":
            return media.data
        return _address(media)
    form = sound_format(media)
    return {"data": media.data} if form == "*" else {"data": media.data, "format": form}


def sound_format(media: Media) -> str:
    """What this protocol calls the format of a sound."""
    return _SOUNDS.get(media.media_type, media.media_type.partition("/")[2])


def takes_media(part: MediaPart, ways: Ways) -> bool:
    """Whether a model takes such media in a user's message."""
    family = part.media.media_type.partition("/")[0]
    if family == "video" and not ways.video:
        return False
    return family != "audio" or ways.sounds is None or sound_format(part.media) in ways.sounds
