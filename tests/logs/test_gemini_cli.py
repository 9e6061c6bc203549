"""Gemini CLI's logs: documents and lines that add up to one, read as events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
    CommandOutcome,
    ContextCompacted,
    ErrorOccurred,
    Failure,
    HistoryRewound,
    Media,
    ModelFinished,
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
        ("user", "Fix it."),
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


def test_the_task_of_an_agent_among_the_user_s_words_is_not_the_user_s(tmp_path: Path) -> None:
    """Up to 0.24.0 an agent's task stands in the session that spawned it, before the call (0.19.4, 0.24.0)."""
    task = "Your task is to do the work that follows:\n<objective>\nLook.\n</objective>\nThen report."
    spawn = {
        "id": "c1",
        "name": "codebase_investigator",
        "args": {"objective": "Look."},
        "result": [{"functionResponse": {"id": "c1", "response": {"output": "Seen."}}}],
        "status": "success",
    }
    events = events_of(
        tmp_path,
        lines(
            GEMINI_HEADER,
            message("m1", "user", "Fix it."),
            message("m2", "user", task),
            message("m3", "gemini", "", toolCalls=[spawn]),
            message("m4", "gemini", "Done."),
        ),
    )
    assert heard(events) == [("user", "Fix it."), ("agent", "Look."), ("model", "Done.")]
    (session,) = sessions_of(events)
    assert [(turn.opened_by and turn.opened_by.id, len(turn.steps)) for turn in session.turns] == [("g-1:m1:1", 2)]
    (agent,) = session.children
    assert (agent.parent_session, agent.parent_call, len(agent.turns)) == ("g-1", "c1", 1)


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
    assert [type(event) for event in events[2:6]] == [ModelThought, ToolCalled, ToolReturned, ModelFinished]
    assert [type(event) for event in events[6:]] == [SessionStarted, ClientNoted]


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
    assert events[0].metadata == {"projectHash": "ab", "kind": "main", "summary": "Fixed."}


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
    assert [type(event) for event in events] == [SessionStarted, ToolCalled, ModelFinished, ToolReturned]


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
        lines({"messages": [{"type": ["user"]}], "sessionId": "s"}),
        b"",
    ],
)
def test_other_files_are_not_taken_for_sessions(tmp_path: Path, data: bytes) -> None:
    from dragoman.logs.base.format import sample_of

    path = tmp_path / "x.json"
    path.write_bytes(data)
    assert FORMATS["gemini_cli"].recognise(sample_of(path)) == 0.0


def test_sessions_are_found_where_the_client_keeps_them(tmp_path: Path) -> None:
    format = FORMATS["gemini_cli"]
    (home,) = format.homes(Places(tmp_path))
    assert home == tmp_path / ".gemini" / "tmp"
    assert list(format.homes(Places(tmp_path, {"GEMINI_CLI_HOME": "/h"}))) == [Path("/h/.gemini/tmp"), home]
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


def test_a_message_that_is_written_again_with_its_calls_is_one_step(tmp_path: Path) -> None:
    tokens = {"input": 5, "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": 7}
    first = message("m1", "gemini", "I look.", tokens=tokens)
    asked, answered = message("u1", "user", "Look."), message("u2", "user", GEMINI_SHELL["result"])
    events = events_of(
        tmp_path,
        lines(
            GEMINI_HEADER,
            asked,
            first,
            {"$set": {"lastUpdated": "x"}},
            {**first, "toolCalls": [GEMINI_SHELL]},
            answered,
        ),
    )
    (session,) = sessions_of(events)
    (step,) = session.turns[0].steps
    assert [said.text for said in step.said] == ["I look."]
    assert [use.called.call.id for use in step.tools] == [GEMINI_SHELL["id"]]
    assert step.usage.total == 7
    (used,) = [event for event in events if isinstance(event, TokensUsed)]
    assert used.source == next(event.source for event in events if isinstance(event, ModelSaid))


def test_replies_without_tokens_are_told_apart_by_their_messages(tmp_path: Path) -> None:
    calls = [{**GEMINI_SHELL, "id": f"run_{number}"} for number in range(2)]
    replies = [message(f"m{number}", "gemini", "", toolCalls=[call]) for number, call in enumerate(calls)]
    (session,) = sessions_of(events_of(tmp_path, lines(GEMINI_HEADER, message("u", "user", "Twice."), *replies)))
    assert [[use.called.call.id for use in step.tools] for step in session.turns[0].steps] == [["run_0"], ["run_1"]]


def test_a_picture_a_tool_gave_is_said_by_nobody(tmp_path: Path) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    sent = message("u2", "user", [*GEMINI_SHELL["result"], picture])
    events = events_of(tmp_path, lines(GEMINI_HEADER, message("m1", "gemini", "", toolCalls=[GEMINI_SHELL]), sent))
    assert [event for event in events if isinstance(event, UserSaid)] == []


