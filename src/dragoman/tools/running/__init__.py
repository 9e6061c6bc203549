"""Operations run outside of a conversation: planned, performed, and what is not honoured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .operation_runner import (
        NOT_HONOURED as NOT_HONOURED,
        Postponed as Postponed,
        enclosure_in as enclosure_in,
        honoured_in as honoured_in,
        outcome_of as outcome_of,
        perform as perform,
        run_operation as run_operation,
    )
    from .planned import planned_changes as planned_changes, shown_change as shown_change
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "operation_runner": (
                "NOT_HONOURED",
                "Postponed",
                "enclosure_in",
                "honoured_in",
                "outcome_of",
                "perform",
                "run_operation",
            ),
            "planned": ("planned_changes", "shown_change"),
        },
    )
