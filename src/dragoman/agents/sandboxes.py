"""What an agent file says about the sandbox of its commands, and how much of it holds.

Rule: no file makes a sandbox looser, whoever wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.config import Sandbox
from dragoman.config.settings import tightened
from dragoman.errors import nearest

if TYPE_CHECKING:
    from .agent import Agent
    from .frontmatter_text import Section


def read_sandbox(section: Section) -> dict[str, Any]:
    """The fields of `Sandbox` that a file states: `sandbox: require`, or a table of them."""
    if isinstance(section.content.get("sandbox"), str):
        return _field(section, "mode", section.take("sandbox"), ("sandbox",))
    table = section.table("sandbox")
    if table is None:
        return {}
    stated: dict[str, Any] = {}
    for name in table.content:
        stated |= _field(table, name, table.take(name), (name,))
    return stated


def _field(section: Section, name: str, value: Any, at: tuple[str, ...]) -> dict[str, Any]:
    known = Sandbox.__struct_fields__
    if name not in known:
        section.problem(f'there is no key "{name}" in a sandbox; known: {", ".join(known)}.{nearest(name, known)}', *at)
        return {}
    try:
        return {name: getattr(msgspec.convert({name: value}, Sandbox), name)}
    except msgspec.ValidationError as error:
        section.problem(str(error).partition(" - at `$")[0].replace("`", ""), *at)
        return {}


def sandbox_for(agent: Agent, base: Sandbox) -> tuple[Sandbox, tuple[str, ...]]:
    """The sandbox an agent's commands run in, over that of whoever runs it, and what of its file does not hold."""
    sandbox, refused = tightened(base, agent.sandbox)
    return sandbox, tuple(f"sandbox.{line}" for line in refused)
