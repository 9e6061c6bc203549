"""Texts compared while something is overlooked: the shape of quotes, white space, case, and where it stood."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from dragoman.model.edit_rules import Fold

QUOTES: Final = str.maketrans(dict.fromkeys("‘’", "'") | dict.fromkeys("“”", '"'))
TYPOGRAPHY: Final = str.maketrans(
    dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
"""The characters that Codex (0.166.0), Qwen Code (0.24.4) and pi (0.87.1) take for their plain forms."""
_ELLIPSIS: Final = str.maketrans(
    dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("“”„‟", '"') | dict.fromkeys("‐‑‒–—―", "-") | {"…": "...", "\u00a0": " "}
)
"""Those of opencode's patches (1.18.33)."""
_WITH_GUILLEMETS: Final = str.maketrans(
    dict.fromkeys("‘’‛", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‐‑‒–—−", "-")
    | dict.fromkeys("\u00a0\u202f", " ")
)
"""Those of Cline's patches (3.0.65)."""

_SIGNS: Final = (
    dict.fromkeys("‹›", "'")
    | dict.fromkeys("«»", '"')
    | dict.fromkeys("•·", "*")
    | {"×": "x", "÷": "/", "≤": "<=", "≥": ">=", "≈": "~", "©": "(c)", "®": "(r)"}
)
"""What Copilot CLI (1.0.102) takes for these beside the typography; seen on loopback, one sign after the other."""
WIDE_BLANKS: Final = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_WITHIN_LINES: Final = " \t\v\f\ufeff" + WIDE_BLANKS
BLANKS: Final = "\n\r" + _WITHIN_LINES
"""White space as JavaScript has it, in which the clients that edit texts are written. Python's has five control
characters and U+0085 more, and no byte order mark."""
_WHITE: Final = f"[{BLANKS}]"
_BLANK: Final = f"[\r{_WITHIN_LINES}]"
BLANKS_AT_ENDS: Final = re.compile(f"[{_WITHIN_LINES}]+(?=[\r\n]|\\Z)")
"""Those at the ends of lines, where a lone CR ends one too."""
_WORDS = re.compile(f"[^{BLANKS}]+")


def without_blanks_at_ends(text: str, path: str) -> str:
    """A text without the blanks at the ends of its lines, unless it is Markdown, where they mean a break."""
    # Claude Code 2.1.325 leaves them in `.md` and `.mdx`, and not in `.markdown` or `.qmd`.
    return text if path.lower().endswith((".md", ".mdx")) else BLANKS_AT_ENDS.sub("", text)


def strip(text: str) -> str:
    """A text without the white space at its ends."""
    return text.strip(BLANKS)


def split(text: str) -> list[str]:
    """The words between white space."""
    return _WORDS.findall(text)


_ESCAPED = re.compile(r"\\([ntr'\"`\\$]|\n)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_QUOTE_ESCAPE = re.compile(r"\\([`'\"])")
_HEX = "[0-9a-fA-F]"
_UNICODE_ESCAPE = re.compile(rf"(?<!\\)\\u(?:[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}|{_HEX}{{4}})")


class Folded(NamedTuple):
    """A text in which something is overlooked, and where each of its characters began and ended in the first text.

    Without `starts` every character is still at its place.
    """

    text: str
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the first text that a part of this one stands for; `end` is after `start`."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]

    def cuts(self, place: int) -> bool:
        """Whether a place is within one character of the first text, or between a letter and its accent."""
        if not 0 < place < len(self.text):
            return False
        within = self.starts is not None and self.starts[place - 1] == self.starts[place]
        return within or unicodedata.combining(self.text[place]) > 0

    def only(self, indices: Iterable[int]) -> Folded:
        """Only the characters at these places."""
        chosen = list(indices)
        text = "".join([self.text[index] for index in chosen])
        if self.starts is None or self.ends is None:
            return Folded(text, chosen, [index + 1 for index in chosen])
        return Folded(text, [self.starts[index] for index in chosen], [self.ends[index] for index in chosen])

    def without(self, pattern: re.Pattern[str]) -> Folded:
        """Without what a pattern matches."""
        kept: list[int] = []
        position = 0
        for found in pattern.finditer(self.text):
            kept += range(position, found.start())
            position = found.end()
        return self if position == 0 else self.only([*kept, *range(position, len(self.text))])


def folded(text: str, folds: Sequence[Fold]) -> Folded:
    """A text with all of these overlooked, in their order."""
    found = Folded(text)
    for fold in folds:
        found = _FOLDS[fold](found)
    return found


def folded_text(text: str, folds: Sequence[Fold]) -> str:
    """`folded`, where nobody asks for places."""
    return folded(text, folds).text


_BLANKS_AT_ENDS = re.compile(rf"{_BLANK}+(?=\n|\Z)")
_BLANKS_AROUND = re.compile(rf"(?:^{_BLANK}+|{_BLANK}+(?=\n|\Z))", re.MULTILINE)
_SPACE = re.compile(f"{_WHITE}+")
_BLANK_LINE = re.compile(rf"^{_BLANK}*\n", re.MULTILINE)
_SEMICOLON = re.compile(rf";+(?={_BLANK}*(?:\n|\Z))")


def _same_length(change: Callable[[str], str]) -> Callable[[Folded], Folded]:
    def fold(given: Folded) -> Folded:
        return given._replace(text=change(given.text))

    return fold


def _lower(text: str) -> str:
    lower = text.lower()
    # "İ" becomes two characters.
    return lower if len(lower) == len(text) else "".join([low if len(low := c.lower()) == 1 else c for c in text])


def _each(change: Callable[[str], str]) -> Callable[[Folded], Folded]:
    """Each character alone, as another one or as several."""

    def fold(given: Folded) -> Folded:
        pieces = [change(character) for character in given.text]
        text = "".join(pieces)
        if len(text) == len(pieces) and all(pieces):
            return given._replace(text=text)
        spans = [given.span(at, at + 1) for at, piece in enumerate(pieces) for _ in piece]
        return Folded(text, [start for start, _ in spans], [end for _, end in spans])

    return fold


def _composed(given: Folded) -> Folded:
    """Each character with the marks that follow it, in its one form."""
    text = given.text
    if text.isascii():
        return given
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    while position < len(text):
        end = position + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = unicodedata.normalize("NFKC", text[position:end])
        first, last = given.span(position, end)
        pieces.append(piece)
        starts += [first] * len(piece)
        ends += [last] * len(piece)
        position = end
    return Folded("".join(pieces), starts, ends)


def _collapsed(given: Folded) -> Folded:
    """Runs of white space as one space, none at the ends."""
    kept: list[int] = []
    spaces: set[int] = set()
    for found in _WORDS.finditer(given.text):
        if kept:
            spaces.add(len(kept))
            kept.append(found.start() - 1)
        kept += range(found.start(), found.end())
    chosen = given.only(kept)
    return chosen._replace(text="".join([" " if n in spaces else c for n, c in enumerate(chosen.text)]))


def _dedented(given: Folded) -> Folded:
    lines = given.text.split("\n")
    depths = [len(line) - len(line.lstrip(BLANKS)) for line in lines if strip(line)]
    least = min(depths, default=0)
    kept: list[int] = []
    position = 0
    for line in lines:
        kept += range(position + (least if strip(line) else 0), position + len(line))
        kept.append(position + len(line))
        position += len(line) + 1
    return given.only(kept[:-1])


def _trimmed_whole(given: Folded) -> Folded:
    start = len(given.text) - len(given.text.lstrip(BLANKS))
    return given.only(range(start, max(start, len(given.text.rstrip(BLANKS)))))


_FOLDS: Final[dict[Fold, Callable[[Folded], Folded]]] = {
    "right_trim": lambda given: given.without(_BLANKS_AT_ENDS),
    "trim": lambda given: given.without(_BLANKS_AROUND),
    "trim_whole": _trimmed_whole,
    "spaces": _collapsed,
    "no_spaces": lambda given: given.without(_SPACE),
    "no_blank_lines": lambda given: given.without(_BLANK_LINE),
    "dedent": _dedented,
    "quotes": _same_length(lambda text: text.translate(QUOTES)),
    "typography": _same_length(lambda text: text.translate(TYPOGRAPHY)),
    # For whole lines alone: nobody asks where a character stood.
    "typography_ellipsis": lambda given: Folded(given.text.translate(_ELLIPSIS)),
    "typography_nfc": lambda given: Folded(unicodedata.normalize("NFC", given.text).translate(_WITH_GUILLEMETS)),
    "quote_escapes": lambda given: Folded(_QUOTE_ESCAPE.sub(r"\1", given.text)),
    "nfkc": _composed,
    "nfkd": _each(lambda character: unicodedata.normalize("NFKD", character)),
    "case": _same_length(_lower),
    "letter_case": _each(str.lower),
    "signs": _each(lambda character: _SIGNS.get(character, character)),
    # Only the text of a call is written with escapes; see `unescaped`.
    "escapes": lambda given: given,
    "unicode_escapes": lambda given: given,
    "upper_unicode_escapes": lambda given: given,
    "line_end_semicolon": lambda given: given.without(_SEMICOLON),
}


def unescaped(text: str, folds: Sequence[Fold]) -> str:
    """A text of a call with the characters that its escapes stand for, where the step overlooks them."""
    if "escapes" in folds:
        text = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)
    return text


def decoded_escapes(text: str) -> str:
    """A text with the characters that `\\uXXXX` stands for; control characters and halves of characters stay."""
    return _UNICODE_ESCAPE.sub(_decoded, text)


def _decoded(escape: re.Match[str]) -> str:
    units = [int(unit, 16) for unit in escape[0].split("\\u")[1:]]
    if units[0] < 0x20 or (len(units) == 1 and 0xD800 <= units[0] <= 0xDFFF):
        return escape[0]
    return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be")


def escaped(text: str, *, upper: bool = False) -> str:
    """A text with every character beyond ASCII as `\\uXXXX`."""
    form = "\\u{:04X}" if upper else "\\u{:04x}"
    return "".join([character if character.isascii() else _units(character, form) for character in text])


def _units(character: str, form: str) -> str:
    data = character.encode("utf-16-be")
    return "".join([form.format(int.from_bytes(data[at : at + 2], "big")) for at in range(0, len(data), 2)])


# ── how much two texts differ ────────────────────────────────────────────────


def distance(one: str, other: str) -> int:
    """How many characters must be put in, taken out or changed to make one text the other (Levenshtein).

    By the method of Myers with a word of any length: Python's whole numbers have no end.
    """
    if len(one) > len(other):
        one, other = other, one
    if not one:
        return len(other)
    places: dict[str, int] = {}
    for index, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << index
    every = (1 << len(one)) - 1
    last = 1 << (len(one) - 1)
    more, less, score = every, 0, len(one)
    for character in other:
        here = places.get(character, 0)
        crossing = here | less
        across = (((here & more) + more) ^ more) | here
        up = less | ~(across | more) & every
        down = more & across
        if up & last:
            score += 1
        elif down & last:
            score -= 1
        up = (up << 1) | 1
        down <<= 1
        more = (down | ~(crossing | up)) & every
        less = up & crossing & every
    return score
