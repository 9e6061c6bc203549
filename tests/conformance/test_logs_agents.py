"""Sub-agents, resumes, compactions and rewinds of every client: who called whom, as the scripts have it.

A script names the thread of each answer, and the words that begin a thread carry its mark (`[[S:sub1]]`), so the call
that spawned a thread is the one whose arguments hold that mark: nothing here is taken from the events but ids.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from dragoman.logs import Originals, sessions_of
from dragoman.model import (
    AnyEvent,
    ContextCompacted,
    HistoryRewound,
    Interrupted,
    Session,
    SessionStarted,
    ToolCalled,
    UserSaid,
)
from tests.conformance.scripted_sessions import CLIENTS, LATER_CLIENTS, ROOTS, Scripted, contains, sessions
from tests.conformance.scripted_truth import compare

ALL_CLIENTS = {**CLIENTS, **LATER_CLIENTS}
SESSIONS = {
    (session.client, session.name): (session, format)
    for client, format in CLIENTS.items()
    for session in sessions(client, format)
}

KEEPS_THE_TASK = ("gemini-cli@0.19.4", "gemini-cli@0.24.0")
"""Versions that keep what an agent was told, among the user's words."""
BY_THE_CLIENT = {
    ("claude-code@2.0.76", "tour"): "the client warms its agents up by itself",
    ("qwen-code", "resume"): "the client keeps its memory by itself",
}
"""Sessions in which agents run that no call of the model's spawned."""


@cache
def is_unlogged(client: str, name: str, thread: str) -> bool:
    """Whether the client kept no call of a thread: its bytes hold none."""
    session, _ = SESSIONS[client, name]
    wanted = sum(whose == thread for whose, *_ in session.calls)
    return compare(session, events_of(client, name)).unlogged[thread] == wanted


@cache
def events_of(client: str, name: str) -> list[AnyEvent]:
    session, format = SESSIONS[client, name]
    return session.events(format)


def mark(thread: str) -> str:
    return f"[[S:{thread}]]"


def spawned_threads(session: Scripted) -> list[str]:
    """Threads that a call began, rather than the user who came back."""
    names = dict.fromkeys(thread for thread, *_ in session.calls)
    return [
        name
        for name in names
        if any(mark(name) in json.dumps(arguments) for thread, _, arguments in session.calls if thread != name)
    ]


SPAWNED = [(*key, thread) for key, (session, _) in SESSIONS.items() for thread in spawned_threads(session)]


def everyone(found: list[Session], parent: Session | None = None) -> Iterator[tuple[Session | None, Session]]:
    """Each session with the one it hangs under."""
    for session in found:
        yield parent, session
        yield from everyone(list(session.children), session)


def calls_in(session: Session) -> list[ToolCalled]:
    return [use.called for turn in session.turns for step in turn.steps for use in step.tools]


def first_words(session: Session) -> str:
    opened = session.turns[0].opened_by if session.turns else None
    return opened.text if isinstance(opened, UserSaid) else ""


@pytest.mark.parametrize("client, name, thread", SPAWNED)
def test_an_agent_hangs_under_the_very_call_that_spawned_it(client: str, name: str, thread: str) -> None:
    session, _ = SESSIONS[client, name]
    wanted = [(tool, arguments) for whose, tool, arguments in session.calls if whose == thread]
    found = list(everyone(sessions_of(events_of(client, name))))
    mine = [(parent, child) for parent, child in found if parent is not None and is_of(child, thread, wanted)]
    if is_unlogged(client, name, thread):
        kept = [calls_in(child) for _, child in mine]
        assert kept == ([[]] if client in KEEPS_THE_TASK else [])
        logged = [called.call.native for _, one in found for called in calls_in(one)]
        assert [tool for tool, arguments in wanted if any(same(tool, arguments, call) for call in logged)] == []
        return
    ((parent, child),) = mine
    assert parent is not None
    logged = [called.call.native for called in calls_in(child)]
    assert len(logged) == len(wanted)
    assert all(any(same(tool, arguments, call) for call in logged) for tool, arguments in wanted)
    if (client, name) in BY_THE_CLIENT and child.parent_call is None:
        return
    spawns = [called for called in calls_in(parent) if mark(thread) in json.dumps(called.call.native.arguments)]
    assert [called.call.id for called in spawns if called.call.id == child.parent_call] == [child.parent_call]
    assert child.parent_session == parent.id


def is_of(child: Session, thread: str, wanted: list[tuple[str, Any]]) -> bool:
    """Whether a session is that thread: by its first words, or by its calls where no log has those words."""
    words, logged = first_words(child), [called.call.native for called in calls_in(child)]
    if "[[S:" in words:
        return mark(thread) in words
    return len(logged) == len(wanted) and all(any(same(*call, native) for native in logged) for call in wanted)


def same(tool: str, arguments: Any, native: Any) -> bool:
    if isinstance(arguments, dict) and isinstance(native.arguments, dict):
        return bool(tool == native.name and contains(arguments, native.arguments))
    return bool(tool == native.name)


