"""A user's machine for faults: a home, a folder to work in, a session of another client, and a model that answers.

The provider is a server on this machine that plays scripted turns; the command is the real one, in a process.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.engine.loopback import Answer, Loopback, Turn
from tests.logs.samples import CLAUDE

SECONDS = 60.0
"""After these nothing more will come; nothing is measured by them."""
READ = Turn("I look.", calls=(("c0", "Read", {"file_path": "notes.txt"}),))
EDIT = Turn(
    "I change it.", calls=(("c1", "Edit", {"file_path": "notes.txt", "old_string": "tea", "new_string": "milk"}),)
)
DONE = Turn("It is done.")


_IN_TURN = """
import contextlib, io, json, sys
from dragoman import config, registry
from dragoman.cli import main
told = {}
for line in json.load(sys.stdin):
    config.use(None)
    registry.PLUGINS.forget()
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.split())
    told[line] = code, err.buffer.getvalue().decode()
json.dump(told, sys.stdout)
"""


class Told(NamedTuple):
    """What a command gave: its exit code, and what it said on standard error."""

    code: int
    err: str


class Machine:
    """Everything lies below `root`."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.here = root, root / "home", root / "here"
        self.runs = self.home / ".local" / "share" / "dragoman" / "runs"
        session = self.home / ".claude" / "projects" / "-p" / "s-1.jsonl"
        session.parent.mkdir(parents=True)
        session.write_bytes(CLAUDE)
        self.here.mkdir()
        self.notes = self.here / "notes.txt"
        self.notes.write_text("tea\nbread\n")
        (root / "tmp").mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(root / "tmp"),
            "ANTHROPIC_API_KEY": "sk-ant-0123456789",
            "PYTHONDONTWRITEBYTECODE": "1",  # Python writes half a file where the disk is full, and then trips over it
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "dragoman", *words]

    def runs_command(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """A command from its start to its end."""
        return subprocess.run(
            self.command(*words),
            cwd=self.here,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            **options,
        )

    def types(self, *lines: str, before: Sequence[str] = ()) -> dict[str, Told]:
        """Several commands, one after the other in one process: what each gave. `before` starts the process."""
        done = subprocess.run(
            [*before, sys.executable, "-c", _IN_TURN],
            cwd=self.here,
            env=self.environ,
            input=json.dumps(lines),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        return {line: Told(*told) for line, told in json.loads(done.stdout).items()}

    def files(self) -> dict[str, bytes]:
        """Every file below the folder that is worked in."""
        return {str(path.relative_to(self.here)): path.read_bytes() for path in self.here.rglob("*") if path.is_file()}

    @contextmanager
    def provider(self, script: Sequence[Answer]) -> Iterator[Loopback]:
        """Plays the turns of a model, one request after the other, while the block runs."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        async def start() -> tuple[Loopback, asyncio.Server]:
            served = Loopback(script)
            server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
            served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return served, server

        async def stop() -> None:
            await served.stop()
            server.close()
            await server.wait_closed()

        served, server = asyncio.run_coroutine_threadsafe(start(), loop).result(SECONDS)
        self.environ["ANTHROPIC_BASE_URL"] = served.url
        try:
            yield served
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result(SECONDS)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


@contextmanager
def small_disk(place: Path, size: str = "1m") -> Iterator[Path]:
    """A file system of its own that can be filled."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, *, leave: int = 0) -> None:
    """Takes all the space of a file system but so many bytes."""
    with open(disk / "filling", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
        file.truncate(file.tell() - leave)
