"""Programs that try to outlive the call that started them, and a run that gives them the chance.

`python -m tests.attack.outliving run USER ATTACK …` runs attacks, one after the other, in a process namespace where
there is nothing else (see `apart`), and prints what was left of each. `… attack NAME DRAGOMAN FOLDER` is an attack, as
the command of such a run.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import platform
import resource
import shlex
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.attack.apart import become_nobody

BORN = "born"
"""The file in which each attacker says that it lives."""
_SECONDS = 60
_GENERATIONS = 20_000


# ── attacks ──────────────────────────────────────────────────────────────────


def watchers(dragoman: int) -> list[int]:
    """Every process between this one and dragoman."""
    found: list[int] = []
    process = os.getppid()
    while process not in (0, 1, dragoman):
        found.append(process)
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        process = int(fields[1])
    return found


def daemon(body: Callable[[], object]) -> None:
    """Do something in a process that has left its session, its group, its parent and its files; wait until it has."""
    ready, waker = os.pipe()
    if os.fork():
        os.close(waker)
        os.read(ready, 1)
        os.close(ready)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    with open(BORN, "a") as file:
        file.write(f"{os.getpid()}\n")
    os.closerange(0, 1024)
    body()
    os._exit(0)


def sleep_under_another_name() -> NoReturn:
    os.execve("/bin/sleep", ["[kworker/0:0]", str(_SECONDS)], {})


def kill_parent(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    os.kill(os.getppid(), signal.SIGKILL)


def kill_watchers(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    for process in watchers(dragoman):
        os.kill(process, signal.SIGKILL)


def kill_watchers_from_above(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    for process in reversed(watchers(dragoman)):
        os.kill(process, signal.SIGKILL)


def lower_limits(dragoman: int) -> None:
    for limit in (resource.RLIMIT_RSS, 10):
        resource.setrlimit(limit, (0, 0))
    kill_watchers(dragoman)


def stop_watchers(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    for process in watchers(dragoman):
        os.kill(process, signal.SIGSTOP)


def stop_holder_and_kill_supervisor(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    supervisor, *others = watchers(dragoman)
    for process in others:
        os.kill(process, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)


def end_first_thread(dragoman: int) -> None:
    def body() -> None:
        threading.Thread(target=time.sleep, args=(_SECONDS,)).start()
        number = {"x86_64": 60, "aarch64": 93}[platform.machine()]
        ctypes.CDLL(None).syscall(number, 0)  # ends this thread alone: the process is shown as a zombie

    daemon(body)
    attacker = Path(BORN).read_text().strip()
    while Path(f"/proc/{attacker}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    kill_watchers(dragoman)


def fork_and_end() -> None:
    """Start a copy of oneself and end, over and over."""
    for _ in range(_GENERATIONS):
        if os.fork():
            os._exit(0)
        os.setsid()
    time.sleep(_SECONDS)


def keep_forking(dragoman: int) -> None:
    for _ in range(4):
        daemon(fork_and_end)


def keep_forking_unwatched(dragoman: int) -> None:
    keep_forking(dragoman)
    kill_watchers(dragoman)


def bring_each_other_back(dragoman: int) -> None:
    def body() -> None:
        for _ in range(_GENERATIONS):
            other = os.fork()
            if not other:
                os.setsid()
                partner = os.getppid()
                while os.getppid() == partner:
                    time.sleep(0.001)
            else:
                os.waitpid(other, 0)

    daemon(body)
    kill_watchers(dragoman)


def kill_supervisor_and_dragoman(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    supervisor = os.getppid()
    os.kill(dragoman, signal.SIGKILL)  # first: the end of the supervisor is the end of this process
    os.kill(supervisor, signal.SIGKILL)


def stop_watchers_and_kill_dragoman(dragoman: int) -> None:
    stop_watchers(dragoman)
    os.kill(dragoman, signal.SIGKILL)


def wait_to_be_orphaned(dragoman: int) -> None:
    daemon(sleep_under_another_name)
    os.kill(dragoman, signal.SIGUSR1)


ATTACKS: dict[str, Callable[[int], None]] = {
    attack.__name__: attack
    for attack in (
        kill_parent,
        kill_watchers,
        kill_watchers_from_above,
        lower_limits,
        stop_watchers,
        stop_holder_and_kill_supervisor,
        end_first_thread,
        keep_forking,
        keep_forking_unwatched,
        bring_each_other_back,
    )
}
"""Attacks on the processes between the command and dragoman."""
MURDERS: dict[str, Callable[[int], None]] = {
    attack.__name__: attack
    for attack in (kill_supervisor_and_dragoman, stop_watchers_and_kill_dragoman, wait_to_be_orphaned)
}
"""Attacks in which dragoman itself is killed."""


# ── the run ──────────────────────────────────────────────────────────────────


async def attacked(name: str, folder: str) -> None:
    """Run an attack as a command and close the shell, as an agent would."""
    from dragoman.errors import ToolError
    from dragoman.model.operations import RunCommand
    from dragoman.tools import Context
    from dragoman.tools.shell import Shell
    from dragoman.tools.workspace.disk import DiskWorkspace

    words = [sys.executable, "-m", "tests.attack.outliving", "attack", name, str(os.getpid()), folder]
    async with Shell(grace_ms=100, environment={"PYTHONPATH": os.getcwd()}) as shell:
        context = Context(workspace=DiskWorkspace(folder, durable=False), provides={Shell: shell})
        try:
            await shell.run(RunCommand(f"exec {shlex.join(words)}", timeout_ms=20_000), context)
        except ToolError as error:
            print(error, file=sys.stderr)


def others() -> list[str]:
    """All processes but the first of the namespace and this one: who they are."""
    found: list[str] = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) not in (1, os.getpid()):
            try:
                status = (path / "stat").read_text()
                words = (path / "cmdline").read_text().replace("\0", " ")
            except (FileNotFoundError, ProcessLookupError):
                continue
            fields = status.rpartition(")")[2].split()
            if fields[0] != "Z" or int(fields[17]) > 1:
                found.append(f"{status} {words}")
    return found


def run(user: str, name: str) -> dict[str, object]:
    """Run an attack: whether there were attackers, whether dragoman was killed, and what is left when it is over."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        os.chmod(folder, 0o777)
        process = os.fork()
        if not process:
            if user == "nobody":
                become_nobody()
            signal.signal(signal.SIGUSR1, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            try:
                asyncio.run(attacked(name, folder))
            except Exception:  # noqa: BLE001 - it must not go on as the process it is a copy of
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        _, status = os.waitpid(process, 0)
        killed = os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        # Where dragoman itself was killed, its watchers have their time to end the rest.
        until = time.monotonic() + (10 if killed else 0)
        while (left := others()) and time.monotonic() < until:
            time.sleep(0.02)
        born = Path(folder, BORN).read_text().split() if Path(folder, BORN).exists() else []
        return {"born": bool(born), "killed": killed, "left": left}


def main(arguments: list[str]) -> None:
    match arguments:
        case ["run", user, *names]:
            import dragoman.tools.shell  # once, before the runs

            print(json.dumps({name: run(user, name) for name in names}))
        case ["attack", name, dragoman, folder]:
            os.chdir(folder)
            (ATTACKS | MURDERS)[name](int(dragoman))
            time.sleep(0.2)  # what is done to its watchers shows while it runs
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
