"""`dragoman queue`, `worker`, `approve` and `refuse`, with real processes and a scripted model."""

from __future__ import annotations

import asyncio
import datetime
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs.stores import store_for
from dragoman.model import SessionStarted
from tests.engine.loopback import Loopback, Turn, loopback

from .conftest import Answer, User
from .test_run import DONE, EDIT, READ, prepared, records, runs


async def types(user: User, server: Loopback | None, *words: str, **environ: str) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in prepared(user, server, environ).items():
            patch.setenv(name, value)
        return await asyncio.to_thread(user.types, *words)


async def works(user: User, server: Loopback, *words: str) -> Answer:
    answer = await types(user, server, "worker", "--until-empty", *words)
    assert answer.code == 0, answer.err
    return answer


def test_tasks_are_added_listed_shown_cancelled_and_retried(user: User) -> None:
    assert user.types("queue", "list").code == 1
    low = user.types("queue", "add", "water", "the", "plants").out.strip()
    high = user.types("queue", "add", "--json", "--priority", "5", "--folder", "garden", "--in", "2h", "mow").json["id"]
    listed = user.types("queue", "list", "--json").json
    assert {entry["id"]: (entry["task"], entry["priority"], entry["folder"]) for entry in listed} == {
        low: ("water the plants", 0, ""),
        high: ("mow", 5, "garden"),
    }
    assert "water the plants" in user.types("queue", "list", "--state", "queued").out
    assert user.types("queue", "show", low[:6]).out.splitlines()[1:3] == [
        "state:    queued",
        "task:     water the plants",
    ]
    assert user.types("queue", "cancel", low[:6]).code == 0
    assert user.types("queue", "cancel", low[:6]).code == 1
    assert user.types("queue", "show", low, "--json").json["state"] == "cancelled"
    assert user.types("queue", "retry", low).code == 0
    assert user.types("queue", "show", low, "--json").json["state"] == "queued"


@pytest.mark.parametrize(
    "words, message",
    [
        (["queue", "add", " "], "The task is empty."),
        (["queue", "add", "--folder", "/etc", "x"], "it is relative to the workspace of the worker"),
        (["queue", "add", "--folder", "a/../../b", "x"], "it is relative to the workspace of the worker"),
        (["queue", "add", "--in", "soon", "x"], '"soon" is not a duration: write 90s, 10m, 2h or 1d.'),
        (["queue", "add", "--every", "0s", "x"], "it must be longer than 0 seconds."),
        (["queue", "add", "--in", "99999999999999d", "x"], "is longer than a hundred years."),
        (
            ["queue", "add", "--priority", "99999999999999999999", "x"],
            "is out of range: it must be from -1000 to 1000.",
        ),
        (["queue", "add", "--cron", "0 25 * * *", "x"], 'the hour is 0 to 23, not "25".'),
        (["queue", "add", "--cron", "@daily", "--zone", "Mars/Base", "x"], 'there is no time zone "Mars/Base"'),
        (["queue", "add", "--cron", "@daily", "--every", "1d", "x"], "both say when to do it again"),
        (["queue", "add", "--cron", "@daily", "--in", "1d", "x"], "both say when to begin"),
        (["queue", "add", "--at", "tomorrow", "x"], '"tomorrow" is not a time: write "2026-11-20 09:00".'),
        (["queue", "add", "--zone", "UTC", "x"], "--zone is the time zone of --at or --cron"),
        (["queue", "list", "--state", "dune"], 'Did you mean "done"?'),
        (["queue", "show", "abc"], "the queue is empty"),
        (["worker", "--", "--resume", "last"], "--resume is not for all tasks of a queue."),
        (["approve", "abc"], "there is no run to continue"),
    ],
)
def test_what_is_wrong_is_said(user: User, words: list[str], message: str) -> None:
    answer = user.types(*words)
    assert answer.code in (2, 3)
    assert message in answer.err


