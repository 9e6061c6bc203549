"""A corpus: every figure as from the logs themselves, each log once, whoever builds and however often."""

from __future__ import annotations

import os
import pickle
import random
import uuid
from collections.abc import Iterator
from contextlib import closing, nullcontext
from math import isclose
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import ConfigError, DragomanError, LogError
from dragoman.logs import Index, Places, Query, statistics
from dragoman.logs.corpus import (
    CorpusQuery,
    Counts,
    Labels,
    Redaction,
    build as make_parts,
    built,
    folders_named,
    place_of,
    planned,
)
from dragoman.logs.corpus.parts import Read
from dragoman.logs.corpus.places import Folder
from dragoman.logs.corpus.sources import Input
from dragoman.logs.history.stats import BY
from dragoman.model import AgentStarted, TokensUsed, ToolCalled, ToolReturned
from tests.logs.samples import CLAUDE, CODEX, SAMPLES

HERE = Labels(machine="here")
SMALL = 6_000
"""Bytes of a part, so that the few logs of a test make several."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Some logs."""
    return written(tmp_path / "logs", "claude_code", "codex", "gemini_cli")


def written(folder: Path, *formats: str) -> Path:
    for format in formats:
        for name, data in SAMPLES[format]:
            path = folder / format / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return folder


def build(to: Path, *sources: Path, **options: Any) -> Counts:
    given = {"labels": HERE, "part_bytes": SMALL, **options}
    return built(planned(place_of(str(to)), [place_of(str(one)) for one in sources], **given))


def asked(to: Path) -> CorpusQuery:
    query = CorpusQuery(place_of(str(to)), to.with_name("cache"))
    query.refresh()
    return query


def local_query(home: Path, tmp_path: Path) -> Query:
    return Query(Index(tmp_path / "local.sqlite"), folders=[home], places=Places(tmp_path / "empty"))


def figures(query: Query) -> Iterator[Any]:
    for by in ("", *(one for one in BY if one not in ("user", "team", "machine"))):
        found = statistics(query, by=(by,) if by else ())  # type: ignore[arg-type]
        yield by, msgspec.to_builtins(found)


