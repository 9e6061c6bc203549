"""Logs that are cut, replaced, removed and moved while they are read."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.attack.machine import SECONDS, Machine
from tests.logs.samples import SAMPLES


@contextmanager
def logs_that_change(root: Path) -> Iterator[Path]:
    """Logs of every client, of which one after the other is changed in a way that programs and people do."""
    logs, away = root / "logs", root / "away"
    files: list[tuple[Path, bytes]] = []
    for format, samples in SAMPLES.items():
        for name, data in samples:
            path = logs / format / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            files.append((path, data))
    chance = random.Random(7)
    is_over = threading.Event()

    def change() -> None:
        path, data = chance.choice(files)
        cut = chance.randrange(len(data))
        match chance.randrange(5):
            case 0:
                path.write_bytes(data[:cut])
            case 1:
                other = path.with_name("being-written")
                other.write_bytes(data + data[:cut])
                os.replace(other, path)
            case 2:
                path.unlink()
            case 3:
                path.parent.rename(away)
                away.rename(path.parent)
            case _:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)

    def change_on() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                change()

    changing = threading.Thread(target=change_on)
    changing.start()
    try:
        yield logs
    finally:
        is_over.set()
        changing.join()


def test_logs_that_change_while_they_are_read_cost_only_themselves(tmp_path: Path) -> None:
    """A log that is cut, replaced, removed or moved while it is read costs no other log, and no command fails."""
    machine = Machine(tmp_path)
    with logs_that_change(tmp_path) as logs:
        commands = ("sessions", "stats", "events", "analyse", "lab grep e", "lab grep --raw e", "pack", "doctor")
        told = machine.types(*(f"{command} {logs}" for command in commands))
    # 1 is what `doctor` says of a log with lines that cannot be read, and searching where nothing is found.
    assert {line: one for line, one in told.items() if one.code not in (0, 1)} == {}


def test_watch_goes_on_whatever_happens_to_the_logs(tmp_path: Path) -> None:
    """`dragoman watch` goes on when logs are cut, replaced, removed or moved, until it is stopped."""
    machine = Machine(tmp_path)
    with logs_that_change(tmp_path) as logs:
        process = subprocess.Popen(
            machine.command("watch", "--json", "--from-start", "--every", "0.05", str(logs)),
            cwd=machine.here,
            env=machine.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        end = time.monotonic() + SECONDS
        for _ in range(2_000):
            assert process.stdout.readline(), process.communicate()
            assert time.monotonic() < end
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        assert process.stderr is not None
        with process.stderr:
            said = process.stderr.read()
    assert (process.wait(SECONDS), said) == (143, b"Following; Ctrl-C ends it.\nerror: terminated\n")
