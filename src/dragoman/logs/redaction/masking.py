"""Secrets that are known, found in texts in the forms that common programs give them, and masked.

Rules: a secret is found as it is (also with colours within), percent-encoded, with the escapes of JSON, HTML or a
shell, in base64 (in either alphabet, among other bytes, over several lines), in hexadecimal (in one piece, with
separators, or as `xxd`, `hexdump` and `od` print it) and with blanks between its characters (`od -c`). Encryption,
compression and reversal are not undone. A text that comes in pieces is masked as it would be in one: what may begin a
secret is held back until it is known.
"""

from __future__ import annotations

import json
import re
import string
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

MASK: Final = "********"
SHORTEST: Final = 8
"""A shorter value is no secret: its letters would be found in too many words."""

_LONGEST_PIECE: Final = 96
_PIECE: Final = 48  # bytes; a multiple of 3, so that in base64 one piece begins where the one before ends
_CONTEXT: Final = 120
"""Characters before a form that can matter to it: what makes a line one of a dump."""
_FEW: Final = 4
"""Atoms that say little: as many as are searched for first."""
_LONGEST_OPENING: Final = 400

Atom = tuple[str, ...]
"""One part of a form: the texts that may stand there, the shortest first."""

_NO, _CUT = -1, -2


class _Gap(NamedTuple):
    """What may stand between two atoms."""

    whole: re.Pattern[str]
    cut: re.Pattern[str]
    """What the end of a text may leave of it."""
    after: re.Pattern[str] | None = None
    """What must stand before the form: else a few letters and a line end would begin one."""
    always: bool = False
    """Whether that is so everywhere, and not only after the first atoms."""


def _gap(whole: str, cut: str, after: str | None = None, *, always: bool = False) -> _Gap:
    return _Gap(re.compile(whole), re.compile(cut), None if after is None else re.compile(after), always)


# A line end, or one in JSON.
_NL: Final = r"(?:\r?\n|(?:\\+r)?\\+n)"
_CUT_NL: Final = r"(?:\r|\\+r?\\*)?"
_OFFSET: Final = r"(?:\A|\n|\\n)[ \t]{0,4}[0-9a-fA-F]{6,16}[:.]?[ \t]{1,3}"
_WRAP: Final = _gap(
    rf"[ \t]{{0,8}}{_NL}[ \t]{{0,8}}|[ \t]{{1,2}}",
    rf"[ \t]{{0,8}}(?:{_CUT_NL}|{_NL}[ \t]{{0,8}})",
    r"(?:[A-Za-z0-9+/_-]{16}|(?:\A|\n)[A-Za-z0-9+/_-]{4,15})\Z",
)
_BETWEEN_BYTES: Final = _gap(
    r"""[ \t]{0,2}['"]?[:;,.\-_|]?[ \t]{0,2}['"]?(?:0x|\\+x)?""",
    r"""[ \t]{0,2}['"]?[:;,.\-_|]?[ \t]{0,2}['"]?(?:0|\\+)?""",
)
_HEX_WRAP: Final = _gap(
    rf"[ \t]{{0,3}},?[ \t]{{0,3}}{_NL}[ \t]{{0,8}}(?:0x)?",
    rf"[ \t]{{0,3}},?[ \t]{{0,3}}(?:{_CUT_NL}|{_NL}[ \t]{{0,8}}0?)",
    r"(?:[0-9a-fA-F]{8}|(?:[0-9a-fA-F]{2}[ :]|0x[0-9a-fA-F]{2}, ?){4}(?:0x)?)\Z",
)
_DUMP: Final = _gap(
    # The rest of a line (its text column) and the offset of the next.
    rf"(?:[ \t]{{1,60}}[^\n]{{1,20}})?[ \t]{{0,3}}{_NL}[ \t]{{0,4}}[0-9a-fA-F]{{6,16}}[:.]?[ \t]{{1,3}}",
    rf"(?:[ \t]{{1,60}}[^\n]{{0,20}})?[ \t]{{0,3}}(?:{_CUT_NL}|{_NL}[ \t]{{0,4}}[0-9a-fA-F]{{0,16}}[:.]?[ \t]{{0,3}})",
    rf"{_OFFSET}(?:[0-9a-fA-F]{{2,4}}[ \t]{{0,2}}){{0,32}}\Z",
    always=True,
)
_BLANKS: Final = _gap(r"[ \t]{1,3}", r"[ \t]{0,3}")
_TEXT_DUMP: Final = _gap(
    rf"[ \t]{{0,3}}{_NL}[ \t]{{0,4}}[0-7]{{6,16}}[ \t]{{1,3}}",
    rf"[ \t]{{0,3}}(?:{_CUT_NL}|{_NL}[ \t]{{0,4}}[0-7]{{0,16}}[ \t]{{0,3}})",
    rf"{_OFFSET}(?:[^ \t\n]{{1,3}}[ \t]{{1,3}}){{0,16}}\Z",
    always=True,
)
# They only have to let through all that the gaps do, in the places where these are looked at.
_LOOSE_WRAP: Final = r"(?:[\s\\][\s\\rn]{0,24})?"
_LOOSE_BYTES: Final = r"""(?:[ \t:;,.\-_|'"0x\\]{0,10}|[^\n]{0,90}(?:\n|\\n)[ \t0-9a-fA-Fx:.]{0,26})"""
_LOOSE_TEXT: Final = r"(?:[ \t]{1,3}|[\s\\][\s\\rn]{0,9}[ \t0-7]{0,26})"
_REST_OF_LINE: Final = re.compile(r"(?:[^\n\\]|\\(?!n)){0,100}")
# `grep --color` and others that highlight write these within a word.
_STYLE: Final = re.compile(r"(?:\x1b\[[0-9;:]{0,20}[mK]){1,4}")
_CUT_STYLE: Final = re.compile(r"(?:\x1b\[[0-9;:]{0,20}[mK]){0,3}\x1b(?:\[[0-9;:]{0,20})?")
_LOOSE_STYLE: Final = rf"(?:{_STYLE.pattern})?"
# Where a character may be written as something longer.
_ESCAPE: Final = r"%[0-9A-Fa-f]|\\(?:[ux0-7]|[^\w\s])|&[#a-z]|'\\?\"'"


