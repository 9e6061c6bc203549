"""What a `Shell` has started: a command, or a standing shell that takes one command after the other.

Rule: a standing shell is one live bash. It keeps its folder, variables, functions and what runs in the background
from one command to the next, and whatever ends it (`exit`, `exec`, `set -e`, a time that was up) is told. The output
of a command is what was written while it ran; what the background wrote between two commands is told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

import msgspec

from .output import StreamName, cut_middle
from .process import DRAIN_SECONDS, Process

DRIVER: Final = (
    # Twice, so that a `break` too many in a command does not end it.
    "while { builtin :; } >/dev/null 2>&1; do "
    # How the last command went is the answer; the first one says that the shell is ready.
    "while { builtin printf '%d\\n' \"$?\" >&0; IFS= builtin read -r -d '' __dragoman || builtin exit; "
    # What is traced is the command alone.
    'case $- in *x*) builtin set +x; __dragoman="builtin set -x; $__dragoman";; esac; } >/dev/null 2>&1; '
    # Its input is empty, as that of any command; and it cannot take the control away, since that comes back.
    'do builtin eval "builtin unset __dragoman; $__dragoman" </dev/null; done; done'
)
"""What a standing shell runs: it reads commands from the socket that is its input, and answers each with its exit code.

All on one line, so that the lines of a command are counted from 1 when an error names one.
"""

_OFTEN = 0.01


class Wrote(msgspec.Struct, frozen=True):
    """A piece of a command's output, as it comes."""

    job: str
    stream: StreamName
    text: str


class Command:
    """A command that was started, and what it is called; `may_stay` says whether the call may leave it running."""

    process: Process

    def __init__(self, name: str, text: str, *, may_stay: bool, sandbox: str | None) -> None:
        self.name, self.text, self.may_stay, self.sandbox = name, text, may_stay, sandbox
        self.observer: Callable[[Wrote], None] | None = None
        self.listener: Callable[[StreamName, str], None] | None = None

    def add_output(self, stream: StreamName, text: str) -> None:
        """Take a piece of output; an empty one is the stream's end."""
        if self.observer is not None and text:
            self.observer(Wrote(self.name, stream, text))
        if self.listener is not None:
            self.listener(stream, text)

    @property
    def running(self) -> bool:
        return self.process.running

    @property
    def exit_code(self) -> int | None:
        return self.process.exit_code

    @property
    def signal(self) -> int | None:
        return self.process.signal

    @property
    def duration_ms(self) -> int:
        return self.process.duration_ms

    async def wait_for_end(self, seconds: float) -> bool:
        """Wait until it has ended, at most so long; whether it has."""
        return await self.process.wait_for_end(seconds)


class StandingShell(Command):
    """A bash that stays; `text` is the command it was given last."""

    def __init__(self, name: str, *, sandbox: str | None, root: str, program: str, login: bool) -> None:
        super().__init__(name, "", may_stay=True, sandbox=sandbox)
        self.root, self.program, self.login = root, program, login
        self.news: str | None = None
        """What the next outcome has to say beside its own."""
        self.end_told = False
        """Whether it is known to whoever uses it that it has ended."""
        self._late = ""
        self._asked = 1  # that it is ready is an answer too
        self._began = 0.0
        self._own: set[int] = set()
        self._background: set[int] = set()

    @property
    def alive(self) -> bool:
        return self.process.running

    @property
    def ready(self) -> bool:
        return self.process.answers > 0 or not self.alive

    @property
    def _answered(self) -> bool:
        return self.process.answers >= self._asked

    @property
    def running(self) -> bool:
        return self.alive and not self._answered

    @property
    def exit_code(self) -> int | None:
        if not self._answered:
            return self.process.exit_code
        return int(self.process.answer) if self.process.answer.isdecimal() and self._asked > 1 else None

    @property
    def signal(self) -> int | None:
        return None if self._answered else self.process.signal

    @property
    def duration_ms(self) -> int:
        ended = self.process.answered if self._answered else None
        return self.process.duration_ms if self._asked == 1 else round(1000 * ((ended or monotonic()) - self._began))

    async def begin(self, text: str, *, folder: str | None, seconds: float | None) -> None:
        """Give it a command, to be run in `folder` (where it is, when not said) and within so many seconds."""
        from shlex import quote

        process = self.process
        process.catch_up()
        if self._asked == 1:
            self._own = process.family()
        else:
            self._late = "".join(stream.take().text(stream.most)[0] for stream in process.streams)
        self._background = process.family() - self._own
        self.text, self._began = text, monotonic()
        self._asked += 1
        process.say("unhurried" if seconds is None else f"within {seconds!r}")
        await process.command(
            text if folder is None else f"builtin cd -- {quote(folder)} && builtin eval {quote(text)}"
        )

    async def wait_for_end(self, seconds: float) -> bool:
        process = self.process
        if not await process.wait(lambda: not self.running, seconds):
            return False
        if not self.alive:
            await process.wait(lambda: process.finished, DRAIN_SECONDS)
            return True
        process.say("unhurried")
        await self._drained()
        process.catch_up()
        for stream in process.streams:
            stream.settle()
        return True

    async def _drained(self) -> None:
        """Wait a little for what the command started and did not wait for: it may be writing the last output."""
        until = monotonic() + DRAIN_SECONDS
        while self.process.family(self._background) - self._own and monotonic() < until:
            await self.process.wait(lambda: not self.alive, _OFTEN)

    def written_meanwhile(self, limit: int) -> tuple[str, int]:
        """What the background wrote between the last two commands, and how many characters of it are left out."""
        late, self._late = self._late, ""
        return cut_middle(late, limit)
