"""Files of a folder that clients write to while it is looked at.

Rule: a folder that goes away or may not be read costs its own files and no others. `Path.glob` and `Path.rglob` raise
then, so log formats list with these.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from glob import iglob
from pathlib import Path


def files_in(folder: Path, *patterns: str) -> list[Path]:
    """What fits a pattern such as `*/events.jsonl`, sorted; `**` is no such pattern."""
    found = {name for pattern in patterns for name in iglob(pattern, root_dir=folder, include_hidden=True)}
    return sorted(folder / name for name in found)


def files_below(folder: Path, pattern: str) -> list[Path]:
    """Files at any depth whose name fits, sorted; folders that are links are not entered."""
    found: list[str] = []
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        if not entry.is_symlink():
                            waiting.append(entry.path)
                    elif fnmatchcase(entry.name, pattern):
                        found.append(entry.path)
        except OSError:
            continue
    found.sort(key=_parts)  # as paths are ordered, without making one for each comparison
    return list(map(Path, found))


def _parts(path: str) -> list[str]:
    return path.split(os.sep)
