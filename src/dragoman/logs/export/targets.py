"""What sessions can be written as, and the one way to write them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import BinaryIO, Final

from dragoman.errors import LogError, nearest

from .chosen import Chosen, Strategy


class Target:
    """What sessions can be written as: the file that does it, what it gives, what it keeps when nothing is said."""

    def __init__(self, module: str, about: str, strategy: Strategy | None = None, *, is_folder: bool = False) -> None:
        self.module, self.about, self.strategy, self.is_folder = module, about, strategy, is_folder


TARGETS: Final = {
    "jsonl": Target("jsonl", "the events, one JSON object per line, as `dragoman events` prints them"),
    "dragoman": Target("recording", "our own log format: read back, it gives the same events"),
    "markdown": Target("markdown", "a transcript in Markdown", "clean"),
    "html": Target("html", "a transcript as one HTML file without scripts", "clean"),
    "text": Target("text", "a transcript in plain text", "clean"),
    "atif": Target("atif", "an Agent Trajectory Interchange Format document (Harbor)", "clean"),
    "otel": Target("otel", "OpenTelemetry spans (GenAI conventions) as OTLP JSON", "clean"),
    "parquet": Target("parquet", "a folder with the seven tables and the events they were made of", is_folder=True),
}


def target_named(name: str) -> Target:
    """The target of this name."""
    if name not in TARGETS:
        raise LogError(f"there is no target {name!r}; there are {', '.join(TARGETS)}.{nearest(name, TARGETS)}")
    return TARGETS[name]


def write_as(chosen: Chosen, target: str, out: BinaryIO | Path) -> None:
    """Writes what was chosen to a file that is open; `parquet` to a folder, which is made."""
    importlib.import_module(f"{__package__}.{target_named(target).module}").write(chosen, out)
