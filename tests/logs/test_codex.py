"""Codex's log: what each kind of record becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.logs import FORMATS, Places, check_format, read, sessions_of
from dragoman.logs.base.checkpoint import restored, stored
from dragoman.logs.base.format import Storable
from dragoman.logs.history import all_logs
from dragoman.model import (
    AgentEnded,
    AgentReport,
    AgentsOutcome,
    AgentStarted,
    AnyEvent,
    Change,
    ChangesOutcome,
    ClientNoted,
    CommandInvoked,
    CommandOutcome,
    ErrorOccurred,
    Failure,
    FinishReason,
    HistoryRewound,
    Interrupted,
    ModelChanged,
    ModelFinished,
    ModelSaid,
    ModelThought,
    Outcome,
    PlanOutcome,
    SessionStarted,
    SystemSaid,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Usage,
    UserSaid,
    operations as op,
)
from tests.logs.samples import CODEX, _codex, _counts, lines


def events(tmp_path: Path, data: bytes, name: str = "rollout-c-1.jsonl") -> list[AnyEvent]:
    path = tmp_path / name
    path.write_bytes(data)
    return list(read(path, "codex"))


def item(**fields: Any) -> dict[str, Any]:
    return _codex("response_item", fields)


def test_what_was_said_twice_is_told_once(tmp_path: Path) -> None:
    told = events(tmp_path, CODEX)
    assert [event.text for event in told if isinstance(event, UserSaid)] == ["Fix it."]
    assert [event.text for event in told if isinstance(event, ModelSaid)] == ["Done."]


def test_what_only_an_event_tells_is_told_all_the_same(tmp_path: Path) -> None:
    told = events(tmp_path, lines(_codex("event_msg", {"type": "user_message", "message": "Hello?"})))
    assert [event.text for event in told if isinstance(event, UserSaid)] == ["Hello?"]


def test_cumulative_counters_are_told_as_what_was_used(tmp_path: Path) -> None:
    used = [event.usage for event in events(tmp_path, CODEX) if isinstance(event, TokensUsed)]
    assert [(one.input_tokens, one.cached_read_tokens, one.output_tokens) for one in used] == [(50, 50, 5), (40, 40, 4)]


def test_a_failed_command_is_a_command_with_its_exit_code(tmp_path: Path) -> None:
    (returned,) = [event for event in events(tmp_path, CODEX) if isinstance(event, ToolReturned)]
    (outcome,) = returned.result.outcomes
    assert isinstance(outcome, CommandOutcome)
    assert outcome.exit_code == 1


def test_roles_and_words_of_the_client(tmp_path: Path) -> None:
    def message(role: str, text: str) -> dict[str, Any]:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    told = events(
        tmp_path,
        lines(
            message("developer", "Be brief."),
            message("user", "<environment_context>x</environment_context>"),
            message("user", "<turn_aborted>x</turn_aborted>"),
        ),
    )
    assert [type(event) for event in told] == [SystemSaid, UserSaid, Interrupted]
    assert isinstance(told[1], UserSaid)
    assert told[1].by == "client"


def test_an_item_without_a_type_is_a_message_of_its_role(tmp_path: Path) -> None:
    said = [
        {"type": "response_item", "payload": {"role": role, "content": [{"type": kind, "text": text}]}}
        for role, kind, text in (("user", "input_text", "Go."), ("assistant", "output_text", "Done."))
    ]
    path = tmp_path / "rollout-1.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in said))
    spoken = [one for one in read(path, "codex") if isinstance(one, UserSaid | ModelSaid)]
    assert [(type(one), one.text) for one in spoken] == [(UserSaid, "Go."), (ModelSaid, "Done.")]


@pytest.mark.parametrize("role", ["tool", "critic", None, 7])
@pytest.mark.parametrize("kind", ["message", None])
def test_what_nobody_knows_who_said_is_said_by_nobody(tmp_path: Path, role: Any, kind: str | None) -> None:
    payload = {"type": kind, "role": role, "content": [{"type": "text", "text": "Go."}]}
    path = tmp_path / "rollout-1.jsonl"
    path.write_text(json.dumps({"type": "response_item", "payload": payload}) + "\n")
    assert [one.name for one in read(path, "codex") if isinstance(one, UnknownRecord)] == [
        f"response_item/message/{role}"
    ]
    assert not any(isinstance(one, UserSaid | ModelSaid) for one in read(path, "codex"))


def test_records_without_an_envelope_are_read(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        lines(
            {"id": "old-1", "timestamp": "2025-08-01T00:00:00Z", "instructions": None, "git": {"branch": "b"}},
            {"record_type": "state"},
            {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c1", "id": None},
            {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a","metadata":{"exit_code":0}}'},
        ),
    )
    assert isinstance(told[0], SessionStarted)
    assert told[0].session == "old-1"
    assert sum(isinstance(event, ToolCalled) for event in told) == 1
    assert sum(isinstance(event, ToolReturned) for event in told) == 1


def test_a_thread_hangs_under_the_call_that_spawned_it(tmp_path: Path) -> None:
    arguments = '{"message": "Count."}'
    parent = lines(
        _codex("session_meta", {"id": "p-1", "cli_version": "0.166.0"}),
        item(type="function_call", name="spawn_agent", namespace="multi_agent_v1", arguments=arguments, call_id="c1"),
        item(type="function_call_output", call_id="c1", output='{"agent_id": "k-1", "nickname": "Ada"}'),
    )
    child = lines(
        _codex("session_meta", {"id": "k-1", "parent_thread_id": "p-1"}),
        item(type="message", role="user", content="Count."),
    )
    both = [*events(tmp_path, parent), *events(tmp_path, child, "rollout-k-1.jsonl")]
    assert [event.agent for event in both if isinstance(event, AgentStarted)] == ["k-1"]
    (session,) = sessions_of(both)
    assert [(one.id, one.parent_session, one.parent_call) for one in session.children] == [("k-1", "p-1", "c1")]


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return _codex("event_msg", {"type": kind, **fields})


def message(role: str, text: str, *more: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}] if text else []
    return item(type="message", role=role, content=[*content, *more])


def call(id: str, name: str = "exec_command") -> dict[str, Any]:
    return item(type="function_call", name=name, arguments='{"cmd": "true", "path": "a.png"}', call_id=id)


def result(id: str) -> dict[str, Any]:
    return item(type="function_call_output", call_id=id, output="ok")


def test_an_interrupt_is_told_once_whether_an_event_a_message_or_both_tell_it(tmp_path: Path) -> None:
    aborted = event("turn_aborted", reason="interrupted")
    said = message("user", "<turn_aborted>x</turn_aborted>")
    for records in ((aborted,), (said,), (said, aborted), (aborted, said)):
        told = events(tmp_path, lines(message("user", "Go."), *records))
        assert len([one for one in told if isinstance(one, Interrupted)]) == 1
    told = events(tmp_path, lines(message("user", "Go."), aborted, message("user", "Again."), aborted))
    assert len([one for one in told if isinstance(one, Interrupted)]) == 2
    told = events(tmp_path, lines(event("turn_aborted", reason="review_ended")))
    assert [one for one in told if isinstance(one, Interrupted)] == []


def test_turns_that_were_rolled_back_are_a_rewind_to_what_stood_before_them(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        lines(
            _codex("session_meta", {"id": "c-1"}),
            message("user", "One."),
            message("assistant", "1"),
            message("user", "Two."),
            message("assistant", "2"),
            message("user", "Three."),
            message("assistant", "3"),
            event("thread_rolled_back", num_turns=2),
            message("user", "Four."),
            event("thread_rolled_back", num_turns=2),
        ),
    )
    said = {one.text: one.id for one in told if isinstance(one, ModelSaid)}
    assert [one.to for one in told if isinstance(one, HistoryRewound)] == [said["1"], told[0].id]


def test_what_the_client_says_in_the_users_name_opens_no_turn(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    told = events(
        tmp_path,
        lines(
            message("user", "Look."),
            call("c1", "view_image"),
            result("c1"),
            message("user", "", picture),
            message("user", "Warning: apply_patch was requested via shell. Use the tool."),
            message("user", "And this?", picture),
            message("user", "", picture),
        ),
    )
    assert [one.by for one in told if isinstance(one, UserSaid)] == ["user", "client", "client", "user", "user"]


def test_tokens_that_are_counted_before_the_reply_is_written_stand_with_it(tmp_path: Path) -> None:
    context = _codex("turn_context", {"model": "gpt-5-codex"})
    data = lines(
        message("user", "Go."),
        *(context, _counts(100, 100), call("c1"), result("c1"), call("c2"), result("c2")),
        *(context, _counts(100, 100), _counts(180, 80), message("assistant", "Done.")),
    )
    (session,) = sessions_of(events(tmp_path, data))
    steps = session.turns[0].steps
    assert [[use.called.call.id for use in step.tools] for step in steps] == [["c1", "c2"], []]
    assert [step.usage.total for step in steps] == [105, 84]


def test_replies_of_the_first_versions_end_where_the_client_noted_its_state(tmp_path: Path) -> None:
    data = lines(
        {"id": "old-1", "timestamp": "2025-08-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        *({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id} for id in ("c1", "c2")),
        *({"type": "function_call_output", "call_id": id, "output": "ok"} for id in ("c1", "c2")),
        {"record_type": "state"},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c3"},
    )
    (session,) = sessions_of(events(tmp_path, data))
    steps = session.turns[0].steps
    assert [[use.called.call.id for use in step.tools] for step in steps] == [["c1", "c2"], ["c3"]]


def test_a_counter_that_begins_anew_goes_on_counting(tmp_path: Path) -> None:
    data = lines(message("assistant", "1"), _counts(100, 100), message("assistant", "2"), _counts(40, 40))
    used = [one.usage for one in events(tmp_path, data) if isinstance(one, TokensUsed)]
    assert [(one.input_tokens, one.cached_read_tokens) for one in used] == [(50, 50), (20, 20)]


def test_an_agent_is_told_once_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    notice = '{"agent_path":"t-2","status":{"completed":"Three."}}'
    told = events(
        tmp_path,
        lines(
            call("c1", "spawn_agent"),
            event("collab_agent_spawn_end", call_id="c1", new_thread_id="t-2"),
            item(type="function_call_output", call_id="c1", output='{"agent_id":"t-2","nickname":"Ada"}'),
            message("user", f"<subagent_notification>\n{notice}\n</subagent_notification>"),
        ),
    )
    assert [(one.agent, one.call_id) for one in told if isinstance(one, AgentStarted)] == [("t-2", "c1")]
    ended = [(one.agent, one.call_id, one.status, one.text) for one in told if isinstance(one, AgentEnded)]
    assert ended == [("t-2", "c1", "completed", "Three.")]


def test_what_an_agent_is_told_is_not_the_users_word(tmp_path: Path) -> None:
    data = lines(_codex("session_meta", {"id": "t-2", "parent_thread_id": "c-1"}), message("user", "Count."))
    assert [one.by for one in events(tmp_path, data) if isinstance(one, UserSaid)] == ["agent"]


def test_how_long_a_call_took_is_what_the_client_says(tmp_path: Path) -> None:
    took = {"secs": 1, "nanos": 500_000_000}
    data = lines(call("c1"), event("exec_command_end", call_id="c1", exit_code=0, duration=took), result("c1"))
    (returned,) = [one for one in events(tmp_path, data) if isinstance(one, ToolReturned)]
    assert returned.result.duration == 1.5


def test_homes_are_where_the_client_is_told_to_keep_them_and_where_it_does_else(tmp_path: Path) -> None:
    places = Places(tmp_path, {"CODEX_HOME": str(tmp_path / "other")})
    assert list(FORMATS["codex"].homes(places)) == [
        tmp_path / home / kind for home in ("other", ".codex") for kind in ("sessions", "archived_sessions")
    ]


def test_what_is_found_in_another_home_is_of_that_home(tmp_path: Path) -> None:
    for system, folder in (("linux", ".local/share"), ("darwin", "Library/Application Support")):
        run = tmp_path / folder / "dragoman" / "runs" / "d-1.jsonl"
        run.parent.mkdir(parents=True)
        run.write_bytes(b'{"format":"dragoman","version":1}\n')
        assert [one.path for one in all_logs(Places(tmp_path, system=system))] == [run]


def test_a_home_that_is_a_link_to_another_is_not_counted_twice(tmp_path: Path) -> None:
    log = tmp_path / ".codex" / "sessions" / "2026" / "rollout-c-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(CODEX)
    (tmp_path / "linked").symlink_to(tmp_path / ".codex")
    found = list(all_logs(Places(tmp_path, {"CODEX_HOME": str(tmp_path / "linked")})))
    assert [one.path.resolve() for one in found] == [log]


def test_a_search_the_provider_ran_itself_is_waited_for_by_nobody(tmp_path: Path) -> None:
    search = item(type="web_search_call", status="completed", action={"type": "search", "query": "x"})
    (session,) = sessions_of(events(tmp_path, lines(message("user", "Go."), search, message("assistant", "Found."))))
    assert [step.status for step in session.turns[0].steps] == ["done"]
    (session,) = sessions_of(events(tmp_path, lines(message("user", "Go."), call("c1"))))
    assert [step.status for step in session.turns[0].steps] == ["in_progress"]


def test_what_a_request_used_is_known_by_its_response_in_every_copy(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "output_tokens": 1}
    record = {"usage": usage, "thread_token_usage": usage, "response_id": "resp_1"}
    told = events(tmp_path, lines(message("assistant", "Done."), _codex("token_usage_record", record)))
    assert [one.provider_id for one in told if isinstance(one, TokensUsed)] == ["resp_1"]


def test_a_refusal_is_said_and_a_message_without_words_opens_no_turn(tmp_path: Path) -> None:
    refusal = item(type="message", role="assistant", content=[{"type": "refusal", "refusal": "I will not."}])
    told = events(tmp_path, lines(message("user", "Go."), refusal, message("user", ""), message("assistant", "")))
    assert [(one.text, one.refused) for one in told if isinstance(one, ModelSaid)] == [("I will not.", True)]
    assert [one.text for one in told if isinstance(one, UserSaid)] == ["Go."]
    assert len({one.source.offset for one in told if one.source is not None}) == 4


# ── what `codex exec --json` prints ──────────────────────────────────────────


def done(what: str, id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": id, "type": what, **fields}}


def begun(what: str, id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "item.started", "item": {"id": id, "type": what, **fields}}


THREAD = {"type": "thread.started", "thread_id": "t-1"}
COMMAND = {"command": "/bin/bash -lc 'grep -n x a.py'"}
PRINTED = lines(
    THREAD,
    {"type": "turn.started"},
    done("reasoning", "item_0", text="Looking."),
    begun("command_execution", "item_1", **COMMAND, aggregated_output="", exit_code=None, status="in_progress"),
    done("command_execution", "item_1", **COMMAND, aggregated_output="rejected: no\n", exit_code=1, status="failed"),
    done("file_change", "item_2", changes=[{"path": "/p/a.py", "kind": "add"}], status="completed"),
    done("agent_message", "item_3", text="Done."),
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 9, "reasoning_output_tokens": 3},
    },
)


def printed(tmp_path: Path, *records: Any, name: str = "out.jsonl") -> list[AnyEvent]:
    return events(tmp_path, lines(*records), name)


def outcomes(told: list[AnyEvent]) -> list[Outcome]:
    return [one for event in told if isinstance(event, ToolReturned) for one in event.result.outcomes]


def operations(told: list[AnyEvent]) -> list[op.Operation]:
    return [one for event in told if isinstance(event, ToolCalled) for one in event.call.operations]


def test_what_exec_prints_is_a_session(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(PRINTED)
    told = list(read(path))
    assert [type(event) for event in told] == [
        SessionStarted,
        ClientNoted,
        ModelThought,
        ToolCalled,
        ToolReturned,
        ToolCalled,
        ToolReturned,
        ModelSaid,
        TokensUsed,
        ModelFinished,
    ]
    assert {event.session for event in told} == {"t-1"}
    assert operations(told) == [op.RunCommand("grep -n x a.py", shell="/bin/bash"), op.EditFile("/p/a.py", ())]
    assert outcomes(told) == [
        CommandOutcome(exit_code=1, output="rejected: no\n"),
        ChangesOutcome((Change("/p/a.py", "created"),)),
    ]
    (used,) = [event.usage for event in told if isinstance(event, TokensUsed)]
    assert used == Usage(60, 40, None, 9, 3)
    assert check_format(FORMATS["codex"], path) == []


def test_what_is_printed_may_be_kept_in_a_file_of_any_name_and_read_in_any_pieces(tmp_path: Path) -> None:
    whole = [msgspec.structs.replace(event, source=None) for event in events(tmp_path, PRINTED, "run.jsonl")]
    assert [msgspec.structs.replace(event, source=None) for event in events(tmp_path, PRINTED, "run.log")] == whole
    reader = FORMATS["codex"].reader(tmp_path / "run.jsonl")
    told = [event for byte in range(len(PRINTED)) for event in reader.feed(PRINTED[byte : byte + 1])]
    assert [msgspec.structs.replace(event, source=None) for event in told + reader.close()] == whole


def test_what_was_printed_is_read_on_where_it_was_stopped(tmp_path: Path) -> None:
    path, half = tmp_path / "run.jsonl", PRINTED.index(b"aggregated_output")
    first = FORMATS["codex"].reader(path)
    before = first.feed(PRINTED[:half])
    again = restored("codex", path, stored(first, Storable()))
    assert again is not None
    assert before + again[0].feed(PRINTED[half:]) + again[0].close() == events(tmp_path, PRINTED, "run.jsonl")


def test_runs_in_one_file_are_told_apart_and_their_tokens_counted_once(tmp_path: Path) -> None:
    def used(count: int) -> dict[str, Any]:
        return {"type": "turn.completed", "usage": {"input_tokens": count, "output_tokens": count}}

    command = done("command_execution", "item_0", command="ls", aggregated_output="", exit_code=0, status="completed")
    told = printed(tmp_path, THREAD, command, used(10), THREAD, command, used(15))
    assert [event.call.id for event in told if isinstance(event, ToolCalled)] == ["item_0", "item_0/2"]
    assert [event.resumed for event in told if isinstance(event, SessionStarted)] == [False, True]
    assert [event.usage.total for event in told if isinstance(event, TokensUsed)] == [20, 10]


def test_what_earlier_runs_used_that_were_printed_to_files_beside_is_not_counted_again(tmp_path: Path) -> None:
    """`codex exec resume` goes on counting (0.166)."""
    used = [{"type": "turn.completed", "usage": {"input_tokens": count, "output_tokens": count}} for count in (10, 15)]
    first = printed(tmp_path, THREAD, used[0], name="stream0.jsonl")
    second = printed(tmp_path, THREAD, used[1], name="stream1.jsonl")
    assert [event.usage.total for event in (*first, *second) if isinstance(event, TokensUsed)] == [20, 10]


def test_a_command_that_was_declined_or_still_runs_is_no_command_that_ended(tmp_path: Path) -> None:
    command = {"command": "rm -rf x", "aggregated_output": "", "exit_code": None}
    told = printed(
        tmp_path,
        THREAD,
        done("command_execution", "item_0", **command, status="declined"),
        done("command_execution", "item_1", **command, status="in_progress"),
        begun("command_execution", "item_2", **command, status="in_progress"),
        done("command_execution", "item_3", command="x", aggregated_output="no bash", exit_code=-1, status="failed"),
        done("command_execution", "item_4", command="x", aggregated_output="error: command timed out", exit_code=-1),
    )
    assert outcomes(told) == [
        Failure("denied", "declined"),
        CommandOutcome(output="", running=True),
        Failure("failed", "no bash"),
        CommandOutcome(output="error: command timed out", timed_out=True),
    ]
    assert len(operations(told)) == 5


def test_a_plan_is_told_when_it_changes(tmp_path: Path) -> None:
    def plan(kind: str, *, is_done: bool) -> dict[str, Any]:
        return {
            "type": kind,
            "item": {"id": "item_0", "type": "todo_list", "items": [{"text": "a", "completed": is_done}]},
        }

    told = printed(
        tmp_path,
        THREAD,
        plan("item.started", is_done=False),
        plan("item.updated", is_done=True),
        plan("item.completed", is_done=True),
    )
    assert outcomes(told) == [
        PlanOutcome((op.PlanItem("a", "pending"),)),
        PlanOutcome((op.PlanItem("a", "completed"),)),
    ]
    assert len({event.call.id for event in told if isinstance(event, ToolCalled)}) == 2


def test_what_servers_and_the_web_were_asked_is_printed(tmp_path: Path) -> None:
    def called(id: str, tool: str, **fields: Any) -> dict[str, Any]:
        return done("mcp_tool_call", id, server="hub", tool=tool, arguments={"q": "x"}, **fields)

    told = printed(
        tmp_path,
        THREAD,
        called("item_0", "find", result={"content": [{"type": "text", "text": "3"}]}, status="completed"),
        called("item_1", "find", error={"message": "tool call timed out: 5 s"}, status="failed"),
        called("item_2", "find", result={"content": [{"type": "text", "text": "no"}]}, status="failed"),
        done("web_search", "ws_1", query="codex", action={"type": "open_page", "url": "https://a.example"}),
        done("web_search", "ws_2", query="codex"),
    )
    asked = op.CallMcpTool("hub", "find", {"q": "x"})
    assert operations(told) == [asked, asked, asked, op.FetchPage("https://a.example"), op.SearchWeb("codex")]
    assert outcomes(told) == [
        TextOutcome("3"),
        Failure("timed_out", "tool call timed out: 5 s"),
        Failure("failed", "no"),
    ]


def test_agents_that_were_printed_hang_under_their_call(tmp_path: Path) -> None:
    def agents(id: str, tool: str, states: dict[str, Any], **fields: Any) -> dict[str, Any]:
        ids = [*states]
        return done("collab_tool_call", id, tool=tool, receiver_thread_ids=ids, agents_states=states, **fields)

    told = printed(
        tmp_path,
        THREAD,
        agents("item_0", "spawn_agent", {"t-2": {"status": "pending_init", "message": None}}, prompt="Count."),
        agents("item_1", "wait", {"t-2": {"status": "completed", "message": "Two."}}),
    )
    assert operations(told) == [op.SpawnAgent("Count."), op.WaitForAgent(("t-2",))]
    assert outcomes(told) == [
        AgentsOutcome((AgentReport("t-2", "running"),)),
        AgentsOutcome((AgentReport("t-2", "completed", "Two."),)),
    ]
    started = [event for event in told if isinstance(event, AgentStarted)]
    ended = [event for event in told if isinstance(event, AgentEnded)]
    assert [(one.agent_session, one.prompt, one.call_id) for one in started] == [("t-2", "Count.", "item_0")]
    assert [(one.agent, one.status, one.text) for one in ended] == [("t-2", "completed", "Two.")]


def test_an_error_that_failed_a_turn_is_told_once(tmp_path: Path) -> None:
    told = printed(
        tmp_path,
        THREAD,
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "error", "message": "no credit"},
        {"type": "turn.failed", "error": {"message": "no credit"}},
        done("error", "item_0", message="shortened"),
        done("dance", "item_1"),
    )
    errors = [(event.message, event.retried) for event in told if isinstance(event, ErrorOccurred)]
    assert errors == [("Reconnecting... 1/5", True), ("no credit", False)]
    assert [event.finish for event in told if isinstance(event, ModelFinished)] == [FinishReason.ERROR]
    assert [event.name for event in told if isinstance(event, UnknownRecord)] == ["item.completed/dance"]


def test_what_exec_printed_before_it_printed_items_is_a_session_too(tmp_path: Path) -> None:
    def event(kind: str, **fields: Any) -> dict[str, Any]:
        return {"id": "1", "msg": {"type": kind, **fields}}

    asked = {"server": "hub", "tool": "find", "arguments": {"q": "x"}}
    changes = {"/p/a": {"add": {"content": "x"}}, "/p/b": "delete", "/p/c": {"type": "update", "unified_diff": ""}}
    path = tmp_path / "old.jsonl"
    path.write_bytes(
        lines(
            {"model": "gpt-5-codex", "workdir": "/p", "sandbox": "read-only", "provider": "openai"},
            {"prompt": "Fix it."},
            event("task_started"),
            event("agent_reasoning", text="Hm."),
            event("exec_command_begin", call_id="c-1", command=["bash", "-lc", "ls"], cwd="/p"),
            event("exec_command_end", call_id="c-1", stdout="a\n", stderr="b\n", exit_code=2),
            event("patch_apply_begin", call_id="c-2", changes=changes),
            event("patch_apply_end", call_id="c-2", success=True),
            event("mcp_tool_call_begin", call_id="c-3", invocation=asked),
            event("mcp_tool_call_end", call_id="c-3", invocation=asked, result={"Err": "gone"}),
            event("plan_update", plan=[{"step": "Fix", "status": "completed"}]),
            event("token_count", input_tokens=10, cached_input_tokens=4, output_tokens=2, reasoning_output_tokens=1),
            event("token_count", info={"total_token_usage": {"input_tokens": 20, "output_tokens": 3}}),
            event("agent_message", message="Done."),
            event("task_complete", last_agent_message="Done."),
        )
    )
    told = list(read(path))
    assert isinstance(told[0], SessionStarted)
    assert (told[0].cwd, told[0].model) == ("/p", "gpt-5-codex")
    assert [event.text for event in told if isinstance(event, UserSaid | ModelThought | ModelSaid)] == [
        "Fix it.",
        "Hm.",
        "Done.",
    ]
    assert operations(told) == [
        op.RunCommand("ls"),
        *[op.EditFile("/p/a", ()), op.DeleteFile("/p/b"), op.EditFile("/p/c", ())],
        op.CallMcpTool("hub", "find", {"q": "x"}),
        op.UpdatePlan((op.PlanItem("Fix", "completed"),)),
    ]
    assert outcomes(told) == [
        CommandOutcome(exit_code=2, output="a\nb\n"),
        ChangesOutcome((Change("/p/a", "created"),)),
        ChangesOutcome((Change("/p/b", "deleted"),)),
        ChangesOutcome((Change("/p/c", "modified"),)),
        Failure("failed", "gone"),
        PlanOutcome((op.PlanItem("Fix", "completed"),)),
    ]
    assert [event.usage.total for event in told if isinstance(event, TokensUsed)] == [12, 23]
    assert [event for event in told if isinstance(event, UnknownRecord)] == []
    assert check_format(FORMATS["codex"], path) == []


# ── sessions of the first client ─────────────────────────────────────────────


def test_a_session_that_is_one_document_is_read(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "sessions"
    folder.mkdir(parents=True)
    path = folder / "rollout-2025-05-01-o-1.json"
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "duration_ms": 9},
        {
            "type": "function_call",
            "id": "fc_1",
            "name": "shell",
            "call_id": "call_1",
            "arguments": '{"command": ["bash", "-lc", "ls"]}',
        },
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": '{"output": "a\\n", "metadata": {"exit_code": 0, "duration_seconds": 0.5}}',
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One file."}]},
    ]
    session = {"timestamp": "2025-05-01T10:00:00.000Z", "id": "o-1", "instructions": ""}
    path.write_text(json.dumps({"session": session, "items": items}, indent=2))
    told = list(read(path))
    assert [type(event) for event in told] == [
        SessionStarted,
        UserSaid,
        ModelThought,
        ToolCalled,
        ToolReturned,
        ModelSaid,
        ClientNoted,
    ]
    assert {event.session for event in told} == {"o-1"}
    assert told[0].time is not None
    assert operations(told) == [op.RunCommand("ls")]
    assert outcomes(told) == [CommandOutcome(exit_code=0, output="a\n", duration_ms=500)]
    assert [found.path for found in all_logs(Places(tmp_path))] == [path]
    assert check_format(FORMATS["codex"], path) == []


def test_such_a_document_may_hold_messages_of_the_chat_protocol(tmp_path: Path) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": '{"command": ["ls"]}'}}
    items = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": "Looking.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"output": "a", "metadata": {"exit_code": 0}}'},
    ]
    session = {"timestamp": "2025-08-01T10:00:00.000Z", "id": "o-2", "instructions": ""}
    told = events(tmp_path, json.dumps({"session": session, "items": items}).encode(), "rollout-2025-08-01-o-2.json")
    assert [event.text for event in told if isinstance(event, UserSaid | ModelSaid)] == ["Look.", "Looking."]
    assert operations(told) == [op.RunCommand("ls")]
    assert outcomes(told) == [CommandOutcome(exit_code=0, output="a")]


# ── records of later clients ─────────────────────────────────────────────────


def said(text: str) -> dict[str, Any]:
    return item(type="message", role="user", content=[{"type": "input_text", "text": text}])


def test_a_command_of_the_users_own_is_no_prompt(tmp_path: Path) -> None:
    own = (
        "<user_shell_command>\n<command>\nls src\n</command>\n<result>\nExit code: 2\nDuration: 0.0120 seconds\n"
        "Output:\nno src\n</result>\n</user_shell_command>"
    )
    invoked, noted = events(tmp_path, lines(said(own)))
    assert isinstance(invoked, CommandInvoked)
    assert (invoked.name, invoked.arguments) == ("!", "ls src")
    assert isinstance(noted, ClientNoted)
    assert noted.data == {"exit_code": 2, "output": "no src"}


def test_what_the_client_says_of_reviews_hooks_and_goals_is_not_the_users(tmp_path: Path) -> None:
    words = (
        "<user_action>\n  <context>User initiated a review task.</context>",
        '<hook_prompt hook_run_id="1">Go on.</hook_prompt>',
        "<goal_context>\nx",
        '<codex_internal_context kind="goal">x',
        "<recommended_plugins>\nx",
        "<external_ide>\nx",
        "<user_shell_command>cut",
    )
    told = events(tmp_path, lines(*map(said, words)))
    assert [event.by for event in told if isinstance(event, UserSaid)] == ["client"] * len(words)


def test_what_agents_tell_one_another_is_told_and_scores_and_compactions_are_noted(tmp_path: Path) -> None:
    told = events(
        tmp_path,
        lines(
            _codex(
                "inter_agent_communication",
                {"author": "/root", "recipient": "/root/a", "content": "Count them.", "trigger_turn": True},
            ),
            _codex("security_risk_score", {"score": 0.1}),
            item(type="context_compaction", encrypted_content="x"),
            item(type="compaction_summary", encrypted_content="x"),
            _codex("event_msg", {"type": "thread_name_updated", "thread_id": "c-1", "thread_name": "Counting"}),
        ),
    )
    heard, *noted = told
    assert isinstance(heard, UserSaid)
    assert (heard.text, heard.by) == ("Count them.", "agent")
    assert [(event.name, event.data) for event in noted if isinstance(event, ClientNoted)] == [
        ("security_risk_score", {}),
        ("response_item/context_compaction", {}),
        ("response_item/compaction_summary", {}),
        ("event_msg/thread_name_updated", {"title": "Counting"}),
    ]


def test_functions_of_a_host_are_functions_of_that_run(tmp_path: Path) -> None:
    tools = [
        {"type": "function", "name": "open_tab", "description": "", "inputSchema": {}},
        {"type": "namespace", "name": "app", "description": "", "tools": [{"type": "function", "name": "ring"}]},
    ]
    meta = {"id": "c-1", "cli_version": "0.166.0", "originator": "Codex Desktop", "source": "vscode"}
    told = events(
        tmp_path,
        lines(
            _codex("session_meta", {**meta, "dynamic_tools": tools}),
            item(type="function_call", name="open_tab", arguments='{"url": "a"}', call_id="call_1"),
            item(type="function_call", name="ring", namespace="app", arguments="{}", call_id="call_2"),
            item(type="function_call", name="fly", arguments="{}", call_id="call_3"),
        ),
    )
    assert operations(told) == [
        op.CallFunction("open_tab", {"url": "a"}),
        op.CallFunction("ring", {}),
        op.Unrecognised("fly", {}),
    ]
    assert isinstance(told[0], SessionStarted)
    assert told[0].metadata == {"originator": "Codex Desktop", "source": "vscode"}


def test_how_hard_a_model_is_to_think_is_told_when_it_changes(tmp_path: Path) -> None:
    efforts = ("low", "low", "high")
    told = events(tmp_path, lines(*(_codex("turn_context", {"model": "gpt-5.5", "effort": one}) for one in efforts)))
    changes = [(event.model, event.settings) for event in told if isinstance(event, ModelChanged)]
    assert changes == [("gpt-5.5", {"effort": "low"}), ("gpt-5.5", {"effort": "high"})]


def test_what_an_event_knows_of_a_patch_or_a_server_is_told_with_the_result(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n+3\n*** End Patch"
    success = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py\n"

    def ended(call_id: str, kind: str, **fields: Any) -> dict[str, Any]:
        return _codex("event_msg", {"type": kind, "call_id": call_id, **fields})

    def asked(call_id: str) -> dict[str, Any]:
        return item(type="function_call", name="find", namespace="mcp__hub", arguments="{}", call_id=call_id)

    def answered(call_id: str) -> dict[str, Any]:
        return item(type="function_call_output", call_id=call_id, output="Wall time: 0.1 seconds\nOutput:\nno")

    told = events(
        tmp_path,
        lines(
            item(type="custom_tool_call", name="apply_patch", input=patch, call_id="call_1"),
            ended(
                "call_1",
                "patch_apply_end",
                success=True,
                changes={"/p/a.py": {"type": "update", "unified_diff": "@@ -1 +1,2 @@\n-1\n+2\n+3\n"}},
            ),
            item(type="custom_tool_call_output", call_id="call_1", output=success),
            asked("call_2"),
            ended(
                "call_2",
                "mcp_tool_call_end",
                duration={"secs": 1, "nanos": 0},
                result={"Ok": {"content": [{"type": "text", "text": "no"}], "isError": True}},
            ),
            answered("call_2"),
            asked("call_3"),
            ended("call_3", "mcp_tool_call_end", result={"Err": "the server is gone"}),
            answered("call_3"),
        ),
    )
    assert outcomes(told) == [
        ChangesOutcome((Change("a.py", "modified", added=2, removed=1),)),
        Failure("failed", "no"),
        Failure("failed", "the server is gone"),
    ]


def test_what_an_editor_puts_before_a_request_is_not_the_request(tmp_path: Path) -> None:
    text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it.\n"
    told = events(tmp_path, lines(said(text), _codex("event_msg", {"type": "user_message", "message": text})))
    assert [(event.text, event.by) for event in told if isinstance(event, UserSaid)] == [
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py", "client"),
        ("Fix it.", "user"),
    ]
    (session,) = sessions_of(told)
    assert session.title == "Fix it."
    assert len(session.turns) == 1
