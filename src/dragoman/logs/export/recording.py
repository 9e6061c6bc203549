"""Our own log format: the events in the very types of the model. Read back, they are what was exported.

Only `source` differs: it points into the export. The originals `raw` asks for have no place in it.
"""

from __future__ import annotations

from typing import BinaryIO

from dragoman.logs.formats.dragoman import HEADER
from dragoman.logs.history.tables import as_json

from .chosen import Chosen


def write(chosen: Chosen, out: BinaryIO) -> None:
    out.write(HEADER)
    for event in chosen.events():
        out.write(as_json(event).encode() + b"\n")