class _Found(NamedTuple):
    """How far a form goes from somewhere; `open` when more text could change that."""

    end: int
    open: bool


class _Form(NamedTuple):
    """One way in which a secret may be written."""

    atoms: tuple[Atom, ...]
    gaps: tuple[_Gap, ...] = ()
    loosely: str = ""
    """A quick pattern for all that may stand between the first atoms, and more."""
    apart: bool = False
    """Whether there must be a gap between any two atoms."""

    def at(self, text: str, start: int) -> _Found | None:
        """The form at a place of a text, or what may become it; `None` when it is not there."""
        if not self.gaps:
            return self._unbroken(text, start)
        # Every way to read it counts: what stands between two bytes in a dump may look like a byte, too.
        reached = {(start, False)}
        is_cut = False
        for number, atom in enumerate(self.atoms):
            ends: set[tuple[int, bool]] = set()
            for position, dumped in reached:
                if not (number and self.apart):
                    ends.add((_step(atom, text, position), dumped))
                if number:
                    ends.update(self._beyond_gaps(atom, text, position, start, number, dumped=dumped))
            is_cut = is_cut or any(end == _CUT for end, _ in ends)
            reached = {(end, dumped) for end, dumped in ends if end >= 0}
            if not reached:
                return _Found(_CUT, open=True) if is_cut else None
        found = [self._whole(text, end, start, dumped=dumped) for end, dumped in reached]
        return _Found(max(one.end for one in found), open=is_cut or any(one.open for one in found))

    def _whole(self, text: str, end: int, start: int, *, dumped: bool) -> _Found:
        """The form with the rest of its line, where it is one of a dump."""
        if _DUMP not in self.gaps or not (dumped or _stands_after(_DUMP, text, start)):
            return _Found(end, open=False)
        rest = _REST_OF_LINE.match(text, end)
        end = rest.end() if rest else end
        return _Found(end, open=end == len(text))

    def _unbroken(self, text: str, start: int) -> _Found | None:
        """The same without gaps. One text of an atom may begin another: `%` stands for itself in `%25` as well."""
        positions, is_cut = {start}, False
        for number, atom in enumerate(self.atoms):
            reached: set[int] = set()
            if number and any(text.startswith("\x1b", position) for position in positions):
                positions |= {found.end() for one in positions if (found := _STYLE.match(text, one))}
                is_cut = is_cut or any(_CUT_STYLE.fullmatch(text, position) for position in positions)
            for position in positions:
                for one in atom:
                    if text.startswith(one, position):
                        reached.add(position + len(one))
                    elif len(text) - position < len(one) and one.startswith(text[position:]):
                        is_cut = True
            positions = reached
            if not positions:
                return _Found(_CUT, open=True) if is_cut else None
        return _Found(max(positions), open=is_cut)

    def _beyond_gaps(
        self, atom: Atom, text: str, position: int, start: int, number: int, *, dumped: bool
    ) -> Iterator[tuple[int, bool]]:
        """Where an atom ends that stands behind a gap, and whether the form is part of a dump."""
        for gap in self.gaps:
            if gap.after is not None and (gap.always or number < _FEW) and not _stands_after(gap, text, start):
                continue
            found = gap.whole.match(text, position)
            if found is not None:
                yield _step(atom, text, found.end()), dumped or gap is _DUMP
            if gap.cut.fullmatch(text, position):
                yield _CUT, dumped


