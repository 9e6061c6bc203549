"""Which lines of a printed search belong to which match."""

from __future__ import annotations

from hypothesis import given, strategies as st

from dragoman.dialects.base.match_lines import MatchLine, lines_of, matches_in
from dragoman.model import outcomes as out


def line(number: int | None, text: str, *, matched: bool = False, path: str = "a") -> MatchLine:
    return MatchLine(path, number, matched, text)


def test_a_line_that_follows_a_match_is_its_own_and_any_other_leads_to_the_next() -> None:
    shown = [
        line(1, "before"),
        line(2, "one", matched=True),
        line(3, "after"),
        line(7, "leads"),
        line(8, "two", matched=True),
    ]
    assert matches_in(shown) == (
        out.Match("a", 2, "one", ("before",), ("after",)),
        out.Match("a", 8, "two", ("leads",)),
    )


def test_no_more_lines_follow_a_match_than_were_asked_for() -> None:
    shown = [line(1, "one", matched=True), line(2, "after"), line(3, "leads"), line(4, "two", matched=True)]
    assert matches_in(shown, 1) == (
        out.Match("a", 1, "one", (), ("after",)),
        out.Match("a", 4, "two", ("leads",)),
    )


def test_a_separator_and_another_file_end_what_belongs_to_a_match() -> None:
    shown = [
        line(1, "one", matched=True),
        None,
        line(2, "leads"),
        line(3, "two", matched=True),
        line(4, "alone", path="b"),
        line(4, "three", matched=True, path="c"),
    ]
    assert matches_in(shown) == (
        out.Match("a", 1, "one"),
        out.Match("a", 3, "two", ("leads",)),
        out.Match("c", 4, "three"),
    )


def test_lines_around_no_match_are_no_matches() -> None:
    assert matches_in([line(1, "x")]) is None
    assert matches_in([]) == ()


texts = st.text(st.characters(exclude_characters="\n"), max_size=3)
matches = st.builds(
    out.Match,
    st.sampled_from(["a", "b"]),
    st.integers(10, 99),
    texts,
    st.lists(texts, max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
)


@given(st.lists(matches, max_size=4))
def test_matches_are_read_from_their_own_lines(found: list[out.Match]) -> None:
    shown = [one for match in found for one in (None, *lines_of(match))]
    assert matches_in(shown) == (tuple(found) if found else ())
