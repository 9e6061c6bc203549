"""Real sessions, client by client, into typed events; beside decoding the same lines into dictionaries.

The sessions lie in `traces` and `traces-wild` of the shared folder. What a client keeps as one document, or in a
database, is decoded the way it lies there. `recognise` is what finding out the format of a file costs.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.benches import Bench, Target
from bench.environments import ROOT
from bench.stopwatch import per_call

MOST = {"claude_code": 2.5, "codex": 3.0, "gemini_cli": 3.0, "opencode": 3.0, "qwen_code": 3.0, "copilot": 3.0}
"""Client → how many times as much as decoding its lines reading them may cost."""
OURS, FLOOR = "ours", "msgspec, dictionaries"
_MEGABYTES = 12
"""How much of each client's sessions is read, the smallest files first left out."""


def _shared() -> Path:
    shared = os.environ.get("DRAGOMAN_SHARED")
    if not shared:
        raise SystemExit("the real sessions lie in the shared folder: set DRAGOMAN_SHARED to that")
    return (ROOT / shared).resolve()


def sessions(client: str) -> list[Path]:
    """The log files of one client: half the bytes of scripted sessions, half of other people's, as far as they go."""
    from dragoman.errors import LogError
    from dragoman.logs.base.reading import recognise

    found: list[Path] = []
    for folder in ("traces", "traces-wild"):
        size = 0
        name = client.replace("_", "-")
        for path in sorted((_shared() / folder).glob(f"{name}*/**/*")):
            if size > _MEGABYTES << 19 or path.suffix not in (".jsonl", ".json", ".db") or not path.is_file():
                continue
            try:
                format = recognise(path)[0]
            except (LogError, OSError):
                continue
            if format.name == client and format.whole(path) == path:
                found.append(path)
                size += path.stat().st_size
    if not found:
        raise SystemExit(f"no session of {client} was found in {_shared()}")
    return found


def read_by_us(client: str, files: Sequence[Path]) -> Callable[[], int]:
    from dragoman.logs import read
    from dragoman.model import ToolCalled, ToolReturned

    def run() -> int:
        count = 0
        for file in files:
            for event in read(file, client):
                count += 1
                if type(event) is ToolCalled:
                    count += len(event.call.operations)
                elif type(event) is ToolReturned:
                    count += len(event.result.outcomes)
        return count

    return run


def decoded(files: Sequence[Path]) -> Callable[[], int]:
    """The floor: every line is made into dictionaries, and nothing is done with them."""
    import msgspec

    decode = msgspec.json.Decoder().decode

    def run() -> int:
        count = 0
        for file in files:
            if file.suffix == ".db":
                with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
                    for (text,) in database.execute("SELECT data FROM message UNION ALL SELECT data FROM part"):
                        decode(text)
                        count += 1
                database.close()
                continue
            data = file.read_bytes()
            try:
                decode(data)
                count += 1
                continue
            except msgspec.DecodeError:
                pass
            for line in data.splitlines():
                try:
                    decode(line)
                except msgspec.DecodeError:
                    continue
                count += 1
        return count

    return run


def _measure(client: str) -> Callable[[str], list[float]]:
    def measure(column: str) -> list[float]:
        files = sessions(client)
        run = read_by_us(client, files) if column == OURS else decoded(files)
        if not run():
            raise SystemExit(f"nothing was read of the sessions of {client}")

        def several(times: int) -> None:
            for _ in range(times):
                run()

        return per_call(several, rounds=3)

    return measure


def measure_recognising(column: str) -> list[float]:
    """A file of Claude Code that is opened, and its first line decoded; and what it is taken for."""
    import msgspec

    from dragoman.logs.base.reading import recognise

    file = sessions("claude_code")[0]
    decode = msgspec.json.Decoder().decode

    def ours(times: int) -> None:
        for _ in range(times):
            recognise(file)

    def floor(times: int) -> None:
        for _ in range(times):
            with open(file, "rb") as opened:
                for line in opened.read(65_536).splitlines()[:20]:
                    try:
                        decode(line)
                    except msgspec.DecodeError:
                        break

    return per_call(ours if column == OURS else floor)


BENCHES = {
    client: Bench(
        question=f"read real sessions of {client} into typed events",
        environments=dict.fromkeys((OURS, FLOOR), "base"),
        floor=FLOOR,
        targets=(Target(OURS, FLOOR, most),),
        measure=_measure(client),
    )
    for client, most in MOST.items()
} | {
    "recognise": Bench(
        question="find out the format of a log, beside decoding its first lines",
        environments=dict.fromkeys((OURS, FLOOR), "base"),
        floor=FLOOR,
        targets=(Target(OURS, FLOOR, 1.5),),
        measure=measure_recognising,
    )
}