def test_another_process_goes_on_where_one_ended_and_says_nothing_twice(tmp_path: Path) -> None:
    log, index = tmp_path / "chats" / "session-g.jsonl", tmp_path / "index.sqlite"
    log.parent.mkdir()
    first = message("m1", "gemini", "I look.", tokens={"input": 5, "output": 2, "total": 7})
    log.write_bytes(lines(GEMINI_HEADER, message("u1", "user", "Look."), first, {"$set": {"lastUpdated": "x"}}))
    code = (
        "import sys; from pathlib import Path; from dragoman.logs import Found, Index\n"
        "with Index(sys.argv[1]) as index: index.update([Found(Path(sys.argv[2]), 'gemini_cli')])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, str(index), str(log)], check=True, env=environment)
    with log.open("ab") as file:
        file.write(lines({**first, "toolCalls": [GEMINI_SHELL]}))
    subprocess.run(
        [sys.executable, "-c", code, str(index), str(log)], check=True, env=environment | {"PYTHONHASHSEED": "2"}
    )
    with Index(index) as known, Index.in_memory() as fresh:
        fresh.update([Found(log, "gemini_cli")])
        assert list(known.rows("steps")) == list(fresh.rows("steps"))
        assert list(known.rows("sessions")) == list(fresh.rows("sessions"))


def test_a_damaged_message_in_a_document_costs_no_other(tmp_path: Path) -> None:
    messages = [message(f"m{number}", "user", [{"text": f"Word {number}."}]) for number in range(5)]
    called = message("m5", "gemini", "", toolCalls=[GEMINI_SHELL, {**GEMINI_SHELL, "id": "run_2"}])
    head = {"sessionId": "g-1", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"}
    data = json.dumps({**head, "messages": [*messages, called, message("m6", "user", "Last.")]}, indent=2).encode()
    for wrong in (b"\x00\x01", b'"', b"{", b"]}"):
        damaged = data.replace(b"Word 2.", wrong).replace(b'"status"', b"status", 1)
        events = events_of(tmp_path, damaged, "chats/session-g.json")
        texts = [event.text for event in events if isinstance(event, UserSaid)]
        kept = [text for text in texts if text.startswith(("Word", "Last"))]
        assert kept == ["Word 0.", "Word 1.", "Word 3.", "Word 4.", "Last."]
        bad = [event.source for event in events if isinstance(event, Unreadable)]
        assert all(one is not None for one in bad)
        spans = [damaged[one.offset : one.offset + one.length] for one in bad if one is not None]
        assert any(b'"m5"' in span for span in spans)
        assert not any(b'"m6"' in span or b'"m3"' in span for span in spans)


def test_a_call_the_user_did_not_allow_is_a_denial(tmp_path: Path) -> None:
    words = "[Operation Cancelled] Reason: User did not allow tool call"
    sent = [{"functionResponse": {"id": "run_1", "name": "run_shell_command", "response": {"error": words}}}]
    call = {**GEMINI_SHELL, "id": "run_1", "status": "cancelled", "result": sent}
    events = events_of(tmp_path, lines(GEMINI_HEADER, message("m1", "gemini", "", toolCalls=[call])))
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (Failure("denied", words),)


def test_an_agent_is_of_the_session_its_folder_names_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chats" / "g-1" / "a-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(GEMINI_AGENTS_OWN)
    monkeypatch.chdir(path.parent)
    near, far = list(read(path.name, "gemini_cli")), list(read(path, "gemini_cli"))
    assert [(event.id, event.session, event.stream) for event in near] == [
        (event.id, event.session, event.stream) for event in far
    ]


def test_what_the_client_tells_an_agent_meanwhile_opens_no_turn(tmp_path: Path) -> None:
    header = {**GEMINI_HEADER, "kind": "subagent", "sessionId": "a-2"}
    said = [message("m1", "user", "Do it."), message("m2", "gemini", "So?"), message("m3", "user", "Call a tool.")]
    events = events_of(tmp_path, lines(header, *said, message("m4", "gemini", "Well.")), "chats/g-1/a-2.jsonl")
    assert [event.by for event in events if isinstance(event, UserSaid)] == ["agent", "client"]
    (session,) = sessions_of(events)
    assert len(session.turns) == 1


def test_the_folder_of_a_conversation_stands_beside_it_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".project_root").write_text("/home/me/p\n")
    agent = {**GEMINI_HEADER, "sessionId": "s-1", "kind": "subagent"}
    for header, name in ((GEMINI_HEADER, "chats/session-g.jsonl"), (agent, "chats/g-1/s-1.jsonl")):
        started = events_of(tmp_path, lines(header), name)[0]
        assert isinstance(started, SessionStarted)
        assert started.cwd == "/home/me/p"
        (told,) = events_of(tmp_path, lines({**header, "directories": ["/home/me/p/src"]}), name)
        assert isinstance(told, SessionStarted)
        assert told.cwd == "/home/me/p/src"
    (tmp_path / "history" / "p").mkdir(parents=True)
    (tmp_path / "history" / "p" / ".project_root").write_text("/home/me/q")
    (kept,) = events_of(tmp_path, lines(GEMINI_HEADER), "tmp/p/chats/session-g.jsonl")
    assert isinstance(kept, SessionStarted)
    assert kept.cwd == "/home/me/q"
    (elsewhere,) = events_of(tmp_path, lines(GEMINI_HEADER), "session-g.jsonl")
    assert isinstance(elsewhere, SessionStarted)
    assert elsewhere.cwd is None


def saved(*contents: tuple[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [{"role": role, "parts": parts} for role, parts in contents]


CONTEXT = (
    "This is the Gemini CLI. We are setting up the context for our chat.\nI'm currently working in the directory: "
)
CALLED = {"id": "c1", "name": "glob", "args": {"pattern": "*"}}
SAVED = saved(
    ("user", [{"text": f"{CONTEXT}/home/me/p\nMore."}]),
    ("user", [{"text": "Look."}]),
    ("model", [{"text": "I look.", "thought": True}, {"text": "So."}, {"functionCall": CALLED}]),
    ("user", [{"functionResponse": {"id": "c1", "name": "glob", "response": {"output": "No files found"}}}]),
)


@pytest.mark.parametrize("document", [SAVED, {"history": SAVED, "authType": "oauth-personal"}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_conversation_that_was_saved_is_read_when_it_is_named_as_one(
    tmp_path: Path, document: Any, indent: int | None
) -> None:
    data = json.dumps(document, indent=indent).encode()
    events = events_of(tmp_path, data, "checkpoint-mine.json")
    assert [type(event).__name__ for event in events] == [
        *["SessionStarted", "UserSaid", "UserSaid", "ModelThought", "ModelSaid", "ToolCalled"],
        *["ModelFinished", "ToolReturned", "ClientNoted"],
    ]
    assert {event.session for event in events} == {"checkpoint-mine"}
    assert [event.by for event in events if isinstance(event, UserSaid)] == ["client", "user"]
    started = events[0]
    assert isinstance(started, SessionStarted)
    assert started.cwd == "/home/me/p"
    for event in events[1:-1]:
        assert event.source is not None
        piece = data[event.source.offset : event.source.offset + event.source.length]
        assert json.loads(piece) in SAVED
    broken = events_of(tmp_path, data[: data.index(b"No files")], "checkpoint-mine.json")
    assert [type(event) for event in broken] == [*(type(event) for event in events[:7]), Unreadable]


def test_prompts_of_conversations_that_were_not_kept_are_told_and_the_others_noted(tmp_path: Path) -> None:
    entry = {"messageId": 0, "type": "user", "timestamp": "2026-01-01T00:00:00.000Z"}
    listed = [
        {**entry, "sessionId": "aaaaaaaa-1", "message": "Kept."},
        {**entry, "sessionId": "bbbbbbbb-1", "message": "Not kept."},
    ]
    kept = lines({**GEMINI_HEADER, "sessionId": "aaaaaaaa-1"})
    events_of(tmp_path, kept, "chats/session-2026-01-01T00-00-aaaaaaaa.json")
    path = tmp_path / "logs.json"
    path.write_text(json.dumps(listed, indent=2))
    assert recognise(path)[0].name == "gemini_cli"
    assert [(type(event).__name__, event.session, getattr(event, "text", None)) for event in read(path)] == [
        ("ClientNoted", None, None),
        ("ClientNoted", "aaaaaaaa-1", None),
        ("UserSaid", "bbbbbbbb-1", "Not kept."),
        ("ClientNoted", None, None),
    ]


def test_a_conversation_with_several_folders_began_in_the_first(tmp_path: Path) -> None:
    (started,) = events_of(tmp_path, lines({**GEMINI_HEADER, "directories": ["/p", "/other"]}))
    assert isinstance(started, SessionStarted)
    assert started.cwd == "/p"


def test_an_agent_of_the_clients_own_hangs_under_the_call_whose_words_it_was_given(tmp_path: Path) -> None:
    call = {"id": "c1", "name": "cli_help", "args": {"question": "How?"}, "status": "success", "result": []}
    parent = lines(GEMINI_HEADER, message("m1", "user", "Ask."), message("m2", "gemini", "", toolCalls=[call]))
    asked = "Your task is to answer the following question about Gemini CLI:\n<question>\nHow?\n</question>"
    header = {**GEMINI_HEADER, "sessionId": "x1", "kind": "subagent"}
    own = lines(header, message("a1", "user", asked), message("a2", "gemini", "So."))
    events = [*events_of(tmp_path, parent), *events_of(tmp_path, own, "chats/g-1/x1.jsonl")]
    assert [(event.text, event.by) for event in events if isinstance(event, UserSaid)] == [
        ("Ask.", "user"),
        ("How?", "agent"),
    ]
    (session,) = sessions_of(events)
    (agent,) = session.children
    assert (agent.stream, agent.parent_call) == ("x1", "c1")
