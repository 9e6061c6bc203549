"""Paths in a workspace: what they are made of, and the errors that name one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.errors import ToolError

from .text import encoded

HELD_LIMIT = 64 * 1024 * 1024
"""The largest file whose content is held in memory: what is larger is read in parts and never edited."""


_RESERVED = re.compile(r"\.dragoman-[0-9a-f]{16}(-\d+)?\.(tmp|new|old|journal|done)")


def components(path: str) -> list[str]:
    """The names a path is made of, ".." among them; what no tree of files could hold is refused."""
    if not path:
        raise ToolError('an empty path; "." is the root of the workspace', kind="invalid_arguments")
    if "\0" in path:
        raise ToolError(f"a path cannot hold a NUL character: {path!r}", kind="invalid_arguments")
    names = [name for name in path.split("/") if name not in ("", ".")]
    for name in names:
        if len(encoded(name)) > 255:
            shown = f"{name[:40]}…"
            raise ToolError(f"a name in the path is longer than 255 bytes: {shown!r}", kind="invalid_arguments")
    if len(names) > 1000 or len(path) > 4095:
        raise ToolError(f"the path is too long ({len(path)} characters)", kind="invalid_arguments")
    return names


def join(names: Iterable[str]) -> str:
    """Names as the one spelling of a path."""
    return "/".join(names) or "."


def is_reserved(name: str) -> bool:
    """Whether a name is kept for the files a transaction makes on its way."""
    return name.startswith(".dragoman-") and _RESERVED.fullmatch(name) is not None


def outside(path: str, why: str = "it leads out of the workspace") -> ToolError:
    """The path is not of this tree."""
    return ToolError(
        f"{shown(path)} is denied: {why}; use a path inside the workspace",
        kind="denied",
        details={"reason": "outside", "path": path},
    )


def stale(path: str) -> ToolError:
    """Somebody else changed the file."""
    return ToolError(
        f"{shown(path)} has changed since it was read; nothing was done. Read it again, then repeat the change.",
        details={"reason": "stale", "path": path},
    )


def wrong_kind(path: str, kind: str) -> ToolError:
    """Something other than a file stands at the path."""
    what = {"directory": "a directory", "link": "a symbolic link"}.get(
        kind, "not a regular file (a device, pipe or socket)"
    )
    return ToolError(
        f"{shown(path)} is {what}; a file is needed here",
        details={"reason": "is_directory" if kind == "directory" else "not_a_file", "path": path},
    )


def not_a_directory(path: str) -> ToolError:
    """A file stands where a directory is needed."""
    return ToolError(f"{shown(path)} is a file, not a directory", details={"reason": "not_a_directory", "path": path})


def too_large(path: str, size: int, what: str) -> ToolError:
    """The file cannot be held in memory."""
    return ToolError(
        f"{shown(path)} has {size:,} bytes; files of more than {HELD_LIMIT:,} bytes cannot be {what}",
        details={"reason": "too_large", "path": path, "size": size},
    )


def shown(path: str) -> str:
    """A path as messages quote it: short, and without what would break a line."""
    safe = path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
    return f'"{safe}"' if len(safe) <= 200 else f'"{safe[:100]}…{safe[-99:]}"'
