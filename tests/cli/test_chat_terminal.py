"""`dragoman chat` with somebody at the keyboard: pasting, completing, typing ahead, and what is said to us."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.chat_commands import HELP
from dragoman.logs import read_events
from dragoman.model import CommandInvoked, ContextCompacted, UserSaid
from tests.engine.loopback import Heard, Turn, loopback

from .conftest import User
from .terminal import Terminal
from .test_chat import chats
from .test_run_terminal import DONE, EDIT, READ, at_terminal, stalled

HELLO = Turn("Hello you.")


def last_said(heard: Heard) -> list[Any]:
    """The parts of the user's last message."""
    content = heard.body["messages"][-1]["content"]
    return [part.get("text", part.get("source")) for part in content]


def ready(terminal: Terminal) -> None:
    """Waits for the prompt after a turn: the summary line comes first, so nothing is typed ahead."""
    terminal.sees(" s\n> ")


async def test_a_pasted_block_is_one_message(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("/help lists the commands; Ctrl-D ends the chat.\n> ")
        terminal.types("look: \x1b[200~one\n\ttwo\r\nthree\x1b[201~")
        terminal.types("\r")
        terminal.sees("Hello you.")
        ready(terminal)
        terminal.types("a\x1b\rb \\\rc\r")
        terminal.sees("It is done.")
        ready(terminal)
        terminal.types("\x04")

    async with loopback(HELLO, DONE) as server:
        _, code = await at_terminal(user, server, scene, "chat")
    assert code == 0
    assert [last_said(heard) for heard in server.requests] == [["look: one\n\ttwo\nthree"], ["a\nb \nc"]]


async def test_what_is_typed_during_an_answer_is_sent_after_it_and_answers_no_question(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("go\r")
        terminal.sees("Allow it?")
        terminal.types("y\r")  # for the question alone
        terminal.sees("It is done.")
        ready(terminal)
        terminal.types("/exit\r")

    def typed_ahead(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("!sleep 1; echo slept\ryes\r\x1b[200~two\nlines\x1b[201~\rbegun")
        terminal.sees("slept")
        terminal.sees("Hello you.")
        terminal.sees("Hello again.")
        terminal.sees("> begun")
        terminal.types("\x15/exit\r")

    async with loopback(READ, EDIT, DONE) as server:
        _, code = await at_terminal(user, server, scene, "chat")
    assert (code, (user.here / "notes.txt").read_text()) == (0, "milk\nbread\n")
    async with loopback(HELLO, Turn("Hello again.")) as server:
        _, code = await at_terminal(user, server, typed_ahead, "chat")
    assert code == 0
    assert [last_said(heard)[0].rpartition("\n\n")[2] for heard in server.requests] == ["yes", "two\nlines"]


async def test_what_was_typed_during_a_turn_that_is_interrupted_becomes_a_draft(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("talk\r")
        terminal.sees("I will")
        terminal.types("first\rsecond\rbegun")
        terminal.sees("second")
        terminal.types("\x03")
        terminal.sees("error: interrupted\n> first")
        terminal.sees("begun")
        terminal.types(" and more\r")
        terminal.sees("Hello you.")
        ready(terminal)
        terminal.types("/exit\r")

    async with loopback(stalled("I will say a lot and never end it"), HELLO) as server:
        _, code = await at_terminal(user, server, scene, "chat")
    assert code == 0
    assert len(server.requests) == 2
    assert last_said(server.requests[1])[-1] == "first\nsecond\nbegun and more"


async def test_files_are_completed_and_added_to_a_message(user: User) -> None:
    picture = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEklEQVR4nGNgYGD4DwMMcAYAlPoE/FQ1HKYAAAAASUVORK5CYII="
    )
    (user.here / "dot.png").write_bytes(picture)
    (user.home / "outside.txt").write_text("secret")

    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("see @not")
        terminal.shows(" notes.txt ")  # in the menu below
        terminal.types("\t")
        terminal.shows("es.txt")
        terminal.types(" and @dot.png, @nobody and @../outside.txt\r")
        terminal.sees("Hello you.")
        ready(terminal)
        terminal.types("/exit\r")

    async with loopback(HELLO) as server:
        await at_terminal(user, server, scene, "chat")
    text, source = last_said(server.requests[0])
    assert text == (
        "see @notes.txt and @dot.png, @nobody and @../outside.txt\n\nContents of notes.txt:\n\ntea\nbread\n"
    )
    assert base64.b64decode(source["data"]) == picture


async def test_a_name_with_spaces_is_quoted_and_tab_does_not_wait_for_the_menu(user: User) -> None:
    (user.here / "two words").mkdir()
    (user.here / "two words" / "my notes.txt").write_text("mine")

    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("see (@not\t) and @two\t")
        terminal.shows('@"two words/')
        terminal.types("my\t")
        terminal.shows('notes.txt"')
        terminal.types(", @gone.txt, @someone and @two\r")
        terminal.sees("there is no file gone.txt here: @gone.txt is sent as text")
        terminal.sees("Hello you.")
        ready(terminal)
        terminal.types("/exit\r")

    async with loopback(HELLO) as server:
        await at_terminal(user, server, scene, "chat")
    (text,) = last_said(server.requests[0])
    assert text == (
        'see (@notes.txt) and @"two words/my notes.txt", @gone.txt, @someone and @two'
        "\n\nContents of notes.txt:\n\ntea\nbread\n\n\nContents of two words/my notes.txt:\n\nmine"
    )


async def test_a_folder_cannot_be_added_and_that_is_said(user: User) -> None:
    (user.here / "docs").mkdir()
    async with loopback(HELLO) as server:
        answer = await chats(user, server, "look at @docs/\n")
    assert "@docs/ is a folder: name a file in it to add one" in answer.err


async def test_enter_sends_a_name_that_tab_completed_and_of_several_takes_the_one_chosen(user: User) -> None:
    (user.here / "new.txt").write_text("new")
    (user.here / "new.py").write_text("new = 1")

    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("see @not")
        terminal.shows(" notes.txt ")
        terminal.types("\t")
        terminal.shows("es.txt")
        terminal.types("\r")
        terminal.sees("Hello you.")
        ready(terminal)
        terminal.types("see @ne")
        terminal.shows(" new.txt ")
        terminal.types("\t\t\r")  # the second of two; Enter ends the choice
        terminal.types(" too\r")
        terminal.sees("It is done.")
        ready(terminal)
        terminal.types("/exit\r")

    async with loopback(HELLO, DONE) as server:
        await at_terminal(user, server, scene, "chat")
    first, second = (last_said(heard)[0].partition("\n")[0] for heard in server.requests)
    assert (first, second) == ("see @notes.txt", "see @new.txt too")


async def test_undo_takes_back_exactly_the_last_turn_that_changed_files(user: User) -> None:
    (user.here / "notes.txt").write_bytes(b"tea\r\nbread\r\n")
    write = Turn("I write.", calls=(("c1", "Write", {"file_path": "new.txt", "content": "new"}),))
    more = Turn("And more.", calls=(("c2", "Bash", {"command": "echo x > by_command"}),))
    async with loopback(READ, EDIT, write, more, DONE, DONE, HELLO, write, DONE) as server:
        answer = await chats(user, server, "go\n/diff\nonly talk\n/undo\n/undo\nwell?\nagain\n", "--yes")
        assert (user.here / "new.txt").read_text() == "new"
    assert answer.code == 0, answer.err
    assert (user.here / "notes.txt").read_bytes() == b"tea\r\nbread\r\n"
    assert (user.here / "by_command").exists()
    for words in (
        "created new.txt (+1 -0)",
        "-tea",
        "restored notes.txt",
        "removed new.txt",
        "1 command ran in that turn or after it: /undo restores what file tools wrote, not what commands changed",
        "there is nothing to undo: the model's file tools changed no file since this chat was opened",
    ):
        assert words in answer.err
    assert "I undid the file changes" in json.dumps(server.requests[6].body)


async def test_undo_counts_the_commands_of_later_turns_and_help_states_its_limits(user: User) -> None:
    later = Turn("I run it.", calls=(("c2", "Bash", {"command": "echo x > by_command"}),))
    async with loopback(READ, EDIT, DONE, later, DONE) as server:
        answer = await chats(user, server, "go\nand now\n!true\n/undo\n/help\n", "--yes")
    assert (user.here / "notes.txt").read_text() == "tea\nbread\n"
    assert (user.here / "by_command").exists()
    assert "2 commands ran in that turn or after it" in answer.err
    assert "restore the files that the model's file tools changed, turn by turn; it cannot undo commands" in answer.err


async def test_undo_says_why_it_cannot(user: User) -> None:
    async with loopback(READ, EDIT, DONE) as server:
        answer = await chats(user, server, "go\n!echo mine > notes.txt\n/undo\n", "--yes")
    assert 'error: nothing was undone: "notes.txt" was changed by something else since' in answer.err
    assert (user.here / "notes.txt").read_text() == "mine\n"


@pytest.fixture(autouse=True)
def notes(user: User) -> None:
    (user.here / "notes.txt").write_text("tea\nbread\n")


async def test_a_command_of_the_users_runs_without_a_question_and_the_model_hears_of_it(user: User) -> None:
    async with loopback(HELLO) as server:
        answer = await chats(user, server, "!echo one; exit 3\nwhat was that?\n")
    assert "one\nexit code 3" in answer.err
    assert last_said(server.requests[0]) == [
        "(I ran this command myself: echo one; exit 3\nIt wrote:\none\nExit code: 3)\n\nwhat was that?"
    ]
    (record,) = (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl")
    assert [one.arguments for one in read_events(record) if isinstance(one, CommandInvoked)] == ["echo one; exit 3"]


async def test_a_rule_that_denies_holds_for_commands_of_the_user_too(user: User) -> None:
    user.settings("[[policy.rules]]\nverdict = 'deny'\ncommand = 'touch *'\n")
    async with loopback(HELLO) as server:
        answer = await chats(user, server, "!touch made\n!echo fine\n")
    assert "error: a rule denies this command" in answer.err
    assert "fine" in answer.err
    assert not (user.here / "made").exists()


async def test_a_summary_stands_for_the_conversation_and_is_read_back(user: User) -> None:
    async with loopback(HELLO, Turn("We greeted."), Turn("So it is."), Turn("Still so.")) as server:
        answer = await chats(user, server, "hi there\n/compact\nand now?\n")
        again = await chats(user, server, "go on\n", "--resume", "last")
    assert (answer.code, again.code) == (0, 0)
    assert server.requests[1].body["tool_choice"] == {"type": "none"}
    for heard in server.requests[2:]:
        said = json.dumps(heard.body["messages"])
        assert "hi there" not in said
        assert "We greeted." in said
        assert heard.body["system"] == server.requests[0].body["system"]
    (record,) = (Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl")
    events = list(read_events(record))
    assert [one.summary for one in events if isinstance(one, ContextCompacted)] == ["We greeted."]
    assert "hi there" in [one.text for one in events if isinstance(one, UserSaid)]


async def test_clear_begins_anew_and_resume_goes_back(user: User) -> None:
    async with loopback(HELLO, Turn("Who?"), Turn("As before.")) as server:
        answer = await chats(user, server, "first\n/clear\nsecond\n/resume\n")
        records = sorted((Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl"))
        (first,) = (path for path in records if "first" in path.read_text())
        back = await chats(user, server, f"/resume {first.stem[:8]}\nthird\n/resume nothing\n")
    assert (answer.code, back.code, len(records)) == (0, 0, 2)
    assert "first" not in json.dumps(server.requests[1].body["messages"])
    assert "first" in json.dumps(server.requests[2].body["messages"])
    assert f"{first.stem[:8]}  " in answer.err
    assert 'no run begins with "nothing"' in back.err


async def test_plan_mode_refuses_what_changes_something_until_it_is_off(user: User) -> None:
    async with loopback(READ, EDIT, Turn("A plan."), EDIT, DONE) as server:
        answer = await chats(user, server, "/plan buy milk\n/plan off\ngo\n", "--yes")
    assert "plan mode" in json.dumps(server.requests[2].body["messages"][-1])
    assert "Plan mode is on" in last_said(server.requests[0])[0]
    assert "Plan mode is on" not in last_said(server.requests[3])[-1]
    assert (answer.code, (user.here / "notes.txt").read_text()) == (0, "milk\nbread\n")


async def test_what_there_is_is_shown_copied_and_saved(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("hello\r")
        terminal.sees("Hello you.")
        ready(terminal)
        for command, shown in (
            ("/cost", "1 turn, 10 tokens in, 5 out, cost not known"),
            ("/context", "of 200,000"),
            ("/tools", "Bash  "),
            ("/copy", "10 characters were sent"),
            ("/save talk.md", "Written to"),
            ("/save talk.md", "exists already"),
            ("/nonsense", 'there is no command "/nonsense"'),
        ):
            terminal.types(f"{command}\r")
            terminal.sees(shown)
            terminal.sees("\n> ")
        terminal.types("/exit\r")

    async with loopback(HELLO) as server:
        terminal, code = await at_terminal(user, server, scene, "chat")
    assert code == 0
    assert f"\x1b]52;c;{base64.b64encode(b'Hello you.').decode()}\x07" in terminal.raw
    assert "Hello you" in (user.here / "talk.md").read_text()
    assert (user.here / "talk.md").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
async def test_help_fits_the_terminal_and_breaks_no_word(user: User, columns: int) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("/help\r")
        terminal.sees("is complete.\n")
        terminal.sees("> ")
        terminal.types("\x04")

    async with loopback() as server:
        terminal, _ = await at_terminal(user, server, scene, "chat", columns=columns)
    shown = terminal.screen.partition("> /help\n")[2].partition("\n> ")[0]
    assert max(map(len, shown.splitlines())) <= columns
    words = [word for text in HELP.values() for word in text.split()]
    assert [word for word in words if word not in shown.split()] == []
