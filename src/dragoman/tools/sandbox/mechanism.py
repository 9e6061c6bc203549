"""A sandbox mechanism, and a command line that runs in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from dragoman.tools.workspace.hidden_paths import is_within

from .layout import Layout

if TYPE_CHECKING:
    from dragoman.tools.processes.landlock import Confinement

Kind = Literal["bubblewrap", "landlock", "seatbelt"]


class Mechanism(NamedTuple):
    """What commands run in. `name` is recorded in outcomes; where there is none, it gives the reason.

    `name` is `None` where no sandbox was asked for. `program` is the path of bubblewrap or of sandbox-exec.
    """

    name: str | None
    kind: Kind | None = None
    program: str | None = None

    @property
    def why_none(self) -> str | None:
        """Why there is no sandbox, although one was asked for."""
        return self.name.removeprefix("none: ") if self.name is not None and self.kind is None else None


class Wrapped(msgspec.Struct, frozen=True):
    """A command line that runs in a sandbox, and what goes with it.

    `opened` are descriptors for bubblewrap; `confinement` is what the watching process applies to itself before it
    becomes the command.
    """

    arguments: list[str]
    environment: dict[str, str] = {}
    opened: tuple[int, ...] = ()
    confinement: Confinement | None = None


@contextmanager
def wrapped(
    mechanism: Mechanism, layout: Layout, arguments: list[str], *, cwd: str, network: bool
) -> Iterator[Wrapped]:
    """A command line inside a sandbox; what was opened for it is closed at the end."""
    match mechanism.kind:
        case "bubblewrap":
            from .bubblewrap import bubblewrap

            assert mechanism.program is not None
            with ExitStack() as stack:
                words, opened = bubblewrap(mechanism.program, layout, stack, cwd=cwd, network=network)
                # A shared network has the abstract sockets of other programs in it (X11, a session bus).
                sockets: Confinement | None = {"files": None, "network": True} if network else None
                yield Wrapped([*words, *arguments], {"TMPDIR": "/tmp"}, opened, sockets)
        case "landlock":
            confinement = _landlock(layout, network=network)
            yield Wrapped(arguments, {"TMPDIR": layout.temporary}, confinement=confinement)
        case "seatbelt":
            from .seatbelt import profile

            assert mechanism.program is not None
            words = [mechanism.program, "-p", profile(layout, network=network)]
            yield Wrapped([*words, *arguments], {"TMPDIR": layout.temporary})
        case None:
            yield Wrapped(arguments)


def _landlock(layout: Layout, *, network: bool) -> Confinement:
    # What is hidden in a folder that commands may write to stays readable: what they make there must be.
    hidden = [path for path in layout.hidden if not any(is_within(path, folder) for folder in layout.writable)]
    writable = [path for path in layout.writable if path not in layout.read_only]
    writable.append(layout.temporary)
    # Landlock only allows: what has something hidden in it cannot be opened without that.
    shown = [path for path in layout.shown if not _holds_another(path, hidden)]
    outer = [path for path in hidden if not any(_holds_another(other, (path,)) for other in hidden)]
    return {"files": {"writable": writable, "hidden": outer, "shown": shown}, "network": network}


def _holds_another(folder: str, paths: Iterable[str]) -> bool:
    return any(path != folder and is_within(path, folder) for path in paths)
