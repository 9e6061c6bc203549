"""Runs the suite on every provider whose key is set, and says which were not run and why.

    python -m tests.live                       every provider with a key
    LIVE="groq=some-model ollama=qwen3" …      another model, or a server that needs no key
    python -m tests.live anthropic gemini      only these

Keys are read from the environment, as always, and never printed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from dragoman.engine.models import PROVIDERS, engine_for
from dragoman.engine.transport import Times
from dragoman.errors import DragomanError

from .suite import CHECKS, Agent, Wrong

MODELS = {
    # One that is cheap and can call tools; the names age, LIVE="provider=model" says another.
    "openai": "gpt-5-mini",
    "openai-chat": "gpt-5-mini",
    "anthropic": "claude-haiku-4-5",
    "gemini": "gemini-2.5-flash",
    "openrouter": "openai/gpt-5-mini",
    "groq": "openai/gpt-oss-20b",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-small-latest",
    "xai": "grok-4-fast",
    "together": "openai/gpt-oss-20b",
    "fireworks": "accounts/fireworks/models/gpt-oss-20b",
    "cerebras": "gpt-oss-120b",
    "moonshot": "kimi-k2-turbo-preview",
    "zai": "glm-4.6",
    "alibaba": "qwen-plus",
    "huggingface": "openai/gpt-oss-20b",
    "nvidia": "openai/gpt-oss-20b",
}


def chosen(named: Sequence[str], environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Provider → the model to run; and provider → why it is not run."""
    asked = dict(pair.split("=", 1) for pair in environment.get("LIVE", "").split())
    run: dict[str, str] = {}
    left: dict[str, str] = {}
    for name in PROVIDERS:
        row, model = PROVIDERS[name], asked.get(name) or MODELS.get(name)
        if named and name not in named:
            left[name] = "not asked for"
        elif row.key_needed and not any(environment.get(variable) for variable in row.key):
            left[name] = f"{' or '.join(row.key)} is not set"
        elif row.address_needed and not environment.get(row.base_url_env or ""):
            left[name] = f"{row.base_url_env} is not set"
        elif model is None:
            left[name] = f'name a model: LIVE="{name}=<model>"'
        else:
            run[name] = model
    return run, left


async def tried(name: str, model: str, environment: Mapping[str, str], say: Callable[[str], None]) -> int:
    """How many checks failed."""
    engine, model = engine_for(f"{name}:{model}", times=Times(read=120, total=300), environment=environment)
    failed = 0
    try:
        for check in CHECKS:
            began = time.perf_counter()
            try:
                verdict, note = "ok", await check(Agent(engine, model))
            except (Wrong, DragomanError) as error:
                verdict, note = "FAILED", f"{type(error).__name__}: {error}"
                failed += 1
            seconds = time.perf_counter() - began
            say(f"  {check.__name__:24} {verdict:6} {seconds:5.1f} s  {note}")
    finally:
        await engine.close()
    return failed


async def live(
    named: Sequence[str] = (), environment: Mapping[str, str] = os.environ, write: Callable[[str], None] = print
) -> int:
    """0 when nothing failed, else 1."""
    unknown = [name for name in named if name not in PROVIDERS]
    if unknown:
        write(f"no provider named {', '.join(unknown)}; known: {', '.join(PROVIDERS)}")
        return 2
    keys = {environment[key] for name in PROVIDERS for key in PROVIDERS[name].key if environment.get(key)}

    def say(line: str) -> None:
        for key in keys:  # a server may repeat what it was sent
            line = line.replace(key, "***")
        write(line)

    run, left = chosen(named, environment)
    failed: dict[str, int] = {}
    for name, model in run.items():
        say(f"{name}:{model}")
        failed[name] = await tried(name, model, environment, say)
    say(f"run: {', '.join(run) or 'none'}")
    say("not run:" if left else "not run: none")
    for name, reason in left.items():
        say(f"  {name:12} {reason}")
    bad = [f"{name} ({count})" for name, count in failed.items() if count]
    say(f"failed: {', '.join(bad)}" if bad else "nothing failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(live(sys.argv[1:])))
