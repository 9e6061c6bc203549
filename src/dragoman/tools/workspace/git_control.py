"""What in a Git repository makes Git run commands: its hooks, its settings and what these point to.

A command in a sandbox could otherwise leave a hook or a setting that Git runs later, outside the sandbox, when the user
types `git status`.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

DEEPEST: Final = 3
"""Folders below the workspace in which further repositories are searched for."""
MOST_FOLDERS: Final = 1000
"""Folders that are looked into for further repositories, at most."""
_PASSED_OVER: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".mypy_cache"})
_PARTS: Final = ("HEAD", "objects", "refs", "hooks", "config")
"""What the folder of a repository consists of."""
_LARGEST_SETTINGS = 1 << 20


class Control(NamedTuple):
    """The paths of one repository that commands must not change.

    `folder` is the repository's own folder (`.git`), which must stay where it is; `read_only` is in it or beside it.
    `redirect` is a file that must not appear in it: Git would take settings and hooks from where it points.
    """

    folder: str | None
    read_only: tuple[str, ...]
    redirect: str | None = None


def repositories(root: str) -> list[str]:
    """Every `.git` in a workspace, a folder or a file: at its root and a few folders deep."""
    found: list[str] = []
    pending = deque([(root, 0)])
    looked_into = 0
    while pending and looked_into < MOST_FOLDERS:
        folder, depth = pending.popleft()
        looked_into += 1
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == ".git":
                        found.append(entry.path)
                    elif depth < DEEPEST and entry.name not in _PASSED_OVER and entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, depth + 1))
        except OSError:  # what we cannot look into, a command of ours cannot change either
            continue
    return sorted(found, key=len)


def controls(dot_git: str) -> Iterator[Control]:
    """What is to be kept unchanged for one `.git`, and for its submodules."""
    if os.path.isfile(dot_git) and not os.path.islink(dot_git):
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


def _of_folder(folder: str, work_tree: str | None) -> Iterator[Control]:
    # One part is enough: a command could take away another, and put it back when nobody looks after the rest.
    if not any(os.path.lexists(os.path.join(folder, name)) for name in _PARTS):
        return
    hooks, settings = os.path.join(folder, "hooks"), os.path.join(folder, "config")
    if os.path.islink(hooks) or os.path.islink(settings):
        yield Control(folder, (folder,))  # a link cannot be kept in place, so nothing beside it may change
        return
    _ensure_folder(hooks)
    _ensure_file(settings)
    more = os.path.join(folder, "config.worktree")
    if "worktreeconfig" in (_text(settings) or "").lower():
        _ensure_file(more)
    read_only = [hooks, settings, *((more,) if os.path.lexists(more) else ())]
    read_only += _named_in(settings, work_tree or folder)
    yield Control(folder, tuple(dict.fromkeys(read_only)), os.path.join(folder, "commondir"))
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


def _named_in(settings: str, work_tree: str) -> list[str]:
    """Folders of hooks and files of further settings that a settings file names, where they are there."""
    found: list[str] = []
    section = ""
    for line in (_text(settings) or "").splitlines():
        head = _SECTION.match(line)
        if head is not None:
            section, line = head[1].lower(), line[head.end() :]
        value = _VALUE.match(line)
        if value is None:
            continue
        name, path = value[1].lower(), os.path.expanduser(value[2].strip().strip('"'))
        if section == "core" and name == "hookspath":
            found.append(os.path.join(work_tree, path))
        elif section.startswith("include") and name == "path":
            found.append(os.path.join(os.path.dirname(settings), path))
    return [path for path in map(os.path.realpath, found) if os.path.exists(path)]
