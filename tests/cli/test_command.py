from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dragoman import __version__, cli
from dragoman.cli import COMMANDS, dragoman, main
from dragoman.cli.terminal.console import Console, ExitCode, reported
from dragoman.cli.terminal.default_group import DefaultGroup

from .conftest import Answer, User

HEAVY = ("asyncio", "aiohttp", "rich", "platformdirs", "tomllib", "dragoman.config", "dragoman.registry", "pydantic")


def test_alone_it_shows_its_help(user: User) -> None:
    answer = user.types()
    assert answer == user.types("--help") == user.types("-h")
    assert (answer.code, answer.err) == (0, "")
    assert all(f"  {name} " in answer.out and text in answer.out for name, text in COMMANDS.items())
    assert all(f"  {code.value} " in answer.out and code.meaning in answer.out for code in ExitCode if code.value < 70)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], []], ids=["version", "help", "nothing"])
def test_its_version_and_its_help_load_nothing_heavy_and_no_command(arguments: list[str]) -> None:
    program = (
        "import sys; from dragoman.cli import main\n"
        f"code = main({arguments!r})\n"
        f"names = {HEAVY!r} + tuple('dragoman.cli.commands.' + name for name in {list(COMMANDS)!r})\n"
        "print([code, *(name for name in names if name in sys.modules)], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[0]\n"


def test_the_help_of_run_loads_nothing_that_runs() -> None:
    program = (
        "import sys; from dragoman.cli import main\n"
        "code = main(['run', '--help'])\n"
        f"names = {HEAVY!r} + ('msgspec', 'dragoman.cli.session', 'dragoman.registry', 'dragoman.agents')\n"
        "print([code, *(name for name in names if name in sys.modules)], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[0]\n"


@pytest.mark.parametrize("given, dumpable", [("", 0), ("['--version']", 1)], ids=["as a command", "from a program"])
def test_only_the_command_itself_closes_its_process_to_others(given: str, dumpable: int) -> None:
    program = (
        "import ctypes, sys; from dragoman.cli import main\n"
        "sys.argv = ['dragoman', '--version']\n"
        f"main({given})\n"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == f"{dumpable}\n"


def test_no_option_takes_a_key_since_everybody_can_read_a_command_line() -> None:
    asks = [
        (command, option)
        for command in COMMANDS
        for option in options_of(cli.dragoman, command)
        if re.search(r"key|password|secret|token$", option)
    ]
    # A word that its user makes up for one gateway of this machine; its help says who can see it, and what hides it.
    assert asks == [("gateway", "--token")]


def options_of(group: click.Group, name: str) -> list[str]:
    """The options that take a value, of a command and of those below it."""
    with click.Context(group) as context:
        command = group.get_command(context, name)
        assert command is not None
        valued = [one for one in command.params if isinstance(one, click.Option) and not one.is_flag]
        options = [word for one in valued for word in one.opts]
        below = command.list_commands(context) if isinstance(command, click.Group) else []
        return [*options, *(option for one in below for option in options_of(command, one))]


CHECKOUT = Path(__file__).parents[2]
SPAN = re.compile(r"(?<!`)`(dragoman [^`]+)`(?!`)")


def spans() -> Iterator[tuple[str, str]]:
    """The commands that a page names within a sentence; fenced lines are run by the conformance tests."""
    for page in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))):
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        yield from ((page.relative_to(CHECKOUT).as_posix(), span) for span in SPAN.findall(text))


