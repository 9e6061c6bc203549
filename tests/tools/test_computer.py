"""A screen of the caller's is offered once, in the words of the provider, and acted on by the caller's tool."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman import ProviderTool, Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade, Orchestrator, ScriptedEngine
from dragoman.model import (
    AnyEvent,
    CallPart,
    ExecutedBy,
    FinishReason,
    ModelAsked,
    NativeCall,
    Reply,
    ToolReturned,
    operations as op,
)
from dragoman.tools import Context, Tool

SETTINGS = {
    "anthropic.computer_20241022": {"display_width_px": 1, "display_height_px": 1},
    "anthropic.computer_20250124": {"display_width_px": 1, "display_height_px": 1},
    "anthropic.computer_20251124": {"display_width_px": 1, "display_height_px": 1},
    "openai.computer_use_preview": {"display_width": 1, "display_height": 1, "environment": "browser"},
    "azure.computer_use_preview": {"display_width": 1, "display_height": 1, "environment": "browser"},
    "google.computer_use": {"environment": "ENVIRONMENT_BROWSER"},
}
ROWS = [
    row
    for name in DIALECTS
    for row in DIALECTS[name].provider_tools
    if any(one.executed_by is ExecutedBy.CLIENT and op.UseComputer in one.operation_types for one in row.spellings)
]


async def nothing(operation: op.UseComputer, context: Context) -> str:
    return "done"


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
@pytest.mark.parametrize("dialect", ["plain", "claude_code", "codex", "gemini_cli"])
def test_a_screen_is_offered_once_however_a_provider_calls_it(row: Any, dialect: str) -> None:
    offer = ProviderTool(row.id, SETTINGS.get(row.id, {}))
    facade = Facade(DIALECTS[dialect], Toolset([Tool.from_operation(op.UseComputer, nothing), offer]))
    alone = Facade(DIALECTS[dialect], Toolset([offer]))
    assert facade.definitions == alone.definitions


@pytest.mark.parametrize(
    "model, offer, call",
    [
        (
            "claude-sonnet-4-5",
            "anthropic.computer_20250124",
            ("computer", {"action": "left_click", "coordinate": [1, 2]}),
        ),
        ("computer-use-preview", "openai.computer_use_preview", ("computer", {"type": "click", "x": 1, "y": 2})),
        ("gemini-3-pro", "google.computer_use", ("click_at", {"x": 1, "y": 2})),
    ],
)
async def test_a_call_in_the_providers_words_runs_the_callers_tool(model: str, offer: str, call: Any) -> None:
    seen: list[op.UseComputer] = []

    async def screen(operation: op.UseComputer, context: Context) -> str:
        seen.append(operation)
        return "done"

    events: list[AnyEvent] = []
    reply = Reply((CallPart(NativeCall("c1", *call)),), FinishReason.CALLS)
    with ScriptedEngine([reply, "Done."]) as engine:
        tools = [Tool.from_operation(op.UseComputer, screen), ProviderTool(offer, SETTINGS[offer])]
        await Orchestrator(engine, tools, model_name=model, emit=events.append).run("go")
    (first, _) = (event for event in events if isinstance(event, ModelAsked))
    assert "use_computer" not in first.offered
    assert len(seen) == 1
    assert [event.result.outcomes[0].text for event in events if isinstance(event, ToolReturned)] == ["done"]  # type: ignore[union-attr]


def test_a_note_names_the_model_that_is_not_known_to_have_a_tool() -> None:
    offer = ProviderTool("openai.computer_use_preview", SETTINGS["openai.computer_use_preview"])
    with ScriptedEngine([]) as engine:
        run = Orchestrator(engine, [Tool.from_operation(op.UseComputer, nothing), offer], model_name="gpt-5.1")
        notes = [note.message for note in run.prepare("hi").notes]
    assert notes == ["gpt-5.1 is not known to have it"]


def test_the_program_of_the_page_is_the_example_in_short() -> None:
    import re

    page = (Path(__file__).parents[2] / "docs" / "howto" / "computer-use.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    assert asyncio.iscoroutinefunction(names["main"])
    named = set(re.findall(r"`((?:anthropic|openai|google)\.\w+)`", page))
    known = {row.id for dialect in ("anthropic", "openai", "google") for row in DIALECTS[dialect].provider_tools}
    assert named <= known
