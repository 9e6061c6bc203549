"""How a command ends when a signal comes: which code, in which order, and that no signal is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, os, signal, sys
from dragoman.cli.terminal.console import Console, reported
from dragoman.cli.runner import Runner
from dragoman.cli.stopping import Terminated, forget_ctrl_c

def send(name):
    os.kill(os.getpid(), getattr(signal, name))

async def wait():
    send({signal!r})
    try:
        await asyncio.sleep(3600)
    finally:
        print("in order", flush=True)

async def ignore():
    send({signal!r})
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "ignored"

async def stay():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def leave_something():
    leave_something.task = asyncio.create_task(stay())
    await asyncio.sleep(0)

class Finalizer:
    def __del__(self):
        send({signal!r})
        for _ in range(100):
            pass

def command():
{command}

sys.exit(reported(Console(), command))
"""
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
WORDS = {"SIGINT": "error: interrupted", "SIGTERM": "error: terminated", "SIGHUP": "error: terminated"}


def run(command: str, signal: str = "SIGINT", before: str = "") -> subprocess.CompletedProcess[str]:
    lines = "\n".join(f"    {line}" for line in command.strip().splitlines())
    program = before + PROGRAM.format(command=lines, signal=signal)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("signal", list(CODES))
def test_the_first_signal_lets_what_runs_put_things_in_order(signal: str) -> None:
    done = run("with Runner() as runner:\n    runner.run(wait())", signal)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (CODES[signal], "in order\n", WORDS[signal])


@pytest.mark.parametrize("signal", list(CODES))
def test_a_signal_is_not_lost_on_what_does_not_let_itself_be_cancelled(signal: str) -> None:
    done = run("with Runner() as runner:\n    print(runner.run(ignore()))", signal)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (CODES[signal], "", WORDS[signal])


@pytest.mark.parametrize("signal", list(CODES))
def test_a_signal_is_not_lost_in_a_finalizer(signal: str) -> None:
    done = run("import time\nFinalizer()\ntime.sleep(0.5)\nprint('lost')", signal)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (CODES[signal], "", WORDS[signal])


@pytest.mark.parametrize("signal", list(CODES))
def test_a_signal_outside_of_the_loop_stops_the_command(signal: str) -> None:
    done = run(f"send({signal!r})\nprint('went on')", signal)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (CODES[signal], "", WORDS[signal])


def test_what_is_being_finished_is_not_cancelled_by_the_first_signal() -> None:
    finishing = """
async def finishing():
    send("SIGTERM")
    await asyncio.sleep(0.05)
    print("finished", flush=True)
with Runner() as runner:
    runner.finish(finishing())
    print("went on")
"""
    done = run(finishing)
    assert (done.returncode, done.stdout) == (143, "finished\n")


def test_a_second_signal_ends_the_process_at_once() -> None:
    finishing = """
async def finishing():
    send("SIGINT")
    send("SIGTERM")
    await asyncio.sleep(0)
    print("went on", flush=True)
with Runner() as runner:
    runner.finish(finishing())
"""
    done = run(finishing)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_a_conversation_goes_on_after_ctrl_c_and_not_after_a_request_to_terminate() -> None:
    chatting = """
for name in ("SIGINT", "SIGINT", "SIGTERM"):
    try:
        send(name)
    except Terminated:
        raise
    except KeyboardInterrupt:
        forget_ctrl_c()
        print("go on", flush=True)
"""
    done = run(chatting)
    assert (done.returncode, done.stdout) == (143, "go on\ngo on\n")


def test_a_signal_that_was_ignored_at_the_start_stays_ignored() -> None:
    ignoring = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
    )
    done = run("send('SIGHUP')\nsend('SIGINT')\nprint('went on')", before=f"{ignoring}\n")
    assert (done.returncode, done.stdout) == (0, "went on\n")


def test_neither_a_task_nor_a_thread_that_hangs_keeps_the_loop_from_being_closed() -> None:
    hanging = """
import dragoman.cli.runner, threading
dragoman.cli.runner._GRACE = 0.1
async def hang():
    await leave_something()
    asyncio.ensure_future(asyncio.to_thread(threading.Event().wait))
    await asyncio.sleep(0.01)
with Runner() as runner:
    runner.run(hang())
print("closed", flush=True)
os._exit(0)
"""
    done = run(hanging)
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")


def test_a_process_ends_although_a_thread_never_does() -> None:
    program = """
import sys, threading
import dragoman.__main__ as command, dragoman.cli
command._GRACE = 0.1
def main():
    threading.Thread(target=threading.Event().wait).start()
    print("done")
    return 7
dragoman.cli.main = main
command.entry()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")


def test_ctrl_c_before_the_command_listens_ends_it_without_a_traceback() -> None:
    program = """
import os, signal, sys
import dragoman.__main__ as command
class Importing:
    def find_spec(self, name, path, target=None):
        if name == "dragoman.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Importing())
command.entry()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-2, "", "")


@pytest.mark.parametrize("signal", list(CODES))
def test_a_signal_between_listening_and_the_first_line_of_the_command_is_reported(signal: str) -> None:
    sending = f"""
import os, signal
install = signal.signal
def send_when_heard(number, handler):
    before = install(number, handler)
    if number == signal.SIGHUP and callable(handler):
        os.kill(os.getpid(), signal.{signal})
    return before
signal.signal = send_when_heard
"""
    done = run("print('went on')", signal, before=sending)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (CODES[signal], "", WORDS[signal])


def test_ctrl_c_while_text_is_executed_ends_a_module_with_an_exit_code(tmp_path: Path) -> None:
    # A dataclass executes text when it is defined, so this can happen in any import.
    (tmp_path / "interrupted.py").write_text(
        """
import os, signal
import dragoman.__main__ as command, dragoman.cli
dragoman.cli._run = lambda *_: exec("import os, signal; os.kill(os.getpid(), signal.SIGINT); print('went on')")
command.entry()
"""
    )
    line = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")
