"""Text made visible: every character of it can be seen on a terminal.

Rule: what is shown can be read back. A character that steers a terminal, turns the direction of text or cannot be seen
is written out (`\\x1b`, `\\u202e`), and which ones were is counted, so that it can be told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final
from unicodedata import category, combining

# Python calls these printable, and yet nothing is to be seen: marks without a form, fillers that look like a space,
# and what chooses between forms of the character before it (any bytes can be hidden in a row of those).
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)


# More marks than any language puts on one letter, most of them over one another: any bytes can be hidden in a heap.
_MOST_MARKS: Final = 4
_OVERLAY: Final = 1
"""The combining class of strokes, which make a text look crossed out, or a letter look like another one."""


def visible(text: str, written_out: Counter[str] | None = None) -> str:
    """The text with everything that cannot be seen written out; line breaks and tabs stay. Counts what it wrote out."""
    if text.isascii() and text.isprintable():
        return text
    found = set(text)
    hidden: dict[str, str | int | None] = {
        one: _written_out(one) for one in sorted(found) if one not in "\t\n" and _is_hidden(one)
    }
    if hidden:
        if written_out is not None:
            for one, said in hidden.items():
                written_out[str(said)] += text.count(one)
        text = text.translate(str.maketrans(hidden))
    marks = {one for one in found if not one.isascii() and category(one) == "Mn"}
    return _without_heaps(text, marks, written_out) if marks else text


def _is_hidden(character: str) -> bool:
    if not character.isprintable() or _UNSEEN.match(character) is not None:
        return True
    # What encloses the letter before it, as a circle or a bar does, hides it.
    return not character.isascii() and (category(character) == "Me" or combining(character) == _OVERLAY)


def _without_heaps(text: str, marks: set[str], written_out: Counter[str] | None) -> str:
    """Marks that stand on no letter of the text, or on too many others, written out."""
    pieces: list[str] = []
    on = _MOST_MARKS  # a mark at the start of a line would be drawn on what stands before the text
    for character in text:
        if character not in marks:
            on = _MOST_MARKS if character in "\n\t " else 0
        elif on < _MOST_MARKS:
            on += 1
        else:
            character = _written_out(character)
            if written_out is not None:
                written_out[character] += 1
        pieces.append(character)
    return "".join(pieces)


def _written_out(character: str) -> str:
    # A byte that is not of its file's encoding travels through text as a lone surrogate.
    byte = ord(character) - 0xDC00
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else character.encode("unicode_escape").decode("ascii")


def one_line(text: str, written_out: Counter[str] | None = None) -> str:
    """The same for text that must stay on one line: breaks and tabs are written out as well."""
    for character, said in (("\n", "\\n"), ("\t", "\\t")):
        if written_out is not None and character in text:
            written_out[said] += text.count(character)
    return visible(text, written_out).replace("\n", "\\n").replace("\t", "\\t")


_SHORTER: Final = 24
"""Columns of a row that may stay empty so that a word is not torn apart."""


def wrapped(text: str, width: int, *, words: bool = False) -> Iterator[str]:
    """A line in pieces of at most so many columns; a tab counts as eight, which is the most it takes.

    With `words` a piece ends after a space where one is near. Put together, the pieces are the line.
    """
    if not (text.isascii() and "\t" not in text):
        yield from _by_cells(text, width, words=words)
        return
    start = 0
    while len(text) - start > width:
        space = text.rfind(" ", start + max(1, width - _SHORTER), start + width) if words else -1
        end = start + width if space < 0 else space + 1
        yield text[start:end]
        start = end
    yield text[start:]


def _by_cells(text: str, width: int, *, words: bool) -> Iterator[str]:
    from rich.cells import get_character_cell_size

    start = columns = 0
    after_space = since_space = 0
    """Where the last space ends, and the columns that came after it."""
    for place, character in enumerate(text):
        size = 8 if character == "\t" else get_character_cell_size(character)
        if columns + size > width and place > start:
            torn = not words or after_space <= start or since_space > _SHORTER
            end = place if torn else after_space
            yield text[start:end]
            start, columns = end, 0 if torn else since_space
        columns += size
        since_space += size
        if character == " ":
            after_space, since_space = place + 1, 0
    yield text[start:]


def short(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
