"""Doing again what a recorded session did, with our own tools, and saying where it comes out otherwise.

Each call is read by the dialect it was made in, run by the executor, and answered in that dialect's words: the way of
a live call. So a difference is one between the client's tool and what we offer under its name. The session's folder
stands for the workspace: paths are turned from one into the other, on the way in and on the way out.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from dragoman import tools
from dragoman.dialects import Dialect
from dragoman.engine.executor import Executor, opened_context
from dragoman.engine.facade import Facade
from dragoman.engine.policy import ToolPolicy
from dragoman.model import Call, ExecutedBy, Result, events as ev, operations as op, outcomes as out
from dragoman.registry import TOOLS
from dragoman.tools import Toolset, standard_context

REPLAYED = frozenset({op.Kind.READ, op.Kind.WRITE, op.Kind.SEARCH, op.Kind.EXECUTE})
"""Kinds of operations that have nothing to do with people, models or the network."""
_OF_A_JOB = (op.ReadOutput, op.StopCommand, op.TypeInto, op.ListCommands, op.WatchCommand)


class Difference(msgspec.Struct, frozen=True):
    """One thing that came out otherwise: `what` names it, then what the log says and what came out here."""

    what: str
    theirs: Any
    ours: Any


class Replayed(msgspec.Struct, frozen=True):
    """One recorded call and what became of it here. `skipped` says why it was not run."""

    call: Call
    theirs: Result | None
    ours: Result | None = None
    differences: tuple[Difference, ...] = ()
    skipped: str | None = None

    @property
    def text_differs(self) -> bool:
        """Whether a model would have read other words."""
        return any(one.what == "text" for one in self.differences)

    @property
    def outcome_differs(self) -> bool:
        """Whether something else happened."""
        return any(one.what != "text" for one in self.differences)


async def replay(
    events: Iterable[ev.AnyEvent],
    dialect: Dialect,
    workspace: tools.Workspace,
    *,
    folder: str | None = None,
    seconds: float | None = 30.0,
    kinds: frozenset[op.Kind] = REPLAYED,
    shell: tools.Shell | None = None,
) -> AsyncGenerator[Replayed]:
    """Every call of the events, in the order they happened, each after those before it had their effect.

    `folder` is where the session worked, when the log does not say; `seconds` is what one call may take. Calls of other
    `kinds` are not run, nor those that were denied or that ask for a job of another machine. What was changed here and
    refused there is undone again. `shell` runs the commands, and is closed at the end.
    """
    recorded = _in_time(events)
    results = {(one.session, one.result.call_id): one.result for one in recorded if isinstance(one, ev.ToolReturned)}
    folder = folder or next((one.cwd for one in recorded if isinstance(one, ev.SessionStarted) and one.cwd), None)
    toolset = Toolset(tool for _, tool in TOOLS.working())
    turned = _Turned(folder, str(getattr(workspace, "root", "/workspace")))
    facades: dict[str | None, Facade] = {}
    done: set[tuple[str | None, str]] = set()
    async with AsyncExitStack() as stack:
        context = await stack.enter_async_context(standard_context(workspace, shell=shell))
        context = await opened_context(stack, toolset, workspace=workspace, context=context, run="replay")
        for event in recorded:
            if not isinstance(event, ev.ToolCalled) or (event.session, event.call.id) in done:
                continue  # clients that resume a session tell its calls a second time
            done.add((event.session, event.call.id))
            facade = facades.get(event.version)
            if facade is None:
                facade = facades[event.version] = Facade(dialect.at(event.version), toolset)
            theirs = results.get((event.session, event.call.id))
            reason = _why_not(event, theirs, kinds)
            if reason is not None:
                yield Replayed(event.call, theirs, skipped=reason)
                continue
            call = turned.here(event.call)
            executor = Executor(
                toolset,
                ToolPolicy(timeout=seconds),
                context,
                write=_writer(facade),
                reconsider=facade.reconsidered,
                edit_rules=facade.edit_rules,
            )
            assert theirs is not None  # else there was a reason
            result = (await executor.run([call]))[0]
            _take_back(workspace, theirs, result)
            ours = turned.there(result)
            yield Replayed(event.call, theirs, ours, tuple(_differences(theirs, ours, folder)))


def _in_time(events: Iterable[ev.AnyEvent]) -> list[ev.AnyEvent]:
    """Events of several files in the order they happened; those without a time stay behind the one before."""
    moment = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    dated: list[tuple[datetime.datetime, int, ev.AnyEvent]] = []
    for number, event in enumerate(events):
        moment = event.time or moment
        dated.append((moment, number, event))
    return [event for _, _, event in sorted(dated, key=lambda one: one[:2])]


def _writer(facade: Facade) -> Any:
    def written(call: Call, result: Result) -> Result:
        return msgspec.structs.replace(result, native=facade.write_result(call, result.outcomes))

    return written


def _take_back(workspace: tools.Workspace, theirs: Result, ours: Result) -> None:
    """Undoes a change that was refused there, so that this difference does not make others of later calls."""
    if all(isinstance(one, out.Failure) for one in theirs.outcomes):
        for outcome in reversed(ours.outcomes):
            if isinstance(outcome, out.ChangesOutcome):
                for change in outcome.changes:
                    if change.kind in ("created", "modified", "deleted"):
                        workspace.undo(change.path)


def _why_not(event: ev.ToolCalled, theirs: Result | None, kinds: frozenset[op.Kind]) -> str | None:
    """Why a call is not run again, in words."""
    call = event.call
    if call.native.executed_by is not ExecutedBy.CLIENT:
        return "the provider ran it"
    if event.by == "program":
        return "a program within another call made it"
    if theirs is None:
        return "it has no result in the log"
    if call.failure is not None or not call.operations:
        return "its arguments could not be read"
    if any(isinstance(one, _OF_A_JOB) for one in call.operations):
        return "it is about a job that ran there"
    if any(isinstance(one, op.RunCode) for one in call.operations):
        return "its program is written for the interpreter that ran it there"
    if not all(one.kind in kinds and str(one.__struct_config__.tag) in TOOLS for one in call.operations):
        return "it is not about files, searches or commands"
    kinds_of_failure = {one.kind for one in theirs.outcomes if isinstance(one, out.Failure)}
    if "unknown_tool" in kinds_of_failure:
        return "the client did not offer it"
    if kinds_of_failure & {"denied", "cancelled"}:
        return "it was refused or stopped there"
    return None


class _Turned:
    """Paths of the session's folder and of the workspace, turned into one another wherever they stand in texts."""

    def __init__(self, there: str | None, here: str) -> None:
        # A session that worked in the root of all files has no folder of its own: every path would be one of it.
        self._there, self._here = (there or "").rstrip("/"), here

    def here(self, call: Call) -> Call:
        if not self._there or self._there == self._here:
            return call
        return msgspec.convert(_replaced(msgspec.to_builtins(call), _whole(self._there), self._here), Call)

    def there(self, result: Result) -> Result:
        if not self._there or self._there == self._here:
            return result
        return msgspec.convert(_replaced(msgspec.to_builtins(result), _whole(self._here), self._there), Result)


