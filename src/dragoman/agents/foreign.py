"""What the readers of other clients' agent files share.

Rule: their names of tools go through their own vocabulary. A key without meaning here is kept in `unmapped`, not acted
on and not dropped; where their rules and ours differ, the stricter reading is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from dragoman.registry import PROVIDERS

from .agent import Agent, AgentLimits
from .frontmatter_text import Problems, Section, shown
from .tool_words import Meant, conditions, meant_by, unknown_tool, words_of


class Draft:
    """An agent of another client while it is read."""

    def __init__(self, format: str, values: dict[str, Any], problems: Problems, known: Collection[str]) -> None:
        self.format, self.known = format, known
        self.section = Section(values, problems)
        self.unmapped: dict[str, Any] = {}
        self.rules: list[dict[str, Any]] = []
        self.policy: dict[str, Any] = {}
        self.sandbox: dict[str, Any] = {}
        self.limits: dict[str, Any] = {}

    def value_of(self, key: str, kind: type) -> Any:
        """A value of this kind, or `None`; an empty one is one that was not given."""
        value = self.section.take(key)
        return None if value is None or value == "" else self.section.of(key, kind)

    def needed(self, key: str) -> str | None:
        value: str | None = self.value_of(key, str)
        if value is None and self.section.content.get(key) in (None, ""):
            self.section.problems.add_at(1, f'it has no "{key}", which every such file has')
        return value

    def word(self, name: str, *at: str | int) -> Meant | None:
        """What a name of a tool means; a name that is not known is a problem."""
        if name in self.known:
            return Meant((name,))
        meant = meant_by(self.format, name)
        if meant is None:
            self.section.problem(unknown_tool(name, (*self.known, *words_of(self.format))), *at)
        return meant

    def rule(self, verdict: str, names: Collection[str], **more: str) -> None:
        """A rule for each operation or tool."""
        self.rules += [{"verdict": verdict, **condition, **more} for condition in conditions(names)]

    def keep(self, key: str, value: Any) -> None:
        """Something without meaning here."""
        before = self.unmapped.get(key)
        if isinstance(before, list) and isinstance(value, list):
            self.unmapped[key] = [*before, *value]
        else:
            self.unmapped[key] = value

    def most_turns(self, *keys: str) -> None:
        """The first of these keys that says how many rounds there may be."""
        stated = [(key, turns) for key in keys if (turns := self.value_of(key, int)) is not None]
        if stated and stated[0][1] < 1:
            self.section.problem(f"must be 1 or more, not {stated[0][1]}", stated[0][0])
        elif stated:
            self.limits["max_turns"] = stated[0][1]

    def model(self, key: str = "model", *, provider: str | None = None, aliases: Collection[str] = ()) -> str | None:
        """The model as `provider:model`; one whose provider is not known here is kept and not guessed."""
        stated: str | None = self.value_of(key, str)
        if stated is None or stated.strip().lower() == "inherit":
            return None
        stated = stated.strip()
        if provider is None:
            provider, _, stated_name = stated.partition("/")
            provider, name = _PROVIDERS.get(provider, provider), stated_name
        else:
            name = stated
        # `opus[1m]` is the alias, with more room.
        if provider not in PROVIDERS or not name or stated.lower().removesuffix("[1m]") in aliases:
            self.keep(key, stated)
            return None
        return f"{provider}:{name}"

    def agent(self, name: str | None, path: str | None, **facts: Any) -> Agent | None:
        """The agent, unless something was wrong. What nobody asked for is kept."""
        for key, value in self.section.left().items():
            self.keep(key, value)
        if name is None or self.section.problems:
            return None
        policy = {**self.policy, "approval": self.rules} if self.rules else self.policy
        return Agent(
            name=name,
            policy=policy,
            sandbox=self.sandbox,
            limits=AgentLimits(**self.limits),
            unmapped=self.unmapped,
            path=path,
            format=self.format,
            **facts,
        )


CLIENT_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    # Claude Code 2.1.325
    "claude_code": (
        *(
            "name",
            "description",
            "model",
            "tools",
            "disallowedTools",
            "color",
            "effort",
            "permissionMode",
            "mcpServers",
        ),
        *("hooks", "maxTurns", "autoCompactWindow", "skills", "initialPrompt", "memory", "background", "omitClaudeMd"),
        *("isolation", "observer", "observerMessage", "observeSubagents", "experimental"),
    ),
    # opencode 1.18: what it does not know it sends to the provider as an option
    "opencode": (
        *("name", "model", "variant", "prompt", "description", "temperature", "top_p", "mode", "hidden", "color"),
        *("steps", "maxSteps", "options", "permission", "disable", "tools"),
    ),
}
"""The keys a client knows itself: one it does not is more likely a mistake."""


# What other clients call a provider that has another name here.
_PROVIDERS: Final[Mapping[str, str]] = {
    "google": "gemini",
    "moonshotai": "moonshot",
    "togetherai": "together",
    "fireworks-ai": "fireworks",
}


def list_of_texts(draft: Draft, key: str) -> list[str] | None:
    """A list of texts, or `None`."""
    value = draft.value_of(key, list)
    for index, entry in enumerate(value or ()):
        if not isinstance(entry, str):
            draft.section.problem(f"must be a name, not {shown(entry)}", key, index)
    return None if value is None else [entry for entry in value if isinstance(entry, str)]
