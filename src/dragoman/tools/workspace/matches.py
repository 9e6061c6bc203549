"""ripgrep's two forms of telling matches, split by file and read as `Match`.

Splitting is cheap and reading is not, so a file is read only when its matches are wanted. A line
of context is told once: after the match before it, as far as `after` reaches, else before the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from dragoman.errors import ToolError
from dragoman.model.operations import SearchText
from dragoman.model.outcomes import Match

LONGEST_LINE = 2000
"""Bytes of a line that are shown; a longer one ends with a mark saying so."""

_MARK = " [... omitted end of long line]"


class Block(msgspec.Struct, gc=False):
    """What was found in one file: ripgrep's own words, and how many matches they tell of."""

    path: bytes
    body: bytes
    count: int


class Line(NamedTuple):
    """A line, or the run of lines of one match."""

    number: int
    last: int
    text: str
    is_match: bool


class Form:
    """How ripgrep is asked to write matches, and how that is read; `file` is the one file searched, if it is one."""

    def __init__(self, operation: SearchText, file: str | None) -> None:
        self.file = file
        self.only_matching = operation.only_matching
        self.numbered = operation.line_numbers is not False
        self.before, self.after = operation.before or 0, operation.after or 0
        self.surrounded = self.before > 0 or self.after > 0

    def arguments(self) -> list[str]:
        """What makes ripgrep write this form."""
        return [f"--before-context={self.before}", f"--after-context={self.after}"] if self.surrounded else []

    def blocks(self, output: bytes) -> list[Block]:
        """What was found, file by file, in the order it was written; the last may end anywhere between two lines."""
        raise NotImplementedError

    def lines(self, body: bytes) -> Iterable[Line]:
        """The lines of a block."""
        raise NotImplementedError

    def matches(self, block: Block) -> list[Match]:
        """The matches of a block."""
        path = block.path.decode(errors="replace")
        lines = self.lines(block.body)
        return [self._match(path, *each) for each in _with_context(lines, self.after)]

    def _match(self, path: str, line: Line, before: list[str], after: list[str]) -> Match:
        if not self.numbered:
            return Match(path, None, line.text, tuple(before), tuple(after))
        last = line.last if line.last > line.number else None
        return Match(path, line.number, line.text, tuple(before), tuple(after), last_line=last)

    def binary(self) -> ToolError:
        """The one file searched has no lines."""
        return ToolError(
            f'"{self.file}" matches, but is a binary file and has no lines to show',
            details={"reason": "binary", "path": self.file},
        )


def _with_context(lines: Iterable[Line], after: int) -> list[tuple[Line, list[str], list[str]]]:
    """Each match with the lines before and after it that belong to no other."""
    found: list[tuple[Line, list[str], list[str]]] = []
    waiting: list[str] = []
    for line in lines:
        if line.is_match:
            found.append((line, waiting, []))
            waiting = []
            continue
        behind = found[-1][2] if found else []
        if found and len(behind) < after and line.number == found[-1][0].last + len(behind) + 1:
            behind.append(line.text)
        else:
            waiting.append(line.text)
    return found


class Lines(Form):
    """ripgrep's text for people, made unambiguous: `path NUL lines`, a blank line between files.

    A line is `12:text`, or `13-text` for one of context, so neither a blank line nor a NUL is ever part of the lines.
    """

    _LINE = re.compile(r"^(\d+)([:-])(.*)$", re.MULTILINE)
    _MATCHES = re.compile(rb"^\d+:", re.MULTILINE)

    def arguments(self) -> list[str]:
        cut = [f"--max-columns={LONGEST_LINE}", "--max-columns-preview"]
        only = ["--only-matching"] if self.only_matching else []
        return [*super().arguments(), "--heading", "--line-number", "--no-context-separator", *cut, *only]

    def blocks(self, output: bytes) -> list[Block]:
        if self.file is not None and b": binary file matches (found" in output and b"\0" not in output:
            raise self.binary()
        found: list[Block] = []
        carried = b""
        # Asked to take "\r\n" for a line end, ripgrep also writes it between files, if not always.
        for piece in output.replace(b"\n\r\n", b"\n\n").removesuffix(b"\n").split(b"\n\n"):
            path, nul, body = piece.partition(b"\0")
            if not nul:  # a blank line in the path itself
                carried += piece + b"\n\n"
                continue
            if carried:
                path, carried = carried + path, b""
            # What turned out to be binary after its first matches says so, and in no line of the file.
            if b"\n./" not in body:
                count = len(self._MATCHES.findall(body)) if self.surrounded else body.count(b"\n") + 1
                found.append(Block(path[2:], body, count))
        return found

    def lines(self, body: bytes) -> Iterator[Line]:
        for digits, sign, text in self._LINE.findall(_text(body)):
            number = int(digits)
            yield Line(number, number, text, sign == ":")

    def matches(self, block: Block) -> list[Match]:
        if self.surrounded or not self.numbered:
            return super().matches(block)
        path = block.path.decode(errors="replace")
        return [Match(path, int((told := line.partition(":"))[0]), told[2]) for line in _text(block.body).split("\n")]


