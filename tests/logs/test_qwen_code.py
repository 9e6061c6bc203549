"""Qwen Code's logs: a tree of records, its sub-agents, and the documents of its first versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, Found, Index, Places, read, recognise, sessions_of
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CallMcpTool,
    ClientNoted,
    CommandInvoked,
    CommandOutcome,
    ContextCompacted,
    DoneOutcome,
    ErrorOccurred,
    Failure,
    HistoryRewound,
    Interrupted,
    ModelChanged,
    ModelSaid,
    ReadFile,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unrecognised,
    Usage,
    UserSaid,
)
from tests.logs.samples import QWEN, QWEN_AGENTS_OWN, QWEN_DOCUMENT, lines

ENVELOPE = {"sessionId": "q-1", "timestamp": "2026-01-01T00:00:01.000Z", "version": "0.7.1", "cwd": "/p"}


def events_of(folder: Path, data: bytes, name: str = "q-1.jsonl") -> list[AnyEvent]:
    path = folder / name
    path.write_bytes(data)
    return list(read(path, "qwen_code"))


def record(kind: str, uuid: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"message": {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}} if parts else {}
    return {"type": kind, "uuid": uuid, "parentUuid": None, **ENVELOPE, **message, **more}


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": id, "name": name, "args": arguments}}


def answer(id: str, name: str, **response: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": id, "name": name, "response": response}}


def telemetry(uuid: str, name: str, **event: Any) -> dict[str, Any]:
    told = {"event.name": f"qwen-code.{name}", **event}
    return record("system", uuid, subtype="ui_telemetry", systemPayload={"uiEvent": told})


def system(uuid: str, subtype: str, **payload: Any) -> dict[str, Any]:
    return record("system", uuid, subtype=subtype, systemPayload=payload)


def test_a_command_that_failed_is_a_command_with_its_exit_code(tmp_path: Path) -> None:
    returned = [event for event in events_of(tmp_path, QWEN) if isinstance(event, ToolReturned)]
    assert returned[0].result.outcomes == (CommandOutcome(exit_code=1, output=""),)


def test_each_request_counts_once(tmp_path: Path) -> None:
    used = [event.usage for event in events_of(tmp_path, QWEN) if isinstance(event, TokensUsed)]
    assert [usage.total for usage in used] == [210, 99, 310]
    assert used[0] == Usage(input_tokens=150, cached_read_tokens=50, output_tokens=10, reasoning_tokens=4)
    own = [event.usage.total for event in events_of(tmp_path, QWEN_AGENTS_OWN) if isinstance(event, TokensUsed)]
    assert own == [77]


def test_an_agent_hangs_under_the_call_that_spawned_it(tmp_path: Path) -> None:
    events = events_of(tmp_path, QWEN)
    (started,) = [event for event in events if isinstance(event, AgentStarted)]
    assert (started.agent, started.call_id) == ("Explore-call_00000002", "call_00000002")
    (ended,) = [event for event in events if isinstance(event, AgentEnded)]
    assert (ended.agent, ended.call_id, ended.status, ended.text) == (
        "Explore-call_00000002",
        "call_00000002",
        "completed",
        "Seen.",
    )
    own = events_of(tmp_path, QWEN_AGENTS_OWN)
    assert {(event.session, event.stream) for event in own} == {("q-1", "Explore-call_00000002")}
    begun = own[0]
    assert isinstance(begun, SessionStarted)
    assert (begun.parent_session, begun.parent_call) == ("q-1", "call_00000002")
    assert [event.by for event in own if isinstance(event, UserSaid)] == ["agent"]


def test_an_agent_without_a_file_is_told_by_the_telemetry(tmp_path: Path) -> None:
    of_agent = {"prompt_id": "q-1#general-purpose-2w89f4#0"}
    data = lines(
        record("assistant", "u1", call("c1", "task", description="d", prompt="p", subagent_type="general-purpose")),
        telemetry("u2", "api_response", input_token_count=5, output_token_count=1, total_token_count=6, **of_agent),
        telemetry(
            "u3",
            "tool_call",
            function_name="read_file",
            function_args={"absolute_path": "/a"},
            success=True,
            **of_agent,
        ),
        telemetry("u4", "tool_call", function_name="read_file", function_args={}, error="No.", **of_agent),
        record(
            "tool_result",
            "u5",
            answer("c1", "task", output="sub done"),
            toolCallResult={"status": "success", "resultDisplay": {"status": "completed", "result": "sub done"}},
        ),
    )
    events = events_of(tmp_path, data)
    (started,) = [event for event in events if isinstance(event, AgentStarted)]
    assert (started.agent, started.call_id, started.prompt) == ("general-purpose-2w89f4", "c1", "p")
    inner = [event for event in events if event.stream == started.agent]
    assert [type(event) for event in inner] == [TokensUsed, ToolCalled, ToolReturned, ToolCalled, ToolReturned]
    called, unseen, refused = inner[1], inner[2], inner[4]
    assert isinstance(called, ToolCalled)
    assert called.call.operations == (ReadFile("/a"),)
    assert isinstance(unseen, ToolReturned)
    assert unseen.result.outcomes == (DoneOutcome(),), "it did well, and what it gave is not in the log"
    assert isinstance(refused, ToolReturned)
    assert isinstance(refused.result.outcomes[0], Failure)
    assert [event.status for event in events if isinstance(event, AgentEnded)] == ["completed"]


def test_two_agents_of_one_kind_are_not_guessed_apart(tmp_path: Path) -> None:
    spawn = {"description": "d", "prompt": "p", "subagent_type": "general-purpose"}
    data = lines(
        record("assistant", "u1", call("c1", "task", **spawn), call("c2", "task", **spawn)),
        telemetry("u2", "tool_call", function_name="glob", prompt_id="q-1#general-purpose-2w89f4#0"),
    )
    assert [event.call_id for event in events_of(tmp_path, data) if isinstance(event, AgentStarted)] == [None]


def test_a_tool_called_by_its_bare_name_is_its_servers_when_the_telemetry_says_so(tmp_path: Path) -> None:
    data = lines(
        record("assistant", "u1", call("c1", "echo", text="hi"), call("c2", "nothing")),
        telemetry("u2", "tool_call", function_name="echo", mcp_server_name="toy", duration_ms=40, call_id="c1"),
        record("tool_result", "u3", answer("c1", "echo", output="hi")),
        record("tool_result", "u4", answer("c2", "nothing", error='Tool "nothing" not found')),
    )
    events = events_of(tmp_path, data)
    calls = {event.call_id: event.call.operations for event in events if isinstance(event, ToolCalled)}
    assert calls == {"c1": (CallMcpTool("toy", "echo", {"text": "hi"}),), "c2": (Unrecognised("nothing", {}),)}
    assert [event.id for event in events if isinstance(event, ToolCalled)] == ["q-1:u1:2", "q-1:u1:3"]
    assert [event.result.duration for event in events if isinstance(event, ToolReturned)] == [0.04, None]


def test_calls_stand_in_the_order_and_the_step_of_their_reply_whoever_knows_their_tools(tmp_path: Path) -> None:
    tokens = {"promptTokenCount": 5, "candidatesTokenCount": 1, "totalTokenCount": 6}
    data = lines(
        record("user", "u0", {"text": "Go."}),
        record("assistant", "u1", call("c1", "nothing"), call("c2", "glob", pattern="*"), usageMetadata=tokens),
        record("tool_result", "u2", answer("c2", "glob", output="none")),
        record("tool_result", "u3", answer("c1", "nothing", error='Tool "nothing" not found')),
        record("assistant", "u4", call("c3", "glob", pattern="a"), usageMetadata=tokens),
    )
    (session,) = sessions_of(events_of(tmp_path, data))
    steps = session.turns[0].steps
    assert [[use.called.call.id for use in step.tools] for step in steps] == [["c1", "c2"], ["c3"]]
    assert [step.usage.total for step in steps] == [6, 6]


def test_what_an_agents_reply_used_stands_with_its_calls(tmp_path: Path) -> None:
    def told(kind: str, uuid: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        message = {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}
        return {**record(kind, uuid, agentId="Explore-c9", agentName="Explore", **more), "message": message}

    def tokens(count: int) -> dict[str, int]:
        return {"promptTokenCount": count, "candidatesTokenCount": 1, "totalTokenCount": count + 1}

    data = lines(
        told("user", "a0", {"text": "Look."}),
        told("assistant", "a1", usageMetadata=tokens(5)),
        told("assistant", "a2", call("c1", "glob", pattern="*")),
        told("tool_result", "a3", answer("c1", "glob", output="none")),
        told("assistant", "a4", {"text": "Nothing."}, usageMetadata=tokens(7)),
    )
    events = events_of(tmp_path, data, "agent-Explore-c9.jsonl")
    (session,) = sessions_of(events)
    steps = session.turns[0].steps
    assert [([use.called.call.id for use in step.tools], step.usage.total) for step in steps] == [(["c1"], 6), ([], 8)]
    assert len({event.source.offset for event in events if event.source is not None}) == 5


def test_a_call_without_any_result_is_still_told(tmp_path: Path) -> None:
    events = events_of(tmp_path, lines(record("assistant", "u1", call("c1", "nothing"))))
    assert [type(event) for event in events] == [SessionStarted, ToolCalled]


def test_a_call_the_user_stopped_is_an_interrupt(tmp_path: Path) -> None:
    text = "[Operation Cancelled] Reason: User intentionally cancelled."
    data = lines(
        record("assistant", "u1", call("c1", "run_shell_command", command="sleep 9")),
        record(
            "tool_result", "u2", answer("c1", "run_shell_command", error=text), toolCallResult={"status": "cancelled"}
        ),
    )
    events = events_of(tmp_path, data)
    assert [event.result.outcomes for event in events if isinstance(event, ToolReturned)] == [
        (Failure("cancelled", text),)
    ]
    assert [event.text for event in events if isinstance(event, Interrupted)] == [text]


def test_a_rewind_names_the_last_event_that_still_counts(tmp_path: Path) -> None:
    assert [event.to for event in events_of(tmp_path, QWEN) if isinstance(event, HistoryRewound)] == ["q-1:u9:2"]


def test_records_of_the_client_have_their_own_events(tmp_path: Path) -> None:
    info = {"originalTokenCount": 90, "newTokenCount": 40, "compressionStatus": 1, "triggerReason": "token_limit"}
    data = lines(
        system(
            "u1", "chat_compression", info=info, compressedHistory=[{"role": "user", "parts": [{"text": "So far."}]}]
        ),
        system("u2", "chat_compression", info={**info, "compressionStatus": 2}),
        system("u3", "session_model", modelId="qwen3-coder", authType="openai"),
        system("u4", "parent_session", parentSessionId="q-0"),
        system("u5", "slash_command", phase="invocation", rawCommand="/about"),
        system("u6", "custom_title", customTitle="T"),
        telemetry("u7", "api_error", error_message="overloaded", status_code=503),
        system("u8", "a_new_kind"),
    )
    events = events_of(tmp_path, data)[1:]
    assert [type(event) for event in events] == [
        ContextCompacted,
        ClientNoted,
        ModelChanged,
        SessionStarted,
        CommandInvoked,
        ClientNoted,
        ErrorOccurred,
        UnknownRecord,
    ]
    compacted, error = events[0], events[6]
    assert isinstance(compacted, ContextCompacted)
    assert (compacted.summary, compacted.trigger) == ("So far.", "auto")
    assert (compacted.tokens_before, compacted.tokens_after) == (90, 40)
    assert isinstance(error, ErrorOccurred)
    assert (error.message, error.status) == ("overloaded", 503)


def test_the_tokens_of_a_copied_record_were_used_in_the_session_it_was_copied_from(tmp_path: Path) -> None:
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    copied = record(
        "assistant", "u1", {"text": "Hi."}, usageMetadata=usage, forkedFrom={"sessionId": "q-0", "messageUuid": "u1"}
    )
    events = events_of(tmp_path, lines(copied))
    begun = events[0]
    assert isinstance(begun, SessionStarted)
    assert begun.forked_from == "q-0"
    assert [type(event) for event in events[1:]] == [ModelSaid, ClientNoted]


def test_words_of_the_client_are_not_the_users(tmp_path: Path) -> None:
    data = lines(
        record("user", "u1", {"text": "a"}),
        record("user", "u2", {"text": "b"}, subtype="mid_turn_user_message", provenance="real_user"),
        record("user", "u3", {"text": "c"}, subtype="cron", provenance="system"),
    )
    said = [(event.text, event.by) for event in events_of(tmp_path, data) if isinstance(event, UserSaid)]
    assert said == [("a", "user"), ("b", "user"), ("c", "client")]


def test_the_document_of_the_first_versions_is_read(tmp_path: Path) -> None:
    events = events_of(tmp_path, QWEN_DOCUMENT, "session-q-0.json")
    assert [type(event) for event in events] == [SessionStarted, UserSaid, ModelSaid, TokensUsed, ClientNoted]
    assert {event.client for event in events} == {"qwen_code"}


@pytest.mark.parametrize(
    "data",
    [
        lines({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "x"}}),
        lines({"type": ["user"], "uuid": "u", "sessionId": "s"}),
        lines({"sessionId": "s", "messages": [{"type": "gemini"}], "projectHash": "h"}),
        lines({"version": 1, "sessionId": "s", "models": {}}),
        b"",
    ],
)
def test_other_files_are_not_taken_for_sessions(tmp_path: Path, data: bytes) -> None:
    from dragoman.logs.base.format import sample_of

    path = tmp_path / "x.json"
    path.write_bytes(data)
    assert FORMATS["qwen_code"].recognise(sample_of(path)) == 0.0


def test_sessions_are_found_where_the_client_keeps_them(tmp_path: Path) -> None:
    format = FORMATS["qwen_code"]
    home = tmp_path / ".qwen"
    assert list(format.homes(Places(tmp_path))) == [home]
    elsewhere = Places(tmp_path, {"QWEN_HOME": "/h", "QWEN_RUNTIME_DIR": "/r"})
    assert list(format.homes(elsewhere)) == [Path("/r"), Path("/h"), home]
    kept = ["projects/p/chats/q-1.jsonl", "projects/p/subagents/q-1/agent-a.jsonl", "tmp/h/chats/session-1.json"]
    for name in (*kept, "projects/p/subagents/q-1/agent-a.meta.json", "usage_record.jsonl", "todos/q-1.json"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(QWEN_DOCUMENT if name.startswith("tmp") else QWEN)
    assert [str(path.relative_to(home)) for path in format.files(home)] == kept
    assert [recognise(path)[0].name for path in format.files(home)] == ["qwen_code"] * 3


def test_a_call_the_user_did_not_allow_is_a_denial_and_no_interrupt(tmp_path: Path) -> None:
    words = "[Operation Cancelled] Reason: User did not allow tool call"
    refused = record("tool_result", "u2", answer("c1", "run_shell_command", error=words))
    refused["toolCallResult"] = {"callId": "c1", "status": "cancelled"}
    events = events_of(
        tmp_path, lines(record("assistant", "u1", call("c1", "run_shell_command", command="ls")), refused)
    )
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (Failure("denied", words),)
    assert not any(isinstance(event, Interrupted) for event in events)


def test_calls_that_are_numbered_anew_are_different_calls(tmp_path: Path) -> None:
    replies = []
    for number, pattern in enumerate(("a", "b")):
        replies.append(record("assistant", f"u{number}", call("call_0", "glob", pattern=pattern)))
        replies.append(record("tool_result", f"v{number}", answer("call_0", "glob", output=f"{pattern}.py")))
    events = events_of(tmp_path, lines(record("user", "u", {"text": "Go."}), *replies, replies[2]))
    (session,) = sessions_of(events)
    uses = [use for step in session.turns[0].steps for use in step.tools]
    assert [use.called.call.native.arguments for use in uses] == [{"pattern": "a"}, {"pattern": "b"}]
    told = [use.returned.result.native.content for use in uses if use.returned and use.returned.result.native]
    assert told == ["a.py", "b.py"]


def test_what_waited_while_a_log_grew_is_told_as_if_it_had_been_whole(tmp_path: Path) -> None:
    listed = "Directory listing for /p:\n[DIR] docs\na.py"
    begun = lines(
        record("user", "u0", {"text": "Go \ud800."}),
        record("assistant", "u1", call("c1", "nothing"), call("c2", "list_directory", path="/p")),
        record("tool_result", "u2", answer("c2", "list_directory", output=listed)),
    )
    ended = lines(record("tool_result", "u3", answer("c1", "nothing", error='Tool "nothing" not found')))
    path = tmp_path / "q-1.jsonl"
    path.write_bytes(begun)
    with Index(tmp_path / "index.sqlite") as grown, Index.in_memory() as fresh:
        grown.update([Found(path, "qwen_code")])
        with path.open("ab") as file:
            file.write(ended)
        grown.update([Found(path, "qwen_code")])
        fresh.update([Found(path, "qwen_code")])
        for table in ("calls", "outcomes", "steps"):
            assert list(grown.rows(table)) == list(fresh.rows(table))
