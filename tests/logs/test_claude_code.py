"""Claude Code's log: what each kind of record becomes."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import FORMATS, Index, Query, read, recognise, sessions_of
from dragoman.logs.base.checkpoint import restored, stored
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.logs.history.rows import CallRow, SessionRow
from dragoman.logs.history.sessions import Counter
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    ClientNoted,
    CommandInvoked,
    CommandOutcome,
    ContextCompacted,
    ErrorOccurred,
    Failure,
    FinishReason,
    HistoryRewound,
    Interrupted,
    ModelFinished,
    ModelSaid,
    ModelThought,
    NativeCall,
    NativeResult,
    SessionStarted,
    Source,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    UserSaid,
)
from tests.logs.samples import CLAUDE, _block, _claude, _told, lines


def events(tmp_path: Path, data: bytes, name: str = "s-1.jsonl") -> list[AnyEvent]:
    path = tmp_path / name
    path.write_bytes(data)
    return list(read(path, "claude_code"))


def test_a_session_is_told_record_by_record(tmp_path: Path) -> None:
    told = events(tmp_path, CLAUDE)
    assert [type(event) for event in told] == [
        ClientNoted,
        SessionStarted,
        UserSaid,
        ModelThought,
        ToolCalled,
        ToolReturned,
        ToolCalled,
        ToolReturned,
        TokensUsed,
        ModelFinished,
        ModelSaid,
        UnknownRecord,
        TokensUsed,
        ModelFinished,
    ]
    started = told[1]
    assert isinstance(started, SessionStarted)
    assert (started.cwd, started.branch, started.session, started.version) == ("/p", "main", "s-1", "2.1.300")


def test_tokens_of_a_message_are_counted_once_though_a_result_stands_between_its_lines(tmp_path: Path) -> None:
    (session,) = sessions_of(events(tmp_path, CLAUDE))
    assert session.usage.total == 2 * (10 + 7 + 3)
    assert [len(turn.steps) for turn in session.turns] == [2]
    assert [len(step.tools) for step in session.turns[0].steps] == [2, 0]


def test_a_failed_command_is_a_command_with_its_exit_code(tmp_path: Path) -> None:
    returned = [event for event in events(tmp_path, CLAUDE) if isinstance(event, ToolReturned)]
    (outcome,) = returned[0].result.outcomes
    assert isinstance(outcome, CommandOutcome)
    assert outcome.exit_code == 1


def one(tmp_path: Path, record: dict[str, Any]) -> AnyEvent:
    return events(tmp_path, lines(record))[-1]


def said(text: str, **more: Any) -> dict[str, Any]:
    return _claude("user", "u1", None, message={"role": "user", "content": text}, **more)


def test_what_users_and_clients_say(tmp_path: Path) -> None:
    assert isinstance(one(tmp_path, said("[Request interrupted by user for tool use]")), Interrupted)
    command = one(tmp_path, said("<command-name>/compact</command-name><command-args>now</command-args>"))
    assert isinstance(command, CommandInvoked)
    assert (command.name, command.arguments) == ("/compact", "now")
    for fact in ({"isMeta": True}, {"isCompactSummary": True}, {"origin": {"kind": "task-notification"}}):
        event = one(tmp_path, said("hm", **fact))
        assert isinstance(event, UserSaid)
        assert event.by == "client"
    for text in ("<bash-stdout>a</bash-stdout>", "<task-notification>done</task-notification>"):
        assert one(tmp_path, said(text)).by == "client"  # type: ignore[attr-defined]
    for kind, by in (("human", "user"), ("coordinator", "agent")):
        assert one(tmp_path, said("hm", origin={"kind": kind})).by == by  # type: ignore[union-attr]


def test_who_speaks_of_a_command_gives_none(tmp_path: Path) -> None:
    words = "What is <command-name>/compact</command-name> in my log?"
    for fact in ({}, {"isCompactSummary": True}):
        event = one(tmp_path, said(words, **fact))
        assert isinstance(event, UserSaid)
        assert event.text == words


def test_a_command_may_stand_beside_what_an_editor_adds(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": text}
        for text in ("<ide_opened_file>a</ide_opened_file>", "<command-name>/x</command-name>")
    ]
    command = one(tmp_path, said("") | {"message": {"role": "user", "content": parts}})
    assert isinstance(command, CommandInvoked)
    assert command.name == "/x"


def test_commands_stand_in_records_of_the_system_as_well(tmp_path: Path) -> None:
    words = "<command-name>/model</command-name>\n<command-args>opus</command-args>"
    command = one(tmp_path, _claude("system", "u1", None, subtype="local_command", content=words))
    assert isinstance(command, CommandInvoked)
    assert (command.name, command.arguments) == ("/model", "opus")
    output = "<local-command-stdout>Set</local-command-stdout>"
    noted = one(tmp_path, _claude("system", "u1", None, subtype="local_command", content=output))
    assert isinstance(noted, ClientNoted)
    assert (noted.name, noted.data) == ("local-command", {"text": output})


def test_what_is_said_after_a_command_the_client_did_itself_is_a_turn_of_its_own(tmp_path: Path) -> None:
    command, output = said("<command-name>/clear</command-name>"), said("<local-command-stdout></local-command-stdout>")
    (session,) = sessions_of(events(tmp_path, lines(command, output, said("Begin."))))
    assert [type(turn.opened_by) for turn in session.turns] == [CommandInvoked, UserSaid]
    assert session.title == "Begin."
    body = said("Do as follows.", isMeta=True)
    (session,) = sessions_of(events(tmp_path, lines(said("<command-name>/mine</command-name>"), body)))
    assert [type(turn.opened_by) for turn in session.turns] == [CommandInvoked]


def test_a_prompt_given_while_the_model_is_at_work_is_said_by_the_user(tmp_path: Path) -> None:
    def queued(prompt: Any, mode: str, **more: Any) -> AnyEvent:
        noted = {"type": "queued_command", "prompt": prompt, "commandMode": mode, **more}
        return one(tmp_path, _claude("attachment", "u1", None, attachment=noted))

    told = [
        queued("And the tests.", "prompt", origin={"kind": "human"}),
        queued([{"type": "text", "text": "And the tests."}], "prompt"),
        queued("<task-notification>It is done.</task-notification>", "task-notification"),
    ]
    said_by = [(event.text, event.by) for event in told if isinstance(event, UserSaid)]
    done = "<task-notification>It is done.</task-notification>"
    assert said_by == [("And the tests.", "user"), ("And the tests.", "user"), (done, "client")]


def test_no_record_is_without_an_event(tmp_path: Path) -> None:
    first = said("hello")
    empty = [[], [{"type": "text", "text": ""}], [{"type": "a-new-kind"}], [{"type": "image", "source": {}}]]
    records = [_claude("user", "u2", "u1", message={"role": "user", "content": content}) for content in empty]
    records.append(_claude("assistant", "u3", "u2", message={"role": "assistant", "content": []}))
    told = events(tmp_path, lines(first, *records))[2:]
    names = [event.name for event in told if isinstance(event, ClientNoted)]
    assert names == ["user/empty", "user/empty", "block:a-new-kind", "block:image", "assistant/empty"]


def test_tokens_belong_to_the_reply_they_were_used_for_and_not_to_the_next_turn(tmp_path: Path) -> None:
    def reply(uuid: str, parent: str, message: str) -> dict[str, Any]:
        return _block(uuid, parent, {"type": "text", "text": message}, "end_turn", message)

    compacted = _claude("system", "u5", None, subtype="compact_boundary")
    second = _claude("user", "u3", "u2", message={"role": "user", "content": "And?"})
    records = (said("Go."), reply("u2", "u1", "a"), second, reply("u4", "u3", "b"), compacted, reply("u6", "u5", "c"))
    (session,) = sessions_of(events(tmp_path, lines(*records)))
    assert [[step.usage.total for step in turn.steps] for turn in session.turns] == [[20], [20], [20]]
    assert [[step.said[0].text for step in turn.steps] for turn in session.turns] == [["a"], ["b"], ["c"]]


def test_tokens_of_a_message_without_an_id_are_counted(tmp_path: Path) -> None:
    record = _block("u1", "u0", {"type": "text", "text": "a"})
    other = _block("u2", "u1", {"type": "text", "text": "b"}) | {"requestId": None}
    for one_of_them in (record, other):
        del one_of_them["message"]["id"]
    told = events(tmp_path, lines(record, record, other))
    assert sum(event.usage.total or 0 for event in told if isinstance(event, TokensUsed)) == 2 * 20
    assert len({event.id for event in told}) == len(told)


def test_lines_of_messages_of_several_agents_in_one_file_may_alternate(tmp_path: Path) -> None:
    def line(uuid: str, parent: str, message: str, tokens: int) -> dict[str, Any]:
        record = _block(uuid, parent, {"type": "text", "text": uuid}, None, message) | {"isSidechain": True}
        record["message"]["usage"] = {"input_tokens": 1, "output_tokens": tokens}
        return record

    begun = [said("A") | {"uuid": "u1", "isSidechain": True}, said("B") | {"uuid": "u2", "isSidechain": True}]
    alternating = (
        line("u3", "u1", "a", 1),
        line("u4", "u2", "b", 1),
        line("u5", "u3", "a", 7),
        line("u6", "u4", "b", 8),
    )
    told = [event for event in events(tmp_path, lines(*begun, *alternating)) if isinstance(event, TokensUsed)]
    used = sorted((event.stream, event.usage.output_tokens) for event in told)
    assert used == [("sidechain-u1", 7), ("sidechain-u2", 8)]


def test_a_prompt_that_takes_the_place_of_another_rewinds_to_it(tmp_path: Path) -> None:
    def prompt(uuid: str, parent: str | None, text: str) -> dict[str, Any]:
        return _claude("user", uuid, parent, message={"role": "user", "content": text})

    def reply(uuid: str, parent: str | None) -> dict[str, Any]:
        return _block(uuid, str(parent), {"type": "text", "text": uuid}, "end_turn", f"m-{uuid}") | {
            "parentUuid": parent
        }

    def rewound(*records: dict[str, Any]) -> list[str]:
        told = events(tmp_path, lines(*records))
        texts = {event.id: event.text for event in told if isinstance(event, UserSaid)}
        return [texts[str(event.to)] for event in told if isinstance(event, HistoryRewound)]

    straight = (prompt("u1", None, "one"), reply("u2", "u1"), prompt("u3", "u2", "two"), reply("u4", "u3"))
    assert rewound(*straight) == []
    assert rewound(*straight, prompt("u5", "u2", "two, better")) == ["two"]
    assert rewound(*straight, prompt("u5", None, "one, better")) == ["one"]
    assert rewound(*straight, prompt("u5", "u4", "three"), prompt("u6", "u4", "three, not yet answered")) == []
    assert rewound(*straight, *straight[2:]) == []  # the same once more is a copy
    unlinked = (prompt("u1", None, "one"), reply("u2", None), prompt("u3", None, "two"), reply("u4", None))
    assert rewound(*unlinked, prompt("u5", None, "three")) == []


def test_what_the_client_says_in_the_models_place_names_no_model(tmp_path: Path) -> None:
    record = _block("u1", "u0", {"type": "text", "text": "No response requested."})
    record["message"]["model"] = "<synthetic>"
    told = events(tmp_path, lines(record))
    assert [event.model for event in told if isinstance(event, ModelSaid | TokensUsed)] == [None]


def test_a_fork_says_what_it_branched_off(tmp_path: Path) -> None:
    started = events(tmp_path, lines(said("go on", forkedFrom={"sessionId": "s-0", "messageUuid": "u9"})))[0]
    assert isinstance(started, SessionStarted)
    assert started.forked_from == "s-0"


def test_what_stands_beside_several_results_is_of_none_of_them(tmp_path: Path) -> None:
    def call(id: str) -> dict[str, Any]:
        return _block("u1", "u0", {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}})

    both = _told("u2", "u1", "t1", "first", result={"stdout": "second", "stderr": ""})
    both["message"]["content"].append({"type": "tool_result", "tool_use_id": "t2", "content": "second"})
    told = events(tmp_path, lines(call("t1"), call("t2"), both))
    outcomes = [event.result.outcomes for event in told if isinstance(event, ToolReturned)]
    assert outcomes == [(CommandOutcome(0, output="first"),), (CommandOutcome(0, output="second"),)]


def test_pieces_of_a_result_keep_their_order(tmp_path: Path) -> None:
    call = _block("u1", "u0", {"type": "tool_use", "id": "t1", "name": "mcp__a__b", "input": {}})
    resource = {"type": "resource", "resource": {"uri": "x:y", "text": "third"}}
    given = ["first", {"type": "text", "text": "second"}, resource]
    told = events(tmp_path, lines(call, _told("u2", "u1", "t1", given)))
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    assert returned.result.native.content == "first\nsecond\nthird"


def test_files_that_hold_nothing_but_notes_are_known(tmp_path: Path) -> None:
    summary = {"type": "summary", "summary": "What was done", "leafUuid": "u9"}
    snapshot = {"type": "file-history-snapshot", "messageId": "u9", "snapshot": {}}
    path = tmp_path / "notes.jsonl"
    path.write_bytes(lines(*[summary] * 60, snapshot))
    assert [type(event) for event in read(path)] == [ClientNoted] * 61


def test_trouble_and_compaction(tmp_path: Path) -> None:
    retried = one(
        tmp_path, _claude("system", "u1", None, subtype="api_error", error={"status": 529, "message": "busy"})
    )
    assert isinstance(retried, ErrorOccurred)
    assert (retried.status, retried.message, retried.retried) == (529, "busy", True)
    facts = {"trigger": "manual", "preTokens": 9, "postTokens": 2}
    compacted = one(tmp_path, _claude("system", "u1", None, subtype="compact_boundary", compactMetadata=facts))
    assert isinstance(compacted, ContextCompacted)
    assert (compacted.trigger, compacted.tokens_before, compacted.tokens_after) == ("manual", 9, 2)
    fatal = _block("u2", "u1", {"type": "text", "text": "API Error: 400"}) | {"isApiErrorMessage": True}
    assert isinstance(one(tmp_path, fatal), ErrorOccurred)
    fatal["message"]["content"] = "API Error: 401"
    assert one(tmp_path, fatal).message == "API Error: 401"  # type: ignore[union-attr]


def test_the_summary_that_stands_for_what_went_before_is_in_the_compaction(tmp_path: Path) -> None:
    cut = _claude("system", "u2", None, subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9})
    note = {"type": "mode", "sessionId": "s-1"}
    summary = _claude("user", "u3", "u2", message={"role": "user", "content": "All of it."}, isCompactSummary=True)
    told = events(tmp_path, lines(said("Go."), cut, note, summary, said("And?")))[2:]
    assert [type(event) for event in told] == [ClientNoted, ContextCompacted, ClientNoted, UserSaid]
    compacted = told[1]
    assert isinstance(compacted, ContextCompacted)
    assert (compacted.summary, compacted.trigger, compacted.tokens_before) == ("All of it.", "auto", 9)
    assert compacted.source is not None
    assert compacted.source.offset == len(lines(said("Go.")))
    without = events(tmp_path, lines(said("Go."), cut, said("And?")))[2:]
    assert [type(event) for event in without] == [ContextCompacted, UserSaid]


def test_an_error_wrapped_in_others_is_told_in_its_own_words(tmp_path: Path) -> None:
    wrapped = {"status": 529, "headers": {}, "error": {"type": "error", "error": {"message": "Overloaded"}}}
    for error, message in (
        (wrapped, "Overloaded"),
        ("reset", "reset"),
        ({"cause": {"code": "ECONNRESET"}}, "ECONNRESET"),
    ):
        event = one(tmp_path, _claude("system", "u1", None, subtype="api_error", error=error))
        assert isinstance(event, ErrorOccurred)
        assert event.message == message


def test_a_denial_is_a_denial(tmp_path: Path) -> None:
    call = _block("u1", "u0", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm"}})
    text = "Permission to use Bash with command rm has been denied."
    told = events(tmp_path, lines(call, _told("u2", "u1", "t1", text, is_error=True, result=f"Error: {text}")))
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    (outcome,) = returned.result.outcomes
    assert isinstance(outcome, Failure)
    assert outcome.kind == "denied"


def test_sub_agents_inline_and_in_files_of_their_own_are_linked(tmp_path: Path) -> None:
    call = _block(
        "u1", "u0", {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Count.", "description": "d"}}
    )
    inline = _claude("user", "u2", None, message={"role": "user", "content": "Count."}) | {"isSidechain": True}
    main = events(tmp_path, lines(call, inline))
    (session,) = sessions_of(main)
    assert [child.parent_call for child in session.children] == ["t1"]
    result = _told("u3", "u1", "t1", "done", result={"agentId": "a7", "status": "completed"})
    agent = _claude("user", "u4", None, message={"role": "user", "content": "Count."}, agentId="a7") | {
        "isSidechain": True
    }
    both = [*events(tmp_path, lines(call, result)), *events(tmp_path, lines(agent), "agent-a7.jsonl")]
    assert any(isinstance(event, AgentStarted) for event in both)
    (session,) = sessions_of(both)
    assert [(child.stream, child.parent_call) for child in session.children] == [("a7", "t1")]


def test_agents_of_agents_and_of_skills_hang_under_the_call_that_began_them(tmp_path: Path) -> None:
    def of(agent: str, record: dict[str, Any]) -> dict[str, Any]:
        return record | {"isSidechain": True, "agentId": agent}

    def call(id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return _block("u1", "u0", {"type": "tool_use", "id": id, "name": name, "input": arguments})

    skill = {"success": True, "commandName": "x", "status": "forked", "agentId": "a1", "result": "ok"}
    answer = [{"type": "text", "text": "Three."}, {"type": "text", "text": "agentId: a2 (to go on with it)"}]
    below = _told("u2", "u1", "t2", answer)
    del below["toolUseResult"]
    both = [
        *events(tmp_path, lines(call("t1", "Skill", {"skill": "x"}), _told("u2", "u1", "t1", "ok", result=skill))),
        *events(
            tmp_path,
            lines(of("a1", call("t2", "Agent", {"description": "d", "prompt": "Count."})), of("a1", below)),
            "agent-a1.jsonl",
        ),
        *events(tmp_path, lines(of("a2", said("Count."))), "agent-a2.jsonl"),
    ]
    (session,) = sessions_of(both)
    (child,) = session.children
    (grandchild,) = child.children
    assert [(one.stream, one.parent_call) for one in (child, grandchild)] == [("a1", "t1"), ("a2", "t2")]


def test_bad_lines_are_kept_and_cost_nothing_else(tmp_path: Path) -> None:
    good = lines(said("hello"))
    told = events(tmp_path, good + b'{"half\n' + b"\x00\x00\x00\n" + b"[1]\n" + b'"\\ud800"\n' + good[:-1])
    assert sum(isinstance(event, Unreadable) for event in told) == 4
    assert sum(isinstance(event, UserSaid) for event in told) == 2


def test_half_a_surrogate_pair_does_not_cost_the_line(tmp_path: Path) -> None:
    data = lines(said("x")).replace(b'"x"', b'"x \\ud83d"')
    assert isinstance(events(tmp_path, data)[-1], UserSaid)


def test_a_usage_with_bytes_that_are_no_text_is_counted_all_the_same(tmp_path: Path) -> None:
    message = {"id": "m", "model": "x", "content": [], "usage": {"input_tokens": 3, "a": "?"}}
    record = _claude("assistant", "u1", None, message=message)
    told = events(tmp_path, lines(record).replace(b'"?"', b'"\xff"'))
    assert [event.usage.input_tokens for event in told if isinstance(event, TokensUsed)] == [3]


def test_empty_lines_are_no_records_and_keep_the_places_of_others(tmp_path: Path) -> None:
    first, second = lines(said("a")), lines(said("b"))
    told = [event for event in events(tmp_path, first + b"\n \n" + second) if isinstance(event, UserSaid)]
    places = [event.source and (event.source.offset, event.source.length) for event in told]
    assert places == [(0, len(first)), (len(first) + 3, len(second))]


def test_the_end_of_a_message_has_its_reason(tmp_path: Path) -> None:
    told = events(tmp_path, lines(_block("u1", "u0", {"type": "text", "text": "a"}, "max_tokens")))
    (finished,) = [event for event in told if isinstance(event, ModelFinished)]
    assert finished.finish is FinishReason.LENGTH


def test_a_line_that_is_not_quite_in_its_shape_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    odd = said("hm") | {"version": 2, "timestamp": "2025-06-01", "isMeta": "no", "data": ["x"]}
    event = one(tmp_path, odd)
    assert isinstance(event, UserSaid)
    assert (event.text, event.by, event.version) == ("hm", "user", None)
    assert event.time == datetime(2025, 6, 1, tzinfo=UTC)


def test_a_message_that_is_but_a_text_is_said(tmp_path: Path) -> None:
    event = one(tmp_path, said("") | {"message": "hm"})
    assert isinstance(event, UserSaid)
    assert event.text == "hm"


def test_a_reader_stored_after_any_line_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    def line(uuid: str, parent: str, message: str) -> dict[str, Any]:
        return _block(uuid, parent, {"type": "text", "text": uuid}, None, message) | {"isSidechain": True}

    call = _block("u7", "u6", {"type": "tool_use", "id": "t9", "name": "Bash", "input": {"command": "ls"}})
    records = [
        said("A") | {"isSidechain": True},
        said("B") | {"uuid": "u2", "isSidechain": True},
        *(line("u3", "u1", "a"), line("u4", "u2", "b"), line("u5", "u3", "a"), line("u6", "u4", "b")),
        said("Go.") | {"uuid": "u6"},
        *(call, _told("u8", "u7", "t9", "Exit code 3", is_error=True)),
        said("Go, please.") | {"uuid": "u9"},
        _claude("system", "u10", None, subtype="compact_boundary"),
        said("All of it.", isCompactSummary=True),
    ]
    data = CLAUDE + lines(*records)
    whole = events(tmp_path, data)
    assert {HistoryRewound, ContextCompacted} <= {type(event) for event in whole}
    path = tmp_path / "s-1.jsonl"
    reader = FORMATS["claude_code"].reader(path)
    told: list[AnyEvent] = []
    for one_line in data.splitlines(keepends=True):
        told += reader.feed(one_line)
        kept = restored("claude_code", path, stored(reader, Counter("main")))
        assert kept is not None
        reader = kept[0]
    assert [*told, *reader.rest()] == whole


def test_parts_of_kinds_that_are_not_usual_stand_beside_those_that_are(tmp_path: Path) -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    record = _block("u1", "u0", {"type": "text", "text": "I look."})
    record["message"]["content"] += [search, "and so on"]
    told = [event for event in events(tmp_path, lines(record)) if isinstance(event, ToolCalled | ModelSaid)]
    assert [getattr(event, "text", None) for event in told] == ["I look.", None, "and so on"]
    assert isinstance(told[1], ToolCalled)
    assert told[1].call.native.name == "web_search"


def test_the_result_of_a_call_that_cannot_be_read_is_its_text(tmp_path: Path) -> None:
    call = _block(
        "u1", "u0", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a", "limit": -1}}
    )
    told = events(tmp_path, lines(call, _told("u2", "u1", "t1", "what it gave")))
    (returned,) = [event for event in told if isinstance(event, ToolReturned)]
    assert returned.result.outcomes == (TextOutcome("what it gave"),)


def test_of_very_many_calls_only_the_last_are_remembered_after_their_results() -> None:
    normaliser = Normaliser("claude_code", "claude_code", "f", remembers=2)
    place = Place(Source("f", 0, 1), "k")
    for number in range(5):
        normaliser.called(place, NativeCall(f"t{number}", "Bash", {"command": "ls"}))
        if number:
            normaliser.returned(place, NativeResult(f"t{number}", "x"))
    assert sorted(normaliser.calls) == ["t0", "t3", "t4"]


def task(uuid: str, id: str) -> dict[str, Any]:
    given = {"description": "look", "prompt": "Look.", "subagent_type": "general-purpose"}
    return _block(uuid, "u0", {"type": "tool_use", "id": id, "name": "Task", "input": given}, None, f"m-{id}")


def test_inline_agents_that_were_told_the_same_are_those_calls_in_their_order(tmp_path: Path) -> None:
    def agent(uuid: str) -> dict[str, Any]:
        return said("Look.") | {"uuid": uuid, "parentUuid": None, "isSidechain": True}

    log = tmp_path / "home" / ".claude" / "projects" / "-p" / "s-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(lines(said("Go."), task("u1", "t1"), task("u2", "t2"), agent("u3"), agent("u4")))
    (session,) = sessions_of(read(log))
    assert [(one.stream, one.parent_call) for one in session.children] == [
        ("sidechain-u3", "t1"),
        ("sidechain-u4", "t2"),
    ]
    with closing(Query(Index(tmp_path / "index.sqlite"), homes={"claude_code": log.parent.parent})) as query:
        rows = {row.stream: row.parent_call for row in query.rows(SessionRow) if row.stream != "main"}
    assert rows == {"sidechain-u3": "t1", "sidechain-u4": "t2"}


def test_an_agent_whose_answer_is_there_has_ended_and_one_that_goes_on_beside_has_not(tmp_path: Path) -> None:
    def told_of(status: str) -> list[tuple[type, str | None]]:
        answer = {"type": "tool_result", "tool_use_id": "t1", "content": "Done."}
        beside = {"agentId": "a1", "status": status, "prompt": "Look."}
        result = said("") | {"uuid": "u2", "toolUseResult": beside, "message": {"role": "user", "content": [answer]}}
        found = events(tmp_path, lines(said("Go."), task("u1", "t1"), result))
        return [(type(one), one.call_id) for one in found if isinstance(one, AgentStarted | AgentEnded)]

    assert told_of("completed") == [(AgentStarted, "t1"), (AgentEnded, "t1")]
    assert told_of("async_launched") == [(AgentStarted, "t1")]


def test_an_agent_that_went_on_beside_ends_when_the_client_says_so(tmp_path: Path) -> None:
    def notified(uuid: str, agent: str) -> dict[str, Any]:
        inner = f"<task-id>{agent}</task-id>\n<status>killed</status>\n<result>So far.</result>"
        return said(f"<task-notification>\n{inner}\n</task-notification>") | {"uuid": uuid, "parentUuid": "u2"}

    launched = {"agentId": "a1", "status": "async_launched", "prompt": "Look."}
    began = _told("u2", "u1", "t1", "launched", result=launched)
    ended = notified("u4", "a1")
    queued = {"type": "queue-operation", "operation": "enqueue", "content": ended["message"]["content"]}
    told = events(tmp_path, lines(said("Go."), task("u1", "t1"), began, notified("u3", "b7"), queued, ended))
    assert [(one.agent, one.call_id, one.status, one.text) for one in told if isinstance(one, AgentEnded)] == [
        ("a1", "t1", "cancelled", "So far.")
    ]


def test_the_journal_of_a_workflow_is_of_the_session_it_lies_in(tmp_path: Path) -> None:
    home = tmp_path / "projects"
    run = home / "-p" / "s-1" / "subagents" / "workflows" / "wf_1"
    run.mkdir(parents=True)
    main, journal = home / "-p" / "s-1.jsonl", run / "journal.jsonl"
    main.write_bytes(lines({"type": "summary", "summary": "x", "leafUuid": "u"}, said("Go.")))
    began = {"type": "started", "key": "v2:1", "agentId": "a1", "label": "look"}
    failed = {"type": "failed", "key": "v2:1", "agentId": "a1"}
    journal.write_bytes(lines({"type": "launched"}, began, {"type": "result", "key": "v2:1", "agentId": "a1"}, failed))
    told = list(read(journal))
    assert [(type(one), one.session, one.stream) for one in told] == [
        (ClientNoted, "s-1", "main"),
        (ClientNoted, "s-1", "a1"),
        (ClientNoted, "s-1", "a1"),
        (ClientNoted, "s-1", "a1"),
    ]
    assert not {one.id for one in told} & {one.id for one in read(main)}
    with closing(Query(Index(tmp_path / "index.sqlite"), paths=[home])) as query:
        assert {row.session for row in query.rows(SessionRow)} == {"s-1"}


def test_an_agent_at_work_hangs_under_the_call_that_is_kept_beside_its_file(tmp_path: Path) -> None:
    home = tmp_path / "projects"
    agents = home / "-p" / "s-1" / "subagents"
    agents.mkdir(parents=True)
    main = home / "-p" / "s-1.jsonl"
    main.write_bytes(lines(said("Go."), task("u1", "t1"), task("u2", "t2"), task("u3", "t3")))
    beside = {"a1": b'{"agentType": "Explore", "toolUseId": "t2"}', "a2": b"[]", "a3": b'{"toolUseId": "t1"}'}
    for name, kept in beside.items():
        record = said("Look.") | {"uuid": name, "parentUuid": None, "isSidechain": True, "agentId": name}
        (agents / f"agent-{name}.jsonl").write_bytes(lines(record))
        (agents / f"agent-{name}.meta.json").write_bytes(kept)
    expected = {"a1": "t2", "a2": "t3", "a3": "t1"}  # one of which nothing is kept is the call's that is left
    files = [main, *sorted(agents.glob("*.jsonl"))]
    told = [event for file in files for event in read(file)]
    (session,) = sessions_of(told)
    assert {one.stream: one.parent_call for one in session.children} == expected
    assert [event.metadata for event in told if isinstance(event, SessionStarted) and event.stream == "a1"] == [
        {"agentType": "Explore", "toolUseId": "t2"}
    ]
    with closing(Query(Index(tmp_path / "index.sqlite"), paths=[home])) as query:
        rows = list(query.rows(SessionRow))
    assert {row.stream: row.parent_call for row in rows if row.stream != "main"} == expected


def test_a_forked_agent_begins_with_its_own_words_not_with_the_message_that_spawned_it(tmp_path: Path) -> None:
    home = tmp_path / "projects"
    agents = home / "-p" / "s-1" / "subagents"
    agents.mkdir(parents=True)
    main, agent = home / "-p" / "s-1.jsonl", agents / "agent-a1.jsonl"
    launched = {"status": "async_launched", "agentId": "a1", "prompt": "Look."}
    main.write_bytes(lines(said("Go."), task("u1", "t1"), _told("u2", "u1", "t1", "launched", result=launched)))
    thought = _block("u1", "u0", {"type": "thinking", "thinking": "hm"}, None, "m-t1")
    placeholder = {"type": "tool_result", "tool_use_id": "t1", "content": "Fork started"}
    words = {"role": "user", "content": [placeholder, {"type": "text", "text": "Your directive: Look."}]}
    ran = _block("u5", "u4", {"type": "tool_use", "id": "t9", "name": "Bash", "input": {"command": "ls"}}, None, "m-9")
    own = [record | {"isSidechain": True, "agentId": "a1"} for record in (thought, task("u3", "t1"))]
    own += [
        record | {"isSidechain": True, "agentId": "a1"} for record in (_claude("user", "u4", "u3", message=words), ran)
    ]
    fork = {"type": "fork-context-ref", "agentId": "a1", "parentSessionId": "s-1", "contextLength": 3}
    agent.write_bytes(lines(fork, *own))
    told = list(read(agent))
    assert [(type(one), one.session) for one in told] == [
        (ClientNoted, "s-1"),
        (ClientNoted, "s-1"),
        (ClientNoted, "s-1"),
        (ClientNoted, "s-1"),
        (SessionStarted, "s-1"),
        (UserSaid, "s-1"),
        (ToolCalled, "s-1"),
        (TokensUsed, "s-1"),
    ]
    assert [(one.text, one.by) for one in told if isinstance(one, UserSaid)] == [("Your directive: Look.", "agent")]
    assert not {one.id for one in told} & {one.id for one in read(main)}
    (session,) = sessions_of([*read(main), *told])
    assert [(one.stream, one.parent_call, len(one.turns)) for one in session.children] == [("a1", "t1", 1)]
    assert [one.id for one in usage_read(agent) if isinstance(one, TokensUsed)] == [told[-1].id]


@pytest.mark.parametrize("origin, by", [("peer", "agent"), ("channel", "user"), ("human", "client"), ("x", "client")])
def test_words_the_client_hands_on_are_of_those_who_said_them(tmp_path: Path, origin: str, by: str) -> None:
    told = events(tmp_path, lines(said("Look.") | {"isMeta": True, "origin": {"kind": origin}}))
    assert [one.by for one in told if isinstance(one, UserSaid)] == [by]


@pytest.mark.parametrize(
    "kind",
    [
        *("agent-color", "agent-setting", "artifact-autoreact-ledger", "artifact-comment-monitor"),
        *("attribution-snapshot", "bridge-session", "content-replacement", "continued-in", "dev-mods"),
        *("ended-by-model", "frame-link", "history-suppression", "isolation-latch", "memory-mode", "observer-ref"),
    ],
)
def test_a_file_with_nothing_but_what_the_client_keeps_is_its_own(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(lines({"type": kind, "sessionId": "s-1"}))
    assert [(type(one), one.session, one.name) for one in read(path) if isinstance(one, ClientNoted)] == [
        (ClientNoted, "s-1", kind)
    ]


def printed(kind: str, uuid: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": "s-1", "uuid": uuid, **more}


def printed_block(uuid: str, block: dict[str, Any], by: str | None = None, stop: str | None = None) -> dict[str, Any]:
    message = {"id": f"m-{uuid}", "model": "claude-x", "content": [block], "stop_reason": stop}
    message["usage"] = {"input_tokens": 10, "output_tokens": 1}
    agent = {} if by is None else {"agent_id": "a1"}
    return printed("assistant", uuid, message=message, parent_tool_use_id=by, **agent)


def printed_result(uuid: str, id: str, content: str, by: str | None = None, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": bool(more.get("is_error"))}
    return printed("user", uuid, message={"content": [block]}, parent_tool_use_id=by, **more)


BEGINNING = printed("system", "p0", subtype="init", cwd="/p", apiKeySource="none", claude_code_version="2.1.300")


def usage_read(path: Path) -> list[AnyEvent]:
    reader = FORMATS["claude_code"].usage_reader(path)
    return [*reader.feed(path.read_bytes()), *reader.close()]


def test_what_is_printed_is_the_session_as_a_log_has_it(tmp_path: Path) -> None:
    spawn = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"description": "d", "prompt": "Look."}}
    run = {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}
    given = {"inputTokens": 20, "outputTokens": 30, "cacheReadInputTokens": 5, "cacheCreationInputTokens": 0}
    ended = {"subtype": "success", "total_cost_usd": 0.1, "modelUsage": {"claude-x": given}}
    path = tmp_path / "out.jsonl"
    path.write_bytes(
        lines(
            BEGINNING,
            printed_block("p1", spawn),
            printed("system", "p2", subtype="task_started", task_id="a1", tool_use_id="t1"),
            printed_block("p3", run, "t1"),
            printed_result("p4", "t2", "a\nb", "t1", tool_use_result={"stdout": "a", "stderr": "b"}),
            printed_result("p5", "t1", "Done.", tool_use_result={"agentId": "a1", "status": "completed"}),
            printed("rate_limit_event", "p6"),
            printed("result", "p7", **ended),
            printed("result", "p8", **ended, model_usage_since_last_result={"claude-x": {"outputTokens": 4}}),
        )
    )
    told = list(read(path))
    assert {one.session for one in told} == {"s-1"}
    assert [(type(one), one.stream) for one in told] == [
        (SessionStarted, "main"),
        (ClientNoted, "main"),
        (ToolCalled, "main"),
        (ClientNoted, "main"),
        (ToolCalled, "a1"),
        (ToolReturned, "a1"),
        (ToolReturned, "main"),
        (AgentStarted, "main"),
        (AgentEnded, "main"),
        (ClientNoted, "main"),
        (ClientNoted, "main"),
        (TokensUsed, "main"),
        (ClientNoted, "main"),
        (TokensUsed, "main"),
    ]
    assert [one.name for one in told if isinstance(one, ClientNoted)] == [
        "system/init",
        "system/task_started",
        "rate_limit_event",
        "result/success",
        "result/success",
    ]
    (session,) = sessions_of(told)
    assert (session.cwd, session.version) == ("/p", "2.1.300")
    assert [(one.stream, one.parent_call) for one in session.children] == [("a1", "t1")]
    assert [one.result.outcomes for one in told if isinstance(one, ToolReturned) and one.call_id == "t2"] == [
        (CommandOutcome(0, stdout="a", stderr="b"),)
    ]
    used = [one for one in told if isinstance(one, TokensUsed)]
    assert [(one.model, one.usage.total) for one in used] == [("claude-x", 55), ("claude-x", 4)]
    assert [(one.id, one.usage) for one in usage_read(path) if isinstance(one, TokensUsed)] == [
        (one.id, one.usage) for one in used
    ]


def test_tokens_of_what_is_printed_are_the_same_whatever_stands_before_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    answer = {"type": "control_response", "response": {"commands": ["x" * 10_000]}}
    ended = printed("result", "p2", subtype="success", modelUsage={"claude-x": {"outputTokens": 9}})
    status = printed("system", "p9", subtype="status", status="compacting")
    path.write_bytes(lines(answer, status, BEGINNING, printed_block("p1", {"type": "text", "text": "Hi."}), ended))
    assert [one.id for one in sessions_of(read(path))] == ["s-1"]
    used = [one for one in read(path) if isinstance(one, TokensUsed)]
    assert [one.usage.total for one in used] == [9]
    assert [one for one in usage_read(path) if isinstance(one, TokensUsed)] == used


def test_a_run_that_is_counted_anew_is_counted_whole(tmp_path: Path) -> None:
    def ended(uuid: str, tokens: int) -> dict[str, Any]:
        return printed("result", uuid, subtype="success", modelUsage={"claude-x": {"outputTokens": tokens}})

    path = tmp_path / "out.jsonl"
    path.write_bytes(lines(BEGINNING, printed_block("p1", {"type": "text", "text": "Hi."}), ended("p2", 9)))
    with path.open("ab") as file:
        file.write(lines(ended("p3", 12), ended("p4", 4)))
    assert [one.usage.total for one in read(path) if isinstance(one, TokensUsed)] == [9, 3, 4]


def test_an_agent_that_is_printed_without_a_name_is_known_by_its_call(tmp_path: Path) -> None:
    spawn = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"description": "d", "prompt": "Look."}}
    path = tmp_path / "out.jsonl"
    nameless = printed_block("p2", {"type": "text", "text": "Hi."}, "t1")
    del nameless["agent_id"]
    path.write_bytes(lines(BEGINNING, printed_block("p1", spawn), nameless))
    told = list(read(path))
    assert len({one.id for one in told}) == len(told)
    (session,) = sessions_of(told)
    assert [(one.stream, one.parent_call) for one in session.children] == [("t1", "t1")]


def test_replies_that_were_printed_when_they_had_ended_have_their_own_tokens(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    said_so = printed_block("p1", {"type": "text", "text": "Hi."}, stop="end_turn")
    ended = printed("result", "p2", total_cost_usd=0.1, modelUsage={"claude-x": {"outputTokens": 9}})
    path.write_bytes(lines(BEGINNING, said_so, ended))
    assert [one.usage.total for one in read(path) if isinstance(one, TokensUsed)] == [11]
    assert [one.usage.total for one in usage_read(path) if isinstance(one, TokensUsed)] == [11]


def test_what_is_printed_beside_a_result_says_that_it_was_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    beside = [{"id": "t1", "non_execution_kind": "permission-rule"}]
    run = printed_block("p1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}})
    path.write_bytes(lines(BEGINNING, run, printed_result("p2", "t1", "No.", is_error=True, tool_result_meta=beside)))
    assert [one.result.outcomes for one in read(path) if isinstance(one, ToolReturned)] == [(Failure("denied", "No."),)]


def test_what_another_client_prints_in_the_same_way_is_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    other = printed("system", "p0", subtype="init", qwen_code_version="0.24.4")
    path.write_bytes(lines(other, printed_block("p1", {"type": "text", "text": "Hi."})))
    assert recognise(path)[0].name == "qwen_code"


def test_a_line_cannot_say_what_only_the_reader_knows(tmp_path: Path) -> None:
    plain = said("Go.")
    odd = plain | {" stream": "other", " number": -4, " source": {"file": "a", "offset": 1, "length": 2}}
    (told,) = [event for event in events(tmp_path, lines(odd)) if isinstance(event, UserSaid)]
    (expected,) = [event for event in events(tmp_path, lines(plain)) if isinstance(event, UserSaid)]
    assert (told.id, told.stream, told.by) == (expected.id, "main", "user")
    assert told.source is not None
    assert told.source.offset == 0


def test_a_result_that_stands_before_its_call_is_read_by_it_all_the_same(tmp_path: Path) -> None:
    call = _block("u1", "u0", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "false"}})
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(lines(said("Go."), _told("u2", "u1", "t1", "Exit code 3\nno", is_error=True), call))
    (session,) = sessions_of(read(path))
    (use,) = [use for turn in session.turns for step in turn.steps for use in step.tools]
    assert use.returned is not None
    assert use.returned.result.outcomes == (CommandOutcome(3, output="no"),)
    with closing(Query(Index(tmp_path / "index.sqlite"), paths=[path])) as query:
        assert [(row.status, row.failure) for row in query.rows(CallRow)] == [("failed", "exit")]


def test_what_is_printed_and_names_no_session_is_kept_all_the_same(tmp_path: Path) -> None:
    answer = {"type": "control_response", "response": {}}
    told = events(tmp_path, lines(answer, answer))
    assert [(type(one), one.name, one.session) for one in told if isinstance(one, ClientNoted)] == [
        (ClientNoted, "control_response", None),
        (ClientNoted, "control_response", None),
    ]
