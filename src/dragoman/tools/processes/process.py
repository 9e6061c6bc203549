"""One command as it runs: its output as it comes, its input, how it ended, and ending it with all it started.

Rules: memory is bounded whatever a command writes. `end` leaves nothing behind: no process, no open file. It
belongs to no event loop: each call attaches it to the loop it runs in.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from .output import READ_SIZE, Stream

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable

    from .output import StreamName
    from .starter import Holder, Starter
    from .supervisor import Order

DRAIN_SECONDS: Final = 0.25
"""How long what a command started, and did not wait for, has to end by itself: it may be writing the last output."""

_SUPERVISOR_SECONDS = 3.0
_OFTEN = 0.05


class Process:
    """A command under a supervisor. Make it with `start`."""

    def __init__(
        self,
        order: Order,
        holder: Holder,
        channel: socket.socket,
        streams: tuple[Stream, ...],
        keyboard: int | None,
        on_output: Callable[[StreamName, str], None],
        control: socket.socket | None = None,
    ) -> None:
        self.order = order
        self.streams = streams
        self.begun = False
        """Whether it may have done something."""
        self.started = False
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.timed_out = False
        self.failed: str | None = None
        self.too_many: int | None = None
        self.gone = False
        """Nothing of it runs any more."""
        self._clear = False
        """Whether the supervisor has made sure of that."""
        self.answers = 0
        """How often it has answered on its control."""
        self.answer = ""
        """What it answered last, and when."""
        self.answered: float | None = None
        self._started = monotonic()
        self._ended: float | None = None
        self._holder = holder
        self._channel = channel
        self._said = b""
        self._keyboard = keyboard
        self._control = control
        self._half_said = b""
        self._on_output = on_output
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    # -- how it stands

    @property
    def running(self) -> bool:
        return self._ended is None

    @property
    def lost(self) -> bool:
        """How it ended will never be known: somebody killed its supervisor."""
        return self.gone and self.exit_code is None and self.signal is None

    @property
    def duration_ms(self) -> int:
        return round(1000 * ((monotonic() if self._ended is None else self._ended) - self._started))

    @property
    def finished(self) -> bool:
        """It has ended, nothing it started is left, and all that was written has come."""
        return self.gone and all(stream.descriptor is None for stream in self.streams)

    # -- events

    def attach(self) -> None:
        """Take part in the running event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._detach()
        self._loop = loop
        if not self.gone:
            loop.add_reader(self._channel.fileno(), self._read_channel)
        if self._control is not None:
            loop.add_reader(self._control.fileno(), self._listen)
        for stream in self.streams:
            if stream.descriptor is not None:
                loop.add_reader(stream.descriptor, self._read, stream)

    def _detach(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None or loop.is_closed():
            return
        if not self.gone:
            loop.remove_reader(self._channel.fileno())
        if self._control is not None:
            loop.remove_reader(self._control.fileno())
        for stream in self.streams:
            if stream.descriptor is not None:
                loop.remove_reader(stream.descriptor)

    def _read(self, stream: Stream) -> bool:
        """Take what has come on a stream; whether there may be more."""
        text = stream.read()
        if stream.at_end and stream.descriptor is not None:
            if self._loop is not None:
                self._loop.remove_reader(stream.descriptor)
            if self.order["terminal"]:
                self._close_keyboard()
            stream.close()
            self._wake()
        if text is not None:
            self._on_output(stream.name, text)
        return text is not None and not stream.at_end

    def _read_channel(self) -> bool:
        """Take what the supervisor says; whether it said something."""
        try:
            said = self._channel.recv(4096)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            said = b""
        self._said += said
        *lines, self._said = self._said.split(b"\n")
        for line in lines:
            self._note(*line.decode(errors="replace").split(" ", 1))
        try:
            if not said:
                self._leave()
        finally:
            self._wake()
        return True

    def _hear_within(self, seconds: float | None) -> bool:
        """Wait so long for what the supervisor says; whether it may say more."""
        if not self.gone:
            self._channel.settimeout(seconds)
            with suppress(TimeoutError):
                self._read_channel()
        return not self.gone

    def _listen(self) -> bool:
        """Take what it answers on its control; whether it answered something."""
        if self._control is None:
            return False
        try:
            said = self._control.recv(4096)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            said = b""
        *lines, rest = (self._half_said + said).split(b"\n")
        self._half_said = rest[-64:]
        if lines:
            self.answers += len(lines)
            self.answer, self.answered = lines[-1].decode(errors="replace"), monotonic()
        if not said:
            self._close_control()
        self._wake()
        return bool(said)

    def _note(self, word: str, rest: str) -> None:
        match word:
            case "holder":
                self._holder.known(int(rest))
            case "begun":
                self.begun = True
            case "started":
                self.started = True
            case "failed":
                self.failed = rest
            case "exited" | "signalled":
                self._ended = monotonic()
                if word == "exited":
                    self.exit_code = int(rest)
                else:
                    self.signal = int(rest)
            case "timed_out":
                self.timed_out = True
            case "too_many":
                self.too_many = int(rest)
            case "clear":
                self._clear = True

    def _leave(self) -> None:
        """The supervisor is gone, and with it everything; unless it was killed, then what it left is ended here."""
        from .supervisor import end_all

        if self._loop is not None:
            self._loop.remove_reader(self._channel.fileno())
        self._channel.close()
        self._holder.wait()
        self.gone = True
        self._close_keyboard()
        if self._ended is None:
            self._ended = monotonic()
        if not self._clear:
            end_all(None, self.order["brand"])

    def catch_up(self) -> None:
        """Take in what has come and the event loop had no time for."""
        self.attach()
        while not self.gone and self._read_channel():
            pass
        # First what it answered: all it wrote before that can be read by now.
        while self._listen():
            pass
        for stream in self.streams:
            self._read_rest(stream)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, done: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until `done` holds or the time is over; whether it holds."""
        import asyncio

        self.attach()
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    await self._change()
        except TimeoutError:
            pass
        return done()

    async def _change(self) -> None:
        import asyncio

        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    async def wait_for_end(self, seconds: float | None = None) -> bool:
        """Wait until the command has ended, and a little for what it left to end too; whether it has ended."""
        if not await self.wait(lambda: not self.running, seconds):
            return False
        await self.wait(lambda: self.finished, DRAIN_SECONDS)
        return True

    # -- acting on it

    async def command(self, text: str) -> None:
        """Send a text on the control; that nobody takes it any more shows in how the process stands."""
        import asyncio

        self.attach()
        if self._control is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                await asyncio.get_running_loop().sock_sendall(self._control, text.encode() + b"\0")

    def family(self, but: set[int] | None = None) -> set[int]:
        """Every process of it that is alive, also those that have left it; without those of `but` and theirs."""
        from .supervisor import descendants

        holder = self._holder.number
        return set() if self.gone or holder is None else descendants(holder, but)

    def say(self, word: str) -> None:
        """Tell the supervisor to `stop` or to `interrupt` the command, or to stop it `within` so many seconds."""
        if not self.gone:
            # When it is just going, its end of the channel says so in a moment.
            with suppress(OSError):
                self._channel.send(word.encode() + b"\n")
            self.rouse()

    def rouse(self) -> None:
        """Make the processes that watch it go on, should something have halted them."""
        if not self.gone:
            self._holder.rouse()

    async def type(self, text: str, seconds: float) -> str | None:
        """Write to the command's input, or say why not; on a pipe a last \\x04 closes it, as it would on a terminal."""
        import asyncio

        closing = not self.order["terminal"] and text.endswith("\x04")
        data = (text[:-1] if closing else text).encode()
        written = 0
        try:
            async with asyncio.timeout(seconds):
                while written < len(data):
                    if self._keyboard is None:
                        return "has no input that could be typed into"
                    written += await self._write(self._keyboard, data[written : written + READ_SIZE])
        except TimeoutError:
            return f"does not read its input: {written:,} of {len(data):,} bytes were taken"
        except OSError as error:
            return f"does not read its input any more ({error.strerror})"
        if closing:
            self._close_keyboard()
        return None

    async def _write(self, keyboard: int, data: bytes) -> int:
        import asyncio

        try:
            return os.write(keyboard, data)
        except BlockingIOError:
            loop, writable = asyncio.get_running_loop(), asyncio.Event()
            loop.add_writer(keyboard, writable.set)
            try:
                await writable.wait()
            finally:
                if self._keyboard == keyboard:
                    loop.remove_writer(keyboard)
            return 0

    async def end(self) -> None:
        """End everything it started and let go of all it held, also when this very call is cancelled."""
        self.say("stop")
        try:
            await self.wait(lambda: self.gone, self.order["grace"] + _SUPERVISOR_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """The same at once, without asking and without waiting."""
        if not self.gone:
            from .supervisor import end_all

            holder = self._found_holder()
            if holder is not None:
                end_all(holder, self.order["brand"])
            while self._hear_within(None):
                pass
        try:
            for stream in self.streams:
                self._read_rest(stream)
        finally:
            self._detach()
            self._close_keyboard()
            self._close_control()
            for stream in self.streams:
                stream.close()
            self._wake()

    def _found_holder(self) -> int | None:
        """The process that holds it; none when it is gone, since then its number may be another's."""
        while self._holder.number is None and self._hear_within(_OFTEN):
            self._holder.rouse()
        return None if self.gone else self._holder.number

    def _read_rest(self, stream: Stream) -> None:
        # Bounded: something that cannot be killed may go on writing.
        for _ in range(64):
            if not self._read(stream):
                return

    def _close_control(self) -> None:
        control, self._control = self._control, None
        if control is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(control.fileno())
            control.close()

    def _close_keyboard(self) -> None:
        keyboard, self._keyboard = self._keyboard, None
        if keyboard is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_writer(keyboard)
            if not self.order["terminal"]:
                os.close(keyboard)


def start(
    order: Order,
    starter: Starter,
    *,
    keyboard: bool,
    most: int,
    on_output: Callable[[StreamName, str], None],
    controlled: bool = False,
) -> Process:
    """Start a command; `keyboard` leaves its input open, `on_output` gets each piece of output with its stream's name.

    One that is `controlled` has a socket for its input: it is sent commands there, and answers them there.
    """
    import socket

    control: socket.socket | None = None
    with ExitStack() as theirs, ExitStack() as ours:

        def pipe(*, inwards: bool = False) -> tuple[int, int]:
            """Our end of a pipe and the command's."""
            one, other = reversed(os.pipe()) if inwards else os.pipe()
            ours.callback(os.close, one)
            theirs.callback(os.close, other)
            os.set_blocking(one, False)
            return one, other

        typed: int | None = None
        if order["terminal"]:
            typed, terminal = _terminal()
            ours.callback(os.close, typed)
            theirs.callback(os.close, terminal)
            given = (terminal, terminal, terminal)
            streams: tuple[Stream, ...] = (Stream("output", typed, most),)
        else:
            if controlled:
                control, their_control = socket.socketpair()
                ours.callback(control.close)
                theirs.callback(their_control.close)
                control.setblocking(False)  # noqa: FBT003
                stdin = their_control.fileno()
            elif keyboard:
                typed, stdin = pipe(inwards=True)
            else:
                stdin = os.open(os.devnull, os.O_RDONLY)
                theirs.callback(os.close, stdin)
            (stdout, their_stdout), (stderr, their_stderr) = pipe(), pipe()
            given = (stdin, their_stdout, their_stderr)
            streams = (Stream("stdout", stdout, most), Stream("stderr", stderr, most))
        holder, channel = starter.start(order, given)
        ours.pop_all()
        return Process(order, holder, channel, streams, typed, on_output, control)


def _terminal() -> tuple[int, int]:
    """Our end of a new terminal of the usual size, and the command's."""
    import termios

    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    termios.tcsetwinsize(theirs, (24, 80))
    return ours, theirs
