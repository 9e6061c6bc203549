"""One run of an `Orchestrator`: asks the model, runs the calls it makes, and returns the results to it.

`Running.conversation` can be sent to any provider at any moment, also after the run was cancelled or interrupted.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Generic, Protocol

import msgspec

from dragoman.apis import is_too_long
from dragoman.dialects import DIALECTS
from dragoman.errors import DragomanError, EngineError, LimitReached
from dragoman.model import (
    Call,
    ExecutedBy,
    Failure,
    NativeCall,
    Result,
    conversation as conv,
    events as ev,
    operations as op,
    request as req,
    user as user_message,
)
from dragoman.model.conversation import answered
from dragoman.registry import TOOLS
from dragoman.tools import Context, ProviderTool, Tool
from dragoman.tools.web import PageReader, SearchBackend

from .approval import Answer, Approvals, Approver, is_standard, why_no_answers
from .event_stream import EventStream, Item
from .executor import Executor, Hooks, Metrics, Waiting, opened_context
from .history.files_read import note_files_read
from .history.shortening import (
    SUMMARISE,
    Room,
    ending,
    old_results,
    summarised,
    without_results,
)
from .logged import log_listener
from .loop import EMPTY, Ask, Revised, Run, Steps, by_client, missing_call, tool_loop, unanswered
from .offer import Note
from .options import notes_on_options
from .page_reader import ModelReader
from .respeak import respoken
from .run_result import RunResult, Status
from .spending import ACCOUNT, Charged, Spending, ask_beside
from .typed_output import FinalOutput, GrowingAnswer, Output, OutputT
from .web_search import own_search

if TYPE_CHECKING:
    from dragoman.config import Price, Sandbox
    from dragoman.dialects import Dialect
    from dragoman.model import Thinking
    from dragoman.tools import Toolset, Web, Workspace

    from .engine import Engine
    from .facade import Facade
    from .policy import ToolPolicy
    from .task_guard import TaskGuard

_REFUSALS = 2
"""How often a conversation is shortened because the provider refused its length, before the run gives up."""

Pause = Callable[["Running"], "Awaitable[bool | None] | bool | None"]
"""Step mode: asked before each round and before tools run; False ends the run there."""

Proceed = Callable[["Setup", conv.Message, RunResult], Awaitable[RunResult]]
"""Says something more to the model, with this setup, after a result."""


class Setup(Protocol):
    """What a run takes from its caller: an `Orchestrator` has all of it, and says what each is."""

    engine: Engine
    model: str
    policy: ToolPolicy
    hooks: Hooks
    approver: Approver | None
    approvals: Approvals
    pause: Pause | None
    hidden: Callable[[], Collection[str]] | None
    emit: Callable[[ev.AnyEvent], None] | None
    workspace: Workspace | None
    context: Context | None
    sandbox: Sandbox | None
    web: Callable[[], Web]
    thinking: Thinking | None
    cache: bool
    options: dict[str, Any]
    settings: dict[str, Any]
    window: int | None
    prices: tuple[Price, ...]
    notes: tuple[Note, ...]
    guard: bool
    output: Output | None

    @property
    def provider(self) -> str: ...

    @property
    def reads_pages(self) -> bool: ...

    def facade_of(self, provider_tools: Sequence[ProviderTool] = ()) -> Facade: ...

    def facade_for(self, dialect: Dialect, toolset: Toolset, limits: req.Limits) -> Facade: ...

    def start(
        self,
        prompt: conv.Message,
        *,
        history: conv.Conversation,
        provider_tools: Sequence[ProviderTool],
        observe: Callable[[req.AnyChunk], None] | None,
        run_id: str,
        stream: bool,
    ) -> Running: ...

    async def settled(self, result: RunResult, proceed: Proceed) -> RunResult: ...


class Running(Generic[OutputT]):
    """One run. Await `result()`, or iterate for chunks and events; `conversation` can be sent at any time."""

    def __init__(
        self,
        setup: Setup,
        conversation: conv.Conversation,
        facade: Facade,
        *,
        provider_tools: Sequence[ProviderTool],
        answers: dict[str, Answer],
        observe: Callable[[req.AnyChunk], None] | None,
        emit: Callable[[ev.AnyEvent], None] | None,
        id: str,
        stream: bool,
    ) -> None:
        self.id, self.facade = id, facade
        self._provider_tools = provider_tools
        self.rounds = 0
        self._rounds_before = 0
        self._spending = Spending(setup.policy, setup.provider, setup.model, setup.prices)
        self._room = Room(setup.window, setup.settings.get("max_output_tokens"))
        self.metrics: dict[str, Metrics] = {}
        self.notes: tuple[Note, ...] = ()
        self._setup, self._answers, self._observe = setup, answers, observe
        self._events = EventStream(id, (setup.emit, emit, log_listener()))
        self._stream = stream or observe is not None
        self._executor: Executor | None = None
        self._guard: TaskGuard | None = None
        self._callable: frozenset[str] | None = None
        """Names of the tools the model may call in this round, as it knows them; `None`: all."""
        self._end: asyncio.Future[RunResult[OutputT]] | None = None
        self._settles = setup.output is not None
        """Whether it makes a typed answer of what the model said."""
        self._given = conversation
        self.doubtful: frozenset[str] = frozenset()
        """Ids of calls that an earlier process had begun: they may have had their effect."""
        self._known: frozenset[int] = frozenset()
        self._done: list[Call] = []
        """The calls of the last round that did not fail."""
        self._resumed = False
        self.conversation, more = respoken(conversation, facade, self._speaker)
        self.notes += more
        self._unanswerable = self._note_unanswerable()
        self._settings = {
            "model": setup.model,
            "definitions": facade.definitions,
            "parallel": setup.policy.parallel,
            "thinking": setup.thinking,
            "stream": self._stream,
            "cache": setup.cache,
            "provider_options": setup.options,
            **setup.settings,
        }

    def __repr__(self) -> str:
        return f"<Running {self.id}: {self.rounds} rounds>"

    @property
    def usage(self) -> conv.Usage:
        """The tokens used so far."""
        return self._spending.usage

    @property
    def charged(self) -> list[Charged]:
        """The model and the tokens of each exchange so far."""
        return self._spending.charged

    def afford(self, model: str) -> None:
        """Raises if the limits of this run do not allow a tool to make another request to this model."""
        self._spending.check_limits()
        self._spending.check_price(model)

    def charge(self, model: str, usage: conv.Usage) -> None:
        """Counts a request that was made for this run outside its conversation."""
        self._spending.charge(model, usage)
        self._events.emit(ev.TokensUsed, usage=usage, model=model, cost=self._spending.last_cost)

    def _speaker(self, dialect: str) -> Facade:
        """The facade an earlier part of the conversation was led through."""
        own = self._setup
        return own.facade_for(DIALECTS[dialect], self.facade.toolset, req.Limits())

    def goes_on(self, history: conv.Conversation, recorded: Sequence[ev.AnyEvent]) -> None:
        """Makes it the continuation of a record: no event is emitted again, and no id is used again."""
        begun = _begun(recorded)
        # In other words a call may have become several, whose ids begin with its own.
        self.doubtful = frozenset(
            call.id
            for call in unanswered(self.conversation)
            if any(call.id == id or call.id.startswith(f"{id}_") for id in begun)
        )
        self._known, self._resumed = frozenset(map(id, history)), bool(recorded)
        self._events.count = len(recorded)

    def counts_from(self, recorded: Sequence[ev.AnyEvent]) -> None:
        """Makes the limits of this run include what the record says was used since the user's last message."""
        self._rounds_before, before = 0, list[Charged]()
        for event in recorded:
            if (isinstance(event, ev.UserSaid) and event.by == "user") or (
                isinstance(event, ev.SessionEnded) and event.reason == "limited" and event.stream == "main"
            ):
                self._rounds_before, before = 0, []  # to continue after a limit is a decision to go on
            elif isinstance(event, ev.ModelAsked) and event.stream == "main":
                self._rounds_before += 1
            elif isinstance(event, ev.TokensUsed):
                before.append((self._spending.name_of(event.model), event.usage))
        self._spending.before = before

    # ── driving ────────────────────────────────────────────────────────────

    async def result(self) -> RunResult[OutputT]:
        """Runs to completion. An error of the engine is raised; `conversation` then holds the messages so far.

        Once the run has ended, further calls return the same result.
        """
        if self._end is not None:  # whoever asked first drives the run; the others hear of its end
            return await asyncio.shield(self._end)
        self._end = end = asyncio.get_running_loop().create_future()
        try:
            result = await self._run()
            if self._settles:
                result = await self._settled(result)
        except asyncio.CancelledError:
            end.cancel()
            raise
        except BaseException as error:
            end.set_exception(error)
            end.exception()  # looked at, so that nobody complains when nobody else asked
            raise
        end.set_result(result)
        return result

    async def _settled(self, result: RunResult[OutputT]) -> RunResult[OutputT]:
        """The result with its typed answer, which the model is asked for again while it does not fit."""
        result = await self._setup.settled(result, self._proceed)
        self.conversation = result.conversation
        if result.status == "completed":
            self._events.show(FinalOutput(result.output))
        return result

    async def _proceed(self, setup: Setup, message: conv.Message, so_far: RunResult) -> RunResult:
        """Continues this conversation with another message: for listeners it is the same run."""
        more = setup.start(
            message,
            history=so_far.conversation,
            provider_tools=self._provider_tools,
            observe=self._observe,
            run_id=self.id,
            stream=self._stream,
        )
        more._events, more._known, more._resumed = self._events, frozenset(map(id, so_far.conversation)), True
        more._spending.before = [*self._spending.before, *so_far.charged]
        more._settles = False
        return await more.result()

    async def _run(self) -> RunResult[OutputT]:
        own = self._setup
        self._spending.check_price()
        async with AsyncExitStack() as stack:
            stack.callback(ACCOUNT.reset, ACCOUNT.set(self))
            context = await self._context(stack)
            self._guard = guard = self._guarding(context)
            self._executor = executor = Executor(
                self.facade.toolset,
                own.policy,
                context,
                hooks=own.hooks,
                approver=own.approver,
                approvals=own.approvals,
                emit=self._events.tool if self._events.has_listeners else None,
                write=self._written,
                reconsider=self.facade.reconsidered,
                edit_rules=self.facade.edit_rules,
                answer=None if guard is None else guard.answer,
            )
            executor.doubtful = self.doubtful
            if context._workspace is not None:
                note_files_read(self.conversation, self.facade, context._workspace)
            self.metrics = executor.metrics
            self._tell_start()
            self._room.learn_from(self.conversation, self.offered)
            steps = tool_loop(
                self.conversation,
                own.policy,
                done=self._rounds_before,
                missing=self._missing_call,
                unfinished=lambda _: None if guard is None else guard.reminder(),
            )
            try:
                result = await self._driven(steps, executor)
            except LimitReached as error:
                result = self._ended("limited", error=error)
            except EngineError as error:
                error.conversation = self.conversation
                self._events.emit(ev.ErrorOccurred, message=error.message, status=error.status, code=error.code)
                self._events.emit(ev.SessionEnded, reason="failed", message=str(error))
                raise
            except asyncio.CancelledError:
                if executor.interrupted:
                    self.conversation = answered(self.conversation, _results(executor.interrupted))
                self._events.emit(ev.SessionEnded, reason="cancelled")
                raise
            except Exception as error:
                self._events.emit(ev.SessionEnded, reason="failed", message=f"{type(error).__name__}: {error}")
                raise
            finally:
                steps.close()
                await executor.forget_early()
            reason = {"waiting": "interrupted", "stopped": "interrupted"}.get(result.status, result.status)
            self._events.emit(
                ev.SessionEnded,
                reason=reason,
                message=_closing(result) if result.error is None else _message(result.error),
            )
            return result

    async def _context(self, stack: AsyncExitStack) -> Context:
        own, toolset = self._setup, self.facade.toolset
        return await opened_context(
            stack,
            toolset,
            workspace=own.workspace,
            context=own.context,
            run=self.id,
            sandbox=own.sandbox,
            web=own.web,
            provides=self._services(),
        )

    def _services(self) -> dict[Any, Any]:
        """What the tools of this run have from its model: the provider's own search, and a reader of pages."""
        own = self._setup
        search = own_search(own.policy, own.engine, own.model)
        services: dict[Any, Any] = {} if search is None else {SearchBackend: search}
        if own.reads_pages:
            services[PageReader] = ModelReader(lambda: (own.engine, own.model))
        return services

    def _guarding(self, context: Context) -> TaskGuard | None:
        """What holds this run to its task, where that is wanted."""
        if not self._setup.guard or not self.facade.definitions:
            return None
        from .task_guard import TaskGuard  # its patterns take a moment to compile, and few runs need them

        last = self.conversation[-1]
        text = next((part.text for part in last.parts if isinstance(part, conv.TextPart)), "")
        return TaskGuard(text, context._workspace, begun=last.role != "user")

    async def _driven(self, steps: Steps, executor: Executor) -> RunResult:
        wanted: Ask | Run = next(steps)
        while True:
            self._spending.check_limits()
            if not await self._go_on():
                return self._ended("stopped")
            answer: conv.Reply | conv.Message
            if isinstance(wanted, Ask):
                wanted, answer = await self._asked_shortened(wanted, steps, executor)
                self.conversation = (*wanted.conversation, answer)
            else:
                try:
                    answer = await self._ran(wanted, executor)
                except Waiting as waiting:
                    if waiting.results:
                        self.conversation = answered(self.conversation, _results(waiting.results))
                    return self._ended("waiting", waiting=waiting.calls)
                self.conversation = answered(self.conversation, answer)
                if executor.aborted is not None:
                    failure = next(one for one in executor.aborted.outcomes if isinstance(one, Failure))
                    return self._ended("failed", error=failure)
                if self._guard is not None and self._guard.circles:
                    return self._ended("limited", error=self._guard.circled())
            try:
                wanted = steps.send(answer)
            except StopIteration as stop:
                self.conversation = stop.value
                self._note_empty_end()
                return self._completed()
            if self._done and isinstance(wanted, Ask):
                wanted = await self._reminded(wanted, steps)
            if isinstance(wanted, Ask) and wanted.conversation[-1].role == "user":  # the loop's own words, or a hook's
                self.conversation = wanted.conversation
                self._events.user_said(wanted.conversation[-1])

    async def _reminded(self, ask: Ask, steps: Steps) -> Ask:
        """The same question, after what a hook has to say about the calls that were just made."""
        remind, done, self._done = self._setup.hooks.remind, self._done, []
        assert remind is not None
        said: Any = remind(done, ask.conversation)
        words = await said if hasattr(said, "__await__") else said
        if not words:
            return ask
        revised = steps.send(Revised((*ask.conversation, by_client(words))))
        assert isinstance(revised, Ask)
        return revised

    def _missing_call(self, choice: req.ToolChoice, reply: conv.Reply) -> str | None:
        """As `missing_call`, with the model's names; nothing is missing where no tool that runs here is offered."""
        if not self.facade.definitions or not any(isinstance(tool, Tool) for tool in self.facade.toolset):
            return None
        return missing_call(self.facade.choice(choice), reply)

    def _note_empty_end(self) -> None:
        last = self.conversation[-1]
        if isinstance(last, conv.Reply) and last.finish is conv.FinishReason.STOP and last.is_empty:
            again = len(self.conversation) > 1 and self.conversation[-2].parts == user_message(EMPTY).parts
            when = " after the tool results, also when asked to continue" if again else ""
            self.notes += (Note("reply", f"the model's last reply is empty{when}"),)

    async def _go_on(self) -> bool:
        pause = self._setup.pause
        if pause is None:
            return True
        said: Any = pause(self)
        return (await said if hasattr(said, "__await__") else said) is not False

    def _completed(self) -> RunResult:
        """The model calls it done. Whether it is says the guard, where there is one."""
        result = self._ended("completed")
        if result.report is None or not result.report.problems:
            return result
        error = Failure("failed", "; ".join(result.report.problems))
        return msgspec.structs.replace(result, status="failed", error=error)

    def _ended(
        self,
        status: Status,
        *,
        waiting: tuple[Call, ...] = (),
        error: DragomanError | Failure | None = None,
    ) -> RunResult:
        reply = next((item for item in reversed(self.conversation) if isinstance(item, conv.Reply)), None)
        return RunResult(
            self.id,
            status,
            reply.text if reply is not None else "",
            self.conversation,
            reply,
            self.usage,
            self.rounds,
            waiting,
            error,
            self.metrics,
            (*self._setup.notes, *self.facade.notes, *self.notes),
            tuple(self.charged),
            self._setup.prices,
            report=None
            if self._guard is None
            else self._guard.report("" if reply is None else reply.text, called_done=status == "completed"),
        )

    # ── asking ─────────────────────────────────────────────────────────────

    def request(self, ask: Ask) -> req.Request:
        """What is asked of the model in this round."""
        self._offer_anew()
        choice = ask.choice
        if not self.facade.definitions:
            choice = msgspec.structs.replace(choice, mode="auto", names=(), required=False)
        choice = self.facade.choice(choice)
        settings = self._offered_now()
        self._callable = frozenset(choice.names) if choice.mode in ("none", "one", "subset") else None
        own = self._setup
        if choice.mode == "subset" and "subset" not in own.engine.features(own.model).choices:
            # An API that cannot be told so is offered no others.
            settings = {**settings, "definitions": self.facade.offered(choice.names)}
            choice = req.ToolChoice("required" if choice.required else "auto")
        return req.Request(conversation=ask.conversation, choice=choice, **settings)

    def _note_unanswerable(self) -> str | None:
        """The standard tool by which a model asks the user, where no answer is possible: it is not offered."""
        reason = why_no_answers(self._setup.approver)
        if reason is None or TOOLS["ask_user"] not in self.facade.toolset.list():
            return None
        asking = [tool for tool in self.facade.toolset if isinstance(tool, Tool) and tool.operation is op.AskUser]
        if not is_standard(asking[0]):
            return None
        self.notes += (Note(asking[0].name, f"it is not offered: {reason}"),)
        return asking[0].name

    def _offer_anew(self) -> None:
        """Follows the toolset, which may change between rounds: the tools of a server come and go."""
        facade = self._setup.facade_of(self._provider_tools)
        if facade is not self.facade:
            self.facade = facade
            self._settings["definitions"] = facade.definitions
            if self._executor is not None:
                self._executor.offer(facade.toolset, facade.reconsidered, facade.edit_rules)

    @property
    def offered(self) -> tuple[req.Definition, ...]:
        """The tools as the model is offered them now."""
        definitions: tuple[req.Definition, ...] = self._offered_now()["definitions"]
        return definitions

    def _offered_now(self) -> dict[str, Any]:
        own = self._setup
        hidden = [*(own.hidden() if own.hidden is not None else ())]
        if self._unanswerable is not None:
            hidden.append(self._unanswerable)
        if not hidden:
            return self._settings
        names = self.facade.choice(req.ToolChoice("subset", tuple(hidden))).names
        shown = tuple(one.name for one in self.facade.definitions if one.name and one.name not in names)
        return {**self._settings, "definitions": self.facade.offered(shown)}

    async def _asked_shortened(self, ask: Ask, steps: Steps, executor: Executor) -> tuple[Ask, conv.Reply]:
        """The model's reply; to a shorter conversation, where this one is longer than the model takes."""
        refused = 0
        while True:
            error: EngineError | None = None
            can_be = any(isinstance(item, conv.Reply) for item in ask.conversation)
            if not can_be or not self._room.is_full(self._room.tokens(ask.conversation, self.offered)):
                try:
                    return ask, await self._asked(ask, executor)
                except EngineError as raised:
                    refused += 1
                    if not is_too_long(raised) or refused > _REFUSALS:
                        raise
                    error = raised
            wanted = steps.send(Revised(await self._shortened(ask, error)))
            assert isinstance(wanted, Ask)
            ask = wanted

    async def _shortened(self, ask: Ask, refused: EngineError | None = None) -> conv.Conversation:
        """A conversation that the model takes: without its oldest results, or a summary instead of all of it.

        `refused` is what the provider said of a request that was not expected to be too long.
        """
        room, offered = self._room, self.offered
        before = room.tokens(ask.conversation, offered)
        if refused is not None:
            room.was_refused(before)
        old = old_results(ask.conversation)

        def leaves_room(removed: int) -> int:
            return int(room.is_roomy(room.tokens(without_results(ask.conversation, removed), offered)))

        removed = min(old, bisect_left(range(old + 1), 1, key=leaves_room))  # as few as possible
        shorter = without_results(ask.conversation, removed)
        after = room.tokens(shorter, offered)
        if after < before and not room.is_full(after):
            self._compacted(shorter, removed=removed, tokens_before=before, tokens_after=after)
            return shorter
        return await self._summarised(shorter, before)

    async def _summarised(self, conversation: conv.Conversation, before: int) -> conv.Conversation:
        room, offered = self._room, self.offered
        readable = ending(without_results(conversation, len(conversation)), offered, room)
        question = (*readable, user_message(SUMMARISE))
        if room.is_full(room.tokens(question, offered)):
            raise room.too_small()
        features = self._setup.engine.features(self._setup.model)
        choice = req.ToolChoice("none" if "none" in features.choices else "auto")
        request = self.request(Ask(question, self.rounds, choice))
        reply = await ask_beside(self._setup.engine, msgspec.structs.replace(request, stream=False))
        if not reply.text.strip():
            raise room.too_small()
        shorter = summarised(conversation, reply.text.strip())
        after = room.tokens(shorter, offered)
        if room.is_full(after):
            raise room.too_small()
        self._compacted(shorter, summary=reply.text.strip(), tokens_before=before, tokens_after=after)
        return shorter

    def _compacted(self, conversation: conv.Conversation, **facts: Any) -> None:
        self.conversation = conversation
        self._events.emit(ev.ContextCompacted, trigger="auto", **facts)

    async def _asked(self, ask: Ask, executor: Executor) -> conv.Reply:
        self.rounds = self._events.step = ask.round
        await executor.forget_early()  # of a reply whose calls were not to be run
        request = self.request(ask)
        own = self._setup
        engine = own.engine
        self.facade.lowering = engine.lowering(request)
        if ask.round == 1:
            self._note_losses(request)
        if self._events.has_listeners:
            names = tuple(definition.name for definition in request.definitions if definition.name)
            self._events.emit(
                ev.ModelAsked,
                model=request.model,
                offered=names,
                streamed=request.stream,
                json=request.response_schema is not None,
                seed=request.seed,
            )
        try:
            reply = await engine.ask(request, self._watch(executor) if self._stream else None)
        except BaseException:
            await executor.forget_early()
            raise
        made_by = msgspec.structs.replace(reply.provenance, dialect=self.facade.dialect.name)
        reply = msgspec.structs.replace(reply, provenance=made_by)
        self._spending.count(reply)
        self._room.learn(request.conversation, request.definitions, reply)
        if self._events.has_listeners:
            await self._events.replied(reply, self.facade, own.hooks, self._spending.last_cost)
        return reply

    def _note_losses(self, request: req.Request) -> None:
        """Notes what of a conversation with another model does not travel to this one, and what options replace."""
        own = self._setup
        models = {item.provenance.model for item in request.conversation if item.provenance is not None}
        moved = not models <= {None, request.model}
        if not (moved or own.options or getattr(own.engine, "options", None)):
            return
        encoded = own.engine.prepare(request)
        if encoded is None:
            return
        lost = [remark for remark in encoded.report if moved and remark.where.startswith("conversation")]
        self.notes += tuple(Note(remark.where, remark.message) for remark in lost) + notes_on_options(encoded)

    def _watch(self, executor: Executor) -> Callable[[req.AnyChunk], bool | None] | None:
        """What sees the chunks: the caller, the iteration, and whatever may begin before the reply has ended."""
        observe, events, early = self._observe, self._events, self._setup.policy.early
        if not early and not events.iterated:
            return observe or _nobody
        output = self._setup.output
        by_tool = "response_schema" not in self._setup.settings
        answer = None if output is None else GrowingAnswer(output, by_tool=by_tool)

        def watch(chunk: req.AnyChunk) -> bool | None:
            if observe is not None:
                observe(chunk)
            events.show(chunk)
            if answer is not None and (grown := answer.feed(chunk)) is not None:
                events.show(grown)
            if early and isinstance(chunk, req.CallFinished) and chunk.call.executed_by is ExecutedBy.CLIENT:
                return executor.start_early(self._read(chunk.call), step=self.rounds)
            return None

        return watch

    # ── running tools ──────────────────────────────────────────────────────

    def _read(self, native: NativeCall) -> Call:
        """A call with its meaning; one of a tool that was not to be called in this round is denied."""
        call = self.facade.read_call(native)
        if self._callable is None or native.name in self._callable or call.failure is not None:
            return call
        names = ", ".join(sorted(self._callable)) or "none"
        failure = Failure("denied", f'The tool "{native.name}" may not be called now; these may: {names}.')
        return msgspec.structs.replace(call, operations=(), failure=failure)

    async def _ran(self, run: Run, executor: Executor) -> conv.Message:
        calls = [self._read(native) for native in run.calls]
        if run.cut is not None:
            calls = [_cut(call) if call.id == run.cut else call for call in calls]
        if run.round == 0:
            hidden = _hidden(self.conversation)
            calls = [_unknown(call) if call.id in hidden else call for call in calls]
        # Answers are for calls that waited: one made later is another, whatever its id.
        answers = self._answers if run.round == 0 else None
        if self._guard is not None:
            await self._guard.before(calls)
        results = await executor.run(calls, step=run.round, answers=answers)
        if self._guard is not None:
            await self._guard.after(calls, results)
        if self._setup.hooks.remind is not None:
            ended = zip(calls, results, strict=True)
            self._done = [call for call, one in ended if not any(isinstance(each, Failure) for each in one.outcomes)]
        return _results(results)

    def _written(self, call: Call, result: Result) -> Result:
        """A result with the words the model is told it in."""
        return msgspec.structs.replace(result, native=self.facade.write_result(call, result.outcomes))

    # ── events ─────────────────────────────────────────────────────────────

    def _tell_start(self) -> None:
        dialect = self.facade.dialect.name
        self._events.emit(ev.SessionStarted, model=self._setup.model, dialect=dialect, resumed=self._resumed)
        if self._events.has_listeners:
            self._events.given([item for item in self._given if id(item) not in self._known])

    async def __aiter__(self) -> AsyncGenerator[Item[OutputT], None]:
        self._stream = self._settings["stream"] = True
        async with aclosing(self._events.during(self.result())) as items:
            async for item in items:
                yield item


