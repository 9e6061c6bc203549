"""`dragoman watch`, in a real process that is ended as a user ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from tests.cli.conftest import User
from tests.logs.samples import CLAUDE


def test_it_tells_what_is_written_and_ends_with_ctrl_c(user: User) -> None:
    path = user.write(user.home / ".claude/projects/-p/s-1.jsonl", "")
    command = [sys.executable, "-m", "dragoman", "watch", "--json", "--every", "0.05"]
    process = subprocess.Popen(
        command, env=user.environ, cwd=user.here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert "Following" in process.stderr.readline()
    with path.open("ab") as file:
        os.write(file.fileno(), CLAUDE)
    first = json.loads(process.stdout.readline())
    assert first["session"] == "s-1"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_once_from_the_start_is_everything_so_far_on_one_line_each(user: User) -> None:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    shown = user.types("watch", "--once", "--from-start")
    assert shown.code == 0
    assert "→ Bash  run false" in shown.out
    assert user.types("watch", "--once").code == 1
    wrong = user.types("watch", "--client", "claude-code")
    assert wrong.code == 2
    assert 'Did you mean "claude_code"?' in wrong.err
