"""Gemini CLI's logs: documents and lines that add up to one, read as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, Places, read, recognise
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CallMcpTool,
    ClientNoted,
    CommandOutcome,
    ContextCompacted,
    ErrorOccurred,
    Failure,
    HistoryRewound,
    Media,
    ModelSaid,
    ModelThought,
    RunCommand,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    Unreadable,
    Usage,
    UserSaid,
)
from tests.logs.samples import (
    GEMINI,
    GEMINI_AGENT,
    GEMINI_AGENTS_OWN,
    GEMINI_DOCUMENT,
    GEMINI_HEADER,
    GEMINI_SHELL,
    lines,
)


def events_of(folder: Path, data: bytes, name: str = "chats/session-g.jsonl") -> list[AnyEvent]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return list(read(path, "gemini_cli"))


def message(id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-01-01T00:00:02.000Z", "type": kind, "content": content, **more}


def heard(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [
        (event.by if isinstance(event, UserSaid) else "model", event.text)
        for event in events
        if isinstance(event, UserSaid | ModelSaid)
    ]


def test_a_message_written_again_tells_only_what_is_new(tmp_path: Path) -> None:
    events = events_of(tmp_path, GEMINI)
    assert heard(events) == [
        ("client", "<session_context>here</session_context>"),
        ("user", "Mend it."),
        ("model", "I look."),
        ("model", "Done."),
        ("user", "Not so."),
    ]
    assert [event.text for event in events if isinstance(event, ModelThought)] == ["**Plan** look first"]
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [event.call_id for event in called] == ["run_1", "agent_1"]
    assert called[0].call.operations == (RunCommand("false"),)
    returned = [event for event in events if isinstance(event, ToolReturned)]
    assert [event.call_id for event in returned] == ["run_1", "agent_1"]
    assert returned[0].result.outcomes == (CommandOutcome(exit_code=1, output=""),)


def test_tokens_are_told_once_and_add_up_to_the_total(tmp_path: Path) -> None:
    used = [event.usage for event in events_of(tmp_path, GEMINI) if isinstance(event, TokensUsed)]
    assert used == [
        Usage(input_tokens=60, cached_read_tokens=40, output_tokens=8, reasoning_tokens=3, tool_tokens=0),
        Usage(input_tokens=160, cached_read_tokens=40, output_tokens=8, reasoning_tokens=3, tool_tokens=0),
    ]
    assert [usage.total for usage in used] == [108, 208]


def test_tokens_that_come_later_are_told_when_they_come(tmp_path: Path) -> None:
    tokens = {"input": 5, "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": 7}
    first = message("m", "gemini", "Hi.", tokens=None)
    events = events_of(
        tmp_path, lines(GEMINI_HEADER, first, {**first, "tokens": tokens}, {**first, "tokens": {**tokens, "output": 3}})
    )
    assert [event.usage.total for event in events if isinstance(event, TokensUsed)] == [7]
    assert [event.name for event in events if isinstance(event, ClientNoted)] == ["tokens/changed"]


def test_an_agent_hangs_under_the_call_that_spawned_it(tmp_path: Path) -> None:
    events = events_of(tmp_path, GEMINI)
    (started,) = [event for event in events if isinstance(event, AgentStarted)]
    assert (started.agent, started.call_id, started.name, started.prompt) == ("a-1", "agent_1", "generalist", "Look.")
    (ended,) = [event for event in events if isinstance(event, AgentEnded)]
    assert (ended.agent, ended.status, ended.text) == ("a-1", "completed", "Seen.")
    own = events_of(tmp_path, GEMINI_AGENTS_OWN, "chats/g-1/a-1.jsonl")
    assert {(event.session, event.stream) for event in own} == {("g-1", "a-1")}
    begun = own[0]
    assert isinstance(begun, SessionStarted)
    assert (begun.parent_session, begun.cwd) == ("g-1", "/p")
    assert heard(own) == [("agent", "Look.")]


def test_a_rewind_names_the_last_event_that_still_counts(tmp_path: Path) -> None:
    (rewound,) = [event for event in events_of(tmp_path, GEMINI) if isinstance(event, HistoryRewound)]
    assert rewound.to == "g-1:m4:2"


def test_a_rewind_to_a_message_that_is_not_there_takes_all(tmp_path: Path) -> None:
    events = events_of(tmp_path, lines(GEMINI_HEADER, message("m1", "user", "Hi."), {"$rewindTo": "zz"}))
    assert [event.to for event in events if isinstance(event, HistoryRewound)] == [None]


def test_a_resumed_session_says_nothing_twice(tmp_path: Path) -> None:
    called = message(
        "m2",
        "gemini",
        [{"text": "thinking", "thought": True}, {"functionCall": {"id": "run_1", "name": "run_shell_command"}}],
        thoughts=[{"subject": "thinking"}],
        toolCalls=[GEMINI_SHELL],
    )
    first = message("m1", "user", [{"text": "Hi."}])
    masked = message("m1", "user", [{"text": "[shortened]"}])
    again = {"$set": {"messages": [masked, called, message("m2_response", "user", GEMINI_SHELL["result"])]}}
    events = events_of(tmp_path, lines(GEMINI_HEADER, first, called, {"$set": {"sessionId": "g-1"}}, again))
    assert [event.resumed for event in events if isinstance(event, SessionStarted)] == [False, True]
    assert heard(events) == [("user", "Hi.")]
    assert [type(event) for event in events[2:5]] == [ModelThought, ToolCalled, ToolReturned]
    assert [type(event) for event in events[5:]] == [SessionStarted, ClientNoted]


def test_a_summary_in_place_of_messages_is_a_compaction(tmp_path: Path) -> None:
    summary = "<state_snapshot>We said hi.</state_snapshot>"
    shorter = [
        message("s1", "user", [{"text": summary}]),
        message("s2", "gemini", [{"text": "Got it."}]),
        message("s3", "user", [{"text": "Hi."}]),
    ]
    events = events_of(
        tmp_path, lines(GEMINI_HEADER, message("m1", "user", [{"text": "Hi."}]), {"$set": {"messages": shorter}})
    )
    assert heard(events) == [("user", "Hi.")]
    assert [event.summary for event in events if isinstance(event, ContextCompacted)] == [summary]


def test_a_shorter_list_is_a_rewind(tmp_path: Path) -> None:
    first, second = message("m1", "user", "Hi."), message("m2", "gemini", "Yes?")
    events = events_of(tmp_path, lines(GEMINI_HEADER, first, second, {"$set": {"messages": [first]}}))
    assert [event.to for event in events if isinstance(event, HistoryRewound)] == ["g-1:m1:1"]


def test_messages_of_a_document_point_at_their_own_bytes(tmp_path: Path) -> None:
    events = events_of(tmp_path, GEMINI_DOCUMENT, "chats/session-g-2.json")
    wanted = json.loads(GEMINI_DOCUMENT)["messages"]
    ranges = {(e.source.offset, e.source.length) for e in events if e.source and isinstance(e, ModelSaid | UserSaid)}
    pieces = [json.loads(GEMINI_DOCUMENT[offset : offset + length]) for offset, length in sorted(ranges)]
    assert pieces == wanted
    assert isinstance(events[0], SessionStarted)
    assert events[0].metadata == {"projectHash": "ab", "kind": "main", "summary": "Mended."}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_that_breaks_off_costs_only_its_last_message(tmp_path: Path, indent: int | None) -> None:
    whole = json.dumps(
        {**GEMINI_HEADER, "messages": [message("m1", "user", "Hi."), message("m2", "user", "Ho.")]}, indent=indent
    ).encode()
    cut = whole.index(b"Ho.")
    events = events_of(tmp_path, whole[:cut], "chats/session-g.json")
    assert heard(events) == [("user", "Hi.")]
    last = events[-1]
    assert isinstance(last, Unreadable)
    assert last.source is not None
    assert last.source.offset + last.source.length == cut


def test_a_damaged_first_line_costs_nothing_else(tmp_path: Path) -> None:
    events = events_of(tmp_path, b'{"sessionId":"g-1",\n' + lines(message("m1", "user", "Hi.")))
    assert [type(event) for event in events] == [Unreadable, UserSaid]


def test_a_document_of_another_kind_is_one_unreadable_piece(tmp_path: Path) -> None:
    events = events_of(tmp_path, json.dumps({"a": [1, 2]}, indent=1).encode(), "chats/x.json")
    assert [type(event) for event in events] == [Unreadable]


def test_a_call_may_be_refused_cancelled_or_hold_a_picture(tmp_path: Path) -> None:
    def call(id: str, status: str, *result: Any, **more: Any) -> dict[str, Any]:
        return {"id": id, "name": "read_file", "args": {"file_path": "a"}, "status": status, "result": [*result]} | more

    def response(**what: Any) -> dict[str, Any]:
        return {"functionResponse": {"name": "read_file", "response": what}}

    picture = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    calls = [
        call("1", "error", response(error='Tool "read_file" not found.')),
        call("2", "cancelled", response(error="[Operation Cancelled] Reason: User cancelled the operation.")),
        call("3", "success", response(output="Binary content provided (1 item(s))."), picture),
        call("4", "executing") | {"result": None},
        call("5", "success", response(output="hi"), name="echo", displayName="echo (toy MCP Server)", args={"a": 1}),
        call("6", "success", response(output="hi"), args="not an object"),
    ]
    events = events_of(tmp_path, lines(GEMINI_HEADER, message("m", "gemini", "", toolCalls=calls)))
    given = {str(event.call_id): event.result for event in events if isinstance(event, ToolReturned)}
    assert sorted(given) == ["1", "2", "3", "5", "6"]
    kinds = [outcome.kind for id in "12" for outcome in given[id].outcomes if isinstance(outcome, Failure)]
    assert kinds == ["unknown_tool", "cancelled"]
    shown = given["3"].native
    assert shown is not None
    assert shown.content == ("Binary content provided (1 item(s)).", Media("image/png", data="QUJD"))
    called = {event.call_id: event.call for event in events if isinstance(event, ToolCalled)}
    assert called["5"].operations == (CallMcpTool("toy", "echo", {"a": 1}),)
    assert called["6"].native.arguments == "not an object"


def test_a_result_without_its_call_record_is_read_from_what_the_model_was_sent(tmp_path: Path) -> None:
    asked = message("m1", "gemini", [{"functionCall": {"id": "run_1", "name": "run_shell_command", "args": {}}}])
    events = events_of(tmp_path, lines(GEMINI_HEADER, asked, message("m2", "user", GEMINI_SHELL["result"])))
    assert [type(event) for event in events] == [SessionStarted, ToolCalled, ToolReturned]


def test_what_was_typed_is_the_users_and_what_was_put_in_the_clients(tmp_path: Path) -> None:
    said = message("m", "user", [{"text": "See @a"}, {"text": "--- a ---"}], displayContent=[{"text": "See @a"}])
    assert heard(events_of(tmp_path, lines(GEMINI_HEADER, said))) == [("user", "See @a"), ("client", "--- a ---")]


def test_an_error_of_the_api_is_one(tmp_path: Path) -> None:
    events = events_of(tmp_path, lines(GEMINI_HEADER, message("m", "error", "[API Error: no]")))
    assert [event.message for event in events if isinstance(event, ErrorOccurred)] == ["[API Error: no]"]


@pytest.mark.parametrize(
    "data",
    [
        lines({"sessionId": "s", "messages": [{"role": "user", "content": "x"}]}),
        lines({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "x"}}),
        lines([{"role": "user", "parts": [{"text": "x"}]}]),
        lines({"type": "init", "timestamp": "t", "session_id": "s", "model": "gemini-2.5-pro"}),
        lines({"messages": [{"type": ["user"]}], "sessionId": "s"}),
        b"",
    ],
)
def test_other_files_are_not_taken_for_sessions(tmp_path: Path, data: bytes) -> None:
    from dragoman.logs.format import sample_of

    path = tmp_path / "x.json"
    path.write_bytes(data)
    assert FORMATS["gemini_cli"].recognise(sample_of(path)) == 0.0


def test_sessions_are_found_where_the_client_keeps_them(tmp_path: Path) -> None:
    format = FORMATS["gemini_cli"]
    (home,) = format.homes(Places(tmp_path))
    assert home == tmp_path / ".gemini" / "tmp"
    assert list(format.homes(Places(tmp_path, {"GEMINI_CLI_HOME": "/h"}))) == [Path("/h/.gemini/tmp")]
    for name in ("p/chats/session-1.json", "p/chats/session-2.jsonl", "p/chats/s/a.jsonl", "p/logs.json"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(GEMINI)
    assert [path.name for path in format.files(home)] == ["a.jsonl", "session-1.json", "session-2.jsonl"]
    assert recognise(home / "p/chats/session-1.json")[0] is format


def test_the_spawning_call_is_kept_as_it_was_logged(tmp_path: Path) -> None:
    returned = [event for event in events_of(tmp_path, GEMINI) if isinstance(event, ToolReturned)]
    native = returned[1].result.native
    assert native is not None
    assert native.item == GEMINI_AGENT
