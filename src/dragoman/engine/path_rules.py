"""What a call over a whole folder may show or change: a rule on paths holds for a file that is found as for one named.

Rule: what is left out is counted where the outcome has a place for that, and shown nowhere. A count that tells of it
becomes unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from posixpath import join
from typing import TYPE_CHECKING

import msgspec

from dragoman.model import Failure, Outcome, outcomes as out

from .rules import rule_against

if TYPE_CHECKING:
    from dragoman.model import Operation
    from dragoman.tools import Tool, Workspace

    from .policy import ToolPolicy

Against = Callable[[str], "str | None"]
"""A path → the rule that keeps it from this call."""


def against(operation: Operation, tool: Tool, policy: ToolPolicy, workspace: Workspace | None) -> Against | None:
    """What keeps files from a call that reaches them without naming them; `None` where no rule speaks of paths."""
    bounds: list[ToolPolicy] = []
    bound: ToolPolicy | None = policy
    while bound is not None:
        if any(rule.path is not None and rule.verdict != "allow" for rule in bound.approval):
            bounds.append(bound)
        bound = bound.within
    if not bounds:
        return None
    known: dict[str, str | None] = {}

    def look(path: str) -> str | None:
        if path not in known:
            rules = (rule_against(path, operation, tool, bound, workspace, policy.agent) for bound in bounds)
            known[path] = next((rule for rule in rules if rule is not None), None)
        return known[path]

    return look


def without_withheld(outcome: Outcome, keeps: Against) -> Outcome:
    """An outcome without the files that a rule keeps from its call."""
    if isinstance(outcome, out.MatchesOutcome):
        matches = tuple(match for match in outcome.matches if keeps(match.path) is None)
        if len(matches) == len(outcome.matches):
            return outcome
        hidden = len({match.path for match in outcome.matches if keeps(match.path) is not None})
        return msgspec.structs.replace(
            outcome, matches=matches, total=None, files=None, skipped=outcome.skipped + hidden
        )
    if isinstance(outcome, out.PathsOutcome):
        paths = tuple(path for path in outcome.paths if keeps(path) is None)
        return outcome if len(paths) == len(outcome.paths) else out.PathsOutcome(paths, None, outcome.truncated)
    if isinstance(outcome, out.DirectoryOutcome):
        entries = tuple(one for one in outcome.entries if keeps(join(outcome.path, one.path)) is None)
        hidden = len(outcome.entries) - len(entries)
        if not hidden:
            return outcome
        return msgspec.structs.replace(outcome, entries=entries, ignored=(outcome.ignored or 0) + hidden)
    if isinstance(outcome, out.FilesOutcome):
        why = {file.path: rule for file in outcome.files if (rule := keeps(file.path)) is not None}
        if not why:
            return outcome
        files = tuple(file for file in outcome.files if file.path not in why)
        return msgspec.structs.replace(outcome, files=files, skipped={**outcome.skipped, **why})
    if isinstance(outcome, out.FileOutcome) and outcome.resolved is not None:
        rule = keeps(outcome.resolved)  # another file than the one that was named and allowed
        return outcome if rule is None else refused([outcome.resolved], rule)
    return outcome


def refused_changes(planned: Outcome, keeps: Against) -> Failure | None:
    """Why changes over a folder may not be made, seen from their preview."""
    if not isinstance(planned, out.ChangesOutcome):
        return None
    kept = {change.path: rule for change in planned.changes if (rule := keeps(change.path)) is not None}
    return refused(sorted(kept), next(iter(kept.values()))) if kept else None


def refused(paths: list[str], rule: str) -> Failure:
    message = f"This call would reach {', '.join(paths[:3])}, which is not allowed: {rule}. Narrow it to other files."
    return Failure("denied", message, {"rule": rule, "paths": paths})
