"""`make mutate`: random mutants of the changed modules, and which of them the tests notice.

BASE=<commit>: the modules that differ from it (default: those the last 30 commits changed).
FILES="src/dragoman/patterns.py …": these modules instead. SEED=<number>: the same mutants again.
MUTANTS=100: how many. MUTATE_SECONDS=3600: no mutant is begun after that time.
MUTANT_SECONDS=240: a mutant whose tests take longer counts as killed, and is listed (more on a busy machine).
PYTEST="tests/apis …": only these tests are tried, which makes measuring them quicker.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import coverage
import msgspec
import pytest

from .mutations import Mutation, is_valid, mutations

ROOT = Path(__file__).parents[2]
HELD = ROOT / ".lab" / "mutate"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
TEST_SECONDS = 60.0
"""How long the tests of one mutant may take when nothing is wrong; the quickest are chosen up to this."""
PATIENCE = float(os.environ.get("MUTANT_SECONDS") or 240)
"""Seconds after which a mutant counts as killed: it loops or waits for ever."""
PARALLEL = 2
WANTED = 0.9


class Mutant(NamedTuple):
    """One changed module."""

    path: str
    mutation: Mutation

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.mutation.old, self.mutation.new))
        return f"{self.path}:{self.mutation.line}: {_short(old)}  →  {_short(new)}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it in the list of equivalents: lines move, so the line's text stands for its number."""
        line = (ROOT / self.path).read_text().splitlines()[self.mutation.line - 1]
        return self.path, line.strip(), self.mutation.new


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


class Verdict(NamedTuple):
    """What became of a mutant: `killed`, `survived`, `not covered` or `equivalent`."""

    mutant: Mutant
    outcome: str
    reason: str = ""


def main() -> int:
    seed = int(os.environ.get("SEED") or secrets.randbelow(10**6))
    most = int(os.environ.get("MUTANTS") or 100)
    seconds = float(os.environ.get("MUTATE_SECONDS") or 3600)
    modules = _modules()
    if not modules:
        print("mutate: no module of src/ has changed; name some with FILES=…")
        return 2
    print(f"mutate: seed {seed}, {most} mutants of {len(modules)} modules", flush=True)
    drawn = _drawn(modules, seed, most)
    covering = _covering()
    begun = time.monotonic()
    verdicts = []
    for verdict in _tried(drawn, covering, begun + seconds):
        verdicts.append(verdict)
        if verdict.outcome != "killed" or verdict.reason:
            print(f"{verdict.outcome}: {verdict.mutant}{verdict.reason and f'  ({verdict.reason})'}", flush=True)
    return _summary(verdicts, len(drawn), seed)


def _summary(verdicts: Sequence[Verdict], drawn: int, seed: int) -> int:
    count = {name: sum(one.outcome == name for one in verdicts) for name in ("killed", "equivalent")}
    judged = len(verdicts) - count["equivalent"]
    rate = count["killed"] / judged if judged else 0.0
    left = f", {drawn - len(verdicts)} not begun in time" if drawn > len(verdicts) else ""
    print(
        f"mutate: {count['killed']} of {judged} killed ({rate:.0%}), {count['equivalent']} equivalent{left}; "
        f"again: make mutate SEED={seed}"
    )
    return 0 if rate >= WANTED else 1


def _modules() -> list[str]:
    if named := os.environ.get("FILES", "").split():
        return named
    base = os.environ.get("BASE") or "HEAD~30"
    command = ["git", "diff", "--name-only", "--diff-filter=AMR", base, "--", "src"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if path.endswith(".py")]


def _drawn(modules: Sequence[str], seed: int, most: int) -> list[Mutant]:
    """Checks only those it draws: parsing each of the tens of thousands of changed modules takes many minutes."""
    sources = {path: (ROOT / path).read_bytes() for path in sorted(modules)}
    every = [Mutant(path, one) for path, source in sources.items() for one in mutations(source)]
    random.Random(seed).shuffle(every)
    valid = (one for one in every if is_valid(one.mutation.applied(sources[one.path])))
    return list(islice(valid, most))


# ── which tests execute a line ───────────────────────────────────────────────


