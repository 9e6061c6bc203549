"""Whole runs with one model: `Orchestrator` holds what they have in common, and each of them is a `Running`."""

from __future__ import annotations

import asyncio
import copy
import functools
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Generic, Unpack, overload

import msgspec
from msgspec import UNSET

from dragoman.apis import Encoded, merged
from dragoman.bounded import remember
from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import ConfigError, DefinitionError, ToolError, Unsupported
from dragoman.model import (
    AnyEvent,
    Call,
    Failure,
    Limits,
    Request,
    Result,
    Thinking,
    ToolChoice,
    operations as op,
    system as system_message,
    user as user_message,
)
from dragoman.registry import TOOLS
from dragoman.tools import Context, ProviderTool, Tool, Toolset, Web
from dragoman.tools.running import honoured_in

from .approval import Approvals, Approver
from .arguments import check_arguments, check_run_options
from .engine import Engine
from .event_stream import Item
from .executor import Hooks
from .facade import Facade, facade_like_before
from .history.from_recording import conversation_of
from .history.shortening import Room
from .loop import Ask, by_client
from .models.configured import configured_dialect, configured_options, model_rows, set_sandbox, settings_for
from .models.providers import dialect_of, engine_for, family_of, plain_name
from .models.who_runs import merged_by_id, resolved
from .named_tools import tools_named
from .offer import Note
from .options import notes_on_options, notes_on_tools, offered_by, options_of
from .policy import ToolPolicy, wrong_types
from .run_options import Prompt, RunOptions, as_conversation, as_history
from .run_result import RunResult
from .running import Pause, Proceed, Running
from .typed_output import ASK_AGAIN, ASK_FINAL, FINAL_TOOL, AnswerT, Output, OutputT, misfits, refusal_in, unreadable
from .web_search import SEARCH, Searching, web_for, who_searches

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from dragoman.config import Chosen, Configuration, Price
    from dragoman.tools import Workspace


_REMEMBERED = 32
"""Toolsets whose words are kept; a caller may give other provider tools with each run."""


class Prepared(msgspec.Struct, frozen=True):
    """What would be sent: the typed request, the request on the wire, and remarks about the conversion."""

    request: Request
    encoded: Encoded | None
    notes: tuple[Note, ...]

    def __repr__(self) -> str:
        request = self.request
        counts = f"messages={len(request.conversation)}, tools={len(request.definitions)}, notes={len(self.notes)}"
        return f"Prepared({request.model!r}, {counts})"

    @property
    def body(self) -> dict[str, Any]:
        """The JSON on the wire. Raises `ConfigError` for an engine that sends nothing."""
        if self.encoded is None:
            raise ConfigError("this engine sends no request, so there is no body to show")
        return self.encoded.body


