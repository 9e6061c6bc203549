"""Holds a run to its task, by what was really done: files that changed, commands that ran.

Small models call things done that are not, and make the same call again and again. With a guard (`Orchestrator(guard=
True)`, `dragoman run --guard`; on by default for engines that ask for it):

- A call that was made before is not made again while nothing has changed: it is answered with what it gave. The third
  such answer in a row ends the run.
- A file that was edited is not written over, in the same run, with a text that has none of its lines: small models do
  that with "The file has been updated.". The model gets what the file holds; making the call again writes it.
- A task that tells to change something is not done before something has changed, and one that names a command or
  tests not before they ran, and ran again if they failed and files were changed since. The model is reminded once.
- The result says what was changed and what was run. A run that did not do what its task plainly asks for, or whose
  answer claims a change that was not made, has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import LimitReached, ToolError
from dragoman.model import Failure, Kind, operations as op, outcomes as out
from dragoman.tools.processes import in_thread
from dragoman.tools.workspace import Snapshot

from . import task_words
from .loop import NOT_DONE

if TYPE_CHECKING:
    from dragoman.model import Call, Outcome, Result
    from dragoman.tools import Workspace

MOST_REPEATS: Final = 3
"""Calls in a row that were all made before, after which a run ends."""
_SHOWN: Final = 1000
"""Characters of an earlier result that are told again."""
_READ: Final = 1 << 20
"""Bytes of an edited file that are compared with what would be written over it."""
_TASK: Final = 500
"""Characters of a task that a reminder repeats."""
_REPEATABLE: Final = (
    op.ReadFile,
    op.ReadFiles,
    op.ReadNotebook,
    op.ListDirectory,
    op.FindFiles,
    op.SearchText,
    op.SearchCode,
    op.RunCommand,
)
"""What gives the same again while nothing changes. What waits for something, or asks somebody else, may not."""
_HARMLESS: Final = frozenset({Kind.READ, Kind.SEARCH, Kind.PLAN, Kind.ASK, Kind.FETCH})
_UNKNOWN: Final = frozenset({Kind.AGENT, Kind.OTHER})
"""Kinds of operations that may change something that is not in files."""


class Ran(msgspec.Struct, frozen=True):
    """A command line that was run, and its exit code, where there is one."""

    command: str
    exit_code: int | None = None


class TaskReport(msgspec.Struct, frozen=True):
    """What a run really did, and what is wrong with what it says."""

    changed: dict[str, str] = {}
    """Path → `created`, `modified`, `deleted` or `moved`."""
    ran: tuple[Ran, ...] = ()
    problems: tuple[str, ...] = ()
    """Why it has failed, although the model calls it done; empty when it has not."""

    @property
    def summary(self) -> str:
        """What was changed and what was run, in one line."""
        changed = ", ".join(f"{path} ({how})" for path, how in self.changed.items())
        said = [f"Changed: {changed}." if changed else "Nothing was changed."]
        if self.ran:
            last = {ran.command: ran.exit_code for ran in self.ran}
            each = (f"{line} (exit code {'unknown' if code is None else code})" for line, code in last.items())
            said.append(f"Ran: {', '.join(each)}.")
        return " ".join(said)


class TaskGuard:
    """The guard of one run. `begun` says that part of the task was done in an earlier run, which was not watched."""

    def __init__(self, task: str, workspace: Workspace | None, *, begun: bool = False) -> None:
        self.task = task.strip().partition("\n\n")[0]  # what follows may be a text that the task is about
        self._begun = begun
        self._workspace, self._root = workspace, _root_of(workspace)
        self._before: Snapshot | None = None
        self._now: Snapshot | None = None
        self._told: dict[str, str] = {}
        """Changes that tools reported: all there is where no folder can be looked at."""
        self._elsewhere = False
        """Whether something was done whose effect cannot be seen here."""
        self._version = 0
        """How often something changed."""
        self._edited: set[str] = set()
        self._warned: set[bytes] = set()
        """Calls that were not made because they would have written over an edited file."""
        self._known: dict[bytes, tuple[int, Outcome]] = {}
        self._repeats = 0
        self._ran: list[tuple[int, Ran]] = []
        self._denied = False
        self._reminded = False

    # ── calls ──────────────────────────────────────────────────────────────

    @property
    def circles(self) -> bool:
        """Whether the model only makes calls again that it made before."""
        return self._repeats >= MOST_REPEATS

    def circled(self) -> LimitReached:
        """Why a run ends whose model does that."""
        return LimitReached("repeated calls", MOST_REPEATS, "divide the task into smaller steps, or use a larger model")

    def answer(self, call: Call) -> Outcome | None:
        """What answers a call that was made before, when nothing has changed since; `None`: it is to be run."""
        known = self._known.get(_key(call))
        if known is None or known[0] != self._version:
            self._repeats = 0
            return self._written_over(call)
        self._repeats += 1
        return known[1]

    def _written_over(self, call: Call) -> Outcome | None:
        """What answers a call that would throw away a file that was edited."""
        operation = call.operations[0] if len(call.operations) == 1 else None
        if not isinstance(operation, op.WriteFile) or self._workspace is None or _key(call) in self._warned:
            return None
        try:
            path = self._workspace.resolve(operation.path)
            held = self._workspace.read(path, limit=_READ).decode() if path in self._edited else ""
        except (ToolError, UnicodeDecodeError):
            return None  # the tool says what is wrong
        lines = {line.strip() for line in held.splitlines()} - {""}
        if not lines or lines & {line.strip() for line in operation.content.splitlines()}:
            return None
        self._warned.add(_key(call))
        text = f"{operation.path} was changed by your edit already and was not written over. It holds:\n{held[:_SHOWN]}"
        return out.TextOutcome(text)

    async def before(self, calls: Iterable[Call]) -> None:
        """Looks at the files before calls that may change them, if it has not yet."""
        if self._before is None and self._root is not None and any(_may_change(call) for call in calls):
            root = self._root
            self._before = self._now = await in_thread(lambda: Snapshot.of(root))

    async def after(self, calls: Sequence[Call], results: Sequence[Result]) -> None:
        """Takes note of what calls gave, and of what they changed."""
        changed = any(_may_change(call) for call in calls) and await self._changed(results)
        self._version += changed
        by_id = {call.id: call for call in calls}
        for result in results:
            call = by_id.get(result.call_id)
            if call is None:
                continue
            self._note(call, result)
            if not (changed and _may_change(call)):  # what changed something would do so again
                self._remember(call, result)

    async def _changed(self, results: Sequence[Result]) -> bool:
        for result in results:
            for outcome in result.outcomes:
                if isinstance(outcome, out.ChangesOutcome) and not outcome.preview:
                    self._told |= {one.path: one.kind for one in outcome.changes if one.kind != "unchanged"}
        before, root = self._now, self._root
        if before is None or root is None:
            return True  # what cannot be looked at may have changed
        self._now = now = await in_thread(lambda: Snapshot.of(root, before))
        return not now.complete or bool(now.changed_since(before))

    def _note(self, call: Call, result: Result) -> None:
        for operation, outcome in zip(call.operations, result.outcomes, strict=False):
            if isinstance(outcome, Failure):
                self._denied |= outcome.kind == "denied"
            else:
                self._elsewhere |= operation.kind in _UNKNOWN
            if isinstance(operation, op.EditFile | op.InsertText | op.ReplaceLines) and isinstance(
                outcome, out.ChangesOutcome
            ):
                self._edited |= {change.path for change in outcome.changes if change.kind == "modified"}
            if isinstance(operation, op.RunCommand) and isinstance(outcome, out.CommandOutcome):
                self._ran.append((self._version, Ran(operation.command, outcome.exit_code)))

    def _remember(self, call: Call, result: Result) -> None:
        """Keeps what a call gave, to answer it if it is made again; the first time counts."""
        repeat = _again(call, result)
        if repeat is not None and self._known.get(_key(call), (-1, repeat))[0] != self._version:
            self._known[_key(call)] = (self._version, repeat)

    # ── the end ────────────────────────────────────────────────────────────

    def reminder(self) -> str | None:
        """What the model is told once when it calls a task done that is not; `None` when there is nothing to say."""
        if self._reminded or self._begun or self._denied:
            return None
        missing = [*self._unchanged(), *self._not_run()]
        if not missing:
            return None
        self._reminded, self._repeats = True, 0
        return f"{NOT_DONE}{' '.join(told for _, told in missing)}\nThe task: {self.task[:_TASK]}"

    def report(self, answer: str, *, called_done: bool = True) -> TaskReport:
        """What was done, and what is wrong with an answer that calls it done."""
        changed, ran = self.changed(), tuple(one for _, one in self._ran)
        if not called_done:
            return TaskReport(changed, ran)
        problems = [] if self._begun else [problem for problem, _ in (*self._unchanged(), *self._not_run())]
        if not changed and self._sees_all and not problems and task_words.claims_change(answer):
            problems.append("the answer says that something was changed, but nothing was")
        names = {path.rpartition("/")[2] for path in changed}
        claimed = [one for one in task_words.files_claimed(answer) if one.rpartition("/")[2] not in names]
        if claimed and changed and self._sees_all:
            problems.append(f"the answer says that {', '.join(claimed)} was changed, but it was not")
        return TaskReport(changed, ran, tuple(problems))

    @property
    def _sees_all(self) -> bool:
        """Whether every change that there may be would be seen."""
        return not self._begun and not self._elsewhere and (self._now is None or self._now.complete)

    def changed(self) -> dict[str, str]:
        """What is different from before the run."""
        if self._before is None or self._now is None:
            return dict(self._told)
        return self._now.changed_since(self._before)

    def _unchanged(self) -> list[tuple[str, str]]:
        if self.changed() or not self._sees_all or not task_words.asks_for_change(self.task):
            return []
        told = (
            "No file has been changed, and the task asks for a change. Make it now; if that is not possible, say why."
        )
        return [("the task asks for a change, but nothing was changed", told)]

    def _not_run(self) -> list[tuple[str, str]]:
        missing: list[tuple[str, str]] = []
        named = task_words.commands_named(self.task)
        for command in named:
            missing += self._lacking(
                command, [one for one in self._ran if task_words.is_run_by(command, one[1].command)]
            )
        if not named and task_words.names_tests(self.task):
            missing += self._lacking("a test", [one for one in self._ran if task_words.is_test(one[1].command)])
        return missing

    def _lacking(self, command: str, runs: Sequence[tuple[int, Ran]]) -> list[tuple[str, str]]:
        if not runs:
            return [(f"the task asks to run {command}, but it was not run", f"Run this now: {command}")]
        version, last = runs[-1]
        if last.exit_code not in (0, None) and version != self._version:
            told = f"This failed, and files were changed since. Run it again: {last.command}"
            return [(f"{last.command} failed, and was not run again after the last change", told)]
        return []


def _root_of(workspace: Workspace | None) -> str | None:
    """The folder of a workspace on a disk."""
    from dragoman.tools import DiskWorkspace

    return str(workspace.root) if isinstance(workspace, DiskWorkspace) else None


def _may_change(call: Call) -> bool:
    return any(operation.kind not in _HARMLESS for operation in call.operations)


def _key(call: Call) -> bytes:
    native = call.native
    return msgspec.json.encode((native.namespace, native.name, native.arguments), order="deterministic")


def _again(call: Call, result: Result) -> Outcome | None:
    """What answers the same call if it is made again; `None` when it may give something else then."""
    if not call.operations or not all(isinstance(one, _REPEATABLE) for one in call.operations):
        return None
    if any(isinstance(one, op.RunCommand) and one.background for one in call.operations):
        return None
    failed = False
    for outcome in result.outcomes:
        if isinstance(outcome, Failure):
            if outcome.kind not in ("failed", "invalid_arguments", "unknown_tool"):
                return None
            failed = True
        if isinstance(outcome, out.CommandOutcome) and (outcome.running or outcome.timed_out):
            return None
    content: Any = None if result.native is None else result.native.content
    if not isinstance(content, str):
        return None
    shown = content if len(content) <= _SHOWN else f"{content[:_SHOWN]} …"
    text = f"You made this call before, and nothing has changed since. It was not made again. It gave:\n{shown}"
    return Failure("failed", text) if failed else out.TextOutcome(text)
