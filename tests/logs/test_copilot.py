"""Copilot's log: what each kind of record becomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.logs import FORMATS, Places, read, sessions_of
from dragoman.logs.base.format import EitherReader, LinesReader
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
    FileOutcome,
    FinishReason,
    HistoryRewound,
    Interrupted,
    ModelFinished,
    ModelSaid,
    ModelThought,
    RunCommand,
    SessionStarted,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    Unrecognised,
    Usage,
    UserSaid,
    operations as op,
)
from tests.logs.samples import COPILOT, COPILOT_DOCUMENT, copilot, lines


def events(tmp_path: Path, *records: dict[str, Any]) -> list[AnyEvent]:
    path = tmp_path / "p-1" / "events.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lines(*records) if records else COPILOT)
    return list(read(path, "copilot"))


def called(id: str, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    request = {"toolCallId": id, "name": name, "arguments": arguments, "type": "function", **more}
    return copilot("assistant.message", 1, model="m-1", content="", toolRequests=[request])


def test_a_call_that_is_written_twice_is_told_once(tmp_path: Path) -> None:
    told = [event for event in events(tmp_path) if isinstance(event, ToolCalled)]
    assert [(event.call_id, event.call.native.name, event.stream) for event in told] == [
        ("c-1", "bash", "main"),
        ("c-2", "task", "main"),
    ]


def test_a_call_that_stands_only_where_it_starts_is_told_there(tmp_path: Path) -> None:
    start = copilot("tool.execution_start", 1, toolCallId="c-9", toolName="bash", arguments={"command": "ls"})
    (event,) = events(tmp_path, start)
    assert isinstance(event, ToolCalled)
    assert event.call.native.arguments == {"command": "ls"}


def test_a_failed_command_has_its_exit_code_and_how_long_it_took(tmp_path: Path) -> None:
    returned = {event.call_id: event.result for event in events(tmp_path) if isinstance(event, ToolReturned)}
    (outcome,) = returned["c-1"].outcomes
    assert isinstance(outcome, CommandOutcome)
    assert (outcome.exit_code, returned["c-1"].duration) == (1, 8.0)


def test_an_agent_hangs_under_the_call_that_spawned_it(tmp_path: Path) -> None:
    told = events(tmp_path)
    (started,) = [event for event in told if isinstance(event, AgentStarted)]
    (ended,) = [event for event in told if isinstance(event, AgentEnded)]
    assert (started.agent, started.call_id, started.stream, started.prompt) == (
        "agent-1",
        "c-2",
        "main",
        "Look around.",
    )
    assert (ended.agent, ended.call_id, ended.status) == ("agent-1", "c-2", "completed")
    (session,) = sessions_of(told)
    (child,) = session.children
    assert (child.stream, child.parent_call, child.turns[0].steps[0].said[0].text) == ("agent-1", "c-2", "Nothing.")


def test_an_agent_of_an_agent_hangs_under_that_one(tmp_path: Path) -> None:
    def spawn(number: int, id: str, agent: str | None) -> dict[str, Any]:
        request = {"toolCallId": id, "name": "task", "arguments": {"prompt": id}, "type": "function"}
        return copilot("assistant.message", number, agent, model="m-1", content="", toolRequests=[request])

    told = events(
        tmp_path,
        copilot("user.message", 0, content="Go."),
        spawn(1, "c-1", None),
        copilot("subagent.started", 2, "agent-1", toolCallId="c-1", agentName="a"),
        spawn(3, "c-2", "agent-1"),
        copilot("subagent.started", 4, "agent-2", toolCallId="c-2", agentName="b"),
        copilot("assistant.message", 5, "agent-2", model="m-1", content="Done."),
    )
    (session,) = sessions_of(told)
    (outer,) = session.children
    (inner,) = outer.children
    assert [(one.stream, one.parent_call) for one in (outer, inner)] == [("agent-1", "c-1"), ("agent-2", "c-2")]


def test_tokens_are_told_with_the_reply_they_are_of_and_add_up_to_the_totals(tmp_path: Path) -> None:
    told = events(tmp_path)
    used = [(event.stream, event.usage) for event in told if isinstance(event, TokensUsed)]
    assert used == [
        ("main", Usage(50, 50, 1, 5)),
        ("agent-1", Usage(15, 15, 1, 5)),
        ("main", Usage(100, 100, 1, 5)),
    ]
    (session,) = sessions_of(told)
    assert [step.usage.input_tokens for step in session.turns[0].steps] == [50, 100]
    assert [event.finish for event in told if isinstance(event, ModelFinished)] == [
        FinishReason.CALLS,
        FinishReason.STOP,
        FinishReason.STOP,
    ]


def test_what_the_totals_count_beyond_the_messages_is_told_at_the_end(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        copilot("assistant.message", 1, model="m-1", content="Hello.", outputTokens=7),
        copilot(
            "session.shutdown",
            2,
            shutdownType="routine",
            modelMetrics={"m-1": {"usage": {"inputTokens": 30, "outputTokens": 7, "cacheReadTokens": 20}}},
        ),
    )
    used = [(event.usage, event.earlier_output) for event in told if isinstance(event, TokensUsed)]
    assert used == [(Usage(output_tokens=7), None), (Usage(10, 20, output_tokens=0), 7)]


def test_who_said_it(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        copilot("user.message", 1, content="Hello."),
        copilot("user.message", 2, content="", transformedContent="<reminder/>", source="system"),
        copilot("user.message", 3, content="Go on.", source="agent-p-1"),
        copilot("user.message", 4, content="<skill-context/>", source="skill-x"),
        copilot("system.notification", 5, content="It is idle."),
    )
    assert [(event.text, event.by) for event in told if isinstance(event, UserSaid)] == [
        ("Hello.", "user"),
        ("<reminder/>", "client"),
        ("Go on.", "agent"),
        ("<skill-context/>", "client"),
        ("It is idle.", "client"),
    ]


def test_a_call_the_client_made_up_itself_is_the_clients(tmp_path: Path) -> None:
    request = {"toolCallId": "c-9", "name": "read_agent", "arguments": {"agent_id": "agent-1"}}
    (event,) = [
        event
        for event in events(tmp_path, copilot("assistant.message", 1, content="", toolRequests=[request]))
        if isinstance(event, ToolCalled)
    ]
    assert event.by == "client"


def test_a_server_is_known_by_what_stands_beside_the_name(tmp_path: Path) -> None:
    told = events(tmp_path, called("c-9", "seek", {"q": "x"}, mcpServerName="hub", mcpToolName="seek"))
    (event,) = [event for event in told if isinstance(event, ToolCalled)]
    assert event.call.operations == (CallMcpTool("hub", "seek", {"q": "x"}),)


def test_powershell_is_a_command_line_too(tmp_path: Path) -> None:
    told = events(tmp_path, called("c-9", "powershell", {"command": "Get-Item .", "description": "look"}))
    (event,) = [event for event in told if isinstance(event, ToolCalled)]
    assert event.call.operations == (RunCommand("Get-Item .", purpose="look", shell="powershell"),)


def test_a_denial_an_interrupt_an_error_and_a_summary_are_told_apart(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        called("c-9", "bash", {"command": "rm x", "description": "go"}),
        copilot("permission.completed", 2, toolCallId="c-9", result={"kind": "denied"}),
        copilot(
            "tool.execution_complete", 3, toolCallId="c-9", success=False, error={"message": "No.", "code": "denied"}
        ),
        copilot("abort", 4, reason="user initiated"),
        copilot("session.error", 5, errorType="query", message="It broke.", statusCode=500),
        copilot("session.compaction_complete", 6, success=True, summaryContent="So far.", preCompactionTokens=9),
    )
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (Failure("denied", "No."),)
    assert [event.text for event in told if isinstance(event, Interrupted)] == ["user initiated"]
    assert [(event.message, event.status, event.code) for event in told if isinstance(event, ErrorOccurred)] == [
        ("It broke.", 500, "query")
    ]
    assert [(event.summary, event.tokens_before) for event in told if isinstance(event, ContextCompacted)] == [
        ("So far.", 9)
    ]


def test_a_rewind_names_the_event_before_what_was_taken_back(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        copilot("user.message", 1, content="One."),
        copilot("user.message", 2, content="Two."),
        copilot("session.snapshot_rewind", 3, upToEventId="r-2", eventsRemoved=1),
    )
    assert isinstance(told[2], HistoryRewound)
    assert told[2].to == told[0].id


def test_a_thought_that_its_message_holds_is_told_once(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        copilot("assistant.message", 1, model="m-1", content="Yes.", reasoningText="hm"),
        copilot("assistant.reasoning", 2, reasoningId="x", content="hm"),
        copilot("assistant.reasoning", 3, reasoningId="y", content="ah"),
    )
    assert [event.text for event in told if isinstance(event, ModelThought)] == ["hm", "ah"]
    assert [event.text for event in told if isinstance(event, ModelSaid)] == ["Yes."]


def test_a_session_that_is_gone_on_with_says_so(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        copilot("session.start", 0, sessionId="p-2", copilotVersion="1.0.102", context={"cwd": "/p", "branch": "b"}),
        copilot("session.resume", 1, context={"cwd": "/p"}),
    )
    assert [
        (event.session, event.version, event.cwd, event.resumed) for event in told if isinstance(event, SessionStarted)
    ] == [
        ("p-2", "1.0.102", "/p", False),
        ("p-2", "1.0.102", "/p", True),
    ]


def test_its_files_are_found_where_they_are_kept(tmp_path: Path) -> None:
    for name in ("session-state/a/events.jsonl", "session-state/a/files/other.jsonl", "session-state/b.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(COPILOT)
    places = Places(Path("/home/me"), {"COPILOT_HOME": str(tmp_path)})
    homes = list(FORMATS["copilot"].homes(places))
    assert homes == [
        root / name
        for root in (tmp_path, Path("/home/me/.copilot"))
        for name in ("session-state", "history-session-state")
    ]
    assert [path.relative_to(homes[0]).as_posix() for path in FORMATS["copilot"].files(homes[0])] == [
        "a/events.jsonl",
        "b.jsonl",
    ]


def test_a_session_that_is_one_document_tells_what_its_messages_say(tmp_path: Path) -> None:
    path = tmp_path / "session_p-0_1.json"
    path.write_bytes(COPILOT_DOCUMENT)
    events = list(read(path))
    calls = {event.call_id: event.call.operations for event in events if isinstance(event, ToolCalled)}
    assert calls == {"c1": (op.ReadFile("/p/a"),), "c2": (op.RunCommand("false", purpose="Fail"),)}
    gave = {event.call_id: event.result.outcomes[0] for event in events if isinstance(event, ToolReturned)}
    # Versions of that time number the lines of a file: a text without numbers is none.
    assert gave == {"c2": CommandOutcome(1, output=""), "c1": TextOutcome("text")}
    assert [event.text for event in events if isinstance(event, UserSaid | ModelSaid)] == [
        "Fix it.",
        "I look.",
        "Done.",
    ]
    assert {event.session for event in events} == {"p-0"}
    assert [event.data for event in events if isinstance(event, ClientNoted) and event.name == "timeline"] == [
        {"entries": 1}
    ]


def test_results_of_a_document_are_read_in_the_words_of_its_time(tmp_path: Path) -> None:
    """Such a document names no version; its files have numbered lines and its commands end with a mark."""
    given = [
        (
            "view",
            {"path": "/p/a"},
            "1. import os\n2. \n3. os.getcwd()",
            FileOutcome("/p/a", "import os\n\nos.getcwd()"),
        ),
        (
            "bash",
            {"command": "false", "description": "Fail"},
            "out\n<exited with exit code 2>",
            CommandOutcome(2, output="out"),
        ),
    ]
    messages: list[dict[str, Any]] = []
    for tool, arguments, text, _ in given:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        messages.append({"role": "assistant", "tool_calls": [{"id": tool, "function": function}]})
        messages.append({"role": "tool", "tool_call_id": tool, "content": text})
    path = tmp_path / "session_x.json"
    path.write_text(json.dumps({"sessionId": "x", "chatMessages": messages}))
    told = {event.call_id: event.result.outcomes for event in read(path) if isinstance(event, ToolReturned)}
    assert told == {tool: (outcome,) for tool, _, _, outcome in given}


def test_results_without_an_id_belong_to_the_call_of_their_tool(tmp_path: Path) -> None:
    call = {
        "function": {"name": "str_replace_editor", "arguments": {"command": "create", "path": "a", "file_text": "x"}}
    }
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "name": "str_replace_editor", "content": "made"},
    ]
    path = tmp_path / "session_x.json"
    path.write_text(json.dumps({"sessionId": "x", "chatMessages": messages}))
    called, returned = [event for event in read(path) if isinstance(event, ToolCalled | ToolReturned)]
    assert isinstance(called, ToolCalled)
    assert called.call.operations == (op.WriteFile("a", "x", overwrite=False),)
    assert called.call_id == returned.call_id


def test_replies_of_a_document_are_told_apart_by_their_messages(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Twice."}]
    for id in ("c1", "c2"):
        function = {"name": "bash", "arguments": '{"command": "ls"}'}
        messages.append({"role": "assistant", "tool_calls": [{"id": id, "function": function}]})
        messages.append({"role": "tool", "tool_call_id": id, "content": "x"})
    path = tmp_path / "session_x.json"
    path.write_text(json.dumps({"sessionId": "x", "chatMessages": messages}))
    (session,) = sessions_of(read(path))
    steps = session.turns[0].steps
    assert [[use.called.call.id for use in step.tools] for step in steps] == [["c1"], ["c2"]]


def test_a_search_is_where_the_model_said_by_either_name(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        called("c1", "grep", {"pattern": "x", "path": "docs"}),
        called("c2", "grep", {"pattern": "x", "paths": ["src"]}),
        called("c3", "grep", {"pattern": "x"}),
        called("c4", "glob", {"pattern": "*.md", "path": "docs"}),
    )
    calls = [event.call for event in told if isinstance(event, ToolCalled)]
    assert [(call.operations, call.unmapped) for call in calls] == [
        *(((op.SearchText("x", folder, mode="files"),), {}) for folder in ("docs", "src", ".")),
        ((op.FindFiles("*.md", "docs"),), {}),
    ]


def test_what_the_user_rejected_is_denied_whatever_the_words(tmp_path: Path) -> None:
    error = {"message": "The user rejected this tool call.", "code": "rejected"}
    told = events(
        tmp_path,
        called("c1", "bash", {"command": "rm -r x", "description": "d"}),
        copilot("tool.execution_complete", 1, toolCallId="c1", success=False, error=error),
    )
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (Failure("denied", "The user rejected this tool call."),)


def test_parameters_that_are_not_offered_here_are_known_all_the_same(tmp_path: Path) -> None:
    why = {"citations": "a.md", "reason": "it matters", "scope": "repository"}
    told = events(
        tmp_path,
        called("c1", "web_fetch", {"url": "http://x", "max_length": 3000}),
        called("c2", "store_memory", {"fact": "f", "subject": "s", **why}),
    )
    calls = [event.call for event in told if isinstance(event, ToolCalled)]
    assert [call.operations for call in calls] == [(op.FetchPage("http://x", limit=3000),), (op.SaveMemory("f", "s"),)]
    assert [call.unmapped for call in calls] == [{}, why]


def test_calls_that_are_numbered_anew_are_different_calls(tmp_path: Path) -> None:
    def ran(content: str) -> dict[str, Any]:
        return copilot("tool.execution_complete", 1, toolCallId="call_0", success=True, result={"content": content})

    def began(command: str) -> dict[str, Any]:
        arguments = {"command": command}
        return copilot("tool.execution_start", 1, toolCallId="call_0", toolName="bash", arguments=arguments)

    told = events(
        tmp_path,
        *(called("call_0", "bash", {"command": "a"}), began("a"), ran("A"), ran("A")),
        *(called("call_0", "bash", {"command": "b"}), began("b"), ran("B")),
    )
    (session,) = sessions_of(told)
    uses = [use for turn in session.turns for step in turn.steps for use in step.tools]
    assert [use.called.call.native.arguments for use in uses] == [{"command": "a"}, {"command": "b"}]
    given = [use.returned.result.native.content for use in uses if use.returned and use.returned.result.native]
    assert given == ["A", "B"]


def test_a_session_is_named_by_its_folder_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events(tmp_path, called("c1", "bash", {"command": "a", "description": "d"}))
    monkeypatch.chdir(tmp_path / "p-1")
    assert {event.session for event in read("events.jsonl", "copilot")} == {"p-1"}


@pytest.mark.parametrize("is_of_session", [True, False])
def test_a_session_gone_on_with_counts_each_run_once(tmp_path: Path, *, is_of_session: bool) -> None:
    """Up to 1.0.67 the totals at the end of a run are that run's, later the session's."""

    def ended(number: int, given: int, answered: int) -> dict[str, Any]:
        usage = {"inputTokens": given, "outputTokens": answered}
        return copilot("session.shutdown", number, shutdownType="routine", modelMetrics={"m-1": {"usage": usage}})

    def answer(number: int, count: int) -> dict[str, Any]:
        return copilot("assistant.message", number, model="m-1", content="Yes.", outputTokens=count)

    told = events(
        tmp_path,
        answer(1, 10),
        ended(2, 1000, 12),
        copilot("session.resume", 3, context={}),
        answer(4, 30),
        ended(5, 3000, 42) if is_of_session else ended(5, 2000, 30),
    )
    used = [event.usage for event in told if isinstance(event, TokensUsed)]
    assert (sum(one.input_tokens or 0 for one in used), sum(one.output_tokens or 0 for one in used)) == (3000, 42)
    # What each run's total costs has the output of that run's replies.
    sums = [event.earlier_output for event in told if isinstance(event, TokensUsed) and event.usage.input_tokens]
    assert sums == [10, 30]


def test_arguments_that_are_written_as_text_are_what_the_text_says(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        called("c-1", "bash", '{"command": "ls", "description": "List."}'),
        called("c-2", "apply_patch", "*** Begin Patch\n*** Delete File: a\n*** End Patch"),
    )
    calls = [event.call for event in told if isinstance(event, ToolCalled)]
    assert [call.operations for call in calls] == [
        (RunCommand("ls", purpose="List."),),
        (op.DeleteFile("a"),),
    ]


def test_a_cleared_conversation_is_shortened_and_what_autopilot_says_is_the_clients(tmp_path: Path) -> None:
    cleared, went_on, noted = events(
        tmp_path,
        copilot("session.context_cleared", 1, messagesCleared=4, initialMessage="Go on with the plan."),
        copilot("user.message", 2, content="Continue.", isAutopilotContinuation=True),
        copilot("assistant.turn_retry", 3, turnId="0", reason="overloaded", model="m-1"),
    )
    assert isinstance(cleared, ContextCompacted)
    assert (cleared.summary, cleared.trigger) == ("Go on with the plan.", "manual")
    assert isinstance(went_on, UserSaid)
    assert went_on.by == "client"
    assert isinstance(noted, ClientNoted)
    assert noted.data == {"reason": "overloaded", "model": "m-1"}


def test_a_session_begun_for_another_says_for_which_and_how(tmp_path: Path) -> None:
    begun = {
        "type": "session.start",
        "id": "e-1",
        "timestamp": "2026-08-01T00:00:00Z",
        "data": {
            "sessionId": "p-2",
            "copilotVersion": "1.0.80",
            "producer": "copilot-agent",
            "reasoningEffort": "high",
            "detachedFromSpawningParentSessionId": "p-1",
        },
    }
    path = tmp_path / "printed.jsonl"
    path.write_bytes(lines(begun))
    (started,) = read(path)
    assert isinstance(started, SessionStarted)
    assert (started.session, started.parent_session) == ("p-2", "p-1")
    assert started.metadata == {"producer": "copilot-agent", "reasoningEffort": "high"}


def test_book_keeping_of_later_versions_is_known(tmp_path: Path) -> None:
    kinds = ("agent.interrupted", "session.canvas.opened", "tool_search.activated", "sandbox.decision", "hook.progress")
    told = events(tmp_path, *(copilot(kind, number) for number, kind in enumerate(kinds)))
    assert [event.name for event in told if isinstance(event, ClientNoted)] == list(kinds)
    spent = {"totalNanoAiu": 9, "totalPremiumRequests": 2}
    (noted,) = events(tmp_path, copilot("session.usage_checkpoint", 1, **spent, modelCacheState=[]))
    assert isinstance(noted, ClientNoted)
    assert noted.data == spent


def test_messages_that_do_not_say_their_model_are_counted_once(tmp_path: Path) -> None:
    """As in 1.0.2, where only calls and totals say it."""

    def answer(number: int) -> dict[str, Any]:
        return copilot("assistant.message", number, content="Yes.", outputTokens=10)

    usage = {"inputTokens": 1000, "outputTokens": 25, "cacheReadTokens": 900}
    told = events(
        tmp_path,
        answer(1),
        copilot("tool.execution_start", 2, toolCallId="c-1", toolName="bash", arguments={"command": "ls"}),
        copilot("tool.execution_complete", 3, toolCallId="c-1", success=True, model="m-1", result={"content": "a"}),
        answer(4),
        copilot("session.shutdown", 5, shutdownType="routine", modelMetrics={"m-1": {"usage": usage}}),
    )
    used = [
        (event.model, event.usage.output_tokens, event.earlier_output)
        for event in told
        if isinstance(event, TokensUsed)
    ]
    assert used == [(None, 10, None), ("m-1", 10, None), ("m-1", 5, 20)]
    assert sum(event.usage.total or 0 for event in told if isinstance(event, TokensUsed)) == 1025


def test_a_message_whose_calls_were_told_before_is_noted(tmp_path: Path) -> None:
    start = copilot("tool.execution_start", 1, toolCallId="c-9", toolName="bash", arguments={"command": "ls"})
    again = copilot("assistant.message", 2, content="", toolRequests=[{"toolCallId": "c-9", "name": "bash"}])
    assert [type(event) for event in events(tmp_path, start, again)] == [ToolCalled, ClientNoted]


def test_the_first_versions_name_a_server_in_the_tool_alone_and_an_agent_by_its_call(tmp_path: Path) -> None:
    begun = copilot("session.start", 0, sessionId="p-1", copilotVersion="0.0.390")
    spawn = called("c-1", "task", {"description": "Look", "prompt": "Look.", "agent_type": "explore"})
    inner = copilot(
        "assistant.message",
        2,
        content="",
        parentToolCallId="c-1",
        toolRequests=[{"toolCallId": "c-2", "name": "toy-echo", "arguments": {"text": "hi"}, "type": "function"}],
    )
    more = copilot("assistant.message", 3, content="Seen.", parentToolCallId="c-1", toolRequests=[])
    unclear = called("c-3", "my-own-tool", {})
    told = events(tmp_path, begun, spawn, inner, more, unclear)
    calls = {event.call_id: event for event in told if isinstance(event, ToolCalled)}
    assert calls["c-2"].call.operations == (CallMcpTool("toy", "echo", {"text": "hi"}),)
    assert (calls["c-1"].stream, calls["c-2"].stream) == ("main", "c-1")
    assert [(event.text, event.stream) for event in told if isinstance(event, ModelSaid)] == [("Seen.", "c-1")]
    assert [event.call_id for event in told if isinstance(event, AgentStarted)] == ["c-1"]
    assert isinstance(calls["c-3"].call.operations[0], Unrecognised), "two hyphens may be split in two ways"


ODD: list[dict[str, Any]] = [
    {"type": "session.start", "data": None},
    {"type": 7, "data": {"toolCallId": "c-1"}},
    {"type": "hook.start", "data": [1], "agentId": 3},
    {"type": "hook.start", "data": {"toolCallId": 1, "parentToolCallId": None, "apiCallId": 2}, "parentId": 5},
    {"type": "assistant.message", "data": {"content": "a"}, "timestamp": "2026-11-16T02:00:54.169"},
    {"type": "assistant.message", "data": {"content": "a"}, "timestamp": "2026-11-16T02:00:54.1694+01:00"},
    {"type": "assistant.message", "data": {"content": "a"}, "timestamp": 1795118332317, "agentId": ""},
    {"type": "assistant.message", "data": {"content": "a"}, "timestamp": "yesterday", "id": None, "agentId": "a-1"},
    {"type": "of.another", "data": {}},
    {"data": {"content": "a"}},
    {},
]


@pytest.mark.parametrize("sample", [COPILOT, lines(*ODD)])
def test_a_line_means_the_same_whether_it_is_read_by_its_usual_shape_or_as_any_json(sample: bytes) -> None:
    def told(decode: Callable[[Any], Any] | None) -> list[AnyEvent]:
        either = FORMATS["copilot"].reader(Path("p-1/events.jsonl"))
        assert isinstance(either, EitherReader)
        reader = either.choose(sample, is_whole=False)
        assert isinstance(reader, LinesReader)
        if decode is not None:
            reader.decode = decode
        return [*reader.feed(sample), *reader.close()]

    assert told(None) == told(msgspec.json.decode)
