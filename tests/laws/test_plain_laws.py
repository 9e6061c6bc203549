"""Laws of plain words: a model that reads them reads sentences, files and pages, never the JSON of our own types."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects import DIALECTS, tell
from dragoman.dialects.plugins import laws
from dragoman.model import OPERATIONS, Call, NativeResult, operations as op, outcomes as out
from tests.examples import examples
from tests.plain_values import plain_values
from tests.strategies import values

PLAIN = DIALECTS["plain"]
SPOKEN = laws.spoken(PLAIN)
OUR_OWN = [one for one in out.OUTCOMES.values() if one not in {out.TextOutcome, out.JsonOutcome, out.ContentOutcome}]
"""Outcomes whose words are ours; the others are a tool's own text or value, which may be any."""


@cache
def _calls(tag: str) -> st.SearchStrategy[Call]:
    sayable = [one for one in plain_values(OPERATIONS[tag]) if laws.sayable(PLAIN, one)]
    return st.sampled_from([PLAIN.read_call(PLAIN.write_call("1", one)[0]) for one in sayable])


OUTCOMES = st.sampled_from(OUR_OWN).flatmap(values)


@pytest.mark.parametrize("tag", SPOKEN)
@examples(40)
@given(data=st.data())
def test_no_result_is_told_as_the_json_of_an_outcome(tag: str, data: st.DataObject) -> None:
    call = data.draw(_calls(tag))
    outcome = data.draw(OUTCOMES)
    content = PLAIN.write_result(call, (outcome,)).content
    texts = [content] if isinstance(content, str) else [one for one in content if isinstance(one, str)]
    own_text = getattr(outcome, "stdout", None) or getattr(outcome, "output", None) or getattr(outcome, "answer", None)
    assert not any(text.startswith('{"type":') for text in texts) or str(own_text).startswith('{"type":')


@pytest.mark.parametrize("tag", SPOKEN)
@examples(20)
@given(data=st.data())
def test_a_result_that_was_read_back_is_told_the_same_again(tag: str, data: st.DataObject) -> None:
    call = data.draw(_calls(tag))
    outcome = data.draw(OUTCOMES)
    if isinstance(outcome, out.Failure | out.CommandOutcome | out.MatchesOutcome | out.PathsOutcome):
        return  # these have laws of their own
    once = PLAIN.write_result(call, (outcome,))
    again = PLAIN.write_result(call, PLAIN.read_result(call, once).outcomes)
    assert again.content == once.content


@examples(200)
@given(outcome=OUTCOMES)
def test_every_outcome_of_ours_has_words(outcome: out.Outcome) -> None:
    content = tell(op.Unrecognised("anything"), outcome)
    assert not isinstance(content, str) or msgspec_json(outcome) != content


def msgspec_json(outcome: out.Outcome) -> str:
    import msgspec

    try:
        return msgspec.json.encode(outcome).decode()
    except UnicodeEncodeError:  # half a character is no JSON
        return ""


LINES = st.lists(st.text("ab\t[]\r 1", max_size=6), max_size=5).map("\n".join)


@examples(200)
@given(text=LINES | LINES.map(lambda text: f"{text}\n"), first=st.integers(1, 99), truncated=st.booleans())
def test_every_numbered_line_is_in_the_file(text: str, first: int, truncated: bool) -> None:
    call = PLAIN.read_call(PLAIN.write_call("1", op.ReadFile("a"))[0])
    outcome = out.FileOutcome("a", text, first, truncated=truncated)
    told = PLAIN.write_result(call, (outcome,))
    shown = [line.partition("\t")[2] for line in str(told.content).split("\n") if not line.startswith("[")]
    assert shown == ([] if not text else text.removesuffix("\n").split("\n"))
    assert PLAIN.read_result(call, told).outcomes == (outcome,)


@examples(100)
@given(content=st.text(max_size=60), call=st.sampled_from(SPOKEN).flatmap(_calls))
def test_any_text_is_read_as_something_that_is_told_as_that_text(content: str, call: Call) -> None:
    outcomes = PLAIN.read_result(call, NativeResult("1", content)).outcomes
    if isinstance(outcomes[0], out.TextOutcome):
        assert PLAIN.write_result(call, outcomes).content == content
