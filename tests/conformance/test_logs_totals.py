"""Tokens of every client, against what its own log adds up: each total is taken from the bytes by a few plain lines."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import read
from dragoman.model import TokensUsed
from tests.conformance.scripted_sessions import TRACES, Scripted, sessions

UNLOGGED = {
    ("claude-code", "apifatal"): 2,
    ("claude-code", "compact"): 2,
    ("claude-code", "meta"): 1,
}
"""Requests Claude Code counts and keeps no message of: for a summary, for a page that was fetched."""


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(errors="replace").splitlines() if line.strip()]


def claude(session: Scripted) -> int | None:
    states = [one for file in session.files for one in lines_of(file) if one.get("type") == "cost-state"]
    keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    return sum(usage[key] for usage in states[-1]["modelUsage"].values() for key in keys) if states else None


def cline(session: Scripted) -> int | None:
    """The session's own total leaves its agents out; their messages each have theirs."""
    total = 0
    for file in session.files:
        document = json.loads(file.read_text())
        for message in document.get("messages", ()):
            total += sum(message.get("metrics", {}).get(key, 0) for key in ("inputTokens", "outputTokens"))
    return total


def codex(session: Scripted) -> int | None:
    """The counter at the end of each thread, less what it began with: a branch goes on with its parent's."""
    total = 0
    for file in session.files:
        begin = end = None
        for line in lines_of(file):
            payload = line.get("payload") or {}
            info = payload.get("info") or {}
            counted = info.get("total_token_usage") or payload.get("thread_token_usage")
            if counted:
                last = info.get("last_token_usage") or payload["usage"]
                end = counted["total_tokens"]
                begin = end - last["total_tokens"] if begin is None else begin
        total += (end or 0) - (begin or 0)
    return total or None


def continued(session: Scripted) -> int | None:
    usage = [json.loads(file.read_text())["usage"] for file in session.files]
    return sum(
        one["promptTokens"]
        + one["completionTokens"]
        + one["promptTokensDetails"]["cachedTokens"]
        + one["promptTokensDetails"]["cacheWriteTokens"]
        for one in usage
    )


def copilot(session: Scripted) -> int | None:
    total = 0
    for file in session.files:
        ended = [line["data"] for line in lines_of(file) if line["type"] == "session.shutdown"]
        for agent in ended[-1]["accountingSnapshot"]["agentMetrics"].values():
            total += sum(
                one["usage"]["inputTokens"] + one["usage"]["outputTokens"] for one in agent["modelMetrics"].values()
            )
    return total


def gemini(session: Scripted) -> int | None:
    total = 0
    for file in session.files:
        records = json.loads(file.read_text())["messages"] if file.suffix == ".json" else lines_of(file)
        total += sum({one["id"]: one["tokens"]["total"] for one in records if one.get("tokens")}.values())
    return total


def opencode(session: Scripted) -> int | None:
    columns = "tokens_input + tokens_output + tokens_reasoning + tokens_cache_read + tokens_cache_write"
    files = [file for file in session.files if file.suffix == ".db"]
    if not files:
        return None
    total = 0
    for file in files:
        with closing(sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)) as database:
            total += database.execute(f"SELECT sum({columns}) FROM session").fetchone()[0]
    return total


def pi(session: Scripted) -> int | None:
    messages = [line.get("message") or {} for file in session.files for line in lines_of(file)]
    return sum(message["usage"]["totalTokens"] for message in messages if message.get("usage"))


def qwen(session: Scripted) -> int | None:
    kept = TRACES / session.client / session.name / "home/.qwen/usage_record.jsonl"
    if not kept.is_file():
        return None
    return sum(model["totalTokens"] for model in lines_of(kept)[-1]["models"].values())


TABLE: dict[str, tuple[str, Callable[[Scripted], int | None], int]] = {
    # client: (format, its own total, sessions that have one)
    "claude-code": ("claude_code", claude, 16),
    "cline": ("cline", cline, 1),
    "codex": ("codex", codex, 16),
    "continue": ("continue", continued, 1),
    "copilot": ("copilot", copilot, 7),
    "gemini-cli": ("gemini_cli", gemini, 17),
    "opencode": ("opencode", opencode, 15),
    "pi": ("pi", pi, 5),
    "qwen-code": ("qwen_code", qwen, 9),
}


@pytest.mark.parametrize("client", TABLE)
def test_tokens_equal_the_logs_own_total(client: str) -> None:
    format, total_of, number = TABLE[client]
    compared = 0
    for session in sessions(client, format):
        total = total_of(session)
        if total is None:
            continue
        compared += 1
        used = [
            event.usage.total or 0
            for file in session.files
            for event in read(file, format)
            if isinstance(event, TokensUsed)
        ]
        if (session.client, session.name) in UNLOGGED:
            assert sum(used) < total
        else:
            assert sum(used) == total, (session.client, session.name)
    assert compared == number


def test_claude_codes_tokens_are_equal_kind_by_kind_and_model_by_model() -> None:
    kinds = {
        "inputTokens": "input_tokens",
        "outputTokens": "output_tokens",
        "cacheReadInputTokens": "cached_read_tokens",
        "cacheCreationInputTokens": "cached_write_tokens",
    }
    compared = 0
    for session in sessions("claude-code", "claude_code"):
        states = [one for file in session.files for one in lines_of(file) if one.get("type") == "cost-state"]
        if not states or (session.client, session.name) in UNLOGGED:
            continue
        used: Counter[tuple[str | None, str]] = Counter()
        for event in session.events("claude_code"):
            if isinstance(event, TokensUsed):
                for theirs, ours in kinds.items():
                    used[event.model, theirs] += getattr(event.usage, ours) or 0
        told = {(model, kind): usage[kind] for model, usage in states[-1]["modelUsage"].items() for kind in kinds}
        assert dict(used) == told, session.name
        compared += 1
    assert compared == 13
