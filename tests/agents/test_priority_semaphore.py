"""Places to work at."""

from __future__ import annotations

import asyncio

from dragoman.agents.priority_semaphore import PrioritySemaphore


async def test_the_most_urgent_of_those_who_wait_has_the_place_first_and_equals_in_order() -> None:
    slots = PrioritySemaphore(1)
    await slots.take()
    order: list[str] = []

    async def work(name: str, priority: int) -> None:
        await slots.take(priority)
        order.append(name)
        slots.give()

    tasks = [asyncio.create_task(work(name, priority)) for name, priority in (("a", 2), ("b", 1), ("c", 1), ("d", 0))]
    await asyncio.sleep(0)
    slots.give()
    await asyncio.gather(*tasks)
    assert order == ["d", "b", "c", "a"]
    assert slots.free == 1


async def test_who_is_cancelled_while_waiting_holds_no_place() -> None:
    slots = PrioritySemaphore(1)
    await slots.take()
    waiting = [asyncio.create_task(slots.take()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    slots.give()
    await waiting[1]
    slots.give()
    await waiting[2]
    slots.give()
    assert slots.free == 1


async def test_a_place_that_was_given_and_taken_away_in_the_same_moment_goes_to_the_next() -> None:
    slots = PrioritySemaphore(1)
    await slots.take()
    first, second = (asyncio.create_task(slots.take()) for _ in range(2))
    await asyncio.sleep(0)
    slots.give()
    first.cancel()
    await asyncio.wait([first])
    await second
    assert slots.free == 0
    slots.give()
    assert slots.free == 1
