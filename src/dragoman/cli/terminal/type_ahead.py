"""What is typed while a model answers: kept, and sent when its turn comes.

Rule: nothing typed is lost, and nothing typed before a question answers it. While a question is asked it has the
keyboard; what was begun before waits.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_PASTE_ON: Final = "\x1b[?2004h"
_PASTE_OFF: Final = "\x1b[?2004l"


class TypeAhead:
    """Reads the keyboard beside a running turn: each line, or pasted block with its line, becomes an input to come."""

    def __init__(self, descriptor: int, queued: Callable[[str], None]) -> None:
        from prompt_toolkit.input.vt100_parser import Vt100Parser

        self._descriptor, self._told = descriptor, queued
        self._inputs: deque[str] = deque()
        self.begun = ""
        """What was typed and not ended with Enter."""
        self._parser = Vt100Parser(self._key)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self) -> str | None:
        """The next input that was typed ahead."""
        return self._inputs.popleft() if self._inputs else None

    def give_back(self) -> None:
        """Makes what waits to be sent a draft again: one who stops a turn decides anew what comes next."""
        self.begun = "\n".join([*self._inputs, *([self.begun] if self.begun else [])])
        self._inputs.clear()

    def take_begun(self) -> str:
        begun, self.begun = self.begun, ""
        return begun

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Reads while the block runs, in a running event loop."""
        import termios

        loop = asyncio.get_running_loop()
        before = termios.tcgetattr(self._descriptor)
        quiet = termios.tcgetattr(self._descriptor)
        quiet[3] &= ~(termios.ICANON | termios.ECHO)  # Ctrl-C still makes a signal
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSANOW, quiet)
        self._show(_PASTE_ON)
        loop.add_reader(self._descriptor, self._read)
        try:
            yield
        finally:
            loop.remove_reader(self._descriptor)
            self._rest()
            self._show(_PASTE_OFF)
            with suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(self._descriptor, termios.TCSANOW, before)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Lets somebody else have the keyboard, as it was before."""
        import termios

        loop = asyncio.get_running_loop()
        loop.remove_reader(self._descriptor)
        self._rest()
        quiet = termios.tcgetattr(self._descriptor)
        usual = termios.tcgetattr(self._descriptor)
        usual[3] |= termios.ICANON | termios.ECHO
        self._show(_PASTE_OFF)
        termios.tcsetattr(self._descriptor, termios.TCSANOW, usual)
        try:
            yield
        finally:
            with suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, quiet)
            self._show(_PASTE_ON)
            loop.add_reader(self._descriptor, self._read)

    def _show(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return
        except OSError:  # the terminal was closed; the signal for that ends the turn
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self._parser.feed(self._decoder.decode(data))

    def _rest(self) -> None:
        """What has come and was not read yet."""
        with suppress(OSError, ValueError):
            while select.select([self._descriptor], [], [], 0)[0]:
                data = os.read(self._descriptor, 65536)
                if not data:
                    return
                self._parser.feed(self._decoder.decode(data))
        self._parser.flush()

    def _key(self, press: Any) -> None:
        from prompt_toolkit.keys import Keys

        key = press.key
        if key in (Keys.ControlM, Keys.ControlJ):
            text, self.begun = self.begun.strip(), ""
            if text:
                self._inputs.append(text)
                self._told(text)
        elif key == Keys.BracketedPaste:
            self.begun += press.data.replace("\r\n", "\n").replace("\r", "\n")
        elif key in (Keys.ControlH, Keys.Backspace):
            self.begun = self.begun[:-1]
        elif key == Keys.ControlU:
            self.begun = ""
        elif not isinstance(key, Keys) and len(key) == 1 and key.isprintable():
            self.begun += key
