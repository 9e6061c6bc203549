"""Runs calls: the ones allowed, so many at once, each to its deadline, tried again where that does no harm.

Rules: results come back in the order of the calls; a call that hangs delays no other; what lies outside the toolset is
denied here and nowhere else; a failure is a value the model reads. Effects happen at least once: only tools marked
repeatable are tried again, and each call has a key (`Context.call_id` within `Context.run`) that stays the same.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.errors import ConfigError, nearest
from dragoman.model import Call, Decision, Failure, NativeResult, Outcome, Result, operations as op, outcomes as out
from dragoman.model.effects import fields_of
from dragoman.tools import Answers, Cancellation, Context, Tool, Toolset, Web, standard_context
from dragoman.tools.processes import abandon, in_thread
from dragoman.tools.running import enclosure_in, outcome_of, run_operation
from dragoman.tools.web import REDIRECTS

from .approval import Answer, Approvals, Approver, asked_by, decide, is_standard
from .path_rules import against, refused_changes, without_withheld
from .policy import ToolPolicy
from .rules import redirect_check, verdict_on

if TYPE_CHECKING:
    from dragoman.config import Sandbox
    from dragoman.model import AnyEvent
    from dragoman.tools import Workspace

Emit = Callable[..., "AnyEvent | None"]


class Hooks(msgspec.Struct, frozen=True):
    """Where a caller may step in. Each may be async.

    `before(call)` gives another call to run instead, a `Failure` to answer it with, or `None`. It never loosens a rule:
    it does not see a call that a rule denies, and the rules and the question are about the call it gives back;
    `mask(call)` gives the call as events and logs may show it (one that a record shows otherwise than it was, and that
    was still to be run, is not run when a run goes on from that record: the model is told to make it again);
    `after(call, result)` gives another result, or `None`;
    `should_retry(call, failure, attempt)` says whether a repeatable call is tried again.
    """

    before: Callable[[Call], Any] | None = None
    mask: Callable[[Call], Any] | None = None
    after: Callable[[Call, Result], Any] | None = None
    should_retry: Callable[[Call, Failure, int], Any] | None = None


class Metrics(msgspec.Struct):
    """What one tool did in a run."""

    calls: int = 0
    errors: int = 0
    retries: int = 0
    seconds: float = 0.0


class Waiting(Exception):
    """Calls that wait for an answer from elsewhere; `results` is what the others of the same turn gave."""

    def __init__(self, calls: tuple[Call, ...], results: tuple[Result, ...] = ()) -> None:
        self.calls, self.results = calls, results
        super().__init__(f"{len(calls)} calls wait for approval")


class Executor:
    """Runs the calls of one run."""

    def __init__(
        self,
        toolset: Toolset,
        policy: ToolPolicy,
        context: Context,
        *,
        hooks: Hooks = Hooks(),  # noqa: B008 - frozen
        approver: Approver | None = None,
        emit: Emit | None = None,
        write: Callable[[Call, Result], Result] | None = None,
        reconsider: Callable[[Call, Sequence[Outcome]], Call | None] | None = None,
        approvals: Approvals | None = None,
    ) -> None:
        self.policy, self.hooks, self.approver = policy, hooks, approver
        self.approvals = Approvals() if approvals is None else approvals
        self.metrics: dict[str, Metrics] = {}
        self.aborted: Result | None = None
        """The failed result that ended the run, under `on_error="abort"`."""
        self.interrupted: tuple[Result, ...] = ()
        """What the calls gave that were running when the run was cancelled."""
        self.started: set[str] = set()
        """Ids of the calls that were begun: whatever happens next, they may have had their effect."""
        self.doubtful: frozenset[str] = frozenset()
        """Ids of calls that an earlier process had begun: they may have had their effect."""
        self._context = context
        self._enclosure = enclosure_in(context)
        self._emit = emit
        self._write = write or (lambda _, result: result)
        self._room = asyncio.Semaphore(policy.max_parallel)
        self._early: dict[str, tuple[Call, asyncio.Task[Result]]] = {}
        self.offer(toolset, reconsider)

    def offer(
        self, toolset: Toolset, reconsider: Callable[[Call, Sequence[Outcome]], Call | None] | None = None
    ) -> None:
        """Runs calls of these tools from now on."""
        self._reconsider = reconsider or (lambda *_: None)
        self._functions: dict[str, Tool] = {}
        self._operations: dict[type[op.Operation], Tool] = {}
        self._served: dict[tuple[str | None, str], Tool] = {}
        for tool in toolset:
            if isinstance(tool, Tool) and tool.operation is not None:
                self._operations[tool.operation] = tool
            elif isinstance(tool, Tool):
                self._functions[tool.name] = tool
                if tool.mcp is not None:
                    self._served[tool.mcp] = tool

    # ── many calls ─────────────────────────────────────────────────────────

    async def run(
        self, calls: Sequence[Call], *, step: int = 0, answers: Mapping[str, Answer] | None = None
    ) -> tuple[Result, ...]:
        """The results of calls, in their order. Raises `Waiting` when some are to be decided elsewhere.

        `answers` decide calls that waited, by the digest of their question or by their id.
        """
        answers = _unambiguous(answers or {}, calls)
        results: dict[int, Result] = {}
        tasks: dict[int, asyncio.Task[Result]] = {}
        waiting: list[Call] = []
        try:
            for group in self._groups(calls):
                begun = self._begun(calls, group, step, answers)
                tasks |= begun
                try:
                    await self._settled(list(begun.values()))
                finally:
                    await _stop([task for task in begun.values() if not task.done()])
                errors = {place: _error_of(tasks.get(place)) for place in group}  # all are looked at
                for place, error in errors.items():
                    if isinstance(error, Waiting):
                        waiting.append(calls[place])
                    elif error is not None:
                        raise error  # a mistake of a hook or a listener, not of a tool
                    else:
                        results[place] = self._result_of(calls[place], tasks.get(place), _STOPPED)
        except asyncio.CancelledError:
            for place, call in enumerate(calls):
                if place not in results:
                    task = tasks[place] if place in tasks else self._early_of(call)
                    results[place] = self._result_of(call, task, _INTERRUPTED)
            self.interrupted = tuple(results[place] for place in range(len(calls)))
            raise
        known = tuple(results[place] for place in range(len(calls)) if place in results)
        if waiting:
            raise Waiting(tuple(waiting), known)
        return known

    def _result_of(self, call: Call, task: asyncio.Task[Result] | None, otherwise: str) -> Result:
        """What a call gave; one that was stopped, or never begun, says so."""
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            return task.result()
        done = " What it had done by then, it has done." if call.id in self.started else " It was not begun."
        failure = Failure("cancelled", otherwise + done)
        return self._told(call, Result(call.id, (failure,) * max(1, len(call.operations)), 0.0))

    def start_early(self, call: Call, *, step: int) -> bool:
        """Begins a call before the reply is complete, if all it does is read and may be done twice."""
        if call.id in self._early or self.aborted is not None:
            return False
        tools = self._tools_of(call)
        if isinstance(tools, Failure) or not tools:
            return False
        if not all(tool.repeatable and not tool.sequential and _only_reads(tool) for tool in tools):
            return False
        self._early[call.id] = (call, asyncio.ensure_future(self._one(call, step, {})))
        return True

    async def forget_early(self) -> None:
        """Stops what was begun for a reply that never came to its end, or whose calls were not to be run."""
        early, self._early = [task for _, task in self._early.values()], {}
        await _stop(early)
        for task in early:
            _error_of(task)

    def _groups(self, calls: Sequence[Call]) -> list[list[int]]:
        """Places of calls that may run beside one another; one that must run alone is a group of its own."""
        groups: list[list[int]] = [[]]
        for place, call in enumerate(calls):
            tools = self._tools_of(call)
            alone = not isinstance(tools, Failure) and any(tool.sequential for tool in tools)
            if alone:
                groups += [[place], []]
            else:
                groups[-1].append(place)
        return [group for group in groups if group]

    def _begun(
        self, calls: Sequence[Call], group: list[int], step: int, answers: Mapping[str, Answer]
    ) -> dict[int, asyncio.Task[Result]]:
        if self.aborted is None:
            return {place: self._task(calls[place], step, answers) for place in group}
        # Nothing is begun any more; what began while the reply still streamed keeps what it gave.
        return {place: early for place in group if (early := self._taken_early(calls[place])) is not None}

    def _early_of(self, call: Call) -> asyncio.Task[Result] | None:
        """What was begun early for this very call: another may have the same id."""
        begun, task = self._early.get(call.id, (None, None))
        if begun is None or begun.native.name != call.native.name or begun.native.arguments != call.native.arguments:
            return None
        return task

    def _taken_early(self, call: Call) -> asyncio.Task[Result] | None:
        task = self._early_of(call)
        if task is not None:
            del self._early[call.id]
        return task

    def _task(self, call: Call, step: int, answers: Mapping[str, Answer]) -> asyncio.Task[Result]:
        early = self._taken_early(call)
        if early is not None:
            return early
        return asyncio.ensure_future(self._one(call, step, answers))

    async def _settled(self, tasks: list[asyncio.Task[Result]]) -> None:
        """Waits for all, or until one failed in a way that ends the run."""
        each = self.policy.on_error == "abort"  # otherwise none of them ends the run, and one wake-up does for all
        if not each:
            await _all_done(tasks)
            return
        pending: set[asyncio.Task[Result]] = set(tasks)
        while pending and self.aborted is None:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)

    # ── one call ───────────────────────────────────────────────────────────

    async def _one(self, call: Call, step: int, answers: Mapping[str, Answer]) -> Result:
        decision: Decision | None = None
        tools = self._tools_of(call)
        again = step == 0 and call.id in self.doubtful  # a later call may bear an id of old: providers count anew
        if again and not isinstance(tools, Failure) and not all(tool.repeatable for tool in tools):
            return await self._done(call, (out.UnknownOutcome(_BROKE_OFF),) * len(tools), 0.0, 0)
        given: tuple[out.Answer, ...] = ()
        if not isinstance(tools, Failure):
            call, tools, decision, given = await self._permitted(call, tools, answers)
        shown = await masked(call, self.hooks)
        if self._emit is not None:
            self._emit("called", call=shown, decision=decision, call_id=call.id, step=step)
        if isinstance(tools, Failure):
            return await self._done(call, (tools,) * max(1, len(call.operations)), 0.0, 0)
        async with self._room:
            if self.aborted is not None:
                raise asyncio.CancelledError  # it had waited for its turn, and there is none any more
            outcomes, retries, seconds = await self._timed(call, tools, step, given)
        other = self._reconsider(call, outcomes) if _failed(outcomes) else None
        if other is not None:
            call, outcomes, more, longer = await self._instead(call, outcomes, other, step, answers)
            retries, seconds = retries + more, seconds + longer
        return await self._done(call, outcomes, seconds, retries)

    async def _timed(
        self, call: Call, tools: tuple[Tool, ...], step: int, given: tuple[out.Answer, ...]
    ) -> tuple[tuple[Outcome, ...], int, float]:
        """Runs a call, and says how often it was tried again and for how many seconds it ran.

        Neither a person's thinking about a question nor waiting for other calls is in the seconds.
        """
        began = time.perf_counter()
        outcomes, retries = await self._tried(call, tools, step, given)
        return outcomes, retries, time.perf_counter() - began

    async def _permitted(
        self, call: Call, tools: tuple[Tool, ...], answers: Mapping[str, Answer]
    ) -> tuple[Call, tuple[Tool, ...] | Failure, Decision, tuple[out.Answer, ...]]:
        """The call as it may be run, with its tools, or why it may not; and the user's answers to what it asks.

        The hook comes first, so that the rules and the question are about the call that would really be run; but it
        never sees a call that a rule denies.
        """
        workspace = self._context._workspace
        if self.hooks.before is not None:
            verdict, _ = verdict_on(call, tools, self.policy, workspace)
            changed = None if verdict == "deny" else await _awaited(self.hooks.before(call))
            if isinstance(changed, Failure):
                return call, changed, Decision("denied", by="hook", reason=changed.message), ()
            if changed is not None:
                call, found = changed, self._tools_of(changed)
                if isinstance(found, Failure):
                    return call, found, Decision("denied", by="policy", reason=found.message), ()
                tools = found
        decided = await decide(
            call, tools, self.policy, self.approver, answers, workspace, self.approvals, self._enclosure
        )
        if decided is None:
            raise Waiting((call,))
        decision = decided.decision
        if decision.verdict == "denied":
            details = {"rule": decision.rule, "reason": decision.reason}
            words = _unanswered if asked_by(call, tools) else _denied
            return call, Failure("denied", words(decision), details), decision, ()
        return call, tools, decision, decided.answers

    async def _instead(
        self, call: Call, outcomes: tuple[Outcome, ...], other: Call, step: int, answers: Mapping[str, Answer]
    ) -> tuple[Call, tuple[Outcome, ...], int, float]:
        """Runs what a call turned out to mean, if that is allowed too; where no tool does it, the first outcome stays.

        It is the same call of the model's, so there is no second event of a call: what came of it says what was done.
        """
        tools = self._tools_of(other)
        if isinstance(tools, Failure):
            return call, outcomes, 0, 0.0
        other, permitted, _, given = await self._permitted(other, tools, answers)
        if isinstance(permitted, Failure):
            return other, (permitted,) * max(1, len(other.operations)), 0, 0.0
        names = ", ".join(tool.name for tool in permitted)
        self._tell(call.id, f"It is meant otherwise: {names}")
        async with self._room:
            return other, *(await self._timed(other, permitted, step, given))

    async def _done(self, call: Call, outcomes: tuple[Outcome, ...], seconds: float, retries: int) -> Result:
        result = Result(call.id, outcomes, seconds, retries)
        if self.hooks.after is not None:
            result = await _awaited(self.hooks.after(call, result)) or result
        result = self._told(call, result)
        if self.policy.on_error == "abort" and self.aborted is None and _failed(result.outcomes):
            self.aborted = result
        return result

    def _told(self, call: Call, result: Result) -> Result:
        result = self._write(call, result)
        names = self._names_of(call)
        if result.native is not None:
            longest = self.policy.longest_result(call.native.name, *names)
            result = msgspec.structs.replace(result, native=shortened(result.native, longest))
        self._count(names or {call.native.name}, result)
        if self._emit is not None:
            self._emit("returned", result=result, call_id=call.id)
        return result

    def _tell(self, call_id: str, message: str, fraction: float | None = None) -> None:
        if self._emit is not None:
            self._emit("progressed", message=message, fraction=fraction, call_id=call_id)

    def _note(self, call_id: str, name: str, data: dict[str, Any]) -> None:
        if self._emit is not None:
            self._emit("noted", name=name, data=data, call_id=call_id)

    async def _tried(
        self, call: Call, tools: tuple[Tool, ...], step: int, given: tuple[out.Answer, ...]
    ) -> tuple[tuple[Outcome, ...], int]:
        """Runs a call, again where that is allowed and helps."""
        repeatable = self.policy.on_error == "retry" and all(tool.repeatable for tool in tools)
        most = self.policy.retry.times if repeatable else 0
        for attempt in range(most + 1):
            outcomes = await self._bounded(call, tools, step, given)
            failure = next((one for one in outcomes if isinstance(one, Failure)), None)
            if failure is None or attempt == most or failure.kind not in ("failed", "timed_out"):
                return outcomes, attempt
            if self._reconsider(call, outcomes) is not None:
                return outcomes, attempt  # doing the same again would not help
            wanted = self.hooks.should_retry
            if wanted is not None and not await _awaited(wanted(call, failure, attempt + 1)):
                return outcomes, attempt
            await asyncio.sleep(self.policy.retry.wait(attempt + 1, chance=_chance()))
        raise AssertionError("the last attempt returns")

    async def _bounded(
        self, call: Call, tools: tuple[Tool, ...], step: int, given: tuple[out.Answer, ...]
    ) -> tuple[Outcome, ...]:
        """Runs a call once, to its deadline. A plain function that goes on past it is left to itself."""
        cancellation = Cancellation()
        context = self._context_of(call, step, cancellation, given)
        seconds = _deadline(tools, self.policy.timeout)
        self.started.add(call.id)
        # A task of its own: a tool that does not let itself be cancelled delays nobody beyond a moment of grace.
        running = asyncio.get_running_loop().create_task(self._performed(call, tools, context))
        try:
            await _all_done([running], seconds)
        except asyncio.CancelledError:
            await _ended(running, cancellation, "the run was cancelled")
            raise
        if not running.done():
            await _ended(running, cancellation, "it took too long")
            done = "" if all(tool.repeatable for tool in tools) else " What it had done by then, it has done."
            failure = Failure("timed_out", f"It was stopped after {seconds:g} seconds.{done}", {"seconds": seconds})
            return (failure,) * len(call.operations)
        if running.cancelled():
            return (Failure("cancelled", "The tool gave up by itself."),) * len(call.operations)
        return running.result()

    async def _performed(self, call: Call, tools: tuple[Tool, ...], context: Context) -> tuple[Outcome, ...]:
        if len(tools) > 1 and all(_changes_files(tool) for tool in tools):
            return await _as_one(call.operations, context)
        outcomes: list[Outcome] = []
        for operation, tool in zip(call.operations, tools, strict=True):
            outcomes.append(await self._one_performed(operation, tool, context))
        return tuple(outcomes)

    async def _one_performed(self, operation: op.Operation, tool: Tool, context: Context) -> Outcome:
        if "url" in fields_of(operation).url:
            # Each call runs in a task of its own, so this holds for it alone.
            REDIRECTS.set(redirect_check(operation, tool, self.policy, context._workspace))
        keeps = against(operation, tool, self.policy, context._workspace)
        if keeps is None:
            return await _performed(operation, tool, context)
        if isinstance(operation, op.RewriteCode) and not operation.preview:
            planned = await _performed(msgspec.structs.replace(operation, preview=True), tool, context)
            refused = refused_changes(planned, keeps)
            if refused is not None:
                return refused
        return without_withheld(await _performed(operation, tool, context), keeps)

    def _context_of(self, call: Call, step: int, cancellation: Cancellation, given: tuple[out.Answer, ...]) -> Context:
        base, loop, here = self._context, asyncio.get_running_loop(), threading.get_ident()

        def told(tell: Callable[..., None], *said: Any) -> None:
            if cancellation.cancelled:
                return  # what was given up has nothing more to say
            if threading.get_ident() == here:
                tell(call.id, *said)
            else:  # whoever listens does so in the loop's own thread
                loop.call_soon_threadsafe(tell, call.id, *said)

        return Context(
            workspace=base._workspace,
            run=base.run,
            turn=base.turn,
            step=step,
            call_id=call.id,
            cancellation=cancellation,
            report=partial(told, self._tell),
            host=base.host,
            note=partial(told, self._note),
            provides={**base.provides, Answers: Answers(given)} if given else base.provides,
        )

    # ── which tool ─────────────────────────────────────────────────────────

    def _tools_of(self, call: Call) -> tuple[Tool, ...] | Failure:
        """The tool for each operation of a call, or the failure that one of them is not to be had."""
        if call.failure is not None:
            return call.failure
        found: list[Tool] = []
        for operation in call.operations:
            tool = self._tool_of(operation)
            if isinstance(tool, Failure):
                return tool
            if not self.policy.allows(tool.name):
                return Failure("denied", f'The tool "{tool.name}" is not allowed in this run.', {"tool": tool.name})
            found.append(tool)
        return tuple(found)

    def _tool_of(self, operation: op.Operation) -> Tool | Failure:
        if isinstance(operation, op.CallFunction | op.Unrecognised):
            tool = self._functions.get(operation.name)
            if tool is not None:
                return tool
            hint = nearest(operation.name, self._functions)
            return Failure("unknown_tool", f'There is no tool "{operation.name}".{hint}', {"tool": operation.name})
        known = self._operations.get(type(operation))
        if isinstance(operation, op.CallMcpTool):
            known = self._served.get((operation.server, operation.tool), known)
        if known is not None:
            return known
        if isinstance(operation, op.CallMcpTool):
            message = f'There is no tool "{operation.tool}" of an MCP server "{operation.server}".'
            return Failure("unknown_tool", message, {"server": operation.server, "tool": operation.tool})
        tag = str(operation.__struct_config__.tag)
        return Failure("denied", f"This run has no tool to {tag.replace('_', ' ')}.", {"operation": tag})

    def _names_of(self, call: Call) -> frozenset[str]:
        """The names of the tools that run a call, as the caller knows them; none where there are none."""
        tools = self._tools_of(call)
        return frozenset() if isinstance(tools, Failure) else frozenset(tool.name for tool in tools)

    def _count(self, names: Iterable[str], result: Result) -> None:
        for name in names:
            metrics = self.metrics.setdefault(name, Metrics())
            metrics.calls += 1
            metrics.errors += _failed(result.outcomes)
            metrics.retries += result.retries
            metrics.seconds += result.duration or 0.0


_BROKE_OFF = "the run broke off while this call was being made, so whether it took effect is not known: look first"


async def _performed(operation: op.Operation, tool: Tool, context: Context) -> Outcome:
    if tool.operation is not None:
        return await outcome_of(lambda: run_operation(tool, operation, context))
    assert isinstance(operation, op.CallFunction | op.CallMcpTool | op.Unrecognised)
    arguments = operation.arguments
    return await outcome_of(lambda: tool.call(arguments, context))


def _changes_files(tool: Tool) -> bool:
    """Whether it is our own tool for one change of a file: then several are one transaction."""
    return tool.operation in _CHANGES and is_standard(tool)


_CHANGES = (op.WriteFile, op.EditFile, op.InsertText, op.DeleteFile, op.MoveFile)


async def _as_one(operations: tuple[op.Operation, ...], context: Context) -> tuple[Outcome, ...]:
    """Several changes of files, all or none."""
    done = await outcome_of(lambda: in_thread(context.workspace.apply, operations, to_its_end=True))
    if isinstance(done, out.ChangesOutcome) and len(done.changes) == len(operations):
        return tuple(out.ChangesOutcome((change,), done.preview) for change in done.changes)
    return (done,) * len(operations)


def _deadline(tools: tuple[Tool, ...], default: float | None) -> float | None:
    """The sum of what each tool may take; without an end when one of them is."""
    each = [tool.timeout if tool.timeout is not None else default for tool in tools]
    return None if any(seconds is None for seconds in each) else sum(seconds for seconds in each if seconds is not None)


def _only_reads(tool: Tool) -> bool:
    from dragoman.model import Kind

    return tool.kind in (Kind.READ, Kind.SEARCH)


def _failed(outcomes: tuple[Outcome, ...]) -> bool:
    return any(isinstance(outcome, Failure) for outcome in outcomes)


def _denied(decision: Decision) -> str:
    why = decision.reason or decision.rule
    return f"This call was not allowed{f': {why}' if why else ''}. Do not try it again; find another way, or ask."


def _unanswered(decision: Decision) -> str:
    why = f": {decision.reason}" if decision.reason else ""
    return f"The user did not answer{why}. Continue without the answer, and say what you assumed."


_STOPPED = "It was stopped because another call of the same turn failed."
_INTERRUPTED = "It was stopped because the run was cancelled."
_GRACE = 2.0
"""Seconds a cancelled tool has to put things in order."""
_LAST_GRACE = 0.1
"""Seconds after the second time of asking."""


async def _ended(running: asyncio.Task[Any], cancellation: Cancellation, reason: str) -> None:
    """Cancels what a tool is doing and waits for its end, but not for long."""
    cancellation.cancel(reason)
    for seconds in (_GRACE, _LAST_GRACE):
        running.cancel()
        await asyncio.wait((running,), timeout=seconds)
        if running.done():
            break
    else:
        abandon(running)
    _error_of(running if running.done() else None)  # looked at, so that nobody complains


async def _all_done(tasks: list[asyncio.Task[Any]], seconds: float | None = None) -> None:
    """Waits until all have ended, or for so many seconds: what `asyncio.wait` does, at a third of its cost."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    left = len(tasks)

    def count(_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0 and not ended.done():
            ended.set_result(None)

    def give_up() -> None:
        if not ended.done():
            ended.set_result(None)

    for task in tasks:
        task.add_done_callback(count)
    timer = None if seconds is None else loop.call_later(seconds, give_up)
    try:
        if tasks:
            await ended
    finally:
        if timer is not None:
            timer.cancel()
        for task in tasks:
            task.remove_done_callback(count)


async def masked(call: Call, hooks: Hooks) -> Call:
    """A call as events and logs may show it."""
    if hooks.mask is None:
        return call
    shown: Call = await _awaited(hooks.mask(call))
    return shown


async def _awaited(value: Any | Awaitable[Any]) -> Any:
    return await value if hasattr(value, "__await__") else value


def _unambiguous(answers: Mapping[str, Answer], calls: Sequence[Call]) -> Mapping[str, Answer]:
    """Answers of which each is for one call; an error when one could be meant for several that share an id."""
    times = Counter(call.id for call in calls)
    for id, answer in answers.items():
        # An answer with a digest names its call; a plain yes or no to one of two calls could allow the other.
        if times[id] > 1 and getattr(answer, "digest", None) is None:
            raise ConfigError(
                f"{times[id]} calls that wait have the id {id!r}, so an answer by id is ambiguous: "
                "give the answers by the digests of the questions (`Question.digest`)"
            )
    return answers


def _error_of(task: asyncio.Task[Any] | None) -> BaseException | None:
    return None if task is None or task.cancelled() else task.exception()


async def _stop(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def opened_context(
    stack: AsyncExitStack,
    toolset: Toolset,
    *,
    workspace: Workspace | None,
    context: Context | None,
    run: str,
    sandbox: Sandbox | None = None,
    web: Callable[[], Web] = Web,
    provides: Mapping[Any, Any] = {},
) -> Context:
    """What the tools of a run are given; the services of the standard tools are open for as long as the stack is.

    `provides` is what the run adds to a context of the caller.
    """
    standard = [tool for tool in toolset if isinstance(tool, Tool) and tool.operation is not None]
    if context is None and standard and workspace is not None:
        from dragoman.tools import Shell

        shell = None if sandbox is None else Shell(sandbox=sandbox)
        context = await stack.enter_async_context(standard_context(workspace, shell=shell, web=web()))
    elif context is None and any(tool.kind is op.Kind.FETCH for tool in standard):
        context = Context(provides={Web: await stack.enter_async_context(web())})
    if context is None:
        return Context(workspace=workspace, run=run, provides=provides)
    known = {**context.provides, **provides}
    return Context(workspace=context._workspace, run=run, turn=context.turn, provides=known, host=context.host)


def shortened(native: NativeResult, longest: int | None) -> NativeResult:
    """A result of at most so many characters: its beginning and its end, and how much is missing between."""
    if longest is None:
        return native
    content = native.content
    if isinstance(content, str):
        return native if len(content) <= longest else msgspec.structs.replace(native, content=_short(content, longest))
    pieces = tuple(_short(piece, longest) if isinstance(piece, str) else piece for piece in content)
    return msgspec.structs.replace(native, content=pieces) if pieces != content else native


def _short(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    tail = longest - head
    missing = len(text) - longest
    return f"{text[:head]}\n[… {missing} characters left out here: a result is at most {longest} …]\n{text[-tail:]}"


def _chance() -> float:
    import random

    return random.random()
