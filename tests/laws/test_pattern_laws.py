"""Patterns of strangers: the automaton finds what `re` finds, for every expression both can match."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, example, given, strategies as st

from dragoman.errors import PatternError
from dragoman.patterns import Pattern
from tests.examples import examples

_CHARACTERS = ("a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", r"\d", r"[^\d\n]", "\n", "_", "A", "É")
_FLAGGED = ("(?i:a)", "(?s:.)", "(?i:[A-B])", "(?-i:a)", "(?m:$)", "(?m:^)")
_PLACES = ("^", "$", r"\b", r"\B", r"\A", r"\Z")
_ONE = st.sampled_from((*_CHARACTERS, *_FLAGGED, *_PLACES))
_TIMES = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner | st.just("")).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, _TIMES).map(lambda two: f"({two[0]}){two[1]}"),
        st.tuples(inner, st.sampled_from("=!")).map(lambda two: f"(?{two[1]}{two[0]})"),
    )


EXPRESSIONS = st.tuples(
    st.sampled_from(["", "(?m)", "(?i)", "(?a)", "(?s)"]), st.recursive(_ONE, _larger, max_leaves=6)
).map("".join)
TEXTS = st.text("aab\nAB_ é1", max_size=8)


@examples(600)
@given(pattern=EXPRESSIONS, text=TEXTS)
@example(pattern=r"(a|)*b", text="ab")
@example(pattern=r"(?:|a)*b", text="ab")
@example(pattern=r"((a*)*)*b", text="aab")
@example(pattern=r"(?:(?=a)|b)*a", text="ba")
@example(pattern=r"\B", text="")
@example(pattern="a$", text="a\n")
def test_the_automaton_finds_what_python_finds(pattern: str, text: str) -> None:
    wanted = [found.span() for found in re.finditer(pattern, text)]
    ours = Pattern(pattern)
    ours._quick = -1  # the automaton alone, however short the text
    assert ours.search(text) is bool(wanted)
    # `re` looks for a longer match where it has found an empty one; we look on from the next character.
    assume(len({begin for begin, _ in wanted}) == len(wanted))
    assert ours.spans(text) == tuple(span for span in wanted if span[0] < span[1])


@examples(300)
@given(pattern=st.text("ab(|)*+?{}[^]$.\\1,2<>=!:Pi", max_size=25), text=TEXTS)
@example(pattern="(" * 2000, text="")
@example(pattern="(" * 2000 + ")" * 2000, text="")
@example(pattern="a{99999999999}", text="")
@example(pattern="(?i)" + "[\\0-\\uffff]" * 300, text="a")
@example(pattern="((a{1000}){1000}){1000}", text="a")
@example(pattern="a" * 10_001, text="a")
@example(pattern=r"(a+)+\1$", text="a" * 5000)
@example(pattern=r"(?<=(a|a))" * 20 + "b", text="a" * 500)
def test_any_text_is_a_pattern_that_is_matched_or_a_typed_error_that_names_it(pattern: str, text: str) -> None:
    found, named = _searched(pattern, text)
    assert named == (pattern[:1000] if found is None else None)
    if found is not None:
        with warnings.catch_warnings(action="ignore"):
            assert found is (re.search(pattern, text) is not None)


def _searched(pattern: str, text: str) -> tuple[bool | None, str | None]:
    try:
        return Pattern(pattern).search(text), None
    except PatternError as error:
        return None, error.details["pattern"]


@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"(a)b", "x+y", "foo|bar"])
def test_texts_are_searched_by_re_itself_where_it_has_few_ways_to_try(pattern: str) -> None:
    ours = Pattern(pattern)
    assert ours.spans("foo ab xxy " * 10) == tuple(found.span() for found in re.finditer(pattern, "foo ab xxy " * 10))
    assert ours._automaton is None


@pytest.mark.parametrize(
    "pattern", [r"\A\n", r"\n\Z", r"\A.", r".\Z", r"x*", r"(?m)^b", r"(?m)a$", r"a$", r"^b", r"(?m)\A\n|^b"]
)
def test_ends_of_text_and_of_lines_are_where_python_has_them_in_texts_of_any_length(pattern: str) -> None:
    for text in ("", "ab", "a\nb", "a\nb\n", "a" * 3000 + "\n" + "b" * 3000 + "\n", "a" * 6000 + "\nb"):
        matches = [found.span() for found in re.finditer(pattern, text) if found.end() > found.start()]
        slow = Pattern(pattern)._linear(text)  # the way that long texts take
        assert list(Pattern(pattern).spans(text)) == list(slow.spans(text)) == matches
        assert slow.matches(text) == (re.search(pattern, text) is not None)
