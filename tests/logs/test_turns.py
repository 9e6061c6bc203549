"""Where the events of a stream stand: which open a turn, and which belong to the one before."""

from __future__ import annotations

import pytest

from dragoman.logs import sessions_of
from dragoman.model.calls import Call, NativeCall, NativeResult, Result
from dragoman.model.events import AnyEvent, CommandInvoked, Interrupted, ModelSaid, ToolCalled, ToolReturned, UserSaid


def said(text: str, by: str = "user") -> UserSaid:
    return UserSaid(id=text, session="s", text=text, by=by)  # type: ignore[arg-type]


COMMAND = CommandInvoked(id="/do", session="s", name="/do")
ANSWER = ModelSaid(id="answer", session="s", text="answer")


@pytest.mark.parametrize(
    "events, openings",
    [
        ([COMMAND, said("expanded")], ["/do"]),
        ([COMMAND, said("expanded"), said("next")], ["/do", "next"]),
        ([COMMAND, said("note", "client"), said("next")], ["/do", "next"]),
        ([COMMAND, ANSWER, said("next")], ["/do", "next"]),
        ([said("first"), said("second")], ["first", "second"]),
        ([said("first"), COMMAND, said("expanded")], ["first", "/do"]),
        ([said("note", "client"), COMMAND, said("next")], ["/do", "next"]),
        ([said("note", "client"), COMMAND, ANSWER, COMMAND, said("expanded")], ["/do", "/do"]),
    ],
    ids=lambda value: "-".join(getattr(one, "id", one) for one in value),
)
def test_the_words_after_a_command_are_what_it_stands_for(events: list[AnyEvent], openings: list[str]) -> None:
    (session,) = sessions_of(events)
    assert [turn.opened_by.id for turn in session.turns if turn.opened_by is not None] == openings


def test_what_interrupts_a_command_ends_the_wait_for_its_words() -> None:
    (session,) = sessions_of([COMMAND, Interrupted(id="stopped", session="s"), said("next")])
    assert [turn.opened_by.id for turn in session.turns if turn.opened_by is not None] == ["/do", "next"]


def called(id: str, call_id: str) -> ToolCalled:
    return ToolCalled(id=id, session="s", call=Call(call_id, (), NativeCall(call_id, "look", {})))


def returned(id: str, call_id: str) -> ToolReturned:
    return ToolReturned(id=id, session="s", result=Result(call_id, (), native=NativeResult(call_id, id)))


@pytest.mark.parametrize(
    "events, results",
    [
        ([called("a", "1"), returned("x", "1"), called("b", "1"), returned("y", "1")], ["x", "y"]),
        ([called("a", "1"), called("b", "1"), returned("x", "1"), returned("y", "1")], ["x", "y"]),
        ([called("a", "1"), called("b", "2"), returned("x", "2"), returned("y", "1")], ["y", "x"]),
        ([called("a", "1"), called("b", "1"), returned("x", "1")], ["x", "x"]),
        ([called("a", "1"), called("b", "2"), returned("x", "1")], ["x", None]),
        ([returned("x", "1"), called("a", "1")], ["x"]),
    ],
    ids=lambda value: "-".join(str(getattr(one, "id", one)) for one in value),
)
def test_calls_that_share_an_id_have_its_results_in_their_order(
    events: list[AnyEvent], results: list[str | None]
) -> None:
    for (session,) in (sessions_of(events), sessions_of([said("go"), *events])):
        uses = [use for turn in session.turns for step in turn.steps for use in step.tools]
        assert [use.returned and use.returned.id for use in uses] == results