def _stands_after(gap: _Gap, text: str, start: int) -> bool:
    return gap.after is not None and gap.after.search(text[max(0, start - _CONTEXT) : start]) is not None


def _step(atom: Atom, text: str, position: int) -> int:
    """Where an atom at a place of a text ends."""
    for one in atom:
        if text.startswith(one, position):
            return position + len(one)
        if len(text) - position < len(one) and one.startswith(text[position:]):
            return _CUT
    return _NO


# ── forms ────────────────────────────────────────────────────────────────────


def _forms(secret: str) -> Iterator[_Form]:
    for spelled in {secret: None, (once := _in_json(secret)): None, _in_json(once): None}:
        yield _Form(tuple(map(_escaped, spelled)), loosely=_LOOSE_STYLE)
    data = secret.encode(errors="surrogatepass")
    for before in range(3):
        yield _Form(_base64(data, before), (_WRAP,), _LOOSE_WRAP)
    yield _Form(tuple(_cases(f"{byte:02x}") for byte in data), (_BETWEEN_BYTES, _HEX_WRAP, _DUMP), _LOOSE_BYTES)
    for size, first in ((2, 0), (2, 1), (4, 0), (4, 1), (4, 2), (4, 3)):
        # Words of several bytes, the last first; a byte that shares its word with other bytes is left out.
        words = [data[at : at + size] for at in range(first, len(data) - size + 1, size)]
        if size * len(words) >= min(6, len(data) // 2):
            yield _Form(tuple(_cases(one[::-1].hex()) for one in words), (_BLANKS, _DUMP), _LOOSE_BYTES, apart=True)
    if secret.isprintable():
        yield _Form(tuple((one,) for one in secret), (_BLANKS, _TEXT_DUMP), _LOOSE_TEXT, apart=True)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


@lru_cache(maxsize=1024)
def _escaped(char: str) -> Atom:
    """A character, as it is or as something that stands for it."""
    code, data = ord(char), char.encode(errors="surrogatepass")
    found = {char}
    for sign in ("%", "%25"):
        found |= {"".join(sign + format(byte, how) for byte in data) for how in ("02x", "02X")}
    for slashes in ("\\", "\\\\", "\\\\\\\\"):
        found |= {f"{slashes}u{code:{how}}" for how in ("04x", "04X")}
        if code < 256:
            found |= {f"{slashes}x{code:{how}}" for how in ("02x", "02X")} | {f"{slashes}{code:03o}"}
        found |= {"".join(f"{slashes}x{byte:{how}}" for byte in data) for how in ("02x", "02X")}
        found.add("".join(f"{slashes}{byte:03o}" for byte in data))
        if char in _PUNCTUATION:  # `printf %q` in a shell
            found.add(f"{slashes}{char}")
    found |= {f"&#{code};", f"&#x{code:x};", f"&#x{code:X};"} | _NAMED.get(char, set())
    return tuple(sorted(found, key=lambda one: (len(one), one)))


_PUNCTUATION: Final = frozenset(string.punctuation + " ")
_NAMED: Final = {
    " ": {"+"},
    "/": {"\\/"},
    "&": {"&amp;"},
    "<": {"&lt;"},
    ">": {"&gt;"},
    # Python's `repr` escapes a quote or not, depending on which others are there.
    '"': {"&quot;", '\\"', '\\\\\\"'},
    # The last four are those of a shell, as people write it and as Python's `shlex.quote` does; also in JSON.
    "'": {"&apos;", "\\'", "\\\\\\'", "'\\''", "'\\\\''", "'\"'\"'", "'\\\"'\\\"'"},
    "\\": {"\\\\", "\\\\\\\\"},
}


def _base64(data: bytes, before: int) -> tuple[Atom, ...]:
    """The characters that bytes have in base64, when so many bytes (modulo 3) stand before them.

    The first is left out where it also holds bits of a byte before; for the last, all that are possible count.
    """
    start = (8 * before + 5) // 6
    end, bits = divmod(8 * (before + len(data)), 6)
    lowest = b64encode(bytes(before) + data + bytes(3)).decode()
    atoms = [_either_alphabet(one) for one in lowest[start:end]]
    if bits:
        first = _ALPHABET.index(lowest[end])
        possible = _ALPHABET[first : first + (1 << (6 - bits))]
        atoms.append(tuple(chain.from_iterable(map(_either_alphabet, possible))))
    return tuple(atoms)


_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _either_alphabet(char: str) -> Atom:
    return {"+": ("+", "-"), "/": ("/", "_", "\\/")}.get(char, (char,))


@lru_cache(maxsize=1024)
def _cases(digits: str) -> Atom:
    return tuple(dict.fromkeys((digits, digits.upper(), digits.capitalize(), digits[0] + digits[1:].upper())))


# ── masking ──────────────────────────────────────────────────────────────────


class Masker:
    """Masks some secrets in texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        pieces = dict.fromkeys(chain.from_iterable(map(_pieces, secrets)))
        forms = dict.fromkeys(form for piece in pieces for form in _forms(piece))
        self._by_first: dict[str, list[_Form]] = {}
        for form in forms:
            for first in {one[0] for one in form.atoms[0]}:
                self._by_first.setdefault(first, []).append(form)
        openings = sorted(set(map(_opening, forms)))
        self._opening = re.compile("|".join(openings)) if openings else None
        self._escape = re.compile(_ESCAPE + (r"|\+" if any(" " in piece for piece in pieces) else ""))

    def text(self, text: str, instead: Callable[[str], str] = lambda _: MASK) -> str:
        """A text with all secrets in it masked; `instead` is given what is masked and says what to write."""
        released, rest = self._released(text, 0, closing=True, instead=instead)
        return released + text[rest:]

    def stream(self) -> MaskedStream:
        """A text that comes in pieces."""
        return MaskedStream(self)

    def _released(
        self, text: str, start: int, *, closing: bool, instead: Callable[[str], str] = lambda _: MASK
    ) -> tuple[str, int]:
        """What is masked of a text from some place on, and up to where that is certain."""
        if self._opening is None:
            return text[start:], len(text)
        parts: list[str] = []
        position = start
        held = len(text) if closing else self._held(text, start)
        for place in self._places(text, start):
            if place < position:
                continue
            if place >= held:
                break
            found = [one for form in self._by_first.get(text[place], ()) if (one := form.at(text, place)) is not None]
            if not closing and any(one.open for one in found):
                held = place
                break
            end = max((one.end for one in found), default=_NO)
            if end > place:
                parts += (text[position:place], instead(text[place:end]))
                position = end
                if not closing and position > held:
                    held = self._held(text, position)
        held = max(held, position)
        parts.append(text[position:held])
        return "".join(parts), held

    def _held(self, text: str, start: int) -> int:
        """Where, near the end of a text, something begins that may become a secret."""
        for place in range(max(start, len(text) - _LONGEST_OPENING), len(text)):
            for form in self._by_first.get(text[place], ()):
                found = form.at(text, place)
                if found is not None and found.open:
                    return place
        return len(text)

    def _places(self, text: str, start: int) -> Iterator[int]:
        """The places at which a secret may begin, in order."""
        if self._opening is None:
            return
        escapes = self._near_escapes(text, start)
        escaped = next(escapes, None)
        position = start
        while True:
            opening = self._opening.search(text, position)
            opened = None if opening is None else opening.start()
            while escaped is not None and (opened is None or escaped < opened):
                yield escaped
                escaped = next(escapes, None)
            if opened is None:
                return
            if escaped == opened:
                escaped = next(escapes, None)
            yield opened
            position = opened + 1

    def _near_escapes(self, text: str, start: int) -> Iterator[int]:
        """The places from which an escape can be one of the first atoms."""
        looked_at = start
        for escape in self._escape.finditer(text, start):
            # An escape is at most ten characters long, and as many as three may stand before this one.
            for place in range(max(looked_at, escape.start() - 10 * (_FEW - 1)), escape.start() + 1):
                if text[place] in self._by_first:
                    yield place
            looked_at = escape.start() + 1


class MaskedStream:
    """A text that comes in pieces and leaves masked. What is held back comes with a later piece, or with `end`."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._text = ""
        self._start = 0

    def add(self, piece: str) -> str:
        """The next piece; what of the text so far is certain."""
        return self._release(piece, closing=False)

    def end(self) -> str:
        """The rest: there is no more to come."""
        return self._release("", closing=True)

    def _release(self, piece: str, *, closing: bool) -> str:
        self._text += piece
        released, certain = self._masker._released(self._text, self._start, closing=closing)
        kept = max(0, certain - _CONTEXT)
        self._text, self._start = self._text[kept:], certain - kept
        return released


def _pieces(secret: str) -> Iterator[str]:
    """What is looked for: a secret, or, when it is long or has several lines, each of its parts."""
    for line in secret.splitlines():
        line = line.strip()
        if len(line) < SHORTEST or line.startswith("-----"):
            continue
        while len(line) > _LONGEST_PIECE:
            yield line[:_PIECE]
            line = line[_PIECE:]
        yield line


def _opening(form: _Form) -> str:
    """A pattern for the first atoms of a form, as they are without escapes."""
    few = form.atoms[: _FEW if len(form.atoms[0][0]) == 1 else _FEW // 2]
    return form.loosely.join(map(_one_of, few))


def _one_of(atom: Atom) -> str:
    plain = [one for one in atom if len(one) == len(atom[0])]  # the shortest
    return re.escape(plain[0]) if len(plain) == 1 else f"(?:{'|'.join(map(re.escape, plain))})"
