"""What the pages show of other people's frameworks runs as it stands there, against the loopback server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.frameworks import run
from tests.engine.loopback import Turn, loopback
from tests.pages import printed, programs

PAGE = "howto/keep-your-framework.md"
EDIT: dict[str, Any] = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}

ENVIRONMENTS = {
    # Heading → the environment its program needs; `None` is our own, which has the providers' SDKs.
    "pydantic-ai": "pydantic_ai",
    "OpenAI Agents SDK": "openai_agents",
    "LangChain": "langchain",
    "OpenAI SDK": None,
    "Chat Completions": None,
    "Anthropic SDK": None,
    "Google SDK": None,
}


def test_every_framework_of_the_page_is_tried_here() -> None:
    assert set(programs(PAGE)) == {"Keep your framework", *ENVIRONMENTS}


@pytest.mark.parametrize("heading", ENVIRONMENTS)
async def test_a_framework_keeps_the_loop_and_has_our_tools(heading: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    ((common,), (own,)) = programs(PAGE)["Keep your framework"], programs(PAGE)[heading]
    environment = ENVIRONMENTS[heading]
    turns = (
        Turn(calls=(("c1", "Read", {"file_path": "a.txt"}), ("c2", "Read", {"file_path": "no.txt"}))),
        Turn(calls=(("c3", "Edit", EDIT),)),
        Turn("It is 2 now."),
    )
    async with loopback(*turns) as server:
        words = ("-c", f"{common}\n{own}")
        if environment is None:
            shown = await printed(*words, server=server, cwd=tmp_path, python=sys.executable)
        else:
            shown = await run(environment, *words, server=server, cwd=tmp_path)
    assert shown == "It is 2 now.\n"
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"
    assert len(server.requests) == 3
    assert '"no.txt" does not exist' in str(server.requests[1].body).replace("\\", "")


BEFORE = {
    "guides/from-openai-sdk.md": (None, "weather", {"city": "Paris", "days": None}, "clear in Paris for 1 days"),
    "guides/from-litellm.md": ("litellm", "weather", {"city": "Paris"}, "clear in Paris"),
    "guides/from-pydantic-ai.md": ("pydantic_ai", "orders_of", {"customer": "Ada"}, "a lamp"),
}


@pytest.mark.parametrize("page", BEFORE)
async def test_the_guides_before(page: str, tmp_path: Path) -> None:
    environment, name, arguments, told = BEFORE[page]
    (program,) = programs(page)["Before"]
    async with loopback(Turn(calls=(("c1", name, arguments),)), Turn("Fine.")) as server:
        words = ("-c", program)
        if environment is None:
            shown = await printed(*words, server=server, cwd=tmp_path)
        else:
            shown = await run(environment, *words, server=server, cwd=tmp_path)
    assert shown == "Fine.\n"
    assert told in str(server.requests[1].body)
