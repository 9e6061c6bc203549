"""Kilo CLI's sessions (7.7.7): opencode's tables in a database of its own, `kilo.db`; see `parts/opencode_log.py`.

What tells its database from opencode's is its name, its own tables, and its versions, which begin with 7. In what it
prints, the end of a step has `metrics` and the state of a tool says who approved of it: opencode (1.18.4) has neither.
"""

from __future__ import annotations

from typing import Any

from dragoman.logs.base.database import SQLITE, glanced
from dragoman.logs.base.format import Sample
from dragoman.model.json_values import as_object

from .parts.opencode_log import OpencodeLog, holds_sessions, is_printed


class Kilo(OpencodeLog):
    """The format; see the module."""

    name = "kilo"
    dialect = "kilo"
    folder = "kilo"
    variable = "KILO_DB"

    def recognise(self, sample: Sample) -> float:
        if any(_is_printed(record) for record in sample.records):
            return 0.97
        if not sample.head.startswith(SQLITE) or not holds_sessions(sample.path):
            return 0.0
        if sample.path.name == "kilo.db":
            return 0.97
        own = glanced(sample.path, "SELECT 1 FROM sqlite_master WHERE name = 'kilo_board'")
        own += glanced(sample.path, "SELECT 1 FROM session WHERE version GLOB '[789].*' LIMIT 1")
        return 0.97 if own else 0.0


def _is_printed(record: Any) -> bool:
    """Whether a line is one that Kilo prints, and opencode does not."""
    part = as_object(as_object(record).get("part"))
    if not is_printed(record):
        return False
    approved = as_object(as_object(part.get("state")).get("metadata")).get("approval")
    return isinstance(part.get("metrics"), dict) or isinstance(approved, dict)


FORMAT = Kilo()
