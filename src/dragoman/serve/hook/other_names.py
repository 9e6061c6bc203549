"""Files that a client may take the path of a call for, beside the one that the path names as it is written.

Seen in the programs: Claude Code 2.1.325 and Qwen Code 0.24.4 leave out the spaces around a path, and Qwen Code a `\\`
before a character; Gemini CLI 0.61.0 and pi 0.74.2 leave out an `@` at its beginning, and pi takes every kind of space
for a plain one; Claude Code composes accents, and pi takes them apart. An edit of Gemini CLI is made in the one file of
the project whose path ends as the given one does, where there is none of that name.

Rule: what is decided about a call is decided about all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final
from unicodedata import normalize

import msgspec

from dragoman.model import operations as op
from dragoman.model.effects import fields_of

_ODD: Final = re.compile(r"\A[\s\ufeff@]|[\s\ufeff]\Z|[^ -~]|\\|\Afile:", re.IGNORECASE)
"""What is in a path for which there may be another."""
_SPACES: Final = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_MOST: Final = 64
_MOST_SEEN: Final = 20_000
"""Entries of a project in which an edit's file is looked for; Gemini CLI 0.61.0 looks into 50 folders."""


def other_names(path: str) -> list[str]:
    """Paths that a client may take this one for."""
    if not _ODD.search(path):
        return []
    found = [path]
    for one in found:  # it grows: what is left out may show more
        found += [other for other in dict.fromkeys(_one_step(one)) if other and other not in found]
        if len(found) > _MOST:
            break
    return found[1:]


def _one_step(path: str) -> Iterator[str]:
    yield re.sub(r"\A[\s\ufeff]+|[\s\ufeff]+\Z", "", path)
    yield _SPACES.sub(" ", path)
    yield re.sub(r"\\(.)", r"\1", path)
    yield path.replace("\0", "")
    if path.startswith("@"):
        yield path[1:]
        yield path[1:].lstrip("/\\")
    if path.lower().startswith("file:"):
        from urllib.parse import unquote

        yield "/" + unquote(path[len("file:") :]).removeprefix("//localhost").lstrip("/")
    if not path.isascii():
        yield normalize("NFC", path)
        yield normalize("NFD", path)


def named_otherwise(operation: op.Operation) -> Iterator[op.Operation]:
    """The operation on each other path that a client may take one of its paths for."""
    if isinstance(operation, op.CallMcpTool | op.CallFunction | op.Unrecognised):
        return
    for name in fields_of(operation).path:
        value = getattr(operation, name)
        for other in other_names(value) if isinstance(value, str) else ():
            yield msgspec.structs.replace(operation, **{name: other})


def found_by_end(operation: op.Operation, place: str) -> Iterator[op.Operation]:
    """An edit of each file that a client may find for a path that does not begin at the root, and is not there."""
    if not isinstance(operation, op.EditFile) or os.path.isabs(operation.path):
        return
    if os.path.exists(os.path.join(place, operation.path)):
        return
    wanted, name = operation.path.replace("\\", "/"), os.path.basename(operation.path)
    seen = 0
    for folder, folders, files in os.walk(place):
        seen += len(folders) + len(files)
        path = f"{folder}/{name}"
        if name in files and path.endswith(wanted):
            yield msgspec.structs.replace(operation, path=path)
        if seen > _MOST_SEEN:
            yield op.Unrecognised("an edit of a file that is looked for in a large project", {"path": operation.path})
            return
