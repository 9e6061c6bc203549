"""Which changes are made to a module, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import __main__ as mutate
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


THEN = """def one(a):
    return a


def two(b):
    if (
        b
    ):
        return 1
    return 2


X = 3
"""
NOW = "# new\n" + THEN.replace("return 2", "return 4")


def test_the_statement_and_the_function_around_a_line_are_found(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text(NOW)
    assert mutate._around(module, 3) == (range(3, 4), range(2, 4))
    assert mutate._around(module, 8) == (range(7, 10), range(6, 12))  # the head of an `if`
    assert mutate._around(module, 14) == (range(14, 15), range(0))


def test_a_line_that_moved_is_found_by_its_text(tmp_path: Path) -> None:
    then, now = tmp_path / "then.py", tmp_path / "now.py"
    then.write_text(THEN)
    now.write_text(NOW)
    lines = mutate._lines_then(then, now)
    assert (lines[3], lines[14]) == (2, 13)
    assert not {1, 11} & lines.keys()


def test_tests_with_a_similar_name_come_first() -> None:
    module = "src/dragoman/serve/hook/installing.py"
    tests = ["tests/logs/test_index.py", "tests/serve/test_page.py", "tests/serve/test_hook_install.py"]
    assert sorted(tests, key=lambda test: mutate._nearness(module, test)) == tests