def test_a_task_begins_at_a_time_or_by_the_calendar(user: User) -> None:
    once = user.types("queue", "add", "--json", "--at", "2030-05-01 09:00", "--zone", "Asia/Tokyo", "x").json
    assert once["start_at"] == datetime.datetime(2030, 5, 1, tzinfo=datetime.UTC).timestamp()
    added = user.types("queue", "add", "--cron", "0 9 * * mon-fri", "--zone", "UTC", "look")
    assert added.err.startswith("It begins ")
    shown = user.types("queue", "show", added.out.strip()).out
    assert "again:    0 9 * * mon-fri (UTC)\n" in shown
    assert "starts 2030-05-01" in user.types("queue", "list").out


def test_an_entry_whose_times_are_no_times_does_not_hide_the_others(user: User) -> None:
    ids = [user.types("queue", "add", f"task {one}").out.strip() for one in range(3)]
    with closing(sqlite3.connect(Path(user.environ["DRAGOMAN_DATA_DIR"]) / "queue.db")) as database, database:
        database.execute("UPDATE dragoman_queue SET start_at = 1e300, every = 1e300 WHERE id = ?", (ids[0],))
        database.execute("UPDATE dragoman_queue SET changed = -1e18, added = 9e999 WHERE id = ?", (ids[1],))
    listed = user.types("queue", "list")
    assert (listed.code, [f"task {one}" in listed.out for one in range(3)]) == (0, [True] * 3)
    assert [user.types("queue", "show", id).code for id in ids] == [0] * 3


NOTIFY = """
[notify]
command = ["sh", "-c", "cat >> told; echo >> told"]
when = ["waiting", "failed", "done"]
"""


def told(user: User) -> list[dict[str, Any]]:
    lines = (Path(user.environ["DRAGOMAN_CONFIG_DIR"]) / "told").read_text().splitlines()
    return [json.loads(line) for line in lines]


async def test_somebody_is_told_that_a_run_waits(user: User) -> None:
    user.settings(NOTIFY)
    async with loopback(READ, EDIT) as server:
        assert (await runs(user, server, "--ask", "buy milk, not sk-ant-0123456789")).code == 8
    (facts,) = told(user)
    assert (facts["state"], facts["task"]) == ("waiting", "buy milk, not ********")
    assert [(call["id"], call["summary"], call["question"]) for call in facts["calls"]] == [
        ("c2", "edit notes.txt", False)
    ]
    assert f"dragoman approve {facts['run'][:8]}" in facts["text"]


@pytest.mark.slow
async def test_a_worker_tells_what_became_of_tasks(user: User) -> None:
    user.settings(NOTIFY)
    prepared(user, None, {})
    async with loopback(READ, EDIT, DONE) as server:
        id = user.types("queue", "add", "buy milk").out.strip()
        await works(user, server)
        assert user.types("refuse", id).code == 0
        await works(user, server)
        bad = user.types("queue", "add", "--folder", "nowhere", "more").out.strip()
        await works(user, server)
    assert [(facts["run"], facts["state"], len(facts["calls"])) for facts in told(user)] == [
        (id, "waiting", 1),
        (id, "done", 0),
        (bad, "failed", 0),
    ]


def test_a_project_cannot_say_who_is_told(user: User) -> None:
    user.write(user.here / ".dragoman" / "config.toml", NOTIFY)
    answer = user.types("queue", "add", "x")
    assert answer.err.count("only your own settings may set it") == 2


async def test_requests_in_a_minute_are_limited_for_all_runs_together(user: User) -> None:
    """A second run finds the minute full: it is stopped while it waits, and has asked nothing."""
    user.settings("[providers.anthropic]\nrequests_per_minute = 2\n")
    async with loopback(READ, DONE, DONE) as server:
        assert (await runs(user, server, "look")).code == 0
        reached = {**user.environ, **prepared(user, server, {})}
        second = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dragoman", "run", "look again"),
            cwd=user.here,
            env=reached,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert second.stderr is not None
        try:
            while b"the limit of 2 requests in a minute for anthropic is reached" not in (
                line := await second.stderr.readline()
            ):
                assert line, "it ended without waiting"
        finally:
            second.terminate()
            await second.communicate()
        assert len(server.requests) == 2


