"""Our tools in other people's frameworks: each leads a real loop against the loopback server, over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model.outcomes import ContentOutcome, Media
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Toolset, tool
from tests.conformance.frameworks import run
from tests.engine.loopback import Heard, Turn, loopback

# google-genai is compiled when it is first imported, and has escapes that Python warns of.
pytestmark = pytest.mark.filterwarnings("ignore:.*invalid escape sequence", "ignore::DeprecationWarning:google")

LOOPS = Path(__file__).parent / "loops"
PATCH = "*** Begin Patch\n*** Update File: {path}\n@@\n-two\n+2\n*** End Patch\n"
EDITS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    # The same edit in the words of each vocabulary.
    "claude_code": lambda path: ("Edit", {"file_path": path, "old_string": "two", "new_string": "2"}),
    "gemini_cli": lambda path: (
        "replace",
        {"file_path": path, "instruction": "say it as a number", "old_string": "two", "new_string": "2"},
    ),
    "codex": lambda path: ("apply_patch", {"input": PATCH.format(path=path)}),
    "plain": lambda path: ("edit_file", {"path": path, "edits": [{"old": "two", "new": "2"}]}),
}


@tool
def shout(text: str, times: int = 1) -> str:
    """Text in capitals."""
    return text.upper() * times


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@tool
def picture() -> ContentOutcome:
    """A dot."""
    return ContentOutcome(("a dot:", Media("image/png", data=DOT)))


def facade(dialect: str) -> Facade:
    """Without a tool to read files: with one, Claude Code's words want a file to be read before it is edited."""
    return Facade(DIALECTS[dialect], Toolset([TOOLS["edit_file"], shout, picture]))


def script(dialect: str) -> tuple[Turn, ...]:
    """Two rounds of calls: an edit, with a function and a picture of ours, then a file that is not there."""
    edit = EDITS[dialect]
    return (
        Turn(
            "I will.",
            calls=(
                ("call_1", *edit("a.txt")),
                ("call_2", "shout", {"text": "hi", "times": 2}),
                ("call_3", "picture", {}),
            ),
        ),
        Turn(calls=(("call_4", *edit("missing.txt")),)),
        Turn("I changed it."),
    )


