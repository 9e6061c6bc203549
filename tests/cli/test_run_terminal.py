"""`dragoman run` and `dragoman chat` in a real terminal, with somebody at the keyboard."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import read_events
from dragoman.model import Failure, SessionEnded, ToolReturned
from tests.engine.loopback import Heard, Loopback, Raw, Turn, loopback, played

from .conftest import User
from .terminal import PATIENCE, Terminal

KEY = "sk-ant-0123456789"
READ = Turn("I look.", calls=(("c1", "Read", {"file_path": "notes.txt"}),))
EDIT = Turn(
    "I change it.", calls=(("c2", "Edit", {"file_path": "notes.txt", "old_string": "tea", "new_string": "milk"}),)
)
FAIL = Turn("I run it.", calls=(("c3", "Bash", {"command": "echo written; exit 3", "description": "a look"}),))
DONE = Turn("It is done.")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def stalled(text: str) -> Raw:
    """An answer of which a part comes, and then nothing more."""
    whole = played("anthropic_messages", Turn(text, pieces=len(text)), stream=True)
    return dataclasses.replace(whole, stall_after=len(whole.body) // 2)


def said(heard: Heard) -> str:
    return json.dumps(heard.body["messages"])


async def at_terminal(
    user: User, server: Loopback, scene: Callable[[Terminal], Any], *words: str, environ: Any = (), **options: Any
) -> tuple[Terminal, int]:
    """Plays a scene at a terminal in which `dragoman` runs, up to its end."""
    (user.here / "notes.txt").exists() or (user.here / "notes.txt").write_text("tea\nbread\n")
    reached = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}

    def play() -> tuple[Terminal, int]:
        with Terminal(
            words, user.here, {**user.environ, **reached, **dict(environ)}, prepared=True, **options
        ) as terminal:
            scene(terminal)
            return terminal, terminal.ends()

    return await asyncio.to_thread(play)


def watch(terminal: Terminal) -> None:
    """Somebody who only looks on."""


def record(user: User) -> Path:
    (found,) = (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl")
    return found


async def test_a_change_is_shown_asked_about_and_made(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("? edit notes.txt\n  @@ -1,2 +1,2 @@\n  -tea\n  +milk\n   bread\nAllow it?")
        assert (user.here / "notes.txt").read_text() == "tea\nbread\n"
        terminal.types("y\n")

    async with loopback(READ, EDIT, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "buy milk")
    assert (code, (user.here / "notes.txt").read_text()) == (0, "milk\nbread\n")
    after = terminal.screen.partition("[l]ater > y\n")[2].splitlines()
    assert after[:3] == ["● edit notes.txt", "  modified notes.txt (+1 -1)", "It is done."]
    assert after[3].startswith("3 rounds · 30 tokens in · 15 out · cost not known · ")
    assert after[4] == f'Continue:  dragoman run --resume {record(user).stem[:8]} "what to do next"'
    assert len(after) == 5
    assert "\x1b[32m  +milk\x1b[0m" in terminal.raw
    assert "\x1b[31m  -tea\x1b[0m" in terminal.raw


async def test_a_refusal_is_heard_by_the_model_with_its_reason(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("? run echo written; exit 3\n  purpose, in the model's words: a look\n")
        terminal.sees("  sandbox: none (sandbox.mode is off)\nAllow it?")
        terminal.types("\n")
        terminal.sees("y: allow this call; n: refuse it")
        terminal.sees("[l]ater >")
        terminal.types("perhaps\n")
        terminal.sees("[l]ater >")
        terminal.types("n not on a Sunday\n")

    async with loopback(FAIL, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go")
    assert code == 0
    assert "● run echo written; exit 3\n  refused: not on a Sunday\n" in terminal.screen
    assert "not on a Sunday" in said(server.requests[1])


async def test_always_is_asked_once(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("[a]lways (run_command, any command), [l]ater > ")
        terminal.types("a\n")
        terminal.sees("exit code 3")
        terminal.sees("exit code 3")

    async with loopback(FAIL, FAIL, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go")
    assert (code, terminal.screen.count("Allow it?")) == (0, 1)
    assert terminal.screen.count("  │ written\n") == 2
    assert "\x1b[31m  exit code 3" in terminal.raw


async def test_two_questions_come_one_after_the_other_and_nothing_writes_between(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("Allow it? [y]es, [n]o, [a]lways (edit_file, any path and edits), [l]ater >")
        terminal.types("y\n")
        terminal.sees("Allow it? [y]es, [n]o, [a]lways (run_command, any command), [l]ater > ")
        end = time.monotonic() + PATIENCE
        while "milk" not in (user.here / "notes.txt").read_text():
            assert time.monotonic() < end, terminal.screen
        terminal.types("n\n")

    both = Turn("Both.", calls=(*EDIT.calls, *FAIL.calls))
    async with loopback(READ, both, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go")
    assert code == 0
    assert "[a]lways (run_command, any command), [l]ater > n\n" in terminal.screen
    assert "● edit notes.txt\n  modified notes.txt (+1 -1)\n" in terminal.screen


async def test_what_was_typed_before_a_question_does_not_answer_it(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.types("y\n")
        terminal.sees("[l]ater > ")
        terminal.types("n\n")

    async with loopback(READ, EDIT, DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "go")
    assert (code, (user.here / "notes.txt").read_text()) == (0, "tea\nbread\n")


async def test_an_answer_put_off_is_given_in_another_process(user: User) -> None:
    def later(terminal: Terminal) -> None:
        terminal.sees("[l]ater > ")
        terminal.types("l\n")

    def now(terminal: Terminal) -> None:
        terminal.sees("? edit notes.txt\n")
        terminal.sees("[l]ater > ")
        terminal.types("y\n")

    async with loopback(READ, EDIT, DONE) as server:
        terminal, code = await at_terminal(user, server, later, "run", "go")
        assert code == 8
        assert "These calls wait for your approval:\n  c2  edit notes.txt\n" in terminal.screen
        _, code = await at_terminal(user, server, now, "run", "--resume", record(user).stem[:8])
    assert (code, (user.here / "notes.txt").read_text()) == (0, "milk\nbread\n")


async def test_a_task_from_a_pipe_leaves_the_keyboard_for_answers(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("[l]ater > ")
        terminal.types("y\n")

    reading, writing = os.pipe()
    async with loopback(READ, EDIT, DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "-", stdin=b"buy milk", stdout=writing)
    os.close(writing)
    assert (code, os.read(reading, 65536)) == (0, b"I look.\nI change it.\nIt is done.\n")
    os.close(reading)
    assert (user.here / "notes.txt").read_text() == "milk\nbread\n"


async def test_ctrl_c_stops_a_stream_and_the_run_goes_on_later(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("I will")  # the reply has not ended, and never will
        terminal.types("\x03")

    async with loopback(stalled("I will say a lot and never end it"), DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "talk")
        assert code == 130
        id = record(user).stem[:8]
        assert f"\nerror: interrupted\nContinue:  dragoman run --resume {id}\n" in terminal.screen
        *_, last = read_events(record(user))
        assert isinstance(last, SessionEnded)
        assert last.reason == "cancelled"
        terminal, code = await at_terminal(user, server, watch, "run", "--resume", id)
    assert code == 0
    assert "It is done.\n" in terminal.screen
    assert [message["role"] for message in server.requests[-1].body["messages"]] == ["user"]


async def test_ctrl_c_stops_a_command_and_the_model_hears_of_it_later(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("  │ begun\n")
        terminal.types("\x03")

    wait = Turn("I wait.", calls=(("c1", "Bash", {"command": "echo begun; sleep 1000; echo no > never.txt"}),))
    async with loopback(wait, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "--yes", "wait")
        assert (code, "error: interrupted\nContinue:" in terminal.screen) == (130, True)
        terminal, code = await at_terminal(user, server, watch, "run", "--yes", "--resume", "last")
    assert code == 0
    results = [part for message in server.requests[-1].body["messages"] for part in message["content"]]
    assert [part["tool_use_id"] for part in results if part["type"] == "tool_result"] == ["c1"]
    assert not (user.here / "never.txt").exists()


async def test_ctrl_c_at_a_question_is_no_answer(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("[l]ater > ")
        terminal.types("\x03")

    async with loopback(READ, EDIT) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go")
    assert (code, (user.here / "notes.txt").read_text()) == (130, "tea\nbread\n")
    assert "\nerror: interrupted\nContinue:" in terminal.screen


@pytest.mark.parametrize("columns", [40, 80, 200])
async def test_heads_of_calls_take_one_line_whatever_the_width(user: User, columns: int) -> None:
    long = "echo " + "words " * 60 + "漢字" * 30
    call = Turn(calls=(("c1", "Bash", {"command": long}),))
    async with loopback(call, DONE) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "--yes", "go", columns=columns)
    assert code == 0
    (head,) = [line for line in terminal.screen.splitlines() if line.startswith("●")]
    wide = sum(2 if character > "⺀" else 1 for character in head)
    assert wide in (columns - 1, columns)
    assert head.endswith("…")


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
async def test_why_a_call_failed_is_broken_between_words(user: User, columns: int) -> None:
    edit = {"file_path": "notes.txt", "old_string": "coffee " * 9, "new_string": "milk"}
    call = Turn(calls=(("c1", "Edit", edit),))
    async with loopback(READ, call, DONE) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "--yes", "go", columns=columns)
    assert code == 0
    (failure,) = (
        outcome
        for event in read_events(record(user))
        if isinstance(event, ToolReturned)
        for outcome in event.result.outcomes
        if isinstance(outcome, Failure)
    )
    lines = terminal.screen.splitlines()
    first, last = lines.index("● edit notes.txt") + 1, lines.index("It is done.")
    assert [line for line in lines[first:last] if len(line) > columns or not line.startswith("  ")] == []
    assert " ".join(lines[first:last]).split() == f"{failure.kind}: {failure.message}".split()


async def test_a_question_shows_the_whole_command_however_narrow_the_terminal(user: User) -> None:
    command = "true && " * 30 + "rm the-last-word"

    def scene(terminal: Terminal) -> None:
        terminal.sees("always: run_command, any command\n[y]es [n]o [a]lways [l]ater > ")
        terminal.types("n\n")

    call = Turn(calls=(("c1", "Bash", {"command": command}),))
    async with loopback(call, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go", columns=40)
    assert code == 0
    rows = re.findall(r"^  [|>] (.*)$", terminal.screen, re.MULTILINE)
    assert ("".join(rows), max(map(len, rows)) <= 36) == (command, True)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
async def test_without_colour_nothing_is_coloured(user: User, environ: dict[str, str]) -> None:
    async with loopback(READ, EDIT, FAIL, DONE) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "--yes", "go", environ=environ)
    assert (code, COLOUR.findall(terminal.raw)) == (0, [])
    assert "  +milk\n" in terminal.screen


@pytest.mark.slow
async def test_a_model_does_not_steer_the_terminal(user: User) -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e"
    calls = (("c1", "Read", {"file_path": evil}), ("c2", "Bash", {"command": f"printf '{evil}'"}))
    async with loopback(Turn(f"See {evil}", f"hm {evil}", calls), DONE) as server:
        terminal, code = await at_terminal(user, server, watch, "--colour", "never", "run", "--yes", "go")
    assert code == 0
    assert [mark for mark in ("\x1b]", "\x07", "\x9b", "\u202e") if mark in terminal.raw] == []
    assert "See \\x1b]0;owned\\x07\\x9b31m\\u202e\n" in terminal.screen


MARKDOWN = """\
# What there is

