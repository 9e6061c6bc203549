"""The process that starts commands: kept from one command to the next, and started anew when it is gone.

Rule: it is started under the conditions that commands are to have from us (user, limits, file mode mask); when they
have changed, another takes its place. It never learns what is run: that is sent to the copy it makes.
"""

from __future__ import annotations

import marshal
import os
import sys
import weakref
from contextlib import suppress
from signal import SIGCONT
from typing import TYPE_CHECKING

from dragoman.environment import child_environment
from dragoman.errors import ToolError

if TYPE_CHECKING:
    import socket
    import subprocess

    from .supervisor import Order

# Imported, not run as a file: so its compiled form is used.
_PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]); import supervisor; supervisor.serve(int(sys.argv[2]), int(sys.argv[3]))"
)
_PATIENCE = 0.05
_LIMITS = 16  # how many Linux has


class Starter:
    """Starts commands for one owner, who closes it; it also ends with what holds it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._conditions: object = None
        self._ending: weakref.finalize[..., Starter] | None = None

    def start(self, order: Order, streams: tuple[int, int, int]) -> tuple[Holder, socket.socket]:
        """Have a command started with these streams; the process that holds it, and the channel to it."""
        import socket

        ours, theirs = socket.socketpair()
        try:
            with theirs:
                given = (theirs.fileno(), *streams, *order["opened"])
                if self._started_otherwise() or not self._sent(given):
                    self._start_anew(streams[2])
                    self._sent(given)  # or else the channel closes now, which says that there is no command
            holder = Holder(self)
            self._send_order(ours, order)
        except BaseException:
            ours.close()
            raise
        if sys.platform != "linux" and self._process is not None:
            self.hand_over(self._process.pid)
        return holder, ours

    def _started_otherwise(self) -> bool:
        return self._process is None or self._conditions != (os.getpid(), _conditions())

    def _sent(self, descriptors: tuple[int, ...]) -> bool:
        import socket

        try:
            assert self._link is not None
            socket.send_fds(self._link, [bytes([len(descriptors)])], list(descriptors))
        except OSError:
            return False
        return True

    def _send_order(self, channel: socket.socket, order: Order) -> None:
        data = marshal.dumps(dict(order))
        left = memoryview(len(data).to_bytes(4, "big") + data)
        channel.settimeout(_PATIENCE)
        # If it could not start, the closed channel says so and its standard error why.
        with suppress(ConnectionError):
            while left:
                try:
                    left = left[channel.send(left) :]
                except TimeoutError:
                    self.rouse()
        channel.settimeout(0)

    def _start_anew(self, stderr: int) -> None:
        """Start it; until it is ready, what it has to say goes where the command's own errors go."""
        import socket
        import subprocess

        self.close()
        if os.name != "posix":
            raise ToolError("commands are run on Linux and macOS only")
        if not sys.executable:
            raise ToolError(
                "commands need a Python interpreter to watch them, and this program does not know where one is"
            )
        ours, theirs = socket.socketpair()
        ours.settimeout(_PATIENCE)
        conditions = os.getpid(), _conditions()
        folder = os.path.dirname(__file__)
        with theirs:
            link, owner = str(theirs.fileno()), str(os.getpid())
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, folder, link, owner],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    pass_fds=(theirs.fileno(),),
                    cwd="/",
                    env=child_environment(),  # nothing of ours goes near the command
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        self._process, self._link, self._conditions = process, ours, conditions
        self._ending = weakref.finalize(self, _end, process, ours, os.getpid())

    def rouse(self) -> None:
        """A command can halt it, and then it would start no other."""
        if self._process is not None:
            self._process.send_signal(SIGCONT)

    def hand_over(self, holder: int) -> None:
        """Let go of the process when it has become the holder of a command: where the system lets it make no other."""
        if self._process is not None and self._process.pid == holder and self._link is not None:
            if self._ending is not None:
                self._ending.detach()
            self._link.close()
            self._process.returncode = 0  # its end is waited for as the holder's
            self._process = self._link = self._ending = None

    def close(self) -> None:
        """End it. What it has started goes on; another is started when there is something to start."""
        if self._ending is not None:
            self._ending()
        self._process = self._link = self._ending = None


class Holder:
    """The process that holds one command, a child of ours; its number is known when it has said so."""

    def __init__(self, starter: Starter) -> None:
        self._starter = starter
        self.number: int | None = None

    def known(self, number: int) -> None:
        self.number = number
        self._starter.hand_over(number)

    def rouse(self) -> None:
        """A command can halt the processes that watch it, which then would neither end it nor say that it has ended."""
        if self.number is None:
            self._starter.rouse()
        else:
            with suppress(ProcessLookupError):
                os.kill(self.number, SIGCONT)

    def wait(self) -> None:
        """Wait for its end, so that its number can be given to another."""
        if self.number is not None:
            with suppress(ChildProcessError):  # somebody else has waited for it
                os.waitpid(self.number, 0)


def _end(process: subprocess.Popen[bytes], link: socket.socket, owner: int) -> None:
    link.close()
    if os.getpid() == owner:  # not in a copy of that process
        process.kill()
        process.wait()
    else:
        process.returncode = 0


def _conditions() -> object:
    """What a program gets from the one that starts it, as far as that can change and is quickly seen."""
    if sys.platform != "linux":
        return None  # one that starts a single command meets no change
    import resource

    limits = [resource.getrlimit(number) for number in range(_LIMITS)]
    return os.getresuid(), os.getresgid(), os.getgroups(), os.getpriority(os.PRIO_PROCESS, 0), limits, _mask()


def _mask() -> bytes:
    """The file mode mask, which can be asked for only by changing it, for all threads; Linux shows it as well."""
    try:
        descriptor = os.open("/proc/self/status", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 256).partition(b"Umask:")[2].partition(b"\n")[0]
    finally:
        os.close(descriptor)
