"""What in a Git repository makes Git run commands: its hooks, its settings and what these point to.

A command in a sandbox could otherwise leave a hook or a setting that Git runs later, outside the sandbox, when the user
types `git status`.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

DEEPEST: Final = 3
"""Folders below the workspace in which further repositories are searched for."""
MOST_FOLDERS: Final = 1000
"""Folders that are looked into for further repositories, at most."""
_PASSED_OVER: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".mypy_cache"})
_PARTS: Final = ("HEAD", "objects", "refs", "hooks", "config")
"""What the folder of a repository consists of."""
_BARE: Final = frozenset({"HEAD", "objects", "refs"})
"""Where Git finds all of these, the folder itself is a repository to it, without a working tree."""
_LARGEST_SETTINGS = 1 << 20


class Control(NamedTuple):
    """The paths of one repository that commands must not change.

    `folder` is the repository's own folder (`.git`), which must stay where it is; `read_only` is in it or beside it.
    `redirects` must not appear: Git would take settings and hooks from there, or from where they point.
    """

    folder: str | None
    read_only: tuple[str, ...]
    redirects: tuple[str, ...] = ()


def repositories(root: str) -> list[str]:
    """Every repository in a workspace, at its root and a few folders deep: a `.git`, or a bare repository's folder."""
    found: list[str] = []
    pending = deque([(root, 0)])
    looked_into = 0
    while pending and looked_into < MOST_FOLDERS:
        folder, depth = pending.popleft()
        looked_into += 1
        try:
            with os.scandir(folder) as entries:
                inside = list(entries)
        except OSError:  # what we cannot look into, a command of ours cannot change either
            continue
        names = {entry.name for entry in inside}
        found += [os.path.join(folder, ".git")] if ".git" in names else []
        if names >= _BARE:
            found.append(folder)
            names -= {*_PARTS, "worktrees", "modules"}
        if depth < DEEPEST:
            names -= {".git", *_PASSED_OVER}
            pending += [
                (entry.path, depth + 1)
                for entry in inside
                if entry.name in names and entry.is_dir(follow_symlinks=False)
            ]
    return sorted(found, key=len)


def controls(dot_git: str) -> Iterator[Control]:
    """What is to be kept unchanged for one repository (`repositories`), and for its submodules."""
    if os.path.basename(dot_git) != ".git":
        yield from _of_folder(dot_git, None, bare=True)
    elif os.path.isfile(dot_git) and not os.path.islink(dot_git):
        yield Control(None, (dot_git,))
        pointed = _pointed_to(dot_git, "gitdir:")
        if pointed is not None:
            yield from _of_repository(pointed, os.path.dirname(dot_git))
    else:
        yield from _of_repository(os.path.realpath(dot_git), os.path.dirname(dot_git))


def _of_repository(folder: str, work_tree: str | None) -> Iterator[Control]:
    """A repository's own folder; that of a further working tree takes hooks and settings from another one."""
    shared = _pointed_to(os.path.join(folder, "commondir"), "")
    if shared is None or shared == folder:
        yield from _of_folder(folder, work_tree)
        return
    yield _of_linked(folder)
    yield from _of_folder(shared, work_tree)


def _of_linked(folder: str) -> Control:
    """What a further working tree keeps in the repository: where it is, and where its hooks and settings are."""
    names = ("commondir", "gitdir", "config.worktree")
    return Control(folder, tuple(path for name in names if os.path.lexists(path := os.path.join(folder, name))))


def _of_folder(folder: str, work_tree: str | None, *, bare: bool = False) -> Iterator[Control]:
    # One part is enough: a command could take away another, and put it back when nobody looks after the rest.
    if not any(os.path.lexists(os.path.join(folder, name)) for name in _PARTS):
        return
    hooks, settings = os.path.join(folder, "hooks"), os.path.join(folder, "config")
    if os.path.islink(hooks) or os.path.islink(settings):
        yield Control(folder, (folder,))  # a link cannot be kept in place, so nothing beside it may change
        return
    if not bare:  # what is kept as a sample, among other files of the project, is left as it is
        _ensure_folder(hooks)
        _ensure_file(settings)
    more = os.path.join(folder, "config.worktree")
    if "worktreeconfig" in (_text(settings) or "").lower():
        _ensure_file(more)
    own = [settings, *((more,) if os.path.lexists(more) else ())]
    named = _named_in([*_settings_of_user(), *own], work_tree or folder)
    steering = dict.fromkeys([hooks, *own, *named])
    missing = [os.path.join(folder, "commondir"), *(path for path in steering if not os.path.exists(path))]
    yield Control(folder, tuple(path for path in steering if os.path.exists(path)), tuple(dict.fromkeys(missing)))
    yield from (_of_linked(linked) for linked in _folders_in(os.path.join(folder, "worktrees")))
    for parent, folders, files in os.walk(os.path.join(folder, "modules")):
        if not {*folders, *files}.isdisjoint(_PARTS):
            yield from _of_folder(parent, None)
            folders.clear()


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


# What is not there could be made by a command; an empty folder and an empty file mean the same to Git as none.


def _ensure_folder(path: str) -> None:
    with suppress(OSError):  # where we may not write, commands may not either
        os.mkdir(path)


def _ensure_file(path: str) -> None:
    with suppress(OSError):
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))


def _pointed_to(file: str, prefix: str) -> str | None:
    text = _text(file)
    if text is None or not text.startswith(prefix):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(file), text.removeprefix(prefix).strip()))


def _text(file: str) -> str | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as opened:
        try:
            return opened.read(_LARGEST_SETTINGS).decode(errors="replace")
        except OSError:  # a folder
            return None


_SECTION: Final = re.compile(r"\s*\[\s*([\w.-]+)[^]]*\]")
_VALUE: Final = re.compile(r"\s*([\w-]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^#;\n]*)")


_MOST_SETTINGS: Final = 100
"""Settings files that are read, at most: each may name further ones."""


def _settings_of_user() -> list[str]:
    """The settings that hold in every repository, where Git looks for them."""
    home = os.path.expanduser("~")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    usual = [os.path.join(folder, "git", "config"), os.path.join(home, ".gitconfig")]
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    return [os.environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"), *(usual if chosen is None else [chosen])]


def _named_in(settings: Iterable[str], work_tree: str) -> list[str]:
    """Folders of hooks and files of further settings that settings files name, and those that these name in turn."""
    found: dict[str, None] = {}
    pending, read = deque(settings), set[str]()
    while pending and len(read) < _MOST_SETTINGS:
        file = pending.popleft()
        if (real := os.path.realpath(file)) in read:
            continue
        read.add(real)
        for section, name, value in _values(file):
            path = os.path.expanduser(value)
            if not path or "\0" in path:
                continue
            if section == "core" and name == "hookspath":
                found[os.path.realpath(os.path.join(work_tree, path))] = None
            elif section.startswith("include") and name == "path":
                included = os.path.join(os.path.dirname(file), path)
                found[os.path.realpath(included)] = None
                pending.append(included)
    return list(found)


def _values(settings: str) -> Iterator[tuple[str, str, str]]:
    """Section, name and value of each setting in a file, the first two in lower case."""
    section = ""
    for line in (_text(settings) or "").removeprefix("\ufeff").replace("\\\n", "").splitlines():
        head = _SECTION.match(line)
        if head is not None:
            section, line = head[1].lower(), line[head.end() :]
        value = _VALUE.match(line)
        if value is not None:
            yield section, value[1].lower(), value[2].strip().strip('"')
