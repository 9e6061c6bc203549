"""Random input from a seed: values nobody would think of, and samples with damage in them.

The same seed draws the same values on every machine, whatever the hash seed and whatever was drawn before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

ODD_TEXTS = (
    *("", " ", "\n", "\r\n", "\r", "\t", "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffd"),
    *("\ud800", "\udfff", "\ud83d\ude00", "é", "e\u0301", "ß", "İ", "ﬁ", "\u202e", "😀", "\U0010ffff", "\x00\x00"),
    *("null", "true", "None", "NaN", "Infinity", "-0", "1e999", "0x10", "١٢", "1_000", "9" * 30, "9" * 5000),
    *(
        "'",
        '"',
        "`",
        "\\",
        "\\n",
        "\\u0000",
        "\\ud800",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "|",
        "&",
        ";",
        "$",
        "#",
    ),
    *("../..", "/", "C:\\a", "~", "*", "?", "%", "%00", "@", "=", ":", ",", "...", "--", "---", "+++", "@@", "***"),
)
ODD_NUMBERS = (
    *(0, 1, -1, 2, 7, 255, 256, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30),
    *(0.0, -0.0, 0.5, 1e-320, 1e16, 1e300, 1.7976931348623157e308),
)
ODD_BYTES = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\r\n", b"\n\n"),
    *(b"\r", b"\x1a", b"{", b"}", b"[", b'"', b"\\", b"\\u", b"null", b"1e999", b"-", b"data: ", b": ", b"9" * 5000),
)
DEEP = (60, 200, 1000, 5000)


class Draw(Random):
    """A source of values for one case.

    With `halves`, JSON values hold halves of surrogate pairs too. UTF-8 cannot say them, and JSON can only escape them.
    """

    halves = False

    def one_in(self, number: int) -> bool:
        """True once in so many times."""
        return self.random() * number < 1

    def few(self, most: int = 8) -> int:
        """A number from 0 to `most`, mostly small."""
        return min(most, int(self.expovariate(0.6)))

    def some(self, values: Sequence[T], most: int = 8) -> list[T]:
        """A few of these values, in any order."""
        return [self.choice(values) for _ in range(self.few(most))]

    # ── anything ───────────────────────────────────────────────────────────

    def text(self, most: int = 12) -> str:
        """Any text: words, odd characters, or both."""
        pieces: list[str] = []
        for _ in range(self.few(most)):
            kind = self.random()
            if kind < 0.5:
                pieces.append(self.choice(ODD_TEXTS))
            elif kind < 0.9:
                pieces.append("".join(self.choices("abcxyz019 _-./", k=self.few(6) + 1)))
            else:
                pieces.append(chr(self.randrange(0x110000)))
        return "".join(pieces)

    def whole_text(self, most: int = 12) -> str:
        """Any text of a JSON value."""
        return self.text(most) if self.halves else whole(self.text(most))

    def number(self) -> int | float:
        return self.choice(ODD_NUMBERS) if self.random() < 0.5 else self.randrange(-5, 100)

    def json(self, depth: int = 3) -> Any:
        """Any JSON value."""
        kind = self.random()
        if depth == 0 or kind < 0.55:
            kind = self.random()
            if kind < 0.45:
                return self.whole_text(4)
            return self.number() if kind < 0.7 else self.choice((None, True, False, "", [], {}, [None], {"type": None}))
        if kind < 0.75:
            return [self.json(depth - 1) for _ in range(self.few(4))]
        return {self.whole_text(2): self.json(depth - 1) for _ in range(self.few(4))}

    def deep(self) -> Any:
        """A value in very many lists or objects."""
        value: Any = self.json(0)
        key = self.choice((None, "a", "items", "properties", "content"))
        for _ in range(self.choice(DEEP[:2])):
            value = [value] if key is None else {key: value}
        return value

    # ── damaged samples ────────────────────────────────────────────────────

    def damaged_bytes(self, sample: bytes, words: Sequence[bytes] = (), most: int = 5) -> bytes:
        """The sample with up to `most` changes of bytes."""
        data = sample
        for _ in range(self.few(most - 1) + 1):
            data = self._byte_change(data, words)
        return data

    def _byte_change(self, data: bytes, words: Sequence[bytes]) -> bytes:
        begin, end = self._range(len(data))
        kind = self.randrange(9)
        if kind == 0:  # other bits
            return (
                data[:begin]
                + bytes(byte ^ 1 << self.randrange(8) for byte in data[begin : begin + 1])
                + data[begin + 1 :]
            )
        if kind == 1:  # left out
            return data[:begin] + data[end:]
        if kind == 2:  # twice
            return data[:end] + data[begin:end] + data[end:]
        if kind == 3:  # cut off
            return data[:begin] if self.one_in(2) else data[begin:]
        if kind == 4:  # moved
            place = self.randrange(len(data) + 1)
            return data[:place] + data[begin:end] + data[place:]
        if kind == 5 and self.one_in(20):  # again and again
            return data[:begin] + data[begin : begin + 40] * self.choice((10, 100, 1000)) + data[end:]
        if kind == 6:
            return data[:begin] + self.randbytes(self.few() + 1) + data[end:]
        word = self.choice(words) if words and self.one_in(2) else self.choice(ODD_BYTES)
        return data[:begin] + word + data[begin if self.one_in(2) else end :]

    def damaged_text(self, sample: str, words: Sequence[str] = (), most: int = 5) -> str:
        """The sample with up to `most` changes of characters."""
        text = sample
        for _ in range(self.few(most - 1) + 1):
            text = self._text_change(text, words)
        return text

    def _text_change(self, text: str, words: Sequence[str]) -> str:
        begin, end = self._range(len(text))
        kind = self.randrange(9)
        if kind == 0:
            return text[:begin] + text[end:]
        if kind == 1:
            return text[:end] + text[begin:end] + text[end:]
        if kind == 2:
            return text[:begin] if self.one_in(2) else text[begin:]
        if kind == 3:
            place = self.randrange(len(text) + 1)
            return text[:place] + text[begin:end] + text[place:]
        if kind == 4 and self.one_in(20):
            return text[:begin] + text[begin : begin + 40] * self.choice((10, 100, 1000)) + text[end:]
        if kind == 5:  # one line less, more, or elsewhere
            lines = text.split("\n")
            line = lines.pop(self.randrange(len(lines)))
            if not self.one_in(3):
                lines.insert(self.randrange(len(lines) + 1), self._text_change(line, words) if self.one_in(2) else line)
            return "\n".join(lines)
        word = self.choice(words) if words and self.one_in(2) else self.text(3)
        return text[:begin] + word + text[begin if self.one_in(2) else end :]

    def _range(self, length: int) -> tuple[int, int]:
        begin = self.randrange(length + 1)
        return begin, min(length, begin + (self.few() if self.one_in(2) else self.randrange(length + 1)))

    def damaged_json(self, samples: Sequence[bytes], most: int = 4) -> Any:
        """One of these samples (JSON as bytes) in which up to `most` places hold something else."""
        value = msgspec.json.decode(self.choice(samples))
        for _ in range(self.few(most - 1) + 1):
            found = places(value)
            if not found:
                return self.json()
            holder, key = self.choice(found)
            self._json_change(value, holder, key, samples)
        return value

    def _json_change(self, value: Any, holder: Any, key: Any, samples: Sequence[bytes]) -> None:
        kind = self.randrange(10)
        if kind == 0 and isinstance(holder, dict):
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):  # under another name
            holder[self.choice(names(value) or [""]) if self.one_in(2) else self.whole_text(2)] = holder.pop(key)
        elif kind in (2, 3):  # a part of a sample where another should be
            other = places(msgspec.json.decode(self.choice(samples)))
            if other:
                there, at = self.choice(other)
                holder[key] = there[at]
        elif kind == 4 and isinstance(holder, list):
            holder.insert(self.randrange(len(holder) + 1), holder[key])
        elif kind in (5, 6) and isinstance(holder[key], str):
            text = self.damaged_text(holder[key])
            holder[key] = text if self.halves else whole(text)
        elif kind == 7 and self.one_in(30):
            holder[key] = self.deep()
        elif kind == 8:
            holder[key] = [holder[key]] if self.one_in(2) else {"type": holder[key]}
        else:
            holder[key] = self.json()

    def cuts(self, length: int) -> list[int]:
        """Where something of this length is cut into pieces, in order."""
        if self.one_in(20):
            return list(range(min(length, 400)))
        return sorted(self.randrange(length + 1) for _ in range(self.few(6)))


_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """A text without halves of surrogate pairs."""
    return _HALVES.sub("\ufffd", text)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and the key or index."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def names(value: Any) -> list[str]:
    """Every key in a JSON value, in order."""
    return [key for holder, key in places(value) if isinstance(holder, dict)]


def pieces(data: Any, cuts: Sequence[int]) -> list[Any]:
    """Bytes or a text, cut at these places."""
    edges = [0, *(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]
