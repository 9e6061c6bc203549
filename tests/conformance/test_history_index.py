"""The tables over sessions of real clients: every number in them is what the events themselves say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LogError
from dragoman.logs import Filter, Found, Index, Query, key_of, read, sessions_of
from dragoman.logs.history import find_logs
from dragoman.logs.history.rows import CallRow, OperationRow, OutcomeRow, UsageRow
from dragoman.model import AnyEvent, Session, TokensUsed, ToolCalled, ToolReturned
from tests.conformance.conftest import SHARED
from tests.logs.test_tables import facts, row_facts

TRACES = SHARED / "traces"
CLIENTS = sorted(folder.name for folder in TRACES.iterdir() if folder.is_dir())


def homes(client: str) -> Iterator[Path]:
    """The home folder of every scripted session of a client."""
    for session in sorted((TRACES / client).iterdir()):
        if (session / "home").is_dir():
            yield session / "home"


def tables_say_what_events_say(query: Query, events: list[AnyEvent]) -> list[str]:
    """What differs between the tables and the events they were made of."""
    wrong = []

    def compare(what: str, table: Any, told: Any) -> None:
        if table != told:
            wrong.append(f"{what}: {table} in the table, {told} in the events")

    whole = [fact for session in sessions_of(events) for fact in facts(session)]
    rows = [row_facts(row) for row in query.sessions(with_agents=True)]
    only, missing = [row for row in rows if row not in whole], [fact for fact in whole if fact not in rows]
    compare("sessions", sorted(only, key=repr), sorted(missing, key=repr))
    called = [event for event in events if isinstance(event, ToolCalled)]
    returned = [event for event in events if isinstance(event, ToolReturned)]
    used = [event for event in events if isinstance(event, TokensUsed)]
    compare(
        "calls",
        Counter((row.name, row.call_id) for row in query.rows(CallRow)),
        Counter((one.call.native.name, one.call.id) for one in called),
    )
    compare(
        "operations",
        Counter(row.type for row in query.rows(OperationRow) if not row.intent),
        Counter(one.__struct_config__.tag for event in called for one in event.call.operations),
    )
    compare(
        "outcomes",
        Counter(row.type for row in query.rows(OutcomeRow)),
        Counter(one.__struct_config__.tag for event in returned for one in event.result.outcomes),
    )
    kinds = ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens", "reasoning_tokens")
    usage = list(query.rows(UsageRow))
    for kind in kinds:
        compare(
            kind,
            sum(getattr(row, kind) or 0 for row in usage),
            sum(getattr(event.usage, kind) or 0 for event in used),
        )
    return wrong


@pytest.mark.parametrize("client", CLIENTS)
def test_the_tables_of_every_scripted_session_say_what_its_events_say(client: str) -> None:
    wrong, count = [], 0
    for home in homes(client):
        query = Query(paths=[home])
        events = [event for one in query.files() for event in read(one.path, one.format)]
        count += len(events)
        wrong += [f"{home.parent.name}: {one}" for one in tables_say_what_events_say(query, events)]
    assert wrong == []
    assert count


def wild_files() -> list[Found]:
    found = []
    for path in sorted((SHARED / "traces-wild").rglob("*")):
        if path.is_file() and path.suffix in (".jsonl", ".json", ".db"):
            try:
                found += find_logs(str(path))
            except LogError:
                continue  # what is no log at all: indexes and notes of the collection
    return found


def test_the_tables_of_logs_from_the_wild_say_what_their_events_say() -> None:
    found = wild_files()
    assert len(found) > 50
    wrong = []
    for one in found:
        query = Query(paths=[one.path])
        events = list(read(one.path, one.format))
        wrong += [f"{one.path.name}: {each}" for each in tables_say_what_events_say(query, events)]
    assert wrong == []


def test_sql_over_all_scripted_sessions_adds_up_to_the_rows_and_to_the_sessions() -> None:
    query = Query(paths=[TRACES])
    (tokens, calls, failures), *_ = query.sql("SELECT sum(tokens), sum(calls), sum(failures) FROM sessions").rows
    assert tokens == query.sql("SELECT sum(tokens) FROM usage").rows[0][0]
    assert tokens == sum(row.tokens or 0 for row in query.rows(UsageRow))
    assert calls == query.sql("SELECT count(*) FROM calls").rows[0][0]
    assert failures == query.sql("SELECT count(*) FROM calls WHERE status = 'failed'").rows[0][0]
    assert query.sql("SELECT count(*) FROM turns").rows[0][0] == sum(
        row.turns for row in query.sessions(with_agents=True)
    )
    orphans = "SELECT count(*) FROM operations ANTI JOIN calls USING (session, stream, call)"
    assert query.sql(orphans).rows == [(0,)]


def test_every_scripted_session_is_given_back_whole_by_its_id() -> None:
    for client in CLIENTS:
        for home in list(homes(client))[:3]:
            query = Query(paths=[home])
            events = [event for one in query.files() for event in read(one.path, one.format)]
            known = {(one.id, one.stream): one for one in _all(sessions_of(events))}
            for row in query.sessions():
                assert query.session(row.session) == known[row.session, row.stream], f"{home}: {row.session}"
                family = [one for found in query.families(Filter(session=row.session)) for one in found]
                chosen = list(query.events(Filter(session=row.session)))
                assert {key_of(event) for event in chosen} == {(one.session, one.stream) for one in family}
                assert row in family


def _all(sessions: list[Session]) -> Iterator[Session]:
    for session in sessions:
        yield session
        yield from _all(list(session.children))


def test_a_second_update_over_all_scripted_sessions_reads_nothing(tmp_path: Path) -> None:
    with Index(tmp_path / "history.sqlite") as index:
        found = find_logs(str(TRACES))
        first = index.update(found)
        assert (first.failed, first.read_anew) == (0, len(found))
        second = index.update(found)
        assert (second.unchanged, second.bytes) == (len(found), 0)
