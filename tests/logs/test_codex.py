"""Codex's log: what each kind of record becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.logs import FORMATS, Places, all_logs, read, sessions_of
from dragoman.model import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    CommandOutcome,
    HistoryRewound,
    Interrupted,
    ModelSaid,
    SessionStarted,
    SystemSaid,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UserSaid,
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
    assert [event.text for event in told if isinstance(event, UserSaid)] == ["Mend it."]
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
