"""Input without an end, given to the real command in a process that may have little memory."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

import pytest

from dragoman.cli.terminal.console import ExitCode
from dragoman.model import Failure
from dragoman.model.operations import SearchText
from dragoman.tools import DiskWorkspace, perform, standard_context
from dragoman.tools.processes import ripgrep
from tests.attack.machine import SECONDS, Machine
from tests.logs.samples import CLAUDE

MEMORY = 700 << 20


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("line", ["doctor", "events", "stats"])
def test_a_log_with_a_line_of_a_gigabyte_is_read_in_bounded_memory(tmp_path: Path, line: str) -> None:
    """A record of any length costs itself and no memory: the other records of its log are read, and it is counted."""
    machine = Machine(tmp_path)
    log = machine.here / "log.jsonl"
    with log.open("wb") as file:
        file.write(CLAUDE + b'{"type": "user", "message": "')
        file.seek(1 << 30, 1)  # a hole: it takes no space on the disk
        file.write(b'"}\n' + CLAUDE)
    done = machine.runs_command(line, str(log), preexec_fn=limited)
    assert done.returncode in (ExitCode.OK, ExitCode.NO), done.stderr
    if line == "doctor":
        assert "the record has more than 128 MiB" in done.stdout


def test_a_prompt_without_end_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    """A text on standard input has a limit of 64 MiB; a pipe without an end is refused with that figure."""
    machine = Machine(tmp_path)
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            machine.command("run", "--dry-run", "-"),
            cwd=machine.here,
            env=machine.environ,
            stdin=endless,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            preexec_fn=limited,
        )
    assert (done.returncode, "more than 64 MiB" in done.stderr) == (ExitCode.USAGE, True), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval", "/dev/zero"),
        ("hook", "test", "/dev/zero"),
        ("run", "--schema", "/dev/zero", "hi"),
        ("tool", "read_file", "path=@/dev/zero"),
        ("show", "/dev/zero"),
        ("agents", "check", "/dev/zero"),
        ("dialect", "new", "x", "--from", "/dev/zero", "--to", "x.toml"),
    ],
)
def test_a_file_without_end_that_a_command_is_given_is_refused_in_bounded_memory(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """It may be a link in a folder that somebody else made: it costs an error that says so, and no memory."""
    done = Machine(tmp_path).runs_command(*arguments, preexec_fn=limited)
    assert done.returncode in (ExitCode.OK, ExitCode.NO, ExitCode.USAGE, ExitCode.DEFINITION, ExitCode.LOG), done.stderr


@pytest.mark.parametrize("name", [".gitignore", ".ignore", "long.txt"])
async def test_a_search_of_what_has_no_end_takes_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A search holds a limited part of a line and of an ignore file: a link to /dev/zero costs the search alone."""
    monkeypatch.setattr(ripgrep, "MEMORY", 200 << 20)
    most_before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of all processes that this one has had
    (tmp_path / "notes.txt").write_text("tea\n")
    if name == "long.txt":
        with (tmp_path / name).open("w") as file:
            for _ in range(400):
                file.write("tea " * (1 << 18))
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    async with standard_context(DiskWorkspace(tmp_path)) as context:
        found = await perform(SearchText("tea"), context)
    assert isinstance(found, Failure)
    assert found.message.startswith("the search needed more than 200 MiB of memory and was ended: ")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < max(600 << 10, most_before + 1)


def test_reading_citations_takes_time_that_grows_with_the_reply() -> None:
    """A reply with many parts and many citations is read in time and memory that grow with its size, and no faster."""
    from dragoman.apis import APIS

    def seconds(count: int) -> float:
        parts = [{"text": "abcdé", "thoughtSignature": f"s{number}"} for number in range(count)]
        supports = [
            {"segment": {**where, "startIndex": 0, "endIndex": end}, "groundingChunkIndices": [0]}
            for number in range(count)
            for where, end in (({"partIndex": number}, 4), ({"text": f"zz{number}"}, 9), ({}, 6 * count))
        ]
        grounding = {"groundingChunks": [{"web": {"uri": "http://a"}}], "groundingSupports": supports}
        content = {"role": "model", "parts": parts}
        body = {"candidates": [{"content": content, "finishReason": "STOP", "groundingMetadata": grounding}]}
        began = time.process_time()
        APIS["gemini_generate"].decode(body)
        return time.process_time() - began

    seconds(100)
    assert seconds(2000) < 12 * seconds(500)  # four times as much; a square would be sixteen times
