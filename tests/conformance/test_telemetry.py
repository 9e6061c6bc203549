"""Spans of live runs and of recorded sessions have what the GenAI conventions require, by their model files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import Orchestrator, ScriptedEngine, Telemetry
from dragoman.model import NativeCall, Reply, TextPart, Usage
from dragoman.model.conversation import CallPart, FinishReason
from dragoman.tools import tool
from tests.conformance.conftest import AGREEMENT
from tests.conformance.test_history_export import SESSIONS, events_of, exported
from tests.genai_conventions import OPERATION, VERSION, missing_in, missing_in_otlp

ALWAYS = ("gen_ai.conversation.id",)
"""Conditionally required, and always known of a session."""


@tool
def half(number: int) -> int:
    """Half of an even number."""
    if number % 2:
        raise ValueError("odd")
    return number // 2


def replies(*numbers: int) -> list[Reply]:
    asked = [
        Reply((CallPart(NativeCall(str(place), "half", {"number": number})),), FinishReason.CALLS, usage=Usage(3, 4))
        for place, number in enumerate(numbers)
    ]
    return [*asked, Reply((TextPart("Done."),), FinishReason.STOP, usage=Usage(5, 6))]


def noted(found: Counter[str], problems: list[str], record_property: Callable[[str, object], None], what: str) -> None:
    """Prints what was checked, and asserts that nothing is missing."""
    spans = ", ".join(f"{count:,} {name}" for name, count in sorted(found.items()))
    checked = sum(found.values())
    wrong = len(problems)
    record_property(
        AGREEMENT, f"OpenTelemetry GenAI {VERSION}, {what}: {checked - wrong:,} of {checked:,} spans agree ({spans})"
    )
    assert problems == []
    assert set(found) == {"invoke_agent", "chat", "execute_tool"}


def test_spans_of_recorded_sessions_have_what_the_conventions_require(
    record_property: Callable[[str, object], None],
) -> None:
    found: Counter[str] = Counter()
    problems: list[str] = []
    for name, files in SESSIONS:
        for resource in json.loads(exported(events_of(files), "otel"))["resourceSpans"]:
            for span in resource["scopeSpans"][0]["spans"]:
                known = {one["key"]: one["value"] for one in span["attributes"]}
                found[known[OPERATION]["stringValue"]] += 1
                available = [*ALWAYS, *(["gen_ai.agent.name"] if span["name"].startswith("invoke_agent ") else [])]
                lacking = missing_in_otlp(span, available)
                problems += [f"{name}: {span['name']}: {lacking}"] if lacking else []
    noted(found, problems, record_property, "recorded sessions")


class Broken(ScriptedEngine):
    """An engine that fails at once."""

    async def ask(self, *arguments: Any, **more: Any) -> Reply:
        raise ConnectionError("no such host")


@pytest.mark.parametrize("streamed", [False, True])
async def test_spans_of_runs_have_what_the_conventions_require(
    streamed: bool, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    told: dict[str, Any] = {"tools": [half], "model_name": "gpt-x", "dialect": "plain"}
    told |= {"emit": Telemetry(provider.get_tracer("t"), content=True), "seed": 7}
    for engine in (ScriptedEngine(replies(4, 3, 8)), Broken([])):
        run = Orchestrator(engine, **told)
        try:
            if streamed:
                async for _ in run.stream("go"):
                    pass
            else:
                await run.run("go")
        except ConnectionError:
            assert isinstance(engine, Broken)
    found: Counter[str] = Counter()
    problems: list[str] = []
    for span in exporter.get_finished_spans():
        operation = str((span.attributes or {})[OPERATION])
        found[operation] += 1
        asked = ["gen_ai.request.seed", *(["gen_ai.request.stream"] if streamed else [])]
        lacking = missing_in(span, [*ALWAYS, "gen_ai.request.model", *(asked if operation == "chat" else [])])
        problems += [f"{span.name}: {lacking}"] if lacking else []
    noted(found, problems, record_property, "streamed runs" if streamed else "runs")
