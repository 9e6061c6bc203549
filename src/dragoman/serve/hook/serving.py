"""`dragoman hook serve`: decides in one process that is already loaded, for the lines that clients run.

Rule: what this process cannot decide well it does not answer, and the line decides by itself: a request with other
settings than ours, a decision that takes long, code that was changed since this process began.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from dragoman import hook_socket
from dragoman.errors import ConfigError, writing

from .answering import TooLate, handle, own_rules
from .client import Handled, Here
from .clients import CLIENTS
from .deciding import Rules
from .recording import record

SECONDS: Final = 3.0
"""For one request, from its first byte to the answer."""
_LONGEST: Final = 64 * 1024 * 1024


class Serving:
    """A socket of this user, in a folder of theirs alone."""

    def __init__(self) -> None:
        self.path = hook_socket.socket_path()
        self._began = _code_state()
        self._variables = hook_socket.deciding_variables()
        folder = os.path.dirname(self.path)
        with writing(Path(self.path)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            about = os.lstat(folder)
            if about.st_uid != os.getuid() or about.st_mode & 0o077:
                raise ConfigError(f"{folder} must belong to you, and nobody else may open it: chmod 700 {folder}")
            if self.is_running():
                raise ConfigError(f"a server is running at {self.path} already")
            if os.path.lexists(self.path):
                os.unlink(self.path)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            before = os.umask(0o177)
            try:
                self._socket.bind(self.path)
            finally:
                os.umask(before)
        self._socket.listen(64)
        self._mine = os.lstat(self.path).st_ino

    @staticmethod
    def is_running() -> bool:
        """Whether a server of this user is running."""
        if not hook_socket.is_private(path := hook_socket.socket_path()):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            try:
                asking.connect(path)
            except OSError:
                return False
        return True

    def run(self) -> str:
        """Answers until the code on the disk is another, or the socket was replaced; gives the reason."""
        signal.signal(signal.SIGALRM, _late)
        while True:
            connection, _ = self._socket.accept()
            with connection:
                if _code_state() != self._began:
                    return "dragoman was changed on the disk"
                if not self._is_mine():
                    return f"{self.path} was removed or replaced"
                self._answer(connection)

    def _is_mine(self) -> bool:
        try:
            return os.lstat(self.path).st_ino == self._mine
        except OSError:
            return False

    def close(self) -> None:
        """Ends it; lines decide by themselves again."""
        self._socket.close()
        if self._is_mine():
            os.unlink(self.path)

    def _answer(self, connection: socket.socket) -> None:
        known: list[Rules] = []

        def rules() -> Rules:
            if not known:
                known.append(own_rules())  # they may have changed since the last call
            return known[0]

        try:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            if not _is_own(connection):
                return
            data = _received(connection)
            handled = self._handled(data, rules)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if handled is None:
                return
            note = f"dragoman hook: {handled.note}\n" if handled.note else ""
            connection.sendall(hook_socket.reply(handled.answer.code, note, handled.answer.out))
            connection.shutdown(socket.SHUT_WR)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            folder = rules().decisions
            if folder is not None:
                record(handled, folder)
        except (TooLate, Exception):  # noqa: BLE001 - the line that asked decides by itself, and the next is answered
            return
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _handled(self, data: bytes, rules: Callable[[], Rules]) -> Handled | None:
        found = hook_socket.read_request(data)
        if found is None:
            return None
        (client, event, cwd, projects, *variables), payload = found
        if variables != self._variables or (client and client not in CLIENTS) or not os.path.isabs(cwd):
            return None
        named = dict(one.partition("=")[::2] for one in projects.split("\n") if one)
        handled = handle(payload, client or None, event or None, rules, Here(cwd, tuple(named.values())))
        # What could not be decided here is decided again by the line, with more time.
        return None if handled.is_late else handled


def _late(*_: object) -> NoReturn:
    raise TooLate


def _is_own(connection: socket.socket) -> bool:
    """Whether the process at the other end is of this user, where the system says it. The socket's mode says so too."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _received(connection: socket.socket) -> bytes:
    pieces, length = [], 0
    while length <= _LONGEST + 65536 and (piece := connection.recv(65536)):
        pieces.append(piece)
        length += len(piece)
    return b"".join(pieces)


def _code_state() -> tuple[int, ...]:
    """What tells another installation of the same files: this module and the public one."""
    try:
        found = [os.stat(path) for path in (__file__, hook_socket.__file__)]
    except OSError:
        return ()
    return tuple(number for one in found for number in (one.st_ino, one.st_mtime_ns, one.st_size))
