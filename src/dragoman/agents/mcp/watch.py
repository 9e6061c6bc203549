"""The process above an MCP server that we started: when we die, even by SIGKILL, it ends the server and all below it.

Rules: a program of its own that imports the standard library alone; the server has the pipes, this process keeps none
of them, so that whoever is at their other end sees the server's end as it is.

Run as `python watch.py BRAND COMMAND …`. BRAND is two limits by which our own process knows those of the server
when this one was killed (see `new_brand` in `tools/processes/supervisor.py`), or empty.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

_PDEATHSIG, _SUBREAPER = 1, 36
_BRAND_LIMITS = (10, 5)  # of file locks and of resident memory, as in tools/processes/supervisor.py
_GRACE = 1.0  # shorter than the MCP package waits before it kills the group, and us with it
_POLL = 0.5


def main(brand: str, command: list[str]) -> int:
    """Runs a command to its end, or to the end of whoever started this process; gives its exit code."""
    starter = os.getppid()
    told = _control(_SUBREAPER, 1) and _control(_PDEATHSIG, signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, lambda *_: _end(signal.SIGKILL))
    signal.signal(signal.SIGTERM, lambda *_: _gently())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C on the terminal is for whoever started us
    if os.getppid() != starter:
        return 1
    _mark(brand)
    try:
        server = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGINT, signal.SIGTERM])
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        return 127
    for stream in (0, 1, 2):
        os.close(stream)
    status = _waited(server, starter, told=told)
    _end(signal.SIGKILL, leave=False)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _mark(brand: str) -> None:
    if brand:
        import resource

        for limit, value in zip(_BRAND_LIMITS, map(int, brand.split(",")), strict=True):
            resource.setrlimit(limit, (value, value))


def _waited(server: int, starter: int, *, told: bool) -> int:
    """How the server ended. Where the system does not tell of our starter's death, it is looked for."""
    while True:
        process, status = os.waitpid(-1, 0 if told else os.WNOHANG)
        if process == server:
            return status
        if process == 0:
            if os.getppid() != starter:
                _end(signal.SIGKILL)
            time.sleep(_POLL)


def _gently() -> None:
    """The server was asked to end as well, being of our group; it has a moment for that."""
    signal.signal(signal.SIGALRM, lambda *_: _end(signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, _GRACE)


def _end(number: int, *, leave: bool = True) -> None:
    """Ends everything below this process, then, if so asked, this process."""
    while below := _below():
        for process in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    if leave:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(0, number)  # where processes cannot be listed, at least the group; it includes ourselves
        os._exit(1)


def _below() -> set[int]:
    """Living processes below this one: those that daemonised themselves are too, orphans being adopted."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    # The program's name stands in brackets and may hold anything, brackets too.
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                    if state not in (b"Z", b"X"):
                        children.setdefault(int(parent), []).append(int(name))
    found: set[int] = set()
    pending = [os.getpid()]
    while pending:
        fresh = children.get(pending.pop(), [])
        found.update(fresh)
        pending += fresh
    return found


def _control(option: int, value: int) -> bool:
    """Asks Linux for something about this process; whether it was granted."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
