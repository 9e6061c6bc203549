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


SHOWN = """
import os

def test_shown():
    print(sorted(os.environ))
"""


def test_the_environment_of_whoever_runs_the_tests_does_not_reach_them(tmp_path: Path) -> None:
    (tmp_path / "test_shown.py").write_text(SHOWN)
    strange = {"OPENAI_API_KEY": "k", "HTTPS_PROXY": "http://127.0.0.1:9", "DRAGOMAN_MODEL": "m", "COLUMNS": "20"}
    command = [sys.executable, "-m", "pytest", "-qs", "-p", "tests.conftest", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | strange, capture_output=True, text=True)
    assert done.returncode == 0
    assert "'PATH'" in done.stdout
    assert [name for name in strange if f"'{name}'" in done.stdout] == []
