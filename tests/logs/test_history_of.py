"""A session of any client as a history that any model can go on with."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.logs.port import history_of
from dragoman.model import (
    AnyEvent,
    Call,
    CallPart,
    ClientNoted,
    CommandInvoked,
    ContextCompacted,
    HistoryRewound,
    ModelSaid,
    ModelThought,
    NativeCall,
    NativeResult,
    Result,
    ResultPart,
    SystemSaid,
    TextOutcome,
    TextPart,
    ToolCalled,
    ToolReturned,
    UserSaid,
    operations as op,
    user,
)


def _said(id: str, text: str, message: str | None = None) -> ModelSaid:
    return ModelSaid(id=id, text=text, provider_id=message, client="acme")


def _called(id: str, call: str, message: str | None = None, **facts: Any) -> ToolCalled:
    native = NativeCall(call, "Read", {"file_path": "a.txt"})
    read = Call(call, (op.ReadFile("a.txt"),), native)
    return ToolCalled(id=id, call=read, call_id=call, provider_id=message, client="acme", **facts)


def _returned(id: str, call: str, text: str) -> ToolReturned:
    return ToolReturned(id=id, call_id=call, result=Result(call, (TextOutcome(text),), native=NativeResult(call, text)))


def _shape(events: list[AnyEvent]) -> list[tuple[str, list[str]]]:
    """Each turn: who speaks, and what, in short."""

    def short(part: object) -> str:
        if isinstance(part, TextPart):
            return part.text
        if isinstance(part, CallPart):
            return f"→{part.call.id}"
        assert isinstance(part, ResultPart)
        return f"←{part.result.call_id} {part.result.content}"

    told = history_of(events, "claude_code")
    return [(item.role, [short(part) for part in item.parts]) for item in told.conversation]


def test_a_message_written_line_by_line_is_one_reply_with_its_results_after_it() -> None:
    events: list[AnyEvent] = [
        UserSaid(id="0", text="Look."),
        _said("1", "Both.", "m1"),
        _called("2", "a", "m1"),
        _returned("3", "a", "one"),
        _called("4", "b", "m1"),
        _returned("5", "b", "two"),
        _said("6", "Done.", "m2"),
    ]
    assert _shape(events) == [
        ("user", ["Look."]),
        ("assistant", ["Both.", "→a", "→b"]),
        ("tool", ["←a one", "←b two"]),
        ("assistant", ["Done."]),
    ]


def test_a_call_without_a_result_is_answered_as_unknown() -> None:
    shape = _shape([UserSaid(id="0", text="Look."), _called("1", "a"), UserSaid(id="2", text="Go on.")])
    assert [role for role, _ in shape] == ["user", "assistant", "tool", "user"]
    assert "not known" in shape[2][1][0]


def test_a_result_logged_before_its_call_answers_it_once() -> None:
    events: list[AnyEvent] = [
        UserSaid(id="u", text="go"),
        _returned("r", "c1", "one"),
        _called("c", "c1"),
        _returned("again", "c1", "other"),
        _returned("lost", "c9", "nobody's"),
    ]
    told = history_of(events, "claude_code")
    assert _shape(events) == [("user", ["go"]), ("assistant", ["→c1"]), ("tool", ["←c1 one"])]
    assert told.left_out == {"results without a call that waits for them": 2}


def test_an_id_that_some_provider_refuses_is_replaced_on_both_sides() -> None:
    long = "call:" + "x" * 60
    told = history_of([_called("1", long), _returned("2", long, "one")], "claude_code").conversation
    call, result = told[0].parts[0], told[1].parts[0]
    assert isinstance(call, CallPart)
    assert isinstance(result, ResultPart)
    assert call.call.id == result.result.call_id
    assert call.call.id.startswith("call_")
    assert len(call.call.id) <= 40


def test_what_was_taken_back_or_summed_up_is_not_told_again() -> None:
    rewound: list[AnyEvent] = [
        UserSaid(id="0", text="First."),
        _said("1", "Yes."),
        UserSaid(id="2", text="Wrong."),
        HistoryRewound(id="3", to="2"),
        UserSaid(id="4", text="Second."),
    ]
    assert _shape(rewound) == [("user", ["First."]), ("assistant", ["Yes."]), ("user", ["Second."])]
    compacted: list[AnyEvent] = [
        UserSaid(id="0", text="First."),
        _called("1", "a"),
        ContextCompacted(id="2", summary="So far: a.txt was read."),
        _returned("3", "a", "late"),
        UserSaid(id="4", text="Second."),
    ]
    assert _shape(compacted) == [("user", ["So far: a.txt was read."]), ("user", ["Second."])]


def test_other_agents_words_are_not_this_ones_and_what_stays_behind_is_counted() -> None:
    events: list[AnyEvent] = [
        SystemSaid(id="0", text="You are acme."),
        UserSaid(id="1", text="Look."),
        UserSaid(id="1b", text="<environment_context>…", by="client"),
        ModelThought(id="2", text="Hm."),
        UserSaid(id="3", text="Child.", stream="child"),
        _called("4", "p", by="program"),
    ]
    told = history_of(events, "claude_code")
    assert told.conversation == (user("Look."),)
    assert told.left_out == {
        "instructions of the client": 1,
        "texts of the client in the user's name": 1,
        "thoughts": 1,
        "calls a program made within a call": 1,
        "conversations of sub-agents, whose answers are kept": 1,
    }
    assert history_of(events, "claude_code", "child").conversation == (user("Child."),)


@pytest.mark.parametrize("report", ["<task-notification>", "<subagent_notification>", "<system_notification>"])
def test_what_the_client_reports_of_work_in_the_background_comes_along(report: str) -> None:
    shape = _shape(
        [
            UserSaid(id="0", text="Look."),
            _called("1", "a"),
            UserSaid(id="2", text=f"{report}It ended.", by="client"),
            _returned("3", "a", "one"),
            UserSaid(id="4", text="<environment>", by="client"),
        ]
    )
    assert shape == [
        ("user", ["Look."]),
        ("assistant", ["→a"]),
        ("tool", ["←a one"]),
        ("user", [f"{report}It ended."]),
    ]


def test_the_prompt_that_a_command_stands_for_comes_along() -> None:
    shape = _shape(
        [
            CommandInvoked(id="0", name="/review", arguments="a.py"),
            ClientNoted(id="1", name="file-history-snapshot"),
            UserSaid(id="2", text="Review a.py.", by="client"),
            UserSaid(id="3", text="<environment>", by="client"),
            CommandInvoked(id="4", name="/clear"),
            ClientNoted(id="5", name="local-command"),
            UserSaid(id="6", text="<environment>", by="client"),
        ]
    )
    assert shape == [("user", ["Review a.py."])]


def test_a_command_that_the_user_ran_comes_along_with_what_it_printed() -> None:
    events: list[AnyEvent] = [
        CommandInvoked(id="0", name="!", arguments="ls src"),
        ClientNoted(id="1", name="message/user_shell_command", data={"exit_code": 2, "output": "no src"}),
        UserSaid(id="2", text="<environment_context>…", by="client"),
        CommandInvoked(id="3", name="!!", arguments="pwd"),
        ClientNoted(id="4", name="bashExecution", data={"exitCode": 0, "output": "/w"}),
        UserSaid(id="5", text="Go on."),
    ]
    assert _shape(events) == [("user", ["The user ran: ls src\nExit code: 2\nOutput:\nno src"]), ("user", ["Go on."])]
