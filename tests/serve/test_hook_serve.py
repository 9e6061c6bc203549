"""`dragoman hook serve`: the same answers from a process that stays, and none from one that is not to be believed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman import hook_socket
from dragoman.logs import read_events

from .hook_payloads import payload_of
from .test_hook import POLICY

LINE = [sys.executable, "-P", "-m", "dragoman", "hook", "--client", "claude_code", "--event", "PreToolUse"]
SERVED = b'{"served": true}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(POLICY)
    (tmp_path / "run").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("DRAGOMAN_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("DRAGOMAN_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def asked(home: Path, command: str) -> subprocess.CompletedProcess[bytes]:
    payload = json.dumps(payload_of("claude_code", home / "project", command)).encode()
    return subprocess.run(LINE, input=payload, cwd=home / "project", capture_output=True, timeout=60)


@contextmanager
def answering(path: str, answer: bytes) -> Iterator[None]:
    """Somebody's server, which answers every request so."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(path)
        os.chmod(path, 0o600)
        listening.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    while connection.recv(65536):
                        pass
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            os.unlink(path)


def test_a_line_asks_the_server_of_its_user_and_nobody_else(home: Path) -> None:
    path = hook_socket.socket_path()
    assert path == str(home / "run" / "dragoman-hook" / "socket")
    with answering(path, hook_socket.reply(0, "", SERVED.decode())):
        assert asked(home, "cat .env").stdout == SERVED
        os.chmod(path, 0o666)
        own = asked(home, "cat .env").stdout
        assert b'"permissionDecision":"deny"' in own
        os.chmod(path, 0o600)
        os.chmod(os.path.dirname(path), 0o755)
        assert asked(home, "cat .env").stdout == own
        os.chmod(os.path.dirname(path), 0o700)
        os.rename(path, f"{path}2")
        os.symlink(f"{path}2", path)
        assert asked(home, "cat .env").stdout == own
        os.unlink(path)
        os.rename(f"{path}2", path)
    for broken in (b"", b"0 0 99\n{}", b"0 0 2\n{}{}", b"nothing", b"-1 0 0\n"):
        with answering(path, broken):
            assert asked(home, "cat .env").stdout == own, broken
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:  # of a server that was killed
        left.bind(path)
        os.chmod(path, 0o600)
    assert asked(home, "cat .env").stdout == own


def test_a_server_decides_as_the_line_does_with_the_settings_of_now(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("ls", "cat .env", "python x.py", "make test")
    own = {line: asked(home, line).stdout for line in lines}
    monkeypatch.chdir(home / "project")
    server = [sys.executable, "-P", "-m", "dragoman", "hook", "serve"]
    with subprocess.Popen(server, stderr=subprocess.PIPE, cwd="/") as serving:
        assert serving.stderr is not None
        assert b"Listening at" in serving.stderr.readline()
        try:
            payloads = {line: json.dumps(payload_of("claude_code", home / "project", line)).encode() for line in lines}
            answers = {line: hook_socket.ask("claude_code", "PreToolUse", one) for line, one in payloads.items()}
            assert answers == {line: (0, b"", out) for line, out in own.items()}
            denied = hook_socket.ask("claude_code", "PreToolUse", b"{")
            assert denied is not None
            assert (denied[0], b'"permissionDecision":"deny"' in denied[2]) == (0, True)
            assert denied[1].startswith(b"dragoman hook: dragoman could not decide: this payload is not known")
            (home / "config" / "config.toml").write_text('policy.rules = [{verdict = "deny", command = "ls*"}]')
            changed = hook_socket.ask("claude_code", "PreToolUse", payloads["ls"])
            assert changed is not None
            assert b'"permissionDecision":"deny"' in changed[2]
            for odd in (b"", b"\0", b"9\n", b"99999999999\n", b"3\nabc", b"x" * 100_000):
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
                    asking.connect(hook_socket.socket_path())
                    asking.sendall(odd)
                    asking.shutdown(socket.SHUT_WR)
                    assert asking.recv(10) == b""
            assert subprocess.run([*server, "--check"], timeout=60).returncode == 0
            assert subprocess.run(server, capture_output=True, timeout=60).returncode == 3, "there is one already"
            monkeypatch.setenv("DRAGOMAN_HOOK_PROTECT", "false")
            other = hook_socket.ask("claude_code", "PreToolUse", payloads["ls"])
            assert other is None, "a process with other settings is not answered"
            assert hook_socket.ask("nobody", "PreToolUse", payloads["ls"]) is None
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait(timeout=60)
    assert not os.path.lexists(hook_socket.socket_path())
    verdicts = [
        one.decision.verdict
        for file in (home / "data" / "decisions").iterdir()
        for one in read_events(file)
        if (decision := getattr(one, "decision", None)) is not None and decision
    ]
    assert verdicts == [*("allowed", "denied", "asked", "allowed") * 2, "denied"]


def test_a_folder_that_others_can_open_is_refused(home: Path) -> None:
    (home / "run" / "dragoman-hook").mkdir(mode=0o755)
    ended = subprocess.run([*LINE[:5], "serve"], capture_output=True, timeout=60)
    assert (ended.returncode, b"chmod 700" in ended.stderr) == (3, True)
