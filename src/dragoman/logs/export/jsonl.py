"""The events as `dragoman events` prints them, one JSON object per line."""

from __future__ import annotations

from typing import BinaryIO

from dragoman.logs.history.tables import as_json

from .chosen import Chosen
from .lines import event_line


def write(chosen: Chosen, out: BinaryIO) -> None:
    for event, raw in chosen.records():
        out.write(as_json(event_line(event, raw)).encode() + b"\n")
