"""A terminal somebody sits at: what is on it can be waited for, and something typed."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from .prepared import PreparedProcess, is_for_python

PATIENCE = 60.0
"""Seconds after which what is waited for will never come. Nothing is measured by it."""

# The terminal becomes the one that Ctrl-C and /dev/tty mean.
_LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


_PIECE = re.compile(
    r"\x1b\[(?P<numbers>[0-9;?]*)(?P<name>[A-Za-z])|\x1b\][^\x07]*\x07|\x1b[^\[\]]|(?P<control>[\r\n\x08])|(?P<text>[^\x1b\r\n\x08]+)"
)


class Screen:
    """The rows of a terminal of endless height: what is written, and how the cursor moves."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._lines = [""]
        self._continued: set[int] = set()
        """Rows that a line was continued on because the one before was full."""
        self._row = self._column = 0
        self._rest = ""

    @property
    def text(self) -> str:
        """What somebody would copy: a line that takes several rows is one line."""
        return "".join(
            line if row in self._continued or row == 0 else f"\n{line}" for row, line in enumerate(self._lines)
        )

    def write(self, data: str) -> None:
        data, self._rest, place = self._rest + data, "", 0
        while place < len(data):
            found = _PIECE.match(data, place)
            if found is None:  # the beginning of a sequence, of which the rest is to come
                self._rest = data[place:]
                return
            place = found.end()
            if found["text"] is not None:
                self._put(found["text"])
            elif found["control"] is not None:
                self._control(found["control"])
            elif found["name"] is not None:
                self._sequence(found["name"], found["numbers"])

    def _put(self, text: str) -> None:
        while text:
            if self._column >= self._columns:
                self._control("\n")
                self._column = 0
                self._continued.add(self._row)
            piece, text = text[: self._columns - self._column], text[self._columns - self._column :]
            line = self._lines[self._row].ljust(self._column)
            self._lines[self._row] = line[: self._column] + piece + line[self._column + len(piece) :]
            self._column += len(piece)

    def _control(self, control: str) -> None:
        if control == "\n":
            self._row += 1
            self._lines += [""] * (self._row - len(self._lines) + 1)
            self._continued.discard(self._row)
        elif control == "\x08":
            self._column = max(0, self._column - 1)
        else:
            self._column = 0

    def _sequence(self, name: str, numbers: str) -> None:
        number = int(numbers) if numbers.isdigit() else 1
        if name == "A":
            self._row = max(0, self._row - number)
        elif name == "B":
            self._row += number
            self._lines += [""] * (self._row - len(self._lines) + 1)
        elif name == "C":
            self._column += number
            self._lines[self._row] = self._lines[self._row].ljust(self._column)
        elif name == "D":
            self._column = max(0, self._column - number)
        elif name == "K":
            self._lines[self._row] = "" if numbers == "2" else self._lines[self._row][: self._column]
        elif name == "J":
            self._lines[self._row] = self._lines[self._row][: self._column]
            del self._lines[self._row + 1 :]
            self._continued = {row for row in self._continued if row <= self._row}


def _started(
    words: Sequence[str], cwd: Path, environ: Mapping[str, str], files: tuple[int, int, int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, sys.executable, "-m", "dragoman", *words],
        cwd=cwd,
        env=environ,
        stdin=files[0],
        stdout=files[1],
        stderr=files[2],
        start_new_session=True,
    )


class Terminal:
    """Runs `dragoman` in a terminal of its own. Use it with `with`.

    A `prepared` process is forked from one that has imported everything, which saves half of the time.
    """

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        *,
        columns: int = 80,
        stdin: bytes | None = None,
        stdout: int | None = None,
        prepared: bool = False,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        taken, given = (theirs, None) if stdin is None else os.pipe()
        try:
            start = PreparedProcess if prepared and not any(map(is_for_python, environ)) else _started
            files = (taken, theirs if stdout is None else stdout, theirs)
            self.process = start(words, cwd, {"TERM": "xterm", "LANG": "C.UTF-8", **environ}, files)
        finally:
            for file in {theirs, taken}:
                os.close(file)
        if given is not None:
            with open(given, "wb") as pipe:
                pipe.write(stdin or b"")
        self.raw = ""
        self._screen, self._decoder = Screen(columns), codecs.getincrementaldecoder("utf-8")("replace")
        self.hung_up = False
        self._looked = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if not self.hung_up:
            os.close(self._ours)

    @property
    def screen(self) -> str:
        """All lines, as they are after everything that was written over them, without colours."""
        return self._screen.text

    def sees(self, text: str) -> None:
        """Waits until something is on the terminal that was not there the last time."""
        while text not in self.screen[self._looked :]:
            if not self._more():
                raise AssertionError(f"{text!r} never came; there was:\n{self.screen}")
        self._looked = self.screen.index(text, self._looked) + len(text)

    def shows(self, text: str) -> None:
        """Waits until something was on the terminal, though it may be gone again."""
        while text not in self.raw:
            if not self._more():
                raise AssertionError(f"{text!r} never came; there was:\n{self.raw}")

    def types(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def hangs_up(self) -> None:
        """Closes the terminal, as somebody does who closes its window."""
        os.close(self._ours)
        self.hung_up = True

    def modes(self) -> list[object]:
        """How the terminal is set up: whether it echoes, waits for whole lines, and so on."""
        return termios.tcgetattr(self._ours)

    def ends(self) -> int:
        """Waits for the end of the command, and gives its exit code."""
        while self._more():
            pass
        return self.process.wait(PATIENCE)

    def _more(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], PATIENCE)
        if not ready:
            raise AssertionError(f"nothing more came; there was:\n{self.screen}")
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # how Linux says that nobody writes to this terminal any more
            return False
        text = self._decoder.decode(data)
        self.raw += text
        self._screen.write(text)
        return bool(data)
