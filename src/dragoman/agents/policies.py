"""What an agent file says about what may run, and how much of it holds.

Rule: nothing escalates. A file that the user did not write or trust can make the rules stricter, never looser; what
it asks for beyond that is told, and not done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman import engine
from dragoman.errors import ConfigError, nearest
from dragoman.model import operations as op

from .frontmatter_text import Section, shown
from .tool_words import conditions, own_names, unknown_here

if TYPE_CHECKING:
    from .agent import Agent, AgentLimits

VERDICTS: Final = ("deny", "ask", "allow")
"""The strictest first."""
CONDITIONS: Final = ("kind", "operation", "tool", "path", "command", "domain", "server", "agent", "shell", "cwd")
"""Conditions that are globs."""
SWITCHES: Final = ("outside", "login", "background", "terminal", "unsandboxed")
"""Conditions that are true or false."""
_ALL: Final = (*CONDITIONS, *SWITCHES, "arguments")


# ── reading ──────────────────────────────────────────────────────────────────


def read_policy(section: Section, dialect: str | None = None, known: Collection[str] = ()) -> dict[str, Any]:
    """What `ToolPolicy.read` reads, from what a person writes: `allow`, `ask` and `deny` become rules.

    Rules are tried in order, and three lists have none. So they are put into one: the narrower rule first, and among
    equals the stricter: `ask: [execute]` with `allow: ["command:git status*"]` asks about all but that command.
    """
    # These are set by what lays one policy over another; a file has only its own.
    fields = {*engine.ToolPolicy.__struct_fields__} - {"within", "agent", "unknown_commands"}
    said: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for key, value in section.content.items():
        if key in VERDICTS:
            rows += _rows(section, key, value, dialect, known)
        elif key == "approval" and _names_a_source(section, value):
            continue
        elif key not in fields:
            names = [*VERDICTS, *sorted(fields)]
            section.problem(f'there is no key "{key}" in a policy.{nearest(key, names)}', key)
        else:
            said[key] = value
            _try(section, key, value)
    rows.sort(key=lambda row: (-_weight(row), VERDICTS.index(row["verdict"])))
    written = said.get("approval")
    if rows:
        said["approval"] = [*(written if isinstance(written, list) else ()), *rows]
    return said


def _names_a_source(section: Section, rules: Any) -> bool:
    """Whether a rule says whose it is, which is not for a file to say."""
    named = [index for index, rule in enumerate(rules if isinstance(rules, list) else ()) if "source" in (rule or ())]
    for index in named:
        section.problem("a rule cannot name its source", "approval", index)
    return bool(named)


def _try(section: Section, key: str, value: Any) -> None:
    if key == "default" and value not in VERDICTS:
        section.problem(f"must be deny, ask or allow, not {shown(value)}.{nearest(str(value), VERDICTS)}", key)
        return
    try:
        engine.ToolPolicy.read({key: value})
    except ConfigError as error:
        section.problem(str(error).removeprefix("policy: "), key)


def _rows(
    section: Section, verdict: str, value: Any, dialect: str | None, known: Collection[str]
) -> list[dict[str, Any]]:
    entries = value if isinstance(value, list) else [value]
    rows: list[dict[str, Any]] = []
    for index, entry in enumerate(entries):
        at = (verdict, index) if isinstance(value, list) else (verdict,)
        if isinstance(entry, str):
            rows += _rows_of_text(section, verdict, entry, at, dialect, known)
        elif isinstance(entry, dict):
            rows += _rows_of_table(section, verdict, entry, at)
        else:
            section.problem(f"must be a name, `path:…`, `command:…` or a table, not {shown(entry)}", *at)
    return rows


def _rows_of_text(
    section: Section, verdict: str, entry: str, at: tuple[str | int, ...], dialect: str | None, known: Collection[str]
) -> list[dict[str, Any]]:
    condition, colon, pattern = entry.partition(":")
    if colon and condition in CONDITIONS:
        if not pattern.strip():
            section.problem(f"`{condition}:` needs a pattern after it", *at)
            return []
        return _rows_of_table(section, verdict, {condition: pattern.strip()}, at)
    if entry in (str(kind) for kind in op.Kind):
        return [{"verdict": verdict, "kind": entry}]
    meant = own_names(entry, dialect, known)
    if meant is None:
        section.problem(unknown_here(entry, dialect, known), *at)
        return []
    if meant.everything:
        return [{"verdict": verdict}]
    return [{"verdict": verdict, **condition} for condition in conditions(meant.names)]


def _rows_of_table(
    section: Section, verdict: str, entry: Mapping[str, Any], at: tuple[str | int, ...]
) -> list[dict[str, Any]]:
    wrong = False
    for key, pattern in entry.items():
        if key not in _ALL:
            section.problem(f'there is no condition "{key}"; known: {", ".join(_ALL)}.', *at)
        elif key in SWITCHES:
            if isinstance(pattern, bool):
                continue
            section.problem(f"{key} must be true or false, not {shown(pattern)}", *at)
        elif key == "arguments":
            if isinstance(pattern, dict) and all(isinstance(one, str | bool | int | float) for one in pattern.values()):
                continue
            section.problem("arguments must be a table of names and patterns, numbers or true and false", *at)
        elif not isinstance(pattern, str) or not pattern.strip():
            section.problem(f"{key} must be a pattern, not {shown(pattern)}", *at)
        elif not _may_fit(key, pattern):
            names = [str(kind) for kind in op.Kind] if key == "kind" else list(op.OPERATIONS)
            section.problem(f'there is no {key} "{pattern}".{nearest(pattern, names)}', *at)
        else:
            continue
        wrong = True
    if not entry:
        section.problem("says no condition; write `*` for everything", *at)
    return [] if wrong or not entry else [{"verdict": verdict, **entry}]


def _may_fit(condition: str, pattern: str) -> bool:
    """Whether anything there is could be meant: a rule that never fits is a mistake that nobody would notice."""
    if condition == "kind":
        return any(fnmatchcase(str(kind), pattern) for kind in op.Kind)
    return condition != "operation" or any(fnmatchcase(tag, pattern) for tag in op.OPERATIONS)


def _weight(row: Mapping[str, Any]) -> int:
    """How narrow a rule is: what names a path or a command is narrower than what names a tool, that than a kind."""
    weights = {"verdict": 0, "kind": 2, "tool": 4, "operation": 4, "server": 4, "agent": 4}
    return sum(weights.get(key, 8) for key in row)


# ── holding ──────────────────────────────────────────────────────────────────

_LOWER: Final = ("max_iterations", "max_parallel", "max_repairs", "timeout", "max_tokens", "max_cost", "max_result")
_BOUND: Final = ("enabled", "allowed", "approval", "default")
"""What holds beside what the user says, the stricter of the two: that is what `ToolPolicy.within` is for."""


def policy_for(agent: Agent, base: engine.ToolPolicy, *, trusted: bool) -> tuple[engine.ToolPolicy, tuple[str, ...]]:
    """The policy an agent runs under, over that of the user, and what of its file does not hold because it is looser.

    `trusted`: the user wrote the file or trusts it as it is; then its default and its limits hold in place of the
    user's, and its rules beside theirs: where both have one that fits, the stricter.
    """
    said = dict(agent.policy)
    wanted = engine.ToolPolicy.read(said)
    rules = tuple(msgspec.structs.replace(rule, source=f"the agent {agent.name}") for rule in wanted.approval)
    wanted = msgspec.structs.replace(wanted, approval=rules)
    if trusted:
        stated = {name: getattr(wanted, name) for name in said}
        return msgspec.structs.replace(base, **stated | {"approval": (*rules, *base.approval)}), ()
    refused: list[str] = []
    changes: dict[str, Any] = {name: getattr(wanted, name) for name in _BOUND}
    for name in said:
        if name not in _BOUND:
            changes[name] = _lowered(name, base, wanted, refused)
    if VERDICTS.index(wanted.default) > VERDICTS.index(base.default) and "default" in said:
        refused.append(_looser("default", wanted.default, base.default))
    for rule in wanted.approval:
        if rule.verdict == "allow" and not _allowed_anyway(rule, base):
            given = ((key, getattr(rule, key)) for key in _ALL)
            conditions = ", ".join(f"{key}={value}" for key, value in given if value not in (None, {}))
            refused.append(f"policy.allow: {conditions or 'everything'} does not loosen what your own rules say")
    return msgspec.structs.replace(base, **changes, within=base), tuple(refused)


def _allowed_anyway(rule: engine.Approval, base: engine.ToolPolicy) -> bool:
    """Whether the user's own policy allows what a rule allows, save what another rule of theirs takes out of it."""
    allows = base.default == "allow" or any(
        other.verdict == "allow" and _covers(other, rule) for other in base.approval
    )
    return allows and (base.within is None or _allowed_anyway(rule, base.within))


