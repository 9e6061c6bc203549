"""The laws of the tests (Hypothesis) with random examples: a pytest plugin that runs nothing else, for a given time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
NAME = "laws"
ELSEWHERE = ("attack", "conformance", "fuzz")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    laws = [item for item in items if getattr(getattr(item, "obj", None), "is_hypothesis_test", False)]
    Random(os.environ["FUZZ_LAWS_SEED"]).shuffle(laws)
    items[:] = laws


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Passes over what is left when the time is over."""
    return True if time.time() >= float(os.environ["FUZZ_LAWS_END"]) else None


def files() -> list[str]:
    """The files of `make test` that hold laws: to collect all of them takes longer than many laws."""
    kept = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if path.parent.name not in ELSEWHERE]
    return [str(path) for path in kept if "hypothesis" in path.read_text(encoding="utf-8")]


def start(seed: int, seconds: float, chosen: str, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """The laws with a seed, for so many seconds; `chosen` names a test or a folder of them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fuzz.laws", "-p", "no:cacheprovider", "--maxfail=5"]
    command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *([chosen] if chosen else files())]
    environment = os.environ | {"FUZZ_LAWS_SEED": str(seed), "FUZZ_LAWS_END": str(time.time() + seconds)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)


def counted(output: str) -> str:
    """The line of pytest that counts the laws; extension modules may print behind it as they end (duckdb 2.0.0)."""
    lines = output.splitlines()
    return next(
        (line for line in reversed(lines) if " passed" in line or " ran in " in line), lines[-1] if lines else ""
    )
