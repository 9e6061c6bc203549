"""Outcomes that operations usually give, for laws that need sensible ones."""

from __future__ import annotations

from hypothesis import strategies as st

from dragoman.dialects.plugins.samples import plain_values as plain_values
from dragoman.model import operations as op, outcomes as out

_WORDS = st.text("abc xyz-_.,:()[]{}<>'\"#\té→\\", max_size=20)
_LINES = st.lists(_WORDS, max_size=4).map("\n".join)
_PATHS = st.lists(st.text("abcxyz_-.", min_size=1, max_size=6), min_size=1, max_size=3).map("/".join)
_COUNT = st.integers(0, 10**6)


_MADE: dict[str, st.SearchStrategy[out.Outcome]] = {}
"""By the operation as Python writes it: a strategy that is made anew is also checked anew for every example."""


def outcomes_of(operation: op.Operation) -> st.SearchStrategy[out.Outcome]:
    """Outcomes such an operation usually gives."""
    written = repr(operation)
    if written not in _MADE:
        _MADE[written] = _outcomes_of(operation)
    return _MADE[written]


def _outcomes_of(operation: op.Operation) -> st.SearchStrategy[out.Outcome]:
    match operation:
        case op.ReadFile():
            return st.builds(
                out.FileOutcome,
                st.just(operation.path),
                _LINES,
                st.just(operation.first_line or 1),
                st.none() | _COUNT,
                st.none(),
                st.booleans(),
            )
        case op.RunCommand() | op.ReadOutput() | op.TypeInto():
            return _commands()
        case op.FindFiles():
            return st.builds(
                out.PathsOutcome, st.lists(_PATHS, max_size=3).map(tuple), st.none() | _COUNT, st.booleans()
            )
        case op.ListDirectory():
            entries = st.builds(out.Entry, _PATHS, st.sampled_from(["file", "directory"]), st.none() | _COUNT)
            listed = st.lists(entries, max_size=3).map(tuple)
            return st.builds(out.DirectoryOutcome, st.just(operation.path), listed, st.booleans())
        case op.SearchText():
            return _matches(operation)
        case (
            op.WriteFile()
            | op.EditFile()
            | op.InsertText()
            | op.ReplaceLines()
            | op.DeleteFile()
            | op.MoveFile()
            | op.UndoEdit()
            | op.EditNotebook()
        ):
            kinds = st.sampled_from(["created", "modified", "deleted"])
            change = st.builds(out.Change, st.just(operation.path), kinds)
            return st.builds(out.ChangesOutcome, change.map(lambda one: (one,)))
        case op.UpdatePlan() | op.AddPlanItem() | op.ChangePlanItem() | op.ReadPlan():
            items = st.builds(op.PlanItem, _WORDS, st.sampled_from(["pending", "in_progress", "completed"]))
            return st.builds(out.PlanOutcome, st.lists(items, max_size=3).map(tuple))
        case op.SearchWeb() | op.FetchPage():
            page = st.builds(out.Page, st.just("https://example.com/page"), st.none() | _WORDS, st.none() | _LINES)
            return st.builds(out.PagesOutcome, st.lists(page, min_size=1, max_size=2).map(tuple))
    return st.builds(out.TextOutcome, _LINES)


def _commands() -> st.SearchStrategy[out.CommandOutcome]:
    ended = st.builds(out.CommandOutcome, exit_code=st.integers(0, 255), stdout=_LINES, stderr=_LINES)
    merged = st.builds(out.CommandOutcome, exit_code=st.integers(0, 255), output=_LINES)
    killed = st.builds(out.CommandOutcome, signal=st.integers(1, 15), output=_LINES)
    running = st.builds(out.CommandOutcome, output=_LINES, running=st.just(value=True), job=st.just("7"))
    timed_out = st.builds(out.CommandOutcome, output=_LINES, timed_out=st.just(value=True))
    return st.one_of(ended, merged, killed, running, timed_out)


def _matches(operation: op.SearchText) -> st.SearchStrategy[out.Outcome]:
    if operation.mode == "files":
        one = st.builds(out.Match, _PATHS)
    elif operation.mode == "count":
        one = st.builds(out.Match, _PATHS, count=st.integers(1, 99))
    else:
        one = st.builds(out.Match, _PATHS, st.integers(1, 999), _WORDS)
    found = st.lists(one, max_size=3, unique_by=lambda match: match.path).map(tuple)
    return st.builds(out.MatchesOutcome, found, st.just(operation.mode))
