"""Continue's logs: a history of messages and the states of their calls, read as events."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from dragoman.logs import FORMATS, Places, read, recognise, sessions_of
from dragoman.model import (
    AnyEvent,
    CallMcpTool,
    ClientNoted,
    CommandOutcome,
    ContextCompacted,
    Failure,
    Interrupted,
    Media,
    ModelSaid,
    ModelThought,
    ReadFile,
    RunCommand,
    SessionStarted,
    SystemSaid,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    Unrecognised,
    Usage,
    UserSaid,
)
from tests.logs.samples import CONTINUE, continue_document, continue_reply, continue_state


def events_of(folder: Path, data: bytes) -> list[AnyEvent]:
    path = folder / "k-1.json"
    path.write_bytes(data)
    return list(read(path, "continue"))


def item(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"role": role, "content": content}, "contextItems": [], **more}


def test_a_session_is_told_in_the_order_of_its_history(tmp_path: Path) -> None:
    events = events_of(tmp_path, CONTINUE)
    assert [type(event) for event in events] == [
        SessionStarted,
        UserSaid,
        *[ModelSaid, ToolCalled, ToolCalled, ToolCalled, ToolCalled, TokensUsed],
        *[ToolReturned, ToolReturned, ToolReturned, ToolReturned, Interrupted],
        *[ModelSaid, TokensUsed],
        ClientNoted,
    ]
    assert {event.session for event in events} == {"k-1"}


def test_every_event_points_at_the_very_bytes_of_its_item(tmp_path: Path) -> None:
    history = json.loads(CONTINUE)["history"]
    for event in events_of(tmp_path, CONTINUE)[1:-1]:
        assert event.source is not None
        bytes_ = CONTINUE[event.source.offset : event.source.offset + event.source.length]
        assert json.loads(bytes_) == history[int(event.id.split(":")[1]) - 1]


def test_calls_are_typed_by_name_and_a_servers_by_what_it_gave(tmp_path: Path) -> None:
    events = events_of(tmp_path, CONTINUE)
    assert {event.call.id: event.call.operations for event in events if isinstance(event, ToolCalled)} == {
        "t1": (RunCommand("false"),),
        "t2": (CallMcpTool(None, "echo", {"text": "hi"}),),
        "t3": (Unrecognised("no_such", {"x": 1}),),
        "t4": (ReadFile("a"),),
    }


def test_a_command_that_ended_badly_ran_and_a_tool_nobody_has_failed(tmp_path: Path) -> None:
    events = events_of(tmp_path, CONTINUE)
    returned = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    assert [outcome.exit_code for outcome in returned["t1"] if isinstance(outcome, CommandOutcome)] == [1]
    assert returned["t2"] == (TextOutcome("hi"),)
    assert returned["t3"] == (Failure("unknown_tool", "Tool no_such not found"),)
    assert returned["t4"] == (Failure("cancelled", ""),)
    assert [event.call_id for event in events if isinstance(event, Interrupted)] == ["t4"]


def test_a_call_that_was_declined_says_so(tmp_path: Path) -> None:
    state = continue_state("t1", "Bash", '{"command": "ls"}', "canceled", "Permission denied by user")
    events = events_of(tmp_path, continue_document(continue_reply("", state)))
    outcomes = [event.result.outcomes for event in events if isinstance(event, ToolReturned)]
    assert outcomes == [(Failure("denied", "Permission denied by user"),)]


def test_arguments_that_are_no_json_stay_the_text_they_are(tmp_path: Path) -> None:
    state = continue_state("t1", "Bash", '{"command": "l', "generating")
    events = events_of(tmp_path, continue_document(continue_reply("", state)))
    (called,) = [event.call for event in events if isinstance(event, ToolCalled)]
    assert (called.native.arguments, called.operations) == ('{"command": "l', ())
    assert not [event for event in events if isinstance(event, ToolReturned | Interrupted)]


def test_tokens_of_the_cache_are_beside_the_prompt_or_part_of_it(tmp_path: Path) -> None:
    beside = continue_reply("a")
    part = continue_reply("b")
    part["message"]["usage"]["prompt_tokens_details"] = {"cached_tokens": 4}
    part["message"]["usage"]["cost_cents"] = 5
    events = events_of(tmp_path, continue_document(beside, part))
    assert [(event.usage, event.cost) for event in events if isinstance(event, TokensUsed)] == [
        (Usage(input_tokens=10, cached_read_tokens=3, cached_write_tokens=2, output_tokens=7), None),
        (Usage(input_tokens=6, cached_read_tokens=4, output_tokens=7), 0.05),
    ]


def test_a_result_in_a_message_of_its_own_is_told_once(tmp_path: Path) -> None:
    state = continue_state("t1", "Bash", '{"command": "ls"}', "done", "a\n")
    again = {"message": {"role": "tool", "content": "a\n", "toolCallId": "t1"}, "contextItems": []}
    other = {"message": {"role": "tool", "content": "b", "toolCallId": "t2"}, "contextItems": []}
    events = events_of(tmp_path, continue_document(continue_reply("", state), again, other))
    assert [event.call_id for event in events if isinstance(event, ToolReturned)] == ["t1", "t2"]


def test_thoughts_instructions_and_summaries_have_their_events(tmp_path: Path) -> None:
    data = continue_document(
        item("system", "You fix."),
        item("thinking", "hm"),
        item("assistant", "Yes.", reasoning={"text": "so", "active": False}, conversationSummary="We fixed."),
        item("oracle", "So be it."),
    )
    events = events_of(tmp_path, data)
    assert [event.text for event in events if isinstance(event, SystemSaid)] == ["You fix."]
    assert [event.text for event in events if isinstance(event, ModelThought)] == ["hm", "so"]
    assert [event.summary for event in events if isinstance(event, ContextCompacted)] == ["We fixed."]
    assert [event.name for event in events if isinstance(event, UnknownRecord)] == ["message/oracle"]


def test_what_was_given_with_the_words_is_kept(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "See."}, {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AA"}}]
    context = [{"name": "a.py", "content": "x = 1"}]
    events = events_of(tmp_path, continue_document({**item("user", content), "contextItems": context}))
    assert [(event.text, event.media) for event in events if isinstance(event, UserSaid)] == [
        ("See.", (Media("image/png", data="AA"),))
    ]
    noted = [event.data for event in events if isinstance(event, ClientNoted) and event.name == "contextItems"]
    assert noted == [{"contextItems": context}]


def test_the_folder_may_be_a_uri(tmp_path: Path) -> None:
    given = {"sessionId": "k-2", "title": "x", "workspaceDirectory": "file:///my%20p", "history": []}
    started = events_of(tmp_path, json.dumps(given).encode())[0]
    assert isinstance(started, SessionStarted)
    assert (started.session, started.cwd, started.metadata) == ("k-2", "/my p", {"title": "x"})


def test_a_document_that_breaks_off_tells_what_is_whole(tmp_path: Path) -> None:
    whole = events_of(tmp_path, CONTINUE)
    cut = CONTINUE[: CONTINUE.index(b"Done.")]
    events = events_of(tmp_path, cut)
    assert isinstance(events[-1], Unreadable)
    told = [event for event in events if isinstance(event, ToolCalled | ToolReturned)]
    assert told == [event for event in whole if isinstance(event, ToolCalled | ToolReturned)]
    assert recognise(tmp_path / "k-1.json")[0] is FORMATS["continue"]


def test_a_session_holds_its_turns_and_its_tokens(tmp_path: Path) -> None:
    (session,) = sessions_of(events_of(tmp_path, CONTINUE))
    assert (session.id, session.cwd, session.models, session.usage.total) == ("k-1", "/p", ("m-1",), 44)
    assert [len(turn.steps) for turn in session.turns] == [2]


def test_homes_and_files_are_where_the_client_keeps_them(tmp_path: Path) -> None:
    format = FORMATS["continue"]
    assert list(format.homes(Places(Path("/h")))) == [Path("/h/.continue/sessions")]
    assert list(format.homes(Places(Path("/h"), {"CONTINUE_GLOBAL_DIR": "/x"}))) == [
        Path("/x/sessions"),
        Path("/h/.continue/sessions"),
    ]
    for name in ("k-1.json", "sessions.json"):
        (tmp_path / name).write_bytes(b"{}")
    assert [path.name for path in format.files(tmp_path)] == ["k-1.json"]


def test_a_call_and_its_result_that_are_written_twice_are_told_once(tmp_path: Path) -> None:
    reply = continue_reply("", continue_state("t1", "Bash", '{"command": "ls"}', "done", "a\n"))
    events = events_of(tmp_path, continue_document(reply, reply))
    told = [type(event) for event in events if isinstance(event, ToolCalled | ToolReturned)]
    assert told == [ToolCalled, ToolReturned]


def test_replies_without_tokens_are_told_apart_by_their_messages(tmp_path: Path) -> None:
    replies = []
    for id in ("t1", "t2"):
        reply = continue_reply("", continue_state(id, "Bash", '{"command": "ls"}', "done", "a\n"))
        del reply["message"]["usage"]
        replies.append(reply)
    (session,) = sessions_of(events_of(tmp_path, continue_document(item("user", "Twice."), *replies)))
    steps = session.turns[0].steps
    assert [[use.called.call.id for use in step.tools] for step in steps] == [["t1"], ["t2"]]


def test_a_folder_on_a_drive_is_named_as_it_is_there(tmp_path: Path) -> None:
    for given, folder in (
        ("file:///c%3A/dev/x%20y", "c:/dev/x y"),
        ("file:///home/u/p", "/home/u/p"),
        ("C:\\p", "C:\\p"),
    ):
        path = tmp_path / "k-1.json"
        path.write_text(json.dumps({"sessionId": "k-1", "workspaceDirectory": given, "history": []}))
        assert [event.cwd for event in read(path) if isinstance(event, SessionStarted)] == [folder]


def test_when_a_session_was_begun_stands_in_the_list_beside_it(tmp_path: Path) -> None:
    listed = [{"sessionId": "other"}, {"sessionId": "k-1", "title": "t", "dateCreated": "1767225600000"}]
    (tmp_path / "sessions.json").write_text(json.dumps(listed))
    document = continue_document(item("user", "Go."))
    started = events_of(tmp_path, document)[0]
    assert started.time == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    for kept in ('[{"sessionId": "k-1"', json.dumps([{"sessionId": "k-1", "dateCreated": "soon"}]), "{}"):
        (tmp_path / "sessions.json").write_text(kept)
        assert events_of(tmp_path, document)[0].time is None


def test_the_model_is_what_was_asked_where_nothing_was_counted(tmp_path: Path) -> None:
    asked = {"modelTitle": "Mine", "prompt": "p", "completion": "c"}
    document = continue_document(
        item("assistant", "1", promptLogs=[asked]),
        item("assistant", "2", promptLogs=[{**asked, "completionOptions": {"model": "m-2"}}]),
    )
    assert [event.model for event in events_of(tmp_path, document) if isinstance(event, ModelSaid)] == ["Mine", "m-2"]


def test_a_command_of_the_extension_says_beside_its_output_how_it_ended(tmp_path: Path) -> None:
    function = {"name": "run_terminal_command", "arguments": '{"command": "x"}'}
    call = {"id": "c1", "type": "function", "function": function}
    output = [{"name": "Terminal", "description": "d", "content": "no", "status": "Command failed with exit code 2"}]
    state = {"toolCallId": "c1", "toolCall": call, "status": "done", "output": output}
    document = continue_document(
        item("assistant", "", toolCallStates=[state]),
        {"message": {"role": "tool", "content": "no", "toolCallId": "c1"}},
    )
    events = events_of(tmp_path, document)
    assert [event.call.operations for event in events if isinstance(event, ToolCalled)] == [(RunCommand("x"),)]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (CommandOutcome(2, output="no"),)


def test_a_call_that_could_not_be_made_is_a_failure_by_its_state(tmp_path: Path) -> None:
    """1.5.11: the state stays "generated" without output, and only the words that follow say why."""
    edit = '{"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]}'
    texts = {
        "t1": 'Edit at index 0: string not found in file: "x"',
        "t2": "Directory does not exist: /p/nope",
    }
    states = [
        continue_state("t1", "MultiEdit", edit, "generated"),
        continue_state("t2", "List", '{"dirpath": "nope"}', "generated"),
    ]
    for state in states:
        del state["output"]
    told = [
        {"message": {"role": "tool", "content": text, "toolCallId": id}, "contextItems": []}
        for id, text in texts.items()
    ]
    events = events_of(tmp_path, continue_document(continue_reply("", *states), *told))
    returned = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    assert returned == {id: (Failure("failed", text),) for id, text in texts.items()}
