"""The environment of the programs that dragoman starts.

Rule: a program is given the variables that are named for it, and no others. So the key of a provider is in no program's
environment, where every other program of the same user could read it, unless it was named for that program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

USUAL: Final = (
    "COLORTERM",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
"""What most programs use; a `*` stands for anything."""
LOADED: Final = ("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""What a program may need to start at all."""

_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)


def child_environment(*names: str) -> dict[str, str]:
    """The variables of these names that are set, and what a program needs to start."""
    return {name: value for name, value in os.environ.items() if name in LOADED or passes(name, names)}


def passes(name: str, allowed: Iterable[str]) -> bool:
    """Whether a variable is among those allowed. A name with a `*` never stands for what looks like a secret."""
    return _passes(name, tuple(allowed))


@lru_cache(4096)
def _passes(name: str, allowed: tuple[str, ...]) -> bool:
    looks_secret = _SECRET.search(name) is not None
    return any(name == one or (not looks_secret and "*" in one and fnmatchcase(name, one)) for one in allowed)
