"""What the index counts by itself is what going through all calls and exchanges counts, whatever happens to logs."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import config
from dragoman.config import Price
from dragoman.logs import Filter, Index, Places, Query, Recorder, statistics
from dragoman.logs.history.costs import NO_INPUT, NO_MODEL, NO_PRICE, SEVERAL
from dragoman.logs.history.counted import HOOK, Counting
from dragoman.logs.history.settled import settled_for_reading
from dragoman.logs.history.stats import By, Stats
from dragoman.model import Call, NativeCall, ToolCalled
from tests.logs.samples import copilot
from tests.logs.test_session_list import STAMP, changes

MODELS = ["claude-sonnet-4-5", "claude-opus-4-1", "gpt-5", "unheard-of"]
TOOLS = [("Bash", {"command": "ls"}), ("Read", {"file_path": "/a"}), ("Odd", {})]
FEBRUARY, MARCH = datetime(2026, 2, 3, 4, 0, tzinfo=UTC), datetime(2026, 3, 4, 12, 0, 30, tzinfo=UTC)
QUESTIONS: list[tuple[tuple[By, ...], Filter, bool]] = [
    ((), Filter(), False),
    (("tool",), Filter(), False),
    (("day", "model"), Filter(), True),
    (("week", "client", "operation"), Filter(model="claude"), False),
    (("month",), Filter(tool="Bash"), False),
    (("block",), Filter(), False),
    (("block", "model"), Filter(client="claude_code"), True),
    (("project",), Filter(), False),
    (("project", "session"), Filter(project="/w"), False),
    (("session", "day", "block"), Filter(), True),
    (("session",), Filter(session="s"), False),
    (("tool",), Filter(project="v", model="claude"), False),
    (("tool", "model", "day"), Filter(tool="Read", model="gpt"), False),
    (("operation",), Filter(operation="run_command", client="claude_code"), False),
    (("model",), Filter(tool="Bash"), True),
    (("day",), Filter(since=FEBRUARY), False),
    (
        ("tool", "session"),
        Filter(since=FEBRUARY + timedelta(seconds=20), until=MARCH - timedelta(microseconds=1)),
        False,
    ),
    (("block", "project"), Filter(since=MARCH - timedelta(seconds=1), until=MARCH + timedelta(seconds=30)), False),
    (("client",), Filter(until=FEBRUARY + timedelta(minutes=90, seconds=5), model="claude"), True),
    (("week",), Filter(since=MARCH, until=FEBRUARY), False),
    (("month",), Filter(since=datetime.min.replace(tzinfo=UTC), until=datetime.max.replace(tzinfo=UTC)), False),
]


class Slowly(Query):
    """A query that goes through all rows."""

    def settled(self, *, is_new_index_made: bool = True) -> Index | None:
        return None


def line(draw: random.Random, session: str, agent: str | None = None) -> dict[str, Any]:
    """A line of a session: a call, its result, or a reply with its tokens that other sessions may tell of too."""
    head: dict[str, Any] = {
        "sessionId": session,
        "uuid": f"u{draw.randrange(40)}",
        "cwd": draw.choice(["/w", "/w", "/u/v"]),
        "timestamp": STAMP.format(draw.randrange(60))
        .replace("01-01", f"0{draw.randrange(1, 4)}-0{draw.randrange(1, 9)}")
        .replace("T00:", f"T{draw.randrange(24):02}:"),
    }
    head |= {"isSidechain": True, "agentId": agent} if agent is not None else {}
    if draw.random() < 0.4:
        done = {
            "type": "tool_result",
            "tool_use_id": f"t{draw.randrange(6)}",
            "content": "?",
            "is_error": draw.random() < 0.5,
        }
        return head | {"type": "user", "message": {"role": "user", "content": [done]}}
    name, given = draw.choice(TOOLS)
    kinds = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage = {kind: draw.choice([0, 7, 300_000]) for kind in kinds if draw.random() < 0.8}
    message = {
        "id": f"m{draw.randrange(12)}",
        "role": "assistant",
        "model": draw.choice(MODELS),
        "content": [{"type": "tool_use", "id": f"t{draw.randrange(6)}", "name": name, "input": given}],
        "usage": usage,
        "stop_reason": "tool_use",
    }
    return head | {"type": "assistant", "message": message, "requestId": f"r{draw.randrange(12)}"}


def rounded(counted: Stats) -> Any:
    """The same without the last digits of sums of dollars, which are added up in another order."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(one) for name, one in value.items()}
        if isinstance(value, list):
            return [plain(one) for one in value]
        return float(f"{value:.10g}") if isinstance(value, float) else value

    return plain(msgspec.to_builtins(counted))


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_the_index_are_those_of_all_rows(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    folder = tmp_path / "home" / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    made = changes(draw, folder, line)
    done = []
    for _ in range(8):
        done += [next(made) for _ in range(draw.randrange(1, 4))]
        with Index(tmp_path / "index.sqlite") as index:
            quick, slow = (kind(index, places=Places(tmp_path / "home")) for kind in (Query, Slowly))
            assert quick.settled() is index
            for by, asked, tokens_only in QUESTIONS:
                counted = [rounded(statistics(one, asked, by, tokens_only=tokens_only)) for one in (quick, slow)]
                assert counted[0] == counted[1], (done, by, asked)


def test_why_prices_are_not_known_is_counted_in_both_ways(tmp_path: Path) -> None:
    """Of Copilot up to 1.0.92, whose replies log their output alone and whose runs end with the sums of all."""

    def session(name: str, model: str | None, given: int | None) -> None:
        folder = tmp_path / "home" / ".copilot" / "session-state" / name
        folder.mkdir(parents=True)
        said: dict[str, Any] = {"content": "Yes.", "outputTokens": 500} | ({"model": model} if model else {})
        records = [
            copilot("session.start", 1, sessionId=name, version=1, producer="copilot-agent", copilotVersion="1.0.80"),
            *(copilot("assistant.message", number, **said) for number in (2, 3)),
        ]
        if given is not None:
            usage = {"inputTokens": given, "outputTokens": 1000, "cacheReadTokens": 0, "cacheWriteTokens": 0}
            metrics = {model: {"usage": usage}}
            records.append(copilot("session.shutdown", 4, shutdownType="routine", modelMetrics=metrics))
        (folder / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))

    session("ended", "claude-sonnet-4.5", 200_000)
    session("long", "claude-sonnet-4.5", 200_001)
    session("unknown", "somebody-s-model", 10)
    session("killed", "claude-sonnet-4.5", None)
    session("unnamed", None, None)
    with Index(tmp_path / "index.sqlite") as index:
        quick, slow = (kind(index, places=Places(tmp_path / "home")) for kind in (Query, Slowly))
        assert quick.settled() is index
        for by in ("session", "model", "day", "client"):
            counted = [rounded(statistics(one, Filter(), (by,))) for one in (quick, slow)]
            assert counted[0] == counted[1]
            tokens = statistics(quick, Filter(), (by,), tokens_only=True).total.tokens
            assert tokens is not None
            assert tokens.unpriced_by == {NO_INPUT: 8, NO_MODEL: 2, NO_PRICE: 1, SEVERAL: 1}
            assert tokens.unpriced == 12
            assert "[[prices]]" in tokens.reasons
            killed = statistics(quick, Filter(session="killed"), (by,)).total.tokens
            assert killed is not None
            assert killed.reasons == f"{NO_INPUT} (2)"  # no price helps there
            assert tokens.cost == pytest.approx(200_000 * 3 / 1e6 + 1000 * 15 / 1e6)