class Orchestrator(Generic[OutputT]):
    """Runs with one model, one toolset and one policy.

    `model` is `provider:model`, or an engine together with `model_name`. `dialect` is the vocabulary to speak, when it
    is not the one the model was trained on.

    A model named as text is asked as the settings of this process say, those that the command line reads: addresses,
    keys and options of providers, the dialect, the policy, the sandbox, prices. What is given here comes before them.
    `profile` chooses one of their profiles, and with it the model, if none is given, the tools and the instructions.
    `configuration` names other settings; with `None` none are read. An engine is taken as it is, and settings hold
    beside it only if `configuration` is given.

    `output` is the type of the answer, or its JSON Schema: `RunResult.output` holds the value, and iterating over the
    run gives partial values as the answer arrives. An answer that does not match is sent back to the model, at most
    `output_retries` times.

    `max_output_tokens`, `temperature`, `top_p`, `stop` and `seed` are sent with every request to a provider that has
    them. `response_schema` only asks for an answer in JSON, as text; with `output` it is read and checked as well.

    The provider's prompt cache is used unless `cache` is false: each request of a run begins with the one before it.

    With `guard`, runs are held to their task by what was really done (see `task_guard`); the default is what the engine
    asks for. A run whose answer has a type is not guarded.
    """

    def __init__(
        self,
        model: str | Engine | None = None,
        tools: Toolset | Iterable[Tool | ProviderTool | Callable[..., Any]] = (),
        policy: ToolPolicy | None = None,
        *,
        configuration: Chosen = UNSET,
        profile: str | None = None,
        model_name: str | None = None,
        dialect: str | Dialect | None = None,
        system: str | None = None,
        workspace: Workspace | None = None,
        context: Context | None = None,
        hooks: Hooks = Hooks(),  # noqa: B008 - frozen
        approver: Approver | None = None,
        approvals: Approvals | None = None,
        pause: Pause | None = None,
        hidden: Callable[[], Collection[str]] | None = None,
        emit: Callable[[AnyEvent], None] | None = None,
        thinking: Thinking | None = None,
        cache: bool | None = None,
        window: int | None = None,
        options: Mapping[str, Any] | None = None,
        prices: Sequence[Price] | None = None,
        output: type[OutputT] | TypeForm[OutputT] | UnionType | Mapping[str, Any] | None = None,
        output_retries: int = 2,
        guard: bool | None = None,
        max_output_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] = (),
        seed: int | None = None,
        response_schema: Mapping[str, Any] | None = None,
    ) -> None:
        check_arguments(
            model=model,
            policy=policy,
            dialect=dialect,
            system=system,
            workspace=workspace,
            context=context,
            hooks=hooks,
            approver=approver,
            approvals=approvals,
            pause=pause,
            hidden=hidden,
            emit=emit,
            thinking=thinking,
            cache=cache,
            window=window,
            options=options,
            prices=prices,
            output_retries=output_retries,
            guard=guard,
            stop=stop,
        )
        given = settings_for(configuration, profile, wanted=model is None or isinstance(model, str))
        self.engine: Engine
        if profile is not None and given is not None:
            tools = tools or tools_named(given.settings.tools)
            system = given.settings.system if system is None else system
        if model is None:
            self.engine, self.model = _configured_model(given)
        elif isinstance(model, str):
            self.engine, self.model = engine_for(model, configuration=given)
        else:
            self.engine, self.model = model, model_name or ""
        if given is not None:
            policy = ToolPolicy.configured(given, self.provider, self.model) if policy is None else policy
            dialect = configured_dialect(given, self.model) if dialect is None else dialect
            prices = given.settings.prices if prices is None else prices
            cache = given.settings.cache if cache is None else cache
        self.sandbox = None if given is None else set_sandbox(given, askable=approver is not None)
        """What commands run in, when no `context` is given; `None`: in no sandbox."""
        self.web: Callable[[], Web] = Web if given is None else functools.partial(web_for, given)
        """Makes what pages are fetched and searched with, when no `context` is given."""
        self.toolset = tools if isinstance(tools, Toolset) else Toolset(tools)
        self.policy = ToolPolicy() if policy is None else policy
        self.hooks, self.approver, self.pause = hooks, approver, pause
        self.system, self.workspace, self.context = system, workspace, context
        self.emit, self.thinking, self.prices = emit, thinking, tuple(prices or ())
        self.cache = cache is not False
        self.window = self._window(window, given)
        """Tokens the model can be given at once, its answer among them; `None`: not known."""
        self.hidden = hidden
        """Asked before each round: tools not to be offered in it; a call of one is answered all the same."""
        own = () if given is None else given.settings.providers
        stated = {} if given is None else configured_options(given, self.model)
        parts = [options_of(each, self.provider, own) for each in (stated, options or {})]
        self.options = merged(parts[0][0], parts[1][0])
        raw = offered_by(getattr(self.engine, "options", {}), self.options)
        self._beside = tuple(name for tool in raw for name in tool.names)
        self.notes = (*parts[0][1], *parts[1][1], *notes_on_tools(raw))
        """What should be known about the options."""
        self._sampling = _request_settings(
            max_output_tokens=max_output_tokens,
            temperature=temperature,
            top_p=top_p,
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            seed=seed,
            response_schema=response_schema,
        )
        self.output_retries = output_retries
        self._guard = bool(getattr(self.engine, "guarded", False) if guard is None else guard)
        named = dialect if dialect is not None else dialect_of(self.model) if self.model else "plain"
        chosen: Dialect = DIALECTS[named] if isinstance(named, str) else named
        self.dialect = chosen.at(family=family_of(self.model)) if self.model else chosen
        self.approvals = Approvals() if approvals is None else approvals
        """What was approved in earlier runs; the runs of one conversation share it."""
        self._facades: dict[Any, tuple[Any, Facade]] = {}
        """The id of a list of tools, and provider tools → that list, which keeps the id its own, and the facade."""
        self._ask_for(output)

    def __repr__(self) -> str:
        provider = f"{self.provider}:" if self.provider else ""
        return f"Orchestrator({provider + self.model!r}, {self.toolset!r}, dialect={self.dialect.name!r})"

    def _ask_for(self, output: Any) -> None:
        """Makes runs end with a value of a type; `None`: with text."""
        self.output = None if output is None else Output(output)
        self.guard = self._guard and self.output is None
        self.settings = self._sampling
        if self.output is not None and self._takes_schema(self.output):
            self.settings = {**self._sampling, "response_schema": self.output.schema}

    def _window(self, stated: int | None, configuration: Configuration | None) -> int | None:
        if stated is None and configuration is not None:
            rows = [row.window for _, row in model_rows(configuration, self.model)]
            stated = next((window for window in rows if window is not None), None)
        known = self.engine.limits(self.model).window if stated is None else stated
        if known is not None:
            return known
        from dragoman.context_windows import window_of  # it loads the settings: importing the engine must not

        return window_of(self.model)

    # ── running ────────────────────────────────────────────────────────────

    @overload
    def start(
        self,
        prompt: Prompt = (),
        *,
        output: type[AnswerT] | TypeForm[AnswerT] | UnionType | Mapping[str, Any],
        **options: Unpack[RunOptions],
    ) -> Running[AnswerT]: ...

    @overload
    def start(self, prompt: Prompt = (), **options: Unpack[RunOptions]) -> Running[OutputT]: ...

    def start(self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]) -> Running[Any]:
        """A run that has not begun: await its `result()`, or iterate it.

        `output` is the type of this run's answer, in place of the one the `Orchestrator` was made with. The other
        options are those of `RunOptions`, as for every method that runs something.
        """
        setup = self
        if output is not None:
            setup = copy.copy(self)
            setup._ask_for(output)
        conversation = (*as_history(options.get("history", ())), *as_conversation(prompt))
        if self.system is not None and not any(item.role == "system" for item in conversation):
            conversation = (system_message(self.system), *conversation)
        if not conversation:
            raise ConfigError("there is nothing to answer: give a prompt or a history")
        check_run_options(options, of_all_runs=Orchestrator.__init__)
        provider_tools = options.get("provider_tools", ())
        return Running(
            setup,
            conversation,
            self.facade_of(provider_tools),
            provider_tools=provider_tools,
            answers=dict(options.get("answers") or {}),
            observe=options.get("observe"),
            emit=options.get("emit"),
            id=options.get("run_id") or uuid.uuid4().hex,
            stream=options.get("stream", False),
        )

    @overload
    async def run(
        self,
        prompt: Prompt = (),
        *,
        output: type[AnswerT] | TypeForm[AnswerT] | UnionType | Mapping[str, Any],
        **options: Unpack[RunOptions],
    ) -> RunResult[AnswerT]: ...

    @overload
    async def run(self, prompt: Prompt = (), **options: Unpack[RunOptions]) -> RunResult[OutputT]: ...

    async def run(self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]) -> RunResult[Any]:
        """Runs the task to completion and returns the result. The options are those of `start`."""
        return await self.start(prompt, output=output, **options).result()

    async def settled(self, result: RunResult, proceed: Proceed) -> RunResult:
        """The result with its typed `output`; the model is asked again while its answer does not match the type.

        A `Running` does this at its end. `proceed` says something more to the model after a result.
        """
        output = self.output
        if output is None or result.status != "completed":
            return result
        if "response_schema" not in self.settings:
            return await self._forced(output, result, proceed)
        for tries in range(self.output_retries + 1):
            try:
                return msgspec.structs.replace(result, output=output.read(result.text))
            except ToolError as error:
                problem = unreadable(result.reply, error.message)
            if (refused := refusal_in(result.reply)) is not None:
                return _failed(result, refused)
            if tries < self.output_retries:
                message = by_client(ASK_AGAIN.format(problem=problem))
                result = result.followed_by(await proceed(self, message, result))
                if result.status != "completed":
                    return result
        return _failed(result, f"{_UNFIT}: {problem}")

    async def _forced(self, output: Output, result: RunResult, proceed: Proceed) -> RunResult:
        """The answer by a call of a tool, the only one there is then."""
        if (refused := refusal_in(result.reply)) is not None:
            return _failed(result, refused)
        values: list[Any] = []
        problems = [f"the model did not call {FINAL_TOOL}"]
        features = self.engine.features(self.model)
        choice = ToolChoice("one", (FINAL_TOOL,)) if "one" in features.choices else ToolChoice("auto")
        other = copy.copy(self)
        if not features.forced_choice_with_thinking:
            other.thinking = None  # what it thought is in the answer; thinking on, it could not be made to call
        other.toolset, other._facades = Toolset([output.tool(values.append)]), {}
        other.policy = msgspec.structs.replace(self.policy, choice=choice, max_iterations=self.output_retries + 1)
        other.pause = lambda _: not values
        after = self.hooks.after

        def noting(call: Call, result: Result) -> Any:
            problems.extend(misfits(one) for one in result.outcomes if isinstance(one, Failure))
            return None if after is None else after(call, result)

        other.hooks = msgspec.structs.replace(self.hooks, after=noting)
        result = result.followed_by(await proceed(other, by_client(ASK_FINAL), result))
        if values:
            return msgspec.structs.replace(result, status="completed", error=None, output=values[-1])
        if result.status not in ("completed", "limited"):
            return result
        with suppress(ToolError):  # where nothing can make it call the tool, a model may write the value instead
            value = output.read(result.text)
            return msgspec.structs.replace(result, status="completed", error=None, output=value)
        return _failed(result, refusal_in(result.reply) or f"{_UNFIT}: {unreadable(result.reply, problems[-1])}")

    def _takes_schema(self, output: Output) -> bool:
        """Whether the provider takes a schema for the answer, beside the tools that are offered."""
        if not self.engine.features(self.model).response_schema:
            return False
        definitions = self.facade_of().definitions
        request = Request(
            self.model, (user_message("?"),), definitions=definitions, response_schema=output.schema, stream=True
        )
        try:
            self.engine.prepare(request)
        except DefinitionError:
            return False
        return True

    @overload
    def run_sync(
        self,
        prompt: Prompt = (),
        *,
        output: type[AnswerT] | TypeForm[AnswerT] | UnionType | Mapping[str, Any],
        **options: Unpack[RunOptions],
    ) -> RunResult[AnswerT]: ...

    @overload
    def run_sync(self, prompt: Prompt = (), **options: Unpack[RunOptions]) -> RunResult[OutputT]: ...

    def run_sync(self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]) -> RunResult[Any]:
        """`run` for code without an event loop; uvloop drives it where it is installed."""
        if _in_a_loop():
            raise ConfigError("run_sync is for code without an event loop, and one runs here: write `await ….run(…)`")

        async def whole() -> RunResult[Any]:
            try:
                return await self.run(prompt, output=output, **options)
            finally:
                await self.close()

        try:
            import uvloop  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            return asyncio.run(whole())
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(whole())

    @overload
    def stream(
        self,
        prompt: Prompt = (),
        *,
        output: type[AnswerT] | TypeForm[AnswerT] | UnionType | Mapping[str, Any],
        **options: Unpack[RunOptions],
    ) -> AsyncIterator[Item[AnswerT]]: ...

    @overload
    def stream(self, prompt: Prompt = (), **options: Unpack[RunOptions]) -> AsyncIterator[Item[OutputT]]: ...

    async def stream(
        self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]
    ) -> AsyncIterator[Item[Any]]:
        """Chunks as they come and events as they happen; leaving the iteration cancels the run."""
        options["stream"] = True
        async with aclosing(self.start(prompt, output=output, **options).__aiter__()) as items:
            async for item in items:
                yield item

    def resume(
        self, events: Iterable[AnyEvent], prompt: Prompt = (), **options: Unpack[RunOptions]
    ) -> Running[OutputT]:
        """A run that continues from its record, also from an interrupted one; its events are to be added to it.

        Without a new prompt it is the same run, and its limits count what it has used so far, unless one of them had
        ended it. `answers` (call id → `Answer`) decides calls that waited. The model gets the
        result of a call that had begun and was not recorded as unknown, unless repeating the call does no harm.
        """
        recorded = list(events)
        history = conversation_of(recorded)
        options.setdefault("run_id", next((event.run for event in recorded if event.run), None))
        options["history"] = history
        running = self.start(prompt, **options)
        running.goes_on(history, recorded)
        if not as_conversation(prompt):
            running.counts_from(recorded)
        return running

    async def close(self) -> None:
        """Closes the engine: connections to a provider, or a model in this process."""
        close = getattr(self.engine, "close", None)
        if close is not None:
            await close()

    # ── what would be sent ─────────────────────────────────────────────────

    def prepare(self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]) -> Prepared:
        """The exact first request of a run, without sending it."""
        running = self.start(prompt, output=output, **options)
        request = running.request(Ask(running.conversation, 1, self.policy.choice))
        encoded = self.engine.prepare(request)
        replaced = () if encoded is None else notes_on_options(encoded)
        return Prepared(request, encoded, (*self.notes, *running.facade.notes, *running.notes, *replaced))

    async def count_tokens(self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]) -> int:
        """The input tokens of the first request of a run, as the provider counts them; nothing is generated.

        Raises `Unsupported` for an API that does not count tokens; `estimate_tokens` works with every model.
        """
        count = getattr(self.engine, "count_tokens", None)
        if count is None:
            raise Unsupported(self.engine.name, "token counting", "estimate_tokens() estimates them")
        tokens: int = await count(self.prepare(prompt, output=output, **options).request)
        return tokens

    def estimate_tokens(self, prompt: Prompt = (), *, output: Any = None, **options: Unpack[RunOptions]) -> int:
        """About how many input tokens the first request of a run has, estimated here from its bytes.

        It is meant to be too high rather than too low; nothing is sent.
        """
        request = self.prepare(prompt, output=output, **options).request
        return Room(None, None).tokens(request.conversation, request.definitions)

    # ── shared by runs ─────────────────────────────────────────────────────

    @property
    def provider(self) -> str:
        """The name of the provider that is asked; empty for an engine that has none."""
        return getattr(self.engine, "provider", "")

    def facade_of(self, provider_tools: Sequence[ProviderTool] = ()) -> Facade:
        """The tools in the model's words: made once for each toolset, so that requests share what is offered."""
        tools = self.toolset.list()
        key = (id(tools), tuple((tool.id, str(tool.settings)) for tool in provider_tools))
        found = self._facades.get(key)
        if found is None:
            if self.policy.allows_all:
                toolset = self.toolset.clone()
            else:
                toolset = Toolset(tool for tool in self.toolset if self.policy.allows(_name_of(tool)))
            more = [tool for tool in provider_tools if self.policy.allows(tool.id)]
            if more:
                toolset = merged_by_id(toolset, more)
            where = {tag: place for tag, place in self.policy.where.items() if self.policy.allows(tag)}
            searching = self._searching(toolset)
            if searching.place is not None:
                where[SEARCH] = searching.place
            if where:
                toolset = resolved(
                    toolset,
                    where,
                    api=self.engine.name,
                    provider=self.provider,
                    model=self.model,
                    mixed=self.engine.features(self.model).mixed_tools,
                )
            if searching.nobody is not None:
                toolset = Toolset(tool for tool in toolset if tool is not TOOLS[SEARCH])
            known = self.facade_for(self.dialect, toolset, self.engine.limits(self.model))
            if searching.nobody is not None:
                known.notes += (Note(SEARCH, f"it is not offered: {searching.nobody}"),)
            found = (tools, known)
            remember(self._facades, key, found, _REMEMBERED)
        return found[1]

    def _searching(self, toolset: Toolset) -> Searching:
        return who_searches(toolset, self.policy, self.engine, self.model, self._web_of_runs, self.workspace)

    def _web_of_runs(self) -> Web | None:
        return self.web() if self.context is None else self.context.provides.get(Web)

    @property
    def why_no_search(self) -> str | None:
        """Why the toolset's web search is not offered to the model; `None` where it is, or there is none."""
        return self._searching(self.toolset).nobody

    @property
    def reads_pages(self) -> bool:
        """Whether the model of these runs can be asked about a page beside its conversation."""
        return bool(getattr(self.engine, "reads_pages", True))

    def facade_for(self, dialect: Dialect, toolset: Toolset, limits: Limits) -> Facade:
        """A toolset in a dialect's words."""
        honoured = dict(honoured_in(self.context))
        if self.reads_pages:
            honoured[op.FetchPage] = ("instructions",)
        model = plain_name(self.model) or None
        return facade_like_before(dialect, toolset, limits, honoured=honoured, beside=self._beside, model=model)


