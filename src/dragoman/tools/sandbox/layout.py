"""What a command in a sandbox may touch: paths on this machine, worked out before it starts.

Rules: of two rules about nested paths the inner one holds. What the user's own settings open is open; what any settings
close is closed. A path that must not change in a folder that commands may write to cannot be renamed away either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.errors import ToolError
from dragoman.tools.workspace.git_control import controls
from dragoman.tools.workspace.hidden_paths import between, is_within, secret_paths

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.config import Sandbox

PROJECT_FILES: Final = ("dragoman.toml", ".dragoman", ".mcp.json")
"""What in a workspace steers dragoman itself."""


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Paths on this machine, links resolved; the first of `writable` is the workspace.

    `temporary` stands in for the machine's folder of temporary files. `shown` can be read although it is in something
    hidden; `pinned` are folders that must stay where they are; `redirects` must not appear.
    """

    writable: tuple[str, ...]
    temporary: str
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()


def layout_of(options: Sandbox, root: str, temporary: str, repositories: Iterable[str]) -> Layout:
    """What commands in the workspace `root` may touch; `repositories` are those in it."""
    from dragoman.config import own_folders

    opened, readable = _named(options.writable, root), _named(options.readable, root)
    outside = [path for path in opened if not is_within(path, root) and os.path.exists(path)]
    writable = tuple(dict.fromkeys((root, *outside)))
    config, data, cache = (os.path.realpath(folder) for folder in own_folders())
    for folder in (config, data, cache):
        if _inside(folder, writable):  # a missing one could be made by a command, with any trust records in it
            os.makedirs(folder, mode=0o700, exist_ok=True)
    # The workspace is writable anyway: who names a part of it means all in it, whatever else holds there.
    lifted = [path for path in opened if is_within(path, root)]

    def is_lifted(path: str) -> bool:
        return path in opened or _inside(path, lifted)

    # Among the data are conversations, in which keys were pasted, and copies of those of other programs.
    secrets = [path for path in (*secret_paths(os.environ), config, data) if not _inside(path, readable)]
    secrets = [path for path in secrets if not is_lifted(path)]
    concealed = _closed(options.hidden, root)
    for path in concealed:
        if path in ("/", root):
            raise ToolError(
                f"No command can run in a sandbox that hides {path} from it, as the setting sandbox.hidden says. "
                "Name the paths in it that commands must not read.",
                kind="denied",
            )
    secrets = [path for path in secrets if path not in ("/", root)]
    hidden = _outermost([*secrets, *concealed], (*writable, *readable))
    git = [one for dot_git in repositories for one in controls(dot_git)]
    steering = [os.path.realpath(os.path.join(root, name)) for name in PROJECT_FILES] + [data, cache]
    steering += [path for one in git for path in one.read_only]
    named = _closed(options.read_only, root)
    closed = [path for path in steering if not is_lifted(path)] + named
    closed += [folder for folder in writable if _inside(folder, named)]
    read_only = [path for path in dict.fromkeys(closed) if _inside(path, writable) and _is_there(path)]
    folders = [one.folder for one in git if one.folder is not None and _inside(one.folder, writable)]
    pinned = dict.fromkeys([*folders, *_above((*hidden, *read_only), writable, folders)])
    return Layout(
        writable=writable,
        temporary=temporary,
        hidden=tuple(hidden),
        shown=tuple(path for path in readable if _inside(path, hidden) and os.path.exists(path)),
        read_only=tuple(read_only),
        pinned=tuple(path for path in pinned if not _inside(path, (*read_only, *hidden))),
        redirects=tuple(
            path for one in git for path in one.redirects if _inside(path, writable) and not is_lifted(path)
        ),
    )


def _named(paths: Iterable[Path | str], root: str) -> list[str]:
    """Paths that settings name, relative ones in the workspace. Links in the workspace are not followed.

    A command could have made them: what they point to is not what the settings mean.
    """
    spelled = [os.path.normpath(os.path.join(root, os.path.expanduser(path))) for path in paths]
    return [path if is_within(path, root) else os.path.realpath(path) for path in spelled]


def _closed(paths: Iterable[Path | str], root: str) -> list[str]:
    """Paths that settings close, and where links at them lead: closing more than was meant lets nobody out.

    But a command could have made such a link to all of the workspace, and the next ones could do nothing.
    """
    named = _named(paths, root)
    followed = [path for path in map(os.path.realpath, named) if not is_within(root, path)]
    return list(dict.fromkeys((*named, *followed)))


def _is_there(path: str) -> bool:
    return os.path.lexists(path) and not os.path.islink(path)


def _inside(path: str, folders: Iterable[str]) -> bool:
    return any(is_within(path, folder) for folder in folders)


def _outermost(paths: Sequence[str], opened: Sequence[str]) -> list[str]:
    """The paths that are there, without those in another one of them; but with what something opened would show."""
    there = [path for path in dict.fromkeys(paths) if _is_there(path)]

    def is_covered(path: str, outer: str) -> bool:
        shown = any(is_within(path, one) and is_within(one, outer) for one in opened)
        return path != outer and is_within(path, outer) and not shown

    return [path for path in there if not any(is_covered(path, other) for other in there)]


def _above(paths: Iterable[str], writable: Sequence[str], repositories: Sequence[str]) -> Iterator[str]:
    """The folders over each path, up to the one that commands may write to.

    Those over a repository are left out. A command may make a new repository in any folder, so nothing is won by
    keeping them from being renamed, and files could no longer be moved out of them.
    """
    for path in paths:
        outer = max((folder for folder in writable if is_within(path, folder)), key=len, default=None)
        own = [folder for folder in repositories if is_within(path, folder)]
        for folder in between(outer, path) if outer is not None else ():
            if not own or _inside(folder, own):
                yield folder
