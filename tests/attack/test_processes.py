"""Commands that try to outlive the run that started them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.attack import mcp_outliving
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


def test_no_process_of_an_mcp_server_is_left_when_its_connection_is_closed(tmp_path: Path) -> None:
    """When a connection is closed, no process of its MCP server is left, also when it killed the one above it."""
    done = run_apart([sys.executable, str(Path(mcp_outliving.__file__)), str(tmp_path)])
    assert (done.returncode, done.stdout) == (0, "gone\n"), done.stderr


def attacked(user: str, attacks: Iterable[str]) -> object:
    done = run_apart([sys.executable, "-m", "tests.attack.outliving", "run", user, *attacks])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
