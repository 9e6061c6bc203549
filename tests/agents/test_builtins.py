"""The eight built-ins, on both kinds of workspace, in the words and shapes a model hears them in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents import Kernel, builtin_toolset
from dragoman.engine import HttpEngine
from dragoman.engine.transport import Transport
from dragoman.model import FunctionDefinition, Page
from dragoman.tools import DiskWorkspace, MemoryWorkspace, Web, Workspace
from tests.engine.loopback import Raw, Turn, loopback

from .playing import Cast, agent, calls, says, told

EIGHT = {
    "vfs_read",
    "vfs_write",
    "vfs_list",
    "vfs_delete",
    "spawn_agent",
    "signal_parent",
    "web_fetch",
    "web_search",
}


@pytest.fixture(params=["memory", "disk"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    files = {"notes/tea.md": "green\nblack\n", "notes/deep/cup.md": "white\n"}
    if request.param == "memory":
        yield MemoryWorkspace(files)
        return
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    yield DiskWorkspace(tmp_path, forgiving=True)


class Found:
    """A search backend that always finds the same."""

    asked: int | None = None

    async def search(self, query: str, *, limit: int, **_: Any) -> list[Page]:
        self.asked = limit
        return [Page("https://a.example/tea", "Tea", snippet="Tea is a drink."), Page("https://b.example", "B")]


async def heard(workspace: Workspace | None, *made: tuple[str, dict[str, Any]], **more: Any) -> list[str]:
    cast = Cast(boss=[*(calls(one) for one in made), says("Done.")])
    kernel = Kernel([agent("boss")], engines=cast, workspace=workspace, tools=builtin_toolset(), **more)
    ended = await kernel.run("boss", "Go")
    assert ended.status == "completed", ended.error
    return told(ended)


async def test_a_child_is_offered_the_eight_and_what_waits_for_children() -> None:
    cast = Cast(boss=[calls(("spawn_agent", {"prompt": "x", "background": False})), says("Hm."), says("Done.")])
    kernel = Kernel(
        [agent("boss")],
        engines=cast,
        workspace=MemoryWorkspace(),
        tools=builtin_toolset(),
        web=lambda: Web(search=Found()),
    )
    await kernel.run("boss", "Go")
    assert cast.offered("boss")[1] == EIGHT | {"wait_for_agent", "stop_agent", "message_agent", "list_agents"}
    assert cast.offered("boss")[0] == EIGHT - {"signal_parent"} | {"wait_for_agent", "stop_agent"}
    parameters = {
        one.name: set(one.parameters["properties"])
        for one in cast.asked("boss")[0].definitions
        if isinstance(one, FunctionDefinition)
    }
    assert {"url", "maxLength"} <= parameters["web_fetch"]
    assert {"query", "maxResults"} <= parameters["web_search"]


async def test_files_are_written_read_listed_and_deleted(workspace: Workspace) -> None:
    results = await heard(
        workspace,
        ("vfs_write", {"path": "new/a.md", "content": "one\ntwo\n"}),
        ("vfs_read", {"path": "new/a.md"}),
        ("vfs_list", {"prefix": "notes"}),
        ("vfs_delete", {"path": "new/a.md"}),
        ("vfs_list", {"prefix": "new"}),
    )
    assert results == [
        "Created new/a.md (2 lines added).",
        "1\tone\n2\ttwo",
        "notes/deep/cup.md\nnotes/tea.md",
        "Deleted new/a.md (2 lines removed).",
        "[no files found]",
    ]
    assert workspace.entry("new/a.md") is None


async def test_a_unique_base_name_is_found_with_a_note_and_near_ones_are_suggested(workspace: Workspace) -> None:
    found, missed, prefix = await heard(
        workspace,
        ("vfs_read", {"path": "cup.md"}),
        ("vfs_read", {"path": "notes/teaa.md"}),
        ("vfs_list", {"folder": "nowhere"}),
    )
    assert found.startswith("[there is no such file; this is notes/deep/cup.md]\n1\twhite")
    assert 'Did you mean "notes/tea.md"' in missed
    assert '"nowhere" does not exist. "." holds notes/' in prefix


async def test_a_search_gives_title_url_and_snippet_and_never_invents_one() -> None:
    backend = Found()
    (text,) = await heard(MemoryWorkspace(), ("web_search", {"query": "tea"}), web=lambda: Web(search=backend))
    assert json.loads(text) == [
        {"title": "Tea", "url": "https://a.example/tea", "snippet": "Tea is a drink."},
        {"title": "B", "url": "https://b.example", "snippet": None},
    ]
    assert backend.asked == 5
    await heard(MemoryWorkspace(), ("web_search", {"query": "t", "maxResults": 1}), web=lambda: Web(search=backend))
    assert backend.asked == 1


async def test_a_search_that_nobody_can_do_is_not_offered() -> None:
    cast = Cast(boss=[says("Done.")])
    await Kernel([agent("boss")], engines=cast, workspace=MemoryWorkspace(), tools=builtin_toolset()).run("boss", "Go")
    assert "web_fetch" in cast.offered("boss")[0]
    assert "web_search" not in cast.offered("boss")[0]


async def test_a_page_is_fetched_up_to_its_length() -> None:
    page = Raw(body=b"<p>" + b"tea " * 100 + b"</p>", content_type="text/html")
    async with loopback(page, page) as server:
        short, whole = await heard(
            MemoryWorkspace(),
            ("web_fetch", {"url": server.url, "maxLength": 8}),
            ("web_fetch", {"url": f"{server.url}/b"}),
            web=lambda: Web(allow_private=True),
        )
    head = "Status: 200\nType: text/html\n\n"
    assert short == f"URL: {server.url}\n{head}tea tea \n[cut here; 399 characters in all]"
    assert whole == f"URL: {server.url}/b\n{head}{' '.join(['tea'] * 100)}"


# ── the provider's own search ────────────────────────────────────────────────


def grounded() -> Raw:
    body = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Tea is a drink."}]},
                "finishReason": "STOP",
                "groundingMetadata": {
                    "groundingChunks": [
                        {"web": {"uri": "https://a.example/tea", "title": "a.example"}},
                        {"web": {"uri": "https://b.example", "title": "b.example"}},
                    ],
                    "groundingSupports": [
                        {
                            "segment": {"startIndex": 0, "endIndex": 15, "text": "Tea is a drink."},
                            "groundingChunkIndices": [0],
                        }
                    ],
                    "webSearchQueries": ["tea"],
                },
            }
        ],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
        "modelVersion": "gemini-2.5-pro",
    }
    return Raw(body=json.dumps(body).encode())


def engines(url: str, api: str, provider: str) -> Any:
    return lambda name: (HttpEngine(api, Transport(url), provider=provider), name)


async def test_gemini_searches_in_a_request_of_its_own_where_it_cannot_mix() -> None:
    script = (Turn(calls=(("1", "google_web_search", {"query": "tea"}),)), grounded(), Turn(text="Done."))
    async with loopback(*script) as server:
        boss = agent("boss", model="gemini-2.5-pro")
        run = Kernel(
            [boss],
            engines=engines(server.url, "gemini_generate", "gemini"),
            workspace=MemoryWorkspace(),
            tools=builtin_toolset(),
        )
        ended = await run.run("boss", "Go")
    assert (ended.status, ended.text) == ("completed", "Done.")
    first, search, last = (heard.body for heard in server.requests)
    assert search["tools"] == [{"googleSearch": {}}]
    assert all("googleSearch" not in tool for body in (first, last) for tool in body["tools"])
    assert "Tea is a drink." in told(ended)[0]
    assert "https://a.example/tea" in told(ended)[0]
    assert ended.usage.total == 15 + 120 + 15  # the search is paid for by who asked for it


@pytest.mark.parametrize(
    "api, provider, model, wire",
    [
        ("anthropic_messages", "anthropic", "claude-sonnet-4-5", "web_search_"),
        ("openai_responses", "openai", "gpt-5", "web_search"),
    ],
)
async def test_the_hosted_search_is_offered_where_it_can_stand_beside_functions(
    api: str, provider: str, model: str, wire: str
) -> None:
    async with loopback(Turn(text="Done.")) as server:
        kernel = Kernel(
            [agent("boss", model=model)],
            engines=engines(server.url, api, provider),
            workspace=MemoryWorkspace(),
            tools=builtin_toolset(),
        )
        assert (await kernel.run("boss", "Go")).status == "completed"
    kinds = [str(tool.get("type", "")) for tool in server.requests[0].body["tools"]]
    assert len([kind for kind in kinds if kind.startswith(wire)]) == 1


async def test_a_search_that_somebody_must_be_asked_about_is_not_left_to_the_provider() -> None:
    from dragoman.engine import Approval, ToolPolicy

    async with loopback(Turn(text="Done.")) as server:
        kernel = Kernel(
            [agent("boss", model="claude-sonnet-4-5")],
            engines=engines(server.url, "anthropic_messages", "anthropic"),
            workspace=MemoryWorkspace(),
            tools=builtin_toolset(),
            policy=ToolPolicy(approval=(Approval("ask", operation="search_web"),)),
        )
        await kernel.run("boss", "Go")
    names = [tool["name"] for tool in server.requests[0].body["tools"]]
    assert "WebSearch" in names
    assert "web_search" not in names
