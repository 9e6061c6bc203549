"""What it costs to store the events of one step of a run, in each store beside the file.

A step is what a turn with one call stores: the request, the reply, the call and its result, six events of 0.3 to 4 kB.
Seconds on the clock, because a database works in another process and a disk is waited for; the shortest of many short
rounds, which says least about the neighbours. PostgreSQL is a server of this machine, started here and reached by its
socket. Without its own `fsync` it is no store for anybody: that column shows what the way there costs without the disk.
"""

from __future__ import annotations

import contextlib
import datetime
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.benches import Bench, Target

if TYPE_CHECKING:
    from dragoman.model import AnyEvent

FILE, FILE_FSYNC, SQLITE, SQLITE_FSYNC = "file", "file, fsync", "SQLite", "SQLite, fsync"
POSTGRES, POSTGRES_FSYNC = "PostgreSQL, its fsync off", "PostgreSQL"
STEPS, ROUNDS = 20, 30


def step(number: int) -> list[AnyEvent]:
    """The events of one step."""
    from dragoman.model import Call, NativeCall, Result, TextOutcome, Usage, events as ev, operations as op

    facts = {"session": "s", "stream": "main", "client": "dragoman", "time": datetime.datetime.now(datetime.UTC)}
    id = f"call_{number}"
    call = Call(id, (op.ReadFile("src/engine/orchestrator.py"),), NativeCall(id, "Read", {"file_path": "src/a.py"}))
    made: list[tuple[type, dict[str, object]]] = [
        (ev.ModelThought, {"text": "I look at the file first. " * 20, "model": "m"}),
        (ev.ModelSaid, {"text": "Let me read it. " * 20, "model": "m"}),
        (ev.TokensUsed, {"usage": Usage(input_tokens=12_000, output_tokens=300), "model": "m"}),
        (ev.ToolCalled, {"call": call, "call_id": id}),
        (ev.ToolReturned, {"result": Result(id, (TextOutcome("a line of the file\n" * 200),), 0.1), "call_id": id}),
        (ev.UserSaid, {"text": "Go on.", "by": "client"}),
    ]
    return [kind(id=f"e{number}-{at}", **facts, **more) for at, (kind, more) in enumerate(made)]


@contextlib.contextmanager
def _server(*, is_durable: bool) -> Iterator[str]:
    from tests.conformance.postgres import serving

    with serving(is_durable=is_durable) as server:
        yield server.address


def measure(column: str) -> list[float]:
    """Milliseconds for a step."""
    from dragoman.logs.stores import store_for

    with contextlib.ExitStack() as stack:
        # Not in memory, where fsync would cost nothing.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        address = {SQLITE: "sqlite:runs.db", SQLITE_FSYNC: "sqlite:runs.db"}.get(column)
        if column in (POSTGRES, POSTGRES_FSYNC):
            address = stack.enter_context(_server(is_durable=column == POSTGRES_FSYNC))
        store = store_for(address, folder=folder, fsync=column in (FILE_FSYNC, SQLITE_FSYNC))
        stack.callback(store.close)
        record = store.open("run")
        stack.callback(record.close)
        shortest = float("inf")
        for number in range(ROUNDS):
            events = [event for one in range(STEPS) for event in step(number * STEPS + one)]
            began = time.perf_counter()
            for event in events:
                record(event)
            shortest = min(shortest, (time.perf_counter() - began) / STEPS)
    return [1000 * shortest]


BENCH = Bench(
    question="store the events of a step, milliseconds on the clock",
    environments={
        **dict.fromkeys((FILE, FILE_FSYNC, SQLITE, SQLITE_FSYNC), "base"),
        **dict.fromkeys((POSTGRES, POSTGRES_FSYNC), "postgres"),
    },
    floor=FILE,
    targets=(Target(SQLITE, FILE, 10), Target(POSTGRES, FILE, 100)),
    measure=measure,
)
