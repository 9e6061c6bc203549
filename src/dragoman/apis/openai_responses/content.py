"""What stands inside a message or a result, in both directions: texts with their citations, refusals, images, files."""

from __future__ import annotations

from typing import Any

from dragoman.apis.base.encoded import USUAL_PICTURES, file_name, not_shown, picture_type, stated_detail
from dragoman.model.conversation import AnyPart, Citation, MediaPart, RefusalPart, Span, TextPart
from dragoman.model.json_values import as_list, as_name, as_object, as_text
from dragoman.model.outcomes import Media

from .fields import as_count, mine, own, without

TEXT_TYPES = ("output_text", "input_text", "text", "summary_text", "reasoning_text")

# ── citations ────────────────────────────────────────────────────────────────


def read_citation(annotation: dict[str, Any]) -> Citation:
    """A source of something said; offsets count code points of the text.

    Files are cited at one place (`index`: recorded ones point at the character before which their mark would
    stand), so that span is empty.
    """
    rest = dict(annotation)
    kind = rest.get("type")
    span = None
    if kind in _PLACED:
        place = as_count(rest.get("index"))
        if place is not None:
            span = Span(place, place)
            del rest["index"]
    else:
        start, end = as_count(rest.get("start_index")), as_count(rest.get("end_index"))
        if start is not None and end is not None:
            span = Span(start, end)
            del rest["start_index"], rest["end_index"]
    container = _taken(rest, "container_id")
    return Citation(
        url=_taken(rest, "url"),
        title=_taken(rest, "filename" if kind in _FILES else "title"),
        document=_taken(rest, "file_id"),
        span=span,
        location=None if container is None else {"container_id": container},
        metadata=own(rest),
    )


_PLACED = ("file_citation", "file_path")
_FILES = (*_PLACED, "container_file_citation")


def _taken(mapping: dict[str, Any], name: str) -> str | None:
    value = mapping.get(name)
    if not isinstance(value, str):
        return None
    del mapping[name]
    return value


def write_citation(citation: Citation) -> dict[str, Any] | None:
    """The annotation again; `None` for a citation of another API."""
    rest = mine(citation.metadata)
    if not rest:
        return None
    kind = rest.get("type")
    annotation = {**rest, **(citation.location or {})}
    said = {
        "url": citation.url,
        "filename" if kind in _FILES else "title": citation.title,
        "file_id": citation.document,
    }
    annotation.update({name: value for name, value in said.items() if value is not None})
    if citation.span is not None and kind in _PLACED:
        annotation["index"] = citation.span.start
    elif citation.span is not None:
        annotation["start_index"], annotation["end_index"] = citation.span.start, citation.span.end
    return annotation


# ── parts of a message ───────────────────────────────────────────────────────


def read_content(part: Any, beside: dict[str, Any]) -> AnyPart | None:
    """One part of a message, `beside` being what its message says; `None` for one that is not known."""
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    if kind in TEXT_TYPES and isinstance(part.get("text"), str):
        return _read_text(part, beside)
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return RefusalPart(part["refusal"], metadata=_beside(beside, without(part, "type", "refusal")))
    media = read_media(part)
    if media is not None:
        return MediaPart(media, metadata=_beside(beside, part))
    return None


def _read_text(part: dict[str, Any], beside: dict[str, Any]) -> TextPart:
    rest = without(part, "text")
    annotations = as_list(rest.get("annotations"))
    citations = tuple(read_citation(one) for one in annotations if isinstance(one, dict) and one)
    if citations and len(citations) == len(annotations):  # what is no annotation is kept as it came, among the others
        del rest["annotations"]
    return TextPart(part["text"], citations, metadata=_beside(beside, rest))


