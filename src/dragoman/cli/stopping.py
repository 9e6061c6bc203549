"""How a command is stopped from outside: Ctrl-C, a request to terminate (SIGTERM), a terminal that closes (SIGHUP).

Rules: the first signal lets the command put everything in order: a run is cancelled, its record is ended, its processes
are gone. The second ends the process at once. A signal that whoever started us ignores stays ignored (`nohup`, a job in
the background of a script).
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    from sys import UnraisableHookArgs

_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


_MOMENT: Final = 0.02


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came: as Ctrl-C, but a conversation does not go on after it."""


class _Stop:
    """What came, and what is to be done when something comes."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.is_pending = False
        """Whether nobody has heard yet of what came."""
        self.running: asyncio.Task[Any] | None = None
        self.is_finishing = False
        self.is_lost = self.is_dropping = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_dropping:
            self._send_again()
            return
        if self.is_lost:
            self.is_lost = False
        elif self.received is not None:
            end_at_once(128 + number)
        self.received, self.is_pending = number, True
        if self.is_finishing:
            return
        if self.running is None:
            raise self.error()
        self.running.cancel()
        self.running.get_loop().call_soon_threadsafe(lambda: None)  # it may be waiting, and is to notice

    def come_again(self) -> None:
        """Python dropped our exception where nobody can catch it, in a finalizer say: the signal comes once more."""
        self.is_lost = self.is_dropping = True
        self._send_again()
        self.is_dropping = False

    def _send_again(self) -> None:
        _thread.start_new_thread(self._send_soon, ())

    def _send_soon(self) -> None:
        time.sleep(_MOMENT)
        _thread.interrupt_main(signal.Signals(self.received or signal.SIGINT))

    def error(self) -> KeyboardInterrupt:
        self.is_pending = False
        return KeyboardInterrupt() if self.received == signal.SIGINT else Terminated()


stop = _Stop()


def forget_ctrl_c() -> None:
    """Ctrl-C was obeyed and the command goes on: the next one is a first one again."""
    if stop.received == signal.SIGINT:
        stop.received = None


def exit_code(interrupted: int) -> int:
    """The exit code of a command that was stopped: 128 and the number of the signal, as shells have it."""
    return interrupted if stop.received is None else 128 + stop.received


def is_cause_of(error: BaseException | None) -> bool:
    """Whether a signal is behind an error: in Python 3.11, one that comes while a class is made is a RuntimeError."""
    while error is not None and stop.received is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def words() -> str:
    """What stopped the command, for its last line."""
    return "interrupted" if stop.received in (None, signal.SIGINT) else "terminated"


@contextmanager
def signals_heard() -> Iterator[None]:
    """While a command runs, signals stop it in order. Only the main thread of a process can hear them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stop.__init__()  # type: ignore[misc]
    _remember_terminal()
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    unraisable = sys.unraisablehook

    def dropped(what: UnraisableHookArgs) -> None:
        if stop.received is not None and isinstance(what.exc_value, KeyboardInterrupt):
            stop.come_again()
        else:
            unraisable(what)

    for number in heard:
        signal.signal(number, stop.on_signal)
    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = unraisable
        for number in heard:
            signal.signal(number, before[number])


def end_at_once(code: int) -> None:
    """Ends the process here and now; the terminal is as it was, and processes of ours notice that we are gone."""
    _restore_terminal()
    os._exit(code)


_terminal: tuple[int, list[Any]] | None = None


def _remember_terminal() -> None:
    """Keeps how the terminal is set up, for `end_at_once`."""
    global _terminal
    _terminal = None
    try:
        import termios
    except ImportError:  # a system without terminals of this kind
        return
    with suppress(OSError, ValueError, AttributeError, termios.error):  # it is none, or is closed
        _terminal = sys.stdin.fileno(), termios.tcgetattr(sys.stdin.fileno())


def _restore_terminal() -> None:
    if _terminal is not None:
        import termios

        with suppress(OSError, termios.error):
            termios.tcsetattr(_terminal[0], termios.TCSANOW, _terminal[1])
    with suppress(OSError, ValueError, AttributeError):
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), b"\x1b[?25h\n")  # the cursor, which a progress bar hides
