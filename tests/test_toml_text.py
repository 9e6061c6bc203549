"""TOML with the line of each key: the same places as `tomllib` gives, in time that grows with the text."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.config.files import read_toml
from dragoman.config.files.toml_text import MOST_PARTS, TextPlace

TEXT = '''\
# a comment with a.b = 1
name = "x"
"quoted key" = 1
[server]
address.host = "a"
text = """
inside = 1
[not.a.header]
"""
after = 'the string'
[[tools]]
name = "one"
inline = {a = 1, b.c = 2}
[tools.sub]
x = [
  1,
]
[[tools]]
name = "two"
[[tools.parts]]
id = 1
[[tools.parts]]
id = 2
'''


def test_each_key_has_the_line_it_is_written_on() -> None:
    _, lines = read_toml(TEXT)
    assert lines == {
        ("name",): 2,
        ("quoted key",): 3,
        ("server",): 4,
        ("server", "address", "host"): 5,
        ("server", "text"): 6,
        ("server", "after"): 10,
        ("tools", 0): 11,
        ("tools", 0, "name"): 12,
        ("tools", 0, "inline"): 13,
        ("tools", 0, "sub"): 14,
        ("tools", 0, "sub", "x"): 15,
        ("tools", 1): 18,
        ("tools", 1, "name"): 19,
        ("tools", 1, "parts", 0): 20,
        ("tools", 1, "parts", 0, "id"): 21,
        ("tools", 1, "parts", 1): 22,
        ("tools", 1, "parts", 1, "id"): 23,
    }


def test_every_place_with_a_line_holds_a_value() -> None:
    data, lines = read_toml(TEXT)
    for place in lines:
        assert _value_at(data, place) is not None, place


def _value_at(data: Any, place: TextPlace) -> Any:
    for part in place:
        data = data[part]
    return data


@pytest.mark.parametrize(
    "text",
    [
        'a = "' + "." * 1000 + '"',
        "a = '" + "." * 1000 + "'",
        'a = """\n' + "." * 1000 + '"""',
        "a = '''\n" + "." * 1000 + "'''",
        "a = 1 # " + "." * 1000,
        "\n".join(f"k{number}.a.b = 1.5" for number in range(1000)),
        "a." * MOST_PARTS + "a = 1",
    ],
)
def test_dots_that_are_no_long_key_are_read(text: str) -> None:
    read_toml(text)


@pytest.mark.parametrize(
    "text",
    [
        "a." * 60_000 + "a = 1",
        "[" + "a." * 60_000 + "a]",
        "x = {" + "a." * 60_000 + "a = 1}",
        '"""\\' * 60_000,
        "'''" + "'" * 120_000,
        '"' * 120_001,
        "\\" * 120_000,
        '"""' + "\\" * 120_001,
    ],
)
def test_a_hostile_text_is_refused(text: str) -> None:
    """Read in time that grows with the square of their length, these would take minutes each."""
    with pytest.raises(ValueError, match=r"line \d|end of document"):
        read_toml(text)
