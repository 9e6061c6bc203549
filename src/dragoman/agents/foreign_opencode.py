"""Agent files of opencode: Markdown in `.opencode/agent` or `.opencode/agents`.

Their rules are tried from the last to the first; ours from the first to the last, and one that denies comes before
all others. What cannot be said so is read as the stricter, and kept.
"""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Final

from .agent import Agent
from .foreign import Draft
from .frontmatter_text import Problems, Section, read_page, shown
from .tool_words import unknown_tool, words_of

_EDITS: Final = ("edit", "write", "apply_patch", "multiedit", "patch")
_READS: Final = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
# Permissions that are for no tool, and tools that ours have no counterpart of.
_ELSEWHERE: Final = ("external_directory", "doom_loop", "lsp", "codesearch", "plan_enter", "plan_exit", "repo_clone")
# The field of an operation that the patterns of a permission are about.
_PATTERN_OF: Final = {"bash": "command", "read": "path", "edit": "path", "list": "path"}

Rule = tuple[str, str, str, tuple[str | int, ...]]
"""Permission, pattern, verdict, and where that is written."""


def read(text: str, problems: Problems, path: str | None, known: Collection[str]) -> Agent | None:
    page = read_page(text, problems, lenient=True)
    if page is None:
        return None
    draft = Draft("opencode", page.values, problems, known)
    name = draft.value_of("name", str) or _name(path)
    if name is None:
        problems.add_at(1, "it has no name; write `name: …`")
    description = draft.value_of("description", str) or ""
    tools = _Permissions(draft).applied()
    draft.most_turns("steps", "maxSteps")
    return draft.agent(name, path, description=description, instructions=page.body, model=draft.model(), tools=tools)


def _name(path: str | None) -> str | None:
    """The path below the folder of agents, as `team/reviewer`."""
    if path is None:
        return None
    parts = PurePath(path.replace("\\", "/")).with_suffix("").parts
    at = max((index for index, part in enumerate(parts[:-1]) if part in ("agent", "agents")), default=len(parts) - 2)
    return "/".join(parts[at + 1 :]) or None


class _Permissions:
    """The table `tools` and the table `permission`, which are one list of rules."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.rules = self._rules()
        self.words = words_of("opencode")

    def _rules(self) -> list[Rule]:
        section = self.draft.section
        # A permission takes the place of what `tools` says of the same name, in the order it was first named.
        stated: dict[str, list[Rule]] = {}
        tools = section.take("tools")
        for tool, enabled in tools.items() if isinstance(tools, dict) else ():
            if not isinstance(enabled, bool):
                section.problem(f"must be true or false, not {shown(enabled)}", "tools", tool)
                continue
            permission = "edit" if tool in ("write", "edit", "patch") else tool
            stated[permission] = [(permission, "*", "allow" if enabled else "deny", ("tools", tool))]
        if tools is not None and not isinstance(tools, dict):
            section.problem(f"must be a table of names with true or false, not {shown(tools)}", "tools")
        given = section.take("permission")
        if isinstance(given, str):
            given = {"*": given}
        if given is not None and not isinstance(given, dict):
            section.problem(f"must be allow, ask, deny or a table of them, not {shown(given)}", "permission")
            given = None
        for permission, said in (given or {}).items():
            stated[permission] = _patterns(section, permission, said)
        return [rule for rules in stated.values() for rule in rules]

    def applied(self) -> tuple[str, ...] | None:
        """What of the tools may be used; the rules about them go into the draft."""
        self._look_for_unknown()
        catch_all = [verdict for permission, pattern, verdict, _ in self.rules if (permission, pattern) == ("*", "*")]
        closed = catch_all[-1:] == ["deny"]
        allowed: dict[str, None] = {}
        for word, operations in self.words.items():
            if not operations:
                continue
            permission = "edit" if word in _EDITS else "read" if word in _READS else word
            if self._apply(permission, operations, closed=closed):
                allowed |= dict.fromkeys(operations)
        for permission, pattern, verdict, _ in self.rules:
            server = _server(permission, self.words)
            if server is None:
                continue
            if closed and verdict != "deny":
                allowed[server] = None
            elif not closed or verdict == "ask":
                self.draft.rule(verdict, (server,))
            if pattern != "*":
                self.draft.keep("permission", [f"{permission}: {pattern}: {verdict}"])
        self.draft.rules = list({repr(rule): rule for rule in self.draft.rules}.values())
        return tuple(allowed) if closed else None

    def _apply(self, permission: str, operations: Collection[str], *, closed: bool) -> bool:
        """The rules about one permission; whether its tools are there at all."""
        fitting = [rule for rule in reversed(self.rules) if fnmatchcase(permission, rule[0])]
        last = next((index for index, rule in enumerate(fitting) if rule[1] == "*"), len(fitting))
        narrower, general = fitting[:last], fitting[last : last + 1]
        denied = bool(general) and general[0][2] == "deny"
        condition = _PATTERN_OF.get(permission)
        for _, pattern, verdict, _ in narrower:
            # Where all is denied an exception cannot be said here; where it is not, one that denies always can.
            if condition is None or (denied and verdict != "deny"):
                self.draft.keep("permission", [f"{permission}: {pattern}: {verdict}"])
            if condition is not None and not denied:
                for glob in _globs(pattern):
                    self.draft.rule(verdict, operations, **{condition: glob})
            elif not denied and verdict != "allow":
                self.draft.rule("ask" if verdict == "ask" else "deny", operations)
        if denied:
            if not closed:
                self.draft.rule("deny", operations)
            return False
        if general:
            self.draft.rule(general[0][2], operations)
        return True

    def _look_for_unknown(self) -> None:
        for permission, _, verdict, at in self.rules:
            known = (*self.words, *_EDITS, *self.draft.known)
            if permission in _ELSEWHERE:
                self.draft.keep("permission", [f"{permission}: {verdict}"])
            elif permission in self.draft.known:
                self.draft.rule(verdict, (permission,))
            elif not any(fnmatchcase(word, permission) for word in known) and _server(permission, self.words) is None:
                self.draft.section.problem(unknown_tool(permission, known), *at)


def _patterns(section: Section, permission: str, said: Any) -> list[Rule]:
    rows = {"*": said} if isinstance(said, str) else said
    if not isinstance(rows, dict):
        section.problem(f"must be allow, ask, deny or a table of them, not {shown(said)}", "permission", permission)
        return []
    found: list[Rule] = []
    for pattern, verdict in rows.items():
        at = ("permission", permission) if isinstance(said, str) else ("permission", permission, pattern)
        if verdict in ("allow", "ask", "deny"):
            found.append((permission, pattern, verdict, at))
        else:
            section.problem(f"must be allow, ask or deny, not {shown(verdict)}", *at)
    return found


def _globs(pattern: str) -> tuple[str, ...]:
    """A pattern of theirs as globs of ours: no brackets mean anything in it, and `git *` is also `git`."""
    plain = pattern.replace("[", "[[]")
    return (plain, plain.removesuffix(" *")) if plain.endswith(" *") else (plain,)


def _server(permission: str, words: Collection[str]) -> str | None:
    """`github_*` as `github/*`: a server's tools are called by its name and theirs."""
    named = permission.removesuffix("_*")
    if named == permission or not named or any(fnmatchcase(word, permission) for word in words):
        return None
    return f"{named}/*"
