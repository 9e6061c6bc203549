"""Attacks on `dragoman hook`: a folder that wants its agent's calls to pass, and a payload that does not come."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import config
from dragoman.serve.hook import handle, lines_in, rules_of, targets_of
from tests.serve.hook_payloads import payload_of
from tests.serve.test_hook import POLICY

RULES = '[[policy.rules]]\nverdict = "deny"\npath = "*.env"\n'


def _answered(line: str, cwd: Path, home: Path, payload: bytes, **more: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "DRAGOMAN_CONFIG_DIR": str(home / "config"), **more}
    return subprocess.run(["sh", "-c", line], cwd=cwd, env=environment, input=payload, capture_output=True, timeout=60)


def _line(home: Path) -> str:
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text(RULES)
    (entry,) = targets_of("claude_code", home)[0].entries
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
        relative = {"PYTHONPATH": ".", "PYTHONSTARTUP": "msgspec.py", "PYTHONHOME": ""}
        again = json.loads(_answered(line, project, tmp_path, payload, **relative).stdout)
        assert again == answer, "with variables that lead Python into the folder"
    assert b"deny" in _answered(line, project, tmp_path, b"{}").stdout
    assert not (tmp_path / "loaded").exists()


def test_a_folder_that_is_deep_wide_or_full_of_pipes_and_links_does_not_keep_a_decision_waiting(tmp_path: Path) -> None:
    """What is in a folder is looked at no longer than a decision may take, and nothing in it is waited for."""
    line, project = _line(tmp_path), tmp_path / "project"
    deep = project.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    (deep / ".env").write_text("SECRET=1\n")
    for number in range(3000):
        (project / f"f{number}").touch()
    for name in (".gitignore", ".ignore", ".env", "notes"):
        subprocess.run(["mkfifo", str(project / name)], check=True)
    (project / "loop").symlink_to("loop")
    (project / "round").symlink_to(".")
    for command in ("rg SECRET", "grep -r SECRET .", "cat notes .env", "cp -r . ../x", "cat loop/a .e*"):
        payload = json.dumps(payload_of("claude_code", project, command)).encode()
        answer = json.loads(_answered(line, project, tmp_path, payload).stdout or b"{}")
        decided = answer.get("hookSpecificOutput", {})
        assert "no decision in" not in decided.get("permissionDecisionReason", ""), command
        assert decided.get("permissionDecision") in (("deny", "ask") if command != "rg SECRET" else (None,)), command


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
    (target,) = targets_of("claude_code", tmp_path)
    line = _line(tmp_path).replace(str(Path(sys.executable).parent), "/nowhere")
    assert lines_in(target) == ([], [])
    answered = _answered(line, tmp_path, tmp_path, b"{}")
    assert (answered.returncode, answered.stderr.splitlines()[-1]) == (
        2,
        b"dragoman did not run, so the call is denied",
    )


def test_a_server_that_others_could_have_made_is_not_believed(tmp_path: Path) -> None:
    """A socket that others can open, or that is in a folder they can change, or a link, gets no payload."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(RULES)
    folder = tmp_path / "run" / "dragoman-hook"
    folder.mkdir(parents=True, mode=0o700)
    payload = json.dumps(payload_of("claude_code", tmp_path, "cat .env")).encode()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    environment["DRAGOMAN_CONFIG_DIR"] = str(tmp_path / "config")
    words = [sys.executable, "-P", "-m", "dragoman", "hook", "--client", "claude_code", "--event", "PreToolUse"]
    path = folder / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        theirs.setblocking(False)
        path.chmod(0o600)
        for prepare in (
            lambda: path.chmod(0o666),
            lambda: (path.chmod(0o600), folder.chmod(0o770)),
            lambda: (folder.chmod(0o700), path.rename(tmp_path / "moved"), path.symlink_to(tmp_path / "moved")),
        ):
            prepare()
            answered = subprocess.run(words, env=environment, input=payload, capture_output=True, timeout=60)
            assert b'"permissionDecision":"deny"' in answered.stdout
            with pytest.raises(BlockingIOError):
                theirs.accept()


def test_what_is_forbidden_never_passes_however_it_is_written(tmp_path: Path) -> None:
    """Each line of hostile_lines.txt does what the policy forbids, or may do it: none of them is let through."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(POLICY)
    environ = {"DRAGOMAN_CONFIG_DIR": str(tmp_path / "config"), "DRAGOMAN_DATA_DIR": str(tmp_path / "data")}
    rules = rules_of(config.load(cwd=tmp_path, environ=environ, project_at=Path("/")))
    project = tmp_path / "project"
    for folder in ("src", "d", ".claude", ".git"):
        (project / folder).mkdir(parents=True)
    for name in (".env", "d/.env", "a.py", "src/a.py", "keep", "list"):
        (project / name).write_text(".env\n")
    (project / "innocent").symlink_to(".env")
    (project / "up").symlink_to("..")
    lines = (Path(__file__).parent / "hostile_lines.txt").read_text().splitlines()
    passed = []
    for line in lines:
        payload = payload_of("claude_code", project, line.replace("⏎", "\n"))
        handled = handle(json.dumps(payload).encode(), "claude_code", "PreToolUse", lambda: rules)
        if handled.decision.verdict not in ("deny", "ask") or not handled.answer.out:
            passed.append(line)
    assert passed == []
    assert len(lines) > 4000
