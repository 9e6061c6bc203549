"""pi's logs: a tree of records, read as events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.logs import FORMATS, Places, check_format, read, recognise, sessions_of
from dragoman.logs.base.format import sample_of
from dragoman.logs.history import all_logs
from dragoman.model import (
    AnyEvent,
    Change,
    ChangesOutcome,
    ClientNoted,
    CommandInvoked,
    CommandOutcome,
    ContextCompacted,
    ErrorOccurred,
    Failure,
    FileOutcome,
    FinishReason,
    HistoryRewound,
    Interrupted,
    Media,
    ModelChanged,
    ModelFinished,
    ModelSaid,
    ModelThought,
    ReadFile,
    RunCommand,
    SessionStarted,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    Usage,
    UserSaid,
)
from tests.logs.samples import PI, PI_HEADER, lines, pi_reply, pi_result


def events_of(folder: Path, data: bytes, name: str = "t_i-1.jsonl") -> list[AnyEvent]:
    path = folder / name
    path.write_bytes(data)
    return list(read(path, "pi"))


def message(id: str, parent: str | None, role: str, **more: Any) -> dict[str, Any]:
    told = {"role": role, **more}
    return {"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:02.000Z", "message": told}


def test_a_session_is_told_in_the_order_of_its_records(tmp_path: Path) -> None:
    kinds = [type(event) for event in events_of(tmp_path, PI)]
    ended = [TokensUsed, ModelFinished]
    assert kinds == [
        SessionStarted,
        *[ModelChanged, ModelChanged],
        UserSaid,
        *[ModelThought, ModelSaid, ToolCalled, ToolCalled, *ended],
        *[ToolReturned, ToolReturned],
        *[ModelSaid, *ended],
        *[HistoryRewound, UserSaid],
        *[TokensUsed, Interrupted, ModelFinished],
        ContextCompacted,
        UnknownRecord,
    ]


def test_a_session_begins_with_its_folder_and_where_it_was_forked_from(tmp_path: Path) -> None:
    origin = {**PI_HEADER, "parentSession": "C:\\h\\2025-01-01_i-0.jsonl"}
    (started,) = events_of(tmp_path, lines(origin))
    assert isinstance(started, SessionStarted)
    assert (started.session, started.cwd, started.forked_from) == ("i-1", "/p", "i-0")
    assert started.metadata == {"version": 3, "parentSession": "C:\\h\\2025-01-01_i-0.jsonl"}


def test_calls_and_results_are_typed_and_joined_by_id(tmp_path: Path) -> None:
    events = events_of(tmp_path, PI)
    called = {event.call.id: event.call.operations for event in events if isinstance(event, ToolCalled)}
    returned = {event.call_id: event.result.outcomes for event in events if isinstance(event, ToolReturned)}
    assert called == {"t1": (RunCommand("false"),), "t2": (ReadFile("a"),)}
    assert returned == {"t1": (CommandOutcome(1, output=""),), "t2": (FileOutcome("a", "text"),)}


def test_tokens_and_cost_are_those_of_each_reply(tmp_path: Path) -> None:
    events = events_of(tmp_path, PI)
    used = [(event.usage, event.cost) for event in events if isinstance(event, TokensUsed)]
    each = Usage(input_tokens=10, cached_read_tokens=3, cached_write_tokens=2, output_tokens=7)
    assert used == [(each, 0.003)] * 3
    assert [event.finish for event in events if isinstance(event, ModelFinished)] == [
        FinishReason.CALLS,
        FinishReason.STOP,
        FinishReason.INTERRUPTED,
    ]


def test_a_price_that_is_not_known_is_not_nothing(tmp_path: Path) -> None:
    reply = pi_reply("1", "0")
    reply["message"]["usage"]["cost"] = {"total": 0}
    used = [event.cost for event in events_of(tmp_path, lines(PI_HEADER, reply)) if isinstance(event, TokensUsed)]
    assert used == [None]


def test_a_record_that_follows_from_an_earlier_one_rewinds_to_its_last_event(tmp_path: Path) -> None:
    events = events_of(tmp_path, PI)
    (rewound,) = [event for event in events if isinstance(event, HistoryRewound)]
    said = next(event for event in events if isinstance(event, UserSaid))
    assert rewound.to == said.id
    assert said.text == "Fix it."


def test_records_without_ids_are_a_list_and_rewind_nothing(tmp_path: Path) -> None:
    first = {"type": "message", "message": {"role": "user", "content": "One."}}
    second = {"type": "message", "message": {"role": "user", "content": "Two."}}
    header = {key: PI_HEADER[key] for key in ("type", "id", "timestamp", "cwd")}
    events = events_of(tmp_path, lines(header, first, second))
    assert [event.text for event in events if isinstance(event, UserSaid)] == ["One.", "Two."]
    assert not [event for event in events if isinstance(event, HistoryRewound)]


def test_what_the_client_puts_in_is_said_by_the_client(tmp_path: Path) -> None:
    data = lines(
        PI_HEADER,
        message("1", None, "custom", customType="x", content="From an extension."),
        {"type": "custom_message", "id": "2", "parentId": "1", "customType": "x", "content": "More."},
        {"type": "branch_summary", "id": "3", "parentId": "2", "fromId": "1", "summary": "We tried A."},
        message("4", "3", "branchSummary", summary="We tried B."),
    )
    said = [(event.by, event.text) for event in events_of(tmp_path, data) if isinstance(event, UserSaid)]
    assert said == [
        ("client", "From an extension."),
        ("client", "More."),
        ("client", "We tried A."),
        ("client", "We tried B."),
    ]


def test_a_command_of_the_users_is_no_call_of_the_models(tmp_path: Path) -> None:
    data = lines(
        PI_HEADER,
        message("1", None, "bashExecution", command="ls", output="a", exitCode=0),
        message("2", "1", "bashExecution", command="pwd", output="/p", exitCode=0, excludeFromContext=True),
    )
    events = events_of(tmp_path, data)[1:]
    assert [(event.name, event.arguments) for event in events if isinstance(event, CommandInvoked)] == [
        ("!", "ls"),
        ("!!", "pwd"),
    ]
    assert [event.data for event in events if isinstance(event, ClientNoted)] == [
        {"output": "a", "exitCode": 0},
        {"output": "/p", "exitCode": 0, "excludeFromContext": True},
    ]


def test_book_keeping_is_noted_with_what_it_says(tmp_path: Path) -> None:
    data = lines(
        PI_HEADER,
        {"type": "session_info", "id": "1", "parentId": None, "name": "Mending"},
        {"type": "label", "id": "2", "parentId": "1", "targetId": "1", "label": "here"},
        {"type": "custom", "id": "3", "parentId": "2", "customType": "x", "data": {"n": 1}},
    )
    noted = [(event.name, event.data) for event in events_of(tmp_path, data) if isinstance(event, ClientNoted)]
    assert noted == [
        ("session_info", {"name": "Mending"}),
        ("label", {"targetId": "1", "label": "here"}),
        ("custom/x", {"customType": "x", "data": {"n": 1}}),
    ]


def test_failures_and_errors_are_told_apart(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "t1", "name": "no_such", "arguments": {"x": 1}}
    data = lines(
        PI_HEADER,
        pi_reply("1", "0", call, stop="toolUse"),
        pi_result("2", "1", "t1", "no_such", "Tool no_such not found", failed=True),
        pi_reply("3", "2", stop="error", errorMessage="rate limited"),
    )
    events = events_of(tmp_path, data)
    assert [event.result.outcomes for event in events if isinstance(event, ToolReturned)] == [
        (Failure("unknown_tool", "Tool no_such not found"),)
    ]
    assert [event.message for event in events if isinstance(event, ErrorOccurred)] == ["rate limited"]


def test_pictures_stay_beside_the_words(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "See."}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    events = events_of(tmp_path, lines(PI_HEADER, message("1", None, "user", content=content)))
    assert [(event.text, event.media) for event in events if isinstance(event, UserSaid)] == [
        ("See.", (Media("image/png", data="AAAA"),))
    ]


def test_a_summary_stands_for_what_went_before(tmp_path: Path) -> None:
    (compacted,) = [event for event in events_of(tmp_path, PI) if isinstance(event, ContextCompacted)]
    assert (compacted.summary, compacted.tokens_before, compacted.trigger) == ("We tried.", 900, None)


def test_a_bad_line_costs_nothing_else(tmp_path: Path) -> None:
    whole = events_of(tmp_path, PI)
    events = events_of(tmp_path, PI + b'{"type": "message", "mess\n[1]\n')
    assert events[: len(whole)] == whole
    assert [type(event) for event in events[len(whole) :]] == [Unreadable, Unreadable]


def test_a_session_holds_its_turns_and_its_tokens(tmp_path: Path) -> None:
    (session,) = sessions_of(events_of(tmp_path, PI))
    assert (session.id, session.cwd, session.models, session.usage.total) == ("i-1", "/p", ("m-1",), 66)
    assert [len(turn.steps) for turn in session.turns] == [2, 1, 0]


def test_look_alikes_are_told_apart(tmp_path: Path) -> None:
    droid = {"type": "session_start", "id": "d", "title": "x", "cwd": "/p"}
    said = {"type": "message", "id": "1", "timestamp": "t", "message": {"role": "user", "content": "Hi."}}
    stream = lines({"type": "message_start", "message": {"role": "assistant", "content": []}}, {"type": "message_stop"})
    for data in (lines(droid, said), stream):
        path = tmp_path / "x.jsonl"
        path.write_bytes(data)
        assert FORMATS["pi"].recognise(sample_of(path)) == 0.0


def test_a_file_without_its_beginning_is_known_by_its_results(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(PI.split(b"\n", 4)[4])
    assert recognise(path)[0] is FORMATS["pi"]


def test_homes_and_files_are_where_the_client_keeps_them(tmp_path: Path) -> None:
    format = FORMATS["pi"]
    assert list(format.homes(Places(Path("/h")))) == [Path("/h/.pi/agent/sessions")]
    named = format.homes(Places(Path("/h"), {"PI_CODING_AGENT_DIR": "/x"}))
    assert list(named) == [Path("/x/sessions"), Path("/h/.pi/agent/sessions")]
    (tmp_path / "--p--").mkdir()
    (tmp_path / "--p--" / "t_i-1.jsonl").write_bytes(PI)
    assert list(format.files(tmp_path)) == [tmp_path / "--p--" / "t_i-1.jsonl"]


def test_an_edit_counts_its_lines_by_the_difference_beside_the_result(tmp_path: Path) -> None:
    arguments = {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}
    result = pi_result("2", "1", "t1", "edit", "Successfully replaced 1 block(s) in a.")
    result["message"]["details"] = {"diff": " 1 z\n-2 x\n+2 y\n+3 y"}
    call = {"type": "toolCall", "id": "t1", "name": "edit", "arguments": arguments}
    events = events_of(tmp_path, lines(PI_HEADER, pi_reply("1", "0", call), result))
    assert [event.result.outcomes for event in events if isinstance(event, ToolReturned)] == [
        (ChangesOutcome((Change("a", "modified", added=2, removed=1, replacements=1),)),)
    ]


def test_a_reply_that_was_cut_and_a_thought_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    thoughts = [{"type": "thinking", "thinking": "hm"}, {"type": "thinking", "thinking": "", "redacted": True}]
    events = events_of(tmp_path, lines(PI_HEADER, pi_reply("1", "0", *thoughts, stop="length")))
    assert [event.hidden for event in events if isinstance(event, ModelThought)] == [False, True]
    assert [event.finish for event in events if isinstance(event, ModelFinished)] == [FinishReason.LENGTH]


def test_calls_that_are_numbered_anew_have_their_own_results(tmp_path: Path) -> None:
    replies: list[dict[str, Any]] = []
    for word in ("a", "b"):
        block = {"type": "toolCall", "id": "call_0", "name": "bash", "arguments": {"command": word}}
        result = {"role": "toolResult", "toolCallId": "call_0", "toolName": "bash", "content": word, "isError": False}
        replies += [{"role": "assistant", "content": [block], "stopReason": "toolUse"}, result]
    records = [{"type": "message", "message": one} for one in ({"role": "user", "content": "Go."}, *replies)]
    path = tmp_path / "x_i-9.jsonl"
    path.write_bytes(
        lines({"type": "session", "id": "i-9", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p"}, *records)
    )
    (session,) = sessions_of(read(path, "pi"))
    uses = [use for step in session.turns[0].steps for use in step.tools]
    given = [use.returned.result.native.content for use in uses if use.returned and use.returned.result.native]
    assert given == ["a", "b"]


def test_a_folder_that_is_named_from_home_is_found_there(tmp_path: Path) -> None:
    log = tmp_path / "agents" / "sessions" / "p" / "x_i-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(PI)
    assert [one.path for one in all_logs(Places(tmp_path, {"PI_CODING_AGENT_DIR": "~/agents"}))] == [log]


def test_what_summaries_and_tools_used_is_counted_too(tmp_path: Path) -> None:
    used = {"input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 6}
    asking = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ask"}}
    result = pi_result("00000003", "00000002", "t1", "bash", "yes")
    result["message"]["usage"] = used
    summary = {"type": "compaction", "summary": "All.", "tokensBefore": 9, "usage": used}
    left = {"type": "branch_summary", "summary": "Left.", "fromId": "00000004", "usage": used}
    path = tmp_path / "t_i-1.jsonl"
    path.write_bytes(
        lines(
            PI_HEADER,
            message("00000001", None, "user", content="Ask."),
            pi_reply("00000002", "00000001", asking, stop="toolUse"),
            result,
            {**summary, "id": "00000004", "parentId": "00000003", "timestamp": "2026-01-01T00:00:03.000Z"},
            {**left, "id": "00000005", "parentId": "00000004", "timestamp": "2026-01-01T00:00:04.000Z"},
        )
    )
    (session,) = sessions_of(read(path))
    assert session.usage.total == 22 + 3 * 6


def test_what_version_2_called_a_hooks_message_is_the_clients(tmp_path: Path) -> None:
    tools = {"type": "active_tools_change", "id": "00000002", "parentId": "00000001", "activeToolNames": ["read"]}
    _, heard, noted = events_of(
        tmp_path, lines(PI_HEADER, message("00000001", None, "hookMessage", content="Mind the tests."), tools)
    )
    assert isinstance(heard, UserSaid)
    assert (heard.text, heard.by) == ("Mind the tests.", "client")
    assert isinstance(noted, ClientNoted)
    assert noted.data == {"activeToolNames": ["read"]}


def test_what_the_client_prints_is_told_once(tmp_path: Path) -> None:
    def printed(kind: str, role: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "message": {"role": role, "timestamp": 1_767_225_602_000, **more}}

    def told_twice(role: str, **more: Any) -> list[dict[str, Any]]:
        return [printed("message_start", role, **more), printed("message_end", role, **more)]

    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}
    reply = {"content": [call], "model": "m-1", "usage": {"input": 5, "output": 1}, "stopReason": "toolUse"}
    result = {"toolCallId": "t1", "toolName": "bash", "content": [{"type": "text", "text": "a"}], "isError": False}
    path = tmp_path / "printed.jsonl"
    path.write_bytes(
        lines(
            PI_HEADER,
            {"type": "agent_start"},
            *told_twice("user", content="Look."),
            *told_twice("assistant", **reply),
            {"type": "tool_execution_start", "toolCallId": "t1", "toolName": "bash", "args": {"command": "ls"}},
            {"type": "tool_execution_end", "toolCallId": "t1", "toolName": "bash", "result": {}, "isError": False},
            *told_twice("toolResult", **result),
            {"type": "compaction_end", "reason": "manual", "result": {"summary": "All.", "tokensBefore": 9}},
            {"type": "agent_end", "messages": [reply]},
        )
    )
    told = [event for event in read(path) if not isinstance(event, ClientNoted)]
    assert [type(event) for event in told] == [
        SessionStarted,
        UserSaid,
        *[ToolCalled, TokensUsed, ModelFinished],
        ToolReturned,
        ContextCompacted,
    ]
    assert told[1].time is not None
    assert check_format(FORMATS["pi"], path) == []
