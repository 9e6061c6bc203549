"""Which changes are made to a module, and which are not."""

from __future__ import annotations

import pytest

from .mutations import mutations


def made(source: str) -> list[str]:
    return [one.applied(source.encode()).decode() for one in mutations(source.encode())]


@pytest.mark.parametrize(
    "source, expected",
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = (a) is not (b)", ["x = (a) is (b)"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a and b or c", ["x = a or b or c", "x = a and b and c"]),
        ("x = not a", ["x = a"]),
        ("x = True", ["x = False"]),
        ("x = 7", ["x = 8"]),
        ("x = a + b", ["x = a - b"]),
        ("if a:\n    raise b", ["if (not (a)):\n    raise b", "if a:\n    pass"]),
        ("for a in b:\n    continue", ["for a in b:\n    break"]),
        ("a.b = c", ["pass"]),
        ("é = 'é' == b", ["é = 'é' != b"]),
    ],
)
def test_each_kind_of_change(source: str, expected: list[str]) -> None:
    assert made(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "import a",
        '"""Words with 1 < 2."""',
        "x: Literal[1] | None",
        "if TYPE_CHECKING:\n    x = 1",
        "assert a < b",
        "class A(Struct, gc=False): ...",
        "x = f'{a + 1}'",
        "def f(a: Literal[1]) -> Literal[2]: ...",
    ],
)
def test_what_has_no_effect_is_left_alone(source: str) -> None:
    assert made(source) == []
