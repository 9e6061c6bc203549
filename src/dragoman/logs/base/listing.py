"""Files of a folder that clients write to while it is looked at.

Rule: a folder that goes away or may not be read costs its own files and no others. `Path.glob` and `Path.rglob` raise
then, so log formats list with these.
"""

from __future__ import annotations

import os
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
    found: list[str] = []
    endings = _packed(pattern)
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        if not entry.is_symlink():
                            waiting.append(entry.path)
                    elif fnmatchcase(_plain(entry.name, endings), pattern):
                        found.append(entry.path)
        except OSError:
            continue
    found.sort(key=_parts)  # as paths are ordered, without making one for each comparison
    return each_once(list(map(Path, found)))


def _packed(pattern: str) -> tuple[str, ...]:
    """What may stand after the names that fit: logs in JSON are also there compressed."""
    return ENDINGS if pattern.endswith((".jsonl", ".json")) else ()


def _plain(name: str, endings: tuple[str, ...]) -> str:
    return next((name.removesuffix(ending) for ending in endings if name.endswith(ending)), name)


def _parts(path: str) -> list[str]:
    return path.split(os.sep)
