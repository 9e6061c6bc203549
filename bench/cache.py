"""How much of a run's prompts is paid for in full: 20 turns on a server that keeps prompts as each provider does.

A cost here is a share: the tokens of all requests that were not read from the provider's prompt cache, for each token
that is said for the first time. 1.0 is the ideal, where every token is paid for in full once. The server runs on this
machine, counts four bytes as a token, and keeps prompts by the rule the provider's documentation states:

- Anthropic: up to a mark, looked for at each mark and at most 20 blocks before it, 1,024 tokens or more.
- OpenAI: by itself, for requests of one `prompt_cache_key`, 1,024 tokens or more, in steps of 128.
- Gemini: by itself, 1,024 tokens or more.

`uncached` is the same run with the cache turned off, where the API lets it be turned off.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from bench.benches import Bench, Target

TURNS = 20
LEAST, STEP, BACK = 1024, 128, 20
MODELS = {
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini_generate": "gemini-2.5-pro",
}
SYSTEM = "You look at places, one at a time, and say what is there. " * 100


class Cache:
    """What a provider keeps, by its rule, and what was read from it and paid for in full."""

    def __init__(self, api: str) -> None:
        self.api = api
        self.kept: set[tuple[str, ...]] = set()
        self.seen: list[tuple[str, str]] = []
        self.paid = self.first_said = 0

    def ask(self, body: dict[str, Any]) -> None:
        """One request: how much of it is read."""
        blocks = list(_blocks(body))
        texts = [text for text, _ in blocks]
        whole = "".join(texts)
        longest = max((_common(whole, before) for _, before in self.seen), default=0)
        self.first_said += _tokens(whole) - _tokens(whole[:longest])
        self.paid += _tokens(whole) - (
            self._marked(blocks) if self.api == "anthropic_messages" else self._same(body, whole)
        )
        self.seen.append((body.get("prompt_cache_key", ""), whole))

    def _marked(self, blocks: Sequence[tuple[str, bool]]) -> int:
        texts = [text for text, _ in blocks]
        ends = [at for at, (_, marked) in enumerate(blocks, 1) if marked]
        found = [
            sum(map(_tokens, texts[:at]))
            for end in ends
            for at in range(end, max(0, end - BACK), -1)
            if tuple(texts[:at]) in self.kept
        ]
        self.kept |= {tuple(texts[:end]) for end in ends if sum(map(_tokens, texts[:end])) >= LEAST}
        return max(found, default=0)

    def _same(self, body: dict[str, Any], whole: str) -> int:
        key = body.get("prompt_cache_key", "")
        longest = max((_common(whole, before) for named, before in self.seen if named == key), default=0)
        tokens = _tokens(whole[:longest])
        if self.api != "gemini_generate":
            tokens -= tokens % STEP
        return tokens if tokens >= LEAST else 0


def _tokens(text: str) -> int:
    return len(text) // 4


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:  # the longest common beginning
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """What a model reads, in its order: tools, system prompt, messages; and whether it is to be kept up to there."""
    for tool in body.get("tools", ()):
        yield json.dumps(tool), "cache_control" in tool
    for key in ("system", "instructions", "systemInstruction"):
        yield from _said(body.get(key, ()))
    for key in ("messages", "input", "contents"):
        for item in body.get(key, ()):
            inner = item.get("content", item.get("parts")) if isinstance(item, dict) else None
            if isinstance(inner, list):
                yield json.dumps({"role": item.get("role")}), False
                yield from _said(inner)
            else:
                yield from _said([item])


def _said(value: Any) -> Iterator[tuple[str, bool]]:
    for piece in value if isinstance(value, list | tuple) else [value]:
        marked = isinstance(piece, dict) and "cache_control" in piece
        yield json.dumps({k: v for k, v in piece.items() if k != "cache_control"} if marked else piece), marked


# ── the server ───────────────────────────────────────────────────────────────


def _answer(api: str, at: int) -> dict[str, Any]:
    arguments, last = {"place": f"place {at}"}, at == TURNS
    if api == "anthropic_messages":
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": "look", "input": arguments}
        content = [{"type": "text", "text": "Done."}] if last else [call]
        stop = "end_turn" if last else "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {
            "id": f"m{at}",
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": stop,
            "usage": usage,
        }
    if api == "openai_chat":
        function = {"name": "look", "arguments": json.dumps(arguments)}
        said: dict[str, Any] = (
            {"content": "Done."}
            if last
            else {"tool_calls": [{"id": f"c{at}", "type": "function", "function": function}]}
        )
        choice = {
            "index": 0,
            "message": {"role": "assistant", **said},
            "finish_reason": "stop" if last else "tool_calls",
        }
        return {"id": f"r{at}", "object": "chat.completion", "choices": [choice]}
    if api == "openai_responses":
        text = {"type": "output_text", "text": "Done.", "annotations": []}
        item: dict[str, Any] = {
            "type": "message",
            "id": f"m{at}",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
        if not last:
            item = {
                "type": "function_call",
                "id": f"fc{at}",
                "call_id": f"c{at}",
                "name": "look",
                "arguments": json.dumps(arguments),
            }
        return {"id": f"r{at}", "object": "response", "status": "completed", "output": [item]}
    part = {"text": "Done."} if last else {"functionCall": {"name": "look", "args": arguments}}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}


async def _run(api: str, *, cache: bool) -> float:
    from aiohttp import web

    from dragoman.engine import HttpEngine, Orchestrator
    from dragoman.engine.transport import Transport
    from dragoman.tools import tool

    kept = Cache(api)
    turn = 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal turn
        turn += 1
        kept.ask(await request.json())
        return web.json_response(_answer(api, turn))

    @tool
    def look(place: str) -> str:
        """What is there."""
        return f"At {place} there is a house with a garden. " * 50

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        engine = HttpEngine(api, Transport(f"http://{host}:{port}"), provider="scripted")
        run = Orchestrator(engine, [look], model_name=MODELS[api], dialect="plain", system=SYSTEM, cache=cache)
        result = await run.run("Look at every place.")
        assert (result.text, turn) == ("Done.", TURNS), (result, turn)
        await run.close()
    finally:
        await runner.cleanup()
    return kept.paid / kept.first_said


def _measure(api: str, column: str) -> list[float]:
    return [1.0] if column == "ideal" else [asyncio.run(_run(api, cache=column == "ours"))]


BENCHES = {
    api: Bench(
        question=f"tokens of {TURNS} turns paid for in full, for each said for the first time ({api})",
        environments={"ideal": "base", "ours": "base", "uncached": "base"},
        floor="ideal",
        targets=[Target("ours", "ideal", 1.2)],
        measure=partial(_measure, api),
    )
    for api in MODELS
}
