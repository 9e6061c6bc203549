"""A request → the body on the wire, when its toolset was offered before: nothing is done again for each tool.

What is measured is `encode`: the history put in order, problems looked for, the body made. `to_bytes` copies the
tools' JSON, which was written once, so it grows with their bytes and with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

from bench.benches import Bench, Target
from bench.stopwatch import per_call
from bench.subject import msgspec_types, tool_function

APIS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_generate")
MANY = 100
MODELS = {
    "openai_chat": "openai-chat:gpt-5",
    "openai_responses": "openai:gpt-5",
    "anthropic_messages": "anthropic:claude-sonnet-4-5",
    "gemini_generate": "gemini:gemini-2.5-pro",
}


def request_with(tools: int) -> Any:
    """A conversation of a few turns, and so many tools."""
    from dragoman import tool
    from dragoman.model import CallPart, Message, NativeCall, NativeResult, Reply, Request, ResultPart, user

    types = msgspec_types()
    definitions = tuple(tool(tool_function(types, f"find_parcels_{number}")).definition for number in range(tools))
    conversation: list[Any] = [user("Where are my parcels?")]
    for number in range(5):
        call = NativeCall(f"call_{number}", "find_parcels_0", {"text": "late", "most": number})
        conversation.append(Reply((CallPart(call),)))
        conversation.append(Message("tool", (ResultPart(NativeResult(call.id, "3 parcels", name=call.name)),)))
    return Request("a-model", tuple(conversation), definitions, max_output_tokens=1000)


def newly_orchestrated(api: str, tools: int) -> Callable[[], Any]:
    """A service that makes an `Orchestrator` for each request it gets."""
    from dragoman import Orchestrator, tool
    from dragoman.engine.loop import Ask
    from dragoman.engine.models import engine_for

    types = msgspec_types()
    offered = [tool(tool_function(types, f"find_parcels_{number}")) for number in range(tools)]
    engine, model = engine_for(MODELS[api], api_key="none", configuration=None)

    def prepare() -> Any:
        made = Orchestrator(engine, offered, model_name=model)
        running = made.start("Where are my parcels?")
        return engine.prepare(running.request(Ask(running.conversation, 1, made.policy.choice)))

    return prepare


def repeated(api: str, column: str) -> Callable[[], Any]:
    from dragoman import apis

    codec = apis.APIS[api]
    if column.endswith("new Orchestrator"):
        return newly_orchestrated(api, MANY if column.startswith(str(MANY)) else 1)
    request = request_with(MANY if column.startswith(str(MANY)) else 1)
    if column.endswith("to bytes"):
        return lambda: codec.encode(request).to_bytes()
    if column.endswith("equal ones"):
        from copy import deepcopy

        from msgspec.structs import replace

        equal = [replace(request, definitions=deepcopy(request.definitions)) for _ in range(100)]
        others = cycle(equal)
        return lambda: codec.encode(next(others))
    if column.endswith("never seen"):
        fresh = type(codec)
        return lambda: fresh().encode(request)
    return lambda: codec.encode(request)


def measure(api: str, column: str) -> list[float]:
    encode = repeated(api, column)
    encoded = encode()
    if not column.endswith("to bytes") and b"find_parcels_0" not in encoded.to_bytes():
        raise SystemExit(f"{api}: the tools are not in the body")

    def several(times: int) -> None:
        for _ in range(times):
            encode()

    return per_call(several)


COLUMNS = (
    *("1 tool", "100 tools", "1 tool, to bytes", "100 tools, to bytes", "100 tools, equal ones"),
    *("100 tools, never seen", "1 tool, new Orchestrator", "100 tools, new Orchestrator"),
)


def _bench(api: str) -> Bench:
    return Bench(
        question=f"encode a request to {api} whose tools were offered before",
        environments=dict.fromkeys(COLUMNS, "base"),
        floor="1 tool",
        targets=(
            Target("100 tools", "1 tool", 1.3),
            Target("100 tools, new Orchestrator", "1 tool, new Orchestrator", 1.4),
            Target("100 tools, equal ones", "100 tools, never seen", 1 / 20),
        ),
        measure=partial(measure, api),
    )


BENCHES = {api: _bench(api) for api in APIS}
