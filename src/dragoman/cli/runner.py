"""The event loop of a command: signals cancel what runs in it, and nothing that hangs keeps it from being closed."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from dragoman.tools.processes import abandon

from .stopping import stop

Given = TypeVar("Given")

_GRACE: Final = 5.0
"""Seconds that what was cancelled has to end, when a command is over."""


def run(coroutine: Coroutine[Any, Any, Given]) -> Given:
    """What one coroutine gives, in a loop of its own."""
    with Runner() as runner:
        return runner.run(coroutine)


class Runner:
    """Runs coroutines for a command, in one event loop; use it with `with`.

    As `asyncio.Runner`, but every signal of ours cancels what runs, what is being finished is not cancelled, and
    neither a task nor a thread that does not end keeps the loop from being closed.
    """

    def __enter__(self) -> Runner:
        self._loop = asyncio.new_event_loop()
        self._context = contextvars.copy_context()
        self._threads = ThreadPoolExecutor(thread_name_prefix="dragoman")
        self._loop.set_default_executor(self._threads)
        asyncio.set_event_loop(self._loop)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.finish(self._all_ended())
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            asyncio.set_event_loop(None)
            self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, Given]) -> Given:
        """What a coroutine gives. A signal cancels it, and then `KeyboardInterrupt` is raised, whatever it gave."""
        task: asyncio.Task[Given] = self._loop.create_task(coroutine, context=self._context)
        stop.running = task
        try:
            return self._heard(self._loop.run_until_complete(task))
        except asyncio.CancelledError:
            if not stop.is_pending:
                raise
            raise stop.error() from None
        finally:
            stop.running = None

    def finish(self, coroutine: Coroutine[Any, Any, Given]) -> Given:
        """The same for what puts things in order: a first signal waits for its end, a second ends the process."""
        stop.is_finishing = True
        try:
            given = self._loop.run_until_complete(self._loop.create_task(coroutine, context=self._context))
        finally:
            stop.is_finishing = False
        return self._heard(given)

    def _heard(self, given: Given) -> Given:
        if stop.is_pending:
            raise stop.error()
        return given

    async def _all_ended(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_GRACE)
        for task in left:
            if not task.done():
                abandon(task)
            elif not task.cancelled() and task.exception() is not None:
                self._loop.call_exception_handler(
                    {"message": "a task failed while it was ended", "exception": task.exception(), "task": task}
                )
        await self._loop.shutdown_asyncgens()