class Covering:
    """The tests that execute a line, the quickest first."""

    def __init__(self, folder: Path) -> None:
        self._durations = msgspec.json.decode((folder / "durations.json").read_bytes(), type=dict[str, float])
        self._data = coverage.CoverageData(str(folder / "combined"))
        self._data.read()

    def tests(self, path: str, line: int) -> list[str]:
        contexts = self._data.contexts_by_lineno(str(ROOT / path)).get(line, [])
        tests = sorted((one for one in contexts if one in self._durations), key=lambda one: self._durations[one])
        chosen, spent = [], 0.0
        for one in tests:
            spent += self._durations[one]
            if chosen and spent > TEST_SECONDS:
                break
            chosen.append(one)
        return chosen


def _covering() -> Covering:
    """Measures with one run of all tests, and keeps what was measured as long as no file changes."""
    folder = HELD / f"covering-{_state()}"
    if not (folder / "combined").exists():
        shutil.rmtree(HELD, ignore_errors=True)
        folder.mkdir(parents=True)
        print("mutate: measuring which tests execute which lines (one run of the tests)", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.mutate.covering"]
        command += ["--hypothesis-profile=covering", *_chosen_tests()]
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        environment = {**os.environ, "MUTATE_COVERAGE": str(folder), "PYTHONPATH": paths}
        ran = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        if ran.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            sys.exit(f"mutate: the tests did not run:\n{ran.stdout[-2000:]}")
        for line in ran.stdout.splitlines():
            if line.startswith(("FAILED", "ERROR")):
                print(f"mutate: left out, as it fails without a mutant: {line}", flush=True)
        combined = coverage.Coverage(data_file=folder / "combined", config_file=False, messages=False)
        combined.combine([str(one) for one in folder.glob("lines.*")])
        combined.save()
    return Covering(folder)


def _chosen_tests() -> list[str]:
    return os.environ.get("PYTEST", "").split()


def _state() -> str:
    """A digest of every file of src/ and tests/ as it is now, and of which tests are tried."""
    import hashlib

    digest = hashlib.sha256(" ".join(_chosen_tests()).encode())
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# ── trying them ──────────────────────────────────────────────────────────────


def _tried(mutants: Sequence[Mutant], covering: Covering, end: float) -> Iterator[Verdict]:
    known = _known_equivalents()
    trees: Queue[Path] = Queue()
    for number in range(PARALLEL):
        trees.put(_tree(number))

    def verdict(mutant: Mutant) -> Verdict | None:
        if (reason := known.get(mutant.key)) is not None:
            return Verdict(mutant, "equivalent", reason)
        tests = covering.tests(mutant.path, mutant.mutation.line)
        if not tests:
            return Verdict(mutant, "not covered")
        if time.monotonic() > end:
            return None
        tree = trees.get()
        try:
            return Verdict(mutant, *_tested(tree, mutant, tests))
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from (one for one in pool.map(verdict, mutants) if one is not None)


def _known_equivalents() -> dict[tuple[str, str, str], str]:
    rows = tomllib.loads(EQUIVALENT.read_text()).get("mutants", [])
    return {(row["path"], row["line"], row["new"]): row["reason"] for row in rows}


def _tree(number: int) -> Path:
    """A copy of what the tests need, in which a module can be changed."""
    tree = HELD / f"tree-{number}"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    return tree


def _tested(tree: Path, mutant: Mutant, tests: Sequence[str]) -> tuple[str, str]:
    """What became of the mutant, and why where that is not plain."""
    source = (ROOT / mutant.path).read_bytes()
    _replace(tree / mutant.path, mutant.mutation.applied(source))
    listed = tree / "chosen.json"
    listed.write_bytes(msgspec.json.encode(tests))
    files = sorted({test.partition("::")[0] for test in tests})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "--hypothesis-profile=mutate",
        "-p",
        "tests.mutate.chosen",
        *files,
    ]
    paths = os.pathsep.join([str(tree / "src"), str(tree)])
    environment = {**os.environ, "MUTATE_TESTS": str(listed), "PYTHONPATH": paths}
    # Without bytecode, compiling every module again takes longer than most tests of a mutant.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as running:
        try:
            return "killed" if running.wait(PATIENCE) else "survived", ""
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, 9)
            return "killed", f"its tests had not ended after {PATIENCE:.0f} s"
        finally:
            _replace(tree / mutant.path, source)


def _replace(module: Path, source: bytes) -> None:
    """Changes a module, and removes its bytecode, which Python would use after a change within the same second."""
    module.write_bytes(source)
    for cached in module.parent.glob(f"__pycache__/{module.stem}.*"):
        cached.unlink()


if __name__ == "__main__":
    sys.exit(main())
