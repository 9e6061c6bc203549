"""What the words of a task ask for, and what the words of an answer claim."""

from __future__ import annotations

import pytest

from dragoman.engine import task_words


@pytest.mark.parametrize(
    "task",
    [
        "Rename draft.txt to final.txt.",
        "Read a.txt and write the same text to b.txt.",
        "Run make. It fails: change the file so that it passes.",
        "Find the file that contains FIXME, and in that file replace FIXME with DONE.",
        "In app.py replace total with amount.",
        "Write the sentence Meeting at noon. into note.md",
        "fix it",
        "Could you add a flag --verbose?",
        "I want you to rename x.py",
        "please delete old.log",
        "Make the tests pass.",
    ],
)
def test_these_tasks_ask_for_a_change(task: str) -> None:
    assert task_words.asks_for_change(task)


@pytest.mark.parametrize(
    "task",
    [
        "What changes in a.py?",
        "Explain how to change the port in a.ini.",
        "Which files change when I run make?",
        "Do not delete the file.",
        "Don't change anything, just tell me what a.py does.",
        "Is it hard to add a flag?",
        "Add 2 and 3.",
        "Write a haiku.",
        "Summarise the last update of README.md.",
        "Run the tests.",
        "",
    ],
)
def test_these_tasks_ask_for_none(task: str) -> None:
    assert not task_words.asks_for_change(task)


@pytest.mark.parametrize(
    "task, commands",
    [
        ("Run python3 report.py and explain why it fails.", ("python3 report.py",)),
        ("Run wc -l data.csv and tell me how many lines it has.", ("wc -l data.csv",)),
        ("Add a flag, then run python3 cli.py ada --shout.", ("python3 cli.py ada --shout",)),
        ("python3 test_calc.py fails. Fix calc.py and run the test again.", ("python3 test_calc.py",)),
        ("Run `npm test -- --watch=false`, then `cargo build`.", ("npm test -- --watch=false", "cargo build")),
        ("Run the command: expr 6 + 7. Then save it.", ("expr 6 + 7",)),
        ("Run pytest.", ("pytest",)),
        ("Create hi.py and run it with python3 and tell me what it printed.", ()),
        ("Which files change when I run make?", ()),
        ("Explain python3 app.py.", ()),
    ],
)
def test_the_commands_a_task_tells_to_run(task: str, commands: tuple[str, ...]) -> None:
    assert task_words.commands_named(task) == commands


@pytest.mark.parametrize(
    "named, line, run",
    [
        ("python3 a.py", "cd /tmp/x && python /tmp/x/a.py", True),
        ("python3 a.py", "python3 ab.py", False),
        ("python3 -m unittest", "python3 -m unittest 2>&1 | tail", True),
        ("python3 cli.py ada --shout", "python3 cli.py ada", False),
        ("pytest", "python3 -m pytest -q", True),
        ("cat a.txt", "cat 'a.txt'", True),
    ],
)
def test_a_command_is_run_by_a_line_with_the_same_arguments(named: str, line: str, *, run: bool) -> None:
    assert task_words.is_run_by(named, line) is run


@pytest.mark.parametrize(
    "answer, claims, files",
    [
        ("The file a.txt has been updated.", True, ("a.txt",)),
        ("`server.ini` and `client.ini` have been changed.", True, ("server.ini", "client.ini")),
        ("I've renamed src/x.py.", True, ("src/x.py",)),
        ("The port was changed to 80 in server.ini and in client.ini.", True, ("server.ini", "client.ini")),
        ("The text of first.txt has been written to both.txt.", True, ()),
        ("a.txt has not been changed.", False, ()),
        ("Nothing was changed in a.txt.", False, ()),
        ("It fails because total is missing. To fix it, add the key.", False, ()),
        ("The port is 8080.", False, ()),
    ],
)
def test_what_an_answer_says_was_changed(answer: str, files: tuple[str, ...], *, claims: bool) -> None:
    assert (task_words.claims_change(answer), task_words.files_claimed(answer)) == (claims, files)
