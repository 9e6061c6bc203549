"""`dragoman browse`: given keys as a terminal sends them, its lines read as they would be drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dragoman.cli.commands.browse import conversation_of
from dragoman.cli.terminal.browser import Browser, Costs, Entry, Transcript, entries_of
from dragoman.logs import Query, SessionRow
from dragoman.logs.export import Conversation, Part, Said
from tests.cli.conftest import User
from tests.logs.samples import CLAUDE, CODEX

DOWN, UP, LEFT, ENTER, PAGE, END = "\x1b[B", "\x1b[A", "\x1b[D", "\r", "\x1b[6~", "\x1b[F"


@pytest.fixture
def query(tmp_path: Path) -> Query:
    (tmp_path / "s-1.jsonl").write_bytes(CLAUDE)
    (tmp_path / "rollout-c-1.jsonl").write_bytes(CODEX)
    return Query(paths=[tmp_path])


def browser(query: Query, **options: Any) -> Browser:
    return Browser(query.sessions(), lambda row: conversation_of(query, row), lambda rows: query.costs(), **options)


def type_(program: Browser, *keys: str) -> Browser:
    with create_pipe_input() as pipe:
        pipe.send_text("".join(keys) + "q")
        program.application(input=pipe, output=DummyOutput()).run()
    return program


def lines(program: Browser, width: int = 100) -> list[str]:
    content = program.content(width)
    return ["".join(text for _, text, *_ in content.get_line(number)) for number in range(content.line_count)]


def test_the_list_has_every_session_and_enter_opens_the_one_at_the_cursor(query: Query) -> None:
    program = browser(query)
    ids = [row.session for row in query.sessions()]
    assert [row.session for row in program.shown] == ids
    type_(program, DOWN, ENTER)
    assert program.session is not None
    assert program.session.session == ids[1]
    type_(program, LEFT)
    assert (program.session, program.at) == (None, 1)


def test_a_transcript_has_all_that_was_said_and_folds_calls_to_a_line(query: Query) -> None:
    program = browser(query, start=query.find("s-1"))
    assert program.transcript is not None
    calls = [entry for entry in program.transcript.entries if entry.head.startswith("→")]
    assert len(calls) == query.find("s-1").calls
    folded = lines(program)
    assert all(sum(call.head.split("  ")[0] in line for line in folded) >= 1 for call in calls)
    type_(program, "a")
    assert len(lines(program)) > len(folded)
    assert not any(entry.folded for entry in program.transcript.entries)
    type_(program, "a")
    assert all(entry.folded for entry in program.transcript.entries)


def test_an_entry_says_who_spoke_and_what_a_note_is_about() -> None:
    said = [
        Said("user", "User", [], time="09:00:00 UTC"),
        Said("user", "Agent", []),
        Said("user", "Command /clear", []),
        Said("note", "Model changed to gpt-5.2", []),
    ]
    heads = [entry.head for entry in entries_of(Conversation("s-1", "A session", [], [Part(1, said)], []))]
    assert heads == ["you  09:00:00 UTC", "Agent", "Command /clear", "Model changed to gpt-5.2"]


def test_n_goes_to_the_next_failure_and_opens_it(query: Query) -> None:
    program = type_(browser(query, start=query.find("s-1")), "n")
    assert program.transcript is not None
    entry = program.transcript.entries[program.transcript.at]
    assert (entry.failed, entry.folded) == (True, False)
    type_(program, *["n"] * 30)
    assert program.note == "no failure below"
    type_(program, "T")
    assert program.transcript.entries[program.transcript.at].begins_turn


def test_arrows_reach_every_line_and_never_leave_the_transcript(query: Query) -> None:
    program = browser(query, start=query.find("s-1"))
    assert program.transcript is not None
    type_(program, "a")
    count = program.content(80).line_count
    seen = [0]
    for _ in range(count + 5):
        type_(program, DOWN)
        seen.append(program.content(80).cursor_position.y)
    assert seen == [*range(count), *[count - 1] * 6]
    for _ in range(count + 5):
        type_(program, UP)
    assert program.content(80).cursor_position.y == 0
    type_(program, END)
    assert program.content(80).cursor_position.y == count - 1


def test_typing_after_a_slash_filters_the_list(query: Query) -> None:
    program = type_(browser(query), "/codex\r")
    assert {row.client for row in program.shown} == {"codex"}
    assert type_(browser(query), "/codexx\x7f\r").words == "codex"
    assert lines(type_(browser(query), "/nothing fits q\r")) == ["No session fits."]


@pytest.mark.parametrize("width", [30, 60, 80, 120, 200])
def test_lines_fit_the_screen(query: Query, width: int) -> None:
    program = browser(query)
    assert max(map(len, lines(program, width))) <= max(width, 60)
    type_(program, ENTER, "a")
    assert max(map(len, lines(program, width))) <= width


def test_a_session_of_which_nothing_is_understood_opens(tmp_path: Path) -> None:
    (tmp_path / "s-9.jsonl").write_bytes(CLAUDE)
    query = Query(paths=[tmp_path])
    query.refresh()
    record = {"sessionId": "s-1", "type": "nobody-knows", "uuid": "u", "timestamp": "2026-01-05T12:00:00Z"}
    (tmp_path / "s-9.jsonl").write_text(json.dumps(record) + "\n")
    program = type_(browser(query), ENTER)
    assert program.session is not None
    assert lines(program)


def test_text_of_a_log_steers_no_terminal() -> None:
    text = "\x1b]0;owned\x07\x1b[2J\u202e"
    shown = Transcript([Entry(0, "", f"→ {text}", [("", text)], folded=False)])
    told = "".join(shown.line(number)[1][1] for number in range(shown.lay_out(80)))
    assert not set(told) & {"\x1b", "\x07", "\u202e"}
    assert told.count("\\x1b") == 4


def test_a_session_of_fifty_thousand_entries_is_drawn_a_screen_at_a_time() -> None:
    entries = [
        Entry(0, "", f"→ call {number}", [("", "x" * 500)], folded=True, failed=number == 40_000)
        for number in range(50_000)
    ]
    shown = Transcript(entries)
    assert shown.lay_out(80) == 50_000
    assert shown.next(1, lambda entry: entry.failed) == 40_000
    shown.fold([40_000], folded=False)
    assert shown.lay_out(80) == 50_000 + 7
    assert shown.line(40_000)[0] == shown.line(40_007)[0] == 40_000
    assert shown.line(40_008)[0] == 40_001


def test_without_a_terminal_it_is_said_what_to_use(user: User) -> None:
    done = user.types("browse")
    assert (done.code, "dragoman sessions" in done.err) == (2, True)


def test_costs_are_asked_for_of_the_sessions_that_are_drawn_and_once(query: Query) -> None:
    asked: list[list[str]] = []

    def costs(rows: Sequence[SessionRow]) -> Costs:
        asked.append([row.session for row in rows])
        return {rows[0].session: (1.5, 1, None)}

    program = Browser(query.sessions(), lambda row: conversation_of(query, row), costs)
    assert not program.count()
    first = program.content(120).get_line(0)
    assert program.count()
    assert not program.count()
    shown = lines(program, 120)
    assert "$1.50+" in shown[0]
    assert "$" not in shown[1]
    assert "$" not in str(first)
    assert program.count()
    lines(program, 120)
    assert not program.count()
    assert asked == [[row.session] for row in query.sessions()]
