"""The two processes that watch one command: they start it, limit it, and end all it started.

The *supervisor* starts the command and enforces its limits. The *holder* is the supervisor's parent and only waits:
a command can kill its supervisor, and then the holder ends what is left. Both are "subreapers" (an orphan becomes
their child instead of init's), and both end everything when the channel to whoever asked for the command closes:
nothing outlives a killed parent. When both are killed, what they leave is found by its brand, see `new_brand`.

A third process, the *starter*, stays from one command to the next and makes the holders, see `serve`.

Rule: this program imports the standard library alone and little of that, since what it holds is copied for every
command; it runs without site-packages.

The channel is a socket. In: the order (its length in four bytes, then marshalled), then lines `stop`, `interrupt`,
`within SECONDS` (the time limit from now on) and `unhurried` (no time limit). Out: lines `holder PID`, `begun 0`,
`started 0`, `failed WHY`, `exited CODE`, `signalled NUMBER`, `timed_out 0`, `too_many COUNT`, and as the last one
`clear 0`, when nothing is left running. A channel that closes without `clear` means that the watching processes were
killed.
"""

from __future__ import annotations

import _socket
import gc
import marshal
import os
import select
import sys
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
    from typing import Any, TypedDict

    from .landlock import Confinement

    Brand = tuple[int, int]

    class Order(TypedDict):
        """What to run, where, with what, and how far it may go; times in seconds."""

        arguments: list[str]
        environment: dict[str, str]
        cwd: str
        terminal: bool
        brand: Brand | None
        timeout: float | None
        grace: float
        processes: int | None
        limits: list[tuple[int, int, int]]
        confinement: Confinement | None
        opened: list[int]

else:
    # The same without the enumerations, which take a third of the time this program needs to start.
    import _signal as signal


PROCESS_FILES = "/proc"
_COUNT_EVERY = 0.05
_LONGEST_PAUSE = 3600.0
_GIVE_UP_AFTER = 2.0


# ── finding and ending processes ─────────────────────────────────────────────


def processes() -> dict[int, int]:
    """Every process that is alive, with its parent; nothing where the system does not show them as files."""
    found: dict[int, int] = {}
    for number in _numbers():
        status = _status(number)
        if status is not None:
            found[number] = status[0]
    return found


def descendants(root: int, but: set[int] | None = None) -> set[int]:
    """Every living process below `root`, without it, and without those of `but` and what is below them."""
    return _below({root}, processes(), but or set())


