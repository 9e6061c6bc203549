"""Logs of any size: a record or a document that is too long costs itself and no memory."""

from __future__ import annotations

import multiprocessing
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman.errors import LogError
from dragoman.logs.base import listing
from dragoman.logs.base.format import Gathered, LinesReader
from dragoman.logs.base.reading import read
from dragoman.model import Source, Unreadable
from dragoman.registry import FORMATS

from .samples import CLAUDE, SAMPLES

LONG = b'{"type": "user", "message": "' + b"x" * 5000 + b'"}'


def lines_reader(path: Path, longest: int) -> LinesReader:
    reader = FORMATS["claude_code"].reader(path)
    assert isinstance(reader, LinesReader)
    reader.longest_line = longest  # type: ignore[misc]
    return reader


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_record_that_is_too_long_is_unreadable_and_costs_no_other(tmp_path: Path, size: int) -> None:
    data = LONG + b"\n" + CLAUDE + LONG + b"\n" + CLAUDE + LONG
    path = tmp_path / "s-1.jsonl"
    reader = lines_reader(path, 4000)
    events = [event for at in range(0, len(data), size) for event in reader.feed(data[at : at + size])]
    held = sum(map(len, reader._rest))
    events += reader.close()
    unreadable = [event for event in events if isinstance(event, Unreadable) and "MiB" in event.reason]
    assert held == 0
    first, second = len(LONG) + 1, len(LONG) + 1 + len(CLAUDE)
    assert [event.source for event in unreadable] == [
        Source(str(path), 0, len(LONG) + 1),
        Source(str(path), second, len(LONG) + 1),
        Source(str(path), second + first + len(CLAUDE), len(LONG)),
    ]
    plain = lines_reader(path, 4000)
    count = len(plain.feed(CLAUDE + CLAUDE)) + len(plain.close())
    assert len(events) == count + len(unreadable)


@pytest.mark.parametrize("format", ["cline", "continue", "gemini_cli", "opencode"])
def test_a_document_that_is_too_large_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(Gathered, "largest", 1 << 20)
    path = tmp_path / "session.json"
    path.write_bytes(b'{"version": 1, "sessionId": "s", "messages": [' + b" " * (2 << 20) + b"]}")
    with pytest.raises(LogError, match=r"session\.json has more than 1 MiB"):
        list(read(path, format))


@pytest.mark.parametrize("what", ["a pipe", "a file without an end", "a link to a device"])
@pytest.mark.parametrize("format", sorted(SAMPLES))
def test_a_file_beside_a_log_is_neither_waited_for_nor_read_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, what: str
) -> None:
    """Whoever sent a log also sent what is beside it: each file that a reader opens, there or not, is replaced."""
    monkeypatch.setattr(listing, "_LARGEST", 1 << 20)
    home = tmp_path / "home"
    for name, data in SAMPLES[format]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    for name, _ in SAMPLES[format]:
        log = home / name
        for path in sorted(opened(log, home) - {log}):
            kept = path.read_bytes() if path.is_file() else None
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            match what:
                case "a pipe":
                    os.mkfifo(path)
                case "a link to a device":
                    path.symlink_to("/dev/zero")
                case _:
                    path.touch()
                    os.truncate(path, 1 << 40)
            reading = multiprocessing.get_context("fork").Process(target=tried, args=(log,))
            reading.start()
            reading.join(20)
            ended, code = not reading.is_alive(), reading.exitcode
            reading.kill()
            assert (ended, code) == (True, 0), path.relative_to(home)
            path.unlink()
            if kept is not None:
                path.write_bytes(kept)


def tried(log: Path) -> None:
    with suppress(LogError):
        list(read(log))


def opened(log: Path, home: Path) -> set[Path]:
    """The files that are opened below a folder while a log in it is read, whether they are there or not."""
    found: set[Path] = set()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[0], str | os.PathLike):
            path = Path(arguments[0])
            if path.is_relative_to(home) and not path.is_dir():
                found.add(path)

    watching = True
    sys.addaudithook(hook)
    list(read(log))
    watching = False
    return found
