"""Files of a folder that clients write to while it is looked at.

Rule: a folder that goes away or may not be read costs its own files and no others. `Path.glob` and `Path.rglob` raise
then, so log formats list with these.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterator
from fnmatch import translate
from glob import iglob
from pathlib import Path
from typing import Final

from dragoman.config.files import read_ordinary_file

from .compressed import ENDINGS, each_once


def files_in(folder: Path, *patterns: str) -> list[Path]:
    """What fits a pattern such as `*/events.jsonl`, sorted; `**` is no such pattern."""
    wanted = [f"{pattern}{ending}" for pattern in patterns for ending in ("", *_packed(pattern))]
    found = {name for pattern in wanted for name in iglob(pattern, root_dir=folder, include_hidden=True)}
    return each_once(sorted(folder / name for name in found))


_LARGEST: Final = 512 << 20
"""Bytes of a file beside a log: as many as a log that is one document may have."""


def read_beside(path: Path) -> bytes:
    """The bytes of a file that belongs to a log. `OSError` where it is no regular file, or a larger one than any log:
    who sent the log chose it, and a pipe would be waited for."""
    try:
        return read_ordinary_file(path, _LARGEST)
    except ValueError as error:
        raise OSError(str(error)) from error


def files_below(folder: Path, pattern: str) -> list[Path]:
    """Files at any depth whose name fits, sorted; folders that are links are not entered."""
    return [Path(entry.path) for entry in entries_below(folder, pattern)]


def entries_below(folder: Path | str, pattern: str) -> Iterator[os.DirEntry[str]]:
    """The same a folder at a time, as entries that know their status."""
    endings, fits = _packed(pattern), re.compile(translate(pattern)).match
    waiting: list[str | os.DirEntry[str]] = [str(folder)]
    while waiting:
        last = waiting.pop()
        if not isinstance(last, str):
            yield last
            continue
        found: list[tuple[str, str | os.DirEntry[str]]] = []
        """By their names: folders as paths, files as entries."""
        are_packed = False
        try:
            with os.scandir(last) as entries:
                for entry in entries:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        found.append((name, entry.path))
                    elif fits(name) and not entry.is_dir():
                        found.append((name, entry))
                    elif name.endswith(endings) and fits(_plain(name, endings)) and not entry.is_dir():
                        found.append((name, entry))
                        are_packed = True
        except OSError:
            continue
        if are_packed:
            known = {name for name, _ in found}
            found = [one for one in found if (name := _plain(one[0], endings)) == one[0] or name not in known]
        # The order of paths: by their parts, a folder's files where the folder is.
        found.sort(key=_name, reverse=True)
        waiting += [one for _, one in found]


_name = operator.itemgetter(0)


def _packed(pattern: str) -> tuple[str, ...]:
    """What may stand after the names that fit: logs in JSON are also there compressed."""
    return ENDINGS if pattern.endswith((".jsonl", ".json")) else ()


def _plain(name: str, endings: tuple[str, ...]) -> str:
    if not name.endswith(endings):
        return name
    return next(name.removesuffix(ending) for ending in endings if name.endswith(ending))
