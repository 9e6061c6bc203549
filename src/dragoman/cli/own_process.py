"""The process of the command line, out of reach of the programs it starts.

Rule: only the command `dragoman` calls this. In a library it would change a user's process: no core dumps, no debugger.
"""

from __future__ import annotations

import sys
from typing import Final

_SET_DUMPABLE: Final = 4


def close_to_others() -> None:
    """Keep other programs of this user from reading this process: its environment, its memory and its open files.

    Linux hands these to any program of the same user (`/proc/PID/environ`, `mem`, `fd`, `ptrace`), commands of a
    model among them, unless a process is marked as not to be dumped. What is started from it is not marked.
    """
    if sys.platform != "linux":
        return
    import ctypes

    zero = ctypes.c_ulong(0)
    ctypes.CDLL(None).prctl(ctypes.c_int(_SET_DUMPABLE), zero, zero, zero, zero)
