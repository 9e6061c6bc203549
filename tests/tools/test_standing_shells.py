"""Shells that stay from one command to the next: what they keep, what ends them, and that nothing outlives them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.config import Sandbox
from dragoman.model.operations import ListCommands, ReadOutput, RunCommand, StopCommand, TypeInto
from dragoman.model.outcomes import CommandOutcome, Job, JobsOutcome
from dragoman.tools import Cancellation, Context
from dragoman.tools.processes.supervisor import descendants
from dragoman.tools.shell import Limits, Shell, Wrote, run_command
from dragoman.tools.workspace.disk import DiskWorkspace
from tests.examples import examples
from tests.tools.sandboxes import pretended_bubblewrap
from tests.tools.shells import Bench, Held, nothing_left, timeless, write_to

leaves_nothing = pytest.fixture(autouse=True)(nothing_left)

ENDED = "dragoman: the shell has ended with this command: the next one starts in a new shell\n"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path) as bench:
        yield bench


def gave(exit_code: int | None = 0, stdout: str = "", stderr: str = "", **more: Any) -> CommandOutcome:
    return CommandOutcome(exit_code=exit_code, stdout=stdout, stderr=stderr, job="bash", **more)


async def ready(bench: Bench, command: Coroutine[Any, Any, CommandOutcome]) -> asyncio.Task[CommandOutcome]:
    """A command that has begun, and said so."""
    begun = asyncio.Event()
    bench.on_report = lambda message: begun.set() if message == "ready\n" else None
    task = asyncio.create_task(command)
    await begun.wait()
    return task


def read_from(pipe: str) -> str:
    """What somebody writes to a named pipe; waits for it."""
    return Path(pipe).read_text()


async def said(bench: Bench, command: str, **options: Any) -> CommandOutcome:
    return await bench.run(command, job="bash", **options)


# ── what is kept ─────────────────────────────────────────────────────────────


async def test_folder_variables_functions_and_options_stay(bench: Bench) -> None:
    (bench.folder / "inner").mkdir()
    setting = "cd inner; export A=1; plain=2; declare -A map=([k]=3); f() { echo f $A; }; shopt -s nullglob; umask 077"
    assert await said(bench, setting) == gave()
    assert await said(bench, "pwd; f; echo $plain ${map[k]} *.nothing; umask; sh -c 'echo $A'") == gave(
        0, f"{bench.folder}/inner\nf 1\n2 3\n0077\n1\n"
    )


async def test_commands_that_name_no_shell_or_another_share_nothing(bench: Bench) -> None:
    await said(bench, "cd /; export A=1")
    assert (await bench.run("pwd; echo $A")).stdout == f"{bench.folder}\n\n"
    assert (await bench.run("pwd; echo $A", job="other")).stdout == f"{bench.folder}\n\n"
    assert (await said(bench, "pwd; echo $A")).stdout == "/\n1\n"


async def test_an_open_file_and_a_redirected_stream_stay(bench: Bench) -> None:
    await said(bench, "exec 3>log; echo one >&3")
    await said(bench, "echo two >&3; exec 3>&-")
    assert (bench.folder / "log").read_text() == "one\ntwo\n"
    assert await said(bench, "exec >all; echo three") == gave()
    assert await said(bench, "echo four; echo wrong >&2") == gave(0, "", "wrong\n")
    assert (bench.folder / "all").read_text() == "three\nfour\n"


async def test_a_child_stays_and_is_waited_for_later(bench: Bench) -> None:
    bench.pipe()
    assert await said(bench, "(read -r word <pipe; exit 7) & child=$!") == gave()
    assert await said(bench, "echo go >pipe; wait $child") == gave(7)


async def test_a_folder_that_is_asked_for_is_gone_to_and_stayed_in(bench: Bench) -> None:
    (bench.folder / "it's").mkdir()
    (bench.folder / "inner").mkdir()
    assert (await said(bench, "pwd", cwd="inner")).stdout == f"{bench.folder}/inner\n"
    assert (await said(bench, "pwd; echo $0; exec 5<&0", cwd="it's")).stdout == f"{bench.folder}/it's\n/bin/bash\n"
    assert (await said(bench, "pwd")).stdout == f"{bench.folder}/it's\n"
    assert (await bench.failure(RunCommand("pwd", cwd="..", job="bash"))).kind == "denied"


# ── what a command is ────────────────────────────────────────────────────────

COMMANDS = {
    "quotes": ("echo 'it'\\''s' \"a  b\" $'c\\td'", gave(0, "it's a  b c\td\n")),
    "several lines": ("echo one\n\nif true\nthen echo two\nfi\n", gave(0, "one\ntwo\n")),
    "a here document": ("cat <<EOF\n$((1 + 1))\n'kept'\nEOF", gave(0, "2\n'kept'\n")),
    "a comment": ("# nothing", gave()),
    "nothing": ("", gave()),
    "a comment at the end": ("echo x # y", gave(0, "x\n")),
    "an empty input": ("cat; read -r x; echo $?", gave(0, "1\n")),
    "an unknown program": ("echo a\nnosuch", gave(127, "a\n", "/bin/bash: line 2: nosuch: command not found\n")),
    "a failed command": ("(exit 200)", gave(200)),
    "a child killed": ("sh -c 'kill -SEGV $$'", gave(139, "", "/bin/bash: line 1: {pid} Segmentation fault")),
    "streams apart": ("echo out; echo wrong >&2; false", gave(1, "out\n", "wrong\n")),
    "no newline": ("printf x", gave(0, "x")),
    "bytes that are no text": ("printf 'a\\377b\\0c\\342\\202'", gave(0, "a\ufffdb\0c\ufffd")),
    "a stray break": ("for i in 1 2; do break; done; break; echo $i", gave()),
    "input closed": ("exec 0<&-; echo x", gave(0, "x\n")),
    "a subshell that exits": ("(exit 3); echo $?", gave(0, "3\n")),
    "a pipe": ("seq 3 | tail -1", gave(0, "3\n")),
    "what others write right after the end": ("echo through > >(cat)", gave(0, "through\n")),
    "characters": ("echo žluťoučký 🐎", gave(0, "žluťoučký 🐎\n")),
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_commands_of_every_kind_run_one_after_the_other(bench: Bench, name: str) -> None:
    command, expected = COMMANDS[name]
    for _ in range(2):
        given = await said(bench, command)
        if "{pid}" in (expected.stderr or ""):
            assert (given.exit_code, "Segmentation fault" in (given.stderr or "")) == (139, True)
        else:
            assert given == expected
    assert await said(bench, "echo next") == gave(0, "next\n")


@pytest.mark.parametrize("broken", ["if", "echo 'open", "(", "cat <<EOF", "fi", "echo $(", "}"])
async def test_a_command_that_does_not_parse_costs_nothing_else(bench: Bench, broken: str) -> None:
    await said(bench, "x=kept")
    assert (await said(bench, broken)).exit_code in ({0} if broken == "cat <<EOF" else {1, 2})
    assert await said(bench, "echo $x") == gave(0, "kept\n")


async def test_tracing_shows_the_commands_alone(bench: Bench) -> None:
    await said(bench, "set -x")
    assert await said(bench, "echo a") == gave(0, "a\n", "++ echo a\n")
    assert await said(bench, "set +x; echo b") == gave(0, "b\n", "++ set +x\n")
    assert await said(bench, "echo c") == gave(0, "c\n")


async def test_nothing_of_the_shells_own_is_seen(bench: Bench) -> None:
    given = await said(bench, "set -a; compgen -v | grep dragoman; env | grep -c __dragoman; compgen -A function")
    assert given.stdout == "0\n"


async def test_output_is_cut_in_the_middle_and_memory_is_bounded(tmp_path: Path) -> None:
    async with Bench(tmp_path, most_output=1000) as bench:
        for _ in range(2):
            given = await said(bench, "yes | head -c 5000000; echo end; exit_later=1", output_limit=20)
            assert given.exit_code == 0
            assert (given.stdout or "").endswith("\nend\n")
            assert "characters cut" in (given.stdout or "")
            assert given.truncated == 5_000_004 - 20
        assert (await said(bench, "echo $exit_later")).stdout == "1\n"


async def test_a_command_as_long_as_any_is_taken(bench: Bench) -> None:
    long = "x" * 120_000
    assert await said(bench, f"y={long}; echo ${{#y}}") == gave(0, "120000\n")
    assert (await bench.failure(RunCommand("x" * 200_000, job="bash"))).kind == "invalid_arguments"
    assert (await bench.failure(RunCommand("echo \0", job="bash"))).kind == "invalid_arguments"
    assert await said(bench, "echo ${#y}") == gave(0, "120000\n")


async def test_output_is_reported_as_it_comes_and_to_the_observer(tmp_path: Path) -> None:
    heard: list[Wrote] = []
    async with Bench(tmp_path, observer=heard.append) as bench:
        await said(bench, "echo one")
        await said(bench, "echo two >&2")
        assert bench.reported == ["one\n", "two\n"]
    assert heard == [Wrote("bash", "stdout", "one\n"), Wrote("bash", "stderr", "two\n")]


@examples(20)
@given(texts=st.lists(st.text("'\"`$(){}[];&|<>\n #\\!*?ax=-", max_size=12), min_size=1, max_size=4))
def test_whatever_a_command_says_the_next_one_is_its_own(tmp_path: Path, texts: list[str]) -> None:
    async def tried() -> None:
        async with Bench(tmp_path, limits=Limits(processes=40), grace_ms=100) as bench:
            for text in texts:
                await said(bench, text, timeout_ms=5000)
                given = await said(bench, "(exit 7)", timeout_ms=5000)
                assert (given.exit_code, given.stdout, given.running) == (7, "", False)

    asyncio.run(tried())


# ── what ends it ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "command, given",
    [
        ("echo bye; exit 3", gave(3, "bye\n", ENDED)),
        ("exec sh -c 'echo other; exit 4'", gave(4, "other\n", ENDED)),
        ("set -e; false; echo not reached", gave(1, "", ENDED)),
        ("kill -KILL $$", gave(None, "", ENDED, signal=signal.SIGKILL)),
        ("break 9", gave(0, "", ENDED)),
        ("trap 'echo last words' EXIT; exit 5", gave(5, "last words\n", ENDED)),
    ],
)
async def test_a_command_that_ends_its_shell_says_so_and_the_next_has_a_new_one(
    bench: Bench, command: str, given: CommandOutcome
) -> None:
    await said(bench, "cd /; x=lost")
    assert await said(bench, command) == given
    assert await said(bench, "pwd; echo $x") == gave(0, f"{bench.folder}\n\n")


async def test_errors_that_end_a_shell_end_it_at_a_later_command_too(bench: Bench) -> None:
    assert await said(bench, "set -e") == gave()
    assert await said(bench, "true; echo on") == gave(0, "on\n")
    assert await said(bench, "false") == gave(1, "", ENDED)
    assert await said(bench, "false; echo on") == gave(0, "on\n")


async def test_what_a_shell_left_running_ends_with_it(bench: Bench) -> None:
    with Held(bench.pipe()) as held:
        await said(bench, "sleep 1000 3>pipe & setsid sleep 1000 3>pipe & disown -a")
        await said(bench, "exit 0")
        assert held.text() == ""


async def test_a_time_that_is_up_ends_the_command_and_the_shell(bench: Bench) -> None:
    await said(bench, "x=1; cd /")
    with Held(bench.pipe()) as held:
        command = f"echo before; sleep 1000 3>{bench.folder}/pipe; echo after"
        given = await said(bench, command, timeout_ms=200)
        assert given == gave(None, "before\n", ENDED, signal=signal.SIGTERM, timed_out=True)
        assert held.text() == ""
    assert await said(bench, "echo $x; pwd") == gave(0, f"\n{bench.folder}\n")


async def test_time_is_counted_for_each_command(tmp_path: Path) -> None:
    async with Bench(tmp_path, default_timeout_ms=60_000) as bench:
        assert await said(bench, "x=1", timeout_ms=1000) == gave()
        assert await said(bench, "sleep 1.1; echo $x") == gave(0, "1\n")


async def test_a_call_that_is_cancelled_ends_the_shell_and_the_next_call_is_told(bench: Bench) -> None:
    await said(bench, "x=1")
    with Held(bench.pipe()) as held:
        running = await ready(bench, said(bench, "echo ready; sleep 1000 3>pipe"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert held.text() == ""
    news = "dragoman: this is a new shell: the one before had ended (signal 15)\n"
    assert await said(bench, "echo $x") == gave(0, "\n", news)
    assert await said(bench, "echo $x") == gave(0, "\n")


async def test_a_call_that_nobody_wants_any_more_ends_too(bench: Bench) -> None:
    cancellation = Cancellation()
    context = Context(
        workspace=bench.context.workspace,
        provides={Shell: bench.shell},
        cancellation=cancellation,
        report=lambda *_: cancellation.cancel(),
    )
    with pytest.raises(BaseException, match="cancel"):
        await run_command.run(RunCommand("echo ready; sleep 1000", job="bash"), context)


async def test_a_shell_that_died_between_two_commands_is_replaced_and_that_is_said(bench: Bench) -> None:
    given = await said(bench, "echo $$")
    os.kill(int(given.stdout or ""), signal.SIGKILL)
    while len(descendants(os.getpid())) > 1:  # the process that starts commands stays
        pass
    news = "dragoman: this is a new shell: the one before had ended (signal 9)\n"
    assert await said(bench, "echo new") == gave(0, "new\n", news)


async def test_stopping_it_restarts_it(bench: Bench) -> None:
    await said(bench, "x=1; cd /")
    with Held(bench.pipe()) as held:
        await said(bench, f"sleep 1000 3>{bench.folder}/pipe & echo started")
        stopped = timeless(await bench.do(StopCommand("bash")))
        assert stopped == gave()
        assert held.text() == ""
    assert timeless(await bench.do(StopCommand("bash"))) == gave()
    assert await said(bench, "echo $x; pwd") == gave(0, f"\n{bench.folder}\n")


async def test_closing_the_service_ends_every_shell(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with Held(bench.pipe()) as held:
        await said(bench, "sleep 1000 3>pipe &")
        await bench.run("sleep 1000 3>pipe &", job="other")
        await bench.run("sleep 1000 3>pipe", job="busy", wait_ms=1)
        await bench.shell.close()
        assert held.text() == ""
    failure = await bench.failure(RunCommand("true", job="bash"))
    assert failure.message == "Commands cannot be run any more: the shell was closed."


def test_a_shell_goes_along_into_another_event_loop(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with asyncio.Runner() as runner:
        runner.run(said(bench, "x=1"))
    with asyncio.Runner() as runner:
        assert runner.run(said(bench, "echo $x")) == gave(0, "1\n")
        runner.run(bench.shell.close())


LEFT_ALONE = """
import asyncio, sys
from dragoman.model.operations import RunCommand
from dragoman.tools import Context
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.shell import Shell, run_command