@pytest.mark.parametrize("client, name", SESSIONS)
def test_nobody_hangs_under_a_call_that_did_not_spawn_them(client: str, name: str) -> None:
    session, _ = SESSIONS[client, name]
    threads = {
        thread: [(tool, arguments) for whose, tool, arguments in session.calls if whose == thread]
        for thread in spawned_threads(session)
    }
    for parent, child in everyone(sessions_of(events_of(client, name))):
        if parent is None:
            assert child.parent_call is None
        elif child.parent_call is None:
            assert (client, name) in BY_THE_CLIENT
        else:
            # An agent whose first request failed made no call, so no thread of the script is its own.
            assert any(is_of(child, *thread) for thread in threads.items()) or not calls_in(child)
            assert child.parent_call in {called.call.id for called in calls_in(parent)}


def test_an_agent_without_a_call_is_one_that_no_call_spawned() -> None:
    """By the bytes: no other record names it, and no call that names a thread is left without its agent.

    Claude Code 2.0.55 and 2.0.76 warm two agents up by themselves, and Qwen Code 0.24.4 asks one to keep its memory.
    """
    alone = Counter[str]()
    for client, format in ALL_CLIENTS.items():
        for session in sessions(client, format, ROOTS):
            events = session.events(format)
            tree = list(everyone(sessions_of(events)))
            tied = {child.parent_call for _, child in tree if child.parent_call is not None}
            for parent, child in tree:
                if parent is None or child.parent_call is not None:
                    continue
                alone[f"{session.client}/{session.name}"] += 1
                own = {event.source for event in events if event.stream == child.stream}
                others = {event.source for event in events if event.source is not None} - own
                with Originals() as originals:
                    told = [one for one in others if child.stream.encode() in (originals.of(one) or b"")]
                assert told == []
                spawns = [called for called in calls_in(parent) if "[[S:" in json.dumps(called.call.native.arguments)]
                assert {called.call.id for called in spawns} <= tied
    assert alone == {
        "claude-code@2.0.76/tour": 2,
        "claude-code@2.0.55/denied": 2,
        "claude-code@2.0.55/tour": 2,
        "qwen-code/resume": 1,
    }


@pytest.mark.parametrize("client", KEEPS_THE_TASK)
def test_the_task_of_an_agent_opens_no_turn_of_the_session_it_stands_in(client: str) -> None:
    (session,) = sessions_of(events_of(client, "tour"))
    assert [(turn.opened_by.by, len(turn.steps)) for turn in session.turns if isinstance(turn.opened_by, UserSaid)] == [
        ("user", 3)
    ]
    (agent,) = session.children
    spawns = [
        called.call.id for called in calls_in(session) if mark("sub1") in json.dumps(called.call.native.arguments)
    ]
    assert len(session.turns) == len(agent.turns) == 1
    assert agent.parent_call in spawns


def test_what_the_table_holds() -> None:
    held = Counter(client.partition("@")[0] for client, *key in SPAWNED if not is_unlogged(client, *key))
    assert held == {
        "claude-code": 12,
        "cline": 1,
        "codex": 3,
        "copilot": 2,
        "gemini-cli": 4,
        "opencode": 6,
        "qwen-code": 6,
    }


# ── histories that go on, are shortened, or go back ──────────────────────────

HISTORIES = {
    # (client, session): (sessions told of, resumed by what the log says, compactions, rewinds, interrupts)
    ("claude-code", "compact"): (1, 0, 1, 0, 0),
    ("claude-code", "interrupt"): (1, 0, 0, 0, 1),
    ("codex", "compact"): (1, 0, 1, 0, 0),
    ("codex", "interrupt"): (1, 0, 0, 0, 1),
    ("copilot", "resume"): (1, 1, 0, 0, 0),
    ("gemini-cli", "compress"): (1, 2, 1, 0, 0),
    ("gemini-cli", "resume"): (1, 5, 0, 1, 0),
    ("gemini-cli", "interrupt"): (1, 0, 0, 0, 0),  # it was stopped before it wrote the call, and wrote no more
    ("opencode", "compact"): (1, 0, 1, 0, 0),
    ("opencode", "interrupt"): (1, 0, 0, 0, 0),  # the call is there and never ended
    ("opencode", "resume"): (1, 0, 0, 0, 0),  # it goes on in the same rows without a word
    ("pi", "resume"): (1, 0, 0, 0, 0),  # it goes on in the same file without a word
    ("qwen-code", "compress"): (1, 0, 3, 0, 0),
    ("qwen-code", "interrupt"): (1, 0, 0, 0, 1),
    ("qwen-code", "resume"): (1, 0, 1, 0, 0),
}


@pytest.mark.parametrize("client, name", HISTORIES)
def test_a_history_that_went_on_or_was_cut_is_one_session_and_says_so(client: str, name: str) -> None:
    events = events_of(client, name)
    counted = Counter(type(event) for event in events)
    resumed = [event for event in events if isinstance(event, SessionStarted) and event.resumed]
    assert (
        len(sessions_of(events)),
        len(resumed),
        counted[ContextCompacted],
        counted[HistoryRewound],
        counted[Interrupted],
    ) == HISTORIES[client, name]


def test_every_such_history_is_in_the_table() -> None:
    kinds = {"resume", "compact", "compress", "interrupt"}
    assert {key for key in SESSIONS if key[1] in kinds} == HISTORIES.keys()
