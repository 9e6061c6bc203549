"""The new text of an edit, written with the lines and the indentation that the file has at its place.

Rule: a line of the new text that the old text has in the same place keeps the file's spelling, and every other line
gets the file's indentation in place of the old text's. Where the client would lose or repeat lines, or join two of
them, `LosesText` is raised and nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class LosesText(Exception):
    """Putting in the new text would join lines, or lose or repeat some of them."""


class Matched(NamedTuple):
    """A line of the old text that is not blank, and what it was found as."""

    number: int
    """Of the line in the old text."""
    line: int
    """In the file, from the first line of the place on."""
    start: int
    end: int
    given: str
    """The indentation in the old text."""
    found: str
    """The indentation in the file."""


def written(text: str, start: int, end: int, old: str, new: str) -> str | None:
    """`new` for a place of as many lines as `old`; `None` where the old text's indentation stands for several."""
    if not new:
        return new
    old_lines, new_lines, line_end = _split(old.removesuffix("\n")), _split(new), _line_end(new)
    matched = _matched(text, start, end - old.endswith("\n"), old_lines)
    indents = _indents(matched)
    if indents is None:
        return None
    if len(new_lines) < len(old_lines):
        return line_end.join([_indented(line, indents) for line in new_lines])
    there = _split(text[start : end - old.endswith("\n")])
    kept = {index: there[index] for index in _same(old_lines, new_lines)}
    return line_end.join(_lines(new_lines, kept, indents))


def written_loosely(text: str, start: int, end: int, old: str, new: str) -> tuple[int, int, str]:
    """The place and the new text, without blank lines at its ends, where blank lines or parts of lines may differ."""
    ended = old.endswith("\n")
    if ended and (new.endswith("\n") or text[end - 1 : end] != "\n"):
        raise LosesText  # the client deletes a line end that nothing takes the place of: two lines become one
    old_lines, new_lines, line_end = _split(old.removesuffix("\n")), _split(new), _line_end(new)
    if text.count("\n") < old.count("\n"):
        raise LosesText  # the client does not look for more lines than the file has
    matched = _matched(text, start, end - ended, old_lines)
    indents = _indents(matched)
    narrowed = False
    if indents is None:
        head, tail = _shared_ends(old_lines, new_lines)
        narrowed = bool(head or tail)
        old_lines, new_lines = old_lines[head : len(old_lines) - tail], new_lines[head : len(new_lines) - tail]
        matched = [one._replace(number=one.number - head) for one in matched if 0 <= one.number - head < len(old_lines)]
        if not matched or (tail and ended):
            raise LosesText
        start, end = matched[0].start, end if ended else matched[-1].end
        indents = {one.given: one.found for one in matched if one.given != one.found}
    rest = "" if ended else text[end:].partition("\n")[0].removesuffix("\r")
    lines, kept = _trimmed(text, matched, old_lines, new_lines, narrowed=narrowed, rest=rest) if new else ([], {})
    if matched[-1].number not in kept and rest != rest.rstrip():
        end, lines = end + len(rest), lines or [""]
        return start, end, line_end.join(_lines(lines, kept, indents)) + rest.rstrip()
    return start, end, line_end.join(_lines(lines, kept, indents))


def _trimmed(
    text: str, matched: Sequence[Matched], old: Sequence[str], new: Sequence[str], *, narrowed: bool, rest: str
) -> tuple[Sequence[str], dict[int, str]]:
    """The lines of `new` without blank lines at its ends, and the file's spelling of those that keep it.

    `rest` is what follows on the last line.
    """
    blank, new_blank = _blank_lines(old), _blank_lines(new)
    if blank and new_blank:
        if new_blank < blank or not old[-1].strip():
            raise LosesText
        old, new, new_blank = old[blank:], new[blank:], new_blank - blank
        matched = [one._replace(number=one.number - blank) for one in matched]
    lines = new[new_blank : len(new) - _blank_lines(new[new_blank:][::-1])]
    same = [index for index in _same(old, new) if old[index].strip()]
    if not lines or not same or (narrowed and len(lines) != len(old)):
        return lines, {}
    height = matched[-1].line - matched[0].line + 1
    if len(lines) < len(old) and height == len(old):
        return lines, {}
    if new_blank or (len(lines) != len(old) and (blank or height != len(old) or (rest and len(old) - 1 in same))):
        raise LosesText  # the client puts a line of the file in the place of another line of the new text
    return lines, {one.number: text[one.start : one.end] for one in matched if one.number in same}


def _matched(text: str, start: int, end: int, old: Sequence[str]) -> list[Matched]:
    """Which part of the file each line of the old text was found as. Blank lines stand for none."""
    given = [(index, line) for index, line in enumerate(old) if line.strip()]
    found: list[tuple[int, int, int]] = []
    position = start
    for number, line in enumerate(text[start:end].split("\n")):
        if line.strip():
            found.append((number, position, position + len(line) - line.endswith("\r")))
        position += len(line) + 1
    if len(given) != len(found):
        raise LosesText
    return [
        Matched(index, number, first, last, indentation(line), indentation_at(text, first))
        for (index, line), (number, first, last) in zip(given, found, strict=True)
    ]


def _split(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\r").split("\n")


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indents(matched: Sequence[Matched]) -> dict[str, str] | None:
    """The file's indentation for each of the old text's that differs; `None` where one stands for several."""
    indents: dict[str, str] = {}
    for one in matched:
        if one.given != one.found and indents.setdefault(one.given, one.found) != one.found:
            return None
    return indents


def _same(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Which lines are the same in the same place."""
    return [index for index, (one, other) in enumerate(zip(old, new, strict=False)) if one == other]


def _lines(new: Sequence[str], kept: Mapping[int, str], indents: Mapping[str, str]) -> list[str]:
    return [kept[index] if index in kept else _indented(line, indents) for index, line in enumerate(new)]


def _indented(line: str, indents: Mapping[str, str]) -> str:
    depth = indentation(line)
    given = max((one for one in indents if depth.startswith(one)), key=len, default=None)
    return line if given is None or not line.strip() else indents[given] + line[len(given) :]


def _shared_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines at the beginning and at the end are the same; one line of the old text is left between."""
    most = min(len(old) - 1, len(new))
    head = next((index for index in range(most) if old[index] != new[index]), most)
    most = min(len(old) - 1 - head, len(new) - head)
    tail = next((index for index in range(most) if old[-1 - index] != new[-1 - index]), most)
    return head, tail


def _blank_lines(lines: Sequence[str]) -> int:
    """How many lines at the beginning are blank."""
    return next((index for index, line in enumerate(lines) if line.strip()), len(lines))


def indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def indentation_at(text: str, place: int) -> str:
    """The indentation of the line that a place is in."""
    line = text.rfind("\n", 0, place) + 1
    end = text.find("\n", line)
    return indentation(text[line : len(text) if end < 0 else end])


def after_line_end(text: str, place: int) -> int:
    """The place after the line end that begins at a place, if one does."""
    return place + (2 if text.startswith("\r\n", place) else text.startswith("\n", place))
