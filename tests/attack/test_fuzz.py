"""Hostile input: whatever others wrote gives a value or the error that is documented. `make fuzz` tries much more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.fuzz.drawing import Draw
from tests.fuzz.logs import draw_file, draw_log
from tests.fuzz.targets import all_targets

ROOT = Path(__file__).parents[2]
CASES = 40
LOGS = 6

COMMANDS = """
import contextlib, io, json, sys
from dragoman import config
from dragoman.cli import main
wrong = []
for line in json.load(sys.stdin):
    config.use(None)
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line)
    if code not in (0, 1, 5) or "Traceback" in err.getvalue():
        wrong.append([line, int(code), err.getvalue()])
json.dump(wrong, sys.stdout)
"""


def test_any_input_gives_a_value_or_a_typed_error() -> None:
    """Whatever a provider, log, page, patch, agent file or settings file says is read or refused, within limits.

    Every target of `make fuzz`, with a fixed seed: replies and streams of every API, calls and results of every
    dialect, logs of every client, patches, command lines, agent files, settings, schemas, pages and secrets.
    """
    environment = {**os.environ, "SEED": "18", "CASE": f"0-{CASES - 1}", "TARGET": ",".join(all_targets())}
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f" {CASES} cases ") == len(all_targets())


def test_no_log_makes_a_command_fail_in_an_unknown_way(tmp_path: Path) -> None:
    """A damaged or forged log never makes a command crash: it is shown as far as it can be read, or refused."""
    lines: list[list[str]] = []
    for number in range(LOGS):
        draw = Draw(f"attack/{number}")
        if number % 3 == 0:
            name, data = draw_file(draw)
        else:
            _, name, parts = draw_log(draw)
            data = b"".join(parts)
        path = tmp_path / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        for command in ("events", "show", "doctor", "stats", "analyse", "pack", "sessions"):
            lines.append([command, str(path)])
        lines += [["export", str(path), "--to", form] for form in ("markdown", "html", "atif", "otel")]
        lines += [["schema", "check", str(path)], ["lab", "grep", "a", str(path)]]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        cwd=tmp_path,
        env=environment,
        input=json.dumps(lines),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
