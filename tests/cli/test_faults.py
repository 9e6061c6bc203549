"""The command where something is wrong with the machine: no home, no current folder, nothing that can be written.

Rule: every command works without, or says in one line what is wrong and what to do; it never fails as a fault of ours.
`tests/attack/test_faults_machine.py` tries every command in LINES with every fault in FAULTS.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli import COMMANDS
from dragoman.cli.terminal.console import ExitCode
from tests.logs.samples import CLAUDE

from .conftest import Answer, User

LINES = (
    "agents list",
    "agents check a.md",
    "agents show explorer",
    "analyse",
    "approve no-such-run",
    "browse",
    "chat --model openai:gpt-5",
    "completion bash",
    "config show",
    "config path",
    "corpus build LOG corpus",
    "dialect check plain",
    "doctor",
    "doctor inspect LOG",
    "eval suite.toml --model openai:gpt-5",
    "events s-1",
    "export s-1 --to markdown",
    "gateway --model openai:gpt-5 no-such-client",
    "hook install claude_code",
    "hook serve --check",
    "hook status",
    "hook test LOG",
    "hook uninstall claude_code",
    "index info",
    "index update",
    "index rebuild",
    "index vacuum",
    "lab grep Fix",
    "keep list",
    "keep run",
    "memory list",
    "memory forget key",
    "keys list",
    "keys test",
    "mcp list",
    "models",
    "pack",
    "plugins",
    "policy explain ls",
    "port LOG --to codex",
    "projects",
    "query SELECT(count(*))FROM(sessions)",
    "queue add hello",
    "queue list",
    "refuse no-such-run",
    "replay LOG --workspace .",
    "run --dry-run --model openai:gpt-5 hello",
    "run --resume last hello",
    "say read_file path=a",
    "schema extract",
    "sessions",
    "sessions LOG",
    "show s-1",
    "show LOG",
    "skills",
    "sources",
    "sources add LOGS",
    "sources remove LOGS",
    "stats",
    "tool read_file path=notes.txt",
    "tool write_file path=new.txt content=x",
    "tools",
    "translate --from claude_code --to codex",
    "trust",
    "trust --list",
    "untrust",
    "usage daily",
    "view no-such-session",
    "watch --once --from-start",
    "worker --until-empty",
)
READING = ("analyse", "events", "export", "pack", "projects", "query", "sessions", "show", "stats")
"""Commands that ask the history; they need no place to write to."""


def home_is_not_set(user: User, patch: pytest.MonkeyPatch) -> None:
    patch.delenv("HOME")
    patch.setattr("os.path.expanduser", _unknown_user)
    patch.delenv("DRAGOMAN_CONFIG_DIR")


def _unknown_user(path: str) -> str:
    """What the system gives for a user without an entry in the password database."""
    return path


def home_is_empty(user: User, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("HOME", "")


def home_is_relative(user: User, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("HOME", "some/where")


def home_is_no_folder(user: User, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("HOME", "/dev/null")
    for name in ("CONFIG", "DATA", "CACHE"):
        patch.delenv(f"DRAGOMAN_{name}_DIR")


def home_is_missing(user: User, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("HOME", str(user.home / "nowhere"))


def the_data_folder_is_a_file(user: User, patch: pytest.MonkeyPatch) -> None:
    Path(user.environ["DRAGOMAN_DATA_DIR"]).write_text("")


def the_cache_folder_is_a_file(user: User, patch: pytest.MonkeyPatch) -> None:
    Path(user.environ["DRAGOMAN_CACHE_DIR"]).write_text("")


def the_current_folder_is_gone(user: User, patch: pytest.MonkeyPatch) -> None:
    gone = user.home / "gone"
    gone.mkdir()
    patch.chdir(gone)
    gone.rmdir()


def there_is_no_place_for_temporary_files(user: User, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("TMPDIR", "/dev/null")


def home_is_not_utf8(user: User, patch: pytest.MonkeyPatch) -> None:
    home = user.home / "h\udcff"
    os.rename(user.home / ".claude", home.with_name("claude"))
    home.mkdir()
    os.rename(home.with_name("claude"), home / ".claude")
    patch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "CACHE"):
        patch.delenv(f"DRAGOMAN_{name}_DIR")


def the_current_folder_is_not_utf8(user: User, patch: pytest.MonkeyPatch) -> None:
    odd = user.home / "here\udcff\n\x1b[31m"
    os.rename(user.here, odd)
    patch.chdir(odd)


Fault = Callable[[User, pytest.MonkeyPatch], None]
FAULTS: tuple[Fault, ...] = (
    home_is_not_set,
    home_is_empty,
    home_is_relative,
    home_is_no_folder,
    home_is_missing,
    the_data_folder_is_a_file,
    the_cache_folder_is_a_file,
    the_current_folder_is_gone,
    there_is_no_place_for_temporary_files,
    home_is_not_utf8,
    the_current_folder_is_not_utf8,
)


def typed(user: User, line: str) -> Answer:
    named = {"LOG": str(user.home / "log.jsonl"), "LOGS": str(user.home / "logs")}
    return user.types(*(named.get(word, word) for word in line.split()))


@pytest.fixture
def machine(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    project = user.home / ".claude" / "projects" / "-p"
    project.mkdir(parents=True)
    (project / "s-1.jsonl").write_bytes(CLAUDE)
    (user.home / "log.jsonl").write_bytes(CLAUDE)
    (user.home / "logs").mkdir()
    user.write(user.here / "notes.txt", "tea\n")
    user.write(user.here / "dragoman.toml", "retries = 1\n")
    user.write(user.here / "a.md", "---\nname: helper\ndescription: Helps.\n---\nHelp.\n")
    suite = 'name = "s"\n[[tasks]]\nname = "t"\nprompt = "Go."\nexpect = {answer = "x"}\n'
    user.write(user.here / "suite.toml", suite)
    monkeypatch.setattr("sys.stdin", None)  # nothing is typed, and nothing waits for it
    return user


def test_every_command_is_tried() -> None:
    assert {line.split()[0] for line in LINES} == set(COMMANDS)


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith(READING)])
def test_what_only_reads_needs_no_index(line: str, machine: User) -> None:
    wanted = typed(machine, line)
    the_cache_folder_is_a_file_now(machine)
    answer = typed(machine, line)
    assert (answer.code, answer.out) == (wanted.code, wanted.out)
    named = "LOG" in line or line.startswith(("events", "show"))
    assert ("no index can be kept" in answer.err) is not named


def the_cache_folder_is_a_file_now(user: User) -> None:
    import shutil

    cache = Path(user.environ["DRAGOMAN_CACHE_DIR"])
    shutil.rmtree(cache, ignore_errors=True)
    cache.write_text("")


def test_a_run_that_cannot_be_recorded_says_so_before_a_model_is_asked(
    machine: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_data_folder_is_a_file(machine, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")  # nobody listens there
    answer = machine.types("run", "--model", "openai:gpt-5", "hello")
    data = machine.environ["DRAGOMAN_DATA_DIR"]
    assert answer.code == ExitCode.STORAGE
    *_, error = answer.err.splitlines()
    assert error.startswith(f"error: cannot write {data}/runs/")
    assert error.endswith("; DRAGOMAN_DATA_DIR can name another folder, and --no-record keeps no record")


def test_the_home_and_the_current_folder_are_asked_for_in_one_place() -> None:
    """Elsewhere they would raise what nobody catches, where there are none."""
    import dragoman

    root = Path(str(dragoman.__file__)).parent
    texts = {path: path.read_text() for path in root.rglob("*.py") if path.name != "folders.py"}
    used = [
        str(path)
        for path, text in texts.items()
        if any(word in text for word in ("Path.home(", "Path.cwd(", ".expanduser()"))
    ]
    assert used == []
    assert os.path.isfile(root / "config" / "files" / "folders.py")


def test_a_record_dated_to_the_days_to_come_is_not_the_last_one(tmp_path: Path) -> None:
    from dragoman.cli.records import find_run
    from dragoman.logs.stores import FileStore

    now = time.time()
    for name, age in (("old", 3600), ("new", 60), ("future", -10 * 86_400), ("empty", 0)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("" if name == "empty" else "{}\n")
        os.utime(path, (now - age, now - age))
    assert find_run(FileStore(tmp_path), "last") == "new"
    assert find_run(FileStore(tmp_path), "future") == "future"


def test_nothing_is_measured_by_the_clock_on_the_wall() -> None:
    """It may be set while something runs; only the age of a file, a date or a day is taken from it."""
    import dragoman

    root = Path(str(dragoman.__file__)).parent
    used = sorted(str(path.relative_to(root)) for path in root.rglob("*.py") if "time.time(" in path.read_text())
    assert used == [
        "cli/commands/usage.py",
        "cli/records.py",
        "config/files/scratch.py",
        "logs/archive.py",
        "logs/corpus/build.py",
        "serve/page/growing.py",
        "serve/status_line.py",
    ]
