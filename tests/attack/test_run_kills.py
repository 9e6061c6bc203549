"""A run, or a tree of agents, that is killed at any event boundary continues: no effect twice, none lost in silence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import killed_trees
from tests.engine.killed_runs import assert_no_effect_twice_or_lost


@pytest.mark.parametrize("store", ["file", "sqlite:runs.db"])
def test_a_killed_run_repeats_no_effect_and_says_which_are_unknown(store: str, tmp_path: Path) -> None:
    """A run killed with SIGKILL at any event boundary continues: no effect twice, what may have happened is unknown."""
    command = [sys.executable, "-m", "tests.engine.killed_runs", store, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert_no_effect_twice_or_lost(json.loads(done.stdout))


@pytest.mark.parametrize("store", ["file", "sqlite:runs.db"])
def test_a_killed_tree_that_waits_for_people_repeats_no_effect_and_pays_nobody_without_a_yes(
    store: str, tmp_path: Path
) -> None:
    """Killed at any event boundary before its agents wait, and at any while it continues with the answers."""
    command = [sys.executable, "-m", "tests.agents.killed_trees", store, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    killed_trees.assert_no_effect_twice_or_lost(json.loads(done.stdout))
