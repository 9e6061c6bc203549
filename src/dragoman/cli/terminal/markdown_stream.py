"""What a model says, on a terminal: the letters as they come, and each block as Markdown once it is whole.

Without colours a block keeps its Markdown as text; its long lines are broken between words.

Rule: nothing flickers. A block is written over at most once, when it ended, and only where that changes how it looks.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TextIO

from .visible import wrapped

if TYPE_CHECKING:
    from .console import Console

_MARKUP: Final = re.compile(r"[*_`#|>\[~]|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)
_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")


class MarkdownStream:
    """Writes to one terminal. What it is given is safe to show already."""

    def __init__(self, console: Console, stream: TextIO) -> None:
        self._console, self._stream = console, stream
        self._block = ""
        self._width = 0

    @property
    def open(self) -> bool:
        """Whether the last line has begun and not ended."""
        return bool(self._block) and not self._block.endswith("\n")

    def write(self, text: str) -> None:
        for piece in text.splitlines(keepends=True):
            if self._ends_before(piece):
                self.end()
            if not self._block:
                self._width = _size(self._stream)[0]
            self._block += piece
            self._stream.write(piece)
        self._stream.flush()

    def end(self) -> None:
        """The block is whole: nothing more of it comes."""
        block, self._block = self._block, ""
        if not block:
            return
        if not block.endswith("\n"):
            self._stream.write("\n")
        rows = sum(_rows(line, self._width) for line in block.removesuffix("\n").split("\n"))
        width, height = _size(self._stream)
        if width == self._width and rows < height:
            if _MARKUP.search(block) and self._console.coloured(self._stream):
                self._replace(block, rows, self._rendered(block, width))
            elif (shown := "\n".join(_between_words(block, width))) != block.rstrip("\n"):
                self._replace(block, rows, shown)
        self._stream.flush()

    def _replace(self, block: str, rows: int, shown: str) -> None:
        """Writes another form of a block over its rows, with the empty lines that came after it."""
        gap = "\n" * max(1, len(block) - len(block.rstrip("\n")))
        self._stream.write(f"\x1b[{rows}A\r\x1b[J{shown}{gap}")

    def _ends_before(self, piece: str) -> bool:
        """Whether a new block begins with this: after an empty line, unless it is indented or the code goes on."""
        if not re.search(r"\n[ \t]*\n$", self._block) or piece[:1].isspace():
            return False
        fences = [match[1][0] for line in self._block.split("\n") if (match := _FENCE.match(line))]
        return len(fences) % 2 == 0

    def _rendered(self, text: str, width: int) -> str:
        from rich.console import Console as RichConsole

        file = io.StringIO()
        rich = RichConsole(
            file=file,
            force_terminal=True,
            width=width,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        rich.print(_markdown(text))
        # Columns that are only filled up would be copied along, and empty lines around a block come from us.
        return _FILLED.sub("\x1b[0m", file.getvalue()).strip("\n")


def _between_words(block: str, width: int) -> Iterator[str]:
    """The lines of a block, long ones broken between words; code keeps its lines, so that it can be copied."""
    fence = ""
    for line in block.rstrip("\n").split("\n"):
        match = _FENCE.match(line)
        if match and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
        if fence or match:
            yield line
        else:
            yield from (piece.rstrip(" ") for piece in wrapped(line, width, words=True))


_FILLED: Final = re.compile(r"(?:\x1b\[[0-9;]*m| )+$", re.MULTILINE)


def _markdown(text: str) -> object:
    from rich.console import Console as RichConsole, ConsoleOptions, RenderResult
    from rich.markdown import Heading, Markdown

    class Left(Heading):
        """A heading where the rest begins, without a frame."""

        def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class Ours(Markdown):
        elements = {**Markdown.elements, "heading_open": Left}

    return Ours(text, hyperlinks=False, code_theme="ansi_dark")


def _rows(line: str, width: int) -> int:
    from rich.cells import cell_len

    return max(1, -(-cell_len(line.expandtabs(8)) // width))


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24
