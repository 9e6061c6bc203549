"""What a command cannot do from inside bubblewrap and from inside Landlock, on a system that has both.

These attack a shell, as root; `test_sandbox_command_line.py` attacks the command line, also as a user without rights.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import Sandbox
from dragoman.model.operations import ReadOutput, StopCommand
from dragoman.model.outcomes import CommandOutcome
from tests.tools.shells import Bench, Held, nothing_left, typed

leaves_nothing = pytest.fixture(autouse=True)(nothing_left)

PATH = os.environ["PATH"]


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sandbox that will be chosen: Landlock, where bubblewrap is out of sight."""
    if request.param == "landlock":
        monkeypatch.setenv("PATH", "")
    return str(request.param)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder with a workspace in it, away from the temporary folder bubblewrap hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        (Path(folder) / "workspace").mkdir()
        yield Path(folder)


def shut_in(home: Path, **options: Any) -> Bench:
    environment = {"PATH": PATH, "HOME": str(home)}
    sandbox = Sandbox(**{"mode": "require", **options})
    return Bench(home / "workspace", sandbox=sandbox, environment=environment, grace_ms=100)


@pytest.fixture
async def bench(home: Path, sandbox: str) -> AsyncIterator[Bench]:
    async with shut_in(home) as bench:
        yield bench


async def test_a_command_works_inside(bench: Bench, sandbox: str) -> None:
    """What a command does in the workspace and its temporary folder works in a sandbox as it does outside."""
    (bench.folder / "inner").mkdir()
    command = "pwd; echo text >file; mkdir -p a/b; mv file a/b; ln -s b a/c; cat a/c/file; rm -r a; echo >/dev/null"
    given = await bench.run(f"{command}; exit 3", cwd="inner")
    assert given == CommandOutcome(exit_code=3, stdout=f"{bench.folder}/inner\ntext\n", stderr="", sandbox=sandbox)


ATTEMPTS = {
    "make a file": "echo >>made",
    "make a folder": "mkdir made",
    "make a link": "ln -s x made",
    "change a file": "echo more >>kept",
    "empty a file": "truncate -s 0 kept",
    "remove a file": "rm kept",
    "rename a file": "mv kept made",
    "link a file in": "ln kept workspace/kept",
    "move a file in": "mv kept workspace/kept",
    "move a file out": "echo >workspace/own; mv workspace/own made",
    "make a device": "mknod workspace/disk b 8 0",
    "mount the system anew": "mount -o remount,rw / || mount -t tmpfs none workspace",
    "take the workspace's place": "mkdir workspace/over && mount --bind workspace/over .",
    "write through a link": "ln -s ../kept workspace/link; echo more >workspace/link",
}


async def test_nothing_outside_the_workspace_is_changed(bench: Bench, home: Path) -> None:
    """A command in a sandbox changes nothing outside the workspace, the temporary folder and named paths."""
    (home / "kept").write_text("kept")
    for name, attempt in ATTEMPTS.items():
        given = await bench.run(f"cd .. && {attempt}")
        assert (name, given.exit_code) != (name, 0)
        assert (home / "kept").read_text() == "kept"
        assert sorted(os.listdir(home)) == ["kept", "workspace"]


async def test_named_folders_can_be_written_to(home: Path, sandbox: str) -> None:
    """A path that the settings name can be written to."""
    cache = home / "cache"
    cache.mkdir()
    async with shut_in(home, writable=[str(cache)]) as bench:
        assert (await bench.run("echo kept >../cache/file")).exit_code == 0
    assert (cache / "file").read_text() == "kept\n"


