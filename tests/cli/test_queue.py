"""`dragoman queue`, `worker`, `approve` and `refuse`, with real processes and a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.engine.loopback import Loopback, loopback

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
