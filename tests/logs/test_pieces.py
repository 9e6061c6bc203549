"""A document of which a part is damaged: the rest of its list is found again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from dragoman.logs.base.json_ranges import pieces_of, pieces_searched
from tests.examples import examples

GOOD = b'{"id": 1, "inner": {"id": 0}}'


def elements(data: bytes) -> list[bytes] | None:
    pieces = pieces_of(data, "messages")
    return None if pieces is None else [data[start:end] for start, end in pieces.elements]


def test_the_elements_of_a_list_are_where_they_stand() -> None:
    data = b'{"a": [{"id": 9}], "messages": [' + GOOD + b" , " + GOOD + b'], "b": {"id": 3}}'
    assert elements(data) == [GOOD, GOOD]
    assert elements(b'{"messages": []}') == []
    assert elements(b'{"other": []}') is None


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"id": 2, "text": "it broke off',
        b'{"id": 2, "inner": {"other": 1}, "text": oops}',
    ],
)
def test_what_follows_a_damaged_element_is_read_and_the_damage_is_told(damaged: bytes) -> None:
    data = b'{"messages": [' + GOOD + b", " + damaged + b", " + GOOD + b"]}"
    pieces = pieces_of(data, "messages")
    assert pieces is not None
    assert [data[start:end] for start, end in pieces.elements] == [GOOD, GOOD]
    ((start, end, _),) = pieces.bad
    assert data[start:end].startswith(damaged)


def test_an_object_inside_a_damaged_element_is_not_taken_for_the_next_one() -> None:
    """It begins otherwise than the elements do."""
    inside = b'{"id": 2, "inner": {"name": "x"}, "text": oops}'
    assert elements(b'{"messages": [' + GOOD + b", " + inside + b", " + GOOD + b"]}") == [GOOD, GOOD]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "messages", "ü", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)
DOCUMENTS = st.builds(
    lambda before, listed, after, indent, escaped: json.dumps(
        {**before, "messages": listed, **after}, indent=indent, ensure_ascii=escaped
    ).encode(),
    st.dictionaries(st.sampled_from(["a", "b", "ü"]), VALUES, max_size=2),
    st.lists(VALUES, max_size=4),
    st.dictionaries(st.sampled_from(["c", "d", "messages"]), VALUES, max_size=2),
    st.sampled_from([None, 1]),
    st.booleans(),
)


@examples(200)
@given(DOCUMENTS, st.data())
def test_a_document_is_taken_apart_the_same_whether_it_is_searched_or_not(document: bytes, data: st.DataObject) -> None:
    """Whole or damaged: pieces cut out, put in, or written twice."""
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(document)))
        put = data.draw(st.sampled_from([b"", b",", b'"', b"]", b"}", b" ", b'"messages":[1],', b"\xff", b"\\u0061"]))
        document = document[:at] + put + document[at + data.draw(st.integers(0, 3)) :]
    assert pieces_of(document, "messages") == pieces_searched(document, "messages")


def test_a_name_that_comes_twice_is_no_matter() -> None:
    data = b'{"messages": [1], "messages": [1], "messages": [2, 3]}'
    assert pieces_of(data, "messages") == pieces_searched(data, "messages")
    assert elements(data) == [b"1"]
