"""What the page on querying the history shows runs as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "query-your-history.md").read_text()
COMMANDS = re.findall(r"^\$ dragoman (.+)$", PAGE, re.MULTILINE)


@pytest.fixture
def reader(user: User) -> User:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    user.write(user.home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", CODEX.decode())
    return user


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_finds_something(reader: User, line: str) -> None:
    done = reader.types(*shlex.split(line))
    assert done.code == 0, done.err
    assert done.out


def test_the_program_of_the_page_prints_what_it_says(reader: User) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    reader.write(reader.here / "sessions" / "s-1.jsonl", CLAUDE.decode())
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=reader.here,
        env=reader.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "Bash 1 1\nRead 1 0\n[(2,)]\n('name',) ('Bash',)\n['Bash: exit once: exit code 1']\n"
