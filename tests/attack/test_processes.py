"""Commands that try to outlive the run that started them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import pytest

from tests.attack.apart import run_apart
from tests.attack.outliving import ATTACKS, MURDERS


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_no_process_of_a_command_is_left_when_the_shell_is_closed(user: str) -> None:
    """When a shell is closed, no process of its commands is left, whatever they did to those that watch them."""
    assert attacked(user, ATTACKS) == {name: {"born": True, "killed": False, "left": []} for name in ATTACKS}


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_no_process_of_a_command_is_left_when_dragoman_is_killed(user: str) -> None:
    """When dragoman is killed during a run, even together with a supervisor, no process of a command is left."""
    assert attacked(user, MURDERS) == {name: {"born": True, "killed": True, "left": []} for name in MURDERS}


def attacked(user: str, attacks: Iterable[str]) -> object:
    done = run_apart([sys.executable, "-m", "tests.attack.outliving", "run", user, *attacks])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
