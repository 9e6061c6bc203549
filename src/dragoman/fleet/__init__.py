"""Many runs: a queue of tasks, workers that do them, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .calendar import Calendar as Calendar, moment as moment, zone_here as zone_here
    from .notice import Notifier as Notifier
    from .queue import STATES as STATES, Decision as Decision, Entry as Entry, Queue as Queue, State as State
    from .rates import SharedLedger as SharedLedger
    from .worker import Ended as Ended, Worker as Worker
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "calendar": ("Calendar", "moment", "zone_here"),
            "notice": ("Notifier",),
            "queue": ("STATES", "Decision", "Entry", "Queue", "State"),
            "rates": ("SharedLedger",),
            "worker": ("Ended", "Worker"),
        },
    )
