"""A user at a machine of their own: a home, a current folder, and the real command in a real process or terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import config, registry
from dragoman.cli import main

from .prepared import PreparedProcess, run


class Answer(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str = ""

    @classmethod
    def of(cls, done: subprocess.CompletedProcess[bytes]) -> Answer:
        return cls(done.returncode, done.stdout.decode(), done.stderr.decode())

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


class User:
    """Runs `dragoman` as somebody whose whole world is a temporary folder."""

    def __init__(self, root: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self.here, self.config_dir = root / "home", root / "home" / "here", root / "config"
        self.here.mkdir(parents=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "DRAGOMAN_CONFIG_DIR": str(self.config_dir),
            "DRAGOMAN_DATA_DIR": str(root / "data"),
            "DRAGOMAN_CACHE_DIR": str(root / "cache"),
            # Which sandbox a machine has must not matter to these tests; those of the sandbox choose one.
            "DRAGOMAN_SANDBOX__MODE": "off",
        }
        self._capture = capture

    def settings(self, text: str) -> Path:
        return self.write(self.config_dir / "config.toml", text)

    def plugin(self, name: str, source: str) -> Path:
        return self.write(self.config_dir / "plugins" / name, source)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        return path

    def types(self, *words: str) -> Answer:
        """In this process: quick, and no terminal anywhere."""
        config.use(None)
        registry.PLUGINS.forget()
        self._capture.readouterr()
        code = main(words)
        return Answer(code, *self._capture.readouterr())

    def starts(self, *words: str, stdout: Any = None, **environ: str) -> subprocess.CompletedProcess[bytes]:
        """In a process of its own, with its output in pipes; with a `stdout`, a new one that gets it."""
        known = {**self.environ, **environ}
        if stdout is None:
            return run(words, self.here, known)
        return subprocess.run(
            [sys.executable, "-m", "dragoman", *words],
            cwd=self.here,
            env=known,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )

    def sees(self, *words: str, columns: int = 80, **environ: str) -> Answer:
        """In a real terminal: everything that reaches the screen, in the order it does."""
        known = {**self.environ, "TERM": "xterm", **environ}
        return _seen(lambda terminal: PreparedProcess(words, self.here, known, (terminal,) * 3), columns)

    def sees_each(self, *tries: Try, program: Path | None = None) -> list[Answer]:
        """The same for several tries: processes of one that has imported everything, since importing takes longest.

        With `program` it is that Python file which runs, not `dragoman`.
        """
        wanted = [(columns, environ, list(words)) for columns, environ, words in tries]
        command = [sys.executable, "-c", _EACH, str(program or ""), msgspec.json.encode(wanted).decode()]
        everything = in_terminal(command, self.here, {**self.environ, "TERM": "xterm"}, 80)
        assert everything.code == 0, everything.out
        *shown, rest = everything.out.split("\0")
        assert (rest, len(shown)) == ("", 2 * len(tries)), everything.out
        return [Answer(int(code), out) for out, code in zip(shown[::2], shown[1::2], strict=True)]


Try = tuple[int, Mapping[str, str], Sequence[str]]
"""The columns of a terminal, more for the environment, and the words of a command."""

_EACH = """
import fcntl, json, os, runpy, struct, sys, termios
import rich.progress, rich.table
from dragoman.__main__ import entry
import dragoman.cli.commands.config, dragoman.cli.commands.run, dragoman.logs
program, tries = sys.argv[1:]
if program:
    runpy.run_path(program, run_name="imported")
for columns, environ, words in json.loads(tries):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = os.fork()
    if not child:
        os.environ.update(environ)
        sys.argv = [program or "dragoman", *words]
        runpy.run_path(program, run_name="__main__") if program else entry()
        sys.exit()
    _, status = os.waitpid(child, 0)
    os.write(1, f"\\0{os.waitstatus_to_exitcode(status)}\\0".encode())
"""


def in_terminal(command: list[str], cwd: Path, environ: Mapping[str, str], columns: int) -> Answer:
    return _seen(
        lambda terminal: subprocess.Popen(
            command, cwd=cwd, env=environ, stdin=terminal, stdout=terminal, stderr=terminal
        ),
        columns,
    )


def _seen(start: Callable[[int], PreparedProcess | subprocess.Popen[bytes]], columns: int) -> Answer:
    """What a process writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = start(theirs)
    finally:
        os.close(theirs)
    try:
        screen = b"".join(iter(lambda: _read(ours), b""))
    finally:
        os.close(ours)
    return Answer(process.wait(), screen.decode().replace("\r\n", "\n"))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that nobody writes to this terminal any more
        return b""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[User]:
    user = User(tmp_path, capfd)
    for name in [name for name in os.environ if name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in user.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(user.here)
    yield user
    config.use(None)
    registry.PLUGINS.forget()
