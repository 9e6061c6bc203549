"""Every provider's tool seen in recorded exchanges is in the catalogue; Anthropic's are read to typed values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.model import ExecutedBy, NativeCall, NativeResult, operations as op, outcomes as out

from .conftest import SHARED

CASSETTES = SHARED / "cassettes"
TAG = "provider_tool:"
CLIENT_RUN = {"bash", "str_replace_editor", "str_replace_based_edit_tool", "memory", "computer"}


@cache
def index() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASSETTES / "index.jsonl").read_text().splitlines()]


def tagged() -> list[tuple[str, str]]:
    found = {
        (row["provider_api"], tag.removeprefix(TAG)) for row in index() for tag in row["tags"] if tag.startswith(TAG)
    }
    return sorted(found)


def names(dialect: Dialect) -> set[str]:
    """What a recording may call the tools of a dialect's rows: by id, by type, by name, by the calls they make."""
    known: set[str] = set()
    for row in dialect.provider_tools:
        bare = row.id.partition(".")[2]
        undated = bare.removesuffix(f"_{row.version}") if row.version else bare
        known |= {bare, undated, row.wire_type, f"{row.vendor}_{bare}", f"{row.vendor}:{bare}", *row.names}
        known |= {spelling.native_name for spelling in row.spellings}
    return known | ({"mcp"} if dialect.mcp_items else set())  # servers are called, never a tool of that name


@pytest.mark.parametrize("api, tag", tagged())
def test_every_tool_that_was_seen_has_a_row(api: str, tag: str) -> None:
    dialect = {"anthropic-messages": "anthropic", "gemini-generate": "google"}.get(api, "openai")
    assert tag in names(DIALECTS[dialect])


def test_the_recordings_speak_of_many_tools() -> None:
    assert len(tagged()) >= 25


# ── Anthropic's blocks ───────────────────────────────────────────────────────


@cache
def recorded() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Specs of the provider's tools, and all blocks, each with the names of those tools in its request."""
    specs: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    for row in index():
        if row["provider_api"] != "anthropic-messages":
            continue
        exchange = json.loads((CASSETTES / row["file"]).read_text())
        request = exchange.get("request") or {}
        tools = [tool for tool in request.get("tools") or [] if isinstance(tool, dict)]
        own = [tool for tool in tools if tool.get("type") not in (None, "custom")]
        specs += own
        defined = {tool["name"] for tool in own if "name" in tool}
        for block in (*_sent(request), *_answered(exchange)):
            blocks.append({**block, "defined": defined})
    return specs, blocks


def _sent(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for message in request.get("messages") or []:
        yield from _blocks(message)


def _blocks(message: Any) -> Iterator[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    yield from (block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()


def _answered(exchange: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The blocks of a reply, those of a stream put together from their pieces."""
    yield from _blocks(exchange.get("response"))
    open_blocks: dict[int, dict[str, Any]] = {}
    pieces: dict[int, str] = {}
    for event in (one.get("data") for one in exchange.get("events") or []):
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "content_block_start":
            open_blocks[event["index"]], pieces[event["index"]] = event["content_block"], ""
        elif kind == "content_block_delta":
            pieces[event["index"]] += event["delta"].get("partial_json") or ""
        elif kind == "content_block_stop":
            block, said = open_blocks.pop(event["index"]), pieces.pop(event["index"])
            yield {**block, "input": json.loads(said)} if said else block


def _calls() -> dict[str, NativeCall]:
    """The calls of provider's tools by their ids: what the provider ran, and what it defined for us to run."""
    found: dict[str, NativeCall] = {}
    for block in recorded()[1]:
        kind, name = block.get("type"), str(block.get("name"))
        hosted = kind in ("server_tool_use", "mcp_tool_use")
        if hosted or (kind == "tool_use" and name in block["defined"] and name in CLIENT_RUN):
            item = {key: value for key, value in block.items() if key != "defined"}
            by = ExecutedBy.PROVIDER if hosted else ExecutedBy.CLIENT
            found[block["id"]] = NativeCall(
                block["id"], name, block["input"], block.get("toolset_name"), by, item if hosted else None
            )
    return found


def _result(block: dict[str, Any]) -> NativeResult:
    content = block.get("content")
    item = {key: value for key, value in block.items() if key != "defined"}
    failed = isinstance(content, dict) and str(content.get("type")).endswith("_error")
    if block["type"] != "tool_result":
        return NativeResult(
            block["tool_use_id"], "", failed or block.get("is_error"), executed_by=ExecutedBy.PROVIDER, item=item
        )
    pieces = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = tuple(
        piece["text"] if piece["type"] == "text" else out.Media(piece["source"]["media_type"], piece["source"]["data"])
        for piece in pieces
    )
    said = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else texts
    return NativeResult(block["tool_use_id"], said, block.get("is_error"))


def test_every_call_of_a_tool_anthropic_defines_is_read_to_a_typed_operation() -> None:
    calls = _calls()
    assert len(calls) > 150
    empty = 0
    for native in calls.values():
        call = DIALECTS["anthropic"].read_call(native)
        if call.failure is not None and native.arguments == {}:
            empty += 1  # a stream that was cut before the arguments came
            continue
        assert call.failure is None, (native, call.failure)
        assert not any(isinstance(one, op.Unrecognised | op.CallFunction) for one in call.operations), native
        assert call.unmapped == {}, native
        if native.executed_by is ExecutedBy.PROVIDER:
            assert DIALECTS["claude_code"].read_call(native).operations == call.operations, native
    assert empty <= 3


def test_every_result_of_a_tool_anthropic_runs_is_read_to_a_typed_outcome() -> None:
    calls, seen = _calls(), set()
    count = 0
    for block in recorded()[1]:
        if not str(block.get("type")).endswith("tool_result") or block.get("tool_use_id") not in calls:
            continue
        call = DIALECTS["anthropic"].read_call(calls[block["tool_use_id"]])
        native = _result(block)
        (outcome,) = DIALECTS["anthropic"].read_result(call, native).outcomes
        count += 1
        seen.add((block["type"], type(outcome)))
        if block["type"] not in ("mcp_tool_result", "advisor_tool_result", "tool_result"):
            assert not isinstance(outcome, out.TextOutcome), block
        if native.is_error:
            assert isinstance(outcome, out.Failure)
    assert count > 150
    assert seen >= {
        ("web_search_tool_result", out.PagesOutcome),
        ("web_fetch_tool_result", out.PagesOutcome),
        ("web_fetch_tool_result", out.Failure),
        ("code_execution_tool_result", out.CommandOutcome),
        ("bash_code_execution_tool_result", out.CommandOutcome),
        ("text_editor_code_execution_tool_result", out.FileOutcome),
        ("text_editor_code_execution_tool_result", out.ChangesOutcome),
        ("tool_search_tool_result", out.ToolsOutcome),
        ("advisor_tool_result", out.TextOutcome),
        ("mcp_tool_result", out.TextOutcome),
    }


def test_the_settings_of_every_recorded_tool_are_known_and_pass() -> None:
    rows = {row.wire_type: row for row in DIALECTS["anthropic"].provider_tools}
    specs = recorded()[0]
    assert len(specs) > 100
    for spec in specs:
        row = rows[spec["type"]]
        settings = {key: value for key, value in spec.items() if key not in ("type", "name")}
        assert row.define(settings).settings == settings
        assert row.unknown(settings) == (), spec
        assert spec.get("name") == row.name
