"""The gateway between a client and a model, over real sockets: our own loop plays the client, with real files."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from dragoman.apis import APIS, Lowering
from dragoman.dialects import DIALECTS
from dragoman.engine import HttpEngine, Orchestrator, Retry, ToolPolicy
from dragoman.engine.models import dialect_of, family_of
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError
from dragoman.model import AnyChunk, CallPart, FunctionDefinition, NativeCall, NativeResult, Reply, Request, user
from dragoman.registry import TOOLS
from dragoman.serve.gateway import CLIENTS as KNOWN, Exchanged, Gateway, Routes, Words, read_route
from dragoman.serve.gateway.clients import at, recognised
from dragoman.tools import DiskWorkspace
from tests.engine.loopback import Answer, Loopback, Raw, Turn, loopback, played

TOKEN = "the-token-of-this-gateway"
KEY = "sk-the-users-own-key"
UPSTREAM = {
    # The API of a model → its name for the gateway, and the variables with its address and its key.
    "gemini_generate": ("gemini:gemini-3-pro-preview", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    "openai_responses": ("openai:gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "openai_chat": ("openai-chat:gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "anthropic_messages": ("anthropic:claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}
CLIENTS = {
    # A client's vocabulary → its API and the path to it.
    "claude_code": ("anthropic_messages", "", "claude-sonnet-4-5"),
    "codex": ("openai_responses", "/v1", "gpt-5.5"),
    "gemini_cli": ("gemini_generate", "/v1beta", "gemini-2.5-pro"),
    "qwen_code": ("openai_chat", "/v1", "qwen3-coder-plus"),
}
WORDS = {
    # What a model of each API says to read, change, create and run, in the words that it knows.
    "gemini_generate": [
        ("read_file", {"file_path": "a.py"}),
        ("replace", {"file_path": "a.py", "instruction": "x", "old_string": "x = 1", "new_string": "x = 2"}),
        ("write_file", {"file_path": "b.py", "content": "y = 1\n"}),
        ("run_shell_command", {"command": "cat a.py b.py; exit 3"}),
    ],
    "openai_responses": [
        ("exec_command", {"cmd": "cat a.py"}),
        ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"),
        ("apply_patch", "*** Begin Patch\n*** Add File: b.py\n+y = 1\n*** End Patch\n"),
        ("exec_command", {"cmd": "cat a.py b.py; exit 3"}),
    ],
    "anthropic_messages": [
        ("Read", {"file_path": "a.py"}),
        ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}),
        ("Write", {"file_path": "b.py", "content": "y = 1\n"}),
        ("Bash", {"command": "cat a.py b.py; exit 3"}),
    ],
}
USED = ["read_file", "write_file", "edit_file", "run_command"]


@asynccontextmanager
async def gateway(
    patch: pytest.MonkeyPatch, api: str, *script: Answer, folder: Path | None = None, **options: Any
) -> AsyncIterator[tuple[Gateway, Loopback]]:
    """A gateway before a scripted model that is asked in this API."""
    named, address, key = UPSTREAM[api]
    async with loopback(*script) as upstream:
        patch.setenv(address, upstream.url)
        patch.setenv(key, KEY)
        served = Gateway(options.pop("routes", None) or Routes((named,)), TOKEN, folder=folder, **options)
        await served.start()
        try:
            yield served, upstream
        finally:
            await served.close()


def client(served: Gateway, dialect: str, folder: Path, token: str = TOKEN) -> Orchestrator[Any]:
    """A client that speaks these words, on real files."""
    api, path, model = CLIENTS[dialect]
    engine = HttpEngine(api, Transport(served.url + path, headers={"x-api-key": token}), retry=Retry(times=0))
    return Orchestrator(
        engine,
        [TOOLS[name] for name in USED if dialect != "codex" or name != "read_file"],
        ToolPolicy(default="allow"),
        model_name=model,
        dialect=dialect,
        workspace=DiskWorkspace(folder),
    )


def offered(body: dict[str, Any]) -> set[str]:
    """The names of the tools in a request of any API."""
    tools = body.get("tools", [])
    declared = [one for tool in tools for one in tool.get("functionDeclarations", [tool])]
    inner = [one.get("function") or one.get("custom") or one for one in declared]
    return {str(one.get("name")) for one in inner}


def turns(api: str) -> list[Turn]:
    words = WORDS["openai_responses" if api == "openai_chat" else api]
    called = [Turn(f"Step {place}.", calls=((f"id_{place}", *call),)) for place, call in enumerate(words)]
    return [*called, Turn("All done.")]


@pytest.mark.parametrize("dialect", sorted(CLIENTS))
@pytest.mark.parametrize("api", sorted(WORDS))
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.slow
async def test_a_client_does_what_a_model_says_in_its_own_words(
    api: str, dialect: str, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    async with gateway(monkeypatch, api, *turns(api)) as (served, upstream):
        result = await client(served, dialect, tmp_path).run("Do it.", stream=stream)
    assert result.status == "completed"
    assert result.text.endswith("All done.")
    assert ((tmp_path / "a.py").read_text(), (tmp_path / "b.py").read_text()) == ("x = 2\n", "y = 1\n")
    own = {"gemini_generate": "gemini_cli", "openai_responses": "codex", "anthropic_messages": "claude_code"}[api]
    for heard in upstream.requests:
        assert all(DIALECTS[own].meanings(name) for name in offered(heard.body))
        assert TOKEN not in json.dumps(heard.headers)
    last = json.dumps(upstream.requests[-1].body)
    assert "x = 2\\\\ny = 1" in last or "x = 2\\ny = 1" in last
    assert last.count("Step 0.") == 1


async def test_a_patch_that_does_not_fit_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 1\n")
    (tmp_path / "d.py").write_text("v = 1\n")
    bad = (
        "*** Begin Patch\n*** Add File: c.py\n+z = 1\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n"
        "*** Update File: b.py\n@@\n-not there\n+z\n*** Update File: d.py\n@@\n-v = 1\n+v = 2\n*** End Patch\n"
    )
    good = bad.replace("-not there\n+z", "-y = 1\n+y = 2")
    script = (Turn(calls=(("i1", "apply_patch", bad),)), Turn(calls=(("i2", "apply_patch", good),)), Turn("Done."))
    before: list[dict[str, str]] = []

    def watch(one: Exchanged) -> None:
        if one.model is not None and one.calls and len(before) == 0 and len(upstream.requests) == 2:
            before.append(written(tmp_path))  # the model was told that the first patch failed

    async with gateway(monkeypatch, "openai_responses", *script, watch=watch) as (served, upstream):
        result = await client(served, "claude_code", tmp_path).run("Do it.")
    assert result.text == "Done."
    told = [
        one["output"] for one in upstream.requests[-1].body["input"] if one.get("type") == "custom_tool_call_output"
    ]
    assert len(told) == 2
    assert "not there" in told[0]
    assert "Success" in told[1]
    assert len(upstream.requests) == 3
    assert before == [{"a.py": "x = 1\n", "b.py": "y = 1\n", "d.py": "v = 1\n"}]
    assert written(tmp_path) == {"a.py": "x = 2\n", "b.py": "y = 2\n", "c.py": "z = 1\n", "d.py": "v = 2\n"}


def modes(folder: Path) -> set[tuple[bool, str]]:
    """Whether each path is a folder, and who may use it."""
    return {(path.is_dir(), oct(path.stat().st_mode & 0o777)) for path in (folder, *folder.rglob("*"))}


PRIVATE = {(True, "0o700"), (False, "0o600")}


def written(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.slow
async def test_signatures_come_back_to_the_model_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("x = 1\n")
    signed = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {"name": "read_file", "args": {"file_path": "a.py"}, "id": "f1"},
                            "thoughtSignature": "c2lnbmVk",
                        }
                    ],
                },
                "finishReason": "STOP",
            }
        ],
        "responseId": "r1",
        "modelVersion": "gemini-3-pro-preview",
    }
    kept = tmp_path / "kept"
    first = Raw(body=json.dumps(signed).encode())
    async with gateway(monkeypatch, "gemini_generate", first, folder=kept) as (served, _):
        with pytest.raises(EngineError, match="the script is over") as raised:
            await client(served, "claude_code", tmp_path / "work").run("Do it.")
    assert modes(kept) == PRIVATE
    async with gateway(monkeypatch, "gemini_generate", Turn("Done."), folder=kept) as (served, upstream):
        again = await client(served, "claude_code", tmp_path / "work").run(raised.value.conversation)
    assert again.text == "Done."
    parts = [part for one in upstream.requests[0].body["contents"] for part in one["parts"]]
    called = next(part for part in parts if "functionCall" in part)
    assert called["thoughtSignature"] == "c2lnbmVk"
    assert called["functionCall"]["name"] == "read_file"


async def test_with_the_words_of_the_client_nothing_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    script = (Turn(calls=(("i1", "Read", {"file_path": "a.py"}),)), Turn("Done."))
    async with gateway(monkeypatch, "gemini_generate", *script, words="client") as (served, upstream):
        result = await client(served, "claude_code", tmp_path).run("Do it.")
    assert result.text == "Done."
    assert {"Read", "Edit", "Write", "Bash"} <= offered(upstream.requests[0].body)


async def test_a_tool_that_the_client_does_not_have_is_answered_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (Turn(calls=(("i1", "no_such_tool", {"a": 1}),)), Turn("I see."))
    async with gateway(monkeypatch, "gemini_generate", *script) as (served, upstream):
        result = await client(served, "claude_code", tmp_path).run("Do it.")
    assert result.text == "I see."
    assert "no_such_tool cannot do this here" in json.dumps(upstream.requests[1].body)


# ── wire ─────────────────────────────────────────────────────────────────────


async def asked(
    served: Gateway,
    api: str,
    prompt: str = "Hello?",
    *,
    stream: bool = False,
    watch: Callable[[AnyChunk], None] | None = None,
) -> str:
    """The text of an answer to a request without tools."""
    path = {"anthropic_messages": "", "gemini_generate": "/v1beta"}.get(api, "/v1")
    engine = HttpEngine(api, Transport(served.url + path, headers={"x-api-key": TOKEN}), retry=Retry(times=0))
    if stream and watch is None:
        watch = [].append
    try:
        return (await engine.ask(Request("some-model", (user(prompt),)), watch)).text
    finally:
        await engine.close()


@pytest.mark.parametrize("api", sorted(UPSTREAM))
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 529])
async def test_an_error_of_the_model_is_told_in_the_clients_api(
    api: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"error": {"message": "it is full", "type": "t", "code": status}}).encode()
    bad = Raw(status, body, headers={"retry-after": "0"})
    async with gateway(monkeypatch, "openai_responses", bad, bad, bad, bad) as (served, _):
        with pytest.raises(EngineError, match="it is full") as raised:
            await asked(served, api)
    assert raised.value.status == (503 if status == 529 and api != "anthropic_messages" else status)
    assert raised.value.retryable == (status in (429, 500, 503, 529))


@pytest.mark.parametrize("upstream_api", sorted(UPSTREAM))
@pytest.mark.slow
async def test_a_stream_that_breaks_off_after_any_event_never_looks_like_a_normal_end(
    upstream_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "One two three four five six seven."
    whole = played(upstream_api, Turn(text, thinking="Hm, let me see."), stream=True)
    ends = [found.end() for found in re.finditer(b"\n\n", whole.body)]
    enough = next(number for number, end in enumerate(ends) if b"seven." in whole.body[:end])

    def cut(body: dict[str, Any]) -> Raw:
        found = re.search(r"after event (\d+)", json.dumps(body))
        assert found is not None
        return Raw(200, whole.body, content_type=whole.content_type, stop_after=[0, *ends][int(found[1])])

    cases = [(api, number) for api in sorted(UPSTREAM) for number in range(len(ends))]
    async with gateway(monkeypatch, upstream_api, *[cut] * len(cases) * 8) as (served, _):
        said = await asyncio.gather(
            *(asked(served, api, f"Stop after event {number}.", stream=True) for api, number in cases),
            return_exceptions=True,
        )
    for (api, number), one in zip(cases, said, strict=True):
        broken = isinstance(one, EngineError)
        assert broken or (one == text and number > enough), (api, number, one)


@pytest.mark.parametrize("api", sorted(UPSTREAM))
@pytest.mark.parametrize("finish", ["MALFORMED_FUNCTION_CALL", "OTHER"])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_the_model_gave_up_never_looks_like_a_whole_one(
    finish: str, api: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = Turn("I will now", finish=finish)
    async with gateway(monkeypatch, "gemini_generate", *[half] * 4) as (served, _):
        with pytest.raises(EngineError, match=f"without an answer: {finish}") as raised:
            await asked(served, api, stream=stream)
    assert raised.value.retryable or stream, "in a stream of Chat Completions an error has no status"


async def test_an_answer_that_pauses_is_continued_by_the_model_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    paused = Turn("The first half, ", finish="pause_turn")
    async with gateway(monkeypatch, "anthropic_messages", paused, Turn("the second.")) as (served, upstream):
        assert await asked(served, "openai_chat", stream=True) == "The first half, the second."
    assert upstream.requests[1].body["messages"][-1]["role"] == "assistant"


async def test_words_are_passed_on_before_the_model_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = played("openai_chat", Turn("One two three.", pieces=3), stream=True)
    stalled = Raw(whole.status, whole.body, content_type=whole.content_type, stall_after=len(whole.body) * 2 // 3)
    async with gateway(monkeypatch, "openai_chat", stalled) as (served, upstream):
        begun = asyncio.Event()
        task = asyncio.create_task(asked(served, "anthropic_messages", watch=lambda chunk: begun.set()))
        await asyncio.wait_for(begun.wait(), 30)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(upstream.nobody.wait(), 30)  # the client has gone, so the model is left too


async def test_a_second_model_answers_when_the_first_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Raw(401, b'{"error": {"message": "no"}}')
    routes = Routes(("openai:gpt-5.5",), (read_route("some-*=openai:gpt-5.5,openai-chat:gpt-4o"),))
    async with gateway(monkeypatch, "openai_chat", bad, Turn("Second."), routes=routes) as (served, upstream):
        assert await asked(served, "anthropic_messages") == "Second."
    assert [heard.api for heard in upstream.requests] == ["openai_responses", "openai_chat"]


async def test_a_second_model_answers_what_cannot_be_said_to_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}  # Messages has no sounds
    body = {"model": "m", "messages": [{"role": "user", "content": [sound]}]}
    routes = Routes(("anthropic:claude-sonnet-4-5", "openai-chat:gpt-4o"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    async with gateway(monkeypatch, "openai_chat", Turn("Second."), routes=routes) as (served, upstream):
        assert await posted(served, body, "/v1/chat/completions") == 200
    assert [heard.api for heard in upstream.requests] == ["openai_chat"]


async def test_after_the_limit_of_cost_no_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    rich = Turn("Fine.", usage=(1_000_000, 1_000_000))
    async with gateway(monkeypatch, "anthropic_messages", rich, rich, max_cost=Decimal("0.01")) as (served, upstream):
        assert await asked(served, "openai_chat") == "Fine."
        with pytest.raises(EngineError, match=r"limit of 0\.01 dollars"):
            await asked(served, "openai_chat")
    assert len(upstream.requests) == 1


async def test_nobody_is_asked_whose_price_is_not_known_when_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = Routes(("openai-chat:some/model",))
    async with gateway(monkeypatch, "openai_chat", Turn("Fine."), routes=routes, max_cost=Decimal(1)) as (served, asks):
        with pytest.raises(EngineError, match="what openai-chat:some/model costs is not known"):
            await asked(served, "anthropic_messages")
    assert asks.requests == []


async def test_nobody_is_asked_after_an_answer_whose_cost_is_not_known_when_there_is_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = json.loads(played("anthropic_messages", Turn("Fine."), stream=False).body)
    uncounted = Raw(body=json.dumps({**whole, "usage": {}}).encode())
    script = uncounted, Turn("Never.")
    async with gateway(monkeypatch, "anthropic_messages", *script, max_cost=Decimal(1)) as (served, asks):
        assert await asked(served, "openai_chat") == "Fine."
        with pytest.raises(EngineError, match="did not report what it used"):
            await asked(served, "openai_chat")
    assert len(asks.requests) == 1


async def test_a_hundred_clients_at_once_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway(monkeypatch, "openai_chat", *[Turn("Fine.")] * 100) as (served, _):
        answers = await asyncio.gather(*(asked(served, "anthropic_messages", stream=True) for _ in range(100)))
    assert answers == ["Fine."] * 100


# ── who is answered ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"x-api-key": TOKEN}, 200),
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({"x-goog-api-key": TOKEN}, 200),
        ({}, 401),
        ({"x-api-key": "sk-ant-the-clients-own"}, 401),
        ({"x-api-key": TOKEN, "host": "evil.example"}, 403),
        ({"x-api-key": TOKEN, "origin": "https://evil.example"}, 403),
        ({"x-api-key": TOKEN, "origin": "http://127.0.0.1:1"}, 403),
    ],
)
async def test_only_who_has_the_token_and_is_no_web_page_is_answered(
    headers: dict[str, str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = APIS["openai_chat"].encode(Request("m", (user("Hello?"),))).to_bytes()
    async with (
        gateway(monkeypatch, "openai_chat", Turn("Fine.")) as (served, upstream),
        aiohttp.ClientSession() as web,
        web.post(f"{served.url}/v1/chat/completions", data=body, headers=headers) as response,
    ):
        assert response.status == status
        assert "message" in (await response.json()).get("error", {"message": ""})
    assert len(upstream.requests) == (status == 200)


async def test_the_key_of_a_client_is_never_passed_on_kept_or_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Exchanged] = []
    (tmp_path / "a.py").write_text("x = 1\n")
    script = (Turn(calls=(("i1", "read_file", {"file_path": "a.py"}),)), Turn("Done."))
    kept = tmp_path / "kept"
    async with gateway(monkeypatch, "gemini_generate", *script, folder=kept, watch=shown.append) as (served, upstream):
        await client(served, "claude_code", tmp_path).run("Do it.")
        with pytest.raises(EngineError):
            await asked_with(served, "sk-ant-the-clients-own")
    heard = json.dumps([[one.path, one.headers, one.body] for one in upstream.requests])
    on_disk = repr(written(kept))
    for secret in (TOKEN, "sk-ant-the-clients-own"):
        assert secret not in heard + on_disk + repr(shown)
    assert KEY not in on_disk + repr(shown)
    assert [one.status for one in shown] == [200, 200, 401]


async def asked_with(served: Gateway, key: str) -> None:
    engine = HttpEngine("anthropic_messages", Transport(served.url, headers={"x-api-key": key}), retry=Retry(times=0))
    try:
        await engine.ask(Request("m", (user("Hello?"),)))
    finally:
        await engine.close()


@pytest.mark.parametrize("api", sorted(UPSTREAM))
async def test_the_models_are_listed_and_tokens_counted_in_every_api(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = {"anthropic_messages": {"anthropic-version": "1"}, "gemini_generate": {"x-goog-api-key": TOKEN}}
    headers = {"x-api-key": TOKEN, **marks.get(api, {})}
    async with gateway(monkeypatch, "openai_chat") as (served, _), aiohttp.ClientSession(headers=headers) as web:
        async with web.get(f"{served.url}{'/v1beta' if api == 'gemini_generate' else '/v1'}/models") as response:
            assert "gpt-5.5" in await response.text()
        counting = {
            "anthropic_messages": "/v1/messages/count_tokens",
            "openai_responses": "/v1/responses/input_tokens",
            "gemini_generate": "/v1beta/models/m:countTokens",
        }
        if api in counting:
            body = APIS[api].encode(Request("m", (user("Hello? " * 100),))).to_bytes()
            async with web.post(f"{served.url}{counting[api]}", data=body) as response:
                counted = await response.json()
            (tokens,) = [value for value in counted.values() if isinstance(value, int)]
            assert 100 < tokens < 1000


async def test_what_one_client_read_is_not_known_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of part of a line reaches Codex as a patch of whole lines only where that very session read the file."""
    for name, text in (("one", "x = 1\n"), ("two", "x = 1  # two\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(text)
    edit = ("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"})
    read = Turn(calls=(("i1", "Read", {"file_path": "a.py"}),))
    script = (read, Turn("Done."), Turn(calls=(("i2", *edit),)), Turn("Done."))
    async with gateway(monkeypatch, "anthropic_messages", *script) as (served, _):
        for name in ("one", "two"):
            assert (await client(served, "codex", tmp_path / name).run("Do it.")).text == "Done."
    assert written(tmp_path / "two") == {"a.py": "x = 2  # two\n"}


@pytest.mark.parametrize("name", sorted(one.dialect for one in KNOWN.values()))
def test_every_client_is_recognised_by_the_tools_it_offers(name: str) -> None:
    found = recognised(tuple(DIALECTS[name].definitions()), None)
    assert found is not None
    assert (found[0].dialect, found[1].name) == (name, name)


def words(client: str, model: str, *more: FunctionDefinition, agent: str | None = None) -> Words:
    """The words between a client, with these tools besides its own, and a model."""
    dialects = DIALECTS[client], at(dialect_of(model), None, family_of(model))
    return Words((*dialects[0].definitions(), *more), client=dialects[0], model=dialects[1], agent=agent)


def test_a_model_that_reads_by_commands_sees_pictures_by_its_own_tool() -> None:
    gpt = words("claude_code", "gpt-5.5")
    assert "view_image" in {one.name for one in gpt.definitions}
    (group,) = gpt.groups(
        Reply((CallPart(NativeCall("i", "view_image", {"path": "a.png"})),)), "b", Lowering(), frozenset()
    )
    assert [(one.name, one.arguments) for one in group.calls] == [("Read", {"file_path": "a.png"})]
    assert "view_image" not in words("codex", "claude-sonnet-4-5").passed  # that model's Read shows pictures


def test_a_tool_of_the_client_under_a_name_that_the_model_knows_otherwise_gets_another() -> None:
    own = FunctionDefinition("update_goal", "Its own.", {"type": "object", "properties": {"reason": {}}})
    gpt = words("qwen_code", "gpt-5.5", own)
    assert {"client_update_goal"} == {str(one.name) for one in gpt.definitions if "update_goal" in str(one.name)}
    called = Reply((CallPart(NativeCall("i", "client_update_goal", {"reason": "r"})),))
    (group,) = gpt.groups(called, "b", Lowering(), frozenset())
    assert [(one.name, one.arguments) for one in group.calls] == [("update_goal", {"reason": "r"})]


def test_a_sub_agent_is_started_with_the_kind_and_the_title_that_the_clients_tool_requires() -> None:
    said = NativeCall("i", "spawn_agent", {"task_name": "beans", "message": "Count them."}, "collaboration")
    gpt = words("opencode", "gpt-5.5", agent="general")
    (group,) = gpt.groups(Reply((CallPart(said),)), "b", Lowering(), frozenset())
    expected = {"description": "beans", "prompt": "Count them.", "subagent_type": "general"}
    assert [(one.name, one.arguments) for one in group.calls] == [("task", expected)]


SEARCH = {
    "type": "tool_search",
    "execution": "client",
    "description": "Find tools.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TASK = {"type": "object", "properties": {"message": {"type": "string"}}}
FOUND = [
    {"type": "namespace", "name": space, "tools": [{"type": "function", "name": name, "parameters": schema}]}
    for space, name, schema in (("mcp__toy", "echo", TEXT), ("multi_agent_v1", "spawn_agent", TASK))
]


async def test_tools_that_a_client_has_to_search_for_are_offered_when_they_were_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Codex 0.166 offers `tool_search` as a tool of OpenAI's API, and does the search itself."""
    own = tuple(one for one in DIALECTS["codex"].definitions() if one.name in ("exec_command", "view_image"))
    asked = APIS["openai_responses"].encode(Request("gpt-5.5", (user("Go."),), own)).to_bytes()
    body = json.loads(asked)
    body["tools"].append(SEARCH)
    echo, agent = ("i2", "mcp__toy__echo", {"text": "hi"}), ("i3", "invoke_agent", {"agent_name": "x", "prompt": "p"})
    script = (Turn(calls=(("i1", "tool_search", {"query": "echo"}),)), Turn(calls=(echo, agent)))
    async with (
        gateway(monkeypatch, "gemini_generate", *script) as (served, upstream),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
    ):
        async with web.post(f"{served.url}/v1/responses", json=body) as response:
            (searched,) = (await response.json())["output"]
        output = {"type": "tool_search_output", "call_id": searched["call_id"], "execution": "client", "tools": FOUND}
        body["input"] += [searched, output]
        async with web.post(f"{served.url}/v1/responses", json=body) as response:
            called = (await response.json())["output"]
    assert (searched["type"], searched["arguments"]) == ("tool_search_call", {"query": "echo"})
    first, second = (one.body for one in upstream.requests)
    assert "These tools can be called now: mcp__toy__echo, invoke_agent." in json.dumps(second)
    assert offered(second) - offered(first) == {"mcp__toy__echo", "invoke_agent"}
    assert [(one["namespace"], one["name"], json.loads(one["arguments"])) for one in called] == [
        ("mcp__toy", "echo", {"text": "hi"}),
        ("multi_agent_v1", "spawn_agent", {"message": "p"}),
    ]


KINDS = (
    "Available agent types and the tools they have access to:\n- explore: Looks around: fast.\n- general: For all else."
)


@pytest.mark.parametrize(
    "client, model, tool, kinds",
    [
        ("opencode", "gemini-3-pro-preview", "invoke_agent", KINDS),
        ("opencode", "claude-sonnet-4-5", "Agent", KINDS),
        ("copilot", "claude-sonnet-4-5", "Agent", "Available agent types: explore, general-purpose."),
        ("opencode", "gpt-5.5", "spawn_agent", None),  # its agents are all of one kind
    ],
)
def test_the_kinds_of_sub_agents_that_a_client_has_are_known_to_the_model(
    client: str, model: str, tool: str, kinds: str | None
) -> None:
    enum = {"agent_type": {"type": "string", "enum": ["explore", "general-purpose"]}} if client == "copilot" else {}
    given = {"description": {}, "prompt": {}, "subagent_type": {}, **enum}
    text = "Start an agent." if enum else f"Start an agent.\n\n{KINDS}\n\nNotes:\n- None."
    own = FunctionDefinition("task", text, {"type": "object", "properties": given})
    known = [one for one in DIALECTS[client].definitions() if one.name != "task"]
    dialects = DIALECTS[client], at(dialect_of(model), None, family_of(model))
    found = Words((*known, own), client=dialects[0], model=dialects[1])
    (offered_,) = [one for one in found.definitions if one.name == tool]
    assert isinstance(offered_, FunctionDefinition)
    assert offered_.description.endswith(kinds) if kinds else "explore" not in offered_.description


def test_a_model_that_knows_jobs_by_number_stops_one_that_the_client_has_named() -> None:
    gpt = words("claude_code", "gpt-5.5")
    assert (gpt.names["TaskStop"], gpt.names["Bash"]) == ("write_stdin", "exec_command")
    assert "exec" not in {one.name for one in gpt.definitions}  # which no model has beside the others
    run, stop = NativeCall("i", "exec_command", {"cmd": "sleep 100"}), "bx7f3a1"
    (started,) = gpt.groups(Reply((CallPart(run),)), "b", Lowering(), frozenset())
    told = f"Command running in background with ID: {stop}. Output is being written to: /tmp/{stop}.output"
    (result,) = gpt.results([started], {"b_0": NativeResult("b_0", told, name="Bash")})
    number = re.search(r"session ID (\d+)\n", str(result.content))
    assert number is not None, result
    typed = NativeCall("j", "write_stdin", {"session_id": int(number[1]), "chars": "\x03"})
    (group,) = gpt.groups(Reply((CallPart(typed),)), "c", Lowering(), frozenset())
    assert [(one.name, one.arguments) for one in group.calls] == [("TaskStop", {"task_id": stop})]


async def posted(served: Gateway, body: dict[str, Any], path: str = "/v1/messages") -> int:
    async with (
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}{path}", json=body) as response,
    ):
        return response.status


@pytest.mark.parametrize("api", ["anthropic_messages", "openai_chat"])
async def test_what_a_client_says_of_its_account_is_never_passed_on(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
    async with gateway(monkeypatch, api, Turn("Fine.")) as (served, upstream):
        assert await posted(served, {**body, "metadata": {"user_id": "user_1_account_2"}}) == 200
    assert "account_2" not in json.dumps(upstream.requests[0].body)


async def test_a_model_that_does_not_think_is_not_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    thinking = {"type": "enabled", "budget_tokens": 2000}
    body = {"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "Hello?"}], "thinking": thinking}
    routes = Routes(("openai-chat:gpt-4o",))
    async with gateway(monkeypatch, "openai_chat", Turn("Fine."), routes=routes) as (served, upstream):
        assert await posted(served, body) == 200
    assert "reasoning_effort" not in upstream.requests[0].body


async def test_messages_that_cannot_be_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway(monkeypatch, "openai_chat", Turn("Fine.")) as (served, upstream):
        assert await posted(served, {"model": "m", "max_tokens": 9, "messages": [{"role": "nobody"}]}) == 400
    assert not upstream.requests


KEPT: dict[str, tuple[str, dict[str, Any]]] = {
    # Requests that stand for content which the provider of their API keeps, by the field that does, with their path.
    "previous_response_id": ("/v1/responses", {"input": "Go on.", "previous_response_id": "resp_1"}),
    "conversation": ("/v1/responses", {"input": "Go on.", "conversation": "conv_1"}),
    "prompt": ("/v1/responses", {"input": "Go on.", "prompt": {"id": "pmpt_1"}}),
    "item_reference": ("/v1/responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
    "cachedContent": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Go on."}]}], "cachedContent": "cachedContents/1"},
    ),
    "container": (
        "/v1/messages",
        {"max_tokens": 9, "messages": [{"role": "user", "content": "Go on."}], "container": "c_1"},
    ),
    "file_id": (
        "/v1/messages",
        {
            "max_tokens": 9,
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "document", "source": {"type": "file", "file_id": "file_1"}}],
                }
            ],
        },
    ),
}


