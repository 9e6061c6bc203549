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
from dragoman.model import Call, Decision, NativeResult, Result, operations as op, outcomes as out
from dragoman.tools import Answers, Cancellation, Context, Tool, Toolset, Web, standard_context
from dragoman.tools.processes import abandon, in_thread
from dragoman.tools.running import Postponed, enclosure_in, outcome_of, run_operation
from dragoman.tools.web import REDIRECTS

from .approval import Answer, Approvals, Approver, asked_by, decide, is_standard
from .path_rules import against, refused_changes, without_withheld
from .policy import ToolPolicy
from .rules import redirect_check, verdict_on
from .shown_files import note_shown_file

if TYPE_CHECKING:
    from dragoman.config import Sandbox
    from dragoman.model import AnyEvent, Conversation
    from dragoman.model.edit_rules import EditRules
    from dragoman.tools import Workspace

Emit = Callable[..., "AnyEvent | None"]


class Hooks(msgspec.Struct, frozen=True):
    """Functions of the caller that are called at certain points of a run. Each may be async.

    `before(call)` gives another call to run instead, a `Failure` to answer it with, or `None`. It never loosens a rule:
    it does not see a call that a rule denies, and the rules and the question are about the call it gives back;
    `mask(call)` gives the call as events and logs may show it (one that a record shows otherwise than it was, and that
    was still to be run, is not run when a run goes on from that record: the model is told to make it again);
    `after(call, result)` gives another result, or `None`;
    `should_retry(call, failure, attempt)` says whether a repeatable call is tried again;
    `remind(calls, conversation)` gives a text that the model gets after the results of these calls, or `None`; calls
    that failed are not among them.
    """

    before: Callable[[Call], Any] | None = None
    mask: Callable[[Call], Any] | None = None
    after: Callable[[Call, Result], Any] | None = None
    should_retry: Callable[[Call, out.Failure, int], Any] | None = None
    remind: Callable[[Sequence[Call], Conversation], Any] | None = None


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
        reconsider: Callable[[Call, Sequence[out.Outcome]], Call | None] | None = None,
        approvals: Approvals | None = None,
        answer: Callable[[Call], out.Outcome | None] | None = None,
        edit_rules: Callable[[Call], EditRules | None] | None = None,
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
        self._answer = answer or (lambda _: None)
        """Asked before a call is decided on: what it gives answers the call, which is not run then."""
        self._room = asyncio.Semaphore(policy.max_parallel)
        self._early: dict[str, Attempt] = {}
        self.offer(toolset, reconsider, edit_rules)

    def offer(
        self,
        toolset: Toolset,
        reconsider: Callable[[Call, Sequence[out.Outcome]], Call | None] | None = None,
        edit_rules: Callable[[Call], EditRules | None] | None = None,
    ) -> None:
        """Runs calls of these tools from now on.

        `edit_rules` are those of the vocabulary a call was made in.
        """
        self._reconsider = reconsider or (lambda *_: None)
        self.edit_rules = edit_rules or (lambda _: None)
        self._denied = {tool.name for tool in toolset if isinstance(tool, Tool) and not self.policy.allows(tool.name)}
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
        """The results of the calls, in order. Raises `Waiting` if some need a decision made elsewhere.

        `answers` decide calls that waited, by the digest of their question or by their id.
        """
        if answers:
            _check_unambiguous(answers, calls)
        attempts = [self._taken_early(call) or Attempt(self, call, step, answers or {}) for call in calls]
        waiting: list[Call] = []
        try:
            for group in _groups(attempts):
                if self.aborted is None:  # otherwise only what began while the reply still streamed has a result
                    for attempt in group:
                        attempt.start()
                await self._settled([attempt.task for attempt in group if attempt.task is not None])
                await _stop(group)
                errors = [attempt.error() for attempt in group]  # all are looked at
                for attempt, error in zip(group, errors, strict=True):
                    if isinstance(error, Waiting):
                        waiting.append(attempt.asked)
                    elif error is not None:
                        raise error  # a mistake of a hook or a listener, not of a tool
                    else:
                        attempt.end(_STOPPED)
        except asyncio.CancelledError:
            await _stop(attempts)
            self.interrupted = tuple(attempt.end(_INTERRUPTED) for attempt in attempts)
            raise
        finally:
            await _stop(attempts)
        known = tuple(attempt.ended for attempt in attempts if attempt.ended is not None)
        if waiting:
            raise Waiting(tuple(waiting), known)
        return known

    def start_early(self, call: Call, *, step: int) -> bool:
        """Starts a call before the reply is complete, if it only reads and can safely be repeated."""
        if call.id in self._early or self.aborted is not None:
            return False
        attempt = Attempt(self, call, step, {})
        if not attempt.tools or not all(
            tool.repeatable and not tool.sequential and _only_reads(tool) for tool in attempt.tools
        ):
            return False
        attempt.start()
        self._early[call.id] = attempt
        return True

    async def forget_early(self) -> None:
        """Stops calls that were started early for a reply that was interrupted or whose calls must not run."""
        if not self._early:
            return
        early, self._early = [*self._early.values()], {}
        await _stop(early)
        for attempt in early:
            attempt.error()

    def _taken_early(self, call: Call) -> Attempt | None:
        """What was begun early for this very call: another may have the same id."""
        early = self._early.get(call.id)
        if early is None:
            return None
        begun, native = early.asked.native, call.native
        if begun.name != native.name or begun.arguments != native.arguments:
            return None
        return self._early.pop(call.id)

    async def _settled(self, tasks: list[asyncio.Task[Result]]) -> None:
        """Waits for all, or until one failed in a way that ends the run."""
        if self.policy.on_error != "abort":  # none of them ends the run, and one wake-up does for all
            await _all_done(tasks)
            return
        pending: set[asyncio.Task[Result]] = set(tasks)
        while pending and self.aborted is None:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)

    # ── which tool ─────────────────────────────────────────────────────────

    def tools_of(self, call: Call) -> tuple[Tool, ...] | out.Failure:
        """The tool for each operation of a call, or a failure if one of them has no tool."""
        if call.failure is not None:
            return call.failure
        found: list[Tool] = []
        for operation in call.operations:
            tool = self._tool_of(operation)
            if isinstance(tool, out.Failure):
                return tool
            if tool.name in self._denied:
                return out.Failure("denied", f'The tool "{tool.name}" is not allowed in this run.', {"tool": tool.name})
            found.append(tool)
        return tuple(found)

    def _tool_of(self, operation: op.Operation) -> Tool | out.Failure:
        if isinstance(operation, op.CallFunction | op.Unrecognised):
            tool = self._functions.get(operation.name)
            if tool is not None:
                return tool
            hint = nearest(operation.name, self._functions)
            return out.Failure("unknown_tool", f'There is no tool "{operation.name}".{hint}', {"tool": operation.name})
        known = self._operations.get(type(operation))
        if isinstance(operation, op.CallMcpTool):
            known = self._served.get((operation.server, operation.tool), known)
        if known is not None:
            return known
        if isinstance(operation, op.CallMcpTool):
            message = f'There is no tool "{operation.tool}" of an MCP server "{operation.server}".'
            return out.Failure("unknown_tool", message, {"server": operation.server, "tool": operation.tool})
        tag = str(operation.__struct_config__.tag)
        return out.Failure("denied", f"This run has no tool to {tag.replace('_', ' ')}.", {"operation": tag})

    def _count(self, names: Iterable[str], result: Result, *, failed: bool) -> None:
        for name in names:
            metrics = self.metrics.get(name)
            if metrics is None:
                metrics = self.metrics[name] = Metrics()
            metrics.calls += 1
            metrics.errors += failed
            metrics.retries += result.retries
            metrics.seconds += result.duration or 0.0