async def main():
    context = Context(workspace=DiskWorkspace(sys.argv[1]), provides={Shell: Shell()})
    await run_command.run(RunCommand("exec 3>pipe; setsid sleep 1000 & disown", job="idle"), context)
    await run_command.run(RunCommand("exec 3>pipe; echo ready >&3; sleep 1000", job="busy"), context)

asyncio.run(main())
"""


def test_killing_this_process_ends_every_shell(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-c", LEFT_ALONE, str(tmp_path)]
    with subprocess.Popen(command) as process, open(tmp_path / "pipe") as pipe:
        assert pipe.readline() == "ready\n"
        process.kill()
        assert pipe.read() == ""  # comes to its end when the last of them is gone


# ── several at once ──────────────────────────────────────────────────────────


async def test_commands_for_one_shell_take_turns_in_their_order(bench: Bench) -> None:
    given = await asyncio.gather(*(said(bench, f"order+=' {number}'; echo $order") for number in range(5)))
    assert [one.stdout for one in given] == ["0\n", "0 1\n", "0 1 2\n", "0 1 2 3\n", "0 1 2 3 4\n"]


async def test_stopping_takes_its_turn_too(bench: Bench) -> None:
    calls = [RunCommand("x=1; echo $x", job="bash"), StopCommand("bash"), RunCommand("echo new $x", job="bash")]
    given = await asyncio.gather(*map(bench.do, calls))
    assert [timeless(one) for one in given] == [gave(0, "1\n"), gave(), gave(0, "new\n")]


async def test_a_call_that_waits_for_its_turn_can_be_cancelled(bench: Bench) -> None:
    pipe = bench.pipe()
    first = await ready(bench, said(bench, "exec 3<>pipe; echo ready; read -r word <&3; echo $word"))
    second = asyncio.create_task(said(bench, "echo second"))
    third = asyncio.create_task(said(bench, "echo third"))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    write_to(pipe, "on\n")
    assert [await first, await third] == [gave(0, "ready\non\n"), gave(0, "third\n")]


async def test_what_the_background_writes_between_commands_is_told_apart(bench: Bench) -> None:
    pipe, done = bench.pipe(), bench.pipe("done")
    await said(bench, "(exec 3<>pipe; read -r w <&3; echo late; echo wrong >&2; echo x >done) & true")
    write_to(pipe, "go\n")
    assert read_from(done) == "x\n"
    between = "dragoman: between the commands, the background wrote:\nlate\nwrong\n"
    assert await said(bench, "echo mine") == gave(0, "mine\n", between)
    assert await said(bench, "echo mine") == gave(0, "mine\n")


# ── left running ─────────────────────────────────────────────────────────────


async def test_a_command_may_be_left_running_in_its_shell(bench: Bench) -> None:
    pipe = bench.pipe()
    given = await said(bench, "x=1; exec 3<>pipe; echo ready; read -r word <&3; echo $word; false", wait_ms=1)
    assert given.running
    assert await bench.until(given, "ready\n") == "ready\n"
    jobs = await bench.do(ListCommands())
    assert [(job.job, job.running, job.exit_code) for job in jobs.jobs] == [("bash", True, None)]
    failure = await bench.failure(RunCommand("true", job="bash"))
    assert failure.message == 'Job "bash" is still there: stop it, or choose another name.'
    typed = await bench.failure(TypeInto("bash", "hello\n"))
    assert "has no input that could be typed into" in typed.message
    write_to(pipe, "done\n")
    assert timeless(await bench.do(ReadOutput("bash", block=True))) == gave(1, "done\n")
    assert await bench.do(ListCommands()) == JobsOutcome(
        (Job("bash", jobs.jobs[0].command, running=False, exit_code=1),)
    )
    assert await said(bench, "echo $x") == gave(0, "1\n")


async def test_the_time_of_a_command_that_was_left_running_is_kept(bench: Bench) -> None:
    assert (await said(bench, "echo on; sleep 1000", wait_ms=0, timeout_ms=300)).running
    given = timeless(await bench.do(ReadOutput("bash", block=True)))
    assert (given.timed_out, given.signal, given.running) == (True, signal.SIGTERM, False)
    assert (given.stderr or "").endswith(ENDED)


async def test_a_shell_with_a_command_left_running_can_be_stopped(bench: Bench) -> None:
    await said(bench, "sleep 1000", wait_ms=1)
    given = timeless(await bench.do(StopCommand("bash")))
    assert given == gave(None, "", "", signal=signal.SIGTERM)
    assert await said(bench, "echo new") == gave(0, "new\n")


# ── the rules of all commands ────────────────────────────────────────────────


async def test_a_name_is_a_jobs_or_a_shells(bench: Bench) -> None:
    await bench.run("sleep 1000", background=True, job="bash")
    assert (await bench.failure(RunCommand("true", job="bash"))).message.startswith('Job "bash" is still there')
    await bench.do(StopCommand("bash"))
    await said(bench, "x=1")
    taken = await bench.failure(RunCommand("true", job="bash", background=True))
    assert taken.message == 'Job "bash" is still there: stop it, or choose another name.'
    assert (await said(bench, "echo $x")).stdout == "1\n"


async def test_shells_count_as_jobs(tmp_path: Path) -> None:
    async with Bench(tmp_path, most_jobs=2) as bench:
        await bench.run("true", job="one")
        await bench.run("true", job="two")
        failure = await bench.failure(RunCommand("true", job="three"))
        assert failure.message == "There are 2 jobs already, the most there can be: stop one of them first."
        await bench.do(StopCommand("one"))
        assert (await bench.run("echo three", job="three")).stdout == "three\n"


async def test_only_bash_stands(bench: Bench) -> None:
    assert (await said(bench, "echo $BASH", shell="bash")).exit_code == 0
    for name in ("bash", "other"):
        failure = await bench.failure(RunCommand("true", job=name, shell="sh"))
        assert failure.message == 'A standing shell is bash, and "sh" is not: leave the shell out, or the job.'


async def test_a_login_shell_has_read_its_profile_before_it_takes_commands(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("read -r -t 0.2 stolen; GREETING=hello$stolen\n")
    async with Bench(tmp_path, environment={"HOME": str(tmp_path)}) as bench:
        assert (await said(bench, "echo $GREETING", login=True)).stdout == "hello\n"
        (tmp_path / ".bashrc").write_text("echo read\n")
        assert await bench.run("true", job="plain") == CommandOutcome(0, "", "", job="plain")
        failure = await bench.failure(RunCommand("true", job="plain", login=True))
        assert failure.message.startswith('The standing shell "plain" is no login shell')


async def test_limits_hold_for_a_shell_and_all_it_runs(tmp_path: Path) -> None:
    async with Bench(tmp_path, limits=Limits(processes=20, file_bytes=1000), grace_ms=100) as bench:
        given = await said(bench, "head -c 2000 /dev/zero >file; wc -c <file")
        assert given.stdout == "1000\n"
        bombed = await said(bench, "for i in $(seq 40); do sleep 1000 & done; wait")
        assert "killed, since it ran" in (bombed.stderr or "")
        assert (bombed.stderr or "").endswith(ENDED)
        assert (await said(bench, "echo new")).stdout == "new\n"


async def test_another_workspace_has_its_own_shells(bench: Bench, tmp_path: Path) -> None:
    await said(bench, "true")
    (tmp_path / "other").mkdir()
    elsewhere = Context(workspace=DiskWorkspace(tmp_path / "other"), provides={Shell: bench.shell})
    with pytest.raises(Exception, match='The standing shell "bash" stands in another workspace'):
        await run_command.run(RunCommand("true", job="bash"), elsewhere)


async def test_who_did_not_ask_to_leave_the_sandbox_does_not_get_outside(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = pretended_bubblewrap(tmp_path_factory.mktemp("bin"))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    async with Bench(tmp_path, sandbox=Sandbox(unsandboxed="ask")) as bench:
        outside = await said(bench, "true", unsandboxed=True)
        assert outside.sandbox == "none: it was asked to run outside"
        failure = await bench.failure(RunCommand("true", job="bash"))
        assert (failure.kind, failure.message) == (
            "denied",
            'The standing shell "bash" runs outside the sandbox: choose another name.',
        )
        inside = await bench.run("true", job="inside")
        assert inside.sandbox == "bubblewrap"
        failure = await bench.failure(RunCommand("true", job="inside", unsandboxed=True))
        assert failure.message == 'The standing shell "inside" runs inside the sandbox: choose another name.'
