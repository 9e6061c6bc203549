"""Logs that are folders: every file of one is the same session, and what code called stands under the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.logs import FORMATS, read, recognise
from dragoman.model import CallMcpTool, TextOutcome, TokensUsed, ToolCalled, ToolReturned
from tests.logs.agent_samples import OPENHANDS, OPENHANDS_CALL, OPENHANDS_RESULT, VIBE, vibe_files


@pytest.fixture
def vibe(tmp_path: Path) -> Path:
    for name, data in vibe_files().items():
        path = tmp_path / "v-1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "v-1" / "CURRENT").write_bytes(VIBE)
    return tmp_path / "v-1"


def test_every_file_of_a_session_means_the_session(vibe: Path) -> None:
    format = FORMATS["mistral_vibe"]
    for name in ("CURRENT", "journal/0000000000000001.jsonl", "generations/0000000000000002/manifest.json"):
        assert recognise(vibe / name)[0] is format
        assert format.whole(vibe / name) == vibe / "CURRENT"


def test_what_code_called_stands_after_the_code(vibe: Path) -> None:
    events = list(read(vibe / "CURRENT"))
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [(event.by, event.call.native.name) for event in called] == [
        ("model", "run_typescript"),
        ("program", "mcp_toy.echo"),
    ]
    assert called[1].call.operations == (CallMcpTool("toy", "echo", {"text": "x"}),)
    returned = [event.result for event in events if isinstance(event, ToolReturned)]
    assert returned[0].outcomes == (TextOutcome("x"),)


def test_tokens_are_those_of_the_journal_while_it_is_whole(vibe: Path) -> None:
    used = [event.usage.total for event in read(vibe / "CURRENT") if isinstance(event, TokensUsed)]
    assert used == [17, 17]


def test_a_conversation_of_one_file_per_event_is_read_in_order(tmp_path: Path) -> None:
    events = tmp_path / "o-1" / "events"
    events.mkdir(parents=True)
    (tmp_path / "o-1" / "base_state.json").write_bytes(OPENHANDS)
    (events / "event-00003-e.json").write_bytes(OPENHANDS_RESULT)
    (events / "event-00002-e.json").write_bytes(OPENHANDS_CALL)
    format = FORMATS["openhands"]
    assert format.whole(events / "event-00003-e.json") == tmp_path / "o-1" / "base_state.json"
    read_events = list(read(tmp_path / "o-1" / "base_state.json"))
    kinds = [type(event).__name__ for event in read_events]
    assert kinds == ["SessionStarted", "ModelThought", "ModelSaid", "ToolCalled", "ToolReturned", "TokensUsed"]
    (used,) = [event for event in read_events if isinstance(event, TokensUsed)]
    assert (used.usage.input_tokens, used.usage.cached_read_tokens, used.cost) == (60, 40, 0.01)