def is_alike(one: Any, other: Any) -> bool:
    """Equal; sums of dollars may be added up in another order."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_alike, one, other))
    return bool(one == other)


def test_what_did_not_change_is_not_opened_and_what_did_is_read_anew(home: Path, tmp_path: Path) -> None:
    first = build(tmp_path / "corpus", home)
    path = home / "s-9.jsonl"
    path.write_bytes(CLAUDE)
    status = path.stat()
    assert build(tmp_path / "corpus", home).read == 1
    path.write_bytes(b"x" * status.st_size)  # of the same size and age: only reading it would tell
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    again = build(tmp_path / "corpus", home)
    assert (again.parts, again.read, again.failed, again.unchanged) == (0, 0, 0, first.inputs + 1)
    os.utime(path)
    path.write_bytes(CLAUDE + CLAUDE.replace(b'"s-1"', b'"s-9"'))
    assert build(tmp_path / "corpus", home).read == 1
    with closing(asked(tmp_path / "corpus")) as query:
        assert {row.session for row in query.sessions()} >= {"s-1", "s-9"}
        assert len(query.index.files()) == first.read + 1


def test_two_builders_at_once_make_each_part_once(home: Path, tmp_path: Path) -> None:
    to, source = place_of(str(tmp_path / "corpus")), place_of(str(home))
    plans = [planned(to, [source], labels=HERE, part_bytes=SMALL) for _ in range(2)]
    waiting = [msgspec.structs.replace(plan, parts=[part]) for plan in plans for part in plan.parts]
    random.Random(0).shuffle(waiting)
    counts = [built(plan) for plan in waiting]
    entries = list(to.listed("manifest"))
    assert sum(one.parts for one in counts) == sum(one.made_elsewhere for one in counts) == len(entries)
    with closing(asked(tmp_path / "corpus")) as query:
        once = len(query.index.files())
    build(tmp_path / "alone", home)
    with closing(asked(tmp_path / "alone")) as query:
        assert len(query.index.files()) == once


def test_what_a_killed_builder_was_writing_is_no_part(tmp_path: Path) -> None:
    place = place_of(str(tmp_path))
    assert place.put_new("manifest/a.json", b"{}")
    (tmp_path / "manifest" / ".new-a1b2c3").write_bytes(b"{")
    assert [one.name for one in place.listed("manifest")] == ["manifest/a.json"]


def test_a_log_that_cannot_be_read_costs_no_other_and_is_tried_again(home: Path, tmp_path: Path) -> None:
    (home / "broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 40)
    for _ in range(3):
        counts = build(tmp_path / "corpus", home)
        assert [address for address, _ in counts.failures] == [f"here:{home}/broken.jsonl.gz"]
        assert "unpack" in counts.failures[0][1]


def test_a_plan_of_many_logs_is_small(tmp_path: Path) -> None:
    for number in range(400):
        path = tmp_path / "logs" / f"a-project-with-a-long-name-{number % 7}" / f"{uuid.uuid4()}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CLAUDE)
    plan = planned(place_of(str(tmp_path / "corpus")), [place_of(str(tmp_path / "logs"))], part_bytes=1 << 30)
    (part,) = plan.parts
    assert (len(part), len(list(part))) == (400, 400)
    assert sum(map(len, map(pickle.dumps, plan.parts))) < 150 * 400


@pytest.mark.parametrize("is_killed", [True, False])
def test_rows_that_another_builder_could_not_read_are_not_missing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    """It wrote its tables, and was killed before their entry, or was slower than the builder that could read all."""
    to, source = place_of(str(tmp_path / "corpus")), place_of(str(home))
    plans = [planned(to, [source], labels=HERE) for _ in range(2)]
    read, put_new = make_parts._read, Folder.put_new

    def broken(one: Input, *rest: Any) -> Read:
        if one.name.endswith("s-1.jsonl"):
            raise OSError(5, "Input/output error")
        return read(one, *rest)

    def stopped(place: Folder, name: str, data: bytes) -> bool:
        if not name.startswith("manifest/"):
            return put_new(place, name, data)
        if is_killed:
            raise KeyboardInterrupt
        monkeypatch.undo()
        built(plans[1])
        return place.put_new(name, data)

    monkeypatch.setattr(make_parts, "_read", broken)
    monkeypatch.setattr(Folder, "put_new", stopped)
    with pytest.raises(KeyboardInterrupt) if is_killed else nullcontext():
        built(plans[0])
    monkeypatch.undo()
    build(tmp_path / "corpus", home, part_bytes=1 << 25)
    build(tmp_path / "alone", home)
    with closing(asked(tmp_path / "corpus")) as one, closing(asked(tmp_path / "alone")) as other:
        assert is_alike(list(figures(one)), list(figures(other)))


def test_a_session_that_two_machines_have_counts_once_even_if_one_of_them_has_the_beginning_only(
    tmp_path: Path,
) -> None:
    lines = CLAUDE.splitlines(keepends=True)
    for machine, data in {"laptop": CLAUDE, "tower": b"".join(lines[: len(lines) // 2]), "copy": CLAUDE}.items():
        (tmp_path / machine).mkdir()
        (tmp_path / machine / "s-1.jsonl").write_bytes(data)
    build(tmp_path / "one", tmp_path / "laptop", labels=Labels(machine="laptop"))
    for machine in ("tower", "copy", "laptop"):
        build(tmp_path / "corpus", tmp_path / machine, labels=Labels(machine=machine))
        with closing(asked(tmp_path / "corpus")):
            pass  # what was asked before does not change what is asked later
    with closing(asked(tmp_path / "one")) as one, closing(asked(tmp_path / "corpus")) as three:
        assert is_alike(list(figures(three)), list(figures(one)))


def test_users_and_teams_are_as_was_said_or_as_folders_are_named(tmp_path: Path) -> None:
    for place, data in {"search/ann/s-1.jsonl": CLAUDE, "ads/bob/x/rollout-c-1.jsonl": CODEX}.items():
        path = tmp_path / "logs" / place
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    build(tmp_path / "corpus", tmp_path / "logs", folders=folders_named("team/user/-"))
    with closing(asked(tmp_path / "corpus")) as query:
        rows = query.sql('SELECT DISTINCT team, "user", machine FROM sessions ORDER BY ALL').rows
        groups = statistics(query, by=("team",)).groups
    assert rows == [("ads", "bob", "here"), ("search", "ann", "here")]
    assert {one.group["team"] for one in groups} == {"ads", "search"}


def test_secrets_are_taken_out_where_that_is_asked_for(tmp_path: Path) -> None:
    secret = "hunter2-correct-horse"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "s-1.jsonl").write_bytes(CLAUDE.replace(b'"/p"', b'"/p/%s"' % secret.encode()))
    plain = build(tmp_path / "plain", tmp_path / "logs")
    build(tmp_path / "redacted", tmp_path / "logs", redaction=Redaction((secret,)))
    found = []
    for name in ("plain", "redacted"):
        with closing(asked(tmp_path / name)) as query:
            told = "".join(str(query.table(table).rows) for table in ("sessions", "turns", "calls", "operations"))
            found.append((secret in told, len(query.table("calls").rows)))
    assert plain.read == 1
    assert found == [(True, found[1][1]), (False, found[0][1])]


@pytest.mark.parametrize(
    "address, kind, words",
    [
        ("ftp://host/x", ConfigError, "s3://"),
        ("s3://", ConfigError, "bucket"),
        ("s3://a b/x", ConfigError, "bucket"),
        ("file://host/x", ConfigError, "absolute"),
        ("", ConfigError, "folder"),
        ("a\0b", ConfigError, "folder"),
    ],
)
def test_an_address_of_nothing_is_told(address: str, kind: type[DragomanError], words: str) -> None:
    with pytest.raises(kind, match=words):
        place_of(address)


def test_what_is_no_corpus_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no corpus"):
        asked(tmp_path / "nothing")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "corpus.json").write_text("[]")
    with pytest.raises(LogError, match="not of a corpus"):
        build(tmp_path / "other", tmp_path)
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "corpus.json").write_text('{"dragoman corpus": 99}')
    with pytest.raises(ConfigError, match="layout 99"):
        asked(tmp_path / "later")
    with pytest.raises(LogError, match="no file or folder"):
        build(tmp_path / "corpus", tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="folder can name"):
        folders_named("team/boss")


def test_a_damaged_part_is_told_by_name(home: Path, tmp_path: Path) -> None:
    build(tmp_path / "corpus", home, part_bytes=1 << 30)
    (part,) = (tmp_path / "corpus" / "calls").iterdir()
    part.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(LogError, match=part.stem):
        asked(tmp_path / "corpus")


def told(query: Query, id: str) -> dict[str, Any]:
    """What the events of a session say that the tables of a corpus keep."""
    events = list(query.events_of(id))
    calls = [event for event in events if isinstance(event, ToolCalled)]
    return {
        "turns": len({(event.stream, event.turn) for event in events if event.turn is not None}),
        "calls": sorted((one.stream, one.call.id, one.call.native.name) for one in calls),
        "meanings": sorted((one.call.id, [type(each).__name__ for each in one.call.operations]) for one in calls),
        "returned": {event.result.call_id for event in events if isinstance(event, ToolReturned)}
        & {one.call.id for one in calls},
        "tokens": sum((event.usage.total or 0) for event in events if isinstance(event, TokensUsed)),
        "agents": {event.agent for event in events if isinstance(event, AgentStarted)} & {one.stream for one in events},
    }


def test_sessions_are_told_from_the_tables_as_from_their_logs(home: Path, tmp_path: Path) -> None:
    build(tmp_path / "corpus", home)
    with closing(asked(tmp_path / "corpus")) as corpus, closing(local_query(home, tmp_path)) as here:
        rows = [row for row in corpus.sessions() if row.stream == "main"]
        assert rows
        for row in rows:
            assert told(corpus, row.session) == told(here, row.session), row.client
