from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Answer, User

ESCAPE = "\x1b"
WARNED = "[search]\nurl = 'http://127.0.0.1'\n"


def warned(user: User) -> None:
    """A project that makes every command that reads settings say a warning."""
    user.write(user.here / "dragoman.toml", WARNED)


def test_colour_is_for_terminals(user: User) -> None:
    warned(user)
    seen = user.sees("config", "show")
    assert (seen.code, ESCAPE in seen.out, "\x1b[1;33mwarning:\x1b[0m" in seen.out) == (0, True, True)
    piped = user.starts("config", "show")
    assert ESCAPE.encode() not in piped.stdout + piped.stderr


def test_a_terminal_is_coloured_as_its_user_wants(user: User) -> None:
    warned(user)
    wanted: list[tuple[list[str], dict[str, str], bool]] = [
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        (["--colour", "never"], {}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--colour", "always"], {"NO_COLOR": "1"}, True),
        ([], {"DRAGOMAN_COLOUR": "never"}, False),
        (["--set", "colour=never"], {}, False),
    ]
    seen = user.sees_each(*((80, environ, [*words, "config", "show"]) for words, environ, _ in wanted))
    assert [(*one[:2], ESCAPE in answer.out) for one, answer in zip(wanted, seen, strict=True)] == wanted


@pytest.mark.parametrize(
    "words, environ, coloured",
    [
        ([], {"FORCE_COLOR": "1"}, True),
        (["--colour", "always"], {}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_pipe_is_coloured_only_when_told_to(
    user: User, words: list[str], environ: dict[str, str], coloured: bool
) -> None:
    done = user.starts(*words, "config", "show", **environ)
    assert (ESCAPE.encode() in done.stdout) is coloured


SHOW = ("--colour", "never", "config", "show")
WIDTHS = (60, 80, 120, 200)


def test_a_table_fits_the_terminal_and_loses_nothing(user: User) -> None:
    name = "".join(f"{number:03}" for number in range(50))
    user.settings(f"model = '{name}'\n")
    for columns, seen in zip(WIDTHS, user.sees_each(*((width, {}, (*SHOW, "model")) for width in WIDTHS)), strict=True):
        lines = seen.out.splitlines()
        assert all(len(line) <= columns for line in lines)
        column = lines[0].index("value")
        assert "".join(re.findall(r"[0-9]+", "".join(line[column:].split(" ")[0] for line in lines[1:]))) == name


def test_on_a_narrow_terminal_each_row_is_a_few_lines(user: User) -> None:
    file = user.settings("model = 'mine'\n")
    seen = user.sees_each(*((width, {}, (*SHOW, "model")) for width in (20, 40, 59)))
    assert {answer.out for answer in seen} == {f'setting: model\n  value: "mine"\n  from: user\n    {file}:1\n'}


def test_nothing_foreign_steers_the_terminal(user: User) -> None:
    name = "\\u001b]0;owned\\u0007\\u009b31m\\u202e[bold red]:boom:[/]"
    user.settings(f'model = "{name}"\n[policy.tools]\n"{name}" = "deny"\n')
    for seen in user.sees_each((200, {}, SHOW), (200, {}, (*SHOW, "--json"))):
        assert seen.code == 0
        assert [found for found in ("\x1b", "\x07", "\x9b", "\u202e") if found in seen.out] == []
        assert "[bold red]:boom:[/]" in seen.out


def test_what_a_plugin_is_called_is_never_markup(user: User) -> None:
    user.plugin("a.py", "TOOLS = {'[red]x[/red] :smile: [link=http://e]': 1}\n")
    assert "[red]x[/red] :smile: [link=http://e]" in user.sees("plugins", columns=200).out


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_and_gone_afterwards(user: User) -> None:
    user.plugin("a.py", WAITS)
    seen = user.sees("plugins", WAITS="1")
    assert "loading" in seen.out
    assert "\x1b[?25h" in seen.out  # the cursor is back
    assert b"loading" not in user.starts("plugins").stderr


WAITS = """
import os, threading
while "WAITS" in os.environ and not any(type(one).__name__ == "_RefreshThread" for one in threading.enumerate()):
    threading.Event().wait(0.01)  # until there is a bar
TOOLS = {"a": 1, "b": 2}
"""


def test_help_breaks_lines_between_words_at_every_width(user: User) -> None:
    tries = [(columns, words) for words in (("--help",), ("run", "--help")) for columns in (50, *WIDTHS)]
    piped = {words: user.starts(*words).stdout.decode() for words in dict.fromkeys(words for _, words in tries)}
    answers = user.sees_each(*((columns, {}, words) for columns, words in tries))
    for (columns, words), shown in zip(tries, answers, strict=True):
        assert shown.code == 0
        lines = shown.out.splitlines()
        assert [line for line in lines if len(line) > columns] == []
        assert [line for line in lines if re.search(r"--[\w-]*-$", line)] == [], "the name of an option is torn apart"
        joined = [re.sub(r"-\s+", "-", text.replace("\\\n", "")).split() for text in (shown.out, piped[words])]
        assert joined[0] == joined[1] or columns < 60, "words are lost, torn apart or in another order"


@pytest.mark.slow
def test_the_demo_fits_the_terminal(user: User) -> None:
    demo = Path(__file__).parents[2] / "examples" / "demo.py"
    answers = user.sees_each(*((columns, {"DEMO": "quick"}, ()) for columns in WIDTHS), program=demo)
    for columns, shown in zip(WIDTHS, answers, strict=True):
        _fits(shown, columns)


def _fits(shown: Answer, columns: int) -> None:
    assert shown.code == 0, shown.out
    ours, _, rest = shown.out.partition("── That session, read back")
    respoken = rest.partition("── The same session")[2]
    too_long = [line for line in [*ours.splitlines(), *respoken.splitlines()[1:]] if len(line) > columns]
    assert too_long == []
    assert "$ dragoman show claude_code.jsonl\n" in rest
