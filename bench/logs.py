"""Reading 1 GB of recorded sessions into typed events, beside decoding the same lines and doing nothing with them.

Every operation and every outcome is looked at: nothing is left for later. `memory` is in megabytes, `processes` in
time on the clock, for which two cores have to be free.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.benches import Bench, Target
from bench.corpus import corpus
from bench.environments import LAB
from bench.stopwatch import per_call

Reading = Callable[[Sequence[Path]], int]
"""Reads files and gives the number of calls that were made in them."""


def ours() -> Reading:
    from dragoman.logs import read
    from dragoman.model import ToolCalled, ToolReturned, Unreadable

    def run(files: Sequence[Path]) -> int:
        calls = operations = outcomes = 0
        for file in files:
            for event in read(file):
                if type(event) is ToolCalled:
                    calls += 1
                    operations += len(event.call.operations)
                elif type(event) is ToolReturned:
                    outcomes += len(event.result.outcomes)
                elif type(event) is Unreadable:
                    raise SystemExit(f"{file}: {event.reason}")
        if not 0 < operations <= outcomes:
            raise SystemExit(f"{calls} calls became {operations} operations and {outcomes} outcomes")
        return calls

    return run


def msgspec_typed() -> Reading:
    """The floor: every text of a line that means something is made, as the type it has, and nothing is done with it."""
    import msgspec

    class Text(msgspec.Struct, tag="text", gc=False):
        text: str

    class Thinking(msgspec.Struct, tag="thinking", gc=False):
        thinking: str
        signature: str = ""

    class ToolUse(msgspec.Struct, tag="tool_use"):
        id: str
        name: str
        input: Any

    class ToolResult(msgspec.Struct, tag="tool_result"):
        tool_use_id: str
        content: str | list[Any]
        is_error: bool = False

    class Usage(msgspec.Struct, gc=False):
        input_tokens: int = 0
        output_tokens: int = 0
        cache_creation_input_tokens: int = 0
        cache_read_input_tokens: int = 0

    usage, given = Usage, (str | list[Text | ToolResult])
    said = msgspec.defstruct(
        "Said",
        [
            ("id", str),
            ("model", str),
            ("content", list[Text | Thinking | ToolUse]),
            ("usage", usage),
            ("stop_reason", str | None, None),
        ],
    )
    told = msgspec.defstruct("Told", [("content", given)])
    common = [
        ("uuid", str, ""),
        ("parentUuid", str | None, None),
        ("sessionId", str, ""),
        ("timestamp", str, ""),
        ("isSidechain", bool, False),
    ]
    assistant: Any = msgspec.defstruct(
        "Assistant", [("message", said), *common, ("requestId", str | None, None)], tag="assistant"
    )
    user = msgspec.defstruct("User", [("message", told), *common, ("toolUseResult", Any, None)], tag="user")
    notes = [
        msgspec.defstruct(f"Note{number}", [], tag=kind)
        for number, kind in enumerate(("system", "summary", "file-history-snapshot", "progress", "last-prompt"))
    ]
    record: Any = assistant | user
    for note in notes:
        record |= note
    decode = msgspec.json.Decoder(record).decode

    def run(files: Sequence[Path]) -> int:
        calls = 0
        for file in files:
            with file.open("rb") as lines:
                for line in lines:
                    value: Any = decode(line)
                    if type(value) is assistant:
                        calls += sum([type(block) is ToolUse for block in value.message.content])
        return calls

    return run


def as_dicts(decode: Callable[[bytes], Any]) -> Reading:
    def run(files: Sequence[Path]) -> int:
        calls = 0
        for file in files:
            with file.open("rb") as lines:
                for line in lines:
                    value = decode(line)
                    if value["type"] == "assistant":
                        calls += sum([block["type"] == "tool_use" for block in value["message"]["content"]])
        return calls

    return run


def msgspec_dicts() -> Reading:
    import msgspec

    return as_dicts(msgspec.json.Decoder().decode)


def orjson_dicts() -> Reading:
    from importlib import import_module

    return as_dicts(import_module("orjson").loads)


def json_dicts() -> Reading:
    import json

    return as_dicts(json.loads)


READINGS: dict[str, Callable[[], Reading]] = {
    "ours": ours,
    "msgspec_typed": msgspec_typed,
    "msgspec_dicts": msgspec_dicts,
    "orjson_dicts": orjson_dicts,
    "json_dicts": json_dicts,
}


def measure_reading(column: str) -> Sequence[float]:
    files, read = corpus().files, READINGS[column]()
    calls = sum(file.read_bytes().count(b'"type":"tool_use"') for file in files[:1])
    if read(files[:1]) != calls:
        raise SystemExit(f"{column} does not find the {calls} calls of {files[0]}")

    def several(times: int) -> None:
        for _ in range(times):
            read(files)

    return per_call(several, rounds=1)


# ── memory ───────────────────────────────────────────────────────────────────

MEGABYTE = 1_000_000
LONG_LINE = 100 * MEGABYTE


def one_log() -> Path:
    """The whole corpus as one session that was gone on with again and again."""
    whole = LAB / f"{corpus().home.name}.jsonl"
    if not whole.is_file():
        with whole.open("wb") as file:
            for part in corpus().files:
                file.write(part.read_bytes())
    return whole


def long_line() -> Path:
    """A session with one line of 100 MB: a command that printed much."""
    path = LAB / "long-line.jsonl"
    if not path.is_file():
        printed = "a line that a test run printed \\n" * (LONG_LINE // 66)
        call = '{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}'
        common = '"uuid":"u1","sessionId":"s1","isSidechain":false,"timestamp":"2025-06-01T00:00:00Z"'
        result = f'{{"type":"tool_result","tool_use_id":"t1","content":"{printed}"}}'
        path.write_text(
            f'{{"type":"assistant",{common},"message":{{"id":"m1","role":"assistant","content":[{call}]}}}}\n'
            f'{{"type":"user",{common},"message":{{"role":"user","content":[{result}]}},'
            f'"toolUseResult":{{"stdout":"{printed}","stderr":"","interrupted":false}}}}\n'
        )
    return path


def peak(file: Path) -> float:
    """Megabytes a new process has at most while it reads a log."""
    process = subprocess.Popen([sys.executable, "-m", "bench.logs", str(file)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"reading {file} ended with {process.returncode}")
    return usage.ru_maxrss * 1024 / MEGABYTE


def longest(file: Path) -> int:
    with file.open("rb") as lines:
        return max(map(len, lines))


def measure_memory(column: str) -> Sequence[float]:
    file = long_line() if column.endswith("of 100 MB") else one_log()
    if column.startswith("allowed"):
        return [150 + 3 * longest(file) / MEGABYTE]
    return [peak(file)]


# ── two processes ────────────────────────────────────────────────────────────


def halves(parts: int) -> list[list[Path]]:
    """The files in so many heaps of nearly the same size."""
    heaps: list[list[Path]] = [[] for _ in range(parts)]
    sizes = [0] * parts
    for file in sorted(corpus().files, key=lambda one: one.stat().st_size, reverse=True):
        least = sizes.index(min(sizes))
        heaps[least].append(file)
        sizes[least] += file.stat().st_size
    return heaps


def measure_processes(column: str) -> Sequence[float]:
    heaps = halves(2 if column == "two" else 1)
    start = time.perf_counter()
    running = [subprocess.Popen([sys.executable, "-m", "bench.logs", *map(str, heap)]) for heap in heaps]
    statuses = [process.wait() for process in running]
    if any(statuses):
        raise SystemExit(f"the processes ended with {statuses}")
    return [time.perf_counter() - start]


BENCHES = {
    "read": Bench(
        question="read 1 GB of sessions into typed events",
        environments={column: "orjson" if column == "orjson_dicts" else "base" for column in READINGS},
        floor="msgspec_typed",
        targets=(Target("ours", "msgspec_typed", 2),),
        measure=measure_reading,
    ),
    "memory": Bench(
        question="the most memory a process has that reads a log",
        environments=dict.fromkeys(("1 GB", "allowed for 1 GB", "a line of 100 MB", "allowed, of 100 MB"), "base"),
        floor="allowed for 1 GB",
        targets=(Target("1 GB", "allowed for 1 GB", 1), Target("a line of 100 MB", "allowed, of 100 MB", 1)),
        measure=measure_memory,
    ),
    "processes": Bench(
        question="the time two processes take for 1 GB of sessions",
        environments={"one": "base", "two": "base"},
        floor="one",
        targets=(Target("two", "one", 1 / 1.6),),
        measure=measure_processes,
    ),
}

if __name__ == "__main__":
    ours()([Path(name) for name in sys.argv[1:]])
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE:.0f} MB", file=sys.stderr)
