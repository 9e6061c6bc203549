"""A model inside this process, by the real llama.cpp: answers, calls, streams, cancelling, giving everything back."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from dragoman.dialects import DIALECTS
from dragoman.engine import Facade, Orchestrator, ToolPolicy
from dragoman.engine.models import LocalEngine, engine_for
from dragoman.engine.models.local import idle_cores
from dragoman.errors import ConfigError, EngineError
from dragoman.model import (
    AnyChunk,
    CallFinished,
    Finished,
    FinishReason,
    FreeformDefinition,
    FunctionDefinition,
    ProviderDefinition,
    Request,
    TextChunk,
    ToolChoice,
    UsageArrived,
    user,
)
from dragoman.registry import TOOLS
from dragoman.tools import Toolset, tool
from tests.conformance.tiny_model import write_tiny_model

FILE_TOOLS = ("read_file", "write_file", "edit_file", "list_directory", "find_files", "search_text", "run_command")
PICK = FunctionDefinition(
    "pick",
    "Picks a colour.",
    {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["colour"],
        "additionalProperties": False,
    },
)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture
async def engine(model_file: Path) -> AsyncIterator[LocalEngine]:
    local = LocalEngine(model_file, threads=1, context=4096)
    yield local
    await local.close()


def asking(*definitions: FunctionDefinition | FreeformDefinition, **more: object) -> Request:
    settings = {"max_output_tokens": 200, **more}
    return Request("tiny", (user("hello"),), definitions=definitions, **settings)  # type: ignore[arg-type]


async def test_text_streams_and_is_counted(engine: LocalEngine) -> None:
    chunks: list[AnyChunk] = []
    whole = await engine.ask(asking(max_output_tokens=12))
    streamed = await engine.ask(asking(max_output_tokens=12), chunks.append)
    assert (whole.text, whole.finish, whole.usage.output_tokens) == (streamed.text, FinishReason.LENGTH, 12)
    assert (whole.provenance.provider, whole.provenance.model) == ("local", "tiny")
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == whole.text
    assert [chunk.usage for chunk in chunks if isinstance(chunk, UsageArrived)][-1] == streamed.usage


@pytest.fixture
async def several(model_file: Path) -> AsyncIterator[LocalEngine]:
    local = LocalEngine(model_file, threads=1, context=16384)
    local.conversations = 2
    yield local
    await local.close()


@pytest.mark.parametrize("optional", [False, True])
async def test_decoding_can_be_held_to_the_tools_of_every_vocabulary(several: LocalEngine, optional: bool) -> None:
    several.optional = optional
    finished = {}
    for dialect in DIALECTS:
        facade = Facade(DIALECTS[dialect], Toolset([TOOLS[name] for name in FILE_TOOLS]))
        offered = [one for one in facade.definitions if not isinstance(one, ProviderDefinition)]
        request = asking(*offered, choice=ToolChoice("required"), max_output_tokens=1)
        finished[dialect] = (await several.ask(request)).finish
    assert finished == dict.fromkeys(DIALECTS, FinishReason.LENGTH)


async def test_conversations_at_the_same_time_do_not_disturb_each_other(several: LocalEngine) -> None:
    requests = [
        Request("tiny", (user(text),), definitions=(PICK,), choice=ToolChoice("required"), max_output_tokens=200)
        for text in ("hello", "goodbye", "hello")
    ]
    first, second, third = await asyncio.gather(*map(several.ask, requests))
    assert first.calls[0].arguments == third.calls[0].arguments
    assert {first.calls[0].name, second.calls[0].name} == {"pick"}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_of_random_weights_makes_a_valid_call(engine: LocalEngine, stream: bool) -> None:
    chunks: list[AnyChunk] = []
    request = asking(PICK, choice=ToolChoice("required"))
    reply = await engine.ask(request, chunks.append if stream else None)
    (call,) = reply.calls
    assert (call.name, reply.finish) == ("pick", FinishReason.CALLS)
    assert call.arguments in ({"colour": "red"}, {"colour": "blue"})
    if stream:
        assert [chunk.call for chunk in chunks if isinstance(chunk, CallFinished)] == [call]
        assert chunks[-1] == Finished(FinishReason.CALLS)


async def test_a_run_calls_the_tool_and_hears_of_it(engine: LocalEngine) -> None:
    picked: list[str] = []

    @tool
    def pick(colour: Literal["red", "blue"]) -> str:
        """Picks a colour."""
        picked.append(colour)
        return f"{colour} it is"

    policy = ToolPolicy(choice=ToolChoice("required"), max_iterations=2)
    run = Orchestrator(engine, [pick], policy, model_name="tiny", dialect="plain", max_output_tokens=200)
    result = await run.run("hello")
    assert picked[0] in ("red", "blue")
    assert result.rounds == 2
    assert (result.usage.output_tokens or 0) > 20


async def test_a_cancelled_question_ends_at_once_and_the_next_is_answered(engine: LocalEngine) -> None:
    first = asyncio.Event()
    asked = asyncio.ensure_future(engine.ask(asking(max_output_tokens=3000), lambda chunk: first.set()))
    async with asyncio.timeout(20):
        await first.wait()
        asked.cancel()
        await asyncio.wait([asked])
        reply = await engine.ask(asking(max_output_tokens=5))
    assert asked.cancelled()
    assert reply.usage.output_tokens == 5


async def test_a_prompt_longer_than_the_context_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(EngineError, match="exceeds the available context size"):
        await engine.ask(Request("tiny", (user("hello " * 2000),)))


async def test_nobody_else_on_this_machine_may_ask_it(engine: LocalEngine) -> None:
    await engine.ask(asking(max_output_tokens=1))
    from dragoman.engine.transport import Transport

    stranger = Transport(engine.inner.transport.base_url)
    response = await stranger.exchange("/chat/completions", b'{"messages": []}')
    await stranger.close()
    assert engine.inner.transport.base_url.startswith("http://127.0.0.1:")
    assert response.status == 401


async def test_after_it_was_closed_it_loads_again(model_file: Path) -> None:
    local = LocalEngine(model_file, threads=1)
    one = await local.ask(asking(max_output_tokens=5))
    await local.close()
    again = await local.ask(asking(max_output_tokens=5))
    await local.close()
    assert one.text == again.text


async def test_a_file_that_is_none_or_no_model(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"there is no model file at .*missing\.gguf"):
        await LocalEngine(tmp_path / "missing.gguf").ask(asking())
    (tmp_path / "broken.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(EngineError, match=r"llama\.cpp cannot load .*broken\.gguf"):
        await LocalEngine(tmp_path / "broken.gguf").ask(asking())


async def test_a_model_string_with_a_path(model_file: Path) -> None:
    local, name = engine_for(f"local:{model_file}")
    assert isinstance(local, LocalEngine)
    reply = await local.ask(asking(max_output_tokens=3))
    await local.close()
    assert (name, reply.usage.output_tokens) == ("tiny", 3)


def test_ctrl_c_still_reaches_python_after_the_model_was_loaded(model_file: Path) -> None:
    program = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from dragoman.engine.models import LocalEngine\n"
        "from dragoman.model import Request, user\n"
        "async def main():\n"
        "    local = LocalEngine(Path(sys.argv[1]), threads=1)\n"
        "    await local.ask(Request('tiny', (user('hello'),), max_output_tokens=1))\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        await asyncio.sleep(20)\n"
        "    except asyncio.CancelledError:\n"
        "        await local.close()\n"
        "        print('stopped by the user', flush=True)\n"
        "        raise\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(model_file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "stopped by the user\n", ran.stderr
    assert ran.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in ran.stderr


def test_threads_leave_room_for_others() -> None:
    import os

    assert 1 <= idle_cores() <= (os.cpu_count() or 1)


def test_an_unknown_name_says_what_is_known(tmp_path: Path) -> None:
    local, _ = engine_for("local:qwen2.5-coder-7b")
    with pytest.raises(ConfigError, match=r"no model 'qwen2\.5-coder-7b'; known: qwen2\.5-coder-1\.5b"):
        asyncio.run(local.ask(asking()))


async def test_instructions_are_read_once_and_kept_for_other_processes(model_file: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    cached: list[int | None] = []
    replies: list[str] = []
    for _ in range(2):
        local = LocalEngine(model_file, threads=1, context=4096, prompts=tmp_path / "prompts")
        local.progress = lambda *facts: told.append(facts)
        reply = await local.ask(asking(PICK, choice=ToolChoice("required")), lambda chunk: None)
        await local.close()
        cached.append(reply.usage.cached_read_tokens)
        replies.append(str(reply.calls[0].arguments))
    assert len(list((tmp_path / "prompts").glob("*.kv"))) == 1
    assert replies[0] == replies[1]
    assert all((count or 0) > 100 for count in cached)
    loaded = [place for place, (what, *_) in enumerate(told) if what == "loading the model"]
    first, second = told[loaded[0] + 1 : loaded[1]], told[loaded[1] + 1 :]
    assert {what for what, *_ in (*first, *second)} == {"reading the prompt"}
    assert all(0 <= done <= whole for _, done, whole in told)
    assert len(second) < len(first)


async def test_a_kept_prompt_that_is_broken_is_read_anew(model_file: Path, tmp_path: Path) -> None:
    request = asking(PICK, choice=ToolChoice("required"))
    arguments = []
    for _ in range(2):
        local = LocalEngine(model_file, threads=1, context=4096, prompts=tmp_path)
        arguments.append((await local.ask(request)).calls[0].arguments)
        await local.close()
        whole = _broken(tmp_path)
    assert arguments[0] == arguments[1]
    assert whole > 100


def _broken(folder: Path) -> int:
    (kept,) = folder.glob("*.kv")
    whole = kept.stat().st_size
    kept.write_bytes(b"half of it")
    return whole
