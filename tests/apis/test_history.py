"""A conversation put in order: what is fixed, what is left as it stands, and that each change is told."""

from __future__ import annotations

from dragoman.apis.base.conversation_order import NO_RESULT, History, same_model
from dragoman.model import (
    CallPart,
    ConversationItem,
    ExecutedBy,
    Message,
    NativeCall,
    NativeResult,
    OpaquePart,
    Provenance,
    Reply,
    ResultPart,
    TextPart,
    ThinkingPart,
)

HERE, THERE = Provenance(api="here", model="m"), Provenance(api="there", model="other")


def call(id: str, name: str = "f") -> CallPart:
    return CallPart(NativeCall(id, name, {}))


def result(id: str, text: str = "ok") -> ResultPart:
    return ResultPart(NativeResult(id, text, name="f"))


def said(*parts: object, by: Provenance = HERE) -> Reply:
    return Reply(tuple(parts), provenance=by)  # type: ignore[arg-type]


def told(*parts: object) -> Message:
    return Message("tool", tuple(parts))  # type: ignore[arg-type]


def in_order(*conversation: ConversationItem) -> tuple[list[tuple[str, list[object]]], list[str]]:
    history = History(conversation, api="here", model="m", id_pattern="[a-z0-9_]+", id_length=40)
    return [(turn.role, list(turn.parts)) for turn in history.turns], [remark.message for remark in history.remarks]


def test_what_is_in_order_is_left_as_it_stands() -> None:
    user = Message("user", (TextPart("do"),))
    mixed = Message("user", (result("a"), TextPart("and"), result("b")))
    assert in_order(user, said(TextPart("now"), call("a"), call("b")), mixed) == (
        [
            ("user", [TextPart("do")]),
            ("assistant", [TextPart("now"), call("a"), call("b")]),
            ("user", [result("a"), TextPart("and"), result("b")]),
        ],
        [],
    )


def test_a_call_without_a_result_is_answered_as_unknown() -> None:
    turns, remarks = in_order(said(call("a")), Message("user", (TextPart("go on"),)))
    missing = ResultPart(NativeResult("a", NO_RESULT, is_error=True, name="f"))
    assert turns == [("assistant", [call("a")]), ("tool", [missing]), ("user", [TextPart("go on")])]
    assert remarks == ["the call 'f' (a) had no result: it is answered as unknown"]


def test_one_missing_result_joins_those_that_came() -> None:
    turns, _ = in_order(said(call("a"), call("b")), told(result("b")))
    missing = ResultPart(NativeResult("a", NO_RESULT, is_error=True, name="f"))
    assert turns[1:] == [("tool", [missing, result("b")])]


def test_a_result_without_its_call_and_a_second_one_are_left_out() -> None:
    turns, remarks = in_order(told(result("x")), said(call("a")), told(result("a"), result("a", "again")))
    assert turns == [("assistant", [call("a")]), ("tool", [result("a")])]
    assert remarks == [
        "a result for 'a', which no call waits for, was left out",
        "a result for 'x', which no call waits for, was left out",
    ]


def test_a_result_that_came_too_late_is_moved_to_its_call() -> None:
    turns, remarks = in_order(said(call("a")), said(TextPart("hm")), told(result("a")))
    assert turns == [("assistant", [call("a")]), ("tool", [result("a")]), ("assistant", [TextPart("hm")])]
    assert remarks == ["the result of 'f' (a) was moved to its call"]


def test_ids_that_are_empty_alike_or_illegal_are_made_anew_with_their_results() -> None:
    turns, remarks = in_order(
        said(call(""), call("")), told(result("", "1"), result("", "2")), said(call("call|1")), told(result("call|1"))
    )
    ids = [part.call.id for _, parts in turns for part in parts if isinstance(part, CallPart)]
    answered = [part.result.call_id for _, parts in turns for part in parts if isinstance(part, ResultPart)]
    assert ids == answered
    assert len(set(ids)) == 3
    assert all(id.startswith("call_") for id in ids)
    assert [why.rpartition(": ")[2] for why in remarks] == [
        "it had none",
        "it had none",
        "its characters are not allowed",
    ]
    texts = [part.result.content for _, parts in turns for part in parts if isinstance(part, ResultPart)]
    assert texts == ["1", "2", "ok"]


