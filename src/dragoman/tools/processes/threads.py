"""Plain functions run beside the event loop: each in a thread of its own, so that one that hangs holds up nobody.

A thread that is done waits for the next function. One that never ends is left behind when its caller gives up, and
does not keep the program from ending. Neither does a task that was abandoned.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

_KEPT = 32
_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads


class _Worker:
    def __init__(self) -> None:
        self.work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._serve, name="dragoman-tool", daemon=True).start()

    def _serve(self) -> None:
        while (work := self.work.get()) is not None:
            work()
            del work  # what it holds must not live as long as the thread waits
            if len(_idle) >= _KEPT:
                return
            _idle.append(self)


async def in_thread(function: Callable[..., Any], *arguments: Any, to_its_end: bool = False) -> Any:
    """Runs a plain function with the caller's context variables; cancelling stops the waiting, not the function.

    With `to_its_end` the function is waited for although the caller was cancelled once, for as long as nobody
    cancels again: for what is short and leaves things in disorder when the program ends in its middle.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result, error = context.run(function, *arguments), None
        except BaseException as raised:  # noqa: BLE001 - whatever it is, the caller gets it
            result, error = None, raised
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(_tell, done, result, error)

    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.work.put(work)
    if not to_its_end:
        return await done
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done])
        done.exception()  # looked at: it is not what the caller hears of
        raise


def abandon(task: asyncio.Task[Any]) -> None:
    """Lets go of a task that does not let itself be cancelled: nobody waits for it when the loop is closed.

    `asyncio.run` would wait for ever. How to take a task off its list is part of what asyncio documents for those who
    extend it.
    """
    asyncio._unregister_task(task)
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # looked at: nobody else will


def _tell(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    elif isinstance(error, StopIteration | KeyboardInterrupt | GeneratorExit):
        # A future refuses the first; the others would mean to whoever waits what they do not: no signal comes to a
        # thread, and nobody closes the coroutine.
        done.set_exception(RuntimeError(f"the function raised {type(error).__name__}"))
    else:
        done.set_exception(error)
