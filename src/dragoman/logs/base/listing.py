"""Files of a folder that clients write to while it is looked at.

Rule: a folder that goes away or may not be read costs its own files and no others. `Path.glob` and `Path.rglob` raise
then, so log formats list with these.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import iglob
from pathlib import Path

from .compressed import ENDINGS, each_once


def files_in(folder: Path, *patterns: str) -> list[Path]:
    """What fits a pattern such as `*/events.jsonl`, sorted; `**` is no such pattern."""
    wanted = [f"{pattern}{ending}" for pattern in patterns for ending in ("", *_packed(pattern))]
    found = {name for pattern in wanted for name in iglob(pattern, root_dir=folder, include_hidden=True)}
    return each_once(sorted(folder / name for name in found))


def files_below(folder: Path, pattern: str) -> list[Path]:
    """Files at any depth whose name fits, sorted; folders that are links are not entered."""
    return [Path(entry.path) for entry in entries_below(folder, pattern)]


def entries_below(folder: Path | str, pattern: str) -> Iterator[os.DirEntry[str]]:
    """The same a folder at a time, as entries that know their status."""
    endings = _packed(pattern)
    waiting: list[str | os.DirEntry[str]] = [str(folder)]
    while waiting:
        last = waiting.pop()
        if not isinstance(last, str):
            if not last.is_dir(follow_symlinks=False):
                yield last
                continue
            last = last.path
        try:
            with os.scandir(last) as entries:
                found = [
                    entry
                    for entry in entries
                    if _is_folder(entry) or (fnmatchcase(_plain(entry.name, endings), pattern) and not entry.is_dir())
                ]
        except OSError:
            continue
        if endings and any(entry.name.endswith(endings) for entry in found):
            known = {entry.name for entry in found}
            found = [one for one in found if (name := _plain(one.name, endings)) == one.name or name not in known]
        # The order of paths: by their parts, a folder's files where the folder is.
        found.sort(key=_name, reverse=True)
        waiting += found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


_name = operator.attrgetter("name")


def _packed(pattern: str) -> tuple[str, ...]:
    """What may stand after the names that fit: logs in JSON are also there compressed."""
    return ENDINGS if pattern.endswith((".jsonl", ".json")) else ()


def _plain(name: str, endings: tuple[str, ...]) -> str:
    if not name.endswith(endings):
        return name
    return next(name.removesuffix(ending) for ending in endings if name.endswith(ending))
