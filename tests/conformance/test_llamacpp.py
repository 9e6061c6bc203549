"""The real llama.cpp server proves the wire of OpenAI Chat and Anthropic Messages: text, streams, usage, calls, errors.

It runs in a process of its own, on a model of random weights made here (see `tiny_model`).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dragoman.engine import HttpEngine, Retry
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError
from dragoman.model import (
    AnyChunk,
    CallFinished,
    CallStarted,
    ExecutedBy,
    Finished,
    FinishReason,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    Reply,
    Request,
    TextChunk,
    ToolChoice,
    UsageArrived,
    calls_message,
    results_message,
    user,
)
from tests.conformance.tiny_model import CALLS, write_tiny_model

KEY = "key-of-this-test"
CONTEXT = 2048
BASES = {"openai_chat": "/v1", "anthropic_messages": ""}
APIS = sorted(BASES)

SERVE = """
import sys, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.model_alias = {"tiny"}
parameters.n_ctx, parameters.n_parallel = int(sys.argv[2]), 1
parameters.api_keys = [sys.argv[3]]
parameters.hostnames, parameters.port = ["127.0.0.1"], 0
parameters.warmup, parameters.ui, parameters.verbosity = False, False, 0
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def served(model: Path) -> Iterator[str]:
    """The address of a server; it ends with the test, or when this process does."""
    command = [sys.executable, "-c", SERVE, str(model), str(CONTEXT), KEY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"the server did not start: {address!r}"
            yield address
        finally:
            process.kill()


@pytest.fixture(scope="module")
def speaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose model talks."""
    yield from served(write_tiny_model(tmp_path_factory.mktemp("speaker") / "tiny.gguf"))


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose model calls a tool whenever it may."""
    yield from served(write_tiny_model(tmp_path_factory.mktemp("caller") / "tiny.gguf", favourite=CALLS))


def engine(api: str, address: str, key: str = KEY) -> HttpEngine:
    headers = {"authorization": f"Bearer {key}"}
    return HttpEngine(api, Transport(address + BASES[api], headers=headers), provider="llamacpp", retry=Retry(times=0))


async def asked(
    api: str, address: str, request: Request, *, stream: bool, key: str = KEY
) -> tuple[Reply, list[AnyChunk]]:
    chunks: list[AnyChunk] = []
    one = engine(api, address, key)
    try:
        return await one.ask(request, chunks.append if stream else None), chunks
    finally:
        await one.close()


def hello(**more: object) -> Request:
    settings = {"max_output_tokens": 12, "temperature": 0.0, **more}
    return Request("tiny", settings.pop("conversation", (user("hello"),)), **settings)  # type: ignore[arg-type]


# ── text ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", APIS)
async def test_text_whole_and_streamed_is_the_same(api: str, speaker: str) -> None:
    whole, none = await asked(api, speaker, hello(), stream=False)
    streamed, chunks = await asked(api, speaker, hello(), stream=True)
    assert none == []
    assert len(whole.text) == 12  # one character a token
    assert (whole.finish, whole.provenance.provider, whole.provenance.model) == (
        FinishReason.LENGTH,
        "llamacpp",
        "tiny",
    )
    assert (streamed.text, streamed.finish, streamed.provenance) == (whole.text, whole.finish, whole.provenance)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == whole.text
    assert sum(isinstance(chunk, TextChunk) for chunk in chunks) > 3
    assert [chunk for chunk in chunks if isinstance(chunk, Finished)] == [Finished(FinishReason.LENGTH)]


async def test_both_apis_hear_the_same_model(speaker: str) -> None:
    chat, _ = await asked("openai_chat", speaker, hello(), stream=False)
    messages, _ = await asked("anthropic_messages", speaker, hello(), stream=False)
    assert chat.text == messages.text


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_stop_sequence_ends_the_text(api: str, stream: bool, speaker: str) -> None:
    whole, _ = await asked(api, speaker, hello(), stream=False)
    stop = whole.text[5:8]
    stopped, _ = await asked(api, speaker, hello(stop=(stop,)), stream=stream)
    assert stopped.text == whole.text.partition(stop)[0]
    assert stopped.finish in (FinishReason.STOP, FinishReason.STOP_SEQUENCE)


# ── usage ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_tokens_are_counted_and_cached_ones_apart(api: str, stream: bool, speaker: str) -> None:
    text = f"new in {api} {stream}"
    prompt = len(f"user {text} assistant ") + 3  # a token a character, and three marks around the turns
    first, _ = await asked(api, speaker, hello(conversation=(user(text),)), stream=stream)
    again, chunks = await asked(api, speaker, hello(conversation=(user(text),)), stream=stream)
    for usage in (first.usage, again.usage):
        assert ((usage.input_tokens or 0) + (usage.cached_read_tokens or 0), usage.output_tokens) == (prompt, 12)
    assert (again.usage.cached_read_tokens or 0) > (first.usage.cached_read_tokens or 0)
    if stream:
        assert [chunk.usage for chunk in chunks if isinstance(chunk, UsageArrived)][-1] == again.usage


# ── calls ────────────────────────────────────────────────────────────────────


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


def choosing(**more: object) -> Request:
    """A request that must be answered with a call; llama.cpp holds the nonsense to the schema."""
    settings = {"max_output_tokens": 400, "choice": ToolChoice("required"), "parallel": False, **more}
    return hello(definitions=(PICK,), **settings)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_comes_back_as_it_was_said(api: str, stream: bool, caller: str) -> None:
    reply, chunks = await asked(api, caller, choosing(), stream=stream)
    first = reply.calls[0]
    assert first == NativeCall(first.id, "pick", first.arguments, None, ExecutedBy.CLIENT)
    assert first.arguments in ({"colour": "red"}, {"colour": "blue"})
    assert first.id
    if stream:
        assert next(chunk for chunk in chunks if isinstance(chunk, CallStarted)) == CallStarted(first.id, "pick")
        assert next(chunk.call for chunk in chunks if isinstance(chunk, CallFinished)) == first


@pytest.mark.parametrize("api", APIS)
async def test_several_calls_in_one_reply(api: str, caller: str) -> None:
    reply, chunks = await asked(api, caller, choosing(parallel=True), stream=True)
    whole = [chunk.call for chunk in chunks if isinstance(chunk, CallFinished)]
    assert len(whole) >= 2
    assert len({call.id for call in whole}) == len(whole)
    assert {call.name for call in whole} == {"pick"}
    assert reply.calls[: len(whole)] == tuple(whole)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_result_goes_back_and_is_taken(api: str, stream: bool, caller: str) -> None:
    first, _ = await asked(api, caller, choosing(), stream=stream)
    call = first.calls[0]
    history = (user("hello"), calls_message(call), results_message(NativeResult(call.id, "blue it is")), user("and?"))
    second, _ = await asked(api, caller, choosing(conversation=history), stream=stream)
    assert second.calls[0].name == "pick"
    assert second.calls[0].id != call.id
    assert (second.usage.total or 0) > (first.usage.total or 0)


# ── errors ───────────────────────────────────────────────────────────────────


async def failed(api: str, address: str, request: Request, *, stream: bool, key: str = KEY) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await asked(api, address, request, stream=stream, key=key)
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_prompt_that_is_too_long_is_refused_and_not_tried_again(api: str, stream: bool, speaker: str) -> None:
    error = await failed(api, speaker, Request("tiny", (user("hello " * 1000),), max_output_tokens=5), stream=stream)
    assert (error.status, error.retryable, error.provider) == (400, False, "llamacpp")
    assert "exceeds the available context size (2048 tokens)" in error.message


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_bad_request_is_refused_with_the_servers_own_words(api: str, stream: bool, speaker: str) -> None:
    error = await failed(api, speaker, hello(provider_options={"temperature": "hot"}), stream=stream)
    assert (error.status, error.retryable) == (400, False)
    assert "type must be number, but is string" in error.message


@pytest.mark.parametrize("api", APIS)
async def test_a_server_of_one_model_answers_to_every_name(api: str, speaker: str) -> None:
    reply, _ = await asked(api, speaker, msgspec.structs.replace(hello(), model="no-such-model"), stream=False)
    known, _ = await asked(api, speaker, hello(), stream=False)
    assert (reply.text, reply.provenance.model) == (known.text, "no-such-model")


@pytest.mark.parametrize("api", APIS)
async def test_a_wrong_key_is_an_error_of_its_own(api: str, speaker: str) -> None:
    error = await failed(api, speaker, hello(), stream=False, key="wrong")
    assert (error.status, error.retryable) == (401, False)
    assert "Invalid API Key" in error.message


@pytest.mark.parametrize("api", APIS)
async def test_a_path_that_is_not_there(api: str, speaker: str) -> None:
    error = await failed(api, f"{speaker}/nowhere", hello(), stream=False)
    assert (error.status, error.retryable) == (404, False)


@pytest.mark.parametrize("api", APIS)
async def test_a_cancelled_question_frees_the_server(api: str, speaker: str) -> None:
    one = engine(api, speaker)
    first = asyncio.Event()
    asking = asyncio.ensure_future(one.ask(hello(max_output_tokens=2000), lambda chunk: first.set()))
    async with asyncio.timeout(20):
        await first.wait()
        asking.cancel()
        await asyncio.wait([asking])
        reply = await one.ask(hello())  # the server has one place: it answers only once the other is given up
    await one.close()
    assert asking.cancelled()
    assert len(reply.text) == 12
