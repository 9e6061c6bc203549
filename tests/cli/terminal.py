"""A terminal somebody sits at: what is on it can be waited for, and something typed."""

from __future__ import annotations

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

PATIENCE = 60.0
"""Seconds after which what is waited for will never come. Nothing is measured by it."""

# The terminal becomes the one that Ctrl-C and /dev/tty mean.
_LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


_OVER = re.compile(r"\x1b\[(\d+)A\r\x1b\[J")


class Terminal:
    """Runs `dragoman` in a terminal of its own. Use it with `with`."""

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        *,
        columns: int = 80,
        stdin: bytes | None = None,
        stdout: int | None = None,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, sys.executable, "-m", "dragoman", *words],
            cwd=cwd,
            env={"TERM": "xterm", "LANG": "C.UTF-8", **environ},
            stdin=theirs if stdin is None else subprocess.PIPE,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        if stdin is not None:
            assert self.process.stdin is not None
            self.process.stdin.write(stdin)
            self.process.stdin.close()
        self.raw = ""
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
        """All that was written, without colours and without the line that shows what is going on."""
        raw = self.raw.replace("\r\n", "\n")
        while found := _OVER.search(raw):  # lines that were written over are gone
            kept = raw[: found.start()].split("\n")[: -int(found[1]) - 1]
            raw = "\n".join([*kept, raw[found.end() :]])
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", lambda found: "\x00" if found[0] == "\x1b[2K" else "", raw)
        # What is on a line before it is cleared is gone; a bare carriage return writes over it.
        lines = [line.rpartition("\x00")[2].rpartition("\r")[2] for line in plain.split("\n")]
        return "\n".join(lines)

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
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