async def test_the_temporary_folder_is_private_and_goes_with_the_shell(
    home: Path, sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary folder of a shell's commands is seen by them alone and is removed with the shell."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with shut_in(home) as bench, shut_in(home) as other:
        # Folders above a file that is hidden are there, empty but for it, where the home folder is a temporary one.
        above = (await bench.run('ls -A "$TMPDIR"')).stdout or ""
        made = await bench.run(
            'echo secret >"$TMPDIR/file"; mkdir "$TMPDIR/locked"; touch "$TMPDIR/locked/in"; '
            'ln -s "$HOME" "$TMPDIR/link"; chmod 0 "$TMPDIR/locked"; ls "$TMPDIR"'
        )
        assert (made.exit_code, {*(made.stdout or "").split()} - {*above.split()}) == (0, {"file", "link", "locked"})
        assert (await bench.run('cat "$TMPDIR/file"')).stdout == "secret\n"
        assert (await other.run('ls -A "$TMPDIR"')).stdout == above
        assert len(os.listdir(tmp_path)) == 2
    assert os.listdir(tmp_path) == []
    assert os.listdir(home) == ["workspace"]


async def test_the_network_can_be_closed(home: Path, sandbox: str) -> None:
    """With `sandbox.network = false` no TCP connection can be made, not even to this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo connected"
        async with shut_in(home, network=False) as bench:
            given = await bench.run(connect)
            assert (given.exit_code, given.stdout) == (1, "")
        async with shut_in(home) as bench:
            given = await bench.run(connect)
            assert (given.exit_code, given.stdout) == (0, "connected\n")
            server.accept()[0].close()


async def test_our_own_process_is_out_of_reach(bench: Bench) -> None:
    """A command in a sandbox can neither signal dragoman nor read its environment, not even as root."""
    us = os.getpid()
    given = await bench.run(f"kill -CONT {us} && echo reached; cat /proc/{us}/environ >copy && echo read; cat copy")
    assert given.stdout == ""


async def test_the_supervisor_is_out_of_reach(bench: Bench) -> None:
    """A command in a sandbox cannot end the process that watches it."""
    given = await bench.run("kill -KILL $PPID; kill -STOP $PPID; exit 4")
    # In bubblewrap the parent that is seen is bubblewrap's own first process, which nothing inside can kill.
    assert given.exit_code == 4


async def test_daemons_end_with_their_job(bench: Bench) -> None:
    """A daemon that a job started in a sandbox ends with the job."""
    with Held(bench.pipe()) as held:
        await bench.run("env -i setsid /bin/sleep 1000 3>pipe & exit", background=True)
        await bench.do(ReadOutput("1", block=True))
        await bench.do(StopCommand("1"))
        assert held.text() == ""


async def test_a_timeout_ends_what_runs_inside(bench: Bench) -> None:
    """A time limit ends everything that a command started in a sandbox."""
    with Held(bench.pipe()) as held:
        given = await bench.run("trap '' TERM; exec 3>pipe; setsid sleep 1000 & echo ready; wait", timeout_ms=1000)
        assert (given.timed_out, given.stdout) == (True, "ready\n")
        assert held.text() == ""


async def test_a_terminal_works_inside(bench: Bench) -> None:
    """A command with a terminal works in a sandbox."""
    await bench.run("cat; exit 6", terminal=True, wait_ms=0)
    assert await typed(bench, "1", "hello\n", "hello\r\nhello\r\n")
    assert (await bench.run("test -t 0 && stty size", terminal=True)).output == "24 80\r\n"
    await bench.do(StopCommand("1"))


async def test_a_standing_shell_stays_inside_from_one_command_to_the_next(
    bench: Bench, home: Path, sandbox: str
) -> None:
    """A shell that stays is confined in every one of its commands."""
    (home / "kept").write_text("kept")
    above = (await bench.run('ls -A "$TMPDIR"')).stdout or ""
    given = await bench.run('cd ..; x=1; echo secret >"$TMPDIR/file"', job="bash")
    assert given == CommandOutcome(exit_code=0, stdout="", stderr="", job="bash", sandbox=sandbox)
    for attempt in ATTEMPTS.values():
        assert (await bench.run(f'cd "{home}" && {attempt}', job="bash")).exit_code != 0
    assert (home / "kept").read_text() == "kept"
    assert sorted(os.listdir(home)) == ["kept", "workspace"]
    with Held(bench.pipe()) as held:
        again = await bench.run(f'echo $x; cat "$TMPDIR/file"; sleep 1000 3>{bench.folder}/pipe & pwd', job="bash")
        assert again.stdout == f"1\nsecret\n{home}\n"
        await bench.do(StopCommand("bash"))
        assert held.text() == ""
    left = (await bench.run('echo $x; ls -A "$TMPDIR"', job="bash")).stdout or ""
    assert (left.split("\n")[0], {*left.split()} - {*above.split()}) == ("", {"file"})


async def test_a_time_that_is_up_ends_a_standing_shell_inside(bench: Bench, sandbox: str) -> None:
    """A time limit ends a shell that stays, and everything it started in its sandbox."""
    with Held(bench.pipe()) as held:
        given = await bench.run("setsid sleep 1000 3>pipe & sleep 1000 3>pipe", job="bash", timeout_ms=300)
        assert (given.timed_out, given.running, given.sandbox) == (True, False, sandbox)
        assert held.text() == ""
    assert (await bench.run("echo new; exit 3", job="bash")).exit_code == 3