def test_a_fork_that_began_as_another_session_counts_what_is_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".codex" / "sessions" / "2026" / "01" / "01"
    folder.mkdir(parents=True)

    def rollout(id: str, base: str | None, *tokens: int) -> str:
        meta = {"id": id, "timestamp": STAMP.format(0), "cwd": "/w", "originator": "cli", "cli_version": "0.44.0"}
        records: list[dict[str, Any]] = [
            {"type": "session_meta", "payload": meta | ({"forked_from_id": base} if base else {})}
        ]
        total = 0
        for count in tokens:
            total += count
            used, all_used = (
                {"input_tokens": one, "output_tokens": 1, "total_tokens": one + 1} for one in (count, total)
            )
            info = {"last_token_usage": used, "total_token_usage": all_used}
            records.append({"type": "event_msg", "payload": {"type": "token_count", "info": info}})
        return "".join(json.dumps({"timestamp": STAMP.format(1), **record}) + "\n" for record in records)

    (folder / "rollout-2026-01-01T00-00-00-a.jsonl").write_text(rollout("a", None, 10, 20))
    with Index(tmp_path / "index.sqlite") as index:
        places = Places(tmp_path / "home")
        statistics(Query(index, places=places))
        (folder / "rollout-2026-01-01T00-00-01-b.jsonl").write_text(rollout("b", "a", 10, 20, 40))
        quick, slow = (statistics(kind(index, places=places), by=("client",)) for kind in (Query, Slowly))
    assert rounded(quick) == rounded(slow)
    assert quick.total.tokens is not None
    assert (quick.total.tokens.exchanges, quick.total.tokens.repeated) == (3, 2)