def _below(roots: set[int], parents: dict[int, int], left_out: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    found: set[int] = set()
    pending = list(roots)
    while pending:
        fresh = [child for child in children.get(pending.pop(), ()) if child not in found and child not in left_out]
        found.update(fresh)
        pending += fresh
    return found


def end_all(root: int | None, brand: Brand | None) -> bool:
    """Kill `root`, all below it and all with the brand, except this very process; whether none of them is left.

    A process that starts a copy of itself and ends, over and over, is gone before a look at all processes is through.
    So that look is followed by looks at what was started since, which take microseconds, until nothing new is seen.
    """
    give_up = monotonic() + _GIVE_UP_AFTER
    family = set() if root is None else {root}
    spared = {os.getpid()}
    dying: dict[int, int] = {}
    looked_up_to: int | None = None
    while True:
        newest = _newest()
        # Without a brand, kinship is all there is, and it shows only when everything is looked at.
        everything = brand is None or looked_up_to is None or newest < looked_up_to
        numbers = _numbers() if everything else range(newest, looked_up_to or 0, -1)
        looked_up_to = newest
        found, unsure = _members(numbers, family, brand)
        fresh = {
            number: start for number, start in found.items() if number not in spared and dying.get(number) != start
        }
        # Halted first: what is being killed must not start something new meanwhile.
        for number in fresh:
            _send(number, signal.SIGSTOP)
        for number, start in fresh.items():
            if _send(number, signal.SIGKILL):
                dying[number] = start
            else:
                spared.add(number)
        dying = {number: start for number, start in dying.items() if (_status(number) or (0, 0))[1] == start}
        if not fresh and not unsure and not dying:
            return True
        if monotonic() >= give_up:
            return False
        if not fresh and not unsure:
            sleep(0.001)


def _members(numbers: Iterable[int], family: set[int], brand: Brand | None) -> tuple[dict[int, int], bool]:
    """Those of the processes that belong to a command, with their start times; and whether some ended unseen.

    `family` holds every process known to belong to it; what is found is added.
    """
    parents: dict[int, int] = {}
    starts: dict[int, int] = {}
    unsure = False
    for number in numbers:
        status = _status(number)
        if status is None:
            unsure = unsure or not os.path.exists(f"{PROCESS_FILES}/{number}")
            continue
        parents[number], starts[number] = status
        if brand is not None:
            limits = _contents(f"{PROCESS_FILES}/{number}/limits")
            if _show(limits, brand):
                family.add(number)
            # It may have started a copy of itself since its status was read.
            unsure = unsure or (not limits and _status(number) is None)
    family |= _below(family, parents, set())
    return {number: starts[number] for number in family if number in starts}, unsure


def _numbers() -> list[int]:
    """The numbers of all processes, the newest first."""
    try:
        return sorted((int(name) for name in os.listdir(PROCESS_FILES) if name.isdigit()), reverse=True)
    except OSError:
        return []


def _newest() -> int:
    """The number that was given to a process last."""
    fields = _contents(f"{PROCESS_FILES}/loadavg").split()
    return int(fields[-1]) if fields and fields[-1].isdigit() else 0


def _status(process: int) -> tuple[int, int] | None:
    """The parent of a living process, and its start time in the system's own count."""
    stat = _contents(f"{PROCESS_FILES}/{process}/stat")
    # The program's name stands in brackets and may hold anything, brackets too.
    fields = stat[stat.rfind(b")") + 2 :].split()
    # A process whose first thread has ended is shown as a zombie although its other threads still run.
    if len(fields) < 20 or (fields[0] in (b"Z", b"X") and int(fields[17]) < 2):
        return None
    return int(fields[1]), int(fields[19])


def _send(process: int, number: int, *, to_group: bool = False) -> bool:
    """Send a signal; `False` when the process may not be signalled, since it is another user's by now."""
    try:
        (os.killpg if to_group else os.kill)(process, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


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


# ── the brand ────────────────────────────────────────────────────────────────

# A brand is two hard limits: of file locks and of resident memory. Linux has enforced neither since version 2.4 (man
# getrlimit), but a process still gets them from its parent, everybody can read them, and only root can raise them.
_BRAND_LIMITS = (10, 5)
_BRAND_LINES = (b"Max file locks", b"Max resident set")
_BRAND_TOP = 1 << 62
_BRAND_STEPS = (1 << 60, 1 << 40, 1 << 20)


def new_brand() -> Brand | None:
    """A brand for the processes of one command, by which they are known whatever they do to themselves.

    A process can leave its session, its group and its parent, drop its environment and close its files, but its limits
    it can only lower. `None` where something else uses these limits, or dragoman runs in dragoman too often.
    """
    if sys.platform != "linux":
        return None
    import resource

    hard = [resource.getrlimit(limit)[1] for limit in _BRAND_LIMITS]
    locks, memory = (_BRAND_TOP if one == resource.RLIM_INFINITY else one for one in hard)
    return brand_below((locks, memory), int.from_bytes(os.urandom(8), "big"))


def brand_below(own: Brand, chance: int) -> Brand | None:
    """A brand that a process with the limits `own` can give, chosen by `chance`.

    All brands given by one process have the same sum, so of any two each has one limit that is lower than the other's:
    lowering never leads from one to the other. A command that runs dragoman itself has a brand already. The sum tells
    how deep that goes, and each level takes much smaller steps than the one above, so that its brands stay near the one
    they come from and away from others.
    """
    spent = 2 * _BRAND_TOP - sum(own)
    for level, step in enumerate(_BRAND_STEPS):
        if spent == sum(_BRAND_STEPS[:level]):
            share = chance % (step + 1)
            return own[0] - share, own[1] - (step - share)
    return None


def _show(limits: bytes, brand: Brand) -> bool:
    """Whether the limits of a process are those of a brand, or lower ones, to which it alone can have led."""
    for name, most in zip(_BRAND_LINES, brand, strict=True):
        _, found, rest = limits.partition(name)
        hard = rest.split(None, 2)[1:2] if found else []
        if not hard or not hard[0].isdigit() or int(hard[0]) > most:
            return False
    return True


_system: list[Any] = []


def _libc() -> Any:
    """The C library, for what Python has no function for."""
    if not _system:
        import ctypes

        # The kind that keeps Python's own lock: it is held by the copy that `_sibling` makes as well.
        _system.append(ctypes.PyDLL(None))
        _system[0].prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
        _system[0].syscall.argtypes = (ctypes.c_long, *(ctypes.c_ulong,) * 5)
        _system[0].syscall.restype = ctypes.c_long
    return _system[0]


def _prctl(option: int, value: int) -> None:
    _libc().prctl(option, value, 0, 0, 0)


# ── the watching process ─────────────────────────────────────────────────────


_PARENT_DEATH_SIGNAL, _DUMPABLE, _SUBREAPER = 1, 4, 36
# What Python or we ignore, the command would inherit as ignored.
_USUAL_SIGNALS = tuple(
    getattr(signal, f"SIG{name}") for name in ("PIPE", "XFSZ", "INT", "TERM", "HUP", "QUIT", "CHLD", "CONT")
)
_HOLDER_SECONDS = 2.0
"""How much longer than the command's grace period the supervisor may take to end it before the holder does."""


def hold(channel: int, order: Order) -> None:
    """Run the supervisor in a process below this one, and end what it leaves when it is killed."""
    _adopt()
    # The write end closes with this process: it tells the supervisor that nobody holds it any more.
    held, holding = os.pipe()
    supervisor = os.fork()
    if not supervisor:
        try:
            os.close(holding)
            _adopt()
            Supervisor(channel, order, held).run()
        except BaseException:  # noqa: BLE001 (the copy must end here, whatever happened)
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)
    os.close(held)
    _let_go(order)
    if _ended_well(supervisor, channel, order["grace"]) or end_all(os.getpid(), order["brand"]):
        _tell(channel, "clear 0")


def _ended_well(supervisor: int, channel: int, grace: float) -> bool:
    """Wait until the supervisor has ended, or has had its time after nobody was left to listen to it.

    Whether it ended by itself and left nothing.
    """
    wake = _woken_by_children()
    poll = select.poll()
    poll.register(channel, 0)  # only its closing
    poll.register(wake, select.POLLIN)
    until: float | None = None
    well = False
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return well
        if process == supervisor and os.WIFSTOPPED(status):
            _send(supervisor, signal.SIGCONT)  # a command may have halted it
        elif process == supervisor:
            well = os.WIFEXITED(status)
            if not well:
                return False
        if process:
            continue
        left = _LONGEST_PAUSE if until is None else until - monotonic()
        if well or left <= 0:
            return False
        for descriptor, _ in poll.poll(left * 1000):
            if descriptor == wake:
                _available(wake)
            else:
                poll.unregister(channel)
                until = monotonic() + grace + _HOLDER_SECONDS


def _prepare() -> None:
    """Make this process, and the copies of it, such that a command can neither look into it nor end all of its kind."""
    if sys.platform == "linux":
        _prctl(_DUMPABLE, 0)
    # What a thread of our parent blocks, this process and the command would too.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Somebody who ends "all Pythons" must not lose the processes that can end the rest.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)


def _adopt() -> None:
    """Make this process the parent of what loses its own, and have it go on when its own parent ends."""
    if sys.platform == "linux":
        _prctl(_SUBREAPER, 1)
        # A command may halt it and then kill our parent, who would have made it go on.
        _prctl(_PARENT_DEATH_SIGNAL, signal.SIGCONT)


def _woken_by_children() -> int:
    """A descriptor that can be read when a child has ended or was halted."""
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wake


def _let_go(order: Order) -> None:
    """Close what is the command's own: else the reader of its output would never see its end."""
    _silence()
    for descriptor in order["opened"]:
        os.close(descriptor)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _tell(channel: int, line: str) -> None:
    try:  # noqa: SIM105 (contextlib takes long to import)
        os.write(channel, line.replace("\n", " ").encode(errors="replace") + b"\n")
    except OSError:
        pass  # nobody listens any more: the closed channel ends the command


class Supervisor:
    """One command under watch; `held` is readable when the holder was killed."""

    def __init__(self, channel: int, order: Order, held: int | None = None) -> None:
        self.channel = channel
        self.held = held
        self.order = order
        self.command = 0
        self.over = False
        self.kill_at: float | None = None
        self.deadline: float | None = None
        self.said = b""

    def run(self) -> None:
        """Start the command and stay until nothing of it is left."""
        wake = _woken_by_children()
        self.command, problem = self._start()
        _let_go(self.order)
        self._tell(f"failed {problem}" if problem else "started 0")
        self._watch(wake)
        if sys.platform != "linux":
            _send(self.command, signal.SIGKILL, to_group=True)

    def _start(self) -> tuple[int, str]:
        """The command's process, and why it could not become the command."""
        order = self.order
        # Said before the command can do anything: it may kill the one who would say it after.
        self._tell("begun 0")
        if sys.platform != "linux" or order["terminal"] or order["confinement"] is not None or order["limits"]:
            return self._start_copy()
        try:
            # This process may bear the brand as well: who looks for it means all of the command.
            _limit([], order["brand"])
            os.chdir(order["cwd"])
            arguments, environment = order["arguments"], order["environment"]
            return os.posix_spawn(arguments[0], arguments, environment, setsid=True, setsigdef=_USUAL_SIGNALS), ""
        except OSError as error:
            return 0, str(error)
        finally:
            os.chdir("/")

    def _start_copy(self) -> tuple[int, str]:
        """The same by way of a copy of this process, which takes from itself what the command is not to have."""
        problem, problem_writer = os.pipe()  # closed by becoming the command
        process = os.fork()
        if not process:
            try:
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
        if order["confinement"] is not None:
            # This program is no part of a package here: the module beside it is found under its bare name.
            __import__("landlock").confine(order["confinement"])
        _limit(order["limits"], order["brand"])
        for number in _USUAL_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.execve(order["arguments"][0], order["arguments"], order["environment"])

    def _watch(self, wake: int) -> None:
        timeout, most = self.order["timeout"], self.order["processes"]
        self.deadline = None if timeout is None else monotonic() + timeout
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        poll.register(wake, select.POLLIN)
        if self.held is not None:
            poll.register(self.held, select.POLLIN)
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
                if descriptor == self.held:
                    return self._kill()
                said = _available(descriptor)
                if descriptor == self.channel:
                    self._obey(said)
                    if not said:
                        poll.unregister(self.channel)
        return None

    def _obey(self, said: bytes) -> None:
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
        give_up = monotonic() + _GIVE_UP_AFTER
        while self._reap() and monotonic() < give_up:
            _send(self.command, signal.SIGKILL, to_group=True)
            end_all(os.getpid(), self.order["brand"])

    def _tell(self, line: str) -> None:
        _tell(self.channel, line)


def _limit(limits: list[tuple[int, int, int]], brand: Brand | None) -> None:
    import resource

    for limit, value in zip(_BRAND_LIMITS, brand or (), strict=False):
        resource.setrlimit(limit, (value, value))
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


def main(channel: int, opened: list[int]) -> None:
    """Take an order from the channel and see to it; `opened` becomes what the order names."""
    os.set_inheritable(channel, False)  # noqa: FBT003
    _tell(channel, f"holder {os.getpid()}")
    length = int.from_bytes(_exactly(channel, 4), "big")
    order: Order = marshal.loads(_exactly(channel, length))
    if opened:
        channel = _placed(channel, opened, order["opened"])
    if sys.platform == "linux":
        hold(channel, order)
    else:  # without subreapers there is nothing a second process could hold
        Supervisor(channel, order).run()
        _tell(channel, "clear 0")


def _placed(channel: int, opened: list[int], wanted: list[int]) -> int:
    """Give descriptors the numbers they are known by in the command line; the channel's new one."""
    import fcntl

    above = max(wanted) + 1
    # First out of the way: one may have the number that another is to have.
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, above) for one in (channel, *opened)]
    for one in (channel, *opened):
        os.close(one)
    for one, number in zip(moved[1:], wanted, strict=True):
        os.dup2(one, number)
        os.close(one)
    return moved[0]


