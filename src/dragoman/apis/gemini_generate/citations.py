"""Sources of what was said: grounding, recitation and fetched pages as citations on the text they stand behind.

Rule: offsets on the wire count bytes of UTF-8 over the text that is no thought; ours count characters of one part.
Where the wire also gives the text it means and that text stands elsewhere, the text is believed, and `location` keeps
what was said.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, islice
from typing import Any

from msgspec.structs import replace

from dragoman.model.conversation import AnyPart, Citation, Span, TextPart
from dragoman.model.json_values import as_list, as_name

from .fields import NAME, camel, count_of, metadata_of

_KINDS = ("web", "image", "maps", "retrievedContext")
_TYPED = frozenset({"uri", "sourceUri", "title", "text", "documentName"})


def cited(parts: list[AnyPart], candidate: dict[str, Any]) -> tuple[AnyPart, ...]:
    """The parts with the sources a candidate names."""
    texts = _Texts(parts)
    if not texts.pieces:
        return tuple(parts)
    if "groundingMetadata" in candidate:
        _ground(texts, camel(candidate["groundingMetadata"]))
    if "citationMetadata" in candidate:
        _recite(texts, camel(candidate["citationMetadata"]))
    if "urlContextMetadata" in candidate:
        _fetch(texts, camel(candidate["urlContextMetadata"]))
    return texts.cited(parts)


class _Texts:
    """The text parts of a candidate as one text, and the citations found for each."""

    def __init__(self, parts: list[AnyPart]) -> None:
        self.pieces: list[tuple[int, int, str]] = []
        """(place among the parts, characters before it, its text)."""
        before = 0
        for place, part in enumerate(parts):
            if isinstance(part, TextPart):
                self.pieces.append((place, before, part.text))
                before += len(part.text)
        self._text = "".join(text for _, _, text in self.pieces)
        self.bytes = self._text.encode("utf-8", "surrogatepass")
        lengths = (len(text.encode("utf-8", "surrogatepass")) for _, _, text in self.pieces)
        self._begins = dict(zip((place for place, _, _ in self.pieces), accumulate(lengths, initial=0), strict=False))
        self._before = [before for _, before, _ in self.pieces]
        self._ends: list[int] | None = None
        self._found: dict[int, list[Citation]] = {}

    def bytes_before(self, place: int) -> int | None:
        """Where in the bytes the part at a place begins."""
        return self._begins.get(place)

    def characters(self, start: int, end: int) -> tuple[int, int] | None:
        """Bytes as characters of the whole text, or `None` when they reach beyond it."""
        if not 0 <= start <= end <= len(self.bytes):
            return None
        if len(self.bytes) == len(self._text):
            return start, end
        if self._ends is None:
            self._ends = list(accumulate(len(one.encode("utf-8", "surrogatepass")) for one in self._text))
        return bisect_right(self._ends, start), bisect_left(self._ends, end) + 1 if end else 0

    def add(self, citation: Citation, span: tuple[int, int] | None) -> None:
        """Puts a citation on the part its span lies in, on each of several; without a span on the last text."""
        if span is not None:
            hit = 0
            first = max(0, bisect_left(self._before, span[0]) - 1)
            for place, before, text in islice(self.pieces, first, None):
                if before > span[1] or hit == _MOST_PARTS:
                    break
                start, end = max(span[0] - before, 0), min(span[1] - before, len(text))
                if start < end or (span[0] == span[1] and 0 <= span[0] - before <= len(text) and not hit):
                    self._found.setdefault(place, []).append(replace(citation, span=Span(start, end)))
                    hit += 1
            if hit:
                return
        self._found.setdefault(self.pieces[-1][0], []).append(citation)

    def cited(self, parts: list[AnyPart]) -> tuple[AnyPart, ...]:
        result = list(parts)
        for place, citations in self._found.items():
            part = result[place]
            if isinstance(part, TextPart):
                result[place] = replace(part, citations=(*part.citations, *citations))
        return tuple(result)


# ── grounding ────────────────────────────────────────────────────────────────


def _ground(texts: _Texts, grounding: dict[str, Any]) -> None:
    chunks = as_list(grounding.get("groundingChunks"))
    sources = [_source(chunk) for chunk in chunks]
    used: set[int] = set()
    for support in as_list(grounding.get("groundingSupports")):
        said = camel(support)
        span, location = _segment(texts, said.get("segment"))
        indices = [count_of(index) for index in as_list(said.get("groundingChunkIndices"))]
        scores = as_list(said.get("confidenceScores"))
        if not indices:
            texts.add(Citation(location=location), span)
        for place, index in enumerate(indices):
            if index is not None and 0 <= index < len(sources):
                source = sources[index]
                used.add(index)
            else:
                source = Citation(location={"groundingChunkIndex": index})
            if place < len(scores):
                source = replace(
                    source, metadata={NAME: {**source.metadata.get(NAME, {}), "confidence": scores[place]}}
                )
            if location:
                source = replace(source, location={**(source.location or {}), **location})
            texts.add(source, span)
    for index, source in enumerate(sources):
        if index not in used:
            texts.add(source, None)


def _source(chunk: Any) -> Citation:
    said = camel(chunk)
    kind = next((kind for kind in _KINDS if isinstance(said.get(kind), dict)), None)
    if kind is None:
        return Citation(location=said or None)
    source = camel(said[kind])
    rest = {key: value for key, value in source.items() if key not in _TYPED or not isinstance(value, str)}
    rest.update({key: value for key, value in said.items() if key != kind})
    if isinstance(source.get("uri"), str) and isinstance(source.get("sourceUri"), str):
        rest["sourceUri"] = source["sourceUri"]
    return Citation(
        url=as_name(source.get("uri")) or as_name(source.get("sourceUri")),
        title=as_name(source.get("title")),
        document=as_name(source.get("documentName")),
        quote=as_name(source.get("text")),
        location=rest or None,
        metadata=metadata_of({"source": kind}),
    )


def _segment(texts: _Texts, segment: Any) -> tuple[tuple[int, int] | None, dict[str, Any] | None]:
    """Where a segment stands in the text; and the segment itself where its offsets alone do not tell."""
    said = camel(segment)
    start, end = count_of(said.get("startIndex", 0)), count_of(said.get("endIndex"))
    if start is None or end is None:
        return None, said or None
    wanted = said.get("text")
    needle = wanted.encode("utf-8", "surrogatepass") if isinstance(wanted, str) else b""
    bases = [0]
    part = count_of(said.get("partIndex"))
    base = texts.bytes_before(part) if part is not None else None
    if base is not None:
        bases.insert(0, base)
    for base in bases:
        if not needle or texts.bytes[base + start : base + end] == needle:
            span = texts.characters(base + start, base + end)
            return span, None if span is not None else said
    first = max(0, bases[0] + start - _NEAR)
    near = texts.bytes.find(needle, first, first + len(needle) + _FAR)
    if near >= 0:
        return texts.characters(near, near + len(needle)), said
    return texts.characters(bases[0] + start, bases[0] + end), said


_NEAR = 64
"""Bytes an offset may be wrong by: one too many on pages read by URL, two where a curly quote was counted plain."""


_FAR = 64 * 1024
"""Bytes in which a text is looked for that is not where its offset says: a reply may have many such texts."""
_MOST_PARTS = 100
"""Parts that one citation is put on: many that span all of many parts would take more memory than the reply."""


# ── recitation and fetched pages ─────────────────────────────────────────────


def _recite(texts: _Texts, metadata: dict[str, Any]) -> None:
    for citation in (*as_list(metadata.get("citations")), *as_list(metadata.get("citationSources"))):
        said = camel(citation)
        start, end = count_of(said.get("startIndex", 0)), count_of(said.get("endIndex"))
        span = texts.characters(start, end) if start is not None and end is not None else None
        typed = {"uri", "title"} if span is None else {"uri", "title", "startIndex", "endIndex"}
        rest = {key: value for key, value in said.items() if key not in typed}
        texts.add(Citation(as_name(said.get("uri")), as_name(said.get("title")), location=rest or None), span)


def _fetch(texts: _Texts, metadata: dict[str, Any]) -> None:
    """Pages that were read are sources; those that could not be are not, and stay in the reply's metadata."""
    for page in as_list(metadata.get("urlMetadata")):
        said = camel(page)
        status = said.get("urlRetrievalStatus")
        url = as_name(said.get("retrievedUrl"))
        if url is not None and status in ("URL_RETRIEVAL_STATUS_SUCCESS", 1):
            rest = {key: value for key, value in said.items() if key != "retrievedUrl"}
            texts.add(Citation(url, location=rest, metadata=metadata_of({"source": "urlContext"})), None)
