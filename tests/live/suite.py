"""What every provider must do: text, a stream, tools in turn, several calls at once, a forced call, a clear error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.engine import Engine, Orchestrator, RunResult, ToolPolicy
from dragoman.errors import EngineError
from dragoman.model import AnyChunk, Reply, TextChunk, ToolChoice
from dragoman.tools import tool

PRICES = {"lamp": 40, "desk": 250, "chair": 95}
NO_SUCH_MODEL = "no-such-model-here"


class Wrong(Exception):
    """A provider did something else than it should."""


class Agent:
    """One provider's engine with one model, and how to run it with the tools of the suite."""

    def __init__(self, engine: Engine, model: str) -> None:
        self.engine, self.model = engine, model
        self.called: list[str] = []

    async def run(
        self, prompt: str, *, tools: bool = True, model: str | None = None, stream: bool = False, **policy: Any
    ) -> tuple[RunResult, list[AnyChunk]]:
        self.called.clear()
        chunks: list[AnyChunk] = []
        run = Orchestrator(
            self.engine,
            self._tools() if tools else (),
            ToolPolicy(max_iterations=6, **policy),
            model_name=model or self.model,
            max_output_tokens=4000,
        )
        return await run.run(prompt, observe=chunks.append if stream else None), chunks

    def _tools(self) -> list[Any]:
        called = self.called

        @tool
        def lookup_price(item: str) -> int:
            """The price of an item of our shop, in dollars."""
            called.append(f"lookup_price {item.lower()}")
            return PRICES[item.lower()]

        @tool
        def to_crowns(dollars: float) -> str:
            """Changes dollars into crowns."""
            called.append(f"to_crowns {dollars:g}")
            return f"{dollars * 7.25:g} crowns"

        return [lookup_price, to_crowns]


def must(condition: object, message: str) -> None:
    if not condition:
        raise Wrong(message)


async def text(agent: Agent) -> str:
    result, _ = await agent.run("Answer with the single word: ready", tools=False)
    must("ready" in result.text.lower(), f"it said {result.text[:80]!r}")
    must(result.usage.output_tokens, "it counted no tokens")
    return f"{result.usage.total} tokens"


async def stream(agent: Agent) -> str:
    result, chunks = await agent.run("Write the numbers 1 to 9 as digits.", tools=False, stream=True)
    said = [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)]
    must("".join(said) == result.text, "the pieces are not the text")
    must(all(str(number) in result.text for number in range(1, 10)), f"it said {result.text[:80]!r}")
    return f"{len(said)} pieces"


IN_TURN = "What does the lamp cost in crowns? Look up its price with lookup_price, then change it with to_crowns."


async def tools_in_turn(agent: Agent) -> str:
    return await _in_turn(agent, streamed=False)


async def tools_in_turn_streamed(agent: Agent) -> str:
    return await _in_turn(agent, streamed=True)


async def _in_turn(agent: Agent, *, streamed: bool) -> str:
    result, _ = await agent.run(IN_TURN, stream=streamed)
    must(result.status == "completed", f"it ended {result.status}")
    must(agent.called == ["lookup_price lamp", "to_crowns 40"], f"it called {agent.called}")
    must("290" in result.text, f"it said {result.text[:80]!r}")
    return f"{result.rounds} rounds"


async def calls_at_once(agent: Agent) -> str:
    result, _ = await agent.run("Look up the prices of lamp, desk and chair, all three calls at once, and add them up.")
    must(sorted(agent.called) == [f"lookup_price {item}" for item in sorted(PRICES)], f"it called {agent.called}")
    must("385" in result.text, f"it said {result.text[:80]!r}")
    most = max(len(item.calls) for item in result.conversation if isinstance(item, Reply))
    return f"{most} in one reply"


async def forced_call(agent: Agent) -> str:
    await agent.run("Greet me. The item, if you need one, is desk.", choice=ToolChoice("one", ("lookup_price",)))
    must(agent.called[:1] == ["lookup_price desk"], f"it called {agent.called}")
    return ""


async def unknown_model(agent: Agent) -> str:
    try:
        result, _ = await agent.run("Is anybody there?", tools=False, model=NO_SUCH_MODEL)
    except EngineError as error:
        must(error.status is not None and 400 <= error.status < 500, f"the error was {error}")
        must(not error.retryable, "the error says that trying again may help")
        return f"{error.status}: {error.message[:60]}"
    raise Wrong(f"it answered {result.text[:80]!r}")


CHECKS: tuple[Callable[[Agent], Awaitable[str]], ...] = (
    text,
    stream,
    tools_in_turn,
    tools_in_turn_streamed,
    calls_at_once,
    forced_call,
    unknown_model,
)