# ── the starter ──────────────────────────────────────────────────────────────

_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "loongarch64": 220}
"""Machine → the number of its system call `clone`."""
_CLONE_PARENT = 0x8000
_MOST_DESCRIPTORS = 253  # what Linux passes in one message


def serve(link: int, owner: int) -> None:
    """Make a holder for each order that `owner` sends, until that ends or closes its side.

    A message on the link is one byte, how many descriptors come with it: the channel, the three streams of the
    command, and what the order calls `opened`. Starting an interpreter takes ten times as long as copying this one.

    The holder is made as a child of the owner, not of this process: so its end is seen by the owner alone, its number
    stays taken until then, and killing or halting the starter changes nothing for commands that run.
    """
    import resource  # noqa: F401 (for the copies, as `landlock`)

    __import__("landlock")
    os.set_inheritable(link, False)  # noqa: FBT003
    _prepare()
    _adopt()
    # Sent when the owner ends, also when somebody else still holds the other side of the link.
    signal.signal(signal.SIGCONT, lambda *_: os._exit(0) if os.getppid() != owner else None)
    # Until now it was the first command's, to be told why this process could not start.
    _silence()
    gc.disable()
    gc.freeze()
    socket = _socket.socket(fileno=link)
    space = _socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
    while os.getppid() == owner:
        count, ancillary, _, _ = socket.recvmsg(1, space, getattr(_socket, "MSG_CMSG_CLOEXEC", 0))
        if not count:
            break
        data = b"".join(piece for _, _, piece in ancillary)
        given = [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
        # Some may be missing when this process may not open as many; the channel, closed again, says so.
        sibling = _sibling() if len(given) == count[0] else 1
        if sibling <= 0:
            _begin(link, given)
        for descriptor in given:
            os.close(descriptor)
    os._exit(0)


def _sibling() -> int:
    """Make a copy of this process with the same parent: 0 in the copy; below 0 where the system cannot."""
    number = _CLONE.get(os.uname().machine) if sys.platform == "linux" else None
    if number is None:
        return -1
    made: int = _libc().syscall(number, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    return made


def _begin(link: int, given: list[int]) -> None:
    """Become a holder. Where no copy can be made, the starter itself does, and the next order gets another starter."""
    try:
        os.close(link)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)
        if os.getsid(0) != os.getpid():
            os.setsid()
        channel, *streams = given[:4]
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        main(channel, given[4:])
    except BaseException:  # noqa: BLE001 (the copy must end here, whatever happened)
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)
