"""`make test` gives the same answer every time: a law is tried with the same examples, whatever ran before it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parents[2]

DRAWN = """
import sys
import tests.conftest
from hypothesis import given, strategies as st

for name in sys.argv[1:]:
    __import__(name)

@given(st.text(), st.integers(), st.binary(), st.floats(), st.sets(st.text(max_size=2)))
def law(text, number, data, ratio, names):
    print(ascii([text, number, data, ratio, sorted(names)]))

law()
"""


def drawn(hash_seed: int, *imported: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {
        "PYTHONHASHSEED": str(hash_seed)
    }
    command = [sys.executable, "-c", DRAWN, *imported]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_examples_of_a_law_depend_neither_on_chance_nor_on_what_ran_before_it() -> None:
    examples = drawn(1)
    assert examples.count("\n") == settings.get_profile("fixed").max_examples
    assert drawn(2, "dragoman.cli", "dragoman.logs", "dragoman.dialects.claude_code") == examples
