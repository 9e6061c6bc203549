"""Plain functions run beside the event loop: each in a thread of its own, so that one that hangs holds up nobody.

A thread that is done waits for the next function. One that never ends is left behind when its caller gives up, and
does not keep the program from ending.
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


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Runs a plain function with the caller's context variables; cancelling stops the waiting, not the function."""
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
    return await done


def _tell(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    elif isinstance(error, StopIteration):  # a future refuses it
        done.set_exception(RuntimeError(f"the function raised {type(error).__name__}"))
    else:
        done.set_exception(error)
