"""What a run logs: every step a person debugs, and nothing that was said, called with or returned."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from dragoman.engine import Approval, Orchestrator, ScriptedEngine, ToolPolicy
from dragoman.engine.logged import log_listener
from dragoman.engine.models import engine_for
from dragoman.errors import EngineError
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, TextPart
from dragoman.tools import Tool
from tests.engine.loopback import Raw, loopback

SECRET = "sk-secret-0123456789"


def _tool(name: str, run: object) -> Tool:
    return Tool(name, "Does it.", {"type": "object", "properties": {"x": {"type": "string"}}}, lambda _: run())  # type: ignore[operator]


def _fail() -> str:
    raise RuntimeError(SECRET)


def _lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [f"{one.name.removeprefix('dragoman.')} {one.levelname} {one.getMessage()}" for one in caplog.records]
    return [re.sub(r"run \w{32}", "run R", re.sub(r"after [\d.]+ s", "after T", line)) for line in lines]


async def _run(**options: object) -> None:
    calls = [CallPart(NativeCall(name, name, {"x": SECRET})) for name in ("works", "fails", "denied")]
    script = [Reply(tuple(calls), FinishReason.CALLS), Reply((TextPart(SECRET),), FinishReason.STOP)]
    tools = [_tool("works", lambda: SECRET), _tool("fails", _fail), _tool("denied", lambda: SECRET)]
    policy = ToolPolicy(approval=(Approval("deny", tool="denied"),))
    await Orchestrator(ScriptedEngine(script), tools, model_name="m", policy=policy).run(f"Use {SECRET}.")


async def test_every_step_of_a_run_is_logged_and_nothing_that_was_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dragoman")
    await _run()
    lines = _lines(caplog)
    assert lines[0] == "engine.run INFO run R began with m in plain words"
    assert "engine.model DEBUG run R step 1: asked m, 3 tools" in lines
    assert "engine.model DEBUG run R step 1: the model finished: calls" in lines
    assert [line for line in lines if "call works:" in line] == [
        "engine.tools DEBUG run R call works: works (call_function) allowed by policy",
        "engine.tools DEBUG run R call works: done after T",
    ]
    assert [line for line in lines if "call fails:" in line][1] == "engine.tools INFO run R call fails: failed after T"
    assert "engine.tools INFO run R call denied: denied (call_function) denied" in [
        line.partition(" by ")[0] for line in lines
    ]
    assert lines[-1] == "engine.run INFO run R ended: completed"
    assert SECRET not in "\n".join(lines)


async def test_a_limit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dragoman.engine.run")
    call = Reply((CallPart(NativeCall("1", "works", {})),), FinishReason.CALLS)
    tools = [_tool("works", lambda: "ok")]
    await Orchestrator(ScriptedEngine([call]), tools, model_name="m", policy=ToolPolicy(max_iterations=1)).run("Go.")
    assert _lines(caplog)[-1].startswith("engine.run INFO run R ended: limited (")


async def test_requests_answers_retries_and_failures_are_logged_without_the_providers_words(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dragoman.engine import Retry

    caplog.set_level(logging.DEBUG, "dragoman.engine.http")
    refused = Raw(status=503, body=f'{{"error": {{"message": "{SECRET}"}}}}'.encode())
    async with loopback(refused, refused) as server:
        engine, model = engine_for(
            "openai:gpt-4o",
            base_url=server.url,
            api_key=SECRET,
            retry=Retry(times=1, base=0.0),
            configuration=None,
        )
        with pytest.raises(EngineError):
            await Orchestrator(engine, [], model_name=model).run(f"Use {SECRET}.")
    lines = _lines(caplog)
    assert [re.sub(r"\d+ bytes", "N bytes", line.partition(": ")[2]) for line in lines if "bytes sent" in line] == [
        "N bytes sent",
        "N bytes sent",
    ]
    assert any("trying again in" in line and "(1 of 1)" in line for line in lines)
    assert lines[-1].endswith("; not tried again")
    assert SECRET not in "\n".join(lines)


def test_nothing_is_made_while_nobody_reads_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "dragoman")
    assert log_listener() is None
    caplog.set_level(logging.INFO, "dragoman.engine.tools")
    assert log_listener() is not None
