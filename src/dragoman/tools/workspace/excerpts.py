"""The lines of an edited file that come back with the result, by the rules of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.model.edit_rules import EditRules
from dragoman.model.outcomes import Excerpt

from .diff import lines_of, opcodes
from .text import decode, encode, printable, with_mark


def seen_in_lf(data: bytes, rules: EditRules) -> bytes | None:
    """A file with CRLF as it is edited for the excerpt, or `None` where it is shown as it is written.

    Qwen Code 0.24.4 shows what it made of the file with LF, with a CRLF of the new text as it is.
    """
    decoded = decode(data) if rules.shows == "span" else None
    if decoded is None or "\r\n" not in decoded[0]:
        return None
    return encode(decoded[0].replace("\r\n", "\n"), decoded[1])


def excerpts(before: bytes, after: bytes, rules: EditRules) -> tuple[tuple[Excerpt, ...], int | None]:
    """Lines around the changes, and how many lines there are: an end of the last line begins another one."""
    if rules.shows == "nothing":
        return (), None
    decoded = [decode(data) for data in (before, after)]
    texts = [with_mark(*one) if rules.byte_order_mark == "text" else one for one in decoded if one is not None]
    if len(texts) < 2 or (not texts[1][0] and rules.shows == "span"):
        return (), None
    as_written = rules.shows == "span"
    old, new = printable(texts[0][0]), printable(texts[1][0] if as_written else texts[1][0].replace("\r\n", "\n"))
    lines = new.split("\n")
    # Each change is sought in the file as it was, where lines that ended with CRLF differ (Gemini CLI 0.61.0).
    in_lf = old.replace("\r\n", "\n").split("\n")
    changed = _span(in_lf, lines) if rules.shows == "span" else _places(old, new)
    return _shown(changed, lines, rules), len(lines)


def excerpts_of_whole(before: bytes | None, after: bytes, rules: EditRules) -> tuple[tuple[Excerpt, ...], int | None]:
    """The same of a whole file that was written: all of it where no text was there, or where no line differs.

    Gemini CLI 0.61.0 compares the lines without their ends.
    """
    if rules.shows == "nothing":
        return (), None
    old, given = (printable(data.decode("utf-8", "surrogateescape")) for data in (before or b"", after))
    new = given.replace("\r\n", "\n")
    lines = new.split("\n")
    changed = _places(old.replace("\r\n", "\n"), new) if old and rules.shows == "places" else []
    if changed:
        return _shown(changed, lines, rules), len(lines)
    whole = new if old not in ("", given) else given
    return (Excerpt(1, "\n".join(whole.split("\n")[: rules.shown_most])),), len(lines)


def _shown(changed: Sequence[tuple[int, int]], lines: Sequence[str], rules: EditRules) -> tuple[Excerpt, ...]:
    shown: list[Excerpt] = []
    for first, last in _widened(changed, rules.shown_around, len(lines)):
        stop = last if rules.shown_most is None else min(last, first + rules.shown_most)
        shown.append(Excerpt(first + 1, "\n".join(lines[first:stop])))
    return tuple(shown)


def _span(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """From the first line that differs to the last one."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    same = 0
    while same < min(len(old), len(new)) - first and old[-1 - same] == new[-1 - same]:
        same += 1
    return [(first, len(new) - same)]


def _places(old: str, new: str) -> list[tuple[int, int]]:
    return [(first, last) for _, _, first, last in opcodes(lines_of(old), lines_of(new))]


def _widened(places: Sequence[tuple[int, int]], around: int, total: int) -> list[tuple[int, int]]:
    """The places with the lines around them; those that touch are one."""
    wide: list[tuple[int, int]] = []
    for first, last in places:
        first, last = max(0, first - around), min(total, last + around)
        if wide and first <= wide[-1][1]:
            first = wide.pop()[0]
        wide.append((first, last))
    return wide
