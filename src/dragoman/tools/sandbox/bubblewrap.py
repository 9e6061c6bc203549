"""The words that make bubblewrap confine a command to a layout."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING

from dragoman.errors import ToolError
from dragoman.tools.workspace.hidden_paths import is_within

if TYPE_CHECKING:
    from .layout import Layout

# What is needed of /run, which is hidden otherwise: to resolve names, and all programs on NixOS.
_RESOLVERS = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/connman/resolv.conf")
_PROGRAMS = ("/run/current-system", "/run/opengl-driver")
# What of a new /proc acts on the whole machine, and root could write to: `core_pattern` alone leads out of any sandbox.
_MACHINE = ("sys", "sysrq-trigger", "fs", "irq", "bus", "acpi", "scsi", "mtrr", "asound")
# What root may still do inside: own its files and processes. With the rest it could mount the system writable again.
_ROOT_KEEPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE")


def bubblewrap(
    program: str, layout: Layout, stack: ExitStack, *, cwd: str, network: bool
) -> tuple[list[str], tuple[int, ...]]:
    """The words before a command line, and the descriptors they name, which the stack closes."""
    opened: list[int] = []

    def held(option: str, path: str) -> list[str]:
        """Binds what is opened here: a command that runs already could put a link to elsewhere in its place."""
        folder = max((folder for folder in layout.writable if is_within(path, folder)), key=len)
        opened.append(_opened(path, folder))
        stack.callback(os.close, opened[-1])
        return [option, str(opened[-1]), path]

    mounts: dict[str, list[str]] = {
        "/dev": ["--dev", "/dev"],
        "/proc": ["--proc", "/proc"],
        "/tmp": ["--bind", layout.temporary, "/tmp"],
        # A socket in /run (a container engine's, the session bus) can be used even where the file is read-only.
        "/run": ["--tmpfs", "/run"],
    }
    for path in [f"/proc/{name}" for name in _MACHINE] if os.geteuid() == 0 else ():
        if os.path.exists(path):
            mounts[path] = ["--ro-bind", path, path]
    for path in (*_PROGRAMS, *(_RESOLVERS if network else ())):
        if os.path.exists(path):
            mounts[path] = ["--ro-bind-try", path, path]
    closed: list[str] = []
    for path in layout.hidden:
        if _replaced(path, layout):
            continue
        if os.path.isdir(path):
            mounts[path] = ["--perms", "0111", "--tmpfs", path]  # nobody can list it; a path below it can be passed
            closed += ["--remount-ro", path]
        else:
            mounts[path] = ["--ro-bind", "/dev/null", path]  # bubblewrap's binds allow no devices: it cannot be opened
    mounts |= {path: ["--ro-bind", path, path] for path in layout.shown}
    mounts |= {path: ["--bind", path, path] for path in layout.writable}
    mounts |= {path: held("--bind-fd", path) for path in layout.pinned}
    # What is hidden cannot be changed either, and would be shown by this.
    mounts |= {path: held("--ro-bind-fd", path) for path in layout.read_only if path not in layout.hidden}
    words = [program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--cap-drop", "ALL"]
    for capability in _ROOT_KEEPS if os.geteuid() == 0 else ():
        words += ["--cap-add", f"CAP_{capability}"]
    words += [] if network else ["--unshare-net"]
    words += ["--ro-bind", "/", "/"]
    for path in sorted(mounts, key=_depth):
        words += mounts[path]
    return [*words, *closed, "--chdir", cwd, "--"], tuple(opened)


def _replaced(path: str, layout: Layout) -> bool:
    """Whether a path is not there anyway, because commands get another folder in the place of the one it is in."""
    shown = any(is_within(path, folder) for folder in (*layout.writable, *layout.shown))
    return not shown and any(is_within(path, folder) for folder in ("/tmp", "/run"))


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")


def _opened(path: str, folder: str) -> int:
    """A descriptor of what is at a path in a folder, without following a link on the way."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    names = [] if path == folder else os.path.relpath(path, folder).split("/")
    current = os.open(folder, flags)
    try:
        for name in names:
            inner = os.open(name, flags, dir_fd=current)
            os.close(current)
            current = inner
        if stat.S_ISLNK(os.fstat(current).st_mode):
            raise NotADirectoryError(None, "it is a link now")
    except OSError as error:
        os.close(current)
        raise ToolError(
            f"The sandbox could not be set up: {path} changed meanwhile ({error.strerror}). Run the command again."
        ) from error
    return current
