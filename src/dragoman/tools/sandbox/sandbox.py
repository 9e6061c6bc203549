"""Which sandbox commands run in: bubblewrap, Landlock or macOS's seatbelt, whichever works on this system.

Rule: what is said about a sandbox is true. One counts as available only after a trial command was kept from writing
outside its folder, and what a mechanism cannot do is part of its description.
"""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, get_args

from dragoman.environment import child_environment
from dragoman.errors import ConfigError, ToolError, nearest
from dragoman.tools.processes import landlock as landlock_module
from dragoman.tools.processes.programs import find_program

from .layout import Layout
from .mechanism import Kind, Mechanism, wrapped

if TYPE_CHECKING:
    from dragoman.config import Sandbox
    from dragoman.tools.processes.landlock import Confinement

Mode = Literal["off", "auto", "require", "bubblewrap", "landlock"]

LANDLOCK_NEEDED: Final = 3
"""Before this version Landlock let a program empty any file."""
LANDLOCK_NETWORK: Final = 4
"""Before this version Landlock could not refuse TCP connections."""

OUTSIDE: Final = "none: it was asked to run outside"
"""What an outcome says of a command that left the sandbox."""

_TRIAL_SECONDS = 10


def check_mode(mode: str) -> None:
    """Refuse an unknown mode: taken for another one it could leave a command unconfined."""
    modes = get_args(Mode)
    if mode not in modes:
        known = ", ".join(f'"{name}"' for name in modes)
        raise ConfigError(f"there is no sandbox mode {mode!r}; the modes are {known}.{nearest(str(mode), modes)}")


def choose(
    mode: Mode,
    *,
    network: bool = True,
    path: str | None = None,
    landlock: int | None = None,
    platform: str = sys.platform,
) -> Mechanism:
    """The best sandbox that works here. Where one is required and none works, a `ToolError` says what to install.

    `path` is where bubblewrap is searched for (default: PATH), `landlock` a version (default: the kernel's).
    """
    check_mode(mode)
    if mode == "off":
        return Mechanism(None)
    if platform == "darwin":
        found, reasons = _first(mode, {"seatbelt": _seatbelt})
    else:
        found, reasons = _first(
            mode, {"bubblewrap": lambda: _bubblewrap(path), "landlock": lambda: _landlock(landlock, network=network)}
        )
    if found is not None:
        return found
    why = ", and ".join(reasons)
    if mode == "auto":
        return Mechanism(f"none: {why}")
    wanted = "a sandbox" if mode == "require" else f"the sandbox {mode}"
    raise ToolError(
        f"Commands must run in {wanted} here, and there is none: {why}. Nothing was run. "
        "Install bubblewrap (the package is named bubblewrap, the program bwrap) "
        "or use a Linux kernel of version 6.2 or newer with Landlock enabled.",
        kind="denied",
    )


def _first(mode: Mode, kinds: dict[Kind, Callable[[], Mechanism | str]]) -> tuple[Mechanism | None, list[str]]:
    """The first mechanism that works, of those the mode allows, and why the ones before it do not."""
    reasons: list[str] = []
    for kind, attempt in kinds.items():
        if mode in ("auto", "require", kind):
            found = attempt()
            if isinstance(found, Mechanism):
                return found, reasons
            reasons.append(found)
    return None, reasons or [f"{mode} is not available on this system"]


def _bubblewrap(path: str | None) -> Mechanism | str:
    program = find_program("bwrap", path)
    if program is None:
        return "bubblewrap is not installed"
    why_not = _trial("bubblewrap", program)
    return f"bubblewrap does not work here ({why_not})" if why_not else Mechanism("bubblewrap", "bubblewrap", program)


def _landlock(version: int | None, *, network: bool) -> Mechanism | str:
    version = landlock_module.landlock_version() if version is None else version
    if not version:
        return "this system has no Landlock"
    needed = LANDLOCK_NEEDED if network else LANDLOCK_NETWORK
    if version < needed:
        what = "" if network else " to close the network"
        return f"this kernel's Landlock is version {version}, {needed} is needed{what}"
    why_not = _trial("landlock", "")
    return f"Landlock does not work here ({why_not})" if why_not else Mechanism("landlock", "landlock")


def _seatbelt() -> Mechanism | str:
    program = "/usr/bin/sandbox-exec"
    if not os.access(program, os.X_OK):
        return "this system has no sandbox-exec"
    why_not = _trial("seatbelt", program)
    return f"sandbox-exec does not work here ({why_not})" if why_not else Mechanism("seatbelt", "seatbelt", program)


# ── the trial ────────────────────────────────────────────────────────────────


@cache
def _trial(kind: Kind, program: str) -> str | None:
    """Why this mechanism does not work here; `None` when a trial command was confined by it. Tried once per process."""
    import shutil
    import tempfile

    try:
        folder = os.path.realpath(tempfile.mkdtemp(prefix="dragoman-trial-"))
    except OSError as error:
        return f"no temporary folder for a trial: {error}"
    try:
        return _tried(kind, program, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(kind: Kind, program: str, folder: str) -> str | None:
    for name in ("inside", "outside", "temporary"):
        os.mkdir(os.path.join(folder, name))
    inside, outside = os.path.join(folder, "inside"), os.path.join(folder, "outside")
    layout = Layout(writable=(inside,), temporary=os.path.join(folder, "temporary"))
    command = ["/bin/sh", "-c", 'echo >"$1/made"; echo >"$2/made"; :', "sh", inside, outside]
    with wrapped(Mechanism(kind, kind, program or None), layout, command, cwd=inside, network=False) as call:
        arguments = call.arguments
        if call.confinement is not None:
            arguments = _confining(call.confinement, arguments)
        try:
            done = subprocess.run(
                arguments,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=call.opened,
                timeout=_TRIAL_SECONDS,
                env=child_environment("PATH"),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if os.path.exists(os.path.join(outside, "made")):
        return "a trial command could write outside its folder"
    if not os.path.exists(os.path.join(inside, "made")):
        said = done.stderr.decode(errors="replace").strip()
        return said.splitlines()[-1] if said else f"a trial command failed with exit code {done.returncode}"
    return None


def _confining(confinement: Confinement, arguments: list[str]) -> list[str]:
    program = "import sys; sys.path.append(sys.argv[1]); import landlock; landlock.confined(*sys.argv[2:])"
    python = [sys.executable, "-I", "-S", "-X", "utf8", "-c", program]
    return [*python, os.path.dirname(landlock_module.__file__), marshal.dumps(dict(confinement)).hex(), *arguments]


# ── what it is ───────────────────────────────────────────────────────────────


def described(mechanism: Mechanism, options: Sandbox) -> str:
    """What holds for a command that runs in it, in one line: for the user who is asked, and for the settings."""
    if mechanism.kind is None:
        return f"none ({mechanism.why_none or 'sandbox.mode is off'})"
    weak = mechanism.kind == "landlock"
    network = "on" if options.network else "off (TCP, not UDP)" if weak else "off"
    what = f"writes only in the workspace and a temporary folder, network {network}, secrets in the home folder"
    if not weak:
        return f"{mechanism.kind} ({what} hidden)"
    return (
        f"{mechanism.kind} ({what} unreadable; does not protect .git/hooks, .git/config and other read-only paths in "
        "the workspace, hide other processes or block sockets that are files)"
    )
