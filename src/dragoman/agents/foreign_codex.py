"""Agent roles of Codex: TOML in `.codex/agents`, each a name, a description, instructions and settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from dragoman.config.files import read_toml

from .agent import Agent
from .foreign import Draft
from .foreign_servers import codex, servers_of
from .frontmatter_text import Problems, raise_all


def read(text: str, problems: Problems, path: str | None, known: Collection[str]) -> Agent | None:
    values = _values(text, problems)
    return None if values is None else _role(values, problems, path, known, needs_instructions=True)


def declared_role(text: str, path: str, name: str, row: Mapping[str, Any]) -> Agent:
    """The role of a file that a table `[agents.name]` of the settings points to; the file's own words come first."""
    problems = Problems()
    values = _values(text, problems)
    agent = None
    if values is not None:
        beside = {key: value for key, value in row.items() if key != "config_file"}
        agent = _role({"name": name, **beside, **values}, problems, path, (), needs_instructions=False)
    raise_all(problems.in_order(), path)
    assert agent is not None  # what could not be read was told
    return agent


def declared_roles(text: str, path: str) -> dict[str, dict[str, Any]]:
    """The tables `[agents.name]` of Codex's settings (0.166.0) that point to a file."""
    problems = Problems()
    values = _values(text, problems) or {}
    raise_all(problems.in_order(), path)
    agents = values.get("agents")
    rows = agents.items() if isinstance(agents, dict) else ()
    return {name: row for name, row in rows if isinstance(row, dict) and isinstance(row.get("config_file"), str)}


def _role(
    values: dict[str, Any],
    problems: Problems,
    path: str | None,
    known: Collection[str],
    *,
    needs_instructions: bool,
) -> Agent | None:
    draft = Draft("codex", values, problems, known)
    name, description = draft.needed("name"), draft.needed("description")
    key = "developer_instructions"
    instructions = draft.needed(key) if needs_instructions else draft.value_of(key, str)
    provider = draft.value_of("model_provider", str)
    model = draft.model(provider="openai" if provider is None else provider)
    if model is None and provider is not None:
        draft.keep("model_provider", provider)
    _sandbox(draft)
    _search(draft)
    servers = servers_of(draft, "mcp_servers", draft.section.table("mcp_servers"), codex)
    return draft.agent(
        name,
        path,
        description=(description or "").strip(),
        instructions=(instructions or "").strip(),
        model=model,
        mcp_servers=servers,
    )


def _sandbox(draft: Draft) -> None:
    """Where their sandbox lets a program only read, so does ours; as there may be none, commands are asked about."""
    mode = draft.value_of("sandbox_mode", str)
    match mode:
        case None:
            pass
        case "read-only":
            draft.rules += [{"verdict": "deny", "kind": "write"}, {"verdict": "ask", "kind": "execute"}]
            draft.sandbox |= {"read_only": (".",), "network": False}
        case "danger-full-access":
            draft.policy["default"] = "allow"
        case "workspace-write":
            draft.keep("sandbox_mode", mode)
        case _:
            known = "read-only, workspace-write, danger-full-access"
            draft.section.problem(f'there is no sandbox mode "{mode}"; known: {known}', "sandbox_mode")
    approval = draft.section.take("approval_policy")
    if approval in ("untrusted", "on-request", "on-failure"):
        draft.policy["default"] = "ask"
    elif approval is not None:  # `never` runs everything inside the sandbox, and here there may be none
        draft.keep("approval_policy", approval)


def _search(draft: Draft) -> None:
    if draft.section.take("web_search") == "disabled":
        draft.rule("deny", ("search_web",))
    elif draft.section.take("web_search") is not None:
        draft.keep("web_search", draft.section.take("web_search"))


def _values(text: str, problems: Problems) -> dict[str, Any] | None:
    try:
        values, lines = read_toml(text.removeprefix("\ufeff"))
        plain: dict[str, Any] = _plain(values)
    except RecursionError:
        problems.add_at(1, "nested too deeply")
        return None
    except ValueError as error:  # TOML's own, or Python's about a number of too many digits
        found = re.search(r"at line (\d+)", str(error))
        last = text.count("\n") + 1 if "at end of document" in str(error) else 1
        problems.add_at(int(found[1]) if found else last, f"not valid TOML: {error}")
        return None
    problems.lines.update(lines)
    return plain


def _plain(value: Any) -> Any:
    """TOML's dates as the text they were written as, so that everything is plain JSON."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
