"""One conversation through the gateway on several models: each gets it in its own words, with its own signatures."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from dragoman.model import Request
from dragoman.serve.gateway import Gateway, Routes
from tests.engine.loopback import Heard, Turn, loopback

from .test_gateway import CLIENTS, KEY, TOKEN, UPSTREAM, WORDS, client, written

SIGNED = {"gemini_generate": "c2lnbmVk", "openai_responses": '"secret"', "anthropic_messages": '"signed"'}
"""The signature that the scripted model of each API gives."""


class ByNumber(Routes):
    """Routes by number: the first request that is not answered by the gateway itself goes to the first model."""

    def __init__(self, *apis: str) -> None:
        self._order = [UPSTREAM[api][0] for api in apis]
        super().__init__(tuple(dict.fromkeys(self._order)))
        self.heard: list[Heard] = []

    def models(self, request: Request, tokens: int) -> tuple[str, ...]:
        return (self._order[len(self.heard)],)


async def worked(
    patch: pytest.MonkeyPatch, routes: ByNumber, dialect: str, folder: Path, *script: Turn
) -> tuple[str, list[Heard]]:
    """What the client said at the end, and what the models were asked."""
    async with loopback(*script) as upstream:
        for _, address, key in UPSTREAM.values():
            patch.setenv(address, upstream.url)
            patch.setenv(key, KEY)
        routes.heard = upstream.requests
        served = Gateway(routes, TOKEN)
        await served.start()
        try:
            result = await client(served, dialect, folder).run("Do it.", stream=True)
        finally:
            await served.close()
    return result.text, upstream.requests


def called(heard: Heard) -> list[str]:
    """The names of the calls in the history of a request."""
    body: dict[str, Any] = heard.body
    if heard.api == "gemini_generate":
        parts = [part for one in body["contents"] for part in one["parts"]]
        return [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    if heard.api == "openai_responses":
        return [one["name"] for one in body["input"] if one.get("type") in ("function_call", "custom_tool_call")]
    blocks = [block for one in body["messages"] for block in one["content"] if isinstance(block, dict)]
    return [block["name"] for block in blocks if block["type"] == "tool_use"]


@pytest.mark.parametrize("dialect", sorted(CLIENTS))
@pytest.mark.parametrize("first, second", sorted(permutations(sorted(WORDS), 2)))
@pytest.mark.slow
async def test_a_model_that_takes_over_is_told_everything_in_its_own_words(
    first: str, second: str, dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    order = [first, first, second, first]
    script = [
        Turn(f"Step {number}.", thinking="Hm.", calls=((f"id_{number}", *WORDS[api][number]),))
        for number, api in enumerate(order)
    ]
    routes = ByNumber(*order, second)
    text, heard = await worked(monkeypatch, routes, dialect, tmp_path, *script, Turn("All done."))
    assert text.endswith("All done.")
    assert written(tmp_path) == {"a.py": "x = 2\n", "b.py": "y = 1\n"}
    assert [one.api for one in heard] == [*order, second]
    for number, one in enumerate(heard):
        own = {name for name, _ in WORDS[one.api]}
        body = json.dumps(one.body)
        assert {*called(one)} <= own, "no name of another vocabulary"
        assert len(called(one)) >= number
        assert "cannot do this here" not in body, "nothing that was done is told as a failure"
        signatures = {api for api, signed in SIGNED.items() if signed in body}
        assert signatures == {one.api} & {*order[:number]}, "a signature goes back to its maker and to nobody else"


PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** Update File: c.py\n@@\n-z = 1\n+z = 2\n"
    "*** Add File: b.py\n+y = 1\n*** End Patch\n"
)


async def test_a_call_in_several_steps_is_ended_before_another_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "c.py").write_text("z = 1\n")
    script = Turn("A patch.", calls=(("id_1", "apply_patch", PATCH),)), Turn("All done.")
    routes = ByNumber("openai_responses", "gemini_generate")
    text, heard = await worked(monkeypatch, routes, "claude_code", tmp_path, *script)
    assert text.endswith("All done.")
    assert written(tmp_path) == {"a.py": "x = 2\n", "b.py": "y = 1\n", "c.py": "z = 2\n"}
    assert [one.api for one in heard] == ["openai_responses", "gemini_generate"]
    assert called(heard[1]) == [*["read_file"] * 3, "replace", "replace", "write_file"]