@pytest.mark.parametrize("store", ["", "sqlite:runs.db"])
@pytest.mark.slow
async def test_a_run_of_the_queue_waits_for_an_answer_and_continues(user: User, store: str) -> None:
    if store:
        user.settings(f'[store]\nurl = "{store}"\n')
    prepared(user, None, {})
    async with loopback(READ, EDIT, DONE) as server:
        id = user.types("queue", "add", "buy milk").out.strip()
        await works(user, server)
        shown = user.types("queue", "show", id, "--json").json
        assert (shown["state"], [call["id"] for call in shown["calls"]]) == ("waiting", ["c2"])
        assert (user.here / "notes.txt").read_text() == "tea\nbread\n"
        wrong = user.types("approve", id[:8], "c9")
        assert (wrong.code, 'no call "c9" waits; those that do: c2.' in wrong.err) == (2, True)
        assert user.types("approve", id[:8], "c2").code == 0
        await works(user, server)
        shown = user.types("queue", "show", id, "--json").json
    assert (shown["state"], shown["answer"], shown["decisions"]) == ("done", "It is done.", [])
    assert (user.here / "notes.txt").read_text() == "milk\nbread\n"
    assert [path.stem for path in records(user)] == ([] if store else [id])


async def test_a_run_that_is_not_of_the_queue_continues_here(user: User) -> None:
    async with loopback(READ, EDIT, DONE) as server:
        waiting = await runs(user, server, "--ask", "buy milk")
        assert waiting.code == 8
        refused = await types(user, server, "refuse", "last")
    assert (refused.code, refused.out) == (0, "It is done.\n")
    assert (user.here / "notes.txt").read_text() == "tea\nbread\n"


async def test_a_worker_brings_the_policy_and_a_failure_is_kept_with_its_reason(user: User) -> None:
    prepared(user, None, {})
    async with loopback(READ, EDIT, DONE) as server:
        id = user.types("queue", "add", "--", "--yes buy milk").out.strip()  # a task is no option
        await works(user, server, "--", "--deny")
        assert user.types("queue", "show", id, "--json").json["state"] == "done"
        bad = user.types("queue", "add", "more").out.strip()
        await works(user, server, "--", "--model", "nobody:x")
    shown: dict[str, Any] = user.types("queue", "show", bad, "--json").json
    assert shown["state"] == "failed"
    assert 'there is no provider "nobody"' in shown["message"]
    assert (user.here / "notes.txt").read_text() == "tea\nbread\n"


def test_a_project_cannot_say_where_records_and_queue_are(user: User) -> None:
    user.write(user.here / ".dragoman" / "config.toml", '[store]\nurl = "sqlite:/tmp/elsewhere.db"\n')
    answer = user.types("queue", "add", "x")
    assert "only your own settings may set it" in answer.err
    assert not Path("/tmp/elsewhere.db").exists()


async def test_a_record_that_others_wrote_decides_nothing(user: User, tmp_path: Path) -> None:
    """Whoever can add to the database can write the record of a run before a worker begins it."""
    user.settings('tools = ["read"]\n[store]\nurl = "sqlite:runs.db"\n')
    data, elsewhere, ran = Path(user.environ["DRAGOMAN_DATA_DIR"]), tmp_path / "elsewhere", tmp_path / "ran"
    elsewhere.mkdir()
    plugin = elsewhere / "words.py"
    plugin.write_text(f"open({str(ran)!r}, 'w')\n")
    store = store_for("sqlite:runs.db", folder=data)
    for own in (False, True):  # a worker leads the run, or the user continues it
        id = user.types("queue", "add", "look").out.strip() if not own else "f" * 32
        started = SessionStarted(
            id="e1",
            session=id,
            run=id,
            cwd=str(elsewhere),
            metadata={"model": "anthropic:theirs", "tools": ["Bash", "run_command"], "dialect": str(plugin)},
        )
        record = store.open(id)
        record(started)
        record.close()
        async with loopback(DONE) as server:
            if own:
                answer = await types(user, server, "run", "--resume", id, "look")
                assert (answer.code, "others may write to" in answer.err) == (2, True), answer.err
                continue
            await works(user, server, "--", "--model", "anthropic:ours")
        assert user.types("queue", "show", id, "--json").json["state"] == "done"
        (asked,) = server.requests
        assert asked.body["model"] == "ours"
        offered = {tool["name"] for tool in asked.body["tools"]}
        assert "Bash" not in offered
        assert str(elsewhere) not in json.dumps(asked.body)
    store.close()
    assert not ran.exists()


