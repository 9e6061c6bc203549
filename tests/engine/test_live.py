"""`make live` itself, against a server on this machine: what it runs, what it says, and that it can fail."""

from __future__ import annotations

import json
from typing import Any

from dragoman.engine.models import PROVIDERS
from tests.engine.loopback import Loopback, Raw, Turn, loopback
from tests.live.__main__ import live
from tests.live.suite import CHECKS, NO_SUCH_MODEL

KEY = "sk-very-secret"
PLAYED = ["openai", "openai-chat", "anthropic", "gemini"]


def good(body: dict[str, Any]) -> Turn | Raw:
    """What a good model answers to the suite's questions, whatever wire they come on."""
    said = json.dumps(body)
    if "single word" in said:
        return Turn("Ready.")
    if "numbers 1 to 9" in said:
        return Turn("1 2 3 4 5 6 7 8 9")
    if "lamp cost in crowns" in said:
        if "290 crowns" in said:
            return Turn("The lamp costs 290 crowns.")
        call = ("c2", "to_crowns", {"dollars": 40}) if results(body) else ("c1", "lookup_price", {"item": "lamp"})
        return Turn(calls=(call,))
    if "all three calls" in said:
        if results(body):
            return Turn("385 dollars.")
        return Turn(
            calls=tuple((f"c{n}", "lookup_price", {"item": i}) for n, i in enumerate(("lamp", "desk", "chair")))
        )
    if "Greet me" in said:
        return Turn("Hello!") if results(body) else Turn(calls=(("c1", "lookup_price", {"item": "desk"}),))
    error = {"message": f"the model {NO_SUCH_MODEL} does not exist ({KEY})", "type": "not_found_error", "code": "x"}
    return Raw(404, json.dumps({"error": error}).encode())


def results(body: dict[str, Any]) -> bool:
    said = json.dumps(body)
    return any(mark in said for mark in ('"tool_call_id"', "function_call_output", '"tool_result"', "functionResponse"))


def environment(server: Loopback) -> dict[str, str]:
    addresses = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    return dict.fromkeys(addresses, server.url) | dict.fromkeys(keys, KEY)


async def test_every_provider_with_a_key_is_run_and_the_others_are_named_with_the_reason() -> None:
    lines: list[str] = []
    async with loopback(*[good] * 100) as server:
        status = await live((), environment(server), lines.append)
    output = "\n".join(lines)
    assert status == 0, output
    assert KEY not in output
    assert f"run: {', '.join(PLAYED)}" in lines
    assert lines[-1] == "nothing failed"
    assert output.count(" ok ") == len(PLAYED) * len(CHECKS)
    left = [line.split()[0] for line in lines[lines.index("not run:") + 1 : -1]]
    assert left == [name for name in PROVIDERS if name not in PLAYED]
    assert any(line.split() == ["groq", "GROQ_API_KEY", "is", "not", "set"] for line in lines)


async def test_what_a_provider_does_wrong_is_counted() -> None:
    lines: list[str] = []
    async with loopback(*[Turn("I would rather not.")] * 100) as server:
        status = await live(["anthropic"], environment(server), lines.append)
    assert status == 1
    assert lines[-1] == f"failed: anthropic ({len(CHECKS)})"
    assert KEY not in "\n".join(lines)


async def test_without_a_key_nothing_is_run_and_nothing_fails() -> None:
    lines: list[str] = []
    assert await live((), {}, lines.append) == 0
    assert "run: none" in lines


async def test_a_server_that_needs_no_key_is_run_when_a_model_is_named() -> None:
    lines: list[str] = []
    async with loopback(*[good] * 100) as server:
        status = await live((), {"LIVE": "ollama=qwen3", "OLLAMA_BASE_URL": server.url}, lines.append)
    assert (status, lines[0]) == (0, "ollama:qwen3"), lines


async def test_an_unknown_provider_is_said_to_be_unknown() -> None:
    lines: list[str] = []
    assert await live(["antropic"], {}, lines.append) == 2
    assert lines[0].startswith("no provider named antropic; known: openai")
