"""A queue of tasks, in the database that keeps the records of runs.

Rules: an entry brings a task and the name of a folder in the worker's workspace, and nothing that decides what may be
done: model, tools, policy and sandbox are the worker's own. The id of an entry is the id of its run. An entry is given
to one worker at a time; what a worker says of an entry that was given to another since is not heard. Times are those of
the database's clock, which may be put back: a time that could not have been written since then counts as past.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from dragoman.errors import ConfigError, StorageError, nearest
from dragoman.logs.stores import Database

from .calendar import Calendar

State = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
STATES: Final[tuple[State, ...]] = ("queued", "running", "waiting", "done", "failed", "cancelled")

TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS dragoman_queue (id TEXT PRIMARY KEY, task TEXT NOT NULL, folder TEXT NOT NULL, "
    "state TEXT NOT NULL, priority INTEGER NOT NULL, added DOUBLE PRECISION NOT NULL, "
    "start_at DOUBLE PRECISION NOT NULL, every DOUBLE PRECISION, cron TEXT, zone TEXT, "
    "attempts INTEGER NOT NULL, worker TEXT, decisions TEXT NOT NULL, message TEXT NOT NULL, "
    "changed DOUBLE PRECISION NOT NULL, tell_at DOUBLE PRECISION)",
    "CREATE INDEX IF NOT EXISTS dragoman_queue_order ON dragoman_queue (state, priority DESC, added, id)",
    "CREATE INDEX IF NOT EXISTS dragoman_queue_age ON dragoman_queue (added)",
    "CREATE TABLE IF NOT EXISTS dragoman_workers (id TEXT PRIMARY KEY, seen DOUBLE PRECISION NOT NULL)",
)

_LATER: Final = {"cron": "TEXT", "zone": "TEXT", "tell_at": "DOUBLE PRECISION"}
"""Columns that the first queues did not have: they are added to those when they are opened."""

Digest = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{8,128}\Z")]
"""What names one call, and never "all" of them."""
RunId = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]


class Decision(NamedTuple):
    """The answer of a person to a call that waits, named by its digest."""

    verdict: Literal["approve", "refuse"]
    call: Digest


class Entry(msgspec.Struct, frozen=True):
    """One task. Times are seconds since 1970, as the database counts them; `every` is seconds.

    What other programs wrote into the database may be anything: an entry that is not as this says is damaged and fails.

    `cron` and `zone` are those of a `Calendar`. `tell_at` is when somebody should be told of its state by whoever gets
    to it; `None`: nobody, or they know.
    """

    id: RunId
    task: str
    folder: str
    state: State
    priority: int
    added: float
    start_at: float
    every: Annotated[float, msgspec.Meta(gt=0)] | None
    cron: str | None
    zone: str | None
    attempts: int
    worker: str | None
    decisions: tuple[Decision, ...]
    message: str
    changed: float
    tell_at: float | None

    @property
    def calendar(self) -> Calendar | None:
        """The times at which it comes back."""
        return None if self.cron is None or self.zone is None else Calendar(self.cron, self.zone)


_COLUMNS: Final = ", ".join(Entry.__struct_fields__)


class Queue:
    """The queue of a database. The tables are made when they are first needed."""

    def __init__(self, database: Database) -> None:
        self._database, self.place = database, database.place
        self._now = database.clock
        # Two entries of one tick of the clock keep their order.
        self._added = (
            f"(SELECT CASE WHEN max(added) >= {self._now} THEN max(added) + 0.000001 ELSE {self._now} END "
            "FROM dragoman_queue)"
        )
        try:
            database.script(TABLES)
            self._update()
        except BaseException:
            database.close()
            raise

    def _update(self) -> None:
        """Brings a queue that an earlier version made to the columns it has now; its entries stay."""
        for column, kind in _LATER.items():
            try:
                self._database.execute(f"SELECT {column} FROM dragoman_queue LIMIT 0")
            except StorageError:
                with suppress(StorageError):  # another process does the same at this moment
                    self._database.execute(f"ALTER TABLE dragoman_queue ADD COLUMN {column} {kind}")
        try:
            self._database.execute(f"SELECT {_COLUMNS} FROM dragoman_queue LIMIT 0")
        except StorageError as error:
            advice = (
                "if another version made its queue, use that, or rename the table dragoman_queue and add tasks anew"
            )
            raise StorageError(error.path, error.reason, advice) from error

    # ── for those who have tasks ───────────────────────────────────────────

    def add(
        self,
        task: str,
        *,
        folder: str = "",
        priority: int = 0,
        after: float = 0.0,
        at: float | None = None,
        every: float | None = None,
        calendar: Calendar | None = None,
    ) -> Entry:
        """Adds a task, to be begun `after` this many seconds, or `at` a time in seconds since 1970.

        With `every` or a `calendar` it is added anew each time it begins; a calendar says when the first time is, too.
        """
        now = self.now()
        start = now + after if at is None else at
        return self.entry(
            self._insert(task, folder, priority, calendar.after(now) if calendar else start, every, calendar)
        )

    def now(self) -> float:
        """The time by the clock of the database."""
        ((now,),) = self._database.execute(f"SELECT {self._now}")
        return float(now)

    def _insert(
        self, task: str, folder: str, priority: int, start: float, every: float | None, calendar: Calendar | None
    ) -> str:
        id = uuid.uuid4().hex
        cron, zone = (None, None) if calendar is None else (calendar.text, calendar.zone)
        self._database.execute(
            f"INSERT INTO dragoman_queue ({_COLUMNS}) VALUES (?, ?, ?, 'queued', ?, {self._added}, "
            f"?, ?, ?, ?, 0, NULL, '[]', '', {self._now}, NULL)",
            *(id, task, folder, priority, start, every, cron, zone),
        )
        return id

    def entries(self, states: Sequence[State] = (), *, most: int | None = None) -> list[Entry]:
        """Entries in these states, or all of them, those that changed last first."""
        wanted = states or STATES
        marks = ", ".join("?" * len(wanted))
        limit = "" if most is None else f" LIMIT {int(most)}"
        return self._entries(
            f"SELECT {_COLUMNS} FROM dragoman_queue WHERE state IN ({marks}) ORDER BY changed DESC, id{limit}", *wanted
        )

    def entry(self, wanted: str) -> Entry:
        """The entry whose id starts with this; `ConfigError` if there is none, or more than one."""
        begins = wanted.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"
        found = self._entries(f"SELECT {_COLUMNS} FROM dragoman_queue WHERE id LIKE ? ESCAPE '!'", begins)
        if len(found) == 1 and wanted:
            return found[0]
        known = [entry.id[:8] for entry in (found or self.entries(most=5))[:5]]
        if found and wanted:
            raise ConfigError(f'several entries begin with "{wanted}": {", ".join(known)}; say more of it')
        there = f"the last ones are {', '.join(known)}" if known else "the queue is empty"
        raise ConfigError(f'no entry of the queue begins with "{wanted}"; {there}.{nearest(wanted, known)}')

    def find(self, id: str) -> Entry | None:
        """The entry with exactly this id, if there is one."""
        found = self._entries(f"SELECT {_COLUMNS} FROM dragoman_queue WHERE id = ?", id)
        return found[0] if found else None

    def cancel(self, id: str) -> bool:
        """Takes an entry out of the queue; the worker that runs it stops it. Whether there was anything to cancel."""
        return self._changed(id, "state = 'cancelled'", ("queued", "running", "waiting"))

    def retry(self, id: str) -> bool:
        """Queues an entry again that failed, was cancelled, or waits for something; its run continues."""
        return self._changed(
            id,
            f"state = 'queued', worker = NULL, attempts = 0, message = '', start_at = {self._now}",
            ("failed", "cancelled", "waiting", "queued"),
        )

    def decide(self, id: str, decisions: Sequence[Decision], *, waiting: Collection[str]) -> Entry | None:
        """Adds answers to those that an entry has; once each call that is `waiting` has one, its run continues.

        Calls are named by their digests; a later answer to one replaces an earlier one. Gives the entry as it is then,
        `None` if it does not wait.
        """
        with self._database.transaction():
            # The first change holds the row: of two people who answer at once, neither undoes what the other said.
            rows = self._database.execute(
                f"UPDATE dragoman_queue SET changed = {self._now} WHERE id = ? AND state = 'waiting' "
                f"RETURNING {_COLUMNS}",
                id,
            )
            if not rows:
                return None
            kept = {one.call: one for one in (*_entry(rows[0]).decisions, *decisions)}
            self._changed(
                id,
                f"state = ?, decisions = ?, start_at = {self._now}",
                ("waiting",),
                *("queued" if kept.keys() >= set(waiting) else "waiting", _json(tuple(kept.values()))),
            )
            return self.entry(id)

    # ── for workers ────────────────────────────────────────────────────────

    def take(self, worker: str) -> Entry | None:
        """Gives the next entry that is due to a worker."""
        while True:
            with self._database.transaction():
                rows = self._database.execute(
                    f"UPDATE dragoman_queue SET state = 'running', worker = ?, attempts = attempts + 1, "
                    f"changed = {self._now} WHERE id = (SELECT id FROM dragoman_queue WHERE state = 'queued' AND "
                    f"(start_at <= {self._now} OR start_at <= changed) AND id IS NOT NULL "
                    f"ORDER BY priority DESC, added, id LIMIT 1 {self._database.skipping}) "
                    f"AND state = 'queued' RETURNING {_COLUMNS}",
                    worker,
                )
                if not rows:
                    return None
                try:
                    entry = _read(rows[0])
                    if entry.every is not None or entry.cron is not None:
                        self._add_next(entry)
                    return entry
                except _DAMAGED as error:  # it costs the others nothing
                    self._database.execute(
                        f"UPDATE dragoman_queue SET state = 'failed', worker = NULL, decisions = '[]', every = NULL, "
                        f"cron = NULL, zone = NULL, changed = {self._now}, message = ? WHERE id = ?",
                        *(f"this entry is damaged: {error}", rows[0][0]),
                    )

    def _add_next(self, entry: Entry) -> None:
        """The next time of an entry that comes back: counted from when this one was due, and not before now.

        Times that passed while no worker was there are not made up for.
        """
        now, calendar = self.now(), entry.calendar
        if calendar is not None:
            start = calendar.after(max(now, entry.start_at))
        else:
            assert entry.every is not None
            start = entry.start_at + entry.every
            start = start if start > now else now + entry.every
        self._insert(entry.task, entry.folder, entry.priority, start, entry.every, calendar)
        self._database.execute(
            "UPDATE dragoman_queue SET every = NULL, cron = NULL, zone = NULL WHERE id = ?", entry.id
        )

    def end(
        self, entry: Entry, state: State, message: str = "", *, after: float = 0.0, telling: float | None = None
    ) -> bool:
        """Says what became of an entry that was taken. False if it is not this worker's any more.

        With `telling`, somebody is to be told. Who ends it does that; if it does not say within so many seconds that it
        has (`told`), another worker gets the entry from `to_tell`.
        """
        keep = "" if state == "queued" else ", decisions = '[]'"
        ended = self._database.execute(
            f"UPDATE dragoman_queue SET state = ?, message = ?, worker = NULL, changed = {self._now}, "
            f"start_at = {self._now} + ?, tell_at = {self._now} + ?{keep} "
            "WHERE id = ? AND worker = ? AND attempts = ? AND state = 'running' RETURNING id",
            *(state, _storable(message), after, telling, entry.id, entry.worker, entry.attempts),
        )
        return bool(ended)

    def mark_notified(self, id: str) -> None:
        """Says that whoever was to be told of an entry knows."""
        self._database.execute("UPDATE dragoman_queue SET tell_at = NULL WHERE id = ?", id)

    def to_tell(self, again: float, longest: float) -> list[Entry]:
        """Gives entries of which somebody should have been told by now; after `again` seconds, they are given again.

        What nobody could be told within `longest` seconds is given up, unless it still waits for an answer.
        """
        late = f"state <> 'waiting' AND changed < {self._now} - ?"
        self._database.execute(
            f"UPDATE dragoman_queue SET tell_at = NULL WHERE tell_at <= {self._now} AND {late}", longest
        )
        return self._entries(
            f"UPDATE dragoman_queue SET tell_at = {self._now} + ? "
            f"WHERE tell_at <= {self._now} OR tell_at > {self._now} + ? RETURNING {_COLUMNS}",
            *(again, again),
        )

    def still_taken(self, entry: Entry) -> bool:
        """Whether an entry is still this worker's to run: it may have been cancelled."""
        rows = self._database.execute(
            "SELECT 1 FROM dragoman_queue WHERE id = ? AND worker = ? AND attempts = ? AND state = 'running'",
            *(entry.id, entry.worker, entry.attempts),
        )
        return bool(rows)

    def beat(self, worker: str) -> None:
        """Says that a worker is alive."""
        self._database.execute(
            f"INSERT INTO dragoman_workers VALUES (?, {self._now}) ON CONFLICT (id) DO UPDATE SET seen = {self._now}",
            worker,
        )

    def leave(self, worker: str) -> None:
        """Says that a worker has ended; what it still has is taken over at once."""
        self._database.execute("DELETE FROM dragoman_workers WHERE id = ?", worker)

    def take_over(self, silent: float, most_attempts: int, *, telling: bool = False) -> list[Entry]:
        """Queues again what workers had that were not heard of for so many seconds; gives those entries.

        One whose workers died too often fails: what it does may be what kills them. With `telling`, `to_tell` gives it.
        """
        # A sign of life from the future is one from before the clock was put back.
        alive = f"seen > {self._now} - ? AND seen < {self._now} + ?"
        dead = f"worker NOT IN (SELECT id FROM dragoman_workers WHERE {alive})"
        with self._database.transaction():
            self._database.execute(
                f"UPDATE dragoman_queue SET state = 'failed', worker = NULL, changed = {self._now}, "
                f"tell_at = {self._now if telling else 'NULL'}, message = ? "
                f"WHERE state = 'running' AND attempts >= ? AND {dead}",
                *(f"its worker died, {most_attempts} times", most_attempts, silent, silent),
            )
            found = self._entries(
                f"UPDATE dragoman_queue SET state = 'queued', worker = NULL, changed = {self._now}, "
                f"start_at = {self._now} WHERE state = 'running' AND {dead} RETURNING {_COLUMNS}",
                *(silent, silent),
            )
            self._database.execute(
                f"DELETE FROM dragoman_workers WHERE seen < {self._now} - ? OR seen > {self._now} + ?",
                *(100 * silent, 100 * silent),
            )
        return found

    def close(self) -> None:
        """Closes the database."""
        self._database.close()

    # ── in the database ────────────────────────────────────────────────────

    def _entries(self, sql: str, *values: Any) -> list[Entry]:
        return [_entry(row) for row in self._database.execute(sql, *values)]

    def _changed(self, id: str, change: str, states: Sequence[State], *values: Any) -> bool:
        marks = ", ".join("?" * len(states))
        return bool(
            self._database.execute(
                f"UPDATE dragoman_queue SET {change}, tell_at = NULL, changed = {self._now} "
                f"WHERE id = ? AND state IN ({marks}) RETURNING id",
                *(*values, id, *states),
            )
        )


