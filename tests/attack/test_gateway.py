"""Attacks on `dragoman gateway` as a process: who can reach it, and what the clients that it starts are given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.serve.gateway import CLIENTS

KEY = "sk-proj-the-users-own-key-0123456789"
TOKEN = "a-token-that-only-the-user-has"


def surroundings(folder: Path) -> dict[str, str]:
    folders = {f"DRAGOMAN_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    return {
        **folders,
        "HOME": str(folder),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": KEY,
        "MY_GATEWAY_TOKEN": TOKEN,
        "LANG": "C.UTF-8",
    }


BY_NAME = ("--token-env", "MY_GATEWAY_TOKEN")


@contextmanager
def gateway(folder: Path, *token: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A gateway of its own; its process and its port."""
    words = ("gateway", "--model", "openai:gpt-5.5", *(token or BY_NAME))
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", *words],
        cwd=folder,
        env=surroundings(folder),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found is not None, line
        yield process, int(found[1])
    finally:
        process.terminate()
        process.communicate(timeout=30)


def status(port: int, headers: dict[str, str], path: str = "/v1/models") -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def listening(process: int) -> set[str]:
    """The addresses on which a process listens, as the system writes them."""
    sockets = {os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink()}
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]
    ]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


@pytest.mark.parametrize("token", [BY_NAME, ("--token", TOKEN)])
def test_nobody_but_a_program_of_this_machine_with_the_token_is_answered(
    token: tuple[str, ...], tmp_path: Path
) -> None:
    """The gateway listens on 127.0.0.1 alone, wants its token, and answers no web page."""
    with gateway(tmp_path, *token) as (process, port):
        assert listening(process.pid) == {"0100007F"}
        told = {"authorization": f"Bearer {TOKEN}"}
        refused = {
            "no token": ({}, 401),
            "another key": ({"x-api-key": KEY}, 401),
            "a part of the token": ({"x-api-key": TOKEN[:-1]}, 401),
            "a name that leads here": ({**told, "host": "attacker.example"}, 403),
            "a web page": ({**told, "origin": "https://attacker.example"}, 403),
            "a web page of this machine": ({**told, "origin": f"http://127.0.0.1:{port}"}, 403),
        }
        assert {name: status(port, headers) for name, (headers, _) in refused.items()} == {
            name: code for name, (_, code) in refused.items()
        }
        assert status(port, told) == 200


@pytest.mark.parametrize("client", [*CLIENTS])
def test_a_client_that_is_started_gets_the_token_and_no_key(client: str, tmp_path: Path) -> None:
    """A client that the gateway starts sees none of your providers' keys, and no file of its settings is changed."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / CLIENTS[client].program
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "named = [*sys.argv[1:], *os.environ.values()]\n"
        "files = [open(one).read() for one in named if os.path.isfile(one) and 'dragoman-gateway-' in one]\n"
        "print(json.dumps([sys.argv[1:], dict(os.environ), files]))\n"
    )
    program.chmod(0o700)
    words = ("gateway", client, "--model", "openai:gpt-5.5", "--token-env", "MY_GATEWAY_TOKEN", "--", "hello")
    before = set(tmp_path.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", *words],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    arguments, environment, files = json.loads(done.stdout)
    assert arguments[-1] == "hello"
    said = json.dumps([arguments, environment, files]) + done.stderr
    assert KEY not in said
    assert TOKEN in json.dumps(environment)
    assert TOKEN not in json.dumps([arguments, files])  # everybody on the machine can read a command line
    assert "http://127.0.0.1:" in said
    own = set(tmp_path.rglob("*")) - before
    assert all(path.relative_to(tmp_path).parts[0] in ("config", "data", "cache") for path in own)