def _text(body: bytes) -> str:
    """Lines as text, without what they end in but "\\n"."""
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").removesuffix(b"\r")
    text = body.decode("utf-8", "replace")
    if text.isascii() or _MARK not in text:
        return text
    # ripgrep marks by bytes and cuts by characters: a line it marked need not be cut.
    return "\n".join(
        line.removesuffix(_MARK) if len(line.partition(":")[2]) < LONGEST_LINE + len(_MARK) else line
        for line in text.split("\n")
    )


# ── runs of lines ────────────────────────────────────────────────────────────


class _Words(msgspec.Struct):
    """Text, or in base64 what is none."""

    text: str | None = None
    base64: str = msgspec.field(name="bytes", default="")

    def raw(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        from base64 import b64decode

        return b64decode(self.base64)


class _Part(msgspec.Struct):
    match: _Words
    start: int
    end: int


class _MatchData(msgspec.Struct):
    path: _Words
    lines: _Words | None = None
    line_number: int = 0
    submatches: tuple[_Part, ...] = ()
    binary_offset: int | None = None

    def runs(self, *, only_matching: bool) -> list[tuple[int, int, bytes]]:
        """The matches: first and last line, counted from 0, and what is told of each.

        ripgrep tells matches on adjoining lines together; only those that share a line are one here. It gives no
        place for a match that it finds in a file and not in the lines alone, such as one that ends with the "\\r" of
        a line end, or `(?<=o)$` at the end of a file: then all its lines are one match.
        """
        lines = self.lines.raw() if self.lines else b""
        if not self.submatches:
            return [(0, lines.removesuffix(b"\n").count(b"\n"), lines)]
        found: list[tuple[int, int, bytes]] = []
        for part in self.submatches:
            first = lines.count(b"\n", 0, part.start)
            last = lines.count(b"\n", 0, max(part.end - 1, part.start))
            if not only_matching and found and first <= found[-1][1]:
                first = found.pop()[0]
            found.append((first, last, part.match.raw()))
        if only_matching:
            return found
        split = lines.split(b"\n")
        return [(first, last, b"\n".join(split[first : last + 1])) for first, last, _ in found]


class _Message(msgspec.Struct):
    type: str
    data: _MatchData


class Runs(Form):
    """ripgrep's JSON Lines: the only form that tells where one match of several lines ends and the next begins."""

    def arguments(self) -> list[str]:
        return [*super().arguments(), "--json"]

    def blocks(self, output: bytes) -> list[Block]:
        found: list[Block] = []
        path, told, count = b"", list[bytes](), 0
        for line in output.split(b"\n"):
            if not line or line.startswith(b'{"data"'):  # the summary
                continue
            message = _message(line)
            match message.type:
                case "begin":
                    path, told, count = message.data.path.raw()[2:], [], 0
                case "match":
                    told.append(line)
                    count += len(message.data.runs(only_matching=self.only_matching))
                case "context":
                    told.append(line)
                case "end":
                    if message.data.binary_offset is None:
                        found.append(Block(path, b"\n".join(told), count))
                    elif self.file is not None:
                        raise self.binary()
                    told = []
        return [*found, Block(path, b"\n".join(told), count)] if told else found

    def lines(self, body: bytes) -> Iterator[Line]:
        for line in body.split(b"\n"):
            message = _message(line)
            told = message.data
            if message.type == "match":
                for first, last, data in told.runs(only_matching=self.only_matching):
                    yield Line(told.line_number + first, told.line_number + last, _shown(data), is_match=True)
            elif told.lines:
                yield Line(told.line_number, told.line_number, _shown(told.lines.raw()), is_match=False)


def _message(line: bytes) -> _Message:
    return msgspec.json.decode(line, type=_Message)


def _shown(data: bytes) -> str:
    """Lines without what they end in but "\\n", each as far as it is shown."""
    text = data.replace(b"\r\n", b"\n").removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
    return "\n".join(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + _MARK for line in text.split("\n"))
