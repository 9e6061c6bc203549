"""The process that watches one command: a program of its own which starts it, limits it and ends all it started.

Rules: it imports the standard library alone and little of that, since it starts with every command and
runs without site-packages. What the command starts stays below this process (a "subreaper" adopts every
orphan), so daemons are found and ended too. When the channel to whoever asked for the command closes,
for whatever reason, everything is ended: nothing outlives a killed parent.

The channel is a socket. In: the order (its length in four bytes, then marshalled), then lines `stop`, `interrupt`,
`within SECONDS` (it has so long from now on) and `unhurried` (it has as long as it likes). Out: lines `process PID`,
`started 0`, `failed WHY`, `exited CODE`, `signalled NUMBER`, `timed_out 0`, `too_many COUNT`; it closes when nothing
is left running.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import TypedDict

    class Order(TypedDict):
        """What to run, where, with what, and how far it may go; times in seconds."""

        arguments: list[str]
        environment: dict[str, str]
        cwd: str
        terminal: bool
        marker: str
        timeout: float | None
        grace: float
        processes: int | None
        limits: list[tuple[int, int, int]]
        writable: list[str] | None
        network: bool

else:
    # The same without the enumerations, which take a third of the time this program needs to start.
    import _signal as signal


PROCESS_FILES = "/proc"
MARKER = "DRAGOMAN_JOB"
"""Every process of a command has this in its environment, unless it took it out."""

_COUNT_EVERY = 0.05
_LONGEST_PAUSE = 3600.0
_GIVE_UP_AFTER = 2.0


# ── finding and ending processes ─────────────────────────────────────────────


def processes() -> dict[int, int]:
    """Every process that is alive, with its parent; nothing where the system does not show them as files."""
    found: dict[int, int] = {}
    try:
        names = os.listdir(PROCESS_FILES)
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            stat = _contents(f"{PROCESS_FILES}/{name}/stat")
            # The program's name stands in brackets and may hold anything, brackets too.
            fields = stat[stat.rfind(b")") + 2 :].split()
            if len(fields) > 1 and fields[0] not in (b"Z", b"X"):
                found[int(name)] = int(fields[1])
    return found


def descendants(root: int, but: set[int] | None = None) -> set[int]:
    """Every living process below `root`, without it, and without those of `but` and what is below them."""
    children: dict[int, list[int]] = {}
    for process, parent in processes().items():
        children.setdefault(parent, []).append(process)
    found: set[int] = set()
    left_out = but or set()
    pending = [root]
    while pending:
        fresh = [child for child in children.get(pending.pop(), ()) if child not in found and child not in left_out]
        found.update(fresh)
        pending += fresh
    return found


def marked(marker: str) -> set[int]:
    """Every living process that was given this marker, wherever it has moved to."""
    wanted = f"{MARKER}={marker}".encode()
    return {
        process for process in processes() if wanted in _contents(f"{PROCESS_FILES}/{process}/environ").split(b"\0")
    }


def kill_tree(root: int, marker: str) -> None:
    """Kill `root`, all below it and all that bear the marker, except this very process; they are dead afterwards."""
    from time import monotonic, sleep

    frozen: set[int] = set()
    # Frozen first: what is being killed must not start something new meanwhile.
    while fresh := ({root} | descendants(root) | marked(marker)) - frozen - {os.getpid()}:
        for process in fresh:
            _send(process, signal.SIGSTOP)
        frozen |= fresh
    for process in frozen:
        _send(process, signal.SIGKILL)
    give_up = monotonic() + _GIVE_UP_AFTER
    while frozen & processes().keys() and monotonic() < give_up:
        sleep(0.002)


def _send(process: int, number: int, *, to_group: bool = False) -> None:
    try:  # noqa: SIM105 (contextlib takes long to import)
        (os.killpg if to_group else os.kill)(process, number)
    except (ProcessLookupError, PermissionError):
        pass  # it ended meanwhile, or became another user's


def _group(process: int) -> int | None:
    try:
        return os.getpgid(process)
    except ProcessLookupError:
        return None


def _contents(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


# ── Landlock ─────────────────────────────────────────────────────────────────

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WRITE_FILE, _TRUNCATE, _IOCTL_DEVICE = 1 << 1, 1 << 14, 1 << 15
# Removing and making of every kind (bits 4 to 12) and moving between folders (bit 13).
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 14))
_MAKE_DEVICES = 1 << 6 | 1 << 11
# What root may do with files and its own processes; the rest (mounting, tracing, modules …) leads out of any sandbox.
_KEPT_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 10)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts")


def landlock_version() -> int:
    """The version of Landlock this kernel has, 0 where it has none."""
    import ctypes

    if sys.platform != "linux":
        return 0
    try:
        return _system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def restrict_writes(writable: list[str], *, network: bool) -> None:
    """Let this process and its children write below `writable` only, for good; without `network` no TCP either."""
    import ctypes

    version = landlock_version()
    to_file = _WRITE_FILE | _TRUNCATE | (_IOCTL_DEVICE if version >= 5 else 0)
    tcp = 0 if network else 0b11
    # No abstract sockets of processes outside and no signals to them: the watcher stays out of reach.
    outside = 0b11
    words = (to_file | _CHANGE_FOLDER, tcp, outside)[: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = b"".join(word.to_bytes(8, sys.byteorder) for word in words)
    ruleset = _system_call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    for path in writable:
        _allow_below(ruleset, path, to_file, to_file | _CHANGE_FOLDER & ~_MAKE_DEVICES)
    for path in _DEVICES:
        _allow_below(ruleset, path, to_file, to_file)
    for capability in range(64):
        if capability not in _KEPT_CAPABILITIES:
            _prctl(24, capability)  # out of the bounding set; refused where there is none to lose
    _prctl(38, 1)  # no new privileges: the kernel asks for this first
    _system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def _allow_below(ruleset: int, path: str, to_file: int, to_folder: int) -> None:
    import ctypes
    import stat

    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    allowed = to_folder if stat.S_ISDIR(os.fstat(target).st_mode) else to_file
    rule = allowed.to_bytes(8, sys.byteorder) + target.to_bytes(4, sys.byteorder)
    _system_call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    os.close(target)


def _system_call(number: int, *arguments: object) -> int:
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    result = int(call(ctypes.c_long(number), *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _prctl(option: int, value: int) -> None:
    import ctypes

    nothing = ctypes.c_ulong(0)
    ctypes.CDLL(None).prctl(ctypes.c_int(option), ctypes.c_ulong(value), nothing, nothing, nothing)


# ── the watching process ─────────────────────────────────────────────────────


class Supervisor:
    """One command under watch."""

    def __init__(self, channel: int, order: Order) -> None:
        self.channel = channel
        self.order = order
        self.command = 0
        self.over = False
        self.kill_at: float | None = None
        self.deadline: float | None = None
        self.said = b""

    def run(self) -> None:
        """Start the command and stay until nothing of it is left."""
        if sys.platform == "linux":
            _prctl(36, 1)  # adopt orphans
        signal.pthread_sigmask(
            signal.SIG_SETMASK, ()
        )  # what a thread of our parent blocks, we and the command would too
        # Somebody who ends "all Pythons" must not lose the one process that can end the rest.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        wake, waker = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

        self.command, problem = self._start()
        self._let_go_of_streams()
        self._tell(f"failed {problem}" if problem else "started 0")
        self._watch(wake)
        if sys.platform != "linux":
            _send(self.command, signal.SIGKILL, to_group=True)

    def _start(self) -> tuple[int, str]:
        """The command's process, and why it could not become the command."""
        problem, problem_writer = os.pipe()  # closed by becoming the command
        process = os.fork()
        if not process:
            try:
                # Said before the command can do anything: it may kill the one who would say it after.
                self._tell(f"process {os.getpid()}")
                self._become_command()
            except BaseException as error:  # noqa: BLE001 (the copy must end here, whatever happened)
                os.write(problem_writer, str(error).encode(errors="replace")[:4096])
            finally:
                os._exit(127)
        os.close(problem_writer)
        said = os.read(problem, 4096)
        os.close(problem)
        return process, said.decode(errors="replace")

    def _become_command(self) -> None:
        order = self.order
        os.setsid()
        if order["terminal"]:
            import fcntl
            import termios

            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(order["cwd"])
        if order["writable"] is not None:
            restrict_writes(order["writable"], network=order["network"])
        if order["limits"]:
            _limit(order["limits"])
        # What Python or we ignore, the command would inherit as ignored.
        for name in ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.execve(order["arguments"][0], order["arguments"], order["environment"])

    def _let_go_of_streams(self) -> None:
        """Else the reader of the command's output would never see its end."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.close(nothing)

    def _watch(self, wake: int) -> None:
        import select
        from time import monotonic

        timeout, most = self.order["timeout"], self.order["processes"]
        self.deadline = None if timeout is None else monotonic() + timeout
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while self._reap():
            now = monotonic()
            if self.deadline is not None and now >= self.deadline:
                self.deadline = None
                if not self.over:
                    self._tell("timed_out 0")
                self._stop()
            if self.kill_at is not None and now >= self.kill_at:
                return self._kill()
            if most is not None and (count := len(descendants(os.getpid()))) > most:
                self._tell(f"too_many {count}")
                return self._kill()
            moments = [moment - now for moment in (self.deadline, self.kill_at) if moment is not None]
            moments += [_COUNT_EVERY] if most is not None else [_LONGEST_PAUSE]
            for descriptor, _ in poll.poll(max(0.0, min(moments)) * 1000):
                said = _available(descriptor)
                if descriptor == self.channel:
                    self._obey(said)
                    if not said:
                        poll.unregister(self.channel)
        return None

    def _obey(self, said: bytes) -> None:
        from time import monotonic

        *lines, self.said = (self.said + said).split(b"\n")
        for line in lines:
            word, _, seconds = line.partition(b" ")
            if word == b"interrupt":
                _send(self.command, signal.SIGINT, to_group=True)
            elif word == b"within":
                self.deadline = monotonic() + float(seconds)
            elif word == b"unhurried":
                self.deadline = None
            elif word == b"stop":
                self._stop()
        if not said:
            self._stop()

    def _reap(self) -> bool:
        """Collect what has ended; `False` when nothing is left below us."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not process:
                return True
            if process == self.command:
                self.over = True
                code = os.waitstatus_to_exitcode(status)
                self._tell(f"exited {code}" if code >= 0 else f"signalled {-code}")

    def _stop(self) -> None:
        """Ask everything to end; what has not by the end of the grace is killed."""
        from time import monotonic

        if self.kill_at is not None:
            return
        self.kill_at = monotonic() + self.order["grace"]
        # The group first and at once, or a shell would go on to its next command when this one ends.
        _send(self.command, signal.SIGTERM, to_group=True)
        _send(self.command, signal.SIGCONT, to_group=True)
        for process in descendants(os.getpid()):
            if _group(process) != self.command:
                _send(process, signal.SIGTERM)
                _send(process, signal.SIGCONT)

    def _kill(self) -> None:
        from time import monotonic

        give_up = monotonic() + _GIVE_UP_AFTER
        while self._reap() and monotonic() < give_up:
            _send(self.command, signal.SIGKILL, to_group=True)
            kill_tree(os.getpid(), self.order["marker"])

    def _tell(self, line: str) -> None:
        try:  # noqa: SIM105
            os.write(self.channel, line.replace("\n", " ").encode(errors="replace") + b"\n")
        except OSError:
            pass  # nobody listens any more: the closed channel ends the command


def _limit(limits: list[tuple[int, int, int]]) -> None:
    import resource

    for limit, soft, hard in limits:
        ceiling = resource.getrlimit(limit)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(limit, (soft, hard))


def _available(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


def _exactly(descriptor: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(descriptor, count - len(data))
        if not piece:
            sys.exit("the channel closed before the order was whole")
        data += piece
    return data


def main(channel: int) -> None:
    """Take an order from the channel and see to it."""
    import marshal

    os.set_inheritable(channel, False)  # noqa: FBT003
    length = int.from_bytes(_exactly(channel, 4), "big")
    Supervisor(channel, marshal.loads(_exactly(channel, length))).run()