@pytest.mark.parametrize("field", sorted(KEPT))
async def test_a_model_is_never_asked_without_what_the_clients_provider_keeps(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, body = KEPT[field]
    async with gateway(monkeypatch, "openai_chat", Turn("A wrong answer.")) as (served, upstream):
        assert await posted(served, {"model": "m", **body}, path) == 400
    assert upstream.requests == []


CHOSEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # A choice of Chat Completions, and what a model of Anthropic is asked for it.
    "none": ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
    "required": ({"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
    "one": (
        {"tool_choice": {"type": "function", "function": {"name": "one"}}},
        {"tool_choice": {"type": "tool", "name": "one"}},
    ),
    "some": (
        {
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "one"}}]},
            }
        },
        {"tools": ["one"]},
    ),
    "one of some": (
        {
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "one"}}]},
            }
        },
        {"tools": ["one"], "tool_choice": {"type": "any"}},
    ),
    "forced while it thinks": (
        {"tool_choice": "required", "reasoning_effort": "high"},
        {"tool_choice": {"type": "any"}},
    ),
}


@pytest.mark.parametrize("choice", sorted(CHOSEN))
async def test_the_choice_of_a_client_holds_whatever_the_models_api_has(
    choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, told = CHOSEN[choice]
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("one", "two")
    ]
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "tools": tools, **asked}
    async with gateway(monkeypatch, "anthropic_messages", Turn("Done.")) as (served, upstream):
        assert await posted(served, body, "/v1/chat/completions") == 200
    (heard,) = upstream.requests
    said = {"tools": sorted(offered(heard.body)), "tool_choice": heard.body.get("tool_choice")}
    assert said == {"tools": ["one", "two"], "tool_choice": None, **told}
    assert "thinking" not in heard.body


