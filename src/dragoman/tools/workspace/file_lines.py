"""The new text of an edit, written with the lines and the indentation that the file has at its place.

Rule: a line of the new text that the old text has in the same place keeps the file's spelling, and every other line
gets the file's indentation in place of the old text's. So Copilot CLI 1.0.102 does, seen on loopback. Where the client
would lose or repeat lines, or join two of them, `LosesText` is raised and nothing is written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .folding import BLANKS, strip


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
    in_file: str
    """The indentation in the file."""


def has_one_indent(text: str, start: int, end: int, old: str, *, letters: bool) -> bool:
    """Whether each indentation of the old text that the file has otherwise stands for one of the file's."""
    try:
        matched = _matched(text, start, end - old.endswith("\n"), _split(old.removesuffix("\n")), letters=letters)
    except LosesText:
        return True  # it counts as a place, though nothing can be written there
    return _indents(matched) is not None


def written(text: str, start: int, end: int, old: str, new: str, *, letters: bool) -> str:
    """`new` for a place of as many lines as `old`; with `letters`, forms of one letter were overlooked."""
    if not new:
        return new
    old_lines, new_lines, line_end = _split(old.removesuffix("\n")), _split(new), _line_end(new)
    matched = _matched(text, start, end - old.endswith("\n"), old_lines, letters=letters)
    indents = _indents(matched) or {}
    if len(new_lines) < len(old_lines):
        return line_end.join([_indented(line, indents) for line in new_lines])
    there = _split(text[start : end - old.endswith("\n")])
    # Where lines are added, no blank line keeps the file's white space.
    longer = len(new_lines) > len(old_lines)
    kept = {index: there[index] for index in _same(old_lines, new_lines) if not longer or strip(old_lines[index])}
    return line_end.join(_lines(new_lines, kept, indents))


def written_loosely(text: str, start: int, end: int, old: str, new: str) -> tuple[int, int, str]:
    """The place and the new text, without blank lines at its ends, where blank lines or parts of lines may differ."""
    ended = old.endswith("\n")
    if ended and (new.endswith("\n") or text[end - 1 : end] != "\n"):
        raise LosesText  # the client deletes a line end that nothing takes the place of: two lines become one
    old_lines, new_lines, line_end = _split(old.removesuffix("\n")), _split(new), _line_end(new)
    if text.count("\n") < old.removesuffix("\n").count("\n"):
        raise LosesText  # the client does not look for more lines than the file has
    matched = _matched(text, start, end - ended, old_lines, letters=True)
    indents = _indents(matched)
    narrowed = indents is None
    if indents is None:
        head = int(old_lines[:1] == new_lines[:1])
        tail = int(_indents(matched[head:]) is None and old_lines[head:][-1:] == new_lines[head:][-1:])
        matched = [one._replace(number=one.number - head) for one in matched[head : len(matched) - tail]]
        old_lines, new_lines = old_lines[head : len(old_lines) - tail], new_lines[head : len(new_lines) - tail]
        if not matched or not new_lines or (tail and ended) or (head and len(new_lines) == len(old_lines) > 1):
            raise LosesText  # the client leaves a line as it was, or empty
        start, end = matched[0].start, end if ended else matched[-1].end
        indents = {one.given: one.in_file for one in matched if one.given != one.in_file}
    rest, line_feed, _ = ("", "", "") if ended else text[end:].partition("\n")
    if line_feed:
        rest = rest.removesuffix("\r")
    lines, kept = _trimmed(text, matched, old_lines, new_lines, narrowed=narrowed, rest=rest) if new else ([], {})
    if strip(rest) and lines and len(lines) - 1 not in kept and not strip(new_lines[-1]) and line_end == "\r\n":
        raise LosesText  # the client leaves a CR in the middle of the line
    before = indentation(text[text.rfind("\n", 0, start) + 1 : start], BLANKS)
    if matched[0].number not in kept and before.strip(" \t"):
        raise LosesText  # the client takes a byte order mark and other white space off the line that the place is in
    if matched[-1].number not in kept and rest != rest.rstrip(BLANKS):
        end, lines = end + len(rest), lines or [""]
        return start, end, line_end.join(_lines(lines, kept, indents)) + rest.rstrip(BLANKS)
    return start, end, line_end.join(_lines(lines, kept, indents))


