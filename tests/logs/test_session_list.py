"""The stored list of sessions: whatever happens to the logs, it says what putting them all together anew says."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import Filter, Index, Places, Query
from dragoman.logs.history.session_list import SessionList
from dragoman.logs.history.whole_sessions import WholeSessions
from tests.logs.samples import SAMPLES

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CHOICES: list[tuple[Filter, str]] = [
    (Filter(), ""),
    (Filter(), "FIX it"),
    (Filter(), "s-1"),
    (Filter(), "nobody said this"),
    (Filter(client="claude_code"), ""),
    (Filter(client="codex", project="p"), ""),
    (Filter(project="/w"), "look"),
    (Filter(project="w", client="claude_code"), ""),
    (Filter(project="/nowhere"), ""),
    (Filter(model="claude"), ""),
    (Filter(session="s-"), ""),
    (Filter(since=NOON), ""),
    (Filter(until=NOON, since=NOON - timedelta(days=1)), ""),
]
"""What may be asked of the list, and in which words."""
STAMP = "2026-01-01T00:00:{:02}.000Z"
IDS = [f"s-{number}" for number in range(5)]
AGENTS = ["a1", "a2"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".claude" / "projects" / "p").mkdir(parents=True)
    return tmp_path / "home"


def asked(home: Path) -> Query:
    return Query(Index(home / "index.sqlite"), places=Places(home))


def claude(draw: random.Random, session: str, agent: str | None = None) -> dict[str, Any]:
    """A line of a session, or of a sub-agent of it, which may start a sub-agent."""
    head = {
        "sessionId": session,
        "uuid": str(draw.random()),
        "cwd": "/w",
        "timestamp": STAMP.format(draw.randrange(6)),
    }
    head |= {"isSidechain": True, "agentId": agent} if agent is not None else {}
    text = draw.choice(["Look.", "Fix it.", "Go on."])
    if draw.random() < 0.4:
        spawns = {"type": "tool_use", "id": f"t{draw.randrange(3)}", "name": "Task", "input": {"prompt": text}}
        return head | {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [spawns]}}
    if draw.random() < 0.3:
        done = {"type": "tool_result", "tool_use_id": f"t{draw.randrange(3)}", "content": "Done."}
        result = {"agentId": draw.choice(AGENTS), "prompt": text}
        message = {"role": "user", "content": [done]}
        return head | {"type": "user", "message": message, "toolUseResult": result}
    return head | {"type": "user", "message": {"role": "user", "content": text}}


def changes(draw: random.Random, folder: Path, line: Callable[..., dict[str, Any]] = claude) -> Iterator[str]:
    """Makes one change after another to the logs of a folder; `line` makes their lines."""
    while True:
        files = sorted(folder.rglob("*.jsonl"))
        kind = draw.choice(["new", "grow", "grow", "remove", "copy", "rewrite"]) if files else "new"
        session, agent = draw.choice(IDS), draw.choice([None, None, *AGENTS])
        name = f"{session}.jsonl" if agent is None else f"{session}/subagents/agent-{agent}.jsonl"
        path = folder / draw.choice([".", "q"]) / name if kind == "new" else draw.choice(files)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "remove":
            path.unlink()
        elif kind == "copy":
            (folder / "copies").mkdir(exist_ok=True)
            if path.parent.name != "copies":
                shutil.copy(path, folder / "copies" / path.name)
        else:
            lines = [json.dumps(line(draw, session, agent)) for _ in range(draw.randrange(1, 4))]
            with path.open("a" if kind == "grow" else "w") as file:
                file.write("".join(f"{line}\n" for line in lines))
        yield f"{kind} {path.relative_to(folder)}"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_the_list_is_what_all_sessions_put_together_are(seed: int, home: Path) -> None:
    draw = random.Random(seed)
    folder = home / ".claude" / "projects" / "p"
    made = changes(draw, folder)
    done = []
    for _ in range(25):
        done += [next(made) for _ in range(draw.randrange(1, 3))]
        with asked(home).index as index:
            query = Query(index, places=Places(home))
            listed = query.sessions(with_agents=True)
            assert isinstance(query._sessions, SessionList)
            tops = query.sessions()
            families = {row.session: query._sessions.family(row) for row in tops}
            logs = {row.session: query.logs_of(row.session) for row in tops}
            listings = [query.listing(one, words, limit=3, offset=1) for one, words in CHOICES]
            costs = query.costs_of(tops)
            whole = query._all
            assert isinstance(query._sessions, WholeSessions)
            assert listed == query.sessions(with_agents=True), done
            assert tops == query.sessions(), done
            assert listings == [query.listing(one, words, limit=3, offset=1) for one, words in CHOICES], done
            assert costs == query.costs(), done
            assert families == {row.session: whole.family(row) for row in tops}, done
            assert logs == {row.session: query.logs_of(row.session) for row in tops}, done


def test_a_session_is_found_by_a_prefix_and_several_are_named(home: Path) -> None:
    folder = home / ".claude" / "projects" / "p"
    draw = random.Random(1)
    for session in ("ab-1", "ab-2", "c-1"):
        (folder / f"{session}.jsonl").write_text(json.dumps(claude(draw, session)) + "\n")
    query = asked(home)
    assert query.find("c").session == "c-1"
    assert query.find("ab-1").session == "ab-1"
    with pytest.raises(Exception, match=r"'ab' begins 2 sessions \(ab-1, ab-2\); give more of the id"):
        query.find("ab")
    with pytest.raises(Exception, match="no session begins with 'd' among 3"):
        query.find("d")
    assert [row.session for row in query.sessions(Filter(limit=2))] == [row.session for row in query.sessions()][:2]
    query.close()


def test_files_of_a_home_that_is_not_asked_are_out_of_the_answers(home: Path, tmp_path: Path) -> None:
    folder = home / ".claude" / "projects" / "p"
    draw = random.Random(2)
    (folder / "one.jsonl").write_text(json.dumps(claude(draw, "one")) + "\n")
    other = tmp_path / "other" / ".claude" / "projects" / "p"
    other.mkdir(parents=True)
    (other / "two.jsonl").write_text(json.dumps(claude(draw, "two")) + "\n")
    with Index(tmp_path / "index.sqlite") as index:
        for place, session in ((home, "one"), (tmp_path / "other", "two"), (home, "one")):
            found = Query(index, places=Places(place)).sessions()
            assert [row.session for row in found] == [session]
        os.remove(other / "two.jsonl")
        query = Query(index, places=Places(home))
        assert [row.session for row in query.sessions()] == ["one"]
        assert isinstance(query._sessions, SessionList)


def test_a_page_of_the_list_and_its_costs_are_those_of_all_sessions(home: Path, tmp_path: Path) -> None:
    for format, files in SAMPLES.items():
        for name, data in files:
            path = tmp_path / "logs" / format / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 5000, "output_tokens": 200}
    message = {"role": "assistant", "id": "m", "model": "claude-sonnet-4-5", "content": [], "usage": usage}
    record = {"type": "assistant", "uuid": "u", "sessionId": "priced", "timestamp": STAMP.format(0), "message": message}
    (tmp_path / "logs" / "priced.jsonl").write_text(json.dumps(record) + "\n")
    query = Query(Index(tmp_path / "index.sqlite"), places=Places(home), folders=[tmp_path / "logs"])
    tops = query.sessions()
    assert len({row.client for row in tops}) > 8
    pages = [query.listing(limit=5, offset=offset) for offset in range(0, len(tops), 5)]
    assert [row for page in pages for row in page.rows] == tops
    assert {page.total for page in pages} == {len(tops)}
    listings = [query.listing(one, words, limit=50) for one, words in CHOICES]
    costs = query.costs_of(tops)
    assert isinstance(query._sessions, SessionList)
    _ = query._all
    assert listings == [query.listing(one, words, limit=50) for one, words in CHOICES]
    assert costs is not None
    everything = query.costs()
    assert {id: one[1:] for id, one in costs.items()} == {id: one[1:] for id, one in everything.items()}
    known = {id: cost for id, (cost, *_) in costs.items() if cost is not None}
    assert known == pytest.approx({id: cost for id, (cost, *_) in everything.items() if cost is not None})
    assert known["priced"] == pytest.approx((1000 * 3 + 5000 * 0.3 + 200 * 15) / 1e6)
    for (asked_for, words), listing in zip(CHOICES, listings, strict=True):
        if not words:
            assert listing.rows == query.sessions(asked_for)
    query.close()
