"""`dragoman tools`, `say` and `translate`: vocabularies on the command line."""

from __future__ import annotations

import io

import pytest

from .conftest import User


def typed(text: str) -> io.TextIOWrapper:
    """Standard input that holds this text."""
    return io.TextIOWrapper(io.BytesIO(text.encode()))


def test_say_shows_an_operation_in_the_words_of_a_vocabulary(user: User) -> None:
    answer = user.types("say", "read_file", "path=a.py", "first_line=5", "last_line=9", "--to", "gemini_cli")
    assert answer.out == 'gemini_cli\n  read_file {"file_path":"a.py","start_line":5,"end_line":9}\n'
    assert answer.code == 0


def test_say_tells_what_is_lost_and_what_cannot_be_said(user: User) -> None:
    lossy = user.types("say", "search_text", "pattern=x", "multiline=true", "--to", "gemini_cli", "--json").json
    assert lossy["said"]["gemini_cli"]["loss"] == [{"field": "multiline", "reason": "a match is within a line"}]
    silent = user.types("say", "move_file", "path=a", "to=b", "--to", "gemini_cli")
    assert (silent.code, silent.out) == (1, "gemini_cli\n  cannot say it: it is done with a shell command\n")


def test_say_takes_a_value_from_a_file(user: User) -> None:
    (user.here / "new.txt").write_text("x = 1\n")
    answer = user.types("say", "write_file", "path=a.py", "content=@new.txt", "--to", "gemini_cli", "--json")
    assert answer.json["said"]["gemini_cli"]["calls"][0]["arguments"] == {"file_path": "a.py", "content": "x = 1\n"}


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("reed_file", "path=a"), 'There is no operation "reed_file". Did you mean "read_file"?'),
        (("read_file", "path"), '"path" is not of the form key=value.'),
        (("read_file", "pth=a"), "path"),
        (("read_file", "path=a", "--to", "gemini"), "gemini_cli"),
    ],
)
def test_say_explains_what_it_cannot_read(user: User, words: tuple[str, ...], complaint: str) -> None:
    answer = user.types("say", *words)
    assert answer.code != 0
    assert complaint in answer.err


def test_translate_turns_a_call_of_one_vocabulary_into_another(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = '{"file_path": "a.py", "instruction": "", "old_string": "x", "new_string": "y"}'
    call = f'{{"name": "replace", "arguments": {arguments}}}'
    monkeypatch.setattr("sys.stdin", typed(call))
    answer = user.types("translate", "--from", "gemini_cli", "--to", "plain")
    assert answer.out == 'edit_file {"path":"a.py","edits":[{"old":"x","new":"y"}]}\n'


def test_translate_says_what_has_no_meaning_elsewhere(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    call = '{"name": "grep_search", "arguments": {"pattern": "x", "exclude_pattern": "y"}}'
    monkeypatch.setattr("sys.stdin", typed(call))
    answer = user.types("translate", "--from", "gemini_cli", "--to", "plain")
    assert answer.out == 'search_text {"pattern":"x"}\n'
    assert "the parameter 'exclude_pattern' has no meaning outside gemini_cli" in answer.err


@pytest.mark.parametrize("text", ["", "[1]", '{"nam": 1}', '{"name": "read_file", "arguments": {}}'])
def test_translate_refuses_what_is_no_call(user: User, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", typed(text))
    answer = user.types("translate", "--from", "gemini_cli", "--to", "plain")
    assert (answer.code, answer.out) == (7, "")
    assert answer.err.startswith("error: ")


def test_tools_shows_what_a_version_and_a_family_of_models_is_offered(user: User) -> None:
    def offered(*words: str) -> set[str]:
        shown = user.types("tools", "--dialect", "gemini_cli", "--json", *words).json["gemini_cli"]
        return {definition["name"] for definition in shown}

    assert "grep_search" in offered()
    assert "search_file_content" in offered("--version", "0.24.0")
    assert "write_todos" in offered("--family", "gemini-2.5-pro")
    assert "write_todos" not in offered("--family", "gemini-3-pro-preview")


def test_fidelity_gives_a_reason_for_everything_that_is_not_said(user: User) -> None:
    rows = user.types("tools", "--fidelity", "--json").json
    for name, found in rows.items():
        for row in found:
            if row["status"] in ("unsaid", "unspoken", "approximated", "read_only"):
                assert row["reason"], (name, row)


def test_tools_fits_a_narrow_terminal(user: User) -> None:
    assert "read_file" in user.sees("tools", "--dialect", "gemini_cli", columns=40).out


@pytest.mark.parametrize(
    "call",
    [
        '{"type": "tool_use", "id": "x", "name": "read_file", "input": {"file_path": "a.py"}}',
        '{"type": "function_call", "call_id": "x", "name": "read_file", "arguments": "{\\"file_path\\": \\"a.py\\"}"}',
    ],
)
def test_translate_takes_calls_as_apis_write_them(user: User, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setattr("sys.stdin", typed(call))
    answer = user.types("translate", "--from", "gemini_cli", "--to", "plain")
    assert answer.out == 'vfs_read {"path":"a.py"}\n'
