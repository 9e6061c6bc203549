"""Which logs are copies of others, and which exchanges another session or file told of before: decided once, and kept.

Rules: what is decided is what going through all rows in the order of their files says (`whole_sessions.is_copy`,
`Repeats`). It is decided anew for what changed: files that were read, and exchanges that were taken away.
The sums of all that this may change are made anew with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from .costs import THRESHOLDS
from .index import Index
from .rows import UsageRow
from .sums import renew
from .whole_sessions import copies_in

_TRIES: Final = 10
"""How often an index is settled that another process writes to in the same moment."""
_IN_ORDER: Final = "replace(files.path, '/', char(1))"
"""Files are walked folder by folder, sorted by the parts of their paths."""
_ALIKE: Final = "size, tail, format, beside"
_UNSETTLED: Final = """SELECT exchange FROM unsettled_exchanges UNION
 SELECT exchange_key FROM unsettled JOIN scopes ON scopes.file = unsettled.file JOIN usage ON usage.scope = scopes.id
 WHERE exchange_key IS NOT NULL"""
_TOLD_OFTEN: Final = f"""SELECT exchange_key FROM usage WHERE exchange_key IN ({_UNSETTLED})
 GROUP BY exchange_key HAVING min(scope) <> max(scope) OR max(repeated)"""
_TELLERS: Final = f"""SELECT usage.scope FROM usage JOIN scopes ON scopes.id = usage.scope
 JOIN files ON files.id = scopes.file WHERE exchange_key = ? AND NOT files.copy
 ORDER BY {_IN_ORDER}, usage.place LIMIT 1"""
_READ: Final = "SELECT scopes.id FROM unsettled JOIN scopes ON scopes.file = unsettled.file"
_FORKS: Final = """SELECT DISTINCT scopes.session, forked_from FROM sessions JOIN scopes ON scopes.id = sessions.scope
 WHERE forked_from IS NOT NULL AND EXISTS (SELECT 1 FROM scopes AS part JOIN unsettled ON unsettled.file = part.file
 WHERE part.session IN (scopes.session, sessions.forked_from))"""
_NAMELESS: Final = ("model", "input_tokens", "cached_read_tokens", "output_tokens", "tokens")
_UNNAMED: Final = f"""SELECT usage.scope, usage.place, scopes.session, {", ".join(f"usage.{one}" for one in _NAMELESS)}
 FROM scopes JOIN files ON files.id = scopes.file JOIN usage ON usage.scope = scopes.id
 WHERE scopes.session IN (?, ?) AND scopes.stream = 'main' AND exchange_key IS NULL AND NOT files.copy
 ORDER BY {_IN_ORDER}, usage.place"""


def settle(index: Index) -> None:
    """Decides what is not decided yet."""
    if is_settled(index):
        return
    with index.writing():
        if not _are_thresholds_known(index):
            index.write("INSERT OR IGNORE INTO unsettled SELECT id FROM files", [()])
            index.write("INSERT OR REPLACE INTO about VALUES ('thresholds', ?)", [(_thresholds(),)])
        _mark_copies(index)
        changed = [(scope, key) for key in _keys(index) for scope in _teller(index, key)]
        index.write("UPDATE usage SET repeated = (scope <> ?) WHERE exchange_key = ?", changed)
        forked = list(_of_forks(index))
        index.write("UPDATE usage SET repeated = ? WHERE scope = ? AND place = ?", forked)
        scopes = {scope for (scope,) in index.ask(_READ)} | {scope for _, scope, _ in forked}
        of_exchange = "SELECT DISTINCT scope FROM usage WHERE exchange_key = ?"
        scopes.update(scope for _, key in changed for (scope,) in index.ask(of_exchange, key))
        renew(index, scopes, THRESHOLDS)
        index.write("DELETE FROM unsettled", [()])
        index.write("DELETE FROM unsettled_exchanges", [()])


@contextmanager
def settled_for_reading(index: Index) -> Iterator[None]:
    """Settles an index, and holds it as it is then: a file that changes while it is counted is counted next time."""
    with ExitStack() as stack:
        for _ in range(_TRIES):
            settle(index)
            stack.enter_context(index.reading())
            if is_settled(index):
                break
            stack.close()
        yield


def is_settled(index: Index) -> bool:
    """Whether everything is decided, and the sums are those of all rows."""
    ((is_open,),) = index.ask("SELECT EXISTS (SELECT 1 FROM unsettled) OR EXISTS (SELECT 1 FROM unsettled_exchanges)")
    return not is_open and _are_thresholds_known(index)


def _thresholds() -> str:
    """The lengths of prompts beyond which listed prices are others: exchanges are added up between two of them."""
    return " ".join(map(str, THRESHOLDS))


def _are_thresholds_known(index: Index) -> bool:
    return [(_thresholds(),)] == list(index.ask("SELECT value FROM about WHERE name = 'thresholds'"))


def _keys(index: Index) -> list[int]:
    return [key for (key,) in index.ask(_TOLD_OFTEN)]


def _teller(index: Index, key: int) -> Iterator[int]:
    """The session that tells of an exchange first, if any file that counts does."""
    for (scope,) in index.ask(_TELLERS, key):
        yield scope


def _mark_copies(index: Index) -> None:
    before = {id for (id,) in index.ask("SELECT id FROM files WHERE copy")}
    now: set[int] = set()
    for path in copies_in(index):
        now |= {id for (id,) in index.ask("SELECT id FROM files WHERE path = ?", path)}
    # A file without bytes is no copy, and those whose name differs are others.
    alike = f"SELECT {_ALIKE} FROM files WHERE size > 0 GROUP BY {_ALIKE} HAVING count(*) > 1"
    for facts in index.ask(alike):
        seen: set[str] = set()
        same = "size = ? AND tail = ? AND format = ? AND beside = ?"
        for id, path in index.ask(f"SELECT id, path FROM files WHERE {same} ORDER BY {_IN_ORDER}", *facts):
            name = path.rpartition("/")[2]
            if id in now:
                continue  # the log that it is a copy of counts
            if name in seen:
                now.add(id)
            seen.add(name)
    index.write("UPDATE files SET copy = ? WHERE id = ?", [(id in now, id) for id in before ^ now])
    index.write("INSERT OR IGNORE INTO unsettled VALUES (?)", [(id,) for id in before ^ now])


def _of_forks(index: Index) -> Iterator[tuple[Any, ...]]:
    """Exchanges without a name: those that a fork begins with as the session it left."""
    for session, base in index.ask(_FORKS):
        repeats = Repeats({session: base})
        for scope, place, told_in, *cells in index.ask(_UNNAMED, session, base):
            told: dict[str, Any] = dict(zip(_NAMELESS, cells, strict=True))
            row = UsageRow(session=told_in, stream="main", number=0, event="", **told)
            is_repeated = repeats.has(row)
            if told_in == session:
                yield is_repeated, scope, place


class Repeats:
    """Which exchanges were told before: by their names; else, in a fork, those it begins with as the session it left.

    Exchanges come in the order of their files, the one that was left before its fork.
    """

    def __init__(self, forks: Mapping[str, str]) -> None:
        self._forks = forks
        """Session → the one it branched off."""
        self._seen: dict[str, tuple[str, str, str]] = {}
        self._told: dict[str, list[tuple[int | str | None, ...]]] = {}
        """Session → the tokens of its exchanges that have no name."""
        self._alone: set[str] = set()
        """Forks that went on by themselves."""

    def has(self, row: UsageRow) -> bool:
        """Whether another session or file told of this exchange before; each is asked about once."""
        if row.exchange is not None:
            told = row.file, row.session, row.stream
            return self._seen.setdefault(row.exchange, told) != told
        if row.stream != "main":
            return False
        mine = self._told.setdefault(row.session, [])
        mine.append((row.model, row.input_tokens, row.cached_read_tokens, row.output_tokens, row.tokens))
        base = self._forks.get(row.session)
        if base is None or row.session in self._alone:
            return False
        theirs = self._told.get(base, [])
        if theirs[len(mine) - 1 : len(mine)] == mine[-1:]:
            return True
        self._alone.add(row.session)
        return False
