"""What a client printed beside the log it stored: two files, one session.

Rule: of a session whose log is there, what was printed of it is not counted; a print without its log is read. Neither
is a copy of a log (`copies_among`) counted beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from dragoman.errors import LogError
from dragoman.model import Source, ToolCalled
from dragoman.registry import DIALECTS, FORMATS

from .copies import copies_among
from .discover import Found, read_log
from .known_fields import Likeness, known_of, places_of
from .record_fields import Walk, kinds_of, records_of
from .shapes import tool_named

LONG_ID: Final = 12
"""Characters of an id that no other session has; some clients number their calls."""
_ENOUGH: Final = 30
"""Records that show whether a file was printed or stored."""
_SURE: Final = 20
"""So many more fields of one kind of file than of the other: further records were not looked into."""
_ALIKE: Final = 2
"""Those of one kind that are looked into: more have the same fields, and took half the time of building a corpus."""


def without_prints(found: Iterable[Found]) -> list[Found]:
    """The files without those that were printed of a session whose log is among the others, and without copies."""
    every = list(found)
    found_at = {one.name: one for one in every}
    copies = set(copies_among(((one.name, one.format) for one in every), lambda path: _ids(found_at[path])[0]))
    every = [one for one in every if one.name not in copies]
    printed = [one for one in every if len(every) > 1 and is_printed(one.path, one.format)]
    if not printed:
        return every
    stored = [_ids(one) for one in every if one not in printed]
    dropped = []
    for one in printed:
        sessions, calls = _ids(one)
        named = sessions - {one.path.stem}  # without an id, a session goes by the name of its file
        if any(_is_same((named, calls), log) for log in stored):
            dropped.append(one)
    return [one for one in every if one not in dropped]


Ids = tuple[set[str], set[str]]
"""The ids of the sessions in a file, and of the calls."""


def _is_same(printed: Ids, log: Ids) -> bool:
    """Whether a print is of a session in a log, by its name or by its calls: Cline 3.0.65 prints another name."""
    return not printed[0].isdisjoint(log[0]) or 2 * len(printed[1] & log[1]) > len(printed[1])


def _ids(found: Found) -> Ids:
    sessions, calls = set[str](), set[str]()
    try:
        for event in read_log(found):
            if event.session is not None:
                sessions.add(event.session)
            if isinstance(event, ToolCalled) and len(event.call.id) >= LONG_ID:
                calls.add(event.call.id)
    except LogError:
        pass  # whoever reads it next says why it cannot be read
    return sessions, calls


def is_printed(path: Path, format: str) -> bool:
    """Whether a log looks like what a client prints, and not like what it stores."""
    known = known_of(format)
    if known is None or len(known.forms) < 2:
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    return _looks_printed(path, format, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1 << 14)
def _looks_printed(path: Path, format: str, size: int, modified: int) -> bool:
    return looks_printed(format, records_of(path))


def looks_printed(format: str, records: Iterable[tuple[str, Any, Source]]) -> bool:
    """Whether a log that begins with these records was printed; of a client that prints none it was not."""
    known = known_of(format)
    if known is None or "printed" not in known.forms:
        return False
    dialect = DIALECTS[FORMATS[format].dialect]
    walk, likeness = Walk(lambda tool: any(tool_named(dialect, tool))), Likeness(known)
    seen: Counter[str] = Counter()
    for root, value, _ in islice(records, _ENOUGH):
        kind = root + (kinds_of(value) if isinstance(value, dict) else "")
        seen[kind] += 1
        if seen[kind] > _ALIKE:
            continue
        for place, fields in walk.objects(value, root):
            for one in places_of(place):
                likeness.add(one, fields)
        if likeness.lead >= _SURE:
            break
    return likeness.form is known.forms["printed"]