def wrong_in(span: str) -> str:
    """What of a command does not exist: a sub-command, an option, or a word where one of a few is wanted."""
    command: click.Command = dragoman
    words, context = re.split(r"\s+", span)[1:], click.Context(dragoman)
    if words[0].isupper():  # COMMAND
        return ""
    known = {"--help", "-h", *(word for one in command.params for word in one.opts)}
    while words:
        word = words.pop(0)
        if word in ("--", "|", ">", "…"):
            break
        if word.startswith("-") and len(word) > 1:
            known |= {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
            if (name := word.partition("=")[0].rstrip(",")) not in known and "…" not in word:
                return f"no option {name}"
        elif isinstance(command, click.Group):
            below = command.get_command(context, word.rstrip(",")) if not re.search("[|…/]", word) else None
            if below is None:
                free = isinstance(command, DefaultGroup) or re.search("[|…/A-Z]", word)
                return "" if free else f"no command {word}"
            command, context = below, click.Context(below, parent=context)
        elif isinstance(
            kind := next((one.type for one in command.params if isinstance(one, click.Argument)), None), click.Choice
        ):
            return "" if word in kind.choices or word.isupper() else f"no choice {word}"
    return ""


def test_every_command_that_a_page_names_exists() -> None:
    wrong = ("runs", "run --modle x", "keys put", "config path nowhere", "keep list --gonne")
    assert all(wrong_in(f"dragoman {words}") for words in wrong)
    assert {(page, span): wrong for page, span in spans() if (wrong := wrong_in(span))} == {}


def test_it_tells_its_version(user: User) -> None:
    assert user.types("--version") == Answer(0, f"dragoman {__version__}\n")


def test_it_is_the_same_as_a_module_and_as_a_script(user: User) -> None:
    script = Path(sys.executable).with_name("dragoman")
    done, module = (
        subprocess.run([*command, "--version"], capture_output=True, env=user.environ, check=False)
        for command in ([script], [sys.executable, "-m", "dragoman"])
    )
    assert (done.returncode, done.stdout) == (module.returncode, module.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_is_there_and_explains_itself(name: str, user: User) -> None:
    answer = user.types(name, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: dragoman {name} ")


GROUPS = (importlib.import_module("dragoman.cli.commands.lab").command,)
"""Commands whose own commands are files too."""


def test_every_file_with_a_command_is_listed() -> None:
    files = [path.stem for path in (Path(cli.__file__).parent / "commands").glob("*.py") if path.stem != "__init__"]
    commands = {name for name in files if hasattr(importlib.import_module(f"dragoman.cli.commands.{name}"), "command")}
    below = {file for group in GROUPS for file in group.files.values()}
    assert {name.replace("-", "_") for name in COMMANDS} | below == commands


def test_every_short_help_fits_one_line() -> None:
    widest = max(map(len, COMMANDS))
    assert [name for name, text in COMMANDS.items() if widest + len(text) + 4 > 80] == []


@pytest.mark.parametrize(
    "words, message",
    [
        (["plugin"], 'There is no command "plugin". Did you mean "plugins"?'),
        (["xyzzy"], 'There is no command "xyzzy".'),
        (["--colour", "blue"], "Invalid value for '--colour'"),
        (["--set", "x", "plugins"], '"x" is not of the form KEY=VALUE.'),
        (["plugins", "--jason"], 'There is no option "--jason". Did you mean "--json"?'),
        (["plugins", "--xyzzy"], 'There is no option "--xyzzy".'),
        (["config", "sho"], "No such command 'sho'. Did you mean 'show'?"),
        (["run", "--max-turns", "x", "hi"], "'x' is not a whole number."),
        (["run", "--max-cost", "x", "hi"], "'x' is not a number."),
        (["run", "--max-cost", "0", "hi"], "0.0 is too small: it must be more than 0."),
        (["run", "--max-turns", "0", "hi"], "0 is too small: it must be at least 1."),
        (["view", "--port", "70000"], "70000 is out of range: it must be from 0 to 65535."),
        (["completion", "tcsh"], "Invalid value for"),
        (["trust", "/no/such/folder"], "does not exist"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_where_help_is(user: User, words: list[str], message: str) -> None:
    answer = user.types(*words)
    assert (answer.code, answer.out) == (ExitCode.USAGE, "")
    assert answer.err.startswith("error: ")
    assert message in answer.err
    assert "--help" in answer.err.splitlines()[-1]


def test_an_error_is_one_message_and_a_traceback_only_when_asked_for(user: User) -> None:
    file = user.settings("modle = 'x'\n")
    message = f'error: {file}:1: modle: there is no such setting. Did you mean "model"?\n'
    assert user.types("config", "show") == Answer(3, "", message)
    debugged = user.types("--debug", "config", "show")
    assert (debugged.code, debugged.out) == (3, "")
    assert debugged.err.startswith("Traceback (most recent call last):")
    assert debugged.err.endswith(message)


def test_an_error_shows_foreign_text_written_out(user: User) -> None:
    user.write(user.config_dir / "config.toml", '"\\u001b[31m\\rx" = 1\n')
    assert "\\x1b[31m\\rx" in user.types("config", "show").err
    assert "\x1b" not in user.types("--debug", "config", "show").err


def test_a_fault_of_ours_is_told_as_one(user: User, capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise ZeroDivisionError("no\x1b")

    assert reported(Console(), fails) == ExitCode.FAULT
    assert capfd.readouterr().err == (
        "error: ZeroDivisionError: no\\x1b\n"
        "This is a fault in dragoman or in a plugin. `dragoman --debug …` shows where it happened.\n"
    )


def test_an_interruption_is_no_fault(user: User) -> None:
    user.plugin("a.py", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nTOOLS = {'a': 1}\n")
    done = user.starts("plugins")
    assert (done.returncode, done.stdout, done.stderr.split()) == (130, b"", [b"error:", b"interrupted"])


def test_a_reader_that_went_away_is_no_error(user: User) -> None:
    for words in (["config", "show"], ["config", "show", "--json"], ["--help"]):
        reading, writing = os.pipe()
        os.close(reading)
        done = user.starts(*words, stdout=writing)
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_a_full_disk_is_told(user: User) -> None:
    for words in (["config", "path"], ["config", "show"], ["config", "show", "--json"], ["tools", "--json"]):
        with open("/dev/full", "wb") as full:
            done = user.starts(*words, stdout=full)
        told = (words, done.returncode, done.stderr)
        assert told == (words, 9, b"error: standard output: No space left on device\n")


def test_notes_that_cannot_be_written_cost_neither_the_result_nor_the_exit_code(user: User) -> None:
    command = [sys.executable, "-m", "dragoman", "untrust"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, env=user.environ, cwd=user.here, stderr=full, check=False)
    assert done.returncode == ExitCode.NO


def test_a_closed_standard_input_is_an_empty_one(user: User) -> None:
    command = f"exec {sys.executable} -m dragoman translate --from claude_code --to codex <&-"
    done = subprocess.run(["sh", "-c", command], env=user.environ, cwd=user.here, capture_output=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        7,
        b"error: standard input is not a call: Input data was truncated. "
        b'Write {"name": "read_file", "arguments": {"file_path": "a.py"}}, or a list of such.',
    )


def test_closed_streams_are_no_error(user: User) -> None:
    command = f"exec {sys.executable} -m dragoman config show >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], env=user.environ, cwd=user.here, check=False).returncode == 0


def test_main_gives_an_exit_code_and_never_exits(user: User) -> None:
    assert [main(["--version"]), main(["xyzzy"]), main(["trust"])] == [0, 2, 3]


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=["C", "C without help", "ascii", "latin-1"],
)
def test_json_is_utf_8_in_every_locale_and_text_never_fails(user: User, locale: dict[str, str]) -> None:
    (user.config_dir).mkdir()
    (user.config_dir / "config.toml").write_bytes("model = 'ü漢🙂'\n".encode())
    machine = user.starts("config", "show", "model", "--json", **locale)
    assert (machine.returncode, "ü漢🙂" in machine.stdout.decode("utf-8")) == (0, True)
    human = user.starts("config", "show", "model", **locale)
    assert (human.returncode, human.stderr) == (0, b"")


def test_a_name_that_is_no_text_survives_json(user: User) -> None:
    path = os.fsencode(user.config_dir / "plugins") + b"/\xff.py"
    user.plugin("good.py", "TOOLS = {'good': 1}\n")
    with open(path, "wb") as file:
        file.write(b"TOOLS = {'odd': 1}\n")
    origins = [entry["origin"] for entry in json.loads(user.starts("plugins", "--json").stdout)]
    assert os.fsdecode(path) in origins
    assert "\\udcff.py" in user.starts("plugins").stdout.decode()


EXAMPLES = re.compile(r"^  (?=(?:dragoman|git|echo) )((?:.*\\\n)*.*)$", re.MULTILINE)


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_every_help_fits_the_terminal_and_a_broken_example_is_the_same_command(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    helps = list(all_helps(dragoman, None, "dragoman"))
    assert len(helps) > 60
    assert [(path, line) for path, text, _ in helps for line in text.splitlines() if len(line) > columns] == []
    broken = 0
    for path, text, whole in helps:
        examples = [shlex.split(found[1].replace("\\\n", " ")) for found in EXAMPLES.finditer(text)]
        written = [shlex.split(line) for line in whole.splitlines() if is_command(line)]
        assert [example for example in written if example not in examples] == [], path
        broken += text.count(" \\\n")
    assert (broken > 5) is (columns == 60)


def is_command(line: str) -> bool:
    return line.startswith(("dragoman ", "git ", "echo ")) and "  " not in line


def all_helps(command: click.Command, parent: click.Context | None, path: str) -> Iterator[tuple[str, str, str]]:
    """Each command with its help as it is shown, and the text that it was made of."""
    context = command.context_class(command, info_name=path.split()[-1], parent=parent, max_content_width=100)
    raw = [one for one in inspect.cleandoc(command.help or "").split("\n\n") if one.startswith("\b")]
    yield path, command.get_help(context), "\n".join(raw)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from all_helps(below, context, f"{path} {name}")


def test_a_signal_that_comes_while_a_class_is_made_is_no_fault_of_ours() -> None:
    program = (
        "import os, signal\n"
        "from dragoman.cli.terminal.console import Console, reported\n"
        "class Named:\n"
        "    def __set_name__(self, owner, name):\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "def run():\n"
        "    type('Made', (), {'field': Named()})\n"
        "raise SystemExit(reported(Console(), run))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (129, "", "error: terminated\n")


def test_a_list_of_commands_cuts_no_sentence_and_a_number_is_called_n(user: User) -> None:
    for name in ("doctor", "hook", "policy", "sources", "keys"):
        assert "..." not in user.types(name, "--help").out.partition("Commands:")[2], name
    for name in ("worker", "eval", "stats", "replay"):
        out = user.types(name, "--help").out
        assert "RANGE" not in out, name
        assert " N  " in out, name
