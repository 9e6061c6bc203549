"""A model that asks its user: on a terminal, and as a call that waits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.engine.loopback import Turn, loopback

from .conftest import User
from .terminal import Terminal
from .test_run import runs
from .test_run_terminal import at_terminal, said

HIDDEN = "Which\x1b[2J colour\u202e?"
QUESTIONS = [
    {
        "question": HIDDEN,
        "header": "Col\x1b]0;x\x07our",
        "options": [
            {"label": "Red\x1b[31m", "description": "as a rose"},
            {"label": "Blue", "description": "as the sea"},
        ],
        "multiSelect": False,
    },
    {
        "question": "Which sizes?",
        "header": "Sizes",
        "options": [{"label": one, "description": one} for one in "SML"],
        "multiSelect": True,
    },
]
ASK = Turn("I need to know.", calls=(("c1", "AskUserQuestion", {"questions": QUESTIONS}),))
ONE = Turn("One thing.", calls=(("c1", "AskUserQuestion", {"questions": QUESTIONS[1:]}),))
DONE = Turn("It is done.")


def offered(body: dict[str, Any]) -> list[str]:
    return [one["name"] for one in body["tools"]]


async def test_a_terminal_shows_the_questions_and_takes_choices_and_words(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees(
            "? the model asks you (question 1 of 2): Col\\x1b]0;x\\x07our\n  | Which\\x1b[2J colour\\u202e?\n"
        )
        terminal.sees("  1. Red\\x1b[31m - as a rose\n  2. Blue - as the sea\n")
        terminal.sees("Characters that cannot be seen are written out")
        terminal.sees("Your choice (a number, or your own words) > ")
        terminal.types("1, 2\n")
        terminal.sees("Choose one option. /no declines")
        terminal.sees("words) > ")
        terminal.types("green, like grass\n")
        terminal.sees("? the model asks you (question 2 of 2): Sizes\n  | Which sizes?\n  1. S - S\n")
        terminal.sees("Your choice (numbers with commas, or your own words) > ")
        terminal.types("1,3\n")

    async with loopback(ASK, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "buy paint")
    assert code == 0
    assert "AskUserQuestion" in offered(server.requests[0].body)
    assert "green, like grass" in said(server.requests[1])
    assert "S, L" in said(server.requests[1])
    assert "\x1b[2J" not in terminal.raw
    assert "\x1b]0;" not in terminal.raw
    assert "\u202e" not in terminal.raw


async def test_a_chat_takes_answers_between_two_turns(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("> ")
        terminal.types("buy paint\n")
        terminal.sees("Which sizes?")
        terminal.sees("your own words) > ")
        terminal.types("m\n")
        terminal.sees("It is done.")
        terminal.types("/exit\n")

    async with loopback(ONE, DONE) as server:
        _, code = await at_terminal(user, server, scene, "chat")
    assert code == 0
    assert '=\\"M\\"' in said(server.requests[1])


async def test_yes_allows_calls_and_still_asks_what_the_model_asks(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("your own words) > ")
        terminal.types("/no\n")

    async with loopback(ONE, DONE) as server:
        _, code = await at_terminal(user, server, scene, "run", "--yes", "buy paint")
    assert code == 0
    assert "The user did not answer: the user declined to answer." in said(server.requests[1])


@pytest.mark.parametrize("words", [(), ("--yes",), ("--deny",)])
async def test_it_is_not_offered_where_nobody_can_answer_and_debug_says_why(user: User, words: tuple[str, ...]) -> None:
    async with loopback(DONE) as server:
        answer = await runs(user, server, *words, "--debug", "buy paint")
    assert "AskUserQuestion" not in offered(server.requests[0].body)
    why = "--deny refuses every question" if words == ("--deny",) else "nobody can answer: there is no terminal"
    assert f"note on ask_user: it is not offered: {why}" in answer.err


async def test_a_question_waits_with_ask_and_is_answered_by_another_process(user: User) -> None:
    async with loopback(ASK, DONE) as server:
        waits = await runs(user, server, "--ask", "buy paint")
        assert (waits.code, "The model asks you:\n  c1  ask: Which" in waits.err) == (8, True)
        assert "add --answer 'ID=your answer', add --refuse all)" in waits.err
        assert "--approve all" not in waits.err
        for given, problem in (
            (["--answer", "c1=1"], "the call c1: it asks 2 questions, and 1 answers were given."),
            (["--answer", "c1=1,2", "--answer", "c1=M"], "the call c1: choose one option."),
            (["--approve", "c1"], "the call c1 is a question of the model: answer it with --answer 'c1=…'."),
            (["--answer", "c9=1"], "the call c1: it asks 2 questions"),
        ):
            refused = await runs(user, server, "--resume", "last", *given)
            assert (refused.code, problem in refused.err.replace("\n", " ")) == (2, True), refused.err
        answered = await runs(user, server, "--resume", "last", "--answer", "c1=2", "--answer", "c1=S, M")
    assert (answered.code, answered.out) == (0, "It is done.\n")
    assert "Blue" in said(server.requests[1])
    assert "S, M" in said(server.requests[1])


async def test_a_waiting_question_is_in_the_json_of_the_run_with_its_options(user: User) -> None:
    async with loopback(ASK) as server:
        waits = await runs(user, server, "--ask", "--json", "buy paint")
    events = [json.loads(line) for line in waits.out.splitlines()]
    (wanted,) = (event for event in events if event.get("name") == "approval_wanted")
    assert [one["text"] for one in wanted["data"]["asks"]] == [HIDDEN, "Which sizes?"]
    assert [one["label"] for one in wanted["data"]["asks"][1]["options"]] == ["S", "M", "L"]


async def test_the_end_of_the_input_puts_the_answer_off(user: User) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.sees("your own words) > ")
        terminal.types("\x04")

    async with loopback(ONE, DONE) as server:
        terminal, code = await at_terminal(user, server, scene, "run", "buy paint")
        assert (code, "The model asks you:" in terminal.screen) == (8, True)
        answered = await runs(user, server, "--resume", "last", "--answer", "L")
    assert answered.code == 0
    assert '=\\"L\\"' in said(server.requests[1])


async def test_a_question_done_by_hand_is_asked_on_a_terminal_and_nowhere_else(user: User) -> None:
    question = 'questions=[{"text": "Why?"}]'

    def scene(terminal: Terminal) -> None:
        terminal.sees("| Why?")
        terminal.sees("Your answer > ")
        terminal.types("because\n")

    async with loopback() as server:
        terminal, code = await at_terminal(user, server, scene, "tool", "ask_user", question)
    assert (code, "because" in terminal.screen.partition("> because\n")[2]) == (0, True)
    alone = await asyncio.to_thread(user.types, "tool", "ask_user", question)
    assert (alone.code, "no user is available to answer" in alone.err) == (7, True)


def test_a_server_does_not_serve_it(user: User) -> None:
    refused = user.types("mcp", "serve", "--tools", "ask_user")
    assert (refused.code, "ask_user is not served: a client asks its own user" in refused.err.replace("\n", " ")) == (
        2,
        True,
    )