class Attempt:
    """One call on its way: it is decided on, run, and told. Its tools are looked for once."""

    def __init__(self, executor: Executor, call: Call, step: int, answers: Mapping[str, Answer]) -> None:
        self._executor, self._step, self._answers = executor, step, answers
        self.asked = call
        """The call as the model made it; `call` is what is run, which a hook or its first outcome may change."""
        self.call = call
        found = executor.tools_of(call)
        self._refused: out.Failure | None = found if isinstance(found, out.Failure) else None
        self.tools: tuple[Tool, ...] = () if isinstance(found, out.Failure) else found
        self._given: tuple[out.Answer, ...] = ()
        self._retries = 0
        self._seconds = 0.0
        """How long it ran: neither a person's thinking about a question nor waiting for other calls counts."""
        self.task: asyncio.Task[Result] | None = None
        self.ended: Result | None = None

    # ── its task ───────────────────────────────────────────────────────────

    def start(self) -> None:
        """Begins it beside the others, unless it was begun already."""
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._made())

    def error(self) -> BaseException | None:
        return _error_of(self.task)

    def end(self, otherwise: str) -> Result:
        """What it gave; one that was stopped, or never begun, says so."""
        if self.ended is None:
            task = self.task
            if task is not None and task.done() and not task.cancelled() and task.exception() is None:
                self.ended = task.result()
            else:
                started = self.asked.id in self._executor.started
                done = " Changes made before it was stopped remain." if started else " It was not begun."
                failures = self._for_each(out.Failure("cancelled", otherwise + done))
                self.ended = self._written(Result(self.call.id, failures, 0.0), failed=True)
        return self.ended

    async def _made(self) -> Result:
        """Decides, runs and tells."""
        executor = self._executor
        # Providers count anew, so a call of a later step may have the id of one that was begun.
        doubtful = self._step == 0 and self.call.id in executor.doubtful
        if doubtful and not all(tool.repeatable for tool in self.tools):
            return await self._tell(self._for_each(out.UnknownOutcome(_BROKE_OFF)))
        answer = executor._answer(self.call) if self._refused is None else None
        decision = await self._decide() if self._refused is None and answer is None else None
        shown = self.call if executor.hooks.mask is None else await masked(self.call, executor.hooks)
        if executor._emit is not None:
            executor._emit("called", call=shown, decision=decision, call_id=self.call.id, step=self._step)
        if self._refused is not None:
            return await self._tell(self._for_each(self._refused))
        if answer is not None:
            return await self._tell(self._for_each(answer))
        try:
            outcomes = await self._run()
        except Postponed:
            raise Waiting((self.call,)) from None
        if _failed(outcomes):
            other = executor._reconsider(self.call, outcomes)
            outcomes = outcomes if other is None else await self._instead(other, outcomes)
        return await self._tell(outcomes)

    def _for_each(self, outcome: out.Outcome) -> tuple[out.Outcome, ...]:
        return (outcome,) * max(1, len(self.call.operations))

    # ── deciding ───────────────────────────────────────────────────────────

    async def _decide(self) -> Decision:
        """Whether it may be run; the user's answers to what it asks are kept for its tool.

        The hook comes first, so that the rules and the question are about the call that would really be run; but it
        never sees a call that a rule denies.
        """
        executor = self._executor
        policy, workspace = executor.policy, executor._context._workspace
        judged = verdict_on(self.call, self.tools, policy, workspace)
        if executor.hooks.before is not None and judged[0] != "deny":
            changed = await _awaited(executor.hooks.before(self.call))
            if isinstance(changed, out.Failure):
                self._refused = changed
                return Decision("denied", by="hook", reason=changed.message)
            if changed is not None:
                self.call, found = changed, executor.tools_of(changed)
                if isinstance(found, out.Failure):
                    self._refused = found
                    return Decision("denied", by="policy", reason=found.message)
                self.tools = found
                judged = verdict_on(changed, found, policy, workspace)
        decided = await decide(
            self.call,
            self.tools,
            judged,
            executor.approver,
            self._answers,
            workspace,
            executor.approvals,
            executor._enclosure,
            executor.edit_rules(self.call),
        )
        if decided is None:
            raise Waiting((self.call,))
        decision, self._given = decided
        if decision.verdict == "denied":
            words = _unanswered if asked_by(self.call, self.tools) else _denied
            details = {"rule": decision.rule, "reason": decision.reason}
            self._refused = out.Failure("denied", words(decision), details)
        return decision

    async def _instead(self, other: Call, outcomes: tuple[out.Outcome, ...]) -> tuple[out.Outcome, ...]:
        """Runs what it turned out to mean, if that is allowed too; where no tool does it, the first outcome stays.

        It is the same call of the model's, so there is no second event of a call: what came of it says what was done.
        """
        tools = self._executor.tools_of(other)
        if isinstance(tools, out.Failure):
            return outcomes
        self.call, self.tools = other, tools
        await self._decide()
        if self._refused is not None:
            return self._for_each(self._refused)
        self._report(f"It is meant otherwise: {', '.join(tool.name for tool in self.tools)}")
        return await self._run()

    # ── running ────────────────────────────────────────────────────────────

    async def _run(self) -> tuple[out.Outcome, ...]:
        """What running it gave; it is run again where that is allowed and helps."""
        executor = self._executor
        policy = executor.policy
        repeatable = policy.on_error == "retry" and all(tool.repeatable for tool in self.tools)
        most = policy.retry.times if repeatable else 0
        async with executor._room:
            if executor.aborted is not None:
                raise asyncio.CancelledError  # it had waited for its turn, and there is none any more
            began = time.perf_counter()
            for attempt in range(most + 1):
                outcomes = await self._run_once()
                if attempt == most:
                    break
                failure = next((one for one in outcomes if isinstance(one, out.Failure)), None)
                if failure is None or failure.kind not in ("failed", "timed_out"):
                    break
                if executor._reconsider(self.call, outcomes) is not None:
                    break  # doing the same again would not help
                wanted = executor.hooks.should_retry
                if wanted is not None and not await _awaited(wanted(self.call, failure, attempt + 1)):
                    break
                await asyncio.sleep(policy.retry.wait(attempt + 1, chance=_chance()))
        self._seconds += time.perf_counter() - began
        self._retries += attempt
        return outcomes

    async def _run_once(self) -> tuple[out.Outcome, ...]:
        """Runs it once, to its deadline. A plain function that goes on past it is left to itself."""
        cancellation = Cancellation()
        context = self._context(cancellation)
        seconds = _deadline(self.tools, self._executor.policy.timeout)
        self._executor.started.add(self.call.id)
        # A task of its own: a tool that does not let itself be cancelled delays nobody beyond a moment of grace.
        running = asyncio.get_running_loop().create_task(self._performed(context))
        try:
            await _all_done([running], seconds)
            waited = 0.0
            while not running.done() and (now := context.user_seconds) > waited:
                # A person was asked meanwhile: what that took is given on top, at least a moment at a time.
                more, waited = max(now - waited, _MOMENT), now
                await _all_done([running], more)
        except asyncio.CancelledError:
            await _ended(running, cancellation, "the run was cancelled")
            raise
        if not running.done():
            await _ended(running, cancellation, "it took too long")
            repeatable = all(tool.repeatable for tool in self.tools)
            done = "" if repeatable else " Changes made before it was stopped remain."
            failure = out.Failure("timed_out", f"It was stopped after {seconds:g} seconds.{done}", {"seconds": seconds})
            return self._for_each(failure)
        if running.cancelled():
            return self._for_each(out.Failure("cancelled", "The tool cancelled itself."))
        return running.result()

    async def _performed(self, context: Context) -> tuple[out.Outcome, ...]:
        operations = self.call.operations
        if len(self.tools) == 1:
            return (await self._one_performed(operations[0], self.tools[0], context),)
        if all(_changes_files(tool) for tool in self.tools):
            return await _as_one(operations, context)
        outcomes: list[out.Outcome] = []
        for operation, tool in zip(operations, self.tools, strict=True):
            outcomes.append(await self._one_performed(operation, tool, context))
        return tuple(outcomes)

    async def _one_performed(self, operation: op.Operation, tool: Tool, context: Context) -> out.Outcome:
        policy = self._executor.policy
        if hasattr(operation, "url"):
            # Each call runs in a task of its own, so this holds for it alone.
            REDIRECTS.set(redirect_check(operation, tool, policy, context._workspace))
        keeps = against(operation, tool, policy, context._workspace)
        if keeps is None:
            outcome = await _outcome(operation, tool, context)
            note_shown_file(self.call, outcome, context.edit_rules, context._workspace)
            return outcome
        if isinstance(operation, op.RewriteCode) and not operation.preview:
            planned = await _outcome(msgspec.structs.replace(operation, preview=True), tool, context)
            refused = refused_changes(planned, keeps)
            if refused is not None:
                return refused
        return without_withheld(await _outcome(operation, tool, context), keeps)

    def _context(self, cancellation: Cancellation) -> Context:
        base, loop, here = self._executor._context, asyncio.get_running_loop(), threading.get_ident()

        def told(tell: Callable[..., None], *said: Any) -> None:
            if cancellation.cancelled:
                return  # what was given up has nothing more to say
            if threading.get_ident() == here:
                tell(*said)
            else:  # whoever listens does so in the loop's own thread
                loop.call_soon_threadsafe(tell, *said)

        return Context(
            workspace=base._workspace,
            run=base.run,
            turn=base.turn,
            step=self._step,
            call_id=self.call.id,
            cancellation=cancellation,
            report=partial(told, self._report),
            host=base.host,
            note=partial(told, self._note),
            provides={**base.provides, Answers: Answers(self._given)} if self._given else base.provides,
            edit_rules=self._executor.edit_rules(self.call),
        )

    # ── telling ────────────────────────────────────────────────────────────

    async def _tell(self, outcomes: tuple[out.Outcome, ...]) -> Result:
        executor = self._executor
        result = Result(self.call.id, outcomes, self._seconds, self._retries)
        if executor.hooks.after is not None:
            result = await _awaited(executor.hooks.after(self.call, result)) or result
        failed = _failed(result.outcomes)
        result = self._written(result, failed=failed)
        if failed and executor.policy.on_error == "abort" and executor.aborted is None:
            executor.aborted = result
        return result

    def _written(self, result: Result, *, failed: bool) -> Result:
        """The result in the model's words, at most as long as it may be; it is counted, and an event says it."""
        executor, call = self._executor, self.call
        result = executor._write(call, result)
        names = {tool.name for tool in self.tools}
        if result.native is not None:
            native = shortened(result.native, executor.policy.longest_result(call.native.name, *names))
            if native is not result.native:
                result = msgspec.structs.replace(result, native=native)
        executor._count(names or (call.native.name,), result, failed=failed)
        if executor._emit is not None:
            executor._emit("returned", result=result, call_id=call.id)
        return result

    def _report(self, message: str, fraction: float | None = None) -> None:
        if self._executor._emit is not None:
            self._executor._emit("progressed", message=message, fraction=fraction, call_id=self.call.id)

    def _note(self, name: str, data: dict[str, Any]) -> None:
        if self._executor._emit is not None:
            self._executor._emit("noted", name=name, data=data, call_id=self.call.id)


