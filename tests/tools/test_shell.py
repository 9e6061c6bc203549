from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ToolError
from dragoman.model.operations import ListCommands, ReadOutput, RunCommand, StopCommand, TypeInto, WatchCommand
from dragoman.model.outcomes import CommandOutcome, Job, JobsOutcome
from dragoman.tools import Context
from dragoman.tools.processes.output import BoundedText, Stream, cut_middle
from dragoman.tools.shell import Limits, Shell, Wrote, run_command
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.examples import examples
from tests.tools.shells import Bench, Held, nothing_left, timeless, typed, write_to

leaves_nothing = pytest.fixture(autouse=True)(nothing_left)

WAIT = "exec 3<>pipe; echo ready; read -r answer <&3; echo got $answer"
"""A command that says it is ready, and goes on when somebody writes to the pipe."""


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path) as bench:
        yield bench


# ── running ──────────────────────────────────────────────────────────────────


async def test_streams_and_exit_code_are_kept_apart(bench: Bench) -> None:
    given = await bench.run("echo out; echo wrong >&2; exit 3")
    assert given == CommandOutcome(exit_code=3, stdout="out\n", stderr="wrong\n")


async def test_a_command_ended_by_a_signal_has_no_exit_code(bench: Bench) -> None:
    assert await bench.run("kill -SEGV $$") == CommandOutcome(signal=signal.SIGSEGV, stdout="", stderr="")


async def test_a_command_starts_in_the_folder_it_was_given(bench: Bench) -> None:
    (bench.folder / "inner").mkdir()
    assert (await bench.run("pwd")).stdout == f"{bench.folder}\n"
    assert (await bench.run("pwd", cwd="inner")).stdout == f"{bench.folder}/inner\n"
    assert (await bench.run("pwd", cwd=f"{bench.folder}/inner")).stdout == f"{bench.folder}/inner\n"


async def test_a_command_does_not_start_outside_the_workspace(bench: Bench) -> None:
    (bench.folder / "link").symlink_to("/")
    for cwd in ("..", "/", "link", "link/tmp"):
        assert (await bench.failure(RunCommand("touch here", cwd=cwd))).kind == "denied"


async def test_a_command_does_not_start_where_there_is_no_folder(bench: Bench) -> None:
    (bench.folder / "source").mkdir()
    (bench.folder / "notes.txt").touch()
    missing = await bench.failure(RunCommand("true", cwd="sauce"))
    assert (missing.kind, missing.message) == ("failed", '"sauce" does not exist. "." holds notes.txt, source/.')
    file = await bench.failure(RunCommand("true", cwd="notes.txt"))
    assert (file.kind, file.message) == (
        "invalid_arguments",
        '"notes.txt" is not a folder: a command must start in one.',
    )


async def test_there_are_no_processes_in_a_virtual_workspace() -> None:
    async with Shell() as shell:
        context = Context(workspace=MemoryWorkspace(name="the draft"), provides={Shell: shell})
        with pytest.raises(ToolError, match="no processes in a virtual workspace, and the draft is one"):
            await run_command.run(RunCommand("true"), context)


async def test_a_run_without_a_shell_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="this run provides no Shell"):
        await run_command.run(RunCommand("true"), Context())


async def test_input_is_empty_unless_it_was_asked_for(bench: Bench) -> None:
    assert await bench.run("cat; echo done") == CommandOutcome(exit_code=0, stdout="done\n", stderr="")


async def test_another_shell_can_be_chosen(bench: Bench) -> None:
    assert (await bench.run('echo "$0"', shell="sh")).stdout == f"{shutil.which('sh')}\n"
    assert (await bench.run('echo "$0"', shell="/bin/sh")).stdout == "/bin/sh\n"


async def test_a_shell_that_is_not_there_is_refused_with_those_that_are(bench: Bench) -> None:
    for shell in ("bahs", "/no/such/bash", "./bash", "", "ba\0sh"):
        failure = await bench.failure(RunCommand("true", shell=shell))
        assert failure.kind == "invalid_arguments"
    failure = await bench.failure(RunCommand("true", shell="bahs"))
    assert failure.message.startswith('There is no shell "bahs" here; there is bash, ')
    assert failure.message.endswith('Did you mean "bash"?')


