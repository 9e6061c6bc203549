"""The targets of `make fuzz` hold for their examples and first cases, and `make fuzz` reports one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from .smaller import smaller
from .targets import SUBJECTS

ROOT = Path(__file__).parents[2]
SEED = 1
CASES = 12


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.slow
def test_every_target_holds_for_its_examples_and_its_first_cases(subject: str) -> None:
    for target in import_module(f"tests.fuzz.{subject}").TARGETS:
        for value in [*target.examples, *(target.case(SEED, number) for number in range(CASES))]:
            target.check(value)


def test_a_case_is_the_same_in_every_process() -> None:
    code = "from tests.fuzz.apis import TARGETS; print(ascii([t.case(7, n) for t in TARGETS for n in range(20)]))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(seen) == 1


def fuzz(check: str, **variables: str) -> tuple[int, str]:
    """What `make fuzz` says when its only target checks numbers in this way."""
    code = (
        "import os, sys, time\n"
        "from tests.fuzz import __main__ as program, running\n"
        "from tests.fuzz.target import Target\n"
        "running.CASE_SECONDS = 1.0\n"
        f"def check(number):\n    {check}\n"
        "program.all_targets = lambda: {'numbers': Target('numbers', lambda draw: [draw.randrange(100)], check)}\n"
        "sys.exit(program.main())\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("SEED", "CASE")}
    environment |= {"TARGET": "numbers", "FUZZ_SECONDS": "0.3", "SEED": "5", **variables}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_target_that_holds_is_counted() -> None:
    status, told = fuzz("pass", CASE="0-299")
    assert status == 0
    assert told.startswith("fuzz: seed 5,")
    assert "numbers                300 cases" in told


def test_a_case_that_fails_is_told_with_its_number_and_fails_again_alone() -> None:
    status, told = fuzz("assert not [one for one in number if one > 90], 'too large'")
    assert status == 1
    assert "AssertionError: too large" in told
    again = told.partition("again: make fuzz TARGET=numbers SEED=5 CASE=")[2].split()[0]
    assert fuzz("assert not [one for one in number if one > 90], 'too large'", CASE=again)[0] == 1
    assert fuzz("assert not [one for one in number if one > 99], 'too large'", CASE=again)[0] == 0


@pytest.mark.parametrize(
    "check, told",
    [
        ("x = [0] * (6 * 10**7)", "more memory"),
        ("x = b'x' * 2**40", "MemoryError"),
        ("while True: pass", "seconds of processor time"),
        ("os.kill(os.getpid(), 9)", "the process ended with -9"),
        ("os._exit(3)", "the process ended with 3"),
        ("raise RecursionError", "RecursionError"),
    ],
)
@pytest.mark.slow
def test_a_case_that_takes_too_much_or_ends_the_process_is_told(check: str, told: str) -> None:
    status, output = fuzz(check, CASE="3")
    assert status == 1
    assert told in output
    assert "SEED=5 CASE=3" in output


def test_an_unknown_target_is_refused() -> None:
    status, told = fuzz("pass", TARGET="nubmers")
    assert status == 2
    assert "there is no target nubmers" in told


def test_a_failing_input_is_made_smaller() -> None:
    value = ("kept", {"a": [1, "long text with x in it", 3], "b": {"c": 2.5}}, b"bytes")
    found = smaller(value, lambda one: one[0] == "kept" and "x" in str(one[1]))
    assert found == ("kept", {"a": ["x"]}, b"")
