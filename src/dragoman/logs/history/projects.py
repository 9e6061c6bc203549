"""Which repository a folder belongs to: the worktrees of one are one project.

A worktree's `.git` is a file that names its folder inside the repository's own `.git`, which names the common one.
Where a folder is gone, what was known of it before counts; then what the repositories that are still there say of their
worktrees; then the names clients give worktrees; then the nearest folder above it that is still there.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from dragoman.config.files import read_ordinary_file
from dragoman.logs.base.listing import files_in

from .rows import SessionRow

_NAMED = re.compile(r"^(?P<root>.+?)[/\\]\.\w+[/\\]worktrees[/\\][^/\\]+")
"""Where Claude Code (2.1.325) and others put worktrees of their own: `.claude/worktrees/<name>`."""


class Project(msgspec.Struct, kw_only=True):
    """A repository, or a folder that is in none, and what was done there."""

    repository: str
    name: str
    folders: list[str] = []
    """Where sessions ran: the repository itself, its worktrees, folders within."""
    exists: bool = True
    sessions: int = 0
    clients: dict[str, int] = {}
    """Client → how many sessions."""
    calls: int = 0
    tokens: int | None = None
    doubtful: int = 0
    """Exchanges whose output was logged before the reply was complete: the tokens are too few."""
    first: datetime.datetime | None = None
    last: datetime.datetime | None = None


def projects_of(rows: Iterable[SessionRow]) -> list[Project]:
    """The projects of these sessions, the one something was done in last first."""
    found: dict[str, Project] = {}
    for row in rows:
        if row.repository is None:
            continue
        project = found.get(row.repository)
        if project is None:
            exists = _is_there(row.repository)
            name = re.split(r"[/\\]", row.repository.rstrip("/\\"))[-1] or row.repository
            project = found[row.repository] = Project(repository=row.repository, name=name, exists=exists)
        _count(project, row)
    return sorted(found.values(), key=lambda one: (one.last is not None, one.last), reverse=True)


def _count(project: Project, row: SessionRow) -> None:
    folder = row.cwd or row.project
    if folder is not None and folder not in project.folders:
        project.folders = sorted([*project.folders, folder])
    project.sessions += 1
    client = row.client or "?"
    project.clients[client] = project.clients.get(client, 0) + 1
    project.calls += row.calls
    if row.tokens is not None:
        project.tokens = (project.tokens or 0) + row.tokens
    project.doubtful += row.doubtful
    times = [time for time in (project.first, project.last, row.started, row.ended) if time is not None]
    project.first, project.last = min(times, default=None), max(times, default=None)


def repositories_of(folders: Iterable[str], remembered: Mapping[str, str] | None = None) -> dict[str, str]:
    """Folder → the repository it is in; a folder that is in none is its own. `remembered` is what was found before."""
    there: dict[str, str] = {}
    gone: list[str] = []
    for folder in folders:
        if _is_there(folder):
            there[folder] = repository_of(folder)
        else:
            gone.append(folder)
    listed = {place: root for root in set(there.values()) for place in _worktrees(root)} if gone else {}
    for folder in gone:
        known = (remembered or {}).get(folder)
        above = next((listed[place] for place in _upwards(folder) if place in listed), None)
        there[folder] = known or above or repository_of(folder)
    return there


def repository_of(folder: str) -> str:
    """The folder of the repository that a folder is in; the folder itself where it is in none."""
    named = _NAMED.match(folder)
    if named is not None and not _is_there(folder):
        return repository_of(named["root"])
    if not os.path.isabs(folder):  # a folder of another system, as `C:\\work`: nothing here is above it
        return folder
    return next((root for place in _upwards(folder) if (root := _root(Path(place))) is not None), folder)


def _is_there(folder: str) -> bool:
    """Whether a folder that a log names is on this machine. `Path.is_dir` would fail for a name that is too long."""
    return os.path.isabs(folder) and os.path.isdir(folder)


def _upwards(folder: str) -> list[str]:
    path = Path(folder)
    return [str(place) for place in (path, *path.parents)]


def _worktrees(repository: str) -> list[str]:
    """The worktrees a repository still lists: a folder that was simply deleted is among them until it is pruned."""
    found = []
    for listed in files_in(Path(repository, ".git", "worktrees"), "*/gitdir"):
        try:
            found.append(str(Path(_line_in(listed)).parent))
        except (OSError, ValueError):
            continue
    return found


def _root(place: Path) -> str | None:
    git = place / ".git"
    try:
        if git.is_dir():
            return str(place) if (git / "HEAD").is_file() else None
        if not git.is_file():
            return None
        said = re.match(r"gitdir:\s*(.+)", _line_in(git))
        if said is None:
            return None
        inner = place / said[1].strip()
        common = inner / "commondir"
        if common.is_file():
            # Without following links: the name people know a folder by stays.
            shared = Path(os.path.normpath(inner / _line_in(common)))
        elif inner.parent.name == "worktrees":
            shared = Path(os.path.normpath(inner.parent.parent))  # the repository is gone; its name still tells
        else:
            return str(place)  # a submodule is a project of its own
    except (OSError, ValueError):
        return None
    return str(shared.parent) if shared.name == ".git" else str(shared)


_LONGEST_LINE = 65_536
"""Bytes of a file in which Git keeps one path. Others may have made it: it can be of any size and hold anything."""


def _line_in(file: Path) -> str:
    """The path in a file of Git's. `ValueError` where it is none, or none that a log and the index could hold."""
    return read_ordinary_file(file, _LONGEST_LINE).decode().strip()
