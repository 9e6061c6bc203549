"""Models that play a script each, and short words for what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.agents import Activation, Agent, CustomTool
from dragoman.engine import Engine, ScriptedEngine
from dragoman.model import CallPart, FinishReason, NativeCall, Reply, Request, ResultPart, TextPart, Usage

Step = Reply | Callable[[Request], Reply | str]


def says(text: str, *, tokens: int = 15) -> Reply:
    return Reply((TextPart(text),), FinishReason.STOP, usage=Usage(input_tokens=tokens - 5, output_tokens=5))


def calls(*made: tuple[str, dict[str, Any]], tokens: int = 15) -> Reply:
    """A reply that calls tools; ids are made of the name and the arguments."""
    parts = tuple(CallPart(NativeCall(f"{name}-{index}", name, said)) for index, (name, said) in enumerate(made))
    return Reply(parts, FinishReason.CALLS, usage=Usage(input_tokens=tokens - 5, output_tokens=5))


def spawns(agent: str, prompt: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "spawn_agent", {"agent": agent, "prompt": prompt, **more}


class Cast:
    """Who plays which model. `offered` is what each was offered, question by question."""

    def __init__(self, **scripts: list[Any]) -> None:
        self.engines = {model: ScriptedEngine(steps) for model, steps in scripts.items()}

    def __call__(self, model: str) -> tuple[Engine, str]:
        return self.engines[model], model

    def asked(self, model: str) -> list[Request]:
        return self.engines[model].requests

    def offered(self, model: str) -> list[set[str]]:
        return [{str(one.name) for one in request.definitions} for request in self.asked(model)]

    def finish(self) -> None:
        for engine in self.engines.values():
            engine.finish()


def told(activation: Activation) -> list[str]:
    """The results an agent was told, in order."""
    parts = (part for item in activation.conversation for part in item.parts)
    return [str(part.result.content) for part in parts if isinstance(part, ResultPart)]


def agent(name: str, **facts: Any) -> Agent:
    """An agent that asks the model of its own name."""
    return Agent(**{"name": name, "model": name, "instructions": f"You are {name}.", **facts})


def custom(name: str, **facts: Any) -> CustomTool:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return CustomTool(
        **{"name": name, "description": "Does it.", "prompt": "Do {{text}}", "parameters": schema, **facts}
    )


def shape(activation: Activation) -> Any:
    """A tree of (agent, status, children)."""
    return activation.agent, activation.status, [shape(child) for child in activation.children]
