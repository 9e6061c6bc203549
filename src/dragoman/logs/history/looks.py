"""What a file looks like that is in no known format: whose it may be, and what it holds.

Rule: it is described by the names of fields and kinds of records it has, never by what it says.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dragoman.errors import LogError
from dragoman.logs.base.compressed import open_log
from dragoman.logs.base.database import SQLITE, glanced
from dragoman.schema.values import type_of

from .discover import SESSION_PAGES
from .known_fields import looks_like
from .observed import client_that_keeps, counted_in
from .record_fields import is_name, kinds_of, records_of

_HEAD: Final = 4096
_MOST_NAMES: Final = 6
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}

_NO_FILES: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""What may stand where a file is expected; opening one may wait for ever."""

_BY_FIELDS: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    ("a session of Kiro CLI", frozenset({"version", "kind", "data"})),
    ("a session of Kiro's editor", frozenset({"executionId", "actionId", "chat"})),
    ("a checkpoint of Gemini CLI", frozenset({"role", "parts"})),
    ("a checkpoint of Gemini CLI", frozenset({"history", "clientHistory", "toolCall"})),
    ("what droid prints", frozenset({"system/init", "session_id", "tools", "reasoning_effort"})),  # 0.215.0
    ("what Goose prints", frozenset({"message", "message.metadata", "message.created", "message.content"})),  # 1.34.0
    ("what Kimi Code prints", frozenset({"system.version/meta", "version"})),  # 2.1.0
    (
        "what Mistral Vibe prints",
        frozenset({"turnId", "inputEntryId", "relatedEntryId", "userDisplayContent"}),
    ),  # 3.0.2
)
"""Formats that are known and not read, by fields that their first record has, and by what it calls itself."""


def described(path: Path) -> str:
    """What a file in no known format looks like, in a line."""
    try:
        sort = stat.S_IFMT(path.stat().st_mode)
        if sort in _NO_FILES:
            return _NO_FILES[sort]
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        if path.is_symlink() and (isinstance(error, FileNotFoundError) or error.errno == errno.ELOOP):
            leads = "which does not exist" if error.errno != errno.ELOOP else "which leads back to itself"
            return f"a link to {os.fspath(path.readlink())!r}, {leads}"
        what = "folder" if os.path.isdir(path) else "file"
        return f"a {what} that cannot be opened: {error.strerror or error}"
    if not head.strip():
        return "an empty file"
    for begin, name in SESSION_PAGES.items():
        if begin in head[:200]:
            return name
    for begin, name in _COMPRESSED.items():
        if head.startswith(begin):
            return f"a file compressed with {name}{_unpacking(path)}"
    if head.startswith(SQLITE):
        if not glanced(path, "SELECT count(*) FROM sqlite_master"):
            return "a SQLite database that cannot be read"
        tables = [str(name) for (name,) in glanced(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
        return _like(path, f"a SQLite database with {_listed('the tables', sorted(tables))}")
    records = [value for _, value, _ in _first(path)]
    if not records:
        return "no JSON: binary" if b"\0" in head else "no JSON: text"
    first = records[0]
    if isinstance(first, list) and first and isinstance(first[0], dict):
        first = first[0]
    if not isinstance(first, dict):
        return f"JSON that is no object: {type_of(first)}"
    names = {
        kinds_of(first),
        *first,
        *(f"{outer}.{name}" for outer, one in first.items() if isinstance(one, dict) for name in one),
    }
    for name, fields in _BY_FIELDS:
        if fields <= names:
            return f"{name}: known, not read"
    said = _listed("the fields", [name for name in first if is_name(name)])
    if len(records) == 1:
        return _like(path, f"a JSON document with {said}")
    kinds = sorted({kind for one in records if isinstance(one, Mapping) and (kind := kinds_of(one))})
    return _like(path, f"JSON lines with {_listed('records of the kinds', kinds) if kinds else said}")


def _unpacking(path: Path) -> str:
    """What is wrong with a compressed file, if anything."""
    try:
        with open_log(path) as file:
            return "" if file.read(1) else ", cut off before anything of it can be unpacked"
    except LogError:
        return ", and damaged: it cannot be unpacked"
    except OSError:
        return ""


def _like(path: Path, what: str) -> str:
    client = client_that_keeps(path)
    if client is not None:
        return f"{what}, where {client} keeps its logs"
    like = looks_like(counted_in([path], None))
    if like is None:
        return what
    return f"{what}; {like[1]:.0%} of its fields are those of {like[0]}"


def _listed(what: str, names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{what} {', '.join(names[:_MOST_NAMES])}{more}" if names else f"no {what.removeprefix('the ')}"


def _first(path: Path) -> Iterator[tuple[str, Any, Any]]:
    for number, one in enumerate(records_of(path)):
        if number == 50:
            return
        yield one