_UNFIT: Final = "the answer does not fit the type that was asked for"


def _failed(result: RunResult, why: str) -> RunResult:
    return msgspec.structs.replace(result, status="failed", error=Failure("failed", why))


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _request_settings(**settings: Any) -> dict[str, Any]:
    """Those fields of a request that were given. Raises `ConfigError` for a value that is not of its type."""
    given = {name: value for name, value in settings.items() if value not in (None, ())}
    schema = given.get("response_schema", {})
    if not isinstance(schema, Mapping):
        raise ConfigError(f"response_schema takes a JSON Schema, not {schema!r}; for a Python type use output=")
    problems = wrong_types(Request, {name: given[name] for name in given.keys() - {"response_schema"}})
    if not problems:
        problems = [
            f"{name} must be {told}, not {given[name]}"
            for name, told, fits in _RANGES
            if name in given and not fits(given[name])
        ]
    if problems:
        raise ConfigError("; ".join(problems))
    return given


_RANGES: Final[tuple[tuple[str, str, Callable[[Any], bool]], ...]] = (
    ("max_output_tokens", "more than 0", lambda count: count > 0),
    ("temperature", "0 or more", lambda degree: degree >= 0),
    ("top_p", "from 0 to 1", lambda share: 0 <= share <= 1),
)
"""What every provider refuses; the upper end of a temperature is for each to say."""


def _name_of(tool: Tool | ProviderTool) -> str:
    return tool.id if isinstance(tool, ProviderTool) else tool.name


def _configured_model(configuration: Configuration | None) -> tuple[Engine, str]:
    """The engine of the model that the settings name, and its name."""
    model = None if configuration is None else configuration.settings.model
    if configuration is None or model is None:
        raise ConfigError("no model is named: give one, or set `model` in your settings or in a profile")
    return engine_for(model, configuration=configuration, vouched=configuration.is_vouched("model"))
