"""A user without rights, on a machine where bubblewrap works for such a user too.

Run as a program, `nobody.py COMMAND…` becomes that user and then the command. Unlike `apart`, it makes no process
namespace: in one that bubblewrap made, a user without rights cannot mount the `/proc` of another.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOBODY = 65534
_BIND, _RECURSIVE = 4096, 16384


def as_nobody(command: list[str]) -> list[str]:
    """The words that run a command as nobody; only root can."""
    return ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, *command]


def _reveal(paths: set[Path]) -> None:
    """Lets everybody reach these paths, in this mount namespace: Python may be below a folder such as /root."""
    opened = {path: os.open(path, os.O_PATH) for path in paths}
    hidden = {path: closed for path in paths if (closed := _closed(path)) is not None}
    for folder in set(hidden.values()):
        _mount("none", folder, "tmpfs", 0, "mode=0755")
    for path in sorted(hidden):  # an environment may be in the checkout, which then has it already
        path.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{opened[path]}", path, "", _BIND | _RECURSIVE, "")
    for descriptor in opened.values():
        os.close(descriptor)


def _closed(path: Path) -> Path | None:
    """The outermost folder over a path that not everybody may enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def _mount(source: str, target: Path, kind: str, flags: int, options: str) -> None:
    words = [word.encode() for word in (source, str(target), kind)]
    if ctypes.CDLL(None, use_errno=True).mount(*words, ctypes.c_ulong(flags), options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    _reveal({Path(sys.base_prefix), Path(sys.prefix), ROOT})
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.execvp(sys.argv[1], sys.argv[1:])
