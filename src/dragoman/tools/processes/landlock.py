"""Landlock: what a process on Linux takes from itself and its children before it becomes a command.

Rule: this module imports the standard library alone, and little of that: it is loaded by the process that watches a
command (`supervisor.py`), which runs without site-packages.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Files(TypedDict):
        """What a command can write to, what it cannot even read, and what of that it can read all the same."""

        writable: list[str]
        hidden: list[str]
        shown: list[str]

    class Confinement(TypedDict):
        """What is taken from a command. Without `files` it keeps every right to them."""

        files: Files | None
        network: bool


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WRITE_FILE, _READ_FILE, _TRUNCATE, _IOCTL_DEVICE = 1 << 1, 1 << 2, 1 << 14, 1 << 15
# Removing and making of every kind (bits 4 to 12) and moving between folders (bit 13).
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 14))
_MAKE_DEVICES = 1 << 6 | 1 << 11
# What root may do with files and its own processes; the rest (mounting, tracing, modules …) leads out of any sandbox.
_KEPT_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 10)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx")
# Every terminal of this user: on one a question could be painted over, or its answer be read. Landlock allows all of a
# folder or nothing, so a command cannot make itself another one.
_TERMINALS = "/dev/pts"
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


def landlock_version() -> int:
    """The version of Landlock this kernel has, 0 where it has none."""
    if sys.platform != "linux":
        return 0
    try:
        return _system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def confine(confinement: Confinement) -> None:
    """Take rights from this process and its children, for good. What the kernel's Landlock does not know, stays."""
    version = landlock_version()
    files = confinement["files"]
    to_file = _WRITE_FILE | _TRUNCATE | (_IOCTL_DEVICE if version >= 5 else 0)
    reading = _READ_FILE if files is not None else 0
    to_folder = to_file | _CHANGE_FOLDER
    handled = 0 if files is None else to_folder | reading
    tcp = 0 if confinement["network"] else 0b11
    # Programs outside that listen on a name, not on a file; and signals to them, so the watcher stays out of reach.
    outside = _ABSTRACT_SOCKETS | (0 if files is None else _SIGNALS)
    words = (handled, tcp, outside)[: 1 if version < 4 else 2 if version < 6 else 3]
    if not any(words):
        return
    attributes = b"".join(word.to_bytes(8, sys.byteorder) for word in words)
    ruleset = _system_call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if files is not None:
        for path in files["writable"]:
            _allow_below(ruleset, path, to_file | reading, to_folder & ~_MAKE_DEVICES | reading)
        for path in (*_DEVICES, *_own_terminal()):
            _allow_below(ruleset, path, to_file | reading, to_file | reading)
        for path in (*_beside([*files["hidden"], _TERMINALS]), *files["shown"]):
            _allow_below(ruleset, path, reading, reading)
        for capability in range(64):
            if capability not in _KEPT_CAPABILITIES:
                _prctl(24, capability)  # out of the bounding set; refused where there is none to lose
    _prctl(38, 1)  # no new privileges: the kernel asks for this first
    _system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def confined(confinement: str, *arguments: str) -> None:
    """Become a command under a confinement: for the trial whether it works here."""
    confine(marshal.loads(bytes.fromhex(confinement)))
    os.execv(arguments[0], list(arguments))


def _own_terminal() -> list[str]:
    """The terminal that a command is given as its input, if it is given one."""
    try:
        return [os.ttyname(0)]
    except OSError:
        return []


def _beside(hidden: list[str]) -> list[str]:
    """Everything but what is hidden, in as few paths as can be: Landlock allows, it does not forbid."""
    above: set[str] = set()
    for path in hidden:
        while path != "/":
            path = os.path.dirname(path)
            above.add(path)
    left_out = above.union(hidden)
    found: list[str] = []
    for folder in above:
        try:
            with os.scandir(folder) as entries:
                # A link leads somewhere that is allowed, or not, on its own account.
                found += [one.path for one in entries if one.path not in left_out and not one.is_symlink()]
        except OSError:
            pass  # what cannot be listed cannot be allowed in part
    return found


def _allow_below(ruleset: int, path: str, to_file: int, to_folder: int) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or not to be reached, needs no rule
    allowed = to_folder if stat.S_ISDIR(os.fstat(target).st_mode) else to_file
    rule = allowed.to_bytes(8, sys.byteorder) + target.to_bytes(4, sys.byteorder)
    try:
        _system_call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(target)


_known: list[Any] = []


def _system_call(number: int, *arguments: object) -> int:
    if not _known:
        _known.append(ctypes.CDLL(None, use_errno=True).syscall)
        _known[0].restype = ctypes.c_long
    result = int(_known[0](ctypes.c_long(number), *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _prctl(option: int, value: int) -> None:
    nothing = ctypes.c_ulong(0)
    ctypes.CDLL(None).prctl(ctypes.c_int(option), ctypes.c_ulong(value), nothing, nothing, nothing)
