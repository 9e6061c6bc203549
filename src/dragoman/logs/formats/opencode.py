"""opencode's sessions (1.0.162 … 1.18.33): databases, trees, exports, printed runs; see `parts/opencode_log.py`."""

from __future__ import annotations

from .parts.opencode_log import OpencodeLog


class Opencode(OpencodeLog):
    """The format; see the module."""

    name = "opencode"
    dialect = "opencode"
    folder = "opencode"
    variable = "OPENCODE_DB"
    written_by = "opencode_writer.OpencodeWriter"


FORMAT = Opencode()
