"""A request with a long conversation → its bytes: a run asks after every turn, so what grows with the turns adds up."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any

from bench.benches import Bench, Target
from bench.encode import APIS
from bench.stopwatch import per_call

TURNS = {"100 turns": 100, "1,000 turns": 1000}


def turn(number: int) -> tuple[Any, Any]:
    from dragoman.model import CallPart, Message, NativeCall, NativeResult, Reply, ResultPart, TextPart

    call = NativeCall(f"call_{number}", "find_parcels", {"text": "late", "most": number})
    result = NativeResult(call.id, "3 parcels, " * 9, name=call.name)
    return Reply((TextPart("I look again."), CallPart(call))), Message("tool", (ResultPart(result),))


def measure(api: str, column: str) -> list[float]:
    """Each request has one turn more than the one before it."""
    from dragoman import apis
    from dragoman.model import Request, user

    who, _, turns = column.partition(", ")
    codec = apis.APIS[api]
    items: list[Any] = [user("Where are my parcels?")]
    for number in range(TURNS[turns]):
        items += turn(number)
    first = codec.encode(Request("a-model", tuple(items), max_output_tokens=1000))
    encode = codec.encode_to_send if who == "ours" else codec.encode
    numbers = count(TURNS[turns])

    def work() -> Any:
        items.extend(turn(next(numbers)))
        request = Request("a-model", tuple(items), max_output_tokens=1000)
        return first.to_bytes() if who == "bytes" else encode(request).to_bytes()

    if work().count(b"3 parcels, 3 parcels") < TURNS[turns]:
        raise SystemExit("the conversation is not in the body")

    def several(times: int) -> None:
        for _ in range(times):
            work()

    return per_call(several)


def _bench(api: str) -> Bench:
    return Bench(
        question=f"encode a request to {api} that continues a long conversation",
        environments=dict.fromkeys(
            [f"{who}, {turns}" for who in ("ours", "alone", "bytes") for turns in TURNS], "base"
        ),
        floor="bytes, 1,000 turns",
        targets=(Target("ours, 1,000 turns", "bytes, 1,000 turns", 3),),
        measure=partial(measure, api),
    )


BENCHES = {api: _bench(api) for api in APIS}
