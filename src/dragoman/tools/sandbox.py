"""What keeps a command inside its workspace: bubblewrap or Landlock, whichever this system has.

Rule: what is said about the sandbox is what is true. Bubblewrap gives a read-only system, a private
temporary folder, processes and (unless allowed) network of its own. Landlock, the weaker one, refuses
writes outside the workspace and its temporary folder, signals to other programs and (unless allowed)
TCP; it does not keep a program from changing the modes of files, from UDP or from sockets that are files.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from dragoman.errors import ConfigError, ToolError, nearest

from .supervisor import landlock_version

if TYPE_CHECKING:
    from collections.abc import Sequence

Mode = Literal["off", "auto", "require"]

LANDLOCK_NEEDED = 3
"""Before this version Landlock let a program empty any file."""

_NEEDED_TO_RESOLVE_NAMES = "/run/systemd/resolve"
# What root may still do inside: own its files and processes. With the rest it could mount the system writable again.
_ROOT_KEEPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE")


class Sandbox(NamedTuple):
    """What a command will run in. `name` says it, with the reason when it is none; `program` is bubblewrap's path."""

    name: str | None
    program: str | None = None

    @property
    def landlock(self) -> bool:
        return self.name == "landlock"


def check_mode(mode: str) -> None:
    """Refuse a word that names no mode: taken for another it could leave a command free."""
    modes = get_args(Mode)
    if mode not in modes:
        known = ", ".join(f'"{name}"' for name in modes)
        raise ConfigError(f"there is no sandbox mode {mode!r}; the modes are {known}.{nearest(str(mode), modes)}")


def choose(mode: Mode, *, path: str | None = None, landlock: int | None = None) -> Sandbox:
    """The best sandbox there is; with "require" a failure that says what to install when there is none.

    `path` is where bubblewrap is looked for (the PATH when not said), `landlock` the version the kernel has.
    """
    check_mode(mode)
    if mode == "off":
        return Sandbox(None)
    program, why_no_bubblewrap = _bubblewrap(path)
    if program is not None:
        return Sandbox("bubblewrap", program)
    version = landlock_version() if landlock is None else landlock
    if version >= LANDLOCK_NEEDED:
        return Sandbox("landlock")
    why_no_landlock = (
        f"this kernel's Landlock is version {version}, {LANDLOCK_NEEDED} is needed"
        if version
        else "this system has no Landlock"
    )
    if mode == "require":
        raise ToolError(
            f"Commands must run in a sandbox here, and there is none: {why_no_bubblewrap}, and {why_no_landlock}. "
            "Nothing was run. Install bubblewrap (the package is named bubblewrap, the program bwrap) "
            "or use a Linux kernel of version 6.2 or newer with Landlock enabled.",
            kind="denied",
        )
    return Sandbox(f"none: {why_no_bubblewrap}, and {why_no_landlock}")


def _bubblewrap(path: str | None) -> tuple[str | None, str]:
    """Where bubblewrap is, or why it cannot be used: it may be there and not be allowed to do its work."""
    import shutil

    program = shutil.which("bwrap", path=path)
    if program is None:
        return None, "bubblewrap is not installed"
    root = os.path.realpath("/")
    trial = [
        *bubblewrap(program, root=root, cwd=root, writable=(), network=False, read_only=True),
        "/bin/sh",
        "-c",
        ":",
    ]
    try:
        done = subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"bubblewrap does not work here ({error})"
    if done.returncode:
        return None, f"bubblewrap does not work here ({done.stderr.decode(errors='replace').strip()})"
    return program, ""


def bubblewrap(
    program: str, *, root: str, cwd: str, writable: Sequence[str], network: bool, read_only: bool = False
) -> list[str]:
    """The words before a command line that put it into a sandbox around the folder `root`."""
    words = [program, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--cap-drop", "ALL"]
    for capability in _ROOT_KEEPS if os.geteuid() == 0 else ():
        words += ["--cap-add", f"CAP_{capability}"]
    words += [] if network else ["--unshare-net"]
    # A socket in /run (a container engine's, the session bus) can be used even where the file is read-only.
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    if network:
        words += ["--ro-bind-try", _NEEDED_TO_RESOLVE_NAMES, _NEEDED_TO_RESOLVE_NAMES]
    for folder in () if read_only else (root, *writable):
        words += ["--bind", folder, folder]
    return [*words, "--chdir", cwd, "--"]
