"""Commands that try to outlive their call, to blind their watcher, to take the machine or to steal."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman.model.operations import Operation, ReadOutput, RunCommand, StopCommand, TypeInto, WatchCommand
from dragoman.model.outcomes import CommandOutcome
from dragoman.tools import Context
from dragoman.tools.processes import starter as starter_module
from dragoman.tools.processes.supervisor import descendants
from dragoman.tools.shell import Limits
from tests.tools.shells import Bench, Held, nothing_left, timeless

leaves_nothing = pytest.fixture(autouse=True)(nothing_left)

# Each leaves a process that holds the pipe, and ends at once. None of them is in the command's process group.
DAEMONS = {
    "a session of its own": "setsid sleep 1000 3>pipe &",
    "forked twice": "(setsid sh -c 'sleep 1000 3>pipe & exit' &);",
    "without its environment": "env -i setsid sleep 1000 3>pipe &",
    "forked twice without its environment": "env -i setsid sh -c '/bin/sleep 1000 3>pipe & exit' &",
    "deaf to every request": "setsid bash -c 'trap \"\" TERM HUP INT; sleep 1000' 3>pipe &",
    "halted": "setsid bash -c 'kill -STOP $$' 3>pipe &",
    "ever changing": "setsid bash -c 'exec 3>pipe; f() { (f) & exit; }; f' &",
}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path, grace_ms=100) as bench:
        yield bench


# ── the process that starts commands ─────────────────────────────────────────


async def test_a_killed_or_halted_starter_keeps_no_command_from_running(bench: Bench) -> None:
    await bench.run("true")
    (starter,) = descendants(os.getpid())
    job = await bench.do(RunCommand("read line; echo $line", background=True))
    assert (await bench.run(f"kill -STOP {starter}; echo halted")).stdout == "halted\n"
    assert (await bench.run("echo goes on")).stdout == "goes on\n"
    assert await bench.run(f"kill -KILL {starter}; echo killed") == CommandOutcome(
        exit_code=0, stdout="killed\n", stderr=""
    )
    assert (await bench.run("echo from another")).stdout == "from another\n"
    # What ran before is not touched by it.
    assert "still here" in await bench.until(await bench.do(TypeInto(job.job, "still here\n")), "still here")


async def test_an_order_that_is_lost_with_the_starter_is_given_to_another(bench: Bench) -> None:
    await bench.run("true")
    (starter,) = descendants(os.getpid())
    os.kill(starter, signal.SIGSTOP)
    lost = asyncio.create_task(bench.do(RunCommand("echo once >> file; cat file")))
    await asyncio.sleep(0)
    os.kill(starter, signal.SIGKILL)
    assert (await lost).stdout == "once\n"
    assert (bench.folder / "file").read_text() == "once\n"


@pytest.mark.parametrize("operation", [RunCommand("echo"), RunCommand("echo", job="a"), WatchCommand("echo")])
async def test_a_starter_that_is_always_killed_is_an_error_that_says_so(
    bench: Bench, operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(starter_module, "_PROGRAM", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        failure = await bench.failure(operation)
    assert failure.message == "The command could not be started: the process that starts commands was ended"
    assert (await bench.run("echo next")).stdout == "next\n"


async def test_a_command_has_the_mask_and_the_limits_of_the_moment(bench: Bench) -> None:
    assert (await bench.run("true")).exit_code == 0
    before, files = os.umask(0o027), resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, files[1]))
        assert (await bench.run("umask; ulimit -Sn")).stdout == "0027\n200\n"
    finally:
        os.umask(before)
        resource.setrlimit(resource.RLIMIT_NOFILE, files)


# ── outliving the call ───────────────────────────────────────────────────────


@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS)
@pytest.mark.slow
async def test_no_daemon_outlives_its_call(bench: Bench, daemon: str) -> None:
    with Held(bench.pipe()) as held:
        # The pipe is read for as long as the daemon has not opened it, so that it is there when the call ends.
        given = await bench.run(f"exec 4<>pipe; {daemon} read -t 0.2 <&4; echo over")
        assert given == CommandOutcome(exit_code=0, stdout="over\n", stderr="")
        assert held.text() == ""


@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS)
async def test_no_daemon_outlives_its_job(bench: Bench, daemon: str) -> None:
    with Held(bench.pipe()) as held:
        await bench.run(f"{daemon} exit", background=True)
        await bench.do(ReadOutput("1", block=True))
        await bench.do(StopCommand("1"))
        assert held.text() == ""


async def test_a_program_that_starts_another_when_asked_to_end_is_ended(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        again = "trap 'setsid bash reborn.sh & exit' TERM; exec 3>pipe; sleep 1000 & wait"
        (bench.folder / "reborn.sh").write_text(again)
        given = await bench.run("bash reborn.sh", timeout_ms=500)
        assert given.timed_out
        assert held.text() == ""


# ── blinding the watcher ─────────────────────────────────────────────────────

LOST = "dragoman: the process that watches it was killed, so how it ended is not known\n"


async def test_killing_the_watcher_ends_the_command(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        given = await bench.run("exec 3>pipe; setsid sleep 1000 & echo now; kill -KILL $PPID; wait")
        assert given == CommandOutcome(stdout="now\n", stderr=LOST)
        assert held.text() == ""


async def test_killing_the_watcher_of_a_job_ends_the_job(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        await bench.run("exec 3>pipe; (setsid sleep 1000 &); kill -KILL $PPID; sleep 1000", background=True)
        given = timeless(await bench.do(ReadOutput("1", block=True)))
        assert given == CommandOutcome(stdout="", stderr=LOST, job="1")
        assert held.text() == ""


async def test_the_watcher_is_deaf_to_what_ends_all_of_a_kind(bench: Bench) -> None:
    given = await bench.run("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; kill -QUIT $PPID; exit 3")
    assert given == CommandOutcome(exit_code=3, stdout="", stderr="")


async def test_halting_the_watcher_halts_neither_the_end_nor_the_timeout(bench: Bench) -> None:
    assert await bench.run("kill -STOP $PPID; exit 3") == CommandOutcome(exit_code=3, stdout="", stderr="")
    timed_out = await bench.run("kill -STOP $PPID; exec sleep 1000", timeout_ms=300)
    assert timed_out == CommandOutcome(signal=signal.SIGTERM, stdout="", stderr="", timed_out=True)


async def test_cancelling_ends_a_command_whose_watcher_stays_halted(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        stubborn = "exec 3>pipe; trap '' TERM; echo ready; while :; do kill -STOP $PPID; done"
        task = asyncio.create_task(bench.run(stubborn))
        bench.on_report = lambda _: task.cancel() and None
        with pytest.raises(asyncio.CancelledError):
            await task
        assert held.text() == ""


# ── taking the machine ───────────────────────────────────────────────────────

# Both stop by themselves at some 200 processes, in case nothing else stops them.
BOMBS = {
    "many children": "for _ in $(seq 200); do sleep 1000 & done; wait",
    "children of children": 'f() { if [ "$1" -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & fi; sleep 1000; }; f 7',
    "daemons": "for _ in $(seq 200); do env -i setsid /bin/sleep 1000 & done; wait",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
async def test_a_fork_bomb_is_killed_when_it_has_too_many_processes(tmp_path: Path, bomb: str) -> None:
    async with Bench(tmp_path, limits=Limits(processes=50)) as bench:
        with Held(bench.pipe()) as held:
            given = await bench.run(f"exec 3>pipe; {bomb}")
            assert (given.exit_code, given.signal, given.timed_out) == (None, signal.SIGKILL, False)
            assert given.stderr is not None
            assert given.stderr.startswith("dragoman: killed, since it ran ")
            assert given.stderr.endswith(" processes at once; 50 are allowed\n")
            assert held.text() == ""


async def test_a_command_below_the_limit_is_left_alone(tmp_path: Path) -> None:
    async with Bench(tmp_path, limits=Limits(processes=50)) as bench:
        command = "for _ in $(seq 20); do sleep 0.2 & done; wait; echo done"
        assert await bench.run(command) == CommandOutcome(exit_code=0, stdout="done\n", stderr="")


async def test_endless_output_does_not_grow_memory(bench: Bench) -> None:
    size = 200_000_000
    bench.context = Context(workspace=bench.context.workspace, provides=bench.context.provides)
    tracemalloc.start()
    try:
        given = await bench.run(f"head -c {size} /dev/zero; head -c {size} /dev/zero >&2", output_limit=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    half = "\0" * 250
    cut = size - 500
    text = f"{half}\n… {cut:,} characters cut …\n{half}"
    assert given == CommandOutcome(exit_code=0, stdout=text, stderr=text, truncated=2 * cut)
    assert peak < 32_000_000


async def test_endless_output_of_a_job_nobody_reads_does_not_grow_memory(tmp_path: Path) -> None:
    async with Bench(tmp_path, most_output=10_000) as bench:
        await bench.run("head -c 50000000 /dev/zero", background=True)
        given = await bench.do(ReadOutput("1", block=True, output_limit=10**9))
        assert given.truncated == 50_000_000 - 10_000


async def test_an_endless_line_is_reported_in_pieces(bench: Bench) -> None:
    await bench.do(WatchCommand("head -c 1000000 /dev/zero; echo"))
    await bench.do(ReadOutput("1", block=True))
    assert sum(len(line) for line in bench.reported) == 1_000_000
    assert max(len(line) for line in bench.reported) <= 80_000


async def test_a_pattern_that_explodes_elsewhere_takes_no_time(bench: Bench) -> None:
    await bench.run(f"echo {'a' * 5000}b", background=True)
    given = await bench.do(ReadOutput("1", block=True, pattern="^(a+)+$"))
    assert (given.exit_code, given.stdout) == (0, "")


async def test_a_job_that_does_not_read_does_not_hold_up_others(bench: Bench) -> None:
    await bench.run("sleep 1000", background=True)
    typing = asyncio.create_task(bench.failure(TypeInto("1", "x" * 200_000, wait_ms=300)))
    assert (await bench.run("echo meanwhile")).stdout == "meanwhile\n"
    assert not typing.done() or typing.result()
    assert "does not read its input" in (await typing).message


# ── stealing ─────────────────────────────────────────────────────────────────


async def test_secrets_are_neither_in_the_command_nor_in_its_watcher(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("LC_SECRET", "sk-secret")
    given = await bench.run("env; cat /proc/self/environ /proc/$PPID/environ; tr '\\0' ' ' </proc/$PPID/cmdline")
    assert given.exit_code == 0
    assert "PATH=" in str(given.stdout)
    assert "sk-secret" not in str(given.stdout)


async def test_no_descriptor_of_ours_is_inherited(bench: Bench) -> None:
    secret = os.open(bench.folder, os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        for options in ({}, {"background": True, "wait_ms": 60_000}, {"terminal": True}):
            given = await bench.do(RunCommand("exec ls /proc/self/fd", shell="bash", **options))
            # 3 is the folder that is being listed.
            assert (given.stdout or given.output).split() == ["0", "1", "2", "3"]
    finally:
        os.close(secret)