def prepared(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    return folder


async def expected(dialect: str, folder: Path) -> list[str]:
    """What the model is told in this dialect's words, by the same tools without a framework."""
    told: list[str] = []
    async with facade(dialect).tools_for("openai-chat", workspace=DiskWorkspace(prepared(folder))) as tools:
        for turn in script(dialect)[:-1]:
            results = [await tools.call(name, arguments, id) for id, name, arguments in turn.calls]
            told += [str(result.content) for result in results]
    return told


def words_in(value: Any) -> list[str]:
    """Every text of a request, those inside of JSON within texts among them."""
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return [word for inner in inside for word in words_in(inner)]
    if not isinstance(value, str):
        return []
    try:
        return [value, *words_in(json.loads(value))]
    except ValueError:
        return [value]


def functions_in(heard: Heard) -> dict[str, tuple[str, dict[str, Any]]]:
    """Name → description and parameters, as a request of any API has them."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for entry in heard.body["tools"]:
        for one in entry.get("functionDeclarations", [entry]):
            function = one.get("function", one)
            keys = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
            schemas = [function[key] for key in keys if key in function]
            found[function["name"]] = (function["description"], *(schemas or [{"properties": {}}]))
    return found


async def judged(dialect: str, requests: list[Heard], folder: Path) -> None:
    """The edit is done, the tools were offered and the results told in the dialect's words."""
    assert len(requests) == 3
    assert (folder / "a.txt").read_text() == "one\n2\nthree\n"
    definitions = {str(one.name): one for one in facade(dialect).definitions}
    offered = functions_in(requests[0])
    assert list(offered) == list(definitions)
    for name, (description, parameters) in offered.items():
        own: Any = definitions[name]
        assert own.description in description
        properties = own.parameters["properties"] if hasattr(own, "parameters") else {"input": None}
        assert sorted(parameters["properties"]) == sorted(properties)
    edit, shouted, _, failed = await expected(dialect, folder / "expected")
    assert {edit, shouted} <= set(words_in(requests[1].body))
    assert shouted == "HIHI"
    shown = [word.replace("-", "+").replace("_", "/") for word in words_in(requests[1].body)]  # both kinds of base64
    assert any(word.endswith(DOT) for word in shown), "the picture is not shown"
    assert failed in words_in(requests[2].body)
    assert "missing.txt" in failed or "File does not exist" in failed  # as the client says it


async def led(environment: str, program: str, cases: list[tuple[str, str]], folder: Path) -> list[list[Heard]]:
    """The requests of each case: dialect and model. One process leads all, since starting it is what takes long."""
    folders = [prepared(folder / str(place)) for place in range(len(cases))]
    given = json.dumps([[*case, str(place)] for case, place in zip(cases, folders, strict=True)])
    turns = [turn for dialect, _ in cases for turn in script(dialect)]
    async with loopback(*turns) as server:
        said = await run(environment, str(LOOPS / program), given, server=server, cwd=folder)
    assert said.splitlines() == ["I changed it."] * len(cases)
    requests = [server.requests[start : start + 3] for start in range(0, len(server.requests), 3)]
    for (dialect, _), three, place in zip(cases, requests, folders, strict=True):
        await judged(dialect, three, place)
    return requests


def errors_in(heard: Heard) -> list[bool]:
    """Anthropic's flags of the results in a request."""
    blocks = [block for message in heard.body["messages"] for block in message["content"] if isinstance(block, dict)]
    return [bool(block.get("is_error")) for block in blocks if block["type"] == "tool_result"]


async def test_pydantic_ai(tmp_path: Path) -> None:
    cases = [
        ("claude_code", "anthropic:claude-opus-5"),
        ("gemini_cli", "google:gemini-2.5-pro"),
        ("codex", "openai:gpt-5"),
        ("plain", "openai-chat:gpt-4.1"),
    ]
    claude, *_ = await led("pydantic_ai", "pydantic_ai_agent.py", cases, tmp_path)
    assert errors_in(claude[2]) == [False, False, False, True]


async def test_the_openai_agents_sdk(tmp_path: Path) -> None:
    cases = [(dialect, "gpt-5") for dialect in ("codex", "claude_code", "gemini_cli", "plain")]
    await led("openai_agents", "openai_agents_agent.py", cases, tmp_path)


async def test_langchain_with_and_without_an_event_loop(tmp_path: Path) -> None:
    cases = [
        ("claude_code", "anthropic:claude-opus-5"),
        ("gemini_cli", "openai:gpt-4.1"),
        ("codex", "openai:gpt-5"),
    ]
    requests = await led("langchain", "langchain_agent.py", cases * 2, tmp_path)
    assert errors_in(requests[0][2]) == errors_in(requests[3][2]) == [False, False, False, True]


# ── the providers' SDKs, which leave the loop to their users ─────────────────


async def test_openai_responses(tmp_path: Path) -> None:
    from openai import AsyncOpenAI

    for dialect in ("claude_code", "gemini_cli", "plain"):
        workspace = prepared(tmp_path / dialect)
        async with (
            loopback(*script(dialect)) as server,
            AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
            facade(dialect).tools_for("openai", workspace=DiskWorkspace(workspace), model="gpt-5") as tools,
        ):
            said: list[Any] = [{"role": "user", "content": "Do it."}]
            response = await client.responses.create(model="gpt-5", input=said, tools=tools)
            while results := await tools.run(response):
                said += [*response.output, *results]
                response = await client.responses.create(model="gpt-5", input=said, tools=tools)
        assert response.output_text == "I changed it."
        await judged(dialect, server.requests, workspace)


async def test_openai_chat_without_an_event_loop(tmp_path: Path) -> None:
    from openai import OpenAI

    def loop(url: str, tools: Any) -> str | None:
        with OpenAI(base_url=url, api_key="k", max_retries=0) as client:
            said: list[Any] = [{"role": "user", "content": "Do it."}]
            response = client.chat.completions.create(model="gpt-4.1", messages=said, tools=tools)
            while results := tools.run_sync(response):
                said += [response.choices[0].message, *results]
                response = client.chat.completions.create(model="gpt-4.1", messages=said, tools=tools)
            return response.choices[0].message.content

    for dialect in ("codex", "claude_code", "gemini_cli"):
        workspace = prepared(tmp_path / dialect)
        tools = facade(dialect).tools_for("openai-chat", workspace=DiskWorkspace(workspace))
        async with loopback(*script(dialect)) as server, tools:
            assert await asyncio.to_thread(loop, server.url, tools) == "I changed it."
        await judged(dialect, server.requests, workspace)


@pytest.mark.parametrize("stream", [False, True])
async def test_anthropic(stream: bool, tmp_path: Path) -> None:
    from anthropic import AsyncAnthropic

    workspace = prepared(tmp_path / "workspace")
    async with (
        loopback(*script("claude_code")) as server,
        AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0) as client,
        facade("claude_code").tools_for("anthropic", workspace=DiskWorkspace(workspace)) as tools,
    ):
        said: list[Any] = [{"role": "user", "content": "Do it."}]

        async def asked() -> Any:
            request: Any = {"model": "claude-opus-5", "max_tokens": 999, "messages": said, "tools": tools}
            if not stream:
                return await client.messages.create(**request)
            async with client.messages.stream(**request) as streamed:
                return await streamed.get_final_message()

        message = await asked()
        while results := await tools.run(message):
            said += [{"role": "assistant", "content": message.content}, *results]
            message = await asked()
    assert message.content[0].text == "I changed it."
    await judged("claude_code", server.requests, workspace)
    assert errors_in(server.requests[2]) == [False, False, False, True]


async def test_google_genai(tmp_path: Path) -> None:
    from google import genai

    for dialect in ("gemini_cli", "claude_code"):
        workspace = prepared(tmp_path / dialect)
        async with (
            loopback(*script(dialect)) as server,
            facade(dialect).tools_for("google-genai", workspace=DiskWorkspace(workspace)) as tools,
        ):
            client = genai.Client(api_key="k", http_options={"base_url": server.url})
            said: list[Any] = [{"role": "user", "parts": [{"text": "Do it."}]}]
            config: Any = {"tools": tools}
            response = await client.aio.models.generate_content(model="gemini-2.5-pro", contents=said, config=config)
            while results := await tools.run(response):
                said += [response.candidates[0].content, *results]  # type: ignore[index]
                response = await client.aio.models.generate_content(
                    model="gemini-2.5-pro", contents=said, config=config
                )
            await client.aio.aclose()
        assert response.text == "I changed it."
        await judged(dialect, server.requests, workspace)