async def test_a_login_shell_reads_its_profile(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("GREETING=hello\n")
    async with Bench(tmp_path, environment={"HOME": str(tmp_path)}) as bench:
        assert (await bench.run("echo $GREETING")).stdout == "\n"
        assert (await bench.run("echo $GREETING", login=True)).stdout == "hello\n"


async def test_what_the_system_cannot_take_is_refused(bench: Bench) -> None:
    for command in ("x" * 200_000, "echo \0", "echo \ud800"):
        assert (await bench.failure(RunCommand(command))).kind == "invalid_arguments"
    for wrong in ({"timeout_ms": 0}, {"wait_ms": -1}, {"output_limit": -1}):
        assert (await bench.failure(RunCommand("true", **wrong))).kind == "invalid_arguments"


async def test_a_command_that_cannot_be_started_says_why(bench: Bench) -> None:
    (bench.folder / "shell").write_text("#!/no/such/interpreter\n")
    (bench.folder / "shell").chmod(0o755)
    for options in ({}, {"background": True}, {"terminal": True}):
        failure = await bench.failure(RunCommand("true", shell=f"{bench.folder}/shell", **options))
        assert "could not be started" in failure.message
        assert "No such file or directory" in failure.message
    assert await bench.do(ListCommands()) == JobsOutcome(())


async def test_a_child_that_keeps_the_output_open_does_not_hold_up_the_call(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        assert (await bench.run("sleep 1000 >pipe & echo started")).stdout == "started\n"
        assert (await bench.run("sleep 1000 3>pipe & echo started")).stdout == "started\n"
        assert held.text() == ""


async def test_what_others_write_right_after_the_end_is_waited_for(bench: Bench) -> None:
    assert (await bench.run("echo through > >(cat)")).stdout == "through\n"


async def test_commands_run_side_by_side(bench: Bench) -> None:
    bench.pipe()
    both = await asyncio.gather(bench.run(WAIT), bench.run("echo hello >pipe"))
    assert both == [
        CommandOutcome(exit_code=0, stdout="ready\ngot hello\n", stderr=""),
        CommandOutcome(exit_code=0, stdout="", stderr=""),
    ]


# ── output ───────────────────────────────────────────────────────────────────


async def test_output_is_reported_while_the_command_runs(tmp_path: Path) -> None:
    pieces: list[Wrote] = []
    async with Bench(tmp_path, observer=pieces.append) as bench:
        pipe = bench.pipe()
        bench.on_report = lambda text: write_to(pipe, "you\n") if text == "ready\n" else None
        given = await bench.run(WAIT)
        assert given == CommandOutcome(exit_code=0, stdout="ready\ngot you\n", stderr="")
        assert bench.reported == ["ready\n", "got you\n"]
        assert pieces == [Wrote("1", "stdout", "ready\n"), Wrote("1", "stdout", "got you\n")]


async def test_long_output_loses_its_middle(bench: Bench) -> None:
    given = await bench.run("seq 100000; echo wrong >&2", output_limit=40)
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    cut = len(whole) - 34
    assert given == CommandOutcome(
        exit_code=0,
        stdout=f"{whole[:17]}\n… {cut:,} characters cut …\n{whole[-17:]}",
        stderr="wrong\n",
        truncated=cut,
    )


async def test_both_streams_share_the_limit(bench: Bench) -> None:
    given = await bench.run("printf %0100d 0; printf %0200d 0 >&2", output_limit=20)
    assert given == CommandOutcome(
        exit_code=0,
        stdout="00000\n… 90 characters cut …\n00000",
        stderr="00000\n… 190 characters cut …\n00000",
        truncated=280,
    )


async def test_output_that_is_not_text_is_shown_as_far_as_it_is(bench: Bench) -> None:
    given = await bench.run(r"printf 'a\0b\377c\342\202'")
    assert given == CommandOutcome(exit_code=0, stdout="a\0b\ufffdc\ufffd", stderr="")


@given(st.lists(st.text(max_size=30)), st.integers(0, 60), st.integers(0, 60))
def test_what_is_kept_is_what_cutting_the_whole_text_gives(pieces: list[str], most: int, limit: int) -> None:
    kept = BoundedText(most)
    for piece in pieces:
        kept.add(piece)
    assert kept.text(limit) == cut_middle("".join(pieces), min(limit, most))


@given(st.lists(st.binary(max_size=5), max_size=20), st.text(max_size=20))
def test_however_bytes_come_the_text_is_the_same(pieces: list[bytes], text: str) -> None:
    whole = b"".join(pieces) + text.encode()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    stream = Stream("stdout", reading, 1000)
    for piece in [*pieces, *(bytes([byte]) for byte in text.encode())]:
        os.write(writing, piece)
        stream.read()
    assert stream.read() is None
    os.close(writing)
    stream.read()
    assert (stream.at_end, stream.kept.text(1000)) == (True, (whole.decode(errors="replace"), 0))
    stream.close()


# ── time ─────────────────────────────────────────────────────────────────────


async def test_a_timeout_ends_the_tree_and_keeps_what_was_written(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        given = await bench.run("exec 3>pipe; sleep 1000 & echo before; wait", timeout_ms=1000)
        assert given == CommandOutcome(signal=signal.SIGTERM, stdout="before\n", stderr="", timed_out=True)
        assert held.text() == ""


async def test_the_default_timeout_is_for_commands_that_are_waited_for(tmp_path: Path) -> None:
    async with Bench(tmp_path, default_timeout_ms=200) as bench:
        assert (await bench.run("sleep 1000")).timed_out
        assert not (await bench.run("echo in time", timeout_ms=60_000)).timed_out
        job = await bench.run("sleep 1000", background=True, wait_ms=400)
        assert (job.running, job.timed_out) == (True, False)


async def test_a_job_can_have_a_timeout_too(bench: Bench) -> None:
    await bench.run("sleep 1000", background=True, timeout_ms=50)
    given = timeless(await bench.do(ReadOutput("1", block=True)))
    assert given == CommandOutcome(signal=signal.SIGTERM, stdout="", stderr="", timed_out=True, job="1")


async def test_a_command_may_end_itself_when_asked_to(bench: Bench) -> None:
    given = await bench.run("trap 'echo tidied; exit 5' TERM; sleep 1000 & echo ready; wait", timeout_ms=1000)
    assert given == CommandOutcome(exit_code=5, stdout="ready\ntidied\n", stderr="", timed_out=True)


async def test_what_does_not_listen_is_killed(tmp_path: Path) -> None:
    async with Bench(tmp_path, grace_ms=50) as bench:
        with Held(bench.pipe()) as held:
            given = await bench.run("trap '' TERM; exec 3>pipe; sleep 1000", timeout_ms=500)
            assert given == CommandOutcome(signal=signal.SIGKILL, stdout="", stderr="", timed_out=True)
            assert held.text() == ""


async def test_cancelling_the_task_ends_the_tree(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        task = asyncio.create_task(bench.run("exec 3>pipe; sleep 1000 & echo ready; wait"))
        bench.on_report = lambda _: task.cancel() and None
        with pytest.raises(asyncio.CancelledError):
            await task
        assert held.text() == ""
        assert bench.reported == ["ready\n"]


async def test_cancelling_twice_still_ends_the_tree(tmp_path: Path) -> None:
    async with Bench(tmp_path, grace_ms=60_000) as bench:
        with Held(bench.pipe()) as held:
            command = "trap 'echo asked' TERM; exec 3>pipe; echo ready; while :; do sleep 1000 & wait; done"
            task = asyncio.create_task(bench.run(command))
            bench.on_report = lambda _: task.cancel() and None
            with pytest.raises(asyncio.CancelledError):
                await task
            assert held.text() == ""
            assert bench.reported == ["ready\n", "asked\n"]


async def test_a_cancelled_call_ends_the_tree(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        bench.on_report = lambda _: bench.context.cancellation.cancel("not needed any more")
        failure = await bench.failure(RunCommand("exec 3>pipe; sleep 1000 & echo ready; wait"))
        assert (failure.kind, failure.message) == ("cancelled", "not needed any more")
        assert held.text() == ""


# ── jobs ─────────────────────────────────────────────────────────────────────


async def test_a_job_is_read_typed_into_and_ends(bench: Bench) -> None:
    command = "while read -r line; do echo got $line; done; echo end; exit 4"
    assert await bench.do(RunCommand(command, background=True)) == CommandOutcome(running=True, job="1")
    assert await bench.do(ListCommands()) == JobsOutcome((Job("1", command, running=True),))

    assert await typed(bench, "1", "one\n", "got one\n") == "got one\n"
    assert await typed(bench, "1", "two\nthree\n", "got three\n") == "got two\ngot three\n"
    closed = timeless(await bench.do(TypeInto("1", "four\n\x04", wait_ms=60_000)))
    assert closed == CommandOutcome(exit_code=4, stdout="got four\nend\n", stderr="", job="1")
    assert timeless(await bench.do(ReadOutput("1"))) == CommandOutcome(exit_code=4, stdout="", stderr="", job="1")
    assert await bench.do(ListCommands()) == JobsOutcome((Job("1", command, running=False, exit_code=4),))

    late = await bench.failure(TypeInto("1", "five\n"))
    assert late.message == 'Job "1" has ended (exit code 4): nothing was typed.'
    assert timeless(await bench.do(TypeInto("1", ""))) == CommandOutcome(exit_code=4, stdout="", stderr="", job="1")


async def test_a_command_is_left_running_after_the_time_to_watch_it(bench: Bench) -> None:
    pipe = bench.pipe()
    given = await bench.run(WAIT, wait_ms=1)
    assert (given.running, given.job) == (True, "1")
    assert await bench.until(given, "ready") == "ready\n"
    write_to(pipe, "it\n")
    ended = timeless(await bench.do(ReadOutput("1", block=True)))
    assert ended == CommandOutcome(exit_code=0, stdout="got it\n", stderr="", job="1")


async def test_a_command_that_ends_while_it_is_watched_is_no_job(bench: Bench) -> None:
    assert await bench.run("echo quick", wait_ms=60_000) == CommandOutcome(exit_code=0, stdout="quick\n", stderr="")
    assert await bench.do(ListCommands()) == JobsOutcome(())


async def test_a_job_in_the_background_is_kept_when_it_ends_at_once(bench: Bench) -> None:
    given = await bench.run("echo quick", background=True, wait_ms=60_000)
    assert given == CommandOutcome(exit_code=0, stdout="quick\n", stderr="", job="1")
    assert await bench.do(ListCommands()) == JobsOutcome((Job("1", "echo quick", running=False, exit_code=0),))


async def test_stopping_a_job_ends_all_it_started(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        await bench.run("exec 3>pipe; (setsid sleep 1000 &) ; sleep 1000 & echo ready; exit 7", background=True)
        left = timeless(await bench.do(ReadOutput("1", block=True)))
        assert left == CommandOutcome(exit_code=7, stdout="ready\n", stderr="", job="1")
        with pytest.raises(BlockingIOError):
            held.text()  # what it left behind still runs
        stopped = timeless(await bench.do(StopCommand("1")))
        assert stopped == CommandOutcome(exit_code=7, stdout="", stderr="", job="1")
        assert held.text() == ""
        assert timeless(await bench.do(StopCommand("1"))) == stopped


async def test_a_stopped_job_tells_its_last_words(bench: Bench) -> None:
    pieces = "trap 'echo bye; exit 9' TERM; sleep 1000 & echo ready; wait"
    await bench.until(await bench.run(pieces, background=True), "ready")
    stopped = timeless(await bench.do(StopCommand("1")))
    assert stopped == CommandOutcome(exit_code=9, stdout="bye\n", stderr="", job="1")


async def test_an_unknown_job_is_answered_with_the_known_ones(bench: Bench) -> None:
    for operation in (ReadOutput("1"), TypeInto("1", "x"), StopCommand("1")):
        failure = await bench.failure(operation)
        assert failure.message == 'There is no job "1". No job was left running.'
    await bench.run("true", background=True, job="server")
    await bench.run("true", background=True)
    failure = await bench.failure(ReadOutput("serve"))
    assert failure.message == 'There is no job "serve". The jobs are "server", "1". Did you mean "server"?'
    assert failure.details == {"jobs": ["server", "1"]}


async def test_the_name_of_a_job_is_free_again_when_it_is_over(bench: Bench) -> None:
    await bench.run("sleep 1000", background=True, job="server")
    taken = await bench.failure(RunCommand("true", background=True, job="server"))
    assert taken.message == 'Job "server" is still there: stop it, or choose another name.'
    await bench.do(StopCommand("server"))
    again = await bench.run("echo again", job="server")
    assert again == CommandOutcome(exit_code=0, stdout="again\n", stderr="", job="server")


async def test_no_two_commands_have_the_same_name_at_a_time(bench: Bench) -> None:
    first = asyncio.create_task(bench.run("sleep 1000", wait_ms=100, job="server"))
    second = asyncio.create_task(bench.failure(RunCommand("sleep 1000", wait_ms=100, job="server")))
    assert (await first).job == "server"
    assert (await second).message == 'Job "server" is still there: stop it, or choose another name.'


async def test_there_are_only_so_many_jobs(tmp_path: Path) -> None:
    async with Bench(tmp_path, most_jobs=2) as bench:
        await bench.run("sleep 1000", background=True)
        await bench.run("sleep 1000", background=True)
        failure = await bench.failure(RunCommand("sleep 1000", background=True))
        assert failure.message == "There are 2 jobs already, the most there can be: stop one of them first."
        assert (await bench.run("echo no job")).stdout == "no job\n"
        await bench.do(StopCommand("2"))
        for _ in range(4):
            await bench.run("true", background=True, wait_ms=60_000)
        jobs = (await bench.do(ListCommands())).jobs
        assert [job.job for job in jobs] == ["1", "5", "6", "7"]


async def test_only_matching_lines_are_read_when_a_pattern_is_given(bench: Bench) -> None:
    pipe = bench.pipe()
    given = await bench.do(WatchCommand("exec 3<>pipe; seq 30; printf hal; read -r x <&3; echo f"))
    assert await bench.until(given, "30\n", pattern="2$|^3.$|hal") == "2\n12\n22\n30\n"
    write_to(pipe, "go\n")
    ended = timeless(await bench.do(ReadOutput("1", block=True, pattern="half")))
    assert ended == CommandOutcome(exit_code=0, stdout="half\n", stderr="", job="1")


async def test_a_wrong_pattern_costs_no_output(bench: Bench) -> None:
    await bench.run("echo kept", background=True)
    for pattern in ("(", "a\0b", "\ud800"):
        failure = await bench.failure(ReadOutput("1", block=True, pattern=pattern))
        assert failure.kind == "invalid_arguments"
    assert (await bench.do(ReadOutput("1", block=True))).stdout == "kept\n"


async def test_only_the_last_lines_are_read_when_so_many_are_asked_for(bench: Bench) -> None:
    await bench.run("seq 30; seq 40 45 >&2", background=True)
    given = timeless(await bench.do(ReadOutput("1", block=True, lines=2)))
    assert given == CommandOutcome(exit_code=0, stdout="29\n30\n", stderr="44\n45\n", job="1")


async def test_a_job_with_a_terminal_has_one(bench: Bench) -> None:
    given = await bench.run("test -t 0 && test -t 1 && test -t 2 && stty size", terminal=True)
    assert given == CommandOutcome(exit_code=0, output="24 80\r\n")
    assert "TERM=" in ((await bench.run("env", terminal=True)).output or "")


async def test_control_characters_act_on_a_terminal(bench: Bench) -> None:
    await bench.run("trap 'echo interrupted' INT; cat; cat; exit 6", terminal=True, wait_ms=1)
    await typed(bench, "1", "hello\n", "hello\r\nhello\r\n")
    await typed(bench, "1", "\x03", "interrupted")
    ended = timeless(await bench.do(TypeInto("1", "\x04", wait_ms=60_000)))
    assert (ended.exit_code, ended.running) == (6, False)


async def test_control_c_interrupts_a_job_without_a_terminal(bench: Bench) -> None:
    await bench.until(
        await bench.run("trap 'echo stopping; exit 8' INT; sleep 1000 & echo ready; wait", wait_ms=1), "ready"
    )
    ended = timeless(await bench.do(TypeInto("1", "\x03", wait_ms=60_000)))
    assert ended == CommandOutcome(exit_code=8, stdout="stopping\n", stderr="", job="1")


async def test_a_job_without_an_input_says_so(bench: Bench) -> None:
    await bench.run("sleep 1000", wait_ms=0)
    failure = await bench.failure(TypeInto("1", "hello\n"))
    assert failure.message == (
        'Job "1" has no input that could be typed into. '
        "Commands that are started in the background or with a terminal have an input."
    )


async def test_typing_what_is_never_read_fails_in_time(bench: Bench) -> None:
    await bench.run("sleep 1000", background=True)
    failure = await bench.failure(TypeInto("1", "x" * 1_000_000, wait_ms=100))
    assert failure.message.startswith('Job "1" does not read its input: 65,536 of 1,000,000 bytes were taken.')
    assert (await bench.failure(TypeInto("1", "\ud800"))).kind == "invalid_arguments"


async def test_waiting_for_a_job_can_be_cancelled_and_leaves_it_running(bench: Bench) -> None:
    await bench.run("sleep 1000", background=True)
    waiting = asyncio.create_task(bench.do(ReadOutput("1", block=True)))
    bench.context.cancellation.cancel("enough")
    with pytest.raises(ToolError, match="enough"):
        await waiting
    assert (await bench.do(ListCommands())).jobs[0].running


async def test_closing_the_shell_ends_every_job(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with Held(bench.pipe()) as held:
        await bench.run("exec 3>pipe; setsid sleep 1000", background=True)
        await bench.run("exec 3>pipe; setsid sleep 1000", terminal=True, wait_ms=0)
        await bench.shell.close()
        assert held.text() == ""
    failure = await bench.failure(RunCommand("true"))
    assert failure.message == "Commands cannot be run any more: the shell was closed."


def test_jobs_go_on_from_one_event_loop_to_the_next(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    pipe = bench.pipe()
    asyncio.run(bench.run(f"{WAIT}; seq 100000", background=True))
    output = ""
    while "ready" not in output:
        output += asyncio.run(bench.do(ReadOutput("1"))).stdout or ""
    write_to(pipe, "on\n")
    given = timeless(asyncio.run(bench.do(ReadOutput("1", block=True, lines=1))))
    assert given == CommandOutcome(exit_code=0, stdout="100000\n", stderr="", job="1")
    asyncio.run(bench.shell.close())


LEFT_ALONE = """
import asyncio, sys, time
from dragoman.model.operations import RunCommand
from dragoman.tools import Context
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.shell import Shell, run_command

async def main():
    context = Context(workspace=DiskWorkspace(sys.argv[1]), provides={Shell: Shell()})
    await run_command.run(RunCommand("exec 3>pipe; setsid sleep 1000", background=True), context)
    await run_command.run(RunCommand("exec 3>pipe; echo ready >&3; sleep 1000"), context)

asyncio.run(main())
"""


def test_killing_this_process_ends_all_it_ran(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-c", LEFT_ALONE, str(tmp_path)]
    with subprocess.Popen(command) as process, open(tmp_path / "pipe") as pipe:
        assert pipe.readline() == "ready\n"
        process.kill()
        assert pipe.read() == ""  # comes to its end when the last of them is gone


# ── watching ─────────────────────────────────────────────────────────────────


async def test_each_line_of_a_watched_command_is_reported(bench: Bench) -> None:
    given = await bench.do(WatchCommand("echo one; echo two >&2; printf three"))
    assert given == CommandOutcome(running=True, job="1")
    ended = timeless(await bench.do(ReadOutput("1", block=True)))
    assert ended == CommandOutcome(exit_code=0, stdout="one\nthree", stderr="two\n", job="1")
    assert sorted(bench.reported) == ["one", "three", "two"]


async def test_watching_ends_after_so_many_lines(bench: Bench) -> None:
    await bench.do(WatchCommand("yes", limit=3))
    ended = await bench.do(ReadOutput("1", block=True))
    assert (ended.running, ended.signal, ended.timed_out) == (False, signal.SIGTERM, False)
    assert bench.reported == ["y", "y", "y"]


async def test_watching_ends_after_its_time_or_so_long_without_a_line(bench: Bench) -> None:
    await bench.do(WatchCommand("sleep 1000", timeout_ms=50))
    await bench.do(WatchCommand("echo one; sleep 1000", idle_timeout_ms=300))
    for job in ("1", "2"):
        ended = await bench.do(ReadOutput(job, block=True))
        assert (ended.running, ended.signal, ended.timed_out) == (False, signal.SIGTERM, True)


async def test_what_cannot_be_watched_is_refused(bench: Bench) -> None:
    assert (await bench.failure(WatchCommand(url="ws://localhost/"))).message == (
        "Following a socket is not available: watch a command instead."
    )
    assert (await bench.failure(WatchCommand())).kind == "invalid_arguments"
    assert (await bench.failure(WatchCommand("true", limit=0))).kind == "invalid_arguments"


# ── environment and limits ───────────────────────────────────────────────────


async def environment_of(bench: Bench) -> dict[str, str]:
    output = (await bench.run("env -0")).stdout or ""
    variables = dict(line.split("=", 1) for line in output.split("\0") if line)
    return {name: value for name, value in variables.items() if name not in ("_", "PWD", "SHLVL", "OLDPWD")}


async def test_only_allowed_variables_reach_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    path = "/usr/bin:/bin"
    given = {"PATH": path, "LC_ALL": "C", "LC_API_KEY": "x", "OPENAI_API_KEY": "x", "GH_TOKEN": "x", "NODE_ENV": "x"}
    for name, value in {**given, "LD_LIBRARY_PATH": "", "BASH_ENV": "x"}.items():
        monkeypatch.setenv(name, value)
    async with Bench(tmp_path) as bench:
        found = await environment_of(bench)
        assert found == {"PATH": path, "LC_ALL": "C"}
    async with Bench(tmp_path, allow=["NODE_*", "GH_TOKEN", "*"], environment={"COLOUR": "no"}) as bench:
        found = await environment_of(bench)
        others = {"LD_LIBRARY_PATH": "", "BASH_ENV": "x", "COLOUR": "no", "GH_TOKEN": "x", "NODE_ENV": "x"}
        current = {name: value for name, value in found.items() if not name.startswith("PYTEST_")}
        assert current == {"PATH": path, "LC_ALL": "C", **others}


async def test_limits_hold(tmp_path: Path) -> None:
    limits = Limits(cpu_seconds=1, memory_bytes=1 << 30, file_bytes=4096)
    async with Bench(tmp_path, limits=limits) as bench:
        assert (await bench.run("ulimit -t -v -f | grep -o '[0-9]*$'")).stdout == "1\n1048576\n4\n"
        assert await bench.run("exec head -c 5000 /dev/zero >file") == CommandOutcome(
            signal=signal.SIGXFSZ, stdout="", stderr=""
        )
        assert (tmp_path / "file").stat().st_size == 4096
        assert await bench.run("while :; do :; done") == CommandOutcome(signal=signal.SIGXCPU, stdout="", stderr="")


# ── any arguments ────────────────────────────────────────────────────────────

ANY_NUMBER = st.none() | st.integers() | st.integers(0, 3)
ANY_TEXT = st.none() | st.text(max_size=8) | st.sampled_from([".", "..", "/", "\0", "1", "inner"])


@examples(40)
@given(
    run=st.fixed_dictionaries(
        {},
        optional={
            "cwd": ANY_TEXT,
            "job": ANY_TEXT,
            "timeout_ms": ANY_NUMBER,
            "wait_ms": st.none() | st.integers(max_value=3),
            "output_limit": ANY_NUMBER,
            "background": st.booleans(),
            "terminal": st.booleans(),
            "unsandboxed": st.booleans(),
        },
    ),
    read=st.builds(
        ReadOutput,
        job=st.just("1") | st.text(max_size=3),
        wait_ms=st.none() | st.integers(max_value=3),
        lines=ANY_NUMBER,
        pattern=ANY_TEXT,
        output_limit=ANY_NUMBER,
    ),
)
def test_any_arguments_give_an_outcome_or_a_typed_failure(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, Any], read: ReadOutput
) -> None:
    async def attempt() -> None:
        async with Bench(tmp_path_factory.mktemp("any")) as bench:
            for operation in (RunCommand("echo hello", **run), read):
                with suppress(ToolError):
                    assert isinstance(await bench.do(operation), CommandOutcome)

    asyncio.run(attempt())
