"""Which project and which session all rows of the index are of: a table of numbers that SQL can join.

Rule: what it says is what `WholeSessions` says. It lasts as long as the connection, and is made once for a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from .filter import Filter
from .index import Index
from .layout import json_text
from .listing import name_of_project

if TYPE_CHECKING:
    from .session_list import SessionList

_ABOVE: Final = """SELECT child.rowid, above.rowid FROM session_list AS child JOIN session_list AS above
 ON above.session = child.parent ->> 0 AND above.stream = child.parent ->> 1 WHERE child.parent IS NOT NULL"""
_LISTED: Final = """SELECT scopes.id, session_list.rowid, folder, project FROM scopes JOIN session_list
 ON session_list.session = scopes.session AND session_list.stream = scopes.stream"""


class ScopeFacts:
    """The table `temp.scope_facts`: scope → the session it belongs to (`root`) and its project, both as numbers."""

    def __init__(self, index: Index, sessions: SessionList) -> None:
        self._index, self._sessions = index, sessions
        self._projects: dict[str, int] = {}
        self._names: dict[str, dict[int, str]] = {}
        pairs = list(index.ask("SELECT DISTINCT folder, project FROM session_list"))
        numbers = {pair: self._number(*pair) for pair in pairs}
        columns = ("scope INTEGER PRIMARY KEY", "root INTEGER", "project INTEGER")
        index.fill("scope_facts", columns, self._rows(numbers))

    def _number(self, folder: str | None, project: str | None) -> int | None:
        name = name_of_project(self._sessions.repository_of(folder), project)
        return None if name is None else self._projects.setdefault(name, len(self._projects))

    def _rows(self, numbers: dict[tuple[str | None, str | None], int | None]) -> Iterator[tuple[Any, ...]]:
        above = dict(self._index.ask(_ABOVE))
        for scope, root, folder, project in self._index.ask(_LISTED):
            while root in above:
                root = above[root]
            yield scope, root, numbers.get((folder, project))

    def name(self, kind: str, number: int) -> str | None:
        """What the number of a project or of a session stands for; `None` if it was taken off the list meanwhile."""
        if kind not in self._names:
            self._names[kind] = (
                {number: name for name, number in self._projects.items()}
                if kind == "project"
                else dict(self._index.ask("SELECT rowid, session FROM session_list WHERE parent IS NULL"))
            )
        return self._names[kind].get(number)

    def roots_of(self, asked: Filter) -> str:
        """The sessions that are asked for, as a list of numbers in JSON."""
        return json_text(self._sessions.numbers(asked))

    def ids_of(self, asked: Filter) -> frozenset[str]:
        """The ids of the sessions that are asked for, and of their sub-agents."""
        of_them = "root IN (SELECT value FROM json_each(?))"
        scopes = f"SELECT scope FROM temp.scope_facts WHERE {of_them}"
        found = self._index.ask(f"SELECT DISTINCT session FROM scopes WHERE id IN ({scopes})", self.roots_of(asked))
        return frozenset(id for (id,) in found)
