"""Cline's logs: documents of messages, sub-agents in documents of their own, read as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, Index, Places, read, recognise, sessions_of
from dragoman.logs.history import find_logs
from dragoman.logs.history.rows import TABLES
from dragoman.model import (
    AnyEvent,
    CallMcpTool,
    ClientNoted,
    CommandOutcome,
    DirectoryOutcome,
    DoneOutcome,
    ErrorOccurred,
    Failure,
    FileOutcome,
    Interrupted,
    Media,
    ModelSaid,
    ModelThought,
    RunCommand,
    SessionStarted,
    SpawnAgent,
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
    operations as op,
)
from dragoman.model.outcomes import Entry
from tests.logs.samples import CLINE, CLINE_AGENTS_OWN, CLINE_SESSION, cline_call, cline_reply, cline_result


def events_of(folder: Path, data: bytes, name: str = "l-1.messages.json") -> list[AnyEvent]:
    path = folder / name
    path.write_bytes(data)
    return list(read(path, "cline"))


def with_message(message: object) -> bytes:
    return json.dumps({**json.loads(CLINE), "messages": [message]}).encode()


def test_a_session_is_told_in_the_order_of_its_messages(tmp_path: Path) -> None:
    events = events_of(tmp_path, CLINE)
    assert [type(event) for event in events] == [
        SessionStarted,
        *[ClientNoted, UserSaid],
        *[ModelThought, ModelSaid, ToolCalled, TokensUsed, ToolReturned],
        *[ToolCalled, TokensUsed, ToolReturned],
        *[ToolCalled, ToolCalled, TokensUsed, ToolReturned, ToolReturned],
        *[ModelSaid, TokensUsed],
        SystemSaid,
    ]
    assert {(event.session, event.stream, event.version) for event in events} == {("l-1", "main", "3.0.65")}


def test_every_event_points_at_the_very_bytes_of_its_message(tmp_path: Path) -> None:
    messages = {message["id"]: message for message in json.loads(CLINE)["messages"]}
    seen = set()
    for event in events_of(tmp_path, CLINE)[1:-1]:
        assert event.source is not None
        bytes_ = CLINE[event.source.offset : event.source.offset + event.source.length]
        id = event.id.split(":")[1]
        assert json.loads(bytes_) == messages[id]
        seen.add(id)
    assert seen == set(messages)


def test_the_words_of_the_user_are_taken_out_of_their_wrapper(tmp_path: Path) -> None:
    events = events_of(tmp_path, CLINE)
    assert [(event.text, event.by) for event in events if isinstance(event, UserSaid)] == [("Fix it.", "user")]
    assert [event.data for event in events if isinstance(event, ClientNoted)] == [{"mode": "act"}]


def test_a_batch_means_several_operations_with_an_outcome_each(tmp_path: Path) -> None:
    events = events_of(tmp_path, CLINE)
    called = {event.call.id: event.call.operations for event in events if isinstance(event, ToolCalled)}
    returned = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    assert called["t1"] == (RunCommand("true"), RunCommand("false"))
    assert [outcome.exit_code for outcome in returned["t1"] if isinstance(outcome, CommandOutcome)] == [0, 1]


def test_a_servers_tool_is_known_by_what_it_gave_and_a_name_alone_proves_nothing(tmp_path: Path) -> None:
    events = events_of(tmp_path, CLINE)
    called = {event.call.id: event.call.operations for event in events if isinstance(event, ToolCalled)}
    returned = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    assert called["t3"] == (CallMcpTool("toy", "echo", {"text": "hi"}),)
    assert called["t4"] == (Unrecognised("no__such", {"x": 1}),)
    assert [outcome.kind for outcome in returned["t4"] if isinstance(outcome, Failure)] == ["unknown_tool"]


def test_tokens_of_the_cache_are_part_of_the_input_where_they_can_be(tmp_path: Path) -> None:
    used = [event.usage for event in events_of(tmp_path, CLINE) if isinstance(event, TokensUsed)]
    assert used == [Usage(input_tokens=10, cached_read_tokens=3, cached_write_tokens=2, output_tokens=7)] * 4
    beside = cline_reply("n1") | {"metrics": {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 30}}
    used = [event.usage for event in events_of(tmp_path, with_message(beside)) if isinstance(event, TokensUsed)]
    assert used == [Usage(input_tokens=1, cached_read_tokens=30, output_tokens=2)]


def test_a_sub_agent_hangs_under_the_call_whose_task_it_was_given(tmp_path: Path) -> None:
    own = events_of(tmp_path, CLINE_AGENTS_OWN, "agent_1.messages.json")
    assert {(event.session, event.stream) for event in own} == {("l-1", "agent_1")}
    assert [(event.text, event.by) for event in own if isinstance(event, UserSaid)] == [("Count them.", "agent")]
    events = events_of(tmp_path, CLINE) + own
    spawned = [event.call for event in events if isinstance(event, ToolCalled) and event.call.id == "t2"]
    assert isinstance(spawned[0].operations[0], SpawnAgent)
    (session,) = sessions_of(events)
    assert [(child.stream, child.parent_session, child.parent_call) for child in session.children] == [
        ("agent_1", "l-1", "t2")
    ]


def test_what_is_known_of_a_session_joins_its_messages(tmp_path: Path) -> None:
    about = events_of(tmp_path, CLINE_SESSION, "l-1.json")
    assert [type(event) for event in about] == [SessionStarted, ClientNoted]
    (session,) = sessions_of(about + events_of(tmp_path, CLINE))
    assert (session.id, session.cwd, session.title, session.usage.total) == ("l-1", "/p", "Fix it.", 4 * 22)
    assert (session.started is not None, len(session.turns)) == (True, 1)


def test_pictures_and_unknown_pieces_are_kept(tmp_path: Path) -> None:
    pieces = [{"type": "image", "data": "AAAA", "mediaType": "image/png"}, {"type": "sound", "n": 1}]
    events = events_of(tmp_path, with_message({"id": "n1", "role": "user", "content": pieces}))
    assert [event.media for event in events if isinstance(event, UserSaid)] == [(Media("image/png", data="AAAA"),)]
    assert [event.data for event in events if isinstance(event, ClientNoted)] == [{"type": "sound", "n": 1}]


def test_a_message_of_an_unknown_role_is_an_unknown_record(tmp_path: Path) -> None:
    events = events_of(tmp_path, with_message({"id": "n1", "role": "oracle", "content": "So be it."}))
    assert [event.name for event in events if isinstance(event, UnknownRecord)] == ["message/oracle"]


def test_a_document_that_breaks_off_tells_what_is_whole(tmp_path: Path) -> None:
    whole = events_of(tmp_path, CLINE)
    cut = CLINE[: CLINE.index(b'"n7"')]
    events = events_of(tmp_path, cut)
    assert [event.id for event in events[:-2]] == [event.id for event in whole[: len(events) - 2]]
    assert isinstance(events[-1], Unreadable)
    assert events[-1].source is not None
    assert events[-1].source.offset + events[-1].source.length == len(cut)
    assert recognise(tmp_path / "l-1.messages.json")[0] is FORMATS["cline"]


def test_homes_and_files_are_where_the_client_keeps_them(tmp_path: Path) -> None:
    format = FORMATS["cline"]
    assert next(iter(format.homes(Places(Path("/h"))))) == Path("/h/.cline/data/sessions")
    assert next(iter(format.homes(Places(Path("/h"), {"CLINE_DIR": "/x"})))) == Path("/x/data/sessions")
    assert next(iter(format.homes(Places(Path("/h"), {"CLINE_DATA_DIR": "/x"})))) == Path("/x/sessions")
    assert next(iter(format.homes(Places(Path("/h"), {"CLINE_SESSION_DATA_DIR": "/x"})))) == Path("/x")
    folder = tmp_path / "l-1"
    folder.mkdir()
    for name in ("l-1.json", "l-1.messages.json", "agent_1.messages.json", "other.json"):
        (folder / name).write_bytes(b"{}")
    assert [path.name for path in format.files(tmp_path)] == ["l-1.json", "agent_1.messages.json", "l-1.messages.json"]


def test_tasks_are_where_editors_keep_them(tmp_path: Path) -> None:
    format, task = FORMATS["cline"], "Code/User/globalStorage/saoudrizwan.claude-dev/tasks"
    for system, environment, folder in (
        ("linux", {}, "/h/.config"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x"),
        ("darwin", {}, "/h/Library/Application Support"),
        ("win32", {"APPDATA": "/a"}, "/a"),
    ):
        assert Path(folder) / task in format.homes(Places(Path("/h"), environment, system))
    for server in (".vscode-server", ".vscode-remote"):
        assert Path("/h", server, "data") / task.removeprefix("Code/") in format.homes(Places(Path("/h")))
    kilo = task.replace("saoudrizwan.claude-dev", "kilocode.kilo-code")
    assert Path("/h/.config") / kilo in FORMATS["roo_code"].homes(Places(Path("/h")))
    for name in ("api_conversation_history.json", "ui_messages.json", "task_metadata.json"):
        written(tmp_path / "1700" / name, b"[]")
    written(tmp_path / "1800" / "ui_messages.json", b"[]")
    said, shown = tmp_path / "1700" / "api_conversation_history.json", tmp_path / "1800" / "ui_messages.json"
    assert list(format.files(tmp_path)) == [said, shown]
    assert [format.whole(path) for path in (said, said.with_name("ui_messages.json"), shown)] == [said, said, shown]
    assert list(format.companions(said)) == [said.with_name("ui_messages.json")]


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def task(tmp_path: Path, *messages: dict[str, Any], name: str = "api_conversation_history.json") -> list[AnyEvent]:
    return list(read(written(tmp_path / "1700" / name, json.dumps(messages).encode()), "cline"))


def said(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts], "ts": 1767225600000}


def test_calls_in_tags_are_calls_and_their_results_are_found_by_name(tmp_path: Path) -> None:
    content = "a <path>b</path>\n</content> c"
    call = f"<write_to_file>\n<path>x</path>\n<content>\n{content}\n</content>\n</write_to_file>"
    events = task(
        tmp_path,
        said("user", "<task>\nGo.\n</task>", "<environment_details>\nx\n</environment_details>"),
        said("assistant", f"First.\n<list_files>\n<path>.</path>\n</list_files>\nThen <b>this</b>.\n{call}"),
        said("user", "[write_to_file for 'x'] Result:", "Saved.", "[list_files for '.'] Result:", "x\ny"),
    )
    calls = [event for event in events if isinstance(event, ToolCalled)]
    assert [event.call.operations for event in calls] == [(op.ListDirectory("."),), (op.WriteFile("x", content),)]
    results = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    listing = DirectoryOutcome(".", (Entry("x"), Entry("y")))
    assert results == {calls[0].call_id: (listing,), calls[1].call_id: (TextOutcome("Saved."),)}
    assert [event.text for event in events if isinstance(event, ModelSaid)] == ["First.", "Then <b>this</b>."]
    assert [(event.text, event.by) for event in events if isinstance(event, UserSaid)] == [
        ("Go.", "user"),
        ("<environment_details>\nx\n</environment_details>", "client"),
    ]
    assert {event.session for event in events} == {"1700"}


def used(id: str, name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def replied(*blocks: dict[str, object], **more: object) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **more}


def test_calls_of_the_api_may_be_answered_in_words_and_those_that_did_not_run_say_so(tmp_path: Path) -> None:
    unrun = "Tool [read_file] was not executed because a tool has already been used in this message."
    todo = "\n\n\t# TODO LIST UPDATE REQUIRED - use task_progress"
    where = "<environment_details>\n# Current Working Directory (/w/p) Files\na.py\n</environment_details>"
    events = task(
        tmp_path,
        said("user", "<task>\nGo.\n</task>", "\n# task_progress RECOMMENDED\n", where),
        replied(used("c1", "read_file", path="a.py", task_progress="- [ ] x"), used("c2", "read_file", path="b.py")),
        said("user", "[read_file for 'a.py'] Result:\nA\n", unrun, todo),
        replied(used("c3", "read_file", path="c.py")),
        said("user", "[TASK RESUMPTION] This task was interrupted."),
        replied(used("c4", "write_to_file", absolutePath="/w/p/d.py", content="D"), used("c5", "k10mcp0find", q="x")),
        said(
            "user",
            "[write_to_file for '/w/p/d.py'] Result:\nThe content was successfully saved to d.py.\n\nMore.",
            "The user provided the following feedback:\n<feedback>\nGood.\n</feedback>",
            "[use_mcp_tool for 'docs'] Result:\nfound",
        ),
    )
    calls = [event.call for event in events if isinstance(event, ToolCalled)]
    assert [(call.id, call.operations) for call in calls] == [
        ("c1", (op.ReadFile("a.py"),)),
        ("c2", (op.ReadFile("b.py"),)),
        ("c3", (op.ReadFile("c.py"),)),
        ("c4", (op.WriteFile("/w/p/d.py", "D"),)),
        ("c5", (CallMcpTool(None, "find", {"q": "x"}),)),
    ]
    assert {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)} == {
        "c1": (FileOutcome("a.py", "A"),),
        "c2": (Failure("cancelled", unrun),),
        "c4": (DoneOutcome("The content was successfully saved to d.py."),),
        "c5": (TextOutcome("found"),),
    }
    assert [event.text for event in events if isinstance(event, UserSaid) and event.by == "user"] == ["Go.", "Good."]
    assert [event.cwd for event in events if isinstance(event, SessionStarted)] == ["/w/p"]


def test_a_result_of_the_api_has_its_introduction_taken_off(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "[read_file for 'a.py'] Result:\nA"}
    events = task(
        tmp_path, replied(used("c1", "read_file", path="a.py"), modelInfo=MODEL), {"role": "user", "content": [result]}
    )
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (FileOutcome("a.py", "A"),)


def test_a_task_without_what_the_user_saw_counts_the_tokens_of_its_replies(tmp_path: Path) -> None:
    metrics = {"tokens": {"prompt": 10, "completion": 5, "cached": 90}, "cost": 0.25}
    reply = replied({"type": "text", "text": "Yes."}, modelInfo=MODEL, metrics=metrics)
    (used,) = [event for event in task(tmp_path, reply) if isinstance(event, TokensUsed)]
    expected = Usage(input_tokens=10, cached_read_tokens=90, output_tokens=5)
    assert (used.usage, used.cost, used.model) == (expected, 0.25, "m")
    shown = {"ts": 1, "type": "say", "say": "api_req_started", "text": json.dumps({"tokensIn": 11, "tokensOut": 5})}
    written(tmp_path / "1700" / "ui_messages.json", json.dumps([shown]).encode())
    (used,) = [event for event in task(tmp_path, reply) if isinstance(event, TokensUsed)]
    assert used.usage == Usage(input_tokens=11, output_tokens=5)


def test_requests_that_are_gone_or_an_agents_are_counted_and_those_asked_again_are_errors(tmp_path: Path) -> None:
    spent = json.dumps({"tokensIn": 10, "tokensOut": 2, "cacheReads": 3, "cost": 0.5})
    again = json.dumps({"attempt": 1, "maxAttempts": 3, "errorMessage": "gone"})
    last = json.dumps({"attempt": 3, "maxAttempts": 3, "errorMessage": "gone", "failed": True})
    shown = [
        {"ts": 1, "type": "say", "say": what, "text": text}
        for what, text in (
            *(("deleted_api_reqs", spent), ("deleted_api_reqs", '{"tokensIn": 0}'), ("subagent_usage", spent)),
            *(("error_retry", again), ("error_retry", last), ("error_retry", "?")),
        )
    ]
    events = task(tmp_path, *shown, name="ui_messages.json")
    usage = Usage(input_tokens=10, cached_read_tokens=3, output_tokens=2)
    used = [event for event in events if isinstance(event, TokensUsed)]
    assert [(event.usage, event.cost) for event in used] == [(usage, 0.5)] * 2
    errors = [event for event in events if isinstance(event, ErrorOccurred)]
    assert [(event.message, event.retried) for event in errors] == [("gone", True), ("gone", False), ("?", True)]


def test_what_the_user_saw_by_itself_tells_the_words(tmp_path: Path) -> None:
    def shown(what: str, text: str, **more: Any) -> dict[str, Any]:
        return {"ts": 1767225600000, "type": "say", "say": what, "text": text, **more}

    seen = [
        shown("text", "Go."),
        shown("api_req_started", "{}", modelInfo=MODEL),
        shown("reasoning", "hm"),
        shown("text", "I", partial=True),
        shown("text", "I go."),
        shown("tool", '{"tool":"readFile","path":"a"}'),
        shown("user_feedback", "Faster."),
        shown("completion_result", "Done."),
    ]
    events = task(tmp_path, *seen, name="ui_messages.json")
    words = [event for event in events if isinstance(event, UserSaid | ModelSaid | ModelThought)]
    assert [(type(event), event.text, getattr(event, "model", None)) for event in words] == [
        (UserSaid, "Go.", None),
        (ModelThought, "hm", "m"),
        (ModelSaid, "I go.", "m"),
        (UserSaid, "Faster.", None),
        (ModelSaid, "Done.", "m"),
    ]
    written(tmp_path / "1700" / "api_conversation_history.json", b"[]")
    both = task(tmp_path, *seen, name="ui_messages.json")
    assert not any(isinstance(event, UserSaid | ModelSaid | ModelThought) for event in both)


MODEL = {"modelId": "m", "providerId": "p", "mode": "act"}


def test_a_call_that_breaks_off_is_a_call_that_cannot_be_read(tmp_path: Path) -> None:
    (call,) = [
        event
        for event in task(tmp_path, said("assistant", "<execute_command>\n<command>git log"))
        if isinstance(event, ToolCalled)
    ]
    assert (call.call.native.name, call.call.native.arguments, call.call.operations) == ("execute_command", {}, ())
    assert call.call.failure is not None


def test_a_task_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = json.dumps([said("user", "<task>\nGo.\n</task>"), said("assistant", "Yes.")]).encode()
    whole = list(read(written(tmp_path / "1700" / "api_conversation_history.json", data), "cline"))
    assert [type(event) for event in whole] == [SessionStarted, UserSaid, ModelSaid]
    for cut in range(1, len(data)):
        events = list(read(written(tmp_path / "1700" / "api_conversation_history.json", data[:cut]), "cline"))
        left = bytearray(data[:cut])
        for event in events:
            assert event.source is not None
            assert event.source.offset + event.source.length <= cut
            left[event.source.offset : event.source.offset + event.source.length] = b" " * event.source.length
        assert left.strip(b" ,]") == b""


def test_refused_and_failed_calls_of_a_task_are_failures_and_commands_have_their_code(tmp_path: Path) -> None:
    events = task(
        tmp_path,
        *(said("assistant", "<execute_command><command>false</command></execute_command>") for _ in range(4)),
        said("user", "[execute_command for 'false'] Result:", "The user denied this operation."),
        said("user", "[execute_command for 'false'] Result:", "The tool execution failed with the following error:\nx"),
        said(
            "user",
            "[execute_command for 'false'] Result:",
            "Command executed in terminal within working directory '/p'. Exit code: 3\nOutput:\nExit code: 0",
        ),
        said("user", "[execute_command for 'false'] Result:\nCommand executed.\nOutput:\nx"),
    )
    outcomes = [event.result.outcomes[0] for event in events if isinstance(event, ToolReturned)]
    assert outcomes == [
        Failure("denied", "The user denied this operation."),
        Failure("failed", "The tool execution failed with the following error:\nx"),
        CommandOutcome(exit_code=3, output="Exit code: 0"),
        CommandOutcome(output="x"),
    ]


def test_what_the_user_saw_tells_tokens_errors_and_interrupts(tmp_path: Path) -> None:
    usage = {"tokensIn": 10, "tokensOut": 2, "cacheReads": 4, "cost": 0.5}

    def asked(**facts: Any) -> dict[str, Any]:
        return {"ts": 1, "type": "say", "say": "api_req_started", "text": json.dumps({"request": "x", **facts})}

    events = task(
        tmp_path,
        asked(),
        asked(**usage),
        asked(**usage, apiProtocol="openai"),
        asked(**usage, cancelReason="user_cancelled"),
        asked(cancelReason="streaming_failed", streamingFailedMessage="gone"),
        {"ts": 2, "type": "ask", "ask": "tool", "text": "{}"},
        name="ui_messages.json",
    )
    used = [
        (event.usage.input_tokens, event.usage.total, event.cost) for event in events if isinstance(event, TokensUsed)
    ]
    assert used == [(10, 16, 0.5), (6, 12, 0.5), (10, 16, 0.5)]
    assert len([event for event in events if isinstance(event, Interrupted)]) == 1
    assert [event.message for event in events if isinstance(event, ErrorOccurred)] == ["gone"]
    assert not any(isinstance(event, ToolCalled) for event in events)


def asked(time: int, tokens: int, **more: Any) -> dict[str, Any]:
    facts = json.dumps({"request": "x", "tokensIn": tokens, "tokensOut": 0})
    return {"ts": time, "type": "say", "say": "api_req_started", "text": facts, **more}


@pytest.mark.parametrize("timed", [True, False])
def test_both_files_of_a_task_are_one_session_and_tokens_stand_with_their_reply(tmp_path: Path, timed: bool) -> None:
    call = "<list_files>\n<path>.</path>\n</list_files>"
    messages = [
        said("user", "<task>\nGo.\n</task>"),
        said("assistant", f"First. {call}"),
        said("user", "[list_files for '.'] Result:", "x"),
        said("assistant", call),
        said("user", "[list_files for '.'] Result:", "y"),
        said("assistant", "Done."),
    ]
    for index, message in enumerate(messages):
        message.pop("ts")
        if timed:
            message["ts"] = 1767225600000 + index * 10
    shown = [asked(1767225600001 + index * 20, 10 + index, modelInfo={"modelId": "m"}) for index in range(3)]
    broken = json.dumps(shown).encode()[:-1] + b', {"ts": 17'
    path = written(tmp_path / "1700" / "ui_messages.json", broken)
    said_there = written(tmp_path / "1700" / "api_conversation_history.json", json.dumps(messages).encode())
    (found,) = find_logs(str(tmp_path))
    events = list(read(found.path))
    (session,) = sessions_of(events)
    (turn,) = session.turns
    assert [(len(step.tools), step.usage.total) for step in turn.steps] == [(1, 10), (1, 11), (0, 12)]
    assert session.models == ("m",)
    used = [event.source for event in events if isinstance(event, TokensUsed)]
    assert [json.loads(path.read_bytes()[one.offset : one.offset + one.length]) for one in used if one] == shown
    (bad,) = [event.source for event in events if isinstance(event, Unreadable)]
    assert bad is not None
    assert path.read_bytes()[bad.offset :].lstrip(b", ") == b'{"ts": 17'
    with Index.in_memory() as index:
        index.update([found])
        (row,) = index.rows("sessions")
        columns = dict(zip(TABLES["sessions"].__struct_fields__, row, strict=True))
        assert (columns["turns"], columns["steps"], columns["file"]) == (1, 3, str(said_there))


def test_a_result_that_is_flagged_is_a_failure(tmp_path: Path) -> None:
    flagged = cline_result("t1", "ask_question", "nobody is there") | {"is_error": True}
    events = events_of(tmp_path, with_message({"id": "n1", "role": "user", "content": [flagged]}))
    outcomes = [event.result.outcomes for event in events if isinstance(event, ToolReturned)]
    assert outcomes == [(Failure("failed", "nobody is there"),)]


def test_replies_without_tokens_are_told_apart_by_their_messages(tmp_path: Path) -> None:
    def reply(id: str) -> dict[str, Any]:
        message = cline_reply(f"n-{id}", cline_call(id, "run_commands", commands=["true"]))
        message.pop("metrics")
        return message

    results = [{"role": "user", "content": [cline_result(id, "run_commands", "x")]} for id in ("t1", "t2")]
    head = json.loads(CLINE)
    head["messages"] = [head["messages"][0], reply("t1"), results[0], reply("t2"), results[1]]
    (session,) = sessions_of(events_of(tmp_path, json.dumps(head).encode()))
    steps = session.turns[0].steps
    assert [[use.called.call.id for use in step.tools] for step in steps] == [["t1"], ["t2"]]


def test_a_task_is_named_by_its_folder_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(
        tmp_path / "1700" / "api_conversation_history.json", json.dumps([said("assistant", "Yes.")]).encode()
    )
    monkeypatch.chdir(path.parent)
    assert {event.session for event in read(path.name, "cline")} == {"1700"}


def test_the_prompt_of_a_server_of_openai_s_kind_counts_the_cache_only_once(tmp_path: Path) -> None:
    """As 2.14.0 logs it, in the reply and in what the user saw: `prompt` and `tokensIn` hold the cached tokens."""
    model = {"modelId": "m", "providerId": "openai", "mode": "act"}
    metrics = {"tokens": {"prompt": 100, "completion": 5, "cached": 90}}
    reply = replied({"type": "text", "text": "Yes."}, modelInfo=model, metrics=metrics)
    expected = Usage(input_tokens=10, cached_read_tokens=90, output_tokens=5)
    assert [event.usage for event in task(tmp_path, reply) if isinstance(event, TokensUsed)] == [expected]
    spent = json.dumps({"request": "x", "tokensIn": 100, "tokensOut": 5, "cacheWrites": 0, "cacheReads": 90})
    shown = {"ts": 1, "type": "say", "say": "api_req_started", "text": spent, "modelInfo": model}
    written(tmp_path / "1700" / "ui_messages.json", json.dumps([shown]).encode())
    both = [event.usage for event in task(tmp_path, reply) if isinstance(event, TokensUsed)]
    assert [(one.input_tokens, one.total) for one in both] == [(10, 105)]


def test_what_the_client_adds_to_a_task_opens_no_turn(tmp_path: Path) -> None:
    """2.14.0 answers a call of an unknown tool with a "user" message that holds the environment alone, or nothing."""
    where = "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"
    events = task(
        tmp_path,
        said("user", "<task>\nGo.\n</task>", where),
        replied(used("c1", "no_such", x="1")),
        said("user", where),
        replied({"type": "text", "text": "Hm."}),
        said("user", ""),
        replied({"type": "text", "text": "Done."}),
    )
    (session,) = sessions_of(events)
    assert len(session.turns) == 1
    assert [(event.text, event.by) for event in events if isinstance(event, UserSaid)] == [
        ("Go.", "user"),
        (where, "client"),
        (where, "client"),
    ]


def test_a_call_of_a_server_that_failed_in_a_task_is_a_failure(tmp_path: Path) -> None:
    """2.14.0 says so in words alone, whether the model named the server or called by the tool's own name."""
    events = task(
        tmp_path,
        said("user", "<task>\nGo.\n</task>"),
        replied(used("c1", "use_mcp_tool", server_name="toy", tool_name="fail", arguments="{}")),
        said("user", "[use_mcp_tool for 'toy'] Result:\nError:\ntoy failure: r"),
        replied(used("c2", "c-Ab120mcp0fail", reason="why")),
        said("user", "[use_mcp_tool for 'toy'] Result:\nError:\ntoy failure: why"),
        replied(used("c3", "c-Ab120mcp0echo", text="Error:")),
        said("user", "[use_mcp_tool for 'toy'] Result:\nno Error:\nat all"),
    )
    assert {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)} == {
        "c1": (Failure("failed", "toy failure: r"),),
        "c2": (Failure("failed", "toy failure: why"),),
        "c3": (TextOutcome("no Error:\nat all"),),
    }


def test_a_listing_of_all_below_a_folder_is_a_listing_and_not_a_search_for_files(tmp_path: Path) -> None:
    events = task(
        tmp_path,
        said("user", "<task>\nGo.\n</task>"),
        replied(used("c1", "list_files", path="src", recursive=True)),
        said("user", "[list_files for 'src'] Result:\na.py\nutil/\nutil/b.py"),
    )
    (called,) = [event.call for event in events if isinstance(event, ToolCalled)]
    (returned,) = [event.result for event in events if isinstance(event, ToolReturned)]
    assert called.operations == (op.ListDirectory("src", prefix=""),)
    entries = (Entry("a.py"), Entry("util", "directory"), Entry("util/b.py"))
    assert returned.outcomes == (DirectoryOutcome("src", entries),)
