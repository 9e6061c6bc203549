"""Agent files of Gemini CLI: Markdown in `.gemini/agents`. It takes no key it does not know, and neither do we."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from .agent import Agent
from .foreign import Draft, list_of_texts
from .foreign_servers import gemini_cli, servers_of
from .frontmatter_text import Problems, read_page

_NAME: Final = re.compile(r"[a-z0-9_-]+")
_REMOTE: Final = ("agent_card_url", "agent_card_json", "auth")


def read(text: str, problems: Problems, path: str | None, known: Collection[str]) -> Agent | None:
    page = read_page(text, problems)
    if page is None:
        return None
    if not page.has_frontmatter:
        problems.add_at(1, "it has no frontmatter, so Gemini CLI takes it for no agent")
        return None
    draft = Draft("gemini_cli", page.values, problems, known)
    section = draft.section
    kind = draft.value_of("kind", str)
    if kind == "remote" or any(key in section.content for key in _REMOTE):
        section.problem("an agent on another machine (A2A) is not run from here", "kind")
        return None
    if kind not in (None, "local"):
        section.problem(f'must be "local", not "{kind}"', "kind")
    name, description = draft.needed("name"), draft.needed("description")
    if name is not None and not _NAME.fullmatch(name):
        section.problem(f"must be lower-case letters, digits, `-` and `_`, not {name!r}", "name")
    tools = _tools(draft)
    draft.most_turns("max_turns")
    minutes = draft.value_of("timeout_mins", int)
    if minutes is not None and minutes < 1:
        section.problem(f"must be 1 or more, not {minutes}", "timeout_mins")
    elif minutes is not None:
        draft.limits["timeout"] = minutes * 60.0
    model = draft.model(provider="gemini")
    servers = servers_of(draft, "mcp_servers", section.table("mcp_servers"), gemini_cli)
    for key in ("display_name", "temperature"):
        if section.take(key) is not None:
            draft.keep(key, section.take(key))
    section.close()
    return draft.agent(
        name,
        path,
        description=description or "",
        instructions=page.body,
        model=model,
        tools=tools,
        mcp_servers=servers,
    )


def _tools(draft: Draft) -> tuple[str, ...] | None:
    listed = list_of_texts(draft, "tools")
    if listed is None:
        return None
    names: dict[str, None] = {}
    everything = False
    for index, entry in enumerate(listed):
        meant = draft.word(entry, "tools", index)
        if meant is not None:
            everything = everything or meant.everything
            names |= dict.fromkeys(meant.names)
            if not meant.names and not meant.everything:
                draft.keep("tools", [entry])
    return None if everything else tuple(names)
