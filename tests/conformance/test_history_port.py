"""Every recorded session goes on with every provider: re-spoken in its words, with nothing it would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.engine import Orchestrator
from dragoman.logs import FORMATS, numbered, read
from dragoman.logs.port import history_of
from dragoman.model import AnyEvent, CallPart, Conversation, ResultPart, ToolCalled, ToolReturned
from dragoman.registry import APIS, TOOLS
from dragoman.tools import Toolset
from tests.conformance.scripted_sessions import TRACES, log_files

MODELS = {
    "anthropic_messages": "anthropic:claude-sonnet-4-5",
    "openai_chat": "openai-chat:gpt-5",
    "openai_responses": "openai:gpt-5",
    "gemini_generate": "gemini:gemini-2.5-pro",
}


def _streams(folder: Path) -> Iterator[tuple[str, str, list[AnyEvent]]]:
    """(format, stream, events) of every agent in every session of a client."""
    format = folder.name.partition("@")[0].replace("-", "_")
    for session in sorted(path for path in folder.iterdir() if (path / "script.json").is_file()):
        for file in log_files(session / "home", format):
            events = list(numbered(read(file, format)))
            for id, stream in dict.fromkeys((event.session, event.stream) for event in events):
                yield format, stream, [event for event in events if event.session == id]


CLIENTS = sorted(path.name for path in TRACES.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def orchestrators() -> Iterator[dict[str, Orchestrator]]:
    # Nobody answers questions here, so the tool for them would not be offered.
    tools = Toolset([TOOLS[name] for name in TOOLS if name != "ask_user"])
    with pytest.MonkeyPatch.context() as patch:
        for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            patch.setenv(key, "none")
        yield {api: Orchestrator(model, tools=tools) for api, model in MODELS.items()}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_session_goes_on_with_every_api_and_nothing_is_to_be_fixed(
    client: str, orchestrators: dict[str, Orchestrator]
) -> None:
    ported = 0
    for format, stream, events in _streams(TRACES / client):
        told = history_of(events, FORMATS[format].dialect, stream)
        if not told.conversation:
            continue
        _all_calls_are_there(told.conversation, events, stream)
        for api, orchestrator in orchestrators.items():
            prepared = orchestrator.prepare("Go on.", history=told.conversation)
            assert prepared.encoded is not None
            problems = APIS[api].validate(prepared.request)
            if orchestrator.dialect.name == FORMATS[format].dialect:  # calls in the model's own words stay
                problems = tuple(one for one in problems if not one.accepted)
            assert problems == ()
            ported += 1
    assert ported >= len(MODELS)


def _all_calls_are_there(conversation: Conversation, events: list[AnyEvent], stream: str) -> None:
    """A history holds each call its model made with what it gave, unless the client itself had forgotten them."""
    kinds = {type(event).__name__ for event in events}
    if "ContextCompacted" in kinds or "HistoryRewound" in kinds:
        return
    mine = [event for event in events if event.stream == stream]
    made = [
        event.call.native
        for event in mine
        if isinstance(event, ToolCalled) and event.by != "program" and event.call.native.executed_by == "client"
    ]
    calls = [part.call for item in conversation for part in item.parts if isinstance(part, CallPart)]
    assert [(one.name, one.arguments) for one in calls] == [(one.name, one.arguments) for one in made]
    results = [part.result.content for item in conversation for part in item.parts if isinstance(part, ResultPart)]
    first: dict[str | None, object] = {}  # Codex's programs tell things on the way, under the same id
    for event in mine:
        if isinstance(event, ToolReturned) and event.result.native is not None:
            first.setdefault(event.call_id, event.result.native.content)
    assert all(first[one.id] in results for one in made if one.id in first)
    assert len(results) == len(calls)