def test_an_id_used_again_in_a_later_turn_keeps_each_result_with_its_call() -> None:
    turns, remarks = in_order(said(call("a")), told(result("a", "1")), said(call("a")), told(result("a", "2")))
    results = [part.result for _, parts in turns for part in parts if isinstance(part, ResultPart)]
    assert [one.content for one in results] == ["1", "2"]
    assert len({one.call_id for one in results}) == 2
    assert len(remarks) == 1


def test_a_call_whose_id_is_used_again_does_not_take_the_later_result() -> None:
    turns, _ = in_order(said(call("a")), said(call("a")), told(result("a", "2")))
    results = [part.result.content for _, parts in turns for part in parts if isinstance(part, ResultPart)]
    assert results == [NO_RESULT, "2"]


def test_state_of_another_provider_stays_behind() -> None:
    hosted = CallPart(NativeCall("s", "web_search", {}, executed_by=ExecutedBy.PROVIDER))
    found = ResultPart(NativeResult("s", "page", executed_by=ExecutedBy.PROVIDER))
    signed = CallPart(NativeCall("a", "f", {}, item={"x": 1}), signature="sig", metadata={"there": {"y": 2}})
    opaque = OpaquePart("there", {"type": "compaction"})
    turns, remarks = in_order(
        said(ThinkingPart("hm", signature="s"), hosted, found, opaque, TextPart("t"), signed, by=THERE),
        told(result("a")),
    )
    assert turns == [("assistant", [TextPart("t"), call("a")]), ("tool", [result("a")])]
    assert len(remarks) == 4


def test_a_turn_that_cannot_travel_at_all_is_left_out() -> None:
    assert in_order(said(ThinkingPart("hm"), by=THERE))[0] == []


def test_provider_results_wait_for_nobody() -> None:
    hosted = CallPart(NativeCall("s", "web_search", {}, executed_by=ExecutedBy.PROVIDER))
    assert in_order(said(hosted)) == ([("assistant", [hosted])], [])


def test_names_of_one_model_are_told_from_those_of_others() -> None:
    assert same_model("gpt-5-2025-08-07", "openai/gpt-5")
    assert same_model("claude-x-20250101", "claude-x-latest")
    assert not same_model("gpt-5", "gpt-5-mini")
    assert not same_model("gemini-2.5-pro", "gemini-3-pro")


def test_an_item_of_another_api_stays_behind_whoever_says_it() -> None:
    document = OpaquePart("there", {"type": "document"})
    turns, remarks = in_order(Message("user", (TextPart("Read."), document)), Message("user", (document,)))
    assert turns == [("user", [TextPart("Read.")])]
    assert len(remarks) == 2


def test_a_result_is_named_as_its_call_with_its_namespace() -> None:
    made = CallPart(NativeCall("a", "f", {}, "ns"))
    turns, _ = in_order(said(made), told(ResultPart(NativeResult("a", "1"))))
    assert turns[1] == ("tool", [ResultPart(NativeResult("a", "1", name="f", namespace="ns"))])


def test_where_results_must_follow_at_once_what_was_said_between_comes_after_them() -> None:
    talk = (said(call("a"), call("b")), told(result("a")), Message("user", (TextPart("Hurry."),)), told(result("b")))
    assert [turn.role for turn in History(talk, api="here").turns] == ["assistant", "tool", "user", "tool"]
    fixed = History(talk, api="here", at_once=True)
    assert [(turn.role, turn.parts) for turn in fixed.turns[1:]] == [
        ("tool", [result("b"), result("a")]),
        ("user", [TextPart("Hurry.")]),
    ]
    assert [remark.message for remark in fixed.remarks] == ["the result of 'f' (b) was moved to its call"]


def test_a_message_that_holds_a_result_beside_words_is_left_as_it_stands() -> None:
    both = Message("user", (TextPart("Here:"), result("a")))
    fixed = History((said(call("a")), both), api="here", at_once=True)
    assert ([turn.parts for turn in fixed.turns][1:], fixed.remarks) == ([list(both.parts)], ())


def test_very_many_calls_of_one_id_take_no_more_than_their_share_of_time() -> None:
    talk = tuple(said(call("a")) for _ in range(20_000))
    assert len(History(talk, api="here").turns) == 40_000
