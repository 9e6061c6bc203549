"""Laws about the brand by which the processes of a command are known."""

from __future__ import annotations

from hypothesis import given, strategies as st

from dragoman.tools.processes.supervisor import brand_below

Brand = tuple[int, int]


NO_LIMITS: Brand = (1 << 62, 1 << 62)
chances = st.integers(0, (1 << 64) - 1)


def leads_to(brand: Brand, other: Brand) -> bool:
    """Whether a process with one brand could lower its limits to another."""
    return other[0] <= brand[0] and other[1] <= brand[1]


@given(st.lists(chances, max_size=2), chances, chances)
def test_lowering_limits_never_leads_from_one_command_to_another(above: list[int], one: int, other: int) -> None:
    own = NO_LIMITS
    for chance in above:
        own = given_below(own, chance)
    first, second = given_below(own, one), given_below(own, other)
    assert leads_to(own, first)
    assert leads_to(own, second)
    assert leads_to(first, second) == (first == second)


def test_limits_that_something_else_uses_are_left_alone() -> None:
    assert brand_below((1 << 62, 8_000_000_000), 7) is None
    deep = given_below(given_below(given_below(NO_LIMITS, 1), 2), 3)
    assert brand_below(deep, 4) is None


def given_below(own: Brand, chance: int) -> Brand:
    brand = brand_below(own, chance)
    assert brand is not None
    return brand