def _whole(folder: str) -> re.Pattern[str]:
    """A folder where it is named, and not where its name begins another's: `/project-old` is none of `/project`."""
    return re.compile(rf"(?<![A-Za-z0-9_.-]){re.escape(folder)}(?![A-Za-z0-9_-]|\.[A-Za-z0-9_])")


def _replaced(value: Any, old: re.Pattern[str], new: str) -> Any:
    if isinstance(value, str):
        return old.sub(lambda _: new, value)
    if isinstance(value, Mapping):
        return {key: _replaced(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(inner, old, new) for inner in value]
    return value


# ── comparing ────────────────────────────────────────────────────────────────


def same_outcomes(theirs: Result | None, ours: Result | None, folder: str | None = None) -> bool:
    """Whether two results of the same call say the same, in whichever words; `folder` is where both worked."""
    if theirs is None or ours is None:
        return theirs is ours
    return all(one.what == "text" for one in _differences(theirs, ours, folder))


def _differences(theirs: Result, ours: Result, folder: str | None) -> list[Difference]:
    found: list[Difference] = []
    if len(theirs.outcomes) != len(ours.outcomes):
        found.append(Difference("number of outcomes", len(theirs.outcomes), len(ours.outcomes)))
    for one, other in zip(theirs.outcomes, ours.outcomes, strict=False):
        found += _outcome_differences(one, other, folder)
    said, says = _text(theirs), _text(ours)
    if said != says:
        found.append(Difference("text", said, says))
    return found


def _text(result: Result) -> str:
    native = result.native
    if native is None:
        return ""
    content = native.content
    return content if isinstance(content, str) else "\n".join(one for one in content if isinstance(one, str))


def _outcome_differences(theirs: out.Outcome, ours: out.Outcome, folder: str | None) -> list[Difference]:
    if type(theirs) is not type(ours):
        return [Difference("outcome", _named(theirs), _named(ours))]
    one, other = _essence(theirs, folder), _essence(ours, folder)
    return [
        Difference(name, one[name], other[name])
        for name in one
        if one[name] is not None and other[name] is not None and one[name] != other[name]
    ]


def _named(outcome: out.Outcome) -> str:
    name = str(outcome.__struct_config__.tag)
    return f"{name}: {outcome.kind}, {outcome.message}" if isinstance(outcome, out.Failure) else name


def _essence(outcome: out.Outcome, folder: str | None) -> dict[str, Any]:
    """What must be the same whoever did it; `None` for what is not said."""

    def within(path: str) -> str:
        inside = path.removeprefix(folder).lstrip("/") if folder and path.startswith(f"{folder}/") else path
        return inside.removeprefix("./").rstrip("/")

    match outcome:
        case out.Failure():
            return {"failure": outcome.kind}
        case out.FileOutcome():
            return {"lines": outcome.text.rstrip("\n"), "first line": outcome.first_line}
        case out.CommandOutcome():
            return {
                "exit code": outcome.exit_code,
                "running": outcome.running,
                "timed out": outcome.timed_out,
                "output": _output(outcome),
            }
        case out.ChangesOutcome():
            return {"changes": sorted((within(change.path), str(change.kind)) for change in outcome.changes)}
        case out.PathsOutcome():
            return {"paths": sorted(within(path) for path in outcome.paths)}
        case out.MatchesOutcome():
            found = sorted((within(one.path), one.line or 0, one.count or 0) for one in outcome.matches)
            return {"matches": found, "mode": outcome.mode}
        case out.DirectoryOutcome():
            return {"entries": sorted(within(entry.path) for entry in outcome.entries)}
        case _:
            return {}


def _output(outcome: out.CommandOutcome) -> Any:
    """The lines of both streams: in which order they came is known only of one that was kept whole."""
    whole = outcome.output if outcome.output is not None else f"{outcome.stdout or ''}\n{outcome.stderr or ''}"
    return None if outcome.truncated else sorted(line for line in whole.splitlines() if line.strip())
