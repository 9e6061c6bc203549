"""Commands in a process namespace of their own, as root or as a user without rights.

Everything started there can be seen from inside, however it hides, and is gone with the test, whatever it proves.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOBODY = 65534
"""The user (and group) without any rights."""


def run_apart(
    command: list[str], *, environment: Mapping[str, str] | None = None, seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """What a command gives that runs as root in a namespace of its own, from where it can become another user."""
    return subprocess.run(
        [*_namespace(), *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": "/", **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def become_nobody() -> None:
    """Give up all rights, for good."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def _namespace() -> list[str]:
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--cap-add", "ALL"]
    words += ["--dev-bind", "/", "/", "--proc", "/proc"]
    # Python and this checkout may be below a folder that only root may enter, as /root is.
    needed = {Path(sys.base_prefix), Path(sys.prefix), ROOT}
    for folder in sorted({hidden for path in needed for hidden in _hidden(path)}):
        words += ["--tmpfs", str(folder)]
    for path in sorted(needed):
        for folder in _hidden(path):
            for above in reversed(path.parents[: len(path.parents) - len(folder.parents) - 1]):
                words += ["--perms", "0755", "--dir", str(above)]
            words += ["--ro-bind", str(path), str(path)]
    return [*words, "--"]


def _hidden(path: Path) -> Iterator[Path]:
    """The outermost folder above a path that not everybody may enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & 0o001:
            yield folder
            return
