"""Two workers on one queue, one of them killed again and again: each outside effect once, or told as unknown."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import StorageError
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


@dataclass
class Disturbed:
    """Two workers on one queue of payments, which somebody disturbs until all is done."""

    address: str
    queue: Queue
    folder: Path
    number: int

    async def finish(self, disturb: Callable[[Workers], Awaitable[None]]) -> int:
        """Does all runs; gives how many effects are told as unknown. What was paid is counted by the outside."""
        work = self.folder / "work"
        work.mkdir()
        for one in range(self.number):
            self.queue.add(f"pay {one}")
        async with loopback(*((model,) * self.number * 20)) as served:
            workers = Workers(work, self._environment(served.url))
            try:
                async with asyncio.timeout(1500):
                    while self._is_left():
                        while len(workers.all) < 2:
                            workers.start()
                        await disturb(workers)
            finally:
                await asyncio.to_thread(workers.stop)
        states = Counter(entry.state for entry in self.queue.entries())
        assert states == {"done": self.number}, (work / "workers.log").read_text()
        return self._count(Counter((work / "paid").read_text().split()))

    def _environment(self, url: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-0123456789",
            "DRAGOMAN_CONFIG_DIR": str(self.folder / "config"),
            "DRAGOMAN_DATA_DIR": str(self.folder / "data"),
            "DRAGOMAN_SANDBOX__MODE": "off",
            "DRAGOMAN_STORE__URL": self.address,
        }

    def _is_left(self) -> bool:
        try:
            for entry in self.queue.entries(("failed",)):  # its workers died five times, or the database did
                assert any(word in entry.message for word in ("died", "cannot write", "continue")), entry
                assert self.queue.retry(entry.id)
            return bool(self.queue.entries(("queued", "running"), most=1))
        except StorageError:
            return True  # the database is away

    def _count(self, paid: Counter[str]) -> int:
        store = store_for(self.address, folder=self.folder)
        unknown = 0
        for entry in self.queue.entries(("done",)):
            results = [event.result for event in store.read(entry.id) if isinstance(event, ToolReturned)]
            times = paid.pop(entry.task.removeprefix("pay "), 0)
            (outcome,) = results[-1].outcomes
            if isinstance(outcome, UnknownOutcome):
                unknown += 1
                assert times <= 1, entry
            else:
                assert times == 1, entry
        assert not paid
        store.close()
        return unknown


@pytest.fixture
def queues(server: Server, tmp_path: Path) -> Iterator[Callable[[str], tuple[str, Queue]]]:
    """A queue of each kind, empty, with its address."""
    with ExitStack() as stack:

        def opened(kind: str) -> tuple[str, Queue]:
            if kind == "postgresql":
                emptied(server)
                queue, address = Queue(PostgresDatabase(server.address)), server.address
            else:
                queue, address = Queue(SqliteDatabase(tmp_path / "runs.db")), f"sqlite:{tmp_path / 'runs.db'}"
            stack.callback(queue.close)
            return address, queue

        yield opened


@pytest.mark.parametrize("kind, number, kills", [("sqlite", 100, 30), ("postgresql", 100, 30)])
async def test_workers_that_are_killed_repeat_no_effect_and_lose_none(
    kind: str, number: int, kills: int, queues: Callable[[str], tuple[str, Queue]], tmp_path: Path
) -> None:
    """After so many kills the workers are left alone, so that a slow machine comes to an end too."""
    chance, killed, both_killed = random.Random(number), 0, 0

    async def disturb(workers: Workers) -> None:
        nonlocal killed, both_killed
        await asyncio.sleep(chance.uniform(0.5, 2))
        if workers.killed < kills:
            both = chance.random() < 0.2
            both_killed += both
            for worker in list(workers.all) if both else [chance.choice(workers.all)]:
                workers.kill(worker, with_runs=chance.random() < 0.7)
        killed = workers.killed

    unknown = await Disturbed(*queues(kind), tmp_path, number).finish(disturb)
    assert killed > 2
    print(f"{kind}: {number} runs, {killed} workers killed, {both_killed} times both, {unknown} effects unknown")


async def test_both_workers_that_die_at_once_are_replaced(
    queues: Callable[[str], tuple[str, Queue]], tmp_path: Path
) -> None:
    """With the runs they had started, as when their machine does."""
    times = 0

    async def disturb(workers: Workers) -> None:
        nonlocal times
        await asyncio.sleep(0.2)  # on a quick machine all runs are done within seconds
        if times < 2 and all(descendants(worker.pid) for worker in workers.all):
            times += 1
            for worker in list(workers.all):
                workers.kill(worker, with_runs=True)

    await Disturbed(*queues("sqlite"), tmp_path, 8).finish(disturb)
    assert times == 2


async def test_workers_outlive_a_restart_of_their_database(
    server: Server, queues: Callable[[str], tuple[str, Queue]], tmp_path: Path
) -> None:
    """The server is ended in the middle of runs, as by a power cut; the same two workers go on when it is back."""
    restarts = 0
    seen: set[int] = set()

    async def disturb(workers: Workers) -> None:
        nonlocal restarts
        seen.update(worker.pid for worker in workers.all)
        await asyncio.sleep(0.1)  # on a quick machine all runs are done within seconds
        if restarts < 2 and (tmp_path / "work" / "paid").exists() and descendants(workers.all[0].pid):
            restarts += 1
            await asyncio.to_thread(server.stop, "immediate")
            await asyncio.sleep(1)
            await asyncio.to_thread(server.start)

    address, queue = queues("postgresql")
    unknown = await Disturbed(address, queue, tmp_path, 12).finish(disturb)
    assert (restarts, len(seen)) == (2, 2)
    print(f"{restarts} restarts, {unknown} effects unknown")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_people_answer_days_later_from_another_machine(
    kind: str, queues: Callable[[str], tuple[str, Queue]], tmp_path: Path
) -> None:
    """One is approved, one refused; who answers has nothing but the address of the database. One waits on."""
    address, queue = queues(kind)
    entries = [queue.add(f"pay {one}") for one in range(3)]
    disturbed = Disturbed(address, queue, tmp_path, 3)
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    told = tmp_path / "told"
    told.mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        f'[notify]\ncommand = ["sh", "-c", "cat > {told}/$$"]\nwhen = ["waiting", "done"]\n'
    )
    async with loopback(*((model,) * 20)) as served:
        here = disturbed._environment(served.url)
        there = {"PATH": here["PATH"], "HOME": str(elsewhere), "DRAGOMAN_STORE__URL": address}

        async def types(folder: Path, environment: dict[str, str], *words: str) -> None:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "dragoman", *words), cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE
            )
            _, said = await process.communicate()
            assert process.returncode == 0, said.decode()

        await types(work, here, "worker", "--until-empty", "--concurrency", "3")
        assert Counter(entry.state for entry in queue.entries()) == {"waiting": 3}
        assert not (work / "paid").exists()
        queue._database.execute("UPDATE dragoman_queue SET added = added - 500000, changed = changed - 500000")
        await types(elsewhere, there, "approve", entries[0].id[:8])
        await types(elsewhere, there, "refuse", entries[1].id[:8])
        await types(work, here, "worker", "--until-empty", "--concurrency", "3")
    assert [queue.entry(entry.id).state for entry in entries] == ["done", "done", "waiting"]
    assert (work / "paid").read_text().split() == ["0"]
    facts = [json.loads(path.read_bytes()) for path in told.iterdir()]
    assert Counter((one["state"], one["run"]) for one in facts) == Counter(
        [("waiting", entry.id) for entry in entries] + [("done", entry.id) for entry in entries[:2]]
    )
