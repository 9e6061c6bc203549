"""Many runs: a queue of tasks, and workers that do them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .queue import STATES as STATES, Decision as Decision, Entry as Entry, Queue as Queue
    from .worker import Ended as Ended, Worker as Worker
else:
    __all__, __getattr__ = door(
        __name__,
        {"queue": ("STATES", "Decision", "Entry", "Queue"), "worker": ("Ended", "Worker")},
    )
