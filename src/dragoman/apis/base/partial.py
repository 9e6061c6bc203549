"""A view of JSON that is still arriving, at a cost linear in its length.

Rule: the view holds what is certain. A text grows as it comes; a number, a word or a key appears when it has ended.
What comes after something that is no JSON, or a number of thousands of digits, is not read: the view stays as it was,
and `broken` says so.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner; the stubs do not list it
from typing import Any, Final, NoReturn

# What JSON takes for space and for digits is less than what `\s` and `\d` match.
_WS = r"[ \t\n\r]*"
_STRING = r'"([^"\\\x00-\x1f]*)"'
_SCALAR = (
    rf"(?:{_STRING}|(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?(?=[ \t\n\r,\]}}])"
    r"|(true|false|null)(?=[ \t\n\r,\]}]))"
)
_FIRST_MEMBER = re.compile(f"{_WS}{_STRING}{_WS}:{_WS}{_SCALAR}")
_NEXT_MEMBER = re.compile(f"{_WS},{_WS}{_STRING}{_WS}:{_WS}{_SCALAR}")
_FIRST_ITEM = re.compile(f"{_WS}(){_SCALAR}")
_NEXT_ITEM = re.compile(f"{_WS},{_WS}(){_SCALAR}")
_SPACE = re.compile(_WS)
# The group is the last escape of the first half of a surrogate pair.
_TEXT = re.compile(r'[^"\\]*(?:\\(?:(u[dD][89abAB][0-9a-fA-F]{2})|["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*')
_ESCAPE_BEGUN = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?=([ \t\n\r,\]}])|\Z)")
_NUMBER_BEGUN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?)?\Z")
_WORDS: Final = {"true": True, "false": False, "null": None}
_LONGEST_NUMBER: Final = 4300  # Python reads no longer integers
_NEXT_CONTAINER = re.compile(f"{_WS},{_WS}(?=[{{[])")
_FIRST_CONTAINER = re.compile(f"{_WS}(?=[{{[])")

_WINDOW: Final = 4096
"""Text is read in windows of this length, so that no number in a whole container is longer than `_LONGEST_NUMBER`."""
_TRIES: Final = 4
"""How many containers of a window may turn out not to be whole: each costs up to a window, so the cost is linear."""
_SHORTEST: Final = 64
"""Shorter pieces hold few whole containers: looking for them costs more than it saves."""

# What may come next.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END, _IN_TEXT, _IN_KEY, _NOTHING = range(9)


def _no_json(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity, which Python's decoder takes


_WHOLE = JSONDecoder(strict=False, parse_constant=_no_json).scan_once  # type: ignore[attr-defined]  # nor this one
_NO_JSON: Final = (ValueError, StopIteration, RecursionError)
_CLOSING: Final = {"{": "}", "[": "]"}


class PartialJson:
    """Fed text, it holds what the text says so far in `value`.

    The view is alive: its objects and lists are filled in place. Copy what you want to keep.
    """

    __slots__ = ("_expect", "_key", "_rest", "_stack", "_texts", "_tries", "broken", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.broken = False
        self._rest = ""
        self._expect = _VALUE
        self._stack: list[Any] = []
        self._key: list[Any] = []
        """For each open container, where in it the next value goes."""
        self._texts: list[str] = []
        """The pieces of a key that has not ended."""
        self._tries = 0

    @property
    def complete(self) -> bool:
        """Whether one whole value was read."""
        return self._expect == _NOTHING and not self.broken

    def feed(self, text: str) -> None:
        """Reads on."""
        for begin in range(0, len(text), _WINDOW):
            self._read(text[begin : begin + _WINDOW])

    def _read(self, text: str) -> None:
        if self.broken:
            return
        text = self._rest + text if self._rest else text
        self._rest = ""
        self._tries = _TRIES if len(text) >= _SHORTEST else 0
        place = 0
        while place < len(text) and not self.broken:
            if self._expect == _IN_TEXT or self._expect == _IN_KEY:
                following = self._in_text(text, place)
            else:
                following = self._scalars(text, place)
                if self._tries:
                    following = self._containers(text, following)
                following = self._step(text, following)
            if following is None:
                self._rest = text[place:]
                break
            place = following
            if self._rest:
                break

    # ── the common case: members and items that are whole ──────────────────

    def _scalars(self, text: str, place: int) -> int:
        """Reads as many whole texts, numbers and words of the innermost container as stand in a row."""
        if not self._stack:
            return place
        container = self._stack[-1]
        in_object = type(container) is dict
        expect = self._expect
        if expect == _COMMA_OR_END:
            pattern = _NEXT_MEMBER if in_object else _NEXT_ITEM
        elif expect == _KEY_OR_END:
            pattern = _FIRST_MEMBER
        elif expect == _VALUE_OR_END:
            pattern = _FIRST_ITEM
        else:
            return place
        following = _NEXT_MEMBER if in_object else _NEXT_ITEM
        while (found := pattern.match(text, place)) is not None:
            key, string, whole, fraction, exponent, word = found.groups()
            if string is not None:
                value: Any = string
            elif whole is None:
                value = _WORDS[word]
            else:
                number = f"{whole}{fraction or ''}{exponent or ''}"
                if len(number) > _LONGEST_NUMBER:
                    break
                value = int(number) if fraction is None and exponent is None else float(number)
            if in_object:
                container[key] = value
            else:
                container.append(value)
            place = found.end()
            self._expect = _COMMA_OR_END
            pattern = following
        return place

    def _containers(self, text: str, place: int) -> int:
        """Reads as many whole objects and lists of the innermost list as stand in a row."""
        container = self._stack[-1] if self._stack else None
        if type(container) is not list:
            return place
        if self._expect == _COMMA_OR_END:
            pattern = _NEXT_CONTAINER
        elif self._expect == _VALUE_OR_END:
            pattern = _FIRST_CONTAINER
        else:
            return place
        while self._tries and (found := pattern.match(text, place)) is not None:
            begin = found.end()
            values, end = self._whole_row(text, begin) or self._whole(text, begin) or ([], place)
            if not values:
                break
            container += values
            place = end
            self._expect = _COMMA_OR_END
            pattern = _NEXT_CONTAINER
        return place

    def _whole_row(self, text: str, place: int) -> tuple[list[Any], int] | None:
        """The objects or lists from `place` to the last one that a comma follows, and where they end."""
        closing = _CLOSING[text[place]]
        end = text.rfind(f"{closing},", place) + 1
        if not end or text.find(f"{closing},", place) == end - 1:
            return None
        row = f"[{text[place:end]}]"
        # The comma may be in a text or in an inner list, and then the row is no JSON; or behind this list, and then the
        # row ends too early.
        try:
            values, read = _WHOLE(row, 0)
        except _NO_JSON:
            read = 0
        if read == len(row):
            return values, end
        self._tries -= 1
        return None

    def _whole(self, text: str, place: int) -> tuple[list[Any], int] | None:
        """The object or list that begins at `place`, in a list, and where it ends; `None` when it is not whole JSON."""
        if text.find(_CLOSING[text[place]], place) > 0:
            try:
                value, end = _WHOLE(text, place)
            except _NO_JSON:
                pass
            else:
                return [value], end
        self._tries -= 1
        return None

    # ── one token ──────────────────────────────────────────────────────────

    def _step(self, text: str, place: int) -> int | None:
        """Reads one token; `None` when it has not ended."""
        place = _end(_SPACE.match(text, place))
        if place == len(text):
            return place
        character, expect = text[place], self._expect
        if character in "}]" and expect in (_KEY_OR_END, _VALUE_OR_END, _COMMA_OR_END):
            return self._close(character, place)
        if expect in (_KEY, _KEY_OR_END) and character == '"':
            self._expect = _IN_KEY
        elif expect == _COLON and character == ":":
            self._expect = _VALUE
        elif expect == _COMMA_OR_END and character == ",":
            self._expect = _KEY if type(self._stack[-1]) is dict else _VALUE
        elif expect in (_VALUE, _VALUE_OR_END):
            return self._value(text, place, character)
        else:
            self.broken = True
        return place + 1

    def _value(self, text: str, place: int, character: str) -> int | None:
        if character == '"':
            self._put("")
            self._expect = _IN_TEXT
            return place + 1
        if character in "{[":
            whole = self._whole(text, place) if self._tries else None
            if whole is not None:
                self._put(whole[0][0])
                self._ended()
                return whole[1]
            container: Any = {} if character == "{" else []
            self._put(container)
            self._stack.append(container)
            self._key.append(None)
            self._expect = _KEY_OR_END if character == "{" else _VALUE_OR_END
            return place + 1
        if character in "tfn":
            return self._word(text, place)
        return self._number(text, place)

    def _word(self, text: str, place: int) -> int | None:
        for word, value in _WORDS.items():
            if text.startswith(word, place):
                self._put(value)
                self._ended()
                return place + len(word)
            if word.startswith(text[place:]):
                self._rest = text[place:]
                return place
        self.broken = True
        return place

    def _number(self, text: str, place: int) -> int | None:
        found = _NUMBER.match(text, place)
        if found is not None and found[3] is not None and found.end() - place <= _LONGEST_NUMBER:
            said = found[0]
            self._put(int(said) if found[1] is None and found[2] is None else float(said))
            self._ended()
            return found.end()
        if len(text) - place <= _LONGEST_NUMBER and _NUMBER_BEGUN.match(text, place):
            self._rest = text[place:]
            return place
        self.broken = True
        return place

    def _close(self, character: str, place: int) -> int:
        if (character == "}") is not (type(self._stack[-1]) is dict):
            self.broken = True
            return place
        self._stack.pop()
        self._key.pop()
        self._ended()
        return place + 1

    def _ended(self) -> None:
        self._expect = _COMMA_OR_END if self._stack else _NOTHING

    def _put(self, value: Any) -> None:
        if not self._stack:
            self.value = value
        elif type(self._stack[-1]) is dict:
            self._stack[-1][self._key[-1]] = value
        else:
            self._stack[-1].append(value)

    # ── texts ──────────────────────────────────────────────────────────────

    def _in_text(self, text: str, place: int) -> int | None:
        """Reads on in a text or a key, as far as it is certain."""
        found = _TEXT.match(text, place)
        end = _end(found)
        ended = text.startswith('"', end)
        self.broken = not ended and _ESCAPE_BEGUN.fullmatch(text, end) is None
        if not ended and not self.broken and found is not None and found.end(1) == end:
            end = found.start(1) - 1  # the second half may come
        if end > place:
            said, _ = scanstring(text[place:end] + '"', 0, False)  # noqa: FBT003 - the C function takes no names
            if self._expect == _IN_KEY:
                self._texts.append(said)
            else:
                self._grow(said)
        if not ended:
            self._rest = text[end:]
            return end
        if self._expect == _IN_KEY:
            self._key[-1] = "".join(self._texts)
            self._texts.clear()
            self._expect = _COLON
        else:
            self._ended()
        return end + 1

    def _grow(self, piece: str) -> None:
        """Appends to the text at the end of the view.

        The view lets go of the text first: one that nobody else holds grows in place, so that a
        long text costs its length and not its length times its pieces.
        """
        if not self._stack:
            text = self.value
            self.value = None
            text += piece
            self.value = text
            return
        container = self._stack[-1]
        key = self._key[-1] if type(container) is dict else -1
        text = container[key]
        container[key] = None
        text += piece
        container[key] = text


def _end(found: re.Match[str] | None) -> int:
    assert found is not None  # both patterns match the empty text
    return found.end()