def _begun(recorded: Sequence[ev.AnyEvent]) -> frozenset[str]:
    """Ids of the calls of the last reply that were begun and of whose end nothing is told. Several may share an id."""
    begun: Counter[str] = Counter()
    denied: Counter[str] = Counter()
    for event in recorded:
        if isinstance(event, ev.ModelFinished):
            begun.clear()
            denied.clear()
        elif isinstance(event, ev.ToolCalled):
            refused = event.decision is not None and event.decision.verdict == "denied"
            (denied if refused else begun)[event.call.id] += 1
        elif isinstance(event, ev.ToolReturned):
            (denied if denied[event.result.call_id] > 0 else begun)[event.result.call_id] -= 1
    return frozenset(id for id, times in begun.items() if times > 0)


def _results(results: Sequence[Result]) -> conv.Message:
    """Results as the one message that answers the calls of a turn."""
    return conv.Message(
        "tool", tuple(conv.ResultPart(result.native) for result in results if result.native is not None)
    )


def _nobody(chunk: req.AnyChunk) -> None:
    """Sees chunks on behalf of nobody."""


def _closing(result: RunResult) -> str | None:
    return None if result.report is None else result.report.summary


def _message(error: DragomanError | Failure) -> str:
    return error.message if isinstance(error, Failure) else str(error)


def _hidden(conversation: conv.Conversation) -> frozenset[str]:
    """Ids of the calls that a record shows otherwise than they were made."""
    calls = [part for item in conversation for part in item.parts if isinstance(part, conv.CallPart)]
    return frozenset(part.call.id for part in calls if "masked" in part.metadata.get("dragoman", {}))


def _unknown(call: Call) -> Call:
    message = "Its arguments were hidden in the record this run continues from, so it was not run. Make it again."
    return msgspec.structs.replace(call, operations=(), failure=Failure("failed", message, {"masked": True}))


def _cut(call: Call) -> Call:
    """A call that was cut off is not run: what is missing of it is not known, however well the rest reads."""
    message = "The call was cut off by the limit on output and was not run. Make it again, shorter."
    return msgspec.structs.replace(call, operations=(), failure=Failure("invalid_arguments", message, {"cut": True}))
