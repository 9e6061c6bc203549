"""What the guides and how-to pages show runs as it stands there; what needs another framework is in conformance."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from tests.engine.loopback import Raw, Turn, loopback
from tests.pages import printed, programs


async def test_the_openai_guide_after(tmp_path: Path) -> None:
    turns = (Turn(calls=(("c1", "weather", {"city": "Paris", "days": None}),)), Turn("Clear."))
    async with loopback(*turns) as server:
        (program,) = programs("guides/from-openai-sdk.md")["After"]
        assert await printed("-c", program, server=server, cwd=tmp_path) == "Clear.\n"
    assert server.requests[1].body["input"][-1]["output"] == "clear in Paris for 1 days"
    (offered,) = server.requests[0].body["tools"]
    assert (offered["name"], offered["description"]) == ("weather", "The weather of a city.")
    assert offered["parameters"]["properties"]["days"]["description"] == "How many days."


async def test_the_litellm_guide_after(tmp_path: Path) -> None:
    turns = (Turn(calls=(("c1", "weather", {"city": "Paris"}),)), Turn("Clear."))
    async with loopback(*turns) as server:
        (program,) = programs("guides/from-litellm.md")["After"]
        assert await printed("-c", program, server=server, cwd=tmp_path) == "Clear.\n"
    assert server.requests[0].body["max_tokens"] == 4096
    assert server.requests[1].body["messages"][-1]["content"][0]["content"] == "clear in Paris"


async def test_the_pydantic_ai_guide_after(tmp_path: Path) -> None:
    turns = (Turn(calls=(("c1", "orders_of", {"customer": "Ada"}),)), Turn("A lamp."))
    async with loopback(*turns) as server:
        (program,) = programs("guides/from-pydantic-ai.md")["After"]
        assert await printed("-c", program, server=server, cwd=tmp_path) == "A lamp.\n"
    assert list(server.requests[0].body["tools"][0]["input_schema"]["properties"]) == ["customer"]
    assert server.requests[1].body["messages"][-1]["content"][0]["content"] == '["a lamp"]'


async def test_switching_models_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    edit = {"file_path": "a.txt", "instruction": "a number", "old_string": "two", "new_string": "2"}
    turns = (
        Turn(thinking="hm", calls=(("c1", "Read", {"file_path": "a.txt"}),)),
        Turn("It says one, two."),
        Turn(calls=(("c2", "replace", edit),)),
        Turn("Done."),
    )
    async with loopback(*turns) as server:
        ((program,),) = programs("howto/switch-models.md").values()
        assert await printed("-c", program, server=server, cwd=tmp_path) == "It says one, two.\nDone.\n"
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"
    _, _, third, _ = server.requests
    parts = [part for content in third.body["contents"] for part in content["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [(call["name"], call["args"]) for call in calls] == [("read_file", {"file_path": "a.txt"})]


SEARCHED: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "played",
    "content": [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "newest Python"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://python.org/downloads",
                    "title": "Downloads",
                    "encrypted_content": "x",
                    "page_age": None,
                }
            ],
        },
        {
            "type": "text",
            "text": "It is 3.14.",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": "https://python.org/downloads",
                    "title": "Downloads",
                    "cited_text": "3.14",
                    "encrypted_index": "x",
                }
            ],
        },
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


async def test_a_tool_the_provider_runs(tmp_path: Path) -> None:
    async with loopback(Raw(body=json.dumps(SEARCHED).encode())) as server:
        (program,) = programs("howto/provider-tools.md")["Use the tools a provider runs itself"]
        shown = await printed("-c", program, server=server, cwd=tmp_path)
    assert shown.splitlines() == [
        "searched: newest Python by provider",
        "found: ['https://python.org/downloads']",
        "It is 3.14.",
        "from: ['https://python.org/downloads']",
    ]
    settings = {"max_uses": 3, "allowed_domains": ["python.org"]}
    assert server.requests[0].body["tools"] == [{"type": "web_search_20250305", "name": "web_search", **settings}]


async def test_a_tool_and_options_that_nobody_here_knows(tmp_path: Path) -> None:
    async with loopback() as server:
        (program,) = programs("howto/provider-tools.md")["Ways out"]
        shown = await printed("-c", program, server=server, cwd=tmp_path)
    assert shown.splitlines() == [
        "[{'type': 'dig_20991231', 'depth': 3}]",
        "flex {'verbosity': 'low'}",
        "it is sent as it is: no row of the catalogue has this id.",
    ]
    assert server.requests == []


async def test_the_guide_to_typed_provider_tools_gives_the_same_request_before_and_after(tmp_path: Path) -> None:
    found = programs("guides/from-raw-provider-tools.md")
    before, after, names = [found[title][0] for title in ("Before", "After", "Names of tools")]
    async with loopback() as server:
        sent = await printed("-c", before, server=server, cwd=tmp_path)
        assert sent.startswith("{'type': 'web_search', ")
        typed = await printed("-c", after, server=server, cwd=tmp_path)
        assert ast.literal_eval(typed) == ast.literal_eval(sent)
        told = await printed("-c", names, server=server, cwd=tmp_path)
    assert told.startswith("it is offered as 'web_search_")
