"""Agents over real model servers: llama.cpp with a model that calls whatever it may, and one that is configured.

`DRAGOMAN_AGENT_MODEL` (`ollama:qwen3`, …) names a model of a server that runs; then the whole agent runs on it too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents import Activation, Kernel, builtin_toolset, parse_agent
from dragoman.engine import Retry, ToolPolicy
from dragoman.engine.models import engine_for
from dragoman.logs import Recorder, read, sessions_of
from dragoman.model import AgentStarted, Session, SessionEnded, ToolChoice
from dragoman.tools import MemoryWorkspace
from tests.agents.editor import FILE, TASK
from tests.agents.playing import told
from tests.conformance.test_llamacpp import KEY, engine, served
from tests.conformance.tiny_model import CALLS, write_tiny_model

PICKER = """\
---
name: picker
description: Picks.
model: tiny
dialect: plain
tools: []
custom_tools:
  - name: pick
    description: Picks a colour.
    prompt: "{{colour}}"
    parameters:
      colour: { type: string, description: It., enum: [red, blue] }
limits: { max_depth: 1, max_turns: 1, max_concurrency: 1 }
---
Pick.
"""


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from served(write_tiny_model(tmp_path_factory.mktemp("caller") / "tiny.gguf", favourite=CALLS))


def everyone(ended: Activation) -> list[Activation]:
    return [ended, *(one for child in ended.children for one in everyone(child))]


def streams(session: Session) -> list[str]:
    return [session.stream, *(stream for child in session.children for stream in streams(child))]


def held(ended: Activation, path: Path) -> None:
    """Whatever the models said: all have ended, once, and the record tells of the same tree."""
    events = list(read(path))
    ends = Counter(event.stream for event in events if isinstance(event, SessionEnded))
    started = [event.agent for event in events if isinstance(event, AgentStarted)]
    assert ends == Counter({"main": 1, **dict.fromkeys(started, 1)})
    (tree,) = sessions_of(events)
    assert sorted(streams(tree)) == sorted(["main", *(one.id for one in everyone(ended)[1:])])


async def run(path: Path, text: str, task: str, engines: Any, **settings: Any) -> Activation:
    with Recorder(path) as record:
        kernel = Kernel(
            [parse_agent(text)],
            engines=engines,
            workspace=MemoryWorkspace(),
            tools=builtin_toolset(),
            emit=record,
            **settings,
        )
        return await kernel.run(next(iter(kernel.agents)), task)


async def test_a_model_server_calls_a_custom_tool_whose_agent_it_plays_as_well(caller: str, tmp_path: Path) -> None:
    one = engine("openai_chat", caller, KEY)
    # Left to choose, this server refuses a vocabulary as small as the model's.
    settings = {"max_output_tokens": 300, "temperature": 0.0, "policy": ToolPolicy(choice=ToolChoice("required"))}
    ended = await run(tmp_path / "run.jsonl", PICKER, "Pick.", lambda _: (one, "tiny"), **settings)
    assert (ended.status, ended.rounds) == ("limited", 1), ended.error  # it calls, and never says that it is done
    assert ended.children, told(ended)
    assert ended.children[0].agent == "picker/pick"
    assert ended.children[0].input in ("red", "blue")
    assert all((one.usage.total or 0) > 0 for one in everyone(ended))
    held(ended, tmp_path / "run.jsonl")


CONFIGURED = [model for model in [os.environ.get("DRAGOMAN_AGENT_MODEL", "")] if model]


@pytest.mark.parametrize("model", CONFIGURED or ["tiny"])
async def test_the_whole_agent_runs_on_the_model_that_is_configured(model: str, caller: str, tmp_path: Path) -> None:
    """Without one it runs on the tiny model, which is told more than it can hold: that is a failure like any other."""

    def engines(_: str) -> Any:
        if model == "tiny":
            return engine("openai_chat", caller, KEY), "tiny"
        return engine_for(model, retry=Retry(times=1))

    ended = await run(tmp_path / "run.jsonl", FILE, TASK, engines, max_output_tokens=2000)
    statuses = {"completed", "limited"} if CONFIGURED else {"completed", "limited", "failed"}
    assert ended.status in statuses, ended.error
    held(ended, tmp_path / "run.jsonl")
