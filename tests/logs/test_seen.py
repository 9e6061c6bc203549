"""Which of very many things were seen: what a set says, in less memory."""

from __future__ import annotations

from hypothesis import given, strategies as st

from dragoman.logs import seen
from dragoman.logs.seen import Seen

THINGS = st.one_of(
    st.integers(), st.integers(0, 3).map(lambda n: n << 12), st.text(max_size=3), st.tuples(st.integers())
)


@given(st.lists(THINGS, max_size=60), st.lists(THINGS, max_size=5))
def test_it_says_what_a_set_of_hashes_says(things: list[object], others: list[object]) -> None:
    some, known = Seen(), set[int]()
    for thing in things:
        number = hash(thing) or 1
        assert some.add(thing) == (number not in known)
        known.add(number)
    assert [one in some for one in (*things, *others)] == [(hash(one) or 1) in known for one in (*things, *others)]


def test_it_grows_and_keeps_what_it_has() -> None:
    some, count = Seen(), 5 * seen._FIRST
    assert all(some.add((number, number)) for number in range(count))
    assert not any(some.add((number, number)) for number in range(count))
    assert (count, 0) not in some
    assert some._table.itemsize * len(some._table) <= 16 * count * 1.3
