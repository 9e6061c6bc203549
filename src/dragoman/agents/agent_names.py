"""Names of agents, as files and models write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2s

from dragoman.errors import DefinitionError

from .agent import Agent


def stem_of(name: str) -> str:
    """The name of an agent's file, without folder and ending: `agents/helper.md` is `helper`."""
    bare = bare_name(name)
    # What has no letter of any script in it is told apart by what it was.
    return re.sub(r"[^\w-]+", "-", bare).strip("-")[:100] or f"agent-{short_hash(bare.encode())[:8]}"


def bare_name(name: str) -> str:
    return name.strip().removeprefix("./").removeprefix("agents/").removesuffix(".md")


def agents_by_name(agents: Iterable[Agent]) -> dict[str, Agent]:
    found: dict[str, Agent] = {}
    for agent in agents:
        if agent.name in found:
            places = " and ".join(one.path for one in (found[agent.name], agent) if one.path)
            where = f" ({places})" if places else ""
            raise DefinitionError("the agents", [f"there are two agents called {agent.name!r}{where}"])
        found[agent.name] = agent
    return found


def short_hash(said: bytes) -> str:
    """Tells texts apart."""
    return blake2s(said, digest_size=16).hexdigest()