def _trimmed(
    text: str, matched: Sequence[Matched], old: Sequence[str], new: Sequence[str], *, narrowed: bool, rest: str
) -> tuple[Sequence[str], dict[int, str]]:
    """The lines of `new` without blank lines at its ends, and the file's spelling of those that keep it.

    `rest` is what follows on the last line.
    """
    blank, new_blank = _blank_lines(old), _blank_lines(new)
    if blank and new_blank:
        if new_blank < blank or not strip(old[-1]):
            raise LosesText
        old, new, new_blank = old[blank:], new[blank:], new_blank - blank
        matched = [one._replace(number=one.number - blank) for one in matched]
    fewer = len(new) < len(old)
    old = old[: len(old) - _blank_lines(old[::-1])]
    lines = new[new_blank : len(new) - _blank_lines(new[new_blank:][::-1])]
    same = _same(old, new)
    kept = {one.number: text[one.start : one.end] for one in matched if one.number in same}
    height = _height(matched)
    if not kept or ((fewer or narrowed) and len(lines) != len(old)):
        return lines, {}
    if len(lines) < len(old):
        if len(lines) == height:
            raise LosesText  # the client keeps some of these lines, and others not
        return lines, {}
    if new_blank or (len(lines) != len(old) and (blank or (rest and len(old) - 1 in kept))):
        raise LosesText  # the client puts a line of the file in the place of another line of the new text
    if len(lines) == height:
        # Then the client keeps the file's lines by their numbers, blank ones too.
        there = {one.line - matched[0].line: one for one in matched}
        if {there[index].number for index in same if index in there} != kept.keys():
            raise LosesText
        kept = {index: text[there[index].start : there[index].end] if index in there else "" for index in same}
    return lines, kept


def _height(matched: Sequence[Matched]) -> int:
    """How many lines of the file a place has."""
    return matched[-1].line - matched[0].line + 1 if matched else 0


def _matched(text: str, start: int, end: int, old: Sequence[str], *, letters: bool) -> list[Matched]:
    """Which part of the file each line of the old text was found as. Blank lines stand for none."""
    indent = _plain_indentation if letters else indentation
    given = [(index, line) for index, line in enumerate(old) if strip(line)]
    found: list[tuple[int, int, int]] = []
    position = start
    for number, line in enumerate(text[start:end].split("\n")):
        if strip(line):
            found.append((number, position, position + len(line) - line.endswith("\r")))
        position += len(line) + 1
    if len(given) != len(found):
        raise LosesText
    return [
        Matched(index, number, first, last, indent(line), indent(_line_at(text, first)))
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
        if one.given != one.in_file and indents.setdefault(one.given, one.in_file) != one.in_file:
            return None
    return indents


def reindented(old: Sequence[str], there: Sequence[str], new: Sequence[str]) -> list[str] | None:
    """The lines of `new` with the indentation that the file's lines have in place of the old ones'; `None` where one
    stands for several."""
    pairs = [(one, other) for one, other in zip(old, there, strict=True) if strip(one)]
    indents = _indents([Matched(0, 0, 0, 0, indentation(one), indentation(other)) for one, other in pairs])
    return None if indents is None else [_indented(line, indents) for line in new]


def _same(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Which lines are the same in the same place."""
    return [index for index, (one, other) in enumerate(zip(old, new, strict=False)) if one == other]


def _lines(new: Sequence[str], kept: Mapping[int, str], indents: Mapping[str, str]) -> list[str]:
    return [kept[index] if index in kept else _indented(line, indents) for index, line in enumerate(new)]


def _indented(line: str, indents: Mapping[str, str]) -> str:
    depth = indentation(line)
    given = max((one for one in indents if depth.startswith(one)), key=len, default=None)
    return line if given is None or not strip(line) else indents[given] + line[len(given) :]


def _blank_lines(lines: Sequence[str]) -> int:
    """How many lines at the beginning are blank."""
    return next((index for index, line in enumerate(lines) if strip(line)), len(lines))


def indentation(text: str, blanks: str = " \t") -> str:
    return text[: len(text) - len(text.lstrip(blanks))]


def _plain_indentation(text: str) -> str:
    """The indentation with every wide space in it as a plain one."""
    return indentation(unicodedata.normalize("NFKC", indentation(text, BLANKS)))


def indentation_at(text: str, place: int, blanks: str = " \t") -> str:
    """The indentation of the line that a place is in."""
    return indentation(_line_at(text, place), blanks)


def _line_at(text: str, place: int) -> str:
    line = text.rfind("\n", 0, place) + 1
    end = text.find("\n", line)
    return text[line : len(text) if end < 0 else end]


def after_line_end(text: str, place: int) -> int:
    """The place after the line end that begins at a place, if one does."""
    return place + (2 if text.startswith("\r\n", place) else text.startswith("\n", place))