def _groups(attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    """Those that may run beside one another; one that must run alone is a group of its own."""
    groups: list[list[Attempt]] = [[]]
    for attempt in attempts:
        if any(tool.sequential for tool in attempt.tools):
            groups += [[attempt], []]
        else:
            groups[-1].append(attempt)
    return [group for group in groups if group]


_BROKE_OFF = "the run was interrupted during this call, so it is not known whether the call took effect: check first"


async def _outcome(operation: op.Operation, tool: Tool, context: Context) -> out.Outcome:
    if tool.operation is not None:
        return await outcome_of(lambda: run_operation(tool, operation, context))
    assert isinstance(operation, op.CallFunction | op.CallMcpTool | op.Unrecognised)
    arguments = operation.arguments
    return await outcome_of(lambda: tool.call(arguments, context))


def _changes_files(tool: Tool) -> bool:
    """Whether it is our own tool for one change of a file: then several are one transaction."""
    return tool.operation in _CHANGES and is_standard(tool)


_CHANGES = (op.WriteFile, op.EditFile, op.InsertText, op.ReplaceLines, op.DeleteFile, op.MoveFile)


async def _as_one(operations: tuple[op.Operation, ...], context: Context) -> tuple[out.Outcome, ...]:
    """Several changes of files, all or none."""
    apply = partial(context.workspace.apply, rules=context.edit_rules)
    done = await outcome_of(lambda: in_thread(apply, operations, to_its_end=True))
    if isinstance(done, out.ChangesOutcome) and len(done.changes) == len(operations):
        return tuple(out.ChangesOutcome((change,), done.preview) for change in done.changes)
    return (done,) * len(operations)


def _deadline(tools: tuple[Tool, ...], default: float | None) -> float | None:
    """The sum of what each tool may take; without an end when one of them is."""
    total = 0.0
    for tool in tools:
        seconds = default if tool.timeout is None else tool.timeout
        if seconds is None:
            return None
        total += seconds
    return total


def _only_reads(tool: Tool) -> bool:
    return tool.kind in (op.Kind.READ, op.Kind.SEARCH)


def _failed(outcomes: tuple[out.Outcome, ...]) -> bool:
    for outcome in outcomes:  # noqa: SIM110 - asked of every call, and a generator is two more Python calls
        if isinstance(outcome, out.Failure):
            return True
    return False


def _denied(decision: Decision) -> str:
    why = decision.reason or decision.rule
    return f"This call was not allowed{f': {why}' if why else ''}. Do not try it again; find another way, or ask."


def _unanswered(decision: Decision) -> str:
    why = f": {decision.reason}" if decision.reason else ""
    return f"The user did not answer{why}. Continue without the answer, and say what you assumed."


_STOPPED = "It was stopped because another call of the same turn failed."
_INTERRUPTED = "It was stopped because the run was cancelled."
_MOMENT = 0.2
"""Seconds between two looks at a call that waits for a person beyond its time limit."""
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


def _check_unambiguous(answers: Mapping[str, Answer], calls: Sequence[Call]) -> None:
    """Raises when an answer could be meant for several calls that share an id."""
    times = Counter(call.id for call in calls)
    for id, answer in answers.items():
        # An answer with a digest names its call; a plain yes or no to one of two calls could allow the other.
        if times[id] > 1 and getattr(answer, "digest", None) is None:
            raise ConfigError(
                f"{times[id]} calls that wait have the id {id!r}, so an answer by id is ambiguous: "
                "give the answers by the digests of the questions (`Question.digest`)"
            )


def _error_of(task: asyncio.Task[Any] | None) -> BaseException | None:
    return None if task is None or task.cancelled() else task.exception()


async def _stop(attempts: Sequence[Attempt]) -> None:
    """Cancels those that still run, and waits for their end."""
    tasks = [attempt.task for attempt in attempts if attempt.task is not None and not attempt.task.done()]
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
