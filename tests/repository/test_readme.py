"""What README and CONTRIBUTING count and name is so."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest

from dragoman.cli import COMMANDS
from dragoman.model import OPERATIONS
from dragoman.registry import FORMATS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TARGETS = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "twenty-one"),
    *("twenty-two", "twenty-three", "twenty-four", "twenty-five"),
)


def test_every_command_the_readme_names_exists() -> None:
    named = {*re.findall(r"(?:^|`)dragoman ([a-z]+)\b", README, re.MULTILINE)}
    assert named
    assert named <= {*COMMANDS}


def test_every_command_is_shown_on_a_page() -> None:
    pages = [README, *(page.read_text() for page in (ROOT / "docs").rglob("*.md"))]
    shown = {name for page in pages for name in re.findall(r"\bdragoman ([a-z]+)\b", page)}
    assert {*COMMANDS} <= shown


HERE = {
    "embedding": "dragoman.engine.endpoints:Embedder",
    "batch": "dragoman.engine.endpoints:Batches",
    "token count": "dragoman.engine:Orchestrator.count_tokens",
    "typed": "dragoman.engine:FinalOutput",
    "evaluation": "dragoman.evaluation:evaluate",
    "full-screen": "dragoman.cli.commands.browse:command",
}
"""What guides have said to be missing, and what there is now."""


def test_no_guide_says_that_something_is_missing_which_is_here() -> None:
    for target in HERE.values():
        module, _, name = target.partition(":")
        assert attrgetter(name)(importlib.import_module(module))
    said = {
        (page.name, word)
        for page in (ROOT / "docs" / "guides").glob("*.md")
        for sentence in re.findall(r"What is not here: [^.]*\.|\| not there \|[^|]*\|", page.read_text())
        for word in HERE
        if word in sentence.lower()
    }
    assert said == set()


def test_the_readme_counts_the_clients_whose_sessions_are_read() -> None:
    clients = len(FORMATS.built_in) - 3  # Inspect runs evaluations, ATIF is for any agent, and one format is our own
    assert f"sessions of {NUMBERS[clients]} coding agents, logs of Inspect, trajectories in ATIF and our own" in README


def test_the_readme_counts_the_operations() -> None:
    assert "some fifty typed operations" in README
    assert 45 <= len(OPERATIONS) <= 60


@pytest.mark.parametrize("page", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_target_of_make_that_is_named_exists(page: str) -> None:
    named = {*re.findall(r"(?:^|^\$ |`)make ([a-z]+)\b", page, re.MULTILINE)}
    assert named
    assert named <= {*TARGETS}


def test_the_figure_of_the_small_model_is_the_measured_one() -> None:
    from dragoman.engine.models import MODEL_FILES

    (model,) = MODEL_FILES.values()
    pages = ("README.md", "docs/howto/local-model.md")
    assert [page for page in pages if model.measured in " ".join((ROOT / page).read_text().split())] == [*pages]
