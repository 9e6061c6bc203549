"""What a run may do: which tools, how many at once, how long, how often, and what an error leads to.

Rule: every knob is data, is read in one place, and acts: the test of each fails when it is ignored.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.model import ToolChoice
from dragoman.policy_rule import PolicyRule, Verdict

if TYPE_CHECKING:
    from dragoman.config import Configuration, Settings

OnError = Literal["continue", "abort", "retry"]
Where = Literal["auto", "native", "local"]

_fields = cache(msgspec.structs.fields)


def check_types(value: msgspec.Struct) -> None:
    """Raises a `TypeError` that names every field whose value is not of the declared type.

    msgspec checks what it reads from settings, not what a program passes to the class.
    """
    given = {name: getattr(value, name) for name in value.__struct_fields__}
    if problems := wrong_types(type(value), given):
        raise TypeError(f"{type(value).__name__}: {'; '.join(problems)}")


def wrong_types(cls: type[msgspec.Struct], given: Mapping[str, Any]) -> list[str]:
    """Says of every value that it is not of the type its field declares."""
    problems = []
    for field in _fields(cls):
        value = given.get(field.name, field.default)
        if value is field.default:
            continue
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            declared = re.sub(r"(\w+\.)+(?=\w)|<class '|'>", "", str(field.type))
            problems.append(f"{field.name} must be {declared}, not {reprlib.repr(value)}")
    return problems


class Retry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often something is tried again, and after how many seconds: `base`, then `factor` times as long each time.

    `jitter` is the random part of a wait; no wait is longer than `longest`. If a provider asks for a wait longer than
    all remaining ones together, it is not asked again.
    """

    times: int = 2
    base: float = 1.0
    factor: float = 2.0
    jitter: float = 0.25
    longest: float = 60.0

    def __post_init__(self) -> None:
        check_types(self)
        if self.times < 0 or self.base < 0 or self.factor < 1 or not 0 <= self.jitter <= 1 or self.longest < 0:
            raise ValueError("a retry needs times ≥ 0, base ≥ 0, factor ≥ 1, jitter from 0 to 1 and longest ≥ 0")

    def wait(self, attempt: int, asked: float | None = None, chance: float = 0.5) -> float:
        """Seconds before try number `attempt` (from 1); `asked` is what the other side wished, `chance` from 0 to 1."""
        if asked is not None:
            return min(asked, self.longest)
        planned = self.base * self.factor ** (attempt - 1)
        return float(min(planned * (1 + self.jitter * (2 * chance - 1)), self.longest))


class Approval(PolicyRule, frozen=True):
    """A rule of a policy. A rule that can never match is refused."""

    def __post_init__(self) -> None:
        from dragoman.model import Kind, operations as op

        check_types(self)
        known = {"kind": [str(kind) for kind in Kind], "operation": list(op.OPERATIONS)}
        for name, values in known.items():
            pattern = getattr(self, name)
            if pattern is not None and not any(fnmatchcase(value, pattern) for value in values):
                raise ValueError(
                    f"there is no {name} {pattern!r}, so the rule would never fit.{nearest(pattern, values)}"
                )


class ToolPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of a run."""

    enabled: bool = True
    """Off: no tool is offered, and none is run."""
    choice: ToolChoice = ToolChoice()
    """Which tools the model may or must call; a required one is required until it was called."""
    allowed: tuple[str, ...] | None = None
    """Names of the tools that may be offered and run, as globs; `None`: all."""
    parallel: bool | None = None
    """Whether the model may make several calls at once; `None`: as it likes."""
    max_iterations: int = 20
    max_parallel: int = 3
    timeout: float | None = 30.0
    """Seconds one call may take, unless the tool says otherwise."""
    on_error: OnError = "continue"
    """What a failed call leads to: the model hears of it, the run ends, or the call is tried again first."""
    retry: Retry = Retry()
    """For repeatable tools under `on_error="retry"`."""
    max_repairs: int = 2
    """How often a model is asked again after a call that its provider could not read."""
    max_tokens: int | None = None
    """Tokens the whole run may use; a model whose tokens nobody counts is not asked twice under it."""
    max_cost: float | None = None
    """US dollars the whole run may cost; a model whose price is not known is not asked at all under it."""
    max_result: int | None = 100_000
    """Characters of a result the model is told; what is beyond is cut, and said to be."""
    results: Mapping[str, int] = {}
    """The same for single tools, by their name here or by the model's word for them."""
    early: bool = False
    """Whether tools that only read may start while the reply still streams."""
    where: Mapping[str, Where] = {}
    """Who does an operation that the provider can do too: its own tool, ours, or whichever there is. Without an entry
    the standard `search_web` is `auto`, and everything else is ours."""
    approval: tuple[Approval, ...] = ()
    default: Verdict = "allow"
    """The verdict on calls that no rule fits and whose tool leaves it to the policy."""
    unknown_commands: Verdict = "allow"
    """The least strict verdict on a command line of which the rules cannot tell what it does, unless a rule allows it
    by `command`. For calls that run where dragoman cannot look on."""
    agent: str | None = None
    """The agent whose policy it is, for rules that name one."""
    within: ToolPolicy | None = None
    """A policy that holds as well: of two verdicts the stricter one, of two sets of tools what both allow."""

    def __post_init__(self) -> None:
        check_types(self)
        problems = [
            f"{name} must be {least} or more, not {value}"
            for name, value, least in (
                ("max_iterations", self.max_iterations, 1),
                ("max_parallel", self.max_parallel, 1),
                ("max_repairs", self.max_repairs, 0),
            )
            if value < least
        ]
        for name in ("timeout", "max_tokens", "max_cost", "max_result"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                problems.append(f"{name} must be more than 0, or None, not {value}")
        problems += [
            f"results of {name} must be more than 0, not {most}" for name, most in self.results.items() if most <= 0
        ]
        if problems:
            raise ValueError("; ".join(problems))

    def allows(self, name: str) -> bool:
        """Whether a tool of this name may be offered and run."""
        if not self.enabled:
            return False
        if self.within is not None and not self.within.allows(name):
            return False
        return self.allowed is None or any(fnmatchcase(name, pattern) for pattern in self.allowed)

    @property
    def allows_all(self) -> bool:
        """Whether every tool may be offered and run."""
        return self.enabled and self.allowed is None and (self.within is None or self.within.allows_all)

    def longest_result(self, *names: str) -> int | None:
        """The maximum length, in characters, of a result of the tool with these names."""
        return min((self.results[name] for name in names if name in self.results), default=self.max_result)

    @classmethod
    def from_settings(cls, settings: Settings, provider: str = "", model: str = "") -> ToolPolicy:
        """The policy that the settings state, with what differs for this provider, then for this model."""
        return cls._from(settings, provider, model, lambda key: True)

    @classmethod
    def configured(cls, configuration: Configuration, provider: str = "", model: str = "") -> ToolPolicy:
        """The policy of a Python program: what the settings state, and this class's own defaults for the rest.

        The defaults differ in one thing. A command asks before a tool changes anything unless told otherwise
        (`policy.approval`); a program offers tools that its developer chose, and runs them unless told otherwise.
        """
        policy = cls._from(configuration.settings, provider, model, lambda key: configuration.is_set(f"policy.{key}"))
        return policy.reading_allowed() if configuration.is_set("policy.approval") else policy

    def reading_allowed(self) -> ToolPolicy:
        """The same policy, but if it asks about every call, calls that change nothing and do not leave the machine are
        allowed: reading and searching the workspace, and the model's own plan."""
        if self.default != "ask":
            return self
        harmless = tuple(Approval("allow", kind=kind) for kind in ("read", "search", "plan"))
        return msgspec.structs.replace(self, approval=(*self.approval, *harmless))

    @classmethod
    def _from(cls, settings: Settings, provider: str, model: str, states: Callable[[str], bool]) -> ToolPolicy:
        from dragoman.config import UNTRUSTED

        general = settings.policy
        rules = [msgspec.to_builtins(rule) for rule in general.rules if rule.source != UNTRUSTED]
        strangers = [msgspec.to_builtins(rule) for rule in general.rules if rule.source == UNTRUSTED]
        rules += [{"verdict": verdict, "tool": name, "source": OWN} for name, verdict in general.tools.items()]
        stated = {
            key: getattr(general, key)
            for key in ("max_iterations", "timeout", "max_parallel", "max_tokens", "max_cost")
            if states(key)
        }
        if states("approval"):
            stated["default"] = general.approval
        if states("max_retries"):
            stated |= {
                "on_error": "retry" if general.max_retries else "continue",
                "retry": {"times": general.max_retries},
            }
        sections: list[Mapping[str, Any]] = [{**stated, "approval": rules, "where": general.where}]
        if provider in settings.providers:
            sections.append(_sourced(settings.providers[provider].policy, f"providers.{provider}.policy"))
        sections += [
            _sourced(row.policy, f"models.{pattern}.policy")
            for pattern, row in settings.models.items()
            if fnmatchcase(model, pattern)
        ]
        policy = cls.read(*sections)
        if not strangers:
            return policy
        # Beside the others, a rule that asks would take the place of a default that denies.
        return msgspec.structs.replace(policy, within=cls.read({"default": "allow", "approval": strangers}))

    @classmethod
    def read(cls, *sections: Mapping[str, Any]) -> ToolPolicy:
        """A policy from sections of a configuration, later ones over earlier.

        Tables within them are joined row by row; the rules of all sections hold.
        """
        said: dict[str, Any] = {}
        for section in sections:
            for name, value in section.items():
                before = said.get(name)
                if name == "approval" and isinstance(before, list) and isinstance(value, list | tuple):
                    said[name] = [*before, *value]
                    continue
                rows = isinstance(before, Mapping) and isinstance(value, Mapping) and name != "choice"
                said[name] = {**(before or {}), **value} if rows else value
        try:
            return msgspec.convert(said, cls)
        except msgspec.ValidationError as error:
            raise ConfigError(f"policy: {error}") from error


OWN: Final = "your settings"
"""The source of the rules in the user's own settings file."""


def _sourced(section: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """A section of a configuration whose rules say where they are from."""
    rules = section.get("approval")
    if not isinstance(rules, list):
        return section
    stamped = [{**rule, "source": source} if isinstance(rule, Mapping) else rule for rule in rules]
    return {**section, "approval": stamped}
