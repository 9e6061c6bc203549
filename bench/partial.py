"""The arguments of a call, looked at after every piece of them: linear in their length, where parsing anew is not."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.benches import Bench, Target
from bench.stopwatch import per_call

PIECE = 2_000
SIZES = {"100 kB": 100_000, "200 kB": 200_000, "800 kB": 800_000}
ID = "call_1"


def text_of(shape: str, size: int) -> str:
    """Arguments of about so many characters as JSON: one long text, or many rows."""
    if shape == "text":
        line = 'def area(radius):\n    """The area of a circle."""\n    return 3.14159 * radius ** 2\n\n'
        return json.dumps({"path": "area.py", "content": line * (size // (len(line) + 8))})
    row = {"name": "weight", "relation": "above", "amount": 7.5, "wanted": True, "notes": ["one", "two"], "unit": None}
    return json.dumps({"rows": [{**row, "number": number} for number in range(size // (len(json.dumps(row)) + 16))]})


def pieces_of(shape: str, size: int) -> list[str]:
    text = text_of(shape, size)
    return [text[begin : begin + PIECE] for begin in range(0, len(text), PIECE)]


def ours(pieces: list[str]) -> Callable[[], Any]:
    from dragoman.apis import APIS

    events = [_event(piece) for piece in pieces]

    def look() -> Any:
        decoder = APIS["openai_chat"].stream()
        decoder.feed(_event("", id=ID, type="function", name="write"))
        for event in events:
            decoder.feed(event)
            view = decoder.arguments(ID)
        return view

    return look


def _event(piece: str, **more: Any) -> bytes:
    name = {"name": more.pop("name")} if more else {}
    call = {"index": 0, **more, "function": {**name, "arguments": piece}}
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def jiter(pieces: list[str]) -> Callable[[], Any]:
    from jiter import from_json

    def look() -> Any:
        text = b""
        for piece in encoded:
            text += piece
            view = from_json(text, partial_mode="trailing-strings")
        return view

    encoded = [piece.encode() for piece in pieces]
    return look


def once(pieces: list[str]) -> Callable[[], Any]:
    """All of it, when it has come: no view before that."""
    text = "".join(pieces)
    return lambda: json.loads(text)


def measure(shape: str, column: str) -> list[float]:
    who, _, size = column.partition(", ")
    look = {"ours": ours, "jiter": jiter, "json": once}[who](pieces_of(shape, SIZES[size]))
    if look() != json.loads(text_of(shape, SIZES[size])):
        raise SystemExit(f"{column} does not hold what was said")

    gc.disable()  # as `timeit` does: how often it runs depends on what else the process holds

    def several(times: int) -> None:
        for _ in range(times):
            look()

    return per_call(several)


def _columns() -> Iterator[tuple[str, str]]:
    for size in SIZES:
        yield f"ours, {size}", "base"
        yield f"jiter, {size}", "jiter"
    yield "json, 100 kB", "base"


def _bench(shape: str, said: str, *more: Target) -> Bench:
    return Bench(
        question=f"look at the arguments of a call after every {PIECE} characters of them, {said}",
        environments=dict(_columns()),
        floor="jiter, 200 kB",
        targets=(Target("ours, 800 kB", "ours, 200 kB", 5), Target("ours, 200 kB", "jiter, 200 kB", 1), *more),
        measure=partial(measure, shape),
    )


BENCHES = {
    "text": _bench("text", "one long text"),
    "rows": _bench("rows", "many rows", Target("ours, 100 kB", "json, 100 kB", 2.7)),
}