def _storable(text: str) -> str:
    """A text that every database takes: programs can say a NUL, and names of files hold bytes of any kind."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_DAMAGED: Final = (msgspec.ValidationError, msgspec.DecodeError, ConfigError)


def _read(row: tuple[Any, ...]) -> Entry:
    """An entry; one of `_DAMAGED` if it is none."""
    facts = dict(zip(Entry.__struct_fields__, row, strict=True))
    if not isinstance(facts["decisions"], str):
        raise msgspec.ValidationError("its decisions are no text")
    return msgspec.convert({**facts, "decisions": msgspec.json.decode(facts["decisions"])}, Entry)


def _entry(row: tuple[Any, ...]) -> Entry:
    """An entry as it can be shown: of a damaged one, what is wrong counts as not said."""
    try:
        return _read(row)
    except _DAMAGED as error:
        facts = dict(zip(Entry.__struct_fields__, row, strict=True))
        shown: dict[str, Any] = {"decisions": (), "message": f"this entry is damaged: {error}"}
        for field in msgspec.structs.fields(Entry):
            if field.name not in shown:
                shown[field.name] = _shown(facts[field.name], field.type)
        return Entry(**shown)


def _shown(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        if kind == State:
            return "failed"
        return str(value) if kind in (str, RunId) else next((none for none in (None, 0) if _is(none, kind)), None)


def _is(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
