"""Roo Code's tasks: the two lists of Cline's extension, which it began as.

From its public source (as of November 2026) and tasks of February to October 2025 among its tests.
What tells them from Cline's is the mode that the client names with its surroundings: a tag (`<slug>code</slug>`), in
the first versions a word in lower case; Cline says "ACT MODE". Kilo's extension for editors began as a copy of Roo Code
and keeps its tasks alike; its command line does not (`kilo`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dragoman.logs.base.format import LogReader, Places, Sample

from .parts.cline_task import TaskFormat, TaskReader, kept_by_editors, recognise

CLIENT = "roo_code"
_EXTENSIONS = ("rooveterinaryinc.roo-cline", "kilocode.kilo-code")
_MODE = re.compile(r"# Current Mode\\+n(?:<slug>|[a-z])")


class RooCode(TaskFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    captured = False
    lacks = "tasks do not name the version that wrote them, nor the task that began them"

    def recognise(self, sample: Sample) -> float:
        if not isinstance(sample.document, list) or not recognise(sample.document):
            return 0.0
        says = sample.path.as_posix()
        return 0.97 if any(one in says for one in _EXTENSIONS) or _names_mode(sample.document) else 0.0

    def homes(self, places: Places) -> Iterator[Path]:
        for extension in _EXTENSIONS:
            yield from kept_by_editors(places, extension)

    def reader(self, path: Path) -> LogReader:
        return TaskReader(path, CLIENT)


def _names_mode(document: list[object]) -> bool:
    return _MODE.search(str(document[:12])) is not None


FORMAT = RooCode()
