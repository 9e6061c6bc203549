"""`make mutate`: random mutants of the changed modules, and which of them the tests notice.

BASE=<commit>: the modules that differ from it (default: those the last 30 commits changed).
FILES="src/dragoman/patterns.py …": these modules instead. SEED=<number>: the same mutants again.
MUTANTS=100: how many. MUTATE_SECONDS=3600: no mutant is begun after that time.
MUTANT_SECONDS=240: a mutant whose tests take longer counts as killed, and is listed (more on a busy machine).
PYTEST="tests/apis …": only these folders or files of tests are tried, which makes measuring them quicker.

Which lines a test executes is measured when its file is new or has changed. `make clean` forgets what was measured.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import os
import random
import re
import secrets
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
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
NOT_TRIED = {"conformance", "attack", "repository", "mutate"}
"""Folders of tests that take long, or do not run the source."""
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


class Batch:
    """One run of some test files: which lines their tests executed, in the source as it was then."""

    def __init__(self, folder: Path) -> None:
        self._source = folder / "src"
        self.files = msgspec.json.decode((folder / "files.json").read_bytes(), type=dict[str, str])
        self.durations = msgspec.json.decode((folder / "durations.json").read_bytes(), type=dict[str, float])
        self._data = coverage.CoverageData(str(folder / "combined"))
        self._data.read()
        self._contexts: dict[str, dict[int, list[str]]] = {}

    def tests(self, path: str, line: int) -> set[str]:
        """The tests that execute a line of a module as it is now.

        Of a line outside of functions, which importing executes, and of one that changed since: those that execute any
        line of its function, or else of its module.
        """
        if path not in self._contexts:
            self._contexts[path] = self._data.contexts_by_lineno(str(ROOT / path))
        contexts, then = self._contexts[path], self._source / Path(path).relative_to("src")
        if not then.exists():
            return set()
        was = _lines_then(then, ROOT / path)
        statement, function = _around(ROOT / path, line)

        def executing(lines: Iterable[int]) -> set[str]:
            return {test for one in lines if one in was for test in contexts.get(was[one], ())}

        if function and any(one in was for one in statement):
            return executing(statement)
        return executing(function) or {test for tests in contexts.values() for test in tests}


@cache
def _lines_then(then: Path, now: Path) -> dict[int, int]:
    """Line of the module now → the same line when the tests were run."""
    lines = [path.read_text().splitlines() for path in (now, then)]
    blocks = difflib.SequenceMatcher(None, *lines, autojunk=False).get_matching_blocks()
    return {now + step + 1: then + step + 1 for now, then, length in blocks for step in range(length)}


@cache
def _statements(module: Path) -> list[ast.stmt]:
    return [node for node in ast.walk(ast.parse(module.read_bytes())) if isinstance(node, ast.stmt)]


def _around(module: Path, line: int) -> tuple[range, range]:
    """The lines of the statement that a line is in (of one with a body, its head), and of its innermost function."""
    statement = function = range(0)
    for node in _statements(module):
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno < line <= last:
            function = range(node.lineno, last + 1)  # one inside another comes after it
        body = getattr(node, "body", None)
        lines = range(node.lineno, max(node.lineno + 1, body[0].lineno) if body else last + 1)
        if line in lines:
            statement = lines
    return statement, function


class Covering:
    """The tests that execute a line, the nearest files first, and of a file the quickest tests."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._latest = {file: batch for batch in batches for file in batch.files}
        """Test file → the last batch that it was run in."""

    def tests(self, path: str, line: int) -> list[str]:
        found: dict[str, float] = {}
        for batch in {*self._latest.values()}:
            for test in batch.tests(path, line):
                if test in batch.durations and self._latest.get(_file(test)) is batch:
                    found[test] = batch.durations[test]
        ordered = sorted(found, key=lambda test: (-_nearness(path, _file(test)), _file(test), found[test]))
        chosen, spent = [], 0.0
        for one in ordered:
            spent += found[one]
            if chosen and spent > TEST_SECONDS:
                break
            chosen.append(one)
        return chosen


def _file(test: str) -> str:
    return test.partition("::")[0]


def _nearness(module: str, test: str) -> int:
    """How many words of the names of a module and its folders the name of a test file has, too."""
    words = ({*re.split(r"[/_.]+", name)} - {"src", "dragoman", "tests", "test", "py"} for name in (module, test))
    return len(set.intersection(*words))


def _covering() -> Covering:
    """Runs the test files that were not run yet or changed since; what the others execute is taken as known."""
    folders = sorted(HELD.glob("batch-*"), key=lambda folder: int(folder.name.rpartition("-")[2]))
    batches = [Batch(folder) for folder in folders if (folder / "combined").exists()]
    known = {file: digest for batch in batches for file, digest in batch.files.items()}
    wanted = {file: _digest(ROOT / file) for file in _test_files()}
    if missing := {file: digest for file, digest in wanted.items() if known.get(file) != digest}:
        number = int(folders[-1].name.rpartition("-")[2]) + 1 if folders else 1
        batches.append(_measured(HELD / f"batch-{number}", missing))
    return Covering([batch for batch in batches if batch.files.keys() & wanted.keys()])


def _measured(folder: Path, files: Mapping[str, str]) -> Batch:
    print(f"mutate: measuring which lines {len(files)} files of tests execute", flush=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.mutate.covering"]
    command += ["--hypothesis-profile=covering", *files]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "MUTATE_COVERAGE": str(folder), "PYTHONPATH": paths}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    ran = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if ran.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED}:
        sys.exit(f"mutate: the tests did not run:\n{ran.stdout[-2000:]}")
    for line in ran.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            print(f"mutate: left out, as it fails without a mutant: {line}", flush=True)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "files.json").write_bytes(msgspec.json.encode(files))
    combined = coverage.Coverage(data_file=folder / "combined", config_file=False, messages=False)
    combined.combine([str(one) for one in folder.glob("lines.*")])
    combined.save()
    return Batch(folder)


def _test_files() -> list[str]:
    """The files of tests that are tried: those of PYTEST, or all that `make test` runs."""
    places = [ROOT / name for name in os.environ.get("PYTEST", "").split() or ["tests"]]
    found = [file for place in places for file in (place.rglob("test_*.py") if place.is_dir() else [place])]
    return sorted({str(file.relative_to(ROOT)) for file in found if not NOT_TRIED & {*file.relative_to(ROOT).parts}})


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


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
