"""What holds of the queue in every database: the tests of each database call these."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dragoman.errors import ConfigError, StorageError
from dragoman.fleet import Calendar, Decision, Entry, Queue

Opened = Callable[[], Queue]


def taken(queue: Queue, worker: str = "w") -> list[str]:
    """The tasks that are due, in the order in which they are given out."""
    found: list[str] = []
    while (entry := queue.take(worker)) is not None:
        found.append(entry.task)
    return found


def held(queue: Queue, worker: str = "w") -> Entry:
    entry = queue.take(worker)
    assert entry is not None
    return entry


def gives_out_what_is_due_by_priority_and_age(opened: Opened) -> None:
    queue = opened()
    for task, priority, after in (("a", 0, 0), ("b", 5, 0), ("c", 0, 0), ("later", 9, 3600), ("d", -1, 0), ("e", 5, 0)):
        queue.add(task, priority=priority, after=after)
    assert taken(queue) == ["b", "e", "a", "c", "d"]
    (later,) = queue.entries(("queued",))
    assert (later.task, later.start_at - later.added) == ("later", pytest.approx(3600, abs=5))
    assert queue.retry(later.id)
    assert taken(queue) == ["later"]


def gives_each_entry_to_one_worker(opened: Opened) -> None:
    queue = opened()
    tasks = sorted(f"task {number}" for number in range(40))
    for task in tasks:
        queue.add(task)
    given: list[list[str]] = [[] for _ in range(4)]
    queues = [opened() for _ in given]
    threads = [
        threading.Thread(target=lambda n=n: given[n].extend(taken(queues[n], f"worker {n}"))) for n in range(len(given))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(task for tasks_of_one in given for task in tasks_of_one) == tasks


def adds_what_comes_back_each_time_it_begins(opened: Opened) -> None:
    queue = opened()
    queue.add("again", folder="f", priority=3, every=3600)
    first = held(queue)
    assert queue.take("w") is None
    (following,) = queue.entries(("queued",))
    assert (following.task, following.folder, following.priority, following.every) == ("again", "f", 3, 3600)
    assert following.start_at - first.start_at == pytest.approx(3600, abs=1)
    assert queue.end(first, "failed")
    assert queue.retry(first.id)  # trying it again is not another time
    held(queue)
    assert len(queue.entries()) == 2


def hears_only_the_worker_that_has_an_entry(opened: Opened) -> None:
    queue = opened()
    queue.beat("alive")
    queue.add("one")
    queue.add("two")
    lost, kept = held(queue, "dead"), held(queue, "alive")
    assert [entry.id for entry in queue.take_over(1000.0, 5)] == [lost.id]
    again = held(queue, "alive")
    assert (again.id, again.attempts) == (lost.id, 2)
    assert not queue.still_taken(lost)
    assert not queue.end(lost, "failed", "too late")
    assert queue.still_taken(again)
    assert queue.end(again, "done")
    assert queue.end(kept, "done")
    assert [entry.state for entry in queue.entries()] == ["done", "done"]


def fails_what_its_workers_die_of(opened: Opened) -> None:
    queue = opened()
    queue.add("deadly")
    for _ in range(2):
        held(queue, "dead")
        assert len(queue.take_over(1000.0, 3)) == 1
    held(queue, "dead")
    assert queue.take_over(1000.0, 3) == []
    (entry,) = queue.entries()
    assert (entry.state, entry.message) == ("failed", "its worker died, 3 times")
    assert queue.retry(entry.id)
    assert held(queue).attempts == 1


def takes_a_cancelled_entry_from_its_worker(opened: Opened) -> None:
    queue = opened()
    queue.add("one")
    entry = held(queue)
    assert queue.cancel(entry.id)
    assert not queue.still_taken(entry)
    assert not queue.end(entry, "done")
    assert not queue.cancel(entry.id)
    assert queue.entry(entry.id).state == "cancelled"
    assert queue.take("w") is None


def keeps_decisions_until_the_run_has_gone_on(opened: Opened) -> None:
    queue = opened()
    queue.add("one")
    entry = held(queue, "dead")
    assert queue.end(entry, "waiting")
    yes, no = Decision("approve", "d1" * 16), Decision("refuse", "d2" * 16)
    waiting = (yes.call, no.call)
    first = queue.decide(entry.id, (yes,), waiting=waiting)
    assert first is not None
    assert (first.state, first.decisions) == ("waiting", (yes,))
    assert queue.take("w") is None
    both = queue.decide(entry.id, (no,), waiting=waiting)
    assert both is not None
    assert (both.state, both.decisions) == ("queued", (yes, no))
    assert queue.decide(entry.id, (no,), waiting=waiting) is None  # it has been answered
    assert held(queue, "dead").decisions == (yes, no)
    queue.take_over(1000.0, 5)
    again = held(queue)
    assert again.decisions == (yes, no)
    assert queue.end(again, "waiting")
    assert queue.entry(entry.id).decisions == ()
    assert queue.decide("none", (yes,), waiting=()) is None


def loses_no_answer_of_many_who_answer_at_once(opened: Opened) -> None:
    queue = opened()
    queue.add("one")
    entry = held(queue)
    assert queue.end(entry, "waiting")
    answers = [Decision("approve" if one % 2 else "refuse", f"{one:032x}") for one in range(8)]
    waiting = [one.call for one in answers]
    states: list[str] = []
    begin = threading.Barrier(len(answers))

    def answer(decision: Decision) -> None:
        mine = opened()
        begin.wait()
        known = mine.decide(entry.id, (decision,), waiting=waiting)
        assert known is not None
        states.append(known.state)

    threads = [threading.Thread(target=answer, args=(one,)) for one in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(states) == ["queued"] + ["waiting"] * 7
    assert sorted(held(queue).decisions) == sorted(answers)


def lets_a_later_answer_replace_an_earlier_one_while_others_are_awaited(opened: Opened) -> None:
    queue = opened()
    queue.add("one")
    entry = held(queue)
    assert queue.end(entry, "waiting")
    waiting = ("a" * 32, "b" * 32)
    for verdict in ("approve", "refuse"):
        queue.decide(entry.id, (Decision(verdict, waiting[0]),), waiting=waiting)
    assert queue.entry(entry.id).decisions == (Decision("refuse", waiting[0]),)


def finds_an_entry_by_the_beginning_of_its_id(opened: Opened) -> None:
    queue = opened()
    with pytest.raises(ConfigError, match="the queue is empty"):
        queue.entry("a")
    entry = queue.add("one ? % _")
    assert queue.entry(entry.id[:6]) == entry
    for wanted in ("", "%", "_", "!", "zz"):
        with pytest.raises(ConfigError, match=f"the last ones are {entry.id[:8]}"):
            queue.entry(wanted)


def adds_what_a_calendar_says_for_the_next_time_it_has(opened: Opened) -> None:
    queue = opened()
    calendar = Calendar("0 9 * * *", "UTC")
    first = queue.add("again", priority=2, calendar=calendar)
    assert first.start_at == calendar.after(first.added)
    assert queue.take("w") is None
    assert queue.retry(first.id)  # it is begun before its time
    begun = held(queue)
    (following,) = queue.entries(("queued",))
    assert (following.task, following.priority, following.cron, following.zone) == ("again", 2, "0 9 * * *", "UTC")
    assert following.start_at == calendar.after(begun.start_at)
    assert (queue.entry(first.id).cron, queue.add("once", at=1.0).start_at) == (None, 1.0)


def gives_what_somebody_should_be_told_of_to_one_worker_until_it_is_told(opened: Opened) -> None:
    queue = opened()
    queue.beat("w")
    for task in ("told", "late", "answered", "silent", "ended"):
        queue.add(task)
    taken_now = {entry.task: entry for entry in (held(queue) for _ in range(5))}
    for task, state in (("told", "waiting"), ("late", "waiting"), ("answered", "waiting"), ("ended", "done")):
        assert queue.end(taken_now[task], state, telling=-1.0)  # type: ignore[arg-type]
    assert queue.end(taken_now["silent"], "waiting")
    queue.mark_notified(taken_now["told"].id)
    assert queue.decide(taken_now["answered"].id, (), waiting=())
    other = opened()
    assert [entry.task for entry in other.to_tell(1000.0, -1.0)] == ["late"]  # what has ended is given up
    assert queue.to_tell(1000.0, 1000.0) == []
    queue.add("deadly")
    held(queue, "dead")
    held(queue, "dead")
    queue.take_over(1000.0, 1, telling=True)
    assert sorted((entry.task, entry.state) for entry in queue.to_tell(1000.0, 1000.0)) == [
        ("answered", "failed"),
        ("deadly", "failed"),
    ]


def goes_on_when_the_clock_is_put_back(opened: Opened) -> None:
    """Everything that was written is a day ahead of the clock then; what has a time of its own keeps it."""
    queue = opened()
    queue.add("at once")
    queue.add("later", after=3600.0)
    for task in ("left", "told"):
        queue.add(task, priority=1)
        held(queue, "dead")
        queue.beat("dead")
    assert queue.end(queue.entries(("running",))[0], "waiting", telling=100.0)
    assert queue.to_tell(100.0, 1000.0) == queue.take_over(1000.0, 3) == []
    for column in ("added", "start_at", "changed", "tell_at"):
        queue._database.execute(f"UPDATE dragoman_queue SET {column} = {column} + 86400")
    queue._database.execute("UPDATE dragoman_workers SET seen = seen + 86400")
    assert len(queue.to_tell(100.0, 1000.0)) == len(queue.take_over(1000.0, 3)) == 1
    assert len(taken(queue)) == 2
    assert [entry.task for entry in queue.entries(("queued",))] == ["later"]


def keeps_what_a_program_said_whatever_it_is(opened: Opened) -> None:
    queue = opened()
    queue.add("one")
    assert queue.end(held(queue), "failed", "a\0b \udcff")
    assert [entry.message for entry in queue.entries()] == ["a\ufffdb ?"]


FIRST_LAYOUT = (
    "CREATE TABLE dragoman_queue (id TEXT PRIMARY KEY, task TEXT NOT NULL, folder TEXT NOT NULL, "
    "state TEXT NOT NULL, priority INTEGER NOT NULL, added DOUBLE PRECISION NOT NULL, "
    "start_at DOUBLE PRECISION NOT NULL, every DOUBLE PRECISION, attempts INTEGER NOT NULL, worker TEXT, "
    "decisions TEXT NOT NULL, message TEXT NOT NULL, changed DOUBLE PRECISION NOT NULL)"
)
"""The table as the first version with a queue made it."""


def keeps_the_entries_of_the_first_layout(opened: Opened) -> None:
    database = opened()._database
    database.execute("DROP TABLE dragoman_queue")
    database.execute(FIRST_LAYOUT)
    database.execute(
        "INSERT INTO dragoman_queue VALUES (?, 'old', '', 'queued', 0, 1.0, 0.0, NULL, 0, NULL, '[]', '', 1.0)",
        "0" * 32,
    )
    queues: list[Queue] = []
    together = [threading.Thread(target=lambda: queues.append(opened())) for _ in range(4)]
    for one in together:
        one.start()
    for one in together:
        one.join()
    assert len(queues) == 4
    queues[0].add("new", calendar=Calendar("@daily", "UTC"))
    assert [(entry.task, entry.cron) for entry in queues[1].entries()] == [("new", "@daily"), ("old", None)]
    assert taken(queues[2]) == ["old"]


def says_that_a_table_is_of_something_else(opened: Opened) -> None:
    database = opened()._database
    database.execute("DROP TABLE dragoman_queue")
    database.execute("CREATE TABLE dragoman_queue (state TEXT, priority TEXT, added TEXT, id TEXT)")
    try:
        with pytest.raises(StorageError, match="rename the table dragoman_queue"):
            opened()
    finally:
        database.execute("DROP TABLE dragoman_queue")


LAWS = [
    keeps_the_entries_of_the_first_layout,
    says_that_a_table_is_of_something_else,
    gives_out_what_is_due_by_priority_and_age,
    gives_each_entry_to_one_worker,
    adds_what_comes_back_each_time_it_begins,
    hears_only_the_worker_that_has_an_entry,
    fails_what_its_workers_die_of,
    takes_a_cancelled_entry_from_its_worker,
    keeps_decisions_until_the_run_has_gone_on,
    loses_no_answer_of_many_who_answer_at_once,
    lets_a_later_answer_replace_an_earlier_one_while_others_are_awaited,
    finds_an_entry_by_the_beginning_of_its_id,
    adds_what_a_calendar_says_for_the_next_time_it_has,
    gives_what_somebody_should_be_told_of_to_one_worker_until_it_is_told,
    goes_on_when_the_clock_is_put_back,
    keeps_what_a_program_said_whatever_it_is,
]