def test_calls_that_a_hook_decided_on_are_counted_in_the_clients_log_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = home / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    draw = random.Random(1)
    lines = [line(draw, "s-1") for _ in range(20)]
    (folder / "s-1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    decisions = tmp_path / "decisions"
    decided = ToolCalled(
        id="e1",
        session="h-1",
        client=f"claude_code{HOOK}",
        call=Call("t1", (), native=NativeCall("t1", "Bash", {"command": "ls"})),
    )
    decisions.mkdir()
    with Recorder(decisions / "h-1.jsonl") as recorder:
        recorder(decided)
    given: dict[str, Any] = {"places": Places(home), "folders": [decisions]}
    with Index(tmp_path / "index.sqlite") as index:
        quick, slow = (statistics(kind(index, **given), by=("tool",)) for kind in (Query, Slowly))
        assert index.count() == 2
    assert rounded(quick) == rounded(slow)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with some sessions that tell of the same exchanges."""
    draw = random.Random(7)
    folder = tmp_path / "home" / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    for session in ("s-1", "s-2", "s-3"):
        lines = (json.dumps(line(draw, session)) + "\n" for _ in range(30))
        (folder / f"{session}.jsonl").write_text("".join(lines))
    return tmp_path / "home"


def test_prices_that_begin_elsewhere_count_between_their_own_lengths(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write, given, said = map(Decimal, (1, 2, 3, 9))
    own = Price(
        model="gpt-5",
        valid_from=date(2020, 1, 1),
        input=given,
        cached_read=read,
        cached_write=write,
        output=said,
        over=250_000,
    )
    known = config.current()
    settings = msgspec.structs.replace(known.settings, prices=(own,))
    monkeypatch.setattr(config, "current", lambda: msgspec.structs.replace(known, settings=settings))
    with Index(tmp_path / "index.sqlite") as index:
        quick, slow = (statistics(kind(index, places=Places(home)), by=("model",)) for kind in (Query, Slowly))
    assert rounded(quick) == rounded(slow)


def test_sums_are_made_anew_when_listed_prices_begin_elsewhere(home: Path, tmp_path: Path) -> None:
    known = "SELECT value FROM about WHERE name = 'thresholds'"
    with Index(tmp_path / "index.sqlite") as index:
        query = Query(index, places=Places(home))
        before, thresholds = statistics(query, by=("day", "model")), list(index.ask(known))
        index.write("UPDATE usage_sums SET exchanges = 0, sort = 0", [()])
        index.write("UPDATE about SET value = '1 2 3' WHERE name = 'thresholds'", [()])
        assert statistics(query, by=("day", "model")) == before
        assert list(index.ask(known)) == thresholds


def test_a_file_that_changes_while_it_is_counted_is_counted_as_it_was(home: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index, Index(tmp_path / "index.sqlite") as other:
        Query(index, places=Places(home)).refresh()
        with settled_for_reading(index):
            before = list(Counting(index, Filter(), ("tool",)).calls())
            for path in home.rglob("*.jsonl"):
                path.write_text(json.dumps(line(random.Random(8), "s-4")) + "\n")
            Query(other, places=Places(home)).refresh()
            assert list(Counting(index, Filter(), ("tool",)).calls()) == before
        with settled_for_reading(index):
            assert sum(count for *_, count in Counting(index, Filter(), ()).calls()) < 3 < len(before)


def test_tokens_alone_of_calls_that_are_chosen_are_none(home: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        query = Query(index, places=Places(home))
        assert statistics(query, tokens_only=True).total.sessions == 3
        counted = statistics(query, Filter(tool="Bash"), tokens_only=True)
    assert (counted.groups, counted.total.sessions, counted.total.tokens) == ([], 0, None)
