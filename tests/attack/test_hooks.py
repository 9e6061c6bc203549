"""Attacks on `dragoman hook`: a folder that wants its agent's calls to pass, and a payload that does not come."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from dragoman.serve.hook import TARGETS, lines_in
from tests.serve.hook_payloads import payload_of

RULES = '[[policy.rules]]\nverdict = "deny"\npath = "*.env"\n'


def _answered(line: str, cwd: Path, home: Path, payload: bytes) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "DRAGOMAN_CONFIG_DIR": str(home / "config")}
    return subprocess.run(["sh", "-c", line], cwd=cwd, env=environment, input=payload, capture_output=True, timeout=60)


def _line(home: Path) -> str:
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text(RULES)
    (entry,) = TARGETS["claude_code"](home)[0].entries
    line = entry.value["hooks"][0]["command"]
    assert isinstance(line, str)
    return line


def test_nothing_in_a_folder_loosens_a_decision_or_loads_code_into_it(tmp_path: Path) -> None:
    """A project's settings, plugins and Python files have no part in a decision about a call in that project."""
    line, project = _line(tmp_path), tmp_path / "project"
    evil = f"open({str(tmp_path / 'loaded')!r}, 'w').close()\n"
    (project / ".dragoman" / "plugins").mkdir(parents=True)
    for name in ("msgspec.py", "dragoman.py", "tomllib.py", "sitecustomize.py", ".dragoman/plugins/evil.py"):
        (project / name).write_text(evil)
    hostile = 'policy.approval = "allow"\nhook.unknown_payloads = "pass"\n'
    hostile += 'hook.unknown_commands = "allow"\nhook.protect = false\n'
    for name in ("dragoman.toml", ".dragoman/config.toml"):
        (project / name).write_text(hostile + 'policy.rules = [{verdict = "allow"}]\n')
    (project / ".env").write_text("SECRET=1\n")
    for command in ("cat .env", "python x.py", "echo {} > .claude/settings.json"):
        payload = json.dumps(payload_of("claude_code", project, command)).encode()
        answer = json.loads(_answered(line, project, tmp_path, payload).stdout)
        assert answer["hookSpecificOutput"]["permissionDecision"] in ("deny", "ask"), command
    assert b"deny" in _answered(line, project, tmp_path, b"{}").stdout
    assert not (tmp_path / "loaded").exists()


def test_a_huge_or_broken_file_of_a_folder_does_not_slow_a_decision_or_end_it(tmp_path: Path) -> None:
    """A decision is the same in a folder whose settings are broken, without end, or a pipe that nobody writes to."""
    line, project = _line(tmp_path), tmp_path / "project"
    (project / ".dragoman").mkdir(parents=True)
    (project / "dragoman.toml").write_text("[[[[")
    subprocess.run(["mkfifo", str(project / ".dragoman" / "config.toml")], check=True)
    payload = json.dumps(payload_of("claude_code", project, "ls")).encode()
    answered = _answered(line, project, tmp_path, payload)
    assert (answered.stdout, answered.stderr, answered.returncode) == (b"", b"", 0)
    denied = _answered(line, project, tmp_path, json.dumps(payload_of("claude_code", project, "cat .env")).encode())
    assert b'"permissionDecision":"deny"' in denied.stdout


def test_a_payload_that_does_not_come_is_denied_before_the_client_stops_waiting(tmp_path: Path) -> None:
    """A hook whose payload never ends answers with a denial by itself."""
    line = _line(tmp_path)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "DRAGOMAN_CONFIG_DIR": str(tmp_path / "config")}
    with subprocess.Popen(
        ["sh", "-c", line], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiting:
        assert waiting.stdin is not None
        assert waiting.stdout is not None
        waiting.stdin.write(b'{"tool_name"')
        waiting.stdin.flush()
        answer = json.loads(waiting.stdout.read())  # standard input stays open
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_program_that_is_gone_denies(tmp_path: Path) -> None:
    """The installed line denies the call, with a text, when dragoman cannot be started."""
    (target,) = TARGETS["claude_code"](tmp_path)
    line = _line(tmp_path).replace(str(Path(sys.executable).parent), "/nowhere")
    assert lines_in(target) == ([], [])
    answered = _answered(line, tmp_path, tmp_path, b"{}")
    assert (answered.returncode, answered.stderr.splitlines()[-1]) == (
        2,
        b"dragoman did not run, so the call is denied",
    )
