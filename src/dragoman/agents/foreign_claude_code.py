"""Agent files of Claude Code: Markdown in `.claude/agents`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from .agent import Agent
from .foreign import Draft
from .foreign_servers import claude_code, servers_of
from .frontmatter_text import Problems, Section, read_page, shown

# The aliases stand for whatever the client takes to be the newest of a line: which model that is, only it knows.
_ALIASES: Final = ("sonnet", "opus", "haiku", "best", "opusplan", "default")
_READS: Final = ("read", "search", "plan")


def read(text: str, problems: Problems, path: str | None, known: Collection[str]) -> Agent | None:
    page = read_page(text, problems, lenient=True)
    if page is None:
        return None
    if not page.has_frontmatter:
        problems.add_at(1, "it has no frontmatter, so Claude Code takes it for no agent")
        return None
    draft = Draft("claude_code", page.values, problems, known)
    name, description = draft.needed("name"), draft.needed("description")
    tools = _tools(draft)
    for entry, at in _entries(draft, "disallowedTools") or ():
        meant = draft.word(entry.partition("(")[0], *at)
        if meant is not None:
            draft.rules += [{"verdict": "deny"}] if meant.everything else []
            draft.rule("deny", meant.names)
    _permission_mode(draft)
    draft.most_turns("maxTurns")
    return draft.agent(
        name,
        path,
        description=(description or "").replace("\\n", "\n"),
        instructions=page.body,
        project_instructions=not _omits_project(draft),
        model=draft.model(provider="anthropic", aliases=_ALIASES),
        tools=tools,
        mcp_servers=_servers(draft),
    )


def _omits_project(draft: Draft) -> bool:
    """Whether the agent is to work without `CLAUDE.md`."""
    stated = draft.section.take("omitClaudeMd")
    if stated is not None and not isinstance(stated, bool):
        draft.keep("omitClaudeMd", stated)
    return stated is True


def _tools(draft: Draft) -> tuple[str, ...] | None:
    entries = _entries(draft, "tools")
    if entries is None:
        return None
    names: dict[str, None] = {}
    everything = False
    for entry, at in entries:
        word, opened, _ = entry.partition("(")
        meant = draft.word(word, *at)
        if meant is None:
            continue
        everything = everything or meant.everything
        names |= dict.fromkeys(meant.names)
        if not meant.names and not meant.everything:
            draft.keep("tools", [entry])
        elif opened:
            # `Bash(git diff:*)`: what is in the parentheses does not narrow anything here, so each use is asked about.
            draft.keep("tools", [entry])
            draft.rule("ask", meant.names)
    return None if everything else tuple(names)


def _entries(draft: Draft, key: str) -> list[tuple[str, tuple[str | int, ...]]] | None:
    """Names as the client takes them apart: at commas and blanks, but not within parentheses."""
    value = draft.section.take(key)
    if key not in draft.section.content:
        return None
    texts = value if isinstance(value, list) else [value or ""]
    found: list[tuple[str, tuple[str | int, ...]]] = []
    for index, text in enumerate(texts):
        at: tuple[str | int, ...] = (key, index) if isinstance(value, list) else (key,)
        if isinstance(text, str):
            found += [(word, at) for word in _split(text)]
        else:
            draft.section.problem(f"must be names of tools, not {shown(text)}", *at)
    return found


def _split(text: str) -> list[str]:
    words, word, inside = [], "", False
    for letter in text:
        inside = (inside or letter == "(") and letter != ")"
        if not inside and (letter == "," or letter.isspace()):
            words.append(word)
            word = ""
        else:
            word += letter
    return [one for one in (*words, word) if one.strip()]


def _permission_mode(draft: Draft) -> None:
    mode: Any = draft.value_of("permissionMode", str)
    match mode:
        case None:
            pass
        case "default" | "manual":
            draft.policy["default"] = "ask"
        case "acceptEdits":
            draft.policy["default"] = "ask"
            draft.rules.append({"verdict": "allow", "kind": "write"})
        case "plan":
            draft.rules += [{"verdict": "deny", "kind": "write"}, {"verdict": "deny", "kind": "execute"}]
        case "dontAsk":
            draft.policy["default"] = "deny"
            draft.rules += [{"verdict": "allow", "kind": kind} for kind in _READS]
        case "bypassPermissions":
            draft.policy["default"] = "allow"
        case _:  # `auto` leaves it to a model of theirs; what is newer is not known
            draft.policy["default"] = "ask"
            draft.keep("permissionMode", mode)


def _servers(draft: Draft) -> dict[str, dict[str, Any]]:
    """Servers written out in the file; one that is only named is set up elsewhere, and kept."""
    servers: dict[str, dict[str, Any]] = {}
    value = draft.section.take("mcpServers")
    listed = [value] if isinstance(value, dict) else value
    for index, entry in enumerate(listed or () if isinstance(listed, list | None) else ()):
        if isinstance(entry, dict) and all(isinstance(server, dict) for server in entry.values()):
            table = Section(entry, draft.section.problems, ("mcpServers", *(() if entry is value else (index,))))
            servers |= servers_of(draft, "mcpServers", table, claude_code)
        elif isinstance(entry, str):
            draft.keep("mcpServers", [entry])
        else:
            draft.section.problem(f"must be the name of a server, or a server, not {shown(entry)}", "mcpServers", index)
    if listed is not None and not isinstance(listed, list):
        draft.section.problem(f"must be a list of servers, not {shown(value)}", "mcpServers")
    return servers
