"""`dragoman run --from`: a session of another client goes on here, with any model."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.terminal.console import ExitCode
from dragoman.engine.history import conversation_of
from dragoman.logs import read_events
from dragoman.model import SessionStarted
from tests.engine.loopback import Turn, loopback

from .conftest import User
from .test_run import records, runs

ID = "0f6c5a52-7f1e-4c36-9a45-1f6f0c2a9b11"
DONE = Turn("It is done.")
MODELS = {
    "anthropic_messages": "anthropic:claude-sonnet-4-5",
    "openai_chat": "openai-chat:gpt-5",
    "openai_responses": "openai:gpt-5",
    "gemini_generate": "gemini:gemini-2.5-pro",
}
KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "sk-0123456789")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)


def _line(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more}
    if kind == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "claude-sonnet-4-5", "usage": {}}
    return {
        "parentUuid": None if number == 1 else f"u{number - 1}",
        "uuid": f"u{number}",
        "sessionId": ID,
        "cwd": "/nowhere/project",
        "version": "2.1.123",
        "type": kind,
        "timestamp": f"2026-01-01T00:00:0{number}.000Z",
        "message": message,
    }


def session(user: User, *, ended: bool = True) -> Path:
    """A session of Claude Code: a question, a thought, a call with its result, and an answer."""
    called = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "notes.txt"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1\ttea"}
    lines = [
        _line(1, "user", "What is to drink?"),
        _line(2, "assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]),
        _line(3, "assistant", [called]),
        _line(4, "user", [result]),
    ]
    if ended:
        lines.append(_line(5, "assistant", [{"type": "text", "text": "Tea."}]))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return user.write(user.home / ".claude" / "projects" / "-nowhere-project" / f"{ID}.jsonl", text)


@pytest.mark.parametrize("api", MODELS)
async def test_the_exact_request_has_the_whole_history_in_the_words_of_every_api(user: User, api: str) -> None:
    path = session(user)
    said = await runs(
        user, None, "--from", str(path), "--model", MODELS[api], "--dry-run", "--json", "And now?", **KEYS
    )
    assert said.code == ExitCode.OK, said.err
    assert re.match(r"https://[\w.-]+/v1(beta)?/\w+", said.json["url"])
    body = json.dumps(said.json["body"])
    places = [body.index(words) for words in ("What is to drink?", "notes.txt", "tea", "Tea.", "And now?")]
    assert places == sorted(places)
    assert "Hm." not in body
    assert "left out: thoughts (1)" in said.err


@pytest.mark.parametrize(
    "model,base,name",
    [
        ("openai:gpt-5", "OPENAI_BASE_URL", "/responses"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "/messages"),
    ],
)
async def test_a_session_goes_on_by_its_id_and_its_history_is_in_the_new_record(
    user: User, model: str, base: str, name: str
) -> None:
    session(user)
    async with loopback(DONE) as server:
        said = await runs(user, None, "--from", ID[:8], "--model", model, "And now?", **KEYS, **{base: server.url})
        assert said.code == ExitCode.OK, said.err
        assert said.out == "It is done.\n"
        [heard] = server.requests
        assert name in heard.path
        assert "notes.txt" in json.dumps(heard.body)
    [record] = records(user)
    events = list(read_events(record))
    assert isinstance(events[0], SessionStarted)
    assert events[0].forked_from == ID
    told = [item for item in conversation_of(events) if item.role != "system"]
    assert [item.role for item in told] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    async with loopback(DONE) as server:
        again = await runs(user, None, "--resume", "last", "More.", **KEYS, **{base: server.url})
        assert again.code == ExitCode.OK, again.err
        assert "What is to drink?" in json.dumps(server.requests[0].body)


async def test_a_session_that_broke_off_goes_on_without_a_word(user: User) -> None:
    path = str(session(user, ended=False))
    said = await runs(user, None, "--from", path, "--model", MODELS["openai_chat"], "--dry-run", "--json", **KEYS)
    assert said.code == ExitCode.OK, said.err
    assert said.json["body"]["messages"][-1]["role"] == "tool"


async def test_what_cannot_be_gone_on_with_is_said(user: User) -> None:
    path = str(session(user))
    finished = await runs(user, None, "--from", path, "--model", MODELS["openai_chat"], "--dry-run", **KEYS)
    assert finished.code == ExitCode.USAGE
    assert "Say what to do next" in finished.err
    both = await runs(user, None, "--from", path, "--resume", "last", "x", **KEYS)
    assert both.code == ExitCode.USAGE
    nobody = await runs(user, None, "--from", "ffff", "--model", MODELS["openai_chat"], "--dry-run", "x", **KEYS)
    assert nobody.code == ExitCode.LOG
