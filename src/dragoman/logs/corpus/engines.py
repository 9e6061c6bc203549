"""Who makes the parts of a corpus: this process, several processes of this machine, or a Dask cluster."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from dragoman.errors import DragomanError, LogError, MissingExtra

from .build import Counts, Made, Order, Plan, Redaction, make_part
from .sources import Part

Progress = Callable[[int], None]


def built(plan: Plan, *, workers: int = 1, progress: Progress | None = None) -> Counts:
    """Makes all parts of a plan, with so many processes."""
    count = min(workers, len(plan.parts))
    if count < 2:
        return _counted(plan, (make_part(plan.order, part) for part in plan.parts), progress)
    return _counted(plan, _by_processes(plan, count), progress)


def _counted(plan: Plan, made: Iterator[Made], progress: Progress | None) -> Counts:
    counts = Counts(inputs=plan.inputs, unchanged=plan.unchanged)
    counts.add(Made(failures=plan.failures))
    for one in made:
        counts.add(one)
        if progress is not None:
            progress(1)
    return counts


# ── processes ────────────────────────────────────────────────────────────────


def _by_processes(plan: Plan, workers: int) -> Iterator[Made]:
    waiting: queue.SimpleQueue[Part] = queue.SimpleQueue()
    for part in plan.parts:
        waiting.put(part)
    answers: queue.SimpleQueue[Made | BaseException] = queue.SimpleQueue()
    processes = [_started() for _ in range(workers)]
    threads = [
        threading.Thread(target=_fed, args=(one, plan.order, waiting, answers), name="dragoman-corpus", daemon=True)
        for one in processes
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in plan.parts:
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for thread in threads:
            thread.join()
        for process in processes:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):  # what was not sent is not needed any more
                    pipe.close()


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", "from dragoman.logs.corpus.engines import work; work()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )


def _fed(
    process: subprocess.Popen[bytes],
    order: Order,
    waiting: queue.SimpleQueue[Part],
    answers: queue.SimpleQueue[Made | BaseException],
) -> None:
    """Gives a process one part after another, and passes on what it says."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        while not waiting.empty():
            try:
                part = waiting.get_nowait()
            except queue.Empty:
                break
            pickle.dump((order, part), process.stdin)
            process.stdin.flush()
            answers.put(pickle.load(process.stdout))
    except (OSError, EOFError, pickle.UnpicklingError):
        process.kill()  # one that cannot be understood would be waited for without end
        reason = f"a process that reads logs ended with status {process.wait()}"
        answers.put(LogError(f"{reason}; build again: the parts that were made are kept"))


def work() -> None:
    """What a process does: parts, until there are no more. It ends with whoever started it, however that ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a plugin prints is no answer
    while True:
        try:
            order, part = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: Made | Exception = make_part(order, part)
        except Exception as error:  # noqa: BLE001 - it is raised where the build was started
            answer = error
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:  # nobody waits for it any more; the part is made all the same
            os._exit(1)


# ── Dask ─────────────────────────────────────────────────────────────────────


def built_on_dask(
    plan: Plan, *, scheduler: str | None = None, workers: int = 1, progress: Progress | None = None
) -> Counts:
    """The same on a Dask cluster: the one whose scheduler is named, or one of so many processes on this machine.

    What is only known here (the user's own keys) is not sent to a cluster of other machines.
    """
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("dask", "building on a Dask cluster", "distributed") from error
    if scheduler is None:
        # Without a dashboard the scheduler serves figures about itself all the same, on port 8787 if none is given.
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        )
        with cluster, distributed.Client(cluster) as client:
            return _counted(plan, _by_dask(distributed, client, plan.order, plan.parts), progress)
    order = plan.order
    if order.redaction is not None:
        order = msgspec.structs.replace(order, redaction=Redaction())
    try:
        reached = distributed.Client(scheduler, timeout="20s")
    except (OSError, ValueError) as error:
        raise LogError(f"cannot reach the Dask scheduler {scheduler}: {error}") from error
    with reached as client:
        return _counted(plan, _by_dask(distributed, client, order, plan.parts), progress)


def _by_dask(distributed: Any, client: Any, order: Order, parts: list[Part]) -> Iterator[Made]:
    # Not pure: a part that was made before is found in the corpus, not in the cluster.
    waiting = [client.submit(make_part, order, part, pure=False) for part in parts]
    for one in distributed.as_completed(waiting):
        try:
            made = one.result()
        except DragomanError:
            raise
        except Exception as error:  # of the cluster: workers that died, have no dragoman, or another version of it
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise LogError(
                f"the Dask cluster did not make a part: {reason}; build again: the parts that were made are kept"
            ) from error
        yield made
        one.release()