def _beside(beside: dict[str, Any], rest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return own({**beside, "part": rest} if rest else beside)


def write_content(part: AnyPart, text_type: str) -> dict[str, Any] | None:
    """A part inside a message; `None` for what cannot stand there."""
    rest = as_object(mine(getattr(part, "metadata", {})).get("part"))
    if isinstance(part, TextPart):
        content = {"type": text_type, **rest, "text": part.text}
        written = [one for one in map(write_citation, part.citations) if one is not None]
        if written and not content.get("annotations"):
            content["annotations"] = written
        return content
    if isinstance(part, RefusalPart):
        return {"type": "refusal", **rest, "refusal": part.text}
    if isinstance(part, MediaPart):
        if rest and read_media(rest) == part.media:
            return rest
        media, detail = write_media(part.media), stated_detail(part.metadata)
        is_picture = media is not None and media["type"] == "input_image"
        return {**media, "detail": detail} if media and is_picture and detail else media
    return None


# ── images and files ─────────────────────────────────────────────────────────


def read_media(part: dict[str, Any]) -> Media | None:
    """An image or a file a message or a result carries; `None` when it is neither or says nothing of where it is."""
    match part.get("type"):
        case "input_image" | "computer_screenshot":
            return located(as_name(part.get("image_url")), as_name(part.get("file_id")), "image/*")
        case "input_file":
            name = as_name(part.get("filename"))
            data, url = as_name(part.get("file_data")), as_name(part.get("file_url"))
            kind = _by_name(name or url)
            if data is not None and not data.startswith("data:"):
                return Media(kind, data=data, name=name)
            return located(data or url, as_name(part.get("file_id")), kind, name)
    return None


def located(url: str | None, file_id: str | None, kind: str, name: str | None = None) -> Media | None:
    """What stands at an address, which may hold it whole, or under a file's id."""
    if url is not None and url.startswith("data:"):
        head, comma, data = url[5:].partition(",")
        stated, mark, _ = head.partition(";base64")
        if comma and mark:
            return Media(stated or kind, data=data, file_id=file_id, name=name)
    if url is None and file_id is None:
        return None
    return Media(kind, url=url, file_id=file_id, name=name)


def _by_name(name: str | None) -> str:
    """What a file is by its name; a name that says nothing leaves it open."""
    if name is None:
        return "application/octet-stream"
    from mimetypes import guess_type

    return guess_type(name.partition("?")[0])[0] or "application/octet-stream"


def write_media(media: Media) -> dict[str, Any] | None:
    """An image or a file for the model; `None` for what it does not take (sound, video, other pictures, a path)."""
    if media.media_type.startswith(("audio/", "video/")):
        return None
    image = media.media_type.startswith("image/")
    media_type = (
        picture_type(media.media_type, USUAL_PICTURES) if image and media.data is not None else media.media_type
    )
    if media_type is None:
        return None
    where = f"data:{media_type};base64,{media.data}" if media.data is not None else media.url
    if where is None and media.file_id is None:
        return None
    if image:
        written: dict[str, Any] = {"type": "input_image", "detail": "auto"}
        written.update({"image_url": where} if where is not None else {"file_id": media.file_id})
        return written
    if where is None:
        return {"type": "input_file", "file_id": media.file_id}
    if media.data is None:
        return {"type": "input_file", "file_url": where}
    return {"type": "input_file", "filename": file_name(media), "file_data": where}


def read_output(output: Any) -> str | tuple[str | Media, ...] | None:
    """What a result says: text, or texts and media; `None` when it is neither."""
    if isinstance(output, str):
        return output
    if not isinstance(output, list):
        return None
    content: list[str | Media] = []
    for part in output:
        piece = _output_piece(part)
        if piece is None:
            return None
        content.append(piece)
    return tuple(content)


def _output_piece(part: Any) -> str | Media | None:
    if not isinstance(part, dict):
        return None
    if part.get("type") in TEXT_TYPES:
        return as_text(part.get("text"))
    return read_media(part)


def write_output(content: str | tuple[str | Media, ...]) -> tuple[str | list[dict[str, Any]], list[Media]]:
    """What a result says on the wire, and the media that could not travel."""
    if isinstance(content, str):
        return content, []
    written: list[dict[str, Any]] = []
    lost: list[Media] = []
    for piece in content:
        if isinstance(piece, str):
            written.append({"type": "input_text", "text": piece})
        elif (media := write_media(piece)) is not None:
            written.append(media)
        else:
            lost.append(piece)
            written.append({"type": "input_text", "text": not_shown(piece)})
    return written, lost


def plain_text(content: str | tuple[str | Media, ...]) -> str:
    """The texts of a result."""
    return content if isinstance(content, str) else "\n".join(piece for piece in content if isinstance(piece, str))


def texts_of(pieces: Any, *names: str) -> list[str]:
    """The texts under one of these names in a list of objects."""
    found = (as_text(one.get(name)) for one in as_list(pieces) if isinstance(one, dict) for name in names)
    return [text for text in found if text]