async def test_who_answers_twice_or_too_late_is_told_and_nothing_runs_here(user: User) -> None:
    prepared(user, None, {})
    async with loopback(READ, EDIT, DONE) as server:
        id = user.types("queue", "add", "buy milk").out.strip()
        await works(user, server)
        assert (await types(user, server, "approve", id)).code == 0
        twice = await types(user, server, "refuse", id)
        assert (twice.code, "it waits for a worker" in twice.err) == (2, True)
        await works(user, server)
        late = await types(user, server, "approve", id)
        assert (late.code, "it is done" in late.err) == (2, True)
        other = user.types("queue", "add", "no more").out.strip()
        assert (await types(user, server, "approve", other)).code == 2
        assert user.types("queue", "cancel", other).code == 0
    assert len(server.requests) == 3
    assert (user.here / "notes.txt").read_text() == "milk\nbread\n"


PAY = {"command": "echo paid >> paid"}
TWICE = Turn("I pay twice.", calls=(("c1", "Bash", PAY), ("c2", "Bash", PAY)))


async def test_of_two_calls_that_are_the_same_one_can_be_allowed(user: User) -> None:
    async with loopback(TWICE, DONE) as server:
        assert (await runs(user, server, "--ask", "pay")).code == 8
        assert (await runs(user, server, "--resume", "last", "--approve", "c1", "--refuse", "c2")).code == 0
    assert (user.here / "paid").read_text() == "paid\n"


async def test_calls_of_the_queue_that_are_the_same_have_one_answer(user: User) -> None:
    prepared(user, None, {})
    async with loopback(TWICE, DONE) as server:
        id = user.types("queue", "add", "pay").out.strip()
        await works(user, server)
        one = await types(user, server, "approve", id, "c1")
        assert (one.code, "c1 and c2 are the same call, and an answer is for all of them" in one.err) == (2, True)
        (digest,) = {call["digest"] for call in user.types("queue", "show", id, "--json").json["calls"]}
        assert (await types(user, server, "approve", id, digest[:8])).code == 0
        await works(user, server)
        assert user.types("queue", "show", id, "--json").json["state"] == "done"
    assert (user.here / "paid").read_text() == "paid\npaid\n"


async def test_an_answer_is_for_the_call_that_waited_and_not_for_the_same_one_later(user: User) -> None:
    once = Turn("I pay.", calls=(("c1", "Bash", PAY),))
    again = Turn("I pay again.", calls=(("c1", "Bash", PAY),))
    prepared(user, None, {})
    async with loopback(once, again, DONE) as server:
        id = user.types("queue", "add", "pay").out.strip()
        await works(user, server)
        assert (await types(user, server, "approve", id)).code == 0
        await works(user, server)
        assert user.types("queue", "show", id, "--json").json["state"] == "waiting"
    assert (user.here / "paid").read_text() == "paid\n"


async def test_a_run_of_the_queue_that_somebody_continued_by_hand_ends_in_the_queue_too(user: User) -> None:
    prepared(user, None, {})
    async with loopback(READ, EDIT, DONE) as server:
        id = user.types("queue", "add", "buy milk").out.strip()
        await works(user, server)
        assert (await types(user, server, "run", "--resume", id, "--approve", "all")).code == 0
        answer = await types(user, server, "approve", id)
        assert (answer.code, "No call of" in answer.err) == (0, True)
        await works(user, server)
        assert user.types("queue", "show", id, "--json").json["state"] == "done"
    assert len(server.requests) == 3
