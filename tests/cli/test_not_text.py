"""Input that is not UTF-8: arguments of every command, standard input, names of files and settings.

Rule: a text that is not UTF-8 is refused in one line (exit code 2), and the name of a file may be any bytes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import click
import pytest

from dragoman.cli import dragoman
from dragoman.cli.terminal.console import ExitCode
from dragoman.errors import QueryRefused
from dragoman.logs import Query
from tests.logs.samples import CLAUDE

from .conftest import User

NOT_TEXT = os.fsdecode(b"a\xff\xfe")


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*words, name))


def existing(parameter: click.Parameter) -> str:
    """A value that any parameter takes."""
    return "." if getattr(parameter.type, "dir_okay", True) else __file__


def lines() -> Iterator[tuple[str, ...]]:
    """Every command line that gives one parameter a text that is not UTF-8, with what else it needs."""
    for words, command in commands(dragoman):
        for tried in command.params:
            if not isinstance(tried.type, click.types.StringParamType) or getattr(tried, "is_flag", False):
                continue
            options: list[str] = []
            arguments: list[str] = []
            for parameter in command.params:
                if parameter is not tried and not parameter.required:
                    continue
                value = NOT_TEXT if parameter is tried else existing(parameter)
                if parameter.name == "flags":
                    value = f"model={value}"
                if isinstance(parameter, click.Option):
                    options += [parameter.opts[0], value]
                else:
                    arguments.append(value)
            yield (*words, *options, *arguments, *(("tools",) if not words else ()))


@pytest.mark.parametrize("line", list(lines()), ids=lambda line: ascii(" ".join(line)))
def test_no_command_takes_a_text_that_is_not_utf8(user: User, line: tuple[str, ...]) -> None:
    answer = user.types(*line)
    assert answer.code == ExitCode.USAGE, answer
    assert "not UTF-8 text: " in answer.err
    assert "a\\xff\\xfe" in answer.err


@pytest.mark.parametrize(
    "line",
    [
        "query -",
        "run --dry-run --model openai:gpt-5 -",
        "translate --from codex --to claude_code",
        "say write_file path=a content=@-",
        "tool write_file path=a content=@-",
        "chat --model openai:gpt-5",
        "events -",
        "show -",
    ],
)
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # what Python makes of C.UTF-8, and of C
def test_what_is_piped_in_and_is_not_utf8_is_refused(
    user: User, monkeypatch: pytest.MonkeyPatch, line: str, errors: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hello \xff\xfe\n"), "utf-8", errors))
    answer = user.types(*line.split())
    assert answer.code in (ExitCode.USAGE, ExitCode.LOG), answer
    assert "not UTF-8 text (byte 6)" in answer.err or answer.code == ExitCode.LOG
    assert list(user.here.iterdir()) == []


class Endless(io.RawIOBase):
    """A pipe without an end; how much was read of it."""

    def __init__(self) -> None:
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self.count += len(buffer)
        assert self.count <= 80 << 20, "it is read without end"
        buffer[:] = b"x" * len(buffer)
        return len(buffer)


@pytest.mark.parametrize(
    "line",
    [
        "query -",
        "run --dry-run --model openai:gpt-5 -",
        "translate --from codex --to claude_code",
        "tool write_file path=a content=@-",
        "chat --model openai:gpt-5",
    ],
)
def test_a_text_without_end_is_refused_with_its_limit(user: User, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Endless()), "utf-8"))
    answer = user.types(*line.split())
    assert answer.code == ExitCode.USAGE, answer
    assert f"more than {16 if 'chat' in line else 64} MiB" in answer.err


@pytest.mark.parametrize(
    "line",
    [
        "analyse LOG",
        "doctor LOG",
        "doctor inspect LOG",
        "events LOG",
        "export LOG --to html",
        "export LOG --to atif",
        "export LOG --to otel",
        "export LOG --to dragoman -o NEW",
        "lab grep a LOG",
        "pack LOG",
        "projects LOG",
        "query --in LOG SELECT(count(*))FROM(sessions)",
        "replay LOG --workspace FOLDER",
        "schema check LOG",
        "schema extract LOG -o NEW",
        "schema extract LOG -o NEW.json",
        "sessions LOG --json",
        "show LOG --json",
        "sources detect FOLDER --json",
        "watch LOG --once --from-start",
        "agents check AGENT",
        "agents show AGENT",
        "tool read_file path=agent.md --workspace FOLDER",
    ],
)
def test_a_file_may_have_any_name(user: User, line: str) -> None:
    folder = user.here / os.fsdecode(b"o\xffdd\n\x1b[31m")
    log, agent = folder / os.fsdecode(b"l\xff.jsonl"), folder / "agent.md"
    folder.mkdir()
    log.write_bytes(CLAUDE)
    agent.write_text("---\nname: helper\ndescription: Helps.\n---\nHelp.\n")
    named = {"LOG": log, "AGENT": agent, "FOLDER": folder, "NEW": folder / "\udcff", "NEW.json": folder / "\udcff.json"}
    answer = user.types(*(str(named.get(word, word)) for word in line.split()))
    assert answer.code in (ExitCode.OK, ExitCode.NO), answer
    assert "\x1b" not in answer.out + answer.err


@pytest.mark.parametrize(
    "line, code", [("sources add NEW", ExitCode.USAGE), ("export LOG --to parquet -o NEW", ExitCode.STORAGE)]
)
def test_where_a_name_must_be_utf8_that_is_said(user: User, line: str, code: ExitCode) -> None:
    folder = user.here / "\udcff"
    folder.mkdir()
    named = {"LOG": user.here / "log.jsonl", "NEW": folder}
    named["LOG"].write_bytes(CLAUDE)
    answer = user.types(*(str(named.get(word, word)) for word in line.split()))
    assert (answer.code, "UTF-8" in answer.err) == (code, True), answer


def test_settings_in_the_environment_that_are_not_utf8_are_refused(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DRAGOMAN_MODEL", "DRAGOMAN_DIALECT", "DRAGOMAN_POLICY__TIMEOUT", "DRAGOMAN_COLOUR"):
        with monkeypatch.context() as patch:
            patch.setenv(name, NOT_TEXT)
            answer = user.types("run", "--dry-run", "hello")
        assert answer.code in (ExitCode.USAGE, ExitCode.DEFINITION), answer


def test_sql_that_is_not_text_is_refused_by_the_library() -> None:
    with pytest.raises(QueryRefused, match=r"not Unicode text \(character 9\)"):
        Query(paths=[]).sql("SELECT '\udcff'")
