from __future__ import annotations

import shlex
import subprocess
import sys
import unicodedata

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.cli import COMMANDS
from dragoman.cli.terminal.completing import is_plain_word
from tests.logs.samples import CLAUDE

from .conftest import Answer, User


def completed(user: User, line: str) -> list[str]:
    """What a real bash offers for a line, after reading our script as a user's ~/.bashrc would."""
    words = ["dragoman", *line.split(" ")[1:]]
    command = user.write(user.home / "bin" / "dragoman", f'#!/bin/sh\nexec {sys.executable} -m dragoman "$@"\n')
    command.chmod(0o700)
    program = f"""
        PATH={shlex.quote(str(command.parent))}:$PATH
        eval "$(dragoman completion bash)"
        COMP_WORDS=({" ".join(map(shlex.quote, words))})
        COMP_CWORD={len(words) - 1}
        _dragoman_completion dragoman
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=user.here, env=user.environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_a_real_bash_completes_commands_options_and_settings(user: User) -> None:
    assert completed(user, "dragoman ") == list(COMMANDS)
    assert completed(user, "dragoman untr") == ["untrust"]
    assert completed(user, "dragoman config ") == ["path", "show"]
    assert completed(user, "dragoman plugins --") == ["--check", "--json", "--help"]
    assert completed(user, "dragoman completion z") == ["zsh"]
    assert completed(user, "dragoman --set policy.max_i") == ["policy.max_iterations="]


def test_ids_of_sessions_and_names_of_models_are_completed_from_the_index(user: User) -> None:
    user.write(user.home / ".claude/projects/-p/s-1.jsonl", CLAUDE.decode())
    assert user.types("sessions").code == 0
    assert completed(user, "dragoman show s-") == ["s-1"]
    assert completed(user, "dragoman view s-") == ["s-1"]
    assert completed(user, "dragoman stats --model cl") == ["claude-x"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(user: User, shell: str) -> None:
    answer = user.types("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    assert f"_DRAGOMAN_COMPLETE={shell}_complete" in answer.out


def test_bash_accepts_the_script(user: User) -> None:
    script = user.types("completion", "bash").out
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_on_a_terminal_it_says_what_the_script_is_for(user: User) -> None:
    assert "`dragoman completion --help` says where to put it" in user.sees("completion", "fish", columns=120).out


def test_completing_loads_no_command(user: User) -> None:
    program = (
        "import atexit, sys\n"
        f"names = ['dragoman.cli.' + name for name in {list(COMMANDS)!r}]\n"
        "atexit.register(lambda: print([name for name in names if name in sys.modules], file=sys.stderr))\n"
        "from dragoman.cli import main\n"
        "main([])"
    )
    environ = {**user.environ, "_DRAGOMAN_COMPLETE": "bash_complete", "COMP_WORDS": "dragoman ", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert done.stdout.split() == [f"plain,{name}" for name in COMMANDS]


HOSTILE = [
    *("$(touch marker)", "`touch marker`", "a;touch marker", "a|touch marker", "a&&b", "a > marker", "${IFS}", "a b"),
    *("a*", "?", "[a]", "{a,b}", "~root", "#a", "!a", "^a", "a'b", 'a"b', "a\\b", "-rf", "--yes"),
    *("a\nplain,b", "a\rb", "a\tb", "a\x1b[31mb", "a\x07b", "a\x9bb", "a\u202eb", "a\u2028b", "a\x7fb"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_that_are_no_plain_words_are_not_offered(user: User, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*HOSTILE, "good", "acme.good-1_2", "Prüfer"]
    for number, name in enumerate(names):
        text = f"---\nname: {msgspec.json.encode(name).decode()}\ndescription: x\n---\nDo it.\n"
        user.write(user.here / "agents" / f"{number}.md", text)
    user.write(user.here / "agents" / "$(touch marker).md", "Do it.\n")
    monkeypatch.setenv("_DRAGOMAN_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "dragoman agents show ")
    monkeypatch.setenv("COMP_CWORD", "" if shell == "fish" else "3")
    answer = user.types()
    spelled = "plain\n{}\n_\n" if shell == "zsh" else "plain,{}\n"
    offered = "".join(spelled.format(name) for name in ("good", "acme.good-1_2", "Prüfer"))
    assert answer == Answer(0, spelled.format("").replace("plain", "file") + offered)


@given(st.text())
def test_what_is_offered_is_one_word_to_a_shell_and_steers_no_terminal(text: str) -> None:
    if is_plain_word(text):
        assert shlex.split(text, comments=True) == ([text] if text else [])
        assert not any(unicodedata.category(letter).startswith(("C", "Z")) for letter in text)


def test_a_broken_project_writes_nothing_into_the_line_that_is_completed(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write(user.here / "dragoman.toml", "\x1b[31m = broken")
    monkeypatch.setenv("_DRAGOMAN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "dragoman agents show ")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert user.types() == Answer(0, "\n")