def _covers(wide: engine.Approval, narrow: engine.Approval) -> bool:
    """Whether every condition of the first is one of the second's: what fits the second fits the first."""
    operation = op.OPERATIONS.get(narrow.operation or "")
    kind = narrow.kind or (None if operation is None else str(operation.kind))
    conditions = {key: value for key in _ALL if (value := getattr(wide, key)) not in (None, {})}
    return all((kind if key == "kind" else getattr(narrow, key)) == value for key, value in conditions.items())


def limits_for(agent: Agent, *, trusted: bool) -> tuple[AgentLimits | None, tuple[str, ...]]:
    """The limits over those of an agent's file, and which of the file's do not hold because they are looser.

    `None`: the file's own hold, since the user vouches for it.
    """
    from .agent import AgentLimits

    if trusted:
        return None, ()
    usual = AgentLimits()
    stated = {name: (getattr(agent.limits, name), getattr(usual, name)) for name in AgentLimits.__struct_fields__}
    refused = (
        f"limits.{name}: {shown(after)} is looser than {shown(before)}"
        for name, (after, before) in stated.items()
        if not _no_more(after, before)
    )
    return usual, tuple(refused)


def _lowered(name: str, base: engine.ToolPolicy, wanted: engine.ToolPolicy, refused: list[str]) -> Any:
    """What holds of a setting that may only go down; what is neither looser nor stricter is as it was said."""
    before, after = getattr(base, name), getattr(wanted, name)
    if name == "results":
        held = {tool: most for tool, most in after.items() if _no_more(most, base.longest_result(tool))}
        refused += [_looser(f"results.{tool}", most, before) for tool, most in after.items() if tool not in held]
        return {**before, **held}
    looser = (name in _LOWER and not _no_more(after, before)) or (name == "retry" and after.times > before.times)
    if looser:
        refused.append(_looser(name, after, before))
    return before if looser else after


def _no_more(after: float | None, before: float | None) -> bool:
    return before is None or (after is not None and after <= before)


def _looser(name: str, after: Any, before: Any) -> str:
    return f"policy.{name}: {shown(after)} is looser than {shown(before)}"
