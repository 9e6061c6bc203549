"""Compressed response bodies, decompressed a bounded piece at a time.

Rule: however small the compressed bytes are, no more than one piece of what they expand to is in memory here, so that
whoever takes the pieces can count them and stop.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE = 64 * 1024
"""The most bytes that are decompressed at once. A kilobyte of gzip can hold a megabyte, so a read of a socket could
otherwise hold hundreds of megabytes."""

CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""The content codings that can be read, with zlib's word for each."""


class Unpacker:
    """Decompresses one body. Raises `zlib.error` for bytes that are not in the stated coding."""

    def __init__(self, coding: str) -> None:
        self._wbits = CODINGS[coding]
        self._inner = zlib.decompressobj(self._wbits)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes expand to, in pieces of at most `PIECE` bytes."""
        self._begun = True
        while True:
            piece = self._inner.decompress(data, PIECE)
            if piece:
                yield piece
            if self._inner.eof:
                data = self._inner.unused_data
                if not data:
                    return
                self._inner = zlib.decompressobj(self._wbits)  # gzip allows several members, one after the other
                continue
            data = self._inner.unconsumed_tail
            if not data and len(piece) < PIECE:
                return

    @property
    def cut(self) -> bool:
        """Whether the body has not come to the end that its coding marks."""
        return self._begun and not self._inner.eof
