"""What a file is, by its first bytes, and how large a picture is, by its header."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

import msgspec

from dragoman.model.outcomes import Media

# What stands at the start of a file, its media type and what people call it.
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "PNG image"),
    (b"\xff\xd8\xff", "image/jpeg", "JPEG image"),
    (b"GIF87a", "image/gif", "GIF image"),
    (b"GIF89a", "image/gif", "GIF image"),
    (b"%PDF-", "application/pdf", "PDF document"),
    (b"PK\x03\x04", "application/zip", "ZIP archive, or a document kept in one"),
    (b"PK\x05\x06", "application/zip", "empty ZIP archive"),
    (b"\x1f\x8b", "application/gzip", "gzip data"),
    (b"BZh", "application/x-bzip2", "bzip2 data"),
    (b"\xfd7zXZ\0", "application/x-xz", "xz data"),
    (b"\x28\xb5\x2f\xfd", "application/zstd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed", "7-Zip archive"),
    (b"\x7fELF", "application/x-executable", "ELF program"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary", "Mach-O program"),
    (b"\xca\xfe\xba\xbe", "application/java-vm", "Java class, or a Mach-O program"),
    (b"\0asm", "application/wasm", "WebAssembly module"),
    (b"SQLite format 3\0", "application/vnd.sqlite3", "SQLite database"),
    (b"OggS", "audio/ogg", "Ogg media"),
    (b"ID3", "audio/mpeg", "MP3 sound"),
    (b"fLaC", "audio/flac", "FLAC sound"),
    (b"II*\0", "image/tiff", "TIFF image"),
    (b"MM\0*", "image/tiff", "TIFF image"),
    (b"\0\0\x01\0", "image/x-icon", "icon"),
)
SEEN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The media types models are shown as pictures. No provider takes BMP."""


class Kind(NamedTuple):
    """What a file is."""

    media_type: str
    name: str


def media_kind(data: bytes) -> Kind | None:
    """What bytes (the first 64 will do) are known to be the beginning of."""
    for magic, media_type, name in _MAGIC:
        if data.startswith(magic):
            return Kind(media_type, name)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Kind("image/webp", "WebP image")
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return Kind("audio/wav", "WAV sound")
    if (
        data[:2] == b"BM"
        and len(data) >= 18
        and data[6:10] == b"\0\0\0\0"
        and data[14] in (12, 40, 52, 56, 64, 108, 124)
    ):
        return Kind("image/bmp", "BMP image")
    if data[4:11] == b"ftypM4A":
        return Kind("audio/mp4", "MPEG-4 sound")
    if data[4:8] == b"ftyp":
        return Kind("video/mp4", "MP4 media, or a picture kept like one")
    return None


def describe(data: bytes) -> str:
    """What a binary file is, in words."""
    found = media_kind(data)
    return found.name if found else "of unknown type"


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels as a picture's header states them; `None` when it does not, or is cut short."""
    found = media_kind(data)
    measure = _MEASURES.get(found.media_type) if found else None
    try:
        return measure(data) if measure else None
    except (struct.error, IndexError):
        return None


_HEADER: Final = 1 << 18
"""Characters of base64 in which a picture says how large it is, but for a rare JPEG."""


def measured(media: Media) -> Media:
    """A picture with its size: providers refuse one that is too large, and with it its conversation."""
    if media.data is None or media.width is not None or not media.media_type.startswith("image/"):
        return media
    from base64 import b64decode

    try:
        size = picture_size(b64decode(media.data[:_HEADER]))
    except ValueError:  # it is no base64: what it is, the provider says
        return media
    return media if size is None else msgspec.structs.replace(media, width=size[0], height=size[1])


def _png(data: bytes) -> tuple[int, int]:
    return struct.unpack_from(">II", data, 16)


def _gif(data: bytes) -> tuple[int, int]:
    return struct.unpack_from("<HH", data, 6)


def _bmp(data: bytes) -> tuple[int, int]:
    if data[14] == 12:
        return struct.unpack_from("<HH", data, 18)
    width, height = struct.unpack_from("<ii", data, 18)
    # A negative height means that the rows run from the top.
    return abs(width), abs(height)


def _webp(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if form == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size stands in the frame header; everything before it says how long it is."""
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        alone = marker == 0x01 or 0xD0 <= marker <= 0xD8
        position += 2 + (0 if alone else struct.unpack_from(">H", data, position + 2)[0])
    return None


_MEASURES = {"image/png": _png, "image/gif": _gif, "image/bmp": _bmp, "image/webp": _webp, "image/jpeg": _jpeg}
