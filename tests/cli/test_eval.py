"""`dragoman eval`: a table, paired differences, records that can be shown; it continues where it was stopped."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.engine.loopback import Turn, loopback

from .conftest import User

SUITE = """
name = "greeting"
vocabularies = ["claude_code", "gemini_cli"]
tools = ["write_file"]

[[tasks]]
name = "greet"
prompt = "Write hello into hello.txt."
expect = {files = {"hello.txt" = "hello"}, unchanged = true}
"""
ANSWERS = (
    Turn(calls=(("c1", "Write", {"file_path": "hello.txt", "content": "hello"}),)),
    Turn("Done."),
    Turn(calls=(("c2", "write_file", {"file_path": "hello.txt", "content": "hi"}),)),
    Turn("Done."),
)


async def test_an_evaluation_is_a_table_and_continues_where_it_was(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write(user.here / "suite.toml", SUITE)
    words = ("eval", "suite.toml", "--model", "openai-chat:played")
    async with loopback(*ANSWERS) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        first = await asyncio.to_thread(user.types, *words)
        again = await asyncio.to_thread(user.types, *words, "--json")
        assert len(server.requests) == 4
    assert (first.code, again.code) == (0, 0), first.err
    assert "100.0 %" in first.out
    assert "-100.0" in first.out
    assert "hello.txt does not hold what it should" in first.err
    found = json.loads(again.out)
    assert [(one["vocabulary"], one["done"]) for one in found["rates"]] == [("claude_code", 1), ("gemini_cli", 0)]
    record = Path(found["folder"]) / found["attempts"][0]["record"]
    shown = user.types("show", str(user.here / record))
    assert (shown.code, "hello.txt" in shown.out) == (0, True)


def test_what_is_wrong_with_a_file_is_an_error_that_says_where(user: User) -> None:
    user.write(user.here / "suite.toml", SUITE.replace("prompt", "promt"))
    answer = user.types("eval", "suite.toml")
    assert answer.code != 0
    assert "promt" in answer.err


def test_a_file_names_neither_a_vocabulary_nor_a_model_that_is_a_file(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    user.write(user.here / "evil.py", "raise SystemExit('it ran')\n")
    user.write(user.here / "suite.toml", SUITE.replace('"claude_code"', '"./evil.py"'))
    answer = user.types("eval", "suite.toml", "--model", "openai:gpt-5")
    assert "it ran" not in answer.err + answer.out
    assert "evil.py" in answer.err
    user.write(user.here / "suite.toml", SUITE.replace("tools", 'models = ["local:./evil.gguf"]\ntools'))
    assert "evil.gguf" in user.types("eval", "suite.toml").err


async def test_a_vocabulary_made_from_an_installed_one_is_called_after_its_file(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = '''from dragoman.dialects import DIALECTS, Spelling, means
from dragoman.model import operations as op

class Put(Spelling[op.WriteFile]):
    """Write a file."""
    native_name = "put"
    file: str = means("path", "Path of the file.")
    text: str = means("content", "All it holds.")
    unsaid = dict.fromkeys(set(op.WriteFile.__struct_fields__) - {"path", "content"}, "not a parameter")

DIALECT = DIALECTS["plain"].but(Put, without=("write_file",))
'''
    user.write(user.here / "mine.py", swap)
    user.write(user.here / "suite.toml", SUITE)
    answers = (
        Turn(calls=(("c1", "put", {"file": "hello.txt", "text": "hello"}),)),
        Turn("Done."),
        Turn(calls=(("c2", "write_file", {"path": "hello.txt", "content": "hello"}),)),
        Turn("Done."),
    )
    async with loopback(*answers) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        words = ("eval", "suite.toml", "--model", "openai-chat:played", "--dialect", "./mine.py", "--dialect", "plain")
        answer = await asyncio.to_thread(user.types, *words, "--json")
    assert answer.code == 0, answer.err
    assert [(one["vocabulary"], one["done"]) for one in json.loads(answer.out)["rates"]] == [("mine", 1), ("plain", 1)]