def test_a_choice_names_a_tool_that_is_passed_through_as_the_model_is_offered_it() -> None:
    own = FunctionDefinition("read_file", "Reads from elsewhere.", {"type": "object", "properties": {"x": {}}})
    words = Words((*DIALECTS["claude_code"].definitions(), own), client=at("claude_code"), model=at("gemini_cli"))
    assert [words.offered_name(name) for name in ("read_file", "Read")] == ["client_read_file", "read_file"]


async def test_a_picture_is_not_counted_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}
    content = [{"type": "image", "source": source}]
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    async with (
        gateway(monkeypatch, "openai_chat") as (served, _),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
        web.post(f"{served.url}/v1/messages/count_tokens", json=body) as response,
    ):
        assert (await response.json())["input_tokens"] < 10_000


@pytest.mark.parametrize(
    "api, count", [("anthropic_messages", {"input_tokens": 4321}), ("gemini_generate", {"totalTokens": 4321})]
)
@pytest.mark.slow
async def test_tokens_are_counted_by_the_models_own_provider(
    api: str, count: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = Raw(200, json.dumps(count).encode())
    async with (
        gateway(monkeypatch, api, raw, Raw(500)) as (served, upstream),
        aiohttp.ClientSession(headers={"x-api-key": TOKEN}) as web,
    ):
        counted = []
        for _ in range(2):
            async with web.post(
                f"{served.url}/v1/responses/input_tokens", json={"model": "m", "input": "Hi"}
            ) as response:
                counted.append((await response.json())["input_tokens"])
    assert counted[0] == 4321
    assert 0 < counted[1] < 100  # estimated, because the provider could not
    assert "ount" in upstream.requests[0].path


async def test_the_list_of_models_states_their_context_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"x-api-key": TOKEN, "anthropic-version": "1"}
    async with (
        gateway(monkeypatch, "anthropic_messages") as (served, _),
        aiohttp.ClientSession(headers=headers) as web,
        web.get(f"{served.url}/v1/models") as response,
    ):
        (row,) = (await response.json())["data"]
    assert (row["id"], row["max_input_tokens"]) == ("anthropic:claude-sonnet-4-5", 200_000)


@pytest.mark.parametrize(
    "api, tools",
    [
        ("gemini_generate", [{"googleSearch": {}}]),
        ("openai_responses", [{"type": "web_search_2025_08_26"}]),
        ("openai_chat", None),  # Chat Completions has no search of its own
    ],
)
async def test_a_search_that_the_clients_provider_would_do_is_done_by_the_models(
    api: str, tools: list[Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code 2.1.325 searches the web by a request of its own with nothing but Anthropic's tool."""
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Search."}], "tools": [search]}
    shown: list[Exchanged] = []
    async with gateway(monkeypatch, api, Turn("Found."), watch=shown.append) as (served, upstream):
        assert await posted(served, body) == 200
    assert upstream.requests[0].body.get("tools") == tools
    assert shown[0].left_out == (() if tools else ("web_search",))
