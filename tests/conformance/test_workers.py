"""Two workers on one queue, one of them killed again and again: each outside effect once, or told as unknown."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dragoman.fleet import Queue
from dragoman.logs.stores import PostgresDatabase, SqliteDatabase, store_for
from dragoman.model import ToolReturned, UnknownOutcome
from tests.conformance.postgres import Server, serving
from tests.engine.loopback import Turn, loopback
from tests.fleet.queue_laws import LAWS, Opened
from tests.fleet.rate_laws import LAWS as RATE_LAWS, Connected


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.mark.parametrize("law", LAWS)
def test_a_law_of_the_queue_holds_in_postgresql(law: Callable[[Opened], None], server: Server) -> None:
    with ExitStack() as stack:

        def opened() -> Queue:
            queue = Queue(PostgresDatabase(server.address))
            stack.callback(queue.close)
            return queue

        emptied(server)
        law(opened)


@pytest.mark.parametrize("law", RATE_LAWS)
def test_a_law_of_rates_holds_in_postgresql(law: Callable[[Connected], None], server: Server) -> None:
    with ExitStack() as stack:

        def connected() -> PostgresDatabase:
            database = PostgresDatabase(server.address)
            stack.callback(database.close)
            return database

        for table in ("dragoman_requests", "dragoman_rates"):
            connected().execute(f"DROP TABLE IF EXISTS {table}")
        law(connected)


def emptied(server: Server) -> None:
    """Takes away what another test has queued."""
    database = PostgresDatabase(server.address)
    for table in ("dragoman_queue", "dragoman_workers"):
        database.execute(f"DROP TABLE IF EXISTS {table}")
    database.close()


def model(body: dict[str, Any]) -> Turn:
    """Pays with a command, once, and is done when it has the result."""
    messages = body["messages"]
    if any(
        part.get("type") == "tool_result"
        for one in messages
        if isinstance(one["content"], list)
        for part in one["content"]
    ):
        return Turn("Done.")
    found = re.search(r"pay (\d+)", str(messages))
    assert found is not None
    command = f"sleep 0.2; echo {found[1]} >> paid; sleep 0.2"
    return Turn("I pay.", calls=((f"c{found[1]}", "Bash", {"command": command}),))


class Workers:
    """Processes of `dragoman worker`, and those they started."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self.all: list[subprocess.Popen[bytes]] = []
        self.killed = 0

    def start(self) -> None:
        words = [sys.executable, "-m", "dragoman", "worker", "--concurrency", "2", "--silent", "4", "--", "--yes"]
        with open(self._folder / "workers.log", "ab") as log:
            self.all.append(subprocess.Popen(words, cwd=self._folder, env=self._environment, stdout=log, stderr=log))

    def kill(self, worker: subprocess.Popen[bytes], *, with_runs: bool) -> None:
        """The end of a process, or of its whole machine."""
        below = descendants(worker.pid) if with_runs else []
        for pid in (worker.pid, *below):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        worker.wait()
        self.all.remove(worker)
        self.killed += 1

    def stop(self) -> None:
        for worker in self.all:
            worker.terminate()
        for worker in self.all:
            worker.wait(60)


def descendants(pid: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *descendants(int(child))]
    return found


@pytest.mark.parametrize("kind, number, kills", [("sqlite", 20, 8), ("postgresql", 100, 30)])
async def test_workers_that_are_killed_repeat_no_effect_and_lose_none(
    kind: str, number: int, kills: int, server: Server, tmp_path: Path
) -> None:
    """After so many kills the workers are left alone, so that a slow machine comes to an end too."""
    chance = random.Random(number)
    work = tmp_path / "work"
    work.mkdir()
    address = server.address if kind == "postgresql" else f"sqlite:{tmp_path / 'runs.db'}"
    if kind == "postgresql":
        emptied(server)
    queue = Queue(PostgresDatabase(address) if kind == "postgresql" else SqliteDatabase(tmp_path / "runs.db"))
    for one in range(number):
        queue.add(f"pay {one}")
    async with loopback(*((model,) * number * 20)) as served:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "ANTHROPIC_BASE_URL": served.url,
            "ANTHROPIC_API_KEY": "sk-ant-0123456789",
            "DRAGOMAN_CONFIG_DIR": str(tmp_path / "config"),
            "DRAGOMAN_DATA_DIR": str(tmp_path / "data"),
            "DRAGOMAN_SANDBOX__MODE": "off",
            "DRAGOMAN_STORE__URL": address,
        }
        workers = Workers(work, environment)
        try:
            async with asyncio.timeout(1500):
                while queue.entries(("queued", "running", "failed"), most=1):
                    for entry in queue.entries(("failed",)):  # its workers died five times
                        assert "died" in entry.message, entry
                        assert queue.retry(entry.id)
                    while len(workers.all) < 2:
                        workers.start()
                    await asyncio.sleep(chance.uniform(1, 4))
                    if workers.killed >= kills:
                        continue
                    both = chance.random() < 0.2
                    for worker in list(workers.all) if both else [chance.choice(workers.all)]:
                        workers.kill(worker, with_runs=chance.random() < 0.7)
        finally:
            await asyncio.to_thread(workers.stop)
    assert workers.killed > 2
    states = Counter(entry.state for entry in queue.entries())
    log = (work / "workers.log").read_text()
    assert states == {"done": number}, log
    paid = Counter((work / "paid").read_text().split())
    store = store_for(address, folder=tmp_path)
    unknown = 0
    for entry in queue.entries(("done",)):
        results = [event.result for event in store.read(entry.id) if isinstance(event, ToolReturned)]
        times = paid.pop(entry.task.removeprefix("pay "), 0)
        (outcome,) = results[-1].outcomes
        if isinstance(outcome, UnknownOutcome):
            unknown += 1
            assert times <= 1, entry
        else:
            assert times == 1, entry
    assert not paid
    print(f"{kind}: {number} runs, {workers.killed} workers killed, {unknown} effects unknown")
    store.close()
    queue.close()
