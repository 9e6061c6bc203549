"""Processes of `dragoman` that have imported everything already: most of the time of a short one goes into importing.

Each test process starts one process that imports, and forks from it. What a fork gets is what a new process would:
its own session, files, folder, environment and standard streams. Tests of the first moments of a process, and of
variables that Python itself reads, start a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_PROGRAM = """
import fcntl, json, os, signal, socket, sys, termios
if os.fork():
    os._exit(0)  # what goes on is no child of the tests: they ask what processes they have left
del sys.path[0]
from importlib import import_module
from pkgutil import walk_packages
import ctypes, httptools, platformdirs, pygments.lexers.python, rich.console, rich.markdown, rich.progress, rich.table
import urllib.request
import dragoman.agents, dragoman.context_windows, dragoman.engine.models.local, dragoman.engine.orchestrator
import dragoman.environment, dragoman.installation, dragoman.logs.formats.dragoman, dragoman.prices
from dragoman.__main__ import entry
for name in ("config", "tools", "cli", "apis.anthropic_messages", "apis.lowering", "agents.mcp", "logs",
        "dialects.anthropic", "dialects.claude_code", "dialects.plugins"):
    package = import_module(f"dragoman.{name}")
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)

wanted = socket.socket(fileno=int(sys.argv[1]))
def told(*_):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        wanted.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())

signal.signal(signal.SIGCHLD, told)
while True:
    message, files, _, _ = socket.recv_fds(wanted, 1 << 20, 3)
    if not message:
        break
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    pid = os.fork()
    if pid:
        wanted.send(json.dumps([pid, None]).encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for file in files:
            os.close(file)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    words, cwd, environ = json.loads(message)
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 256)
    if os.isatty(2):
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["dragoman", *words]
    odd = {"encoding": "utf-8", "errors": "surrogateescape"}
    sys.stdin = sys.__stdin__ = open(0, closefd=False, **odd)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False, **odd)
    sys.stderr = sys.__stderr__ = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    entry()
"""


class _Origin:
    """The process that has imported everything, and what became of those that were forked from it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            subprocess.run(
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno())],
                cwd="/",
                env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                check=True,
            )
        self._lock = threading.Lock()
        self._forked = 0
        self._running: dict[int, int] = {}
        """Which fork has a process id now: the system gives an id again, within minutes on a busy machine."""
        self._ended: dict[int, int] = {}
        atexit.register(self._socket.close)  # the process reads until this end is closed

    def fork(
        self, words: Sequence[str], cwd: Path, environ: Mapping[str, str], files: Sequence[int]
    ) -> tuple[int, int]:
        """A process: its number among all forks, and its id."""
        with self._lock:
            message = json.dumps([[*words], str(cwd), {**environ}]).encode()
            socket.send_fds(self._socket, [message], files)
            while True:
                pid, code = self._heard(None)
                if code is None:
                    self._forked += 1
                    self._running[pid] = self._forked
                    return self._forked, pid

    def code_of(self, number: int, timeout: float | None) -> int | None:
        """The exit code of a fork that has ended; `None` when it has not after so many seconds."""
        with self._lock:
            while number not in self._ended:
                try:
                    self._heard(timeout)
                except TimeoutError:
                    return None
            return self._ended[number]

    def _heard(self, timeout: float | None) -> tuple[int, int | None]:
        self._socket.settimeout(timeout)
        try:
            message = self._socket.recv(1 << 16)
        except BlockingIOError as error:
            raise TimeoutError from error
        assert message, "the process that others are forked from has ended"
        pid, code = json.loads(message)
        if code is not None:
            self._ended[self._running.pop(pid)] = code
        return pid, code


_origin: _Origin | None = None


class PreparedProcess:
    """`dragoman` in a process of its own, whose terminal is its standard error, if that is one."""

    def __init__(self, words: Sequence[str], cwd: Path, environ: Mapping[str, str], files: Sequence[int]) -> None:
        global _origin
        _origin = _origin or _Origin()
        self._origin = _origin
        self._number, self.pid = _origin.fork(words, cwd, environ, files)

    def poll(self) -> int | None:
        return self._origin.code_of(self._number, 0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._origin.code_of(self._number, timeout)
        if code is None:
            raise subprocess.TimeoutExpired("dragoman", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def is_for_python(name: str) -> bool:
    """Whether Python reads a variable when it starts: it has no effect on a process that is forked."""
    return name.startswith(("PYTHON", "LC_", "LANG"))


def run(
    words: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Runs `dragoman` to its end, with pipes as its standard streams; like `subprocess.run`."""
    if any(map(is_for_python, environ)):
        command = [sys.executable, "-m", "dragoman", *words]
        return subprocess.run(command, cwd=cwd, env=environ, input=stdin, capture_output=True, check=False)
    (taken, given), (out, told), (err, noted) = os.pipe(), os.pipe(), os.pipe()
    try:
        process = PreparedProcess(words, cwd, environ, (taken, told, noted))
    finally:
        for file in (taken, told, noted):
            os.close(file)
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_give, given, stdin)
        streams = [pool.submit(_take, stream) for stream in (out, err)]
    return subprocess.CompletedProcess([*words], process.wait(), *(stream.result() for stream in streams))


def _give(file: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(file, "wb") as pipe:
        pipe.write(data)


def _take(file: int) -> bytes:
    with open(file, "rb") as pipe:
        return pipe.read()
