"""Kilo CLI's sessions (7.7.7): opencode's tables in a database of its own, `kilo.db`; see `parts/opencode_log.py`.

What tells its database from opencode's is its name, its own tables, and its versions, which begin with 7.
"""

from __future__ import annotations

from dragoman.logs.base.database import SQLITE, glanced
from dragoman.logs.base.format import Sample

from .parts.opencode_log import OpencodeLog, holds_sessions


class Kilo(OpencodeLog):
    """The format; see the module."""

    name = "kilo"
    dialect = "kilo"
    folder = "kilo"
    variable = "KILO_DB"

    def recognise(self, sample: Sample) -> float:
        if not sample.head.startswith(SQLITE) or not holds_sessions(sample.path):
            return 0.0
        if sample.path.name == "kilo.db":
            return 0.97
        own = glanced(sample.path, "SELECT 1 FROM sqlite_master WHERE name = 'kilo_board'")
        own += glanced(sample.path, "SELECT 1 FROM session WHERE version GLOB '[789].*' LIMIT 1")
        return 0.97 if own else 0.0


FORMAT = Kilo()
