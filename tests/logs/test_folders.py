"""Logs that are folders: every file of one is the same session, and what code called stands under the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS
from dragoman.logs import FORMATS, Found, read, recognise
from dragoman.logs.history.observed import Observed
from dragoman.model import (
    CallMcpTool,
    Failure,
    NativeCall,
    NativeResult,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
)
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


def test_the_chunk_that_the_times_are_in_is_read_and_compared_with_the_session(vibe: Path) -> None:
    manifest = vibe / "generations/0000000000000002/manifest.json"
    named = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**named, "projection_state": {"chunks": ["cd", "../../../etc/x"]}}))
    entry = {"type": "message", "role": "user", "id": "user-1", "createdAt": 1_767_225_600_000, "turnId": "t"}
    (vibe / "chunks/cd.json").write_text(json.dumps([entry]))
    beside = list(FORMATS["mistral_vibe"].companions(vibe / "CURRENT"))
    assert beside[-3:] == [vibe / "chunks/ab.json", vibe / "chunks/cd.json", vibe / "chunks/x.json"]
    observed = Observed(Found(vibe / "CURRENT", "mistral_vibe"))
    for event in read(vibe / "CURRENT"):
        observed.event(event)
    assert "createdAt" in observed.finish().fields["message/user"]


@pytest.mark.parametrize("space", ["", " "])
def test_a_refusal_of_mistral_vibe_is_one_however_its_json_is_written(space: str) -> None:
    marks = (f",{space}", f":{space}")
    for name, kind in (
        ("InvalidToolCall", "invalid_arguments"),
        ("tool_denied", "denied"),
        ("Interrupted", "cancelled"),
    ):
        text = json.dumps({"result": {"type": "error", "error": {"name": name, "message": "x"}}}, separators=marks)
        call = DIALECTS["mistral_vibe"].read_call(NativeCall("1", "bash", {"command": "ls"}))
        (outcome,) = DIALECTS["mistral_vibe"].read_result(call, NativeResult("1", text, is_error=True)).outcomes
        assert (type(outcome), getattr(outcome, "kind", None)) == (Failure, kind)


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
