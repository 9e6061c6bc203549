"""What providers offer beside conversations (counting tokens, embeddings, batches), over real sockets."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman.apis import APIS
from dragoman.engine import HttpEngine, Orchestrator, Retry, ScriptedEngine
from dragoman.engine.endpoints import Batches, BatchResult, Embedder
from dragoman.engine.transport import Transport
from dragoman.errors import ConfigError, DefinitionError, EngineError, Unsupported
from dragoman.model import Usage
from dragoman.tools import tool
from tests.engine.loopback import Loopback, Raw, Turn, loopback, played
from tests.examples import examples

MODELS = {
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_generate": "gemini-2.5-pro",
}
SOON = Retry(times=2, base=0)


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"clear in {city}"


def engine(api: str, server: Loopback) -> HttpEngine:
    transport = Transport(server.url, headers={"authorization": "Bearer secret-key"})
    return HttpEngine(api, transport, provider="played", retry=SOON)


def orchestrator(api: str, server: Loopback, **options: Any) -> Orchestrator[Any]:
    return Orchestrator(engine(api, server), model_name=MODELS[api], dialect="plain", **options)


def body(value: Any) -> Raw:
    return Raw(body=json.dumps(value).encode())


# ── counting tokens ──────────────────────────────────────────────────────────

COUNTS: dict[str, tuple[str, dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    # API → (path, answer, the request in what was sent)
    "anthropic_messages": ("/v1/messages/count_tokens", {"input_tokens": 42}, lambda sent: sent),
    "openai_responses": (
        "/responses/input_tokens",
        {"object": "response.input_tokens", "input_tokens": 42},
        lambda sent: sent,
    ),
    "gemini_generate": (
        "/models/gemini-2.5-pro:countTokens",
        {"totalTokens": 42, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 42}]},
        lambda sent: sent["generateContentRequest"],
    ),
}
NOT_COUNTED = {"max_tokens", "max_output_tokens", "store", "include", "temperature", "prompt_cache_key", "stream"}
"""Fields of a request that its input does not depend on; providers refuse them here."""


@pytest.mark.parametrize("api", COUNTS)
async def test_the_request_of_a_run_is_counted_as_it_would_be_sent(api: str) -> None:
    path, answer, sent = COUNTS[api]
    async with loopback(body(answer), Turn("Clear.")) as server:
        agent = orchestrator(api, server, tools=[weather], system="Be brief.", max_output_tokens=2000)
        assert await agent.count_tokens("How is Rome?") == 42
        await agent.run("How is Rome?")
        await agent.close()
    counted, run = server.requests
    assert (counted.path, counted.headers["authorization"]) == (path, "Bearer secret-key")
    left_out = {} if api == "gemini_generate" else {name: run.body[name] for name in NOT_COUNTED if name in run.body}
    named = {"model": "models/gemini-2.5-pro"} if api == "gemini_generate" else {}
    assert {**sent(counted.body), **left_out} == {**run.body, **named}
    assert counted.headers.get("anthropic-version") == run.headers.get("anthropic-version")


async def test_what_cannot_count_tokens_says_so_and_its_requests_can_be_estimated() -> None:
    async with loopback() as server:
        chat = orchestrator("openai_chat", server)
        with pytest.raises(Unsupported, match="openai_chat does not offer token counting: estimate_tokens"):
            await chat.count_tokens("Hi")
        assert server.requests == []
    scripted = Orchestrator(ScriptedEngine([]), [weather])
    with pytest.raises(Unsupported, match="scripted does not offer token counting"):
        await scripted.count_tokens("Hi")
    longer = scripted.estimate_tokens("How is the weather in Rome? " * 100)
    assert longer > 700 > scripted.estimate_tokens("Hi") > 0


async def test_counting_tries_again_and_never_shows_the_key() -> None:
    overloaded = Raw(529, b'{"type":"error","error":{"type":"overloaded_error","message":"secret-key is busy"}}')
    async with loopback(
        overloaded, body({"input_tokens": 7}), body({"tokens": 7}), overloaded, overloaded, overloaded
    ) as server:
        agent = orchestrator("anthropic_messages", server)
        assert await agent.count_tokens("Hi") == 7
        with pytest.raises(EngineError, match="the answer has no number 'input_tokens'"):
            await agent.count_tokens("Hi")
        with pytest.raises(EngineError, match=r"\*\*\* is busy") as caught:
            await agent.count_tokens("Hi")
        await agent.close()
    assert (caught.value.status, caught.value.provider) == (529, "played")


# ── embeddings ───────────────────────────────────────────────────────────────


def openai_vectors(sent: dict[str, Any]) -> Raw:
    rows = [
        {"object": "embedding", "index": at, "embedding": [float(len(text)), 0.5]}
        for at, text in enumerate(sent["input"])
    ]
    count = len(rows)
    return body(
        {"object": "list", "data": rows[::-1], "model": "m", "usage": {"prompt_tokens": count, "total_tokens": count}}
    )


def gemini_vectors(sent: dict[str, Any]) -> Raw:
    texts = [one["content"]["parts"][0]["text"] for one in sent["requests"]]
    return body(
        {
            "embeddings": [{"values": [len(text), 0.5]} for text in texts],
            "usageMetadata": {"promptTokenCount": len(texts)},
        }
    )


@pytest.mark.parametrize(
    "api, answer, most",
    [
        ("openai_chat", openai_vectors, 2048),
        ("openai_responses", openai_vectors, 2048),
        ("gemini_generate", gemini_vectors, 100),
    ],
)
async def test_texts_become_vectors_in_their_order_by_as_few_requests_as_the_provider_takes(
    api: str, answer: Callable[[dict[str, Any]], Raw], most: int
) -> None:
    texts = ["x" * (number % 7) for number in range(most + 3)]
    async with loopback(answer, answer) as server:
        embedder = Embedder(engine(api, server), model_name="text-embedding-3-small", dimensions=2)
        found = await embedder.embed(texts, purpose="document")
        await embedder.close()
    assert list(found) == [(float(len(text)), 0.5) for text in texts]
    assert found.usage == Usage(input_tokens=most + 3, output_tokens=0)
    assert found.cost == pytest.approx((most + 3) * 0.02 / 1e6)
    first, second = server.requests
    if api == "gemini_generate":
        assert first.path == "/models/text-embedding-3-small:batchEmbedContents"
        assert len(first.body["requests"]) == most
        assert second.body["requests"][0] == {
            "model": "models/text-embedding-3-small",
            "outputDimensionality": 2,
            "taskType": "RETRIEVAL_DOCUMENT",
            "content": {"parts": [{"text": texts[most]}]},
        }
    else:
        assert (first.path, len(first.body["input"])) == ("/embeddings", most)
        wanted = {"model": "text-embedding-3-small", "input": texts[most:], "dimensions": 2, "encoding_format": "float"}
        assert second.body == wanted


async def test_an_api_without_embeddings_and_an_answer_that_lacks_some_are_errors() -> None:
    few = body({"data": [], "usage": {"prompt_tokens": 1}})
    odd = body({"data": [{"index": 0, "embedding": "AAAA"}]})
    async with loopback(few, odd) as server:
        with pytest.raises(Unsupported, match="anthropic_messages does not offer embeddings"):
            await Embedder(engine("anthropic_messages", server), model_name="claude").embed("Hi")
        with pytest.raises(Unsupported, match="gemini_generate does not offer embeddings on Vertex"):
            await Embedder(engine("gemini_generate", server), model_name="projects/p/models/e").embed("Hi")
        assert server.requests == []
        embedder = Embedder(engine("openai_chat", server), model_name="e")
        with pytest.raises(EngineError, match="0 embeddings came for 1 texts"):
            await embedder.embed("Hi")
        with pytest.raises(EngineError, match="an embedding is no list of numbers"):
            await embedder.embed("Hi")
        assert (await embedder.embed([])).vectors == ()
        await embedder.close()
    with pytest.raises(Unsupported, match="does not offer embeddings"):
        Embedder("local:any", configuration=None)


@examples(40)
@given(st.lists(st.text(max_size=30).map(lambda text: text * 2000), max_size=30))
def test_groups_of_texts_keep_the_order_and_the_limits(texts: list[str]) -> None:
    endpoints = APIS["openai_chat"].endpoints()
    groups = list(endpoints._groups(texts))
    assert [text for group in groups for text in group] == texts
    for group in groups:
        assert len(group) == 1 or sum(len(text.encode()) // 3 for text in group) <= 300_000


# ── batches ──────────────────────────────────────────────────────────────────


class Mood(msgspec.Struct):
    word: str


@dataclass(frozen=True)
class Script:
    """How a provider answers one batch of items "good", "bad" and "late"."""

    submitted: tuple[Raw, ...]
    running: Raw
    ended: Raw
    results: tuple[Raw, ...]
    paths: tuple[str, ...]
    """Of the requests to submit, to poll, to cancel and for the results."""
    late: str
    """The code of the item that was not reached."""


def lines(*rows: Any) -> Raw:
    return Raw(body="\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode())


def whole(api: str) -> Any:
    return json.loads(played(api, Turn('{"word": "glad"}'), stream=False).body)


def openai_script(api: str, url: str) -> Script:
    def batch(status: str, **more: Any) -> Raw:
        counts = {"total": 3, "completed": 1, "failed": 1}
        return body(
            {"id": "batch_1", "object": "batch", "status": status, "created_at": 1, "request_counts": counts, **more}
        )

    good = {"id": "r1", "custom_id": "good", "response": {"status_code": 200, "request_id": "q", "body": whole(api)}}
    refusal = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    bad = {
        "id": "r2",
        "custom_id": "bad",
        "response": {"status_code": 400, "request_id": "q", "body": refusal},
        "error": None,
    }
    late = {"id": "r3", "custom_id": "late", "response": None, "error": {"code": "batch_expired", "message": "expired"}}
    files = {"output_file_id": "file-out", "error_file_id": "file-err"}
    return Script(
        (body({"id": "file-in"}), batch("validating")),
        batch("in_progress"),
        batch("expired", expired_at=2, **files),
        (lines(good), lines(bad, "{broken", late, {"custom_id": "good", "error": {}})),
        (
            *("/files", "/batches", "/batches/batch_1", "/batches/batch_1/cancel"),
            *("/batches/batch_1", "/files/file-out/content", "/files/file-err/content"),
        ),
        "batch_expired",
    )


def anthropic_script() -> Script:
    def batch(status: str) -> Raw:
        counts = {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 1}
        times = {"created_at": "2026-01-01T00:00:00Z", "ended_at": None, "expires_at": "2026-01-02T00:00:00Z"}
        return body(
            {"id": "batch_1", "type": "message_batch", "processing_status": status, "request_counts": counts, **times}
        )

    good = {"custom_id": "good", "result": {"type": "succeeded", "message": whole("anthropic_messages")}}
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    bad = {"custom_id": "bad", "result": {"type": "errored", "error": error}}
    late = {"custom_id": "late", "result": {"type": "expired"}}
    path = "/v1/messages/batches"
    return Script(
        (batch("in_progress"),),
        batch("canceling"),
        batch("ended"),
        (lines(late, bad, "{broken", good, good),),
        (path, f"{path}/batch_1", f"{path}/batch_1/cancel", f"{path}/batch_1", f"{path}/batch_1/results"),
        "expired",
    )


def gemini_script() -> Script:
    def batch(state: str, **more: Any) -> Raw:
        stats = {"requestCount": "3", "successfulRequestCount": "1", "failedRequestCount": "1"}
        metadata = {"model": "models/m", "state": f"BATCH_STATE_{state}", "batchStats": stats}
        return body({"name": "batches/batch_1", "metadata": metadata, **more})

    rows = [
        {"metadata": {"key": "good"}, "response": whole("gemini_generate")},
        {"metadata": {"key": "bad"}, "error": {"code": 400, "message": "too long", "status": "INVALID_ARGUMENT"}},
        {"metadata": {"key": "late"}, "error": {"code": 499, "message": "gone", "status": "CANCELLED"}},
        {"metadata": {}, "response": {}},
        {"metadata": {"key": "good"}, "response": {}},
    ]
    path = "/batches/batch_1"
    return Script(
        (batch("PENDING"),),
        batch("RUNNING"),
        batch("SUCCEEDED", done=True, response={"inlinedResponses": {"inlinedResponses": rows}}),
        (),
        ("/models/gemini-2.5-pro:batchGenerateContent", path, f"{path}:cancel", path, path),
        "CANCELLED",
    )


SCRIPTS = {
    "openai_chat": openai_script("openai_chat", "/v1/chat/completions"),
    "openai_responses": openai_script("openai_responses", "/v1/responses"),
    "anthropic_messages": anthropic_script(),
    "gemini_generate": gemini_script(),
}
PROMPTS = {"good": "I won!", "bad": "I lost.", "late": "I wait."}


def submitted(api: str, server: Loopback) -> dict[str, dict[str, Any]]:
    """The requests of the batch that a server got, by their ids."""
    first = server.requests[0]
    if api == "anthropic_messages":
        return {one["custom_id"]: one["params"] for one in first.body["requests"]}
    if api == "gemini_generate":
        rows = first.body["batch"]["inputConfig"]["requests"]["requests"]
        return {one["metadata"]["key"]: one["request"] for one in rows}
    form = first.body["form"]
    rows = [json.loads(line) for line in form.splitlines() if line.startswith("{")]
    assert {(row["method"], row["url"]) for row in rows} == {("POST", server.requests[1].body["endpoint"])}
    assert server.requests[1].body["input_file_id"] == "file-in"
    assert 'name="purpose"\r\n\r\nbatch\r\n' in form
    return {row["custom_id"]: row["body"] for row in rows}


@pytest.mark.parametrize("api", SCRIPTS)
async def test_a_batch_is_submitted_polled_cancelled_and_read_by_its_id_alone(api: str) -> None:
    script = SCRIPTS[api]
    cancelled = (body({}),) if api == "gemini_generate" else ()
    answers = (*script.submitted, script.running, *cancelled, script.running, script.ended, *script.results)
    async with loopback(*answers) as server:
        first = orchestrator(api, server, tools=[weather], system="Be brief.")
        batch = await Batches(first).submit(PROMPTS)
        assert (batch.status, batch.total, batch.succeeded) == ("running", 3, 1)
        later = Batches(orchestrator(api, server))  # of another process, for all that it knows
        assert (await later.get(batch.id)).status in ("running", "cancelling")
        await later.cancel(batch.id)
        results = await later.results(batch.id)
    assert submitted(api, server) == {id: first.prepare(prompt).body for id, prompt in PROMPTS.items()}
    assert list(dict.fromkeys(heard.path for heard in server.requests)) == list(dict.fromkeys(script.paths))
    assert set(results) == set(PROMPTS)
    reply = results["good"].reply
    assert reply is not None
    alone = APIS[api].decode(whole(api))
    assert (reply.parts, reply.finish, reply.usage) == (alone.parts, alone.finish, alone.usage)
    assert reply.provenance.provider == "played"
    assert results.usage.total == 15
    bad, late = results["bad"].error, results["late"].error
    assert isinstance(bad, EngineError)
    assert isinstance(late, EngineError)
    assert (bad.message, late.code) == ("too long", script.late)
    assert len(results.unreadable) == 2
    assert repr(results) == "BatchResults(3 items, 2 failed, 2 unreadable)"


@pytest.mark.parametrize("api", SCRIPTS)
async def test_answers_of_a_batch_are_read_as_the_type_that_was_asked_for(api: str) -> None:
    script = SCRIPTS[api]
    async with loopback(script.ended, *script.results) as server:
        results = await Batches(orchestrator(api, server, output=Mood)).results("batch_1")
    assert results["good"] == BatchResult("good", results["good"].reply, output=Mood("glad"))


@pytest.mark.parametrize("api", SCRIPTS)
async def test_results_of_a_batch_that_runs_are_an_error_and_waiting_ends_with_it(api: str) -> None:
    script = SCRIPTS[api]
    async with loopback(script.running, script.running, script.running, script.ended) as server:
        batches = Batches(orchestrator(api, server))
        with pytest.raises(EngineError, match="has not ended") as caught:
            await batches.results("batch_1")
        assert (caught.value.code, caught.value.retryable) == ("batch_running", True)
        assert (await asyncio.wait_for(batches.wait("batch_1", every=0), 10)).status == "ended"
    assert len(server.requests) == 4


@pytest.mark.parametrize("api", ["anthropic_messages", "gemini_generate"])
async def test_a_batch_is_not_submitted_twice_when_the_provider_may_have_it(api: str) -> None:
    script = SCRIPTS[api]
    broken, busy = Raw(500, b'{"error":{"message":"oops"}}'), Raw(429, b'{"error":{"message":"busy"}}')
    async with loopback(broken, busy, *script.submitted) as server:
        batches = Batches(orchestrator(api, server))
        with pytest.raises(EngineError, match="oops"):
            await batches.submit(PROMPTS)
        assert len(server.requests) == 1
        assert (await batches.submit(PROMPTS)).id.endswith("batch_1")
    assert len(server.requests) == 3


async def test_a_batch_that_is_refused_as_a_whole_says_why() -> None:
    errors = {"data": [{"code": "invalid_json_line", "line": 2, "message": "not JSON"}]}
    refused = body({"id": "batch_1", "status": "failed", "created_at": 1, "errors": errors})
    failed = {"name": "batches/batch_1", "metadata": {"state": "BATCH_STATE_FAILED"}, "error": {"message": "no quota"}}
    async with loopback(refused, body(failed)) as server:
        with pytest.raises(EngineError, match="the batch batch_1 was refused: line 2: not JSON"):
            await Batches(orchestrator("openai_chat", server)).results("batch_1")
        with pytest.raises(EngineError, match="the batch batch_1 has no results: no quota"):
            await Batches(orchestrator("gemini_generate", server)).results("batch_1")


async def test_what_makes_no_batch_is_refused_before_anything_is_sent() -> None:
    async with loopback() as server:
        with pytest.raises(DefinitionError, match="'a b' is no id"):
            await Batches(orchestrator("anthropic_messages", server)).submit({"a b": "Hi"})
        with pytest.raises(DefinitionError, match="it has no request"):
            await Batches(orchestrator("openai_chat", server)).submit({})
        with pytest.raises(DefinitionError, match="is no id of a batch"):
            await Batches(orchestrator("gemini_generate", server)).get("files/batch_1")
        assert server.requests == []
    with pytest.raises(Unsupported, match="scripted does not offer batches"):
        Batches(Orchestrator(ScriptedEngine([])))


async def test_a_batch_cannot_ask_again_for_a_typed_answer() -> None:
    async with loopback() as server:
        transport = Transport(server.url)
        agent = Orchestrator(HttpEngine("anthropic_messages", transport), model_name="claude-3-haiku", output=Mood)
        with pytest.raises(ConfigError, match="a batch cannot ask again"):
            await Batches(agent).submit(PROMPTS)


@pytest.mark.parametrize("api", SCRIPTS)
def test_the_id_of_a_batch_names_nothing_else(api: str) -> None:
    steps = APIS[api].endpoints().batch("x/../y?z=1")
    try:
        path = next(steps).path
    except DefinitionError:
        return
    assert "x%2F..%2Fy%3Fz%3D1" in path


# ── the page ─────────────────────────────────────────────────────────────────

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "count-embed-batch.md"


async def test_the_programs_of_the_page_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counting, embedding, batching = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    counts = {"processing": 0, "succeeded": 2}
    batch = body({"id": "batch_1", "processing_status": "ended", "request_counts": counts})
    message = json.loads(played("anthropic_messages", Turn("good"), stream=False).body)
    good = {"custom_id": "r1", "result": {"type": "succeeded", "message": message}}
    late = {"custom_id": "r2", "result": {"type": "expired"}}
    answers = (body({"input_tokens": 19}), openai_vectors, batch, batch, batch, lines(good, late))
    async with loopback(*answers) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, "secret-key")
        for program in (counting, embedding, batching):
            await asyncio.to_thread(exec, program, {})
    assert capsys.readouterr().out.splitlines() == [
        *("19", "22", "2 2 2 4e-08", "batch_1"),
        *("r1 good", "r2 the batch expired before this request was sent to the model [expired]"),
    ]


async def test_what_is_no_text_no_purpose_and_no_batch_is_refused_before_anything_is_sent() -> None:
    wrong: Any = [5]
    odd: Any = "searching"
    async with loopback() as server:
        engine = HttpEngine("openai_chat", Transport(server.url), provider="openai")
        embedder = Embedder(engine, model_name="m")
        for texts, first in ((wrong, "5"), (5, "5"), (None, "None"), (["a", None], "None")):
            with pytest.raises(ConfigError, match=f"embeddings are made of texts, not of {first}"):
                await embedder.embed(texts)
        with pytest.raises(ConfigError, match=r"purpose must be one of query, document, .*, not 'searching'"):
            await embedder.embed("x", purpose=odd)
        with pytest.raises(ConfigError, match="a dict of prompts by ids of yours"):
            await Batches(Orchestrator(engine, model_name="m")).submit(wrong)
        with pytest.raises(ConfigError, match="a dict of prompts by ids of yours"):
            await Batches(Orchestrator(engine, model_name="m")).submit({1: "x"})  # type: ignore[dict-item]
        with pytest.raises(ConfigError, match=re.escape("for an Orchestrator, not for [5]")):
            Batches(wrong)
        await embedder.close()
    assert server.requests == []
