"""Evaluation: tasks × models × vocabularies × seeds, graded, with paired differences.

It answers whether a model works better in one vocabulary than in another: `load_suite` reads the tasks, `evaluate`
makes the attempts, `rates` and `differences` count them.
"""

from __future__ import annotations

from .comparison import Difference, Rate, differences, rates
from .evaluation import Attempt, Engines, evaluate, read_attempts
from .tasks import Expected, Function, Suite, Task, load_suite

__all__ = [
    "Attempt",
    "Difference",
    "Engines",
    "Expected",
    "Function",
    "Rate",
    "Suite",
    "Task",
    "differences",
    "evaluate",
    "load_suite",
    "rates",
    "read_attempts",
]
