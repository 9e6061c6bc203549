"""One page of the list of sessions, and how many there are by client and by project.

Rule: a count by client holds all filters but that of the client, one by project all but that of the project: it says
what choosing it would give.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from .filter import Filter
from .projects import repository_of
from .rows import SessionRow


class Listing(msgspec.Struct):
    """Some sessions, and how many there are in all."""

    rows: list[SessionRow] = []
    total: int = 0
    clients: Counter[str | None] = msgspec.field(default_factory=Counter)
    projects: Counter[str | None] = msgspec.field(default_factory=Counter)
    """By the folder that all worktrees share; `None` is "the log does not say"."""


class OfProject:
    """Whether sessions are of a project: named by a folder in it, by its own folder's name, or as its log does."""

    def __init__(self, named: str) -> None:
        self._named = named
        is_path = named.startswith((".", "~", "/"))
        self._folder = os.path.abspath(os.path.expanduser(named)) if is_path else named

    @cached_property
    def _repository(self) -> str:
        return repository_of(self._folder)

    def has(self, project: str | None, folder: str | None, repository: str | None) -> bool:
        """Whether a session with this project, folder and repository is one of it."""
        if project is None:
            return False
        known = {project, folder, repository}
        if self._named in known or self._named in {Path(one).name for one in known if one}:
            return True
        return self._folder in known or (repository is not None and self._repository == repository)


def name_of_project(repository: str | None, project: str | None) -> str | None:
    """What a project is counted by."""
    return repository or project


def words_of(words: str) -> list[str]:
    """What is sought in a list, word by word; capitals do not matter."""
    return words.lower().split()


def sought_in(row: SessionRow) -> str:
    """What the words that one looks for in the list may stand in."""
    return " ".join([row.title or "", row.session, row.project or "", row.client or "", *row.models]).lower()


def choice(asked: Filter) -> Callable[[SessionRow], bool]:
    """Whether a session is one of those asked for, as far as its own row tells."""
    of_project = None if asked.project is None else OfProject(asked.project)

    def is_meant(row: SessionRow) -> bool:
        return (
            (asked.client is None or row.client == asked.client)
            and (asked.session is None or row.session.startswith(asked.session))
            and (asked.model is None or any(model.startswith(asked.model) for model in row.models))
            and (asked.since is None or (row.ended is not None and row.ended >= asked.since))
            and (asked.until is None or (row.started is not None and row.started < asked.until))
            and (of_project is None or of_project.has(row.project, row.cwd, row.repository))
        )

    return is_meant


def listed(rows: Iterable[SessionRow], asked: Filter, words: str, *, limit: int, offset: int) -> Listing:
    """The same as `SessionList.listing`, of sessions that no index keeps a list of; they are given newest first."""
    wanted, listing, found = words_of(words), Listing(), list[SessionRow]()
    nothing: dict[str, Any] = {"client": None, "project": None}
    others, is_of_client, is_of_project = (
        choice(one)
        for one in (
            msgspec.structs.replace(asked, **nothing),
            Filter(client=asked.client),
            Filter(project=asked.project),
        )
    )
    for row in rows:
        if not others(row) or not all(word in sought_in(row) for word in wanted):
            continue
        of_client, of_project = is_of_client(row), is_of_project(row)
        if of_project:
            listing.clients[row.client] += 1
        if of_client:
            listing.projects[name_of_project(row.repository, row.project)] += 1
        if of_client and of_project:
            found.append(row)
    listing.rows, listing.total = found[offset : offset + limit], len(found)
    return listing
