"""What clients print: runs that were not logged but printed, one small run for each client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.logs import read, recognise
from dragoman.logs.base.format import _fitted_in_part, fitted
from dragoman.logs.formats.parts.claude_records import Record
from dragoman.model import (
    AnyEvent,
    DoneOutcome,
    Failure,
    ModelSaid,
    SessionStarted,
    TextOutcome,
    TokensUsed,
    ToolReturned,
    Usage,
    UserSaid,
)
from dragoman.registry import FORMATS
from tests.examples import examples
from tests.logs.samples import lines

GEMINI = (
    {"type": "init", "timestamp": "2026-01-01T00:00:00Z", "session_id": "s", "model": "m"},
    {"type": "message", "timestamp": "2026-01-01T00:00:00Z", "role": "user", "content": "Go."},
    {"type": "message", "timestamp": "2026-01-01T00:00:01Z", "role": "assistant", "content": "Rea", "delta": True},
    {"type": "message", "timestamp": "2026-01-01T00:00:01Z", "role": "assistant", "content": "ding.", "delta": True},
    {"type": "tool_use", "timestamp": "2026-01-01T00:00:02Z", "tool_name": "glob", "tool_id": "a", "parameters": {}},
    {"type": "tool_result", "timestamp": "2026-01-01T00:00:02Z", "tool_id": "a", "status": "success", "output": "4"},
    {
        "type": "result",
        "timestamp": "2026-01-01T00:00:03Z",
        "status": "success",
        "stats": {"total_tokens": 25, "input_tokens": 15, "output_tokens": 8, "cached": 5},
    },
)


def printed(tmp_path: Path, *records: dict[str, Any]) -> list[AnyEvent]:
    path = tmp_path / "out.jsonl"
    path.write_bytes(lines(*records))
    return list(read(path))


def test_geminis_pieces_are_one_text_and_its_results_stay_text(tmp_path: Path) -> None:
    events = printed(tmp_path, *GEMINI)
    assert [event.text for event in events if isinstance(event, ModelSaid)] == ["Reading."]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (TextOutcome("4"),), "four files were found; it does not say which"
    (used,) = [event.usage for event in events if isinstance(event, TokensUsed)]
    assert used == Usage(input_tokens=10, cached_read_tokens=5, output_tokens=10, reasoning_tokens=2)


def qwen(kind: str, content: Any = None, parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {} if content is None else {"message": {"role": kind, "content": content, **more.pop("message", {})}}
    return {"type": kind, "session_id": "s", "parent_tool_use_id": parent, **message, **more}


def test_qwens_replies_count_and_its_totals_do_not(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c", "name": "write_file", "input": {"file_path": "/a", "content": "x"}}
    used = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 4}
    events = printed(
        tmp_path,
        qwen("system", subtype="init", qwen_code_version="0.24.4", cwd="/p", model="m"),
        qwen(
            "assistant", [{"type": "text", "text": "Hi."}], message={"usage": {"input_tokens": 0, "output_tokens": 0}}
        ),
        qwen("assistant", [call], message={"usage": used, "stop_reason": "tool_use"}),
        qwen("user", [{"type": "tool_result", "tool_use_id": "c", "is_error": False, "content": ""}]),
        qwen("user", [{"type": "text", "text": "Look."}], parent="c"),
        qwen("result", subtype="success", is_error=False, usage={"input_tokens": 99, "output_tokens": 9}),
    )
    assert [event.usage.total for event in events if isinstance(event, TokensUsed)] == [13]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (DoneOutcome(),)
    assert [(event.by, event.stream) for event in events if isinstance(event, UserSaid)] == [("agent", "c")]
    assert {event.version for event in events} == {"0.24.4"}


def cline(event: dict[str, Any]) -> dict[str, Any]:
    return {"ts": "2026-01-01T00:00:00Z", "type": "agent_event", "event": event}


def hook(name: str, agent: str, parent: str | None = None) -> dict[str, Any]:
    told = {"hookEventName": name, "agentId": agent, "taskId": "t", "parentAgentId": parent}
    return {"ts": "2026-01-01T00:00:00Z", "type": "hook_event", **told}


def test_clines_events_belong_to_the_agent_of_the_hooks_around_them(tmp_path: Path) -> None:
    spawn = {"type": "content_start", "contentType": "tool", "toolName": "spawn_agent", "toolCallId": "c", "input": {}}
    used = {"type": "usage", "inputTokens": 10, "outputTokens": 3, "cacheReadTokens": 4, "totalInputTokens": 10}
    end = {"type": "content_end", "contentType": "tool", "toolName": "spawn_agent", "toolCallId": "c", "error": "no"}
    events = printed(
        tmp_path,
        hook("agent_start", "a"),
        cline(spawn),
        hook("agent_start", "b", "a"),
        cline(used),
        hook("agent_end", "b", "a"),
        cline(used),
        cline(end),
    )
    assert [event.stream for event in events if isinstance(event, TokensUsed)] == ["b", "main"]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert isinstance(returned.result.outcomes[0], Failure)


def test_continue_prints_its_last_words(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text('{"response": "Done.", "status": "success"}')
    assert recognise(path)[0].name == "continue"
    assert [type(event) for event in read(path)][:2] == [SessionStarted, ModelSaid]


@pytest.mark.parametrize("end", range(1, len(GEMINI)))
def test_a_stream_that_breaks_off_is_read_up_to_there(tmp_path: Path, end: int) -> None:
    events, whole = printed(tmp_path, *GEMINI[:end]), printed(tmp_path, *GEMINI)
    kinds = {type(event) for event in events}
    assert kinds <= {type(event) for event in whole}


@pytest.mark.parametrize(
    "odd",
    [{}, {"uuid": 7}, {"message": {"content": 3}}, {"message": "said"}, {"isMeta": "yes", "unknown": [1]}],
)
def test_a_record_is_fitted_as_a_whole_as_it_is_field_by_field(odd: dict[str, Any]) -> None:
    value = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Go."}, **odd}
    assert fitted(value, Record) == _fitted_in_part(value, Record)


BLOCKS = st.sampled_from(
    [
        {"type": "text", "text": "Well."},
        {"type": "text", "text": 7},
        {"type": "thinking", "thinking": "Hm."},
        {"type": "tool_use", "id": "c-1", "name": "Task", "input": {"prompt": "Look."}},
        {"type": "tool_use", "id": "c-2", "name": "Read", "input": {"file_path": "/p/a"}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "c-3"},
        {"type": "tool_result", "tool_use_id": "c-2", "content": "     1\tone", "is_error": False},
        {"type": "tool_result", "tool_use_id": "c-1", "content": [{"type": "text", "text": "Done."}]},
        {"type": "server_tool_use", "id": "h-1", "name": "web_search", "input": {"query": "q"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}, "further": 1},
        "a bare text",
    ]
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["m-1", "m-2", 7]),
        "model": st.sampled_from(["claude", "<synthetic>"]),
        "content": st.lists(BLOCKS, max_size=3) | st.sampled_from(["Go.", None]),
        "stop_reason": st.sampled_from(["end_turn", None]),
        "usage": st.sampled_from([{"input_tokens": 3, "output_tokens": 5}, None, "odd"]),
    },
)
PRINTED = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["assistant", "user", "system", "result", "stream_event", "odd"]),
        "uuid": st.text("ab"),
        "session_id": st.sampled_from(["s-1", "s-2", None]),
    },
    optional={
        "sessionId": st.just("s-3"),
        "message": MESSAGES | st.just("Go."),
        "subtype": st.sampled_from(["init", "task_started", "compact_boundary"]),
        "timestamp": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "soon"]),
        "parent_tool_use_id": st.sampled_from(["c-1", None, 7]),
        "agent_id": st.sampled_from(["a-1", None]),
        "request_id": st.sampled_from(["r-1", 7]),
        "claude_code_version": st.just("2.1.300"),
        "version": st.just("2.0"),
        "isSynthetic": st.sampled_from([True, "yes"]),
        "isMeta": st.just(True),
        "tool_use_result": st.sampled_from([{"stdout": "one"}, "Error: no", None]),
        "tool_result_meta": st.sampled_from(
            [[{"permission_decision": "deny", "non_execution_kind": "user", "odd": 1}], [{}, {}], {}, ["x"]]
        ),
        "modelUsage": st.just({"claude": {"inputTokens": 7, "outputTokens": 9}}),
    },
)


@examples(200)
@given(st.lists(PRINTED, max_size=6))
def test_what_claude_prints_is_read_the_same_line_by_line_and_as_any_json(printed: list[dict[str, Any]]) -> None:
    """A name of a log, which says nothing, has a line read as any JSON; the others are as long without it."""
    begin = {"type": "system", "subtype": "init", "session_id": "s-1", "uuid": "p", "claude_code_version": "2.1.300"}
    given = [json.dumps(one).encode()[1:] for one in [begin, *printed]]
    mark = b'"requestId":null,'
    as_usual = [b"{" + b" " * len(mark) + one for one in given]
    as_json = [b"{" + mark + one for one in given]
    usual, any_json = (_claude_events(b"\n".join(some)) for some in (as_usual, as_json))
    assert usual == any_json


def _claude_events(data: bytes) -> list[AnyEvent]:
    reader = FORMATS["claude_code"].reader(Path("s-1.jsonl"))
    return reader.feed(data + b"\n") + reader.close()
