"""Which sandbox is chosen, and what is said when there is none; what each keeps in is tested where both are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigError, ToolError
from dragoman.model.operations import RunCommand
from dragoman.model.outcomes import CommandOutcome
from dragoman.tools.sandbox import Sandbox, bubblewrap, choose
from dragoman.tools.shell import Shell
from tests.tools.shells import Bench, nothing_left

leaves_nothing = pytest.fixture(autouse=True)(nothing_left)

NOTHING = "bubblewrap is not installed, and this system has no Landlock"


def test_without_a_sandbox_asked_for_none_is_looked_for() -> None:
    assert choose("off") == Sandbox(None)


@pytest.mark.parametrize("word", ["required", "Off", "", True, None])
def test_a_word_that_is_no_mode_is_refused_at_once(word: Any) -> None:
    for attempt in (lambda: Shell(sandbox=word), lambda: choose(word, path="", landlock=0)):
        with pytest.raises(ConfigError) as failure:
            attempt()
        assert str(failure.value).startswith(
            f'there is no sandbox mode {word!r}; the modes are "off", "auto", "require".'
        )


def test_where_there_is_none_it_is_said_plainly() -> None:
    assert choose("auto", path="", landlock=0) == Sandbox(f"none: {NOTHING}")
    assert choose("auto", path="", landlock=2) == Sandbox(
        "none: bubblewrap is not installed, and this kernel's Landlock is version 2, 3 is needed"
    )


def test_where_one_is_required_and_there_is_none_it_is_said_what_to_install() -> None:
    with pytest.raises(ToolError) as failure:
        choose("require", path="", landlock=0)
    assert (failure.value.kind, failure.value.message) == (
        "denied",
        f"Commands must run in a sandbox here, and there is none: {NOTHING}. Nothing was run. "
        "Install bubblewrap (the package is named bubblewrap, the program bwrap) "
        "or use a Linux kernel of version 6.2 or newer with Landlock enabled.",
    )


def test_landlock_is_used_where_there_is_no_bubblewrap() -> None:
    assert choose("auto", path="", landlock=3) == choose("require", path="", landlock=3) == Sandbox("landlock")


def test_a_bubblewrap_that_may_not_do_its_work_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    assert choose("auto", path=str(tmp_path), landlock=0) == Sandbox(
        "none: bubblewrap does not work here (bwrap: No permissions to create new namespace), "
        "and this system has no Landlock"
    )
    program.write_text("no program at all")
    assert choose("auto", path=str(tmp_path), landlock=3) == Sandbox("landlock")


def test_a_bubblewrap_that_does_its_work_is_used(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    program.chmod(0o755)
    assert choose("auto", path=str(tmp_path), landlock=3) == Sandbox("bubblewrap", str(program))


def test_what_bubblewrap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    always = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    always += ["--cap-drop", "ALL"]
    system = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    resolver = ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    assert bubblewrap("bwrap", root="/w", cwd="/w/a", writable=["/cache"], network=False) == (
        [*always, "--unshare-net", *system, "--bind", "/w", "/w", "--bind", "/cache", "/cache", "--chdir", "/w/a", "--"]
    )
    assert bubblewrap("bwrap", root="/w", cwd="/w", writable=[], network=True) == (
        [*always, *system, *resolver, "--bind", "/w", "/w", "--chdir", "/w", "--"]
    )


def test_root_keeps_only_what_it_needs_for_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = bubblewrap("bwrap", root="/w", cwd="/w", writable=[], network=False)
    added = [words[place + 1] for place, word in enumerate(words) if word == "--cap-add"]
    kept = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE")
    assert added == [f"CAP_{name}" for name in kept]


async def test_the_outcome_says_what_the_command_ran_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"PATH": os.environ["PATH"]}
    monkeypatch.setenv("PATH", "")
    async with Bench(tmp_path, sandbox="auto", environment=environment) as bench:
        given = await bench.run("echo here >file; cat file")
        # With Landlock, or, on a kernel that has none, without; but never with bubblewrap.
        assert given == CommandOutcome(exit_code=0, stdout="here\n", stderr="", sandbox=choose("auto", path="").name)
        job = await bench.do(RunCommand("true", background=True))
        assert job == CommandOutcome(running=True, job="2", sandbox=given.sandbox)


def test_what_may_be_written_to_must_be_there() -> None:
    with pytest.raises(ConfigError, match="what commands may write to must be a folder, and /no/such is none"):
        Shell(sandbox="auto", writable=["/no/such"])


async def test_nobody_leaves_the_sandbox_without_leave(tmp_path: Path) -> None:
    async with Bench(tmp_path, sandbox="auto") as bench:
        failure = await bench.failure(RunCommand("touch file", unsandboxed=True))
        assert (failure.kind, failure.message) == (
            "denied",
            "Running outside the sandbox is not allowed here: run it inside.",
        )
        assert not (tmp_path / "file").exists()
    async with Bench(tmp_path, sandbox="require", allow_unsandboxed=True) as bench:
        given = await bench.run("true", unsandboxed=True)
        assert given == CommandOutcome(exit_code=0, stdout="", stderr="", sandbox="none: it was asked to run outside")
    async with Bench(tmp_path) as bench:
        assert await bench.run("true", unsandboxed=True) == CommandOutcome(exit_code=0, stdout="", stderr="")
