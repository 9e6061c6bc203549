"""A document of which a part is damaged: the rest of its list is found again."""

from __future__ import annotations

import pytest

from dragoman.logs.base.json_ranges import pieces_of

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
