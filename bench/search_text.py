"""Searching text in 50,000 files: the whole tool, beside ripgrep writing its own lines into a pipe."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import NamedTuple

from bench.benches import Bench, Target
from bench.stopwatch import family_time, per_call
from bench.tree import tree

Search = Callable[[], int]


class Question(NamedTuple):
    """What is looked for: little of it, much of it, or much of it with a limit."""

    pattern: str
    limit: int | None = None
    least: int = 0
    """Matches there must be."""


QUESTIONS = {
    "few": Question(r"needle_\d+", least=900),
    "more": Question(r"total_4\d+", least=5_000),
    "many": Question(r"total_\d+", least=50_000),
    "limited": Question("parser", limit=250, least=250),
}
_ASKED = ("--no-config", "--hidden", "--no-require-git", "--line-number")


def ours(question: Question) -> Search:
    from dragoman.model.operations import SearchText
    from dragoman.tools import Context, DiskWorkspace
    from dragoman.tools.search import search_text

    context = Context(workspace=DiskWorkspace(tree().root))
    operation = SearchText(question.pattern, limit=question.limit)
    return lambda: len(search_text(operation, context).matches)


def ripgrep(question: Question) -> Search:
    """The floor: its lines are taken from the pipe and counted, nothing more."""
    from dragoman.tools.processes.ripgrep import ripgrep_path

    command = [ripgrep_path(), *_ASKED, "--regexp", question.pattern, "./"]

    def search() -> int:
        done = subprocess.run(command, cwd=tree().root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return done.stdout.count(b"\n")

    return search


def ripgrep_json(question: Question) -> Search:
    """What its JSON costs, decoded whole."""
    import msgspec

    from dragoman.tools.processes.ripgrep import ripgrep_path

    command = [ripgrep_path(), *_ASKED, "--json", "--regexp", question.pattern, "./"]
    decoder = msgspec.json.Decoder()

    def search() -> int:
        done = subprocess.run(command, cwd=tree().root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        return sum(message["type"] == "match" for message in decoder.decode_lines(done.stdout))

    return search


def python_ripgrep(question: Question) -> Search:
    """ripgrep's own parts, bound to Python; hidden files are left out."""
    import python_ripgrep as bound

    paths = [str(tree().root)]
    return lambda: sum(told.count("\n") for told in bound.search([question.pattern], paths=paths, line_number=True))


SEARCHES = {each.__name__: each for each in (ours, ripgrep, ripgrep_json, python_ripgrep)}
COLUMNS = {
    f"{asked}: {name}": (search, QUESTIONS[asked])
    for asked in QUESTIONS
    for name, search in SEARCHES.items()
    if name in ("ours", "ripgrep") or asked == "more"
}


def measure(column: str) -> list[float]:
    make, question = COLUMNS[column]
    search = make(question)
    found = search()
    if found < question.least:
        raise SystemExit(f"{column} found {found} matches; there are at least {question.least}")

    def repeat(times: int) -> None:
        for _ in range(times):
            search()

    return per_call(repeat, rounds=3, clock=family_time)


BENCH = Bench(
    question="search text in 50,000 files",
    environments={column: "searchers" if "python_ripgrep" in column else "base" for column in COLUMNS},
    floor="few: ripgrep",
    targets=tuple(Target(f"{asked}: ours", f"{asked}: ripgrep", 1.3) for asked in QUESTIONS),
    measure=measure,
)