The file `notes.txt` has **two** lines.

- tea
- bread

```python
def buy(what):

    return what
```

Plain words."""
RENDERED = """\
What there is

The file notes.txt has two lines.

 • tea
 • bread

 def buy(what):

     return what

Plain words.
"""


@pytest.mark.parametrize("pieces", [1, 7, len(MARKDOWN)])
async def test_what_a_model_says_is_shown_as_the_markdown_it_is(user: User, pieces: int) -> None:
    async with loopback(Turn(MARKDOWN, pieces=pieces)) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "go")
    assert code == 0
    shown = re.sub(r"\n\n+", "\n\n", re.sub(r" +$", "", terminal.screen, flags=re.MULTILINE))
    assert RENDERED in shown
    assert "**two**" in terminal.raw  # as it came
    assert "\x1b[1mtwo\x1b[0m" in terminal.raw


async def test_plain_words_are_written_once(user: User) -> None:
    async with loopback(Turn("One thing.\n\nAnd another, no more.", pieces=9)) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "go")
    assert (code, terminal.raw.count("One thing."), terminal.raw.count("no more.")) == (0, 1, 1)
    assert "A\r\x1b[J" not in terminal.raw


async def test_a_block_longer_than_the_terminal_stays_as_it_came(user: User) -> None:
    block = "\n".join(f"- item {number}" for number in range(60))
    async with loopback(Turn(block, pieces=9)) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "go")
    assert (code, terminal.screen.count("- item 59\n"), "•" in terminal.screen) == (0, 1, False)


async def test_without_colour_text_stays_as_the_model_wrote_it(user: User) -> None:
    async with loopback(Turn(MARKDOWN, pieces=9)) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "go", environ={"NO_COLOR": "1"})
    assert (code, MARKDOWN in terminal.screen) == (0, True)


@pytest.mark.parametrize("columns, environ", [(60, {}), (80, {"NO_COLOR": "1"})])
async def test_long_lines_of_an_answer_are_broken_between_words(
    user: User, columns: int, environ: dict[str, str]
) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    code_line = "x" * (columns + 5) + " y"
    fence = f"```\n{code_line}\n```"
    text = f"{words}\n\n{fence}\n\nThe end.\n" if environ else f"{words}\n\nThe end.\n"
    async with loopback(Turn(text, pieces=9)) as server:
        terminal, code = await at_terminal(user, server, watch, "run", "go", columns=columns, environ=environ)
    shown = terminal.screen.partition("word0")
    rows = (shown[1] + shown[2]).partition("\n\n")[0].split("\n")
    assert (code, " ".join(rows), max(map(len, rows)) <= columns) == (0, words, True)
    assert len(rows) > 3
    assert not environ or f"\n\n{fence}\n\n" in terminal.screen


async def test_a_large_file_is_asked_about_with_its_size(user: User) -> None:
    user.write(user.home / "extra" / "xllamacpp" / "__init__.py", "")
    nothing = dict.fromkeys(("OLLAMA_BASE_URL", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL"), "http://127.0.0.1:9")

    def scene(terminal: Terminal) -> None:
        terminal.sees("No model is set, no key was found and no model server answers on this machine.\n")
        terminal.sees("Its file is 1.1 GB, fetched once into")
        terminal.sees("Fetch it now? [y/N]: ")
        terminal.types("\n")

    environ = {**nothing, "PYTHONPATH": str(user.home / "extra"), "ANTHROPIC_API_KEY": ""}
    async with loopback() as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go", environ=environ)
    assert code == 3
    assert "error: there is no model to ask" in terminal.screen
    assert not (Path(user.environ["DRAGOMAN_CACHE_DIR"]) / "models").exists()


async def test_a_server_that_is_slow_is_waited_for_in_sight(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.shows("waiting for claude-sonnet-4-5 ")
        terminal.types("\x03")

    async with loopback(Raw(no_answer=True)) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go")
    assert code == 130
    assert "waiting for" not in terminal.screen  # it left no trace


async def test_a_chat_goes_on_turn_by_turn_past_an_interruption(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("hello\n")
        terminal.sees("Hello you.")
        terminal.sees("\n> ")
        terminal.types("talk\n")
        terminal.sees("I will")
        terminal.types("\x03")
        terminal.sees("error: interrupted\n> ")
        terminal.types("/help\n")
        terminal.sees("/model [PROVIDER:MODEL]")
        terminal.sees("\n> ")
        terminal.types("one \\\ntwo\n")
        terminal.sees("It is done.")
        terminal.sees("\n> ")
        terminal.types("\x04")

    async with loopback(Turn("Hello you."), stalled("I will say a lot and never end it"), DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "chat")
    assert code == 0
    assert f"Continue:  dragoman chat --resume {record(user).stem[:8]}\n" in terminal.screen
    assert all(words in said(server.requests[-1]) for words in ("hello", "Hello you.", "talk", "one \\ntwo"))
    assert "hello" in (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "chat_history").read_text()


# ── questions that are longer than the terminal ──────────────────────────────

LONG = "".join(f"line {number}\n" for number in range(100))
WRITE = Turn("I write it.", calls=(("c4", "Write", {"file_path": "long.txt", "content": LONG}),))


async def test_the_middle_of_a_long_change_is_folded_and_a_key_shows_it(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("? write long.txt (new file)\n")
        terminal.sees("  … 62 more rows: v shows them …\n")
        terminal.sees("Allow it? [y]es [n]o [v]iew [a]lways [l]ater > ")
        assert "+line 50\n" not in terminal.screen
        terminal.types("v\n")
        terminal.sees("-- 39 of 102 rows; Enter: more, q: back to the question -- ")
        terminal.types("\n")
        terminal.sees("  +line 50\n")
        terminal.sees("-- 78 of 102 rows; ")
        terminal.types("\n")
        terminal.sees("  +line 99\nalways: write_file, any path and content\nAllow it?")
        assert not (user.here / "long.txt").exists()
        terminal.types("y\n")

    async with loopback(WRITE, DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "go")
    assert (code, (user.here / "long.txt").read_text()) == (0, LONG)


async def test_a_long_change_is_shown_by_the_users_own_pager_also_where_the_output_is_in_a_pipe(user: User) -> None:
    pager = user.write(user.home / "pager.sh", '#!/bin/sh\ncat > "$HOME/paged.txt"\necho "shown by $1"\n')
    pager.chmod(0o755)

    def scene(terminal: Terminal) -> None:
        terminal.sees("Allow it? [y]es [n]o [v]iew [a]lways [l]ater > ")
        terminal.types("v\n")
        terminal.sees("shown by mine\n")
        terminal.sees("Allow it?")
        terminal.types("y\n")

    reading, writing = os.pipe()
    async with loopback(WRITE, DONE) as server:
        environ = {"PAGER": f"{pager} mine"}
        _, code = await at_terminal(user, server, scene, "run", "go", environ=environ, stdout=writing)
    os.close(writing)
    assert (code, os.read(reading, 65536)) == (0, b"I write it.\nIt is done.\n")
    os.close(reading)
    paged = (user.home / "paged.txt").read_text().splitlines()
    assert paged == [
        "? write long.txt (new file)",
        "  @@ -0,0 +1,100 @@",
        *(f"  +{line}" for line in LONG.splitlines()),
    ]


async def test_a_pager_that_cannot_be_started_is_said_and_the_text_shown_here(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("Allow it? [y]es [n]o [v]iew [a]lways [l]ater > ")
        terminal.types("v\n")
        terminal.sees(
            "$PAGER cannot be started (no-such-pager: No such file or directory), so the text is shown here:\n"
        )
        terminal.sees("-- 39 of 102 rows; ")
        terminal.types("q\n")
        terminal.sees("Allow it?")
        terminal.types("n\n")

    async with loopback(WRITE, DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "go", environ={"PAGER": "no-such-pager"})
    assert (code, (user.here / "long.txt").exists()) == (0, False)


async def test_a_change_that_became_another_while_it_was_read_is_asked_about_again(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("  -tea\n  +milk\n   bread\nAllow it?")
        (user.here / "notes.txt").write_text("secret\ntea\n")
        terminal.types("y\n")
        terminal.sees("What this would do has changed while you were reading. Now it is:\n")
        terminal.sees("   secret\n  -tea\n  +milk\nAllow it?")
        terminal.types("n\n")

    # A vocabulary whose client edits files that were not read: of one that was, the change would be refused.
    edit = Turn(
        "I change it.", calls=(("c2", "edit", {"filePath": "notes.txt", "oldString": "tea", "newString": "milk"}),)
    )
    async with loopback(edit, DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "--dialect", "opencode", "go")
    assert (code, (user.here / "notes.txt").read_text()) == (0, "secret\ntea\n")


async def test_always_for_a_plain_command_still_asks_about_one_that_stays_in_the_background(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("[a]lways (run_command, any command), ")
        terminal.types("a\n")
        terminal.sees("? run sleep 1000\n  background: true\n")
        terminal.sees("always: run_command, any command, same background\n")
        terminal.sees("[l]ater > ")
        terminal.types("n\n")

    stays = Turn("It stays.", calls=(("c5", "Bash", {"command": "sleep 1000", "run_in_background": True}),))
    async with loopback(FAIL, FAIL, stays, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "go")
    assert (code, terminal.screen.count("Allow it?")) == (0, 2)
