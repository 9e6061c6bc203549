from __future__ import annotations

from typing import Any

import pytest

from dragoman.model.json_text import json_text


def test_half_a_character_and_a_number_beyond_64_bits_are_written() -> None:
    assert json_text({"a": [2**70, "é"]}) == '{"a":[1180591620717411303424,"é"]}'
    assert json_text({"a": ["\ud800", 2**70, "é"]}) == '{"a":["\\ud800",1180591620717411303424,"\\u00e9"]}'


def test_a_value_that_is_nested_too_deeply_is_replaced_where_that_is_asked_for() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert json_text(deep, too_deep="null") == "null"
    with pytest.raises(RecursionError):
        json_text(deep)
