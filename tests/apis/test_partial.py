"""The view of JSON that is still arriving."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from dragoman.apis.base.partial import PartialJson
from tests.strategies import JSON


def fed(*pieces: str) -> PartialJson:
    view = PartialJson()
    for piece in pieces:
        view.feed(piece)
    return view


@pytest.mark.parametrize(
    "text, value",
    [
        ("", None),
        ("{", {}),
        ('{"a', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a":"', {"a": ""}),
        ('{"a":"b\\', {"a": "b"}),
        ('{"a":"b\\u00', {"a": "b"}),
        ('{"a":"b\\u00e9', {"a": "bé"}),
        ('{"a":"\\ud83d', {"a": ""}),
        ('{"a":"\\ud83d\\ude00', {"a": "😀"}),
        ('{"a":12', {}),
        ('{"a":12,', {"a": 12}),
        ('{"a":tru', {}),
        ('{"a":true', {"a": True}),
        ('{"a":[1,"x', {"a": [1, "x"]}),
        ('{"a":{"b":null}', {"a": {"b": None}}),
        (" [ 1 , 2.5e3 ,", [1, 2500.0]),
        ('"text', "text"),
    ],
)
def test_the_view_holds_what_is_certain(text: str, value: Any) -> None:
    assert fed(text).value == value
    assert fed(*text).value == value


@pytest.mark.parametrize("text", ["{a", "[1 2", "[}", '{"a" 1', "tru3", "01", "-x", '{"a":1}}', "[1,]", "+1", '"a"b'])
def test_what_is_no_json_stops_the_view(text: str) -> None:
    assert fed(text, " ").broken
    assert fed(*text, " ").broken
    assert not fed(text, " ").complete


def test_a_number_longer_than_any_is_not_waited_for() -> None:
    view = fed("[" + "1" * 5000)
    assert view.broken
    assert view.value == []


@given(JSON, st.booleans(), st.sampled_from([None, 2]), st.lists(st.integers(min_value=0), max_size=8))
def test_any_cut_ends_in_the_same_value(value: Any, ascii: bool, indent: int | None, cuts: list[int]) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    view = fed(*(text[begin:end] for begin, end in itertools.pairwise(places)), " ")
    assert view.complete
    assert view.value == json.loads(text)


@given(
    st.lists(JSON, min_size=1),
    st.sampled_from([None, 2]),
    st.lists(st.integers(min_value=0), max_size=8),
    st.none()
    | st.tuples(st.integers(min_value=0), st.sampled_from(["", *',:{}[]"x\\', "\x01", "NaN", "1" * 4300 + ".5"])),
)
@example([[{}], [{"a": 1}]] * 9, None, [], None)  # a comma behind the list that is being read
@example(["},", {"b": "],["}] * 9, None, [100], None)  # commas in texts
@example([[1]] * 9, None, [], (11, "NaN"))
@example([[1]] * 9, None, [], (11, "1" * 4300 + ".5"))
def test_a_view_is_the_same_however_long_the_pieces_are(
    rows: list[Any], indent: int | None, cuts: list[int], damage: tuple[int, str] | None
) -> None:
    """Long pieces are read by the container, single characters by the token."""
    text = json.dumps({"rows": rows * 8}, indent=indent)
    if damage is not None:
        place = damage[0] % len(text)
        text = f"{text[:place]}{damage[1]}{text[place + 1 :]}"
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    view, reference = PartialJson(), PartialJson()
    for begin, end in itertools.pairwise(places):
        view.feed(text[begin:end])
        for character in text[begin:end]:
            reference.feed(character)
        assert (view.value, view.broken, view.complete) == (reference.value, reference.broken, reference.complete)


@given(JSON, st.data())
def test_a_view_never_takes_anything_back(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    end = data.draw(st.integers(min_value=0, max_value=len(text)))
    early = json.loads(json.dumps(fed(text[:end]).value))
    assert _begins(early, json.loads(text)), (early, value)


def _begins(early: Any, late: Any) -> bool:
    if early is None:
        return True
    if isinstance(early, dict):
        return isinstance(late, dict) and all(key in late and _begins(early[key], late[key]) for key in early)
    if isinstance(early, list):
        return isinstance(late, list) and all(_begins(*pair) for pair in zip(early, late, strict=False))
    return late.startswith(early) if isinstance(early, str) else bool(early == late)
