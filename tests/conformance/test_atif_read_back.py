"""Every scripted session, written as trajectories in ATIF and read again, gives what it gave; so do other people's."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.logs import read, sessions_of
from dragoman.logs.export import Chosen, write_as
from dragoman.model import (
    AnyEvent,
    ModelSaid,
    Session,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    Unreadable,
    Unrecognised,
    UserSaid,
)
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import CLIENTS, ROOTS, sessions

COUNTS = ("input_tokens", "cached_read_tokens", "cached_write_tokens", "output_tokens")


def everyone(found: list[Session], above: Session | None = None) -> Iterator[tuple[Session | None, Session]]:
    for session in found:
        yield above, session
        yield from everyone(list(session.children), session)


def tree(events: list[AnyEvent]) -> list[Any]:
    return sorted(
        (one.id, one.stream, None if above is None else (above.id, above.stream), one.parent_call)
        for above, one in everyone(sessions_of(events))
        if one.turns
    )


def tokens(events: list[AnyEvent]) -> list[int]:
    used = [event.usage for event in events if isinstance(event, TokensUsed)]
    return [sum(getattr(usage, name) or 0 for usage in used) for name in COUNTS]


def letters(events: list[AnyEvent]) -> list[str]:
    """What was said, however it is cut into pieces."""
    return sorted("".join(event.text for event in events if isinstance(event, ModelSaid)).replace("\n", ""))


@pytest.mark.parametrize("client, format", CLIENTS.items())
def test_a_session_written_as_a_trajectory_is_read_as_it_was(client: str, format: str, tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    for session in sessions(client, format, ROOTS):
        events, written = session.events(format), io.BytesIO()
        write_as(Chosen(lambda events=events: iter(events)), "atif", written)  # type: ignore[misc]
        path.write_bytes(written.getvalue())
        again = list(read(path))
        assert not [one for one in again if isinstance(one, Unreadable)]
        called = {one.call_id: one.call.operations for one in events if isinstance(one, ToolCalled)}
        assert {one.call_id: one.call.operations for one in again if isinstance(one, ToolCalled)} == called
        returned = {one.call_id: one.result.outcomes for one in events if isinstance(one, ToolReturned)}
        counts = Counter(one.call_id for one in events if isinstance(one, ToolReturned))
        once = {id: outcomes for id, outcomes in returned.items() if id in called and counts[id] == 1}
        told = {one.call_id: one.result.outcomes for one in again if isinstance(one, ToolReturned)}
        assert ({id: outcomes for id, outcomes in told.items() if id in once}, told.keys()) == (
            once,
            {id for id in returned if id in called},
        )
        assert (tree(again), tokens(again), letters(again)) == (tree(events), tokens(events), letters(events))
        asked = [(one.text, one.by) for one in events if isinstance(one, UserSaid) and not one.media]
        assert sorted(asked) == sorted(
            (one.text, one.by) for one in again if isinstance(one, UserSaid) and not one.text.startswith("[image/")
        )


@pytest.mark.parametrize("path", sorted((SHARED / "traces-wild" / "atif").rglob("*.json")), ids=lambda path: path.stem)
def test_a_trajectory_of_another_program_is_read_whole(path: Path) -> None:
    document, events = json.loads(path.read_bytes()), list(read(path))
    own = [step for step in document["steps"] if not step.get("is_copied_context")]
    calls = [call["tool_call_id"] for step in own for call in step.get("tool_calls", ())]
    assert [one.call_id for one in events if isinstance(one, ToolCalled)] == calls
    used = [step["metrics"] for step in own if "metrics" in step]
    written = sum(metrics.get("completion_tokens", 0) for metrics in used)
    asked = sum(metrics.get("prompt_tokens", 0) for metrics in used)
    assert (sum(tokens(events)[:3]), tokens(events)[3]) == (asked, written)
    said = [event.text for event in events if isinstance(event, ModelSaid)]
    assert said == [step["message"] for step in own if step["source"] == "agent" and step["message"]]
    unknown = [event for event in events if isinstance(event, ToolCalled) for one in event.call.operations]
    known = document["agent"]["name"] == "claude-code"
    assert all(isinstance(event.call.operations[0], Unrecognised) is not known for event in unknown)
